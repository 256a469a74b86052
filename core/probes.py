"""Questions to a template: conversations with unmistakable needles in their fields, rendered.

An :class:`Oracle` wraps a renderer. A :class:`Question` is an assistant's turn that has some fields, in
some surroundings; the answer is the rendered text behind the user's message. Templates are temperamental about the
*shape* of what they are given (arguments as an object or a string, content null or empty, a tool result after the
call, content as parts). The shape that worked is found by trying and remembered, so that every later question is asked
in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from .errors import BudgetError, TemplateError
from .renderer import Renderer

USER = "uqvexo"
LATER = "uqzerbo"
REASONING = "rqvolix"
CONTENT = "cqmirez"
UNREAD = "xqlasum"
"""Stands in a field that no template reads: where it is printed, a whole object was dumped."""
RESULT = "tqdorun"
SYSTEM = "sqlamov"
NAMES = ("fqbirel_lookup", "gqtamos_update")
IDS = ("iqd4k7w2x", "jqd5m8z3y", "lqd6n9v4b")
KEY = "kqavem"

REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The names under which a message's reasoning is known to vLLM, SGLang and transformers (their message schemas)."""

GENERAL_SWITCHES = ("enable_thinking", "thinking", "reasoning_effort")
"""Template arguments that vLLM and SGLang themselves set from a request; tried where a renderer tells none."""


@dataclass(frozen=True)
class Call:
    """A tool call to put into a probe; ``arguments`` as JSON text, so that a call can be hashed."""

    name: str
    arguments: str
    id: str

    @classmethod
    def of(cls, number: int, arguments: Mapping[str, Any], name: str = "") -> Call:
        """Make the call with the given number; name and id are needles unless a name is given."""
        return cls(name or NAMES[number % 2], json.dumps(arguments, ensure_ascii=False), IDS[number % len(IDS)])


@dataclass(frozen=True)
class Question:
    """An assistant's turn to be rendered, and what surrounds it.

    ``after`` is what follows it: nothing, the tool results of its calls, or a later message of the user's. With
    ``prompt`` the generation prompt is rendered, and the turn only where something follows it.
    """

    content: str | None = CONTENT
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    after: Literal["", "tool", "user"] = ""
    prompt: bool = False
    tools: bool = False
    switches: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Shape:
    """In which form a template takes its input."""

    parts: bool = False
    system: bool = False
    arguments: Literal["object", "string"] = "object"
    absent_content: Literal["empty", "null", "missing"] = "empty"
    reasoning: tuple[str, ...] = REASONING_FIELDS
    result: bool = False
    bare_tools: bool = False
    flat_calls: bool = False
    tools: Literal["as asked", "always", "never"] = "as asked"
    switches: tuple[tuple[str, Any], ...] = ()


class Oracle:
    """Asks a renderer; remembers its answers and the shape in which it likes to be asked."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.shape = Shape()
        self.errors: list[str] = []
        self.trailing = ""
        """What a template prints behind every conversation, because it always prints a generation prompt."""
        self._answers: dict[tuple[Shape, Question], str | None] = {}

    def ask(self, question: Question, shape: Shape | None = None) -> str | None:
        """Return what is rendered behind the user's message, or None where the template refuses or drops the user.

        A turn without reasoning that the switches of the shape refuse is asked without them: they are there to show
        reasoning. Raises :class:`BudgetError` when the bounds of the analysis are exceeded.
        """
        shape = shape or self.shape
        key = (shape, question)
        if key not in self._answers:
            self._answers[key] = self._behind_user(self.render(question, shape))
        answer = self._answers[key]
        if answer is None and shape.switches and question.reasoning is None:
            return self.ask(question, replace(shape, switches=()))
        return answer.removesuffix(self.trailing) if answer and not question.prompt else answer

    def render(self, question: Question, shape: Shape | None = None) -> str | None:
        """Return the whole render of a turn and its surroundings, or None where the template refuses."""
        shape = shape or self.shape
        messages = build_messages(question, shape)
        wanted = shape.tools == "always" or (shape.tools == "as asked" and bool(question.tools or question.calls))
        tools = build_tools(question.calls, shape) if wanted else None
        try:
            return self.renderer(messages, tools, question.prompt, **{**dict(shape.switches), **dict(question.switches)})
        except BudgetError:
            raise
        except TemplateError as error:
            if len(self.errors) < 20 and str(error) not in self.errors:
                self.errors.append(str(error))
            return None

    @staticmethod
    def _behind_user(text: str | None) -> str | None:
        if text is None or USER not in text:
            return None
        return text[text.rindex(USER) + len(USER) :]

    def try_shapes(self, question: Question, shapes: Iterable[Shape], needles: Iterable[str]) -> Shape | None:
        """Return the first shape in which a turn is rendered with all needles in it."""
        wanted = list(needles)
        for shape in shapes:
            text = self.ask(question, shape)
            if text is not None and all(needle in text for needle in wanted):
                return shape
        return None

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """The names of the arguments beyond messages and tools that the template may read."""
        return tuple(sorted(self.renderer.switches)) if self.renderer.source else GENERAL_SWITCHES


def build_messages(question: Question, shape: Shape) -> list[dict[str, Any]]:
    """Build the messages of a conversation that ends with the given turn and what follows it."""
    messages: list[dict[str, Any]] = []
    if shape.system:
        messages.append({"role": "system", "content": _wrap(SYSTEM, shape)})
    messages.append({"role": "user", "content": _wrap(USER, shape)})
    if question.prompt and not question.after:
        return messages
    messages.append(build_assistant(question, shape))
    if question.after == "tool" or (shape.result and question.calls and not question.after):
        messages += [
            {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": f"{RESULT}{number}"}
            for number, call in enumerate(question.calls)
        ]
    elif question.after == "user":
        messages.append({"role": "user", "content": _wrap(LATER, shape)})
    return messages


def build_assistant(question: Question, shape: Shape) -> dict[str, Any]:
    """Build the assistant's message of a turn in the given shape."""
    message: dict[str, Any] = {"role": "assistant"}
    if question.content is not None:
        message["content"] = _wrap(question.content, shape)
    elif shape.absent_content != "missing":
        message["content"] = "" if shape.absent_content == "empty" else None
    if question.reasoning is not None:
        _add_reasoning(message, question, shape)
    if question.calls:
        message["tool_calls"] = [_build_call(call, shape) for call in question.calls]
    return message


def _add_reasoning(message: dict[str, Any], question: Question, shape: Shape) -> None:
    for name in shape.reasoning:
        if name == "parts":
            parts = [{"type": "thinking", "thinking": question.reasoning, "unread": UNREAD}]
            if question.content is not None:
                parts.append({"type": "text", "text": question.content})
            message["content"] = parts
        else:
            message[name] = question.reasoning


def _wrap(text: str, shape: Shape) -> Any:
    return [{"type": "text", "text": text}] if shape.parts else text


def _build_call(call: Call, shape: Shape) -> dict[str, Any]:
    arguments = call.arguments if shape.arguments == "string" else read_arguments(call.arguments)
    if arguments is None:
        raise ValueError("the arguments are no JSON object")
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", **(function if shape.flat_calls else {"function": function})}


def read_arguments(text: str) -> dict[str, Any] | None:
    """Return the object that arguments are; None where they are not whole, no object, or nested too deep to be read."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def build_tools(calls: Iterable[Call], shape: Shape) -> list[dict[str, Any]]:
    """Build the tool dicts that declare the given calls, every parameter with the type of its value.

    There is at least one tool, and its declaration is as full as a careful user's: some templates insist on it.
    """
    declared: dict[str, dict[str, Any]] = {}
    for call in calls or (Call.of(0, {KEY: ""}),):
        declared.setdefault(call.name, {}).update(read_arguments(call.arguments) or {})
    return [_build_tool(name, arguments, shape) for name, arguments in declared.items()]


def _build_tool(name: str, arguments: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    function = {
        "name": name,
        "description": "A tool.",
        "parameters": {
            "type": "object",
            "description": "The parameters.",
            "properties": {
                key: {"type": find_type(value), "description": "A parameter."} for key, value in arguments.items()
            },
            "required": list(arguments),
            "additionalProperties": False,
        },
        "return": {"type": "string", "description": "A text."},
    }
    return function if shape.bare_tools else {"type": "function", "function": function}


def find_type(value: Any) -> str:
    """Return the JSON Schema type of a JSON value."""
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "null"


def with_switches(question: Question, **switches: Any) -> Question:
    """Return the turn rendered with the given switches."""
    return replace(question, switches=tuple(sorted(switches.items())))
