"""Structural tags for SGLang, from the core's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from chat_autoparser import AutoparserError, ChatFormat, ConstraintError, build_structural_tag
from chat_autoparser.serve import ToolChoice, describe_tools

from . import LOG, engine

LONGEST = 100_000
"""How many characters the tools may have whose tag is made here: it is made while other requests wait."""

HEAVIEST = 5_000
"""What the squares of the numbers of their parameters may sum up to where arguments are not JSON: so does the tag."""


def describe_choice(tools: Iterable[Any] | None, choice: Any, parallel: bool, reasoning: str = "ended") -> str:
    """Return what a tag is made from, as a key: equal for equal requests.

    ``choice`` is SGLang's: `auto`, `required` or one function's, of which there is then exactly one call. ``reasoning`` says
    what the tag has to hold of it: see :func:`chat_autoparser.build_structural_tag`.
    """
    chosen = ToolChoice.read(choice)
    return json.dumps([chosen.select(describe_tools(tools)), chosen.mode, parallel and not chosen.single, reasoning])


def make_tag(format: ChatFormat, key: str) -> Any:
    """Return xgrammar's structural tag for a request, or None where the format has none; the log says why."""
    backend = engine.read_setting("grammar_backend", engine.TAG_BACKEND)
    if backend != engine.TAG_BACKEND:
        _warn(backend)
        return None
    tools, choice, parallel, reasoning = json.loads(key)
    try:
        as_json = any(node.kind == "arguments" for node in format.graph.turn.nodes)
        if len(key) > LONGEST or (not as_json and _weigh(tools) > HEAVIEST):
            raise ConstraintError("the tools are too many, or have too many parameters")
        return engine.compile_tag(build_structural_tag(format, tools, choice, parallel=parallel, reasoning=reasoning))
    except (AutoparserError, ValueError, RuntimeError) as error:
        LOG.warning("Calls cannot be held to the model's own format, SGLang's JSON form is used where it must: %s", error)
        return None


def _weigh(tools: list[dict[str, Any]]) -> int:
    schemas = [tool["function"]["parameters"] for tool in tools]
    return sum(len(schema.get("properties") or ()) ** 2 for schema in schemas if isinstance(schema, dict))


@lru_cache
def _warn(backend: str) -> None:
    LOG.warning(
        "--grammar-backend %s cannot hold calls to the model's own format: SGLang's JSON form is used for calls that a "
        "request requires or names, and strict tools are not enforced elsewhere",
        backend,
    )
