"""Headers of messages whose parts stand in another order than in the template, or with others between them.

Some templates write each part of a turn as a message with a header that says what it is (a channel, a recipient) and ends with a
mark. Models write such headers with more freedom than the template: what counts is whether a tool is named where the template
names it, and else the last word that tells the kinds of messages apart.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, NamedTuple

from ..format import Kind
from ..format.cut import TOKEN, cut_common_start
from ..format.view import find_header
from .constants import cut_first, find_cuts, is_firm, is_marked
from .landmarks import TURN, Landmarks
from .rules import Rule
from .spots import Spot

LONGEST: Final = 256
_LAST: Final = re.compile(r"\s*\S+\s*\Z")


class Headers(NamedTuple):
    """What leads from a text to a further header, what a header may begin with, the mark that ends it, and what finds that, or JSON
    where it was left out, what names a tool in it, and what an id, which words tell its kind, and what follows the mark."""

    leads: tuple[str, ...]
    firsts: tuple[str, ...]
    mark: str
    end: re.Pattern[str]
    name: re.Pattern[str]
    id: re.Pattern[str] | None
    words: dict[str, Kind]
    spots: dict[Kind, Spot]


def find_headers(marks: Landmarks) -> Headers | None:
    """Return what the headers of a format have in common; None where its messages have none that end with a mark."""
    begun, first = find_header(marks.graph), ""
    pairs = [(link.to.kind, link.text) for link in chain(*marks.firsts)]
    within = [link for link in marks.links if begun.strip() and begun in link.text]
    if not within:  # the turn has one header in all, and its parts begin with a mark of theirs
        begun, first = "", next((mark for _, text in pairs if is_firm(mark := cut_first(text))), "")
        within = [link for link in marks.links if first and first in link.text]
    pairs += [(link.to.kind, first + link.text.rpartition(begun or first)[2]) for link in within]
    texts = [(kind, text) for kind, text in pairs if kind in ("reasoning", "content") and text.startswith(first)]
    openings = [text for kind, text in pairs if kind == "name"]
    fields = [link for link in marks.links if link.source.name == "name" and not link.leaves]
    ids = [link for link in fields if link.to.kind == "id" and not _list_marks(link.text)]  # in the header
    numbered = {link.to.name: link.text.strip() for link in ids}
    fields = [link for link in marks.links if link.source.name in numbered and not link.leaves] if numbered else fields
    inner = sorted(fields, key=lambda link: -len(link.text))
    ended = [text for _, text in texts] + [link.text for link in inner]
    mark = next((t for t in reversed(_list_marks(ended[0])) if all(t in text for text in ended)), "") if ended else ""
    tells = mark and inner and openings and all(is_firm("".join(text.split()[-1:])) and mark not in text for text in openings)
    if not tells or len({kind for kind, _ in texts}) < 2:
        return None
    words: dict[str, Kind] = {}
    for kind, text in sorted(texts):
        words |= dict.fromkeys(re.findall(r"\w+", text.partition(mark)[0]), kind)
    words = {word: kind for word, kind in words.items() if not all(re.search(rf"\b{word}\b", text) for _, text in texts)}
    last = [found[0] for text in openings if (found := _LAST.search(text))]  # where a word stands before it, that tells the kind
    names = {text[:place] for text in last for place in find_cuts(text) if is_firm(text[:place])}
    firsts = {tokens[0] for _, text in texts if (tokens := _list_marks(text))} | {min(names, key=len)}
    firsts |= set(filter(is_firm, (cut_common_start([text for _, text in pairs]), *(link.text for link in ids))))
    rules = tuple(Rule((link.text.partition(mark)[2],), (link.to,)) for link in inner)
    spots: dict[Kind, Spot] = {"name": Spot(TURN, marks.list_nodes("name"), rules)}
    for kind, nodes in ((kind, marks.list_nodes(kind)) for kind, _ in texts):
        spots[kind] = Spot(TURN, nodes, (Rule(("",), nodes),))
    name = "|".join(re.escape(text.strip()) for text in sorted(names, key=len, reverse=True))
    leaving = [link.text for link in within if link.source.kind in ("reasoning", "content")]
    ends = {text[: text.index(begun or first)] for text in leaving}  # what begins a message may be left out
    leads = {*filter(None, (begun, *(end + begun for end in ends))), *filter(is_marked, ends)}
    end = re.compile(rf"{re.escape(mark)}|(?=\{{)")
    before = "|".join(re.escape(text) for text in sorted(numbered.values(), key=len, reverse=True) if text)
    named = re.compile(rf"(?:{name})\s*([\w.:-]+)")
    known = re.compile(rf"(?:{before})\s*([\w.:-]+)") if before else None
    return Headers(tuple(sorted(leads)), tuple(sorted(firsts)), mark, end, named, known, words, spots)


def _list_marks(text: str) -> list[str]:
    return [found[0] for found in TOKEN.finditer(text) if is_marked(found[0])]
