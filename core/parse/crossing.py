"""The quick way from one value of a call to the next, where that is written as templates write it."""

from __future__ import annotations

from ..format.units import MORE, NO
from ..plan.constants import skip_blank
from ..plan.crossings import Crossed
from ..plan.rules import Rule
from ..plan.spots import WAIT, Spot, Wait
from .drafts import Drafts
from .landing import Landing, Step
from .look import POPS
from .writer import Call


class Crossings(Drafts):
    """Looks for what parts two values before anything else is asked of a place."""

    def _find_crossing(self, at: int, final: bool, spot: Spot | None = None) -> Landing | Wait | None:
        """Return where one lands before the next value, if what parts it from the one that is being read, or was, stands at a
        place to the letter, with a parameter that has not come; or that more of it may; None where other looks have to tell.
        It is told by the spot in which the parser stands, unless another one is given."""
        spot, call = spot or self.spot, self.writer.call
        if final or call is None or call.name is None:
            return None
        return self._cross_inside(spot, at, 0) if self.frames else self._cross_arguments(call, spot, at)

    def _cross_arguments(self, call: Call, spot: Spot, at: int) -> Landing | Wait | None:
        """The same between two arguments, the first of which was read in a spot."""
        if spot.kind != "value" or spot.repeats_key:
            return None
        for crossing in self.plan.list_crossings(spot):
            found = crossing.find(self.buffer, at, self._find_word)
            if isinstance(found, Wait):
                return found
            if found:
                return self._cross(call, spot, found)
        return None

    def _cross(self, call: Call, spot: Spot, found: Crossed) -> Landing | Wait | None:
        declared = self._list_declared(call.name)
        if found.key not in declared or found.key in call.given or self._list_odd(call.name):
            return None
        doubtful = found.way.list_doubtful(self._find_parameter(call.name, found.key).get_types())
        begin = skip_blank(self.buffer, found.end)
        if doubtful is None or begin == len(self.buffer):
            return None if doubtful is None else WAIT
        return None if self.buffer[begin] in doubtful else self._land_at_value(spot, found)

    def _cross_inside(self, spot: Spot, at: int, left: int) -> Landing | Wait | None:
        """The same within lists and objects, so many of which were ``left`` on the way to the place."""
        for shown, crossing in self.plan.list_inner_crossings(spot):
            landing: Landing | Wait | None
            if crossing is not None:
                found = crossing.find(self.buffer, at, self._find_word)
                landing = self._land_at_value(spot, found) if isinstance(found, Crossed) else found
            else:
                rule = shown.fill(self._find_word)
                landing = self._cross_by(spot, rule, at, left) if rule else None
            if landing is not None:
                return landing
        return None

    def _cross_by(self, spot: Spot, rule: Rule, at: int, left: int) -> Landing | Wait | None:
        """The same by one rule, which leads to an item, or ends the list or the object."""
        text = rule.constant.text
        if not self.buffer.startswith(text, at):
            return Wait(text[len(self.buffer) - at :]) if text.startswith(self.buffer[at:]) else None
        if rule.kind != "end":
            return self._check_value(Landing(at + len(text), self.plan.behind(rule, spot.graph, self.may_call), rule))
        landing = self._cross_end(rule, at + len(text), left)
        untold = spot.kind == "start" and not text  # nothing tells that the list or the object is empty
        return None if untold and isinstance(landing, Landing) and not landing.rule.constant.core else landing

    def _cross_end(self, rule: Rule, end: int, left: int) -> Landing | Wait | None:
        """Leave a list or an object; of many that end at once, behind some of them."""
        frame, left = self.frames[-1 - left], left + 1
        if left == POPS:
            return Landing(end, frame.spot, rule, pops=1, behind=True, closer=rule)
        before, self._key = self._key, frame.key
        if left < len(self.frames):
            landing = self._cross_inside(frame.spot, end, left)
        else:
            assert self.writer.call
            landing = self._cross_arguments(self.writer.call, frame.spot, end)
        self._key = before
        return landing.leave(rule) if isinstance(landing, Landing) else landing

    def _land_at_value(self, spot: Spot, found: Crossed) -> Landing | Wait | None:
        behind = self.plan.behind(found.way.rule, spot.graph, self.may_call)
        return self._check_value(Landing(found.end, behind, found.rule, steps=(Step("key", found.key),)))

    def _check_value(self, landing: Landing) -> Landing | Wait | None:
        """Return where a value begins, if what stands there may be one."""
        begins = self._match_value(landing, False)
        return WAIT if begins == MORE else None if begins == NO else landing
