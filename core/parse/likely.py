"""What is like a text of the format, and taken for it where one is expected: behind fields and calls, and by lines and marks; and
what may be a key: its signs, what stands before it and behind it, and what the tool declares."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..format.units import MORE, NO, Units
from ..plan.constants import DATA, SIGNS, find_end, skip_blank
from ..plan.echoes import cut_echo
from ..plan.ends import MISSING
from ..plan.landmarks import FIELDS, QUOTES, TURN
from ..plan.mistyped import (
    HALF_MARK,
    LIKE,
    LONGEST_LIKE,
    MARK,
    find_like,
    find_marks,
    is_near,
    may_be_like,
    may_be_near,
    measure_like,
)
from ..plan.rules import Rule
from ..plan.scalars import fits
from ..plan.spots import WAIT, Spot, Wait
from .landing import Landing
from .look import Lookahead
from .names import EDGE, EDGE_BEHIND, KEY, SCALAR, WITHIN_ID, find_signs

_MORE_SIGNS: Final = re.compile(r"[^\w\s{}()\[\]<>\"'`,;:]{1,2}")
"""A sign too many at the end of a mark, if a line ends behind it as it does behind the mark."""


class Likely(Lookahead):
    """Looks for what a model has mistyped, and tells keys from what looks like one."""

    def _try_like(self, rule: Rule, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        """Return where that leads which begins as a rule says and is like what ends this field: marks, a text, or a line."""
        begins = rule.constant.match_exactly(self.buffer, at, final)
        if begins < 0:
            return WAIT if begins == MORE else None
        bare = skip_blank(self.buffer, at)
        if bare > at and any(not told.recovery for told in spot.narrow(spot.cut_window(self.buffer, bare))[0]):
            told = self._find_landing(spot, bare, final)
            if told is not None:  # what stands there to the letter is found behind the layout
                return told if isinstance(told, Wait) else None
        near = self._find_near(at, final, spot)
        line = self._is_fresh(at) or self._begins_line(at) or rule.constant.lead
        if near is not None or spot.kind in FIELDS or not (line or len(rule.constant.text) > LIKE):
            return near
        found = self._find_like(spot.likely, at, final)
        stands = not isinstance(found, Landing) or self._stands_well(found.rule, bare, spot)
        return found if stands else None

    def _find_near(self, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        """Return where marks at a place lead that are like those with which this field ends, if the rest of that is behind them."""
        found = MARK.match(self.buffer, at)
        if found is None:
            half = None if final else HALF_MARK.fullmatch(self.buffer, at)
            return WAIT if half and any(may_be_near(half[0], meant.mark) for meant in self._fill(spot.mistypable)) else None
        near = [meant for meant in self._fill(spot.mistypable) if found[0] == meant.mark or is_near(found[0], meant.mark)]
        if spot.nodes[0].kind == "content" and not self._is_fresh(at):
            near = [meant for meant in near if meant.ends_answers or (meant.opens and self._begins_line(at))]
        if not near:
            return None
        marks = find_marks(self.buffer, at, final)
        if not marks:
            return WAIT
        rules = filter(None, (meant.rewrite(marks, self.plan.texts) for meant in near))
        landings = (self._try_rule(rule, at, final, spot) for rule in rules)
        return next((landing for landing in landings if landing is not None), None)

    def _find_longer(self, landing: Landing, at: int, final: bool) -> Landing | Wait:
        """Return where a longer text leads that begins as the one that was found at a place before a text does, and goes on like
        what stands there; else where that one leads. Where a text begins without a mark, a call that does comes first."""
        core, at = landing.rule.constant.core, skip_blank(self.buffer, at)
        if landing.rule.kind not in ("content", "reasoning") or landing.rule.guard or landing.steps or landing.pops:
            return landing
        longer = (rule for rule in self.spot.rules if rule.constant.core.startswith(core) and rule.constant.core != core)
        rules = [rule for rule in longer if rule.constant.match_core(self.buffer, at, final) == NO]  # else it is found otherwise
        behind = skip_blank(self.buffer, landing.end)
        if not rules or behind == len(self.buffer):
            return landing
        follows = None if core else self._find_landing(landing.spot, behind, final)
        if isinstance(follows, Landing) and follows.calls:
            return landing
        return self._find_like(rules, landing.end, final, ends=(core,), laid=True) or landing

    def _leave_like(self, here: Landing, kind: str, at: int, final: bool, marked: bool) -> Landing | Wait | None:
        """Leave the name of a tool of the request, a parameter of it, or an id with what is like the text behind it; an id may end
        where a mark begins (``marked``), though it might have its signs."""
        if kind == "id":
            known = marked or not WITHIN_ID.match(self.buffer, at)
        elif kind == "name":
            known = here.steps[-1].text in self.names
        else:
            known = here.steps[-1].text in self._list_declared(self._find_name(here))
        laid = self.buffer[at : at + 1].isspace()
        return self._find_like(here.spot.rules, at, final, here, laid=laid) if known else None

    def _find_like(
        self,
        rules: Iterable[Rule],
        at: int,
        final: bool,
        here: Landing | None = None,
        ends: Iterable[str] = (),
        laid: bool = False,
    ) -> Landing | Wait | None:
        """Return where what stands at a place leads, behind layout, if it is like the text of one of some rules: the one that it is
        most like, of several the longest.

        ``here`` is what was read on the way there, if anything was; ``ends`` are texts that the rules begin with, and that stand
        before the place. One to the letter is found otherwise, unless other white space than it has is ``laid`` around it.
        """
        at = skip_blank(self.buffer, at)
        if not self.policy.recover or self.frames or at == len(self.buffer):
            return None
        wait, found = False, list[tuple[int, int, Landing]]()
        for rule in self._fill((rule for rule in rules if not (rule.recovery or rule.guard)), here):
            meant = rule.constant.core
            for end in ends:
                meant = meant.removeprefix(end)
            meant = meant.strip()
            if len(meant) > LONGEST_LIKE:
                continue
            size = measure_like(self.buffer, at, meant)
            begun = self.buffer[at : at + size]
            half = len(begun) < size and meant.startswith(begun.rstrip())
            if (begun.startswith(meant) and not laid) or (final and half):
                continue
            if len(begun) < size and not final:
                wait = wait or may_be_like(begun, meant)
                continue
            like = find_like(begun, meant, rule.kind == "name")
            if like and not self._tells_other(rule, meant, begun[: like.end]):
                landing = self._land_like(rule.mistype(), at + like.end, final, here)
                wait = wait or isinstance(landing, Wait)
                found += [(like.other, -like.end, landing)] if isinstance(landing, Landing) else []
        return WAIT if wait else min(found, key=lambda each: each[:2])[2] if found else None

    @staticmethod
    def _tells_other(rule: Rule, meant: str, written: str) -> bool:
        """Whether what is like a text is another one by a single sign: the quote with which a value begins, so that its own does
        not end it, or the slash that tells what ends something from what begins it."""
        quote = rule.kind == "value" and meant.endswith(QUOTES) and not written.endswith(meant[-1])
        return quote or (rule.kind != "end" and ("/" in written) != ("/" in meant))

    def _land_like(self, rule: Rule, end: int, final: bool, here: Landing | None) -> Landing | Wait | None:
        """Return where a rule leads whose text is nearly what ends at a place."""
        if rule.kind == "end":
            return self._end_turn(rule, skip_blank(self.buffer, end), final, here)
        return self._land(rule, end, rule.constant.trail, final, TURN, here)

    # Keys ----------------------------------------------------------------------------------------------------------------

    def _strip_key(self, here: Landing, key: str) -> str:
        """Return a key without signs before or behind it that the parameter does not have which the tool declares, or without
        blanks that no parameter has, where nothing but these parts it from what follows."""
        declared = self._list_declared(self._find_name(here))
        if self.frames or not self.policy.recover or key in declared:
            return key
        bare = EDGE.sub("", key)
        signs = key.removesuffix(bare)
        own = self.plan.graph.path or not set(here.rule.constant.text).isdisjoint(signs.strip())  # then they are the format's
        ended = key.rstrip(":= ") if self.plan.graph.path else EDGE_BEHIND.sub("", key)
        for each in (ended,) if own else (bare, EDGE_BEHIND.sub("", bare), ended):
            if each in declared:
                return each
        if here.spot.holds_signs or key.strip() == key:
            return key
        return key.strip().removeprefix(find_signs(self.buffer, here.end) if key[:1].isspace() else "").strip()

    def _takes_key(self, here: Landing, key: str, at: int) -> bool:
        """Whether a text that ends at a place may be the key of an entry here."""
        name = self._find_name(here)
        path = self.plan.graph.path
        steps = [key] if self.frames else self._split_path(key, name)
        keys = [step for step in steps if isinstance(step, str) and not (path and path.is_odd(step))]
        if "\n" in key or (not here.spot.holds_signs and any(map(SIGNS.search, keys))):
            return False
        if self.frames:
            return True
        plain = all(map(KEY.fullmatch, keys)) and not (" " in key and self._goes_on_in_text(here, key))
        if here.rule.recovery and (here.rule.opens or not plain) and self._is_undeclared(here, key):
            return False  # one guess behind another
        before, units = here.rule.constant.text, self.spot.units
        ended = units.bars(before) if self._is_laid(here) else units.bars_start(before)  # then it is no part of a text
        if (ended or not self._is_raw()) and (plain or here.spot.holds_signs or not self.policy.recover):
            return True
        declared = self._list_declared(name)
        told = here.rule.constant.firm or self._is_enclosed(here, at)
        return not declared or steps[0] in declared or (told and plain)

    @staticmethod
    def _begins_other(rule: Rule, spot: Spot) -> bool:
        """Whether another rule of a spot that leads to a value begins as one does and goes on with more than a quote."""
        return any(other.constant.extends(rule.constant) for other in spot.rules if other.kind == "value" and not other.recovery)

    def _is_enclosed(self, here: Landing, at: int) -> bool:
        """Whether several signs stand before a key and behind it, as they seldom do in a text."""
        behind = (rule.constant for rule in here.spot.rules if not rule.recovery and len(rule.constant.core) > 1)
        return len(here.rule.constant.core) > 1 and any(constant.match_exactly(self.buffer, at, False) != NO for constant in behind)

    def _doubts_key(self, rule: Rule, here: Landing, at: int) -> bool:
        """Whether what seems to be a key, and is none of the tool's, stands before what no template writes behind keys."""
        key, constant = here.steps[-1].text, rule.constant
        glued = constant.lead != "" and DATA.issuperset(constant.core) and not self.buffer[at : at + 1].isspace()
        other = (bool(rule.recovery) or glued) and not (constant.firm or self.frames)
        return (other and self.policy.recover and self._is_undeclared(here, key)) or self._goes_on_in_text(here, key)

    def _is_undeclared(self, here: Landing, key: str) -> bool:
        """Whether the tool declares parameters, and a key is none of them."""
        name = self._find_name(here)
        declared = self._list_declared(name)
        return bool(declared) and self._split_path(key, name)[0] not in declared

    def _is_of_id(self, spot: Spot, landing: Landing, at: int) -> bool:
        """Whether what leads to an id stands where a key that the tool does not declare seems to begin."""
        leads = (rule.constant for rule in spot.rules if rule.kind == "id" and not rule.recovery)
        undeclared = self._is_undeclared(landing, landing.find("key") or "")
        return undeclared and any(each.core and each.match_exactly(self.buffer, at, True) >= 0 for each in leads)

    def _goes_on_in_text(self, here: Landing, key: str) -> bool:
        """Whether what seems to be a key may be a text that goes on: only layout parts both, and the tool does not have the key."""
        within = self.spot.kind == "value" and not (self.behind or self.frames or here.rule.constant.core)
        return within and self.policy.recover and self._is_undeclared(here, key)

    def _bars_key(self, sign: str, units: Units, holds_signs: bool) -> bool:
        """Whether no key goes on with a sign: a line break, one that is written otherwise, or of data where none holds these."""
        path = self.plan.graph.path
        if path is not None and sign in path.signs:
            return False
        return sign == "\n" or sign in units.stands_for or (not holds_signs and SIGNS.match(sign) is not None)

    def _is_half_name(self, rule: Rule, here: Landing, kind: str, over: bool) -> bool:
        """Whether nothing tells that what was read is a name, and no half one: no tool of the request is called so, and what ends
        the call is missing, or no mark is behind it though the format has one, or the output is ``over`` there."""
        if kind != "name":
            return False
        if rule.recovery and (rule.closes or rule.kind == "end"):
            return here.find("name") not in self.names
        bare = not rule.constant.text and (over or rule.recovery == MISSING)
        return bare and self.tools is not None and here.find("name") not in self.tools

    def _pass_more_signs(self, at: int, final: bool) -> int:
        """Return the place behind a sign or two that stand before the end of a line; the place itself where none do, or MORE."""
        end = find_end(_MORE_SIGNS, self.buffer, at)
        if end == len(self.buffer) > at and not final:
            return MORE
        return end if self.buffer.startswith("\n", end) else at

    def _is_laid(self, here: Landing) -> bool:
        """Whether the text of a rule stands to the letter before a place."""
        return self.buffer.endswith(here.rule.constant.text, 0, here.end)

    def _leads_elsewhere(self, rule: Rule, here: Landing, kind: str, at: int, final: bool) -> bool | Wait:
        """Whether what stands behind a name or an id is to the letter what leads to something else; behind a key, to a value of
        another type that its schema allows, too, and that ends where it has to; or more is needed to tell."""
        if kind != "key":
            shown = (other.constant for other in here.spot.rules if not other.recovery and other.constant.core)
            return any(constant.match_exactly(self.buffer, at, final) >= 0 for constant in shown)
        types = self._find_wanted(here)
        for other in (each for each in here.spot.rules if not (each is rule or each.recovery)):
            fitting = [node for node in other.targets if node.kind == "value" and fits(node.type, types)]
            begin = other.constant.match_exactly(self.buffer, at, False) if fitting else NO
            value = SCALAR.match(self.buffer, begin) if begin >= 0 else None
            if value is None:
                continue
            rest = self.buffer[value.end() :]
            ends = [cut_echo(self.plan.spot(here.spot.graph, (node,), self.may_call).find_shared()).strip() for node in fitting]
            if not final and any(end.startswith(rest) for end in filter(None, ends)):
                return WAIT
            if value.end() == begin or any(map(rest.startswith, filter(None, ends))):
                return True  # what begins with a bracket ends with one
        return False
