"""The tools of a request, as the core takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def describe_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]] | None:
    """Return OpenAI-style dicts for SGLang's tools: those of chat requests, or the flat ones of the Responses API."""
    if tools is None:
        return None
    return [_describe(tool) for tool in tools if _name(tool)]


def _describe(tool: Any) -> dict[str, Any]:
    if isinstance(tool, dict):
        return tool if "function" in tool else {"type": "function", "function": tool}
    function = getattr(tool, "function", None) or tool
    described = {"name": function.name, "parameters": getattr(function, "parameters", None) or {}}
    if getattr(function, "strict", None):
        described["strict"] = True
    return {"type": "function", "function": described}


def _name(tool: Any) -> str | None:
    """Return a tool's name; tools of other kinds than functions have none."""
    if isinstance(tool, dict):
        function = tool.get("function", tool)
        name = function.get("name") if isinstance(function, dict) else None
    else:
        name = getattr(getattr(tool, "function", None) or tool, "name", None)
    return name if isinstance(name, str) else None
