"""Values of another type than the schema's: under ``repair`` a client gets what the schema accepts, and all else as it was written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import analyze, get_calls, make_tool, read_all_ways

from chat_autoparser.parse.fitting import Fitting
from chat_autoparser.recover import Policy, PolicyName
from chat_autoparser.schema import Schema

TEMPLATE = (
    "{%- for m in messages -%}<{{ m.role }}>{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    '<act>{{ {"tool": c.function.name, "with": c.function.arguments} | tojson }}</act>{% endfor %}</{{ m.role }}>{% endfor -%}'
    "{%- if add_generation_prompt %}<assistant>{% endif -%}"
)
TOOL = make_tool("book", guests="integer", price="number", outdoor="boolean", dishes="array", options="object", zip="string", note="")


def read(arguments: str, policy: Policy | PolicyName = "repair") -> dict[str, Any]:
    text = f'<act>{{"tool": "book", "with": {arguments}}}</act></assistant>'
    message = read_all_ways(analyze(TEMPLATE), text, [TOOL], "<assistant>", policy)
    ((name, found),) = get_calls(message)
    assert (name, message.content) == ("book", None)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('{"guests": "4"}', {"guests": 4}),
        ('{"price": "12.50", "outdoor": "False"}', {"price": 12.5, "outdoor": False}),
        ('{"dishes": "[1, 2]", "guests": 3}', {"dishes": [1, 2], "guests": 3}),
        ('{"options": "{\\"quiet\\": true}"}', {"options": {"quiet": True}}),
        ('{"zip": 12345, "guests": " 2 "}', {"zip": "12345", "guests": 2}),
    ],
)
def test_what_the_schema_refuses_is_written_as_it_accepts_it(written: str, wanted: dict[str, Any]) -> None:
    assert read(written) == wanted
    assert read(written, "lenient") == json.loads(written)
    assert read(written, "strict") == json.loads(written)


NESTED = {
    "type": "object",
    "properties": {
        "seat": {"type": "object", "properties": {"row": {"type": "integer"}, "side": {"type": "string"}}},
        "codes": {"type": "array", "items": {"type": "integer"}},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {"on": {"type": "boolean"}}}}},
    },
}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('{"seat": {"row": "12", "side": 7, "other": "5"}}', {"seat": {"row": 12, "side": "7", "other": "5"}}),
        ('{"codes": ["1", 2, "three", "-4"], "seat": {}}', {"codes": [1, 2, "three", -4], "seat": {}}),
        (
            '{ "rows": [ [{"on": "true"}, {}], [], [ {"on": "no"} ] ], "codes": [] }',
            {"rows": [[{"on": True}, {}], [], [{"on": "no"}]], "codes": []},
        ),
        ('{"seat": [{"row": "1"}], "codes": {"row": "1"}}', {"seat": [{"row": "1"}], "codes": {"row": "1"}}),
    ],
)
def test_what_stands_deeper_is_written_as_its_schema_accepts_it(written: str, wanted: dict[str, Any]) -> None:
    tool = {"type": "function", "function": {"name": "book", "parameters": NESTED}}
    text = f'<act>{{"tool": "book", "with": {written}}}</act></assistant>'
    for policy, arguments in (("repair", wanted), ("lenient", json.loads(written))):
        found = read_all_ways(analyze(TEMPLATE), text, [tool], "<assistant>", policy)  # type: ignore[arg-type]
        assert get_calls(found) == [("book", arguments)]


def test_lists_objects_and_null_are_texts_only_where_that_is_asked_for() -> None:
    written = '{"zip": {"code": 1}, "dishes": null, "options": "{}"}'
    assert read(written, Policy(typed="schema")) == {"zip": '{"code": 1}', "dishes": None, "options": {}}
    assert read('{"zip": null}', Policy(typed="schema")) == {"zip": "null"}
    assert read('{"zip": null, "options": "{}"}') == {"zip": None, "options": {}}


@pytest.mark.parametrize(
    "written",
    [
        '{"guests": "four", "outdoor": "perhaps", "dishes": "soup"}',
        '{"zip": "12345", "note": "5", "other": "7", "guests": null, "zip2": 5}',
        '{"guests": 4.5, "options": {"guests": "4"}, "dishes": ["1"]}',
        '{"guests": "", "zip": {"code": 1}, "outdoor": []}',
    ],
)
def test_nothing_is_changed_that_the_schema_accepts_or_that_cannot_be_read_so(written: str) -> None:
    assert read(written) == json.loads(written)


def test_only_the_value_is_held() -> None:
    fitting = Fitting(Schema(TOOL["function"]["parameters"]))
    pieces = ['{"zip": "0', '1234", "gue', 'sts": "', '4', '2"', ', "note": [', '1]}']
    assert [fitting.feed(piece) for piece in pieces] == ['{"zip": "0', '1234", "gue', 'sts": ', "", "42", ', "note": [', "1]}"]


def test_a_value_that_is_cut_off_comes_as_it_was_written() -> None:
    parser = analyze(TEMPLATE).parser([TOOL], "<assistant>", policy="repair")
    deltas = [*parser.feed('<act>{"tool": "book", "with": {"guests": "4'), *parser.finish()]
    assert "".join(delta.text for delta in deltas) == '{"guests": "4'
    assert parser.incomplete_calls == {0}


@pytest.mark.parametrize("size", [1, 7000, 100_000])
def test_what_is_held_is_bounded_whatever_the_pieces(size: int) -> None:
    number, text = "7" * 4000, "7" * 20_000
    written = f'{{"guests": "{number}", "price": "{text}", "outdoor": "true"}}'
    fitting = Fitting(Schema(TOOL["function"]["parameters"]))
    found = [fitting.feed(written[at : at + size]) for at in range(0, len(written), size)]
    assert "".join([*found, fitting.finish()]) == f'{{"guests": {number}, "price": "{text}", "outdoor": true}}'


def test_the_operator_sees_it() -> None:
    parser = analyze(TEMPLATE).parser([TOOL], "<assistant>", policy="repair")
    parser.feed('<act>{"tool": "book", "with": {"guests": "4"}}</act>')
    assert [name for name, _ in parser.recoveries] == ["value of another type"]


TYPES = ("string", "integer", "number", "boolean", "array", "object")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(), st.tuples(VALUES, st.sampled_from((*TYPES, ""))), max_size=4),
    st.integers(1, 9),
    st.booleans(),
)
def test_any_split_gives_the_same_and_what_is_accepted_stays(
    members: dict[str, tuple[Any, str]], size: int, spaced: bool
) -> None:
    schema = Schema({"type": "object", "properties": {key: {"type": kind} if kind else {} for key, (_, kind) in members.items()}})
    written = json.dumps({key: value for key, (value, _) in members.items()}, indent=1 if spaced else None)
    found = []
    for pieces in ([written], [written[at : at + size] for at in range(0, len(written), size)]):
        fitting = Fitting(schema)
        found.append("".join([*map(fitting.feed, pieces), fitting.finish()]))
    assert found[0] == found[1]
    fitted = json.loads(found[0])
    assert list(fitted) == list(members)
    for key, (value, _) in members.items():
        assert fitted[key] == value or schema.get_property(key).accepts(fitted[key])
        if value is None or schema.get_property(key).accepts(value):
            assert fitted[key] == value


@given(st.text(), st.integers(1, 5))
def test_what_is_no_json_is_handed_on(text: str, size: int) -> None:
    fitting = Fitting(Schema(TOOL["function"]["parameters"]))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join([*map(fitting.feed, pieces), fitting.finish()]) == text
