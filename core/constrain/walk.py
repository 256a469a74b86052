"""What may follow a field in a graph, as texts, and rows of fields that follow each other.

What stands between two values may tell the type of either. A row is written as a tree all the same: what all texts behind
a field have in common belongs to the field (its *close*), and what is left of them must not depend on the field. A graph in
which it does is refused; no tree of a bearable size would hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ..errors import ConstraintError
from ..format import Edge, Graph, Node, Path
from ..format import Text as Codec
from ..format.cut import COUNTER, find_common_start, find_first
from .tree import DIGITS, NOTHING, Repeat, Text, Tree, choose, join, maybe

END = "end"
Exits: TypeAlias = Mapping[str, tuple[str, ...]]
"""The texts that may follow a field, by the node that they lead to; before a node with which a call begins stands a plus."""

_MANY = 8  # from so many entries on with which a row may begin, they share what follows them


def _split_close(exits: Exits, like: Exits) -> tuple[str, Exits]:
    """Return what all texts of some exits have in common at their beginning, and the exits behind that.

    Less is taken where the exits that are left are those of ``like`` then.
    """
    every = [text for texts in exits.values() for text in texts]
    most = find_common_start(*every) if every else 0

    def cut(size: int) -> dict[str, tuple[str, ...]]:
        return {target: tuple(text[size:] for text in texts) for target, texts in exits.items()}

    wanted = {target: texts for target, texts in like.items() if target in exits}
    sizes = {len(exits[target][0]) - len(texts[0]) for target, texts in wanted.items()}
    size = max((size for size in sizes if 0 <= size <= most and {**cut(size), **wanted} == cut(size)), default=most)
    return every[0][:size] if every else "", cut(size)


class Field(NamedTuple):
    """One way to write an entry of a row: its tree, and the nodes at its two ends."""

    first: str
    tree: Tree
    last: str


class Slot(NamedTuple):
    """An entry of a row: the ways to write it, and whether it must be there."""

    fields: list[Field]
    needed: bool = True


class Arm(NamedTuple):
    """One way to write a part of a turn: its tree, and what may follow it."""

    tree: Tree
    exits: Exits


class Walk:
    """A graph, with its counters written as ``gap`` and each end cut at the text that stops a generation; keys may be paths."""

    def __init__(self, graph: Graph, gap: Tree = DIGITS, stops: Iterable[str] = (), path: Path | None = None) -> None:
        self.graph = graph
        self.nodes = {node.name: node for node in graph.nodes}
        self.rank = {node.name: number for number, node in enumerate(graph.nodes)}
        self._stops = [stop for stop in stops if stop]
        self.quoted = any(isinstance(node.codec, Codec) and node.codec.quoted for node in graph.nodes)
        self._signs = {node.kind: node.signs for node in graph.nodes if node.signs}
        self._path = path
        self._gap = gap
        self._exits: dict[str, Exits] = {}

    def spell(self, text: str) -> Tree:
        """Return a text of the graph as a tree."""
        first, *others = text.split(COUNTER)
        return join(Text(first), *(part for other in others for part in (self._gap, Text(other))))

    def cut_stop(self, text: str) -> tuple[str, str]:
        """Return a text up to what stops a generation, and that; the whole text and nothing where it has none."""
        place = find_first(text, self._stops)
        return text[:place], next((stop for stop in self._stops if text.startswith(stop, place)), "")

    def list_exits(self, name: str) -> Exits:
        """Return what may follow a field. Content that may is the end of the turn where nothing else is."""
        if name in self._exits:
            return self._exits[name]
        exits: dict[str, dict[str, None]] = {}
        for edge in self.graph.leaving(name):
            target = END if self.ends(edge) else "+" * edge.opens_call + edge.target
            exits.setdefault(target, {})[COUNTER.join(edge.parts)] = None
        texts = [text for target in list(exits) if self.is_kind(target, "content", "reasoning") for text in exits.pop(target)]
        if texts and END not in exits:
            texts += [text for target in exits if target[0] == "+" for text in exits[target]]
            exits[END] = {texts[0][: find_common_start(*texts)]: None}
        self._exits[name] = {target: tuple(sorted(found)) for target, found in exits.items()}
        return self._exits[name]

    def ends(self, edge: Edge) -> bool:
        """Whether an edge leads out of the turn: a field of a call behind a stop belongs to another message."""
        within = edge.opens_call or self.is_kind(edge.target, "reasoning", "content")
        return self.is_kind(edge.target, "end") or (not within and self.cut_stop(edge.text)[1] != "")

    def is_kind(self, target: str, *kinds: str) -> bool:
        """Whether an exit leads to a node of one of some kinds, in the same call."""
        return target in self.nodes and self.nodes[target].kind in kinds

    def list_nodes(self, exits: Exits, kind: str, again: bool = False) -> list[Node]:
        """Return the nodes of a kind to which exits lead."""
        return [self.nodes[target] for target in exits if self.is_kind(target, kind) and self.nodes[target].again == again]

    def has_form(self, node: Node, word: str | None) -> bool:
        """Whether a name or a key, or the value of one, is written as a node has it, which may be for those with some sign, or
        without."""
        signs = self._signs.get(node.kind)
        if signs is None or word is None:
            return True
        path = self._path if node.kind != "name" else None
        odd = path.begins_oddly(word) if path else any(sign in word for sign in signs)
        return odd == bool(node.signs)

    def list_outs(self, exits: Exits) -> Exits:
        """Return the exits that do not lead to a further entry."""
        return {target: texts for target, texts in exits.items() if not self._is_entry(target)}

    def _is_entry(self, target: str) -> bool:
        return self.is_kind(target, "key", "value") and not self.nodes[target].again

    def _close(self, names: Iterable[str], wanted: Iterable[str], like: Exits) -> tuple[dict[str, str], Exits]:
        """Return the close of some fields, and what may follow it; of fields that may follow, only the wanted ones count.

        What may follow is as in ``like`` where that can be. Raises :class:`ConstraintError` where that differs.
        """
        closes: dict[str, str] = {}
        rests: dict[str, tuple[str, ...]] = {}
        kept = set(wanted)
        for name in names:
            exits = {t: texts for t, texts in self.list_exits(name).items() if t in kept or not self._is_entry(t)}
            closes[name], found = _split_close(exits, like)
            if any(rests.setdefault(target, rest) != rest for target, rest in found.items()):
                raise ConstraintError("constraining calls: what separates arguments depends on the types of both")
        return closes, rests

    def list_rows(self, exits: Exits, slots: list[Slot], share: Callable[[Tree], Tree], repeats: bool = False) -> list[Arm]:
        """Return the ways to write entries behind a field with some exits: none where none must be there, and some.

        With ``repeats`` there is one slot, which may come again. ``share`` makes a rule of a tree: where a row may begin with
        many entries, what follows these is written once.
        """
        following = slots if repeats else slots[1:]
        lasts = (field.last for slot in slots for field in slot.fields)
        begins = next((number + 1 for number, slot in enumerate(slots) if slot.needed), len(slots))
        needed = any(slot.needed for slot in slots)
        like = exits if begins > 1 or not (needed or repeats) else {}  # then a row without entries may be written alike
        closes, rests = self._close(lasts, (field.first for slot in following for field in slot.fields), like)

        def write(slot: Slot, before: Exits) -> list[Tree]:
            return [
                join(self.spell(text), field.tree, self.spell(closes[field.last]))
                for field in slot.fields
                for text in before.get(field.first, ())
            ]

        heads, bodies = [write(slot, exits) for slot in slots], [write(slot, rests) for slot in slots]
        outs, bare = self.list_outs(rests), self.list_outs(exits)
        if like and heads == bodies and (needed or outs == bare):
            return [Arm(join(*map(_write_slot, slots, bodies)), outs)]  # a row without entries is written alike
        arms = [Arm(NOTHING, bare)] if bare and not needed else []
        tail: Tree | None = Repeat(choose(*bodies[0])) if repeats and bodies[0] else NOTHING
        rows: list[Tree] = []
        for number in reversed(range(len(slots))):
            if number < begins and heads[number] and tail is not None:
                rows.append(join(choose(*heads[number]), tail))
            if slots[number].needed and not bodies[number]:
                tail = None  # nothing can stand before an entry that only begins a row
            elif tail is not None and not repeats:
                tail = join(_write_slot(slots[number], bodies[number]), tail)
                tail = share(tail) if begins > _MANY else tail
        row = choose(*reversed(rows))
        return [*arms, Arm(share(row) if begins > _MANY else row, outs)] if rows else arms


def _write_slot(slot: Slot, ways: list[Tree]) -> Tree:
    return choose(*ways) if slot.needed else maybe(choose(*ways))
