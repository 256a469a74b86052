"""Calls told by their fields: the name of a tool, then names of its parameters with values, whatever stands between them.

What stands between may be signs, the words of the format itself and tags that close; nothing else. Guards: each parameter comes
once, the tool's schema accepts the values, and none that it requires is missing, but in the only call of a tool beside one that
has all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from unicodedata import category

from ..format.cut import STOPS
from ..schema import Schema, ToolSet
from .around_fields import ATTRIBUTES, CLOSING, LONGEST, WORD, AroundFields
from .notation import SIGNS, Begun, Notation, accept, begins_word, compile_names, find_quote, fit_bare, fit_text, put_name_first
from .repair import CLOSERS, read_literal, unquote, write_object
from .shape import FoundCall

_QUOTING = re.compile(r"(<[^\s<>/]{1,24}>)(?=[^<>]{0,256}\1)")
_OPENING = re.compile(r"\s*<[^\s<>/][^<>]{0,60}>")
_VALUED = re.compile(r"\s+[\w:-]{1,32}=(?=[\"'])")
_OPENED, _PARTED = re.compile(r"[(,]\s*(?=[\"'\[{\d-])"), re.compile(r"\s*(?:,|(?=\)))")
_CLOSED = re.compile(r"(?:[\"'`]|[*_]{1,3})(?=\s?[:=])")
"""What ends a key in quotes, or one that is emphasised."""
_ENDS = re.compile(r"[^\w]")
_CLOSES = ("Sm", "Pe", "Pf")  # of Unicode: arrows, and brackets and quotes that close
_BARRED = frozenset("=:>|,;)]}<\"'`")
_NAMED = r"(?:=[\"']?[\w.-]*)"
_HALF_WORDS = r"(?:\w{1,32}[:/])?[\w.-]*|(?:[a-z]{1,8} )?\w{1,32}\s?(?:=[\w .-]*)?"
_HALF_TAG = rf"</[^\s<>]*|\w{{1,32}}{_NAMED}|<[^\s<>\"'=/]{{0,60}}(?:{_NAMED}|\s+\w{{0,32}}{_NAMED}?|>\s*[\w.-]*)?"
_BEGUN = re.compile(f"{_HALF_WORDS}|{_HALF_TAG}")
_FOREIGN = re.compile(r"(?:\[[A-Z_]{2,40}\](?:[\w-]{1,64}(?=\[))?)*")
"""Fields that another format writes behind a name: marks, and words between them."""
_SUFFIX = re.compile(r"[:#@/]\d{1,4}(?![\w.])")
_ID_BEHIND = re.compile(r"[ \t]{0,4}(?:[^\w\s\"'=]{0,3} ?#?([^\W\d]\w{0,23})(?<=\d)|[^\w\s\"'=]{0,2}#(\d{1,6}))(?=[^\w.=:]|\Z)")
"""What a call is called behind the name of its tool: a word with a number at its end, or a number."""
_FIELD = re.compile(r"(?:(?<=[^\w\s])|(?<=\n)(?:\w{1,32} )?)\w{1,32}(?=[^\w\s])[^\w,/]*")
_HALF_COMMENT = re.compile(r"(?<=\s)(?:#|//|/)(?:[ \t][^\n]{0,160})?\Z")
_OPENS = tuple("\"'`[{(«“<|")
"""What may begin a value that goes on over several lines."""
_WORD_AT_END = 48  # so long is what may be the beginning of a word of the format, or of a name
_MOST = 64  # quotes that may end a text, and ends of one that stands in none
_INDENTED = 16  # blanks at most between a tag and its value
_FAR = 1 << 12  # characters of a value between two tags


def find_name(
    text: str, at: int, tools: ToolSet, notation: Notation, final: bool, begun: Begun | None = None, bare: bool = False
) -> bool | None:
    """Whether a tool of the request is named at a place, or a parameter, of a call that was ``begun`` another one, behind signs and
    words of the format; ``bare``, without a mark before it, a tool behind these very words. None where more may tell."""
    reader = _Reader(text, tools, notation, bare)
    if begun:
        reader.take_up(begun.name, begun.given)
    elif not bare:
        reader.take_up_all()
    end = reader.skip(at, limit=at + LONGEST)
    name = reader.find_tool(end) or reader.find_key(end)
    if name and begun and text.rfind("</", at, end) > text.rfind(">", at, end):
        return False if final else None  # a tag that closes has the name in it
    if name and (final or end + len(name) < len(text)):
        return True
    if final or end - at >= LONGEST or len(text) - end > LONGEST:
        return False
    opened = max(text.rfind("<", at, end), at)  # of a tag or a word, more may come
    if bare and text[end : end + 1].isalnum():
        tagged = text[opened] == "<" and _BEGUN.fullmatch(text, opened)
        return None if tagged or begins_word(text[end:], tools.tools, notation.words) else False
    if reader.may_be_key(end) or _HALF_COMMENT.search(text, at):
        return None
    return None if any(_BEGUN.fullmatch(text, start) for start in (end, opened)) else False


def read_fields(text: str, tools: ToolSet, notation: Notation, begun: Begun | None = None) -> list[FoundCall] | None:
    """Return the calls that a text is, None where any part of it is none; first what is left of one that was ``begun``.

    A mark must stand behind the text, for else its last value might go on. Costs a bounded number of looks at each character;
    raises nothing.
    """
    try:
        calls = _Reader(text, tools, notation).read_calls(begun)
        turned = None if calls or begun else put_name_first(text, frozenset(tools.tools))
        return _Reader(turned, tools, notation).read_calls(None) if turned else calls
    except (ValueError, RecursionError):
        return None


def may_be_fields(text: str, tools: ToolSet, notation: Notation) -> bool:
    """Whether a text may be the beginning of calls that are told by their fields: nothing else is in it but at its end."""
    reader = _Reader(text, tools, notation)
    try:
        return reader.read_calls(None) is not None or reader.stuck >= len(text) - _WORD_AT_END
    except (ValueError, RecursionError):
        return False


def tells_calls(text: str, tools: ToolSet, notation: Notation) -> bool:
    """Whether a word or signs of the format stand before the first tool in a text that is calls."""
    found = compile_names(frozenset(tools.tools)).search(text)
    head = text[: found.start()] if found else ""
    return not notation.own.isdisjoint(WORD.findall(head)) or not notation.signs.isdisjoint(SIGNS.findall(head))


class _Reader(AroundFields):
    """Reads the fields of one text."""

    def __init__(self, text: str, tools: ToolSet, notation: Notation, bare: bool = False) -> None:
        super().__init__(text, tools, notation, bare)
        self.stuck = 0  # the place of what is no part of a call
        self._lacking: list[str] = []  # the tools of calls in which something is missing that is required

    def read_calls(self, begun: Begun | None) -> list[FoundCall] | None:
        """Return all calls, None where something else is there. Raises where that takes too many steps, or a number is too long."""
        found: list[FoundCall] = []
        at = 0
        if begun:
            self.take_up(begun.name, begun.given)
            rest = self._read_pairs(0, {})
            if rest is None or (not rest[1] and rest[0] == len(self._text)):
                return None
            at = rest[0]
            found.append(FoundCall(begun.name, write_object(rest[1])))
        while True:
            self._id = ""
            at = self.skip(at)
            name = self.find_tool(at)
            if not name:
                self.stuck = at
                return found if at >= len(self._text) and self._has_whole(found) else None
            call_id = self._id or None
            numbered = _SUFFIX.match(self._text, at + len(name))
            behind = _FOREIGN.match(self._text, numbered.end() if numbered else at + len(name))
            end = behind.end() if behind else at
            ident = None if call_id else self._find_id_behind(name, end)
            read = self._read_arguments(name, ident.end() if ident else end)
            if read is None:
                return None
            at, arguments = read
            found.append(FoundCall(name, arguments, ident[1] or ident[2] if ident else call_id))

    def _find_id_behind(self, name: str, at: int) -> re.Match[str] | None:
        """Return the id of a call that stands behind the name of its tool, if calls of the format have one."""
        found = _ID_BEHIND.match(self._text, at) if self._notation.calls_have_ids else None
        return None if found and found[1] in self._tools.get_parameters(name).list_properties() else found

    def _read_arguments(self, name: str, at: int) -> tuple[int, str] | None:
        """Return the place behind the arguments of a tool, and these; None where they are not all there, or something else is."""
        self.take_up(name)
        read = self._read_pairs(*self._read_in_order(at))
        if read is None:
            return None
        arguments = write_object(read[1])
        whole = accept(arguments, self._schema) is not None
        self._lacking += [] if whole else [name]
        return (read[0], arguments) if whole or read[1] else None

    def _has_whole(self, found: list[FoundCall]) -> bool:
        """Whether a call has all that its tool requires, and no other tool is called twice of which something is missing."""
        named = [call.name for call in found]
        return len(self._lacking) < len(named) and all(named.count(name) == 1 for name in self._lacking)

    def _read_pairs(self, at: int, given: dict[str, str]) -> tuple[int, dict[str, str]] | None:
        """Return the place behind the arguments at a place, up to the next call or the end, and their JSON with those that were
        ``given``; None where something else is there."""
        if self._left & self._notation.own:
            return None  # what is a parameter, and what the format's own word?
        while True:
            at = self._skip_to_field(at)
            if not given and (field := _FIELD.match(self._text, at)) and self.find_key(field.end()):
                at = field.end()  # what the arguments are called
            key = self.find_key(at)
            if not key:
                self.stuck = at
                return (at, given) if at >= len(self._text) or self.find_tool(at) else None
            read = self._read_value(key, at + len(key))
            if read is None:
                self.stuck = len(self._text) if self._may_go_on(at + len(key)) else at
                return None
            at, given[key] = read

    def _may_go_on(self, at: int) -> bool:
        """Whether the value behind a key has not ended yet where the text does."""
        return self._text.find("\n", at) < 0 or self._text[at:].lstrip(" :=>\n")[:1] in _OPENS

    def _read_in_order(self, at: int) -> tuple[int, dict[str, str]]:
        """Return the place behind the values that stand without their keys at the beginning of arguments in parentheses, and their
        JSON: they are those of the first parameters that the tool declares, as programs have it."""
        found: dict[str, str] = {}
        if not self._text.startswith("(", at):
            return at, found
        opening = _OPENED.match(self._text, at)
        for key in self._schema.list_in_order():
            literal = read_literal(self._text, opening.end()) if opening else None
            behind = _PARTED.match(self._text, literal[0]) if literal else None
            if not (literal and behind and accept(literal[1], self._schema.get_property(key))):
                break
            found[key], at, opening = literal[1], behind.end(), _OPENED.match(self._text, behind.end() - 1)
        self._left.difference_update(found)
        return at, found

    def _read_value(self, key: str, at: int) -> tuple[int, str] | None:
        """Return the place behind the value of a parameter, and its JSON."""
        schema, first, before = self._schema.get_property(key), at, self._text[at - len(key) - 1 : at - len(key)]
        quote = find_quote(before)
        closed = None if quote else _CLOSED.match(self._text, at)
        at = closed.end() if closed else at + (quote != "" and self._text.startswith(quote, at))
        tagged = quote or before == "<"
        attributes = (ATTRIBUTES.match(self._text, at) or (quote and _VALUED.match(self._text, at))) if tagged else None
        if attributes and self._text.rfind("<", 0, at) > self._text.rfind(">", 0, at):
            at = attributes.end()  # the key stands in a tag, and so may its value
        closing = CLOSING.match(self._text, at)
        opening = _OPENING.match(self._text, closing.end()) if closing else None
        at = opening.end() if opening else at  # the key stands in a tag, and so does the value
        at = max((place for sign in self._notation.assigns if (place := self._pass_sign(sign, at))), default=at)
        self._left.discard(key)
        self._next.clear()
        if before == "-" and schema.accepts(True) and self._is_end(first):
            return first, "true"  # a flag alone says that something is so
        tried: list[int] = []  # places at which a word of the format stands that may be the value all the same
        while at < len(self._text) and at - first <= LONGEST and not (self.find_key(at) or self.find_tool(at)):
            end = self._pass_quoted_word(at) or self._pass_word(at, exact=True)
            if end > at and self._text[at:end] in self._notation.literals and (literal := self._find_value(at, schema)):
                return literal
            if end > at:
                tried.append(at)
            elif found := self._find_value(at, schema):
                return found
            elif find_quote(self._text[at]) or (tried and self._text[at] in ")]}"):
                break  # nothing in quotes is a value without them, nor is what stands behind the end of its object
            else:
                end = self._pass_one(at)
                if end == at:
                    break
            at = end
        return next((found for place in reversed(tried) if (found := self._find_value(place, schema))), None)

    def _find_value(self, at: int, schema: Schema) -> tuple[int, str] | None:
        """Return the place behind a value that begins at a place, and its JSON: the first behind which another field follows."""
        return next(self._list_values(at, schema), None)

    def _list_values(self, at: int, schema: Schema) -> Iterator[tuple[int, str]]:
        """List what may be the value at a place, with the place behind each, where another field follows, or nothing."""
        text, sign, quotes = self._text, self._text[at], self._notation.quotes
        if quote := next((quote for quote in quotes if text.startswith(quote, at)), ""):
            yield from self._list_quoted(at + len(quote), quotes[quote], self._notation.decode, schema)
        elif marked := _QUOTING.match(text, at):
            yield from self._list_quoted(marked.end(), marked[0], self._notation.decode, schema)
        elif closer := find_quote(sign):
            size = 3 if text.startswith(3 * closer, at) else 1
            at += size + (size == 3 and text.startswith("\n", at + 3))
            yield from self._list_quoted(at, size * closer, self._unquote, schema)
        elif sign in "[{(":
            literal = read_literal(text, at)
            braced = sign == "{" and "array" not in schema.get_types()  # then {5} is none
            whole = literal and literal[1][0] in "[{"[braced:] and self._is_end(literal[0])
            if literal and whole and accept(literal[1], schema):
                yield literal
        elif not sign.isspace() and sign not in _BARRED and (sign.isascii() or category(sign) not in _CLOSES):
            for end in filter(self._is_end, self._list_bare_ends(at, schema.get_types())):
                bare = text[at:end].rstrip()
                whole = bare.count('"') % 2 == 0
                written = fit_bare(self._notation.decode(bare), schema, self._notation.literals) if whole else None
                if written:
                    yield end, written

    def _unquote(self, text: str) -> str:
        """Return what a text in quotes stands for: with the format's own escapes, if it has any of them."""
        decoded = self._notation.decode(text)
        return decoded if decoded != text else unquote(text)

    def _list_bare_ends(self, at: int, types: tuple[str, ...]) -> list[int]:
        """List where a text without quotes may end: at a tag that closes if it stands behind one that opens, else in its line.

        A bracket that closes one in the text is its own, and so is what stands between both.
        """
        tagged = self._text[max(at - _INDENTED, 0) : at].rstrip().endswith(">")
        if tagged and (closing := CLOSING.search(self._text, at, at + _FAR)):
            return [closing.start()]
        line = self._text.find("\n", at)
        line = line if line >= 0 else len(self._text)
        ends, opened = [], ""
        for found in islice(_ENDS.finditer(self._text, at, line), _MOST):
            sign = found[0]
            if opened and sign == opened[-1]:
                opened = opened[:-1]
                continue
            within = sign in STOPS and "string" in (types or ("string",))  # then it is the last sign of the text
            ends += [found.end() if within else found.start()] if found.start() > at and not opened else []
            opened += CLOSERS.get(sign, "")
        return [*ends, line]

    def _list_quoted(self, at: int, quote: str, decode: Callable[[str], str], schema: Schema) -> Iterator[tuple[int, str]]:
        """List what may be the text that begins at a place and that a quote ends."""
        found = re.compile(rf"\\.|{re.escape(quote)}", re.DOTALL).finditer(self._text, at)
        for end in islice((match.start() for match in found if match[0] == quote), _MOST):
            behind = end + len(quote)
            written = fit_text(decode(self._text[at:end]), schema) if self._is_end(behind) else None
            if written:
                yield behind, written
            if self._find_parameter(self._skip_to_field(behind)):
                return  # what has come already comes again
