"""What is said in the turns of invented formats: tools, texts, values and messages. Nothing here knows a format."""

from __future__ import annotations

from conversations import Call, Fields, JsonObject, make_tool

QUESTION = "Which ferry takes bicycles on Sundays?"
EARLIER = ("Are there ferries at night?", "Two of them sail after midnight.")
RESULT = "There are 3 ferries."


def _tool(name: str, **properties: JsonObject) -> JsonObject:
    return make_tool(name, "Of use to ferries.", properties)


def _of(kind: str | list[str], **more: object) -> JsonObject:
    return {"type": kind, **more}


TOOLS: list[JsonObject] = [
    _tool("plot_route", harbour=_of("string"), legs=_of("integer"), stops=_of("array", items={"type": "string"})),
    _tool("post_note", note=_of("string"), headline=_of("string")),
    _tool("ring_bell"),
    _tool(
        "gauge_hull",
        draught=_of("number"),
        decks=_of("integer"),
        insured=_of("boolean"),
        berth=_of(["integer", "null"]),
        depths=_of("array", items={"type": "number"}),
        cargo=_of("object"),
    ),
    _tool("sort_list", **{"max distance": _of("number"), "país": _of("string"), "sort-by": _of("string")}),
]

# Texts for reasoning and for content.
TEXTS: dict[str, str] = {
    "plain": "The ferry to Bergen takes bicycles.",
    "short": "Ok",
    "lines": "First the timetable.\nThen, perhaps, the fares:\n\n  * adults\n  * children",
    "markup": 'A <b>bold</b> claim, see [the list](x.html) & "notes" (a < b, c > d).',
    "json": 'It answered {"ferries": [1, 2]} and {} at 10:30.',
    "code": "Try `sail --fast` or:\n\n    for x in y: print(x)\n",
    "unicode": "Größe 3½ – 東京 🚲, naïve… “quoted”",
    "signs": "50 % off: $5, #1, a|b, c=d; e*f, @noon, x/y \\ z, ~5.",
}
# Values that are strings.
STRINGS: dict[str, str] = {
    "plain": "Bergen",
    "words": "the old harbour",
    "apostrophe": "it's o'clock",
    "quotes": 'say "ahoy" twice',
    "both quotes": "\"mixed\" 'quotes' `too`",
    "backslashes": "C:\\new\\table\\",
    "lines": "one\ntwo\n\nfour",
    "code": 'def f(x):\n    return {"a": x}\n',
    "unicode": "Zürich 東京 🚲",
    "markup": "<b>bold</b> & <br/>",
    "json": '{"a": [1, "b"]}',
    "commas": "a, b; c: d = e",
    "brackets": "f(x) [y] {z}",
    "percent": "50% off &amp; more %20",
    "padded": "  padded ",
    "like a number": "007",
    "like an integer": "5",
    "like a word": "true",
    "like null": "null",
    "like a list": "[1, 2]",
    "pipes": "a | b || c",
    "flags": "--fast -x",
}


def _call(name: str, **arguments: object) -> Call:
    return Call(name, arguments)


ONE = _call("plot_route", harbour="Bergen", legs=3)
TWO = _call("post_note", note="calm sea", headline="Noon")
THREE = _call("gauge_hull", draught=4.5, decks=2, insured=True)
NONE = _call("ring_bell")
WIDE = _call("sort_list", **{"max distance": 12.5, "país": "Perú", "sort-by": "fare"})


def list_values() -> dict[str, Fields]:
    """Messages of one call each: what they show, and the fields."""
    given: dict[str, Call] = {f"string, {name}": _call("post_note", note=value) for name, value in STRINGS.items()}
    given |= {
        "empty string": _call("post_note", note="", headline="x"),
        "empty string, last": _call("post_note", headline="x", note=""),
        "two strings": _call("post_note", headline="say: 1", note="the end"),
        "no arguments": NONE,
        "integers": _call("gauge_hull", decks=-7),
        "big integer": _call("gauge_hull", decks=12345678901234567890),
        "zero": _call("gauge_hull", decks=0, draught=0.5),
        "floats": _call("gauge_hull", draught=-1.25),
        "booleans": _call("gauge_hull", insured=False, decks=1),
        "null": _call("gauge_hull", berth=None, decks=4),
        "null, last": _call("gauge_hull", decks=4, berth=None),
        "list": _call("plot_route", harbour="Oslo", stops=["Moss", "old town", "Ås"]),
        "list of one": _call("plot_route", stops=["Moss"], legs=1),
        "list, commas": _call("plot_route", stops=["a, b", "c"], harbour="Oslo"),
        "list, signs": _call("plot_route", stops=["<a> & b", "100% #1 | [x] {y} ~"], harbour="Oslo"),
        "list of numbers": _call("gauge_hull", depths=[1, -2.5, 3000]),
        "object": _call("gauge_hull", cargo={"kind": "salt", "tons": 4, "dry": True}, decks=3),
        "object, signs": _call("gauge_hull", cargo={"kind": "<salt/>; 'dry' & \"raw\""}, decks=3),
        "nested": _call("gauge_hull", cargo={"a": {"b": [1, {"c": None}]}, "d": [[1], ["x"]]}),
        "empty list": _call("gauge_hull", depths=[], decks=1),
        "empty object": _call("gauge_hull", cargo={}),
        "all": _call("gauge_hull", draught=2.0, decks=1, insured=True, berth=9, depths=[2], cargo={"z": "y"}),
        "wide keys": WIDE,
    }
    return {f"call: {name}": Fields(calls=(call,)) for name, call in given.items()}


def list_texts() -> dict[str, Fields]:
    """Messages without calls."""
    said = {f"content: {name}": Fields(content=value) for name, value in TEXTS.items()}
    both = {f"reasoning: {name}, content": Fields(value, TEXTS["plain"][::1] + " Yes.") for name, value in TEXTS.items()}
    more = {
        "reasoning, content: lines": Fields("Hm, wait.", TEXTS["lines"]),
        "reasoning, content: markup": Fields(TEXTS["lines"], TEXTS["markup"]),
        "reasoning": Fields("Nothing more to say."),
    }
    return {**said, **both, **more}


def list_mixes() -> dict[str, Fields]:
    """Messages with several parts or several calls."""
    said, thought = TEXTS["plain"], "I need the timetable first."
    return {
        "two calls": Fields(calls=(ONE, TWO)),
        "two calls, one tool": Fields(calls=(ONE, _call("plot_route", legs=2, harbour="Moss"))),
        "two calls, no arguments": Fields(calls=(NONE, NONE)),
        "three calls": Fields(calls=(THREE, NONE, ONE)),
        "four calls": Fields(calls=(ONE, TWO, THREE, _call("post_note", note="last one"))),
        "content, call": Fields(content=said, calls=(ONE,)),
        "content: lines, call": Fields(content=TEXTS["lines"], calls=(TWO,)),
        "content, call without arguments": Fields(content=said, calls=(NONE,)),
        "content, two calls": Fields(content="Ok", calls=(TWO, THREE)),
        "content, three calls": Fields(content=said, calls=(ONE, TWO, THREE)),
        "reasoning, call": Fields(thought, calls=(ONE,)),
        "reasoning, two calls": Fields(thought, calls=(TWO, ONE)),
        "reasoning, call without arguments": Fields(TEXTS["signs"], calls=(NONE,)),
        "reasoning, content, call": Fields(thought, said, (TWO,)),
        "reasoning, content, two calls": Fields(TEXTS["lines"], "Let me see.", (THREE, TWO)),
        "reasoning, content, three calls": Fields(thought, TEXTS["markup"], (ONE, THREE, NONE)),
    }
