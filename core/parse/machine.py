"""A stream in, deltas out: one walk through the graph of a turn.

The parser stands in one *spot* at a time: a field of which it knows which nodes of the graph it may be. In a text, it looks
for the next place at which a rule of the spot may begin. There a rule matches, does not, or may when more has come; then the
text from that place on is held back. Where it matches, what is behind it must be what the rule leads to: a name must be a
name and be followed by what follows names. Only then is it taken, and never taken back. Everything else is text.

What must live here and nowhere else: the buffer, the spot, and what of the buffer is emitted. What is written as JSON lives
in the writer, what the format says in the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from ..delta import Delta
from ..errors import AutoparserError
from ..format import Insides, Json, Node, Text
from ..format.cut import cut_common_start
from ..schema import UNKNOWN, Schema, ToolSet
from .constants import MORE, NO, skip_blank
from .lexer import JSON_SIGNS, JsonLexer
from .plan import AFTER, GAP, LATE_END, OPEN_REASONING, TURN, Plan, Rule, Spot, is_quoted
from .units import Units, convert, escape_json, get_units, match_scalar
from .writer import Writer

SHORT = 256  # characters that a name or a key may have
TRIM = 8192  # so much of the buffer may be behind the parser
HELD = 1 << 14  # so much of an output may wait for what tells the type of a value
DEPTH = 64  # lists and objects within each other

_ID = re.compile(r"[^\s\"'<>{}()\[\]]+")
_SIGNS = re.compile(r"[\"{}\[\]<>/]")
_KEY = re.compile(r"[\w .:$@-]+")
_NAME = re.compile(r"[^\s\"'<>{}()\[\],;]{1,128}")


class ClosedParserError(AutoparserError):
    """A parser was fed after its end."""


class Step(NamedTuple):
    """Something that is read on the way to a field that is streamed."""

    kind: Literal["open", "close", "name", "id", "key"]
    text: str = ""


class Landing(NamedTuple):
    """Where a rule leads: the place behind it, and what was read on the way: calls that end and begin, names, ids and keys."""

    end: int
    spot: Spot
    rule: Rule
    trail: str = ""
    steps: tuple[Step, ...] = ()
    pops: int = 0

    def find(self, kind: str) -> str | None:
        """Return the last field of a kind that was read on the way in the call that is open at its end."""
        for step in reversed(self.steps):
            if step.kind == kind:
                return step.text
            if step.kind == "open":
                return None
        return None


class Frame(NamedTuple):
    """A list or an object that is being read, and the spot that is left when it ends."""

    spot: Spot
    schema: Schema


_MORE = object()


class Machine:
    """Reads one generation; see the module's text."""

    def __init__(
        self, plan: Plan, tools: Iterable[Mapping[str, Any]] | None, start: Spot, known_only: bool = False
    ) -> None:
        self.plan = plan
        self.tools = None if tools is None else ToolSet(dict(tool) for tool in tools if isinstance(tool, Mapping))
        self.names = sorted(self.tools.tools, key=len, reverse=True) if self.tools else []
        self.known_only = known_only  # whether markup alone makes no call, of whatever tool
        self.may_call = plan.calls and (tools is None or bool(self.names))
        self.writer = Writer()
        self._properties: dict[str, frozenset[str]] = {}
        self.recoveries: list[tuple[str, int]] = []
        self.spot = start
        self.closed = False
        self.buffer = ""
        self.at = 0  # the first character that is not read yet
        self.scan = 0  # where to look on for the end of a text
        self.gone = 0  # characters that left the buffer
        self.trail = ""  # layout that may follow the last rule
        self.fresh = True  # whether nothing visible of this text has come
        self.frames: list[Frame] = []
        self.lexer: JsonLexer | None = None
        self.within: Text | None = None  # the notation in which JSON is written as a text
        self.streaming = False  # whether a value is emitted as a string as it comes
        self.holding = False  # whether a value waits for its end to tell its type
        self.anchor = -1  # where a call without a name so far began
        self.behind = False  # whether a field has ended and a rule must follow here
        self.schema = UNKNOWN
        self.ended_reasoning = False
        self.unclosed = False  # whether a call stood in reasoning that was not closed

    # Feeding -------------------------------------------------------------------------------------------------------------

    def feed(self, text: str) -> list[Delta]:
        """Read a piece of the output."""
        if self.closed:
            raise ClosedParserError("feeding a parser that was finished: make a new one for each generation")
        if self.at == len(self.buffer) and self._passes(text):
            return self.writer.take()
        self.buffer += text
        self._run_safely(False)
        if self.at > TRIM and self.anchor < 0:
            self._trim()
        return self.writer.take()

    def _passes(self, text: str) -> bool:
        """Emit a piece at once where nothing of it can be structure, and nothing is held back."""
        if self.lexer is not None:
            if not self.lexer.plain or self.within or JSON_SIGNS.search(text):
                return False
            self.writer.arguments(text)
            return True
        if self.fresh or self.behind or self.holding or self.trail or self.spot.quick.search(text):
            return False
        kind = self.spot.kind
        if kind == "value":
            if not self.streaming:
                return False
        elif kind not in ("content", "reasoning"):
            return False
        self._emit(text)
        return True

    def finish(self) -> list[Delta]:
        """Say that the output has ended."""
        if not self.closed:
            self.closed = True
            self._run_safely(True)
        return self.writer.take()

    def _trim(self) -> None:
        cut = self.at
        self.buffer = self.buffer[cut:]
        self.gone += cut
        self.at, self.scan = 0, max(self.scan - cut, 0)

    def settle(self) -> None:
        """Take what has come of the beginning of a turn for all of it: the prompt has written that, and the model goes on."""
        if self.spot.kind == "start" and self.at < len(self.buffer):
            landing = self._find_best((self.at, skip_blank(self.buffer, self.at)), True)
            if isinstance(landing, Landing) and landing.rule.constant.core and landing.spot.kind != "end":
                self._apply(landing, self.at)
                self._run_safely(False)

    def _run_safely(self, final: bool) -> None:
        """Read on; a fault of the parser's own must not end a generation: then the rest is text."""
        try:
            self._run(final)
            if final:
                self._end()
        except (AssertionError, LookupError, ValueError, TypeError, RecursionError, StopIteration):
            self.recoveries.append(("fault", self.gone + self.at))
            self._give_up()

    def _give_up(self) -> None:
        """Hand on what is left as it stands: reasoning where it was being read, else content."""
        thinking = self.spot.kind == "reasoning"
        if self.writer.call is not None and self.writer.call.sent:
            self.writer.incomplete.add(self.writer.call.index)
        self.writer.call = None
        self.frames.clear()
        self.behind, self.lexer, self.holding, self.trail = False, None, False, ""
        nodes = tuple(node for node in self.plan.graph.turn.nodes if node.kind == "reasoning") if thinking else (AFTER,)
        self.spot = self.plan.spot(TURN, nodes[:1], False)
        self.writer.text("reasoning" if thinking else "content", self.buffer[self.at :])
        self.at = self.scan = len(self.buffer)

    def _run(self, final: bool) -> None:
        while self.at < len(self.buffer) or final or self.spot.kind == "start":
            if not self._step(final):
                return

    def _step(self, final: bool) -> bool:
        """Go on as far as one decision leads; returns whether there may be another one."""
        if self.trail and not self._take_trail(final):
            return False
        if self.lexer is not None:
            return self._step_json(final)
        if self.behind:
            return self._step_behind(final)
        kind = self.spot.kind
        if kind == "end":
            return False
        if kind == "start":
            return self._step_start(final)
        if kind in ("content", "reasoning"):
            return self._step_text(final)
        if kind == "arguments":
            return self._start_json(final)
        return self._step_value(final)

    def _take_trail(self, final: bool) -> bool:
        """Take the layout behind a rule, as far as it is there."""
        while self.trail and self.at < len(self.buffer):
            if self.buffer[self.at] != self.trail[0]:
                self.trail = ""
                break
            self.at += 1
            self.trail = self.trail[1:]
        self.scan = max(self.scan, self.at)
        if self.trail and final:
            self.trail = ""
        return not self.trail

    # Rules ---------------------------------------------------------------------------------------------------------------

    def _find_landing(self, spot: Spot, at: int, final: bool, start: int) -> Landing | object | None:
        """Return where the best rule of a spot that matches at a place leads, None where none does, or that more is needed."""
        more = False
        for rule in spot.list_rules(self.buffer[at : at + 1]):
            landing = self._try_rule(rule, at, final, spot)
            if landing is _MORE:
                more = True
            elif landing is not None:
                return _MORE if more else landing
        return _MORE if more else None

    def _find_best(self, places: tuple[int, ...], final: bool) -> Landing | object | None:
        """Return where the rule leads that reaches furthest from one of some places; None, or that more is needed."""
        best: Landing | None = None
        more = False
        for at in dict.fromkeys(places):
            landing = self._find_landing(self.spot, at, final, self.at)
            more = more or landing is _MORE
            if isinstance(landing, Landing) and (best is None or landing.end > best.end):
                best = landing
        return _MORE if more else best

    def _try_rule(self, rule: Rule, at: int, final: bool, spot: Spot) -> Landing | object | None:
        constant = rule.constant
        if rule.kind == "end" and spot.graph == TURN:
            return self._try_end(rule, at, final)
        trail = ""
        if constant.firm:
            end = constant.match_core(self.buffer, at, final)
            trail = constant.trail
        else:
            end = constant.match_exactly(self.buffer, at, final)
        if end == MORE:
            return _MORE
        if end == NO:
            return None
        if rule.kind == "end":
            return self._try_pop(rule, end, final)
        return self._land(rule, end, trail, final, spot.graph)

    def _try_end(self, rule: Rule, at: int, final: bool, found: Landing | None = None) -> Landing | object | None:
        """Match the end of the turn, which is one only at the end of the output."""
        end = rule.constant.match_core(self.buffer, at, final)
        if end < 0:
            return _MORE if end == MORE else None
        if skip_blank(self.buffer, end) < len(self.buffer):
            return None
        if not final:
            return _MORE
        steps = (*(found.steps if found else ()), Step("close"))
        return Landing(len(self.buffer), Spot(TURN, rule.targets, ()), found.rule if found else rule, steps=steps)

    def _try_pop(self, rule: Rule, end: int, final: bool) -> Landing | object | None:
        """Leave a list or an object: what is behind it must follow."""
        if not self.frames or len(self.frames) > DEPTH:
            return None
        frame = self.frames.pop()
        try:
            landing = self._find_landing(frame.spot, end, final, end)
        finally:
            self.frames.append(frame)
        if isinstance(landing, Landing):
            return landing._replace(pops=landing.pops + 1)
        return landing

    def _land(
        self, rule: Rule, end: int, trail: str, final: bool, graph: str, found: Landing | None = None
    ) -> Landing | object | None:
        """Read the short fields behind a rule, down to one that is streamed."""
        if rule.opens and not self.may_call:
            return None
        steps = found.steps if found else ()
        if rule.closes or rule.opens:
            steps += (Step("close"),)
        if rule.opens:
            steps += (Step("open"),)
        spot = self.plan.behind(rule, graph, self.may_call)
        here = Landing(end, spot, found.rule if found else rule, trail, steps)
        kind = rule.kind
        if kind in ("name", "id", "key"):
            return self._land_short(here, kind, final)
        if rule.guard == "structure":
            follows = self._structure_follows(end, final)
            if follows is not True:
                return _MORE if follows is _MORE else None
        if here.rule.guard == "tool":
            name = here.find("name")
            if name is None or (self.tools is not None and name not in self.tools):
                return None
        if kind == "arguments":
            return self._check_arguments(here, final)
        return here

    def _structure_follows(self, at: int, final: bool) -> object:
        """Whether a call or the end of the turn follows; that, or more may be needed to tell."""
        at = skip_blank(self.buffer, at)
        if at >= len(self.buffer):
            return False if final else _MORE
        behind = self.plan.spot(TURN, (GAP,), self.may_call)
        landing = self._find_landing(behind, at, final, at)
        return _MORE if landing is _MORE else isinstance(landing, Landing) and (bool(landing.steps) or landing.spot.kind == "end")

    def _check_arguments(self, here: Landing, final: bool) -> Landing | object | None:
        at = skip_blank(self.buffer, here.end)
        if at >= len(self.buffer):
            return here if final else _MORE
        return here if self.buffer[at] in '{"n' else None

    def _land_short(self, here: Landing, kind: str, final: bool) -> Landing | object | None:
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
        limit = min(len(buffer), start + SHORT)
        at = start
        units = get_units(here.spot.codec)
        while at <= limit:
            if at < limit and buffer[at] in units.first:
                end, _ = units.read(buffer, at, final)
                if end == MORE:
                    return _MORE
                if end > at:
                    at = end
                    continue
            landing = self._leave_short(here, kind, buffer[start:at], at, final)
            if landing is not None:
                return landing
            at += 1
        return _MORE if limit == len(buffer) and not final else None

    def _land_again(self, here: Landing, node: Node, kind: str, final: bool) -> Landing | object | None:
        call = self.writer.call
        first = here.find(kind)
        if first is None and call is not None and Step("open") not in here.steps:
            first = {"name": call.name, "id": call.id, "key": call.key}[kind]
        if not first:
            return None
        if not self.buffer.startswith(first, here.end):
            return _MORE if not final and first.startswith(self.buffer[here.end :]) else None
        return self._leave_short(here, "", "", here.end + len(first), final)

    def _land_name(self, here: Landing, final: bool) -> Landing | object | None:
        buffer, start = self.buffer, here.end
        more = False
        for name in self.names:
            if buffer.startswith(name, start):
                landing = self._leave_short(here, "name", name, start + len(name), final)
                if landing is not None:
                    return landing
            elif not final and name.startswith(buffer[start:]):
                more = True
        if (self.known_only or here.rule.guard == "tool" or not here.rule.marked) and self.tools is not None:
            return _MORE if more else None
        found = _NAME.match(buffer, start)
        if found is None:
            return _MORE if start >= len(buffer) and not final else None
        for at in range(start + 1, found.end() + 1):
            landing = self._leave_short(here, "name", buffer[start:at], at, final)
            if landing is _MORE:
                more = True
            elif landing is not None:
                return _MORE if more else landing
        return _MORE if more or (found.end() == len(buffer) and not final) else None

    def _leave_short(self, here: Landing, kind: str, text: str, at: int, final: bool) -> Landing | object | None:
        """Leave a short field with what ends it, to the letter or with other layout."""
        if kind == "key":
            text = get_units(here.spot.codec).decode(text)
            if not text or not self._takes_key(here, text):
                return None
            here = here._replace(steps=(*here.steps, Step("key", text)))
        elif kind == "name":
            here = here._replace(steps=(*here.steps, Step("name", text)))
        elif kind == "id":
            if not _ID.fullmatch(text):
                return None
            here = self._read_id(here, text)
        more = False
        sign = self.buffer[at : at + 1]
        for rule in here.spot.rules if not sign or sign.isspace() else here.spot.list_short(sign):
            constant, trail = rule.constant, ""
            if rule.kind == "end" and here.spot.graph == TURN:
                landing = self._try_end(rule, skip_blank(self.buffer, at), final, here)
                if landing is _MORE:
                    more = True
                elif landing is not None:
                    return _MORE if more else landing
                continue
            end = constant.match_exactly(self.buffer, at, final)
            if end == NO and constant.core:
                core = skip_blank(self.buffer, at) if constant.lead else at
                end, trail = constant.match_core(self.buffer, core, final), constant.trail
            if end == MORE:
                more = True
            if end < 0:
                continue
            landing = self._land(rule, end, trail, final, here.spot.graph, here)
            if landing is _MORE:
                more = True
            elif landing is not None:
                return _MORE if more else landing
        return _MORE if more else None

    def _read_id(self, here: Landing, text: str) -> Landing:
        if not here.spot.nodes[0].carries_name:
            return here._replace(steps=(*here.steps, Step("id", text)))
        known = [name for name in self.names if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text)]
        name = known[0] if known else re.sub(r"[^\w]\d+$", "", text).rpartition(".")[2] or text
        return here._replace(steps=(*here.steps, Step("id", text), Step("name", name)))

    def _takes_key(self, here: Landing, key: str) -> bool:
        """Whether a text may be the key of an entry here."""
        if "\n" in key or (not here.spot.codec.escapes and _SIGNS.search(key)):
            return False
        if self.frames or not self._is_raw():
            return True
        call = self.writer.call
        name = here.find("name")
        if name is None and call is not None and Step("open") not in here.steps:
            name = call.name
        if self.tools is None or name is None or name not in self.tools:
            return True
        properties = self._properties.get(name)
        if properties is None:
            properties = self._properties[name] = self.tools.get_parameters(name).list_properties()
        return not properties or key in properties or (here.rule.constant.firm and _KEY.fullmatch(key) is not None)

    def _is_raw(self) -> bool:
        """Whether a value is being read that nothing but what follows it ends."""
        if self.spot.kind != "value" or self.behind:
            return False
        return any(isinstance(node.codec, Text) and not node.codec.quoted for node in self.spot.nodes)

    # Going on ------------------------------------------------------------------------------------------------------------

    def _apply(self, landing: Landing, start: int) -> None:
        """Go where a rule leads; ``start`` is where the text before it ended."""
        writer = self.writer
        if landing.rule.recovery:
            self.recoveries.append((landing.rule.recovery, self.gone + start))
            self.unclosed = landing.rule.recovery == OPEN_REASONING or (self.unclosed and landing.rule.recovery != LATE_END)
        for _ in range(landing.pops):
            writer.close_container()
            self.schema = self.frames.pop().schema
        self.behind, self.lexer, self.holding, self.streaming = False, None, False, False
        if self._leaves_blank(landing):
            writer.text("reasoning", self.plan.graph.blank)
        for step in landing.steps:
            self._take_step(step, start)
        writer.settle()
        if self.spot.kind == "reasoning" and landing.spot.kind != "reasoning":
            self.ended_reasoning = True
        self.spot = landing.spot
        if self.unclosed and landing.spot.kind == "content":
            self.spot = self.plan.spot(TURN, landing.spot.nodes, self.may_call, True)
        self.at = self.scan = landing.end
        self.trail = landing.trail
        self.fresh = landing.spot.kind in ("content", "reasoning")
        if landing.spot.kind == "value":
            self._begin_value(landing)

    def _leaves_blank(self, landing: Landing) -> bool:
        """Whether reasoning ends here that has nothing in it."""
        if self.spot.kind == "reasoning":
            return self.fresh and landing.spot.kind != "reasoning"
        return self.spot.kind == "start" and self.plan.blank_end != "" and self.plan.blank_end in landing.rule.constant.text

    def _take_step(self, step: Step, start: int) -> None:
        writer = self.writer
        if step.kind == "close":
            self._close_call()
        elif step.kind == "open":
            writer.open_call(self.plan.id_behind)
            self.anchor = start
        elif writer.call is None:
            return
        elif step.kind == "key":
            writer.call.keys.append(step.text)
        elif step.kind == "id" and writer.call.id is None:
            writer.call.id = step.text
        elif step.kind == "name" and writer.call.name is None:
            writer.call.name = step.text
            self.anchor = -1

    def _close_call(self, complete: bool = True) -> None:
        call = self.writer.call
        if call is None:
            return
        self.frames.clear()
        if complete and not call.levels and not call.complete:
            self.writer.arguments("{}")
        if complete and call.levels:
            while call.levels:
                self.writer.close_container()
        if not self.writer.close_call(complete or call.complete):
            self._abandon()
        self.anchor = -1

    def _abandon(self) -> None:
        """Give a call that has no name back as text."""
        if self.anchor >= 0:
            self.writer.text("content", self.buffer[self.anchor : self.at])

    def _begin_value(self, landing: Landing) -> None:
        """Write what stands before a value, and choose how to read it."""
        writer, call = self.writer, self.writer.call
        assert call
        if not self.frames and not call.levels:
            writer.open_container("{}")
        if call.keys:
            call.key = key = call.keys.pop(0)
            parent = self.schema if self.frames else self._get_parameters()
            writer.key(key)
            value = parent.get_property(key)
        else:
            writer.item()
            value = self.schema.get_items()
        self._value_schema = value
        nodes = self.spot.nodes
        inside = self._choose_inside(nodes, value.get_types())
        if inside is not None:
            self._enter(inside, value)
            return
        self._choose_reading(nodes, value.get_types())

    def _choose_inside(self, nodes: tuple[Node, ...], types: tuple[str, ...]) -> Node | None:
        """Return the list or object that a value must be, by its schema or because nothing else stands here."""
        inner = [node for node in nodes if isinstance(node.codec, Insides) and self.plan.has_inside(node.codec.graph)]
        wanted = [node for node in inner if node.type in types]
        if wanted or len(inner) == len(nodes):
            return (wanted or inner)[0]
        return None

    def _get_parameters(self) -> Schema:
        call = self.writer.call
        return self.tools.get_parameters(call.name) if self.tools and call and call.name else UNKNOWN

    def _enter(self, node: Node, schema: Schema) -> None:
        assert isinstance(node.codec, Insides)
        self.frames.append(Frame(self.plan.spot(self.spot.graph, (node,), self.may_call), self.schema))
        self.schema = schema
        self.writer.open_container("[]" if node.type == "array" else "{}")
        self.spot = self.plan.inside(node.codec.graph)
        self.behind = True

    def _choose_reading(self, nodes: tuple[Node, ...], types: tuple[str, ...]) -> None:
        strings = [node for node in nodes if node.type == "string"]
        self.types = types
        if strings and (len(strings) == len(nodes) or types[:1] == ("string",) or is_quoted(strings[0])):
            self.holding, self.streaming = False, True
            self.writer.arguments('"')
        else:
            self.holding = bool(strings)

    # Texts ---------------------------------------------------------------------------------------------------------------

    def _step_start(self, final: bool) -> bool:
        """Find out what a turn begins with."""
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer) and not final:
            return False
        best = self._find_best((self.at, at), final)
        if best is _MORE:
            return False
        if isinstance(best, Landing) and (best.rule.constant.core or best.steps):
            self._apply(best, self.at)
            return True
        self._fall_back()
        return True

    def _fall_back(self) -> None:
        """Begin the turn with text: reasoning where it begins without a mark, else content."""
        kinds = ("reasoning", "content", "name", "key")
        plain = [rule for rule in self.spot.rules if not rule.constant.core and rule.kind in kinds]
        for kind in ("reasoning", "content"):
            for rule in plain:
                if rule.kind == kind:
                    self.spot = self.plan.spot(TURN, rule.targets, self.may_call)
                    self.trail = rule.constant.text
                    self.scan = self.at
                    return
        content = tuple(node for node in self.plan.graph.turn.nodes if node.kind == "content") or (GAP,)
        self.spot = self.plan.spot(TURN, content, self.may_call)
        self.scan = self.at

    def _step_text(self, final: bool) -> bool:
        """Read reasoning or content up to the next rule."""
        buffer, spot, size = self.buffer, self.spot, len(self.buffer)
        while True:
            found = spot.pattern.search(buffer, self.scan)
            if found is None:
                self._emit_text(size)
                return False
            at = found.start()
            if found[0].isspace() and found.end() == size and not final:
                self._emit_text(at)
                self.scan = at
                return False
            landing = self._find_landing(spot, at, final, self.at) if not self._is_escape(at) else None
            if landing is _MORE:
                self._emit_text(self._find_blank(at))
                self.scan = at
                return False
            if isinstance(landing, Landing):
                rule = landing.rule.constant
                lead = rule.take_lead(buffer, self.at, at) if rule.firm or landing.spot.kind == "end" else at
                self._emit_text(lead)
                self._apply(landing, lead)
                return True
            if not self._take_escape(at, final):
                return False

    def _is_escape(self, at: int) -> bool:
        units = get_units(self.spot.codec)
        return self.buffer[at] in units.first and units.read(self.buffer, at, True)[0] > at

    def _find_blank(self, at: int) -> int:
        """Return where the white space before a place begins."""
        while at > self.at and self.buffer[at - 1].isspace():
            at -= 1
        return at

    def _take_escape(self, at: int, final: bool) -> bool:
        """Read an escape at a place, or take the character for itself; False where more is needed."""
        units = get_units(self.spot.codec)
        if self.buffer[at] in units.first:
            end, char = units.read(self.buffer, at, final)
            if end == MORE:
                self._emit_text(at)
                self.scan = at
                return False
            if end > at:
                self._emit_text(at)
                self._emit(char)
                self.at = self.scan = end
                return True
        self.scan = at + 1
        return True

    def _emit_text(self, end: int) -> None:
        """Emit the text up to a place. White space at the beginning waits until something visible follows."""
        text = self.buffer[self.at : end]
        if self.fresh and self.spot.kind in ("content", "reasoning"):
            if not text or text.isspace():
                self.scan = max(self.scan, end)
                return
            self.fresh = False
        if text:
            self._emit(text)
        self.at = end
        self.scan = max(self.scan, end)

    def _emit(self, text: str) -> None:
        kind = self.spot.kind
        if kind == "reasoning":
            self.writer.text("reasoning", text)
        elif kind == "value":
            self.writer.arguments(escape_json(text))
        else:
            self.writer.text("content", text)

    # Values --------------------------------------------------------------------------------------------------------------

    def _step_value(self, final: bool) -> bool:
        if not self.holding and not any(node.type == "string" for node in self.spot.nodes):
            return self._step_scalar(final)
        return self._step_string(final)

    def _step_scalar(self, final: bool) -> bool:
        """Read a value that tells where it ends."""
        nodes = self.spot.nodes
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer) and not final:
            return False
        if self.buffer[at : at + 1] in ("[", "{", '"') and any(isinstance(node.codec, Json) for node in nodes):
            self.at = at
            return self._start_json(final)
        end, literal = match_scalar(nodes, self.buffer, at, final)
        if end == MORE:
            return False
        if end > at:
            self.writer.arguments(literal)
            self.at = self.scan = end
            self.behind = True
            return True
        self.writer.arguments('"')
        self.spot = self._as_string()
        return True

    def _as_string(self) -> Spot:
        """Return the spot of a value of which nothing is known any more but that it is text."""
        node = Node("text", "value", Text(), "string")
        return Spot(self.spot.graph, (node, *self.spot.nodes), self.spot.rules)

    def _step_string(self, final: bool) -> bool:
        """Read a value up to the next rule; emit it as a string, or hold it until its end tells its type."""
        buffer, spot, size = self.buffer, self.spot, len(self.buffer)
        while True:
            found = spot.pattern.search(buffer, self.scan)
            at = found.start() if found else size
            if found is None or (found[0].isspace() and found.end() == size and not final):
                if self.holding and at - self.at > HELD:
                    self.holding = False
                    self.writer.arguments('"')
                if not self.holding:
                    self._emit_text(at)
                self.scan = at
                return False
            landing = self._find_landing(spot, at, final, self.at) if not self._is_escape(at) else None
            if landing is _MORE:
                if not self.holding:
                    self._emit_text(self._find_blank(at))
                self.scan = at
                return False
            if isinstance(landing, Landing):
                rule = landing.rule.constant
                self._end_string(rule.take_lead(buffer, self.at, at) if rule.firm else at)
                self._apply(landing, at)
                return True
            if final and self._find_landing(spot, at, False, self.at) is _MORE:
                self.scan = at
                return False
            if self.holding and size - self.at > HELD:
                self.holding = False  # so long a value is text, whatever its type was to be
                self.writer.arguments('"')
            if self.holding:
                self.scan = at + 1
            elif not self._take_escape(at, final):
                return False

    def _end_string(self, end: int) -> None:
        if self.holding:
            raw = self.buffer[self.at : end]
            self.writer.arguments(convert(raw, self.spot.nodes, self.types))
            self.at = end
        else:
            self._emit_text(end)
            self.writer.arguments('"')

    # JSON ----------------------------------------------------------------------------------------------------------------

    def _start_json(self, final: bool) -> bool:
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer):
            return False
        self.at = at
        self.lexer = JsonLexer()
        codecs = [node.codec for node in self.spot.nodes if isinstance(node.codec, Json)]
        self.within = next((codec.within for codec in codecs if codec.within), None)
        return True

    def _step_json(self, final: bool) -> bool:
        """Pass JSON through up to its end."""
        assert self.lexer
        if self.within:
            ended = self._pass_decoded(get_units(self.within), final)
        else:
            end = self.lexer.scan(self.buffer, self.at)
            stop = len(self.buffer) if end < 0 else end
            self.writer.arguments(self.buffer[self.at : stop])
            self.at = self.scan = stop
            ended = end >= 0
        if not ended:
            return False
        self.lexer = None
        self.behind = True
        if self.spot.kind == "arguments" and self.writer.call:
            self.writer.call.complete = True
        return True

    def _pass_decoded(self, units: Units, final: bool) -> bool:
        """Pass JSON through that is written as a text with escapes; returns whether it has ended."""
        assert self.lexer
        buffer, size = self.buffer, len(self.buffer)
        while self.at < size:
            end, text = self.at + 1, buffer[self.at]
            if text in units.first:
                read, char = units.read(buffer, self.at, final)
                if read == MORE:
                    return False
                end, text = (read, char) if read > self.at else (end, text)
            else:
                while end < size and buffer[end] not in units.first:
                    end += 1
                text = buffer[self.at : end]
            stop = self.lexer.scan(text, 0)
            self.writer.arguments(text if stop < 0 else text[:stop])
            self.at = self.scan = end if stop < 0 else end - len(text) + stop
            if stop >= 0:
                return True
        return False

    def _step_behind(self, final: bool) -> bool:
        """Find what follows a field that has ended."""
        best = self._find_best((self.at, skip_blank(self.buffer, self.at)), final)
        if best is _MORE:
            return False
        if isinstance(best, Landing):
            self._apply(best, self.at)
            return True
        if self.at >= len(self.buffer) and not final:
            return False
        self._deviate(final)
        return self.at < len(self.buffer) and not final

    def _deviate(self, final: bool) -> None:
        """Nothing that the format knows follows a field of a call: the call ends here, and what follows is text."""
        call = self.writer.call
        if final and self.at >= len(self.buffer):
            self.behind = False
            return
        self.recoveries.append(("call ended early", self.gone + self.at))
        self._close_call(complete=bool(call and call.complete))
        self.spot = self.plan.spot(TURN, (GAP,), self.may_call)
        self.behind, self.fresh = False, True
        self.scan = self.at

    # The end -------------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Emit what was held back."""
        rest = self.buffer[self.at :]
        call = self.writer.call
        if call is not None:
            if call.name is None:
                self._abandon()
                self.writer.call = None
                self.writer.text("content", rest)
            else:
                if self.spot.kind == "value" and not self.behind and self.lexer is None:
                    self._end_value()
                self._close_call(complete=False)
        elif self.fresh and (not rest or rest.isspace()):
            if not self.writer.wrote:
                self._emit(rest)
        else:
            self._emit(rest)
        self.at = len(self.buffer)

    def _end_value(self) -> None:
        """End a value in which the output stops: what may be the beginning of structure is no part of it."""
        strings = any(node.type == "string" for node in self.spot.nodes)
        end, whole = self._find_half_end()
        if not strings:
            return
        if self.holding:
            if whole:
                self.writer.arguments(convert(self.buffer[self.at : end], self.spot.nodes, self.types))
            return
        self._emit(get_units(self.spot.codec).decode(self.buffer[self.at : end]))
        if whole:
            self.writer.arguments('"')

    def _find_half_end(self) -> tuple[int, bool]:
        """Return where the value ends before a beginning of structure, and whether what ends all values is there."""
        size = len(self.buffer)
        own = cut_common_start([rule.constant.text for rule in self.spot.rules if not rule.recovery] or [""]).strip()
        for at in range(max(self.at, size - SHORT), size):
            for rule in self.spot.rules:
                if rule.constant.match_core(self.buffer, at, False) != NO and not rule.recovery:
                    end = rule.constant.take_lead(self.buffer, self.at, at)
                    return end, bool(own) and self.buffer.startswith(own, at)
        return size, False
