"""JSON that a template writes as it stands, or inside a string: what that makes of its characters, and where a value stands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..format import Json, Text
from ..format.units import NO, get_units
from .strings import make_text


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
