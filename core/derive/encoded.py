"""JSON that a template writes as it stands, or inside a string: what that makes of its characters, and where a value stands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..ask.oracle import Oracle
from ..ask.pieces import Field, Needle, Span
from ..ask.question import Call, Shape
from ..ask.shapes import make_test_call, render_call
from ..ask.words import USER, make_word
from ..format import Json, Text
from ..format.units import NO, get_units
from .strings import Special, Specimen, make_text


def find_encoding(images: Mapping[str, str]) -> Text | None:
    """Return what becomes of the characters of a JSON text inside a string, from what special characters in a text of it became;
    None where they are as in any JSON text.

    JSON writes a backslash as two and a quote as a backslash and a quote; what those became tells the single ones.
    """
    doubled = images.get("\\", "")
    backslash = doubled[: len(doubled) // 2]
    quote = images.get('"', "").removeprefix(backslash)
    if not (backslash and quote) or (doubled, images['"']) != (backslash * 2, backslash + quote):
        return None
    plain = {char: image.replace(backslash, "\\").replace(quote, '"') for char, image in images.items() if char >= " "}
    found = {char: images[char] for char, image in plain.items() if not _is_json(image, char)}
    codec = make_text({**found, "\\": backslash, '"': quote})
    return codec if codec.escapes else None


def _is_json(image: str, char: str) -> bool:
    """Whether JSON writes a character so."""
    try:
        return bool(json.loads(f'"{image}"') == char)
    except ValueError:
        return False


def find_written(text: str, value: Any, codec: Json, at: int = 0) -> tuple[int, int] | None:
    """Return where a list or an object is written first, from a place on, or None."""
    bracket = "[" if isinstance(value, list) else "{"
    opening = codec.within.images.get(bracket, bracket) if codec.within else bracket
    decoder = json.JSONDecoder()
    place = text.find(opening, at)
    while place >= 0:
        decoded, places = _decode(text, place, codec.within) if codec.within else (text, None)
        try:
            found, end = decoder.raw_decode(decoded, 0 if places else place)
        except (ValueError, RecursionError):
            found, end = None, 0
        if end and found == value and type(found) is type(value):
            return place, places[end] if places else end
        place = text.find(opening, place + 1)
    return None


def _decode(text: str, at: int, within: Text) -> tuple[str, list[int]]:
    """Decode a text until a character that would have been escaped; return it, and where each of its characters begins."""
    units = get_units(within)
    chars: list[str] = []
    places = [at]
    while at < len(text):
        end, written = units.read(text, at, True) if text[at] in units.first else (NO, "")
        if end < 0 and text[at] in units.stands_for:
            break
        at, written = (end, written) if end > at else (at + 1, text[at])
        chars += written
        places += [at] * len(written)
    return "".join(chars), places


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


def find_json_arguments(oracle: Oracle, shape: Shape, special: Special) -> Written | None:
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
        specimen = Specimen("m", special.anywhere)
        within = find_encoding(specimen.read(_render(oracle, shape, {_HARD_KEY: specimen.text})))
        place = find_written(text, hard, Json(within)) if within is not None else None
    return None if place is None else Written(Json(within), place[0] < text.find(make_test_call(shape).name))


def _render(oracle: Oracle, shape: Shape, arguments: dict[str, Any]) -> str | None:
    """Return a call with the given arguments as it is printed."""
    call = make_test_call(shape)
    texts = render_call(oracle, shape, Call.of(call.name, call.id, arguments))
    return next((text[text.rfind(USER) :] for text in texts if text is not None), None)


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
