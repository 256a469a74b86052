"""Holding the model to calls: in its own format where that can be expressed, else in JSON.

The constraint holds from the first token on, for it has a place for reasoning: where the prompt has opened it, reasoning
up to its end and then calls; where the model may reason and need not, reasoning or none, and then calls.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from vllm.tool_parsers.utils import get_json_schema_from_tools

from chat_autoparser import ChatFormat
from chat_autoparser.constrain import prepend_reasoning
from chat_autoparser.serve import Reasoned, TagMaker, ToolChoice, check_size
from chat_autoparser.tools import get_name

from . import LOG
from .engine import enforces_tools, find_form, get_tag, has_form, hold, list_tools, read_choice, wants_one
from .reader import Reader

_MOST = 1024
_WHITE_SPACE = 2  # so many characters stand between two of JSON: small models go on with line breaks for ever if they may
_told: dict[int, None] = {}  # the tags that were made last


def constrain(request: Any, reader: Reader, level: int, prompt: str | None, *, tells: bool = True) -> None:
    """Hold the model to calls as they should be, if the request or the server wants that.

    ``level`` is the server's (``--tool-strict-level``): from 1 on all calls are held to their form, from 2 on all to the
    schemas of their arguments too. Where it does not ``tell`` the engine that the constraint holds from the first token, it
    says nothing of reasoning: somebody else waits for its end.
    """
    choice = read_choice(request)
    tools = choice.select(list_tools(request))
    if not tools or is_told(get_tag(request)):
        return
    forced = choice.mode == "required"
    strict = level > 0 or any(tool["function"].get("strict") for tool in tools)
    wished = enforces_tools() and (strict or choice.names is not None or request.parallel_tool_calls is False)
    if not forced and not wished:
        return
    state: Reasoned = reader.find_state(prompt) if tells else "ended"
    schema: dict[str, Any] | None = None
    either = not forced and has_form(request)
    tag = _find_tag(request, reader, tools, replace(choice, mode="required") if either else choice, level, state)
    if tag is not None and either:
        tag = _add_form(tag, request, reader.format, state)
    if tag is None:
        if not forced:
            return
        schema = _make_schema(request, choice)
        form = {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": _WHITE_SPACE}
        tag = _make_tag(reader.format, form, state) if enforces_tools() else None
    hold(request, tag, schema)
    if tag is not None and tells:
        _told.pop(hash(tag), None)
        _told[hash(tag)] = None
        if len(_told) > _MOST:
            del _told[next(iter(_told))]


def reads_json(request: Any, reader: Reader, level: int, state: Reasoned) -> bool:
    """Whether the answer to a request is written as JSON, for the model's own format cannot be enforced."""
    choice = read_choice(request)
    if choice.mode != "required" or getattr(request, "structured_outputs", None) is None:
        return False
    tools = choice.select(list_tools(request))
    return bool(tools) and _find_tag(request, reader, tools, choice, level, state) is None


def is_told(tag: str | None) -> bool:
    """Whether a structural tag is one that was made here and holds from the first token on."""
    return tag is not None and hash(tag) in _told


def _find_tag(
    request: Any, reader: Reader, tools: list[dict[str, Any]], choice: ToolChoice, level: int, state: Reasoned
) -> str | None:
    """Return the constraint in the model's own format, as JSON; None where it cannot be expressed or is not wanted."""
    if not enforces_tools():
        return None
    parallel, strict = request.parallel_tool_calls is not False, True if level > 1 else None
    tag: str | None = _TAGS.make(reader.format, tools, choice, parallel=parallel, strict=strict, reasoning=state)
    return tag


def _add_form(calls: str, request: Any, format: ChatFormat, state: Reasoned) -> str | None:
    """Return the constraint to calls or to the form that the client wants of an answer, as vLLM has it for its own parsers (0.32,
    ``parser/abstract_parser.py``); None where that form cannot be expressed, and it alone holds."""
    form = find_form(request)
    if form is None:
        return None
    answer = prepend_reasoning(format, {"type": "structural_tag", "format": form}, state)
    return _make_tag(format, {"type": "or", "elements": [json.loads(calls)["format"], answer["format"]]}, "ended")


def _make_tag(format: ChatFormat, form: dict[str, Any], state: Reasoned) -> str | None:
    """Return a structural tag with a place for reasoning before a form; None where it is refused, or too long to be tried."""
    inner = {"type": "structural_tag", "format": form}
    try:
        check_size(json.dumps(inner))
        return _check(prepend_reasoning(format, inner, state))
    except Exception as error:  # of a library in C++, and of its front end in Python
        LOG.debug("A form is held to behind reasoning alone, for xgrammar refuses it with a place for that: %s", error)
        return None


def _make_schema(request: Any, choice: ToolChoice) -> dict[str, Any]:
    """Return vLLM's own schema for calls that are required, for the tools that may be called."""
    wanted = [tool for tool in request.tools if choice.names is None or get_name(tool) in choice.names]
    schema: dict[str, Any] = dict(get_json_schema_from_tools(tool_choice="required", tools=wanted))
    return {**schema, "maxItems": 1} if wants_one(request) else schema


def _check(tag: dict[str, Any]) -> str:
    """Return a structural tag as text. Raises what xgrammar raises where it refuses it: vLLM hands such a one to others."""
    import xgrammar

    text = json.dumps(tag, ensure_ascii=False)
    xgrammar.Grammar.from_structural_tag(text)
    return text


_TAGS = TagMaker(_check, LOG.warning)
