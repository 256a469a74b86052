"""What a model would write for known fields: prompts, and the text that the template prints behind them.

A template prints a turn as history. Where that continues the generation prompt, the continuation up to the end of the turn
is what the model writes. Where it does not (many templates leave the reasoning of an answer out, or print another header),
the turn is written by walking the format's graph from where the prompt leaves it.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..ask.budget import Budget
from ..ask.question import Call, Question, Shape, Switches, build_history, build_messages, build_tools, build_turn
from ..ask.renderer import Renderer
from ..ask.words import make_named_id
from ..constrain import write_turn
from ..derive.encoded import find_written
from ..derive.record import make_shape
from ..errors import ConstraintError, TemplateError
from ..format import ChatFormat, Json, Start
from ..message import read_arguments

# No field occurs in another, so each can be found in a text.
REASONING = "I need the forecast, and the time of the next one."
CONTENT = "Let me look that up."
NAMES = ("get_weather", "find_train")
IDS = ("a1B2c3D4e", "f5G6h7J8k")
ARGUMENTS: tuple[dict[str, Any], ...] = ({"city": "Oslo", "days": 3}, {"station": "Bergen"})

_BUDGET = Budget(seconds=120.0, renders=50_000, render_seconds=10.0)

Form = Literal["", "object", "string"]


def make_calls(count: int, named_ids: bool = False) -> tuple[Call, ...]:
    """Return calls to show; with ``named_ids`` the id carries the name, for templates that print nothing but the id."""
    return tuple(
        Call.of(name, make_named_id(name, number) if named_ids else IDS[number], ARGUMENTS[number])
        for number, name in enumerate(NAMES[:count])
    )


def read_switches(written: Sequence[tuple[str, str]]) -> Switches:
    """Return switches from how a format has them, as Python writes their values."""
    return tuple((name, literal_eval(value)) for name, value in written)


@dataclass(frozen=True)
class Generation:
    """A prompt and what a model writes behind it, up to the ``stop`` string that ends its turn (empty if there is none)."""

    question: Question
    prompt: str
    text: str
    stop: str = ""


class Author:
    """Writes turns as a model would, and renders conversations in the form that the template takes; the format knows it."""

    def __init__(self, renderer: Renderer, format: ChatFormat) -> None:
        self.format = format
        self.renderer = renderer.within(_BUDGET)
        self.shape: Shape = make_shape(format.asking)
        self.switches = dict(read_switches(format.asking.switches))

    def render(
        self, messages: Sequence[Mapping[str, Any]], tools: list[dict[str, Any]] | None, prompt: bool, switches: Switches
    ) -> str | None:
        """Render a conversation; None where the template refuses it."""
        try:
            return self.renderer(messages, tools, prompt, **{**self.switches, **dict(switches)})
        except TemplateError:
            return None

    def choose_tools(self, question: Question) -> list[dict[str, Any]] | None:
        """Return the tools of a conversation with the given turn in it."""
        if not self.shape.tools or not (question.tools or question.calls):
            return None
        calls = [replace(c, arguments="{}") if read_arguments(c.arguments) is None else c for c in question.calls]
        return build_tools(calls, self.shape)

    def write_prompt(self, question: Question) -> str | None:
        """Return the prompt before a turn; None where the template refuses it."""
        return self.render(build_history(question, self.shape), self.choose_tools(question), True, question.switches)

    def write(self, question: Question) -> Generation | None:
        """Write a turn; None where the template prints no such turn, or its prompt leaves no room for it."""
        prompt = self.write_prompt(question)
        full = self._render_turn(question)
        if prompt is None or full is None:
            return None
        for text in (full.removeprefix(prompt) if full.startswith(prompt) else None, self._walk(question, prompt)):
            if text is not None and all(word in text for word in list_words(question)):
                return self._end(question, prompt, text)
        return None

    def _render_turn(self, question: Question) -> str | None:
        return self.render(build_messages(question, self.shape), self.choose_tools(question), False, question.switches)

    def _walk(self, question: Question, prompt: str) -> str | None:
        """Write a turn from the graph, arguments as the template writes those of this turn without its reasoning."""
        bare = replace(question, reasoning=None)
        start, plain = self.find_start(prompt), self._render_turn(bare)
        if start is None or plain is None or not all(word in plain for word in list_words(bare)):
            return None
        calls = tuple(replace(call, arguments=find_written_json(call, plain)) for call in question.calls)
        try:
            return write_turn(self.format.graph, make_message(replace(question, calls=calls)), start)
        except ConstraintError:
            return None

    def find_start(self, prompt: str) -> Start | None:
        """Return the state in which a prompt leaves the turn."""
        fitting = [start for start in self.format.graph.starts if start.ends(prompt)]
        return max(fitting, key=lambda start: (prompt.endswith(start.prompt), len(start.prompt)), default=None)

    def _end(self, question: Question, prompt: str, text: str) -> Generation:
        """Cut a turn where generation stops."""
        last = max((text.rfind(word) + len(word) for word in list_words(question)), default=0)
        found = [(text.index(stop, last), stop) for stop in self.format.stops if stop in text[last:]]
        if not found:
            return Generation(question, prompt, text.rstrip())
        place, stop = min(found)
        return Generation(question, prompt, text[:place], stop)

    def answer(self, question: Question, form: Form = "") -> dict[str, Any] | None:
        """Build the assistant's message of a turn, with arguments in the given form; None if they are no JSON for it."""
        forms: dict[Form, Literal["object", "text"]] = {"": self.shape.arguments, "object": "object", "string": "text"}
        shape = replace(self.shape, arguments=forms[form])
        if shape.arguments == "object" and any(read_arguments(call.arguments) is None for call in question.calls):
            return None
        return build_turn(question, shape)


def list_words(question: Question) -> list[str]:
    """Return what a turn must show of its fields."""
    words = [text for text in (question.reasoning, question.content) if text]
    for call in question.calls:
        words += [call.name, *(value for value in call.object.values() if isinstance(value, str))]
    return words


def find_written_json(call: Call, text: str) -> str:
    """Return the JSON text in which a call's arguments stand in a text; as they are given where there is none."""
    known = read_arguments(call.arguments)
    place = find_written(text, known, Json()) if known is not None else None
    return text[slice(*place)] if place else call.arguments


def make_message(question: Question) -> dict[str, Any]:
    """Return a turn as a message of the OpenAI API."""
    return build_turn(question, Shape(arguments="text", reasoning=("reasoning_content",)))


def read_message(message: Mapping[str, Any]) -> Question:
    """Return the fields of a message in the shape of the OpenAI API."""
    calls = tuple(
        Call(call["function"]["name"], call["id"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()
    )
    return Question(content=message.get("content"), reasoning=message.get("reasoning_content"), calls=calls)
