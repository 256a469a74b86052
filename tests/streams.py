"""Running parsers over texts split in different ways, for the tests."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from judge import cut_pieces

import chat_autoparser as ca
from chat_autoparser.message import fold_deltas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chat_autoparser.format import ChatFormat
    from chat_autoparser.recover import Policy, PolicyName

Call = tuple[str, str]


def pick(values: Iterable[Any], share: int) -> list[Any]:
    """Return values for a test, of which a quick run takes but every so-many-th: those of the others are marked ``more``."""
    return [pytest.param(value, marks=pytest.mark.more) if number % share else value for number, value in enumerate(values)]


def make_tool(name: str, required: Sequence[str] = (), **types: str) -> dict[str, Any]:
    """A tool with parameters of some types."""
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}}
    schema |= {"required": list(required)} if required else {}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


ROUTE_TOOL = make_tool("find_route", start="string", goal="string", legs="integer")
"""A tool with texts and a number, for outputs that are made up."""


def make_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call as a message has it."""
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


def render_turn(template: str, message: dict[str, Any], tools: Any = None, **tokens: str) -> tuple[str, str]:
    """The prompt of a template behind a question, and what it writes there for an answer."""
    render, user = ca.load_renderer(template, **tokens), {"role": "user", "content": "Go."}
    prompt = render([user], tools, True)
    return prompt, render([user, {"role": "assistant", "content": None, **message}], tools, False).removeprefix(prompt)


@lru_cache(maxsize=256)
def analyze(template: str, **special_tokens: str) -> ChatFormat:
    """The format of a template, derived once however many tests read with it."""
    return ca.analyze(template, **special_tokens)


class Reading(NamedTuple):
    """What a parser made of a text: the message's parts, each call as name and arguments, which were cut off, and what was relaxed."""

    reasoning: str | None
    content: str | None
    calls: list[Call]
    incomplete: set[int]
    recoveries: list[str]
    ids: list[str]


def read(
    form: ChatFormat,
    pieces: Iterable[str],
    tools: list[dict[str, Any]] | None = None,
    prompt: str | None = None,
    policy: Policy | PolicyName = "lenient",
) -> Reading:
    """Feed pieces to a new parser, and fold what it emits."""
    parser = form.parser(tools, prompt, policy=policy)
    deltas = [delta for piece in pieces for delta in parser.feed(piece)]
    message = fold_deltas([*deltas, *parser.finish()])
    calls = message.get("tool_calls", [])
    assert "fault" not in (name for name, _ in parser.recoveries), "the parser failed, and handed on the rest as text"
    return Reading(
        message["reasoning_content"],
        message["content"],
        [(call["function"]["name"], call["function"]["arguments"]) for call in calls],
        set(parser.incomplete_calls),
        [name for name, _ in parser.recoveries],
        [call["id"] for call in calls],
    )


def read_all_ways(
    form: ChatFormat,
    text: str,
    tools: list[dict[str, Any]] | None = None,
    prompt: str | None = None,
    policy: Policy | PolicyName = "lenient",
) -> Reading:
    """Read a text whole, one character at a time and in random pieces; all must agree but for generated ids."""
    whole = read(form, [text], tools, prompt, policy)
    for pieces in (list(text), *(list(cut_pieces(text, seed)) for seed in (0, 2, 5))):
        other = read(form, pieces, tools, prompt, policy)
        assert other[:5] == whole[:5], pieces
    return whole


def get_calls(found: Reading) -> list[tuple[str, Any]]:
    """Return each call of a reading as its name and its arguments."""
    return [(name, json.loads(arguments)) for name, arguments in found.calls]
