"""Turning other notations of structured values into JSON while they stream.

Quotes, words, brackets and the signs after keys differ between notations; the order of things does not. So no stack and
no grammar is needed: token by token the text is rewritten, with the bracket depth as the only memory. What cannot be
rewritten yet because the text ends in the middle of it (half an escape, half a quote token, a bare word that may turn out
to be a key, a comma that may turn out to be the last) is the ``rest`` of the state and is read again with the next chunk.
It is never longer than :data:`LIMIT` characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, NamedTuple

from .lexer import Scan, Step, escape_json
from .scanner import skip_space

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .format import StringNotation, ValueNotation
    from .scanner import Search

LIMIT = 256
_OUT, _BARE = -1, -2
_KEY, _VALUE_DUE, _DONE = range(3)  # what has come of an entry or item: nothing, its key, its value
_NEVER = -(1 << 60)

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_WORD = re.compile(r"[^\s,:=\[\]{}()]*")
_VALUE = re.compile(r"[^,\[\]{}()\n]*")
_VALUE_END = re.compile(r"[,\[\]{}()\n]")
_ESCAPE = re.compile(r"u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|[^uxU]", re.DOTALL)
_OPEN_ESCAPE = re.compile(r"(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?|U[0-9a-fA-F]{0,7})?")
_SAME = frozenset('ntrbf"\\')
_PLAIN = {"'": "'", "/": "/", "`": "`", "\n": "", "0": "\\u0000", "a": "\\u0007", "v": "\\u000b"}


class State(NamedTuple):
    """Where a transducer is: which string it is in, what has come of the entry, and what waits for more text."""

    mode: int = _OUT
    place: int = _KEY
    rest: str = ""


class Quotes:
    """How one kind of string is written.

    Where the notation cannot escape the end token, one inside a string is told from the one that ends it by what comes
    after it: ``ambiguous``.
    """

    def __init__(self, start: str, end: str, escapes: tuple[tuple[str, str], ...]) -> None:
        self.start, self.end = start, end
        self.backslash = any(written.startswith("\\") for _, written in escapes)
        self.escapes = tuple((written, char) for char, written in escapes if not written.startswith("\\"))
        self.ambiguous = not escapes
        heads = "".join(sorted({re.escape(text[0]) for text in (end, *(written for written, _ in self.escapes)) if text}))
        self.search: Search = re.compile(f'["\\\\\\x00-\\x1f{heads}]').search


class Transducer:
    """Rewrites values of one notation as JSON."""

    start = State()

    def __init__(self, strings: Iterable[StringNotation], words: dict[str, str]) -> None:
        quotes = [Quotes(s.start, s.end, s.escapes) for s in strings if s.start and s.end]
        for mark in "\"'":  # what everybody falls back to
            if all(quote.start != mark for quote in quotes):
                quotes.append(Quotes(mark, mark, ((mark, "\\" + mark),)))
        self._quotes = sorted(quotes, key=lambda quote: -len(quote.start))
        self.heads = frozenset(quote.start[0] for quote in self._quotes)
        self._words = words
        self.step = lru_cache(maxsize=16384)(self._step)

    def get_plain(self, state: State) -> Search | None:
        """Inside a string all passes that is neither its end nor an escape nor to be escaped in JSON."""
        return self._quotes[state.mode].search if state.mode >= 0 and not state.rest else None

    def translate(self, text: str) -> str | None:
        """Rewrite a whole value; None if it is not finished."""
        state, out, depth, _, _ = self._run(State(), text + ",", 0, _NEVER)
        return out if state.mode == _OUT and not depth and state.rest == "," else None

    def scan(self, state: State, text: str, depth: int) -> Scan:
        """Read a chunk up to the end of the outermost bracket."""
        new, out, depth, _, end = self._run(state, text, depth, 0)
        return Scan(new, out, depth, end if end < 0 else end - len(state.rest))

    def _step(self, state: State, text: str) -> Step:
        # The level that a chunk starts on counts as a deep one: a chunk that reaches the outermost is scanned instead.
        new, out, depth, low, _ = self._run(state, text, 1 << 30, _NEVER)
        return Step(new, out, depth - (1 << 30), low - (1 << 30), self.get_plain(new))

    def _run(self, state: State, text: str, depth: int, stop: int) -> tuple[State, str, int, int, int]:
        mode, place, rest = state
        text = rest + text
        size, at, low = len(text), 0, depth
        out: list[str] = []
        while at < size:
            if mode >= 0:
                at, ended = self._read_string(text, at, self._quotes[mode], out)
                if ended:
                    mode, place = _OUT, _DONE
                elif at < size:
                    break
                continue
            if mode == _BARE:
                found = _VALUE_END.search(text, at)
                stop_at = found.start() if found else size
                out.append(escape_json(text[at:stop_at]))
                at = stop_at
                if found:
                    out.append('"')
                    mode, place = _OUT, _DONE
                continue
            char = text[at]
            if char in self.heads:
                opened = self._open_string(text, at)
                if opened == -1:
                    break
                if opened is not None:
                    mode = opened
                    at += len(self._quotes[mode].start)
                    out.append(', "' if place == _DONE else '"')
                    continue
            if char in "{[(":
                out.append("[" if char == "[" or (char == "(" and depth) else "{")
                depth, place, at = depth + 1, _KEY, at + 1
            elif char in "}])":
                out.append('""' if place == _VALUE_DUE else "")
                depth, place, at = depth - 1, _DONE, at + 1
                low = min(low, depth)
                out.append("]" if char == "]" or (char == ")" and depth) else "}")
                if depth <= stop:
                    return State(), "".join(out), depth, low, at
            elif char == ",":
                after = skip_space(text, at + 1)
                if after - at <= LIMIT:
                    if after == size:
                        break
                    at += text[after] in "}])"
                out.append('""' if place == _VALUE_DUE else "")
                out.append(text[at:after])
                at, place = after, _KEY
            elif char in ":=":
                out.append(":")
                at, place = at + 1, _VALUE_DUE
            elif char.isspace():
                after = skip_space(text, at)
                out.append(text[at:after])
                at = after
            else:
                read, is_key = self._read_bare(text, at, place, out)
                if read < 0:
                    break
                mode = _BARE if read == at else mode
                at, place = read, place if is_key else _DONE
        return State(mode, place, text[at:]), "".join(out), depth, low, -1

    def _open_string(self, text: str, at: int) -> int | None:
        """Return which string begins at a place; -1 if the text ends before that is known."""
        for number, quote in enumerate(self._quotes):
            if text.startswith(quote.start, at):
                return number
            if quote.start.startswith(text[at:]):
                return -1
        return None

    def _read_bare(self, text: str, at: int, place: int, out: list[str]) -> tuple[int, bool]:
        """Rewrite a bare word; returns where it ends and whether it is a key.

        The end is ``at`` if the word is too long to wait for, and -1 to wait.
        """
        size = len(text)
        if place != _VALUE_DUE:
            end = _WORD.match(text, at).end()  # type: ignore[union-attr]
            after = skip_space(text, end)
            if after - at <= LIMIT:
                if after == size:
                    return -1, False
                if text[after] in ":=" and end > at:
                    out.append(", " if place == _DONE else "")
                    out.append(encode_basestring(text[at:end]))
                    return after, True
        end = _VALUE.match(text, at).end()  # type: ignore[union-attr]
        if end - at > LIMIT:
            out.append('"')
            return at, False
        if end == size:
            return -1, False
        written = text[at:end]
        word = written.rstrip()
        out.append(self.convert_word(word) + written[len(word) :])
        return end, False

    def convert_word(self, word: str) -> str:
        """Return the JSON of a bare word."""
        known = self._words.get(word)
        if known is not None:
            return known
        return word if _NUMBER.fullmatch(word) else encode_basestring(word)

    def _read_string(self, text: str, at: int, quote: Quotes, out: list[str]) -> tuple[int, bool]:
        """Rewrite the inside of a string; returns where it stopped and whether the string has ended there.

        It stops before the end of the text where more of it is needed.
        """
        size, end, search = len(text), quote.end, quote.search
        while at < size:
            found = search(text, at)
            stop = found.start() if found else size
            if stop > at:
                out.append(text[at:stop])
                at = stop
            if found is None:
                return at, False
            if text.startswith(end, at):
                if not quote.ambiguous:
                    out.append('"')
                    return at + len(end), True
                after = skip_space(text, at + len(end))
                if after == size and after - at <= LIMIT:
                    return at, False
                if after < size and text[after] in ",}]):=":
                    out.append('"')
                    return at + len(end), True
            elif end.startswith(text[at:]):
                return at, False
            written = self._read_escape(text, at, quote)
            if written is None:
                return at, False
            out.append(written[0])
            at += written[1]
        return at, False

    def _read_escape(self, text: str, at: int, quote: Quotes) -> tuple[str, int] | None:
        """Return the JSON of what stands at a special place, and its length; None if the text ends inside it."""
        for written, char in quote.escapes:
            if text.startswith(written, at):
                return escape_json(char), len(written)
            if written.startswith(text[at:]):
                return None
        if text[at] != "\\" or not quote.backslash:
            return escape_json(text[at]), 1
        if _OPEN_ESCAPE.fullmatch(text, at + 1):
            return None
        found = _ESCAPE.match(text, at + 1)
        if found is None:
            return "\\\\", 1
        code = found[0]
        if len(code) > 1:
            return (f"\\{code}" if code[0] == "u" else escape_json(chr(int(code[1:], 16)))), 1 + len(code)
        return (f"\\{code}" if code in _SAME else _PLAIN.get(code) or _keep(code)), 2


def _keep(code: str) -> str:
    """An escape that no notation knows is a backslash and a character."""
    return "" if code == "\n" else "\\\\" + escape_json(code)


@lru_cache(maxsize=256)
def make_transducer(strings: tuple[StringNotation, ...], notation: ValueNotation) -> Transducer:
    """Return the transducer of a notation; its own words come before the spellings that everybody uses."""
    words = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
    own = {notation.true: "true", notation.false: "false", notation.null: "null"}
    return Transducer((*strings, *notation.strings), {**words, **{k: v for k, v in own.items() if k}})
