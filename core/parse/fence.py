"""Code in a text: a call that stands in it is dressed if nothing else does, and an example if prose goes on behind it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ..format.units import MORE, NO
from ..plan.constants import find_end
from .landing import HELD_CALL

_WORD: Final = r"[^\s`~]{0,32}"
_SIGNS: Final = re.compile(r"`+|~+|\n+")
_OPENING: Final = re.compile(rf"(`{{3,32}}|~{{3,32}})[ \t]{{0,8}}{_WORD}[ \t]{{0,8}}\r?\n\s{{0,64}}")
_HALF: Final = re.compile(rf"`{{1,2}}|~{{1,2}}|(?:`{{3,32}}|~{{3,32}})[ \t]{{0,8}}{_WORD}[ \t]{{0,8}}\r?")
_END: Final = re.compile(r"\s*(`{3,}|~{3,})(?![\w`~])")
_HALF_END: Final = re.compile(r"\s*(?:`{0,2}|~{0,2})")
_CLOSING: Final = re.compile(r"\n[ \t]*(`{3,}|~{3,})(?![\w`~])")
CODE_SIGNS: Final = re.compile(r"[`~\n]")
"""What code ends with."""
_SPAN_END: Final = re.compile(r"`+|\n[ \t]*\n")
_LONGEST: Final = 64


class Fence(NamedTuple):
    """What code is open at the end of a text that comes in pieces.

    A run of backquotes opens code in its line, one of three or more, or of so many tildes, a fence; a run like it ends either. It
    is told when something else follows. A fence is ``dressed`` if its first line was no text, because a call stands behind it.
    """

    opened: str = ""
    run: str = ""  # signs at the end of what came
    dressed: bool = False

    def read(self, text: str) -> Fence:
        """Return what is so behind the next piece."""
        if "`" not in text and "~" not in text:
            fence = self._settle() if text else self
            return Fence() if "\n" in text and len(fence.opened) < 3 else fence
        fence = self
        for found in _SIGNS.finditer(text):
            if found.start() or found[0][0] != fence.run[:1]:
                fence = fence._settle()
            if found[0][0] == "\n":
                fence = fence if len(fence.opened) >= 3 else Fence()
            else:
                fence = fence._replace(run=(fence.run + found[0])[:_LONGEST])
        return fence if not text or text.endswith(("`", "~")) else fence._settle()

    def _settle(self) -> Fence:
        """Return what is open when another sign follows."""
        opened, run, _ = self
        if not run:
            return self
        if not opened:
            return Fence(run if len(run) >= 3 or run[0] == "`" else "")
        ends = run == opened or (len(opened) >= 3 and run.startswith(opened))
        return Fence() if ends else self._replace(run="")

    @property
    def code(self) -> str:
        """The run that has opened the code in which what comes next stands; empty where that is no code."""
        return self._settle().opened

    @property
    def fenced(self) -> bool:
        """Whether what comes next stands in a fence."""
        return len(self.code) >= 3


def find_closing(text: str, at: int, final: bool, run: str) -> int:
    """Return the place behind what ends a fence that a run has opened; that there is none, or that more is needed."""
    limit = at + HELD_CALL
    end = next((found.end() for found in _CLOSING.finditer(text, at, limit) if found[1].startswith(run)), NO)
    return MORE if end == NO and not final and len(text) < limit else end


def find_span_end(text: str, at: int, final: bool, run: str) -> int:
    """Return the place behind the run that ends code within a paragraph; that there is none, or that more is needed."""
    limit = at + HELD_CALL
    for found in _SPAN_END.finditer(text, at, limit):
        if found[0][0] == "\n":
            return NO
        if found.end() == len(text) and not final:
            return MORE
        if found[0] == run:
            return found.end()
    return NO if final or len(text) >= limit else MORE


def skip_fence(text: str, at: int, final: bool) -> int:
    """Return the place behind the line that opens a fence; the place itself where none stands there, or that more is needed."""
    end = find_end(_OPENING, text, at)
    return MORE if end == at and not final and _HALF.fullmatch(text, at) else end


def read_run(text: str, at: int) -> str:
    """Return the signs of the fence that opens at a place."""
    found = _OPENING.match(text, at)
    return found[1] if found else ""


def skip_fence_end(text: str, at: int, final: bool, run: str = "") -> int:
    """Return the place behind the line that ends the fence of a run; the place itself where none stands there, or MORE."""
    found = _END.match(text, at)
    if not final and (_HALF_END.fullmatch(text, at) or (found and found.end() == len(text))):
        return MORE
    return found.end() if found and found[1].startswith(run) else at
