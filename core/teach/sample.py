"""The fields of an example, found in its text.

What a message says is known, so each field is looked for in the form in which it may be written; what stands between two
fields is structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ask.question import Call
from ..constrain.values import STRING as JSON_TEXT
from ..derive.encoded import find_written
from ..errors import LessonError
from ..format import Codec, Json, Text
from ..schema import find_type
from .lesson import Lesson

RAW = Text()
PYTHON_TEXT = Text((("\\\\", "\\"), ("\\'", "'"), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r")), (), True)
_JSON_WITHIN = Text((("\\\\", "\\"), ('\\"', '"')))


class Cut(NamedTuple):
    """A field of an example at its place: its kind as of a node, of which call it is, how a value is written, its text and
    the text before it; ``again`` where it repeats an earlier field of its call. ``"end"`` is the end of the example."""

    start: int
    end: int
    kind: str
    call: int | None = None
    type: str = ""
    codec: Codec | None = None
    again: bool = False
    written: str = ""
    before: str = ""

    @property
    def is_string(self) -> bool:
        """Whether it is an argument that is a text."""
        return self.kind == "value" and self.type == "string"

    @property
    def ends_entry(self) -> bool:
        """Whether it is the last field of an argument."""
        return self.kind == "value" or (self.kind == "key" and self.again)


def cut_lesson(lesson: Lesson, number: int, stops: Sequence[str]) -> tuple[Cut, ...]:
    """Cut a lesson at its fields, up to what ends the turn; some examples have that, some do not.

    Raises :class:`LessonError` where a field of its message is not in its text.
    """
    text = lesson.text
    found = sorted(_find_fields(lesson, number))
    last = max((cut.end for cut in found), default=0)
    end = min((place for stop in stops if stop and (place := text.find(stop, last)) >= 0), default=len(text))
    cuts: list[Cut] = []
    for cut in (*found, Cut(end, end, "end")):
        cuts += _find_repeats(text, cuts, cut.start)
        cuts.append(cut)
    places = zip((0, *(cut.end for cut in cuts)), cuts, strict=False)
    return tuple(cut._replace(before=text[at : cut.start], written=text[cut.start : cut.end]) for at, cut in places)


def _find_fields(lesson: Lesson, number: int) -> list[Cut]:
    """Find reasoning first, then content and calls, in either order."""
    cuts, at = [], 0
    for kind, text in (("reasoning", lesson.reasoning.strip()), ("content", lesson.content.strip())):
        start = lesson.text.find(text, at)
        if start < 0:
            raise LessonError(f"Reading example {number}: its {kind} does not stand in its text, or not in this order.")
        if text:
            at = start + len(text)
            cuts.append(Cut(start, at, kind))
    calls = _find_calls(lesson, at, len(lesson.text))
    if calls is None and lesson.content:
        calls = _find_calls(lesson, cuts[0].end if lesson.reasoning else 0, cuts[-1].start)
    if calls is None:
        raise LessonError(
            f"Reading example {number}: its calls do not all stand in its text, behind reasoning and beside content. Name, "
            "keys and values must be there as the message has them, and values inside values as JSON."
        )
    return [*cuts, *calls]


def _find_calls(lesson: Lesson, at: int, end: int) -> list[Cut] | None:
    found: list[Cut] = []
    for number, call in enumerate(lesson.calls):
        cuts = _find_call(lesson.text[:end], at, call)
        if cuts is None:
            return None
        at = max(cut.end for cut in cuts)
        found += [cut._replace(call=number) for cut in cuts]
    return found


def _find_call(text: str, at: int, call: Call) -> list[Cut] | None:
    """Find a call behind a place: its arguments, and name and id beside them."""
    arguments = _find_arguments(text, at, call)
    if arguments is None:
        return None
    found, last = list(arguments), arguments[-1].end if arguments else at
    carried = bool(call.id) and call.name in call.id and call.id in text[at:]
    for kind, value in (("id", call.id), ("name", "" if carried else call.name)):
        place = text.rfind(value, at, arguments[0].start) if arguments else text.find(value, at)
        place = text.find(value, last) if place < 0 else place
        if value and place >= 0 and not any(cut.start <= place < cut.end for cut in found):
            found.append(Cut(place, place + len(value), kind))
        elif value and kind == "name":
            return None
    return found


def _find_arguments(text: str, at: int, call: Call) -> list[Cut] | None:
    """Find arguments behind a place: as JSON, as JSON in a JSON string, or entry by entry; None where they are not there."""
    arguments = call.object
    if not arguments:
        empty = re.compile(r"\{\s*\}").search(text, at)
        return [Cut(*empty.span(), "arguments", codec=Json())] if empty else []
    for codec in (Json(), Json(_JSON_WITHIN)):
        span = find_written(text, arguments, codec, at)
        if span is not None:
            return [Cut(*span, "arguments", codec=codec)]
    name = text.find(call.name, at)
    keys = [place for key in arguments if (place := _find_word(text, key, at)) >= 0]
    if keys and 0 <= name <= min(keys):  # a key may be a word in the name
        at = name + len(call.name)
    cuts: list[Cut] = []
    for key in sorted(arguments, key=lambda key: _find_word(text, key, at)):  # some templates sort them
        start = _find_word(text, key, at)
        value = _find_value(text, start + len(key), arguments[key]) if start >= 0 else None
        if value is None:
            return None
        cuts += [Cut(start, start + len(key), "key"), value]
        at = value.end
    return cuts


def _find_word(text: str, word: str, at: int) -> int:
    found = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(text, at)
    return found.start() if found else -1


def _find_value(text: str, at: int, value: Any) -> Cut | None:
    """Find a value behind its key, in the form that stands nearest."""
    kind = find_type(value)
    if isinstance(value, (list, dict)):
        span = find_written(text, value, Json(), at)
        return Cut(*span, "value", type=kind, codec=Json()) if span else None
    forms: list[tuple[str, Codec | None]] = [(json.dumps(value), None), (repr(value), None)]
    if isinstance(value, str):  # without its quotes
        forms = [(value, RAW), (json.dumps(value, ensure_ascii=False)[1:-1], JSON_TEXT), (repr(value)[1:-1], PYTHON_TEXT)]
    found: list[Cut] = []
    for written, codec in forms:
        start = (text.find(written, at) if isinstance(value, str) else _find_word(text, written, at)) if written else -1
        if start >= 0:
            around = text[start - 1 : start] + text[start + len(written) : start + len(written) + 1]
            quoted = {'""': JSON_TEXT, "''": PYTHON_TEXT}.get(around, RAW) if codec is RAW else codec
            found.append(Cut(start, start + len(written), "value", type=kind, codec=quoted))
    return min(found, key=lambda cut: cut.start, default=None)


def _find_repeats(text: str, before: Sequence[Cut], end: int) -> list[Cut]:
    """Find name and key of a call repeated between its last field and a place."""
    if not before or before[-1].call is None:
        return []
    last = before[-1]
    found: list[Cut] = []
    for kind in ("name", "key"):
        ours = [cut for cut in before if cut.call == last.call and cut.kind == kind and not cut.again]
        word = text[ours[-1].start : ours[-1].end] if ours else ""
        place = _find_word(text[:end], word, last.end) if len(word) > 1 else -1
        if place >= 0 and not any(cut.start <= place < cut.end for cut in found):
            found.append(Cut(place, place + len(word), kind, last.call, again=True))
    return sorted(found)
