"""What stands around the fields of calls that are told by them: signs, the words of the format itself, and tags that close."""

from __future__ import annotations

import re

from ..schema import Schema, ToolSet
from .notation import Notation, compile_names, find_quote, fold_words, is_like

WORD = re.compile(r"\w+")
CLOSING = re.compile(r"<[^\w\s<>\"'=]?/[^\s<>]{1,60}>")
SPEAKS = r"(?=[^\s>\]=]{0,40}(?i:tool|call|function))"
"""Looks for what speaks of calls in a mark, by the names that the fields of a message have for them."""
APART = r"(?:[^\w\s<>\"'=/]\w{1,16}[^\w\s<>\"'=/] ?)?"
"""What the marks of a family begin with: a word between two signs."""
_SPEAKING = re.compile(rf"<(?:{SPEAKS}|(?=arg|param))[^\s<>\"'=/]{{2,60}}>|\[{SPEAKS}[A-Z_]{{2,60}}\]")
_NAMING = re.compile(rf"<{APART}[\w:.-]{{1,32}}(?:\s+\w{{1,32}}=[\"']|=[\"']?|>\s*)")
_ATTRIBUTE = re.compile(r"\w{1,32}=[\"']")
ATTRIBUTES = re.compile(r"""(?:\s+[\w:-]{1,32}=(?:"[^"<>]{0,64}"|'[^'<>]{0,64}'))+\s*[?%|]?>(?!\s*</)""")
_ASSIGNED = re.compile(r"(?:[\"'`]|[*_]{1,3}(?=[:=]))?\s{0,8}(?:[=:>|<,\]\[]|[-~]>|[^\w\s\x00-\x7f])")
_UNASSIGNED = re.compile(r"[\"'`]?\s{0,8}[-~]?")
_FLAGS = ("-", ":", "(")  # before a key that only a blank parts from its value, as in shells and Lisp
_FLAG, _LITERAL = re.compile(r"\s|\Z"), re.compile(r" (?=[\"'\d]|(?:true|false|null)\b)")
_COUNTER = re.compile(r"[^\w\s]? ?[^\w\s]? ?[^\w\s]?([\w:.-]+)")
_PREFIX = re.compile(r"\w{1,32}[.:/] ?|(?:[a-z]{1,8} (?=\w{1,32}\s?=))?\w{1,32}\s?(=)\s?")
"""What a sign joins to a name, or a call is assigned to in a program."""
_ID = re.compile(r"\w[\w-]{0,63}(?=[^\w\s.,;!?])")
_COMMENT = re.compile(r"(?<=\s)(?:#|//)[ \t][^\n]{0,160}\n")
_FENCE = "```"
_FIELD_NAMES = re.compile(r"(?:tool|call|function|name|arguments|parameters|args|params)(?=[:=\"'])", re.IGNORECASE)
"""What the fields of a call are called in messages and schemas, in full and in short, before a sign."""
_STEPS = 2  # for each character
LONGEST = 256  # characters between two fields


class AroundFields:
    """Walks through one text, from one field to the next."""

    def __init__(self, text: str, tools: ToolSet, notation: Notation, bare: bool = False) -> None:
        self._text = text
        self._tools = tools
        self._notation = notation
        self._bare = bare  # whether nothing but the format's own words may stand before a name
        self._folded = fold_words(notation.words)
        self._names = compile_names(frozenset(tools.tools))
        self._keys = self._names
        self._schema = Schema({})
        self._id = ""  # what the call is called that is being read
        self._left: set[str] = set()
        self._next: dict[int, int] = {}  # the field behind a place, or what is none
        self._steps = _STEPS * (len(text) + LONGEST)

    def skip(self, at: int, limit: int | None = None) -> int:
        """Return the place behind all that is no field at a place, and what may stand before the name of a tool: numbers that count
        calls, an id, and a word that a sign joins to it."""
        limit = len(self._text) if limit is None else min(limit, len(self._text))
        may_name = not self._bare and bool(self._notation.counted)  # one word may be the id of a call
        while at < limit and not (self.find_tool(at) or self.find_key(at)):
            end = self._pass_one(at, numbers=True)
            prefix = _PREFIX.match(self._text, at) if end == at and not self._bare else None
            if prefix and self.find_tool(self.skip(prefix.end(), limit) if prefix[1] else prefix.end()):
                end = prefix.end()
            if end == at and may_name:
                found, may_name = _ID.match(self._text, at), False
                self._id = found[0] if found else ""
                end += len(self._id)
            if end == at:
                break
            at = end
        return at

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

    def _pass_one(self, at: int, numbers: bool = False) -> int:
        """Return the place behind what stands around fields, the place itself where nothing of it does.

        That is a sign, a word of the format or one that is like it, a tag that closes or speaks of calls, what leads to a name in
        a tag, the language of a fence, and a comment behind white space, to the end of its line.
        """
        self._steps -= 1
        if self._steps < 0:
            raise ValueError("too many steps")
        word = WORD.match(self._text, at)
        if word is None:
            found = _COMMENT.match(self._text, at) or CLOSING.match(self._text, at) or _SPEAKING.match(self._text, at)
            return found.end() if found else self._pass_to_name(_NAMING, at) or at + 1
        if self._text.endswith(_FENCE, 0, at):
            return word.end()  # the language of the code
        if numbers and word[0].isdigit():
            return word.end()
        end = self._pass_to_name(_ATTRIBUTE, at) or self._pass_word(at)
        return word.end() if end == at and not self._bare and is_like(word[0], self._folded) else end

    def _pass_to_name(self, lead: re.Pattern[str], at: int) -> int:
        """Return the place at which a tool or a parameter is named behind what leads to it; 0 where none is."""
        found = lead.match(self._text, at)
        return found.end() if found and (self.find_tool(found.end()) or self._find_parameter(found.end())) else 0

    def _pass_word(self, at: int, exact: bool = False) -> int:
        """Return the place behind a word of the format, ``exact`` or in letters of any case, and what counts there or is an id; the
        place itself where none is."""
        found = WORD.match(self._text, at)
        word, words = found[0] if found else "", self._folded
        if exact and word not in self._notation.words and word.rstrip("0123456789") not in self._notation.words:
            return at
        if called := _FIELD_NAMES.match(self._text, at):
            return called.end()
        if word.casefold() not in words and (word.isdigit() or word.casefold().rstrip("0123456789") not in words):
            return at
        end = at + len(word)
        counter = _COUNTER.match(self._text, end) if word in self._notation.counted else None
        if counter is None or self.find_tool(counter.start(1)) or self._keys.match(self._text, counter.start(1)):
            return end
        self._id = self._id if counter[1].isdigit() else counter[1]
        return counter.end()

    def _pass_quoted_word(self, at: int) -> int:
        """Return the place behind a word of the format in quotes; 0 where none is."""
        quote = find_quote(self._text[at])
        end = self._pass_word(at + 1) if quote else at
        return end + 1 if end > at + 1 and self._text.startswith(quote, end) else 0

    def _pass_sign(self, sign: str, at: int) -> int:
        """Return the place behind a sign of the format behind at most one blank; 0 where it is not there."""
        start = at + self._text.startswith(" ", at)
        return start + len(sign) if self._text.startswith(sign, start) else 0

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
        tagged = before == "<" and ATTRIBUTES.match(self._text, end)
        assigned = any(self._pass_sign(sign, end) for sign in self._notation.assigns)
        return found[0] if flag or quoted or bare or tagged or assigned or _ASSIGNED.match(self._text, end) else ""

    def _is_end(self, at: int) -> bool:
        """Whether a value may end at a place: another field follows, or nothing."""
        at = self._skip_to_field(at)
        return at >= len(self._text) or bool(self.find_key(at) or self.find_tool(at))

    def take_up(self, name: str, given: frozenset[str] = frozenset()) -> None:
        """Go on with the parameters of a tool, but for those that were given."""
        self._schema = self._tools.get_parameters(name)
        self._left = set(self._schema.list_properties() - given)
        self._keys = compile_names(frozenset(self._left))
        self._next.clear()

    def take_up_all(self) -> None:
        """Look for the parameters of any tool."""
        self._left = set().union(*(self._tools.get_parameters(name).list_properties() for name in self._tools.tools))
        self._keys = compile_names(frozenset(self._left))
