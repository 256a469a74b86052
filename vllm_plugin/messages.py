"""From what the core emits to vLLM's messages.

A message of vLLM's may hold reasoning, content and calls at once, and whoever reads it takes them in that order. So what
came in another order is sent in several messages: what cannot go out with this one waits for the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chat_autoparser import Delta
from chat_autoparser.message import fold_deltas

from .engine import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)

_RANKS = {"reasoning": 0, "content": 1, "tool_call": 2}


class Outbox:
    """The deltas of one stream that have not been sent yet."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Delta] = []

    def send(self, deltas: list[Delta]) -> Any:
        """Return a message with as much of what is waiting as its order allows, or None."""
        if self._waiting:
            self._waiting += deltas
        elif len(deltas) < 2:
            return make_message(deltas)
        else:
            self._waiting = deltas
        rank = count = 0
        for delta in self._waiting:
            if _RANKS[delta.kind] < rank:
                break
            rank = _RANKS[delta.kind]
            count += 1
        sent, self._waiting = self._waiting[:count], self._waiting[count:]
        return make_message(sent)

    def send_later(self, deltas: list[Delta]) -> Any:
        """Send nothing that is reasoning, nor what comes behind it: this message's reasoning is another's."""
        place = next((place for place, delta in enumerate(deltas) if delta.kind == "reasoning"), len(deltas))
        message = self.send(deltas[:place])
        self._waiting += deltas[place:]
        return message

    def send_all(self, deltas: list[Delta]) -> Any:
        """Return one message with everything, or None: the stream has ended."""
        sent, self._waiting = self._waiting + deltas, []
        return make_message(sent)


def make_message(deltas: list[Delta]) -> Any:
    """Return one message with all of the deltas, or None where there are none."""
    if not deltas:
        return None
    if len(deltas) == 1:
        kind, text, index, call_id, name = deltas[0]
        if kind != "tool_call":
            return _stamp(DeltaMessage, {**_MESSAGE, kind: text}, {kind})
        if call_id is None:
            return _make_piece(_stamp, index, text)
        return DeltaMessage(tool_calls=[_make_call(index, call_id, name, text)])
    fields: dict[str, Any] = {}
    for kind in ("reasoning", "content"):
        texts = [delta.text for delta in deltas if delta.kind == kind]
        if texts:
            fields[kind] = "".join(texts)
    calls = _make_calls(delta for delta in deltas if delta.kind == "tool_call")
    if calls:
        fields["tool_calls"] = calls
    return DeltaMessage(**fields)


def _stamp_fast(model: Any, fields: dict[str, Any], given: set[str]) -> Any:
    """Return what :func:`_stamp_safe` returns, without the checks, which cost more than all the rest of a token.

    This is what pydantic 2's ``model_construct`` does, less its loop over the fields. The attributes are those that the
    documentation of ``BaseModel`` lists.
    """
    made = _new(model)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", given)
    _set(made, "__pydantic_extra__", {})
    _set(made, "__pydantic_private__", None)
    return made


def _stamp_safe(model: Any, fields: dict[str, Any], given: set[str]) -> Any:
    """Return a message with some of the fields."""
    return model(**{name: fields[name] for name in given})


def _choose_stamp() -> Any:
    """Return the fast way if it makes what the safe way makes, with this pydantic and these models."""
    try:
        made = [_make_piece(stamp, 1, "x") for stamp in (_stamp_fast, _stamp_safe)]
        if made[0] == made[1] and made[0].model_dump_json(exclude_unset=True) == made[1].model_dump_json(exclude_unset=True):
            return _stamp_fast
    except Exception:  # whatever another pydantic does about it
        pass
    return _stamp_safe


def _make_piece(stamp: Any, index: int | None, arguments: str) -> Any:
    """Return a message with a piece of the arguments of a call."""
    function = stamp(DeltaFunctionCall, {**_FUNCTION, "arguments": arguments}, {"arguments"})
    call = stamp(DeltaToolCall, {**_CALL, "index": index, "function": function}, {"index", "function"})
    return stamp(DeltaMessage, {**_MESSAGE, "tool_calls": [call]}, {"tool_calls"})


_new = object.__new__
_set = object.__setattr__
_MESSAGE = dict(vars(DeltaMessage()))
_FUNCTION = dict(vars(DeltaFunctionCall()))
_CALL = dict(vars(DeltaToolCall(index=0)))
_stamp = _choose_stamp()


def _make_calls(deltas: Iterable[Delta]) -> list[dict[str, Any]]:
    """Return the pieces of calls, one for each call."""
    heads: dict[int | None, Delta] = {}
    arguments: dict[int | None, list[str]] = {}
    for delta in deltas:
        heads.setdefault(delta.index, delta)
        arguments.setdefault(delta.index, []).append(delta.text)
    return [_make_call(index, head.id, head.name, "".join(arguments[index])) for index, head in heads.items()]


def _make_call(index: int | None, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    if call_id is None:
        return {"index": index, "function": {"arguments": arguments}}
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def read_message(parser: Any, text: str) -> dict[str, Any]:
    """Return the message of a whole text, as the core folds it."""
    return fold_deltas([*parser.feed(text), *parser.finish()])


def make_extracted(message: dict[str, Any]) -> Any:
    """Return what a whole output holds besides reasoning; the message is one of the core's."""
    calls = [
        ToolCall(id=call["id"], function=FunctionCall(id=call["id"], **call["function"]))
        for call in message.get("tool_calls") or ()
    ]
    return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=message["content"])
