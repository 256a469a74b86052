"""Fences of code in a text: a call that stands in one, with prose behind it, is an example."""

from __future__ import annotations

import re

HELD = 4096
"""So much of a text waits for the end of a fence in which a call stands; then it is a call."""

_TICKS = re.compile("`+")
_CLOSING = re.compile(r"\n[ \t]*`{3,}[ \t]*(?=\n|\Z)")


class Fence:
    """Whether a fence is open at the end of a text that comes in pieces; a run of three backquotes or more opens and closes."""

    __slots__ = ("_open", "run")

    def __init__(self) -> None:
        self._open = False
        self.run = 0  # backquotes at the end of what came

    def read(self, text: str) -> None:
        """Read the next piece."""
        for found in _TICKS.finditer(text):
            before = self.run if found.start() == 0 else 0
            self.run = before + len(found[0])
            self._open ^= before < 3 <= self.run
        if text and not text.endswith("`"):
            self.run = 0

    def is_open_behind(self, text: str) -> bool:
        """Whether it is open if a piece follows."""
        other = Fence()
        other._open, other.run = self._open, self.run
        other.read(text)
        return other._open


def find_closing(text: str, at: int) -> int:
    """Return the place behind the next fence that ends code, -1 where there is none."""
    found = _CLOSING.search(text, at)
    return found.end() if found else -1
