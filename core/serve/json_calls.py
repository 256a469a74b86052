"""Calls as the engines' own JSON, where the model's own format cannot be enforced."""

from __future__ import annotations

from ..format import ChatFormat, Edge, Graph, Json, Node, Start, TurnGraph

_NODES = (Node("start", "start"), Node("name", "name"), Node("arguments", "arguments", Json()), Node("end", "end"))
_EDGES = (
    Edge("name", ('", "parameters": ',), "arguments"),
    Edge("arguments", ('}, {"name": "',), "name", opens_call=True),
    Edge("arguments", ("}]",), "end"),
)
_START = Start("", (), (Edge("start", ('[{"name": "',), "name", opens_call=True),))

JSON_CALLS = ChatFormat(TurnGraph(Graph(_NODES, _EDGES), starts=(_START,)))
"""A JSON list of calls with ``name`` and ``parameters``, as vLLM and SGLang have a model write them when a call is required and the
model's own format cannot be expressed (vLLM 0.33, ``tool_parsers/utils.py``; SGLang 0.5.23, ``function_call``)."""
