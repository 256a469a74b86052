"""Outputs with one slip, in formats drawn anew: a text of the format is mistyped, dropped, doubled or laid out otherwise, or ids
are left out.

    python scripts/slips.py --seed NAME --count 30          # what becomes of the calls, by the kind of the slip
    python scripts/slips.py --seed NAME --count 30 --show   # with examples of what came as another call
    python scripts/slips.py --seed NAME --count 30 --values # of numbers and words that more is written behind
    python scripts/slips.py --seed NAME --count 30 --brackets # of lists and objects within arguments, one bracket wrong

A message is written with the format's graph, in which one text between two fields is another one, or from which the ids are
taken; or one sign or mark of what was written, outside of its fields, is dropped or doubled. What is read, as servers read, is
the same message (*right*), or another one for which the format writes just this (*meant*: a blank more is a blank of the value),
or text that holds no call (*text*), or has the calls or some of them and other text (*part*), or has arguments that are no JSON,
as they were written (*bytes*), or a call that nobody wrote (*other*). Of a number or a word of JSON that more is written behind
(``5 nights``, ``true (late)``) right is the value, or all that was written, as a text. A bracket of JSON that holds lists and
objects is dropped, doubled, or turned into another one, each of them in turn. Formats are drawn as in
``scripts/generality.py``; those that are not proven are passed over.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import Pool
from typing import Any, NamedTuple

from conversations import JsonObject, make_tool
from invent import draw
from invent.turns import Speaker
from rendering import BOS, EOS

import chat_autoparser as ca
from chat_autoparser.constrain import write_turn
from chat_autoparser.format import Edge
from chat_autoparser.format.cut import find_common_start, take_letters
from chat_autoparser.plan.constants import cut_first, cut_last

_SIGNS = {":": "=", "=": ":", ";": ",", ",": ";", "->": "=>", "|": ":"}
_FOUND = ("right", "meant", "text", "part", "bytes", "other")
_EDGES = 14  # texts of a format that are tried in a message
_PLACES = 6  # places of a message at which a sign is dropped, and as many at which one is doubled
_SIGN = re.compile(r"<[^<>\s]{1,60}>|[^\w\s]")
_MORE = ("{} nights", "{}n", "{}%", "2-{}", "~{}", "{} + 1", "{} (or so)", "{} # or so", "{} /* or so */", '"{}"', "'{}'")
_BRACKET = re.compile(r"[\[\]{}]")
_OTHERS = {"[": "{", "{": "[", "]": "}", "}": "]"}
_WORD = re.compile(r"\w+")

Message = tuple[str, str, list[tuple[str, JsonObject]]]


def _declare(**types: str) -> JsonObject:
    return {key: {"type": kind} for key, kind in types.items()}


TOOLS = [
    make_tool(
        "book_room",
        "Book a room.",
        _declare(city="string", nights="integer", note="string", tags="array", late="boolean"),
        ["city"],
    ),
    make_tool("find_train", "Find a train.", _declare(start="string", goal="string", day="integer"), ["start", "goal"]),
]

MESSAGES: list[Message] = [
    ("The user wants a room.", "", [("book_room", {"city": "Oslo", "nights": 3, "late": True})]),
    ("", "I look that up.", [("find_train", {"start": "Bergen", "goal": "Oslo S", "day": 4})]),
    (
        "Two things to do.",
        "Both at once.",
        [
            ("book_room", {"city": "Bodø", "note": 'near the "old" port, quiet', "tags": ["sea", "quiet"]}),
            ("find_train", {"start": "Oslo", "goal": "Bodø"}),
        ],
    ),
]


NESTED = [
    make_tool(
        "plan_trip",
        "Plan a trip.",
        _declare(city="string", late="boolean")
        | {
            "guest": {"type": "object", "properties": _declare(name="string", age="integer")},
            "tags": {"type": "array", "items": {"type": "string"}},
            "rooms": {"type": "array", "items": {"type": "object", "properties": _declare(kind="string", beds="integer")}},
        },
    )
]
TRIP: JsonObject = {
    "city": "Oslo",
    "guest": {"name": "Ann", "age": 41},
    "tags": ["sea", "quiet"],
    "rooms": [{"kind": "single", "beds": 1}, {"kind": "double", "beds": 2}],
    "late": True,
}


class Row(NamedTuple):
    kind: str
    found: str
    seed: str
    text: str
    read: JsonObject


def list_slips(text: str, draws: random.Random) -> Iterator[tuple[str, str]]:
    """List what a text between two fields may be mistyped as, with the kinds of these slips."""
    bare = text.strip()
    lead, trail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if words := re.findall(r"[A-Za-z]{3,}", text):
        word = draws.choice(words)
        at = draws.randrange(1, len(word))
        yield "case", text.replace(word, word.lower() if word.isupper() else word.upper())
        yield "letter dropped", text.replace(word, word[:at] + word[at + 1 :], 1)
        yield "letter doubled", text.replace(word, word[:at] + word[at] + word[at:], 1)
    if bare:
        yield "dropped", ""
        yield "doubled", text + text
        yield "last sign dropped", lead + bare[:-1] + trail
        yield "first sign dropped", lead + bare[1:] + trail
        yield "blank before", text if lead else f" {text}"
        yield "blank behind", text if trail else f"{text} "
        yield "line break before", text if lead.startswith("\n") else f"\n{text}"
        yield "other sign", lead + _SIGNS.get(bare, bare) + trail
    yield "line breaks dropped", text.replace("\n", "")
    yield "blanks dropped", text.replace(" ", "")
    yield "other quotes", text.replace('"', "'")


def list_single(text: str, fields: Iterable[str], draws: random.Random) -> Iterator[tuple[str, str]]:
    """List a text in which one sign or mark that stands in no field is dropped or doubled."""
    bare = text
    for field in sorted(fields, key=len, reverse=True):
        bare = bare.replace(field, "x" * len(field))
    places = list(_SIGN.finditer(bare))
    for kind, times in (("one dropped", 0), ("one doubled", 2)):
        for found in draws.sample(places, min(_PLACES, len(places))):
            yield kind, text[: found.start()] + times * found[0] + text[found.end() :]


def list_without_ids(text: str, ids: list[str], edges: list[str]) -> list[tuple[str, str]]:
    """List a text with no ids in it: with what stands around them, or without the mark before them and their own closing one."""
    before = max((edge for edge in edges if edge and all(edge + each in text for each in ids)), key=len, default="")
    mark = cut_last(before)
    bare, empty = text, text
    for each in ids:
        head, _, tail = bare.partition(mark + each)
        end = cut_first(tail[:64])
        closes = len(end) > 1 and tail.startswith(end) and take_letters(mark) in take_letters(end)
        bare, empty = head + (tail[len(end) :] if closes else tail), empty.replace(each, "")
    return [("id emptied", empty)] + [("id dropped", bare)] * (len(mark) > 1 and take_letters(mark) != "")


def find_result(message: Message, read: JsonObject) -> str:
    """Tell what came of a message."""
    calls: list[tuple[str, Any]] = []
    for call in read.get("tool_calls", []):
        try:
            calls.append((call["function"]["name"], json.loads(call["function"]["arguments"])))
        except ValueError:
            calls.append((call["function"]["name"], None))
    texts = tuple((read.get(field) or "").strip() for field in ("reasoning_content", "content"))
    if (*texts, calls) == message:
        return "right"
    if any(arguments is None for _, arguments in calls):
        return "bytes"
    return "text" if not calls else "part" if all(call in message[2] for call in calls) else "other"


class Drawn(NamedTuple):
    """A format that was drawn, a message that is read from what it writes, with its calls as a server has them, and that text."""

    form: ca.ChatFormat
    prompt: str
    message: Message
    given: JsonObject
    whole: str


def list_messages(seed: str, tools: list[JsonObject] = TOOLS, messages: Iterable[Message] = MESSAGES) -> Iterator[Drawn]:
    """Draw a format, and write the messages that it has."""
    speaker = Speaker(draw(random.Random(seed)))
    try:
        form = ca.analyze(speaker.source, bos_token=BOS, eos_token=EOS)
    except ca.AutoparserError:
        return
    prompt = ca.load_renderer(speaker.source)([{"role": "user", "content": "Go."}], tools, True)
    for message in messages if form.verdict.proven else ():
        given = _give(message)
        whole = _write(form, given, {})
        if whole and find_result(message, form.parse(whole, tools=tools, prompt=prompt)) == "right":
            yield Drawn(form, prompt, message, given, whole)


def measure(seed: str) -> list[Row]:
    """Draw a format, and read messages with one slip each."""
    draws, rows = random.Random(seed), list[Row]()
    for form, prompt, message, given, whole in list_messages(seed):
        edges, write = form.graph.turn.edges, partial(_write, form, given)
        others = list_without_ids(whole, [str(call["id"]) for call in given["tool_calls"]], [edge.text for edge in edges])
        for number in draws.sample(range(len(edges)), min(_EDGES, len(edges))):
            slips = list_slips(edges[number].text, draws) if len(edges[number].parts) == 1 else ()
            others += [(kind, write({number: replace(edges[number], parts=(text,))})) for kind, text in slips]
        fields = [text for text in (*message[:2], *_list_fields(message[2])) if text]
        others += list_single(whole, fields, draws)
        for kind, written in others:
            if written and written != whole:
                read = form.parse(written, tools=TOOLS, prompt=prompt, policy="repair")
                found = find_result(message, read)
                found = "meant" if found in ("part", "other") and _write(form, _open(read), {}) == written else found
                rows.append(Row(kind, found, seed, written, read))
    return rows


def measure_values(seed: str) -> list[Row]:
    """Draw a format, and read messages in which more is written behind a number or a word of JSON, or before it."""
    rows = list[Row]()
    for form, prompt, message, _, whole in list_messages(seed):
        for number, (name, arguments) in enumerate(message[2]):
            for key, value in arguments.items():
                at, end = _find_written(form, message, whole, number, key) if isinstance(value, bool | int) else (0, 0)
                for more in _MORE if end > at else ():
                    text = more.format(whole[at:end])
                    written = whole[:at] + text + whole[end:]
                    read = form.parse(written, tools=TOOLS, prompt=prompt, policy="repair")
                    calls = [[*message[2]], [*message[2]]]
                    calls[1][number] = (name, arguments | {key: text})
                    found = [find_result((*message[:2], each), read) for each in calls]
                    rows.append(Row(more.format("5"), min(found, key=_FOUND.index), seed, written, read))
    return rows


def measure_brackets(seed: str) -> list[Row]:
    """Draw a format, and read a message in which one bracket of JSON is missing, stands twice, or is another one."""
    rows = list[Row]()
    for form, prompt, message, _, whole in list_messages(seed, NESTED, [("", "", [("plan_trip", TRIP)])]):
        for place in _list_brackets(whole):
            sign = whole[place]
            for kind, text in ("dropped", ""), ("doubled", 2 * sign), ("another", _OTHERS[sign]):
                written = whole[:place] + text + whole[place + 1 :]
                read = form.parse(written, tools=NESTED, prompt=prompt, policy="repair")
                rows.append(Row(f"bracket {kind}", find_result(message, read), seed, written, read))
    return rows


def _list_brackets(whole: str) -> Iterator[int]:
    """List the places of brackets in the JSON of the arguments, or of any of them."""
    at = 0
    while found := _BRACKET.search(whole, at):
        at = found.end()
        with suppress(ValueError):
            value, end = json.JSONDecoder().raw_decode(whole, found.start())
            if value == TRIP or value in TRIP.values():
                yield from (bracket.start() for bracket in _BRACKET.finditer(whole, found.start(), end))
                at = end


def _find_written(form: ca.ChatFormat, message: Message, whole: str, number: int, key: str) -> tuple[int, int]:
    """Find what is written for a number or a word of a call: what is another text where the value is another one."""
    calls = [*message[2]]
    name, arguments = calls[number]
    value = arguments[key]
    calls[number] = (name, arguments | {key: not value if isinstance(value, bool) else value + 1})
    other = _write(form, _give((*message[:2], calls)), {})
    at = find_common_start(whole, other)
    word = _WORD.match(whole, at)
    return (at, word.end()) if other and word else (0, 0)


def _give(message: Message) -> JsonObject:
    thought, content, calls = message
    given = [{"id": f"call_{n}abcdef", "function": {"name": name, "arguments": each}} for n, (name, each) in enumerate(calls)]
    return {"role": "assistant", "reasoning_content": thought or None, "content": content or None, "tool_calls": given}


def _list_fields(calls: list[tuple[str, JsonObject]]) -> Iterator[str]:
    """List the texts in some calls, as they are and as JSON writes them."""
    for name, arguments in calls:
        yield name
        for key, value in arguments.items():
            yield key
            texts = [value] if isinstance(value, str) else value if isinstance(value, list) else [json.dumps(value)]
            yield from (written for text in texts for written in (text, json.dumps(text)[1:-1]) if isinstance(text, str))


def _open(read: JsonObject) -> JsonObject:
    """Return a message whose calls have their arguments as objects."""
    calls = [
        call | {"function": call["function"] | {"arguments": json.loads(call["function"]["arguments"])}}
        for call in read.get("tool_calls", [])
    ]
    return read | {"tool_calls": calls}


def _write(form: ca.ChatFormat, message: JsonObject, other: dict[int, Edge]) -> str:
    """Write a message with other texts between fields; empty where the format has no such turn."""
    edges = tuple(other.get(number, edge) for number, edge in enumerate(form.graph.turn.edges))
    try:
        return write_turn(replace(form.graph, turn=replace(form.graph.turn, edges=edges)), message)
    except ca.AutoparserError:
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Read outputs with one slip, in formats drawn anew.")
    parser.add_argument("--seed", default="slips")
    parser.add_argument("--count", type=int, default=30, help="how many formats are drawn")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print outputs of which another call came")
    parser.add_argument("--values", action="store_true", help="write more behind numbers and words, instead of slips")
    parser.add_argument("--brackets", action="store_true", help="get one bracket of JSON wrong, instead")
    options = parser.parse_args()
    measured = measure_values if options.values else measure_brackets if options.brackets else measure
    with Pool(options.jobs) as pool:
        seeds = [f"{options.seed}:{number}" for number in range(options.count)]
        rows = [row for found in pool.imap_unordered(measured, seeds) for row in found]
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        kinds[row.kind][row.found] += 1
        kinds["all"][row.found] += 1
    for kind, counts in sorted(kinds.items(), key=lambda each: -each[1].total()):
        shares = "  ".join(f"{name} {counts[name] / counts.total():6.1%}" for name in _FOUND)
        print(f"{kind:20} {counts.total():6}  {shares}")
    for row in (row for row in rows if row.found == "other" and options.show):
        print(f"\n{row.kind} ({row.seed})\n{row.text}\n{json.dumps(row.read, ensure_ascii=False)}")


if __name__ == "__main__":
    main()
