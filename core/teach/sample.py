"""The fields of an example, found in its text.

What a message says is known, so each field is looked for in the form in which it may be written; what stands between two
fields is structure. It becomes edges of a graph just as what stands between the fields of a render.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ask.pieces import Field, Piece
from ..derive.arguments import find_encoded
from ..derive.types import find_json
from ..errors import LessonError
from ..format import Codec, Json, Numeral, Text
from ..schema import find_type
from .lesson import Lesson, LessonCall

RAW = Text()
JSON_TEXT = Text(
    (("\\\\", "\\"), ('\\"', '"'), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\b", "\b"), ("\\f", "\f"), ("\\/", "/")),
    Numeral("utf-16", "\\u"),
    True,
)
PYTHON_TEXT = Text((("\\\\", "\\"), ("\\'", "'"), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r")), None, True)
_JSON_WITHIN = Text((("\\\\", "\\"), ('\\"', '"')))


class Place(NamedTuple):
    """A field at its place in a text, how it is written, and of which call it is."""

    start: int
    end: int
    field: Field
    codec: Codec | None = None
    call: int | None = None
    written: str = ""


@dataclass(frozen=True)
class Sample:
    """A lesson cut into its fields, with the texts before them, and what stands behind the last."""

    lesson: Lesson
    pieces: tuple[Piece, ...]
    codecs: tuple[Codec | None, ...]
    written: tuple[str, ...]
    tail: str


def cut_lesson(lesson: Lesson, number: int) -> Sample:
    """Cut a lesson at its fields. Raises :class:`LessonError` where a field of its message is not in its text."""
    places = sorted(_find_fields(lesson, number), key=lambda place: place.start)
    places = [place for found in places for place in [*_find_repeats(lesson, places, found), found]]
    places += _find_repeats(lesson, places, None)
    pieces, at = [], 0
    for place in places:
        pieces.append(Piece(lesson.text[at : place.start], place.field, place.call))
        at = place.end
    written = tuple(lesson.text[place.start : place.end] for place in places)
    return Sample(lesson, tuple(pieces), tuple(place.codec for place in places), written, lesson.text[at:])


def _find_fields(lesson: Lesson, number: int) -> list[Place]:
    """Find reasoning first, then content and calls, in either order."""
    places, at = [], 0
    beside = bool(lesson.calls)
    for kind, text in (("reasoning", lesson.reasoning.strip()), ("content", lesson.content.strip())):
        start = lesson.text.find(text, at)
        if start < 0:
            raise LessonError(f"Reading example {number}: its {kind} does not stand in its text, or not in this order.")
        if text:
            at = start + len(text)
            field = Field("reasoning" if kind == "reasoning" else "content", beside_calls=beside)
            places.append(Place(start, at, field))
    calls = _find_calls(lesson, at)
    if calls is None and lesson.content:
        calls = _find_calls(lesson, places[0].end if lesson.reasoning else 0, places[-1].start)
    if calls is None:
        raise LessonError(
            f"Reading example {number}: its calls do not all stand in its text, behind reasoning and beside content. Name, "
            "keys and values must be there as the message has them, and values inside values as JSON."
        )
    return [*places, *calls]


def _find_calls(lesson: Lesson, at: int, end: int | None = None) -> list[Place] | None:
    found: list[Place] = []
    for number, call in enumerate(lesson.calls):
        places = _find_call(lesson.text[:end], at, call, number)
        if places is None:
            return None
        at = max(place.end for place in places)
        found += places
    return found


def _find_call(text: str, at: int, call: LessonCall, number: int) -> list[Place] | None:
    """Find a call behind a place: its arguments, and name and id beside them."""
    arguments = find_arguments(text, at, call)
    if arguments is None:
        return None
    first = arguments[0].start if arguments else len(text)
    last = arguments[-1].end if arguments else at
    found = list(arguments)
    carried = bool(call.id) and call.name in call.id and call.id in text[at:]
    for kind, value in (("id", call.id), ("name", "" if carried else call.name)):
        if not value:
            continue
        place = text.rfind(value, at, first) if arguments else text.find(value, at)
        place = text.find(value, last) if place < 0 else place
        if place >= 0 and not any(one.start <= place < one.end for one in found):
            found.append(Place(place, place + len(value), Field("name" if kind == "name" else "id")))
        elif kind == "name":
            return None
    return [place._replace(call=number) for place in found]


def find_arguments(text: str, at: int, call: LessonCall) -> list[Place] | None:
    """Find arguments behind a place: as JSON, as JSON in a JSON string, or entry by entry; None where they are not there."""
    arguments, whole = call.arguments, Field("arguments")
    if not arguments:
        empty = re.compile(r"\{\s*\}").search(text, at)
        return [Place(*empty.span(), whole, Json())] if empty else []
    plain, within = find_json(text, arguments, at), find_encoded(text, arguments, _JSON_WITHIN, at)
    for codec, span in ((Json(), plain), (Json(_JSON_WITHIN), within)):
        if span is not None:
            return [Place(*span, whole, codec)]
    places: list[Place] = []
    at = _skip_name(text, at, call)
    for key in sorted(arguments, key=lambda key: _find_word(text, key, at)):  # some templates sort them
        start = _find_word(text, key, at)
        value = _find_value(text, start + len(key), arguments[key]) if start >= 0 else None
        if value is None:
            return None
        places += [Place(start, start + len(key), Field("key", find_type(arguments[key]))), value]
        at = value.end
    return places


def _skip_name(text: str, at: int, call: LessonCall) -> int:
    """Return where the name of a call ends, if it stands first: a key may be a word in it."""
    place = text.find(call.name, at)
    first = min((found for key in call.arguments if (found := _find_word(text, key, at)) >= 0), default=-1)
    return place + len(call.name) if 0 <= place <= first else at


def _find_word(text: str, word: str, at: int) -> int:
    found = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(text, at)
    return found.start() if found else -1


def _find_value(text: str, at: int, value: Any) -> Place | None:
    """Find a value behind its key, in the form that stands nearest."""
    field = Field("value", find_type(value))
    if isinstance(value, (list, dict)):
        span = find_json(text, value, at)
        return Place(*span, field, Json()) if span else None
    best: Place | None = None
    for written, codec in _list_forms(value):
        start = (text.find(written, at) if isinstance(value, str) else _find_word(text, written, at)) if written else -1
        if start >= 0 and (best is None or start < best.start):
            best = Place(start, start + len(written), field, codec)
    if best is not None and best.codec is RAW:
        around = text[best.start - 1 : best.start] + text[best.end : best.end + 1]
        best = best._replace(codec={'""': JSON_TEXT, "''": PYTHON_TEXT}.get(around, RAW))
    return best


def _list_forms(value: Any) -> Iterator[tuple[str, Codec | None]]:
    """List the ways in which a value may be written, without the quotes of a string."""
    if isinstance(value, str):
        yield value, RAW
        yield json.dumps(value, ensure_ascii=False)[1:-1], JSON_TEXT
        yield repr(value)[1:-1], PYTHON_TEXT
    else:
        yield json.dumps(value), None
        yield repr(value), None


def _find_repeats(lesson: Lesson, places: list[Place], following: Place | None) -> list[Place]:
    """Find name and key of a call repeated in the text before a field (behind the last, where there is none)."""
    before = [place for place in places if following is None or place.start < following.start]
    if not before or before[-1].call is None:
        return []
    last = before[-1]
    start, end = last.end, following.start if following else len(lesson.text)
    found: list[Place] = []
    ours = [place for place in reversed(before) if place.call == last.call and not place.field.again]
    for kind in ("name", "key"):
        known = next((place for place in ours if place.field.kind == kind), None)
        word = lesson.text[known.start : known.end] if known else ""
        place = _find_word(lesson.text[:end], word, start) if len(word) > 1 else -1
        if place >= 0 and not any(one.start <= place < one.end for one in found):
            again = Field("name", again=True) if kind == "name" else Field("key", again=True)
            found.append(Place(place, place + len(word), again, None, last.call))
    return sorted(found)
