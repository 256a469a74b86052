"""Reasoning and content: what is emitted of the text between structure, and when.

The layout that the template prints around a marker is no part of the text beside it. So at the beginning of a block white
space waits until something visible follows (a block of nothing but white space is no block), and at the end of what has
come so much waits as may turn out to be the layout before a marker. All else is emitted at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .scanner import count_common_prefix, count_common_suffix, count_layout
from .tape import Tape

if TYPE_CHECKING:
    from .program import Program

LEAD_LIMIT = 1024  # a longer run of white space at the beginning of a block is text

_VISIBLE = re.compile(r"\S")


class TextReader(Tape):
    """A tape that emits text blocks; see the module's text."""

    __slots__ = (
        "_after",
        "_at",
        "_direct",
        "_lead",
        "_program",
        "_thinking",
        "_thought",
        "_tried",
        "_written",
    )

    _program: Program

    def __init__(self) -> None:
        super().__init__()
        self._at = 0  # the first character of the text block that is not emitted yet
        self._lead = True  # whether nothing visible of the block has come
        self._after = ""  # the layout of the marker before the block
        self._written = False  # whether anything but white space has come, structure included
        self._tried = False  # whether a call without opener was tried in this block
        self._thinking = False
        self._thought = False
        self._direct = True  # whether no content has come since reasoning, or since the beginning

    def _flush(self, end: int) -> int:
        """Emit the text up to a place, but for what may be layout; returns by how much the text became shorter."""
        start = self._at
        if self._lead:
            start = self._find_start(end)
            if start < 0:
                return 0
            self._lead = False
            self._written = True
            self._direct = self._thinking
        stop = end - count_layout(self._text, start, end, self._program.layouts)
        self._emit_text(start, stop)
        self._cut(stop)
        self._at = 0
        return stop

    def _find_start(self, end: int) -> int:
        """Return where the text of a block begins, behind its marker's layout; -1 if white space alone has come of it."""
        start = self._at
        found = _VISIBLE.search(self._text, start, end)
        if found is None and end - start <= LEAD_LIMIT:
            return -1
        visible = found.start() if found else end
        return start + count_common_prefix(self._text, start, visible, self._after)

    def _end_text(self, end: int, before: str) -> int:
        """Emit the rest of a block, which ends at a place with a marker that has a layout before it.

        Returns by how much the text became shorter.
        """
        gone = self._flush(end)
        if not self._lead:  # else the block is white space alone, and none
            rest = end - gone
            self._emit_text(0, rest - count_common_suffix(self._text, 0, rest, before))
            self._cut(rest)
            gone = end
            self._at = 0
        return gone

    def _start_text(self, at: int, after: str) -> None:
        """Begin a new block at a place, after a marker with a layout after it."""
        self._at = at
        self._lead = True
        self._after = after
        self._tried = False
        self._written = True

    def _think(self, thinking: bool) -> None:
        """Switch between reasoning and content."""
        self._thought = self._thought or not thinking
        self._direct = self._direct or not thinking
        self._thinking = thinking
        self._kind = "reasoning" if thinking else "content"
