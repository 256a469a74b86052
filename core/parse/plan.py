"""From a graph to what the parser walks: for each field the texts that may end it, and what stands where off the script.

A graph says what follows what in a turn that the template renders. Three places in it have no field, and are made here,
because that is where models write what no template shows: behind a call, behind all calls, and the beginning of the turn.
Behind a call means behind what all edges that leave a call's last field have in common; the rest of these edges begins
there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from ..format import Edge, Graph, Kind, Node, Start, Text, TurnGraph
from ..format.cut import cut_common_end, cut_common_start, find_boundaries
from ..format.view import find_reasoning
from ..recover import Envelope
from .constants import is_firm, is_marked
from .rules import Guard, Rule, Spot, sort_rules

COUNTER = "\0"
"""Stands for a counter where texts are cut and compared."""

TURN = ""
"""The name of the graph of the turn, beside those of the insides."""

BEHIND = -2
"""The number of the start behind reasoning that a server has read by itself."""

GAP = Node("behind a call", "content")
AFTER = Node("behind all calls", "content")
SHAPE = Node("behind calls by their shape", "content")

OPEN_REASONING = "call in open reasoning"
LATE_END = "late end of reasoning"

_KEY = re.compile(r"[\"']([^\"'\\]+)[\"']\s*:\s*[\"']?$")
_SHORT = ("name", "id")
_FIELDS = ("name", "id", "key", "value", "arguments")


def write_parts(edge: Edge) -> str:
    """Return the text of an edge with :data:`COUNTER` for each counter."""
    return COUNTER.join(edge.parts)


def read_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a text that :func:`write_parts` wrote."""
    return tuple(text.split(COUNTER))


class Plan:
    """What all parsers of one format share. Costs milliseconds to make; spots are made when they are needed first."""

    def __init__(self, graph: TurnGraph, recover: bool = True) -> None:
        self.graph = graph
        self._recover = recover
        self.graphs: dict[str, Graph] = {TURN: graph.turn, **dict(graph.insides)}
        self.nodes = {(name, node.name): node for name, inner in self.graphs.items() for node in inner.nodes}
        self.stops = sorted(filter(None, graph.stops), key=len, reverse=True)
        thinking = find_reasoning(graph) if graph.blank else None
        self.blank_end = thinking.end.text if thinking else ""
        found = find_reasoning(graph)
        self.reasoning_start = found.start.text if found else ""
        self.reasoning_end = found.end.text if found else ""
        self.turn_end = self._find_turn_end()
        self._spots: dict[tuple[str, tuple[Node, ...], bool, bool], Spot] = {}
        self.calls = any(node.kind in ("name", "id") for node in graph.turn.nodes)
        self._edges: dict[str, dict[str, list[Edge]]] = {}
        self._starts: dict[tuple[int, bool], Spot] = {}
        for name, inner in self.graphs.items():
            by_source = self._edges.setdefault(name, {})
            for edge in inner.edges:
                by_source.setdefault(edge.source, []).append(edge)
        self.closes = {node.name: self._find_close(node) for node in graph.turn.nodes if node.kind in _FIELDS}
        self.ends = {node.name: self._find_end(node) for node in graph.turn.nodes if node.kind in _FIELDS}
        self.section_close = self._find_section_close()
        self.openers = self._list_openers()
        self.envelope = Envelope(*(self._find_key(kind) for kind in ("name", "arguments", "id")))
        self.reasoning_ends = self._list_reasoning_closes()
        self.id_behind = self._finds_id_behind()
        self.name_behind = self._finds_name_behind()

    # What follows a call -------------------------------------------------------------------------------------------------

    def _is_leaving(self, edge: Edge) -> bool:
        """Whether an edge leaves a call."""
        return edge.opens_call or self.nodes[TURN, edge.target].kind in ("content", "reasoning", "end")

    def _find_turn_end(self) -> str:
        """Return what all turns end with."""
        texts = [write_parts(edge) for edge in self.graph.turn.edges if self.nodes[TURN, edge.target].kind == "end"]
        return cut_common_end(texts) if texts else ""

    def strip_stop(self, text: str) -> str:
        """Return what of a text at the end of a turn the model writes before the end of turn."""
        bare = text.rstrip()
        fitting = [stop.rstrip() for stop in self.stops if bare.endswith(stop.rstrip())]
        if fitting:
            return bare.removesuffix(min(fitting, key=len))
        if self.turn_end.strip():
            return text.removesuffix(self.turn_end)
        places = [text.find(stop) for stop in self.stops if stop in text]
        return text[: min(places)] if places else text

    def _list_leaving(self, source: str) -> list[str]:
        """Return the texts behind the last field of a call, without the end of turn."""
        found = []
        for edge in self._edges[TURN].get(source, ()):
            if self._is_leaving(edge):
                text = write_parts(edge)
                ends = self.nodes[TURN, edge.target].kind == "end"
                found.append(self.strip_stop(text) if ends else text)
        return found

    def _find_close(self, node: Node) -> str | None:
        """Return what ends a call behind a field; None where nothing tells it from the field's text."""
        texts = self._list_leaving(node.name)
        if not texts:
            return None
        close = cut_common_start(texts)
        close = close.rstrip() or close  # where a turn ends, layout may be cut off
        if is_firm(close) or is_delimited(node) or (close.strip() and (is_quoted(node) or node.kind in _SHORT)):
            return close
        return None

    def _find_end(self, node: Node) -> str:
        """Return what ends a field, whatever follows."""
        edges = self._edges[TURN].get(node.name, ())
        inner = [write_parts(edge) for edge in edges if not self._is_leaving(edge)]
        return cut_common_start([*inner, *self._list_leaving(node.name)]) if edges else ""

    def _find_section_close(self) -> str:
        """Return what stands behind the last call, where it differs from what stands behind each."""
        found: list[str] = []
        for source, close in self.closes.items():
            for edge in self._edges[TURN].get(source, ()):
                if close is not None and self.nodes[TURN, edge.target].kind == "end":
                    found.append(self.strip_stop(write_parts(edge))[len(close) :])
        return max(found, key=len, default="")

    def _list_openers(self) -> tuple[tuple[str, tuple[Node, ...]], ...]:
        """Return what may begin a call in text, the longest first, with what is behind it."""
        found: dict[str, list[Node]] = {}
        sources = [(edge.source, edge) for edge in self.graph.turn.edges]
        sources += [("", edge) for start in self.graph.starts for edge in start.edges]
        for source, edge in sources:
            if edge.opens_call and (not source or self.nodes[TURN, source].kind == "content"):
                nodes = found.setdefault(write_parts(edge), [])
                if self.nodes[TURN, edge.target] not in nodes:
                    nodes.append(self.nodes[TURN, edge.target])
        return tuple((text, tuple(nodes)) for text, nodes in sorted(found.items(), key=lambda item: -len(item[0])))

    def _find_key(self, kind: Kind) -> str:
        """Return the key under which a field of a call is written as JSON; empty where it is not."""
        for edge in self.graph.turn.edges:
            found = _KEY.search(edge.text) if self.nodes[TURN, edge.target].kind == kind else None
            if found:
                return found[1]
        return ""

    def _reaches(self, kinds: tuple[Kind, ...], wanted: Kind) -> bool:
        """Whether within one call a field of some kinds is followed by one of another kind."""
        return any(
            self.nodes[TURN, edge.source].kind in kinds
            and not edge.opens_call
            and self.nodes[TURN, edge.target].kind == wanted
            and not self.nodes[TURN, edge.target].again
            for edge in self.graph.turn.edges
        )

    def _finds_id_behind(self) -> bool:
        again = any(self.nodes[TURN, e.source].again and self.nodes[TURN, e.target].kind == "id" for e in self.graph.turn.edges)
        return again or self._reaches(("arguments", "value"), "id")

    def _finds_name_behind(self) -> bool:
        return self._reaches(("arguments", "value", "key"), "name")

    # Spots ---------------------------------------------------------------------------------------------------------------

    def spot(self, graph: str, nodes: tuple[Node, ...], calls: bool = True, unclosed: bool = False) -> Spot:
        """Return the field that is one of some nodes of a graph.

        Without ``calls`` nothing begins a call; where reasoning is ``unclosed``, its end may still come in content.
        """
        key = graph, nodes, calls, unclosed
        found = self._spots.get(key)
        if found is None:
            certain = all(node.kind == "arguments" for node in nodes)
            rules = [rule for node in nodes for rule in self._list_rules(graph, node, certain)]
            if unclosed and nodes[0].kind == "content":
                rules += [Rule(read_parts(text), nodes, recovery=LATE_END) for text in self.reasoning_ends]
            found = self._spots[key] = Spot(graph, nodes, self._sort(rules, calls))
        return found

    def start(self, number: int, calls: bool = True) -> Spot:
        """Return the beginning of a turn behind the prompt of a start, by its number (-1: of none)."""
        found = self._starts.get((number, calls))
        if found is None:
            found = self._starts[number, calls] = self._make_start(number, calls)
        return found

    def _make_start(self, number: int, calls: bool) -> Spot:
        """Make the beginning of a turn; what opens a call may be written by the prompt."""
        if number == BEHIND:
            return Spot(TURN, (Node("start", "start"),), self._list_rules_after_reasoning(calls))
        start = self.graph.starts[number] if number >= 0 else Start("")
        opened = any(is_marked(text) and start.prompt.endswith(text) for text, _ in self.openers)
        rules = [replace(self._make_rule(TURN, edge), marked=opened and not edge.text) for edge in start.edges]
        rules += self._list_end_rules() + self._list_opened_reasoning()
        if all(rule.kind != "reasoning" or rule.constant.core for rule in rules):
            rules += self._list_orphan_ends()
        return Spot(TURN, (Node("start", "start"),), self._sort(rules, calls))

    def _list_opened_reasoning(self) -> list[Rule]:
        """Return what opens reasoning, for models that open it though a prompt has opened or closed it."""
        nodes = tuple(node for node in self.graph.turn.nodes if node.kind == "reasoning")
        texts = [self.reasoning_start + "\n"] if is_firm(self.reasoning_start) and nodes else []
        return [Rule(read_parts(text), nodes, recovery="reasoning opened again", guard="fresh") for text in texts]

    def _list_orphan_ends(self) -> list[Rule]:
        """Return what ends reasoning, where there was none; signs without a word stand in any text."""
        nodes = tuple(node for node in self.graph.turn.nodes if node.kind == "content") or (GAP,)
        ends = [text for text in self.reasoning_ends if any(map(str.isalnum, text))]
        return [Rule(read_parts(text), nodes, recovery="end of reasoning doubled", guard="fresh") for text in ends]

    def _list_rules_after_reasoning(self, calls: bool) -> tuple[Rule, ...]:
        """Return what may follow the end of reasoning, and what a turn without reasoning may begin with."""
        rules = self._list_end_rules()
        for edge in [*self.graph.turn.edges, *(edge for start in self.graph.starts for edge in start.edges)]:
            target = self.nodes[TURN, edge.target]
            text = write_parts(edge)
            behind = [text.partition(close)[2] for close in self.reasoning_ends if close in text]
            if behind and target.kind not in ("reasoning", "end"):
                rules.append(Rule(read_parts(behind[0]), (target,), edge.opens_call))
        for start in self.graph.starts:
            rules += [self._make_rule(TURN, e) for e in start.edges if self.nodes[TURN, e.target].kind != "reasoning"]
        return self._sort(rules, calls)

    def behind(self, rule: Rule, graph: str, calls: bool) -> Spot:
        """Return the field behind a rule of a spot in a graph."""
        found = rule.spots.get((graph, calls))
        if found is None:
            inner = TURN if rule.targets[0] in (GAP, AFTER, SHAPE) else graph
            found = rule.spots[graph, calls] = self.spot(inner, rule.targets, calls)
        return found

    def has_inside(self, name: str) -> bool:
        """Whether it is known how the inside of a list or an object begins."""
        return any(node.kind == "start" for node in self.graphs.get(name, Graph()).nodes)

    def inside(self, name: str) -> Spot:
        """Return the beginning of the inside of a list or an object."""
        return self.spot(name, (self.nodes[name, next(n.name for n in self.graphs[name].nodes if n.kind == "start")],))

    def _sort(self, rules: Iterable[Rule], calls: bool) -> tuple[Rule, ...]:
        """Return the rules that hold here: without those that begin calls where nothing is one, without recoveries where none is
        wanted."""
        kept = (rule for rule in rules if (calls or not rule.opens) and (self._recover or not rule.recovery))
        return sort_rules(kept)

    def _make_rule(self, graph: str, edge: Edge) -> Rule:
        return Rule(edge.parts, (self.nodes[graph, edge.target],), edge.opens_call)

    def _list_rules(self, graph: str, node: Node, certain: bool) -> list[Rule]:
        if node in (GAP, AFTER, SHAPE):
            return self._list_rules_behind(node)
        edges = self._edges[graph].get(node.name, ())
        if graph != TURN:
            return [self._make_rule(graph, edge) for edge in edges]
        if node.kind in _FIELDS:
            return self._close_call(node, edges, certain)
        ends = [edge for edge in edges if self.nodes[TURN, edge.target].kind == "end"]
        rules = [rule for edge in ends for rule in self._list_cut_ends(write_parts(edge))]
        rules += [self._make_rule(graph, edge) for edge in edges if edge not in ends]
        if node.kind in ("content", "reasoning"):
            rules += self._list_end_rules()
            rules += self._list_loose_openers("" if node.kind == "content" else OPEN_REASONING)
        if node.kind == "reasoning":
            rules += self._list_reasoning_ends() + self._list_opened_reasoning()
        if node.kind == "content":
            rules += self._list_shape_rules() + self._list_orphan_ends() + self._list_empty_sections(node)
        return rules

    def _close_call(self, node: Node, edges: list[Edge] | tuple[Edge, ...], certain: bool) -> list[Rule]:
        """Return the rules behind a field of a call: edges within it, and what ends it."""
        close = self.closes[node.name]
        rules = [self._make_rule(TURN, edge) for edge in edges if not self._is_leaving(edge)]
        if close is None or any(write_parts(edge).startswith(close) for edge in edges if not self._is_leaving(edge)):
            # Where what goes on in the call begins as its end does, all of the end has to be there.
            for edge in edges:
                if not self._is_leaving(edge):
                    continue
                if self.nodes[TURN, edge.target].kind == "end":
                    text = write_parts(edge)
                    rules += self._list_cut_ends(text, True)
                    blank = [text[: text.index(stop)] for stop in self.stops if stop in text and node.kind in _SHORT]
                    rules += [Rule(read_parts(cut), (Node("end", "end"),)) for cut in blank if cut.isspace()]
                else:
                    rules.append(replace(self._make_rule(TURN, edge), closes=True))
        if close is None:
            return rules + (self._list_skipping_closes(node) if certain else [])
        rules.append(Rule(read_parts(close), (GAP,), closes=True))
        rules += self._list_short_closes(node, close, certain)
        return rules + self._list_value_ends(node)

    def _list_skipping_closes(self, node: Node) -> list[Rule]:
        """Return the ends of what ends the call behind a field that follows this one, for models that leave that field out."""
        following = {edge.target for edge in self._edges[TURN].get(node.name, ()) if not self._is_leaving(edge)}
        closes = {self.closes.get(name) or "" for name in following}
        texts = {close[place:].strip() for close in closes for place in find_boundaries(close) if 0 < place < len(close)}
        missing = "field of a call missing"
        return [Rule(read_parts(t), (GAP,), closes=True, recovery=missing, guard="structure") for t in sorted(texts) if t]

    def _list_short_closes(self, node: Node, close: str, certain: bool) -> list[Rule]:
        """Return pieces of what ends a call, for models that leave the rest of it out.

        A field that tells where it ends may be followed by any of them; text only by a beginning, and only where structure follows.
        """
        places = sorted(place for place in find_boundaries(close) if 0 < place < len(close))
        texts = [close[:place].rstrip() for place in places]
        if certain:
            texts += [close[place:].strip() for place in places if is_firm(close[place:])]
        free = is_delimited(node) or is_quoted(node) or node.kind in _SHORT or node.again
        own = self.ends[node.name].rstrip()
        guards: tuple[Guard, Guard] = ("", "") if certain else ("ending", "structure")
        return [
            Rule(read_parts(text), (GAP,), closes=True, recovery="end of a call missing", guard=guards[len(text) <= len(own)])
            for text in dict.fromkeys(texts)
            if text.strip() and text != close.rstrip() and (free or is_firm(text))
        ]

    def _list_value_ends(self, node: Node) -> list[Rule]:
        """Return what follows a text where the model has left out, or doubled, what ends the text itself."""
        own, close = self.ends[node.name], self.closes[node.name]
        if not is_firm(own) or node.kind != "value" or not isinstance(node.codec, Text):
            return []
        layout = own.replace(own.strip(), "")  # that on both sides, which stays where the mark between is left out
        rules: list[Rule] = []
        for edge in self._edges[TURN].get(node.name, ()):
            rest = layout + write_parts(edge)[len(own) :].lstrip()
            if not self._is_leaving(edge) and is_firm(rest):
                target = (self.nodes[TURN, edge.target],)
                rules.append(Rule(read_parts(rest), target, recovery="end of a value missing", guard="entry"))
                twice = read_parts(own + own.lstrip() + rest.lstrip())
                rules.append(Rule(twice, target, recovery="end of a value doubled"))
        rest = layout + (close or "")[len(own) :].lstrip()
        for place in sorted({*find_boundaries(rest), len(rest)}):
            text = rest[:place].rstrip()
            if is_firm(text):
                rules.append(Rule(read_parts(text), (GAP,), closes=True, recovery="end of a value missing", guard="ending"))
                twice = read_parts(own + own.lstrip() + text.lstrip())
                rules.append(Rule(twice, (GAP,), closes=True, recovery="end of a value doubled", guard="ending"))
        return rules

    def _list_rules_behind(self, node: Node) -> list[Rule]:
        rules: list[Rule] = []
        rules += self._list_close_ends("" if node is SHAPE else "fresh")
        if node is not AFTER:
            for source, close in self.closes.items():
                for edge in self._edges[TURN].get(source, ()) if close is not None else ():
                    target = self.nodes[TURN, edge.target]
                    if not self._is_leaving(edge) or close is None:
                        continue
                    rest = write_parts(edge)[len(close) :]
                    if target.kind == "end":
                        rules += [Rule(read_parts(rest), (Node("end", "end"),), cut=True), Rule(read_parts(rest), (AFTER,))]
                    else:
                        rules.append(rule := Rule(read_parts(rest), (target,), edge.opens_call))
                        if edge.opens_call and rest.strip() and not rule.constant.firm:
                            rules.append(replace(rule, recovery="layout between calls", guard="fresh", loose=True))
            if self.section_close.strip():
                rules.append(Rule(read_parts(self.section_close), (AFTER,)))
                rules += self._list_short_sections()
        rules += self._list_loose_openers("") + self._list_shape_rules() + self._list_empty_sections(AFTER)
        return rules + self._list_end_rules()

    def _list_close_ends(self, guard: Guard) -> list[Rule]:
        """Return the ends of what closes a call, for calls that have closed their brackets themselves, or closed them twice."""
        closes = {close for close in self.closes.values() if close} | {self.section_close}
        texts = {close[place:].strip() for close in closes for place in find_boundaries(close)}
        name = "end of a call doubled" if guard else "end of a call missing"
        firm = [t for t in sorted(texts) if is_firm(t) and not any(t in text for text, _ in self.openers)]
        return [Rule(read_parts(text), (GAP,), recovery=name, guard=guard) for text in firm]

    def _list_empty_sections(self, target: Node) -> list[Rule]:
        """Return what opens calls with what closes them behind it, and nothing between."""
        closes = [close.strip() for close in (*self.closes.values(), self.section_close) if close]
        closing = {close[place:].strip() for close in closes for place in find_boundaries(close)}
        opening = {text[:place].strip() for text, _ in self.openers for place in (*find_boundaries(text), len(text))}
        pairs = [(start, end) for start in sorted(opening) for end in sorted(closing) if is_marked(start) and is_marked(end)]
        texts = {f"{start.rstrip(' [{(')}{inner}{end}" for start, end in pairs for inner in ("", "[]") if end[0] not in "]})"}
        return [Rule(read_parts(text), (target,), recovery="no call between marks") for text in sorted(texts)[:64]]

    def _list_short_sections(self) -> list[Rule]:
        """Return beginnings of what ends all calls, for models that leave the rest out."""
        close = self.section_close
        texts = dict.fromkeys(close[:place].rstrip() for place in sorted(find_boundaries(close)) if place < len(close))
        missing = "end of all calls missing"
        return [Rule(read_parts(t), (AFTER,), recovery=missing, guard="structure") for t in texts if t.strip()]

    def _list_loose_openers(self, recovery: str) -> list[Rule]:
        """Return what may begin a call in any text: each opener, and its inner part where the outer one was left out."""
        rules: list[Rule] = []
        for text, nodes in self.openers:
            if is_firm(text):
                rules.append(Rule(read_parts(text), nodes, True, recovery=recovery, guard="tool" if recovery else ""))
            for place in sorted(find_boundaries(text)):
                inner = text[place:]
                if any(text.count(quote, 0, place) % 2 for quote in "\"'"):
                    continue  # amid a text in quotes
                if place > 0 and inner.strip() != text.strip() and is_firm(inner) and not inner[:1].isspace():
                    missing = recovery or "beginning of a call missing"
                    rules.append(Rule(read_parts(inner), nodes, True, recovery=missing, guard="tool"))
        return rules

    def _list_shape_rules(self) -> list[Rule]:
        """Return the marks that begin calls, for calls that are told by their shape behind them."""
        texts = {text[:place].rstrip() for text, _ in self.openers for place in (*find_boundaries(text), len(text))}
        firm = [text for text in sorted(texts) if is_marked(text) and text[-1] not in "[{\"'"]
        return [Rule(read_parts(text), (SHAPE,), recovery="call by its shape", guard="shape") for text in firm]

    def _list_end_rules(self) -> list[Rule]:
        """Return what ends a turn, wherever text may stand."""
        texts = {write_parts(edge) for edge in self.graph.turn.edges if self._ends_text(edge)}
        return [rule for text in sorted(texts | set(self.stops)) for rule in self._list_cut_ends(text)]

    def _list_cut_ends(self, text: str, anywhere: bool = False) -> list[Rule]:
        """Return a text that ends a turn, and each beginning of it that a server may leave of it when it cuts the end off.

        With ``anywhere`` a beginning need not be a mark: behind a call nothing else is expected.
        """
        shared = len(self.turn_end) if self.turn_end and text.endswith(self.turn_end) else len(text)
        places = [place for place in find_boundaries(text) if len(text) - shared <= place < len(text)]
        cut = [beginning for place in places if is_firm(beginning := text[:place].rstrip()) or anywhere]
        cut += [text[: text.index(stop)].rstrip() for stop in self.stops if stop in text]
        end = Node("end", "end")
        return [Rule(read_parts(beginning), (end,)) for beginning in dict.fromkeys([text, *cut]) if beginning.strip()]

    def _ends_text(self, edge: Edge) -> bool:
        return self.nodes[TURN, edge.target].kind == "end" and self.nodes[TURN, edge.source].kind == "content"

    def _list_reasoning_closes(self) -> list[str]:
        """Return what ends reasoning, without what the template prints between it and what follows."""
        found = []
        for node in self.graph.turn.nodes:
            edges = self._edges[TURN].get(node.name, ()) if node.kind == "reasoning" else ()
            texts = [write_parts(edge) for edge in edges if self.nodes[TURN, edge.target].kind != "end"]
            close = cut_common_start(texts).strip() if texts else ""
            bare = close.removeprefix(self.reasoning_end).strip()
            if self.reasoning_end and bare != close and any(bare == text.strip() for text, _ in self.openers):
                close = self.reasoning_end  # where all that follows are calls, their opener is no part of it
            if close and is_firm(close) and close not in found:
                found.append(close)
        return found

    def _list_reasoning_ends(self) -> list[Rule]:
        content = tuple(other for other in self.graph.turn.nodes if other.kind == "content") or (AFTER,)
        return [Rule(read_parts(close), content, recovery="layout behind reasoning") for close in self.reasoning_ends]


def is_delimited(node: Node) -> bool:
    """Whether a value tells by itself where it ends."""
    return node.kind == "arguments" or (node.kind == "value" and not isinstance(node.codec, Text))


def is_quoted(node: Node) -> bool:
    """Whether a text cannot hold what ends it."""
    return isinstance(node.codec, Text) and node.codec.quoted


@lru_cache(maxsize=64)
def get_plan(graph: TurnGraph, recover: bool = True) -> Plan:
    """Return the plan of a graph, with or without recoveries; formats that are equal share one."""
    return Plan(graph, recover)
