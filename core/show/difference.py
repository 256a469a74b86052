"""What changed between two formats: row by row of their descriptions, and in what one reads of the other's turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ask.renderer import Renderer
from ..describe.spans import Line, Span
from ..describe.words import list_sections
from ..format import ChatFormat
from ..message import read_arguments
from .turns import KnownTurn, list_turns


@dataclass(frozen=True)
class Change:
    """A row of the description that is not the same: where it stands, and what it says in each of the two formats."""

    section: str
    label: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Crossing:
    """How many turns of one template the format of the other reads, and the names of those that it does not."""

    turns: int
    missed: tuple[str, ...]


def compare(one: ChatFormat, other: ChatFormat) -> list[Change]:
    """Return the rows in which two formats differ; the proof is not compared."""
    first, second = _list_rows(one), _list_rows(other)
    return [
        Change(*key, tuple(first.get(key, ())), tuple(second.get(key, ())))
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key)
    ]


def _list_rows(format: ChatFormat) -> dict[tuple[str, str], list[str]]:
    rows: dict[tuple[str, str], list[str]] = {}
    for section, entries in list_sections(format).items():
        for label, value, note in entries if section != "Proof" else ():
            text = "".join(span.text for span in value) + (f"  ({note})" if note else "")
            rows.setdefault((section, label), []).append(text)
    return rows


def cross(renderer: Renderer, own: ChatFormat, other: ChatFormat) -> Crossing:
    """Read the turns of one template by the format of another: as a server does, with the request's tools, behind their prompts."""
    turns = list_turns(renderer, own)
    read = [(turn, other.parse(turn.text, turn.tools or None, turn.prompt)) for turn in turns]
    return Crossing(len(turns), tuple(turn.name for turn, message in read if find_fault(turn, message) is not None))


def find_fault(turn: KnownTurn, message: Mapping[str, Any], calls_only: bool = False) -> str | None:
    """Say in what a message differs from what stands in a turn; None where it does not. Outer white space does not count."""
    asked = turn.question
    for name, wanted in (("reasoning_content", asked.reasoning), ("content", asked.content)) if not calls_only else ():
        got = (message.get(name) or "").strip()
        if got != (wanted or "").strip():
            return f"{name.partition('_')[0]} is {_quote(got)} instead of {_quote(wanted)}"
    got_calls = [call["function"] for call in message.get("tool_calls") or ()]
    if len(got_calls) != len(asked.calls):
        return f"{len(got_calls)} of {len(asked.calls)} calls are read"
    for got, call in zip(got_calls, asked.calls, strict=True):
        if got["name"] != call.name:
            return f"a call is named {_quote(got['name'])} instead of {_quote(call.name)}"
        if read_arguments(got["arguments"]) != call.object:
            return f"arguments are {_quote(got['arguments'])} instead of {_quote(call.arguments)}"
    return None


def _quote(text: Any) -> str:
    if not text:
        return "nothing"
    text = str(text)
    return repr(text if len(text) <= 60 else f"{text[:40]}…{text[-15:]}")


def lay_out_changes(changes: Sequence[Change], crossings: Sequence[Crossing]) -> Iterator[Line]:
    """Return the lines that tell what changed."""
    section = ""
    for change in changes:
        if change.section != section:
            section = change.section
            yield Line.of(("title", section))
        yield Line.of(("label", f"  {change.label}"))
        yield from (Line((Span("bad", f"    - {text}"),)) for text in change.before)
        yield from (Line((Span("good", f"    + {text}"),)) for text in change.after)
    if not changes:
        yield Line.of(("good", "The two formats are described alike."))
    for which, other, crossing in zip(("first", "second"), ("second", "first"), crossings, strict=False):
        read = crossing.turns - len(crossing.missed)
        text = f"Turns of the {which} that the format of the {other} reads: {read} of {crossing.turns}"
        missed = f" (not: {'; '.join(crossing.missed[:3])}{'; …' if len(crossing.missed) > 3 else ''})" if crossing.missed else ""
        yield Line.of(("fair" if crossing.missed else "good", text), ("note", missed))
