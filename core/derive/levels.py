"""Lists and objects that white space alone ends: how deep a line is indented tells to which of them it belongs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any

from ..ask.words import make_word
from ..format import Codec, Insides
from .draft import Draft, Link

LEVELS = 6
"""How many levels have graphs of their own; what is nested deeper is not read."""

_Build = Callable[[Any], "str | None"]


def indent_levels(draft: Draft, kinds: Mapping[str, str], build: _Build) -> None:
    """Give each level of lists and objects graphs of its own, if what stands between entries is indented more with each.

    ``kinds`` are the graphs of the first level by the type of what they are of, ``build`` renders a value of such a type.
    """
    graphs, indent = kinds.values(), _find_indent(kinds, build)
    if not indent:
        return
    for level in range(1, LEVELS):
        for graph in graphs:
            deeper = f"{graph}/{level}"
            for source, links in list(draft.edges[graph].items()):
                for link in links:
                    draft.edges[deeper][source][Link(_indent(link.text, indent * level), *link[1:])] = None
            for (place, field), codec in list(draft.codecs.items()):
                if place == graph:
                    draft.codecs[deeper, field] = _go_down(codec, graphs, min(level + 1, LEVELS - 1))
    for (place, field), codec in draft.codecs.items():
        if place in graphs:
            draft.codecs[place, field] = _go_down(codec, graphs, 1)


def _go_down(codec: Codec, graphs: Collection[str], level: int) -> Codec:
    return Insides(f"{codec.graph}/{level}") if isinstance(codec, Insides) and codec.graph in graphs else codec


def _indent(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent)


def _find_indent(kinds: Collection[str], build: _Build) -> str:
    """Return the white space by which lines within a list or an object of the second level are indented more than in the first."""
    one, two, outer = (make_word("ki", number) for number in range(3))
    words = [make_word("si", number) for number in range(2)]
    inner = {"object": dict(zip((one, two), words, strict=True)), "array": words}
    outside: dict[str, Callable[[Any], Any]] = {"object": lambda value: {outer: value}, "array": lambda value: [value]}
    found = set()
    for kind, other in product(kinds, kinds):
        first, second = (_find_gap(build(value), words) for value in (inner[kind], outside[other](inner[kind])))
        if "\n" in first and second:
            found.add(_compare(first, second))
    return found.pop() if len(found) == 1 else ""


def _compare(first: str, second: str) -> str:
    """Return what stands behind each line break of the second text beside what does in the first; empty where more differs."""
    size = max(len(second) - len(first), 0) // first.count("\n")
    start = second.rfind("\n") + 1
    indent = second[start : start + size]
    return indent if indent.isspace() and _indent(first, indent) == second else ""


def _find_gap(text: str | None, words: Sequence[str]) -> str:
    """Return what stands between two words, empty where one of them is not printed."""
    if text is None or any(word not in text for word in words):
        return ""
    return text[text.index(words[0]) + len(words[0]) : text.index(words[1])]
