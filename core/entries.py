"""How the entries of calls are written where arguments stand in tags: patterns, and what may follow a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .format import KEY, NAME, Slot
from .scanner import is_weak, make_literal, make_search, split_atoms

if TYPE_CHECKING:
    from .program import Program
    from .scanner import Literal, Search

KEY_LIMIT = 256
KEEP_KEY = 1 << 30
SEARCHES = 1024  # how many patterns are kept
SEARCHED = 4  # how much of a marker they look at
TAIL = 4  # how much of the end of a marker is looked for
SPACE = r"\s{0,256}"

_searches: dict[tuple[tuple[str, ...], str], tuple[Search, Search]] = {}


class Plan(NamedTuple):
    """All that does not change from value to value of a slot."""

    closer: str
    before: str  # the layout before the closer
    after: str  # the layout before the value
    repeats: bool  # whether the closer repeats the key or the name of the tool
    search: Search  # for the places where the value may end
    fast: Search  # the same, and for what JSON escapes

    def close_with(self, closer: str) -> Plan:
        """Return the plan with the end marker of one value."""
        return Plan(closer, self.before, self.after, False, self.search, self.fast)


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
        self._slot_head = re.compile("|".join(map(re.escape, sorted(self.slot_heads))))
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
        closer, before = slot.end.text, slot.end.before
        repeats = KEY in closer or NAME in closer
        head = closer.split(KEY)[0].split(NAME)[0].strip()[:SEARCHED]
        searches = get_searches((*((head,) if head else self._bounds), *self._openers), before)
        return Plan(closer, before, slot.start.after, repeats, *searches)

    def fill_plan(self, plan: Plan, key: str, name: str) -> Plan:
        """Put the key and the tool's name into a value's end marker."""
        return plan.close_with(plan.closer.replace(KEY, key).replace(NAME, name))

    def _write_entry(self) -> str:
        """Write the pattern of an entry's whole beginning; group 1 is the key, the next ones tell the slots."""
        separator = f"(?:{write_flexible(self.separator)}{SPACE})?" if self.separator else ""
        slots = "|".join(f"({write_flexible(literal)})" for literal, _ in self.slots)
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
        found = self._slot_head.search(text, start, start + KEY_LIMIT)
        if found is None:
            hopeless = size - start > KEY_LIMIT or text.find("\n", start) >= 0
            return 0 if hopeless else KEEP_KEY
        for length in self._slot_sizes:
            if size < found.start() + length:
                return found.start() + length
        return 0
