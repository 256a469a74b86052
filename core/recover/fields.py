"""Calls told by their fields: the name of a tool, then names of its parameters with values, whatever stands between them.

What stands between may be signs, the words of the format itself and tags that close; nothing else. Guards: each parameter comes
once, the tool's schema accepts the values, and none that it requires is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from unicodedata import category

from ..schema import Schema, ToolSet
from .notation import Begun, Notation, accept, compile_names, find_quote, fit_bare, fit_text, is_like, put_name_first
from .repair import CLOSERS, read_literal, unquote, write_object
from .shape import FoundCall

_WORD = re.compile(r"\w+")
_CLOSING = re.compile(r"</[^\s<>]{1,60}>")
SPEAKS = r"(?=[^\s>\]=]{0,40}(?i:tool|call|function))"
"""Looks for what speaks of calls in a mark, by the names that the fields of a message have for them."""
_SPEAKING = re.compile(rf"<(?:{SPEAKS}|(?=arg|param))[^\s<>\"'=/]{{2,60}}>|\[{SPEAKS}[A-Z_]{{2,60}}\]")
_QUOTING = re.compile(r"(<[^\s<>/]{1,24}>)(?=[^<>]{0,256}\1)")
_OPENING = re.compile(r"\s*<[^\s<>/][^<>]{0,60}>")
_NAMING = re.compile(r"<[\w:.-]{1,32}(?:\s+\w{1,32}=[\"']|=[\"']?|>\s*)")
_ATTRIBUTE = re.compile(r"\w{1,32}=[\"']")
_ATTRIBUTES = re.compile(r"""(?:\s+[\w:-]{1,32}=(?:"[^"<>]{0,64}"|'[^'<>]{0,64}'))+\s*>(?!\s*</)""")
_VALUED = re.compile(r"\s+[\w:-]{1,32}=(?=[\"'])")
_OPENED, _PARTED = re.compile(r"[(,]\s*(?=[\"'\[{\d-])"), re.compile(r"\s*(?:,|(?=\)))")
_CLOSED = re.compile(r"[\"'`](?=\s?[:=])")
"""What ends a key in quotes that began without one."""
_ASSIGNED = re.compile(r"[\"'`]?\s{0,8}(?:[=:>|<,\]\[]|[-~]>|[^\w\s\x00-\x7f])")
_UNASSIGNED = re.compile(r"[\"'`]?\s{0,8}[-~]?")
_FLAGS = ("-", ":", "(")  # before a key that only a blank parts from its value, as in shells and Lisp
_FLAG, _LITERAL = re.compile(r"\s|\Z"), re.compile(r" (?=[\"'\d]|(?:true|false|null)\b)")
_ENDS = re.compile(r"[^\w]")
_CLOSES = ("Sm", "Pe", "Pf")  # of Unicode: arrows, and brackets and quotes that close
_BARRED = frozenset("=:>|,;)]}<\"'`")
_NAMED = r"(?:=[\"']?[\w.-]*)"
_BEGUN = re.compile(
    rf"(?:\w{{1,32}}(?:[:/]|\s?=\s?))?[\w.-]*|\w{{1,32}}\s|</[^\s<>]*|\w{{1,32}}{_NAMED}|<[^\s<>\"'=/]{{0,60}}|<[\w:.-]{{0,32}}(?:{_NAMED}|\s+\w{{0,32}}{_NAMED}?|>\s*[\w.-]*)?"
)
_COUNTER = re.compile(r"[^\w\s]? ?[^\w\s]? ?[^\w\s]?([\w:.-]+)")
_PREFIX, _SUFFIX = re.compile(r"\w{1,32}(?:[.:/]|\s?=\s?)"), re.compile(r"[:#@/]\d{1,4}(?![\w.])")
_ID = re.compile(r"\w[\w-]{0,63}(?=[^\w\s.,;!?])")
_FIELD = re.compile(r"(?<=[^\w\s])\w{1,32}(?=[^\w\s])[^\w,/]*")
_COMMENT = re.compile(r"(?<=\s)(?:#|//)[ \t][^\n]{0,160}\n")
_HALF_COMMENT = re.compile(r"(?<=\s)(?:#|//|/)(?:[ \t][^\n]{0,160})?\Z")
_FENCE = "```"
_FIELD_NAMES = frozenset(("tool", "call", "function", "name", "arguments", "parameters", "args", "params"))
"""What the fields of a call are called in messages and schemas, in full and in short, before a sign."""
_BEHIND_NAMES = (":", "=", '"', "'")
_MOST = 64  # quotes that may end a text, and ends of one that stands in none
_STEPS = 2  # for each character
_INDENTED = 16  # blanks at most between a tag and its value
_LONGEST = 256  # characters between two fields
_FAR = 1 << 12  # characters of a value between two tags


def find_name(text: str, at: int, tools: ToolSet, notation: Notation, final: bool, begun: Begun | None = None) -> bool | None:
    """Whether a tool of the request is named at a place, or a parameter, of a call that was ``begun`` another one, behind signs and
    words of the format; None where more may tell."""
    reader = _Reader(text, tools, notation)
    if begun:
        reader.take_up(begun.name, begun.given)
    else:
        reader.take_up_all()
    end = reader.skip(at, numbers=True, limit=at + _LONGEST)
    name = reader.find_tool(end) or reader.find_key(end)
    if name and begun and text.rfind("</", at, end) > text.rfind(">", at, end):
        return False if final else None  # a tag that closes has the name in it
    if name and (final or end + len(name) < len(text)):
        return True
    if final or end - at >= _LONGEST:
        return False
    if reader.may_be_key(end) or _HALF_COMMENT.search(text, at):
        return None
    starts = end, max(text.rfind("<", at, end), at)  # of a word or a tag, more may come
    return None if any(_BEGUN.fullmatch(text, start) for start in starts) else False


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


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, tools: ToolSet, notation: Notation) -> None:
        self._text = text
        self._tools = tools
        self._notation = notation
        self._folded = frozenset(map(str.casefold, notation.words))
        self._names = compile_names(frozenset(tools.tools))
        self._keys = self._names
        self._schema = Schema({})
        self._id = ""  # what the call is called that is being read
        self._left: set[str] = set()
        self._next: dict[int, int] = {}  # the field behind a place, or what is none
        self._steps = _STEPS * (len(text) + _LONGEST)

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
            at = self.skip(at, numbers=True)
            name = self.find_tool(at)
            if not name:
                return found if at >= len(self._text) and found else None
            call_id = self._id or None
            numbered = _SUFFIX.match(self._text, at + len(name))
            read = self._read_arguments(name, numbered.end() if numbered else at + len(name))
            if read is None:
                return None
            at, arguments = read
            found.append(FoundCall(name, arguments, call_id))

    def skip(self, at: int, numbers: bool = False, limit: int | None = None) -> int:
        """Return the place behind all that is no field at a place; ``numbers`` may count calls."""
        limit = len(self._text) if limit is None else min(limit, len(self._text))
        may_name = numbers and bool(self._notation.counted)  # one word may be the id of a call
        while at < limit and not (self.find_tool(at) or self.find_key(at)):
            end = self._pass_one(at, numbers)
            prefix = _PREFIX.match(self._text, at) if end == at and numbers else None
            if prefix and self.find_tool(prefix.end()):  # a sign joins a word to the name of a tool, or that is assigned to it
                end = prefix.end()
            if end == at and may_name:
                found, may_name = _ID.match(self._text, at), False
                self._id = found[0] if found else ""
                end += len(self._id)
            if end == at:
                break
            at = end
        return at

    def _pass_one(self, at: int, numbers: bool = False) -> int:
        """Return the place behind what stands around fields, the place itself where nothing of it does.

        That is a sign, a word of the format or one that is like it, a tag that closes or speaks of calls, what leads to a name in
        a tag, the language of a fence, and a comment behind white space, to the end of its line.
        """
        self._steps -= 1
        if self._steps < 0:
            raise ValueError("too many steps")
        word = _WORD.match(self._text, at)
        if word is None:
            found = _COMMENT.match(self._text, at) or _CLOSING.match(self._text, at) or _SPEAKING.match(self._text, at)
            return found.end() if found else self._pass_to_name(_NAMING, at) or at + 1
        if self._text.endswith(_FENCE, 0, at):
            return word.end()  # the language of the code
        if numbers and word[0].isdigit():
            return word.end()
        end = self._pass_to_name(_ATTRIBUTE, at) or self._pass_word(at)
        return word.end() if end == at and is_like(word[0], self._folded) else end

    def _pass_to_name(self, lead: re.Pattern[str], at: int) -> int:
        """Return the place at which a tool or a parameter is named behind what leads to it; 0 where none is."""
        found = lead.match(self._text, at)
        return found.end() if found and (self.find_tool(found.end()) or self._find_parameter(found.end())) else 0

    def _pass_word(self, at: int) -> int:
        """Return the place behind a word of the format, and what counts there or is an id; the place itself where none is."""
        found = _WORD.match(self._text, at)
        word, words = found[0] if found else "", self._folded
        if word in _FIELD_NAMES and self._text[at + len(word) : at + len(word) + 1] in _BEHIND_NAMES:
            return at + len(word)
        if word.casefold() not in words and (word.isdigit() or word.casefold().rstrip("0123456789") not in words):
            return at
        end = at + len(word)
        counter = _COUNTER.match(self._text, end) if word in self._notation.counted else None
        if counter is None or self.find_tool(counter.start(1)) or self._keys.match(self._text, counter.start(1)):
            return end
        self._id = self._id if counter[1].isdigit() else counter[1]
        return counter.end()

    def find_tool(self, at: int) -> str:
        """Return the tool that is named at a place."""
        found = self._names.match(self._text, at)
        return found[0] if found else ""

    def find_key(self, at: int) -> str:
        """Return the parameter that is named at a place, of those that have not come, and that a value follows."""
        key = self._find_parameter(at)
        return key if key in self._left else ""

    def may_be_key(self, at: int) -> bool:
        """Whether a parameter is named at a place, and nothing follows yet that tells whether a value does."""
        found = self._keys.match(self._text, at)
        return found is not None and found[0] in self._left and _UNASSIGNED.fullmatch(self._text, found.end()) is not None

    def _find_parameter(self, at: int) -> str:
        """Return the parameter that is named at a place, if a value follows."""
        found = self._keys.match(self._text, at)
        if found is None:
            return ""
        before, end = self._text[at - 1 : at], found.end()
        flag = before in _FLAGS and _FLAG.match(self._text, end)
        closer = find_quote(before)
        quoted = closer and self._text.startswith(closer, end)
        bare = before.isspace() and _LITERAL.match(self._text, end)
        tagged = before == "<" and _ATTRIBUTES.match(self._text, end)
        assigned = any(self._pass_sign(sign, end) for sign in self._notation.assigns)
        return found[0] if flag or quoted or bare or tagged or assigned or _ASSIGNED.match(self._text, end) else ""

    def _read_arguments(self, name: str, at: int) -> tuple[int, str] | None:
        """Return the place behind the arguments of a tool, and these; None where they are not all there, or something else is."""
        self.take_up(name)
        read = self._read_pairs(*self._read_in_order(at))
        if read is None:
            return None
        arguments = accept(write_object(read[1]), self._schema)
        return (read[0], arguments) if arguments else None

    def take_up_all(self) -> None:
        """Look for the parameters of any tool."""
        self._left = set().union(*(self._tools.get_parameters(name).list_properties() for name in self._tools.tools))
        self._keys = compile_names(frozenset(self._left))

    def take_up(self, name: str, given: frozenset[str] = frozenset()) -> None:
        """Go on with the parameters of a tool, but for those that were given."""
        self._schema = self._tools.get_parameters(name)
        self._left = set(self._schema.list_properties() - given)
        self._keys = compile_names(frozenset(self._left))
        self._next.clear()

    def _read_pairs(self, at: int, given: dict[str, str]) -> tuple[int, dict[str, str]] | None:
        """Return the place behind the arguments at a place, up to the next call or the end, and their JSON with those that were
        ``given``; None where something else is there."""
        if self._left & self._notation.words:
            return None  # what is a parameter, and what the format's own word?
        while True:
            at = self._skip_to_field(at)
            if not given and (field := _FIELD.match(self._text, at)) and self.find_key(field.end()):
                at = field.end()  # what the arguments are called
            key = self.find_key(at)
            if not key:
                return (at, given) if at >= len(self._text) or self.find_tool(at) else None
            read = self._read_value(key, at + len(key))
            if read is None:
                return None
            at, given[key] = read

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

    def _skip_to_field(self, at: int) -> int:
        """Return the next place at which a parameter is named, or what is no sign and no word of the format begins."""
        passed: list[int] = []
        while at not in self._next:
            passed.append(at)
            end = at if at >= len(self._text) or self.find_key(at) or self.find_tool(at) else self._pass_one(at)
            if end == at:
                break
            at = end
        end = self._next.get(at, at)
        self._next.update(dict.fromkeys(passed, end))
        return end

    def _is_end(self, at: int) -> bool:
        """Whether a value may end at a place: another field follows, or nothing."""
        at = self._skip_to_field(at)
        return at >= len(self._text) or bool(self.find_key(at) or self.find_tool(at))

    def _read_value(self, key: str, at: int) -> tuple[int, str] | None:
        """Return the place behind the value of a parameter, and its JSON."""
        schema, first, before = self._schema.get_property(key), at, self._text[at - len(key) - 1 : at - len(key)]
        quote = find_quote(before)
        at += bool(_CLOSED.match(self._text, at) if not quote else self._text.startswith(quote, at))
        tagged = quote or before == "<"
        attributes = (_ATTRIBUTES.match(self._text, at) or (quote and _VALUED.match(self._text, at))) if tagged else None
        if attributes and self._text.rfind("<", 0, at) > self._text.rfind(">", 0, at):
            at = attributes.end()  # the key stands in a tag, and so may its value
        closing = _CLOSING.match(self._text, at)
        opening = _OPENING.match(self._text, closing.end()) if closing else None
        at = opening.end() if opening else at  # the key stands in a tag, and so does the value
        at = max((place for sign in self._notation.assigns if (place := self._pass_sign(sign, at))), default=at)
        self._left.discard(key)
        self._next.clear()
        if before == "-" and schema.accepts(True) and self._is_end(first):
            return first, "true"  # a flag alone says that something is so
        tried: list[int] = []  # places at which a word of the format stands that may be the value all the same
        while at < len(self._text) and at - first <= _LONGEST and not (self.find_key(at) or self.find_tool(at)):
            end = self._pass_quoted_word(at) or self._pass_word(at)
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

    def _pass_sign(self, sign: str, at: int) -> int:
        """Return the place behind a sign of the format behind at most one blank; 0 where it is not there."""
        start = at + self._text.startswith(" ", at)
        return start + len(sign) if self._text.startswith(sign, start) else 0

    def _pass_quoted_word(self, at: int) -> int:
        """Return the place behind a word of the format in quotes; 0 where none is."""
        quote = find_quote(self._text[at])
        end = self._pass_word(at + 1) if quote else at
        return end + 1 if end > at + 1 and self._text.startswith(quote, end) else 0

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
            for end in filter(self._is_end, self._list_bare_ends(at)):
                bare = text[at:end].rstrip()
                whole = bare.count('"') % 2 == 0
                written = fit_bare(self._notation.decode(bare), schema, self._notation.literals) if whole else None
                if written:
                    yield end, written

    def _unquote(self, text: str) -> str:
        """Return what a text in quotes stands for: with the format's own escapes, if it has any of them."""
        decoded = self._notation.decode(text)
        return decoded if decoded != text else unquote(text)

    def _list_bare_ends(self, at: int) -> list[int]:
        """List where a text without quotes may end: at a tag that closes if it stands behind one that opens, else in its line.

        A bracket that closes one in the text is its own, and so is what stands between both.
        """
        tagged = self._text[max(at - _INDENTED, 0) : at].rstrip().endswith(">")
        if tagged and (closing := _CLOSING.search(self._text, at, at + _FAR)):
            return [closing.start()]
        line = self._text.find("\n", at)
        line = line if line >= 0 else len(self._text)
        ends, opened = [], ""
        for found in islice(_ENDS.finditer(self._text, at, line), _MOST):
            sign = found[0]
            if opened and sign == opened[-1]:
                opened = opened[:-1]
                continue
            ends += [found.start()] if found.start() > at and not opened else []
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
