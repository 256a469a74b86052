"""What may be a key: its signs, what stands before it and behind it, and what the tool declares."""

from __future__ import annotations

from ..format.units import NO, Units, get_units
from ..plan.constants import DATA, SIGNS
from ..plan.echoes import cut_echo
from ..plan.rules import WAIT, Rule, Spot, Wait
from ..plan.scalars import fits
from .landing import Landing
from .likely import Likely
from .names import EDGE, KEY, SCALAR, find_signs


class KeyChecks(Likely):
    """Tells keys from what looks like one. Nothing here reads on."""

    def _strip_key(self, here: Landing, key: str) -> str:
        """Return a key without signs before or behind it that the parameter does not have which the tool declares, or without
        blanks that no parameter has, where nothing but these parts it from what follows."""
        declared = self._list_declared(self._find_name(here))
        if self.frames or not self.policy.recover or key in declared:
            return key
        bare = EDGE.sub("", key)
        signs = key.removesuffix(bare)
        own = self.plan.graph.path or not set(here.rule.constant.text).isdisjoint(signs.strip())  # then they are the format's
        if bare in declared and not own:
            return bare
        if (ended := key.rstrip(":= ")) in declared:
            return ended
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
        before, units = here.rule.constant.text, get_units(self.spot.codec)
        ended = units.bars(before) if self._is_laid(here) else units.bars_start(before)  # then it is no part of a text
        if (ended or not self._is_raw()) and (plain or here.spot.holds_signs or not self.policy.recover):
            return True
        declared = self._list_declared(name)
        told = here.rule.constant.firm or self._is_enclosed(here, at)
        return not declared or steps[0] in declared or (told and plain)

    @staticmethod
    def _begins_other(rule: Rule, spot: Spot) -> bool:
        """Whether another rule of a spot that leads to a value begins as one does and goes on with more than a quote."""
        longer = (other.constant for other in spot.rules if other.kind == "value" and not other.recovery)
        return any(each.size > rule.constant.size + 1 and each.text.startswith(rule.constant.text) for each in longer)

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
