"""Characters as a template writes them: reading escapes, piece by piece."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .model import Numeral, Text

NO: Final = -1
MORE: Final = -2
"""What a match answers instead of the place behind it: the text is not there, or may be there when more has come."""

_ENTITIES: Final = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&#39;": "'"}
"""Those that every reader of XML or HTML knows, whichever of them a writer uses."""
_LETTERS: Final = {"\\n": "\n", "\\t": "\t", "\\r": "\r"}
"""The same of programs, where a backslash is always written as two."""
_HEX: Final = "0-9a-fA-F"
_HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


class Units:
    """Reads the escapes of one notation of text."""

    def __init__(self, codec: Text) -> None:
        self.table = {written: char for written, char in codec.escapes if written != char}
        self.stands_for = frozenset(codec.images)
        self._barred = tuple(self.stands_for)
        if self.table.get("&amp;") == "&":  # then no text has these as they stand
            self.table = {**_ENTITIES, **self.table}
        if codec.quoted and self.table.get("\\\\") == "\\":  # nor these
            self.table = {**_LETTERS, **self.table}
        if self.table.get("%20") == " " and "+" in self.stands_for:  # nor this one, which forms have for a blank
            self.table = {"+": " ", **self.table}
        self.written = sorted(self.table, key=len, reverse=True)
        # A mark before each line of a text loses the blank behind it where the line is empty.
        lines = ((written, written.rstrip(" ")) for written, char in self.table.items() if char == "\n" == written[0])
        self.trimmed = [f"{bare}\n" for written, bare in lines if written != bare != "\n"]
        self.first = frozenset(written[:1] for written in self.written)
        self.starts = codec.starts
        self.lines = tuple(char[1:] for char in self.stands_for if char[:1] == "\n" and char[1:].strip())
        """What never stands for itself where a line begins, and so does elsewhere."""
        self._numerals = [(numeral, _compile_numeral(numeral)) for numeral in codec.numerals]
        self.first |= {numeral.before[:1] for numeral in codec.numerals}
        self.signs = re.compile("[" + "".join(map(re.escape, sorted(self.first))) + "]" if self.first else "(?!)")

    def bars(self, text: str) -> bool:
        """Whether a text holds what never stands for itself, so that it is none of a text's own."""
        return any(barred in text for barred in self._barred)

    def bars_start(self, text: str) -> bool:
        """Whether a text begins with what never stands for itself."""
        return text.startswith(self._barred)

    def bars_doubled(self, sign: str) -> bool:
        """Whether a sign never stands for itself, and does not stand twice for it either."""
        return sign in self.stands_for and 2 * sign not in self.written

    def read(self, text: str, at: int, final: bool) -> tuple[int, str]:
        """Read one escape at a place; returns the place behind it (or NO, MORE) and what it stands for."""
        rest = len(text) - at
        for written in self.written:
            if text.startswith(written, at):
                return at + len(written), self.table[written]
            if not final and rest < len(written) and written.startswith(text[at:]):
                return MORE, ""
        for written in self.trimmed:
            if text.startswith(written, at):
                return at + len(written) - 1, "\n"
        found = [_read_numeral(numeral, pattern, text, at, final) for numeral, pattern in self._numerals]
        return max(found, key=lambda each: (each[0] == MORE, each[0]), default=(NO, ""))

    def read_start(self, text: str, at: int, final: bool) -> tuple[int, str]:
        """Read the escape that stands at a place only because a text begins there; as :meth:`read`."""
        for written, char in self.starts:
            if text.startswith(written, at):
                return at + len(written), char
        begun = text[at:]
        return (MORE if not final and any(written.startswith(begun) for written, _ in self.starts) else NO), ""

    def decode(self, text: str, final: bool = True) -> str:
        """Decode a text; what may be the beginning of an escape at its end is left out if it is not ``final``."""
        out: list[str] = []
        at = 0
        while found := self.signs.search(text, at):
            start = found.start()
            end, char = self.read(text, start, final)
            if end == MORE:
                return "".join(out) + text[at:start]
            out += [text[at:start], char if end > start else text[start]]
            at = max(end, start + 1)
        return "".join(out) + text[at:]


def _read_numeral(numeral: Numeral, pattern: re.Pattern[str], text: str, at: int, final: bool) -> tuple[int, str]:
    found = pattern.match(text, at)
    if found is None:
        return (MORE if not final and _is_cut(numeral, text, at) else NO), ""
    if not final and _may_go_on(numeral, found[0]) and _is_cut(numeral, text, found.end()):
        return MORE, ""
    return found.end(), _decode_numeral(numeral, found[0])


def _is_cut(numeral: Numeral, text: str, at: int) -> bool:
    """Whether a text ends within a unit that begins at a place, or right before it."""
    before, most = numeral.before, len(numeral.before) + (numeral.digits or 10)
    rest = text[at : at + most]
    return len(rest) < most and (before.startswith(rest) or (rest.startswith(before) and set(rest[len(before) :]) <= _HEX_DIGITS))


def _may_go_on(numeral: Numeral, written: str) -> bool:
    """Whether a second half may follow that belongs to the same character."""
    if numeral.kind == "utf-16":
        return written[-4:-2].lower() in ("d8", "d9", "da", "db")
    return numeral.kind == "utf-8" and "\ufffd" in _decode_numeral(numeral, written)


def _compile_numeral(numeral: Numeral) -> re.Pattern[str]:
    before, after = re.escape(numeral.before), re.escape(numeral.after)
    if numeral.kind == "utf-16":
        high, low = "[dD][89abAB]", "[dD][c-fC-F]"
        pair = f"{before}{high}[{_HEX}]{{2}}{before}{low}[{_HEX}]{{2}}"
        return re.compile(f"{pair}|{before}[{_HEX}]{{4}}")
    if numeral.kind == "utf-8":
        return re.compile(f"{before}[0-7][{_HEX}]|{before}[89a-fA-F][{_HEX}](?:{before}[89abAB][{_HEX}]){{0,3}}")
    digits = f"[{_HEX}]{{{numeral.digits or '1,6'}}}"
    return re.compile(before + (r"\d{1,7}" if numeral.kind == "decimal" else digits) + after)


def _decode_numeral(numeral: Numeral, written: str) -> str:
    digits = written.split(numeral.before)[1:]
    if numeral.kind == "utf-16":
        return b"".join(int(unit, 16).to_bytes(2, "big") for unit in digits).decode("utf-16-be", "surrogatepass")
    if numeral.kind == "utf-8":
        return bytes(int(unit, 16) for unit in digits).decode("utf-8", "replace")
    code = int(digits[0].removesuffix(numeral.after), 10 if numeral.kind == "decimal" else 16)
    return chr(code) if code < 0x110000 else "\ufffd"


@lru_cache(maxsize=256)
def get_units(codec: Text) -> Units:
    """Return the reader of a notation's escapes."""
    return Units(codec)
