"""What stands at a place: the rules of a spot tried on the buffer, down to the field in which a rule ends.

A rule matches, does not, or may when more has come. Where it matches, what is behind it must be what the rule leads to: a name
must be a name and be followed by what follows names. Nothing here changes anything; the :class:`Landing` that is found says all
that is to be done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..format import Insides, Json, Text
from ..format.units import MORE, NO, get_units
from ..recover import Policy, compile_names, find_name
from ..schema import UNKNOWN, Schema, ToolSet
from .constants import skip_blank
from .fence import skip_fence
from .headers import LONGEST
from .landing import Frame, Landing, Step, list_id
from .landmarks import GAP, TURN
from .names import find_count, find_counted_id
from .plan import Plan
from .rules import SHAPES, WAIT, Rule, Spot, Wait
from .scalars import find_within, match_scalar
from .shape import find_start
from .writer import Call, Writer

TRIES = 8  # so often may a JSON value be looked at that is no call
GUARDS = 2  # recoveries that lean on each other
DEPTH = 128  # lists and objects within each other
POPS = 16  # of these are left at once, as each takes several calls of functions

_OBJECT = re.compile(r"\{\s*(?:([\"'}\\]|[\w$-]+\s*:)|[\w$-]*\s*\Z)")
_BEGINNING = 160  # characters in which an object is known from its beginning


class Lookahead:
    """Looks at the buffer of a generation from where its reader stands."""

    def __init__(self, plan: Plan, tools: ToolSet | None, start: Spot, policy: Policy) -> None:
        self.plan = plan
        self.tools = tools
        self.policy = policy
        self.names = sorted(tools.tools, key=len, reverse=True) if tools else []
        self.known_only = policy.unknown == "text"  # whether markup alone makes no call, of whatever tool
        self.may_call = plan.calls and (tools is None or bool(self.names))
        self.writer = Writer()
        self.spot = start
        self.buffer = ""
        self.gone = 0  # characters that left the buffer
        self.at = 0  # the first character that is not read yet
        self.frames: list[Frame] = []
        self.fresh = True  # whether nothing visible of this text has come
        self.behind = False  # whether a field has ended and a rule must follow here
        self.ended_reasoning = False
        self.before = ""  # what was handed on last
        self.begun = False  # whether a mark that begins calls stands in the content
        self.owed = False  # whether a part of what ends a call was left out, and may still come
        self.tries = TRIES
        self.refused = -1  # the place behind a mark that no calls follow which are told by their parameters
        self.followed: dict[tuple[object, ...], bool | Wait] = {}  # what was found to follow a place, as long as nothing is taken
        self._pops = 0  # lists and objects that are left now, to see what is behind them
        self._guards = 0  # recoveries that wait for what is being looked at now
        self._key: str | None = None  # that of the list or object behind whose end is looked
        self._properties: dict[str, frozenset[str]] = {}

    def _find_landing(self, spot: Spot, at: int, final: bool) -> Landing | Wait | None:
        """Return where the best rule of a spot that matches at a place leads, None where none does, or that more is needed."""
        window = self.buffer[at : at + spot.width]
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
            if landing and begins == NO:
                odd = odd or landing
            elif landing:
                guessed = landing.rule.guard in SHAPES or (landing.rule.closes and odd and self._is_new(odd.find("key") or ""))
                return odd if odd and guessed else landing
        return odd

    def _match_value(self, landing: Landing, final: bool) -> int:
        """Match the beginning of the value to which a rule leads.

        Where none of those stands that it may be (NO), another rule is the better one, unless that ends the call and this one reads
        a key of the tool.
        """
        nodes = landing.spot.nodes
        if landing.spot.kind != "value" or any(isinstance(node.codec, (Text, Insides, Json)) for node in nodes):
            return 0
        at = skip_blank(self.buffer, landing.end)
        if at >= len(self.buffer):
            return 0 if final else MORE
        return match_scalar(nodes, self.buffer, at, final)[0]

    def _find_best(self, places: tuple[int, ...], final: bool, spot: Spot | None = None) -> Landing | Wait | None:
        """Return where the best rule leads from one of some places; None, or that more is needed.

        The best is one that a template renders, of those one with a mark, and then the one that reaches furthest. It is a rule
        of the spot in which the parser stands, unless another one is given.
        """
        best: Landing | None = None
        for at in dict.fromkeys(places):
            landing = self._find_landing(spot or self.spot, at, final)
            if isinstance(landing, Wait):
                return landing
            if landing and (best is None or _rank(landing) > _rank(best)):
                best = landing
        return best

    def _is_fresh(self, at: int) -> bool:
        """Whether nothing visible stands between the beginning of this text and a place."""
        return self.fresh and skip_blank(self.buffer, self.at) >= at

    def _ends_text(self, at: int) -> bool:
        """Whether a text may end with the sign before a place, or a line has begun there."""
        sign = self.buffer[at - 1] if at > self.at else self.before[-1:]
        return sign.isalnum() or sign in "\n.!?…。！？"

    def _try_rule(self, rule: Rule, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        if rule.guard and not self._stands_well(rule, at, spot):
            return None
        if not rule.constant.text and spot is self.spot and at < len(self.buffer) and self._is_raw():
            return None  # that ends another value, which may stand here; layout that nothing follows belongs to this one
        if rule.guard == "whole":
            return self._try_whole(rule, at, final)
        if rule.kind == "end" and spot.graph == TURN:
            return self._try_end(rule, at, final)
        end, trail = self._match(rule, at, final, spot)
        if end == MORE:
            return Wait(rule.constant.find_rest(self.buffer, at))
        if end == NO:
            return None
        if spot is self.spot and spot.kind == "value" and rule.constant.is_run and not self.behind:
            # A text may end with the sign of which what ends it is a run: the last of them end it.
            if end == len(self.buffer) and not final:
                return WAIT
            if self.buffer.startswith(rule.constant.core[0], end):
                return None
        return self._try_pop(rule, end, final) if rule.kind == "end" else self._land(rule, end, trail, final, spot.graph)

    def _stands_well(self, rule: Rule, at: int, spot: Spot) -> bool:
        """Whether what the guard of a rule asks of what is before it holds."""
        if rule.guard == "fresh":
            return self._is_fresh(at)
        if rule.guard == "thought":
            return self.ended_reasoning
        if rule.guard == "owed":
            return self.owed
        if rule.guard == "named":
            return spot is self.spot
        if rule.guard == "orphan":
            return self._ends_text(at) and self.may_call and not self.begun
        return rule.guard != "told" or self._ends_text(at)

    def _match(self, rule: Rule, at: int, final: bool, spot: Spot) -> tuple[int, str]:
        """Match the text of a rule at a place; returns the place behind it (or NO, MORE), and the layout that may follow."""
        constant = rule.constant
        if constant.firm or rule.loose:
            return constant.match_core(self.buffer, at, final), constant.trail
        end = constant.match_exactly(self.buffer, at, final)
        if end == NO and constant.core and not rule.laid and self.policy.recover and (self.behind or spot.graph != TURN):
            return constant.match_core(self.buffer, skip_blank(self.buffer, at), final), constant.trail
        return end, ""

    def _try_end(self, rule: Rule, at: int, final: bool, found: Landing | None = None) -> Landing | Wait | None:
        """Match the end of the turn, which is one only where nothing follows."""
        constant = rule.constant
        exact = not constant.core and self._is_raw()  # else layout that belongs to the value were lost
        place = at if constant.firm or exact else skip_blank(self.buffer, at)
        match = constant.match_exactly if exact else constant.match_core
        end = match(self.buffer, place, final and not rule.cut)
        if end == NO and constant.lead:
            end = constant.match_exactly(self.buffer, at, final)
        if end == MORE and final and at < len(self.buffer) and rule.guard != "last" and (self.fresh or self.spot.kind != "content"):
            end = len(self.buffer)
        if end < 0:
            return Wait(constant.find_rest(self.buffer, place)) if end == MORE and not final else None
        if (end if exact else skip_blank(self.buffer, end)) < len(self.buffer):
            return None
        if not final:
            return WAIT
        steps = (*(found.steps if found else ()), Step("close"))
        return Landing(len(self.buffer), Spot(TURN, rule.targets, ()), found.rule if found else rule, steps=steps)

    def _try_pop(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Leave a list or an object: what is behind it must follow; of many that end at once, behind the first of them."""
        if not self.frames or len(self.frames) > DEPTH:
            return None
        if self._pops == POPS:
            return Landing(end, self.frames[-1].spot, rule, pops=1, behind=True)
        frame, key = self.frames.pop(), self._key
        self._pops += 1
        self._key = frame.key
        try:
            landing = self._find_landing(frame.spot, end, final)
            bare = skip_blank(self.buffer, end)
            if landing is None and bare > end and self.policy.recover:
                landing = self._find_landing(frame.spot, bare, final)
        finally:
            self.frames.append(frame)
            self._pops -= 1
            self._key = key
        return landing._replace(pops=landing.pops + 1) if isinstance(landing, Landing) else landing

    def _land(
        self, rule: Rule, end: int, trail: str, final: bool, graph: str, found: Landing | None = None
    ) -> Landing | Wait | None:
        """Read the short fields behind a rule, down to one that is streamed."""
        if rule.guard == "shape":
            return self._look_for_json(rule, end, final)
        if rule.guard == "named":
            return self._look_for_name(rule, end, final)
        if rule.guard == "header":
            return self._read_header(rule, end, final)
        if rule.opens and not self.may_call:
            return None
        steps = (*(found.steps if found else ()), *self._list_steps(rule, end))
        if rule.targets[0].counted and not rule.opens and self._counts_on(rule, end, steps):
            return None
        first = found.rule if found else rule
        first = first.name_recovery(rule.recovery) if rule.recovery else first
        here = Landing(end, self.plan.behind(rule, graph, self.may_call), first, trail, steps)
        if rule.kind in ("name", "id", "key"):
            return self._land_short(here, rule.kind, final)
        follows = self._follows_well(rule, end, final)
        if follows is not True:
            return follows or None
        if "tool" in (rule.guard, here.rule.guard) or here.rule.guard == "known":
            name = self._find_name(here)
            if name is None or (here.rule.guard == "known" if self.tools is None else name not in self.tools):
                return None
        return self._check_arguments(here, final, bool(rule.recovery)) if rule.kind == "arguments" else here

    def _list_steps(self, rule: Rule, end: int) -> tuple[Step, ...]:
        """Return what a rule does to calls, of whose text all but the end is behind a place."""
        if rule.opens:
            opened = Step("open", find_count(rule, self.buffer, end))
            return Step("close"), opened, *list_id(find_counted_id(rule, self.buffer, end))
        return (Step("close"),) if rule.closes else ()

    def _follows_well(self, rule: Rule, end: int, final: bool) -> bool | Wait:
        """Whether what the guard of a rule asks of what is behind it holds; or more is needed to tell."""
        if rule.guard in ("structure", "ending") or (rule.guard == "late" and final):
            return self._structure_follows(end, final, rule.guard != "structure")
        return rule.guard != "fitting" or self._fits_behind(end, final)

    def _counts_on(self, rule: Rule, end: int, steps: tuple[Step, ...]) -> bool:
        """Whether another number stands in a rule than where the call began."""
        begun = [step.text for step in steps if step.kind == "open"] or [self.writer.call.count if self.writer.call else ""]
        return begun[-1] != find_count(rule, self.buffer, end)

    def _try_whole(self, rule: Rule, at: int, final: bool) -> Landing | Wait | None:
        """Whether JSON begins at a place: the first of a text, or behind a mark of whatever dialect."""
        if not self.names or not self.tries:
            return None
        end = find_start(self.buffer, at, self._is_fresh(at), final)
        if end < 0:
            return WAIT if end == MORE else None
        return Landing(end, self.plan.spot(TURN, rule.targets), rule)

    def _read_header(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Read the rest of a header in whatever order it is, and what follows it."""
        headers = self.plan.headers
        assert headers
        place = self.buffer.find(headers.mark, end, end + LONGEST)
        if place < 0:
            return None if final or len(self.buffer) - end >= LONGEST else WAIT
        header = rule.constant.text + self.buffer[end:place]
        at, named = place + len(headers.mark), headers.name.search(header)
        known = compile_names(frozenset(self.names)).match(header, named.start(1)) if named else None
        name = max(known[0] if known else "", named[1], key=len) if named else ""  # a tool may be called what is no word
        steps: tuple[Step, ...] = (Step("close"), Step("open"), Step("name", name))
        landing: Landing | Wait | None = None
        if named and self._may_name(name):
            landing = self._find_landing(headers.spots["name"], at, final)
        elif named:  # a call that is none is text with its name
            start = skip_blank(self.buffer, at)
            if start >= len(self.buffer) or self.buffer[start] == "{":
                return WAIT if start >= len(self.buffer) and not final else None
        if landing is None:
            told = [headers.words[word] for word in re.findall(r"\w+", header) if word in headers.words]
            landing, steps = self._find_landing(headers.spots[told[-1] if told else "content"], at, final), steps[:1]
        return landing._replace(rule=rule, steps=(*steps, *landing.steps)) if isinstance(landing, Landing) else landing

    def _may_name(self, name: str) -> bool:
        """Whether markup alone makes a call of a tool."""
        return self.may_call and (self.tools is None or not self.known_only or name in self.tools)

    def _look_for_json(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Whether an object or a list follows, which is then read as a whole."""
        constant = rule.constant  # a mark, or JSON itself as far as calls begin alike
        begun = next((sign for sign in constant.core if sign in "{["), "")
        at = skip_blank(self.buffer, end) if constant.marked else self.buffer.rindex(begun, 0, end)
        at = skip_fence(self.buffer, at, final)
        if at == MORE or at >= len(self.buffer) or not self.tries:
            return None if final or not self.tries else WAIT
        return Landing(at, self.plan.spot(TURN, rule.targets), rule) if self.buffer[at] in "{[" else None

    def _look_for_name(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Whether a tool of the request is named behind a mark, and nothing before it but signs and words of the format."""
        if not self.tools or not self.tries or end == self.refused:
            return None
        named = find_name(self.buffer, end, self.tools, self.plan.notation, final)
        if named is None:
            return WAIT
        return Landing(end, self.plan.spot(TURN, rule.targets), rule) if named else None

    def _structure_follows(self, at: int, final: bool, ending: bool) -> bool | Wait:
        """Whether a call or the end of the turn follows, or with ``ending`` nothing at all; that, or more may be needed to tell."""
        at = skip_blank(self.buffer, at)
        if at >= len(self.buffer):
            return ending if final else WAIT
        if self._guards >= GUARDS:
            return False
        key = at, final, self._guards, len(self.frames), self.at
        if key not in self.followed:
            self._guards += 1
            self.followed[key] = self._begins_structure(at, final)
            self._guards -= 1
        return self.followed[key]

    def _begins_structure(self, at: int, final: bool) -> bool | Wait:
        """Whether a call or the end of the turn begins at a place, or more may be needed to tell."""
        landing = self._find_landing(self.plan.spot(TURN, (GAP,), self.may_call), at, final)
        if landing is None or isinstance(landing, Wait):
            return landing or False
        if landing.spot.kind == "end":  # half of it may as well be the beginning of something else
            constant = landing.rule.constant
            whole = constant.match_core(self.buffer, at, True) != NO
            return whole or self.buffer[at:].strip() == self.plan.strip_stop(constant.text).strip()
        return bool(landing.steps)

    def _fits_behind(self, at: int, final: bool) -> bool | Wait:
        """Whether what follows a call in a render may begin at a place, or the output ends there; or more is needed to tell."""
        at = skip_blank(self.buffer, at)
        if at >= len(self.buffer):
            return final or WAIT
        shown = self.plan.spot(TURN, (GAP,), self.may_call).list_short(self.buffer[at])
        return any(rule.constant.core and not rule.recovery for rule in shown)

    def _check_arguments(self, here: Landing, final: bool, braced: bool) -> Landing | Wait | None:
        """Whether an object follows, or nothing at all if it need not, for no arguments: then what ends the call."""
        at = skip_blank(self.buffer, here.end)
        if at >= len(self.buffer):
            return WAIT if not final else None if braced else here
        begun = self._read_beginning(here, at, final)
        if begun[:1] == "{":
            found = _OBJECT.match(begun)
            return None if found is None else here if found[1] or final else WAIT
        if begun == "" and not final:
            return WAIT
        if braced:
            return None
        landing = self._find_landing(here.spot, at, final) if self.policy.recover else None
        if isinstance(landing, Landing) and landing.rule.closes:
            follows = landing.end > at or self._structure_follows(at, final, True)
            if follows is not True:
                return follows or None
            return landing._replace(steps=here.steps + landing.steps, rule=here.rule.name_recovery("no arguments"))
        return landing if isinstance(landing, Wait) else None

    def _read_beginning(self, here: Landing, at: int, final: bool) -> str:
        """Return what stands at a place, as far as it has come, in the letters of JSON where that is written as a text."""
        begun = self.buffer[at : at + _BEGINNING]
        within = find_within(here.spot.nodes)
        return begun if within is None else get_units(within).decode(begun, final)

    def _is_new(self, key: str) -> bool:
        """Whether a key is declared for the call that is open, and was not given yet."""
        call = self.writer.call
        return call is not None and not self.frames and key not in call.given and key in self._list_declared(call.name)

    def _list_declared(self, name: str | None) -> frozenset[str]:
        """Return the parameters that a tool of the request declares; none where nothing is known of the tool."""
        if name is None or self.tools is None or name not in self.tools:
            return frozenset()
        declared = self._properties.get(name)
        if declared is None:
            declared = self._properties[name] = self.tools.get_parameters(name).list_properties()
        return declared

    def _find_property(self, name: str | None, keys: Sequence[str]) -> Schema:
        """Return the schema of what stands under some keys, each in the one before; the first is a parameter."""
        if self.tools is None:
            return UNKNOWN
        schema = self.tools.find_property(keys[0]) if name is None else self.tools.get_parameters(name).get_property(keys[0])
        for key in keys[1:]:
            schema = schema.get_property(key)
        return schema

    def _split_path(self, key: str, name: str | None) -> list[str]:
        """Return the keys that lead to an argument, where the format writes the members of objects under their paths."""
        path = self.plan.graph.path
        return [key] if path is None or key in self._list_declared(name) else path.split(key)

    def _is_raw(self) -> bool:
        """Whether a value is being read that nothing but what follows it ends."""
        if self.spot.kind != "value" or self.behind:
            return False
        return any(isinstance(node.codec, Text) and not node.codec.quoted for node in self.spot.nodes)

    def _land_short(self, here: Landing, kind: str, final: bool) -> Landing | Wait | None:
        """Read a name, an id or a key, and what is behind it."""
        raise NotImplementedError

    def _get_call(self, here: Landing) -> Call | None:
        """Return the call that was open before, if it still is where something leads."""
        return self.writer.call if all(step.kind != "open" for step in here.steps) else None

    def _find_name(self, here: Landing) -> str | None:
        """Return the name of the call that is open where something leads."""
        call = self._get_call(here)
        return here.find("name") or (call.name if call is not None else None)


def _rank(landing: Landing) -> tuple[bool, bool, int]:
    constant = landing.rule.constant
    shown = not landing.rule.recovery and bool(constant.core or landing.steps)  # that text begins, nothing shows
    return shown, constant.firm, landing.end  # a mark that stands there is no beginning of a key, however long that were
