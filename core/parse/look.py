"""What stands at a place: the rules of a spot tried on the buffer, down to the field in which a rule ends.

A rule matches, does not, or may when more has come. Where it matches, what is behind it must be what the rule leads to: a name
must be a name and be followed by what follows names. Nothing here changes anything; the :class:`Landing` that is found says all
that is to be done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..format import Insides
from ..format.units import MORE, NO, get_units
from ..plan.constants import end_word, find_end, skip_blank, skip_spaces
from ..plan.ends import TWICE
from ..plan.entries import DOUBLED
from ..plan.guards import GUESSED, NO_EXAMPLE, OF_FIELDS, OF_TOOLS
from ..plan.landmarks import AFTER, BODY, GAP, TURN
from ..plan.plan import RESPELLED
from ..plan.rules import Rule
from ..plan.scalars import BEGINNINGS, find_within
from ..plan.spots import WAIT, Spot, Wait
from ..recover.repair import QUOTES
from .around import GUARDS, Surroundings
from .landing import Landing, Step
from .names import SHORT

DEPTH: Final = 128  # lists and objects within each other
POPS: Final = 16  # of these are left at once, as each takes several calls of functions

UNBRACKETED: Final = Rule(("",), (GAP,), closes=True, recovery="brackets missing")
_BEGINNING: Final = 160  # characters in which an object is known from its beginning
_OBJECT: Final = re.compile(rf"\{{\s*(?:([{''.join(QUOTES)}}}\\]|/[/*]|[\w$-]+\s*:)|/?\Z|[\w$-]*\s*\Z)")
_HALF_KEY: Final = re.compile(r"\{\s*[\"']?\w*[\"']?\s*")
_FIRST_KEY: Final = re.compile(r"\{\s*[\"']?(\w+)[\"']?\s*:")
_WHOLE_CALL: Final = re.compile(r"\{\s{0,16}\"(\w{1,64})\"\s?:\s?\"([^\"\\]+)\"\s?,\s{0,16}\"(\w{1,64})\"\s?:\s?(?=\{)")
_HALF_CALL: Final = re.compile(
    r"\{\s{0,16}(?:\"(\w{0,64})(?:(\")\s?(?::\s?(?:\"([^\"\\]*)(?:\"\s?(?:,\s{0,16}(?:\"\w{0,64}(?:\"\s?(?::\s?)?)?)?)?)?)?)?)?)?"
)


class Lookahead(Surroundings):
    """Looks at the buffer of a generation from where its reader stands."""

    def _find_landing(self, spot: Spot, at: int, final: bool) -> Landing | Wait | None:
        """Return where the best rule of a spot that matches at a place leads, None where none does, or that more is needed."""
        window = spot.cut_window(self.buffer, at)
        rules, wait = spot.narrow(window)
        if wait and not final and at + len(window) == len(self.buffer):
            return wait
        odd: Landing | None = None
        for rule in rules:
            landing = self._try_rule(rule, at, final, spot)
            if isinstance(landing, Wait):  # whatever the others are, this one comes before them
                return landing
            begins = self._match_value(landing, final) if landing else 0
            if begins == MORE:
                return WAIT
            if landing and spot.kind == "start" and landing.pops and not (rule.constant.text or landing.rule.constant.core):
                begins = NO  # nothing at all tells that the list or object is empty
            if landing and begins == NO:
                odd = odd or landing
            elif landing:
                guessed = landing.rule.guard in GUESSED or (landing.rule.closes and odd and self._is_new(odd.find("key") or ""))
                plain = landing.rule.kind in ("content", "reasoning") and not landing.rule.constant.core  # then nothing but text
                return odd if odd and (guessed or (plain and odd.calls)) else landing
        return None if odd and final and self._breaks_off(rules, at) else odd

    def _breaks_off(self, rules: Iterable[Rule], at: int) -> bool:
        """Whether the output ends within a text that a template writes at a place."""
        begun = self.buffer[at : at + SHORT]
        texts = (rule.constant.text for rule in self._fill(rules) if not rule.recovery)
        return any(text.startswith(begun) and text != begun for text in texts)

    def _fill(self, rules: Iterable[Rule], here: Landing | None = None) -> Iterable[Rule]:
        """Return rules with the words that they repeat, as far as these are known: what was read on the way to a place, too."""
        if not self.plan.echoes:
            return rules

        def find(kind: str) -> str | None:
            return (here.find(kind) if here else None) or self._find_word(kind)

        return [filled for rule in rules if (filled := rule.fill(find))]

    def _find_best(self, at: int, final: bool, spot: Spot | None = None) -> Landing | Wait | None:
        """Return where the best rule leads from a place, or from behind the white space there; None, or that more is needed.

        The best is one that a template renders, of those one with a mark, and then the one that reaches furthest. It is a rule
        of the spot in which the parser stands, unless another one is given.
        """
        spot, bare = spot or self.spot, skip_blank(self.buffer, at)
        best = self._find_landing(spot, at, final)
        if bare == at or isinstance(best, Wait):
            return best
        behind = self._find_landing(spot, bare, final)
        if behind is None or best is None or isinstance(behind, Wait):
            return behind or best
        again = behind.rule is best.rule and not best.rule.constant.text  # the layout between them may belong to what follows
        return best if again or _rank(behind) <= _rank(best) else behind

    def _try_rule(self, rule: Rule, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        if rule.constant.echoes:
            filled = rule.fill(self._find_word)
            return self._try_rule(filled, at, final, spot) if filled else None
        if (rule.guard and not self._stands_well(rule, at, spot)) or (rule.spelling and not self._spells(rule, at, spot)):
            return None
        if (spot.holds or self.holding) and spot is self.spot and self._is_held(rule, at):
            return None
        if self.nested and (rule.recovery == DOUBLED or (rule.recovery == RESPELLED and not (self.spelling or rule.opens))):
            return None  # then the first of two ends is the text's, and so is one in another spelling than the call's
        if not rule.constant.text and spot is self.spot and at < len(self.buffer) and self._is_raw():
            return None  # that ends another value, which may stand here; layout that nothing follows belongs to this one
        if rule.guard == "whole":
            return self._try_whole(rule, at, final)
        if rule.guard == "like":
            return self._try_like(rule, at, final, spot)
        if rule.guard == "fence":
            return self._try_fence(at, final, spot)
        if rule.guard == "unfenced":
            return self._try_fence_end(rule, at, final)
        if rule.kind == "end" and spot.graph == TURN:
            return self._try_end(rule, at, final)
        end, trail = self._match(rule, at, final, spot)
        if end == MORE:
            rest = rule.constant.find_rest(self.buffer, at)
            short = self.plan.behind(rule, spot.graph, self.may_call) if rest and rule.kind == "key" else None
            return Wait(rest, short.short_end if short else None)
        if end == NO:
            return None
        whole = end_word(self.buffer, end, final) if rule.recovery and (rule.closes or rule.loose) else end
        if whole < 0:
            return WAIT if whole == MORE else None
        if spot is self.spot and spot.kind == "value" and rule.constant.is_run and not self.behind:
            # A text may end with the sign of which what ends it is a run: the last of them end it.
            if end == len(self.buffer) and not final:
                return WAIT
            if self.buffer.startswith(rule.constant.core[0], end):
                return None
        if rule.kind == "end":
            return self._try_pop(rule, end, final)
        if rule.guard == "rest":
            return self._look_for_rest_behind(rule, end, final)
        if rule.guard == "unquoted":
            named = self._may_name(skip_blank(self.buffer, end) if rule.loose or trail else end, final)
            if named is not True:
                return named or None
        if rule.guard in ("entry", "unquoted"):
            return self._check_entry(self._land(rule, end, trail, final, spot.graph), final)
        if rule.guard == "again":
            return self._check_again(self._land(rule, end, trail, final, spot.graph))
        before, self.spelling = self.spelling, rule.spelling or self.spelling
        landing = self._land(rule, end, trail, final, spot.graph)
        self.spelling = before
        if isinstance(landing, Landing) and rule.guard == "apart" and not rule.constant.firm and landing.find("key") is None:
            follows = self._structure_follows(landing.end, final, True)  # a name in brackets stands in prose, too
            landing = landing if follows is True else follows or None
        shown = landing is not None and rule.guard in NO_EXAMPLE and self._is_sample(at)
        return None if shown else landing  # asked last, as that reads all of the text before it

    def _check_entry(self, here: Landing | Wait | None, final: bool) -> Landing | Wait | None:
        """Return where an argument begins, if what stands there may be its value by the schema."""
        if not isinstance(here, Landing):
            return here
        types = self._find_wanted(here)
        at = skip_blank(self.buffer, here.end)
        if at >= len(self.buffer):
            return here if final else WAIT
        own = any(isinstance(node.codec, Insides) and node.type in types for node in here.spot.nodes)  # those begin as they like
        told = types and "string" not in types and not own
        return here if not told or any(self.buffer[at] in BEGINNINGS[kind] for kind in types) else None

    def _check_again(self, here: Landing | Wait | None) -> Landing | Wait | None:
        """Return where a call begins whose first argument the call that is open has already."""
        call = self.writer.call
        return here if not isinstance(here, Landing) or (call and here.find("key") in call.given) else None

    def _try_end(self, rule: Rule, at: int, final: bool, found: Landing | None = None) -> Landing | Wait | None:
        """Match the end of the turn, which is one only where nothing follows."""
        constant = rule.constant
        exact = not constant.core and self._is_in_text()  # else layout that belongs to the value were lost
        place = at if constant.firm or exact else skip_blank(self.buffer, at)
        match = constant.match_exactly if exact else constant.match_core
        end = match(self.buffer, place, final and not rule.cut)
        if end == NO and constant.lead:
            end = constant.match_exactly(self.buffer, at, final)
        if end == MORE and final and at < len(self.buffer) and rule.guard not in ("last", "orphan") and not rule.spelling:
            end = len(self.buffer) if self._is_fresh(at) or self.spot.kind != "content" else end
        if end < 0:
            return Wait(constant.find_rest(self.buffer, place)) if end == MORE and not final else None
        return self._end_turn(rule, end if exact else skip_blank(self.buffer, end), final, found)

    def _end_turn(self, rule: Rule, end: int, final: bool, found: Landing | None) -> Landing | Wait | None:
        """Return where the end of the turn leads of which a place is behind; nothing may follow it but more of what ends turns."""
        marks = self.plan.turn_ends if rule.recovery == TWICE else None
        if marks:
            end = find_end(marks.pattern, self.buffer, end)
            if end < len(self.buffer) and not final and marks.may_begin(self.buffer[end:]):
                return WAIT
        if end < len(self.buffer) or not final:
            return WAIT if end == len(self.buffer) else None
        steps = (*(found.steps if found else ()), Step("close"))
        first = (found.rule if found else rule).name_recovery(rule.recovery)
        return Landing(end, self.plan.behind(rule, TURN, self.may_call), first, steps=steps)

    def _try_pop(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Leave a list or an object: what is behind it must follow; of many that end at once, behind the first of them."""
        if not self.frames or len(self.frames) > DEPTH:
            return None
        if self._pops == POPS:
            return Landing(end, self.frames[-1].spot, rule, pops=1, behind=True, closer=rule)
        frame, key = self.frames.pop(), self._key
        self._pops += 1
        self._key = frame.key
        landing = self._find_best(end, final, frame.spot) or self._end_in_brackets(skip_blank(self.buffer, end), final)
        self.frames.append(frame)
        self._pops -= 1
        self._key = key
        return landing.leave(rule) if isinstance(landing, Landing) else landing

    def _end_in_brackets(self, at: int, final: bool) -> Landing | Wait | None:
        """Return where the call ends though brackets are open, by a mark, or as the next call or the end of the turn follows."""
        marks = self.plan.field_ends if self.policy.recover else None
        if marks is None:
            return None
        found = marks.pattern.match(self.buffer, at)
        if found is None:
            rest = self.buffer[at : at + SHORT]
            begins = WAIT if not final and marks.may_begin(rest) else self._structure_follows(at, final, False)
            if begins is not True:
                return begins or None
        end = found.end() if found and not found.lastindex else at  # what ends the turn is no part of the call
        return Landing(end, self.plan.spot(TURN, (GAP,), self.may_call), UNBRACKETED, steps=(Step("close"),))

    def _land(
        self, rule: Rule, end: int, trail: str, final: bool, graph: str, found: Landing | None = None
    ) -> Landing | Wait | None:
        """Read the short fields behind a rule, down to one that is streamed."""
        if rule.guard == "shape":
            return self._look_for_json(rule, end, final)
        if rule.guard in OF_FIELDS:
            return self._look_for_name(rule, end, final)
        if rule.guard in ("wrapped", "token"):
            return self._leave_wrapper(rule, end, final)
        if rule.guard == "header":
            return self._read_header(rule, end, final)
        if rule.opens and not self.may_call:
            return None
        steps = (*(found.steps if found else ()), *self._list_steps(rule, end))
        if rule.targets[0].counted and not rule.opens and self._counts_on(rule, end, steps):
            return None
        first = (found.rule if found else rule).name_recovery(rule.recovery)
        here = Landing(end, self.plan.behind(rule, graph, self.may_call), first, trail, steps)
        short = rule.kind in ("name", "id", "key")
        if not ((short and (rule.opens or rule.kind == "name")) or self._names_tool(rule, here)):
            return None
        if short:
            begun = self._skip_doubled(rule, here, final) if rule.opens or rule.constant.firm else here
            if begun is here:
                begun = self._skip_repeated(rule.constant.last, here, final)
            landing = begun if isinstance(begun, Wait) else self._land_short(begun, rule.kind, final)
            bare = rule.guard == "first" and not rule.constant.core
            alone = bare and isinstance(landing, Landing) and landing.steps[-1].kind == "close"
            return None if alone else landing  # a name alone may be what is left of the end of the call before
        follows = self._follows_well(rule, end, final)
        if follows is not True:
            return follows or None
        if rule.kind not in ("arguments", "value"):
            return here
        behind = self._skip_doubled(rule, here, final)
        if rule.kind == "value" or isinstance(behind, Wait):
            return behind
        return self._check_arguments(behind, final, bool(rule.recovery))

    def _names_tool(self, rule: Rule, here: Landing) -> bool:
        """Whether a tool of the request is named before a place, if a rule or what led there wants one; any, if none is known."""
        if OF_TOOLS.isdisjoint((rule.guard, here.rule.guard)):
            return True
        name = self._find_name(here)
        return name is not None and (here.rule.guard != "known" if self.tools is None else name in self.tools)

    def _follows_well(self, rule: Rule, end: int, final: bool) -> bool | Wait:
        """Whether what the guard of a rule asks of what is behind it holds; or more is needed to tell."""
        if rule.guard == "followed":
            return True if skip_blank(self.buffer, end) < len(self.buffer) else not final and WAIT
        if rule.guard == "closed":
            return self._is_ended_thought(end, final)
        if rule.guard == "line":
            at = skip_spaces(self.buffer, end)
            return self.buffer[at] == "\n" if at < len(self.buffer) else final or WAIT
        late = rule.guard == "late" and final and not self.plan.speaks_behind
        structured = late or rule.guard in ("structure", "ending", "typed")
        if structured and not rule.opens:  # what opens a call is structure itself
            ends = self.plan.call_ends if rule.recovery == DOUBLED else None  # then each end of the call may be
            behind = find_end(ends.pattern, self.buffer, skip_blank(self.buffer, end)) if ends else end
            return self._structure_follows(behind, final, rule.guard != "structure")
        return rule.guard != "sample" and (rule.guard != "fitting" or self._fits_behind(end, final))

    def _structure_follows(self, at: int, final: bool, ending: bool) -> bool | Wait:
        """Whether a call or the end of the turn follows, or with ``ending`` nothing at all; that, or more may be needed to tell."""
        if skip_blank(self.buffer, at) >= len(self.buffer):
            return ending if final else WAIT
        if self._guards >= GUARDS:
            return False
        key = at, final, self._guards, len(self.frames), self.at, self.spelling
        if key not in self.followed:
            self._guards += 1
            self.followed[key] = self._begins_structure(at, final)
            self._guards -= 1
        return self.followed[key]

    def _begins_structure(self, start: int, final: bool) -> bool | Wait:
        """Whether a call or the end of the turn begins behind the white space at a place, or more may be needed to tell."""
        at = skip_blank(self.buffer, start)
        spot = self.plan.spot(TURN, (GAP,), self.may_call)
        landing = self._find_landing(spot, at, final)
        text = isinstance(landing, Landing) and not (landing.steps or landing.rule.constant.core)
        if (landing is None or text) and self.names and self.policy.recover:
            before, self.ended = self.ended, start  # what begins a call only right behind another one
            landing = self._find_best(start, final, spot)
            self.ended = before
            if isinstance(landing, Landing) and not (landing.calls and landing.find("name") in self.names):
                return False
        if landing is None or isinstance(landing, Wait):
            return landing or False
        if landing.calls and not landing.rule.constant.text:
            return False  # a name alone begins nothing
        if landing.rule.guard in OF_FIELDS and not self.any_name.search(self.buffer, at, at + SHORT):
            return False  # parameters alone are those of the call that is open
        if landing.spot.kind == "end":  # half of it may as well be the beginning of something else
            constant = landing.rule.constant
            whole = constant.match_core(self.buffer, at, True) != NO
            return whole or self.buffer[at:].strip() == self.plan.strip_stop(constant.text).strip()
        # What ends all calls is structure, and so is what begins an answer or a thought, if it is more than data.
        begins = landing.spot.nodes[0] is AFTER or landing.spot.kind in ("reasoning", "content")
        return bool(landing.steps) or (begins and landing.rule.constant.firm and not landing.rule.recovery)

    def _check_arguments(self, here: Landing, final: bool, braced: bool) -> Landing | Wait | None:
        """Whether an object follows, or nothing at all if it need not, for no arguments: then what ends the call."""
        at = skip_blank(self.buffer, here.end)
        if at >= len(self.buffer):
            return WAIT if not final else None if braced else here
        begun, within = self.buffer[at : at + _BEGINNING], find_within(here.spot.nodes)
        begun = get_units(within).decode(begun, final) if within else begun
        if begun[:1] == "{":
            found = _OBJECT.match(begun)
            if found is None or (found[1] is None and not final):
                return found and WAIT
            # Where the output ends, a key without quotes may be one of the format's own, cut off.
            told = found[1] is not None and not (final and found[1].endswith(":") and self.plan.list_nodes("key"))
            own = told and braced and self._begins_own(here, begun, final)
            if own:
                return WAIT if isinstance(own, Wait) else None
            return self._find_inner_arguments(here, at, final) if told or begun.strip() == "{" else None
        if begun == "" and not final:
            return WAIT
        if braced:
            return None
        landing = self._find_landing(here.spot, at, final) if self.policy.recover else None
        if isinstance(landing, Landing) and landing.rule.closes:
            follows = landing.end > at or self._structure_follows(at, final, True)
            if follows is not True:
                return follows or None
            return landing.replace(steps=here.steps + landing.steps, rule=here.rule.name_recovery("no arguments"))
        return landing if isinstance(landing, Wait) else None

    def _find_inner_arguments(self, here: Landing, at: int, final: bool) -> Landing | Wait:
        """Return a landing before the object at a place; if that is the whole call once more, before the arguments in it: no key
        around them is a parameter of the tool, so that they can be nothing else. It names the tool where nothing before it does."""
        name = self._find_name(here)
        if not self.policy.recover or name is None or not self.names or find_within(here.spot.nodes):
            return here
        names = (name,) if name in self.names else self.names  # what is no tool may stand where the name does
        declared = {each: self._list_declared(each) for each in names}
        found = _WHOLE_CALL.match(self.buffer, at)
        own = declared.get(found[2]) if found else None
        if found and own and own.isdisjoint((found[1], found[3])):
            steps = tuple(Step("name", found[2]) if step.kind == "name" else step for step in here.steps)
            return here.replace(end=found.end(), rule=here.rule.name_recovery("call within its arguments"), steps=steps)
        half = None if found or final else _HALF_CALL.fullmatch(self.buffer, at)
        begun = [each for each in names if half and declared[each] and each.startswith(half[3] or "")]
        return WAIT if half and any(not half[2] or half[1] not in declared[each] for each in begun) else here

    def _begins_own(self, here: Landing, begun: str, final: bool) -> bool | Wait:
        """Whether an object begins with a key that is no parameter, but a word of the format's own, or any where a template writes
        no object; or more is needed to tell."""
        if self.tools is None:
            return False
        declared = self._list_declared(self._find_name(here))
        found = _FIRST_KEY.match(begun)
        if found is None:
            return WAIT if not final and _HALF_KEY.fullmatch(begun) else False
        odd = here.spot.nodes[0] is BODY and declared != set()
        return found[1] not in declared and (odd or found[1] in self.plan.notation.words)

    def _land_short(self, here: Landing, kind: str, final: bool) -> Landing | Wait | None:
        """Read a name, an id or a key, and what is behind it."""
        raise NotImplementedError


def _rank(landing: Landing) -> tuple[bool, bool, int]:
    constant = landing.rule.constant
    begun = not landing.rule.recovery or landing.rule.is_shown
    shown = begun and bool(constant.core or landing.steps)  # that text begins, nothing shows
    return shown, constant.firm, landing.end  # a mark that stands there is no beginning of a key, however long that were
