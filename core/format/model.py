"""A turn as a graph: its nodes are fields, its edges the exact texts seen between two fields.

Nothing here says what a text *is* (an opener, a separator, a quote): in a field, one of the edges that leave it ends it. That is
enough to read whatever the template renders. What stands where off the script is worked out from the same graph by the parser.

Everything is frozen, comparable and free of behaviour that needs anything but itself, so that a format can be stored, compared and
handed to another process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

Word = Literal["true", "false", "null", "{}", "[]"]
"""JSON that may be written as a word."""

Kind = Literal["start", "end", "reasoning", "content", "name", "id", "key", "value", "arguments"]
"""What a node stands for. ``arguments`` is the whole object of a call's arguments where it is written as JSON; else its keys and
values are nodes. ``start`` and ``end`` are the bounds of a turn, or of a list or an object (see :class:`Insides`)."""

NumeralKind = Literal["utf-16", "utf-8", "byte", "utf-32", "decimal", "hexadecimal"]


@dataclass(frozen=True)
class Numeral:
    """How a character is written by its number: between ``before`` and ``after``, its UTF-16 units as four hexadecimal digits each
    (``"utf-16"``), its UTF-8 bytes as two each (``"utf-8"``), its code point in two (``"byte"``, for those below 256) or eight
    (``"utf-32"``), or in as many decimal or hexadecimal digits as it takes.

    Only the last two have an ``after``; ``utf-16`` and ``utf-8`` repeat ``before`` for each unit.
    """

    kind: NumeralKind
    before: str
    after: str = ""

    @property
    def digits(self) -> int:
        """How many digits a unit has, 0 where as many as it takes."""
        return {"utf-16": 4, "utf-8": 2, "byte": 2, "utf-32": 8}.get(self.kind, 0)

    def write(self, char: str) -> str:
        """Return a character as it is written."""
        code = ord(char)
        if self.kind in ("utf-16", "utf-8"):
            data = char.encode("utf-16-be" if self.kind == "utf-16" else "utf-8", "surrogatepass").hex()
            return "".join(self.before + data[at : at + self.digits] for at in range(0, len(data), self.digits))
        return self.before + (str(code) if self.kind == "decimal" else f"{code:0{self.digits}x}") + self.after


KEY_AGAIN = "\ua7fc"
"""Stands in an escape for the key of the value: a letter of epigraphy, which no template has."""


@dataclass(frozen=True)
class Text:
    """Text, character by character; ``escapes`` are (what is written, what it stands for). A character that has an escape never
    stands for itself, unless that is one of them. ``quoted`` tells that the texts around it change with the type, so that the
    value is known to be a string, ``told`` that it stands so only where the tool's schema says that it is a string: elsewhere it
    is JSON. ``starts`` are the escapes that stand at the beginning of a text alone. Where each line of a text begins with
    its key, the escape of a line break has :data:`KEY_AGAIN` in it."""

    escapes: tuple[tuple[str, str], ...] = ()
    numerals: tuple[Numeral, ...] = ()
    quoted: bool = False
    told: bool = False
    starts: tuple[tuple[str, str], ...] = ()

    @property
    def images(self) -> dict[str, str]:
        """How each character is written that never stands for itself; of several ways the first."""
        images = {char: written for written, char in reversed(self.escapes)}
        return {char: written for char, written in images.items() if (char, char) not in self.escapes}

    @property
    def repeats_key(self) -> bool:
        """Whether the key of the value stands in an escape."""
        return any(KEY_AGAIN in written for written, _ in self.escapes)

    def fill(self, key: str) -> Text:
        """Return the notation of the value of a key."""
        return replace(self, escapes=tuple((written.replace(KEY_AGAIN, key), char) for written, char in self.escapes))


@dataclass(frozen=True)
class Number:
    """A number as JSON writes it."""


@dataclass(frozen=True)
class Choice:
    """One of a few words; ``words`` are (what is written, the JSON literal that it stands for)."""

    words: tuple[tuple[str, Word], ...]


@dataclass(frozen=True)
class Json:
    """A JSON value, as it stands; or, with ``within``, as it is written as a text in that notation (JSON inside a string)."""

    within: Text | None = None


@dataclass(frozen=True)
class Insides:
    """A list or an object whose inside is the graph of that name in :attr:`TurnGraph.insides`."""

    graph: str


Codec = Text | Number | Choice | Json | Insides


@dataclass(frozen=True)
class Node:
    """A field. ``name`` tells it from the others of its graph.

    ``type`` is the JSON Schema type of a value or of the value that belongs to a key: in a graph each key stands once for each
    type, because what stands around a key and its value may tell the type. ``again`` is set where the field repeats what stood in
    the first field of its kind in this call. ``beside_calls`` tells reasoning and content of turns with calls from those without.
    ``carries_name`` is set for an id in which the name of the tool stands, ``counted`` for a field before whose repetition the
    number of its call stands again. ``signs`` are those of which a key must have one to be written so, and without which it is
    not; those of its value are the same where what stands behind that tells of them, too.
    """

    name: str
    kind: Kind
    codec: Codec = Text()
    type: str = ""
    again: bool = False
    beside_calls: bool = False
    carries_name: bool = False
    counted: bool = False
    signs: str = ""

    def __hash__(self) -> int:
        """Look at the name alone, which tells a node from the others: parsers look fields up by their nodes."""
        return hash(self.name)


@dataclass(frozen=True)
class Edge:
    """The text between the field ``source`` and the field ``target``, names of nodes.

    ``parts`` is that text, cut where a counter stands: a text without counter has one part, and between two parts stand one or
    more digits. ``opens_call`` is set where another call begins between the two fields.
    """

    source: str
    parts: tuple[str, ...]
    target: str
    opens_call: bool = False

    @property
    def text(self) -> str:
        """The text with 0 for each counter."""
        return "0".join(self.parts)


@dataclass(frozen=True)
class Path:
    """How the path of a member is written, which begins with the key of the argument: ``opening`` and ``closing`` stand around
    the key of a member, ``before`` and ``behind`` around the number of an item of a list. ``base`` is the number of the first
    item, negative where the items of lists are no members. A key with one of ``odd_signs`` stands between ``odd_opening`` and
    ``odd_closing``; what stands before it at the beginning of a path is not told here."""

    opening: str
    closing: str
    before: str = ""
    behind: str = ""
    base: int = -1
    odd_opening: str = ""
    odd_closing: str = ""
    odd_signs: str = ""

    @property
    def signs(self) -> str:
        """All that may stand around keys and numbers."""
        return self.opening + self.closing + self.before + self.behind + self.odd_opening + self.odd_closing

    def is_odd(self, key: str) -> bool:
        """Whether a key is written otherwise than others."""
        return any(sign in key for sign in self.odd_signs)

    def join(self, keys: Iterable[str | int]) -> str:
        """Return the path of some keys and places in lists, the outermost first."""
        first, *rest = keys
        closing = self.odd_closing if isinstance(first, str) and self.is_odd(first) else ""
        return f"{first}{closing}" + "".join(map(self._write_step, rest))

    def _write_step(self, key: str | int) -> str:
        if isinstance(key, int):
            return f"{self.before}{key + self.base}{self.behind}"
        around = (self.odd_opening, self.odd_closing) if self.is_odd(key) else (self.opening, self.closing)
        return key.join(around)

    def begins(self, text: str, at: int) -> bool:
        """Whether another step of a path may begin at a place."""
        return _compile_steps(self)[0].match(text, at) is not None

    def split(self, path: str) -> list[str | int]:
        """Return the keys and places in lists of a path; the whole text alone where it is none."""
        opening, number = _compile_steps(self)
        keys: list[str | int] = []
        at, odd = 0, self.begins_oddly(path)
        while at < len(path) or not keys:
            found = number.match(path, at) if keys and self.base >= 0 else None
            if found and (found.end() == len(path) or self.begins(path, found.end())):
                keys.append(int(found[1]) - self.base)
                at = found.end()
                continue
            if keys:
                odd = self.odd_opening != "" and path.startswith(self.odd_opening, at)
                at += len(self.odd_opening if odd else self.opening)
            step = opening.search(path, at)
            end = path.find(self.odd_closing, at) if odd else step.start() if step else len(path)
            if end < at:
                return [path]
            key = path[at:end]
            keys.append(key.removesuffix(self.closing) if keys and not odd else key)
            at = end + len(self.odd_closing) * odd
        return keys if all(key != "" for key in keys) and self.join(keys) == path else [path]

    def is_open(self, text: str, at: int, end: int, odd: bool) -> bool:
        """Whether a key that is written otherwise than others, or what begins one, goes on at a place in a path, given where that
        begins and whether its first key is such a one."""
        while self.odd_closing and at <= end:
            sign = self.odd_closing if odd else self.odd_opening
            found = text.find(sign, at, end + len(sign))
            if not 0 <= found < end:
                return odd
            at, odd = found + len(sign), not odd
        return at > end

    def begins_oddly(self, path: str) -> bool:
        """Whether the first key of a path is written otherwise than others: what ends such keys comes before what begins them."""
        end = path.find(self.odd_closing) if self.odd_closing else -1
        return end >= 0 and not 0 <= path.find(self.odd_opening) <= end


@lru_cache(maxsize=64)
def _compile_steps(path: Path) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds the beginning of a step of a path, and what matches the number of an item."""
    openings = filter(None, (path.opening, path.odd_opening, path.before if path.base >= 0 else ""))
    before, behind = re.escape(path.before), re.escape(path.behind)
    return re.compile("|".join(map(re.escape, openings))), re.compile(rf"{before}(\d{{1,6}}){behind}")


@dataclass(frozen=True)
class Graph:
    """Nodes, and the edges between them, the one to be tried first before the others."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()

    def node(self, name: str) -> Node:
        """Return the node of that name. Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def leaving(self, name: str) -> Iterator[Edge]:
        """Return the edges that leave a node, in their order."""
        return (edge for edge in self.edges if edge.source == name)


VALUE = re.compile(r"[\w.-]{1,32}")
"""What a template argument may be that is printed in a prompt."""
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True)
class Start:
    """A state in which generation starts: ``prompt`` is what the generation prompt adds (with its header), ``switches`` under
    which template arguments it does, and ``edges`` lead from there to the first field. ``shown`` is False where no rendered turn
    begins so, and the edges are a guess. ``value`` is a word in the prompt that a template argument gives: another one may stand
    there, and any number for each of those in the prompt, as messages may have numbers."""

    prompt: str
    switches: tuple[tuple[str, str], ...] = ()
    edges: tuple[Edge, ...] = ()
    shown: bool = True
    value: str = ""

    def ends(self, prompt: str) -> bool:
        """Whether a prompt ends as this one does, or does but for the value of a template argument, or for the numbers that
        messages have."""
        if prompt.endswith(self.prompt):
            return True
        if not self.value and _NUMBER.search(self.prompt) is None:
            return False
        before, value, behind = self.prompt.partition(self.value) if self.value else (self.prompt, "", "")
        pattern = _vary_numbers(before) + (VALUE.pattern if value else "") + _vary_numbers(behind)
        return re.search(f"{pattern}\\Z", prompt[-2 * len(self.prompt) - 64 :]) is not None


def _vary_numbers(text: str) -> str:
    """Return a pattern of a text in which any number may stand for each, but at its beginning, where it may be cut."""
    return "".join(_NUMBER.pattern if part.isdigit() else re.escape(part) for part in re.split(r"(?<!\A)(\d{1,9})", text))


@dataclass(frozen=True)
class TurnGraph:
    """How a model writes a turn: its graph, the insides of lists and objects by name, and the states in which it starts.

    The first start is that of a prompt without switches. ``stops`` are the texts that end a turn: the end of the output may
    stand anywhere in an edge that leads to the end, because servers cut it off. ``repeated_keys`` is set where a list is
    written as its key once for each item, ``sorted_keys`` where arguments stand in the order of the alphabet, ``path`` where the
    members of an object, or the items of a list too, are written as arguments of their own, each under its path. ``blank`` is
    the white space that has to stand for reasoning where a model closes it as soon as it is opened: the template prints the
    empty block again for that, and for no reasoning it prints none. With ``silent`` nothing is reasoning, whatever marks it has.
    ``others`` are the texts with which messages of other roles begin.
    """

    turn: Graph = Graph()
    insides: tuple[tuple[str, Graph], ...] = ()
    starts: tuple[Start, ...] = ()
    stops: tuple[str, ...] = ()
    repeated_keys: bool = False
    sorted_keys: bool = False
    path: Path | None = None
    blank: str = ""
    silent: bool = False
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Look at a few numbers only: every parser looks its graph up in a table, and equal graphs are one object there."""
        return hash((self.stops, len(self.turn.nodes), len(self.turn.edges), len(self.insides), len(self.starts)))

    @property
    def begun(self) -> tuple[Edge, ...]:
        """The edges with which a turn begins, behind whatever prompt."""
        return tuple(edge for start in self.starts for edge in start.edges)
