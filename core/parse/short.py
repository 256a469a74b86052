"""Names, ids and keys on the way to a field that is streamed: where each ends, and what follows it."""

from __future__ import annotations

from collections.abc import Iterable

from ..format import Node
from ..format.units import MORE, NO, get_units
from .constants import SIGNS, skip_blank
from .landing import Landing, Step, list_id
from .landmarks import GAP, TURN
from .look import Lookahead
from .names import ID, KEY, NAME, SHORT, find_name_in_id, find_numbered_id, find_quoted, is_within
from .rules import WAIT, Rule, Wait
from .scalars import fits, read_empty


class ShortFields(Lookahead):
    """Reads what is short enough to be looked at whole before anything of it is taken."""

    def _land_short(self, here: Landing, kind: str, final: bool) -> Landing | Wait | None:
        """Read a name, an id or a key, and what is behind it."""
        buffer, start = self.buffer, here.end
        if here.trail:
            start = skip_blank(buffer, start) if not here.trail.strip() else start
            here = here._replace(end=start, trail="")
        node = here.spot.nodes[0]
        if node.again:
            return self._land_again(here, node, kind, final)
        if kind == "name":
            return self._land_name(here, final)
        bare = skip_blank(buffer, start)
        if kind == "key" and start < bare and not here.spot.codec.escapes and not here.rule.constant.firm and self.policy.recover:
            start = bare  # layout between two entries
        return self._read_short(here, kind, start, final)

    def _read_short(self, here: Landing, kind: str, start: int, final: bool) -> Landing | Wait | None:
        """Read an id or a key from a place on."""
        buffer = self.buffer
        limit = min(len(buffer), start + SHORT)
        if kind == "id":
            found = ID.match(buffer, start, limit)
            limit = found.end() if found else start
        at = start
        units = get_units(here.spot.codec)
        if kind == "key" and self.policy.recover and not units.first:
            quoted = self._read_quoted(here, start, final)
            if quoted is not None:
                return quoted
        while at <= limit:
            if at < limit and buffer[at] in units.first:
                end, _ = units.read(buffer, at, final)
                if end == MORE:
                    return WAIT
                if end > at:
                    at = end
                    continue
            sign = buffer[at : at + 1]
            if not sign or sign.isspace() or here.spot.list_short(sign):
                landing = self._leave_short(here, kind, buffer[start:at], at, final)
                if landing is not None:
                    return Wait(short=here.spot) if isinstance(landing, Wait) and not sign else landing
            if kind == "key" and (sign == "\n" or (sign and not units.first and SIGNS.match(sign))):
                return None  # no key goes on like this
            at = here.spot.find_short_end(buffer, at + 1, limit)
        if limit < len(buffer) or final:
            return None
        return Wait(short=here.spot)

    def _read_quoted(self, here: Landing, start: int, final: bool) -> Landing | Wait | None:
        """Read a key that stands in the quotes of strings, where the format writes none around keys."""
        begin, end = find_quoted(self.buffer, start, self.plan.quote, final)
        if end < 0:
            return WAIT if end == MORE else None
        here = here._replace(rule=here.rule.name_recovery("key in quotes"))
        return self._leave_short(here, "key", self.buffer[begin:end], end + len(self.plan.quote), final)

    def _land_again(self, here: Landing, node: Node, kind: str, final: bool) -> Landing | Wait | None:
        call = self._get_call(here)
        first = here.find(kind)
        if first is None and call is not None:
            first = {"name": call.name, "id": call.id, "key": self._key if self._key is not None else call.key}[kind]
        if not first:
            return None
        if not self.buffer.startswith(first, here.end):
            begun = self.buffer[here.end :]
            return Wait(first[len(begun) :]) if not final and first.startswith(begun) else None
        return self._leave_short(here, "", "", here.end + len(first), final)

    def _land_name(self, here: Landing, final: bool) -> Landing | Wait | None:
        buffer, start = self.buffer, here.end
        begun, wait = buffer[start:], None
        for name in self.names:
            if begun.startswith(name):
                landing = self._leave_short(here, "name", name, start + len(name), final)
                if landing is not None:
                    return landing
            elif not final and name.startswith(begun):
                wait = WAIT if wait else Wait(name[len(begun) :])
        if (self.known_only or here.rule.guard in ("tool", "known") or not here.rule.marked) and self.tools is not None:
            return wait
        found = NAME.match(buffer, start)
        if found is None:
            return WAIT if not begun and not final else None
        open_end = found.end() == len(buffer) and not final
        for at in range(start + 1, found.end() + (not open_end)):
            landing = self._leave_short(here, "name", buffer[start:at], at, final)
            if landing is not None:
                return landing
        return Wait(short=here.spot) if open_end else wait

    def _leave_short(self, here: Landing, kind: str, text: str, at: int, final: bool) -> Landing | Wait | None:
        """Leave a short field with what ends it, to the letter or with other layout."""
        if kind == "key":
            text = get_units(here.spot.codec).decode(text)
            if not text or not self._takes_key(here, text) or (here.rule.guard == "entry" and not self._is_new(text)):
                return None
            laid = here.rule.constant.text
            other = not self.buffer.startswith(laid, here.end - len(laid))  # layout than the template's
            if other and is_within(self.plan.opening_marks, self.buffer, here.end, at):
                return None
            here = here._replace(steps=(*here.steps, Step("key", text)))
        elif kind == "name":
            if any(mark in text for mark in self.plan.opening_marks):
                return None  # another call has begun
            numbered = find_numbered_id(here.spot.rules, self.buffer, text, at)
            here = here._replace(steps=(*here.steps, Step("name", text), *list_id(numbered)))
        elif kind == "id":
            if not ID.fullmatch(text):
                return None
            named = (Step("name", find_name_in_id(text, self.names)),) if here.spot.nodes[0].carries_name else ()
            here = here._replace(steps=(*here.steps, Step("id", text), *named))
        ends: Wait | None = None
        half: Landing | None = None
        sign = self.buffer[at : at + 1]
        rules = here.spot.rules if not sign or sign.isspace() else here.spot.list_short(sign)
        for rule in self._prefer_fitting(rules, here, text) if kind == "key" else rules:
            constant, trail = rule.constant, ""
            if rule.kind == "end" and here.spot.graph == TURN:
                if kind == "name" and not constant.text and self.tools is not None and text not in self.tools:
                    continue  # nothing tells that it is not half a name
                landing = self._try_end(rule, skip_blank(self.buffer, at) if constant.core else at, final, here)
                if isinstance(landing, Landing):
                    return landing
                ends = ends or landing
                continue
            end = constant.match_exactly(self.buffer, at, final)
            loosely = end == NO and bool(constant.core) and not rule.laid
            if loosely:
                end, trail = constant.match_loosely(self.buffer, at, final), constant.trail
            if end == NO and final and rule.targets == (GAP,) and sign and constant.match_exactly(self.buffer, at, False) == MORE:
                # The output ends inside of what ends the call.
                half = half or Landing(len(self.buffer), self.plan.behind(rule, TURN, True), here.rule, steps=here.steps)
            if end == MORE:
                return Wait(constant.find_rest(self.buffer, at))
            if end == NO:
                continue
            if rule.kind != "end":
                found = here
                if kind == "id" and rule.guard == "tool":  # what stands where the id does is the name
                    found = here._replace(steps=(*here.steps[:-1], Step("name", text)))
                landing = self._land(rule, end, trail, final, here.spot.graph, found)
                if not constant.text and isinstance(landing, Landing) and read_empty(rule.targets):
                    follows = self._find_best((end, skip_blank(self.buffer, end)), final, landing.spot)  # it ends the key
                    if not isinstance(follows, Landing):
                        landing = follows
                    elif not follows.rule.constant.text and follows.spot.kind != "end":
                        landing = None  # nothing follows everything
                if loosely and isinstance(landing, Landing):
                    begins = self._match_value(landing, final)
                    if begins == MORE:
                        return WAIT
                    if begins == NO:
                        half, landing = half or landing, None
            else:
                landing = self._try_pop(rule, end, final)
                if isinstance(landing, Landing):
                    landing = landing._replace(rule=here.rule, steps=here.steps + landing.steps)
            if isinstance(landing, Wait):
                return landing
            if landing and landing.rule.recovery and not here.rule.recovery:
                half = half or landing  # what the template writes comes first
            elif landing:  # what ends the call stands before what ends the turn
                return ends if ends and not rule.closes else landing
        return ends or half

    def _prefer_fitting(self, rules: tuple[Rule, ...], here: Landing, key: str) -> Iterable[Rule]:
        """Put what leads to values that the tool's schema does not allow for a key behind the rest."""
        if self.frames or self.tools is None or sum(rule.kind == "value" for rule in rules) < 2:
            return rules
        name = self._find_name(here)
        types = (self.tools.get_parameters(name).get_property(key) if name else self.tools.find_property(key)).get_types()
        return sorted(rules, key=lambda rule: rule.kind == "value" and not any(fits(node.type, types) for node in rule.targets))

    def _takes_key(self, here: Landing, key: str) -> bool:
        """Whether a text may be the key of an entry here."""
        if "\n" in key or (not here.spot.codec.escapes and SIGNS.search(key)):
            return False
        if self.frames:
            return True
        plain = KEY.fullmatch(key) is not None
        if not self._is_raw() and (plain or here.spot.codec.escapes or not self.policy.recover):
            return True
        name = self._find_name(here)
        if self.tools is None or name is None or name not in self.tools:
            return True
        properties = self._properties.get(name)
        if properties is None:
            properties = self._properties[name] = self.tools.get_parameters(name).list_properties()
        return not properties or key in properties or (here.rule.constant.firm and plain)
