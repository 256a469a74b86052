"""A format written by hand, and what the tests of what is shown share."""

from __future__ import annotations

import dataclasses
import io
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from streams import make_tool

from chat_autoparser.format import Capabilities, ChatFormat, Choice, Edge, Graph, Node, Number, Start, Text, TurnGraph, Verdict
from chat_autoparser.show import command

PROVEN = Verdict((("reasoning", "proven"), ("content", "proven"), ("tools", "proven")), checked=9, passed=9)

_KINDS = ("start", "reasoning", "content", "name", "id", "end")
_NODES = (
    *(Node(kind, kind) for kind in _KINDS),  # type: ignore[arg-type]
    Node("key:string", "key", type="string"),
    Node("key:integer", "key", type="integer"),
    Node("key:boolean", "key", type="boolean"),
    Node("value:string", "value", Text((("\\'", "'"),), quoted=True), "string"),
    Node("value:integer", "value", Number(), "integer"),
    Node("value:boolean", "value", Choice((("True", "true"), ("False", "false"))), "boolean"),
)


def _list_edges() -> list[Edge]:
    edges = [
        Edge("reasoning", ("}}\n",), "content"),
        Edge("reasoning", ("}}\n<all>\n<do ",), "name", True),
        Edge("reasoning", ("}}\n<end>",), "end"),
        Edge("content", ("<end>",), "end"),
        Edge("content", ("<all>\n<do ",), "name", True),
        Edge("name", ("#",), "id"),
    ]
    closing = {"string": "'>\n", "integer": ">\n", "boolean": ">\n"}
    for kind, close in closing.items():
        edges += [
            Edge("id", ("\n<",), f"key:{kind}"),
            Edge(f"key:{kind}", ("='" if kind == "string" else "=",), f"value:{kind}"),
            *(Edge(f"value:{kind}", (close + "<",), f"key:{other}") for other in closing),
            Edge(f"value:{kind}", (close + "</do>, <do ",), "name", True),
            Edge(f"value:{kind}", (close + "</do></all><end>",), "end"),
        ]
    return edges


_BEGIN = (Edge("start", ("",), "content"), Edge("start", ("<all>\n<do ",), "name", True))
GRAPH = TurnGraph(
    Graph(_NODES, tuple(_list_edges())),
    starts=(
        Start("<bot>\n{{", (), (Edge("start", ("",), "reasoning"),)),
        Start("<bot>\n{{}}\n", (("ponder", "False"),), _BEGIN),
    ),
    stops=("<end>",),
)

FORMAT = ChatFormat(
    GRAPH,
    capabilities=Capabilities(tools=True, tool_calls=True, arguments="object", switches=("ponder",)),
    verdict=PROVEN,
)


def give(verdict: Verdict) -> ChatFormat:
    """The format with another verdict."""
    return dataclasses.replace(FORMAT, verdict=verdict)


# What the command is given

DEMO = ROOT / "scripts" / "demo.jinja"

OUTPUT = """\
Ünïque thoughts.(:decided:)
Here.
(:ask get_weather:)
(:with city:)Oslo(:.:)
(:with days:)3(:.:)
(:asked:)"""

TOOLS = [make_tool("get_weather", city="string", days="string")]

BROKEN = "{% for m in messages %}"

Streams = pytest.CaptureFixture[str]


def run(*arguments: str | Path) -> int:
    return command.main([str(argument) for argument in arguments])


def give_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
