"""Reading JSON that is passed on as it was written: all there is to find is where it ends."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r'["{}\[\]]')
JSON_SIGNS = re.compile(r'["\\]')
"""What matters inside a string."""

OUT, STRING, ESCAPE = 0, 1, 2


class JsonLexer:
    """Finds the end of one JSON value that begins with a bracket or a quote, however it is split."""

    __slots__ = ("_depth", "state")

    def __init__(self) -> None:
        self.state = OUT
        self._depth = 0

    @property
    def plain(self) -> bool:
        """Whether the next characters stand inside a string."""
        return self.state == STRING

    def scan(self, text: str, at: int) -> int:
        """Read on from a place; returns the place behind the value, or -1 where it has not ended."""
        size = len(text)
        while at < size:
            if self.state == ESCAPE:
                at += 1
                self.state = STRING
                continue
            found = (JSON_SIGNS if self.state == STRING else _OUTSIDE).search(text, at)
            if found is None:
                return -1
            at = found.end()
            if self._take(found[0]):
                return at
        return -1

    def _take(self, sign: str) -> bool:
        """Take a sign that matters; returns whether it ends the value."""
        if self.state == STRING:
            self.state = OUT if sign == '"' else ESCAPE
            return sign == '"' and not self._depth
        if sign == '"':
            self.state = STRING
        else:
            self._depth += 1 if sign in "{[" else -1
        return self._depth <= 0 and sign != '"'
