"""Where a turn may end: a server hands on what ends it, or cuts it off, or a part of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..ask.pieces import list_tokens
from ..ask.question import Question
from ..format import TurnGraph
from ..format.view import find_turn_end, list_inner_texts

_SIGNED = re.compile(r"\w[^\w\s]+\Z")
"""A word with signs behind it."""


def list_cuts(text: str, graph: TurnGraph, question: Question) -> tuple[str, ...]:
    """Return a turn without what ends it, and then as it may come otherwise: with that and nothing behind it, up to its
    last mark or line, and without what all turns of the format end with."""
    at = _find_last_field(text, question)
    begin, end = min(
        ((place, place + len(stop)) for stop in graph.stops if (place := text.find(stop, at)) >= 0),
        default=(len(text), len(text)),
    )
    said = at == _find_end(text, (question.content, question.reasoning))  # what ends a call may have many marks
    last = _find_last_mark(text, at if said else begin)
    line = text[at : at + 1] == "\n" == text[last : last + 1]
    left = text[at:last].strip()
    signs = said and not line and left and not any(map(str.isalnum, left))  # a text may end with those
    cuts = [text[:begin], text[:end], *(() if signs else (text[:last],))]
    shared = _find_shared_end(graph)
    if shared and all(cut + shared != text for cut in cuts):
        cuts.append(text.removesuffix(shared))
    return tuple(dict.fromkeys(cuts))


def _find_shared_end(graph: TurnGraph) -> str:
    """Return what all turns end with, empty where it begins with a mark that also stands inside of turns."""
    inner = list_inner_texts(graph)
    shared = find_turn_end(graph)
    first = next(iter(list_tokens(shared.strip())), "")
    return "" if not first or any(first in text for text in inner) else shared


def _find_last_mark(text: str, at: int) -> int:
    """Return where the last mark or line begins of what ends a turn behind a place; a mark may be words behind another one."""
    place, worded = len(text), False
    for token in reversed(list_tokens(text[at:])):
        start = place - len(token)
        before = text[start - 1 : start]
        marked = len(token) > 2 and not token.replace("_", "").isalnum() and before not in tuple("([{<")
        if marked or (token == "\n" and text[start:].strip()):
            return start
        if worded and not (token.isspace() or token[0].isalnum()) and _SIGNED.search(text, at, place):
            return place
        worded = worded or token[0].isalnum()
        place = start
    return len(text)


def _find_last_field(text: str, question: Question) -> int:
    """Return where the last known piece of a field ends."""
    pieces = [question.content, question.reasoning, *(word for call in question.calls for word in (call.name, call.id))]
    return _find_end(text, [*pieces, *(text for call in question.calls for text in _list_strings(call.object))])


def _find_end(text: str, pieces: Iterable[str | None]) -> int:
    """Return where the last one of some pieces ends, 0 where none that is told from others stands in the text."""
    return max((text.rfind(piece) + len(piece) for piece in pieces if piece and len(piece) > 3 and piece in text), default=0)


def _list_strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _list_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _list_strings(inner)
    elif value is not None:
        yield json.dumps(value)[1:-1] if isinstance(value, str) else json.dumps(value)
