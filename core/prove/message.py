"""What a turn must be read as, whether what was read is that, and where a turn may end.

A server hands on what ends a turn, or cuts it off, or a part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..ask.pieces import list_tokens
from ..ask.question import Call, Question
from ..format import Counterexample, TurnGraph
from ..format.view import find_turn_end, list_inner_texts
from ..message import read_arguments

Message = dict[str, Any]


def find_expected(question: Question, text: str, named: bool = False) -> Message:
    """Return the fields of a question that its render shows; templates trim and fold white space. All calls are expected if they
    have to be ``named``."""
    shown = squash(text)
    expected: Message = {}
    for name, value in (("reasoning_content", question.reasoning), ("content", question.content)):
        expected[name] = value if value is not None and (squash(value) in shown or _holds_words(text, value)) else None
    expected["tool_calls"] = [_expect_call(call, text) for call in (question.calls if named else _list_shown(question.calls, text))]
    return expected


def _holds_words(text: str, value: str) -> bool:
    """Whether all words of a value are printed in their order: its signs may be written in another way, also amid a word."""
    if "".join(re.findall(r"\w", value)) in "".join(re.findall(r"\w", text)):
        return re.search(r"\w{2}", value) is not None
    words, at = re.findall(r"\w{2,}", value), 0
    for word in words:
        at = text.find(word, at) + 1
        if not at:
            return False
    return bool(words)


def _list_shown(calls: Sequence[Call], text: str) -> Iterator[Call]:
    """Return the calls whose names are printed, one behind the other: some templates print the first call alone.

    A name that another word begins with is not that name, unless no name stands for itself.
    """
    whole = {call.name: re.compile(rf"(?<!\w){re.escape(call.name)}(?!\w)") for call in calls}
    if not any(pattern.search(text) for pattern in whole.values()):
        whole = {name: re.compile(re.escape(name)) for name in whole}
    at = 0
    for call in calls:
        found = whole[call.name].search(text, at)
        if found:
            at = found.end()
            yield call


def _expect_call(call: Call, text: str) -> Message:
    """Return a call less those of its arguments that are null and not printed."""
    arguments = {key: value for key, value in call.object.items() if value is not None or key in text}
    return {"name": call.name, "id": call.id if call.id in text else None, "arguments": arguments}


def squash(text: str | None) -> str:
    """Return a text without white space."""
    return "".join((text or "").split())


def compare(expected: Message, message: Mapping[str, Any]) -> bool:
    """Whether a message that was read is the expected one: texts but for white space around them, arguments with their
    types; and nothing of it was read by a recovery, which is for what no template renders."""
    texts = [[(each.get(name) or "").strip() for name in ("reasoning_content", "content")] for each in (expected, message)]
    wanted, calls = expected["tool_calls"], message.get("tool_calls") or []
    alike = texts[0] == texts[1] and len(calls) == len(wanted) and not message.get("recoveries")
    return alike and all(map(_is_same_call, wanted, calls))


def _is_same_call(wanted: Message, call: Mapping[str, Any]) -> bool:
    if call["function"]["name"] != wanted["name"] or (wanted["id"] and call.get("id") != wanted["id"]):
        return False
    arguments = read_arguments(call["function"]["arguments"])
    return bool(_mark_types(arguments) == _mark_types(wanted["arguments"]))


def _mark_types(value: Any) -> Any:
    """Return a value that equals another only if their types do, too: true is not 1, but 5 and 5.0 are one number."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, dict):
        return {key: _mark_types(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mark_types(inner) for inner in value]
    return value


def make_counterexample(aspect: str, prompt: str, text: str, expected: Message, message: Mapping[str, Any]) -> Counterexample:
    """Return a text that was not read as expected, and the message that was read of it in the form of what was expected.

    An id that does not stand in the text says nothing: the parser has made it up.
    """
    got = {"recoveries": message["recoveries"]} if message.get("recoveries") else {}
    got |= {name: message.get(name) for name in ("reasoning_content", "content")}
    calls = [(call["function"], call.get("id") or "") for call in message.get("tool_calls") or []]
    got["tool_calls"] = [
        {"name": called["name"], "id": ident if ident and ident in text else None, "arguments": called["arguments"]}
        for called, ident in calls
    ]
    return Counterexample(aspect, prompt, text, *(json.dumps(each, ensure_ascii=False) for each in (expected, got)))


_SIGNED = re.compile(r"\w[^\w\s]+\Z")
"""A word with signs behind it."""
_EDGES = re.compile(r"\A\W+|\W+\Z")


def list_cuts(text: str, graph: TurnGraph, question: Question) -> tuple[str, ...]:
    """Return a turn without what ends it, and then as it may come otherwise: with that and nothing behind it, up to its
    last mark or line, and without what all turns of the format end with."""
    at, shared = _find_last_field(text, question), find_turn_end(graph)
    floor = max(at, len(text.removesuffix(shared)) if shared.strip() else 0)  # a stop may stand within a call, too
    begin, end = min(
        ((place, place + len(stop)) for stop in graph.stops if (place := text.find(stop, floor)) >= 0),
        default=(len(text), len(text)),
    )
    said = at == _find_end(text, (question.content, question.reasoning))  # what ends a call may have many marks
    last = _find_last_mark(text, at if said else begin)
    line = text[at : at + 1] == "\n" == text[last : last + 1]
    left = text[at:last].strip()
    signs = said and not line and left and not any(map(str.isalnum, left))  # a text may end with those
    cuts = [text[:begin], text[:end], *(() if signs else (text[:last],))]
    if _is_apart(shared, graph):
        cuts.append(text.removesuffix(shared))
    return tuple(dict.fromkeys(cuts))


def _is_apart(shared: str, graph: TurnGraph) -> bool:
    """Whether what all turns end with begins with a mark that does not stand inside of turns, too."""
    first = next(iter(list_tokens(shared.strip())), "")
    return first != "" and not any(first in text for text in list_inner_texts(graph))


def _find_last_mark(text: str, at: int) -> int:
    """Return where the last mark or line begins of what ends a turn behind a place; a mark may be words behind another one."""
    place, worded = len(text), False
    for token in reversed(list_tokens(text[at:])):
        start = place - len(token)
        before = text[start - 1 : start]
        marked = len(token) > 2 and not token.replace("_", "").isalnum() and before not in tuple("([{<")
        if marked or (token == "\n" and text[start:].strip()):
            return start
        if worded and not (token.isspace() or token[0].isalnum() or token in "([{<") and _SIGNED.search(text, at, place):
            return place
        worded = worded or token[0].isalnum()
        place = start
    return len(text)


def _find_last_field(text: str, question: Question) -> int:
    """Return where the last known piece of a field ends."""
    pieces = [question.content, question.reasoning, *(word for call in question.calls for word in (call.name, call.id))]
    values = [question.content, question.reasoning, *(call.object for call in question.calls)]
    return _find_end(text, [*pieces, *_list_strings(values)])


def _find_end(text: str, pieces: Iterable[str | None]) -> int:
    """Return where the last one of some pieces ends, 0 where none that is told from others stands in the text."""
    return max((text.rfind(piece) + len(piece) for piece in pieces if piece and len(piece) > 3 and piece in text), default=0)


def _list_strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _list_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _list_strings(inner)
    elif isinstance(value, str):
        yield json.dumps(value)[1:-1]
        yield from (_EDGES.sub("", each) for each in (value, value[value.rfind("\n") + 1 :]))  # signs may be written otherwise
    elif value is not None:
        yield json.dumps(value)
