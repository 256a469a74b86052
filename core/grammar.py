"""A grammar as a tree of plain data: what a text may be, whoever is to enforce it.

The tree is made once, from a format and the tools of a request, and printed in the language of whoever holds the model to
it. Text is matched as text: a marker that is one special token is matched by its text, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Text:
    """Exactly this text."""

    text: str


@dataclass(frozen=True)
class Chars:
    """Characters of a set, at least so many and at most so many (None: any number).

    ``ranges`` are pairs of a first and a last character; with ``negated`` all characters are meant but these.
    """

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False
    least: int = 1
    most: int | None = 1


@dataclass(frozen=True)
class Until:
    """Any text that holds none of these texts."""

    ends: tuple[str, ...]


@dataclass(frozen=True)
class Json:
    """A JSON value that obeys a JSON Schema.

    ``spaces`` bounds the white space between two of its tokens. Its strings hold none of the texts in ``excludes``.
    """

    schema: Mapping[str, Any]
    spaces: int = 1
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sequence:
    """One part after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """The part at least so many times and at most so many (None: any number)."""

    part: Node
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Reference:
    """What a rule of the grammar says; rules may refer to themselves."""

    name: str


@dataclass(frozen=True)
class Free:
    """Any text, in which each trigger must be followed by what its rule says; with ``loop`` more text may follow that."""

    rules: tuple[tuple[str, Node], ...]
    loop: bool = True


Node: TypeAlias = Text | Chars | Until | Json | Sequence | Choice | Repeat | Reference | Free


@dataclass(frozen=True)
class Grammar:
    """A tree, and the rules that it refers to."""

    root: Node
    rules: Mapping[str, Node]


NOTHING = Text("")


def join(*parts: Node) -> Node:
    """Return a sequence of parts, flat and with neighbouring texts joined."""
    flat: list[Node] = []
    for part in parts:
        for inner in part.parts if isinstance(part, Sequence) else (part,):
            last = flat[-1] if flat else None
            if isinstance(inner, Text) and isinstance(last, Text):
                flat[-1] = Text(last.text + inner.text)
            elif inner != NOTHING:
                flat.append(inner)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat)) if flat else NOTHING


def choose(*parts: Node) -> Node:
    """Return a choice of parts, each once."""
    unique = tuple(dict.fromkeys(_freeze(part) for part in parts))
    return unique[0].node if len(unique) == 1 else Choice(tuple(part.node for part in unique))


def maybe(part: Node) -> Node:
    """Return a part that may be left out."""
    return part if part == NOTHING else Repeat(part, 0, 1)


@dataclass(frozen=True)
class _Frozen:
    """A node that can be hashed, whatever is in it."""

    key: str
    node: Node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _freeze(node: Node) -> _Frozen:
    return _Frozen(repr(node), node)
