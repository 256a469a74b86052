"""Values whose mark of type a model leaves out, or writes in another word: the schema tells what they are. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

FRAME = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n{{ m.content or '' }}{%% for c in m.tool_calls or [] %%}<|act|>{{ c.function.name }}"
    "{%% for k, v in c.function.arguments.items() %%}%s{%% endfor %%}<|/act|>{%% endfor %%}<<over>>{%% endfor -%%}"
    "{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)

TWO_MARKS = "<|k|>{{ k }}{% if v is string %}<|v|>{{ v }}{% else %}<|j|>{{ v | tojson }}{% endif %}"

IN_MARKS = (
    "<|k|>{{ k }}<|={{ 's' if v is string else 'z' if v is none else 'b' if v is boolean else 'n' if v is number else 'j' }}|>"
    "{{ v if v is string else '' if v is none else v | tojson }}"
)

IN_BRACKETS = (
    "{{ '\\n- ' ~ k }} ({{ 'text' if v is string else 'number' if v is number and v is not boolean else 'data' }}): "
    "{{ v if v is string else v | tojson }}"
)

ATTRIBUTES = (
    "<|k|>{{ k }}\" type=\"{{ 'string' if v is string else 'number' if v is number and v is not boolean else 'json' }}\">"
    "{{ v if v is string else v | tojson }}</v>"
)

TOOL = make_tool("plan", city="string", days="integer", fast="boolean", tags="array")
TOOL["function"]["parameters"]["properties"]["until"] = {"type": ["integer", "null"]}


def read(entries: str, text: str, policy: str = "lenient") -> Reading:
    format = analyze(FRAME % entries, bos_token="<s>", eos_token="</s>")
    return read_all_ways(format, f"<|act|>plan{text}<|/act|>", [TOOL], "<<assistant>>\n", policy)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "value"),
    [("days<|v|>3", {"days": 3}), ("days<|v|>three", {"days": "three"}), ("fast<|v|>true", {"fast": True}), ("city<|v|>3", {"city": "3"}),
     ('tags<|v|>["a", "b"]', {"tags": ["a", "b"]}), ("until<|v|>null", {"until": None}), ("until<|v|>None", {"until": None})],
)  # fmt: skip
def test_a_text_that_its_schema_refuses_is_what_that_says(written: str, value: dict[str, Any]) -> None:
    assert get_calls(read(TWO_MARKS, f"<|k|>city<|v|>Oslo<|k|>{written}")) == [("plan", {"city": "Oslo", **value})]
    strict = get_calls(read(TWO_MARKS, f"<|k|>{written}", "strict"))
    assert strict == [("plan", {written.partition("<")[0]: written.partition("<|v|>")[2]})]


def test_a_text_in_quotes_is_one_whatever_its_schema_says() -> None:
    quoted = "<|k|>{{ k }}={% if v is string %}'{{ v | replace(\"'\", \"\\\\'\") }}'{% else %}{{ v | tojson }}{% endif %}"
    assert get_calls(read(quoted, "<|k|>days='3'<|k|>city='Oslo'")) == [("plan", {"days": "3", "city": "Oslo"})]


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (IN_MARKS, "<|k|>city<|=|>Oslo<|k|>days<|=|>3"),
        (IN_MARKS, "<|k|>city<|=string|>Oslo<|k|>days<|=integer|>3"),
        (IN_BRACKETS, "\n- city: Oslo\n- days: 3"),
        (IN_BRACKETS, "\n- city (string): Oslo\n- days (integer): 3"),
        (ATTRIBUTES, '<|k|>city" type="str">Oslo</v><|k|>days" type="int">3</v>'),
    ],
)
def test_a_type_may_be_missing_or_stand_in_another_word(entries: str, text: str) -> None:
    assert get_calls(read(entries, text)) == [("plan", {"city": "Oslo", "days": 3})]


@pytest.mark.parametrize("word", ["null", "none", "z"])
def test_null_may_be_told_by_another_word(word: str) -> None:
    assert get_calls(read(IN_MARKS, f"<|k|>city<|=s|>Oslo<|k|>until<|={word}|>")) == [("plan", {"city": "Oslo", "until": None})]


def test_a_mark_that_ends_something_is_no_key() -> None:
    calls = (
        "{%- for c in m.tool_calls or [] %}<do><name>{{ c.function.name }}</name><in>{% for k, v in c.function.arguments.items() %}"
        "<{{ k }}>{{ v if v is string else v | tojson }}</{{ k }}>{% endfor %}</in></do>{% endfor -%}"
    )
    template = FRAME.replace("<|act|>{{ c.function.name }}", "").partition("{%% for c")[0] % () + calls + "<<over>>{% endfor -%}"
    found = read_all_ways(analyze(template), "<do><name>plan</name><in><city>Oslo</city><days>3</days></do>", [TOOL])
    assert get_calls(found) == [("plan", {"city": "Oslo", "days": 3})]


def test_a_number_is_none_that_is_the_beginning_of_a_text() -> None:
    lines = " || {{ k }} = {{ v | tojson }}"
    found = read(lines, " || city = 2025-08-15T20:00 || days = 3")
    assert get_calls(found) == [("plan", {"city": "2025-08-15T20:00", "days": 3})]
