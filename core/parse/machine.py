"""A stream in, deltas out: one walk through the graph of a turn.

The parser stands in one *spot* at a time: a field of which it knows which nodes of the graph it may be. In a text, it looks
for the next place at which a rule of the spot may begin. There a rule matches, does not, or may when more has come; then the
text from that place on is held back. Where it matches, what is behind it must be what the rule leads to. Only then is it taken,
and never taken back. Everything else is text.

The parser is made of layers, each a class on the one before: what it remembers (``standing``), what stands around calls
(``around``) and anywhere (``look``), what is mistyped or may be a key (``likely``), names that stand otherwise
(``odd_names``), names, ids and keys (``short``), calls that are shown or thought of (``drafts``), texts (``texts``), JSON that
is handed on (``passing``), values (``values``), what is behind fields and calls told by their shape (``behind``), and here the
way through all of them. What is written as JSON lives in the writer, what the format says in the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from ..delta import Delta
from ..errors import AutoparserError
from ..format.cut import find_common_start
from ..plan.constants import is_firm, skip_blank
from ..plan.ends import SHORT_END
from ..plan.guards import SHAPES
from ..plan.landmarks import AFTER, GAP, NAMED_FIELDS, TURN
from ..plan.plan import LATE_END, OPEN_REASONING, Plan
from ..plan.spots import Spot, Wait
from ..plan.thoughts import OPENED_AGAIN
from ..recover import Policy
from ..schema import ToolSet
from .behind import BehindFields
from .fence import Fence
from .landing import Landing
from .lexer import JsonLexer
from .names import SHORT

_HALF: Final = 16  # so much of what may be half a mark is looked at again with the next piece before anything else
_make: Final = tuple.__new__  # what a Delta's own constructor, a third of the cost of a piece of text, calls in the end
TRIM: Final = 8192  # so much of the buffer may be behind the parser


class ClosedParserError(AutoparserError):
    """A parser was fed after its end."""


class Machine(BehindFields):
    """Reads one generation; see the module's text."""

    def __init__(self, plan: Plan, tools: ToolSet | None, start: Spot, policy: Policy) -> None:
        super().__init__(plan, tools, start, policy)
        self.closed = False
        self._quick: Callable[[str], re.Match[str] | None] | None = None
        self._skipped = ""  # the last piece that was handed on without a look, if that came last
        self._passing: JsonLexer | None = None  # reads JSON that is handed on as it comes
        self._quick_kind: Literal["reasoning", "content", "tool_call"] = "content"
        self._quick_index: int | None = None

    # Feeding -------------------------------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[Delta]:
        """Read a piece of the output."""
        if self._quick is not None and text:
            size = len(self.buffer)
            whole = self.buffer[self.at :] + text if self.at < size else text
            found = self._quick(whole)
            if found is None:
                self.gone, self.at, self.scan, self.awaited = self.gone + len(text), size, size, ""
                if self._passing is None:
                    self.before, self._skipped = self._join_before(whole), text
                return [_make(Delta, (self._quick_kind, whole, self._quick_index, None, None))]
            if found.end() == len(whole) and self._quick_kind != "tool_call":
                before = whole[: found.start()].rstrip()  # layout before a mark may belong to it
                if len(whole) - len(before) <= _HALF:
                    return self._hold_half(text, before)
        if self._passing is not None and text:
            if self._pass_piece(self._passing, text):
                self._quick = self._passing.signs.search if self._passing.plain and not self._passing.mends else None
                return [_make(Delta, ("tool_call", text, self._quick_index, None, None))]
        elif self._is_awaited(text) or self._is_more_blank(text):
            self.buffer += text
            return []
        else:
            if self.closed:
                raise ClosedParserError("feeding a parser that was finished: make a new one for each generation")
            if self._skipped:
                self._trim(self._skipped[-1])
            self.buffer += text
        self.awaited, self.until = "", None
        self._run_safely(False)
        if self.at > TRIM and (self.writer.call is None or self.writer.call.name is not None):
            self._trim(self.buffer[self.at - 1])
        self._quick = self._find_quick()
        return self.writer.take()

    def _is_more_blank(self, text: str) -> bool:
        """Whether a piece is white space behind so much of it that is held back that more of it decides nothing."""
        size = len(self.buffer)
        return size - self.at > 2 * SHORT and text.isspace() and self.buffer[-SHORT:].isspace() and not self.closed

    def _hold_half(self, text: str, before: str) -> list[Delta]:
        """Take a piece that ends with what may be half a mark; hand on what stands ``before`` that."""
        if self._skipped:
            self._trim(self._skipped[-1])
        self.buffer, self.awaited = self.buffer + text, ""
        if not before:
            return []
        self.at += len(before)
        self.scan, self.before = self.at, self._join_before(before)
        if self.at > TRIM:
            self._trim(self.buffer[self.at - 1])
        return [Delta(self._quick_kind, before, self._quick_index)]

    def _is_awaited(self, text: str) -> bool:
        """Whether a piece decides nothing: it is what is awaited, or has nothing in it that may end what is held back."""
        awaited = self.awaited
        if awaited and awaited.startswith(text):
            self.awaited = awaited[len(text) :]
            return True
        if self.until is None or not text.startswith(awaited) or len(self.buffer) - self.at >= self.patience:
            return False
        if self.until.search(text, len(awaited)) is not None:
            return False
        self.awaited = ""
        return True

    def _find_quick(self) -> Callable[[str], re.Match[str] | None] | None:
        """Return what finds a place in the next piece, behind what is held back of a text, that may matter: without one both are
        handed on as they are. None where each piece has to be looked at."""
        self._passing = None
        held = len(self.buffer) - self.at
        if self.fresh or self.begins or self.starts or self.behind or self.trail or held > _HALF:
            return None
        if held and (self.shape is not None or self.lexer is not None or self.until is not None or self.mute or self.doubt >= 0):
            return None
        spot, call = self.spot, self.writer.call
        if spot.silent:
            return None
        if spot.kind == "content" or spot.kind == "reasoning":
            if self.fence.run or 0 < len(self.fence.opened) < 3 or (self.seeks_names and self._begins_line(self.at)):
                return None
            self._quick_kind, self._quick_index = spot.kind, None
            return spot.quick.search
        if call is None or not call.sent or held:
            return None
        self._quick_kind, self._quick_index = "tool_call", call.index
        if self.lexer is not None:
            if self.within or self.mending:
                return None
            self._passing = self.lexer
            return self.lexer.signs.search if self.lexer.plain and not self.lexer.mends else None
        return spot.quick.search if spot.kind == "value" and self.streaming and not self.holding else None

    def finish(self) -> list[Delta]:
        """Say that the output has ended."""
        if not self.closed:
            self.awaited, self.until = "", None
            self.closed, self._quick, self._passing = True, None, None
            self._run_safely(True)
        return self.writer.take()

    def _trim(self, before: str) -> None:
        """Drop what has been read from the buffer, but for the sign before what comes."""
        self._skipped, cut = "", self.at - len(before)
        self.buffer = before + self.buffer[self.at :]
        self.gone += cut
        self.mute = max(self.mute - cut, 0) if self.mute else 0
        self.doubt = self.doubt - cut if self.doubt >= 0 else -1
        self.beyond -= cut
        self.at, self.scan, self.began = len(before), max(self.scan - cut, len(before)), self.began - cut
        self.refused, self.formless = self.refused - cut, self.formless - cut

    def take_beginning(self) -> None:
        """Take what has come of the beginning of a turn for all of it: the prompt has written that, and the model goes on."""
        if self.spot.kind == "start" and self.at < len(self.buffer):
            landing = self._find_best(self.at, True)
            if isinstance(landing, Landing) and landing.rule.constant.core and landing.spot.kind != "end":
                self._apply(landing, self.at)
                self._run_safely(False)
        if self.spot.kind in ("content", "reasoning") and self.buffer[self.at :].isspace():
            self.at = self.scan = len(self.buffer)

    def _run_safely(self, final: bool) -> None:
        """Read on; a fault of the parser's own must not end a generation: then the rest is text."""
        try:
            while (self.at < len(self.buffer) or final or self.spot.kind == "start") and self._step(final):
                pass
            if final:
                self._end()
        except Exception:
            self._note("fault", self.at)
            self._give_up()

    def _give_up(self) -> None:
        """Hand on what is left as it stands: reasoning where it was being read, else content."""
        thinking = self.spot.kind == "reasoning"
        if self.writer.call is not None and self.writer.call.sent:
            self.writer.incomplete.add(self.writer.call.index)
        self.writer.call = None
        self.frames.clear()
        self.behind, self.holding, self.begins, self.trail = False, False, False, ""
        self.lexer, self.shape, self.late, self.scalar = None, None, None, None
        nodes = self.plan.list_nodes("reasoning") if thinking else (AFTER,)
        try:
            self.spot = self.plan.spot(TURN, nodes[:1], False)
        except Exception:
            self.spot = Spot(TURN, nodes[:1], ())  # in which nothing is looked for
        self.writer.text("reasoning" if thinking else "content", self.buffer[self.at :])
        self.at = self.scan = len(self.buffer)

    def _step(self, final: bool) -> bool:
        """Go on as far as one decision leads; returns whether there may be another one."""
        self.followed.clear()
        if self.shape is not None:
            return self._step_shape(final)
        if self.trail and not self._take_trail(final):
            return False
        if self.lexer is not None:
            return self._step_json(final)
        if self.behind:
            return self._step_behind(final)
        kind = self.spot.kind
        if kind == "end":
            return False
        if kind == "start":
            return self._step_start(final)
        if kind in ("content", "reasoning"):
            return self._step_text(final)
        if kind == "arguments":
            return self._start_json(final)
        return self._step_value(final)

    def _take_trail(self, final: bool) -> bool:
        """Take the layout behind a rule, as far as it is there."""
        size = find_common_start(self.trail, self.buffer[self.at : self.at + len(self.trail)])
        self.at += size
        self.scan = max(self.scan, self.at)
        self.trail = self.trail[size:] if self.at == len(self.buffer) and not final else ""
        return not self.trail

    # Going on ------------------------------------------------------------------------------------------------------------

    def _step_start(self, final: bool) -> bool:
        """Find out what a turn begins with."""
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer) and not final:
            return False
        best = self._find_best(self.at, final)
        if best is None or isinstance(best, Landing):
            best = self._find_longer(best, at, final) if best else self._find_like(self.spot.rules, at, final)
        if isinstance(best, Wait):
            return self._go(best)
        if final and is_firm(self.buffer[at:]) and (best is None or best.rule.recovery or not best.rule.constant.core):
            heads = [rule for rule in self.spot.rules if rule.kind in ("content", "reasoning")]
            if self._breaks_off(heads, at):
                self.at = len(self.buffer)  # half of what an answer or a thought begins with is neither
                return False
        if best and (best.rule.constant.core or best.steps):
            return self._go(best)
        self._fall_back()
        return True

    def _fall_back(self) -> None:
        """Begin the turn with text."""
        rule = self.spot.fallback
        targets = rule.targets if rule else self.plan.list_nodes("content") or (GAP,)
        self.spot = self.plan.spot(TURN, targets, self.may_call)
        self.odd = rule is None or rule.constant.core != ""
        self.trail = rule.constant.text if rule and not rule.constant.core else self.trail
        self.scan = self.at

    def _apply(self, landing: Landing, start: int) -> None:
        """Go where a rule leads; ``start`` is where the text before it ended."""
        self._flush_scalar()
        if landing.rule.guard in SHAPES:
            self._begin_shape(landing, start)
            return
        writer = self.writer
        if landing.rule.recovery:
            self._note(landing.rule.recovery, start)
            self.unclosed = landing.rule.recovery == OPEN_REASONING or (self.unclosed and landing.rule.recovery != LATE_END)
            self.rejoined = landing.rule.recovery == OPENED_AGAIN and self.ended_reasoning
        self.spelling = landing.rule.spelling if landing.rule.spelling or landing.rule.opens else self.spelling
        for _ in range(landing.pops):
            writer.close_container()
            _, self.schema, key = self.frames.pop()
            if writer.call is not None:
                writer.call.key = key
        self.behind, self.lexer, self.holding, self.begins, self.streaming = landing.behind, None, False, False, False
        if self._leaves_blank(landing) and not self.rejoined:
            writer.text("reasoning", self.plan.graph.blank)
        ended = self.spot.kind == "reasoning" and landing.spot.kind != "reasoning"
        if ended:
            self.ended_reasoning, self.fence = True, Fence()
            # What ends it is none of the call, which may turn out to be text.
            begin, closes = skip_blank(self.buffer, start), (*self.plan.reasoning_ends, self.plan.reasoning_end.strip())
            start = next((begin + len(close) for close in closes if close and self.buffer.startswith(close, begin)), start)
        told = bool(landing.steps) and landing.steps[0].kind in NAMED_FIELDS  # of the call before, to which all this text belongs
        for step in landing.steps:
            self._take_step(step, landing.end if told and step.kind == "open" else start)
        writer.settle()
        self.fence = Fence() if landing.rule.guard == "unfenced" else self.fence
        self.odd = bool(landing.rule.recovery) and not landing.rule.is_shown
        self.owed = landing.rule.closes and landing.rule.recovery == SHORT_END
        self.spot = landing.spot
        if self.unclosed and landing.spot.kind == "content":
            self.spot = self.plan.spot(TURN, landing.spot.nodes, self.may_call, True)
        self.at = self.scan = landing.end
        self.mute = 0
        self.trail = landing.trail
        begins = self.fresh or ended or bool(landing.rule.constant.core or landing.steps)  # else it is the same text that goes on
        self.fresh = begins and landing.spot.kind in ("content", "reasoning")
        self.before = "" if self.fresh else self.before
        if landing.spot.kind == "value" and not landing.behind:
            self._begin_value()

    def _leaves_blank(self, landing: Landing) -> bool:
        """Whether reasoning ends here that has nothing in it."""
        if self.spot.kind == "reasoning":
            return self.fresh and landing.spot.kind != "reasoning"
        begins = self.spot.kind == "start" and self.spot.graph == TURN
        return begins and landing.rule.constant.text in self.plan.blank_starts

    def _read_apart(self, text: str) -> str | None:
        reader = Machine(self.plan, self.tools, self.spot, self.policy)
        deltas = [*reader.feed(text), *reader.finish()]
        calls = any(delta.kind == "tool_call" for delta in deltas)
        return "".join(delta.text for delta in deltas if delta.kind == "content") if calls else None

    # Ends ----------------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Emit what was held back."""
        rest = self.buffer[max(self.at, self.mute) :]
        call = self.writer.call
        if call is not None:
            if call.name is None:
                self.writer.call = None
                self.writer.text("content", self.buffer[call.place - self.gone : self.at] + rest)
            else:
                cut = self.spot.kind == "value" and not self.behind and self.lexer is None
                complete, ended = self._cut_value() if cut else (False, self.behind or not (call.levels or self.lexer))
                if ended and not complete and self._has_all():
                    complete = True
                    self._note(SHORT_END, self.at)
                if self.mending:
                    self.scan = len(self.buffer)
                    self._flush_json(cut=True)
                self._close_call(complete)
        elif rest.strip() or not (self.fresh and self.writer.wrote):
            self._emit(rest)
        self.at = len(self.buffer)
