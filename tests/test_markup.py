"""Nested markup: lists and objects in tags, streamed as the tags come, typed by the schema, and never at the cost of text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from formats import MARKUP, make_tool, write_call, write_markup
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import read, read_all_ways

from chat_autoparser.format import ListNotation, Marker, ObjectNotation, Slot
from chat_autoparser.markup import DEPTH

PREFIX = "]~b]ai\n</think>"
KEY = "\ue001"


def make_format(list_: ListNotation, object_: ObjectNotation) -> Any:
    """Return the format of nested markup with other tags."""
    assert MARKUP.tools
    arguments = MARKUP.tools.arguments
    value = replace(arguments.value, list=list_, object=object_)
    outer = replace(object_, start="", end="")
    return replace(MARKUP, tools=replace(MARKUP.tools, arguments=replace(arguments, object=outer, value=value)))


# The same with a mark in each tag; and with tags around the list and the object, and separators.
MARKED = make_format(
    ListNotation("", "]#[<item>", "]#[</item>", "", ""),
    ObjectNotation("", "]#[<", (Slot(Marker(">"), Marker(f"]#[</{KEY}>")),), "", ""),
)
FRAMED = make_format(
    ListNotation("<list>", "<item>", "</item>", ",", "</list>"),
    ObjectNotation("<map>", "<", (Slot(Marker(">"), Marker(f"</{KEY}>")),), "", "</map>"),
)


def write_marked(value: Any) -> str:
    return re.sub(r"(</?)(?=\w)", r"]#[\1", write_markup(value))


def write_framed(value: Any) -> str:
    if isinstance(value, dict):
        return f"<map>{''.join(f'<{key}>{write_framed(inner)}</{key}>' for key, inner in value.items())}</map>"
    if isinstance(value, list):
        return f"<list>{', '.join(f'<item>{write_framed(inner)}</item>' for inner in value)}</list>"
    return write_markup(value)


WAYS = {"plain": (MARKUP, write_markup), "marked": (MARKED, write_marked), "framed": (FRAMED, write_framed)}


def wrap(value: str, key: str = "v", mark: str = "") -> str:
    """Return a call with one argument."""
    return f'\n<tool_call>\n<invoke name="f">{mark}<{key}>{value}{mark}</{key}></invoke>\n</tool_call>'


def read_value(value: str, schema: dict[str, Any], form: Any = MARKUP, mark: str = "") -> Any:
    """Read a call with one argument of a schema in all ways, and return what it holds."""
    reading = read_all_ways(form, wrap(value, mark=mark), [make_tool("f", v=schema)], PREFIX)
    assert (reading.content, reading.incomplete) == (None, set())
    ((name, arguments),) = reading.calls
    assert name == "f"
    return json.loads(arguments)["v"]


def describe(value: Any) -> dict[str, Any]:
    """Return the schema of a value."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: describe(inner) for key, inner in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": {"anyOf": [describe(inner) for inner in value]}} if value else {"type": "array"}
    kinds = {str: "string", bool: "boolean", int: "integer", type(None): "null"}
    return {"type": kinds[type(value)]}


TEXT = st.text('ab1"\\\né[]{}:, ', max_size=12).map(lambda text: f"x{text}y")
LEAVES = TEXT | st.integers() | st.booleans() | st.none()
KEYS = st.sampled_from(["a", "key", "Kind", "x-1"])


def nest(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
        max_leaves=12,
    ).filter(lambda value: isinstance(value, (list, dict)))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(value=nest(LEAVES))
def test_values_without_a_schema(way: str, value: Any) -> None:
    form, write = WAYS[way]
    assert read_value(write(value), {}, form, "]#[" if way == "marked" else "") == value


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(value=nest(st.text("<>/bitem 12", max_size=9) | st.integers()))
def test_values_with_a_schema(way: str, value: Any) -> None:
    """With a schema a string is text, whatever it looks like; a list of one kind of thing says which."""
    form, write = WAYS[way]

    def widen(node: Any) -> Any:  # one kind of item in each list, and no text that could be an end marker
        if isinstance(node, dict):
            return {key: widen(inner) for key, inner in node.items()}
        if isinstance(node, list):
            return [widen(node[0])] * len(node)
        return f"x{node}x".replace("<", "< ") if isinstance(node, str) else node

    value = widen(value)
    assert read_value(write(value), describe(value), form, "]#[" if way == "marked" else "") == value


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("<b>x</b>", {"type": "string"}, "<b>x</b>"),
        ("<item>1</item>", {"type": ["string", "array"]}, "<item>1</item>"),
        ("<item>1</item>", {"type": ["array", "string"]}, [1]),
        ("<item>1</item> and more", {"type": ["array", "string"]}, "<item>1</item> and more"),
        ("<b>x</b> and more", {}, "<b>x</b> and more"),
        ("<p>a</p><p>b</p>", {}, "<p>a</p><p>b</p>"),
        ("<p>a</p>", {}, {"p": "a"}),
        ("<p>a</p>", {"type": "array"}, "<p>a</p>"),
        ("<p>" + "a" * 300 + "</p> and more", {"type": "string"}, "<p>" + "a" * 300 + "</p> and more"),
        ("<b>x</b> and more" + "a" * 300, {}, "<b>x</b> and more" + "a" * 300),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("", {"type": "array"}, []),
        ("", {"type": "object"}, {}),
        ("", {}, ""),
        ("\n <item>1</item>\n <item>\n<item>2</item></item>\n", {"type": "array"}, [1, [2]]),
        ("<item></item><item> </item>", {"type": "array", "items": {"type": "string"}}, ["", " "]),
        ("<item>12</item>", {"type": "array", "items": {"type": "string"}}, ["12"]),
        ("<item>a</item>b</item>", {"type": "array", "items": {"type": "string"}}, ["a</item>b"]),
        ("<v><v>1</v></v>", {"type": "object"}, {"v": {"v": 1}}),
        ("<v><v>1</v></v>", {}, {"v": {"v": 1}}),
    ],
)
def test_what_is_markup(text: str, schema: dict[str, Any], expected: Any) -> None:
    assert read_value(text, schema) == expected


@pytest.mark.parametrize("schema", [{}, {"type": "array"}])
def test_long_lists_stream(schema: dict[str, Any]) -> None:
    """A client has each item when the next one comes, however long the list is."""
    items = [{"n": number, "t": f"item {number}"} for number in range(800)]
    tools = [make_tool("f", v=schema)]
    text = wrap(write_markup(items))
    whole = read(MARKUP, [text], tools, PREFIX)
    assert json.loads(whole.calls[0][1])["v"] == items
    parser = MARKUP.parser(tools, PREFIX)
    written = came = late = 0
    for start in range(0, len(text), 4):
        piece = text[start : start + 4]
        written += piece.count("m")  # each item's tags hold two, and its text one
        came += sum(delta.text.count("}") for delta in parser.feed(piece))
        late = max(late, written // 3 - came)
        assert len(parser._text) < 400
    assert late <= (2 if schema else 8)  # what may be text waits for 256 characters


def test_long_strings_inside_stream() -> None:
    """A string inside nested markup comes as it is written."""
    tools = [make_tool("f", v={"type": "array", "items": {"type": "string"}})]
    parser = MARKUP.parser(tools, PREFIX)
    came = ""
    for char in wrap("<item>" + "word " * 1000)[: 40 + 4000]:
        came += "".join(delta.text for delta in parser.feed(char))
    assert len(came) > 3900


@pytest.mark.parametrize("schema", [{}, {"type": "array"}])
def test_nothing_recurses(schema: dict[str, Any]) -> None:
    """Levels are opened up to a depth; what is deeper is text, and all of it is there."""
    deep = DEPTH + 50
    text = wrap("<item>" * deep + "1" + "</item>" * deep)
    whole = read(MARKUP, [text], [make_tool("f", v=schema)], PREFIX)
    assert whole[:4] == read(MARKUP, list(text), [make_tool("f", v=schema)], PREFIX)[:4]
    ((_, arguments),) = whole.calls
    assert arguments.count("[") == DEPTH + 1
    assert arguments.count("<item>") == deep - DEPTH - 1
    assert (whole.content, whole.incomplete) == (None, set())


def test_missing_end_markers() -> None:
    """An end marker further out closes what is open inside; so does the end of the call."""
    tools = [make_tool("f", v={"type": "array"}, w={"type": "integer"})]
    start = '\n<tool_call>\n<invoke name="f">'
    for body, expected in [
        ("<v><item><item>1</item></v><w>2</w>", {"v": [[1]], "w": 2}),
        ("<v><item><k>1</k></v><w>2</w>", {"v": [{"k": 1}], "w": 2}),
        ("<v><item><item>1</item></item>", {"v": [[1]]}),
        ("<v><item><k><item>1</item>", {"v": [{"k": [1]}]}),
    ]:
        reading = read_all_ways(MARKUP, f"{start}{body}</invoke>\n</tool_call>", tools, PREFIX)
        assert [(name, json.loads(arguments)) for name, arguments in reading.calls] == [("f", expected)], body


def test_what_goes_wrong_is_said() -> None:
    """Where a list is no longer one, the call stops; what follows is content."""
    tools = [make_tool("f", v={"type": "array"})]
    text = wrap("<item><item>1</item></item> what? <item>2</item>")
    reading = read_all_ways(MARKUP, text, tools, PREFIX)
    assert reading.calls == [("f", '{"v": [[1]')]
    assert reading.incomplete == {0}
    assert reading.content is not None
    assert "what? <item>2</item></v>" in reading.content


PIECES = [
    "<v>",
    "</v>",
    "<w>",
    "</w>",
    "<item>",
    "</item>",
    "<k>",
    "</k>",
    "<list>",
    "</list>",
    "<map>",
    "</map>",
    "</invoke>",
    "<invoke",
    ",",
    "[1]",
    "{",
]
WORDS = st.sampled_from([*PIECES, *PIECES, "\n", " ", "word", "7", '"', "<", "</", "</item", "x" * 300])


@pytest.mark.parametrize("form", [MARKUP, FRAMED])
@pytest.mark.parametrize("schema", [{}, {"type": "array"}, {"type": "object"}, {"type": ["object", "string"]}])
@settings(max_examples=40, deadline=None)
@given(words=st.lists(WORDS, max_size=14))
def test_any_text_in_any_pieces(form: Any, schema: dict[str, Any], words: list[str]) -> None:
    """However wrong, nothing visible is lost, and the split means nothing."""
    text = wrap("".join(f"{word}~{number}~" if word == "word" else word for number, word in enumerate(words)))
    reading = read_all_ways(form, text, [make_tool("f", v=schema, w={"type": "integer"})], PREFIX)
    everything = (reading.content or "") + "".join(arguments for _, arguments in reading.calls)
    for written in re.findall(r"word~\d+~|7|x{300}", text):
        assert everything.count(written) >= 1
    assert everything.count("word") == text.count("word")


def test_a_cut_call_keeps_what_came() -> None:
    """Wherever the output ends, the arguments are a beginning of the whole ones."""
    tools = [make_tool("f", v={"type": "array", "items": {"type": "object"}})]
    text = write_call("MARKUP", "f", {"v": [{"a": [1, 2], "b": "text"}, {"c": {"d": None}}]})
    ((_, whole),) = read(MARKUP, [text], tools, PREFIX).calls
    for end in range(len(text)):
        for _, arguments in read_all_ways(MARKUP, text[:end], tools, PREFIX).calls:
            assert whole.startswith(arguments)
