"""Reading JSON that is passed on as it was written: all there is to find is where it ends."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r'["{}\[\]]')
_BETWEEN = re.compile(r"[\s,:\w.+-]*")
JSON_SIGNS = re.compile(r'["\\]')
"""What matters inside a string."""

OUT, STRING, ESCAPE = 0, 1, 2

BROKEN = -2
"""What a scan answers where a text cannot be JSON."""


class JsonLexer:
    """Finds the end of one JSON value that begins with a bracket or a quote, however it is split.

    A ``careful`` one also tells where it is no JSON: by what stands between strings and brackets.
    """

    __slots__ = ("_careful", "_closed", "_depth", "state")

    def __init__(self, careful: bool = False) -> None:
        self.state = OUT
        self._depth = 0
        self._careful = careful
        self._closed = False  # whether the last sign ended a value

    @property
    def plain(self) -> bool:
        """Whether the next characters stand inside a string."""
        return self.state == STRING

    def scan(self, text: str, at: int) -> int:
        """Read on from a place; returns the place behind the value, -1 where it has not ended, or BROKEN."""
        size = len(text)
        while at < size:
            if self.state == ESCAPE:
                at += 1
                self.state = STRING
                continue
            found = (JSON_SIGNS if self.state == STRING else _OUTSIDE).search(text, at)
            sign = found[0] if found else ""
            if self._careful and self.state == OUT and not self._may_follow(text[at : found.start() if found else size], sign):
                return BROKEN
            if found is None:
                return -1
            at = found.end()
            if self._take(sign):
                return at
        return -1

    def _may_follow(self, between: str, sign: str) -> bool:
        """Whether what stands between two signs, and the second one, may follow the first."""
        text = between.strip()
        if not self._closed:
            return _BETWEEN.fullmatch(text) is not None
        self._closed = not text and not sign
        return text[0] in ",:" and _BETWEEN.fullmatch(text) is not None if text else sign in ("", "}", "]")

    def _take(self, sign: str) -> bool:
        """Take a sign that matters; returns whether it ends the value."""
        if self.state == STRING:
            self._closed = sign == '"'
            self.state = OUT if self._closed else ESCAPE
            return self._closed and not self._depth
        if sign == '"':
            self.state = STRING
        else:
            self._closed = sign in "}]"
            self._depth += -1 if self._closed else 1
        return self._depth <= 0 and sign != '"'
