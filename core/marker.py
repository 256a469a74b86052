"""Cutting rendered text where one marker ends and the next begins.

Two renders that differ in one field share the text before and after it, but the place where they begin to differ need
not be the place where a marker ends: ``<A_BEGIN>`` and ``<A_END>`` share their first three characters. What helps is
lexical, and knows nothing about any marker: a cut never falls inside a word, and opening punctuation belongs to what
follows it as closing punctuation belongs to what it closes. Signs that look the same on both sides of a marker open and
close it in turns; see :func:`find_signs`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from .format import Marker

OPENING = "<[{(⟦⟨«‹「『【〔《〈❨❪❬❮❰❲❴⦃⦅（［｛｢"
CLOSING = ">]})⟧⟩»›」』】〕》〉❩❫❭❯❱❳❵⦄⦆）］｝｣"
TAG_OPENING = "".join(char for char in OPENING if char not in "[{(")
_TAG_CLOSING = "".join(char for char in CLOSING if char not in "]})")
_PAIRS = dict(zip(OPENING, CLOSING, strict=True))
_WORDS_IN_TAG = re.compile(rf"[{re.escape(TAG_OPENING)}][^{re.escape(TAG_OPENING + _TAG_CLOSING)}\n=\"'`]*\Z")
# A run of one sign that may stand on both sides of a marker: not the punctuation of words, and no part of a bracket.
_RUN = re.compile(
    rf"(?<![{re.escape(TAG_OPENING)}])([^\w\s{re.escape(OPENING + CLOSING)}\"'`.,:;=/\\-])\1*(?![{re.escape(_TAG_CLOSING)}])"
)


def find_common_prefix(*texts: str) -> str:
    """Return the longest text that all given texts begin with."""
    first, last = min(texts), max(texts)
    for position, char in enumerate(first):
        if char != last[position]:
            return first[:position]
    return first


def find_common_suffix(*texts: str) -> str:
    """Return the longest text that all given texts end with."""
    return find_common_prefix(*(text[::-1] for text in texts))[::-1]


@lru_cache(maxsize=1024)
def is_closing(char: str) -> bool:
    """Whether a character is closing punctuation."""
    return char in CLOSING or unicodedata.category(char) in ("Pe", "Pf")


@lru_cache(maxsize=1024)
def is_opening(char: str) -> bool:
    """Whether a character is opening punctuation."""
    return char in OPENING or unicodedata.category(char) in ("Ps", "Pi")


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


class Sign(NamedTuple):
    """A sign that opens or closes a marker, and where it stands."""

    start: int
    end: int
    opening: bool


@lru_cache(maxsize=1024)
def find_signs(text: str) -> tuple[Sign, ...]:
    """Find the signs that open and close markers without brackets (``§a§``), in the order in which they stand.

    On one line a sign opens and closes in turns. Which of them opens is told by white space beside it, by two that touch
    (the first closes, the second opens), and else by the ends of the text. Where these contradict each other, or nothing
    tells, the sign is no marker's.
    """
    runs = [found for found in _RUN.finditer(text) if not _is_inside_bracket(text, found.start(), TAG_OPENING)]
    if not runs:
        return ()
    sizes: dict[str, int] = {}
    for found in runs:
        sizes[found[1]] = min(len(found[0]), sizes.get(found[1], len(found[0])))
    lines = groupby(
        sorted(runs, key=lambda run: (run[1], run.start())), lambda run: (run[1], text.count("\n", 0, run.start()))
    )
    signs = [sign for (char, _), line in lines for sign in _pair_signs(text, list(line), sizes[char])]
    return tuple(sorted(signs))


def _pair_signs(text: str, runs: list[re.Match[str]], size: int) -> list[Sign]:
    """Tell for the runs of one sign on one line which of them open and which close; nothing where that is not certain."""
    places: list[int] = []
    votes: list[tuple[bool, bool]] = []  # whether it is certain, and whether the first of the line opens
    for run in runs:
        start, end = run.span()
        before, after = text[start - 1 : start], text[end : end + 1]
        even = len(places) % 2 == 0
        if end - start == 2 * size:
            places += [start, start + size]
            votes.append((True, not even))
        elif end - start != size:
            return []
        elif before.isspace() and after.isspace():
            continue
        else:
            if not after or after.isspace():
                votes.append((bool(after), not even))
            elif not before or before.isspace():
                votes.append((bool(before), even))
            places.append(start)
    certain = {first for sure, first in votes if sure}
    if len(certain) > 1 or not votes:
        return []
    first = certain.pop() if certain else votes[-1][1]
    return [Sign(place, place + size, first == (number % 2 == 0)) for number, place in enumerate(places)]


def is_boundary(text: str, position: int) -> bool:
    """Whether a marker may end before, and another begin at, a position of a text.

    That is so at the ends, beside white space and quotes, after closing punctuation, and behind a word that does not
    stand in a bracket.
    """
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if before.isspace() or after.isspace() or _is_quote(before) or _is_quote(after):
        return True
    if _is_word(before) and _is_word(after):
        return False
    if is_closing(before):
        return True
    sign = next((sign for sign in reversed(find_signs(text)) if sign.start < position), None)
    if sign is not None and not _has_space(text, sign.end, position):
        if sign.opening or position < sign.end:
            return False
        if position == sign.end:
            return True
    return _is_word(before) and not _is_inside_bracket(text, position)


def _may_cut(text: str, position: int) -> bool:
    """Whether a text may be cut at a position: a boundary, but not that before the end of a tag of several words."""
    if not is_boundary(text, position):
        return False
    closes = position < len(text) and text[position] in _TAG_CLOSING
    return not closes or _WORDS_IN_TAG.search(text, 0, position) is None


def _has_space(text: str, start: int, end: int) -> bool:
    return any(char.isspace() for char in text[start:end])


def _is_inside_bracket(text: str, position: int, kinds: str = "") -> bool:
    """Whether the last bracket (of some kinds) before a position, back to the next white space, is an opening one."""
    while position:
        position -= 1
        char = text[position]
        if char.isspace() or is_closing(char):
            return False
        if char in kinds if kinds else is_opening(char):
            return True
    return False


def _is_quote(char: str) -> bool:
    return char in "\"'`"


def cut_common_prefix(*texts: str) -> str:
    """Return the longest common beginning that ends at a boundary of each of the texts."""
    length = len(find_common_prefix(*texts))
    while not all(_may_cut(text, length) for text in texts):
        length -= 1
    return texts[0][:length]


def cut_common_suffix(*texts: str) -> str:
    """Return the longest common ending that begins at a boundary of each of the texts."""
    length = len(find_common_suffix(*texts))
    while not all(_may_cut(text, len(text) - length) for text in texts):
        length -= 1
    return texts[0][len(texts[0]) - length :]


def split_atoms(text: str) -> list[str]:
    """Split structure text into its atoms: bracketed markers, and what stands between them.

    White space separates and is dropped. An atom never ends inside a bracketed span that has no white space in it.

    >>> split_atoms("<a><b c>\\nd(")
    ['<a>', '<b', 'c', '>', 'd', '(']
    """
    atoms: list[str] = []
    for chunk in re.finditer(r"\S+", text):
        start = chunk.start()
        for position in range(start + 1, chunk.end() + 1):
            if is_boundary(text, position):
                atoms.append(text[start:position])
                start = position
    return atoms


def is_marked(atom: str) -> bool:
    """Whether an atom stands in brackets, or between two signs."""
    if is_opening(atom[0]) and is_closing(atom[-1]):
        return True
    signs = find_signs(atom)
    return len(signs) > 1 and signs[0].start == 0 and signs[0].opening and signs[-1].end == len(atom)


def make_marker(literal: str) -> Marker:
    """Split a literal into marker text and the layout white space around it."""
    text = literal.strip()
    if not text:
        return Marker("", "", literal)
    start = literal.index(text)
    return Marker(text, literal[:start], literal[start + len(text) :])


def is_blank(text: str) -> bool:
    """Whether a text is empty or white space."""
    return not text.strip()


def match_bracket(opening: str) -> str:
    """Return the closing bracket of an opening one."""
    return _PAIRS[opening]


def is_punctuation(text: str) -> bool:
    """Whether a text consists of JSON and list punctuation and white space only: nothing a reader could recognise."""
    return re.fullmatch(r"[\s\[\]{}(),:\"']*", text) is not None
