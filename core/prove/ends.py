"""Where a turn may end: a server hands on what ends it, or cuts it off, or a part of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..ask.pieces import list_tokens
from ..ask.question import Question
from ..format import TurnGraph
from ..format.view import find_turn_end, list_inner_texts

_PHRASE = re.compile(r"(?<=\w)[^\w\s](?=\s+\w)")
"""A word with a sign behind it, before other words: a mark need not have signs around it."""


def list_cuts(text: str, graph: TurnGraph, question: Question) -> tuple[str, ...]:
    """Return a turn without what ends it, and then as it may come otherwise: with that and nothing behind it, up to its
    last mark or line, and without what all turns of the format end with."""
    at = _find_last_field(text, question)
    begin, end = min(
        ((place, place + len(stop)) for stop in graph.stops if (place := text.find(stop, at)) >= 0),
        default=(len(text), len(text)),
    )
    cuts = [text[:begin], text[:end], text[: _find_last_mark(text, begin)]]
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


def _find_last_mark(text: str, begin: int) -> int:
    """Return where the last mark or line begins of what ends a turn, which may have more than one."""
    place = len(text)
    for token in reversed(list_tokens(text[begin:])):
        place -= len(token)
        if text[place - 1 : place] in tuple("([{<"):
            continue  # amid a mark
        if (len(token) > 2 and not token.replace("_", "").isalnum()) or (token == "\n" and text[place:].strip()):
            return place
    phrases = list(_PHRASE.finditer(text, begin))
    return phrases[-1].end() if phrases else len(text)


def _find_last_field(text: str, question: Question) -> int:
    """Return where the last known piece of a field ends."""
    pieces = [question.content, question.reasoning, *(word for call in question.calls for word in (call.name, call.id))]
    pieces += [text for call in question.calls for text in _list_strings(call.object)]
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
