"""Calls that are told by their shape behind a mark: whatever lists and objects stand around them. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import ROUTE_TOOL, analyze, get_calls, make_tool, read_all_ways
from test_names import NAMED
from test_slips import WRAPPER

from chat_autoparser.recover.repair import repair
from chat_autoparser.recover.shape import Envelope, read_calls
from chat_autoparser.schema import ToolSet

KEYED = WRAPPER % (
    "{%- if m.tool_calls %}[[batch]]{ {%- for c in m.tool_calls %}{{ c.id | tojson }}: [{{ c.function.name | tojson }}, "
    "{{ c.function.arguments | tojson }}]{{ ', ' if not loop.last }}{% endfor %} }[[/batch]]{% endif -%}"
)
"""A pair under the id of each call."""

OBJECTS = WRAPPER % (
    '{%- for c in m.tool_calls or [] %}[[call]]{"tool": {{ c.function.name | tojson }}, "input": '
    "{{ c.function.arguments | tojson }}}[[/call]]{% endfor -%}"
)
FORMATS = {"keyed": (KEYED, "[[batch]]%s[[/batch]]"), "objects": (OBJECTS, "[[call]]%s[[/call]]")}
TOOLS = [
    {"name": "look", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "now", "parameters": {"properties": {}}},
]
OSLO = {"city": "Oslo"}
BOTH = [("look", '{"city": "Oslo"}'), ("now", "{}")]


def read(name: str, written: str) -> tuple[str | None, list[tuple[str, str]], list[str]]:
    """What is read in a format behind its mark."""
    source, form = FORMATS[name]
    found = read_all_ways(analyze(source), "Hm." + form % written, TOOLS)
    return found.content, found.calls, found.ids


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "value",
    [
        {"c1": {"name": "look", "arguments": OSLO}, "c2": {"name": "now", "arguments": {}}},
        [["look", OSLO], ["now", {}]],
        [["a", "look", OSLO], ["b", "now", {}]],
        {"look": OSLO, "now": {}},
        [{"look": OSLO}, {"now": {}}],
        {"calls": [{"look": OSLO}, ["now", {}]]},
        {"tool_calls": [{"function": {"name": "look", "arguments": json.dumps(OSLO)}}, {"function": {"name": "now"}}]},
        {"c1": ["look", json.dumps(OSLO)], "c2": ["now", "{}"]},
        {"batch": {"c1": {"tool": "look", "input": OSLO}, "c2": {"now": {}}}},
    ],
    ids=json.dumps,
)
def test_a_value_that_is_nothing_but_calls_is_these(name: str, value: Any) -> None:
    assert read(name, json.dumps(value))[:2] == ("Hm.", BOTH)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("written", ["{'c1': ['look', {'city': 'Oslo',},], 'c2': ['now', {}]}", "[('look', {'city': 'Oslo'}), ('now', {})]"])
def test_python_writes_them_too(name: str, written: str) -> None:
    assert read(name, written)[:2] == ("Hm.", BOTH)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ({"a": {"name": "look", "arguments": OSLO}, "b": {"name": "now", "arguments": {}}}, ["a", "b"]),
        ([["a", "look", OSLO], ["b", "now", {}]], ["a", "b"]),
        ({"c1": {"look": OSLO}}, ["c1"]),
    ],
    ids=json.dumps,
)
def test_a_key_or_a_word_beside_a_call_is_its_id(name: str, value: Any, ids: list[str]) -> None:
    assert read(name, json.dumps(value))[2] == ids


@pytest.mark.parametrize("name", FORMATS)
def test_two_calls_under_one_id_are_two(name: str) -> None:
    written = '{"c1": {"name": "look", "arguments": {"city": "Oslo"}}, "c1": {"name": "now", "arguments": {}}}'
    assert read(name, written)[:2] == ("Hm.", BOTH)


@pytest.mark.parametrize("name", FORMATS)
def test_one_word_around_one_call_is_no_id(name: str) -> None:
    _, calls, ids = read(name, json.dumps({"function": {"name": "look", "arguments": OSLO}}))
    assert calls == BOTH[:1]
    assert ids[0].startswith("call_")


@pytest.mark.parametrize(
    "value",
    [
        [["look", OSLO, 3], ["now", {}]],
        [["look", {"town": "Oslo"}]],
        [["look", OSLO], "and more"],
        {"c1": ["look", OSLO], "note": "and more", "c2": ["now", {}]},
        {"look": {"town": "Oslo"}, "now": {}},
        {"look": {}, "now": {}},
        {"look": ["Oslo"], "now": {}},
        ["look", "now"],
        [["fly", OSLO]],
    ],
    ids=json.dumps,
)
def test_a_value_of_which_something_is_no_call_is_none_by_its_shape(value: Any) -> None:
    assert read_calls(json.dumps(value), ToolSet(TOOLS), Envelope()) is None


def test_what_stands_beside_arguments_is_one_if_the_tool_has_it() -> None:
    """A part of an envelope is none, whatever parameters there are."""
    tools = ToolSet([{"name": "look", "parameters": {"properties": {key: {} for key in ("city", "days", "type")}}}])
    for key in ("arguments", "input"):
        call = {"id": "a", "type": "function", "name": "look", "days": 2, "city": "Bergen", key: OSLO}
        found = read_calls(json.dumps(call), tools, Envelope("name", "arguments", "id"))
        assert found is not None
        assert [(each.name, json.loads(each.arguments)) for each in found] == [("look", {"city": "Oslo", "days": 2})]


@pytest.mark.parametrize("key", ["id", "tool_call_id", "call_id"])
def test_an_id_is_known_by_what_messages_call_it(key: str) -> None:
    tools = ToolSet([make_tool("look", city="string"), make_tool("find", call_id="string")])
    found = read_calls(json.dumps({"name": "look", "arguments": OSLO, key: "a7"}), tools, Envelope("name", "arguments"))
    assert found is not None
    assert found[0].id == "a7"
    flat = read_calls(json.dumps({"name": "find", "call_id": "a7"}), tools, Envelope("name", "arguments"))
    assert flat is not None
    assert (flat[0].arguments, flat[0].id) == ('{"call_id": "a7"}', None)


def test_braces_may_be_doubled_as_in_a_format_string() -> None:
    for written in ('{{"name": "look", "arguments": {{"city": "Oslo"}}}}', '{"name": "look", "arguments": {{"city": "Oslo"}}}'):
        assert repair(written) == '{"name": "look", "arguments": {"city": "Oslo"}}'


@pytest.mark.parametrize("written", ['{"look": {"town": "Oslo"}}', '[["fly", {"city": "Oslo"}]]', '{"c1": ["fly", {}]}'])
def test_what_names_no_tool_or_no_parameter_is_text(written: str) -> None:
    for name, (_, form) in FORMATS.items():
        if (name, written[2:4]) != ("keyed", "c1"):  # that the template renders
            assert read(name, written)[:2] == ("Hm." + form % written, [])


@pytest.mark.parametrize("source", [OBJECTS, KEYED])
def test_brackets_that_are_missing_behind_the_arguments_are_no_loss(source: str) -> None:
    """At the end of an output that is a call alone; within arguments more may have been to come."""
    text = '{"type": "function", "function": {"name": "look", "parameters": {"city": "Oslo"}}}'
    for size in range(len(text)):
        found = read_all_ways(analyze(source), text[:size], TOOLS)
        assert found.calls == ([("look", '{"city": "Oslo"}')] if size >= len(text) - 2 else []), text[:size]


def test_a_special_token_behind_a_call_is_no_answer() -> None:
    """It is one where it is all that is left; of what is not, nothing is dropped."""
    call = '[[call]]{"tool": "look", "input": {"city": "Oslo"}}[[/call]]'
    alone = read_all_ways(analyze(OBJECTS), f"{call}<|done_now|>\n", TOOLS)
    assert (alone.content, alone.calls) == (None, [("look", '{"city": "Oslo"}')])
    beside = read_all_ways(analyze(OBJECTS), f"{call}<|done_now|> So?", TOOLS)
    assert (beside.content, beside.calls) == ("<|done_now|> So?", [("look", '{"city": "Oslo"}')])


BY_NAME = WRAPPER % (
    "{%- if m.tool_calls %}[[batch]][{%- for c in m.tool_calls %}{ {{- c.function.name | tojson }}: {{ c.function.arguments | tojson }}}"
    "{{ ', ' if not loop.last }}{% endfor %}][[/batch]]{% endif -%}"
)
"""The name of the tool is the key of its arguments."""


@pytest.mark.parametrize("between", [", ", ",", " ,\n "])
def test_calls_in_one_object_are_calls(between: str) -> None:
    text = f'[[batch]][{{"look": {{"city": "Oslo"}}{between}"now": {{}}}}][[/batch]]'
    found = read_all_ways(analyze(BY_NAME), text, TOOLS)
    assert (found.content, found.calls) == (None, BOTH)
    odd = read_all_ways(analyze(BY_NAME), text.replace("now", "later"), TOOLS)
    assert [name for name, _ in odd.calls] == ["look"]


PARTED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}[[act]]{{ c.function.name }}\n{{ c.function.arguments | tojson }}\n[[/act]]{% endfor -%}"
)
GIVEN = "c.function.arguments if c.function.arguments is string else c.function.arguments | tojson"


@pytest.mark.parametrize(
    ("source", "written"),
    [
        (KEYED, '[[batch]]{ "c1": ["look", {"days": 2}], "c2": ["look", %s], "c3": ["now", "{}"] }[[/batch]]'),
        (
            OBJECTS,
            '[[call]]{"tool": "look", "input": {"days": 2}}[[/call]][[call]]{"tool": "look", "input": %s}[[/call]]'
            '[[call]]{"tool": "now", "input": "{}"}[[/call]]',
        ),
        (NAMED, '[[act]]look[[with]]{"days": 2}[[done]][[act]]look[[with]]%s[[done]][[act]]now[[with]]"{}"[[done]]'),
        (PARTED, '[[act]]look\n{"days": 2}\n[[/act]][[act]]look\n%s\n[[/act]][[act]]now\n"{}"\n[[/act]]'),
    ],
    ids=["keyed", "objects", "named", "parted"],
)
def test_arguments_encoded_once_more_are_those_of_their_call(source: str, written: str) -> None:
    inner = '{\n  "city": "a \\\\ \\"[[done]]\\" \u00e9 \U0001f600"}'
    source = source.replace("c.function.arguments | tojson", GIVEN)
    found = read_all_ways(analyze(source), f"Hm.{written % json.dumps(inner)} Done.", TOOLS)
    assert found.calls == [("look", '{"days": 2}'), ("look", inner), ("now", "{}")]
    assert (found.content, found.recoveries[:1]) == ("Hm. Done.", ["arguments in a string"])


@pytest.mark.parametrize("tag", ["invoke", "ns:invoke", "action", "fn"])
def test_a_tag_whose_name_is_a_tool_is_a_call(tag: str) -> None:
    call = f'<{tag} name="find_route">\n<parameter name="start">Oslo</parameter>\n<parameter name="legs">2</parameter>\n</{tag}>'
    format = analyze(OBJECTS)
    found = read_all_ways(format, f"So.\n{call}\n{call}", [ROUTE_TOOL])
    assert found.content is not None
    assert (found.content.strip(), get_calls(found)) == ("So.", [("find_route", {"start": "Oslo", "legs": 2})] * 2)
    for text in (f"One writes {call} for it.", call.replace("find_route", "find_road"), call.replace("legs", "knots"), f"```\n{call}\n```\nSo."):
        found = read_all_ways(format, text, [ROUTE_TOOL])
        assert (found.content, found.calls) == (text, [])
