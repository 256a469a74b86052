"""Turns with words that a person can read, as the template renders them: what examples, comparisons and judges of parsers use."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from ..ask.oracle import Oracle
from ..ask.question import Call, Question, Shape, Switches, build_history, build_tools, build_turn
from ..ask.shapes import find_reasoning_shape, find_shape, list_call_shapes
from ..ask.switches import list_settings
from ..budget import Budget
from ..graph.chat_format import ChatFormat
from ..renderer import Renderer

REASONING = "I need the forecast, and the time of the next one."
CONTENT = "Let me look that up."
CALLS = (("get_weather", {"city": "Oslo", "days": 3}), ("find_train", {"station": "Bergen"}))
_IDS = ("a1B2c3D4e", "f5G6h7J8k")


class Piece(NamedTuple):
    """A part of a turn: the kind of field it is from, or ``structure``."""

    kind: str
    text: str


@dataclass(frozen=True)
class KnownTurn:
    """A rendered turn of which is known what stands in it.

    ``added`` is what the generation prompt adds, ``text`` what the model writes behind it, the end of the turn included.
    ``reasoning``, ``content`` and ``calls`` are None or empty where the template does not print them. ``messages``, ``tools`` and
    ``switches`` are what a request says that leads to ``prompt``, ``message`` is the turn as it is handed back.
    """

    prompt: str
    added: str
    text: str
    reasoning: str | None
    content: str | None
    calls: tuple[Call, ...]
    messages: tuple[dict[str, Any], ...]
    message: dict[str, Any]
    tools: tuple[dict[str, Any], ...]
    switches: Switches

    @property
    def fields(self) -> int:
        """How many fields it shows."""
        return bool(self.reasoning) + bool(self.content) + len(self.calls)

    @property
    def name(self) -> str:
        """What stands in it, in words."""
        parts = [name for name, there in (("reasoning", self.reasoning), ("content", self.content)) if there]
        parts += [f"{len(self.calls)} call{'s' if len(self.calls) > 1 else ''}"] if self.calls else []
        return ", ".join(parts) + (f" ({say_switches(self.switches)})" if self.switches else "")

    def cut(self, stops: Sequence[str]) -> str:
        """Return the text as a server hands it on, without what ends the turn."""
        ends = [place for stop in stops if (place := self.text.rfind(stop)) >= 0]
        return self.text[: min(ends)] if ends else self.text

    def words(self) -> dict[str, str]:
        """Return what stands in the fields, each text with its kind."""
        words: dict[str, str] = {}
        for kind, text in (("reasoning", self.reasoning), ("content", self.content)):
            words.update({text: kind} if text else {})
        for call in self.calls:
            words.update({call.name: "name", call.id: "id"})
            for key, value in call.object.items():
                words.update({key: "key", value if isinstance(value, str) else json.dumps(value): "value"})
        return words

    @property
    def expected(self) -> dict[str, Any]:
        """The message that it means, with arguments as objects."""
        calls = [{"name": call.name, "arguments": call.object} for call in self.calls]
        return {"reasoning_content": self.reasoning, "content": self.content, "tool_calls": calls}


def say_switches(switches: Switches) -> str:
    """Return switches in one line."""
    return ", ".join(f"{name}={value!r}" for name, value in switches)


def list_turns(renderer: Renderer, format: ChatFormat) -> list[KnownTurn]:
    """Return turns that a template renders: with reasoning or none, content or none, two calls, one or none, for each setting of
    the switches that changes what the prompt adds. Empty where it renders none. Costs some dozens of renders."""
    oracle = Oracle(renderer.within(Budget()))
    if not find_shape(oracle):
        return []
    shapes = list_call_shapes(oracle)
    find_reasoning_shape(oracle, shapes[0] if shapes else None, [(), *list_settings(renderer)])
    calling = replace(shapes[0], reasoning=oracle.shape.reasoning) if shapes else None
    found: dict[tuple[str, str], KnownTurn] = {}
    for switches in dict.fromkeys([(), *(_read_switches(start.switches) for start in format.graph.starts)]):
        for reasoning, content, count in product((REASONING, None), (CONTENT, None), (2, 1, 0) if calling else (0,)):
            shape = calling if calling and count else oracle.shape
            question = Question(reasoning, content, _make_calls(count, shape), switches)
            turn = _ask(oracle, question, shape) if reasoning or content or count else None
            if turn is not None and turn.fields:
                found.setdefault((turn.prompt, turn.text), turn)
    return list(found.values())


def _read_switches(switches: tuple[tuple[str, str], ...]) -> Switches:
    return tuple((name, ast.literal_eval(value)) for name, value in switches)


def _make_calls(count: int, shape: Shape) -> tuple[Call, ...]:
    ids = [f"functions.{name}:{number}" if shape.named_ids else _IDS[number] for number, (name, _) in enumerate(CALLS)]
    return tuple(Call.of(name, ids[number], arguments) for number, (name, arguments) in enumerate(CALLS[:count]))


def _ask(oracle: Oracle, question: Question, shape: Shape) -> KnownTurn | None:
    turn, prompt = oracle.ask_turn(question, shape), oracle.ask_prompt(question, shape)
    if turn is None or prompt is None or not turn.exact or not prompt.whole.endswith(turn.prompt):
        return None
    if not all(call.name in turn.text and list(call.object)[-1] in turn.text for call in question.calls):
        return None
    return KnownTurn(
        prompt.whole,
        turn.prompt,
        turn.text,
        question.reasoning if question.reasoning and question.reasoning in turn.text else None,
        question.content if question.content and question.content in turn.text else None,
        question.calls,
        tuple(build_history(question, shape)),
        build_turn(question, shape),
        tuple(build_tools(question.calls, shape)) if question.calls else (),
        question.switches,
    )


def pick_example(turns: Sequence[KnownTurn]) -> KnownTurn | None:
    """Return the turn that shows most, under as few switches as that takes."""
    return max(turns, key=lambda turn: (turn.fields, bool(turn.reasoning), -len(turn.switches)), default=None)


def cut_pieces(turn: KnownTurn) -> Iterator[Piece]:
    """Return a turn in pieces, each field told from the texts around it."""
    words = turn.words()
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(words, key=len, reverse=True))
    at = 0
    for match in re.finditer(pattern, turn.text):
        yield Piece("structure", turn.text[at : match.start()])
        yield Piece(words[match[0]], match[0])
        at = match.end()
    yield Piece("structure", turn.text[at:])
