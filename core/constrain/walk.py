"""What may follow a field in a graph, as texts, and rows of fields that follow each other.

What stands between two values may tell the type of either. A row is written as a tree all the same: what all texts behind
a field have in common belongs to the field (its *close*), and what is left of them must not depend on the field. A graph in
which it does is refused; no tree of a bearable size would hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ..errors import ConstraintError
from ..format import Edge, Graph, Node, Start
from ..format import Text as Codec
from .tree import DIGITS, Repeat, Text, Tree, choose, join, maybe

COUNTER = "\0"
"""Stands in a text for a counter; in the graph of JSON, for white space."""

END = "end"
Exits: TypeAlias = Mapping[str, tuple[str, ...]]
"""The texts that may follow a field, by the node that they lead to; before a node with which a call begins stands a plus."""


def find_common(texts: Iterable[str]) -> str:
    """Return what all texts have in common at their beginning; of none, the empty text."""
    found = list(texts)
    first, last = min(found, default=""), max(found, default="")
    size = next((place for place, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), len(first))
    return first[:size]


class Field(NamedTuple):
    """One way to write an entry of a row: its tree, and the nodes at its two ends."""

    first: str
    tree: Tree
    last: str


class Slot(NamedTuple):
    """An entry of a row: the ways to write it, and whether it must be there."""

    fields: list[Field]
    needed: bool = True


class Walk:
    """A graph, with its counters written as ``gap`` and each end cut at the text that stops a generation."""

    def __init__(self, graph: Graph, gap: Tree = DIGITS, stops: Iterable[str] = (), starts: Iterable[Start] = ()) -> None:
        self.graph = graph
        self.nodes = {node.name: node for node in graph.nodes}
        self.rank = {node.name: number for number, node in enumerate(graph.nodes)}
        self.stops = [stop for stop in stops if stop]
        self.quoted = any(isinstance(node.codec, Codec) and node.codec.quoted for node in graph.nodes)
        self._gap = gap
        self._exits: dict[str, dict[str, tuple[str, ...]]] = {}
        self._named = any(self._leads_to_name(edge) for start in starts for edge in start.edges)

    def spell(self, text: str) -> Tree:
        """Return a text of the graph as a tree."""
        first, *others = text.split(COUNTER)
        return join(Text(first), *(part for other in others for part in (self._gap, Text(other))))

    def find_stop(self, text: str) -> int:
        """Return where a text has what stops a generation, its length where it has not."""
        return min((place for stop in self.stops if (place := text.find(stop)) >= 0), default=len(text))

    def carries_name(self, node: Node) -> bool:
        """Whether an id says which tool is called: where it is known to, or where no name stands in the turn."""
        return node.carries_name or not (self._named or any(self._leads_to_name(edge) for edge in self.graph.edges))

    def _leads_to_name(self, edge: Edge) -> bool:
        target = self.nodes.get(self._find_target(edge).lstrip("+"))
        return target is not None and target.kind == "name"

    def list_exits(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return what may follow a field. Content that may is the end of the turn where nothing else is."""
        if name not in self._exits:
            self._exits[name] = self._find_exits(name)
        return self._exits[name]

    def _find_exits(self, name: str) -> dict[str, tuple[str, ...]]:
        exits: dict[str, dict[str, None]] = {}
        for edge in self.graph.leaving(name):
            target, text = self._find_target(edge), COUNTER.join(edge.parts)
            exits.setdefault(target, {})[text] = None
        content = [
            target for target in exits if target in self.nodes and self.nodes[target].kind in ("content", "reasoning")
        ]
        texts = [text for target in content for text in exits.pop(target)]
        if texts and END not in exits:
            exits[END] = {
                find_common(texts + [text for target in exits if target[0] == "+" for text in exits[target]]): None
            }
        return {target: tuple(found) for target, found in exits.items()}

    def _find_target(self, edge: Edge) -> str:
        if self.ends(edge):
            return END
        return f"+{edge.target}" if edge.opens_call else edge.target

    def ends(self, edge: Edge) -> bool:
        """Whether an edge leads out of the turn: a field of a call behind a stop belongs to another message."""
        kind = self.nodes[edge.target].kind
        within = edge.opens_call or kind in ("reasoning", "content")
        return kind == "end" or (not within and self.find_stop(edge.text) < len(edge.text))

    def close(self, names: Iterable[str], wanted: Iterable[str]) -> tuple[dict[str, str], Exits]:
        """Return the close of some fields, and what may follow it; of fields that may follow, only the wanted ones count.

        Raises :class:`ConstraintError` where that differs.
        """
        closes: dict[str, str] = {}
        rests: dict[str, tuple[str, ...]] = {}
        kept = set(wanted)
        for name in names:
            exits = {target: texts for target, texts in self.list_exits(name).items() if self._counts(target, kept)}
            closes[name] = close = find_common([text for texts in exits.values() for text in texts])
            for target, texts in exits.items():
                rest = tuple(sorted(text[len(close) :] for text in texts))
                if rests.setdefault(target, rest) != rest:
                    raise ConstraintError("constraining calls: what separates arguments depends on the types of both")
        return closes, rests

    def _counts(self, target: str, kept: set[str]) -> bool:
        node = self.nodes.get(target)
        return node is None or node.kind not in ("key", "value") or target in kept or node.again

    def write_row(self, exits: Exits, slots: list[Slot], repeats: bool = False) -> tuple[Tree | None, Exits]:
        """Return the tree of a row behind a field with some exits, and the exits of the row; None where the row cannot be.

        There is at least one entry; with ``repeats`` there is one slot, which may come again.
        """
        fields = [field for slot in slots for field in slot.fields]
        following = slots if repeats else slots[1:]
        closes, rests = self.close(
            (field.last for field in fields), (field.first for slot in following for field in slot.fields)
        )

        def write(field: Field, before: Exits) -> list[Tree]:
            return [
                join(self.spell(text), field.tree, self.spell(closes[field.last])) for text in before.get(field.first, ())
            ]

        heads = [[tree for field in slot.fields for tree in write(field, exits)] for slot in slots]
        bodies = [[tree for field in slot.fields for tree in write(field, rests)] for slot in slots]
        rows: list[Tree] = []
        for number, head in enumerate(heads):
            rest = list(zip(slots, bodies, strict=True))[number + 1 :]
            if head and all(body for slot, body in rest if slot.needed):
                more = [choose(*body) if slot.needed else maybe(choose(*body)) for slot, body in rest if body]
                more += [Repeat(choose(*bodies[0]))] if repeats and bodies[0] else []
                rows.append(join(choose(*head), *more))
            if slots[number].needed:
                break
        return (choose(*rows) if rows else None), {
            target: texts for target, texts in rests.items() if not self._is_entry(target)
        }

    def _is_entry(self, target: str) -> bool:
        node = self.nodes.get(target)
        return node is not None and node.kind in ("key", "value") and not node.again
