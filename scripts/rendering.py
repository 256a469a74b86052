"""A chat template as a function from messages to text, and the shapes that messages can be given to it in.

Rendered as transformers 5.x does (utils/chat_template_utils.py): immutable sandbox, `trim_blocks`, `lstrip_blocks`, loop
controls, the `generation` block, its own `tojson`. Independent of the package that is measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.meta
from conversations import (
    EARLIER_ANSWER,
    EARLIER_QUESTION,
    NEXT_RESULT,
    QUESTION,
    RESULT,
    SYSTEM,
    TOOLS,
    Call,
    Fields,
    JsonObject,
    describe_all,
)
from jinja2 import nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

BOS, EOS = "<s>", "</s>"
_NOW = datetime(2026, 1, 2, 3, 4, 5)
_GIVEN = {
    "messages",
    "tools",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "documents",
    "strftime_now",
    "raise_exception",
}


class _Generation(jinja2.ext.Extension):
    tags = {"generation"}  # noqa: RUF012 - the type jinja2 declares

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_pass_through"), [], [], body).set_lineno(line)

    def _pass_through(self, caller: Callable[[], str]) -> str:
        return caller()


def _raise(message: str) -> NoReturn:
    raise jinja2.exceptions.TemplateError(message)


def _to_json(value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def make_environment() -> jinja2.Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _NOW.strftime
    return environment


_ENVIRONMENT = make_environment()


class Template:
    """A compiled template; `error` keeps what the last refused conversation raised."""

    def __init__(self, source: str) -> None:
        tree = _ENVIRONMENT.parse(source)
        self.switches = _find_switches(tree)
        self.words = _find_words(tree)
        self._compiled = _ENVIRONMENT.from_string(tree)
        self.error = ""

    def render(
        self, messages: list[JsonObject], tools: list[JsonObject] | None, generate: bool, switches: JsonObject
    ) -> str | None:
        """The rendered text, or None where the template refuses the conversation."""
        given = {"bos_token": BOS, "eos_token": EOS, "documents": None, **switches}
        try:
            return self._compiled.render(messages=messages, tools=tools, add_generation_prompt=generate, **given)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return None


@lru_cache(maxsize=4)
def compile_template(source: str) -> Template:
    """The template of a source; the last few are kept, since compiling a long one takes longer than most renders."""
    return Template(source)


def _find_switches(tree: nodes.Template) -> dict[str, list[Any]]:
    """The variables that a template reads but is not given, with the values worth trying for each."""
    names = jinja2.meta.find_undeclared_variables(tree) - _GIVEN
    values: dict[str, list[Any]] = {name: [True, False] for name in sorted(names)}
    for compare in tree.find_all(nodes.Compare):
        sides = [compare.expr, *(operand.expr for operand in compare.ops)]
        for name in (side.name for side in sides if isinstance(side, nodes.Name)):
            for constant in (c for side in sides for c in side.find_all(nodes.Const)):
                _add_constant(values, name, constant.value)
            for constant in (side for side in sides if isinstance(side, nodes.Const)):
                _add_constant(values, name, constant.value)
    return values


def _find_words(tree: nodes.Template) -> list[str]:
    """The words that a template looks for in other texts, which may be switches in messages."""
    sought = (compare.expr for compare in tree.find_all(nodes.Compare) if compare.ops[0].op == "in")
    words = {word.value for word in sought if isinstance(word, nodes.Const) and isinstance(word.value, str)}
    return sorted(word for word in words if word.strip())[:20]


def _add_constant(values: dict[str, list[Any]], name: str, value: Any) -> None:
    if name in values and isinstance(value, str) and value not in values[name] and len(values[name]) < 8:
        values[name].append(value)


@dataclass(frozen=True)
class Shape:
    """How the fields of a message are put into it, and the tools beside it.

    `empty` says what stands for no content: "", None or nothing. `tools` is "given", "described" (more is said about
    each) or "kept back" (the template is not told). `flat` calls have name and arguments at their top level, too.
    """

    system: bool = False
    tools: str = "given"
    parts: bool = False
    reasoning: str = "reasoning_content"
    text_arguments: bool = False
    empty: str = "text"
    ids: str = "plain"
    flat: bool = False
    follow: str = "nothing"


IDS: dict[str, Callable[[int, Call], str]] = {
    "plain": lambda index, call: f"okapi000{index}",
    "functions.name:0": lambda index, call: f"functions.{call.name}:{index}",
}
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "thought", "parts")
EMPTIES = ("text", "null", "absent")
FOLLOWS = ("nothing", "tool", "tool, user")
# Stands in each part of typed content: where it shows up, the template does not read parts but dumps them.
DUMPED = "PARTNEEDLE"


def make_tools(name: str, shape: Shape) -> list[JsonObject] | None:
    """The tools that the template is told."""
    if shape.tools == "kept back":
        return None
    tools: list[JsonObject] = describe_all(TOOLS[name]) if shape.tools == "described" else TOOLS[name]
    return tools


def make_text(text: str, shape: Shape) -> str | list[JsonObject]:
    return [{"type": "text", "text": text, "okapi": DUMPED}] if shape.parts else text


def make_ids(fields: Fields, shape: Shape, first: int = 0) -> list[str]:
    return [IDS[shape.ids](index, call) for index, call in enumerate(fields.calls, first)]


def make_assistant(fields: Fields, shape: Shape, first: int = 0) -> JsonObject:
    """The assistant message that holds the fields; its calls are numbered from `first`."""
    message: JsonObject = {"role": "assistant"}
    if fields.content is not None:
        message["content"] = make_text(fields.content, shape)
    elif shape.empty != "absent":
        message["content"] = None if shape.empty == "null" else make_text("", shape)
    if fields.reasoning is not None:
        if shape.reasoning == "parts":
            written = [{"type": "text", "text": fields.content, "okapi": DUMPED}] if fields.content is not None else []
            message["content"] = [{"type": "thinking", "thinking": fields.reasoning, "okapi": DUMPED}, *written]
        else:
            message[shape.reasoning] = fields.reasoning
    if fields.calls:
        ids = make_ids(fields, shape, first)
        message["tool_calls"] = [_make_call(given, call, shape) for given, call in zip(ids, fields.calls, strict=True)]
    return message


def _make_call(given: str, call: Call, shape: Shape) -> JsonObject:
    arguments = json.dumps(call.arguments, ensure_ascii=False) if shape.text_arguments else call.arguments
    function = {"name": call.name, "arguments": arguments}
    made = {"id": given, "type": "function", "function": function}
    return {**made, **function} if shape.flat else made


def make_results(fields: Fields, shape: Shape, first: int = 0, text: str = RESULT) -> list[JsonObject]:
    """One tool message for each call."""
    return [
        {"role": "tool", "tool_call_id": given, "name": call.name, "content": make_text(f"{text} {index}", shape)}
        for index, (given, call) in enumerate(zip(make_ids(fields, shape, first), fields.calls, strict=True))
    ]


def make_history(history: str, shape: Shape, system: str = SYSTEM) -> list[JsonObject]:
    """What comes before the assistant message that is measured."""
    user = {"role": "user", "content": make_text(QUESTION, shape)}
    opening = [{"role": "system", "content": make_text(system, shape)}] if shape.system else []
    if history == "later":
        earlier = {"role": "user", "content": make_text(EARLIER_QUESTION, shape)}
        return [*opening, earlier, {"role": "assistant", "content": make_text(EARLIER_ANSWER, shape)}, user]
    if history == "tool":
        asked = Fields(calls=(Call("find_okapi", {"habitat": "pen nine", "limit": 1}),))
        return [*opening, user, make_assistant(asked, shape), *make_results(asked, shape)]
    return [*opening, user]


def make_following(fields: Fields, shape: Shape, first: int = 0) -> list[JsonObject]:
    if shape.follow == "nothing":
        return []
    results = make_results(fields, shape, first, NEXT_RESULT)
    return [*results, {"role": "user", "content": make_text("Thanks.", shape)}] if shape.follow == "tool, user" else results
