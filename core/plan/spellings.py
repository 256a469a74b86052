"""Other spellings of a format's marks: without the word that all of a family have in them, with a blank behind it, with the signs
of ASCII, fewer signs or blanks in their brackets, or letters of another case.

Models write marks so that they know from elsewhere, and servers that leave out special tokens make them so. Each spelling is a
graph of its own, the same but for the texts of its edges: renaming marks changes nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final
from unicodedata import category, name, normalize

from ..format import Edge, TurnGraph
from ..format.cut import CLOSE, OPEN, TOKEN
from .landmarks import read_parts, write_parts

_MOST: Final = 14  # spellings of one format
_REPEATED: Final = 4  # so often does a mark stand that belongs to others
_SIGN: Final = r"[^\w\s<>\[\]/=\"']"
_PREFIX: Final = re.compile(rf"(?<=[<\[/])(?:(?P<sign>{_SIGN})[^\W_]{{2,}}(?P=sign)|[^\W_]{{2,}}(?:_|{_SIGN}))(?=[^\W_])")
_SUFFIX: Final = re.compile(rf"(?<=[^\W_]){_SIGN}[^\W_]{{2,}}(?=[>\]])")
_WORD: Final = re.compile(r"[^\W_]+")
_BRACKETS: Final = "<[{" + OPEN
_TOKEN: Final = re.compile(rf"(?:[\[{{]{{1,2}}|[{OPEN}])[^\[\]{{}}{OPEN}{CLOSE}\n\"',]*\Z|{TOKEN.pattern}", re.DOTALL)
"""A mark, one in which a field stands, or anything else."""
_SIGNS: Final = rf"(?<=[<\[/]){_SIGN}+(?=[\w/])|(?<=\w){_SIGN}+(?=[>\]])|<(?=<\S)|\[(?=\[\S)|(?<=>)>|(?<=\])\]"
"""What stands within brackets around a word, and the second of two brackets."""
_INSIDE: Final = rf"(?<=<<|\[\[|\{{\{{)(?=[\w/])|(?<=\w)(?=>>|\]\]|\}}\}})|(?<=[{OPEN}])(?=[\w/])|(?<=\w)(?=[{CLOSE}])"
"""Where a blank may stand in brackets that are two, or none of ASCII."""
_LOOSE: Final = r"(?<=[^\w\s]{2}) (?=[\w/])|(?<=\w) (?=[^\w\s]{2})"
"""A blank between a word and several signs."""
_JOINT: Final = re.compile(r"(?<=[^\W_])[^\w\s\x00-\x7f](?=[^\W_])")
"""A sign between two words of a mark."""
_LABEL: Final = re.compile(r"^\w+(?=[:>|] )", re.MULTILINE)
"""A word that begins a line, with a sign behind it."""
_RUN: Final = re.compile(r"^([^\w\s])\1+(?= )", re.MULTILINE)
"""Signs that begin a line, as those of a heading do."""
_NAMING, _TYPING = (r"(?<=[\w\"'] )\w+(?==[\"']?\Z)", "name"), (r"(?<=\A[\"'] )\w+(?==)", "type")
"""The attribute that holds what stands behind a text, and the one behind that, with the words that most tags have for them."""
_ATTRIBUTES: Final = (
    (_NAMING,),
    (_NAMING, _TYPING),
    ((r"\A>", '">'), (r"(?<=\w)=\Z", ' name="')),  # an attribute for what stands as a tag's own value
    ((r"\A[\"']>", ">"), (r" \w+=[\"']\Z", "=")),  # the reverse
)
"""What takes the place of what, one behind the other."""

Respell = Callable[[str], str]


def list_spellings(graph: TurnGraph) -> list[TurnGraph]:
    """Return the graphs of other spellings in which calls begin otherwise than in this one, and no two marks become the same."""
    texts = _list_texts(graph)
    opening = {write_parts(edge) for edge in _list_edges(graph) if edge.opens_call}
    marks = {mark for text in texts for mark in _list_marks(text)}
    found: dict[str, TurnGraph] = {}
    shorter = _list_ways(texts, marks)
    ways: list[Respell] = [_to_ascii_brackets, _to_ascii, partial(_to_ascii, brackets=2), _to_ascii_signs, _part_words, *shorter]
    ways += [partial(_replace, pairs) for pairs in _ATTRIBUTES]
    ways += [partial(_turn_case, turn) for turn in (str.upper, str.lower, str.title)]
    ways += [partial(re.compile(pattern).sub, new) for pattern, new in ((_SIGNS, ""), (_INSIDE, " "), (_LOOSE, ""))]
    ways += _list_levels(texts)
    for respell in ways:
        spelled = {mark: respell(mark) for mark in marks if respell(mark)}
        told = len(set(spelled.values())) == len(spelled) and all(map(_WORD.search, spelled.values()))
        # Without a word of theirs all that begins calls has to differ, else some do: a further call may begin with a name alone.
        begins = [respell(text) for text in opening if respell in shorter or respell(text) != text]
        if told and begins and not any(text in texts for text in begins):
            other = _rename(graph, respell)
            found.setdefault(repr(other), other)
    return list(found.values())[:_MOST]


def list_bare_ends(graph: TurnGraph) -> list[TurnGraph]:
    """Return the graphs in which what closes alone lacks the word, or the mark, that all of a family have."""
    texts = _list_texts(graph)
    words, repeated = _list_shared(texts, {mark for text in texts for mark in _list_marks(text)})
    patterns = [rf"{re.escape(repeated)}(?=</)"] if repeated else []
    patterns += [rf"(?<=</){re.escape(word)}(?=[^\W_])" for word in words]
    found = {repr(other): other for pattern in patterns if (other := _rename(graph, partial(re.compile(pattern).sub, ""))) != graph}
    return list(found.values())[:_MOST]


def _list_levels(texts: list[str]) -> list[Respell]:
    """Return what makes headings of another level: with one sign more, or less."""
    signs = "".join(sorted({re.escape(found[1]) for text in texts for found in _RUN.finditer(text)}))
    heads = re.compile(rf"^([{signs}])\1*(?= )", re.MULTILINE) if signs else None
    return [partial(heads.sub, r"\g<0>\1"), partial(_RUN.sub, lambda found: found[0][1:])] if heads else []


def _list_texts(graph: TurnGraph) -> list[str]:
    return sorted({text for text in map(write_parts, _list_edges(graph)) if text.strip()})


def _list_edges(graph: TurnGraph) -> Iterable[Edge]:
    return chain(graph.turn.edges, graph.begun, *(inside.edges for _, inside in graph.insides))


def _list_marks(text: str) -> Iterable[str]:
    """Return the tags in a text."""
    return (token for found in _TOKEN.finditer(text) if (token := found[0])[0] in _BRACKETS and _WORD.search(token))


def _to_ascii(text: str, brackets: int = 1) -> str:
    """Return a text with the signs of ASCII for others: those that they are a wider form of, so many brackets for brackets, else
    lines."""
    if text.isascii():
        return text
    return "".join(_find_ascii(sign, brackets) for sign in normalize("NFKC", text))


def _find_ascii(sign: str, brackets: int) -> str:
    if sign.isascii() or sign.isalnum() or sign.isspace():
        return sign
    called = name(sign, "")
    if sign in OPEN or sign in CLOSE:
        return ("<>" if "ANGLE" in called else "[]")[sign in CLOSE] * brackets
    return "|" if "BAR" in called.split() else "-" if "DASH" in called.split() else "_"


def _to_ascii_signs(text: str) -> str:
    """Return a text with the signs of ASCII for all others but brackets."""
    return "".join(sign if sign in OPEN or sign in CLOSE else _to_ascii(sign) for sign in text)


def _to_ascii_brackets(text: str) -> str:
    """Return a text with the brackets of ASCII for all others, quotes left as they are."""
    return "".join(_to_ascii(sign) if category(sign) in ("Ps", "Pe") else sign for sign in text)


def _part_words(text: str) -> str:
    """Return a text with blanks for the signs of other scripts that join words in its marks."""
    return _TOKEN.sub(lambda found: _JOINT.sub(" ", found[0]) if found[0][0] in _BRACKETS else found[0], text)


def _replace(pairs: Iterable[tuple[str, str]], text: str) -> str:
    """Return a text with something else in the place of what some patterns find."""
    for pattern, new in pairs:
        text = re.sub(pattern, new, text)
    return text


def _turn_case(turn: Respell, text: str) -> str:
    """Return a text with the first word of each mark, and each label, in letters of another case."""

    def turn_word(found: re.Match[str]) -> str:
        word, blank, rest = found[0].partition(" ")
        return turn(word) + blank + rest if word and word[0] in _BRACKETS and _WORD.search(word) else found[0]

    return _LABEL.sub(lambda found: turn(found[0]), _TOKEN.sub(turn_word, text))


def _list_shared(texts: list[str], marks: set[str]) -> tuple[list[str], str]:
    """Return the words that marks of a family have, and the mark that stands before all others, empty where none does."""
    counts: Counter[str] = Counter()
    for mark in marks:
        for found in (*_PREFIX.finditer(mark), *_SUFFIX.finditer(mark)):
            rest = mark[: found.start()] + mark[found.end() :]
            counts[found[0]] += 2 if len(_WORD.findall(rest.partition(" ")[0])) > 1 else 1
    return [word for word, count in counts.most_common() if count > 2], _find_repeated(texts)


def _list_ways(texts: list[str], marks: set[str]) -> list[Respell]:
    """Return what takes a word out of the marks that have it, and out of those that keep two words beside it; or a whole mark."""
    words, repeated = _list_shared(texts, marks)
    patterns = [re.escape(repeated)] if repeated else []
    patterns += [rf"(?<=[<\[/]){re.escape(word)}(?=[^\W_])|(?<=[^\W_]){re.escape(word)}(?=[>\]])" for word in words]
    framed = (word for word in words if not (word[-1].isalnum() or word[-1] == "_"))
    signed = [re.compile(rf"(?<=[<\[/]){re.escape(word)}(?=[^\W_])") for word in framed]
    spaced = [partial(pattern.sub, r"\g<0> ") for pattern in signed]  # the words of such a family may stand apart
    return [*(partial(re.compile(pattern).sub, "") for pattern in patterns), *spaced]


def _find_repeated(texts: list[str]) -> str:
    """Return a mark that stands before others and nowhere else, with the signs around it; empty where there is none."""
    counts = Counter(mark for text in texts for mark in _list_marks(text))
    mark, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    if count < _REPEATED:
        return ""
    around = [re.search(rf"([^\w\s]?){re.escape(mark)}([^\w\s]?)(?=<)", text) for text in texts if mark in text]
    sides = {(found[1], found[2]) for found in around if found}
    return mark.join(sides.pop()) if len(sides) == 1 and all(around) else ""


def _rename(graph: TurnGraph, respell: Respell) -> TurnGraph:
    """Return a graph with the texts of its edges in another spelling."""

    def rename(edges: Iterable[Edge]) -> tuple[Edge, ...]:
        return tuple(replace(edge, parts=read_parts(respell(write_parts(edge)))) for edge in edges)

    starts = tuple(replace(start, edges=rename(start.edges)) for start in graph.starts)
    insides = tuple((name, replace(inner, edges=rename(inner.edges))) for name, inner in graph.insides)
    return replace(graph, turn=replace(graph.turn, edges=rename(graph.turn.edges)), insides=insides, starts=starts)
