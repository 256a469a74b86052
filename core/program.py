"""A format made ready for reading: the markers in the order in which to try them, and the searches for them.

That is done once for each :class:`ChatFormat` object and kept as long as the object lives, beside it and not in it, so a
format stays plain data. Everything here is immutable after it was made and shared by all parsers of the format.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .format import NAME, ChatFormat, Marker, ObjectBody
from .markup import Markup
from .scanner import Literal, is_weak, make_literal, make_search, split_atoms
from .transducer import Transducer, make_transducer

if TYPE_CHECKING:
    from .entries import Entries
    from .format import ObjectNotation, Tools
    from .scanner import Search

REASONING, CONTENT, OPENER, END, CONTINUATION, HEADER = (
    "reasoning",
    "content",
    "opener",
    "end",
    "continuation",
    "header",
)

_PAIRS = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True)
class Structure:
    """Structure text that may begin something, and what follows from it.

    For an opener: ``section`` tells whether the section's start is part of it, ``bare`` whether it is too weak to be one
    without the name of a tool, ``size`` how much of it stands before the body.
    """

    kind: str
    literal: Literal
    before: str = ""
    after: str = ""
    section: bool = False
    bare: bool = False
    inside: bool = False  # the body begins at the literal's start, not at its end


class Program:
    """How to read one format."""

    def __init__(self, format: ChatFormat) -> None:
        turn, reasoning, content, tools = format.turn, format.reasoning, format.content, format.tools
        self.turn, self.reasoning, self.content, self.tools = turn, reasoning, content, tools
        self.headed = bool(turn.header_end)
        self.header_end = make_literal(turn.header_end)
        self.reasoning_end = make_literal(reasoning.end.text if reasoning else "")
        self.blank = reasoning is not None and reasoning.blank
        self.call = CallProgram(tools) if tools else None
        self.prefixes = tuple(sorted({start.prefix for start in format.starts}, key=len, reverse=True))
        ends = [*turn.end]
        if self.headed:
            ends += [marker for marker in (reasoning and reasoning.end, content.end, tools and tools.call_end) if marker]
        self.ends = tuple(Structure(END, make_literal(m.text), m.before, m.after) for m in _unique(ends))
        self.entries: dict[str, Entries] = {}  # by the name of the tool, as they are needed
        self.continuation = turn.continuation
        self.continuation_literal = make_literal(turn.continuation.text)

    @cached_property
    def structures(self) -> tuple[Structure, ...]:
        """All that may begin something, longest first."""
        found = list(self.ends)
        for marker, kind in ((self.reasoning and self.reasoning.start, REASONING), (self.content.start, CONTENT)):
            if marker and not self.headed:
                found.append(Structure(kind, make_literal(marker.text), marker.before, marker.after))
        if self.continuation:
            turn = self.continuation
            found.append(Structure(CONTINUATION, self.continuation_literal, turn.before, turn.after))
        if self.headed:
            found += [Structure(HEADER, make_literal(atom)) for atom in self._list_header_atoms()]
        elif self.call:
            found += self.call.openers
        return tuple(sorted(found, key=lambda structure: -len("".join(structure.literal.atoms))))

    @cached_property
    def by_head(self) -> dict[str, tuple[Structure, ...]]:
        """The structures by their first character."""
        heads = {structure.literal.first[:1] for structure in self.structures}
        return {head: tuple(s for s in self.structures if s.literal.first[:1] == head) for head in heads if head}

    @cached_property
    def layouts(self) -> tuple[str, ...]:
        """The layout that may stand before structure."""
        found = {structure.before for structure in self.structures} | {marker.before for marker in self._closers}
        return tuple(sorted(layout for layout in found if layout))

    @cached_property
    def search(self) -> Search:
        """Search for a place where structure may begin."""
        texts = [s.literal.text for s in self.structures] + [m.text.split(NAME)[0] for m in self._closers]
        return make_search(texts, self.layouts)

    @cached_property
    def search_plain(self) -> Search:
        """The same for a request without tools, in which no call can begin."""
        texts = [s.literal.text for s in self.structures if s.kind != OPENER] + [m.text for m in self._closers[:2]]
        return make_search(texts, self.layouts)

    def get_layout(self, closer: str) -> tuple[str, str]:
        """Return the layout before and after an end marker."""
        return self._closer_layouts.get(closer) or self._closer_layouts.get("", ("", ""))

    @cached_property
    def _closer_layouts(self) -> dict[str, tuple[str, str]]:
        layouts = {marker.text: (marker.before, marker.after) for marker in reversed(self._closers)}
        if self.tools:  # a closer that repeats the name of its call
            layouts[""] = self.tools.call_end.before, self.tools.call_end.after
        return layouts

    @cached_property
    def _closers(self) -> tuple[Marker, ...]:
        found = [self.reasoning.end if self.reasoning else Marker(), self.content.end]
        if self.tools and self.call:
            for marker, text in (
                (self.tools.call_end, self.call.call_end),
                (self.tools.section_end, self.call.section_end),
            ):
                found += [Marker(atom, marker.before, marker.after) for atom in self.call.list_closers(text)]
        return tuple(found)

    def _list_header_atoms(self) -> list[str]:
        """The texts with which a message's header may begin."""
        starts = [self.reasoning and self.reasoning.start, self.content.start, self.tools and self.tools.call_start]
        return sorted({_find_head(marker.text) for marker in starts if marker})


class CallProgram:
    """How to read the calls of one format."""

    def __init__(self, tools: Tools) -> None:
        self.tools, self.body, self.arguments = tools, tools.body, tools.arguments
        section, call = tools.section_start.text.strip(), tools.call_start.text.strip()
        self.call_end, self.section_end = tools.call_end.text.strip(), tools.section_end.text.strip()
        self.id_follows = False
        self.fields: tuple[tuple[str, Literal], ...] = ()
        if isinstance(self.body, ObjectBody):
            # The brackets of a list of calls, and of the call itself, are the body's: they are optional for the reader.
            call = call.rstrip("[{ \n")
            section = section if call else section.rstrip("[{ \n")
            self.call_end = self.call_end.lstrip("]} \n")
            self.section_end = self.section_end if self.call_end else self.section_end.lstrip("]} \n")
            keys = self.body.keys
            if self.body.id and self.body.arguments and {self.body.id[-1], self.body.arguments[-1]} <= set(keys):
                self.id_follows = keys.index(self.body.id[-1]) > keys.index(self.body.arguments[-1])
            self.lexed = not self.arguments.json
        else:
            fields, start = list(self.body.fields), self.arguments.object.start.strip()
            names = [field for field, _ in fields]
            place = names.index("arguments")
            self.lexed = not self.arguments.json and _is_lexical(self.arguments.object)
            if self.lexed and not start and place:
                # The bracket that opens the arguments was taken for the end of the text before them.
                before = fields[place - 1][1].rstrip()
                if before[-1:] in _PAIRS:
                    fields[place - 1] = (fields[place - 1][0], before[:-1])
                    if self.call_end.startswith(_PAIRS[before[-1]]) and not self.arguments.object.end.strip():
                        self.call_end = self.call_end[1:].lstrip()
            self.id_follows = "id" in names[place:]
            self.fields = tuple((field, make_literal(text)) for field, text in fields)
        self.call_literal = make_literal(call)
        self.separator = make_literal(tools.separator)
        self.openers = self._list_openers(section, call)
        self.bare = not self.openers or all(opener.bare for opener in self.openers)
        self.foreign = not self.arguments.value.json
        nested = self.arguments.value.object
        self.nested = nested is not None and not self.arguments.json and bool(nested.key_start.strip("\"' "))
        self.raw = any(not string.start for string in self.arguments.strings)

    @cached_property
    def transducer(self) -> Transducer:
        """What turns values of this notation into JSON."""
        return make_transducer(self.arguments.strings, self.arguments.value)

    @cached_property
    def markup(self) -> Markup:
        """How nested markup is written in this notation."""
        return Markup(self.arguments.value)

    def list_closers(self, text: str) -> tuple[str, ...]:
        """Split what closes a call or a section into the markers that may stand alone.

        An end marker of which a part also opens something is one marker: that part alone closes nothing.
        """
        atoms = split_atoms(text)
        return (text,) if self._opening_atoms.intersection(atoms) else atoms

    @cached_property
    def _opening_atoms(self) -> frozenset[str]:
        openers = (self.tools.section_start.text, self.tools.call_start.text, self.arguments.object.key_start)
        return frozenset(atom for opener in openers for atom in split_atoms(opener) if not is_weak(atom))

    @cached_property
    def quotes(self) -> tuple[tuple[Literal, str], ...]:
        """The quotes in which a raw string may stand all the same, where its text needs them."""
        return tuple((make_literal(s.start), s.end) for s in self.arguments.strings if s.start and self.raw)

    def _list_openers(self, section: str, call: str) -> list[Structure]:
        """List what may open a call: section and call, the call alone, and its last markers alone.

        Models forget the outer of two markers. A marker that is left must still be one: it begins with punctuation and is
        longer than that.
        """
        own, tools = split_atoms(call), self.tools
        bare = is_weak(section + call)
        found: list[Structure] = []
        # Without a marker of its own, a section is the white space that stands before its first call.
        layout = tools.call_start.before if section else tools.section_start.before + tools.call_start.before

        def add(text: str, before: str, has_section: bool, inside: bool = False) -> None:
            found.append(Structure(OPENER, make_literal(text), before, "", has_section, bare, inside))

        if isinstance(self.body, ObjectBody) and bare:
            add("{", tools.section_start.before or layout, False, True)
            add("[", tools.section_start.before or layout, False, True)
            return found
        if section:
            add(f"{section}\n{call}", tools.section_start.before, True)
            if call and not is_weak(section):
                add(section, tools.section_start.before, True)
        if call and (bare or not is_weak(call)):
            add(call, layout, False)
        for start in range(1, len(own)):
            if any(len(atom) > 2 and not atom[0].isalnum() for atom in own[start:]) and not is_weak(own[start]):
                add("\n".join(own[start:]), layout, False)
        return found


def _is_lexical(notation: ObjectNotation) -> bool:
    """Whether an object differs from JSON in its quotes, brackets and signs only."""
    slots = notation.slots
    return (
        notation.start.strip() in ("", "{", "(")
        and notation.end.strip() in ("", "}", ")")
        and notation.key_start.strip("\"' ") == ""
        and notation.separator.strip() in (",", "")
        and len(slots) == 1
        and slots[0].start.text.strip("\"' ") in (":", "=")
        and not slots[0].end.text.strip()
    )


def _find_head(text: str) -> str:
    """Return the first marker of a text: up to its first closing bracket, else its first word."""
    first = text.split()[0]
    for place, char in enumerate(first):
        if char in ">])}" and place:
            return first[: place + 1]
    return first


def _unique(markers: list[Marker]) -> list[Marker]:
    return list({marker.text: marker for marker in markers if marker.text.strip()}.values())


_programs: dict[int, tuple[weakref.ref[ChatFormat], Program]] = {}


def get_program(format: ChatFormat) -> Program:
    """Return the program of a format, made when it is first asked for.

    Formats are compared by their identity, since hashing one costs more than reading a token.
    """
    key = id(format)
    known = _programs.get(key)
    if known is not None and known[0]() is format:
        return known[1]
    program = Program(format)
    _programs[key] = weakref.ref(format, lambda _: _programs.pop(key, None)), program
    return program
