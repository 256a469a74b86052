"""From streamed pieces to the message they make, and what its calls say."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
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
    texts: defaultdict[tuple[str, int | None], list[str]] = defaultdict(list)
    heads: dict[int, Delta] = {}
    for delta in deltas:
        texts[delta.kind, delta.index].append(delta.text)
        if delta.index is not None and delta.id is not None:
            heads[delta.index] = delta
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(texts["content", None]) or None,
        "reasoning_content": "".join(texts["reasoning", None]) or None,
    }
    if heads:
        message["tool_calls"] = [
            {"id": head.id, "type": "function", "function": {"name": head.name, "arguments": "".join(texts[head.kind, index])}}
            for index, head in sorted(heads.items())
        ]
    return message
