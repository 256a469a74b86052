"""From what the core emits to vLLM's messages.

A message of vLLM's may hold reasoning, content and calls at once, and whoever reads it takes them in that order. So what
came in another order is sent in several messages: what cannot go out with this one waits for the next.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

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

_LOG = logging.getLogger("vllm.chat_autoparser")

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
            if not deltas:
                return None
            kind, text, index, call_id, name = deltas[0]
            if kind != "tool_call":
                return make_text(kind, text)
            return make_piece(index, text) if call_id is None else _make_head(index, call_id, name, text)
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
    if len(deltas) < 2:
        return Outbox().send(deltas)
    fields: dict[str, Any] = {}
    for kind in ("reasoning", "content"):
        texts = [delta.text for delta in deltas if delta.kind == kind]
        if texts:
            fields[kind] = "".join(texts)
    calls = _make_calls(delta for delta in deltas if delta.kind == "tool_call")
    if calls:
        fields["tool_calls"] = calls
    return DeltaMessage(**fields)


def _make_head(index: int | None, call_id: str, name: str | None, arguments: str) -> Any:
    """Return a message with the beginning of a call."""
    return DeltaMessage(tool_calls=[_make_call(index, call_id, name, arguments)])


# Nearly every message is a piece of text or of arguments. Pydantic's checks of it cost more than all the rest of a token,
# so these two are made as its own `model_construct` makes them, less the loop over the fields: an object, and the four
# attributes that the documentation of `BaseModel` lists. The functions are straight-line code, for calls would be half of
# what they cost; what they make is held against what the checks make before they are used.


def _make_text_unchecked(kind: str, text: str) -> Any:
    made = _new(DeltaMessage)
    _set_dict(made, {**_MESSAGE, kind: text, "tool_calls": []})
    _set_given(made, {kind})
    _set_extra(made, {})
    _set_private(made, None)
    return made


def _make_piece_unchecked(index: int | None, arguments: str) -> Any:
    function = _new(DeltaFunctionCall)
    _set_dict(function, {**_FUNCTION, "arguments": arguments})
    _set_given(function, {"arguments"})
    _set_extra(function, None)
    _set_private(function, None)
    call = _new(DeltaToolCall)
    _set_dict(call, {**_CALL, "index": index, "function": function})
    _set_given(call, {"index", "function"})
    _set_extra(call, {})
    _set_private(call, None)
    made = _new(DeltaMessage)
    _set_dict(made, {**_MESSAGE, "tool_calls": [call]})
    _set_given(made, {"tool_calls"})
    _set_extra(made, {})
    _set_private(made, None)
    return made


def _make_text_checked(kind: str, text: str) -> Any:
    return DeltaMessage(**{kind: text})


def _make_piece_checked(index: int | None, arguments: str) -> Any:
    return DeltaMessage(tool_calls=[{"index": index, "function": {"arguments": arguments}}])


def _agree(made: Any, checked: Any) -> bool:
    """Whether two messages are the same, down to what pydantic keeps beside their fields."""
    return bool(_list_states(made) == _list_states(checked)) and bool(made == checked)


def _list_states(message: Any) -> list[Any]:
    states = [message.__getstate__()]
    for call in message.tool_calls:
        states += [{**call.__getstate__(), "__dict__": None}, call.function.__getstate__()]
    return states


make_text, make_piece = _make_text_checked, _make_piece_checked
"""A message with a piece of text, or with a piece of the arguments of a call."""

try:
    _new = object.__new__
    _set_dict = vars(BaseModel)["__dict__"].__set__
    _set_given = vars(BaseModel)["__pydantic_fields_set__"].__set__
    _set_extra = vars(BaseModel)["__pydantic_extra__"].__set__
    _set_private = vars(BaseModel)["__pydantic_private__"].__set__
    _MESSAGE = dict(vars(DeltaMessage()))
    _FUNCTION = dict(vars(DeltaFunctionCall()))
    _CALL = dict(vars(DeltaToolCall(index=0)))
    if _agree(_make_text_unchecked("content", "x"), _make_text_checked("content", "x")):
        make_text = _make_text_unchecked
    if _agree(_make_piece_unchecked(1, "x"), _make_piece_checked(1, "x")):
        make_piece = _make_piece_unchecked
except Exception:  # whatever another pydantic does about it
    _LOG.debug("Messages are made with pydantic's checks", exc_info=True)


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
