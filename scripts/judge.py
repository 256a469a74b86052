"""Whether what a parser makes of a turn is what the turn means, and the several ways to feed it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from conversations import JsonObject
from turns import Turn


class Delta(Protocol):
    def to_openai(self) -> JsonObject: ...


class Parser(Protocol):
    def feed(self, text: str, /) -> Iterable[Delta]: ...

    def finish(self) -> Iterable[Delta]: ...


class Format(Protocol):
    """The part of the public API that is measured."""

    def parse(self, text: str, *, tools: list[JsonObject] | None, prompt: str | None) -> JsonObject: ...

    def parser(self, *, tools: list[JsonObject] | None, prompt: str | None) -> Parser: ...


def cut_pieces(text: str, seed: int) -> Iterator[str]:
    """The text in random pieces, mostly of the length of a token, sometimes much longer, sometimes empty."""
    choose = random.Random(f"{seed} {len(text)}")
    start = 0
    while start < len(text):
        length = choose.choice((0, 1, 1, 2, 3, 4, 5, 7, 11, 40))
        yield text[start : start + length]
        start += length


def fold(deltas: Iterable[JsonObject]) -> JsonObject:
    """The message that a client of the OpenAI API puts together from streamed deltas. Raises ValueError for a delta
    that no such client could take: a call that begins without a name or with an index out of order, or says its name twice.
    """
    message: JsonObject = {"reasoning_content": None, "content": None, "tool_calls": []}
    calls: list[JsonObject] = message["tool_calls"]
    for delta in deltas:
        if unknown := set(delta) - {"role", "reasoning_content", "content", "tool_calls"}:
            raise ValueError(f"a delta with {sorted(unknown)}")
        for key in ("reasoning_content", "content"):
            if delta.get(key) is not None:
                message[key] = (message[key] or "") + delta[key]
        for piece in delta.get("tool_calls") or []:
            _fold_call(calls, piece)
    return message


def _fold_call(calls: list[JsonObject], piece: JsonObject) -> None:
    index, function = piece["index"], piece.get("function") or {}
    if index == len(calls):
        if not function.get("name") or not piece.get("id") or piece.get("type") != "function":
            raise ValueError("a call that begins without name, id or type")
        start = {"name": function["name"], "arguments": function.get("arguments") or ""}
        calls.append({"id": piece["id"], "type": "function", "function": start})
    elif 0 <= index < len(calls):
        if function.get("name") or piece.get("id"):
            raise ValueError("a call that says its name or id twice")
        calls[index]["function"]["arguments"] += function.get("arguments") or ""
    else:
        raise ValueError(f"call {index} where {len(calls)} was due")


def stream(parser: Parser, pieces: Iterable[str]) -> JsonObject:
    """The message that a client puts together from what a parser makes of these pieces."""
    deltas = [delta for piece in pieces for delta in parser.feed(piece)]
    return fold(delta.to_openai() for delta in (*deltas, *parser.finish()))


def read_ways(fmt: Format, turn: Turn, seed: int = 0) -> Iterator[tuple[str, Callable[[], JsonObject]]]:
    """The ways to have a turn parsed: by name, a function that does it."""
    given: JsonObject = {"tools": turn.tools, "prompt": turn.prompt}
    yield "whole", lambda: fmt.parse(turn.text, **given)
    yield "by character", lambda: stream(fmt.parser(**given), turn.text)
    yield "in pieces", lambda: stream(fmt.parser(**given), cut_pieces(turn.text, seed))


Compare = Callable[[Turn, JsonObject, JsonObject | None], str | None]


def judge_turn(fmt: Format, turn: Turn, seed: int, compare: Compare) -> JsonObject:
    """A row with what is wrong with what is read of a turn, by the way it is given in, and the first message that is wrong.

    A message that means what the turn means is also compared, with what was read of the whole if that was read before.
    """
    row, whole = make_row(turn), None
    for way, read in read_ways(fmt, turn, seed):
        message: JsonObject = {}
        try:
            message = read()
            fault = find_fault(turn.expected, message) or compare(turn, message, whole)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        whole = message if whole is None else whole
        if fault:
            row["got"] = row["got"] or message
            row["faults"][way] = fault
    return row


def make_row(turn: Turn) -> JsonObject:
    """What is to be said of a turn before anything was read of it."""
    row: JsonObject = {"turn": turn.name, "switches": turn.switches, "ended": turn.ended, "unreadable": turn.unreadable}
    return row | {"prompt": turn.prompt[-200:], "text": turn.text, "expected": turn.expected, "got": None, "faults": {}}


def list_readable(report: JsonObject) -> list[JsonObject]:
    return [row for row in report["turns"] if not row["unreadable"]]


def count_misses(report: JsonObject) -> int:
    return sum(bool(row["faults"]) for row in list_readable(report))


def find_fault(expected: JsonObject, message: JsonObject, *, ids: bool = True) -> str | None:
    """What is wrong with a message, or None; without `ids`, those of calls are of no account, for some templates print none."""
    for key in ("reasoning_content", "content"):
        if (message.get(key) or "").strip() != (expected[key] or "").strip():
            return key
    calls = message.get("tool_calls") or []
    if len(calls) != len(expected["tool_calls"]):
        return "number of calls"
    for call, wanted in zip(calls, expected["tool_calls"], strict=True):
        if call["function"]["name"] != wanted["name"]:
            return "name"
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            return "arguments are no JSON"
        if not is_same(arguments, wanted["arguments"]):
            return "arguments"
        if ids and wanted.get("id") and call.get("id") != wanted["id"]:
            return "id"
    return None


def take_meaning(message: JsonObject) -> list[Any]:
    """What of a message does not depend on how its text was cut: all but the ids of calls, which may be made up."""
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    return [message.get("reasoning_content") or None, message.get("content") or None, calls]


def is_same(one: Any, two: Any) -> bool:
    """Whether two JSON values are the same, types included; 5 and 5.0 are."""
    if isinstance(one, bool) or isinstance(two, bool) or one is None or two is None:
        return one is two
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return one == two
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(is_same(value, two[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(is_same(a, b) for a, b in zip(one, two, strict=True))
    return type(one) is type(two) and bool(one == two)
