"""Headers of messages whose parts stand in another order than in the template, or with others between them.

Some templates write each part of a turn as a message with a header that says what it is (a channel, a recipient) and ends with a
mark. Models write such headers with more freedom than the template: what counts is whether a tool is named where the template
names it, and else the last word that tells the kinds of messages apart.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..format import Kind
from ..format.cut import TOKEN, cut_common_start, find_boundaries
from ..format.view import find_header
from .constants import cut_first, is_firm, is_marked
from .landmarks import TURN, Landmarks, write_parts
from .rules import Rule, Spot

LONGEST = 256
_LAST = re.compile(r"\s*\S+\s*\Z")


class Headers(NamedTuple):
    """What leads from a text to a further header, what a header may begin with, what finds its end (a mark, or JSON behind it where
    that was left out), what names a tool in it, and what an id, which words tell its kind, and what follows the mark."""

    leads: tuple[str, ...]
    firsts: tuple[str, ...]
    end: re.Pattern[str]
    name: re.Pattern[str]
    id: re.Pattern[str] | None
    words: dict[str, Kind]
    spots: dict[Kind, Spot]


def find_headers(marks: Landmarks) -> Headers | None:
    """Return what the headers of a format have in common; None where its messages have none that end with a mark."""
    begun, turn = find_header(marks.graph), marks.graph.turn.edges
    pairs = [(marks.nodes[TURN, edge.target].kind, write_parts(edge)) for start in marks.graph.starts for edge in start.edges]
    within = [edge for edge in turn if begun.strip() and begun in edge.text]
    first = ""  # the mark with which the parts of a turn begin that has one header in all
    if not within:
        begun, first = "", next((mark for _, text in pairs if is_firm(mark := cut_first(text))), "")
        within = [edge for edge in turn if first and first in edge.text]
    pairs += [(marks.nodes[TURN, edge.target].kind, first + write_parts(edge).rpartition(begun or first)[2]) for edge in within]
    texts = [(kind, text) for kind, text in pairs if kind in ("reasoning", "content") and text.startswith(first)]
    openings = [text for kind, text in pairs if kind == "name"]
    fields = [edge for edge in turn if edge.source == "name" and not marks.is_leaving(edge)]
    ids = [edge for edge in fields if marks.nodes[TURN, edge.target].kind == "id" and not _list_marks(edge.text)]  # in the header
    numbered = {edge.target: write_parts(edge).strip() for edge in ids}
    fields = [edge for edge in turn if edge.source in numbered and not marks.is_leaving(edge)] if numbered else fields
    inner = sorted(fields, key=lambda edge: -len(edge.text))
    ended = [*(text for _, text in texts), *map(write_parts, inner)]
    mark = next((t for t in reversed(_list_marks(ended[0])) if all(t in text for text in ended)), "") if ended else ""
    tells = mark and inner and openings and all(is_firm("".join(text.split()[-1:])) and mark not in text for text in openings)
    if not tells or len({kind for kind, _ in texts}) < 2:
        return None
    words: dict[str, Kind] = {}
    for kind, text in sorted(texts):
        words |= dict.fromkeys(re.findall(r"\w+", text.partition(mark)[0]), kind)
    words = {word: kind for word, kind in words.items() if not all(re.search(rf"\b{word}\b", text) for _, text in texts)}
    last = [found[0] for text in openings if (found := _LAST.search(text))]  # where a word stands before it, that tells the kind
    names = {text[:place] for text in last for place in find_boundaries(text) if is_firm(text[:place])}
    firsts = {tokens[0] for _, text in texts if (tokens := _list_marks(text))} | {min(names, key=len)}
    firsts |= set(filter(is_firm, (cut_common_start([text for _, text in pairs]), *(edge.text for edge in ids))))
    rules = tuple(Rule((write_parts(edge).partition(mark)[2],), (marks.nodes[TURN, edge.target],)) for edge in inner)
    spots: dict[Kind, Spot] = {"name": Spot(TURN, marks.list_nodes("name"), rules)}
    for kind, nodes in ((kind, marks.list_nodes(kind)) for kind, _ in texts):
        spots[kind] = Spot(TURN, nodes, (Rule(("",), nodes),))
    name = "|".join(re.escape(text.strip()) for text in sorted(names, key=len, reverse=True))
    leaving = [edge.text for edge in within if marks.nodes[TURN, edge.source].kind in ("reasoning", "content")]
    ends = {text[: text.index(begun or first)] for text in leaving}  # what begins a message may be left out
    leads = {*filter(None, (begun, *(end + begun for end in ends))), *filter(is_marked, ends)}
    end = re.compile(rf"{re.escape(mark)}|(?=\{{)")
    before = "|".join(re.escape(text) for text in sorted(numbered.values(), key=len, reverse=True) if text)
    named = re.compile(rf"(?:{name})\s*([\w.:-]+)")
    known = re.compile(rf"(?:{before})\s*([\w.:-]+)") if before else None
    return Headers(tuple(sorted(leads)), tuple(sorted(firsts)), end, named, known, words, spots)


def _list_marks(text: str) -> list[str]:
    return [found[0] for found in TOKEN.finditer(text) if is_marked(found[0])]
