"""What tells a value where its own text does not: the tools, a key that comes again, a number, how deep a line stands, the end of
a string. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, make_call, read_all_ways, render_turn
from test_constrain import accepts

FRAME = """\
%s
{%%- for m in messages -%%}
<<{{ m.role }}>>{{ m.content or '' }}
%s
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

STRINGS = (
    "{%- set ns = namespace(raw=[]) -%}{%- for t in tools or [] -%}{%- for k, s in t.function.parameters.properties.items() -%}"
    "{%- if s.type == 'string' -%}{%- set ns.raw = ns.raw + [k] -%}{%- endif -%}{%- endfor -%}{%- endfor -%}"
)
BY_TOOL = FRAME % (
    STRINGS,
    "{%- for c in m.tool_calls or [] %}\n[[do {{ c.function.name }}]]\n{% for k, v in c.function.arguments.items() %}"
    "<{{ k }}>{{ v if v is string and k in ns.raw else v | tojson }}</{{ k }}>\n{% endfor %}[[done]]{%- endfor -%}",
)
BY_VALUE = BY_TOOL.replace("v is string and k in ns.raw", "v is string")

NUMBERED = FRAME % (
    "",
    "{%- if m.tool_calls %}[[do]]{% for c in m.tool_calls %}\n{{ loop.index }}. {{ c.function.name }} "
    "{{ c.function.arguments | tojson }}{% endfor %}\n[[done]]{%- endif -%}",
)

LISTED = FRAME % (
    "{%- macro node(v, pad) -%}"
    "{%- if v is string -%}{%- if '\\n' in v and v | trim == v -%}"
    "{{ ' |' }}{%- for l in v.split('\\n') -%}{{ '\\n' ~ pad ~ '! ' ~ l }}{%- endfor -%}"
    "{%- else -%}{{ ' ' ~ v | tojson }}{%- endif -%}"
    "{%- elif v is mapping -%}{%- for k, x in v.items() -%}{{ '\\n' ~ pad ~ '- ' ~ k ~ ':' ~ node(x, pad ~ '  ') }}{%- endfor -%}"
    "{%- elif v is none or v is boolean or v is number -%}{{ ' ' ~ v | tojson }}"
    "{%- else -%}{%- for x in v -%}{{ '\\n' ~ pad ~ loop.index ~ '.' ~ node(x, pad ~ '    ') }}{%- endfor -%}{%- endif -%}"
    "{%- endmacro -%}",
    "{%- for c in m.tool_calls or [] %}\n[[do {{ c.function.name }}]]{{ node(c.function.arguments, '') }}\n[[done]]{%- endfor -%}",
)

PIN = {
    "note": {"type": "string"},
    "mixed": {"type": ["string", "integer"]},
    "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
    "list": {"type": "array"},
    "object": {"type": "object"},
}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "pin", "parameters": {"type": "object", "properties": PIN}}},
    {"type": "function", "function": {"name": "unpin", "parameters": {"type": "object", "properties": {}}}},
]


def render(template: str, *calls: tuple[str, dict[str, Any]]) -> str:
    """Return what a template writes behind its prompt for a turn of calls."""
    return render_turn(template, {"tool_calls": [make_call(*call) for call in calls]}, TOOLS)[1]


def check(template: str, *calls: tuple[str, dict[str, Any]]) -> None:
    """Check that what a template writes for some calls is read as these, in every way."""
    reading = read_all_ways(analyze(template), render(template, *calls), TOOLS, "<<assistant>>")
    assert get_calls(reading) == list(calls)
    assert not reading.content


@pytest.mark.parametrize(
    "arguments",
    [
        {"note": '"quoted"', "mixed": "seven", "either": "so"},
        {"note": "7", "mixed": "7", "either": "true"},
        {"mixed": 7, "either": True},
        {"note": "true", "colour": "brown", "mixed": ""},
        {"colour": "a</b>\nc", "weight": 2.5, "parts": ["7", 7, {"a": None}]},
    ],
)
def test_strings_may_be_json_unless_the_tool_declares_them(arguments: dict[str, Any]) -> None:
    check(BY_TOOL, ("pin", arguments))


def test_where_the_value_tells_quotes_belong_to_the_text() -> None:
    check(BY_VALUE, ("pin", {"note": '"quoted"', "mixed": '"seven"', "colour": "brown"}))


def test_a_grammar_writes_such_strings_as_json() -> None:
    format = analyze(BY_TOOL)
    parameters = {
        "type": "object",
        "properties": {"note": PIN["note"], "mixed": PIN["mixed"]},
        "required": ["note", "mixed"],
        "additionalProperties": False,
    }
    wanted = [{"type": "function", "function": {"name": "pin", "parameters": parameters}}]
    written = render(BY_TOOL, ("pin", {"note": "a", "mixed": "b"}))
    assert "<note>a</note>" in written
    assert '<mixed>"b"</mixed>' in written
    assert accepts(format, written, wanted)
    assert not accepts(format, written.replace('"b"', "b"), wanted)


def test_a_proof_asks_for_strings_that_are_not_declared() -> None:
    """One whose strings are marked where the tools say nothing of them, in a way in which nothing else is."""
    odd = BY_TOOL.replace("v | tojson }}</", "('~' ~ v ~ '~' if v is string else v | tojson) }}</")
    assert not analyze(odd).verdict.proven
    assert analyze(BY_TOOL).verdict.proven


def test_a_key_that_comes_again_tells_that_it_was_one() -> None:
    check(BY_TOOL, ("pin", {"note": "x", "colour": "brown", "weight": 250}), ("unpin", {}))


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_a_number_may_be_all_that_begins_a_call(count: int) -> None:
    check(NUMBERED, *[("pin", {"note": f"{number}. pin"}) for number in range(count)])


@pytest.mark.parametrize(
    "arguments",
    [
        {"list": ["a", "b", "c", "d"], "note": "x"},
        {"list": [1, 2, 3], "object": {"a": {"b": 1}, "c": "d"}},
        {"list": [[1, [2]], {"a": [3, {"b": "c"}]}, "d"], "note": "e"},
        {"object": {"a": [{"b": "line\nline"}, ["line\nline", 5]]}, "note": "two\nlines"},
        {"note": "ends with a line\n"},
        {"list": ["\n", "a\n\n", "\tb\t"], "object": {"a": "b\n"}},
    ],
)
def test_items_have_numbers_and_lists_another_depth_than_objects(arguments: dict[str, Any]) -> None:
    check(LISTED, ("pin", arguments))
