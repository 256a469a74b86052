"""Lists and objects that white space alone ends: how deep a line is indented tells to which of them it belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from ..ask.pieces import Link
from ..ask.words import make_word
from ..format import Codec, Insides, Text
from .draft import Draft
from .places import Build, find_between

LEVELS = 6
"""How many levels have graphs of their own; what is nested deeper is not read."""


def indent_levels(draft: Draft, kinds: Mapping[str, str], build: Build) -> None:
    """Give lists and objects graphs of their own for each indentation, if what stands between entries is indented more with
    each level.

    ``kinds`` are the graphs of the first level by the type of what they are of, ``build`` renders a value of such a type.
    """
    steps = _find_indents(kinds, build)
    if not steps:
        return
    indents = _list_indents(steps.values())
    codecs = list(draft.codecs.items())
    for kind, graph in kinds.items():
        links = [(source, link) for source, links in draft.edges[graph].items() for link in links]
        for number, indent in enumerate(indents):
            deeper, inner = _name_level(graph, number), indent + steps[kind]
            level = indents.index(inner) if inner in indents else number
            for source, link in links if number else ():
                draft.edges[deeper][source][Link(_indent(link.text, indent), *link[1:])] = None
            for (place, field), codec in codecs:
                if place == graph:
                    draft.codecs[deeper, field] = _go_down(codec, kinds.values(), indent, level)


def _name_level(graph: str, number: int) -> str:
    return f"{graph}/{number}" if number else graph


def _list_indents(steps: Iterable[str]) -> list[str]:
    """Return the indentations that there are, the least first."""
    found = {"".join(each) for size in range(LEVELS) for each in product(set(steps), repeat=size)}
    return sorted(found, key=lambda indent: (len(indent), indent))


def _go_down(codec: Codec, graphs: Iterable[str], indent: str, level: int) -> Codec:
    """Return how a value is written that is indented so far; lists and objects in it are those of another level."""
    if isinstance(codec, Insides) and codec.graph in graphs:
        return Insides(_name_level(codec.graph, level))
    if isinstance(codec, Text):
        return replace(codec, escapes=tuple((_indent(written, indent), char) for written, char in codec.escapes))
    return codec


def _indent(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent)


def _find_indents(kinds: Mapping[str, str], build: Build) -> dict[str, str]:
    """Return the white space by which lines within a list or an object are indented more than around it, by the type of what is
    around it; nothing where that differs."""
    one, two, outer = (make_word("ki", number) for number in range(3))
    words = [make_word("si", number) for number in range(2)]
    inner = {"object": dict(zip((one, two), words, strict=True)), "array": words}
    outside: dict[str, Callable[[Any], Any]] = {"object": lambda value: {outer: value}, "array": lambda value: [value]}
    found: dict[str, set[str]] = {}
    for kind, around in product(kinds, kinds):
        first, second = (find_between(build(value) or "", *words) for value in (inner[kind], outside[around](inner[kind])))
        if "\n" in first and second:
            found.setdefault(around, set()).add(_compare(first, second))
    if not found or any(len(steps) > 1 or "" in steps for steps in found.values()):
        return {}
    told = {around: steps.pop() for around, steps in found.items()}
    return {kind: told.get(kind, min(told.values())) for kind in kinds}


def _compare(first: str, second: str) -> str:
    """Return what stands behind each line break of the second text beside what does in the first; empty where more differs."""
    size = max(len(second) - len(first), 0) // first.count("\n")
    start = second.rfind("\n") + 1
    indent = second[start : start + size]
    return indent if indent.isspace() and _indent(first, indent) == second else ""
