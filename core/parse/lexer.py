"""Reading JSON that is passed on as it was written: all there is to find is where it ends, where it is none, and what stands in
its strings."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Set
from typing import Final

from ..plan.constants import find_end, skip_blank
from ..plan.ends import Marks
from ..recover.repair import CLOSERS, COMMENT, QUOTES, ends_string
from .guide import DOUBT, GOING, HOLD, ODD, Guide

_OUTSIDE: Final = re.compile(r'"|[{\[]+|[}\]]+|[^\s\w,:.+-]')
_MENDED: Final = re.compile(r'"|[{\[]+|[}\]]+|,\s*(?:[}\]]|\Z)|(?<![\w.])[^\W\d]\w*|[^\s\w,:.+-]')
_TOKEN: Final = re.compile(
    r"""\s*(?:
    (["{}\[\]:] | ,(?=\s*[^\s,}\]]))
    | ([\w.+-]+)(?![ \t]*[\#/(~])(?=\s*[^\s\w"':;=%+.-])
    | ([\w.+-]+\s*\Z | ,\s*\Z)
    | (\S)
    )?""",
    re.VERBOSE,
)
"""A sign; a number or a word behind which no more of it comes; what may be either; and any other sign."""
_LISTS: Final = re.compile(r"\[+|\]+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_GROUPED: Final = re.compile(r",(?:(\d)|\Z)")
"""A comma within a number, as it is one if no key is behind it."""
_NEAR: Final = 64  # so far around the innermost bracket is one that another one closes
_LONGEST: Final = 64  # characters of a number or a word whose end is waited for
_BRACKETS: Final = frozenset("{}[]")
_SPREADING: Final = frozenset("{}[],")
_COMMENT_BEGUN: Final = re.compile(r"(?:/(?:/[^\n]{0,1024}|\*(?:[^*]|\*(?!/)){0,1024})?|#(?:[ \t][^\n]{0,1024})?)\Z")
_WORDS: Final = frozenset(("true", "false", "null"))
JSON_SIGNS: Final = re.compile(r'["\\]')
"""What matters inside a string."""

_JSON_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ESCAPE_BEGUN: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_ALL_SIGNS: Final = re.compile(r'["\\\x00-\x1f]')
_OF_STRINGS: Final = re.compile(r"\\.?|[\"']|\n", re.DOTALL)
_HALF: Final = r"(?:[tfn][a-z]{0,4})?\Z"
_OF_VALUES: Final = rf'["\[{{\d-]|(?:true|false|null)\b|{_HALF}'
_KEY_SIGNS: Final = re.compile(rf"{_ALL_SIGNS.pattern}|:(?=\s{{0,16}}(?:{_OF_VALUES}))")
_VALUE_SIGNS: Final = re.compile(rf'{_ALL_SIGNS.pattern}|,(?=\s{{0,16}}(?:"|\Z))|[}}\]]{{1,16}}')
"""The same, and signs before which the quote may be missing that ends a string: a colon within a key, a comma at its end, and
brackets before a mark that ends calls."""
_WORD_BEGUN: Final = re.compile(rf"\s*{_HALF}")
_CLOSING: Final = re.compile(r"[}\]\s]{0,16}")
_OTHER_SIGNS: Final = {end: re.compile(rf"[{end}\\]") for end in QUOTES.values() if end != '"'}

ANY, VALUE, ITEM, KEY, ENTRY, COLON, COMMA = range(7)
"""What may come next: a value, an item or the end of its list, a key or that of its object, a sign; anything behind what is odd."""

_NEXT: Final = {
    (VALUE, '"'): COMMA,
    (VALUE, "["): ITEM,
    (VALUE, "{"): ENTRY,
    (ITEM, '"'): COMMA,
    (ITEM, "["): ITEM,
    (ITEM, "{"): ENTRY,
    (ITEM, "]"): COMMA,
    (KEY, '"'): COLON,
    (ENTRY, '"'): COLON,
    (ENTRY, "}"): COMMA,
    (COLON, ":"): VALUE,
    (COMMA, ","): VALUE,
    (COMMA, "]"): COMMA,
    (COMMA, "}"): COMMA,
}
"""What may come next behind a sign (RFC 8259, sections 2 to 5)."""

OUT: Final = 0
STRING: Final = 1
ESCAPE: Final = 2


class JsonLexer:
    """Finds the end of one JSON value that begins with a bracket or a quote, however it is split.

    One that ``mends`` stops at all that is to be made valid: the first sign, word or number that JSON does not have there, and from
    then on other words than JSON's and commas too many; a raw line break in a string. A ``loose`` one stops at quotes that seem to
    stand within a string, too.
    """

    def __init__(self, mends: bool = False, loose: bool = False, ends: Marks | None = None, guide: Guide | None = None) -> None:
        self.state = OUT
        self.guide = guide
        self.doubted = False  # whether it is not what the schema wants
        self.given: Set[str] = guide.given if guide else frozenset()  # keys of the outermost object
        self._ends = ends  # the marks that end calls
        self.mends = mends
        self.loose = loose
        self.place = 0
        self.beside: Beside | None = None  # another reading, if a quote that seems to stand within a string was taken for its end
        self._quote = '"'
        self._before = ""  # the last visible sign of the pieces that were read
        self._key = False  # whether the string that is open is a key
        self._inner = False  # whether a quote stood within it
        self._open: list[str] = []  # the brackets that are open
        self._outside = _MENDED if mends else _OUTSIDE
        self._next = VALUE if mends else ANY
        self._closed = False  # whether the last sign ended a value

    @property
    def broken(self) -> bool:
        """Whether a sign has come that JSON does not have where it stands."""
        return self._next == ANY

    @property
    def plain(self) -> bool:
        """Whether the next characters stand inside a string."""
        return self.state == STRING

    @property
    def signs(self) -> re.Pattern[str]:
        """What matters inside the string that is open."""
        if self.mends and not self.broken:
            return _KEY_SIGNS if self._key else _VALUE_SIGNS
        return _OTHER_SIGNS.get(self._quote) or (_ALL_SIGNS if self.mends else JSON_SIGNS)

    def scan(self, text: str, at: int, final: bool = False) -> int:
        """Return the place behind the value, read on from a place; or GOING, ODD, HOLD, DOUBT. A ``final`` text is the last."""
        size = len(text)
        if self.ended:
            return at
        while at < size:
            if self.state == ESCAPE:
                at += 1
                self.state = STRING
                continue
            if self.state == OUT and self._next != ANY:
                at = self._scan_token(text, at, final)
                if at < 0 or (self._closed and not self._open):
                    return at
                continue
            found = (self.signs if self.state == STRING else self._outside).search(text, at)
            sign = found[0] if found else ""
            bracket = found is not None and self.state == OUT and sign[0] in _BRACKETS
            if (bracket or (sign == '"' and not self.loose)) and found:
                if bracket:
                    at = found.start() + self._turn_all(sign)
                else:
                    self.state = OUT if self.state == STRING else STRING
                    self._closed = self.state == OUT
                    at = found.end()
                if self._closed and not self._open:
                    return at
                continue
            if found is None:
                self._before = self._find_before(text, size)
                return GOING
            if self.state == OUT and sign not in '"{}[]':
                self.place = found.start()
                if sign[0] not in ',"' and found.end() == size and sign[0].isalpha():
                    return HOLD
                if sign in _WORDS:
                    at = found.end()
                    continue
                begun = sign in "/#" and _COMMENT_BEGUN.match(text, self.place) is not None
                return HOLD if (sign[0] == "," and sign[-1] not in "}]") or begun else ODD
            if self.state == STRING and sign < " ":
                self.place = found.start()
                return ODD
            if self.state == STRING and sign[0] in ",:}]":
                self.place, at = found.start(), found.end()
                doubt = self._doubt(text, sign[0], at, final)
                if doubt:
                    return doubt
                continue
            if self.mends and sign == "\\" and self._quote == '"' and _JSON_ESCAPE.match(text, found.start()) is None:
                self.place = found.start()
                return HOLD if _ESCAPE_BEGUN.match(text, self.place) else ODD
            if self.loose and sign == '"' and self._open:
                odd = self._look_at_quote(text, found.end(), final)
                if odd:
                    self.place = found.start()
                    return odd
            at = found.end()
            if self._take(sign):
                return at
        self._before = self._find_before(text, size)
        return GOING

    def _doubt(self, text: str, sign: str, at: int, final: bool) -> int:
        """Whether a string may have ended before a sign in it: ODD if so, HOLD where what comes next decides, else 0."""
        if sign in ",:":
            return HOLD if _WORD_BEGUN.match(text, at) else ODD
        if self._ends is None:
            return 0
        at = find_end(_CLOSING, text, at)
        if self._ends.pattern.match(text, at):
            return ODD
        waits = not final and len(text) - at < self._ends.longest
        return HOLD if waits and self._ends.may_begin(text[at:]) else 0

    def _scan_token(self, text: str, at: int, final: bool) -> int:
        """Read a sign, a word or a number outside strings as JSON has them; returns the place behind it, ODD or HOLD."""
        if self.guide is None and text[at] in "[]" and (end := self._turn_lists(text, at)) > at:
            return end
        found = _TOKEN.match(text, at)
        if found is None or found.lastindex is None:
            return len(text)
        self.place = found.start(found.lastindex)
        sign = found[found.lastindex]
        if found.lastindex == 1:
            follows = _NEXT.get((self._next, sign), ANY) if sign not in "}]" or self.may_close(sign) else ANY
        elif found.lastindex == 2:
            grouped = _GROUPED.match(text, found.end()) if self._open[-1:] == ["{"] else None
            if grouped:
                return ODD if grouped[1] else HOLD
            follows = COMMA if self._next in (VALUE, ITEM) and (sign in _WORDS or _NUMBER.fullmatch(sign)) else ANY
        else:
            begun = sign in "/#" and _COMMENT_BEGUN.match(text, self.place) is not None
            waits = found.lastindex == 3 and len(sign) < _LONGEST and (sign[0] != "," or self._next == COMMA)
            return HOLD if begun or waits else ODD
        if follows == ANY:
            return ODD
        if self.guide and (sign in _SPREADING or self._next in (VALUE, ITEM)):
            answer = self.guide.step(sign, self._open, text, found.end(), final)
            if answer:
                if answer == DOUBT:  # then all is held, up to the end
                    self.doubted, self.guide = True, None
                return answer
        if sign == '"':
            self._key, self._inner, self.state, self._closed = self._next in (KEY, ENTRY), False, STRING, False
        elif sign in _BRACKETS:
            self._turn_all(sign)
        self._next = KEY if sign == "," and self._open[-1] == "{" else follows
        return found.end()

    def _turn_lists(self, text: str, at: int) -> int:
        """Open the lists that begin at a place, or close those that end there; returns the place behind their brackets."""
        end = find_end(_LISTS, text, at)
        if text[at] == "[" and self._next in (VALUE, ITEM):
            self._open += text[at:end]
            self._next, self._closed = ITEM, False
            return end
        while at < end and self._next in (ITEM, COMMA) and text[at] == "]" and self.may_close("]"):
            self._open.pop()
            at, self._next, self._closed = at + 1, COMMA, True
        return at

    def _look_at_quote(self, text: str, at: int, final: bool) -> int:
        """Whether a quote before a place seems to stand within a string: ODD if so, HOLD where what comes next decides, else 0."""
        if self.state == OUT:
            before = self._find_before(text, at - 1)
            self._key, self._inner = self._open[-1] == "{" and before != ":", False
            return 0 if before in "[{(,:" else ODD  # a comma is missing before it
        ends = ends_string(text, at, self._open, self._key, self._inner)
        return 0 if ends or (ends is None and final) else HOLD if ends is None else ODD

    def _find_before(self, text: str, at: int) -> str:
        """Return the last visible sign before a place."""
        while at > 0 and text[at - 1].isspace():
            at -= 1
        return text[at - 1] if at > 0 else self._before

    def skip(self, text: str) -> int:
        """Go on behind the odd sign at the place; returns the place behind it, or the end of the value as :meth:`scan` does.

        Another quote where a value may begin opens a string, a parenthesis is a bracket like the others, a comment is passed.
        """
        sign = text[self.place]
        self.place += 1
        if self.state == STRING and not self.broken and sign in ",:}]":
            return self.place  # the string may have ended here, or not
        self._next = ANY
        amid = sign not in "/#" or self.state != OUT or text.startswith(":", self.place - 2)  # as in an address
        comment = None if amid else COMMENT.match(text, self.place - 1)
        if comment:
            self.place = comment.end()
        elif self.state == OUT and sign == '"':
            self.state = STRING
        elif self.state == STRING or not (sign in QUOTES or sign in "()" or sign in _BRACKETS):
            self._inner |= sign == '"'
            word = re.compile(r"\w*").match(text, self.place) if sign.isalpha() else None
            self.place = word.end() if word else self.place
        elif sign in QUOTES:
            before = self._find_before(text, self.place - 1)
            if not self._open or before in "[{(,:":
                self.state, self._quote = STRING, QUOTES[sign]
        else:
            self._turn_all(sign)
        return self.place

    def leave(self, text: str, at: int) -> None:
        """Remember the last visible sign before a place, as what stands there will not be seen again."""
        self._before = self._find_before(text, at)

    def resume(self) -> None:
        """Go on behind a bracket that seemed to end the value."""
        self._open, self._closed, self._next, self.beside = ["{"], False, ANY, None

    def may_close(self, sign: str) -> bool:
        """Whether a sign is the bracket that closes the innermost one that is open."""
        return bool(self._open) and CLOSERS.get(self._open[-1]) == sign

    def fork(self, text: str, at: int) -> int:
        """Take the quote at the place for the end of its string, and in a reading beside this one for a part of it, in which
        places count from ``at``; returns the place behind the quote."""
        other = JsonLexer(mends=True, loose=True)
        self._next = other._next = ANY
        other.state, other.place, other._open, other._key = STRING, self.place, [*self._open], self._key
        self.place = other.skip(text)
        self.beside = Beside(other, self.place - at)
        self.loose = False
        self._take('"')
        return self.place

    @property
    def ended(self) -> bool:
        """Whether the value has ended, with whatever bracket or quote."""
        return self.state == OUT and not self._open and self._closed

    def _take(self, sign: str) -> bool:
        """Take a sign that matters in a string, or the quote that opens one; returns whether it ends the value."""
        if self.state == STRING:
            self._closed = sign == self._quote
            self.state = OUT if self._closed else ESCAPE
            self._quote = '"' if self._closed else self._quote
            return self._closed and not self._open
        self.state = STRING
        return False

    def _turn_all(self, brackets: str) -> int:
        """Open or close several brackets of a kind, as many as the value has; returns how many those are. A bracket that closes
        nothing is one too many, and one that closes what is around the innermost closes that, too."""
        self._closed = brackets[0] in "}])"
        if not self._closed:
            self._open += brackets
            return len(brackets)
        for size, bracket in enumerate(brackets, 1):
            if self.may_close(bracket) or not self.mends:
                del self._open[-1:]
            else:
                around = self._open[:-_NEAR:-1]
                depth = next((place for place, opening in enumerate(around, 1) if CLOSERS[opening] == bracket), 0)
                del self._open[len(self._open) - depth :]
            if not self._open:
                return size
        return len(brackets)


class Beside:
    """Reads on in a value with quotes within strings, beside the reading in which each quote ends its string."""

    def __init__(self, lexer: JsonLexer, seen: int) -> None:
        self.end = GOING
        self.other = GOING  # the end in the reading beside, counted as this one
        self._lexer = lexer
        self._seen = seen

    def look(self, text: str, at: int, final: bool) -> int:
        """Return where the value ends, counted from a place, or GOING."""
        while self.end == GOING:
            found = self._lexer.scan(text, at + self._seen, final)
            if found == ODD or (found == HOLD and final):
                self._seen = self._lexer.skip(text) - at
                self.end = self._seen if self._lexer.ended else GOING
            elif found < 0:
                self._seen = (self._lexer.place if found == HOLD else len(text)) - at
                break
            else:
                self.end = found - at
        return self.end


class Strings:
    """The strings in a list or an object that has not ended, or in a value in quotes, as far as it was looked at: each character
    once.

    Places are counted from the beginning of the output, so that what stands before the value may leave the buffer.
    """

    def __init__(self) -> None:
        self._begin = -1  # of the value
        self._seen = 0
        self._quote = '"'
        self._quotes: list[int] = []
        self._broken = True  # whether it is no JSON, for a line ends within a string

    def holds(self, buffer: str, start: int, gone: int, at: int) -> bool:
        """Whether a place stands within a string of the value behind a start; ``gone`` characters have left the buffer."""
        if self._begin != start + gone:
            begin = skip_blank(buffer, start)
            self._begin, self._seen, self._quotes = start + gone, begin + gone, []
            sign = buffer[begin : begin + 1]
            self._quote, self._broken = sign if sign in ("'", '"') else '"', sign not in ("{", "[", "'", '"')
        while not self._broken and self._seen < at + gone:
            found = _OF_STRINGS.search(buffer, self._seen - gone, at)
            if found is None:
                self._seen = at + gone
            elif found[0] == "\\":  # what it escapes is not there yet
                break
            else:
                self._seen = found.end() + gone
                self._broken = found[0] == "\n" and len(self._quotes) % 2 == 1
                self._quotes += [found.start() + gone] if found[0] == self._quote else []
        return not self._broken and bisect_left(self._quotes, at + gone) % 2 == 1
