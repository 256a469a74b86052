"""Headers of messages whose parts stand in another order than in the template, or with others between them.

Some templates write each part of a turn as a message with a header that says what it is (a channel, a recipient) and ends with a
mark. Models write such headers with more freedom than the template: what counts is whether a tool is named where the template
names it, and else the last word that tells the kinds of messages apart.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..format import Kind
from ..format.cut import TOKEN, find_boundaries
from ..format.view import find_header
from .constants import is_firm, is_marked
from .landmarks import TURN, Landmarks, write_parts
from .rules import Rule, Spot

LONGEST = 256


class Headers(NamedTuple):
    """What a header may begin with, the mark at its end, what names a tool in it, which words tell its kind, and what follows."""

    firsts: tuple[str, ...]
    mark: str
    name: re.Pattern[str]
    words: dict[str, Kind]
    spots: dict[Kind, Spot]

    def find_name(self, header: str) -> str:
        """Return the tool that a header names; empty where it names none."""
        found = self.name.search(header)
        return found[1] if found else ""

    def find_kind(self, header: str) -> Kind:
        """Return what a message is that is no call."""
        kinds = [self.words[word] for word in re.findall(r"\w+", header) if word in self.words]
        return kinds[-1] if kinds else "content"


def find_headers(marks: Landmarks) -> Headers | None:
    """Return what the headers of a format have in common; None where its messages have none that end with a mark."""
    begun = find_header(marks.graph)
    edges = [edge for start in marks.graph.starts for edge in start.edges]
    edges += [edge for edge in marks.graph.turn.edges if begun.strip() and begun in edge.text]
    kinds = [marks.nodes[TURN, edge.target].kind for edge in edges]
    behind = [write_parts(edge).rpartition(begun)[2] if begun else write_parts(edge) for edge in edges]
    pairs = list(zip(kinds, behind, strict=True))
    texts = [(kind, text) for kind, text in pairs if kind in ("reasoning", "content")]
    openings = sorted({text for kind, text in pairs if kind == "name"})
    inner = [edge for edge in marks.graph.turn.edges if edge.source == "name" and not marks.is_leaving(edge)]
    written = [text for _, text in texts] + [write_parts(edge) for edge in inner]
    if not inner or {kind for kind, _ in texts} != {"reasoning", "content"}:
        return None
    mark = next((t for t in reversed(_list_marks(written[0])) if all(t in text for text in written)), "")
    if not mark or not openings or any(mark in text or not is_firm(text) for text in openings):
        return None
    words: dict[str, Kind] = {}
    for kind, text in sorted(texts, reverse=True):
        words |= {word: kind for word in re.findall(r"\w+", text.partition(mark)[0]) if word not in words}
    for word in [word for word in words if all(re.search(rf"\b{word}\b", text) for _, text in texts)]:
        del words[word]
    leads = {text[:place] for text in openings for place in {*find_boundaries(text), len(text)} if is_firm(text[:place])}
    inner.sort(key=lambda edge: -len(edge.text))
    rules = tuple(Rule((write_parts(edge).partition(mark)[2],), (marks.nodes[TURN, edge.target],)) for edge in inner)
    spots: dict[Kind, Spot] = {"name": Spot(TURN, marks.list_nodes("name"), rules)}
    kinds = ["reasoning", "content"]
    spots |= {kind: Spot(TURN, marks.list_nodes(kind), (Rule(("",), marks.list_nodes(kind)),)) for kind in kinds}
    firsts = {tokens[0] for _, text in texts if (tokens := _list_marks(text))} | {min(leads, key=len)}
    name = re.compile(f"(?:{'|'.join(re.escape(text.strip()) for text in sorted(leads, key=len, reverse=True))})([\\w.:-]+)")
    return Headers(tuple(sorted(firsts)), mark, name, words, spots)


def _list_marks(text: str) -> list[str]:
    return [found[0] for found in TOKEN.finditer(text) if is_marked(found[0])]
