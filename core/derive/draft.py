"""The graph of a turn: edges as they are seen, and how each field is written; and what is made of them in the end.

Then counters are told from constants, edges are ordered, and nothing of a question is left.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..ask.oracle import Turn
from ..ask.pieces import END, START, Field, Link
from ..ask.question import Switches
from ..ask.words import drop_words, holds_word
from ..format import Codec, Edge, Graph, Insides, Node, Path, Start, Text, TurnGraph
from ..format.cut import COUNTER
from .strings import Special, strip_digits

TURN = "turn"
"""The name of the graph of the turn itself, beside those of lists and objects."""

Links = dict[Link, None]
"""An ordered set."""


class Draft:
    """Edges by graph and source, starts by prompt, codecs by graph and field, and notes on what was found; ``special`` are the
    texts that the template may write in another way."""

    def __init__(self, special: Special) -> None:
        self.special = special
        self.edges: dict[str, dict[Field, Links]] = defaultdict(lambda: defaultdict(dict))
        self.codecs: dict[tuple[str, Field], Codec] = {}
        self.starts: dict[str, Links] = defaultdict(dict)
        self.switches: dict[str, Switches] = {}
        self.guessed: set[str] = set()
        self.values: dict[str, str] = {}  # by prompt, the word in it that a switch gives
        self.stops: list[str] = []
        self.named_ids = False
        self.hidden = False
        self.repeated_keys = False
        self.sorted_keys = False
        self.path: Path | None = None
        self.notes: list[str] = []

    def add(self, graph: str, source: Field, text: str, target: Field, opens_call: bool = False) -> None:
        """Add an edge."""
        self.edges[graph][source][Link(text, target, opens_call)] = None

    def add_turn(self, turn: Turn, row: Sequence[Link], switches: Switches) -> None:
        """Add the edges of a rendered turn, if it has a field."""
        first, *others = row
        if others:
            self.switches.setdefault(turn.prompt, switches)
            self.starts[turn.prompt][first] = None
            if turn.header:
                self.starts[turn.header][first._replace(text=turn.between + first.text)] = None
            self.add_row(TURN, others, first.target)

    def add_row(self, graph: str, row: Iterable[Link], source: Field = START) -> None:
        """Add edges that follow each other, such as those of the inside of a list or an object."""
        for link in row:
            self.edges[graph][source][link] = None
            source = link.target

    def add_without_ids(self, other: Draft) -> bool:
        """Add the edges of turns whose calls have no ids; returns False, and adds none, where the template writes something else in
        the place of an id, which is read as one."""
        pairs = [(self.edges[TURN][source], links) for source, links in other.edges[TURN].items()]
        pairs += [(self.starts[prompt], links) for prompt, links in other.starts.items()]
        if any(self._makes_id(known, link) for known, links in pairs for link in links):
            return False
        for known, links in pairs:
            known.update(links)
        return True

    def _makes_id(self, links: Links, bare: Link) -> bool:
        """Whether a text holds something between what leads to an id, as some links do, and what is behind that."""
        before = [link.text for link in links if link.target.kind == "id" and bare.text.startswith(link.text)]
        ids = (links for source, links in self.edges[TURN].items() if source.kind == "id")
        behind = [link.text for links in ids for link in links if link.target == bare.target and bare.text.endswith(link.text)]
        made = (bare.text[len(one) : len(bare.text) - len(two)] for one in before for two in behind)
        return any(text and not any(map(str.isspace, text)) for text in made)

    def tell_strings(self, family: str) -> None:
        """Note that nothing but the tools tells the strings of a family of arguments from other values."""
        for (graph, field), codec in self.codecs.items():
            if graph == TURN and field.kind == "value" and field.family == family and isinstance(codec, Text):
                self.codecs[graph, field] = replace(codec, told=True)

    def list_links(self, graph: str) -> Iterable[tuple[Field, Links]]:
        """List the links of a graph by source; those of the starts come under START."""
        yield from list(self.edges[graph].items())
        if graph == TURN:
            for links in list(self.starts.values()):
                yield START, links


Slots = set[tuple[str, str]]
"""What stands before and behind a number that counts, with 0 for each number there."""

_AROUND = 4, 2
_NUMBER = re.compile(r"\d+")
_LIST = re.compile(r"\d+(\D{1,8})\d+(?:\1\d+)+")
"""Three numbers or more, with the same between them."""


def finish(draft: Draft) -> TurnGraph:
    """Make the graph of what was learnt."""
    _drop_backward_calls(draft)
    _drop_dead_ends(draft)
    slots = _find_counters(draft)
    graphs = {name: _make_graph(draft, name, slots) for name in draft.edges}
    insides = {codec.graph for codec in draft.codecs.values() if isinstance(codec, Insides)}
    return TurnGraph(
        turn=graphs.get(TURN, Graph()),
        insides=tuple((name, graphs.get(name, Graph())) for name in sorted(insides)),
        starts=_make_starts(draft, slots),
        stops=tuple(draft.stops),
        repeated_keys=draft.repeated_keys,
        sorted_keys=draft.sorted_keys,
        path=draft.path,
        notes=tuple(draft.notes),
    )


def _drop_backward_calls(draft: Draft) -> None:
    """Drop calls in which a value stands before its key: nothing of them could be handed on without parts being lost."""
    found = list(draft.list_links(TURN))
    if any(link.target.kind == "value" and source.kind != "key" for source, links in found for link in links):
        for _, links in found:
            for link in [link for link in links if link.opens_call]:
                del links[link]
        draft.notes.append("values stand before their keys, which is not read: calls arrive as content")


def _drop_dead_ends(draft: Draft) -> None:
    """Drop what leads to a field that nothing leaves, as to reasoning before calls where no call is printed."""
    for name, sources in draft.edges.items():
        known = {END, *(source for source, links in sources.items() if links)}
        for _, links in draft.list_links(name):
            for link in [link for link in links if link.target not in known]:
                del links[link]


def _find_counters(draft: Draft) -> Slots:
    """Return where numbers stand that vary between texts that are the same but for their digits, or of which there are as many
    as calls."""
    groups: dict[tuple[object, ...], set[str]] = defaultdict(set)
    lists: dict[tuple[object, ...], dict[str, list[re.Match[str]]]] = defaultdict(dict)
    places = [((graph, source), links) for graph, sources in draft.edges.items() for source, links in sources.items()]
    for place, links in (*places, *draft.starts.items()):
        for link in links:
            where = place, link.target, link.opens_call
            groups[where, strip_digits(link.text)].add(link.text)
            for found in _LIST.finditer(link.text):
                lists[where, _LIST.sub("", link.text)][found[0]] = list(_NUMBER.finditer(link.text, *found.span()))
    slots = {_surround(match) for lengths in lists.values() if len(lengths) > 1 for column in lengths.values() for match in column}
    for texts in groups.values():
        for column in zip(*(list(_NUMBER.finditer(text)) for text in texts), strict=True):
            if len({match[0] for match in column}) > 1:
                slots |= {_surround(match) for match in column}
    return slots


def _surround(match: re.Match[str]) -> tuple[str, str]:
    text, (before, behind) = match.string, _AROUND
    return strip_digits(text[: match.start()])[-before:], strip_digits(text[match.end() :])[:behind]


def _split_parts(text: str, slots: Slots) -> tuple[str, ...]:
    counted = re.sub(r"\d+", lambda match: COUNTER if _surround(match) in slots else match[0], text)
    return tuple(counted.split(COUNTER))


def _make_edges(source: Field, links: Links, slots: Slots, lengths: Mapping[Field, int]) -> list[Edge]:
    """Make the edges of a source: the longest text first, then the key that the longest text follows, then what is plain."""
    edges: dict[Edge, tuple[int, int, bool, bool, bool]] = {}
    for link in links:
        if holds_word(link.text):
            continue  # the template prints a part of a field that it changed; nothing general can be said
        edge = Edge(source.name, _split_parts(link.text, slots), link.target.name, link.opens_call)
        target = link.target
        odd = target.type not in ("", "string") or target.form > 0
        order = (-len(link.text), -lengths.get(target, 0), odd, target.kind == "content", not target.beside_calls)
        edges.setdefault(edge, order)
    return sorted(edges, key=lambda edge: edges[edge])


def _measure_keys(sources: Mapping[Field, Links]) -> dict[Field, int]:
    """Return the length of the longest text behind each key."""
    return {field: max((len(link.text) for link in links), default=0) for field, links in sources.items() if field.kind == "key"}


def _make_graph(draft: Draft, name: str, slots: Slots) -> Graph:
    sources = draft.edges[name]
    fields = dict.fromkeys([START, *sources, *(link.target for _, links in draft.list_links(name) for link in links)])
    fields.pop(END, None)
    counted = {field for field in fields if field.again and _is_counted(draft, name, field, slots)}
    nodes = tuple(_make_node(draft, name, field, field in counted) for field in (*fields, END))
    lengths = _measure_keys(sources)
    edges = [edge for source, links in sources.items() for edge in _make_edges(source, links, slots, lengths)]
    return Graph(nodes, tuple(edges))


def _is_counted(draft: Draft, graph: str, field: Field, slots: Slots) -> bool:
    """Whether the number of a call stands before a field that is said again: what counts such fields never starts anew."""
    links = [link for _, each in draft.list_links(graph) for link in each]
    opening, again = (
        {match[0] for link in some for match in re.finditer(r"\d+", link.text) if _surround(match) in slots}
        for some in ([link for link in links if link.opens_call], [link for link in links if link.target == field])
    )
    return min(opening, key=int, default="") in again


def _make_node(draft: Draft, graph: str, field: Field, counted: bool) -> Node:
    codec = draft.codecs.get((graph, field)) or draft.codecs.get((graph, Field(field.kind))) or Text()
    return Node(
        name=field.name,
        kind=field.kind,
        codec=codec,
        type=field.type,
        again=field.again,
        beside_calls=field.beside_calls,
        carries_name=field.kind == "id" and draft.named_ids,
        counted=counted,
        signs=field.signs,
    )


def _make_starts(draft: Draft, slots: Slots) -> tuple[Start, ...]:
    starts = []
    lengths = _measure_keys(draft.edges[TURN])
    for whole, links in draft.starts.items():
        prompt = drop_words(whole)
        settings = tuple((name, repr(value)) for name, value in draft.switches.get(whole, ()))
        edges = tuple(_make_edges(START, links, slots, lengths))
        starts.append(Start(prompt, settings, edges, whole not in draft.guessed, draft.values.get(whole, "")))
    return tuple(dict.fromkeys(starts))
