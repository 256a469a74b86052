"""Other signs between arguments than the template writes; what is a text stays one. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import ROUTE_TOOL, analyze, get_calls, make_call, read_all_ways, render_turn

import chat_autoparser as ca

WRAPPER = """\
{%%- for m in messages %%}{{ "<<" ~ m.role ~ ">>\\n" ~ (m.content or "") }}
{%%- for c in m.tool_calls or [] %%}{{ "\\n<<do " ~ c.function.name }}{%% for k, v in c.function.arguments.items() %%}%s{%% endfor %%}{{ ">>" }}{%% endfor %%}
{{- "<<over>>" }}{%% endfor %%}{%% if add_generation_prompt %%}{{ "<<assistant>>\\n" }}{%% endif %%}"""

JSON_VALUES = """{{ (" " if loop.first else "; ") ~ k ~ ": " ~ v | tojson }}"""
TOKENS = """{{ ("{" if loop.first else ",") ~ k ~ "=" ~ ("<^>" ~ v ~ "<^>" if v is string else v | tojson) ~ ("}" if loop.last else "") }}"""
BLANKS = """{{ " :" ~ k ~ " " ~ v | tojson }}"""

ROUTE = {"start": "Oslo, goal: \"bus\"", "legs": 3, "goal": "train"}


def parse(values: str, text: str) -> tuple[str | None, list[tuple[str, Any]], list[str]]:
    form = ca.analyze(WRAPPER % values, bos_token="<s>", eos_token="</s>")
    assert form.verdict.proven, form.verdict.counterexample
    found = read_all_ways(form, text, [ROUTE_TOOL])
    return found.content, get_calls(found), found.recoveries


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (JSON_VALUES, r' start: "Oslo, goal: \"bus\"", legs: 3, goal: "train"'),
        (JSON_VALUES, r' start: "Oslo, goal: \"bus\"" | legs: 3 | goal: "train"'),
        (JSON_VALUES, r' start: "Oslo, goal: \"bus\"" legs: 3; goal: "train"'),
        (TOKENS, '{start=<^>Oslo, goal: "bus"<^>; legs=3; goal=<^>train<^>}'),
        (TOKENS, '{start=<^>Oslo, goal: "bus"<^>legs=3,goal=<^>train<^>}'),
        (BLANKS, r' :start "Oslo, goal: \"bus\"", :legs 3, :goal "train"'),
    ],
)
def test_other_signs_between_arguments_part_them(values: str, written: str) -> None:
    content, calls, recoveries = parse(values, f"So:\n<<do find_route{written}>><<over>>")
    assert (content, calls) == ("So:", [("find_route", ROUTE)])
    assert recoveries == ["other sign between arguments"] * len(recoveries)
    assert recoveries


@pytest.mark.parametrize("values", [JSON_VALUES, TOKENS, BLANKS])
def test_a_text_that_holds_such_signs_is_read_as_it_is_rendered(values: str) -> None:
    arguments = {"start": 'a, legs: 3 | goal: "x"; legs=4 :goal 5', "legs": 1}
    message = {"content": "So:", "tool_calls": [make_call("find_route", arguments)]}
    _, text = render_turn(WRAPPER % values, message, [ROUTE_TOOL])
    assert parse(values, text) == ("So:", [("find_route", arguments)], [])


def test_what_begins_the_first_call_may_begin_a_second_one() -> None:
    template = (
        "{%- for m in messages -%}{{ m.role }}:{{ '\\n' }}{%- if m.content %}{{ m.content ~ '\\n' }}{% endif -%}"
        "{%- for c in m.tool_calls or [] %}{{ '?- ' if loop.first else '   ' }}{{ c.function.name }}("
        "{%- for k, v in c.function.arguments.items() %}{{ k }}({{ v | tojson }}){{ ', ' if not loop.last }}{% endfor -%}"
        "){{ '.\\n' if loop.last else ',\\n' }}{% endfor -%}halt.{{ '\\n' }}{%- endfor -%}"
        "{%- if add_generation_prompt %}assistant:{{ '\\n' }}{% endif -%}"
    )
    format = analyze(template)
    assert format.verdict.proven
    written = '?- find_route(start("Oslo"), legs(2)).\n?- find_route(start("Bergen")).\nhalt.\n'
    found = read_all_ways(format, written, [ROUTE_TOOL])
    assert get_calls(found) == [("find_route", {"start": "Oslo", "legs": 2}), ("find_route", {"start": "Bergen"})]
    assert found.content is None


def test_what_follows_is_no_argument_if_the_tool_has_none_of_that_name() -> None:
    content, calls, _ = parse(JSON_VALUES, '<<do find_route start: "Oslo", price: 3>><<over>>')
    assert not any("price" in arguments or "legs" in arguments for _, arguments in calls)
    assert "price" in (content or "") + json.dumps(calls)


CALLS = """{{ ("(" if loop.first else ", ") ~ k ~ "=" ~ v | tojson ~ (")" if loop.last else "") }}"""
BLOCK = 'first\n  "second"\\n\'third\'\n'


@pytest.mark.parametrize("values", [CALLS, JSON_VALUES])
@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_text_in_three_quotes_is_one(values: str, quotes: str) -> None:
    opens, sign, close = ("(", "=", ")") if values == CALLS else (" ", ": ", "")
    inner = BLOCK.replace("\\", "\\\\")
    content, calls, recoveries = parse(values, f"So:\n<<do find_route{opens}start{sign}{quotes}{inner}{quotes}{close}>><<over>>")
    assert (content, calls, recoveries) == ("So:", [("find_route", {"start": BLOCK})], ["text in three quotes"])


def test_an_empty_text_is_no_beginning_of_three_quotes() -> None:
    assert parse(CALLS, '<<do find_route(start="", goal="\\"\\"\\"")>><<over>>') == (None, [("find_route", {"start": "", "goal": '"""'})], [])


DOUBLED = """{{ (" " if loop.first else ", ") ~ k ~ "=" ~ ('"' ~ v | replace('"', '""') ~ '"' if v is string else v | tojson) }}"""


@pytest.mark.parametrize("text", ['"', '""', 'a ""b"" "c"', '"""x"""', "'''x'''"])
def test_quotes_that_a_template_doubles_are_those_of_the_text(text: str) -> None:
    written = f'<<do find_route start="{text.replace(chr(34), 2 * chr(34))}", legs=3>><<over>>'
    assert parse(DOUBLED, written) == (None, [("find_route", {"start": text, "legs": 3})], [])
