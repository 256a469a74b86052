"""What a proof says, in words: in one line, why a part is not proven, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from ..format import ChatFormat, Counterexample, Verdict
from ..format.chat_format import FROM_INSTRUCTIONS, MISREAD, SHOWN, TAUGHT
from .spans import Line, Span, make_visible, say_words, split_lines

Rating = Literal["good", "fair", "bad"]

_RATINGS = {"proven": "good", TAUGHT: "good", "absent": "note", "partly proven": "fair", FROM_INSTRUCTIONS: "fair"}
WORDS = {"good": "proven", "fair": "partly proven", "bad": "not established"}
"""What a rating is called."""

_COSTS = {
    "reasoning": "reasoning may arrive as content, or content as reasoning",
    "content": "content may arrive with markup in it",
    "tools": "tool calls may arrive as content",
}
NEXT_STEP = (
    "give one or two raw outputs of the model, with the messages they mean, as examples "
    "(--examples FILE; for servers the variable CHAT_AUTOPARSER_EXAMPLES)"
)
"""What to do about any part that is not proven and that no example has shown."""


class Doubt(NamedTuple):
    """A part that is not proven: its status, why, and what that means for a client."""

    part: str
    status: str
    reason: str
    cost: str

    def __str__(self) -> str:
        return make_visible(f"{self.part} {self.status}: {self.reason}; {self.cost}")


def rate_status(status: str) -> str:
    """Return ``good``, ``fair`` or ``bad`` for the status of a part; ``note`` where there is nothing to prove."""
    return _RATINGS.get(status, "bad")


def rate(verdict: Verdict) -> Rating:
    """Return ``good`` where all is proven, ``fair`` where something is, else ``bad``."""
    if verdict.checked and verdict.proven:
        return "good"
    return "fair" if verdict.passed else "bad"


def summarise(verdict: Verdict) -> str:
    """Return a verdict in one line."""
    if not verdict.checked:
        return "not proven, no turn was read back"
    word = WORDS[rate(verdict)]
    open_parts = ", ".join(f"{part} {status}" for part, status in verdict.parts if status not in ("proven", "absent"))
    word += f" ({open_parts})" if open_parts else ""
    return f"{word}; {verdict.passed} of {verdict.checked} rendered turns were read back exactly"


def list_doubts(format: ChatFormat) -> list[Doubt]:
    """Return what is not proven, part by part."""
    return [
        Doubt(part, status, _find_reason(format.verdict, part), _COSTS.get(part, "it may be read wrongly"))
        for part, status in format.verdict.parts
        if rate_status(status) in ("fair", "bad")
    ]


def list_notes(format: ChatFormat) -> list[str]:
    """Return the notes of a verdict that are not told as the reason of a doubt."""
    told = {doubt.reason for doubt in list_doubts(format)}
    return [note for note in format.verdict.notes if note not in told]


def _find_reason(verdict: Verdict, part: str) -> str:
    if verdict.counterexample is not None and verdict.counterexample.aspect.startswith(part):
        return "a turn that the template renders is read otherwise, see the counterexample"
    word = "call" if part == "tools" else part
    note = next((note for note in verdict.notes if word in note and not note.startswith(SHOWN)), None)
    return note or "not all of its turns could be rendered and read back"


def find_next_step(format: ChatFormat) -> str:
    """Say what to do about what is not proven; nothing where that was done."""
    notes = format.verdict.notes
    if any(MISREAD in note for note in notes):
        return "correct the example that the counterexample shows, or leave it out"
    shown = {part for note in notes if note.startswith(SHOWN) for part in note.partition(": ")[2].split(", ")}
    return NEXT_STEP if any(doubt.part not in shown for doubt in list_doubts(format)) else ""


def lay_out_doubts(format: ChatFormat) -> Iterator[Line]:
    """Return lines that tell why parts are not proven, and the next step."""
    yield from (Line.of(("text", "  "), (rate_status(doubt.status), str(doubt))) for doubt in list_doubts(format))
    if step := find_next_step(format):
        yield Line.of(("text", "  "), ("note", f"next step: {step}"))


def lay_out_counterexample(example: Counterexample) -> Iterator[Line]:
    """Return the lines of a counterexample, in which only what differs is shown."""
    yield Line()
    yield Line.of(("title", "Smallest counterexample"), ("text", f" ({example.aspect})"))
    yield Line.of(("text", "  "), ("label", "the template writes, behind the prompt:"))
    yield from split_lines([Span("note", _cut_tail(example.prompt)), Span("text", example.text)], "    ")
    for part, expected, got in compare_fields(example.expected, example.got):
        yield Line.of(("text", "  "), ("label", part))
        yield Line.of(("text", "    expected  "), ("good", make_visible(expected)))
        yield Line.of(("text", "    got       "), ("bad", make_visible(got)))


def _cut_tail(prompt: str) -> str:
    prompt = say_words(prompt)
    return prompt if len(prompt) <= 80 else "…" + prompt[-80:]


def compare_fields(expected: str, got: str) -> Iterator[tuple[str, str, str]]:
    """Return the fields in which two messages, given as JSON, differ: name, and what stands in each, as JSON."""
    try:
        one, other = (json.loads(text, object_hook=_read_arguments) for text in (expected, got))
    except (ValueError, RecursionError):
        one, other = expected, got
    if not isinstance(one, dict) or not isinstance(other, dict):
        yield "message", _dump(one), _dump(other)
        return
    for name in dict.fromkeys([*one, *other]):
        if (one.get(name) or None) != (other.get(name) or None):
            yield name, _dump(one.get(name)), _dump(other.get(name))


def _read_arguments(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its arguments read, where they are JSON as text."""
    with suppress(KeyError, TypeError, ValueError, RecursionError):
        return {**found, "arguments": json.loads(found["arguments"])}
    return found


def _dump(value: Any) -> str:
    if value is None or value == []:
        return "nothing"
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)
