"""What vLLM's parsers return, as messages and deltas of the OpenAI API."""

from __future__ import annotations

from typing import Any

from conversations import JsonObject


def make_message(reasoning: str | None, content: str | None, calls: Any) -> JsonObject:
    """The message of a whole output, from the three things that `Parser.parse` returns."""
    listed = [{"id": call.id, "type": "function", "function": call.model_dump()} for call in calls or []]
    return {"reasoning_content": reasoning, "content": content or None, "tool_calls": listed}


def take_delta(delta: Any) -> JsonObject:
    """What a client is sent of a message that `Parser.parse_delta` returns."""
    sent = delta.model_dump(exclude_unset=True)
    return {("reasoning_content" if key == "reasoning" else key): value for key, value in sent.items()}
