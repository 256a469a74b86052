"""What is left of the end of a call where models write it otherwise: signs and words of the format, in whatever order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from .constants import find_end
from .landmarks import FIELDS, Landmarks
from .mistyped import strip_accent

_WORD: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(r"(.)\1*", re.DOTALL)
_PROSE: Final = frozenset(".,;:!?'\"()-–…“”’ ")  # signs that sentences have
_NEAR: Final = 4  # so many letters has a word that is known if mistyped
_ALIKE: Final = 0.8
LONGEST: Final = 256  # characters


class Rest:
    """What has come of the rest of an end, from its beginning in the output up to a place: whether a sign is in it that no sentence
    has, and whether an id is."""

    def __init__(self, begin: int) -> None:
        self.begin = self.seen = begin
        self.marked = self.named = False


class Debris:
    """The signs and words of what parts and ends the calls of a format."""

    def __init__(self, texts: Iterable[str], ids: bool) -> None:
        texts = tuple(texts)
        self._words = {strip_accent(word).casefold() for text in texts for word in _WORD.findall(text)}
        self._signs = {sign for text in texts for sign in text if not (sign.isalnum() or sign.isspace())}
        self._ids = ids  # whether a call has an id
        self._marks = self._signs - _PROSE

    def read(self, text: str, at: int) -> tuple[int, str]:
        """Return the place behind the word or the run of a sign at a place, and what kind it is: a ``mark`` that no sentence has,
        ``some`` or an ``id``; none for what the format does not have."""
        found = _WORD.match(text, at)
        if found is None:
            sign = text[at]
            return find_end(_RUN, text, at), "mark" if sign in self._marks else "some" if sign in self._signs else ""
        word = found[0].casefold()
        if word in self._words or (len(word) >= _NEAR and any(_is_near(word, known) for known in self._words)):
            return found.end(), "some"
        return found.end(), "id" if self._ids and any(map(str.isdigit, word)) else ""


def find_debris(format: Landmarks) -> Debris:
    """Return what may be left of the end of a call of a format."""
    behind = (link.text for link in format.list_links(*FIELDS) if link.leaves or link.to.kind == "id")
    return Debris([*behind, format.section_close, *format.stops], format.list_nodes("id") != ())


def _is_near(word: str, known: str) -> bool:
    return abs(len(word) - len(known)) <= 1 and SequenceMatcher(None, word, known, False).ratio() >= _ALIKE
