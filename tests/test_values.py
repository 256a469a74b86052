"""Values: what type raw text has, how other notations become JSON, and where JSON ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from formats import JSON_VALUE, ODD, PYTHON_STRINGS, PYTHON_VALUE, write_odd
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_autoparser.format import StringNotation, ValueNotation
from chat_autoparser.lexer import DECODER, JSON, Lexer
from chat_autoparser.schema import Schema, ToolSet
from chat_autoparser.transducer import make_transducer
from chat_autoparser.values import check_json, convert_value, get_json_type

PYTHON = make_transducer(PYTHON_STRINGS, PYTHON_VALUE)
PLAIN = make_transducer((), JSON_VALUE)
TEXT = st.text("ab1\"'\\\n\té😀{}[],:=() ", max_size=14)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


def scan(lexer: Lexer, pieces: list[str], depth: int = 0) -> tuple[str, int]:
    """Read pieces up to the end of the value; returns what came out and how many characters went in."""
    state, out, taken = lexer.start, "", 0
    for piece in pieces:
        state, more, depth, end = lexer.scan(state, piece, depth)
        out += more
        if end >= 0:
            return out, taken + end
        taken += len(piece)
    return out, -1


def step(lexer: Lexer, text: str, size: int) -> str:
    """Read a text by remembered steps, as if the outermost bracket never closed."""
    state, out = lexer.start, ""
    for start in range(0, len(text), size):
        state, more, _, _, _ = lexer.step(state, text[start : start + size])
        out += more
    return out


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("12", ["string"], '"12"'),
        ("12", ["integer"], "12"),
        ("12.0", ["integer"], "12.0"),
        ("12.5", ["integer"], '"12.5"'),
        ("1e3", ["number"], "1e3"),
        ("012", ["number"], '"012"'),
        ("1_000", ["integer"], '"1_000"'),
        ("٣", ["integer"], '"٣"'),
        ("true", ["boolean"], "true"),
        ("True", ["boolean"], "true"),
        ("yes", ["boolean"], '"yes"'),
        ("null", ["null"], "null"),
        ("None", ["null"], "null"),
        ("[1, 2]", ["array"], "[1, 2]"),
        ("[1, 2]", ["object"], '"[1, 2]"'),
        ("{'a': True, 'b': [None]}", ["object"], '{"a": true, "b": [null]}'),
        ('{"a": ', ["object"], '"{\\"a\\": "'),
        ("null", ["null", "string"], "null"),
        ("null", ["string", "null"], '"null"'),
        ("x", ["null", "integer"], '"x"'),
        ("5", ["null", "integer", "string"], "5"),
        ("12", [], "12"),
        ("true", [], "true"),
        ("True", [], '"True"'),
        ("{'a': 1}", [], "\"{'a': 1}\""),
        ('"quoted"', [], '"quoted"'),
        ("plain text", [], '"plain text"'),
        ("", [], '""'),
        ("  12 ", [], "12"),
        ("NaN", [], '"NaN"'),
    ],
)
def test_typing(text: str, types: list[str], expected: str) -> None:
    assert convert_value(text, tuple(types), PLAIN, False) == expected


def test_typing_in_a_foreign_notation() -> None:
    """Without a schema the words, lists and objects of the notation are read too."""
    assert convert_value("True", (), PYTHON, True) == "true"
    assert convert_value("[None, 'x']", (), PYTHON, True) == '[null, "x"]'
    assert convert_value("'x'", (), PYTHON, True) == "\"'x'\""


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, ("string",)),
        ({"type": ["null", "string"]}, ("null", "string")),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ("integer", "null")),
        ({"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/x"}]}, ("integer", "boolean")),
        ({"allOf": [{"type": "number"}]}, ("number",)),
        ({"$ref": "#/$defs/x"}, ("boolean",)),
        ({"$ref": "#/$defs/loop"}, ()),
        ({"$ref": "http://elsewhere"}, ()),
        ({"enum": ["1", "2"]}, ("string",)),
        ({"enum": [1, "2"]}, ("integer", "string")),
        ({"const": None}, ("null",)),
        ({"properties": {}}, ("object",)),
        ({"items": {}}, ("array",)),
        ({"type": "unheard of"}, ()),
        ({}, ()),
        (True, ()),
    ],
)
def test_schema_types(schema: Any, types: tuple[str, ...]) -> None:
    root = {"properties": {"a": schema}, "$defs": {"x": {"type": "boolean"}, "loop": {"$ref": "#/$defs/loop"}}}
    assert Schema(root).get_property("a").get_types() == types


def test_schema_places() -> None:
    schema = Schema({"anyOf": [{"properties": {"a": {"items": {"type": "integer"}}}}]})
    assert schema.get_property("a").get_items().get_types() == ("integer",)
    assert schema.get_property("b").get_types() == ()
    assert Schema({"additionalProperties": {"type": "null"}}).get_property("b").get_types() == ("null",)
    assert Schema({"additionalProperties": False}).get_property("b").get_types() == ()


def test_odd_tools() -> None:
    """A list of tools that is not what it should be says nothing, and raises nothing."""
    parameters = {"properties": {"a": {"type": "string"}}}
    tools = ToolSet([{}, {"function": None}, {"name": "f", "parameters": parameters}, None, {"function": {"name": 1}}])  # type: ignore[list-item]
    assert list(tools.tools) == ["f"]
    assert tools.get_parameters("f").get_property("a").get_types() == ("string",)
    assert tools.get_parameters("g").get_property("a").get_types() == ()


@settings(max_examples=300, deadline=None)
@given(TEXT | VALUES.map(json.dumps))
def test_check_json_agrees_with_json(text: str) -> None:
    try:
        loaded = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    except json.JSONDecodeError:
        assert check_json(text) != "whole"
        return
    assert check_json(text) == "whole"
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}
    assert get_json_type(text) == kinds.get(type(loaded), "null")


@settings(max_examples=200, deadline=None)
@given(VALUES.filter(lambda value: isinstance(value, (list, dict))), st.data())
def test_beginnings_of_json(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    end = data.draw(st.integers(0, len(text) - 1))
    assert check_json(text[:end]) == "prefix"


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXT, VALUES, max_size=3), st.integers(1, 7), TEXT)
def test_json_passes_unchanged_up_to_its_end(value: dict[str, Any], size: int, tail: str) -> None:
    text = json.dumps(value)
    whole = text + tail
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert scan(JSON, pieces) == (text, len(text))
    assert step(JSON, text, size) == text


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXT, VALUES, max_size=3), st.integers(1, 7), st.booleans())
def test_json_in_a_string(value: dict[str, Any], size: int, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=False)
    written = json.dumps(text, ensure_ascii=escaped)[1:] + " tail"
    pieces = [written[start : start + size] for start in range(0, len(written), size)]
    assert scan(DECODER, pieces, 1) == (text, len(written) - 5)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXT, VALUES, max_size=3), st.integers(1, 7))
def test_python_becomes_json(value: dict[str, Any], size: int) -> None:
    text = repr(value)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    out, end = scan(PYTHON, [*pieces, " tail"])
    assert end == len(text)
    assert json.loads(out) == value
    assert PYTHON.translate(text) == out
    assert step(PYTHON, text, size) == out


ODD_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab\"'\\\n é{}[],:<|", max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("kmz"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), ODD_VALUES, max_size=3), st.integers(1, 7))
def test_odd_quotes_become_json(value: dict[str, Any], size: int) -> None:
    assert ODD.tools
    arguments = ODD.tools.arguments
    text = write_odd(value)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    out, end = scan(make_transducer(arguments.strings, arguments.value), pieces)
    assert end == len(text)
    assert json.loads(out) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a=1, b=2)", {"a": 1, "b": 2}),
        ("(a='x', )", {"a": "x"}),
        ("{'a': [1, 2,], }", {"a": [1, 2]}),
        ("{'a': 'it\\'s \\x41\\u00e9\\d\\\n!'}", {"a": "it's Aé\\d!"}),
        ("{a: New York, b: [x, y z]}", {"a": "New York", "b": ["x", "y z"]}),
        ("{a: http://x.y/z, b: 1}", {"a": "http://x.y/z", "b": 1}),
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        ("{'a': 1_000, 'b': nan}", {"a": "1_000", "b": "nan"}),
        ("{'a': " + "w" * 400 + "}", {"a": "w" * 400}),
        ("{\"a\": true, 'b': False}", {"a": True, "b": False}),
    ],
)
def test_loose_notations(text: str, expected: Any) -> None:
    for size in (1, 3, 1000):
        out, end = scan(PYTHON, [text[start : start + size] for start in range(0, len(text), size)])
        assert end == len(text)
        assert json.loads(out) == expected


def test_other_escapes() -> None:
    """An escape is whatever the notation writes instead of a character."""
    entities = StringNotation("'", "'", (("'", "&apos;"), ("&", "&amp;")))
    reader = make_transducer((entities,), ValueNotation((entities,), "yes", "no", "nil", None, None, False))
    for size in (1, 2, 1000):
        text = "{a: 'x&apos;y&amp;z\\', b: yes, c: nil}"
        out, _ = scan(reader, [text[start : start + size] for start in range(0, len(text), size)])
        assert json.loads(out) == {"a": "x'y&z\\", "b": True, "c": None}
