"""Calls that are told by their shape, or by the tools and parameters that they name: they are taken whole, or are text."""

from __future__ import annotations

import re

from ..format.units import MORE, NO
from ..plan.ends import Marks
from ..plan.landmarks import SHAPE, TURN
from ..plan.openings import FENCED_CALL
from ..plan.rules import OF_FIELDS
from ..recover import Begun, find_tool_in, repair
from .fence import Fence
from .landing import Landing, Step
from .names import OTHER_LETTERS, WITH_PREFIX
from .shape import Fields, Shape
from .values import ValueReader

_CLOSERS = re.compile(r"[)\]}\s]{1,16}")


class ShapedReader(ValueReader):
    """Looks at what may be such calls until that is told."""

    def _take_step(self, step: Step, start: int) -> None:
        """Do one step of what a rule leads to; ``start`` is where that begins."""
        writer = self.writer
        if step.kind == "close":
            self._close_call()
        elif step.kind == "open":
            writer.open_call(self.plan.id_behind, step.text)
            self.anchor = start
        elif step.kind == "fence":
            self._note(FENCED_CALL, start)
            self.fence = Fence(step.text, dressed=True)
        elif writer.call is None:
            return
        elif step.kind == "key":
            writer.call.keys.append(step.text)
        elif step.kind == "id" and writer.call.id is None:
            writer.call.id = step.text
        elif step.kind == "name" and writer.call.name is None:
            writer.call.name = find_tool_in(step.text, self.tools) if self.policy.recover else step.text
            self.anchor = -1
            if writer.call.name != step.text:
                self._note(WITH_PREFIX if writer.call.name in step.text else OTHER_LETTERS, start)

    def _begin_shape(self, landing: Landing, start: int) -> None:
        """Look at what may be calls, from where the text before it ended; white space that waits for a text goes on waiting."""
        start = self.at if self.fresh and self.buffer[self.at : start].isspace() else start
        stops = tuple(filter(None, map(str.strip, (*self.plan.stops, self.plan.turn_end))))
        if landing.rule.guard not in OF_FIELDS:
            self.shape = Shape(landing, start, self.spot, stops, self.plan.bare_calls)
        else:
            closing = next((step.text for step in landing.steps if step.kind == "wrap"), "")
            ends = Marks.find((closing,), stops) if closing else self.plan.field_ends
            self.shape = Fields(landing.end - start, self.spot, self.plan.notation, ends, self.plan.last_ends, landing.fence)
        self.at, self.scan, self.spot = start, landing.end, landing.spot

    def _begin_rest(self, final: bool) -> bool | None:
        """Look at what stands behind a field of a call for further arguments; whether there are any, None where more may tell."""
        begun = self._find_begun()
        if begun is None or self.at == self.refused or not (self.tries and self._closes_frames(final)):
            return False
        named = self._names_rest(self.at, final)
        if named:
            self.shape = self._look_for_rest(begun)
        return named

    def _look_for_rest(self, begun: Begun) -> Fields:
        return Fields(0, self.spot, self.plan.notation, self.plan.field_ends, self.plan.last_ends, begun=begun)

    def _closes_frames(self, final: bool) -> bool:
        """Whether brackets stand at the place that may end all lists and objects that are open, or may still come."""
        found = _CLOSERS.match(self.buffer, self.at)
        closed = sum(map(found[0].count, ")]}")) if found else 0
        end = found.end() if found else self.at
        return closed >= len(self.frames) or (not final and end == len(self.buffer))

    def _end_late(self) -> bool:
        """End a value as all texts end, or where nothing but further arguments of the call follows the first place for that."""
        own, at = self.plan.get_end(self.spot.nodes[0]), self.doubt
        begun, end = self._find_begun(), at + len(own)
        if begun is None or self.frames or not (own and self.buffer.startswith(own, at)):
            return super()._end_late()
        rest = self._look_for_rest(begun)
        over = rest.read(self.buffer, end, True, self.tools, self.plan.envelope)
        if over < 0:
            return super()._end_late()
        self._end_text(at)
        self.at, self.doubt = end, -1
        self._take_calls(rest, over)
        return True

    def _step_shape(self, final: bool) -> bool:
        """Take the calls that are found; without any the text is read as if it had never been looked at."""
        shape, place = self.shape, self.at
        assert shape
        end = shape.read(self.buffer, place, final, self.tools, self.plan.envelope)
        if end == MORE:
            return False
        self.shape, self.spot = None, shape.left
        unknown = self.known_only and self.tools is not None and any(call.name not in self.tools for call in shape.calls)
        if end == NO or unknown:
            self.tries -= 1
            self.begun = self.begun or not shape.whole
            if isinstance(shape, Fields):
                self.refused, self.scan = place + shape.ahead, place
            else:
                self.formless, self.scan = place + shape.ahead, place
            return True
        self._take_calls(shape, end)
        return True

    def _take_calls(self, shape: Shape | Fields, end: int) -> None:
        """Emit what was found up to a place: the rest of the call that is open, if that is looked for, and calls."""
        place = self.at
        if isinstance(shape, Fields) and shape.begun:
            self.writer.members(shape.calls.pop(0).arguments)
        self._close_call()
        if shape.fence:
            self._take_step(Step("fence", shape.fence), place)
        for call in shape.calls:
            self.writer.open_call(False)
            if call.id:
                self._take_step(Step("id", call.id), place)
            self._take_step(Step("name", call.name), place)
            mended = repair(call.arguments) if self.policy.repair else None
            self.writer.arguments(mended or call.arguments)
            self.writer.close_call()
        self.fresh, self.behind = True, False
        self._note(shape.recovery, place)
        self.at = self.scan = end
        self.spot = self.plan.spot(TURN, (SHAPE,), self.may_call)
