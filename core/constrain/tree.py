"""A grammar as a tree of plain data: what a text may be, whoever is to enforce it.

The tree is made once, from a format and the tools of a request, and printed in the language of whoever holds the model to
it. Text is matched as text: a marker that is one special token is matched by its text, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Choice:
    """One of the parts."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Repeat:
    """The part at least so many times and at most so many (None: any number)."""

    part: Tree
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Reference:
    """What a rule of the grammar says; rules may refer to themselves."""

    name: str


@dataclass(frozen=True)
class Free:
    """Any text, in which each trigger must be followed by what its rule says; with ``loop`` more text may follow that."""

    rules: tuple[tuple[str, Tree], ...]
    loop: bool = True


Tree: TypeAlias = Text | Chars | Until | Json | Sequence | Choice | Repeat | Reference | Free


@dataclass(frozen=True)
class Grammar:
    """A tree, and the rules that it refers to."""

    root: Tree
    rules: Mapping[str, Tree]


NOTHING = Text("")
DIGITS = Chars((("0", "9"),), least=1, most=4)


def join(*parts: Tree) -> Tree:
    """Return a sequence of parts, flat and with neighbouring texts joined."""
    flat: list[Tree] = []
    for part in parts:
        for inner in part.parts if isinstance(part, Sequence) else (part,):
            last = flat[-1] if flat else None
            if isinstance(inner, Text) and isinstance(last, Text):
                flat[-1] = Text(last.text + inner.text)
            elif inner != NOTHING:
                flat.append(inner)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat)) if flat else NOTHING


def choose(*parts: Tree) -> Tree:
    """Return a choice of parts, each once; nothing as one of them makes it one that may be left out."""
    unique = tuple({repr(part): part for part in parts if part != NOTHING}.values())
    chosen = unique[0] if len(unique) == 1 else Choice(unique) if unique else NOTHING
    return maybe(chosen) if NOTHING in parts else chosen


def maybe(part: Tree) -> Tree:
    """Return a part that may be left out."""
    return part if part == NOTHING else Repeat(part, 0, 1)


def replace_leaves(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """Return a tree with each of its leaves replaced."""
    if isinstance(tree, Sequence | Choice):
        make = join if isinstance(tree, Sequence) else choose
        return make(*(replace_leaves(part, change) for part in tree.parts))
    if isinstance(tree, Repeat):
        return Repeat(replace_leaves(tree.part, change), tree.least, tree.most)
    if isinstance(tree, Free):
        return Free(tuple((trigger, replace_leaves(inner, change)) for trigger, inner in tree.rules), tree.loop)
    return change(tree)
