"""The turn that a model writes for a message, found by walking the graph of turns.

A walk takes the edges in their order, and goes back where one does not lead to the end with all fields of the message
written. It remembers what it has tried, so that no state is entered twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import ConstraintError
from ..format import Choice, Edge, Insides, Json, Node, Path, Start, Text, TurnGraph
from ..message import read_arguments
from ..schema import find_type
from .texts import encode_text, find_ends, spell_text
from .walk import Walk

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
    others = [other for other in graph.starts if other != start and start.prompt.endswith(other.prompt)]
    tries = (True, False) if any(node.kind == "id" for node in graph.turn.nodes) else (False,)
    for walker in (_Walker(graph, message, exact) for exact in tries):
        for begun in (start, *others):
            found = _search(begun.edges, walker.walk, walker.step)
            if found is not None:
                return found
    raise ConstraintError(f"writing a turn: this format has no turn with just these fields behind the prompt {start.prompt!r}")


class _Call(NamedTuple):
    name: str
    id: str
    text: str
    pairs: Pairs

    @classmethod
    def read(cls, call: Mapping[str, Any], graph: TurnGraph) -> _Call:
        function = call.get("function", call)
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        members = read_arguments(text) or {}
        members = dict(_list_members(members, graph.path)) if graph.path else members
        return cls(function["name"], call.get("id") or "", text, _list_pairs(members, graph.sorted_keys, graph.repeated_keys))


class _State(NamedTuple):
    """What has been written: which fields, the number of the last call, and how many of its keys and values.

    Inside of a list or an object the keys and values are its own.
    """

    done: frozenset[str] = frozenset()
    call: int = -1
    keys: int = 0
    values: int = 0

    def add(self, *kinds: str) -> _State:
        """Return the state with more fields written."""
        return self._replace(done=self.done | set(kinds))


class _Walker:
    """Says which edges can be taken, and what is written then; if it is ``exact``, calls have ids where the message gives them."""

    def __init__(self, graph: TurnGraph, message: Mapping[str, Any], exact: bool) -> None:
        self._exact = exact
        self.walk = Walk(graph.turn, stops=graph.stops, path=graph.path)
        self.graph = graph
        self._walks = {name: Walk(inside) for name, inside in graph.insides}
        found = {kind: message.get(name) for kind, name in (("reasoning", "reasoning_content"), ("content", "content"))}
        self.texts = {kind: str(text) for kind, text in found.items() if text}
        self.calls = [_Call.read(call, graph) for call in message.get("tool_calls") or ()]

    def step(self, state: _State, edge: Edge, node: Node) -> tuple[_State | None, str] | None:
        """Return the state behind an edge (None: the end) and what is written; None where it cannot be taken."""
        text = str(max(state.call + edge.opens_call, 0)).join(edge.parts)
        if self.walk.ends(edge):
            before, stop = self.walk.cut_stop(text)
            done = state.done >= self.texts.keys() and state.call + 1 == len(self.calls) and self._is_written(state)
            return (None, before + stop) if done else None
        if edge.opens_call:
            if not self._is_written(state) or state.call + 1 >= len(self.calls):
                return None
            state = _State(state.done & {"reasoning", "content"}, state.call + 1)
        found = self._step_text(state, node) if node.kind in ("reasoning", "content") else self._step_field(state, node)
        return None if found is None else (found[0], text + found[1])

    def _is_written(self, state: _State) -> bool:
        """Whether the last call is whole."""
        if state.call < 0:
            return True
        call = self.calls[state.call]
        entries = state.values == state.keys == len(call.pairs)
        named = "name" in state.done and not (self._exact and call.id and "id" not in state.done)
        return named and (entries or "arguments" in state.done)

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
            if self._exact and not call.id:
                return None
            ident = call.id or (f"{call.name}:{state.call}" if node.carries_name else _SHAPE)
            return state.add("id", *["name"] * node.carries_name), ident
        if "arguments" in state.done:
            return None
        if node.kind == "arguments":
            within = node.codec.within if isinstance(node.codec, Json) else None
            text = encode_text(call.text, within) if within else call.text
            return None if state.keys else (state.add("arguments"), text)
        return self._step_row(self.walk, state, node, call.pairs)

    def _step_row(self, walk: Walk, state: _State, node: Node, pairs: Pairs) -> tuple[_State, str] | None:
        """Return what is written by entering a key or a value."""
        keys, values = state.keys, state.values
        number = keys - 1 if node.again else keys if node.kind == "key" else values
        if not 0 <= number < len(pairs) or (node.kind == "value" and pairs[number][0] is not None and values >= keys):
            return None
        key, value = pairs[number]
        if not (node.again or (_fits(node, value) and walk.has_form(node, key))):
            return None
        if node.kind == "key":
            return state._replace(keys=keys + (not node.again)), self._write(node, key) or ""
        if isinstance(node.codec, Text) and node.codec.repeats_key and key is not None:
            node = replace(node, codec=node.codec.fill(key))
        written = self._write(node, value) if _is_best(walk, node, value) else None
        return None if written is None else (state._replace(keys=max(keys, values + 1), values=values + 1), written)

    def _write(self, node: Node, value: Any) -> str | None:
        """Return a value as a node writes it, None where it cannot."""
        codec = node.codec
        if isinstance(codec, Insides):
            return self._write_inside(self._walks[codec.graph], value)
        written = value if isinstance(value, str) and isinstance(codec, Text) else json.dumps(value, ensure_ascii=False)
        if isinstance(codec, Text):
            return encode_text(written, codec)
        if isinstance(codec, Choice):
            return next((word for word, literal in codec.words if literal == written), None)
        return encode_text(written, codec.within) if isinstance(codec, Json) and codec.within else written

    def _write_inside(self, walk: Walk, value: Any) -> str | None:
        pairs = _list_pairs(value, self.graph.sorted_keys) if isinstance(value, dict) else tuple((None, item) for item in value)

        def step(state: _State, edge: Edge, node: Node) -> tuple[_State | None, str] | None:
            if node.kind == "end":
                return (None, edge.text) if state.keys == state.values == len(pairs) else None
            found = self._step_row(walk, state, node, pairs)
            return None if found is None else (found[0], edge.text + found[1])

        return _search(walk.graph.leaving("start"), walk, step)


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
    step: Callable[[_State, Edge, Node], tuple[_State | None, str] | None],
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
    waiting = [(_State(), edge, 0) for edge in sorted(edges, key=rank)[::-1]]  # the last one is next
    seen: set[tuple[str, _State]] = set()
    while waiting:
        before, edge, depth = waiting.pop()
        taken = step(before, edge, nodes[edge.target])
        if taken is None:
            continue
        after, written = taken
        trail[depth:] = [written]
        if after is None:
            return "".join(trail)
        if (edge.target, after) not in seen:
            seen.add((edge.target, after))
            waiting += [(after, following, depth + 1) for following in leaving.get(edge.target, [])[::-1]]
    return None
