"""A turn written by walking the graph: the other direction of reading."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ask.question import Call, find_type
from ..format import Choice, Codec, Edge, Graph, Insides, Json, Node, Number, Start, Text, TurnGraph

_MOST_STEPS = 20_000


@dataclass(frozen=True)
class _Place:
    """How far a turn is written: which parts are, and how much of the call that was begun last."""

    reasoning: bool = False
    content: bool = False
    call: int = -1
    named: bool = False
    keys: int = 0
    values: int = 0
    whole: bool = False


def write_turn(
    graph: TurnGraph, start: Start, reasoning: str | None, content: str | None, calls: Sequence[Call]
) -> str | None:
    """Return the turn that has exactly the given fields, with what stands at its end; None where the graph has no such turn.

    Arguments that are JSON are written as the calls have them. Of several ways the first that leads to the end is taken.
    """
    return _Writer(graph, reasoning, content, calls).write(start)


class _Writer:
    """Writes one turn; tries one edge after the other, and goes back where none leads to the end."""

    def __init__(self, graph: TurnGraph, reasoning: str | None, content: str | None, calls: Sequence[Call]) -> None:
        self._graph = graph
        self._insides = dict(graph.insides)
        self._nodes = {node.name: node for node in graph.turn.nodes}
        self._order = {node.name: number for number, node in enumerate(graph.turn.nodes)}
        self._reasoning, self._content = reasoning, content
        self._calls = [(call, list(call.object.items())) for call in calls]
        self._keyed = any(node.kind == "key" for node in graph.turn.nodes)
        self._steps = 0

    def write(self, start: Start) -> str | None:
        """Write the turn from the given start on."""
        return next(self._walk(start.edges, _Place()), None)

    def _walk(self, edges: Sequence[Edge], place: _Place) -> Iterator[str]:
        self._steps += 1
        # What was learnt first is how a field is usually written; the other ways follow.
        ordered = sorted(edges, key=lambda edge: self._order[edge.target])
        for edge in ordered if self._steps < _MOST_STEPS else ():
            node = self._nodes[edge.target]
            for written, reached in self._enter(node, self._begin_call(edge, place)):
                if node.kind == "end":
                    yield edge.text
                    return
                for rest in self._walk(list(self._graph.turn.leaving(node.name)), reached):
                    yield edge.text + written + rest

    def _begin_call(self, edge: Edge, place: _Place) -> _Place | None:
        """Return the place with the next call begun, if the edge opens one; None where it may not be followed."""
        if not edge.opens_call:
            return place
        if not self._is_complete(place) or place.call + 1 == len(self._calls):
            return None
        return replace(place, call=place.call + 1, named=False, keys=0, values=0, whole=False)

    def _is_complete(self, place: _Place) -> bool:
        """Whether all of the call that was begun last is written."""
        if place.call < 0:
            return True
        count = len(self._calls[place.call][1])
        keys = place.keys == count or not self._keyed
        return place.named and (place.whole or (keys and place.values == count))

    def _enter(self, node: Node, place: _Place | None) -> Iterator[tuple[str, _Place]]:
        """Return what is written in a field, and what then is; nothing where the field is not to be written now."""
        if place is None:
            return
        if node.kind == "end":
            parts = place.reasoning is (self._reasoning is not None) and place.content is (self._content is not None)
            if parts and self._is_complete(place) and place.call + 1 == len(self._calls):
                yield "", place
        elif node.kind in ("reasoning", "content"):
            text = self._reasoning if node.kind == "reasoning" else self._content
            fits = node.beside_calls == bool(self._calls) and (node.kind == "content" or not place.content)
            done = place.reasoning if node.kind == "reasoning" else place.content
            if text is not None and not done and fits and self._is_complete(place):
                yield encode(text, node.codec, self._insides), replace(place, **{node.kind: True})
        elif place.call >= 0:
            yield from self._enter_call(node, place)

    def _enter_call(self, node: Node, place: _Place) -> Iterator[tuple[str, _Place]]:
        call, entries = self._calls[place.call]
        if node.kind == "name":
            yield encode(call.name, node.codec, self._insides), replace(place, named=True)
        elif node.kind == "id":
            yield encode(call.id, node.codec, self._insides), replace(place, named=place.named or node.carries_name)
        elif node.kind == "arguments" and not place.whole:
            within = node.codec.within if isinstance(node.codec, Json) else None
            yield (encode(call.arguments, within, self._insides) if within else call.arguments), replace(place, whole=True)
        elif node.kind == "key" and node.again and place.keys:
            yield encode(entries[place.keys - 1][0], node.codec, self._insides), place
        elif node.kind == "key" and place.keys < len(entries):
            key, value = entries[place.keys]
            if _fits(node, value):
                yield encode(key, node.codec, self._insides), replace(place, keys=place.keys + 1)
        elif node.kind == "value" and place.values < len(entries):
            value = entries[place.values][1]
            if _fits(node, value) and (not self._keyed or place.keys > place.values):
                yield encode(value, node.codec, self._insides), replace(place, values=place.values + 1)


def _fits(node: Node, value: Any) -> bool:
    """Whether a value is of the type of a node; a key without a type is any value's."""
    return node.type in ("", find_type(value))


def encode(value: Any, codec: Codec, insides: Mapping[str, Graph]) -> str:
    """Return a value as a codec writes it."""
    if isinstance(codec, Text):
        table = {char: written for written, char in codec.escapes}
        return "".join(table.get(char, char) for char in (value if isinstance(value, str) else json.dumps(value)))
    if isinstance(codec, Choice):
        return next((written for written, literal in codec.words if literal == json.dumps(value)), json.dumps(value))
    if isinstance(codec, Insides) and codec.graph in insides:
        return _write_inside(value, insides[codec.graph], insides)
    text = json.dumps(value, ensure_ascii=False)
    assert isinstance(codec, (Number, Json, Insides)), "these are all codecs"
    return encode(text, codec.within, insides) if isinstance(codec, Json) and codec.within else text


def _write_inside(value: Any, graph: Graph, insides: Mapping[str, Graph]) -> str:
    """Write the inside of a list or an object."""
    fields: list[tuple[str, Any, Any]] = []
    for key, item in enumerate(value) if isinstance(value, list) else value.items():
        fields += [("value", item, item)] if isinstance(value, list) else [("key", key, item), ("value", item, item)]
    text, name = "", "start"
    for kind, shown, item in [*fields, ("end", "", None)]:
        for edge in graph.leaving(name):
            node = graph.node(edge.target)
            if node.kind == kind and (kind == "end" or _fits(node, item)):
                text, name = text + edge.text + ("" if kind == "end" else encode(shown, node.codec, insides)), node.name
                break
    return text


__all__ = ["encode", "write_turn"]
