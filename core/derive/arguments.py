"""Arguments that are written as one JSON object, as it stands or inside a string."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..ask.oracle import Oracle
from ..ask.pieces import Field, Needle, Span
from ..ask.question import Call, Question, Shape
from ..ask.shapes import make_test_call
from ..ask.words import USER, make_word
from ..format import Json, Text
from .encoded import find_encoding, find_written
from .strings import list_special, make_specimen

_HARD_KEY = make_word("h")
_HARD: dict[str, Any] = {
    _HARD_KEY: "q\"\\'\n<&>/é☃|%#~$",
    _HARD_KEY + "b": [1, -2.5, True, None, {"n": ["q\"\\'\n", {}]}],
    _HARD_KEY + "c": False,
    _HARD_KEY + "d": {},
}
"""Arguments that are read alike only if they are written as JSON."""


class Written(NamedTuple):
    """How arguments are written that are JSON, and whether they stand before the name."""

    json: Json
    leads: bool


def find_json_arguments(oracle: Oracle, shape: Shape) -> Written | None:
    """Return how arguments are written if it is as JSON, whatever is in them; None where it is in another way."""
    for refused in ("", "b", "d", "bd"):  # lists, empty objects, or both
        hard = {key: value for key, value in _HARD.items() if key[-1] not in refused}
        text = _render(oracle, shape, hard)
        if text is not None:
            break
    else:
        return None
    within = None
    place = find_written(text, hard, Json())
    if place is None:
        within = _find_encoding(oracle, shape)
        place = find_written(text, hard, Json(within)) if within is not None else None
    return None if place is None else Written(Json(within), place[0] < text.find(make_test_call(shape).name))


def _render(oracle: Oracle, shape: Shape, arguments: dict[str, Any]) -> str | None:
    """Return a call with the given arguments as it is printed; content helps templates that want some."""
    call = replace(make_test_call(shape), arguments=json.dumps(arguments, ensure_ascii=False))
    for content in (None, make_word("c")):
        text = oracle.render(Question(content=content, calls=(call,)), shape)
        if text is not None:
            return text[text.rfind(USER) :]
    return None


def _find_encoding(oracle: Oracle, shape: Shape) -> Text | None:
    """Return how arguments are written inside a string; None where they are as in any JSON text."""
    specimen = make_specimen("m", list_special(oracle.renderer.hints))
    return find_encoding(specimen.read(_render(oracle, shape, {_HARD_KEY: specimen.text})))


def find_spans(text: str, calls: Sequence[Call], written: Written, field: Field) -> list[Span] | None:
    """Return where the arguments of calls stand, None where those of one are not found.

    Brackets with nothing in them may be the template's own: a call's stand on the same side of its name as others' arguments.
    """
    spans: list[Span] = []
    at = 0
    for number, call in enumerate(calls):
        name = text.find(call.name, at)
        place = find_written(text, call.object, written.json, at if written.leads or call.object else max(name, at))
        if place is None and call.object:
            return None
        while place and written.leads and not call.object:
            nearer = find_written(text, call.object, written.json, place[1])
            if nearer is None or nearer[1] > name:
                break
            place = nearer
        if place:
            spans.append(Span(*place, Needle(field, number)))
            at = place[1]
    return spans
