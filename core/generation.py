"""What a model would write for known fields: prompts, and the text that the template prints behind them.

A template prints a turn as history. Where that continues the generation prompt, the continuation up to the end of the turn
is what the model writes. Where it does not (many templates leave the reasoning of an answer out, or print another header),
the reasoning is put before the rest from the derived format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .budget import Budget
from .errors import TemplateError
from .format import ChatFormat, SequenceBody
from .marker import cut_common_prefix
from .probes import Call, Oracle, Question, Shape, build_assistant, build_messages, build_tools
from .reasoning import find_reasoning_shape
from .renderer import Renderer
from .tools import list_call_shapes
from .turn import find_shape

_BUDGET = Budget(seconds=120.0, renders=50_000, render_seconds=10.0)

Switches = tuple[tuple[str, Any], ...]
Form = Literal["", "object", "string"]


@dataclass(frozen=True)
class Generation:
    """A prompt and what a model writes behind it, up to the ``stop`` string that ends its turn (empty if there is none)."""

    question: Question
    prompt: str
    text: str
    stop: str = ""


class Author:
    """Writes turns as a model would, and renders conversations in the form that the template takes.

    Costs some dozens of renders to make, and raises :class:`TemplateError` where no plain conversation is rendered.
    """

    def __init__(self, renderer: Renderer, format: ChatFormat) -> None:
        self.format = format
        self.renderer = renderer.within(_BUDGET)
        oracle = Oracle(self.renderer)
        if not find_shape(oracle):
            raise TemplateError("writing turns: the template renders no plain conversation; is it a chat template?")
        shapes = list(list_call_shapes(oracle))
        wanted = [found for found in shapes if found[0].arguments == format.capabilities.arguments]
        oracle.shape, printed = next(iter(wanted or shapes), (oracle.shape, ()))
        self.calls = bool(printed)
        find_reasoning_shape(oracle, printed)
        self.shape: Shape = oracle.shape
        body = format.tools.body if format.tools else None
        self.named_ids = isinstance(body, SequenceBody) and "id with name" in dict(body.fields)

    def render(
        self, messages: Sequence[Mapping[str, Any]], tools: list[dict[str, Any]] | None, prompt: bool, switches: Switches
    ) -> str | None:
        """Render a conversation; None where the template refuses it."""
        try:
            return self.renderer(messages, tools, prompt, **{**dict(self.shape.switches), **dict(switches)})
        except TemplateError:
            return None

    def choose_tools(self, question: Question) -> list[dict[str, Any]] | None:
        """Return the tools of a conversation with the given turn in it."""
        wanted = self.shape.tools == "always" or (self.shape.tools == "as asked" and bool(question.tools or question.calls))
        return build_tools(question.calls, self.shape) if wanted else None

    def build_prompt(self, question: Question) -> list[dict[str, Any]]:
        """Build the messages before a turn."""
        return build_messages(replace(question, prompt=True, after=""), self.shape)

    def write_prompt(self, question: Question) -> str | None:
        """Return the prompt before a turn; None where the template refuses it."""
        return self.render(self.build_prompt(question), self.choose_tools(question), True, question.switches)

    def write(self, question: Question) -> Generation | None:
        """Write a turn; None where the template prints no such turn, or its prompt leaves no room for it."""
        prompt = self.write_prompt(question)
        full = self._render_turn(question)
        if prompt is None or full is None:
            return None
        for text in (full.removeprefix(prompt) if full.startswith(prompt) else None, self._compose(question, prompt)):
            if text is not None and all(word in text for word in list_words(question)):
                return self._end(question, prompt, text)
        return None

    def _render_turn(self, question: Question) -> str | None:
        after: Literal["", "tool"] = "tool" if self.shape.result and question.calls else ""
        messages = build_messages(replace(question, prompt=False, after=after), self.shape)
        return self.render(messages, self.choose_tools(question), False, question.switches)

    def _compose(self, question: Question, prompt: str) -> str | None:
        """Write a turn from the format and what the template prints of it without reasoning."""
        plain = self._render_turn(replace(question, reasoning=None))
        words = list_words(replace(question, reasoning=None))
        if plain is None or not all(word in plain for word in words):
            return None
        reasoning, state = self.format.reasoning, self.find_state(question.switches)
        body = plain[len(cut_common_prefix(plain, prompt)) :]
        place = min((body.find(word) for word in words), default=0)
        if reasoning and reasoning.end.text in body[: max(place, 0)]:
            body = body[body.index(reasoning.end.text) + len(reasoning.end.text) :].lstrip()
        if question.reasoning is None:
            return body if state != "reasoning" else None
        if reasoning is None or state == "content":
            return None
        opening = "" if state == "reasoning" else reasoning.start.written
        return opening + question.reasoning + reasoning.end.written + body

    def find_state(self, switches: Switches) -> str:
        """Return what the model continues when the given switches are set."""
        states = {start.switches: start.state for start in self.format.starts}
        known = tuple((name, repr(value)) for name, value in switches)
        return states.get(known) or states.get(()) or "open"

    def _end(self, question: Question, prompt: str, text: str) -> Generation:
        """Cut a turn where generation stops."""
        last = max((text.rfind(word) + len(word) for word in list_words(question)), default=0)
        found = [(text.index(stop, last), stop) for stop in self.format.turn.stops if stop in text[last:]]
        if not found:
            return Generation(question, prompt, text.rstrip())
        place, stop = min(found)
        return Generation(question, prompt, text[:place], stop)

    def answer(self, question: Question, form: Form = "") -> dict[str, Any] | None:
        """Build the assistant's message of a turn, with arguments in the given form; None if they are no JSON for it."""
        try:
            return build_assistant(question, replace(self.shape, arguments=form or self.shape.arguments))
        except ValueError:
            return None


def list_words(question: Question) -> list[str]:
    """Return what a turn must show of its fields."""
    words = [text for text in (question.reasoning, question.content) if text]
    for call in question.calls:
        words += [call.name, *(value for value in json.loads(call.arguments).values() if isinstance(value, str))]
    return words


def read_message(message: Mapping[str, Any]) -> Question:
    """Return the fields of a message in the shape of the OpenAI API."""
    calls = tuple(
        Call(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in message.get("tool_calls") or ()
    )
    return Question(content=message.get("content"), reasoning=message.get("reasoning_content"), calls=calls)
