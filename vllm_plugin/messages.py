"""From what the core emits to vLLM's messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation, FunctionCall, ToolCall

from chat_autoparser import Delta
from chat_autoparser.message import fold_deltas


class CutCall(FunctionCall):  # type: ignore[misc]
    """A call that has no end. vLLM serialises it as any other."""


class CutMessage(DeltaMessage):  # type: ignore[misc]
    """The last message of a stream with a call that has no end: vLLM is not to say that calls were made."""


def make_message(deltas: list[Delta], *, cut: bool = False) -> Any:
    """Return one message with all of the deltas, or None where there are none. Fields without a value stay unset.

    Where a call was ``cut``, it is a :class:`CutMessage`, if there are deltas or not.
    """
    if cut:
        return CutMessage(**_join(deltas))
    return DeltaMessage(**_join(deltas)) if deltas else None


def _join(deltas: list[Delta]) -> dict[str, Any]:
    """Return the fields of a message."""
    fields: dict[str, Any] = {}
    if len(deltas) == 1:
        (delta,) = deltas
        return delta.to_openai() if delta.kind == "tool_call" else {delta.kind: delta.text}
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
    return fields


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
