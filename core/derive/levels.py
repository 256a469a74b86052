"""Lists and objects that white space alone ends: how deep a line is indented tells to which of them it belongs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..ask.words import make_word
from ..format import Insides
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


def _go_down(codec: Any, graphs: Collection[str], level: int) -> Any:
    inside = isinstance(codec, Insides) and codec.graph in graphs
    return replace(codec, graph=f"{codec.graph}/{level}") if inside else codec


def _indent(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent)


def _find_indent(kinds: Collection[str], build: _Build) -> str:
    """Return the white space by which lines within a list or an object of the second level are indented more than in the first."""
    one, two, outer = (make_word("ki", number) for number in range(3))
    words = [make_word("si", number) for number in range(2)]
    entries = dict(zip((one, two), words, strict=True))
    found: set[str] = set()
    inners = [value for kind, value in (("object", entries), ("array", words)) if kind in kinds]
    for inner in inners:
        first = _find_gap(build(inner), words)
        for nested in [value for kind, value in (("object", {outer: inner}), ("array", [inner])) if kind in kinds]:
            second = _find_gap(build(nested), words)
            if first and second and "\n" in first:
                size = (len(second) - len(first)) // first.count("\n")
                start = second.rfind("\n") + 1
                found.add(second[start : start + size] if size > 0 else "")
                if _indent(first, second[start : start + size]) != second:
                    return ""
    return found.pop() if len(found) == 1 else ""


def _find_gap(text: str | None, words: Sequence[str]) -> str:
    """Return what stands between two words, empty where one of them is not printed."""
    if text is None or any(word not in text for word in words):
        return ""
    return text[text.index(words[0]) + len(words[0]) : text.index(words[1])]
