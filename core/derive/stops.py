"""The texts that end a turn, on which a server may stop generation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..ask.pieces import END, find_shared_header, list_tokens
from ..format.cut import cut_common_end
from .draft import TURN, Draft, Links


def find_stops(draft: Draft) -> list[str]:
    """Return what ends turns: the same text behind all fields, or one behind content and another one behind calls.

    What also stands before a further field closes the field and not the turn.
    """
    content: list[str] = []
    others: list[str] = []
    for field, links in draft.edges[TURN].items():
        ends = content if field.kind == "content" else others if field.kind != "reasoning" else []
        ends += _cut_closers(links)
    shared = cut_common_end([*content, *others]) if content and others else ""
    if is_marker(shared):
        return [shared.strip()]
    stops = dict.fromkeys(end for end in content if is_marker(end))
    for end in sorted(others, key=len):
        if is_marker(end) and not any(end.endswith(stop) for stop in stops):
            stops[_take_last(end, content)] = None
    return list(stops)


def _cut_closers(links: Links) -> Iterable[str]:
    """Return the ends of turns behind a field, less what is common with what leads to other fields."""
    others = [link.text for link in links if link.target != END]
    for link in links:
        if link.target == END:
            closer = max((find_shared_header(link.text, other) for other in others), key=len, default="")
            yield link.text[len(closer) :].strip()


def is_marker(text: str) -> bool:
    """Whether a text is more than a single sign."""
    return any(map(str.isalnum, text)) or len(text) > 1


def _take_last(text: str, known: Iterable[str]) -> str:
    """Return the last mark of several: those before it may close calls. It is of the same make as one that is known."""
    for mark in known:
        make = re.sub(r"\w+", lambda _: r"\w+", re.escape(mark))
        match = re.search(make + r"\Z", text)
        if mark and match:
            return match[0]
    tokens = list_tokens(text)
    return tokens[-1] if len(tokens[-1]) > 2 and not tokens[-1].isalnum() else text
