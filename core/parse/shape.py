"""Calls by their shape, JSON or other: where such may begin, and the looking at it until it has ended."""

from __future__ import annotations

import re
from typing import Final

from ..format.units import MORE, NO
from ..plan.constants import find_end, is_firm, skip_blank
from ..plan.ends import Marks
from ..plan.landmarks import SHAPE
from ..plan.plan import Plan
from ..plan.spots import Spot
from ..recover.around_fields import APART, SPEAKS
from ..recover.fields import may_be_fields, read_fields, tells_calls
from ..recover.notation import Begun, compile_names
from ..recover.repair import complete, repair
from ..recover.shape import FoundCall, read_calls
from ..schema import ToolSet
from .fence import Fence, skip_fence_end
from .guide import HOLD, ODD
from .landing import HELD_CALL, Landing
from .lexer import JsonLexer
from .names import SHORT

_TAG: Final = r"<[^\s<>\"'=/][^\s<>\"'=]{0,39}>"
_FENCE: Final = r"(?:`{3,}|~{3,})[\w+.-]{0,32}"
_MARK: Final = rf"{_TAG}|\[/?[A-Z_]{{2,40}}\]"
_START: Final = re.compile(rf"\s*(?:({_MARK})\s*(?:\1\s*)?)?(?:{_FENCE}\s*)?")
_BETWEEN: Final = re.compile(rf"(?:{_MARK}|{_FENCE}|</[^\s<>\"'=/]{{1,40}}>|[\s;,])*")
"""What stands around such calls: tags, fences, and what separates."""

_WRAPPER: Final = re.compile(rf"(?:<({APART}{SPEAKS}[^\s<>\"'=/]{{2,40}})>|\[{SPEAKS}([A-Z_]{{2,40}})\]|<\|\w{{2,40}}\|>)\s*")
_ENDS: Final = {"start": "end", "begin": "end", "open": "close", "START": "END", "BEGIN": "END", "OPEN": "CLOSE"}
"""What marks are called that close others, as people name such pairs."""
_BEGINS: Final = re.compile("|".join(_ENDS))
_WORD: Final = r"[\w:.-]{2,40}"
# A tag that speaks of calls and names something, or any whose attribute is called as messages call the name of a tool.
_NAMING: Final = re.compile(rf"<(?:{SPEAKS}(?={_WORD}(?:=|\s{{1,4}}\w{{1,32}}=))|(?={_WORD}\s{{1,4}}name=))({_WORD})")
_HALF_NAMING: Final = re.compile(rf"<(?:{SPEAKS}{_WORD}\s{{1,4}}\w{{0,32}}|{_WORD}\s{{1,4}}(?:n|na|nam|name)?)")
_WRAPPER_END: Final = re.compile(rf"</{APART}{SPEAKS}[^\s<>\"'=/]{{2,40}}>|\[/{SPEAKS}[A-Z_]{{2,40}}\]")
_SPEAKING: Final = re.compile("tool|call|function", re.IGNORECASE)
_LAST_TOKEN: Final = re.compile(r"<([|｜])[^\s<>|｜/][^\s<>|｜]{1,39}\1>\s*")
_HALF_TOKEN: Final = re.compile(r"<[|｜](?:[^\s<>|｜/][^\s<>|｜]{0,39}[|｜]?)?")

_LAST_MARK: Final = re.compile(rf"(?:{_TAG}|</[^\s<>]{{0,40}})\Z")
_LAST_FENCE: Final = re.compile(r"\n[ \t]{0,16}(`{3,16}|~{3,16})\s{0,16}\Z")
_FIRST_NAMED, _LAST_CLOSING = re.compile(r"<([\w:.-]{1,40})[=\s]"), re.compile(r"</([\w:.-]{1,40})>\s*(?:</[^\s<>]{0,40}>?\s*)?\Z")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_LAST_VALUE: Final = re.compile(r"(?:[|)\]};\n]|\b(?:true|false|null))\Z")
"""What ends a value that may be the last thing of an output."""
_LAST_MARKS: Final = 3  # around a call, and around all calls
_HEAD: Final = 24  # characters of a line in which a tool is named, before it is looked at whether it goes on as calls do
_TRIES: Final = 4  # so many marks may end such calls
_HALF_MARK: Final = re.compile(rf"</?{APART}(?:[^\s<>\"'=/][^\s<>\"'=]{{0,39}})?|\[/?[A-Z_]{{0,40}}|`{{1,2}}|~{{1,2}}")
_SENTENCE: Final = re.compile(r"[^\W_][,]?[ \t]+\Z")
_FOLLOWS: Final = re.compile(r"[ \t]*([^\W_]?)")
"""A word before a value in its line, and one behind it: it is a part of their sentence."""


def find_start(buffer: str, at: int, fresh: bool, final: bool) -> int:
    """Return where JSON begins that stands at a place: first in a ``fresh`` text, or behind a mark of any dialect."""
    end = find_end(_START, buffer, at)
    if end - at > SHORT:
        return NO
    if end >= len(buffer) or _HALF_MARK.fullmatch(buffer, end):
        return NO if final else MORE
    marked = buffer[at:end].strip("`~ \n")
    return end if buffer[end] in "{[" and (fresh or (marked and buffer[at] not in "`~")) else NO


def find_wrapper(buffer: str, at: int) -> tuple[int, str]:
    """Return where a mark of another format ends that stands around calls, or begins that names the tool, and the mark that
    closes it, empty where it says nothing of calls; NO where none stands, or MORE."""
    found = _WRAPPER.match(buffer, at)
    if found is None:
        names = _NAMING.match(buffer, at)  # the mark itself names the tool
        if names is None and _HALF_NAMING.fullmatch(buffer, at):
            return MORE, ""
        return (at, f"</{names[1]}>") if names else (NO, "")
    word = found[1] or found[2] or ""
    mark, end = found[0].strip(), found.end()
    end = skip_blank(buffer, end + len(mark)) if buffer.startswith(mark, end) else end  # it is doubled
    ended = _BEGINS.sub(lambda begun: _ENDS[begun[0]], word)
    own = "/" if ended == word else ""  # what has no word for its end is closed by a slash
    return end, f"<{own}{ended}>" if found[1] else f"[{own}{ended}]" if found[2] else ""


def find_wrapper_end(buffer: str, at: int, final: bool) -> int:
    """Return where a mark of another format ends that closes calls, or a special token with which the output ends; NO, or MORE."""
    token = find_last_token(buffer, at, final)
    if token != NO:
        return token
    found = _WRAPPER_END.match(buffer, at)
    if found:
        return found.end()
    return MORE if _HALF_MARK.fullmatch(buffer, at) else NO


def find_last_token(buffer: str, at: int, final: bool) -> int:
    """Return where a special token ends with which the output does; NO, or MORE."""
    if _LAST_TOKEN.fullmatch(buffer, at):
        return len(buffer) if final else MORE
    return MORE if not final and _HALF_TOKEN.fullmatch(buffer, at) else NO


class Shape:
    """Looks at JSON values that may be calls; until they have ended nothing of them is taken.

    Where they began as a ``whole``, nothing but such values may follow, and what ends a turn; text only in a line of its own, if
    all calls of the format are bare. Places are counted from the one that ``read`` is given, so that what is behind it may leave
    the buffer.
    """

    recovery = "call by its shape"

    def __init__(self, plan: Plan, landing: Landing, start: int, left: Spot, before: str) -> None:
        self.left = left  # the spot in which they were met
        self._amid = landing.end == start and _SENTENCE.search(before) is not None  # whether it may stand within a sentence
        self._plan = plan
        self._ends = _list_stops(plan)
        self._closing = ("</", "[/", *self._ends)
        self.whole = landing.rule.guard == "whole" and left.nodes[0] is not SHAPE  # behind another such call a mark has come
        self.fence = landing.fence  # which ends behind all calls
        self.calls: list[FoundCall] = []
        self.ahead = landing.end - start  # where the value begins that is being looked at
        self._seen = self.ahead
        self._lexer = JsonLexer(mends=True)
        self._odd = False  # whether the value is no JSON as it stands
        self._short = False  # whether a mark ends the value, without the brackets that do

    def read(self, buffer: str, at: int, final: bool, tools: ToolSet | None) -> int:
        """Return where the calls end that stand at a place; that there are none, or that more is needed."""
        size, envelope = len(buffer), self._plan.envelope
        while True:
            if self.calls and not self.whole:
                follows = _FOLLOWS.match(buffer, at + self._seen) if self._amid else None
                if follows and (follows[1] or (follows.end() == size and not final)):
                    return NO if follows[1] else MORE
                return at + self._seen if self.fence else _leave_fence(buffer, at, at + self.ahead, at + self._seen, final)
            if self._lexer.ended or self._short:
                place = find_end(_BETWEEN, buffer, at + self._seen)
                place = min((end for mark in self._ends if (end := buffer.find(mark, at + self._seen, place)) >= 0), default=place)
                if place >= size or _HALF_MARK.fullmatch(buffer, place):
                    return MORE if not final else size if place >= size else NO
                if buffer.startswith(self._ends, place):
                    return place
                if not final and any(end.startswith(buffer[place:]) for end in self._ends):
                    return MORE
                if buffer[place] not in "{[":
                    alone = self._plan.bare_calls and self.calls and "\n" in buffer[at + self._seen : place]
                    return at + self._seen if alone else NO
                self.ahead = self._seen = place - at
                self._lexer, self._short, self._odd = JsonLexer(mends=True), False, False
            start, end = at + self.ahead, self._scan(buffer, at, final)
            odd = self._odd
            doubted = (odd or self.whole) and not self.calls and (size if end < 0 else end) - start > SHORT
            if doubted and not _names_tool(buffer, start, tools):
                return NO  # however much of it came at once
            if end < 0 and not final:
                return NO if odd and size - start > HELD_CALL else MORE
            cut = end < 0 and self.whole and buffer.endswith(("}", "]"))  # nothing but brackets is missing at the end of the output
            if cut:
                end, self._seen, self._short = size, size - at, True
            text = buffer[start : max(end, start)]
            calls = None if odd else read_calls(text, tools, envelope)
            if not calls and (mended := repair(complete(text) if self._short else text)):
                calls = read_calls(mended, tools, envelope)
            if not calls or (cut and any(call.arguments not in buffer for call in calls)):
                return NO  # of arguments, more may have been to come
            self.calls += calls
            bare = self.whole and buffer.count("{", start, end) == 1 and all(call.arguments == "{}" for call in calls)
            if bare and not _SPEAKING.search(buffer, at, start):
                return NO  # a name in brackets is no call yet

    def _scan(self, buffer: str, at: int, final: bool) -> int:
        """Read on to the end of the value, in whatever notation."""
        end = self._lexer.scan(buffer, at + self._seen, final)
        while end == ODD or (end == HOLD and final):
            place, self._odd = self._lexer.place, True
            if not self._lexer.plain and buffer.startswith(self._closing, place):
                self._seen, self._short = place - at, True
                return place
            if not (final or self._lexer.plain) and any(mark.startswith(buffer[place:]) for mark in self._closing):
                end = HOLD
                break
            self._seen = self._lexer.skip(buffer) - at
            if self._lexer.ended:
                return at + self._seen
            end = self._lexer.scan(buffer, at + self._seen, final)
        self._seen = (end if end >= 0 else self._lexer.place if end == HOLD else len(buffer)) - at
        return end


class Fields:
    """Looks at calls that are told by the tools and parameters which they name, from a mark up to what ends calls, likewise; the
    first may have been ``begun`` by other means.

    Where no mark began them, something else has to tell of calls: a mark that ends them, that they are ``alone`` in the answer, or
    what stands before the first name; and what names a tool and then goes on otherwise is given up early, as lines of prose do.
    """

    recovery = "call by its parameters"

    def __init__(
        self,
        plan: Plan,
        ahead: int,
        left: Spot,
        landing: Landing | None = None,
        begun: Begun | None = None,
        alone: bool = False,
    ) -> None:
        closing = landing.find("wrap") if landing else None
        self.left = left
        self.fence = landing.fence if landing else ""
        self.begun = begun
        self.calls: list[FoundCall] = []
        self.ahead = self._seen = ahead
        self._plan = plan
        self._ends = Marks.find((closing,), _list_stops(plan)) if closing else plan.field_ends
        self._tries = _TRIES
        self.whole = self._bare = landing is not None and landing.rule.guard == "bare"  # no mark has begun them
        self._alone = alone and left.kind == "content"  # whether nothing of the answer stands before them
        self._checked = _HEAD  # at so many characters it is looked whether the text goes on as calls do

    def read(self, buffer: str, at: int, final: bool, tools: ToolSet | None) -> int:
        """Return where the calls end that stand at a place; that there are none, or that more is needed."""
        begin, size = at + self.ahead, len(buffer)
        while tools and self._tries:
            found = self._ends.pattern.search(buffer, at + self._seen) if self._ends else None
            if self._bare and not self._still_calls(buffer[begin : found.end() if found else size], tools):
                return NO
            fenced = _LAST_FENCE.search(buffer, begin) if found is None and final and size - begin <= HELD_CALL else None
            size = fenced.start() if fenced and fenced[1] not in buffer[begin : fenced.start()] else size  # it began before
            rest = self._find_rest(buffer[begin:size]) if found is None and final and size - begin <= HELD_CALL else ""
            if found is None and not rest:
                longest = self._ends.longest if self._ends else 0
                self._seen = max(size - at - longest, self._seen)
                return MORE if not final and size - begin <= HELD_CALL else NO
            seen = found.end() if found else size
            end = found.start() if found and found.lastindex else seen  # what ends the turn is no part of the call
            text = rest or buffer[begin:end]
            calls = read_fields(text, tools, self._plan.notation, self.begun) if len(text) <= HELD_CALL else None
            given = any(call.arguments != "{}" for call in calls or ())
            told = found is not None or given
            if self._bare:
                ended = found is not None and not found.lastindex and is_firm(found[0])
                told = (given and (ended or self._alone or self._opens_as_shown(text, tools))) or (
                    told and tells_calls(text, tools, self._plan.notation)
                )
            if calls and told:
                self.calls = calls
                return end if self.fence else _leave_fence(buffer, at, end, end, final)
            self._seen, self._tries = seen - at, self._tries - 1
        return NO

    def _still_calls(self, text: str, tools: ToolSet) -> bool:
        """Whether a text goes on as calls do, looked at each time when it is twice as long, however much came at once."""
        while self._checked <= len(text):
            if not may_be_fields(text[: self._checked], tools, self._plan.notation):
                return False
            self._checked += self._checked + _HEAD
        return True

    def _opens_as_shown(self, text: str, tools: ToolSet) -> bool:
        """Whether a text begins with what opens calls in the format and the name of a tool, and all that it opens is closed."""
        names = compile_names(frozenset(tools.tools))
        openers = (opener.strip() for opener, _ in self._plan.openers)
        return _is_closed(text.rstrip()) and any(text.startswith(one) and names.match(text, len(one)) for one in openers if one)

    def _find_rest(self, text: str) -> str:
        """Return the last text of an output without what ends that, if it is told by something that it has ended; else nothing."""
        end = next((end for end in self._plan.last_ends if text.rstrip().endswith(end)), "")
        rest = _drop_last_marks(text.rstrip().removesuffix(end))
        told = end or _is_closed(rest) or _closes_first(text) or (self._bare and _LAST_VALUE.search(text))
        return rest if told else ""


def _list_stops(plan: Plan) -> tuple[str, ...]:
    """Return what ends a turn."""
    return tuple(filter(None, map(str.strip, (*plan.stops, plan.turn_end))))


def _drop_last_marks(text: str) -> str:
    """Return a text without marks at its end, or the beginning of one that closes, and what is layout or ends code before them."""
    bare = text.rstrip()
    for _ in range(_LAST_MARKS):
        found = _LAST_MARK.search(bare, max(len(bare) - SHORT, 0))
        bare = bare[: found.start()].rstrip().rstrip("`").rstrip() if found else bare
    return bare


def _is_closed(text: str) -> bool:
    """Whether a text ends with the bracket that closes all that it has opened, those in its quotes counted or not; what stands
    around all calls may be open."""
    texts = (text, f"{text}]") if text.endswith(")") else (text,) if text[-1:] in ("}", "]") else ()
    read = [each for one in texts for each in (one, _QUOTED.sub("", one))]
    return any(all(each.count(one) == each.count(two) for one, two in ("{}", "[]", "()")) for each in read)


def _closes_first(text: str) -> bool:
    """Whether a text ends with what closes the first tag in it that has a name, and at most one mark behind that."""
    first, last = _FIRST_NAMED.search(text), _LAST_CLOSING.search(text, max(len(text) - SHORT, 0))
    return bool(first and last and f"</{first[1]}>" in last[0])


def _leave_fence(buffer: str, at: int, begun: int, end: int, final: bool) -> int:
    """Return the end of calls with that of a fence which began between two places, or that more is needed."""
    return skip_fence_end(buffer, end, final) if Fence().read(buffer[at:begun]).fenced else end


def _names_tool(buffer: str, at: int, tools: ToolSet | None) -> bool:
    """Whether a tool of the request is named at the beginning of a value."""
    head = buffer[at : at + SHORT]
    return any(f'"{name}"' in head or f"'{name}'" in head for name in (tools.tools if tools else ()))
