"""JSON as a graph like any other, for those who cannot enforce a schema by themselves."""

from __future__ import annotations

import json

from ..format import Choice, Codec, Edge, Graph, Insides, Node, Number, Numeral, Text
from .walk import COUNTER

LIST, OBJECT = "json list", "json object"

STRING = Text(tuple((json.dumps(char)[1:-1], char) for char in '"\\\b\f\n\r\t'), (Numeral("utf-16", "\\u"),), quoted=True)
_CODECS: dict[str, tuple[Codec, str, str]] = {
    "string": (STRING, '"', '"'),
    "integer": (Number(), "", ""),
    "number": (Number(), "", ""),
    "boolean": (Choice((("true", "true"), ("false", "false"))), "", ""),
    "null": (Choice((("null", "null"),)), "", ""),
    "array": (Insides(LIST), "[" + COUNTER, COUNTER + "]"),
    "object": (Insides(OBJECT), "{" + COUNTER, COUNTER + "}"),
}
_KEY, _MIDDLE, _COMMA = '"', '":' + COUNTER, "," + COUNTER


def make_json_graphs() -> dict[str, Graph]:
    """Return the graphs of the insides of lists and objects; white space may stand where they have counters."""
    bounds = Node("start", "start"), Node("end", "end")
    values = [Node(f"value:{kind}", "value", codec, kind) for kind, (codec, _, _) in _CODECS.items()]
    keys = [Node(f"key:{kind}", "key", STRING, kind) for kind in _CODECS]
    items = [_link("start", "", "end"), *(_link("start", opened(one.type), one.name) for one in values)]
    entries = [_link("start", "", "end"), *(_link("start", _KEY, key.name) for key in keys)]
    for one in values:
        items += [_link(one.name, closed(one.type) + _COMMA + opened(two.type), two.name) for two in values]
        items.append(_link(one.name, closed(one.type), "end"))
        entries.append(_link(f"key:{one.type}", _MIDDLE + opened(one.type), one.name))
        entries += [_link(one.name, closed(one.type) + _COMMA + _KEY, key.name) for key in keys]
        entries.append(_link(one.name, closed(one.type), "end"))
    return {LIST: Graph((*bounds, *values), tuple(items)), OBJECT: Graph((*bounds, *keys, *values), tuple(entries))}


def opened(kind: str) -> str:
    """Return what stands before a value of a type."""
    return _CODECS[kind][1]


def closed(kind: str) -> str:
    """Return what stands behind a value of a type."""
    return _CODECS[kind][2]


def make_node(kind: str) -> Node:
    """Return a value of a type that stands by itself."""
    return Node("value", "value", _CODECS[kind][0], kind)


def _link(source: str, text: str, target: str) -> Edge:
    return Edge(source, tuple(text.split(COUNTER)), target)
