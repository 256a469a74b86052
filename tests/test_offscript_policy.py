"""Policies and recoveries over formats derived from real templates: the same call, or the whole text; never less."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from streams import Reading, get_calls, read, read_all_ways
from templates import SAMPLES, TOOLS, get_format, open_calls, write_calls, write_lead, write_prompt

from chat_autoparser import analyze
from chat_autoparser.format.cut import find_common_start
from chat_autoparser.recover import Policy, PolicyName, get_policy
from chat_autoparser.recover.repair import repair
from chat_autoparser.schema import Schema

SHAPES = sorted(SAMPLES)
FIND: dict[str, Any] = {"habitat": "pen twelve", "limit": 3}
TAGS, TAGGED = "JSON in tags", "tagged arguments"


def read_with(shape: str, text: str, policy: Policy | PolicyName, tools: Any = TOOLS) -> Reading:
    """Read a text behind the prompt by character."""
    return read(get_format(shape), text, tools, write_prompt(shape), policy)


def list_damages(text: str) -> list[str]:
    """A call with each of its marks dropped or doubled, one at a time."""
    places = [found.span() for found in re.finditer(r"</?[^<>\s]+>|[{}\[\]()\"':,]", text)]
    return [text[:a] + text[a:b] * count + text[b:] for a, b in places for count in (0, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_damaged_call_is_the_same_call_or_text_with_all_of_its_words(shape: str) -> None:
    lead, _ = write_lead(shape)
    for damaged in list_damages(write_calls(shape, ("find_okapi", FIND))):
        reading = read_all_ways(get_format(shape), lead + damaged, TOOLS, write_prompt(shape))
        shown = " ".join([reading.content or "", reading.reasoning or "", *(f"{n} {a}" for n, a in reading.calls)])
        for word in ("find_okapi", "pen", "twelve"):
            assert word in shown or word not in damaged, damaged


@pytest.mark.parametrize("key", ["parameters", "args", "input"])
def test_an_envelope_with_another_key_never_makes_a_call_without_arguments(key: str) -> None:
    written = json.dumps({"name": "find_okapi", key: FIND})
    text = f"<tool_call>\n{written}\n</tool_call>"
    assert get_calls(read_with(TAGS, write_lead(TAGS)[0] + text, "lenient")) == [("find_okapi", FIND)]


def test_strict_recovers_nothing() -> None:
    text = write_lead(TAGS)[0] + '<tool_call>\n{"name": "find_okapi", "parameters": {"limit": 3}}\n</tool_call>'
    found = read_with(TAGS, text, "strict")
    assert (found.calls, found.recoveries) == ([], [])
    assert "find_okapi" in (found.content or "")


@pytest.mark.parametrize("policy", ["strict", "lenient", "repair"])
@pytest.mark.parametrize("shape", SHAPES)
def test_policies_read_alike_what_a_template_renders(shape: str, policy: PolicyName) -> None:
    reasoning = write_lead(shape)[1]
    lead = open_calls(shape) if SAMPLES[shape].headed and not reasoning else write_lead(shape)[0]
    text = lead + write_calls(shape, ("find_okapi", FIND))
    lenient, other = read_with(shape, text, "lenient"), read_with(shape, text, policy)
    assert (lenient.reasoning, lenient.calls) == (reasoning, other.calls)
    assert other.calls


@cache
def find_value_end(shape: str) -> str:
    """What stands behind every string: no template that escapes nothing keeps a value apart from that if it holds it."""
    text = write_calls(shape, ("find_okapi", {"habitat": "pen twelve", "zone": "north"}))
    one, two = (text.partition(word)[2] for word in ("pen twelve", "north"))
    shared = one[: find_common_start(one, two)]
    return (shared[: shared.rindex(">") + 1] if ">" in shared else shared).strip()


@cache
def list_marks(shape: str) -> list[str]:
    """What stands between the words of two calls, whole and by its tags and lines."""
    text = write_calls(shape, ("find_okapi", FIND), *[("send_card", {"greeting": "hi"})][: not SAMPLES[shape].single])
    words = re.split(r"find_okapi|pen twelve|send_card|hi(?=\W)|3", text)
    return sorted({*words, *re.findall(r"</?[^<>\n]*>?|\n", text), *(f"{word}limit" for word in words), "find_okapi"} - {""})


@pytest.mark.parametrize("policy", ["strict", "lenient"])
@pytest.mark.parametrize("shape", SHAPES)
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_what_a_template_renders_is_read_as_rendered_whatever_a_value_holds(
    shape: str, policy: Literal["strict", "lenient"], data: st.DataObject
) -> None:
    """With recoveries a text ends where another argument begins that may come, whether its end was left out or not, and where a call
    begins whose first argument has come already."""
    end = find_value_end(shape)
    held = ("limit", "habitat") if policy == "lenient" else ()
    marks = [mark for mark in list_marks(shape) if end not in mark and not any(key in mark for key in held)]
    pieces = st.sampled_from([*marks, "x", " ", "3"])
    value = "x" + "".join(data.draw(st.lists(pieces, max_size=8))) + "x"
    assume(end not in value)
    arguments = {"habitat": value} | data.draw(st.sampled_from([{}, {"limit": 3}]))
    text = open_calls(shape) + write_calls(shape, ("find_okapi", arguments))
    ((_, found),) = read_with(shape, text, policy).calls
    assert json.loads(found) == arguments


def test_what_ends_all_calls_twice_within_a_value_ends_none() -> None:
    arguments = {"habitat": "x</habitat></tool_call></tool_call>x"}
    text = open_calls("nested markup") + write_calls("nested markup", ("find_okapi", arguments))
    ((_, found),) = read_with("nested markup", text, "lenient").calls
    assert json.loads(found) == arguments


def test_escapes_behind_what_could_end_a_call_stay_in_their_places() -> None:
    arguments = {"habitat": 'a</function_calls>\nb "c" d'}
    text = write_calls("call syntax", ("find_okapi", arguments))
    reading = read_all_ways(get_format("call syntax"), text, TOOLS, write_prompt("call syntax"))
    assert get_calls(reading) == [("find_okapi", arguments)]


def test_the_end_of_a_value_may_be_doubled() -> None:
    text = write_lead(TAGGED)[0] + write_calls(TAGGED, ("find_okapi", FIND))
    damaged = text.replace("</parameter>", "</parameter>\n</parameter>", 1)
    assert damaged != text
    ((_, arguments),) = read_with(TAGGED, damaged, "lenient").calls
    assert json.loads(arguments) == FIND


def test_the_end_of_a_value_may_be_missing() -> None:
    """A text with the mark of another argument in it is a value that a template renders, too: one that nobody writes by chance."""
    text = write_lead(TAGGED)[0] + write_calls(TAGGED, ("find_okapi", FIND))
    first, both = text.replace("</parameter>\n", "", 1), text.replace("</parameter>\n", "")
    for damaged in (first, both):
        ((_, arguments),) = read_with(TAGGED, damaged, "lenient").calls
        assert json.loads(arguments) == FIND
    ((_, arguments),) = read_with(TAGGED, first, "strict").calls
    assert json.loads(arguments) == {"habitat": "pen twelve\n<parameter=limit>\n3"}


def test_the_mark_that_ends_a_call_ends_arguments_that_lack_a_bracket() -> None:
    text = write_calls(TAGS, ("find_okapi", FIND), ("send_card", {"greeting": "hi"})).replace("}}\n", "\n", 1)
    calls = read_with(TAGS, write_lead(TAGS)[0] + text, "lenient").calls
    assert [name for name, _ in calls] == ["find_okapi", "send_card"]
    assert "</" not in calls[0][1]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": "one\ntwo"}', {"a": "one\ntwo"}),
        ("{a: (1, 2)}", {"a": [1, 2]}),
        ("{'a': {'x', 'y'}}", {"a": ["x", "y"]}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a": 1', None),
        ("{nonsense here}", None),
    ],
)
def test_what_is_almost_json_is_made_json_or_left_alone(written: str, expected: Any) -> None:
    mended = repair(written)
    assert (None if mended is None else json.loads(mended)) == expected


def test_valid_json_is_never_written_anew() -> None:
    for text in ('{"a" :1 , "b":[ ]}', '"x"', "[1e5, -0.10]", '{"a": "\\u00e9\\/"}'):
        assert repair(text) == text


def test_repair_makes_arguments_valid() -> None:
    text = '<tool_call>\n{"name": "find_okapi", "arguments": {"limit": 3, "open": True,}}\n</tool_call>'
    lead = write_lead(TAGS)[0]
    ((_, as_written),) = read_with(TAGS, lead + text, "lenient").calls
    ((_, repaired),) = read_with(TAGS, lead + text, "repair").calls
    assert as_written == '{"limit": 3, "open": True,}'
    assert json.loads(repaired) == {"limit": 3, "open": True}


def test_habits_are_switches() -> None:
    lead = write_lead(TAGS)[0]
    unknown = lead + write_calls(TAGS, ("ask_keeper", FIND), ("find_okapi", FIND))
    assert [name for name, _ in read_with(TAGS, unknown, Policy()).calls] == ["ask_keeper", "find_okapi"]
    assert [name for name, _ in read_with(TAGS, unknown, Policy(unknown="drop")).calls] == ["find_okapi"]
    cut = lead + '<tool_call>\n{"name": "find_okapi", "arguments": {"habitat": "pen tw'
    assert read_with(TAGS, cut, Policy()).calls == [("find_okapi", '{"habitat": "pen tw')]
    assert read_with(TAGS, cut, Policy(cut="drop")).calls == []
    ((_, completed),) = read_with(TAGS, cut, Policy(cut="complete")).calls
    assert json.loads(completed) == {"habitat": "pen tw"}
    whole = lead + write_calls(TAGS, ("find_okapi", FIND))
    assert read_with(TAGS, whole, Policy(unasked="drop"), []).calls == []
    assert "find_okapi" not in (read_with(TAGS, whole, Policy(unasked="drop"), []).content or "")
    assert "find_okapi" in (read_with(TAGS, whole, Policy(), []).content or "")


@pytest.mark.parametrize("written", ['{"habitat": pen tw', '{"habitat" "pen'])
def test_what_nothing_completes_is_handed_on_as_written(written: str) -> None:
    text = write_lead(TAGS)[0] + f'<tool_call>\n{{"name": "find_okapi", "arguments": {written}'
    assert read_with(TAGS, text, Policy(cut="complete")).calls == [("find_okapi", written)]


def test_a_policy_has_a_name() -> None:
    assert get_policy("strict") == Policy(recover=False)
    with pytest.raises(ValueError, match="no policy is called 'kind'"):
        get_policy("kind")  # type: ignore[arg-type]


def test_fields_may_stand_behind_the_name_of_a_policy() -> None:
    named: Any = "repair, typed=written,unknown = text"
    assert get_policy(named) == Policy(repair=True, unknown="text")
    for odd, match in (("repair, recover=no", "recover"), ("strict, cut=nope", "cut: 'nope'"), ("lenient, nothing=1", "nothing"), ("lenient,", "''")):
        with pytest.raises(ValueError, match=match):
            get_policy(odd)  # type: ignore[arg-type]


def test_a_field_of_a_policy_has_no_other_values() -> None:
    with pytest.raises(ValueError, match=r"^cut: 'nope' is none of keep, complete, drop, text$"):
        Policy(cut="nope")  # type: ignore[arg-type]
    for field in fields(Policy):
        for value in get_args(get_type_hints(Policy)[field.name]) or (True, False):
            assert getattr(replace(Policy(), **{field.name: value}), field.name) == value
        assert replace(Policy(), **{field.name: field.default}) == Policy()  # type: ignore[arg-type]
        with pytest.raises((ValueError, TypeError)):
            replace(Policy(), **{field.name: "nope"})  # type: ignore[arg-type]


def test_no_policy_is_none() -> None:
    with pytest.raises(TypeError, match="None"):
        get_policy(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"enum": ["ok", None]}, [None, "ok"], ["null"]),
        ({"anyOf": [{"type": "string", "enum": ["auto"]}, {"type": "integer"}]}, [7, "auto"], ["7"]),
        ({"const": 1}, [1], [True, "1"]),
        ({"type": "string", "nullable": True}, [None, "x"], [3]),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": "integer"}]}, [3], ["3"]),
        ({}, [None, 1, "x", []], []),
    ],
)
def test_what_a_schema_accepts(schema: Any, accepted: list[Any], refused: list[Any]) -> None:
    assert all(Schema(schema).accepts(value) for value in accepted)
    assert not any(Schema(schema).accepts(value) for value in refused)


@pytest.mark.parametrize("keys", [("anyOf",), ("allOf", "oneOf", "anyOf")])
def test_a_schema_that_leads_to_itself_many_times_is_asked_once(keys: tuple[str, ...]) -> None:
    """Sixty-four ways to itself, and from each of them as many again, would never be over."""
    schema = Schema({key: [{"$ref": "#"}, *[{"allOf": [{"$ref": "#"}]}] * 63] for key in keys})
    assert schema.accepts("x")
    assert schema.get_types() == ()
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5000):
        deep = {"anyOf": [{"type": "integer"}, deep]}
    assert Schema(deep).accepts(3)
    assert Schema(deep).get_types() == ("integer",)



JSON_IN_JSON = """{% for m in messages %}{{ '<|' + m.role + '|>' }}{{ m.content or '' }}{% for c in m.tool_calls or [] -%}
<call>{{ {'name': c.function.name, 'arguments': c.function.arguments | tojson} | tojson }}</call>{% endfor %}<|end|>{% endfor -%}
{% if add_generation_prompt %}<|assistant|>{% endif %}"""


@pytest.mark.parametrize("policy", ["strict", "lenient", "repair"])
def test_arguments_inside_of_a_string_are_read_in_any_pieces(policy: PolicyName) -> None:
    arguments = {"habitat": 'pen "twelve"\n[1]', "limit": 3, "tags": ["mm", {"deep": True}]}
    text = "<call>" + json.dumps({"name": "find_okapi", "arguments": json.dumps(arguments)}) + "</call>"
    form = analyze(JSON_IN_JSON)
    for size in (1, 2, 3, 4, 5, len(text)):
        found = read(form, [text[at : at + size] for at in range(0, len(text), size)], TOOLS, policy=policy)
        assert (found.content, get_calls(found)) == (None, [("find_okapi", arguments)]), size
