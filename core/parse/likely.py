"""What is like a text of the format, and taken for it where nothing else stands: behind fields and calls, and as a line."""

from __future__ import annotations

from collections.abc import Iterable

from ..format.units import MORE
from ..plan.constants import skip_blank
from ..plan.landmarks import TURN
from ..plan.mistyped import SPARE, find_like, may_be_like
from ..plan.rules import WAIT, Rule, Spot, Wait
from .landing import Landing
from .look import Lookahead


class Likely(Lookahead):
    """Looks for what a model has mistyped that is no mark."""

    def _try_like(self, rule: Rule, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        """Return where a line leads that begins as a rule says and is like what ends this field."""
        begins = rule.constant.match_exactly(self.buffer, at, final)
        if begins < 0:
            return WAIT if begins == MORE else None
        found = self._find_like(spot.likely, at, final)
        stands = not isinstance(found, Landing) or self._stands_well(found.rule, skip_blank(self.buffer, at), spot)
        return found if stands else None

    def _find_like(self, rules: Iterable[Rule], at: int, final: bool, ends: Iterable[str] = ()) -> Landing | Wait | None:
        """Return where what stands at a place leads, behind layout, if it is like the text of one of some rules: the longest.

        ``ends`` are texts that the rules begin with, and that stand before the place.
        """
        at = skip_blank(self.buffer, at)
        if not self.policy.recover or self.frames or at == len(self.buffer):
            return None
        wait, found = False, list[Landing]()
        for rule in (rule for rule in rules if not (rule.recovery or rule.guard or rule.constant.echoes)):
            meant = rule.constant.text
            for end in ends:
                meant = meant.removeprefix(end)
            meant = meant.strip()
            size = len(meant) + SPARE
            begun = self.buffer[at : at + size]
            if begun.startswith(meant):
                continue  # then it is that text itself
            if len(begun) < size and not final:
                wait = wait or may_be_like(begun, meant)
            elif like := find_like(begun, meant):
                landing = self._land_like(rule.mistype(), at + like, final)
                wait = wait or isinstance(landing, Wait)
                found += [landing] if isinstance(landing, Landing) else []
        return WAIT if wait else max(found, key=lambda landing: len(landing.rule.constant.text), default=None)

    def _land_like(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Return where a rule leads whose text is nearly what ends at a place; what ends a turn has nothing behind it."""
        if rule.kind != "end":
            return self._land(rule, end, rule.constant.trail, final, TURN)
        last = skip_blank(self.buffer, end) == len(self.buffer)
        return Landing(end, self.plan.behind(rule, TURN, self.may_call), rule) if last and final else WAIT if last else None
