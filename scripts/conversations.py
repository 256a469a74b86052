"""What is said in the measured turns: the fields of assistant messages, and the tools that they may call.

Nothing here knows how any model writes. The words are chosen so that no template is likely to hold them itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

QUESTION = "How many stripes does the okapi from pen twelve have?"
RESULT = "OKAPIRESULT twelve"
NEXT_RESULT = "OKAPIFOLLOWING twelve"
EARLIER_QUESTION = "Do okapis hide from their keepers?"
EARLIER_ANSWER = "Okapis hide well."
SYSTEM = "You count stripes."


@dataclass(frozen=True)
class Call:
    """One tool call, as the client sees it."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True)
class Fields:
    """The fields of one assistant message; None is absence."""

    reasoning: str | None = None
    content: str | None = None
    calls: tuple[Call, ...] = ()

    @property
    def signature(self) -> tuple[bool, bool, int]:
        """Which fields there are: messages with the same ones can be expected to be laid out alike."""
        return self.reasoning is not None, self.content is not None, len(self.calls)


@dataclass(frozen=True)
class Conversation:
    """An assistant message and what it answers.

    `history` is "user" (a question), "tool" (a question, a call and its result) or "later" (a second question).
    `tools` names a set of `TOOLS`. `told` is whether the reader gets to know the tools.
    """

    name: str
    fields: Fields
    history: str = "user"
    tools: str = "plain"
    told: bool = True


def make_tool(name: str, description: str, properties: JsonObject, required: Sequence[str] = (), **more: Any) -> JsonObject:
    """A tool; `more` is for the schema of its parameters."""
    parameters = {"type": "object", "properties": properties, "required": list(required), **more}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _of(kind: str | list[str], description: str, **more: Any) -> JsonObject:
    return {"type": kind, "description": description, **more}


_FRAME = {"hue": _of("string", "Its hue."), "depth": _of("integer", "Its depth.")}
_FIND = make_tool(
    "find_okapi",
    "Find an okapi.",
    {"habitat": _of("string", "Where to look."), "limit": _of("integer", "How many to find.")},
    ["habitat"],
)
_NOTE = make_tool(
    "send_postcard",
    "Send a postcard.",
    {
        "recipient": _of("string", "Who gets it."),
        "greeting": _of("string", "What it says."),
        "stamps": _of("array", "Stamps to put on.", items={"type": "string"}),
        "frame": _of("object", "How it is framed.", properties=_FRAME),
    },
    ["recipient"],
)
_MEASURE = make_tool(
    "gauge_pen",
    "Gauge a pen.",
    {
        "ratio": _of("number", "Width by height."),
        "posts": _of("integer", "How many posts."),
        "fenced": _of("boolean", "Whether it is fenced."),
        "sides": _of("array", "Length of each side.", items={"type": "number"}),
        "frame": _of("object", "How it is framed.", properties=_FRAME),
    },
    ["ratio"],
)
_PING = make_tool("wake_keeper", "Wake the keeper.", {})
_ADJUST = make_tool(
    "adjust_gate",
    "Adjust a gate.",
    {
        "level": _of(["integer", "null"], "How far, or nothing."),
        "label": _of(["string", "null"], "What to call it, or nothing."),
        "mixed": _of(["integer", "string"], "A number or a word."),
        "until": {"anyOf": [{"type": "number"}, {"type": "string"}], "description": "When."},
    },
)

TOOLS: dict[str, list[JsonObject]] = {
    "plain": [_FIND, _NOTE, _MEASURE, _PING],
    "union": [_FIND, _ADJUST],
}


def describe_all(schema: Any) -> Any:
    """A schema with more in it: some templates crash where a description or the kind of other members is missing."""
    if isinstance(schema, list):
        return [describe_all(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    described = {key: describe_all(value) for key, value in schema.items()}
    if isinstance(schema.get("type"), str) and schema["type"] in ("string", "integer", "number", "object", "array"):
        described.setdefault("description", "What it is.")
        if schema["type"] == "object" and schema.get("description"):
            described["additionalProperties"] = {"type": "string", "description": "What else."}
    return described


PLAIN_TEXT = "It has forty-two stripes."
HARD_TEXT = (
    "Well: \"forty-two\", they'd say – or '41'?\n\n* a < b && c > d, x</y> <b>bold</b> &amp; {braces} [brackets]\n"
    'C:\\new\\dir \\n 100 % naïve 日本語 🦓\n```json\n{"stripes": 42}\n```\nDone.'
)
PLAIN_REASONING = "The keeper would know that."
HARD_REASONING = (
    'Hmm, "stripes"…\n\n1. count: {"left": 21}\n2. `len([1, 2]) < 3` </x> it\'s \\ fine\n\nSo: 日本 🦓 42. I will answer.'
)

QUOTES = "She said \"hi\", it's 'fine' – \""
BACKSLASHES = "C:\\new\\table \\\\ \\u0041 \\"
LINES = "first line\n\n  second line\n\tthird\r\nlast"
MARKUP = "<b>bold</b> a < b && c > d </x> &amp; <!-- no --> [/y] <z/>"
NESTED_JSON = '{"verb": "run", "how": {"fast": [true, null, "}"]}}'
CLOSERS = '}}]} ] ) "} \'}, "okapi": "x'
UNICODE = "naïve 日本語 🦓 \u200d ẞ\u00a0«»"


def _one(name: str, tool: str = "find_okapi", *, tools: str = "plain", told: bool = True, **arguments: Any) -> Conversation:
    return Conversation(name, Fields(calls=(Call(tool, arguments),)), tools=tools, told=told)


_FIRST = Call("find_okapi", {"habitat": "pen twelve", "limit": 3})
_SECOND = Call("send_postcard", {"recipient": "the keeper", "greeting": 'count "them"\nagain'})
_TYPED = Call("gauge_pen", {"ratio": 0.5, "posts": 12, "fenced": True, "sides": [3, 4.5], "frame": {"hue": "red", "depth": 2}})

CONVERSATIONS: tuple[Conversation, ...] = (
    Conversation("content", Fields(content=PLAIN_TEXT)),
    Conversation("content hard", Fields(content=HARD_TEXT)),
    Conversation("content like JSON", Fields(content='{"stripes": 42, "name": "okapi"}')),
    Conversation("content like list", Fields(content='[42, "stripes"]')),
    Conversation("content later", Fields(content=PLAIN_TEXT), history="later"),
    Conversation("reasoning, content", Fields(PLAIN_REASONING, PLAIN_TEXT)),
    Conversation("reasoning, content hard", Fields(HARD_REASONING, HARD_TEXT)),
    Conversation("reasoning", Fields(PLAIN_REASONING)),
    Conversation("call", Fields(calls=(_FIRST,))),
    _one("call quotes", "send_postcard", recipient=QUOTES, greeting='"'),
    _one("call backslashes", "send_postcard", recipient=BACKSLASHES, greeting="\\"),
    _one("call lines", "send_postcard", recipient=LINES, greeting="x"),
    _one("call markup", "send_postcard", recipient=MARKUP, greeting="</x>"),
    _one("call JSON in text", "send_postcard", recipient="x", greeting=NESTED_JSON),
    _one("call closers", "send_postcard", recipient=CLOSERS, greeting="x"),
    _one("call unicode", "send_postcard", recipient=UNICODE, greeting="ü"),
    _one("call like numbers", "send_postcard", recipient="007", greeting="5", stamps=["5", "x"]),
    _one("call like literals", "send_postcard", recipient="true", greeting="null"),
    _one("call like containers", "send_postcard", recipient="[1, 2]", greeting='{"a": 1}'),
    _one("call empty text", "send_postcard", recipient="", greeting="x"),
    _one("call only empty text", "send_postcard", recipient=""),
    _one("call spaces", "send_postcard", recipient="  indented", greeting="ends with a line\n"),
    _one("call numbers", "gauge_pen", ratio=-1.25, posts=0, sides=[1, -2.5, 1e-07, 12345678901234567890]),
    _one("call integers", "find_okapi", habitat="x", limit=-7),
    _one("call booleans", "gauge_pen", ratio=2.0, fenced=False, posts=1),
    _one("call null", "send_postcard", recipient="x", frame={"depth": 1, "more": None, "rest": [None, "x"]}),
    _one("call list", "send_postcard", recipient="x", stamps=["a", 'b "c"', "d, e", "[f]"]),
    _one("call empty containers", "gauge_pen", ratio=1, sides=[], frame={}),
    _one(
        "call nested",
        "send_postcard",
        recipient="x",
        frame={"hue": 'it\'s "red"', "depth": 3, "more": {"tags": ["a", {"b": True}]}},
    ),
    Conversation("call all types", Fields(calls=(_TYPED,))),
    _one("call no arguments", "wake_keeper"),
    _one("call unions", "adjust_gate", tools="union", level=5, label="front", mixed="some", until="noon"),
    _one("call union numbers", "adjust_gate", tools="union", mixed=7, until=1.5),
    _one("call unions of text", "adjust_gate", tools="union", label="null", mixed="seven", until="noon"),
    _one("call union null", "adjust_gate", tools="union", level=None, label=None),
    _one("call union number in text", "adjust_gate", tools="union", mixed="7"),
    _one("call undeclared text", "find_okapi", habitat="x", colour="brown"),
    _one("call undeclared number", "find_okapi", habitat="x", weight=250),
    _one("call untold text", "find_okapi", told=False, habitat="the big pen"),
    _one("call untold number", "find_okapi", told=False, habitat="the big pen", limit=3),
    Conversation("two calls", Fields(calls=(_FIRST, _SECOND))),
    Conversation("two calls, one tool", Fields(calls=(_FIRST, Call("find_okapi", {"habitat": "pen two"})))),
    Conversation("two calls, one empty", Fields(calls=(Call("wake_keeper", {}), _TYPED))),
    Conversation("three calls", Fields(calls=(_SECOND, _TYPED, _FIRST))),
    Conversation("content, call", Fields(content=PLAIN_TEXT, calls=(_FIRST,))),
    Conversation("content hard, call", Fields(content=HARD_TEXT, calls=(_SECOND,))),
    Conversation("content, two calls", Fields(content=PLAIN_TEXT, calls=(_FIRST, _SECOND))),
    Conversation("reasoning, call", Fields(PLAIN_REASONING, calls=(_FIRST,))),
    Conversation("reasoning hard, call", Fields(HARD_REASONING, calls=(_SECOND,))),
    Conversation("reasoning, two calls", Fields(PLAIN_REASONING, calls=(_FIRST, _SECOND))),
    Conversation("reasoning, content, call", Fields(PLAIN_REASONING, PLAIN_TEXT, (_FIRST,))),
    Conversation("reasoning, content, two calls", Fields(HARD_REASONING, HARD_TEXT, (_FIRST, _SECOND))),
    Conversation("after tool: content", Fields(content=PLAIN_TEXT), history="tool"),
    Conversation("after tool: reasoning, content", Fields(PLAIN_REASONING, PLAIN_TEXT), history="tool"),
    Conversation("after tool: call", Fields(calls=(_SECOND,)), history="tool"),
    Conversation("after tool: reasoning, call", Fields(PLAIN_REASONING, calls=(_SECOND,)), history="tool"),
)

# Of each layout the one that is also tried with every switch, and with its end of turn left on.
LEADING = frozenset(
    {
        "content",
        "reasoning, content",
        "reasoning",
        "call",
        "two calls",
        "content, call",
        "reasoning, call",
        "reasoning, content, call",
    }
)


# Fields that can be found again in a render.
REASONING_NEEDLE, CONTENT_NEEDLE = "RSNNEEDLE", "CNTNEEDLE"
NEEDLES = Fields(
    REASONING_NEEDLE,
    CONTENT_NEEDLE,
    (
        Call("find_okapi", {"habitat": "ONENEEDLE"}),
        Call("send_postcard", {"recipient": "TWONEEDLE"}),
        Call("gauge_pen", {"label": "THREENEEDLE"}),
    ),
)


def pick_needles(signature: tuple[bool, bool, int]) -> Fields:
    """The needles for the fields of a signature."""
    reasoning, content, count = signature
    return Fields(NEEDLES.reasoning if reasoning else None, NEEDLES.content if content else None, NEEDLES.calls[:count])


def list_words() -> set[str]:
    """Every word that needles bring into a render, beside the keys of messages and tools."""
    said = [QUESTION, RESULT, NEXT_RESULT, EARLIER_QUESTION, EARLIER_ANSWER, SYSTEM, repr(NEEDLES.calls)]
    words = set(re.findall(r"\w+", " ".join([*said, REASONING_NEEDLE, CONTENT_NEEDLE])))
    return words - {"Call", "name", "arguments"}
