"""Values that are almost JSON, made valid: what people write in Python or by hand.

Read are strings in any quotes, also in three of them or with raw line breaks and with escapes that JSON does not have, the
words of Python, tuples and sets as lists, keys and texts without quotes, commas too many or missing, numbers with a plus,
zeros or a dot at one end, and comments, which are dropped; where a value is missing, null is written. What is valid stays as
it is written, white space included. A quote within a string that is not escaped is told from the one that ends it by what
follows; one quote or bracket may be missing, or stand twice, or a bracket be another one (:mod:`.nearest`). Nothing else is
guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from json.encoder import encode_basestring

from partial_json_parser.core.complete import fix

from .nearest import Wants, is_wanted, list_nearest

_DEPTH = 128  # brackets within each other

_OF_JSON = r"""[^\n{\[]{0,256}(?:[}\]]\S{0,64}[ \t]*\n|,\s?"[^"\n]{1,64}"\s?:)"""
COMMENT = re.compile(rf"(?://|#[ \t])(?!{_OF_JSON})[^\n]{{0,1024}}\n|/\*(?:[^*]|\*(?!/)){{0,1024}}\*/")
"""One that takes in the rest of the value is none, nor one that has no end near by, as each number looks for it."""
_BLANK = re.compile(rf"(?:\s+|\\[nrt]|{COMMENT.pattern})*")
"""Also white space that is escaped, though it stands in no string."""
_WITH_ZEROS = re.compile(r"0\d+\Z")
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_LOOSE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"[^\W\d]\w*")
LITERALS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
"""What JSON and Python write for true, false and nothing, and what that is in JSON."""
_COMMENTED = re.compile(rf"(?:{_LOOSE.pattern}|{'|'.join(LITERALS)})[ \t]+(?:{COMMENT.pattern})", re.ASCII)
"""A number or another word of JSON with a comment behind it."""
QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "‘": "’", "«": "»"}
"""What ends a string, by what opens it: also the quotes of typeset text, and those of JavaScript for texts of several lines."""
COMMAS, COLONS = (",", "，"), (":", "：", "=>", "=")
"""Those of Chinese and Japanese text, and those of Ruby and Java, too."""
_STRING = {sign: re.compile(rf"[^{end}\\]*(?:\\.[^{end}\\]*)*{end}", re.DOTALL) for sign, end in QUOTES.items()}
_INNER = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BEHIND = re.compile(r"\s*(.?)")
_NEXT = re.compile(r"""\s*,\s*(?:["'}\]{\[/\d-]|[^\W\d]\w*\s*:|(?:true|false|null|True|False|None)\b)|\s*"[\w.-]{1,64}"\s*:""")
_NEXT_KEY = re.compile(r"""\s*,?\s*"[^"\n}]{1,64}"\s*:|\s*,\s*(?:'[^'\n]{1,64}'\s*:|[^\W\d]\w*\s*:|[}/])""")
_NEXT_KEY_BEGUN = re.compile(r"""\s*(?:,\s*(?:[^\W\d]\w{0,64}\s*|'[^'\n]{0,64}(?:'\s*)?)?|,?\s*"[^"\n}]{0,64}(?:"\s*)?)\Z""")
_NEXT_BEGUN = re.compile(r"""\s*(?:,\s*(?:[^\W\d]\w{0,64}\s*)?|"[\w.-]{0,64}(?:"\s*)?)\Z""")
_NEXT_MEMBER = re.compile(r"""([^"\n,]{1,64}),\s*"([^"\n]{1,64})"\s*:""")
_HALVES = re.compile(r"[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_IN_STRING = re.compile(r"""(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\x[0-9a-fA-F]{2}|\\.|["\x00-\x1f]""", re.DOTALL)
"""What may have to be written otherwise in a string of JSON; (group 1) escapes that JSON has."""
_KNOWN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_BARE = re.compile(r"""[-+$~≈±]?\w[^\s,:{}\[\]"]*(?:[ :][^\s,:{}\[\]"]+)*(?=\s*[,\]}])""")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s*[,}])", re.ASCII)
CLOSERS = {"{": "}", "[": "]", "(": ")"}


class _BrokenError(ValueError):
    """The text is no value."""


def repair(
    text: str, begin: int = 0, wants: Wants = lambda _: True, keys: Set[str] = frozenset()
) -> str | None:
    """Return a text as valid JSON; None where it is no value of any kind.

    What stands before ``begin`` stays as it is where a sign is missing or stands twice; ``wants`` tells whether a value is one
    that is wanted, and ``keys`` are those of an object that are known, before which a string ends whose quote stands within it.
    Linear in the length of the text, but for bounded tries of :mod:`.nearest`.
    """

    def find_nearest(sure: bool) -> str | None:
        first = None
        for near in list_nearest(text, begin, wants, sure):
            if not text[near.end :].strip():
                first = first or near.written
                if near.fits:
                    return near.written
        return first

    ways: list[Callable[[], str | None]] = [lambda: _repair(text, loose=False)]
    if '"' in text:
        ways += [lambda: find_nearest(sure=True), lambda: _repair(text, True, keys), lambda: find_nearest(sure=False)]
    found = ""
    for way in ways:
        mended = way() or ""
        if mended and is_wanted(mended, wants):
            return mended
        found = found or mended
    return found or None


def _repair(text: str, loose: bool, keys: Set[str] = frozenset()) -> str | None:
    try:
        reader = _Reader(text, 0, loose, keys)
        reader.read(_DEPTH)
        reader.skip()
    except (_BrokenError, RecursionError):
        return None
    return "".join(reader.out) if reader.at == len(text) else None


def complete(text: str) -> str:
    """Return a beginning of JSON with the brackets that close what is open in it; the text itself where more is missing."""
    bare = text.rstrip()
    with suppress(ValueError, RecursionError):  # nothing completes what is no beginning of JSON
        head, rest = fix(bare) if bare else ("", "")
        if head == bare and set(rest) <= {"]", "}"}:
            return bare + rest
    return text


def write_object(members: Mapping[str, str]) -> str:
    """Return the JSON of an object, given that of its members."""
    return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {text}" for key, text in members.items()) + "}"


def read_literal(text: str, at: int) -> tuple[int, str] | None:
    """Return the place behind a value that begins at a place, and its JSON; None where none begins there or it does not end."""
    try:
        reader = _Reader(text, at)
        reader.read(_DEPTH)
    except (_BrokenError, RecursionError):
        return None
    return reader.at, "".join(reader.out)


def ends_string(text: str, at: int, brackets: Sequence[str], key: bool, inner: bool) -> bool | None:
    """Whether a double quote before a place ends its string; None where what comes behind the text decides.

    ``brackets`` are those that are open around the string, ``key`` tells whether it is one, ``inner`` whether a quote stood within
    it. In JSON every quote that is not escaped ends its string.
    """
    found = _BEHIND.match(text, at)
    sign = found[1] if found else ""
    if not sign:
        return None
    if sign == '"' or (sign == "," and inner):
        following, begun = (_NEXT_KEY, _NEXT_KEY_BEGUN) if brackets[-1:] == ["{"] else (_NEXT, _NEXT_BEGUN)
        return True if following.match(text, at) else None if begun.match(text, at) else False
    if sign in "])":
        return ("[" if sign == "]" else "(") in brackets
    return sign in ",}/" or (sign == ":" and key)


def unquote(text: str) -> str:
    """Return what the inside of a string stands for, in Python or JSON; escapes that neither has stand for themselves."""
    if "\\" not in text:
        return text
    found = _ESCAPE.sub(lambda escape: _read_escape(escape[1]), text)
    # A character may be written as two numbers, of which each is half of it.
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALVES.search(found) else found


def _read_escape(written: str) -> str:
    if len(written) > 1:
        return chr(int(written[1:], 16))
    return _KNOWN.get(written, "\\" + written)


class _Reader:
    """Reads one value from a place, writing it as JSON; a ``loose`` one takes quotes for a part of a string that do not end it, up
    to one of some ``keys`` of the outermost object."""

    def __init__(self, text: str, at: int = 0, loose: bool = False, keys: Set[str] = frozenset()) -> None:
        self.text = text
        self.at = at
        self.out: list[str] = []
        self._loose, self._keys = loose, keys
        self._open: list[str] = []

    def skip(self) -> None:
        """Pass white space on."""
        found = _BLANK.match(self.text, self.at)
        if found and found.end() > self.at:
            self.out.append(re.sub(r"[^ \t\r\n]", " ", COMMENT.sub("", found[0])))
            self.at = found.end()

    def read(self, depth: int) -> None:
        """Read a value of any kind."""
        self.skip()
        sign = self.text[self.at : self.at + 1]
        if sign in CLOSERS and depth:
            self._read_container(sign, depth)
        elif sign in QUOTES:
            self._read_string(sign)
        else:
            self._read_scalar()

    def _read_string(self, sign: str, key: bool = False) -> None:
        begun = self.text.startswith(3 * sign, self.at)
        lines = self.text[self.at + 3 : self.text.find(3 * sign, self.at + 3)] if begun else ""
        if "\n" in lines and self.text.startswith(3 * sign, self.at + 3 + len(lines)):  # as Python has texts of several lines
            self.out.append(f'"{_IN_STRING.sub(_mend, lines)}"')
            self.at += len(lines) + 6
            return
        found = _STRING[sign].match(self.text, self.at + 1)
        if found is None:
            raise _BrokenError
        end = self._find_end(found.end(), key) if sign == '"' and self._loose and self._open else found.end()
        written = self.text[self.at : end]
        self.at = end
        inside = written[1:] if end > found.end() and not written.endswith(sign) else written[1:-1]
        self.out.append(f'"{_IN_STRING.sub(_mend, inside)}"')

    def _find_end(self, end: int, key: bool) -> int:
        """Return where a string ends of which a quote stands before a place."""
        inner = False
        while ends_string(self.text, end, self._open, key, inner) is False:
            member = _NEXT_MEMBER.match(self.text, end) if self._open == ["{"] else None
            if member and member[2] in self._keys:
                return end + len(member[1])
            found, inner = _INNER.match(self.text, end), True
            if found is None:
                raise _BrokenError
            end = found.end()
        return end

    def _read_scalar(self) -> None:
        number = _LOOSE.match(self.text, self.at)
        found = number or _WORD.match(self.text, self.at)
        if found is None or not (number or found[0] in LITERALS):
            raise _BrokenError
        plain = not number or _PLAIN.match(found[0])
        if self._open and _WITH_ZEROS.match(found[0]):
            self.out.append(encode_basestring(found[0]))  # as telephone numbers are; a schema that wants a number makes it one
        else:
            self.out.append(LITERALS.get(found[0], found[0]) if plain else _write_number(found[0]))
        self.at = found.end()

    def _read_container(self, sign: str, depth: int) -> None:
        """Read a list or an object; a brace whose first item has no colon is a set, or stands around what no set can hold."""
        self.at += 1
        self._open.append(sign)
        place = len(self.out)
        self.out.append("")
        keyed = sign == "{"
        items = 0
        while True:
            self.skip()
            if self.text.startswith(CLOSERS[sign], self.at):
                break
            if items and not self._pass_comma(sign):
                break
            if keyed and items == 0:
                keyed = self._is_entry()
            if keyed:
                self._read_key()
            if not (keyed or sign == "[") or not self._read_unquoted():
                self.read(depth - 1)
            items += 1
        self.at += 1
        self._open.pop()
        if sign == "{" and not keyed and items == 1 and self.out[place + 1][:1] in ("{", "["):
            return
        self.out[place] = "{" if keyed else "["
        self.out.append("}" if keyed else "]")

    def _read_unquoted(self) -> bool:
        """Read a text without quotes up to what ends an item, or nothing where a value has to stand; returns whether that is so."""
        if self.text.startswith((",", CLOSERS[self._open[-1]]), self.at):
            self.out.append("null")
            return True
        found = _GROUPED.match(self.text, self.at) if self._open[-1] == "{" else None  # in a list its commas part numbers
        if found is None and not _COMMENTED.match(self.text, self.at):
            found = _BARE.match(self.text, self.at)
            if found and all(word in LITERALS or _LOOSE.fullmatch(word) for word in found[0].split()):
                found = None
        if found is None:
            return False
        self.out.append(encode_basestring(found[0]))
        self.at = found.end()
        return True

    def _pass_comma(self, sign: str) -> bool:
        """Pass the comma before the next item on, of several one; one before the closer is left out, and False says so. One that is
        missing is put there behind white space."""
        if not self.text.startswith((*COMMAS, *COLONS), self.at) and self.text[self.at - 1].isspace():
            self.out.append(",")
            return True
        if not self.text.startswith(COMMAS, self.at):
            raise _BrokenError
        comma = end = self.at
        while self.text.startswith(COMMAS, end):
            blank = _BLANK.match(self.text, end + 1)
            comma, end = end, blank.end() if blank else end + 1
        if self.text.startswith(CLOSERS[sign], end):
            self.at = end
            return False
        self.out.append(",")
        self.at = comma + 1
        self.skip()
        return True

    def _is_entry(self) -> bool:
        """Whether a key stands at the place, and not an item of a set, or another object."""
        word = _WORD.match(self.text, self.at)
        if word is not None:
            return bool(re.match(r'"?\s*[:：=]', self.text[word.end() : word.end() + 64]))
        if self.text[self.at : self.at + 1] in CLOSERS:
            return False
        ahead = _Reader(self.text, self.at)
        ahead.read(0)
        ahead.skip()
        return not self.text.startswith((*COMMAS, "}"), ahead.at)

    def _read_key(self) -> None:
        word = _WORD.match(self.text, self.at) or _LOOSE.match(self.text, self.at)
        if word is not None:
            self.out.append(encode_basestring(word[0]))
            self.at = word.end() + self.text.startswith('"', word.end())
        else:
            sign = self.text[self.at : self.at + 1]
            if sign not in QUOTES:
                raise _BrokenError
            self._read_string(sign, key=True)
        self.skip()
        colon = next((colon for colon in COLONS if self.text.startswith(colon, self.at)), None)
        if colon is None and not self.text[self.at - 1].isspace():
            raise _BrokenError
        self.out.append(":")
        self.at += len(colon or "")
        self.skip()


def _mend(found: re.Match[str]) -> str:
    """Return what JSON has for a sign or an escape in a string; what is valid stays as it was written."""
    written = found[0]
    if found[1] or len(written) == 1:
        return found[1] or encode_basestring(written)[1:-1]
    if len(written) > 2:
        return rf"\u00{written[2:]}"
    return written[1:] if written[1] == "'" else rf"\\{encode_basestring(written[1:])[1:-1]}"


def _write_number(written: str) -> str:
    """Return a number as JSON writes it, every digit kept."""
    sign, digits = ("-" if written[0] == "-" else ""), written.lstrip("+-")
    whole, mark, power = re.sub("[eE]", "e", digits).partition("e")
    before, dot, after = whole.partition(".")
    return f"{sign}{before.lstrip('0') or '0'}{f'.{after or 0}' if dot else ''}{mark}{power}"
