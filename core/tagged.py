"""Arguments in tags: each entry between markers of its own, its value raw text or a value in the format's notation.

Raw text has no escapes, so a value may hold the text of any marker. Its end marker counts only where the format allows it:
followed, after layout, by another entry, by the end of the call, or by the end of the output. Otherwise it is text.

Entries are many and short, so they are read by one flat generator. What usually stands between two values, an end marker
and the whole beginning of the next entry, is one pattern; where it does not match, the careful way is taken, which waits,
knows about missing closers, and decides.

A value may be *nested markup*: a list or an object whose items and entries stand in tags again. Where its type says that it
cannot be text, its first tag opens it. Where it may be text, it has to be nested properly as a whole, or, if it is long, so
far. From then on its items and entries are streamed like the outermost ones. Where they stop being what the format says,
so does the call; but an end marker further out closes what is open inside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .entries import KEEP_KEY, KEY_LIMIT, Entries, EntryReader, Plan
from .format import KEY, Marker, Slot
from .markup import DEPTH, KEY_PATTERN, Level, may_nest
from .scanner import (
    MISS,
    SPACE_LIMIT,
    count_common_prefix,
    count_common_suffix,
    count_layout,
    make_literal,
    skip_space,
)
from .schema import UNKNOWN, Schema
from .tape import COPY, ENDING, GUARDED, KEEP, SLOW, WAIT
from .values import HOLD, Value, dump_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from .scanner import Literal, Search
    from .tape import Wait


class TaggedReader(EntryReader):
    """Reads arguments in tags; see the module's text."""

    __slots__ = ("_found", "_levels", "_opened", "_written_value")

    def __init__(self) -> None:
        super().__init__()
        self._written_value = ""  # the end of a value that was read, to be emitted with what follows it
        self._found: re.Match[str] | None = None  # the beginning of the entry that follows the value just read
        self._levels: list[Level] = []  # those around the innermost that is open
        self._opened: Level | None = None  # what the value just begun is, if it is nested markup

    def _stream_entries(self, at: int) -> Wait:
        """Emit arguments in tags as JSON; returns their end, or -1 if they were cut off, or went wrong at 0."""
        entries = self._get_entries()
        schema = self._tools.get_parameters(self._name) if self._tools is not None else UNKNOWN
        if entries.start:
            at = yield from self._match_after_space(entries.start, at)
        opening = "{"
        values: dict[tuple[str, ...], Value] = {}  # by type, as they are before they are read
        while True:
            entry = self._found or entries.next.match(self._text, at)
            self._found = None
            if entry is not None:
                number, key, end = (entry.lastindex or 0) - 2, entry[1].strip(), entry.end()
            elif (yield from self._is_closed(at)):
                break
            else:
                key, found, end = yield from self._read_key(at)
                if found is None:
                    break
                number = next(i for i, (_, known) in enumerate(entries.slots) if known is found)
            slot, plan = entries.slots[number][1], entries.plans[number]
            if self._call.quotes:
                self._cut(end)
                slot, end = (yield from self._read_quote(slot)), 0
                plan = entries.make_plan(slot)
            types = schema.find_simple_types(key) if slot.holds == "any" else None
            value = values.get(types) if types else None
            if value is None:
                value = self._make_value(key, slot, schema)
                if types and value.schema is None:
                    values[types] = value
            value.lead = f"{opening}{dump_text(key)}: "
            opening = ", "
            closer = plan.closer.replace(KEY, key) if plan.repeats else plan.closer
            at = (yield from self._read_short(entries, plan, closer, end, value)) if value.short else end
            if at < 0 or not value.short:
                if value.short:
                    values.clear()  # it changes now
                at = yield from self._stream_raw(entries, plan, closer, max(at, 0), value)
            if self._opened is not None:
                at = yield from self._stream_markup(at)
                if len(self._text) < at + entries.rest_size and not self._closed:
                    self._mode, self._tail, self._back = WAIT, entries.tail, entries.back
                    yield at + entries.rest_size
            if at < 0:
                return -1
        end = (yield from self._match_after_space(entries.end, at)) if entries.end else -1
        if end < 0 and not (yield from self._is_closed(at)):
            return self._stop_entries(at)
        written, self._written_value = self._written_value, ""
        self._emit_arguments("{}" if opening == "{" else written + "}")
        return end if end >= 0 else at

    def _stop_entries(self, at: int) -> int:
        """Stop at a place where arguments are no longer what the format says."""
        written, self._written_value = self._written_value, ""
        self._emit_arguments(written)
        self._cut(at)
        return -1

    def _stream_markup(self, at: int) -> Wait:
        """Emit the nested markup whose outermost level was just opened; returns its end, or -1 as for all arguments."""
        stack: list[Level] = []
        self._levels = stack
        level, self._opened = self._opened, None
        assert level is not None
        comma = ""
        while True:
            kind = level.kind
            if self._found is None and len(self._text) < at + level.rest_size and not self._closed:
                yield at + level.rest_size
            entry = self._found or level.next.match(self._text, at)
            self._found = None
            if entry is not None:
                key, end = "" if kind.is_list else entry[1], entry.end()
            elif level.end_text and self._text.startswith(level.end_text, at):
                key, end = "", -1
            else:
                key, end = yield from self._read_item(level, at)
            if end >= 0:
                value = (level.value if len(stack) < DEPTH else None) or self._make_inner_value(level, key, len(stack))
                value.lead = comma if kind.is_list else f"{comma}{dump_text(key)}: "
                plan = kind.plan
                closer = plan.closer.replace(KEY, key) if plan.repeats else plan.closer
                at = (yield from self._read_short(level, plan, closer, end, value)) if value.short else end
                level.value = value if at >= 0 and value.short and kind.is_list else None
                if at < 0 or not value.short:
                    at = yield from self._stream_raw(level, plan, closer, max(at, 0), value)
                if self._opened is not None:
                    stack.append(level)
                    level, self._opened = self._opened, None
                    comma = ""
                elif at < 0:
                    return -1
                else:
                    comma = ", "
                continue
            if self._text.startswith(level.end_text, at):
                end = at + len(level.end_text)
            else:
                end = yield from self._match_after_space(level.end, at)
            if end < 0:
                missing, end = yield from self._find_outer_end(stack, at)
                if end < 0:
                    return self._stop_entries(at)
                for _ in range(missing):
                    self._written_value += level.kind.closing
                    level = stack.pop()
            self._written_value += level.kind.closing
            comma = ", "
            if not stack:
                return end
            level, at = stack.pop(), end
            # What ends here is often the last item: wait for what then follows the end of the outer level, too.
            outer = stack[-1] if stack else self._get_entries()
            rest = level.rest_size + outer.rest_size
            if len(self._text) < at + rest and not self._closed:
                if outer.tail is not None:
                    self._mode, self._tail, self._back = WAIT, outer.tail, outer.back
                yield at + rest

    def _find_outer_end(self, stack: list[Level], at: int) -> Generator[int, None, tuple[int, int]]:
        """Find what at a place ends one of the outer levels, or the call: how many ends are missing, and its end or -1."""
        for number, outer in enumerate(reversed(stack), 1):
            end = yield from self._match_after_space(outer.end, at)
            if end >= 0:
                return number, end
        return len(stack), (at if (yield from self._is_closed(at)) else -1)

    def _read_item(self, level: Level, at: int) -> Generator[int, None, tuple[str, int]]:
        """Read the beginning of an item or entry: its key, and where its value begins or -1."""
        kind = level.kind
        if kind.separator:
            end = yield from self._match_after_space(kind.separator, at)
            at = end if end >= 0 else at
        at = yield from self._match_after_space(kind.item, at)
        if at < 0 or kind.is_list:
            return "", at
        while True:
            key = KEY_PATTERN.match(self._text, at)
            if key and (key.end() < len(self._text) or key.end() - at == KEY_LIMIT):
                return key[1], (yield from self._match(kind.slot, key.end()))
            if (not key and at < len(self._text)) or not self._can_wait():
                return "", -1
            self._mode, self._tail, self._back = WAIT, kind.tail, 0
            yield len(self._text) + 1

    def _open_level(self, level: Entries | Level, closer: str, value: Value) -> Wait:
        """Open the list or object with which the text begins, if a value is one; returns its first item's place, or -1."""
        markup, schema = self._call.markup, value.schema
        assert schema is not None
        while True:
            place = skip_space(self._text, 0)
            if place < len(self._text):
                break
            if self._closed or place > SPACE_LIMIT:
                return -1
            yield place + 1
        for kind in markup.get_kinds(value.types):
            start = yield from self._match(kind.opener, place)
            if start < 0:
                continue
            start = start if kind.start else place
            if not isinstance(level, Level) or level.kind is not kind or not level.is_like(closer, schema):
                level = Level(kind, closer, schema)
            self._found = kind.next.match(self._text, start)
            if self._found or kind.is_list or (yield from self._read_item(level, start))[1] >= 0:
                self._opened = level
                self._written_value += value.lead + kind.opening
                return start
        return -1

    def _read_quote(self, slot: Slot) -> Generator[int, None, Slot]:
        """Read the quote with which a value begins, if one does; returns the slot with what ends such a value."""
        for start, closer in self._call.quotes:
            end = yield from self._match(start, 0)
            if end >= 0:
                self._cut(end)
                return Slot(slot.start, Marker(closer + slot.end.text), "string")
        return slot

    def _make_value(self, key: str, slot: Slot, schema: Schema) -> Value:
        """Decide from its key and slot how a value is read."""
        call = self._call
        if slot.holds == "string":
            return Value(("string",), call.transducer, call.foreign)
        if slot.holds == "other":
            return Value((), call.transducer, True)
        types = schema.find_simple_types(key)
        if types is None:
            inner = schema.get_property(key)
            types = inner.get_types() if inner is not UNKNOWN else ()
        value = Value(types, call.transducer, call.foreign, not call.raw)
        if call.nested and may_nest(types):
            value.opener = call.arguments.object.key_start + key + slot.start.text
            value.nest(schema.get_property(key), bool(types))
        return value

    def _make_inner_value(self, level: Level, key: str, depth: int) -> Value:
        """Decide how a value inside nested markup is read."""
        schema, kind = level.get_schema(key), level.kind
        types = schema.get_types()
        value = Value(types, self._call.transducer, True)
        if may_nest(types):
            value.opener = kind.item.text + key + kind.slot.text
            if depth < DEPTH:
                value.nest(schema, True)
        return value

    def _read_short(self, level: Entries | Level, plan: Plan, closer: str, at: int, value: Value) -> Wait:
        """Read a value that is held back, if it is short and holds nothing like an end marker, in as few steps as can be.

        Returns the end of its end marker. Where it opens nested markup, that is ``_opened``, and the place of its first item
        is returned. Where it is not as simple as that, the answer is -1, and the value is where the text begins.
        """
        written, self._written_value = self._written_value, ""
        head, size = closer[:1], len(closer) + level.rest_size
        simple = bool(head) and not (value.certain and value.opener.lstrip()[:1] != head)
        if value.certain:
            markup, first = self._call.markup, self._text[at : at + 1]
            if not first or first in markup.heads or first.isspace():
                self._emit_arguments(written)
                self._cut(at)
                written, at = "", 0
                if len(self._text) < size and not self._closed:  # the value cannot have ended before so much has come
                    if simple and not self._text:
                        self._keep_to_end(level, plan, size)
                        yield HOLD + 2
                    else:
                        yield size
                first = self._text[:1]
                if first in markup.heads or first.isspace():
                    start = yield from self._open_level(level, closer, value)
                    if start >= 0:
                        return start
        self._emit_arguments(written)
        self._cut(at)
        stop = self._text.find(head)
        if not simple:
            return -1
        if not self._closed and len(self._text) < stop + size:
            if stop < 0:
                self._keep_to_end(level, plan, size)
                yield HOLD + 2
                stop = self._text.find(head)
            else:
                if level.tail is not None:
                    self._mode, self._tail, self._back = WAIT, level.tail, level.back
                yield stop + size
        text, place = self._text, stop + len(closer)
        if not 0 <= stop <= HOLD or not text.startswith(closer, stop):
            return -1
        self._found = level.next.match(text, place)
        if self._found is None and not (level.end_text and text.startswith(level.end_text, place)):
            return -1
        start = 0
        if plan.before:
            stop -= count_common_suffix(text, 0, stop, plan.before)
        if plan.after:
            start = count_common_prefix(text, 0, stop, plan.after)
        self._written_value = value.close(text[start:stop])
        return place

    def _keep_to_end(self, level: Entries | Level, plan: Plan, size: int) -> None:
        """Let feed keep a value up to its first marker, and so much text from there on."""
        self._mode, self._guard, self._jump = KEEP, plan.search, size
        self._tail, self._back = level.tail, level.back

    def _stream_raw(self, level: Entries | Level, plan: Plan, closer: str, at: int, value: Value) -> Wait:
        """Emit the value that begins at a place; returns the end of its end marker.

        What may be the end marker, or layout before it, is held back until it is certain. Where the value turns out to be
        nested markup, which is then ``_opened``, the place of its first item is returned.
        """
        # The end of the value before this one and the beginning of this one make one delta.
        written, self._written_value = self._written_value, ""
        written = written if value.holding else written + value.open()
        before, after, search, fast = plan.before, plan.after, plan.search, plan.fast
        schema = None if value.certain else value.schema  # of what may turn out to be nested markup
        if after and not value.holding and self._text.startswith(after, at):
            at, after = at + len(after), ""
        self._cut(at)
        while after and not value.holding:
            if not self._text:
                self._emit_arguments(written)
                written = ""
            size = count_common_prefix(self._text, 0, len(self._text), after)
            if size < len(self._text) or size == len(after) or self._closed:
                self._cut(size)
                break
            yield size + 1
        rest_size, tail = level.rest_size, level.tail
        scan = depth = 0
        while True:
            text = self._text
            found = search(text, scan)
            stop = found.start() if found else len(text)
            if found and before and text[stop] in before:
                found, stop = None, len(text)  # layout at the end
            sure = stop
            if value.holding and stop <= HOLD:
                sure = 0  # all of it is kept anyway
            elif before and stop and text[stop - 1] in before:
                sure -= count_layout(text, 0, stop, (before,))
            if value.holding and sure > HOLD:
                if schema is not None and self._call.markup.check(text[:HOLD], schema):
                    self._written_value = written
                    return (yield from self._open_level(level, closer, value))
                lead, after = count_common_prefix(text, 0, HOLD, after), ""
                self._cut(lead)
                text, sure, stop = self._text, sure - lead, stop - lead
                value.decide(text)
            if sure and not value.holding:
                written += value.write(text[:sure])
                self._cut(sure)
                stop -= sure
            if written:
                self._emit_arguments(written)
                written = ""
            if found is None:
                if self._closed:
                    return -1
                scan = stop
                if self._deferred is None and (value.holding or not stop):
                    self._rest_in_value(value, search, fast)
                    if self._mode == COPY and closer and not depth:
                        self._closer, self._layout = before + closer, len(before)
                        self._jump, self._tail, self._back = len(before + closer) + rest_size, tail, level.back
                mode = self._mode
                yield HOLD + 2 if mode == KEEP else 0
                if mode == COPY:
                    self._kind, self._closer = ("reasoning" if self._thinking else "content"), ""
                elif mode == GUARDED:
                    value.state = self._state
                continue
            text, place = self._text, stop + len(closer)
            if closer and not depth and text.startswith(closer[: len(text) - stop], stop):
                # The usual case, in few steps: the end marker, and behind it the whole beginning of another entry.
                if len(text) < place + rest_size and not self._closed:
                    scan = stop
                    self._tail, self._back = tail, level.back
                    if len(text) < place:
                        self._mode, self._closer, self._jump = ENDING, text[:stop] + closer, place + rest_size
                        yield 0
                        self._closer = ""
                    else:
                        self._mode = SLOW if tail is None else WAIT
                        yield place + rest_size
                    text = self._text
                    if not text.startswith(closer, stop):
                        continue
                entry = level.next.match(text, place)
                if entry is not None and text.startswith(closer, stop):
                    self._found = entry  # which is read next, from where it was found
                    end = place
                else:
                    need = 0 if self._closed else level.get_need(text, place)
                    if need > 0:
                        scan = stop
                        if need == KEEP_KEY:
                            need = len(text) + 1
                            self._mode, self._tail, self._back = WAIT, tail, level.back
                        yield need
                        continue
                    end = yield from self._match_closer(level, make_literal(closer), stop)
            elif value.opener and (yield from self._match(make_literal(value.opener), stop)) >= 0:
                depth, end = depth + 1, -1
            elif closer and make_literal(closer).match(self._text, stop) == MISS:
                end = -1
            elif depth:
                depth, end = depth - ((yield from self._match(make_literal(closer), stop)) >= 0), -1
            else:
                end = yield from self._match_closer(level, make_literal(closer), stop)
            if end >= 0:
                rest = stop
                if before and stop and self._text[stop - 1] in before:
                    rest -= count_common_suffix(self._text, 0, stop, before)
                if schema is not None and value.holding and self._call.markup.check(self._text[:rest], schema) == "whole":
                    self._found = None
                    return (yield from self._open_level(level, closer, value))
                lead = count_common_prefix(self._text, 0, rest, after) if after and value.holding else 0
                self._written_value += value.close(self._text[lead:rest])
                return end
            scan = stop + 1

    def _rest_in_value(self, value: Value, search: Search, fast: Search) -> None:
        """Let feed deal with what cannot end the value."""
        if value.holding:
            self._mode, self._guard, self._jump = KEEP, search, 0
        elif value.lexer is not None:
            self._mode, self._guard, self._step, self._state = GUARDED, search, value.lexer.step, value.state
        else:
            self._mode, self._kind, self._copy_index, self._guard = COPY, "tool_call", self._index, fast

    def _match_closer(self, level: Entries | Level, literal: Literal, at: int) -> Wait:
        """Match a value's end marker where it counts as one; a value without one ends before what follows it."""
        end = (yield from self._match(literal, at)) if literal else at
        if end < 0 or not (yield from self._is_followed(level, end)):
            return -1
        return end

    def _is_followed(self, level: Entries | Level, at: int) -> Generator[int, None, bool]:
        """Whether what the format allows after a value stands at a place: an entry, the end, or no more text."""
        place = yield from self._skip(at)
        if place < 0:
            return self._closed
        if (yield from self._is_closed(place)):
            return True
        if isinstance(level, Entries):
            _, slot, _ = yield from self._read_key(place)
            return slot is not None or (self._closed and self._is_key_cut(place))
        for outer in (level, *self._levels[-1:], *self._levels[:1]):
            if (yield from self._match(outer.end, place)) >= 0:
                return True
        if (yield from self._read_item(level, place))[1] >= 0:
            return True
        return self._closed and level.is_cut(self._text, place)
