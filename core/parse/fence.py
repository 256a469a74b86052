"""Fences of code in a text: a call that stands in one, with prose behind it, is an example."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..format.units import MORE, NO
from .landing import HELD_CALL

_TICKS = re.compile("`+")
_OPENING, _HALF = re.compile(r"```[ \t]*\w*[ \t]*\n\s*"), re.compile(r"`{1,2}|```[ \t]*\w*[ \t]*")
_END = re.compile(r"\s*```(?!\w)")
_CLOSING = re.compile(r"\n[ \t]*`{3,}[ \t]*(?=\n|\Z)")


class Fence(NamedTuple):
    """Whether a fence is open at the end of a text that comes in pieces; a run of three backquotes or more opens and closes."""

    opened: bool = False
    run: int = 0  # backquotes at the end of what came

    def read(self, text: str) -> Fence:
        """Return what is so behind the next piece."""
        opened, run = self
        for found in _TICKS.finditer(text):
            before = run if found.start() == 0 else 0
            run = before + len(found[0])
            opened ^= before < 3 <= run
        return Fence(opened, 0 if text and not text.endswith("`") else run)


def find_closing(text: str, at: int, final: bool) -> int:
    """Return the place behind the next fence that ends code; that there is none, or that more is needed."""
    found = _CLOSING.search(text, at)
    return found.end() if found else MORE if not final and len(text) - at < HELD_CALL else NO


def skip_fence(text: str, at: int, final: bool) -> int:
    """Return the place behind the line that opens a fence; the place itself where none stands there, or that more is needed."""
    found = _OPENING.match(text, at)
    if found is None and not final and _HALF.fullmatch(text, at):
        return MORE
    return found.end() if found else at


def skip_fence_end(text: str, at: int, final: bool) -> int:
    """Return the place behind the line that ends a fence; the place itself where none stands there, or that more is needed."""
    found = _END.match(text, at)
    if not final and (text[at:].strip() in ("", "`", "``") or (found and found.end() == len(text))):
        return MORE
    return found.end() if found else at
