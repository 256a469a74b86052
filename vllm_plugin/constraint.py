"""Holding the model to calls: in its own format where that can be expressed, else in JSON.

The constraint holds from the first token on, for it has a place for reasoning: where the prompt has opened it, reasoning
up to its end and then calls; where the model may reason and need not, reasoning or none, and then calls.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from functools import lru_cache
from typing import Any

from vllm.tool_parsers.utils import get_json_schema_from_tools

from chat_autoparser import ChatFormat
from chat_autoparser.constrain import build_structural_tag, prepend_reasoning
from chat_autoparser.errors import ConstraintError
from chat_autoparser.serve import State, ToolChoice

from . import LOG
from .engine import enforces_tools, get_tag, has_form, hold, list_tools, read_choice
from .reader import Reader

_MOST = 1024
_WHITE_SPACE = 2  # so many characters stand between two of JSON: small models go on with line breaks for ever if they may
_told: OrderedDict[int, None] = OrderedDict()


def constrain(request: Any, reader: Reader, level: int, prompt: str | None, *, tells: bool = True) -> None:
    """Hold the model to calls as they should be, if the request or the server wants that.

    ``level`` is the server's (``--tool-strict-level``): from 1 on all calls are held to their form, from 2 on all to the
    schemas of their arguments too. Where it does not ``tell`` the engine that the constraint holds from the first token, it
    says nothing of reasoning: somebody else waits for its end.
    """
    choice = read_choice(request)
    tools = choice.select(list_tools(request))
    if not tools or get_tag(request) is not None:
        return
    forced = choice.mode == "required"
    strict = level > 0 or any(tool["function"].get("strict") for tool in tools)
    wished = enforces_tools() and (strict or choice.names is not None or request.parallel_tool_calls is False)
    if not forced and (not wished or has_form(request)):
        return  # an answer that has a form by itself has precedence, as vLLM has it
    state: State = reader.find_state(prompt) if tells else "ended"
    tag = _find_tag(request, reader, tools, choice, level, state)
    if tag is None and not forced:
        return
    if tag is None:
        schema = _make_schema(request, choice)
        tag = _make_json_tag(reader.format, schema, state) if enforces_tools() else None
        if tag is None:
            hold(request, schema=schema)
            return
    hold(request, tag=tag)
    if tells:
        _remember(tag)


def reads_json(request: Any, reader: Reader, level: int, state: State) -> bool:
    """Whether the answer to a request is written as JSON, for the model's own format cannot be enforced."""
    choice = read_choice(request)
    if choice.mode != "required" or getattr(request, "structured_outputs", None) is None:
        return False
    tools = choice.select(list_tools(request))
    return bool(tools) and _find_tag(request, reader, tools, choice, level, state) is None


def is_told(tag: str | None) -> bool:
    """Whether a structural tag is one that was made here and holds from the first token on."""
    return tag is not None and hash(tag) in _told


def _remember(tag: str) -> None:
    _told[hash(tag)] = None
    _told.move_to_end(hash(tag))
    while len(_told) > _MOST:
        _told.popitem(last=False)


def _find_tag(
    request: Any, reader: Reader, tools: list[dict[str, Any]], choice: ToolChoice, level: int, state: State
) -> str | None:
    """Return the constraint in the model's own format, as JSON; None where it cannot be expressed or is not wanted."""
    if not enforces_tools():
        return None
    parallel = request.parallel_tool_calls is not False and not choice.single
    try:
        return _make_tag(reader.format, json.dumps([tools, choice.mode, parallel, True if level > 1 else None, state]))
    except (RecursionError, TypeError, ValueError):  # schemas come from clients
        return None


@lru_cache(maxsize=256)
def _make_tag(format: ChatFormat, text: str) -> str | None:
    tools, choice, parallel, strict, state = json.loads(text)
    try:
        tag = build_structural_tag(format, tools, choice, parallel=parallel, strict=strict, reasoning=state)
    except (ConstraintError, RecursionError) as error:
        LOG.debug("A call is not held to the model's own format: %s", error)
        return None
    return _check(tag)


def _make_json_tag(format: ChatFormat, schema: dict[str, Any], state: State) -> str | None:
    form = {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": _WHITE_SPACE}
    inner = {"type": "structural_tag", "format": form}
    return _check(prepend_reasoning(format, inner, state))


def _make_schema(request: Any, choice: ToolChoice) -> dict[str, Any]:
    """Return vLLM's own schema for calls that are required, for the tools that may be called."""
    wanted = [tool for tool in request.tools if choice.names is None or _get_name(tool) in choice.names]
    schema: dict[str, Any] = dict(get_json_schema_from_tools(tool_choice="required", tools=wanted))
    return {**schema, "maxItems": 1} if choice.single or request.parallel_tool_calls is False else schema


def _get_name(tool: Any) -> Any:
    return getattr(getattr(tool, "function", tool), "name", None)


def _check(tag: dict[str, Any]) -> str | None:
    """Return a structural tag as text if the installed xgrammar takes it: vLLM hands one that it does not to others."""
    try:
        import xgrammar

        text = json.dumps(tag, ensure_ascii=False)
        xgrammar.Grammar.from_structural_tag(text)
    except Exception as error:  # RuntimeError of a library in C++, and what its front end in Python raises
        LOG.debug("A call is not held to the model's own format, for xgrammar refuses it: %s", error)
        return None
    return text
