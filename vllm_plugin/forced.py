"""Requests that force a call: the constraint under which the model writes it, and reading what it then writes.

The model is held to its own format where that can be expressed. Otherwise it is held to the JSON that vLLM has for this
purpose (``ToolParser.adjust_request``): a list of objects with ``name`` and ``parameters`` where any call will do, and the
bare arguments where the tool is named.
"""

from __future__ import annotations

import json
import logging
from functools import lru_cache
from typing import Any

from chat_autoparser import (
    Arguments,
    ChatFormat,
    Delta,
    Marker,
    ObjectBody,
    ObjectNotation,
    Slot,
    StringNotation,
    Tools,
    ValueNotation,
)
from chat_autoparser.errors import ConstraintError
from chat_autoparser.message import make_call_id
from chat_autoparser.parser import StreamParser
from chat_autoparser.structural import build_structural_tag

from .engine import REQUIRED, get_forced, set_structured_outputs, uses_json, uses_tag
from .reader import Reader

_LOG = logging.getLogger("vllm.chat_autoparser")

_JSON = ObjectNotation("{", '"', (Slot(Marker('": '), Marker()),), ", ", "}")
_STRINGS = (StringNotation('"', '"'),)
_ARGUMENTS = Arguments(True, _JSON, _STRINGS, ValueNotation(_STRINGS, "true", "false", "null", None, None, True))
_BODY = ObjectBody(("name",), ("parameters",), array=True, keys=("name", "parameters"))
_NOTHING = Marker()

JSON_CALLS = ChatFormat(tools=Tools(_NOTHING, _NOTHING, _NOTHING, _NOTHING, ", ", _BODY, _ARGUMENTS))
"""How calls are written under vLLM's own constraint."""


class NamedCall:
    """Reads the bare arguments of the one call that was named."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun = False
        self._space = ""

    def feed(self, text: str) -> list[Delta]:
        """Read a piece; white space around the arguments is none of them."""
        text = self._space + text if self._begun else text.lstrip()
        kept = text.rstrip()
        self._space = text[len(kept) :]
        if not kept:
            return []
        head = [] if self._begun else [Delta("tool_call", "", 0, make_call_id(), self._name)]
        self._begun = True
        return [*head, Delta("tool_call", kept, 0)]

    def finish(self) -> list[Delta]:
        """Say that the output has ended."""
        return []


def make_forced_parser(request: Any, tools: list[dict[str, Any]]) -> StreamParser | NamedCall | None:
    """Return what reads the answer to a request under vLLM's own constraint, or None: it is in the model's format."""
    forced = get_forced(request)
    if forced is None or uses_tag(request) or not uses_json(request):
        return None
    return JSON_CALLS.parser(tools) if forced == REQUIRED else NamedCall(forced)


def starts_at_once(request: Any) -> bool:
    """Whether the model was not allowed to reason: vLLM constrains the output from its first token on.

    It does so where the answer has a given form and the request does not want to see reasoning.
    """
    wanted = getattr(request, "include_reasoning", True)
    return not wanted and (uses_tag(request) or uses_json(request))


def constrain(request: Any, reader: Reader, tools: list[dict[str, Any]], level: int) -> Any:
    """Hold the model to calls as they should be, if the request or the server wants that; returns the request.

    ``level`` is the server's (``--tool-strict-level``): from 1 on all calls are held to their form, from 2 on all to the
    schemas of their arguments too.
    """
    forced = get_forced(request)
    if not tools or uses_tag(request):
        return request
    wished = forced is not None or level > 0 or any(tool["function"].get("strict") for tool in tools)
    if not wished and request.parallel_tool_calls is not False:
        return request
    if forced is None and uses_json(request):
        return request  # the answer itself has a given form, and vLLM lets that have precedence
    tag = _build_tag(request, reader, tools, forced, strict=level > 1)
    if tag is not None or forced is not None:
        set_structured_outputs(request, tag)
    return request


def _build_tag(request: Any, reader: Reader, tools: list[dict[str, Any]], forced: str | None, strict: bool) -> str | None:
    """Return the constraint in the model's own format, as JSON; None where it cannot be expressed."""
    choice: str | dict[str, Any] = "auto" if forced is None else "required"
    if forced:
        choice = {"type": "function", "function": {"name": forced}}
    parallel = request.parallel_tool_calls is not False
    try:
        tag = build_structural_tag(reader.format, tools, choice, parallel=parallel, strict=strict or None)
    except ConstraintError as error:
        _LOG.debug("A call is not held to the model's own format: %s", error)
        return None
    text = json.dumps(tag, ensure_ascii=False)
    return text if _is_understood(text) else None


@lru_cache(maxsize=256)
def _is_understood(tag: str) -> bool:
    """Whether the installed xgrammar takes a structural tag: vLLM hands one that it does not take to something else."""
    try:
        import xgrammar

        xgrammar.Grammar.from_structural_tag(tag)
    except Exception as error:  # RuntimeError of a library in C++, and what its front end in Python raises
        _LOG.debug("A call is not held to the model's own format, for xgrammar refuses it: %s", error)
        return False
    return True
