"""The arguments of a call that are one value between brackets: JSON, JSON inside a string, or another notation of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .lexer import DECODER, JSON, OUT, Lexer, scan_json
from .scanner import make_literal
from .tape import LEX
from .text import TextReader

if TYPE_CHECKING:
    from collections.abc import Generator

    from .program import CallProgram
    from .schema import ToolSet
    from .tape import Wait

NO, CUT, OBJECT, ENCODED, NULL = range(5)  # what stands where arguments are expected
STRING_LIMIT = 512  # the longest key or name, with quotes

_NULL = make_literal("null")
_KEY = re.compile(r"\s*(?:[)}]|[^\s\"'(){}\[\],:=]{1,256}\s{0,64}[:=])")
_KEY_BEGUN = re.compile(r"\s*[^\s\"'(){}\[\],:=]{0,256}\s{0,64}\Z")
_STRING_STOP = re.compile(r"[\"'\\]")
_SCALAR = re.compile(r"[^\s,\]}]*")


class ArgumentReader(TextReader):
    """Reads values between brackets; see the module's text."""

    __slots__ = (
        "_call",
        "_tools",
    )

    _call: CallProgram
    _tools: ToolSet | None

    def _stream(self, lexer: Lexer, depth: int) -> Wait:
        """Emit as arguments the value with which the text begins; returns its end, -1 if the output ends first."""
        state = lexer.start
        while True:
            text = self._text
            state, out, depth, end = lexer.scan(state, text, depth)
            self._emit_arguments(out)
            if end >= 0:
                return end
            self._cut(len(text))
            if self._closed:
                return -1
            self._state, self._depth = state, depth
            if self._deferred is None:
                self._step, self._guard, self._mode = lexer.step, lexer.get_plain(state), LEX
            yield 0
            state, depth = self._state, self._depth

    def _probe_value(self, at: int) -> Wait:
        """Tell what stands at a place where the arguments are expected to be a value between brackets."""
        at = yield from self._skip(at)
        if at < 0:
            return CUT if self._closed else NO
        char = self._text[at]
        if char == '"':
            inner = yield from self._skip(at + 1)
            if inner < 0:
                return CUT if self._closed else NO
            return ENCODED if self._text[inner] in '{"' else NO
        if char in "{(":
            if not self._call.lexed:
                inner = (yield from self._skip(at + 1)) if char == "{" else at
                if inner < 0:
                    return CUT if self._closed else NO
                return OBJECT if self._text[inner] in '"}' else NO
            return (yield from self._probe_key(at + 1))
        if char == "n":
            end = yield from self._match(_NULL, at)
            return NULL if end >= 0 else NO
        return NO

    def _probe_key(self, at: int) -> Wait:
        """Tell whether after the bracket of an object in another notation a key stands, or nothing."""
        while True:
            text = self._text
            first = yield from self._skip(at)
            if first < 0:
                return CUT if self._closed else NO
            if text[first : first + 1] in self._call.transducer.heads or _KEY.match(text, at):
                return OBJECT
            if not _KEY_BEGUN.match(text, at):
                return NO
            if not self._can_wait():
                return CUT if self._closed else NO
            yield len(text) + 1

    def _stream_value(self, at: int, kind: int) -> Wait:
        """Emit the value at a place, of the kind found there; returns its end, -1 if the output ends first."""
        at = yield from self._skip(at)
        if kind == NULL:
            self._emit_arguments("{}")
            return at + 4
        if kind == ENCODED:
            first = yield from self._skip(at + 1)
            if self._text[first] == '"':
                self._emit_arguments("{}")
                return first + 1
            self._cut(at + 1)
            return (yield from self._stream(DECODER, 1))
        self._cut(at)
        return (yield from self._stream(self._call.transducer if self._call.lexed else JSON, 0))

    def _convert_held(self, text: str) -> str:
        """Return the arguments that were held as a whole because they came before the name of their call."""
        if text[:1] == '"':
            return DECODER.scan("", text[1:], 1).out or "{}"
        if text[:1] != "{":
            return "{}"
        return self._call.transducer.scan(self._call.transducer.start, text, 0).out if self._call.lexed else text

    def _read_string(self, at: int, bound: int = STRING_LIMIT) -> Generator[int, None, tuple[str, int]]:
        """Read a quoted string of an envelope; returns its text and its end.

        The end is -1 if the output ends first, and -2 if no string of bounded length stands there.
        """
        quote, place = self._text[at], at + 1
        bound = min(bound, self._limit - at)
        if quote != '"' and not (quote == "'" and self._call.lexed):
            return "", -2
        while True:
            found = _STRING_STOP.search(self._text, place, at + bound + 1)
            if found is None:
                place = min(len(self._text), at + bound)
            elif found[0] == "\\":
                place = found.end() + 1
            elif found[0] == quote:
                if found.end() - at > bound:
                    return "", -2
                written = self._text[at + 1 : found.start()]
                return (DECODER.scan("", written, 1).out if "\\" in written else written), found.end()
            else:
                place = found.end()
                continue
            if place - at >= bound:
                return "", -2
            if place >= len(self._text):
                if self._closed:
                    return "", -1
                yield place + 1

    def _skip_value(self, at: int, bound: int) -> Wait:
        """Return the end of a JSON value; -1 if the output ends first, -2 if it is none of bounded length."""
        char = self._text[at]
        bound = min(bound, self._limit - at)
        if char in "\"'":
            return (yield from self._read_string(at, bound))[1]
        state, depth, place = OUT, 0, at
        while True:
            text = self._text if len(self._text) <= at + bound else self._text[: at + bound + 1]
            if char in "{[":
                state, depth, _, end = scan_json(state, text, place, depth, 0)
                if end >= 0:
                    return end if end - at <= bound else -2
                place = len(text)
            else:
                found = _SCALAR.match(text, at)
                place = found.end() if found else at
                if place < len(text):
                    return place if at < place <= at + bound else -2
            if place - at >= bound:
                return -2
            if self._closed:
                return -1
            yield place + 1
