"""Structural tags for the calls of requests: what they may cost, for they are made while others wait, and those made last."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from itertools import accumulate
from threading import Lock
from typing import Any

from ..constrain import build_structural_tag
from ..constrain.calls import Reasoned
from ..constrain.schemas import list_alternatives
from ..errors import ConstraintError
from ..format import ChatFormat, Edge, Graph, Json, Node, Start, TurnGraph
from ..tools import ToolChoice

LONGEST = 100_000
"""How many characters the tools may have for which a tag is made."""

DEEPEST = 40
"""How many brackets of JSON may be open at once in the tools for which a tag is made: to compile what is nested takes the cube of
its depth, and vLLM refuses it beyond 64 (0.32, ``sampling_params.py``)."""

HEAVIEST = 5_000
"""What the squares of the numbers of their parameters may sum up to where arguments are not JSON: so does the tag."""

ROOM = 8_000_000
"""How many characters the tags may have that are kept."""

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
"""A text of JSON, or a bracket."""

_OVERHEAD = 1_000  # of an entry that holds little or nothing


_JSON_NODES = (Node("start", "start"), Node("name", "name"), Node("arguments", "arguments", Json()), Node("end", "end"))
_JSON_EDGES = (
    Edge("name", ('", "parameters": ',), "arguments"),
    Edge("arguments", ('}, {"name": "',), "name", opens_call=True),
    Edge("arguments", ("}]",), "end"),
)
_JSON_START = Start("", (), (Edge("start", ('[{"name": "',), "name", opens_call=True),))

JSON_CALLS = ChatFormat(TurnGraph(Graph(_JSON_NODES, _JSON_EDGES), starts=(_JSON_START,)))
"""A JSON list of calls with ``name`` and ``parameters``, as vLLM and SGLang have a model write them when a call is required and the
model's own format cannot be expressed (vLLM 0.33, ``tool_parsers/utils.py``; SGLang 0.5.23, ``function_call``)."""


class TagMaker:
    """Makes the structural tags of requests, and keeps those made last. Raises nothing; several threads may ask.

    ``finish`` makes of a tag what the engine takes, and raises where the engine refuses it. ``say`` is told why a request
    has none, once as long as that is kept.
    """

    def __init__(self, finish: Callable[[dict[str, Any]], Any], say: Callable[..., None], *, room: int = ROOM) -> None:
        self._finish = finish
        self._say = say
        self._room = room
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, bytes], tuple[ChatFormat, Any, int]] = OrderedDict()
        self._size = 0

    def make(
        self,
        format: ChatFormat,
        tools: list[dict[str, Any]],
        choice: ToolChoice,
        *,
        parallel: bool = True,
        strict: bool | None = None,
        reasoning: Reasoned = "ended",
    ) -> Any:
        """Return what ``finish`` makes of the tag of a request; None where the format has none, or it would cost too much.

        ``tools`` are described as :func:`describe_tools` does it; the other arguments are those of
        :func:`chat_autoparser.build_structural_tag`.
        """
        chosen, parallel = choice.select(tools), parallel and not choice.single
        try:
            wish = json.dumps([chosen, choice.mode, parallel, strict, reasoning])
        except (RecursionError, TypeError, ValueError) as error:  # schemas come from clients
            self._refuse(error)
            return None
        key = id(format), sha256(wish.encode()).digest()  # the format is kept with the tag: its number is nobody else's
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        made, size = None, 0
        try:
            check_size(wish)
            _check_parameters(format, chosen)
            tag = build_structural_tag(format, chosen, choice.mode, parallel=parallel, strict=strict, reasoning=reasoning)
            size = len(json.dumps(tag))
            made = self._finish(tag)
        except Exception as error:  # of the core, of xgrammar's library in C++ and of its front end
            self._refuse(error)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = format, made, size + _OVERHEAD
                self._size += size + _OVERHEAD
            while self._size > self._room:
                self._size -= self._kept.popitem(last=False)[1][2]
        return made

    def _refuse(self, error: Exception) -> None:
        self._say("Calls are not held to the model's own format, the engine's JSON form is used where it must: %s", error)


def check_size(wish: str) -> None:
    """Raise :class:`ConstraintError` where what is asked for, as JSON, is too long or nested too deeply to make a tag of."""
    if len(wish) > LONGEST:
        raise ConstraintError("the tools are too many, or have too many parameters")
    depth = accumulate(1 if sign in "[{" else -1 for sign in _BRACKETS.findall(wish) if len(sign) == 1)
    if max(depth, default=0) > DEEPEST:
        raise ConstraintError("the schema of a tool is nested too deeply")


def _check_parameters(format: ChatFormat, tools: list[dict[str, Any]]) -> None:
    """Raise :class:`ConstraintError` where arguments are not JSON and there are too many of them."""
    if any(node.kind == "arguments" for node in format.graph.turn.nodes):
        return
    schemas = [tool["function"]["parameters"] for tool in tools]
    objects = [inner for schema in schemas if isinstance(schema, Mapping) for inner in list_alternatives(schema, schema)]
    if sum(len(each.get("properties") or ()) ** 2 for each in objects) > HEAVIEST:
        raise ConstraintError("the tools have too many parameters")
