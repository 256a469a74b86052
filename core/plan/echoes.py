"""Fields that a template writes twice, as in ``<city>Oslo</city>``: the second time they are part of the text around them.

So a parser reads no field there, but a text like any other, with letters that stand for the words: they are filled in where
the text is looked for, when those words are known. Whatever holds for the marks of a format then holds for these, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from ..format import Edge, Graph, TurnGraph
from ..format.cut import COUNTER, find_boundaries
from ..format.model import KEY_AGAIN

ECHOES: Final = {"name": "\ua7fa", "id": "\ua7fb", "key": KEY_AGAIN}
"""Letters that stand for the name, the id and the key that were read last: letters of epigraphy, which no template has."""

_LETTERS: Final = "".join(ECHOES.values())
_NAMED: Final = [re.compile(rf"(?<=\w)[:=.@-][{letters}]") for letters in (*_LETTERS, _LETTERS)]
_CLOSING: Final = re.compile(rf"</[\w:.-]*{ECHOES['key']}>")
_PART: Final = re.compile(r"[^\W_]+")
_APART: Final = re.compile(r"[\s/<>\[\](){}]")
_LONGEST: Final = 64
_ANY: Final = rf"[\w.:-]{{1,{_LONGEST}}}"
_WORD: Final = re.compile(_ANY)


def has_echo(text: str) -> bool:
    """Whether a text has words in it that are known when a call is read."""
    return not text.isascii() and any(letter in text for letter in _LETTERS)


def list_echoes(text: str) -> tuple[str, ...]:
    """Return the kinds of the fields whose words are in a text."""
    return tuple(kind for kind, letter in ECHOES.items() if letter in text)


def cut_echo(text: str) -> str:
    """Return what of a text stands before the first of these words."""
    return text[: min((place for letter in _LETTERS if (place := text.find(letter)) >= 0), default=len(text))]


def skip_echoes(text: str) -> int:
    """Return the place behind the last of these words in a text."""
    return max(map(text.rfind, _LETTERS)) + 1


def fill_echoes(text: str, find: Callable[[str], str | None]) -> str | None:
    """Return a text with the words in it; None where one is not known, or has such a letter itself (``find`` tells them by the kind
    of their field)."""
    for kind, letter in ECHOES.items():
        if letter in text:
            word = find(kind)
            if not word or has_echo(word):
                return None
            text = text.replace(letter, word)
    return text


def cut_behind_key(text: str) -> str:
    """Return a text up to the mark with the key in it, which ends its value; all of it where none is there."""
    place = text.find(ECHOES["key"])
    return text[: min(cut for cut in find_boundaries(text) if cut > place)] if place >= 0 else text


def cut_to_echo(text: str) -> str:
    """Return the tag that closes and has but the key in it that was read last, where a text has more around it; else nothing."""
    found = _CLOSING.search(text)
    short = f"</{ECHOES['key']}>" if found else ""
    return short if short != text.strip() else ""


def name_closing(mark: str, openings: Iterable[str]) -> set[str]:
    """Return a mark that ends something with the key that was read last in the place of the last word that what begins this has,
    too, with and without such words before that: ``</key>`` for ``</parameter>``, ``END_key`` for ``END_parameter``. Behind a slash
    any word is one that is closed."""
    begun = {word for text in openings for word in _PART.findall(text)}
    words = [found for found in _PART.finditer(mark) if found[0] in begun or "/" in mark]
    if not words or has_echo(mark):
        return set()
    before, behind = mark[: words[-1].start()], mark[words[-1].end() :]
    joined = _APART.split(before)[-1]  # to the word, by no more than signs
    lead = _PART.findall(joined)
    bare = before[: len(before) - len(joined) + joined.index(lead[0])] if lead else before
    bare = bare if {found[0] for found in words}.issuperset(lead) else before
    return {each + ECHOES["key"] + behind for each in (before, bare)}


def drop_words(text: str) -> set[str]:
    """Return what is left of a text without one of the words, or all, that a word and a sign stand before in the same mark:
    ``</use>`` for ``</use:f>``."""
    return {named.sub("", text) for named in _NAMED} - {text}


def find_size(text: str) -> int:
    """Return how many characters a text has at most with the words in it."""
    return len(text) + (_LONGEST - 1) * sum(map(text.count, _LETTERS))


def begins(text: str, rest: str) -> bool:
    """Whether a text, whatever words stand in it, may begin with what is left of an output."""
    if not has_echo(text):
        return text.startswith(rest)
    before = cut_echo(text)
    if len(rest) <= len(before):
        return before.startswith(rest)
    found = _WORD.match(rest, len(before))
    if not (found and rest.startswith(before)):
        return False
    return found.end() == len(rest) or begins(text[len(before) + 1 :], rest[found.end() :])


def find_any(texts: Iterable[str]) -> str:
    """Return a pattern that finds any of some texts, whatever numbers and words stand in them."""
    pattern = "|".join(map(re.escape, texts)).replace(re.escape(COUNTER), r"\d+")
    return "".join(_ANY if letter in _LETTERS else letter for letter in pattern)


def fold_echoes(graph: TurnGraph) -> TurnGraph:
    """Return a graph without fields that come again: they are in the texts around them."""
    insides = tuple((name, _fold(inner)) for name, inner in graph.insides)
    return replace(graph, turn=_fold(graph.turn), insides=insides)


def _fold(graph: Graph) -> Graph:
    echoes = {node.name: ECHOES[node.kind] for node in graph.nodes if node.again}
    counted = {node.name for node in graph.nodes if node.again and node.counted}
    told = {edge.target for edge in graph.edges if edge.source in counted}  # behind them, the number of the call has stood
    edges = list(graph.edges)
    for name, letter in echoes.items():
        before = [edge for edge in edges if edge.target == name != edge.source]
        behind = [edge for edge in edges if edge.source == name != edge.target]
        kept = [edge for edge in edges if name not in (edge.source, edge.target)]
        edges = [*kept, *dict.fromkeys(_join(one, letter, other) for one in before for other in behind)]
    nodes = (replace(node, counted=True) if node.name in told else node for node in graph.nodes if node.name not in echoes)
    return replace(graph, nodes=tuple(nodes), edges=tuple(edges))


def _join(before: Edge, letter: str, behind: Edge) -> Edge:
    """Return one edge for two with a word that came again between them."""
    middle = before.parts[-1] + letter + behind.parts[0]
    opens = before.opens_call or behind.opens_call
    return Edge(before.source, (*before.parts[:-1], middle, *behind.parts[1:]), behind.target, opens)
