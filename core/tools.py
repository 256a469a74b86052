"""The tools of a request and the choice among them, as the core takes them.

Engines have classes of their own for these, with the fields of the OpenAI APIs: a tool of chat completions has its
description in ``function``, one of the Responses API is flat, and so are the two ways of naming one in ``tool_choice``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal


def describe_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Return the functions among a request's tools as OpenAI-style dicts; tools of other kinds are left out.

    ``tools`` are dicts or objects with the same fields. Raises nothing.
    """
    return list(filter(None, map(_describe, tools or ())))


def _describe(tool: Any) -> dict[str, Any] | None:
    function = _get(tool, "function") or (tool if _get(tool, "type") in (None, "function") else None)
    name = get_name(function)
    if name is None:
        return None
    described: dict[str, Any] = {"name": name, "parameters": _get(function, "parameters") or {}}
    strict = _get(function, "strict")
    if strict is None:
        strict = _get(tool, "strict")
    if strict is not None:
        described["strict"] = bool(strict)
    return {"type": "function", "function": described}


@dataclass(frozen=True)
class ToolChoice:
    """What a request says about calls.

    ``mode`` is ``"none"`` (no call), ``"auto"`` (text or calls) or ``"required"`` (at least one call). ``names`` are the
    tools that may be called, None where all may. ``single`` is set where the request names one function: there is
    exactly one call of it.
    """

    mode: Literal["none", "auto", "required"] = "auto"
    names: frozenset[str] | None = None
    single: bool = False

    @classmethod
    def read(cls, choice: Any) -> ToolChoice:
        """Return a request's ``tool_choice``, a word, a dict or an object, as a choice; what is not known is ``"auto"``."""
        if choice is None or isinstance(choice, str):
            return cls("none" if choice == "none" else "required" if choice in ("required", "any") else "auto")
        allowed = _get(choice, "allowed_tools") or choice
        listed = _get(allowed, "tools")
        if isinstance(listed, list | tuple):
            names = frozenset(filter(None, map(get_name, listed)))
            return cls("required" if _get(allowed, "mode") == "required" else "auto", names)
        name = get_name(choice)
        return cls("required", frozenset({name}), single=True) if name else cls()

    def select(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return those of the tools that may be called."""
        if self.mode == "none":
            return []
        return [tool for tool in tools if self.names is None or tool["function"]["name"] in self.names]


def get_name(named: Any) -> str | None:
    """Return the name of a tool, or that a choice names, of either API; None where there is none."""
    name = _get(_get(named, "function") or named, "name")
    return name if isinstance(name, str) and name else None


def _get(value: Any, field: str) -> Any:
    return value.get(field) if isinstance(value, Mapping) else getattr(value, field, None)
