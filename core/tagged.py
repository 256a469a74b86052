"""Arguments in tags: each entry between markers of its own, its value raw text or a value in the format's notation.

Raw text has no escapes, so a value may hold the text of any marker. Its end marker counts only where the format allows it:
followed, after layout, by another entry, by the end of the call, or by the end of the output. Otherwise it is text.

Entries are many and short, so they are read by one flat generator. What usually stands between two values, an end marker
and the whole beginning of the next entry, is one pattern of :class:`Entries`; where it does not match, the careful way is
taken, which waits, knows about missing closers, and decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .arguments import CUT, NO, OBJECT, ArgumentReader
from .format import KEY, NAME, Marker, Slot
from .scanner import count_common_prefix, count_common_suffix, count_layout, is_weak, make_literal, make_search, split_atoms
from .schema import UNKNOWN, Schema
from .tape import COPY, GUARDED, KEEP
from .values import Value, dump_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from .program import Program
    from .scanner import Literal, Search
    from .tape import Wait

    Plan = tuple[str, str, str, bool, bool, Search, Search]  # see Entries.make_plan

KEY_LIMIT = 256
KEEP_KEY = 1 << 30
SEARCHES = 1024  # how many patterns are kept for one tool
SEARCHED = 4  # how much of a marker they look at
MARKUP_HOLD = 1 << 14  # a longer value that may be nested markup is text
_SPACE = r"\s{0,256}"


class Entries:
    """How the entries of calls to one tool are written: patterns, and what may follow the last."""

    def __init__(self, program: Program, name: str) -> None:
        call = program.call
        assert call is not None
        notation = call.arguments.object
        self.start = make_literal(notation.start)
        self.end = make_literal(notation.end.replace(NAME, name))
        self.separator, self.key_start = make_literal(notation.separator), make_literal(notation.key_start)
        self.slots = tuple((make_literal(slot.start.text), slot) for slot in notation.slots)
        self.slot_heads = {literal.first[:1] for literal, _ in self.slots}
        texts = [self.end.text]
        for closer in (call.call_end.replace(NAME, name), call.section_end):
            texts += [atom for atom in call.list_closers(closer) if not is_weak(atom) or atom == closer]
        texts += [opener.literal.text for opener in call.openers if not opener.bare]
        texts += [end.literal.text for end in program.ends]
        self.ends = tuple(make_literal(text) for text in dict.fromkeys(texts) if text.strip())
        self.entry = re.compile(self._write_entry())
        self.bounds = [atoms[0] for text in (notation.separator, notation.key_start, *texts) if (atoms := split_atoms(text))]
        self.slot_sizes = sorted(len(literal.text.strip()) for literal, _ in self.slots)
        shortest = self.slot_sizes[0] if self.slots else 0
        self.entry_size = len("".join(self.key_start.atoms)) + 1 + shortest
        # How much behind an end marker is waited for before asking what it is: all of what usually ends a call, or
        # most of what usually begins the next entry. A shorter rest is looked at when the output ends.
        closers = len("".join(split_atoms(call.call_end.replace(NAME, name) + call.section_end)))
        shortest_end = min((len("".join(end.atoms)) for end in self.ends), default=0)
        self.rest_size = min(self.entry_size + 8, max(shortest_end, closers))
        self.shortest = 1 + shortest
        separator = f"(?:{_flexible(self.separator)}{_SPACE})?" if self.separator else ""
        self.head = re.compile(f"{_SPACE}{separator}{_flexible(self.key_start)}" if self.key_start else "(?!)")
        self.slot_head = re.compile("|".join(map(re.escape, sorted(self.slot_heads))))
        self.key_end = re.compile(f"\n|{self.slot_head.pattern}").search
        self._searches: dict[tuple[str, str, str], tuple[Search, Search]] = {}
        self.plans = tuple(self.make_plan(slot) for _, slot in self.slots)

    def make_plan(self, slot: Slot) -> Plan:
        """Look up all that does not change from value to value of a slot."""
        closer, before, after = slot.end.text, slot.end.before, slot.start.after
        repeats = KEY in closer or NAME in closer
        return (closer, before, after, len(split_atoms(closer)) == 1, repeats, *self.get_searches(closer, before, ""))

    def _write_entry(self) -> str:
        """Write the pattern of an entry's whole beginning; group 1 is the key, the next ones tell the slots."""
        separator = f"(?:{_flexible(self.separator)}{_SPACE})?" if self.separator else ""
        slots = "|".join(f"({_flexible(literal)})" for literal, _ in self.slots)
        ends = "|".join(_flexible(end) for end in self.ends) or "(?!)"
        bare = "|".join(_flexible(literal) for literal, _ in self.slots)
        key = f"((?!\\s*(?:/|{bare}))[^<\\n]{{1,{KEY_LIMIT}}}?)"
        return f"{_SPACE}(?!{ends}){separator}{_flexible(self.key_start)}{key}(?:{slots})"

    def get_need(self, text: str, at: int) -> int:
        """Return how long the text must be before it is worth looking for a whole entry at a place.

        That is 0 if there is none, and ``KEEP_KEY`` if nothing but the rest of the key has to come first.
        """
        head = self.head.match(text, at)
        size = len(text)
        if head is None:
            rest = text[at:].lstrip()
            if not self.key_start.text.startswith(rest) or any(end.text.startswith(rest) for end in self.ends):
                return 0
            return size - len(rest) + self.entry_size
        start = head.end()
        found = self.slot_head.search(text, start, start + KEY_LIMIT)
        if found is None:
            hopeless = size - start > KEY_LIMIT or text.find("\n", start) >= 0
            return 0 if hopeless else KEEP_KEY
        for length in self.slot_sizes:
            if size < found.start() + length:
                return found.start() + length
        return 0

    def get_searches(self, closer: str, before: str, opener: str) -> tuple[Search, Search]:
        """Return the searches for the end of a value: the bare one, and one that also finds what JSON escapes."""
        heads = closer.split(KEY)[0].split(NAME)[0].strip()[:SEARCHED], before, opener[:SEARCHED]
        known = self._searches.get(heads)
        if known is None:
            search = make_search([*([heads[0]] if heads[0] else self.bounds), opener[:SEARCHED]], (before,))
            pattern: re.Pattern[str] = search.__self__  # type: ignore[attr-defined]
            known = search, re.compile(f'{pattern.pattern}|["\\\\\\x00-\\x1f]').search
            if len(self._searches) > SEARCHES:
                self._searches.clear()
            self._searches[heads] = known
        return known


def _may_stand(wanted: str, text: str, at: int) -> bool:
    """Whether a text stands at a place, or may when more has come."""
    return text.startswith(wanted, at) or wanted.startswith(text[at:])


def _flexible(literal: Literal) -> str:
    return _SPACE.join(map(re.escape, literal.atoms))


class TaggedReader(ArgumentReader):
    """Reads arguments in tags; see the module's text."""

    _program: Program

    def __init__(self) -> None:
        super().__init__()
        self._written_value = ""  # the end of a value that was read, to be emitted with what follows it
        self._found: re.Match[str] | None = None  # the beginning of the entry that follows the value just read

    def _get_entries(self) -> Entries:
        """Return the patterns for the tool that is being called."""
        known = self._program.entries.get(self._name)
        if known is None:
            if len(self._program.entries) > 64:
                self._program.entries.clear()
            known = self._program.entries[self._name] = Entries(self._program, self._name)
        return known

    def _probe_entries(self, at: int) -> Wait:
        """Tell whether arguments in tags begin at a place: with an entry, or with the end of the call."""
        start = self._get_entries().start
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
        for literal in self._get_entries().ends:
            if (yield from self._match(literal, at)) >= 0:
                return True
        return False

    def _read_key(self, at: int) -> Generator[int, None, tuple[str, Slot | None, int]]:
        """Read an entry's beginning, with any separator before it: its key, its slot, and where its value begins."""
        entries, nothing = self._get_entries(), ("", None, -1)
        if entries.separator:
            end = yield from self._match_after_space(entries.separator, at)
            at = end if end >= 0 else at
        at = yield from (self._match_after_space(entries.key_start, at) if entries.key_start else self._skip(at))
        if at < 0:
            return nothing
        place = at
        while True:
            found = [p for p in (self._text.find(head, place, at + KEY_LIMIT + 1) for head in entries.slot_heads) if p >= 0]
            place = min(found) if found else len(self._text)
            if place - at > KEY_LIMIT or "\n" in self._text[at:place].strip():
                return nothing
            if not found:
                if not self._can_wait():
                    return nothing
                yield place + 1
                continue
            for literal, slot in entries.slots:
                end = yield from self._match(literal, place)
                if end >= 0:
                    key = self._text[at:place].strip()
                    return (key, slot, end) if key and "<" not in key and key[0] != "/" else nothing
            place += 1

    def _stream_entries(self, at: int) -> Wait:
        """Emit arguments in tags as JSON; returns their end, or -1 if they were cut off, or went wrong at 0."""
        entries = self._get_entries()
        schema = self._tools.get_parameters(self._name) if self._tools is not None else UNKNOWN
        if entries.start:
            at = yield from self._match_after_space(entries.start, at)
        opening = "{"
        while True:
            entry = self._found or entries.entry.match(self._text, at)
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
            value = self._make_value(key, slot, schema)
            value.lead = f"{opening}{dump_text(key)}: "
            opening = ", "
            # The end of the value before this one and the beginning of this one make one delta.
            self._emit_arguments(self._written_value if value.holding else self._written_value + value.open())
            self._written_value = ""
            at = yield from self._stream_raw(entries, plan, key, end, value)
            if at < 0:
                return -1
        end = (yield from self._match_after_space(entries.end, at)) if entries.end else -1
        written, self._written_value = self._written_value, ""
        if end < 0 and not (yield from self._is_closed(at)):
            self._emit_arguments(written)
            self._cut(at)
            return -1
        self._emit_arguments("{}" if opening == "{" else written + "}")
        return end if end >= 0 else at

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
        simple = schema.find_simple_types(key)
        if simple is not None and (simple[0] == "string" or not call.nested):
            return Value(simple, call.transducer, call.foreign, not call.raw)
        inner = schema.get_property(key)
        types = inner.get_types() if inner is not UNKNOWN else ()
        value = Value(types, call.transducer, call.foreign, not call.raw)
        if call.nested and types[:1] != ("string",):
            reader = call.markup
            value.convert = lambda text: reader.read(text, inner)
            value.extend = lambda text: MARKUP_HOLD if reader.is_begun(text, inner) else 0
            value.opener = call.arguments.object.key_start + key + slot.start.text
        return value

    def _stream_raw(self, entries: Entries, plan: Plan, key: str, at: int, value: Value) -> Wait:
        """Emit the value that begins at a place; returns the end of its end marker.

        What may be the end marker, or layout before it, is held back until it is certain. The value has an ``opener`` if
        it may hold entries of the same key, whose end markers are not its own.
        """
        closer, before, after, single, repeats, search, fast = plan
        opener = value.opener
        if repeats:
            closer = closer.replace(KEY, key).replace(NAME, self._name)
        if repeats or opener:
            search, fast = entries.get_searches(closer, before, opener)
        if opener:
            single = single and len(split_atoms(opener)) == 1
        if after and self._text.startswith(after, at):
            at, after = at + len(after), ""
        self._cut(at)
        while after:
            size = count_common_prefix(self._text, 0, len(self._text), after)
            if size < len(self._text) or size == len(after) or self._closed:
                self._cut(size)
                break
            yield size + 1
        scan = depth = 0
        while True:
            text = self._text
            found = search(text, scan)
            stop = found.start() if found else len(text)
            if found and text[stop] in before:
                found, stop = None, len(text)  # layout at the end
            sure = stop
            if value.holding and stop <= value.hold:
                sure = 0  # all of it is kept anyway
            elif stop and text[stop - 1] in before:
                sure -= count_layout(text, 0, stop, (before,))
            if value.holding and sure > value.hold:
                value.decide(text)
            if sure and not value.holding:
                self._emit_arguments(value.write(text[:sure]))
                self._cut(sure)
                stop -= sure
            if found is None:
                if self._closed:
                    return -1
                scan = stop
                if self._deferred is None and (value.holding or not stop):
                    self._rest_in_value(value, search, fast)
                mode = self._mode
                yield value.hold + 2 if mode == KEEP else 0
                if mode == COPY:
                    self._kind = "reasoning" if self._thinking else "content"
                elif mode == GUARDED:
                    value.state = self._state
                continue
            text, place = self._text, stop + len(closer)
            if closer and not depth and _may_stand(closer, text, stop):
                # The usual case, in few steps: the end marker, and behind it the whole beginning of another entry.
                if len(text) < place + entries.rest_size and not self._closed:
                    scan = stop
                    yield place + entries.rest_size
                    continue
                entry = entries.entry.match(text, place)
                if entry is not None and text.startswith(closer, stop):
                    self._found = entry  # which is read next, from where it was found
                    end = place
                else:
                    need = 0 if self._closed else entries.get_need(text, place)
                    if need > 0:
                        scan = stop
                        if need == KEEP_KEY:
                            self._mode, self._guard = KEEP, entries.key_end
                            need = len(text) + KEY_LIMIT
                        yield need
                        continue
                    end = yield from self._match_closer(closer, stop)
            elif single and not _may_stand(closer, text, stop) and not _may_stand(opener or closer, text, stop):
                end = -1  # neither end marker nor opener, nor the beginning of one
            else:
                if opener and (yield from self._match(make_literal(opener), stop)) >= 0:
                    depth += 1
                end = yield from self._match_closer(closer, stop)
            if end >= 0 and depth:
                depth -= 1
            elif end >= 0:
                rest = stop
                if stop and self._text[stop - 1] in before:
                    rest -= count_common_suffix(self._text, 0, stop, before)
                self._written_value = value.close(self._text[:rest])
                return end
            scan = stop + 1

    def _rest_in_value(self, value: Value, search: Search, fast: Search) -> None:
        """Let feed deal with what cannot end the value."""
        if value.holding:
            self._mode, self._guard = KEEP, search
        elif value.lexer is not None:
            self._mode, self._guard, self._step, self._state = GUARDED, search, value.lexer.step, value.state
        else:
            self._mode, self._kind, self._copy_index, self._guard = COPY, "tool_call", self._index, fast

    def _match_closer(self, closer: str, at: int) -> Wait:
        """Match a value's end marker where it counts as one; a value without one ends before what follows it."""
        literal = make_literal(closer)
        end = (yield from self._match(literal, at)) if literal else at
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
        entries, text = self._get_entries(), self._text[at:]
        start = entries.key_start
        if any(literal.match(text, 0) < -1 for literal in (start, *entries.ends) if literal):
            return True
        end = start.match(text, 0)
        return bool(start) and end >= 0 and re.fullmatch(r"[^\s<>/][^\s<>]*|", text[end:]) is not None
