"""From what the core emits to vLLM's messages.

A message of vLLM's may hold reasoning, content and calls at once, and whoever reads it takes them in that order. So what
came in another order is sent in several messages: what cannot go out with this one waits for the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation, FunctionCall, ToolCall

from chat_autoparser import Delta
from chat_autoparser.message import fold_deltas

_RANKS = {"reasoning": 0, "content": 1, "tool_call": 2}


class CutCall(FunctionCall):  # type: ignore[misc]
    """A call that has no end. vLLM serialises it as any other."""


class PendingCalls(list[Any]):
    """Pieces of calls that are sent, and are no reason yet to say that calls were made.

    vLLM decides on the ``finish_reason`` of a streamed choice by whether any message had calls, asked as a truth. It is to
    be told so where all calls have come to their ends, and not before.
    """

    def __bool__(self) -> bool:
        return False


class Outbox:
    """The deltas of one stream that have not been sent yet."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Delta] = []

    def send(self, deltas: list[Delta]) -> Any:
        """Return a message with as much of what is waiting as its order allows, or None."""
        if self._waiting:
            deltas = self._waiting + deltas
        elif len(deltas) < 2:
            return make_message(deltas)
        rank = count = 0
        for delta in deltas:
            if _RANKS[delta.kind] < rank:
                break
            rank = _RANKS[delta.kind]
            count += 1
        self._waiting = deltas[count:]
        return make_message(deltas[:count])

    def send_all(self, deltas: list[Delta]) -> Any:
        """Return one message with everything, or None: the stream has ended."""
        sent, self._waiting = self._waiting + deltas, []
        return make_message(sent)


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
    calls = _make_calls(delta for delta in deltas if delta.kind == "tool_call")
    if calls:
        fields["tool_calls"] = calls
    return DeltaMessage(**fields)


def _make_calls(deltas: Iterable[Delta]) -> list[dict[str, Any]]:
    """Return the pieces of calls, one for each call."""
    heads: dict[int | None, Delta] = {}
    arguments: dict[int | None, list[str]] = {}
    for delta in deltas:
        heads.setdefault(delta.index, delta)
        arguments.setdefault(delta.index, []).append(delta.text)
    joined = (head._replace(text="".join(arguments[index])) for index, head in heads.items())
    return [call for delta in joined for call in delta.to_openai()["tool_calls"]]


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
