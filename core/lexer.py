"""Reading JSON that is passed on as it was written: all there is to find is where it ends.

The effect of a chunk on a lexer depends on nothing but the state in which the lexer was and the chunk itself, save for
the depth of brackets, which only adds up. So a *step* answers ``(state, chunk)`` with the next state, the text to emit,
how much deeper the chunk leads, how far up it goes on its way, and a search for what matters next inside a string (or
None outside). Tokens repeat, so steps are remembered: in the usual case reading a token is one look-up. Only a chunk that
may go up to the outermost level is looked at closely.
"""

from __future__ import annotations

import re
from functools import lru_cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .scanner import Search

STEP_LIMIT = 64  # longer chunks are not remembered


class Step(NamedTuple):
    """What a chunk did to a lexer."""

    state: Any
    out: str
    change: int
    low: int
    plain: Search | None


class Scan(NamedTuple):
    """What a chunk did to a lexer that stops where the outermost bracket closes; ``end`` is -1 if it did not."""

    state: Any
    out: str
    depth: int
    end: int


class Lexer(Protocol):
    """A reader of one value between brackets."""

    start: Any

    def step(self, state: Any, text: str) -> Step:
        """Read a chunk that does not close the outermost bracket."""

    def scan(self, state: Any, text: str, depth: int) -> Scan:
        """Read a chunk up to the place where the outermost bracket closes."""

    def get_plain(self, state: Any) -> Search | None:
        """Return the search for what a chunk must not hold to be emitted unchanged."""


def escape_json(text: str) -> str:
    """Escape a text so that it can stand inside a JSON string."""
    return encode_basestring(text)[1:-1]


_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')

OUT, STRING, ESCAPE = 0, 1, 2


def scan_json(state: int, text: str, at: int, depth: int, stop: int) -> tuple[int, int, int, int]:
    """Read JSON from a place on, until the depth is down to ``stop``.

    Returns the state, the depth, the lowest depth on the way, and the place after the last bracket or -1.
    """
    size, low = len(text), depth
    while at < size:
        if state == OUT:
            found = _OUTSIDE.search(text, at)
            if found is None:
                break
            at = found.end()
            char = found[0]
            if char == '"':
                state = STRING
            elif char in "{[":
                depth += 1
            else:
                depth -= 1
                low = min(low, depth)
                if depth <= stop:
                    return state, depth, low, at
        elif state == STRING:
            found = _INSIDE.search(text, at)
            if found is None:
                break
            at = found.end()
            state = OUT if found[0] == '"' else ESCAPE
        else:
            at += 1
            state = STRING
    return state, depth, low, -1


_NEVER = -(1 << 60)


@lru_cache(maxsize=16384)
def _step_json(state: int, text: str) -> Step:
    state, change, low, _ = scan_json(state, text, 0, 0, _NEVER)
    return Step(state, text, change, low, _INSIDE.search if state == STRING else None)


class JsonLexer:
    """Passes a JSON object through."""

    start = OUT
    step = staticmethod(_step_json)

    def scan(self, state: int, text: str, depth: int) -> Scan:
        """Read a chunk up to the end of the object."""
        state, depth, _, end = scan_json(state, text, 0, depth, 0)
        return Scan(state, text if end < 0 else text[:end], depth, end)

    def get_plain(self, state: int) -> Search | None:
        """Inside a string everything passes but a quote and a backslash."""
        return _INSIDE.search if state == STRING else None


_UNESCAPE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX = re.compile(r"[0-9a-fA-F]*")


class StringDecoder:
    """Reads JSON that stands inside a JSON string; the depth is 1 inside the string and 0 after it.

    The state is the beginning of an escape that the text has not finished yet.
    """

    start = ""

    def __init__(self) -> None:
        self.step = lru_cache(maxsize=8192)(self._step)

    def _step(self, state: str, text: str) -> Step:
        state, out, depth, _ = self.scan(state, text, 1)
        return Step(state, out, depth - 1, depth - 1, None if state or depth < 1 else _INSIDE.search)

    def scan(self, state: str, text: str, depth: int) -> Scan:
        """Read a chunk up to the closing quote."""
        held = len(state)
        text = state + text
        size, at, out = len(text), 0, []
        while at < size:
            found = _INSIDE.search(text, at)
            stop = found.start() if found else size
            out.append(text[at:stop])
            at = stop
            if found is None:
                break
            if found[0] == '"':
                return Scan("", "".join(out), 0, at + 1 - held)
            char, at = self._read_escape(text, at)
            if at < 0:
                return Scan(text[stop:], "".join(out), depth, -1)
            out.append(char)
        return Scan("", "".join(out), depth, -1)

    def get_plain(self, state: str) -> Search | None:
        """Everything passes but a quote and a backslash, unless an escape is unfinished."""
        return None if state else _INSIDE.search

    def _read_escape(self, text: str, at: int) -> tuple[str, int]:
        """Read an escape; the place is -1 where the text ends inside it, or before the second half of a pair."""
        kind = text[at + 1 : at + 2]
        if not kind:
            return "", -1
        if kind != "u":
            return _UNESCAPE.get(kind, kind), at + 2
        digits = _HEX.match(text, at + 2, at + 6)
        assert digits
        if digits.end() < at + 6:
            return ("", -1) if digits.end() == len(text) else ("u", at + 2)
        code, at = int(digits[0], 16), at + 6
        if 0xD800 <= code < 0xDC00:
            low = text[at : at + 6]
            if len(low) < 6 and "\\uDC00".lower().startswith(low[:2]):
                digits = _HEX.match(low, 2)
                if len(low) < 2 or (digits and digits.end() == len(low)):
                    return "", -1
            if re.fullmatch(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", low):
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low[2:], 16) - 0xDC00), at + 6
        return chr(code), at


JSON = JsonLexer()
DECODER = StringDecoder()
