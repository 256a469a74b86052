"""Arguments in tags: each entry between markers of its own, its value raw text or a value in the format's notation.

Raw text has no escapes, so a value may hold the text of any marker. Its end marker counts only where the format allows it:
followed, after layout, by another entry, by the end of the call, or by the end of the output.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .arguments import CUT, NO, OBJECT, ArgumentReader
from .format import KEY, NAME, Slot
from .markup import make_markup_reader
from .scanner import count_common_prefix, count_common_suffix, count_layout, make_literal, make_search, split_atoms
from .schema import UNKNOWN, Schema
from .tape import COPY, GUARDED
from .values import TextSink, TypedSink, dump_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from .program import Program
    from .scanner import Literal, Search
    from .tape import Wait

KEY_LIMIT = 256
MARKUP_HOLD = 1 << 14  # a longer value that may be nested markup is text


class TaggedReader(ArgumentReader):
    """Reads arguments in tags; see the module's text."""

    _program: Program

    def _probe_entries(self, at: int) -> Wait:
        """Tell whether arguments in tags begin at a place: with an entry, or with the end of the call."""
        notation = self._call.arguments.object
        start = make_literal(notation.start)
        if start:
            end = yield from self._match_after_space(start, at)
            if end < 0:
                return CUT if self._is_cut(start, at) else NO
            at = end
        if (yield from self._is_closed(at)):
            return OBJECT
        _, slot, _ = yield from self._read_key(at)
        if slot is not None:
            return OBJECT
        place = yield from self._skip(at)
        return CUT if self._closed and (place < 0 or self._is_key_cut(place)) else NO

    def _is_cut(self, literal: Literal, at: int) -> bool:
        """Whether the output ended before it was certain that some text stands at a place."""
        text = self._text[at:].lstrip()
        return self._closed and (not text or literal.match(text, 0) < -1)

    def _is_closed(self, at: int) -> Generator[int, None, bool]:
        """Whether at a place, after layout, something stands that ends a call's arguments."""
        at = yield from self._skip(at)
        if at < 0:
            return False
        for literal in self._list_ends():
            if (yield from self._match(literal, at)) >= 0:
                return True
        return False

    def _list_ends(self) -> tuple[Literal, ...]:
        """What may stand after the last entry, also where some of the closers are missing."""
        return _list_ends(self._program, self._name)

    def _read_key(self, at: int) -> Generator[int, None, tuple[str, Slot | None, int]]:
        """Read an entry's beginning, with any separator before it: its key, its slot, and where its value begins."""
        notation = self._call.arguments.object
        nothing = "", None, -1
        separator, start = make_literal(notation.separator), make_literal(notation.key_start)
        if separator:
            end = yield from self._match_after_space(separator, at)
            at = end if end >= 0 else at
        at = yield from self._match_after_space(start, at) if start else self._skip(at)
        if at < 0:
            return nothing
        slots = [(make_literal(slot.start.text), slot) for slot in notation.slots]
        heads = {literal.first for literal, _ in slots}
        place = at
        while True:
            found = [p for p in (self._text.find(head[:1], place) for head in heads) if p >= 0]
            place = min(found) if found else len(self._text)
            if place - at > KEY_LIMIT or "\n" in self._text[at:place].strip():
                return nothing
            if not found:
                if not self._can_wait():
                    return nothing
                yield place + 1
                continue
            for literal, slot in slots:
                end = yield from self._match(literal, place)
                if end >= 0:
                    key = self._text[at:place].strip()
                    return (key, slot, end) if key and "<" not in key else nothing
            place += 1

    def _stream_entries(self, at: int) -> Wait:
        """Emit arguments in tags as JSON; returns their end, or -1 if they were cut off, or went wrong at 0."""
        notation = self._call.arguments.object
        schema = self._tools.get_parameters(self._name) if self._tools is not None else UNKNOWN
        start, end_literal = make_literal(notation.start), make_literal(notation.end.replace(NAME, self._name))
        if start:
            at = yield from self._match_after_space(start, at)
        opening = "{"
        ambiguous = any(end.text.startswith(notation.key_start) for end in self._list_ends())
        while not (ambiguous and (yield from self._is_closed(at))):
            key, slot, end = yield from self._read_key(at)
            if slot is None:
                break
            self._emit_arguments(f"{opening}{dump_text(key)}: ")
            opening = ", "
            self._cut(end)
            at = yield from self._stream_slot(key, slot, schema.get_property(key))
            if at < 0:
                return -1
        end = yield from self._match_after_space(end_literal, at) if end_literal else self._skip(at)
        if (end < 0 or not end_literal) and not (yield from self._is_closed(at)):
            self._cut(at)
            return -1
        self._emit_arguments("{}" if opening == "{" else "}")
        return end if end_literal and end >= 0 else at

    def _stream_slot(self, key: str, slot: Slot, schema: Schema) -> Wait:
        """Emit the value with which the text begins; returns the end of its end marker."""
        call = self._call
        types = () if slot.holds == "other" else schema.get_types()
        closer = slot.end.text.replace(KEY, key).replace(NAME, self._name)
        if call.nested and slot.holds != "string" and types[:1] != ("string",):
            return (yield from self._stream_markup(key, slot, closer, schema))
        if slot.holds == "string" or (types[:1] == ("string",) and call.raw):
            sink: TextSink = TextSink()
        else:
            sink = TypedSink(types, call.transducer, call.foreign or slot.holds == "other", call.raw)
        return (yield from self._stream_raw(closer, slot, sink))

    def _stream_markup(self, key: str, slot: Slot, closer: str, schema: Schema) -> Wait:
        """Emit a value that may be nested markup. It is read as a whole, since only its end tells whether it is."""
        opener = self._call.arguments.object.key_start + key + slot.start.text
        reader = make_markup_reader(self._call.arguments.value, self._call.transducer)
        sink = TypedSink(schema.get_types(), self._call.transducer, True, True)
        sink.convert = lambda text: reader.read(text, schema)
        sink.extend = lambda text: MARKUP_HOLD if reader.is_begun(text, schema) else 0
        return (yield from self._stream_raw(closer, slot, sink, opener))

    def _stream_raw(self, closer: str, slot: Slot, sink: TextSink, opener: str = "") -> Wait:
        """Give a raw value to a sink and emit what it makes of it; returns the end of the value's end marker.

        What may be the end marker, or layout before it, is held back until it is certain. ``opener`` is set where the
        value may hold entries of the same key, whose end markers are not this one's.
        """
        before, after, literal = slot.end.before, slot.start.after, make_literal(closer)
        search = _make_value_search(closer or "\n".join(self._list_bounds()), before, False, opener)
        fast = _make_value_search(closer or "\n".join(self._list_bounds()), before, True, opener)
        self._emit_arguments(sink.open())
        scan, lead, depth = 0, bool(after), 0
        while True:
            found = search(self._text, scan)
            stop = found.start() if found else len(self._text)
            if lead:
                size = count_common_prefix(self._text, 0, len(self._text), after)
                if size == len(self._text) < len(after) and not self._closed:
                    yield size + 1
                    continue
                self._cut(size)
                scan, lead = 0, False
                continue
            emitted = stop - count_layout(self._text, 0, stop, (before,))
            if emitted:
                self._emit_arguments(sink.write(self._text[:emitted]))
                self._cut(emitted)
                stop -= emitted
            if found is None:
                if self._closed:
                    return -1
                scan = len(self._text)
                if not scan and self._deferred is None:
                    self._rest_in_value(sink, search, fast)
                yield 0
                self._state_back(sink)
                continue
            if opener and (yield from self._match(make_literal(opener), stop)) >= 0:
                depth += 1
            end = yield from self._match_closer(literal, stop)
            if end >= 0 and depth and opener:
                depth -= 1
            elif end >= 0:
                rest = stop - count_common_suffix(self._text, 0, stop, before)
                self._emit_arguments(sink.write(self._text[:rest]) + sink.close())
                return end
            scan = stop + 1
            if self._closed and scan >= len(self._text):
                return -1

    def _rest_in_value(self, sink: TextSink, search: Search, fast: Search) -> None:
        """Let feed deal with what cannot end the value."""
        if sink.text:
            self._mode, self._kind, self._copy_index, self._guard = COPY, "tool_call", self._index, fast
        elif sink.lexer is not None:
            self._mode, self._guard, self._step, self._state = GUARDED, search, sink.lexer.step, sink.state

    def _state_back(self, sink: TextSink) -> None:
        """Take over from feed."""
        if sink.text:
            self._kind = "reasoning" if self._thinking else "content"
        elif sink.lexer is not None:
            sink.state = self._state

    def _match_closer(self, literal: Literal, at: int) -> Wait:
        """Match a value's end marker where it counts as one; a value without one ends before what follows it."""
        if not literal:
            return at if (yield from self._is_followed(at)) else -1
        end = yield from self._match(literal, at)
        if end < 0 or not (yield from self._is_followed(end)):
            return -1
        return end

    def _is_followed(self, at: int) -> Generator[int, None, bool]:
        """Whether what the format allows after a value stands at a place: an entry, the end, or no more text."""
        place = yield from self._skip(at)
        if place < 0:
            return self._closed
        if (yield from self._is_closed(place)):
            return True
        _, slot, _ = yield from self._read_key(place)
        return slot is not None or (self._closed and self._is_key_cut(place))

    def _is_key_cut(self, at: int) -> bool:
        """Whether the output ended inside the beginning of an entry or of a closer."""
        start = make_literal(self._call.arguments.object.key_start)
        literals = (start, *self._list_ends()) if start else self._list_ends()
        text = self._text[at:]
        if any(literal.match(text, 0) < -1 for literal in literals):
            return True
        end = start.match(text, 0)
        return bool(start) and end >= 0 and re.fullmatch(r"[^\s<>]*[^\s]{0,64}", text[end:]) is not None

    def _list_bounds(self) -> list[str]:
        """The first atoms of all that may follow a value that has no end marker."""
        notation = self._call.arguments.object
        texts = [notation.separator, notation.key_start, *(literal.text for literal in self._list_ends())]
        return [split_atoms(text)[0] for text in texts if split_atoms(text)]


@lru_cache(maxsize=1024)
def _make_value_search(bounds: str, before: str, escaped: bool, opener: str) -> Search:
    """Make the search for the end of a value; with ``escaped`` also for what JSON escapes, for text passed as it is."""
    texts = [atom for atom in bounds.split("\n") if atom.strip()] + [opener] * bool(opener)
    search = make_search(texts, (before,))
    if not escaped:
        return search
    pattern: re.Pattern[str] = search.__self__  # type: ignore[attr-defined]
    return re.compile(f'{pattern.pattern}|["\\\\\\x00-\\x1f]').search


@lru_cache(maxsize=1024)
def _make_ends(texts: tuple[str, ...]) -> tuple[Literal, ...]:
    return tuple(make_literal(text) for text in dict.fromkeys(texts) if text.strip())



def _list_ends(program: Program, name: str) -> tuple[Literal, ...]:
    call = program.call
    assert call is not None
    texts = [call.arguments.object.end.replace(NAME, name)]
    texts += split_atoms(call.call_end.replace(NAME, name))
    texts += split_atoms(call.section_end)
    texts += [opener.literal.text for opener in call.openers if not opener.bare]
    texts += [end.literal.text for end in program.ends]
    return _make_ends(tuple(texts))
