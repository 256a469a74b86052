"""How content is written, and what ends a turn."""

from __future__ import annotations

from dataclasses import dataclass

from .format import Content, Marker, Reasoning
from .marker import cut_common_prefix, is_blank, make_marker, split_atoms
from .probes import CONTENT, REASONING, Call, Oracle, Question
from .reasoning import ReasoningFinding
from .turn import Header, split_at


@dataclass(frozen=True)
class ContentFinding:
    """The format of content, and what stands behind it at the end of a turn."""

    content: Content
    ending: str


def find_content(oracle: Oracle, header: Header, found: ReasoningFinding, calls: tuple[Call, ...]) -> ContentFinding:
    """Derive what opens and closes content from turns with and without reasoning, and with a call behind it."""
    reasoning = found.reasoning
    plain = split_at(header.read_body(oracle, Question()), CONTENT)
    reasoned = split_at(header.read_body(oracle, Question(reasoning=REASONING)), REASONING, CONTENT)
    called = split_at(header.read_body(oracle, Question(calls=calls)), CONTENT) if calls else None
    if plain is None:
        return ContentFinding(Content(), "")
    opening = make_marker(drop_reasoning(plain[0], reasoning))
    opening_reasoned = opening
    if reasoned and reasoning:
        opening_reasoned = make_marker(drop_marker(drop_reasoning(reasoned[1], reasoning), found.continuation))
    ending = plain[1] + "".join(split_atoms(oracle.trailing)[:1])
    if reasoning and opening.text == reasoning.start.text:
        opening = opening_reasoned = Marker()  # content is printed into the reasoning that every turn opens
    start = opening or opening_reasoned
    if not start and called and calls[0].name not in called[0]:
        start, first = make_marker(drop_reasoning(called[0], reasoning)), split_atoms(called[1])[:1]
        if start and first:
            return ContentFinding(Content(start, Marker(first[0]), "with calls"), ending)
        start = Marker()
    if not start:
        return ContentFinding(Content(opening), ending)
    closing, ending = _split_closing(ending, called[1] if called else None)
    return ContentFinding(Content(start, closing, "always" if opening else "after reasoning"), ending)


def drop_reasoning(text: str, reasoning: Reasoning | None) -> str:
    """Return a text without the empty or closed reasoning block that it begins with."""
    if reasoning is None or reasoning.end.text not in text:
        return text
    end = reasoning.end
    rest = text[text.rindex(end.text) + len(end.text) :]
    return rest[len(end.after) :] if rest.startswith(end.after) else rest.lstrip() if is_blank(rest) else rest


def drop_marker(text: str, marker: Marker) -> str:
    """Return a text without the marker that it begins with."""
    position = text.find(marker.text) if marker else -1
    return text[position + len(marker.text) :] if position >= 0 and is_blank(text[:position]) else text


def _split_closing(ending: str, before_call: str | None) -> tuple[Marker, str]:
    """Split what stands behind wrapped content into the marker that closes it and the end of the turn."""
    atoms = split_atoms(ending)
    if before_call is not None and not is_blank(before_call):
        shared = cut_common_prefix(ending, before_call)
        if not is_blank(shared):
            return make_marker(shared), ending[len(shared) :]
    if len(atoms) < 2 or before_call is not None:
        return Marker(), ending
    position = ending.index(atoms[0]) + len(atoms[0])
    return make_marker(ending[:position]), ending[position:]
