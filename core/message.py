"""From streamed pieces to the message they make, and what its calls say."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .delta import Delta


def make_call_id() -> str:
    """Return a fresh tool-call id for a call to which the model gave none."""
    return "call_" + secrets.token_hex(12)


def read_arguments(text: str) -> dict[str, Any] | None:
    """Return the object that arguments are; None where they are not whole, no object, or nested too deep to be read."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def fold_deltas(deltas: Iterable[Delta]) -> dict[str, Any]:
    """Join streamed pieces into one OpenAI message dict.

    ``reasoning_content`` and ``content`` are None where nothing was emitted; ``tool_calls`` is there only if a call was.
    """
    reasoning: list[str] = []
    content: list[str] = []
    heads: dict[int, tuple[str | None, str | None]] = {}
    arguments: dict[int, list[str]] = {}
    for delta in deltas:
        if delta.kind == "content":
            content.append(delta.text)
        elif delta.kind == "reasoning":
            reasoning.append(delta.text)
        elif delta.index is not None:
            if delta.id is not None:
                heads[delta.index] = delta.id, delta.name
            arguments.setdefault(delta.index, []).append(delta.text)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(content) or None,
        "reasoning_content": "".join(reasoning) or None,
    }
    if heads:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": "".join(arguments[index])}}
            for index, (call_id, name) in sorted(heads.items())
        ]
    return message
