"""Cutting rendered text where one marker ends and the next begins.

Two renders that differ in one field share the text before and after it, but the place where they begin to differ need
not be the place where a marker ends: ``<A_BEGIN>`` and ``<A_END>`` share their first three characters. What helps is
lexical, and knows nothing about any marker: a cut never falls inside a word, and opening punctuation belongs to what
follows it as closing punctuation belongs to what it closes.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .format import Marker

OPENING = "<[{(⟦⟨«‹「『【〔《〈❨❪❬❮❰❲❴⦃⦅（［｛｢"
CLOSING = ">]})⟧⟩»›」』】〕》〉❩❫❭❯❱❳❵⦄⦆）］｝｣"
_PAIRS = dict(zip(OPENING, CLOSING, strict=True))


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
    return is_closing(before) or (_is_word(before) and not _is_inside_bracket(text, position))


def _is_inside_bracket(text: str, position: int) -> bool:
    """Whether the last bracket before a position, back to the next white space, is an opening one."""
    for char in reversed(text[:position]):
        if char.isspace() or is_closing(char):
            return False
        if is_opening(char):
            return True
    return False


def _is_quote(char: str) -> bool:
    return char in "\"'`"


def cut_common_prefix(*texts: str) -> str:
    """Return the longest common beginning that ends at a boundary of each of the texts."""
    length = len(find_common_prefix(*texts))
    while not all(is_boundary(text, length) for text in texts):
        length -= 1
    return texts[0][:length]


def cut_common_suffix(*texts: str) -> str:
    """Return the longest common ending that begins at a boundary of each of the texts."""
    length = len(find_common_suffix(*texts))
    while not all(is_boundary(text, len(text) - length) for text in texts):
        length -= 1
    return texts[0][len(texts[0]) - length :]


def split_atoms(text: str) -> list[str]:
    """Split structure text into its atoms: bracketed markers, and what stands between them.

    White space separates and is dropped. An atom never ends inside a bracketed span that has no white space in it.

    >>> split_atoms("<a><b c>\\nd(")
    ['<a>', '<b', 'c>', 'd', '(']
    """
    atoms: list[str] = []
    for chunk in text.split():
        start = 0
        for position in range(1, len(chunk) + 1):
            if is_boundary(chunk, position):
                atoms.append(chunk[start:position])
                start = position
    return atoms


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
