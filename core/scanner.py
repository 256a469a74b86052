"""Finding structure text in a stream.

Two things are needed. A :class:`Literal` answers, at one place, whether structure text stands there, may still come to
stand there, or does not: white space inside it is layout, so any run of it matches any other. A *search* made by
:func:`make_search` finds the next place at which it is worth asking; it looks at the first characters only, and also
finds a place so near to the end of the text that the rest of those characters is still to come.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from .marker import CLOSING, OPENING, TAG_OPENING, find_signs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Search = Callable[..., "re.Match[str] | None"]

MISS, BEGUN = -1, -2  # no match; none yet: the text ends before it is known
SPACE_LIMIT = 256  # the longest run of white space that is taken for layout
_DEPTH = 4  # how many characters of a literal a search looks at

_TAGS = re.escape(TAG_OPENING)
_OPEN, _CLOSE = re.escape(OPENING), re.escape(CLOSING)
_SEAM = re.compile(rf"\s+|(?<=[^\s{_OPEN}=\"'|])(?=[{_TAGS}])|(?<=[{_CLOSE}])(?=[\[({{])|(?<=[{_CLOSE}])(?=\w)")
_JOINED, _JOINING = re.compile(rf"[^\s{_OPEN}=\"'|]"), re.compile(r"[\w\[({]")
_SPACE = re.compile(r"\s*")
_WEAK = re.compile(r"[\s\[\]{}(),:;\"']*")


class Literal:
    """Structure text to be matched with flexible layout.

    The text is split into atoms where it has white space and where a bracket has been closed. Between two
    atoms any white space may stand, or none, up to :data:`SPACE_LIMIT` characters.
    """

    __slots__ = ("_written", "atoms", "first", "text")

    def __init__(self, text: str) -> None:
        self.text, self._written = text, text.strip()
        self.atoms = split_atoms(text)
        self.first = self.atoms[0] if self.atoms else ""

    def __bool__(self) -> bool:
        return bool(self.atoms)

    def match(self, text: str, at: int) -> int:
        """Match at a place of a text.

        Returns where the match ends, or :data:`MISS`, or :data:`BEGUN`, where the text ends before that is known.
        """
        if text.startswith(self._written, at):
            return at + len(self._written)
        size = len(text)
        begun = False
        for atom in self.atoms:
            if begun:
                start = at
                at = skip_space(text, at)
                if at - start > SPACE_LIMIT:
                    return MISS
            begun = True
            if text.startswith(atom, at):
                at += len(atom)
            elif size - at < len(atom) and atom.startswith(text[at:]):
                return BEGUN
            else:
                return MISS
        return at


def skip_space(text: str, at: int) -> int:
    """Return the first place from ``at`` on that is not white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


@lru_cache(maxsize=4096)
def split_atoms(text: str) -> tuple[str, ...]:
    """Split structure text at white space, before a tag that follows something, and behind a closing bracket.

    >>> split_atoms("<a>\\n<b=")
    ('<a>', '<b=')
    """
    seams = [found.span() for found in _SEAM.finditer(text)]
    for sign in find_signs(text):
        place = sign.start if sign.opening else sign.end
        beside = text[place - 1 : place] if sign.opening else text[place : place + 1]
        if _JOINED.match(beside) if sign.opening else _JOINING.match(beside):
            seams.append((place, place))
    starts, ends = [0, *(end for _, end in sorted(seams))], [*(start for start, _ in sorted(seams)), len(text)]
    return tuple(text[start:end] for start, end in zip(starts, ends, strict=True) if start < end)


@lru_cache(maxsize=4096)
def make_literal(text: str) -> Literal:
    """Return the (shared) literal of a text."""
    return Literal(text)


def is_weak(text: str) -> bool:
    """Whether a text is nothing but the punctuation that prose and code are full of: no marker at all."""
    return _WEAK.fullmatch(text) is not None


def make_search(texts: Iterable[str], spaces: Iterable[str] = ()) -> Search:
    """Return a search for the beginnings of some structure texts, whole or cut off by the end of the text.

    With ``spaces``, layout that may stand before structure, it also finds any of their characters at the very end.
    """
    parts = sorted({_write_head(split_atoms(text)) for text in texts if split_atoms(text)})
    blank = "".join(sorted({re.escape(char) for space in spaces for char in space}))
    if blank:
        parts.append(f"[{blank}]\\Z")
    return re.compile("|".join(parts) if parts else r"(?!)").search


def _write_head(atoms: tuple[str, ...]) -> str:
    """Write a pattern for the first characters of a literal or, at the end of what is searched, any beginning of them."""
    chars = [(char, number > 0 == place) for number, atom in enumerate(atoms) for place, char in enumerate(atom)]
    pattern = ""
    for char, spaced in reversed(chars[:_DEPTH]):
        pattern = f"{re.escape(char)}(?:{pattern}|\\Z)" if pattern else re.escape(char)
        if spaced:
            pattern = rf"\s{{0,{SPACE_LIMIT}}}(?:{pattern}|\Z)"
    return pattern


def count_common_prefix(text: str, start: int, end: int, layout: str) -> int:
    """Return how many characters of a stretch of a text are the beginning of a layout."""
    if text.startswith(layout, start, end):
        return len(layout)
    for size in range(min(len(layout), end - start), 0, -1):
        if text.startswith(layout[:size], start):
            return size
    return 0


def count_common_suffix(text: str, start: int, end: int, layout: str) -> int:
    """Return how many characters at the end of a stretch of a text are the end of a layout."""
    if text.endswith(layout, start, end):
        return len(layout)
    for size in range(min(len(layout), end - start), 0, -1):
        if text.endswith(layout[-size:], start, end):
            return size
    return 0


def count_layout(text: str, start: int, end: int, layouts: tuple[str, ...]) -> int:
    """Return how long an ending of a stretch may become the layout of a marker that follows it.

    That is the longest ending that occurs inside one of the layouts: whatever is cut off when the marker comes is the
    ending of its layout, and the marker may still be preceded by more of it.
    """
    longest = 0
    for layout in layouts:
        if len(layout) == 1:
            longest = longest or int(text.endswith(layout, start, end))
            continue
        for size in range(min(len(layout), end - start), longest, -1):
            if text[end - size : end] in layout:
                longest = size
                break
    return longest
