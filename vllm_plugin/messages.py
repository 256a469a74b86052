"""From what the core emits to vLLM's messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation, FunctionCall, ToolCall

from chat_autoparser import Delta
from chat_autoparser.message import fold_deltas


class CutCall(FunctionCall):  # type: ignore[misc]
    """A call that has no end. vLLM serialises it as any other."""


class PendingCalls(list[Any]):
    """Pieces of calls that are sent, and are no reason yet to say that calls were made.

    vLLM decides on the ``finish_reason`` of a streamed choice by whether any message had calls, asked as a truth. It is to
    be told so where all calls have come to their ends, and not before.
    """

    def __bool__(self) -> bool:
        return False


def make_message(deltas: list[Delta]) -> Any:
    """Return one message with all of the deltas, or None where there are none. Fields without a value stay unset."""
    if not deltas:
        return None
    fields: dict[str, Any] = {}
    if len(deltas) == 1:
        (delta,) = deltas
        fields = delta.to_openai() if delta.kind == "tool_call" else {delta.kind: delta.text}
        return DeltaMessage(**fields)
    for kind in ("reasoning", "content"):
        texts = [delta.text for delta in deltas if delta.kind == kind]
        if texts:
            fields[kind] = "".join(texts)
    calls: dict[int | None, list[Delta]] = {}
    for delta in deltas:
        if delta.kind == "tool_call":
            calls.setdefault(delta.index, []).append(delta)
    if calls:
        joined = (pieces[0]._replace(text="".join(piece.text for piece in pieces)) for pieces in calls.values())
        fields["tool_calls"] = [call for delta in joined for call in delta.to_openai()["tool_calls"]]
    return DeltaMessage(**fields)


def make_whole(deltas: Iterable[Delta], incomplete: frozenset[int]) -> tuple[str | None, str | None, list[Any]]:
    """Return reasoning, content and calls of a whole output; those calls that have no end are :class:`CutCall`."""
    message = fold_deltas(deltas)
    calls = [
        (CutCall if index in incomplete else FunctionCall)(id=call["id"], **call["function"])
        for index, call in enumerate(message.get("tool_calls") or ())
    ]
    return message["reasoning_content"], message["content"], calls


def make_extracted(deltas: Iterable[Delta]) -> Any:
    """Return what a tool parser of vLLM's says of a whole output."""
    _, content, calls = make_whole(deltas, frozenset())
    made = [ToolCall(id=call.id, function=call) for call in calls]
    return ExtractedToolCallInformation(tools_called=bool(made), tool_calls=made, content=content)
