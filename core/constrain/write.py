"""The turn that a model writes for a message, found by walking the graph of turns.

A walk takes the edges in their order, and goes back where one does not lead to the end with all fields of the message
written. It remembers what it has tried, so that no state is entered twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ..errors import ConstraintError
from ..format import Choice, Codec, Edge, Insides, Json, Node, Number, Path, Start, Text, TurnGraph
from ..message import read_arguments
from ..schema import find_type
from .texts import encode_text, find_ends, spell_text
from .walk import Walk

State = TypeVar("State")
Pairs = tuple[tuple[Any, Any], ...]

_SHAPE = "a1B2c3D4e"
_DEPTH = 128  # objects within each other


def write_turn(graph: TurnGraph, message: Mapping[str, Any], start: Start | None = None) -> str:
    """Return what a model writes for an assistant's message, up to what ends the turn.

    ``message`` is an OpenAI message: ``reasoning_content``, ``content`` and ``tool_calls``, of which each may be missing.
    Arguments that are text are written as they stand where the format has them as JSON. ``start`` is the state that a prompt
    leaves, the first of the graph by default. Costs time in proportion to what is written. Raises :class:`ConstraintError`
    where no turn of the graph has just these fields.
    """
    start = start or next(iter(graph.starts), Start(""))
    walker = _Walker(graph, message, tuple(map(_Call.read, message.get("tool_calls") or ())))
    others = [other for other in graph.starts if other != start and start.prompt.endswith(other.prompt)]
    for begun in (start, *others):
        found = _search(begun.edges, walker.walk, _State(), walker.step)
        if found is not None:
            return found
    raise ConstraintError(f"writing a turn: this format has no turn with just these fields behind the prompt {start.prompt!r}")


class _Call(NamedTuple):
    name: str
    id: str
    arguments: Any
    text: str

    @classmethod
    def read(cls, call: Mapping[str, Any]) -> _Call:
        function = call.get("function", call)
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return cls(function["name"], call.get("id") or "", read_arguments(text), text)


class _State(NamedTuple):
    """What has been written: which fields, the number of the last call, and how many of its keys and values."""

    done: frozenset[str] = frozenset()
    call: int = -1
    keys: int = 0
    values: int = 0

    def add(self, *kinds: str) -> _State:
        """Return the state with more fields written."""
        return self._replace(done=self.done | set(kinds))

    def open_call(self) -> _State:
        """Return the state at the beginning of another call."""
        return _State(self.done & {"reasoning", "content"}, self.call + 1)


class _Walker:
    """Says which edges can be taken, and what is written then."""

    def __init__(self, graph: TurnGraph, message: Mapping[str, Any], calls: tuple[_Call, ...]) -> None:
        self.walk = Walk(graph.turn, stops=graph.stops, path=graph.path)
        self.graph = graph
        self._walks = {name: Walk(inside) for name, inside in graph.insides}
        found = {kind: message.get(name) for kind, name in (("reasoning", "reasoning_content"), ("content", "content"))}
        self.texts = {kind: str(text) for kind, text in found.items() if text}
        self.calls = calls
        repeats, ordered = graph.repeated_keys, graph.sorted_keys
        given = [call.arguments or {} for call in calls]
        given = [dict(_list_members(arguments, graph.path)) for arguments in given] if graph.path else given
        self.pairs: list[Pairs] = [_list_pairs(arguments, ordered, repeats) for arguments in given]

    def step(self, state: _State, edge: Edge, node: Node) -> tuple[_State | None, str] | None:
        """Return the state behind an edge (None: the end) and what is written; None where it cannot be taken."""
        text = str(max(state.call + edge.opens_call, 0)).join(edge.parts)
        if self.walk.ends(edge):
            place = self.walk.find_stop(text)
            stop = next((stop for stop in self.walk.stops if text.startswith(stop, place)), "")
            done = state.done >= self.texts.keys() and state.call + 1 == len(self.calls) and self._is_written(state)
            return (None, text[:place] + stop) if done else None
        if edge.opens_call:
            if not self._is_written(state) or state.call + 1 >= len(self.calls):
                return None
            state = state.open_call()
        found = self._step_text(state, node) if node.kind in ("reasoning", "content") else self._step_field(state, node)
        return None if found is None else (found[0], text + found[1])

    def _is_written(self, state: _State) -> bool:
        """Whether the last call is whole."""
        if state.call < 0:
            return True
        entries = state.values == state.keys == len(self.pairs[state.call])
        return "name" in state.done and (entries or "arguments" in state.done)

    def _step_text(self, state: _State, node: Node) -> tuple[_State, str] | None:
        kind = node.kind
        alike = [other for other in self.walk.graph.nodes if other.kind == kind]
        fits = node.beside_calls == bool(self.calls) or len(alike) == 1
        if kind not in self.texts or kind in state.done or not fits or not self._is_written(state):
            return None
        return state.add(kind), self._write(node, self.texts[kind]) or ""

    def _step_field(self, state: _State, node: Node) -> tuple[_State, str] | None:
        if state.call < 0:
            return None
        call = self.calls[state.call]
        if node.kind in ("name", "id") and (node.kind in state.done) != node.again:
            return None
        if node.kind == "name":
            return (state.add("name"), call.name) if self.walk.has_form(node, call.name) else None
        if node.kind == "id":
            ident = call.id or (f"{call.name}:{state.call}" if node.carries_name else _SHAPE)
            return state.add("id", *["name"] * node.carries_name), ident
        if "arguments" in state.done:
            return None
        if node.kind == "arguments":
            within = node.codec.within if isinstance(node.codec, Json) else None
            text = encode_text(call.text, within) if within else call.text
            return None if state.keys else (state.add("arguments"), text)
        found = self._step_row(self.walk, (state.keys, state.values), node, self.pairs[state.call])
        if found is None or call.arguments is None:
            return None
        return state._replace(keys=found[0][0], values=found[0][1]), found[1]

    def _step_row(self, walk: Walk, state: tuple[int, int], node: Node, pairs: Pairs) -> tuple[tuple[int, int], str] | None:
        """Return what is written by entering a key or a value; the state counts those that are written."""
        keys, values = state
        number = keys - 1 if node.again else keys if node.kind == "key" else values
        if not 0 <= number < len(pairs) or (node.kind == "value" and pairs[number][0] is not None and values >= keys):
            return None
        key, value = pairs[number]
        if not (node.again or (_fits(node, value) and walk.has_form(node, key))):
            return None
        if node.kind == "key":
            return (keys + (not node.again), values), self._write(node, key) or ""
        if isinstance(node.codec, Text) and node.codec.repeats_key and key is not None:
            node = replace(node, codec=node.codec.fill(key))
        written = self._write(node, value) if _is_best(walk, node, value) else None
        return None if written is None else ((max(keys, values + 1), values + 1), written)

    def _write(self, node: Node, value: Any) -> str | None:
        """Return a value as a node writes it, None where it cannot."""
        codec = node.codec
        if isinstance(codec, Insides):
            return self._write_inside(self._walks[codec.graph], value)
        return _write_scalar(codec, value)

    def _write_inside(self, walk: Walk, value: Any) -> str | None:
        pairs = _list_pairs(value, self.graph.sorted_keys) if isinstance(value, dict) else tuple((None, item) for item in value)

        def step(state: tuple[int, int], edge: Edge, node: Node) -> tuple[tuple[int, int] | None, str] | None:
            if node.kind == "end":
                return (None, edge.text) if state == (len(pairs), len(pairs)) else None
            found = self._step_row(walk, state, node, pairs)
            return None if found is None else (found[0], edge.text + found[1])

        return _search(walk.graph.leaving("start"), walk, (0, 0), step)


def _fits(node: Node, value: Any) -> bool:
    """Whether a value has the type of a node; of numbers, whole ones may stand where any may."""
    kind = find_type(value)
    return node.type in ("", kind) or (node.type == "number" and kind == "integer")


def _is_best(walk: Walk, node: Node, value: Any) -> bool:
    """Whether no other way to write a string needs fewer escapes: templates choose quotes by what is between them."""
    if not isinstance(node.codec, Text) or not isinstance(value, str):
        return True
    alike = [other for other in walk.graph.nodes if other.kind == "value" and (other.type, other.signs) == (node.type, node.signs)]
    return len(alike) == 1 or _count_cost(walk, node, value) == min(_count_cost(walk, other, value) for other in alike)


def _count_cost(walk: Walk, node: Node, value: str) -> int:
    """Return 0 where nothing in a text could end it, 1 where escapes prevent that, 2 where nothing does."""
    assert isinstance(node.codec, Text)
    ends = find_ends(walk, node)
    if not any(end in value for end in ends):
        return 0
    return 2 if spell_text(value, node.codec, ends) is None else 1


def _write_scalar(codec: Codec, value: Any) -> str | None:
    if isinstance(codec, Text):
        return encode_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), codec)
    written = json.dumps(value, ensure_ascii=False)
    if isinstance(codec, Number):
        return written
    if isinstance(codec, Choice):
        return next((word for word, literal in codec.words if literal == written), None)
    return encode_text(written, codec.within) if isinstance(codec, Json) and codec.within else written


def _list_pairs(value: Mapping[str, Any], ordered: bool, repeats: bool = False) -> Pairs:
    """Return the entries of an object; of a list, one for each item where a format repeats its key."""
    pairs: list[tuple[Any, Any]] = []
    for key, inner in sorted(value.items(), key=lambda entry: entry[0].lower()) if ordered else value.items():
        pairs += [(key, item) for item in inner] if repeats and isinstance(inner, list) else [(key, inner)]
    return tuple(pairs)


def _list_members(value: Any, path: Path, outer: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """List what is in an object and in what stands in it, each under its path."""
    within = isinstance(value, dict) or (isinstance(value, list) and path.base >= 0)
    if within and (value or not outer) and len(outer) <= _DEPTH:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _list_members(inner, path, (*outer, key))
    else:
        yield path.join(outer), value


def _search(
    edges: Iterable[Edge],
    walk: Walk,
    state: State,
    step: Callable[[State, Edge, Node], tuple[State | None, str] | None],
) -> str | None:
    """Return what is written on the first way to the end, None where there is none."""
    nodes, ranks = walk.nodes, walk.rank
    leaving: dict[str, list[Edge]] = {}
    for edge in walk.graph.edges:
        leaving.setdefault(edge.source, []).append(edge)

    def rank(edge: Edge) -> int:  # the shape that the template takes best comes first
        return ranks[edge.target] if edge.opens_call or nodes[edge.target].kind == "arguments" else 0

    for found in leaving.values():
        found.sort(key=lambda edge: (rank(edge), len(edge.text) if edge.opens_call else 0))
    trail: list[str] = []
    ways = [iter([(state, edge) for edge in sorted(edges, key=rank)])]
    seen: set[tuple[str, State]] = set()
    while ways:
        for before, edge in ways[-1]:
            node = nodes[edge.target]
            taken = step(before, edge, node)
            if taken is None:
                continue
            after, written = taken
            if after is None:
                return "".join((*trail, written))
            if (node.name, after) not in seen:
                seen.add((node.name, after))
                trail.append(written)
                ways.append(iter([(after, edge) for edge in leaving.get(node.name, ())]))
                break
        else:
            ways.pop()
            if trail:
                trail.pop()
    return None
