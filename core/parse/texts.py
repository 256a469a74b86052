"""Texts: reasoning, content, and strings between marks, read up to the next rule."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Final

from ..format.units import MORE, NO
from ..plan.constants import is_firm, skip_blank
from ..plan.ends import CUT_MARK
from ..plan.entries import UNENDED
from ..plan.landmarks import AFTER, GAP, SHAPE, TURN
from ..plan.plan import TOKEN_STARTS
from ..plan.rules import UNTYPED, Rule
from ..plan.scalars import convert, escape_json, fits, read_json
from ..plan.spots import WAIT, Wait
from ..recover.notation import may_lead
from ..recover.repair import read_literal
from .crossing import Crossings
from .fence import CODE_SIGNS
from .landing import HELD, HELD_CALL, Landing
from .names import SHORT

BARE_CALL: Final = Rule(("",), (SHAPE,), recovery="call by its parameters", guard="bare")
INTERRUPTED: Final = Rule(("",), (AFTER,))  # reasoning, by a mark that begins calls, though no call follows
_DATA: Final = re.compile(r"[\[{]\s*(?:[\"'{\[}\]\d]|\Z)")
"""What begins as a list or an object does in JSON, or may yet."""
JOINT: Final = "\n\n"  # between two blocks of reasoning
_LONGEST_MARK: Final = 256  # characters


class TextReader(Crossings):
    """Emits text as early as it cannot be structure any more."""

    def _apply(self, landing: Landing, start: int) -> None:
        """Go where a rule leads; ``start`` is where the text before it ended."""
        raise NotImplementedError

    def _go(self, found: Landing | Wait) -> bool:
        """Go where what was found at this place leads, or wait for more; returns which."""
        if isinstance(found, Wait):
            self._await(found)
            return False
        self._apply(found, self.at)
        return True

    def _note(self, name: str, place: int) -> None:
        """Take note of a recovery at a place of the buffer."""
        self.recoveries.append((name, self.gone + place))

    def _step_text(self, final: bool) -> bool:
        """Read on to the next rule, and take it; returns whether it came."""
        if self.fresh and self.spot.codec.starts and not self._take_start(final):
            return False
        while True:
            at = self._find_sign(final)
            if at < 0:
                self.until, self.patience = self.spot.pattern if self.holding and self.at < self.scan else None, HELD
                return final and self.doubt >= 0 and self._end_late(True)
            units = self.spot.units
            escape = units.read(self.buffer, at, final)[0] if self.buffer[at] in units.first else at
            landing: Landing | Wait | None = WAIT
            begun = at
            if self.bare_call is not None:
                landing, self.bare_call, escape = self.bare_call, None, at
                begun = self._find_blank(at)  # a mark may yet be found that has layout before it
            elif escape != MORE:  # else it may be the beginning of a mark that has layout before it
                landing = self._find_beyond(at, escape, final) if escape > at else self._find_shown(at, final)
            if isinstance(landing, Landing) and self._stands_for_itself(landing.rule, at):
                landing = None
            landing = self._find_longer(landing, at, final) if isinstance(landing, Landing) else landing
            if isinstance(landing, Landing) and self._is_late(landing, at):
                landing = self._find_going_on(at, final) or landing
            quoted = self._find_quote_end(landing, at, final) if isinstance(landing, Landing) else at
            if quoted > at:
                self._emit_text(self._find_blank(quoted))
                self.scan = quoted
                continue
            if isinstance(landing, Wait) or quoted == MORE:
                self._emit_text(self._find_blank(at))
                self.scan = begun
                if isinstance(landing, Wait):
                    self._await(landing)
                elif landing and landing.end < len(self.buffer) and self.fence.read(self.buffer[self.at :]).code:
                    # What follows the code that is open tells what a call is.
                    self.until, self.patience = CODE_SIGNS, HELD_CALL
                return False
            if landing and self._is_late(landing, at):
                self.doubt, self.beyond = at if self.doubt < 0 else self.doubt, landing.end
                self.scan = at + 1
                continue
            interrupts = self.spot.kind == "reasoning" and self.policy.interrupts != "call"
            if landing is None and interrupts and self.buffer.startswith(tuple(self.plan.opening_marks), at):
                landing = Landing(at, self.plan.spot(TURN, (AFTER,), self.may_call), INTERRUPTED)
            called = landing is not None and self.doubt >= 0 and self._calls_between(self.doubt, at)
            if called or (self.doubt >= 0 and escape <= at and self._lacks_quote(landing, at)):
                return self._end_late(final)
            if landing:
                self._leave_text(landing, at)
                return True
            if final and self._ends_in_half(at):
                return self.doubt >= 0 and self._end_late(True)
            self._look_at_text(at)
            self._take_escape(at, escape)

    def _find_bare_call(self, at: int, final: bool) -> Landing | Wait | None:
        """Whether a call begins where a line or the answer does, without the mark that begins calls: a tool is named there behind
        nothing but signs and words of the format."""
        spot, alone = self.spot, self.fresh and skip_blank(self.buffer, self.at) == at and self.spot.kind == "content"
        known = self.seeks_names and self.tries and (self.may_call or alone)
        wrapped = spot.shown and not self.odd and (spot.holds or (self.plan.wraps_content and spot.kind == "content"))
        if not known or spot.silent or wrapped or at >= len(self.buffer):  # what is wrapped has an end before a call
            return None
        if self.buffer[at] in "`~" or not may_lead(self.buffer, at, self.names, self.any_name, self.plan.notation.words):
            return None
        if _DATA.match(self.buffer, at) or self._is_sample(at):
            return None  # code and JSON are looked at by rules of their own
        found = self._look_for_name(BARE_CALL, at, final)
        return self._check_bare_call(found, at, final) if found else None

    def _check_bare_call(self, found: Landing | Wait, at: int, final: bool) -> Landing | Wait | None:
        """Return what was found at a place where a line begins, if no rule leads anywhere from there or before the name in it."""
        name = self.any_name.search(self.buffer, at)
        end, place = name.start() if name else len(self.buffer), self._find_blank(at)  # a mark may have layout before it
        if self.led_from is self.spot and self.led_nowhere > at + self.gone:
            place = self._find_next_sign(self.led_nowhere - self.gone, end)
        while place >= 0:
            own = self._find_landing(self.spot, place, False)  # also one that the end of the output cuts off
            if own is not None:
                return own if isinstance(own, Wait) and not final else None
            self.led_from, self.led_nowhere = self.spot, place + 1 + self.gone
            place = at if place < at else self._find_next_sign(place + 1, end)
        return found

    def _find_next_sign(self, at: int, end: int) -> int:
        """Return the next place between two others at which a rule may begin; NO where none is."""
        sign = self.spot.pattern.search(self.buffer, at, end)
        return sign.start() if sign else NO

    def _find_line(self, end: int, final: bool) -> int:
        """Return the next place before another one where a line begins that may be a call without a mark; NO where none does."""
        if not self.seeks_names or self.spot.kind not in ("content", "reasoning"):
            return NO
        worded = self.fresh and self.spot.kind == "reasoning" and self.buffer[self.scan : self.scan + 1].isalnum()
        begins = not worded and self._begins_line(self.scan)  # a thought begins with words
        line = self.scan if begins else self.buffer.find("\n", self.scan, end)
        while line >= 0:
            place = skip_blank(self.buffer, line)
            self.bare_call = self._find_bare_call(place, final)
            if self.bare_call is not None:
                return place
            line = self.buffer.find("\n", place, end)
        return NO

    def _find_sign(self, final: bool) -> int:
        """Return the next place at which a rule or an escape may begin; where there is none the text is emitted."""
        found, size = self.spot.pattern.search(self.buffer, self.scan), len(self.buffer)
        line = self._find_line(found.start() if found else size, final)
        if line >= 0:
            return line
        if found and (final or found.end() < size or not found[0].isspace()):
            return found.start() if not found[0].isspace() else max(found.start(), found.end() - SHORT)  # a flood of line breaks
        if not final or (self.doubt < 0 and self.spot.kind != "value"):  # of a value, layout before what ends it may be left
            self._emit_text(found.start() if found else size)
        return NO

    def _find_going_on(self, at: int, final: bool) -> Landing | Wait | None:
        """Return where a text ends behind which the call goes on, however that is written."""
        for rule in self.spot.rules:
            if rule.guard == "rest" and (found := self._try_rule(rule, at, final, self.spot)):
                return found
        return None

    def _ends_in_half(self, at: int) -> bool:
        """Whether the output ends within a mark that begins at a place, which is no text."""
        if self.spot.kind == "content" and (self._is_half_end(at) or self._is_half_mark(at)):
            self._emit_text(at)
            self.at = self.scan = len(self.buffer)
            return True
        if self.spot.kind != "value" or not isinstance(self._find_landing(self.spot, at, False), Wait):
            return False
        rest = self.buffer[at:]  # of layout alone, what only a recovery would have behind it is the value's own
        shown = (rule.constant.text for rule in self._fill(self.spot.rules) if not rule.recovery)
        half = not rest.isspace() or any(text.startswith(rest) for text in shown)
        ends = half and self._find_last_end(at + 1) is None
        self.scan = at if ends else self.scan
        return ends

    def _find_shown(self, at: int, final: bool) -> Landing | Wait | None:
        """Return where the best rule leads; a mark that a template writes behind layout comes before what has none, and before
        what no render shows, and so does one that leads to a further argument."""
        landing = self._find_crossing(at, final) or self._find_landing(self.spot, at, final)
        if not isinstance(landing, Landing) or (landing.rule.constant.firm and not landing.rule.recovery):
            return landing
        bare = skip_blank(self.buffer, at)
        if bare == at:
            return landing
        behind = self._find_landing(self.spot, bare, final)
        if isinstance(behind, Wait):
            return behind
        goes_on = behind is not None and behind.rule.kind == "key" and behind.rule.is_shown
        if behind is None or (behind.rule.recovery and not goes_on):
            return landing
        return None if landing.rule.recovery or behind.rule.constant.firm else landing

    def _find_beyond(self, at: int, escape: int, final: bool) -> Landing | Wait | None:
        """Return where a longer text leads that a template writes and that begins as an escape does, which ends at a place."""
        written = self.buffer[at:escape]
        if not self.spot.goes_beyond(written):
            return None
        landing = self._find_best(at, final)
        if not isinstance(landing, Landing):
            return landing
        longer = not landing.rule.recovery and landing.rule.constant.text.startswith(written)
        return landing if longer and len(landing.rule.constant.text) > len(written) else None

    def _is_half_mark(self, at: int) -> bool:
        """Whether the output ends within a mark that begins calls, and no sentence speaks of it."""
        if len(self.buffer) - at > _LONGEST_MARK:
            return False
        rest = self.buffer[at:]
        if not (is_firm(rest) and any(mark.startswith(rest) for mark in self.plan.beginnings)):
            return False
        alone = self.may_call and not (self.mentioned or self._is_sample(at))
        cut = self.policy.recover and alone and self._may_end_at(at)
        if cut:
            self._note(CUT_MARK, at)
        return cut or self.policy.markup == "drop"

    def _is_half_end(self, at: int) -> bool:
        """Whether the output ends within the mark that is missing at the end of the call before."""
        marks, rest = self.plan.call_ends, self.buffer[at:]
        if marks is None or not self.owed or rest.isalnum() or rest[0] in "`~":  # that ends code around the call
            return False
        return self._is_fresh(at) and marks.may_begin(rest)

    def _look_at_text(self, at: int) -> None:
        """Remember of a place at which no rule matches what later ones ask of the text before them."""
        if self.spot.kind == "value":
            self.nested = self.nested or self.buffer.startswith(self.spot.openings, at)
            return
        if self.buffer[at] in "`~":
            self._emit_text(self._find_blank(at))  # no later place looks again at the code that is open before this one
        begins = self.spot.kind == "content" and self.buffer.startswith(self.plan.beginnings, at)
        self.mentioned = self.mentioned or begins
        self.shows_tokens = self.shows_tokens or self.buffer.startswith(TOKEN_STARTS, at)
        self.sampled = self.sampled or self.buffer.startswith(tuple(self.plan.others), at)

    def _leave_text(self, landing: Landing, at: int) -> None:
        """End the text at a place, and go where a rule leads from there."""
        constant = (landing.closer or landing.rule).constant
        led = self.buffer[at : at + 1].isspace()  # then the layout before it stands here
        start = constant.take_lead(self.buffer, self.at, at) if constant.firm and not led else at
        if landing.rule.recovery and not landing.rule.is_shown and self.buffer.startswith(" ", start):
            start = at  # a blank waits for no recovery: where the output comes in pieces it has been handed on
        if self.spot.kind == "value" and landing.rule.recovery == UNENDED:
            blank = self._find_blank(start)
            start = blank if self.spot.units.bars(self.buffer[blank:start]) else start  # as a text would have it otherwise
        self._end_text(start)
        self._apply(landing, start)

    def _end_late(self, final: bool) -> bool:
        """End a value whose end has not come at the first place where the call ends; not where more of the output may tell."""
        found = self._find_last_end(self.doubt)
        self.doubt = -1
        if found:
            self._leave_text(*found)
        return found is not None

    def _find_last_end(self, at: int) -> tuple[Landing, int] | None:
        """Return where the first rule leads that matches from a place on where the output has ended, and at which place it does."""
        while found := self.spot.pattern.search(self.buffer, at):
            at = max(found.start(), found.end() - SHORT) if found[0].isspace() else found.start()
            landing = self._find_landing(self.spot, at, True)
            if isinstance(landing, Landing):
                return landing, at
            at += 1
        return None

    def _calls_between(self, start: int, end: int) -> bool:
        """Whether a mark begins the call of a tool of the request between two places, with what ends a text at the first."""
        own = self.plan.get_end(self.spot.nodes[0])
        if not (own and self.buffer.startswith(own, start)):
            return False
        spot = self.plan.spot(TURN, (GAP,), self.may_call)
        places = (self.buffer.find(mark, start, end) for mark in (*self.plan.opening_marks, *self.plan.opening_lines))
        around = (place + step for place in places if place > start for step in (-1, 0, 1))
        landings = (self._find_landing(spot, each, True) for each in around)
        return any(isinstance(each, Landing) and each.calls and each.find("name") in self.names for each in landings)

    def _lacks_quote(self, landing: Landing | None, at: int) -> bool:
        """Whether the quote of a text is missing before an argument that may begin in it: what ends it at a place lacks one, or a
        quote stands there that does not end it, and is no part of it or begins the value of such an argument."""
        quote = self.plan.get_quote(self.spot.nodes[0])
        opens = landing is None and quote != "" and self.buffer.startswith(quote, at)
        if not (opens or (landing and landing.rule.recovery == UNENDED)):
            return False
        found = self._find_last_end(self.doubt)
        if found is None or found[0].rule.guard != "unquoted":
            return False
        return not opens or self.spot.units.bars(quote) or self.beyond == at + len(quote)

    def _await(self, wait: Wait) -> None:
        """Note what may come next without anything being decided by it."""
        self.until, self.patience = wait.until, wait.held or SHORT
        self.awaited = wait.text if self.until else wait.text[:-1]

    def _take_escape(self, at: int, end: int) -> None:
        """Read the escape between two places, or take the character for itself where there is none."""
        self.scan = max(end, at + 1)
        if end > at and not self.holding:
            self._emit_text(at)
            if self.at == at:  # else it waits with the text before it
                self._emit(self.spot.units.read(self.buffer, at, True)[1])
                self.at = self.scan = end

    def _take_start(self, final: bool) -> bool:
        """Read the escape that stands only where a text begins; returns whether it has come whole, or is not there."""
        end, char = self.spot.units.read_start(self.buffer, self.at, final)
        if end >= 0:
            self._hold_no_more()
            self.at, self.scan, self.fresh = end, max(self.scan, end), False
            self._emit(char)
        return end != MORE

    def _hold_no_more(self) -> None:
        """Take a value that is held for a text."""
        if self.holding:
            self.holding = False
            self.writer.arguments('"')

    def _emit_text(self, end: int) -> None:
        """Emit the text up to a place, if it need not wait: white space at the beginning does until something visible follows, a
        value for its end while that may tell its type."""
        self.scan = max(self.scan, end)
        if self.doubt >= 0:
            self.doubt = self.doubt if end - self.doubt <= HELD else -1
            end = end if self.doubt < 0 else self._find_blank(self.doubt)
        bare = self.holding and self.streaming and end > self.at and self.buffer[self.at] not in self.plan.inner_quotes
        if self.holding and end - self.at <= HELD and not bare:
            return
        self._hold_no_more()  # without quotes it is text, and so long a value is, whatever its type was to be
        text = self.buffer[max(self.at, self.mute) : end]
        if self.fresh and self.spot.kind in ("content", "reasoning"):
            if not text or text.isspace():
                return
            if self.rejoined and self.spot.kind == "reasoning":
                self._emit(JOINT)
            self.fresh = self.rejoined = False
        if text:
            self._emit(self.spot.units.decode(text))
        self.at = end
        self.mute = self.mute if end < self.mute else 0

    def _emit(self, text: str) -> None:
        if self.spot.kind == "value":
            self.writer.arguments(escape_json(text))
        elif not self.spot.silent:
            self.fence, self.before = self.fence.read(text), self._join_before(text)
            self.writer.text("reasoning" if self.spot.kind == "reasoning" else "content", text)

    def _may_quote(self) -> bool:
        """Whether a text may stand in the quotes that texts in lists have, though the template writes none around it."""
        return bool(self.plan.inner_quotes) and self.policy.recover and not self.frames

    def _may_be_json(self) -> bool:
        """Whether a value is JSON, though it may be a string, because its schema does not say that it is one."""
        return self.spot.told and not self.wanted.says_string

    def _convert(self, end: int) -> str:
        """Return the JSON of the value that was held, up to a place."""
        raw = self.buffer[self.at : end]
        quoted = read_literal(raw, 0) if raw[:1] in self.plan.inner_quotes and self._may_quote() else None
        if quoted and quoted[0] == len(raw) and self.wanted.accepts(json.loads(quoted[1])):
            self._note("value in other notation", self.at)
            return quoted[1]
        typed = read_json(raw) if self._may_be_json() else None
        if typed and fits(typed[1], self.wanted.get_types()):
            return typed[0]
        if self.streaming or (self.policy.untyped == "text" and not self.wanted.get_types()):
            return encode_basestring(self.spot.units.decode(raw))
        read, mended = convert(raw, self.spot.nodes, self.wanted, self.policy.recover)
        if mended and read[0] in "[{ntf":
            self._note("value in other notation", self.at)
        elif read[0] != '"' and all(node.type == "string" for node in self.spot.nodes):
            self._note(UNTYPED, self.at)
        return read

    def _end_text(self, end: int) -> None:
        """Emit what is left of a text that ends at a place."""
        self.doubt = -1
        if self.holding:
            self.writer.arguments(self._convert(end))
            self.at = end
            return
        self._emit_text(end)
        if self.spot.kind == "value":
            self.writer.arguments('"')
