"""Where a parser stands: all that it remembers of a generation, and what that and the text at a place tell without reading on."""

from __future__ import annotations

import re
from io import StringIO
from typing import Final

from ..format import Json, Node, Text
from ..format.cut import STOPS
from ..format.units import MORE, NO
from ..plan.constants import Constant, is_word_in_signs, skip_blank
from ..plan.debris import Rest
from ..plan.guards import LATE
from ..plan.landmarks import AFTER, GAP, QUOTES, TURN
from ..plan.plan import Plan
from ..plan.rules import MISTYPED, Rule
from ..plan.scalars import BEGINNINGS, find_within, match_scalar
from ..plan.spots import WAIT, Spot, Wait
from ..recover import Policy
from ..recover.nearest import Nearest
from ..recover.notation import compile_names
from ..recover.repair import read_literal
from ..schema import UNKNOWN, Schema, ToolSet
from .fence import Fence
from .landing import Frame, Landing, Step, list_id
from .lexer import JsonLexer, Strings
from .names import SHORT, find_count, find_counted_id
from .shape import Fields, Shape
from .writer import Call, Writer

TRIES: Final = 8  # so often may a JSON value be looked at that is no call

_OF_CODE: Final = frozenset("{}<>[]%=;:,`'\"\\/|&#")  # signs with which no answer ends
_TAIL: Final = 256  # so much of what was handed on is remembered
_INDENT: Final = 16  # so much layout may stand before a fence


class Standing:
    """The state of a parser, and what it knows from that alone. Nothing here changes anything."""

    def __init__(self, plan: Plan, tools: ToolSet | None, start: Spot, policy: Policy) -> None:
        self.plan = plan
        self.tools = tools
        self.policy = policy
        self.wanted = UNKNOWN  # what the tool's schema says of the value that is being read
        self.names = tuple(sorted(tools.tools, key=len, reverse=True)) if tools else ()
        self.any_name = compile_names(frozenset(self.names))
        self.seeks_names = policy.recover and bool(self.names)  # whether a line may begin a call that no mark does
        self.known_only = policy.unknown == "text"  # whether markup alone makes no call, of whatever tool
        self.may_call = plan.calls and (tools is None or bool(self.names))
        self.writer = Writer()
        self.spot = start
        self.buffer = ""
        self.gone = 0  # characters that left the buffer
        self.at = 0  # the first character that is not read yet
        self.frames: list[Frame] = []
        self.fresh = True  # whether nothing visible of this text has come
        self.behind = False  # whether a field has ended and a rule must follow here
        self.ended_reasoning = False
        self.before = ""  # what was handed on last, with something visible in it
        self.fence = Fence()
        self.sampled = False  # whether the text shows how messages of other roles begin
        self.holding = False  # whether a value waits for its end to tell its type, or its quotes
        self.unwraps = False  # whether one looks behind the first line of a fence in which the answer begins
        self.strings = Strings()  # those of such a value, if it is JSON
        self.nested = False  # whether the value that is read holds what its end closes
        self.shows_tokens = False  # whether special tokens stand in the text, so that one at its end is no more than those
        self.mentioned = False  # whether a mark that begins calls stands in the content
        self.ended = -1  # where a call would have ended that is looked at
        self.odd = False  # whether a field began as no render shows it, so that a text may not be written as the format has it
        self.owed = False  # whether a part of what ends a call was left out, and may still come
        self.tries = TRIES
        self.spelling = 0  # that in which the call was opened, or is being read ahead
        self.refused = -1  # the place behind a mark that no calls follow which are told by their parameters
        self.formless = -1  # the place of what begins as JSON and is no call
        self.followed: dict[tuple[object, ...], bool | Wait] = {}  # what was found to follow a place, as long as nothing is taken
        self._pops = 0  # lists and objects that are left now, to see what is behind them
        self._guards = 0  # recoveries that wait for what is being looked at now
        self._key: str | None = None  # that of the list or object behind whose end is looked
        self._properties: dict[str | None, frozenset[str]] = {}
        self._odd_keys: dict[str | None, tuple[str, ...]] = {}  # those of them that are more than one word
        self._schemas: dict[tuple[str | None, str], Schema] = {}  # those of the parameters that tools declare
        self.awaited = ""  # what may come without anything being decided
        self.until: re.Pattern[str] | None = None  # what must come before a short field can end
        self.patience = SHORT  # for how many characters that is waited for
        self.scan = 0  # where to look on for the end of a text
        self.mute = 0  # where in the buffer the prompt ends, as long as what it has written is held back
        self.scalar: tuple[str, str] | None = None  # a number or a word that waits for what follows: as it stands, and its JSON
        self.streaming = False  # whether a value is emitted as a string as it comes
        self.doubt = -1  # the first place at which a value may have ended if what ends it never comes
        self.beyond = -1  # behind the last such place, where the next value begins
        self.rejoined = False  # whether reasoning that had ended was opened again, and nothing of it has come
        self.lexer: JsonLexer | None = None
        self.within: Text | None = None  # the notation in which JSON is written as a text
        self.sought = (-1, -1)  # where a thought may have begun amid an answer, and up to where no end of it was found
        self.wrapped = False  # whether arguments may be what stands in another object
        self.mending = False  # whether JSON waits for its end to be made valid
        self.unsent = StringIO()  # what waits so of JSON that is written as a text, and what was not looked at yet
        self.unseen = ""
        self.foreign = False  # whether it does because it is in another notation
        self.passed = StringIO()  # what was handed on of JSON that may have to be mended
        self.opened = 0  # the place in the output where the JSON begins that was read last
        self.looks = 0  # how many marks may yet be looked at before which it may have ended
        self.resumed = 0  # and behind how many brackets it may go on
        self.near: list[tuple[int, Nearest]] = []  # the nearest values before a place, and the places behind them
        self.near_at = -1
        self.searched = 0  # and up to where it was looked for a mark before which it may have ended, if it is odd
        self.nearest = ""  # what was found for it
        self.sent = ""  # what was written of it, where that is not what was handed on
        self.looked = 0  # how far behind a quote that may stand within its string was looked for one that ends that
        self.closer = ""  # the bracket at its end that is also the beginning of what follows
        self.began = -1  # where the outermost list or object began that is being read
        self.schema = UNKNOWN  # that of the innermost list or object
        self.insides: list[Node] = []  # the lists and objects of which a value is one that has just begun
        self.begins = self.starts = False  # whether nothing of a value was read yet, and some sign is escaped there
        self.rest = Rest(-1)  # what is left of the end of the last call, as far as it was looked at
        self.shape: Shape | Fields | None = None
        self.bare_call: Landing | Wait | None = None  # where a line leads that begins a call without a mark
        self.led_from: Spot | None = None  # the spot of a line that may be such a call
        self.led_nowhere = 0  # the place in the output before which no rule leads anywhere from there
        self.late: Fields | None = None  # what looks for further arguments behind the place of doubt
        self.recoveries: list[tuple[str, int]] = []  # what was relaxed, and at which character of the output
        self.trail = ""  # layout that may follow the last rule
        self.unclosed = False  # whether a call stood in reasoning that was not closed

    def _match_value(self, landing: Landing, final: bool) -> int:
        """Match the beginning of the value to which a rule leads, if its notation tells it; where it is none (NO), another rule is
        the better one."""
        nodes = landing.spot.nodes
        if not landing.spot.tells_value:
            return 0
        at = skip_blank(self.buffer, landing.end)
        if at >= len(self.buffer):
            return 0 if final else MORE
        signs = {sign for node in nodes if isinstance(node.codec, Json) for sign in (*BEGINNINGS[node.type], *QUOTES)}
        return 0 if self.buffer[at] in signs or find_within(nodes) else match_scalar(nodes, self.buffer, at, final)[0]

    def _is_fresh(self, at: int) -> bool:
        """Whether nothing visible stands between the beginning of this text, which may be a mark of its own, and a place."""
        ended = -1 < self.ended <= at <= skip_blank(self.buffer, self.ended)
        return ended or (self.fresh and not self.spot.lined and skip_blank(self.buffer, self.at) >= at)

    def _may_end_at(self, at: int) -> bool:
        """Whether a text may end with the sign before a place, or a line has begun there."""
        sign = self.buffer[at - 1] if at > self.at else self.before[-1:]
        return sign.isalnum() or sign in ("", "\n") or sign in STOPS

    def _is_sample(self, at: int) -> bool:
        """Whether what stands at a place is shown: in code, or behind what shows how messages of other roles begin."""
        before = self.buffer[self.at : at]
        return self.sampled or (before or self.before)[-1:] == "`" or self.fence.read(before).fenced

    def _begins_line(self, at: int) -> bool:
        """Whether a line begins at a place, but for some layout."""
        begun = at
        while begun > self.at and at - begun < _INDENT and self.buffer[begun - 1] in " \t":
            begun -= 1
        before = self.buffer[begun - 1] if begun > self.at else self.before.rstrip(" \t")[-1:]
        within = begun == self.at and self.spot.lined  # a mark of the text stands before the place, as before each of its lines
        return before in ("", "\n") and not within

    def _stands_for_itself(self, rule: Rule, at: int) -> bool:
        """Whether what a rule matches is text: what would have to be escaped only where a line begins, and stands elsewhere."""
        lines = self.spot.units.lines
        return lines != () and rule.constant.core.startswith(lines) and not self._begins_line(skip_blank(self.buffer, at))

    def _ends_answer(self, at: int) -> bool:
        """Whether an answer may have ended at a place: with a sentence, a line, or a word right before it."""
        text = self._join_before(self.buffer[self.at : at]) if at > self.at else self.before
        bare = text.rstrip()
        if not bare or bare[-1] in _OF_CODE:
            return False
        return bare == text or bare[-1] in STOPS or "\n" in text[len(bare) :]

    def _stands_apart(self, at: int) -> bool:
        """Whether what stands at a place is no part of a sentence: of a text whose lines have marks, a line without one is none."""
        return self._begins_line(at) or (not self.spot.lined and self._ends_answer(at))

    def _join_before(self, text: str) -> str:
        """Return the end of what was handed on with a text behind it: with the last visible sign before that, if it has none, and
        whether a line has ended since."""
        joined = (self.before + text)[-_TAIL:]
        if not joined.isspace():
            return joined
        bare = self.before.rstrip()
        return bare[-1:] + ("\n" if "\n" in self.before[len(bare) :] else "") + joined

    def _find_last(self, at: int) -> str:
        """Return the last visible sign before a place."""
        return (self.buffer[self.at : at].rstrip() or self.before.rstrip())[-1:]

    def _find_blank(self, at: int) -> int:
        """Return where the white space before a place begins."""
        while at > self.at and self.buffer[at - 1].isspace():
            at -= 1
        return at

    def _spells(self, rule: Rule, at: int, spot: Spot) -> bool:
        """Whether a rule in another spelling holds: where a call or a turn begins, within what began so, and right behind calls."""
        begins = rule.opens or spot.kind == "start"
        return begins or rule.spelling == self.spelling or (self._is_fresh(at) and spot.nodes[0] in (GAP, AFTER))

    def _stands_well(self, rule: Rule, at: int, spot: Spot) -> bool:
        """Whether what the guard of a rule asks of what is before it holds."""
        if rule.guard in ("fresh", "first", "wrapped"):
            return self._is_fresh(at)
        if rule.guard == "thought":
            return self.ended_reasoning
        if rule.guard == "owed":
            return self.owed
        if rule.guard == "fence":
            return self._begins_line(at) and not (spot is self.spot and self.fence.read(self.buffer[self.at : at]).fenced)
        if rule.guard == "unfenced":
            return self.fence.dressed and self._is_fresh(at)
        if rule.guard in ("line", "headless"):
            thought = rule.recovery == MISTYPED and spot.kind == "reasoning"  # which may also end with the line of a sentence
            return self._begins_line(at) or (thought and self._ends_answer(at))
        if rule.guard in ("turn", "token"):
            return not (self._is_sample(at) or (rule.guard == "token" and self.shows_tokens))
        if rule.guard == "closed":
            ended = self._begins_line(at) or self._find_last(at) in STOPS
            return ended and not self._is_sample(at)
        if rule.guard == "alone":
            return self._ends_answer(at) and not self._is_sample(at)
        if rule.guard == "apart":
            return self._stands_apart(at)
        if rule.guard == "over":
            before = self.buffer[max(self.at - _TAIL, 0) : self.at].rstrip()
            return self._is_fresh(at) and any(before.endswith(stop.rstrip()) for stop in self.plan.stops)
        if rule.guard == "typed":
            if spot is self.spot and spot.texts and self._is_barred(rule):
                return True
            if spot is not self.spot or at - self.at > SHORT:
                return False
            value, types = self.buffer[self.at : at].strip(), self.wanted.get_types()
            found = read_literal(value, 0) if types and "string" not in types else None
            return found is not None and found[0] == len(value) if value else self.behind
        if rule.guard == "called":
            wrapped = spot.kind == "content" and spot.shown and self.plan.wraps_content  # what ends the answer comes before a call
            begins = self._is_fresh(at) if wrapped else self._stands_apart(at)
            return spot is self.spot and begins and (self.unwraps or not self._is_sample(at))
        if rule.guard == "named":
            return spot is self.spot and (
                is_word_in_signs(rule.constant.core) or (self._stands_apart(at) and not self._is_sample(at))
            )
        if rule.guard == "orphan":
            return self._may_end_at(at) and self.may_call and not self.mentioned
        return rule.guard != "told" or self._may_end_at(at)

    def _is_held(self, rule: Rule, at: int) -> bool:
        """Whether the notation of the text that is being read, or of a string in JSON, tells that a place is within it, so that
        only what ends it does: not where a line ends as none in it does, or something begins that would be written otherwise
        in it, nor within what began in other marks."""
        free = rule.kind == "end" or rule.guard in LATE or not (rule.recovery or rule.opens or rule.guard)
        if free or self.behind or self.odd or self.spelling:
            return False
        if self.holding and self.strings.holds(self.buffer, self.at, self.gone, at):
            return True
        if not self.spot.holds:
            return False
        if self.spot.parts_lines and "\n" in self.buffer[max(0, at - 1) : at + 1]:
            return False
        return not self._is_barred(rule)

    def _is_barred(self, rule: Rule) -> bool:
        """Whether the text that is being read would have the text of a rule, whatever its layout, otherwise."""
        return self.spot.units.bars("".join(rule.constant.core.split()))

    def _is_late(self, landing: Landing, at: int) -> bool:
        """Whether a text may yet have another end than what was found at a place; not where an argument begins behind what a text
        would have otherwise. The quote before its value tells nothing, as it may begin an escape."""
        if landing.rule.guard != "unquoted":
            return landing.rule.guard in LATE
        return not self.spot.units.bars(self.buffer[at : landing.end].removesuffix(self.plan.get_quote(self.spot.nodes[0])))

    def _match(self, rule: Rule, at: int, final: bool, spot: Spot) -> tuple[int, str]:
        """Match the text of a rule at a place; returns the place behind it (or NO, MORE), and the layout that may follow."""
        constant = rule.constant
        if spot.lined and spot is self.spot and constant.lead[:1] == "\n" and self.buffer[at - 1 : at] != "\n":
            return constant.match_exactly(self.buffer, at, final), ""
        if constant.line and spot is self.spot and spot.kind in ("content", "reasoning") and spot.shown:
            return self._match_line(constant, at, final), constant.trail
        if constant.label and spot is self.spot and spot.kind in ("content", "reasoning") and not self._begins_line(at):
            return NO, ""
        if constant.firm or rule.loose:
            return constant.match_core(self.buffer, at, final), constant.trail
        end = constant.match_exactly(self.buffer, at, final)
        if end == NO and constant.core and not rule.is_exact and self.policy.recover and (self.behind or spot.graph != TURN):
            end = constant.match_core(self.buffer, skip_blank(self.buffer, at), final)
            parted = constant.trail and not rule.recovery and self.buffer[end : end + 1] == ","  # which begins no item
            return NO if end >= 0 and parted else end, constant.trail
        return end, ""

    def _match_line(self, constant: Constant, at: int, final: bool) -> int:
        """Match signs in a text where they have a line of their own."""
        end = constant.match_core(self.buffer, at, final) if self._begins_line(at) else NO
        if end < 0 or end == len(self.buffer):
            return end if end < 0 or final else MORE
        return end if self.buffer[end] == "\n" else NO

    def _list_steps(self, rule: Rule, end: int) -> tuple[Step, ...]:
        """Return what a rule does to calls, of whose text all but the end is behind a place."""
        if rule.opens:
            opened = Step("open", find_count(rule, self.buffer, end))
            return Step("close"), opened, *list_id(find_counted_id(rule, self.buffer, end))
        return (Step("close"),) if rule.closes else ()

    def _counts_on(self, rule: Rule, end: int, steps: tuple[Step, ...]) -> bool:
        """Whether another number stands in a rule than where the call began."""
        if len(rule.parts) < 2:
            return False
        begun = [step.text for step in steps if step.kind == "open"] or [self.writer.call.count if self.writer.call else ""]
        return begun[-1] != find_count(rule, self.buffer, end)

    def _match_tool(self, text: str, at: int) -> re.Match[str] | None:
        """Match the name of a tool of the request at a place of a text, as a whole word."""
        return self.any_name.match(text, at)

    def _fits_behind(self, at: int, final: bool) -> bool | Wait:
        """Whether what follows a call in a render may begin at a place, or the output ends there; or more is needed to tell."""
        at = skip_blank(self.buffer, at)
        if at >= len(self.buffer):
            return final or WAIT
        shown = self.plan.spot(TURN, (GAP,), self.may_call).list_behind(self.buffer[at])
        return any(rule.constant.core and not rule.recovery for rule in shown)

    def _is_in_text(self) -> bool:
        """Whether a value is being read that may be a text."""
        return self.spot.kind == "value" and not self.behind and self.spot.texts != []

    def _is_raw(self) -> bool:
        """Whether a value is being read that nothing but what follows it ends."""
        return self._is_in_text() and self.spot.raw

    def _get_call(self, here: Landing) -> Call | None:
        """Return the call that was open before, if it still is where something leads."""
        for step in here.steps:
            if step.kind == "open":
                return None
        return self.writer.call

    def _find_word(self, kind: str) -> str | None:
        """Return the name, the id or the key that the format repeats: of the call that is open, or was last."""
        call = self.writer.call or self.writer.last
        if kind == "key" and self._key is not None:
            return self._key
        return None if call is None else {"name": call.name, "id": call.id, "key": call.key}[kind]

    def _find_name(self, here: Landing) -> str | None:
        """Return the name of the call that is open where something leads."""
        call = self._get_call(here)
        return here.find("name") or (call.name if call is not None else None)
