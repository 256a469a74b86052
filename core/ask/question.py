"""A turn to be rendered, what surrounds it, and the shape in which a template takes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..schema import find_type
from .words import LATER, RESULT, SYSTEM, UNREAD, USER, make_word

REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The names under which a message's reasoning is known to vLLM, SGLang and transformers (their message schemas)."""

Part = Literal["reasoning", "content", "tools"]
PARTS: tuple[Part, ...] = ("reasoning", "content", "tools")
"""What a turn consists of."""

Told = Literal["type", "types", "most", "nothing"]
Form = Literal["object", "text"]
Absent = Literal["empty", "null", "missing"]
LESS_TOLD: tuple[Told, ...] = ("types", "nothing")
RETURNS = "A text."
"""What tools return, in words with which their declarations end."""

Switches = tuple[tuple[str, Any], ...]
"""Template arguments beyond messages and tools, by name."""


@dataclass(frozen=True)
class Call:
    """A tool call; ``arguments`` as JSON text, so that a call can be hashed, the ``id`` empty where it has none."""

    name: str
    id: str
    arguments: str

    @classmethod
    def of(cls, name: str, id: str, arguments: Mapping[str, Any]) -> Call:
        """Make a call from an object of arguments."""
        return cls(name, id, json.dumps(arguments, ensure_ascii=False))

    def rename(self, name: str) -> Call:
        """Return the same call of another tool, whose name the id may carry."""
        return replace(self, name=name, id=self.id.replace(self.name, name))

    @property
    def object(self) -> dict[str, Any]:
        """The arguments."""
        found: dict[str, Any] = json.loads(self.arguments)
        return found


@dataclass(frozen=True)
class Question:
    """An assistant's turn, and what surrounds it.

    ``follow`` is what stands behind it: nothing, the results of its calls, a later message of the user's, or that, the
    same turn ``again`` and one more of them. ``tools`` tells
    whether tools are offered though it calls none, ``resumed`` whether it answers the result of a tool and not the user.
    ``told`` is what the tools say of a parameter: its type, that or null (or a text), or nothing, as it is not declared; of
    ``"most"`` their types, but the last one is not declared; ``returns`` is what they say that tools return.
    """

    reasoning: str | None = None
    content: str | None = None
    calls: tuple[Call, ...] = ()
    switches: Switches = ()
    follow: Literal["", "results", "user", "again"] = ""
    tools: bool = True
    resumed: bool = False
    earlier: int = 0
    told: Told = "type"
    returns: str = RETURNS


@dataclass(frozen=True)
class Shape:
    """In which form a template takes its input.

    ``reasoning`` names the fields of the message that hold it; ``"parts"`` is a part of typed content, ``"blocks"`` a block of a
    content that is an object of such. ``named_ids`` is set where an id has to carry the name of the tool, ``ids`` where calls have
    any.
    """

    parts: bool = False
    system: bool = False
    arguments: Form = "object"
    absent: Absent = "empty"
    reasoning: tuple[str, ...] = REASONING_FIELDS
    result: bool = False
    bare_tools: bool = False
    flat_calls: bool = False
    named_ids: bool = False
    ids: bool = True
    tools: bool = True


def build_messages(question: Question, shape: Shape) -> list[dict[str, Any]]:
    """Return the conversation that a question is, up to the turn and what follows it."""
    messages = build_history(question, shape)
    messages.append(build_turn(question, shape))
    if question.follow == "results" or (question.calls and shape.result):
        messages += [build_result(call, wrap_text(RESULT, shape)) for call in question.calls]
    elif question.follow:
        later = {"role": "user", "content": wrap_text(LATER, shape)}
        messages += [later, build_turn(question, shape), later] if question.follow == "again" else [later]
    return messages


def build_history(question: Question, shape: Shape) -> list[dict[str, Any]]:
    """Return what stands before the turn."""
    messages: list[dict[str, Any]] = []
    if shape.system:
        messages.append({"role": "system", "content": wrap_text(SYSTEM, shape)})
    for number in range(question.earlier):
        messages.append({"role": "user", "content": wrap_text(make_word(f"asked{number}"), shape)})
        messages.append(build_turn(Question(content=make_word(f"said{number}")), shape))
    messages.append({"role": "user", "content": wrap_text(USER, shape)})
    if question.resumed:
        earlier = Call.of(make_word("old"), "izqoldx00", {make_word("oldk"): make_word("oldv")})
        messages += [build_turn(Question(calls=(earlier,)), shape), build_result(earlier, wrap_text(RESULT, shape))]
    return messages


def build_turn(question: Question, shape: Shape) -> dict[str, Any]:
    """Return the assistant's message."""
    message: dict[str, Any] = {"role": "assistant"}
    if question.content is not None:
        message["content"] = wrap_text(question.content, shape)
    elif shape.absent != "missing":
        message["content"] = None if shape.absent == "null" else ""
    if question.reasoning is not None:
        _add_reasoning(message, question, shape)
    if question.calls:
        message["tool_calls"] = [_build_call(call, shape) for call in question.calls]
    return message


def _add_reasoning(message: dict[str, Any], question: Question, shape: Shape) -> None:
    said = [] if question.content is None else [question.content]
    for name in shape.reasoning:
        if name == "parts":
            parts = [{"type": "thinking", "thinking": question.reasoning, "unread": UNREAD}]
            message["content"] = [*parts, *({"type": "text", "text": text} for text in said)]
        elif name == "blocks":
            blocks = [{"type": "thoughts", "text": question.reasoning, "unread": UNREAD}]
            message["content"] = {"blocks": [*blocks, *({"type": "response", "text": text} for text in said)]}
        else:
            message[name] = question.reasoning


def _build_call(call: Call, shape: Shape) -> dict[str, Any]:
    arguments: Any = call.arguments if shape.arguments == "text" else call.object
    function = {"name": call.name, "arguments": arguments}
    told = {"id": call.id} if call.id else {}
    return {**told, "type": "function", **(function if shape.flat_calls else {"function": function})}


def build_result(call: Call, content: Any) -> dict[str, Any]:
    """Return a tool's message."""
    return {"role": "tool", "content": content, "name": call.name, **({"tool_call_id": call.id} if call.id else {})}


def wrap_text(text: str, shape: Shape) -> Any:
    """Return a text as the content of a message, in the form that a template takes."""
    return [{"type": "text", "text": text}] if shape.parts else text


def build_tools(calls: Sequence[Call], shape: Shape, told: Told = "type", returns: str = RETURNS) -> list[dict[str, Any]]:
    """Return tools that declare the given calls, each parameter with the type of its value unless something else is to be
    ``told``, and that they return something; there is at least one tool.

    The declaration is as full as a careful user's: some templates insist on it.
    """
    declared: dict[str, dict[str, Any]] = {}
    for call in calls or (Call.of(make_word("tool"), "", {make_word("toolk"): ""}),):
        declared.setdefault(call.name, {}).update(call.object)
    return [_build_tool(name, arguments, shape, told, returns) for name, arguments in declared.items()]


def _build_tool(name: str, arguments: Mapping[str, Any], shape: Shape, told: Told, returns: str) -> dict[str, Any]:
    types = {key: find_type(value) for key, value in arguments.items()} if told != "nothing" else {}
    if told == "most" and types:
        types.popitem()
    declared = {key: [kind.replace("null", "string"), "null"] if told == "types" else kind for key, kind in types.items()}
    properties = {key: {"type": kind, "description": "A parameter."} for key, kind in declared.items()}
    function = {
        "name": name,
        "description": "A tool.",
        "parameters": {"type": "object", "description": "Them.", "properties": properties, "required": list(types)},
        "return": {"type": "string", "description": returns},
    }
    return function if shape.bare_tools else {"type": "function", "function": function}
