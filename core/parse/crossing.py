"""The quick way from one value of a call to the next, where that is written as templates write it."""

from __future__ import annotations

from ..format.units import MORE, NO
from ..plan.constants import skip_blank
from ..plan.crossings import Crossed, Crossing
from ..plan.spots import WAIT, Wait
from .drafts import Drafts
from .landing import Landing, Step
from .writer import Call


class Crossings(Drafts):
    """Looks for what parts two values before anything else is asked of a place."""

    def _find_crossing(self, at: int, final: bool) -> Landing | Wait | None:
        """Return where one lands before the next value, if what parts it from the one that is being read, or was, stands at a
        place to the letter, with a parameter that has not come; or that more of it may; None where other looks have to tell."""
        spot, call = self.spot, self.writer.call
        if final or spot.kind != "value" or call is None or call.name is None or self.frames or spot.repeats_key:
            return None
        for crossing in self.plan.list_crossings(spot):
            found = crossing.find(self.buffer, at)
            if isinstance(found, Wait):
                return found
            if found:
                return self._cross(call, crossing, found)
        return None

    def _cross(self, call: Call, crossing: Crossing, found: Crossed) -> Landing | Wait | None:
        declared = self._list_declared(call.name)
        if found.key not in declared or found.key in call.given or self._list_odd(call.name):
            return None
        doubtful = found.way.list_doubtful(self._find_parameter(call.name, found.key).get_types())
        begin = skip_blank(self.buffer, found.end)
        if doubtful is None or begin == len(self.buffer):
            return None if doubtful is None else WAIT
        behind = self.plan.behind(found.way.rule, self.spot.graph, self.may_call)
        landing = Landing(found.end, behind, crossing.rule, steps=(Step("key", found.key),))
        begins = NO if self.buffer[begin] in doubtful else self._match_value(landing, False)
        return WAIT if begins == MORE else None if begins == NO else landing
