"""How the entries of calls are written where arguments stand in tags: patterns, what may follow a value, and finding it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .arguments import CUT, NO, OBJECT, ArgumentReader
from .format import KEY, NAME, Slot
from .scanner import BEGUN, is_weak, make_literal, make_search, split_atoms

if TYPE_CHECKING:
    from collections.abc import Generator

    from .program import Program
    from .scanner import Literal, Search
    from .tape import Wait

KEY_LIMIT = 256
KEEP_KEY = 1 << 30
SEARCHES = 1024  # how many patterns are kept
SEARCHED = 4  # how much of a marker they look at
TAIL = 4  # how much of the end of a marker is looked for
SPACE = r"\s{0,256}"

_searches: dict[tuple[tuple[str, ...], str], tuple[Search, Search]] = {}


class Plan(NamedTuple):
    """All that does not change from value to value of a slot."""

    closer: str  # the end marker; where it repeats the key, a place for it
    before: str  # the layout before the closer
    after: str  # the layout before the value
    repeats: bool  # whether the closer repeats the key
    search: Search  # for the places where the value may end
    fast: Search  # the same, and for what JSON escapes


def get_searches(heads: tuple[str, ...], before: str) -> tuple[Search, Search]:
    """Return the searches for what may end a value: the bare one, and one that also finds what JSON escapes."""
    known = _searches.get((heads, before))
    if known is None:
        search = make_search(heads, (before,))
        pattern: re.Pattern[str] = search.__self__  # type: ignore[attr-defined]
        known = search, re.compile(f'{pattern.pattern}|["\\\\\\x00-\\x1f]').search
        if len(_searches) > SEARCHES:
            _searches.clear()
        _searches[heads, before] = known
    return known


def write_flexible(literal: Literal) -> str:
    """Write the pattern of structure text with flexible layout."""
    return SPACE.join(map(re.escape, literal.atoms))


class Entries:
    """The outermost entries of calls to one tool, and what may follow the last."""

    end_text = ""  # what may end the last value together with its entry; see markup.Level

    def __init__(self, program: Program, name: str) -> None:
        call = program.call
        assert call is not None
        notation = call.arguments.object
        self._name = name
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
        self.next = re.compile(self._write_entry())
        self._bounds = tuple(text for text in (notation.separator, notation.key_start, *texts) if split_atoms(text))
        self._openers = call.markup.openers if call.nested else ()
        self._slot_sizes = sorted(len(literal.text.strip()) for literal, _ in self.slots)
        shortest = self._slot_sizes[0] if self.slots else 0
        self._entry_size = len("".join(self.key_start.atoms)) + 1 + shortest
        # How much behind an end marker is waited for before asking what it is: all of what usually ends a call, or
        # the least that begins the next entry. A shorter rest is looked at when the output ends.
        closers = len("".join(split_atoms(call.call_end.replace(NAME, name) + call.section_end)))
        shortest_end = min((len("".join(end.atoms)) for end in self.ends), default=0)
        self.rest_size = min(self._entry_size, max(shortest_end, closers))
        separator = f"(?:{write_flexible(self.separator)}{SPACE})?" if self.separator else ""
        self._head = re.compile(f"{SPACE}{separator}{write_flexible(self.key_start)}" if self.key_start else "(?!)")
        self.slot_head = re.compile("|".join(map(re.escape, sorted(self.slot_heads))))
        # With one of these the beginning of an entry ends, and the layout after it, or the end marker of a call.
        tails = {(text, "") for text in (self.end.text, call.call_end, call.section_end)}
        tails |= {(slot.start.text, "(?s:.)" if slot.start.after else "") for slot in notation.slots}
        found = {(atoms[-1][-TAIL:], more) for text, more in tails if (atoms := split_atoms(text))}
        found = {one for one in found if not any(one != other and one[0].endswith(other[0]) for other in found)}
        self.tail: Search = re.compile("|".join(re.escape(text) + more for text, more in sorted(found))).search
        self.back = TAIL
        self.plans = tuple(self.make_plan(slot) for _, slot in self.slots)

    def make_plan(self, slot: Slot) -> Plan:
        """Look up all that does not change from value to value of a slot."""
        closer, before = slot.end.text.replace(NAME, self._name), slot.end.before
        head = closer.split(KEY)[0].strip()[:SEARCHED]
        searches = get_searches((*((head,) if head else self._bounds), *self._openers), before)
        return Plan(closer, before, slot.start.after, KEY in closer, *searches)

    def _exclude_longer(self, literal: Literal) -> str:
        """Write a pattern that fails where a slot that begins like another may be the longer one: look closer there."""
        start = "".join(literal.atoms)
        slots = {"".join(other.atoms) for other, _ in self.slots}
        heads = sorted({slot[len(start)] for slot in slots if slot.startswith(start) and slot != start})
        return f"(?!{SPACE}(?:\\Z|[{re.escape(''.join(heads))}]))" if heads else ""

    def _write_entry(self) -> str:
        """Write the pattern of an entry's whole beginning; group 1 is the key, the next ones tell the slots."""
        separator = f"(?:{write_flexible(self.separator)}{SPACE})?" if self.separator else ""
        slots = "|".join(f"({write_flexible(literal)}{self._exclude_longer(literal)})" for literal, _ in self.slots)
        ends = "|".join(write_flexible(end) for end in self.ends) or "(?!)"
        bare = "|".join(write_flexible(literal) for literal, _ in self.slots)
        key = f"((?!\\s*(?:/|{bare}))[^<\\n]{{1,{KEY_LIMIT}}}?)"
        return f"{SPACE}(?!{ends}){separator}{write_flexible(self.key_start)}{key}(?:{slots})"

    def get_need(self, text: str, at: int) -> int:
        """Return how long the text must be before it is worth looking for a whole entry at a place.

        That is 0 if there is none, and ``KEEP_KEY`` if nothing but the rest of the key has to come first.
        """
        head = self._head.match(text, at)
        size = len(text)
        if head is None:
            rest = text[at:].lstrip()
            if not self.key_start.text.startswith(rest) or any(end.text.startswith(rest) for end in self.ends):
                return 0
            return size - len(rest) + self._entry_size
        start = head.end()
        found = self.slot_head.search(text, start, start + KEY_LIMIT)
        if found is None:
            hopeless = size - start > KEY_LIMIT or text.find("\n", start) >= 0
            return 0 if hopeless else KEEP_KEY
        for length in self._slot_sizes:
            if size < found.start() + length:
                return found.start() + length
        return 0


class EntryReader(ArgumentReader):
    """Tells what stands at a place where entries are expected."""

    __slots__ = ()

    _program: Program

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
        return self._closed and (not text or literal.match(text, 0) == BEGUN)

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

    def _is_key_cut(self, at: int) -> bool:
        """Whether the output ended inside the beginning of an entry or of a closer."""
        entries, text = self._get_entries(), self._text[at:]
        start = entries.key_start
        if any(literal.match(text, 0) == BEGUN for literal in (start, *entries.ends) if literal):
            return True
        end = start.match(text, 0)
        if not start or end < 0:
            return False
        rest = text[end:]
        key = entries.slot_head.split(rest, maxsplit=1)[0]
        if re.fullmatch(r"[^\s<>/][^\s<>]*|", key) is None:
            return False
        return key == rest or any(literal.match(rest, len(key)) == BEGUN for literal, _ in entries.slots)
