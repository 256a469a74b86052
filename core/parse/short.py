"""Names, ids and keys on the way to a field that is streamed: where each ends, and what follows it."""

from __future__ import annotations

from ..format.units import MORE, NO
from ..plan.constants import find_end, skip_blank
from ..plan.crossings import ASSIGNING
from ..plan.guards import OF_TOOLS
from ..plan.landmarks import GAP, QUOTES, TURN
from ..plan.rules import MISTYPED, UNTYPED, Rule
from ..plan.scalars import fits, read_empty
from ..plan.spots import WAIT, Wait
from .landing import Landing, Step, list_id
from .names import (
    AMID,
    AMID_WORD,
    COMMENTS,
    ID,
    KEY,
    NAME,
    PADDED,
    SHORT,
    find_longer,
    find_name_in_id,
    find_numbered_id,
    find_signs,
    is_within,
)
from .odd_names import OddNames


class ShortFields(OddNames):
    """Reads what is short enough to be looked at whole before anything of it is taken."""

    def _land_short(self, here: Landing, kind: str, final: bool) -> Landing | Wait | None:
        """Read a name, an id or a key, and what is behind it."""
        buffer = self.buffer
        if here.trail:  # white space
            here = here.replace(end=skip_blank(buffer, here.end), trail="")
        if kind != "key":
            return self._land_named(here, kind, final)
        start, bare = here.end, skip_blank(buffer, here.end)
        laid = start < bare and not here.spot.holds_signs and not here.rule.constant.firm
        if laid and self.policy.recover and not self._is_raw():  # of a text that nothing else ends it is a part
            start = bare  # layout between two entries
            mark = find_signs(buffer, here.end)
            if mark and buffer.startswith(mark, bare):  # an entry without anything in it
                start, here = skip_blank(buffer, bare + len(mark)), here.replace(rule=here.rule.name_recovery("mark doubled"))
            elif mark and not final and mark.startswith(buffer[bare:]):
                return WAIT
        return self._read_short(here, kind, start, final)

    def _land_named(self, here: Landing, kind: str, final: bool) -> Landing | Wait | None:
        """Read a name or an id; where the template writes none so, of a tool of the request whatever stands around its name."""
        found = self._land_name(here, final) if kind == "name" else self._read_short(here, kind, here.end, final)
        if found is not None or not (self.policy.recover and self.names):
            return found
        start = find_end(COMMENTS, self.buffer, here.end)
        comment = self.buffer.startswith(("#", "//"), start) or self.buffer[start : start + 2] == "/"  # or half of one
        if comment or start - here.end > SHORT or start == len(self.buffer):
            return None if final or len(self.buffer) - here.end > SHORT else WAIT
        here = here.replace(end=start, rule=here.rule.name_recovery(AMID))
        found = self._land_name(here, final) if kind == "name" else self._read_short(here, kind, start, final)
        if isinstance(found, Landing) and self._find_name(found) not in self.names:
            found = None
        return found or self._land_amid(here, kind, final)

    def _read_short(self, here: Landing, kind: str, start: int, final: bool) -> Landing | Wait | None:
        """Read an id or a key from a place on."""
        buffer = self.buffer
        limit = min(len(buffer), start + SHORT)
        if kind == "id":
            found = ID.match(buffer, start, limit)
            limit = found.end() if found else start
            whole = self._read_quoted_id(here, start, limit, final)
            if whole is not None:
                return whole
        at = start
        units = here.spot.units
        if kind == "key" and self.policy.recover:
            quoted = self._read_quoted(here, start, final)
            if quoted is not None:
                return quoted
        path = self.plan.graph.path if kind == "key" else None
        declared, odd = frozenset[str](), tuple[str, ...]()
        if kind == "key" and not self.frames:
            name = self._find_name(here)
            declared, odd = self._list_declared(name), self._list_odd(name)
        while at <= limit:
            if at < limit and buffer[at] in units.first:
                end, _ = units.read(buffer, at, final)
                if end == MORE:
                    return WAIT
                if end > at:
                    at = end
                    continue
            sign = buffer[at : at + 1]
            longer = find_longer(odd, declared, buffer, start, at) if odd else ""
            if longer and not final and len(buffer) - start < len(longer):
                return Wait(longer[len(buffer) - start :])
            within = longer or (path is not None and path.is_open(buffer, start, at, here.spot.nodes[0].signs != ""))
            if not within and ((kind == "id" and at == limit) or here.spot.list_behind(sign, ())):
                landing = self._leave_short(here, kind, buffer[start:at], at, final)
                if landing is not None:
                    return Wait(until=here.spot.short_end) if isinstance(landing, Wait) and not sign else landing
            if kind == "key" and sign and self._bars_key(sign, units, here.spot.holds_signs):
                return None
            at = here.spot.find_short_end(buffer, at + 1, limit)
        if limit < len(buffer) or final:
            return None
        return Wait(until=here.spot.short_end)

    def _read_quoted_id(self, here: Landing, start: int, end: int, final: bool) -> Landing | Wait | None:
        """Read an id in quotes that has brackets in it, the first at a place, as far as no recovery needs to tell its end."""
        quote, bracket = self.buffer[start - 1], self.buffer[end : end + 1]
        if quote not in ("'", '"') or bracket in ("", "'", '"') or bracket.isspace():
            return None
        close = self.buffer.find(quote, end, start + SHORT)
        if close < 0:
            return None if final or len(self.buffer) > start + SHORT else WAIT
        found = self._leave_short(here, "id", self.buffer[start:close], close, final)
        return found if isinstance(found, Wait) or (found and not found.rule.recovery) else None

    def _read_quoted(self, here: Landing, start: int, final: bool) -> Landing | Wait | None:
        """Read a key that stands in the quotes of strings, where the format writes none around keys, or a parameter of the tool in
        whatever quotes."""
        quote, rest = self.plan.quote, self.buffer[start : start + SHORT]
        plain = quote != "" and not here.spot.units.first
        own = plain and rest.startswith(quote)
        if plain and not own and rest and quote.startswith(rest) and not final:
            return WAIT
        quote = quote if own else rest[:1]
        if not own and quote not in ('"', "'", "`"):
            return None
        begin = start + len(quote)
        end = self.buffer.find(quote, begin, begin + SHORT)
        if end < 0:
            return None if final or len(self.buffer) > begin + SHORT else WAIT
        key, behind = self.buffer[begin:end], end + len(quote)
        if not own:  # what the template writes behind a key has to follow to the letter
            shown = (rule.constant for rule in here.spot.rules if not rule.recovery and rule.constant.text)
            follows = [each.match_exactly(self.buffer, behind, final) for each in shown]
            if key not in self._list_declared(self._find_name(here)) or all(place == NO for place in follows):
                return None
        elif not KEY.fullmatch(key):
            return None
        here = here.replace(rule=here.rule.name_recovery("key in quotes"))
        return self._leave_short(here, "key", key, behind, final)

    def _land_name(self, here: Landing, final: bool) -> Landing | Wait | None:
        if here.rule.guard == "known" and not self.names:
            return None
        buffer, start = self.buffer, here.end
        begun, wait = buffer[start:], None
        for name in self.names:
            if begun.startswith(name):
                landing = self._leave_short(here, "name", name, start + len(name), final)
                landing = landing or self._pass_foreign(here, name, start + len(name), final)
                landing = landing or self._pass_signs(here, name, start + len(name), final)
                landing = landing or self._read_glued_key(here, name, start + len(name), final)
                if landing is not None:
                    return landing
            elif not final and name.startswith(begun):
                wait = WAIT if wait else Wait(name[len(begun) :])
        if (self.known_only or here.rule.guard in OF_TOOLS or not here.rule.marked) and self.tools is not None:
            return wait or self._land_prefixed(here, final)
        found = NAME.match(buffer, start)
        if found is None:
            return WAIT if not begun and not final else None
        open_end = found.end() == len(buffer) and not final
        for at in range(start + 1, found.end() + (not open_end)):
            if (at < len(buffer) and not here.spot.list_behind(buffer[at], ())) or not any(map(str.isalnum, buffer[start:at])):
                continue
            landing = self._leave_short(here, "name", buffer[start:at], at, final)
            numbers = self.policy.recover and self.tools is not None and not any(map(str.isalpha, buffer[start:at]))
            if isinstance(landing, Landing) and numbers:
                return wait  # no tool but one of the request is called what has no letter
            if landing is not None:
                return landing
        return Wait(until=here.spot.short_end) if open_end else wait

    def _leave_short(self, here: Landing, kind: str, text: str, at: int, final: bool) -> Landing | Wait | None:
        """Leave a short field with what ends it, to the letter or with other layout: what the template writes comes before what is
        relaxed, and what ends the call before what ends the turn."""
        taken = self._take_short(here, kind, text, at)
        if taken is None:
            return None
        ends: Wait | None = None
        second: Landing | None = None
        told: Landing | None = None  # where one of a few words would have to follow, and does not
        like = False  # whether what stands there begins as a mark behind the field does
        types = self._find_wanted(taken) if kind == "key" else ()
        for rule in self._fill(here.spot.list_behind(self.buffer[at : at + 1], types), taken):
            if rule.guard == "like":
                like = like or rule.constant.match_exactly(self.buffer, at, final) >= 0
                continue
            if rule.spelling and rule.spelling != self.spelling:
                continue
            if rule.kind == "end" and here.spot.graph == TURN:
                begin = skip_blank(self.buffer, at) if rule.constant.core else at
                landing = None if self._is_half_name(rule, taken, kind, True) else self._try_end(rule, begin, final, taken)
                if isinstance(landing, Landing):
                    return landing
                ends = ends or landing
                continue
            landing, better = self._leave_by(rule, taken, kind, at, final, types)
            if isinstance(landing, Wait):
                return landing
            if landing and rule.kind == "key" and self._is_of_id(here.spot, landing, at):
                continue
            fitting = (each for each in here.spot.rules if any(fits(node.type, types) for node in each.targets))
            if landing and landing.spot.kind == "value" and final and self._breaks_off(fitting, at):
                continue
            if landing and better:
                return ends if ends and not rule.closes else landing
            if rule.is_told:
                told = told or landing
            else:
                second = second or landing
        return ends or second or told or self._leave_like(taken, kind, at, final, like)

    def _take_short(self, here: Landing, kind: str, text: str, at: int) -> Landing | None:
        """Return where one stands with a text as the field that was read; None where it can be none."""
        if kind == "key":
            key = here.spot.units.decode(text)
            bare = self._strip_key(here, key)
            if bare != key:
                if self._goes_on_in_text(here, bare):
                    return None
                here, key = here.replace(rule=here.rule.name_recovery(PADDED)), bare
            ends = key[:1] == "/" and self.buffer[here.end - 1 : here.end] in ("<", "[") and self.policy.recover
            if ends and key not in self._list_declared(self._find_name(here)):
                return None  # a mark that ends something stands where a key would
            new = here.rule.guard not in ("entry", "unquoted") or self._is_new(key)
            taken = bool(key) and new and self._takes_key(here, key, at)
            # Where other layout stands before it than the template writes, a call may begin in it.
            within = not self._is_laid(here) and is_within(self.plan.opening_marks, self.buffer, here.end, at)
            return here.replace(steps=(*here.steps, Step("key", key))) if taken and not within else None
        if kind == "name":
            if any(mark in text for mark in self.plan.opening_marks):
                return None  # another call has begun
            numbered = find_numbered_id(here.spot.rules, self.buffer, text, at)
            return here.replace(steps=(*here.steps, Step("name", text), *list_id(numbered)))
        if kind == "id":
            if not text or not text.isprintable():
                return None
            named = (Step("name", find_name_in_id(text, self.names)),) if here.spot.nodes[0].carries_name else ()
            return here.replace(steps=(*here.steps, Step("id", text), *named))
        return here

    def _leave_by(
        self, rule: Rule, here: Landing, kind: str, at: int, final: bool, types: tuple[str, ...]
    ) -> tuple[Landing | Wait | None, bool]:
        """Return where one rule leads from the end of a short field, and whether no other one would be better; ``types`` are those
        that the schema allows for a key."""
        constant, trail = rule.constant, ""
        if self._is_half_name(rule, here, kind, final and at >= len(self.buffer)):
            return None, False
        if kind == "name" and not constant.core and AMID_WORD.match(self.buffer, at - 1):
            return None, False  # only a mark ends a name there
        quoted = kind == "key" and rule.recovery and constant.core in QUOTES
        if quoted and self.buffer.endswith(f"{constant.core}{here.find('key')}", 0, at):
            return None, False  # the key stands in these quotes
        end = constant.match_exactly(self.buffer, at, final)
        path = self.plan.graph.path if kind == "key" else None
        goes_on = path is not None and path.begins(self.buffer, at)
        loosely = end == NO and bool(constant.core) and not (rule.is_exact or goes_on)
        if loosely:
            end, trail = constant.match_loosely(self.buffer, at, final), constant.trail
            if end >= 0 and trail[:1] == "\n" and self.policy.recover:
                more = self._pass_more_signs(end, final)
                if more == MORE:
                    return WAIT, False
                rule, end = (rule.name_recovery(MISTYPED) if more > end else rule), more
        elif end == NO and constant.text and rule.kind == "arguments" and self.policy.recover:
            end = skip_blank(self.buffer, at) if self.buffer[at : at + 1].isspace() else NO  # the bracket tells that they begin
        elif here.rule.recovery == PADDED and constant.trail == "":
            trail = " "  # what stands on one side stands on both
        if end == MORE:
            return Wait(constant.find_rest(self.buffer, at)), False
        if end == NO:
            return self._find_half(rule, here, at, final), False
        if kind == "key" and (loosely or rule.recovery) and self._doubts_key(rule, here, at):
            return None, False
        if rule.kind == "end":
            landing = self._try_pop(rule, end, final)
            if isinstance(landing, Landing):
                landing = landing.replace(rule=here.rule, steps=here.steps + landing.steps)
        else:
            misplaced = kind == "id" and rule.guard == "tool"  # what stands where the id does is the name
            found = here.replace(steps=(*here.steps[:-1], Step("name", here.steps[-1].text))) if misplaced else here
            landing = self._land(rule, end, trail, final, here.spot.graph, found)
            if not constant.text and isinstance(landing, Landing) and read_empty(rule.targets):
                landing = self._check_whole(landing, end, final)
        bare = kind == "key" and not constant.text and not read_empty(rule.targets)  # then nothing but its value ends a key
        untyped = rule.recovery == UNTYPED
        doubted = untyped or constant.text.endswith(QUOTES) or rule.is_told
        amid = rule.kind == "value" and (doubted or rule.goes_on(here.spot.rules, types))
        half = rule.kind == "value" and not loosely and self._begins_other(rule, here.spot)
        end = skip_blank(self.buffer, landing.end) if isinstance(landing, Landing) and rule.kind == "value" else 0
        assigned = end > 0 and self.buffer[end : end + 1] in ASSIGNING and not read_empty(rule.targets)
        told = (loosely or bare or amid or assigned or half) and rule.kind != "end" and isinstance(landing, Landing)
        begins = self._match_value(landing, final) if told and isinstance(landing, Landing) else 0
        if begins == MORE:
            return WAIT, False
        if begins == NO and (bare or untyped or assigned):
            return None, False
        if begins == NO and kind == "key" and not amid:  # what is like another text tells more
            alike = self._leave_like(here, kind, at, final, False)
            if alike or half:
                return alike or landing, True
        if bare and begins > 0 and isinstance(landing, Landing) and self._is_in_text():
            landing = self._check_whole(landing, begins, final)
        relaxed = isinstance(landing, Landing) and bool(landing.rule.recovery) and not here.rule.recovery
        elsewhere = loosely and self._leads_elsewhere(rule, here, kind, at, final)
        return (WAIT if isinstance(elsewhere, Wait) else landing), begins != NO and not (relaxed or elsewhere)

    def _find_half(self, rule: Rule, here: Landing, at: int, final: bool) -> Landing | None:
        """Return where one stands if the output ends inside of what ends the call."""
        inside = final and rule.targets == (GAP,) and at < len(self.buffer)
        if not inside or rule.constant.match_exactly(self.buffer, at, False) != MORE:
            return None
        return Landing(len(self.buffer), self.plan.behind(rule, TURN, True), here.rule, steps=here.steps)

    def _check_whole(self, landing: Landing, end: int, final: bool) -> Landing | Wait | None:
        """Return a landing before a value that no mark begins, if it is nothing or a word and something follows its end."""
        follows = self._find_best(end, final, landing.spot)
        if not isinstance(follows, Landing):
            return follows
        return landing if follows.rule.constant.text or follows.spot.kind == "end" else None  # nothing follows everything
