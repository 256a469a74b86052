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
from ..format.units import NO, get_units
from .strings import make_marks, make_text, read_images, write_marked
from .types import find_json

_HARD_KEY = make_word("h")
_HARD: dict[str, Any] = {
    _HARD_KEY: "q\"\\'\n<&>/é☃",
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
    place = find_json(text, hard)
    if place is None:
        within = _find_encoding(oracle, shape)
        place = find_encoded(text, hard, within) if within is not None else None
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
    """Return what becomes of the characters of a JSON text inside a string; None where they are as in any JSON text.

    JSON writes a backslash as two and a quote as a backslash and a quote; what those became tells the single ones.
    """
    marks = make_marks("m")
    images = read_images(_render(oracle, shape, {_HARD_KEY: write_marked(marks)}), marks)
    doubled = images.get("\\", "")
    backslash = doubled[: len(doubled) // 2]
    if not backslash or doubled != backslash * 2 or not images.get('"', "").startswith(backslash):
        return None
    quote = images['"'][len(backslash) :]
    found = {char: image for char, image in images.items() if char >= " " and not image.startswith(backslash)}
    codec = make_text({**found, "\\": backslash, '"': quote})
    return codec if codec.escapes else None


def find_encoded(text: str, value: Any, within: Text, at: int = 0) -> tuple[int, int] | None:
    """Return where an object is written as JSON inside a string, or None."""
    opening = within.images.get("{", "{")
    place = text.find(opening, at)
    while place >= 0:
        decoded, places = _decode(text, place, within)
        try:
            found, end = json.JSONDecoder().raw_decode(decoded)
        except (ValueError, RecursionError):
            found, end = None, 0
        if end and found == value:
            return place, places[end]
        place = text.find(opening, place + 1)
    return None


def _decode(text: str, at: int, within: Text) -> tuple[str, list[int]]:
    """Decode a text until a character that would have been escaped; return it, and where each of its characters begins."""
    units = get_units(within)
    barred = set(units.table.values())
    chars: list[str] = []
    places = [at]
    while at < len(text):
        end, written = units.read(text, at, True) if text[at] in units.first else (NO, "")
        if end < 0 and text[at] in barred:
            break
        at, written = (end, written) if end > at else (at + 1, text[at])
        chars += written
        places += [at] * len(written)
    return "".join(chars), places


def find_spans(text: str, calls: Sequence[Call], written: Written, field: Field) -> list[Span] | None:
    """Return where the arguments of calls stand, None where those of one are not found.

    Brackets with nothing in them may be the template's own: a call's stand on the same side of its name as others' arguments.
    """
    spans: list[Span] = []
    at = 0
    for number, call in enumerate(calls):
        name = text.find(call.name, at)
        place = _find_object(text, call.object, written.json, at if written.leads or call.object else max(name, at))
        if place is None and call.object:
            return None
        while place and written.leads and not call.object:
            nearer = _find_object(text, call.object, written.json, place[1])
            if nearer is None or nearer[1] > name:
                break
            place = nearer
        if place:
            spans.append(Span(*place, Needle(field, number)))
            at = place[1]
    return spans


def _find_object(text: str, value: dict[str, Any], json: Json, at: int) -> tuple[int, int] | None:
    """Return where an object is written first, from a place on."""
    return find_encoded(text, value, json.within, at) if json.within else find_json(text, value, at)
