"""A number or a word that more is written behind than the format knows is a text: no call has less than was written."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn

TURN = (
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL{% endfor %}<|over|>{%- endfor -%}"
    "{%- if add_generation_prompt %}<|assistant|>{% endif -%}"
)
ITEMS = "{% for k, v in c.function.arguments.items() %}ITEM{% endfor %}"
CALLS = {
    "lines": "{{ '\\n> ' ~ c.function.name }}" + ITEMS.replace("ITEM", "{{ '\\n. ' ~ k ~ ' = ' ~ v | tojson }}") + "{{ '\\n^' }}",
    "tags": "<do {{ c.function.name }}>" + ITEMS.replace("ITEM", "<in {{ k }}>{{ v | tojson }}</in>") + "</do>",
    "typed tags": "<do {{ c.function.name }}>"
    + ITEMS.replace("ITEM", "<{{ 'text' if v is string else 'data' }} {{ k }}>{{ v if v is string else v | tojson }}</>")
    + "</do>",
    "call syntax": "[[{{ c.function.name }}("
    + ITEMS.replace("ITEM", "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}")
    + ")]]",
    "flags": "$ {{ c.function.name }}" + ITEMS.replace("ITEM", " --{{ k }}={{ v | tojson }}") + ";",
}
ARGUMENTS = {"city": "Oslo", "days": 347, "unit": "celsius"}
TOOLS = [make_tool("get_weather", city="string", days="integer", unit="string")]


@pytest.mark.parametrize("written", ["347 days", "347d", "347%", "347 %", "340-347", "300 + 47", "347 (about)", "~347", "347!", "347.1.2"])
@pytest.mark.parametrize("name", CALLS)
def test_what_goes_on_is_a_text(name: str, written: str) -> None:
    source = TURN.replace("CALL", CALLS[name])
    prompt, text = render_turn(source, {"content": "Go.", "tool_calls": [make_call("get_weather", ARGUMENTS)] * 2}, TOOLS)
    assert text.count("347") == 2
    found = read_all_ways(analyze(source), text.replace("347", written), TOOLS, prompt, "repair")
    assert (found.content, get_calls(found)) == ("Go.", [("get_weather", {**ARGUMENTS, "days": written})] * 2)
    assert found.recoveries.count("value in other notation") == 2


@pytest.mark.parametrize("name", CALLS)
def test_what_ends_there_is_none(name: str) -> None:
    source = TURN.replace("CALL", CALLS[name])
    prompt, text = render_turn(source, {"content": "Go.", "tool_calls": [make_call("get_weather", ARGUMENTS)] * 2}, TOOLS)
    found = read_all_ways(analyze(source), text, TOOLS, prompt, "repair")
    assert (found.content, get_calls(found), found.recoveries) == ("Go.", [("get_weather", ARGUMENTS)] * 2, [])


UNENDED = TURN.replace("CALL", "{{ '\\n' ~ c.function.name ~ ':' }}" + ITEMS.replace("ITEM", "{{ '\\n  ' ~ k ~ ': ' ~ v | tojson }}"))
"""Nothing but the next line ends a value, and nothing ends a call."""


@pytest.mark.parametrize("line", [" \n  ", "\t\n  ", "\r\n  ", "\n\n  ", "\n", "\n    "])
def test_an_argument_may_follow_behind_other_layout(line: str) -> None:
    arguments = {"days": 347, "tags": ["a", "b"], "city": "Oslo"}
    tools = [make_tool("get_weather", city="string", days="integer", tags="array")]
    prompt, text = render_turn(UNENDED, {"content": "Go.", "tool_calls": [make_call("get_weather", arguments)]}, tools)
    found = read_all_ways(analyze(UNENDED), text.replace("\n  ", line), tools, prompt, "repair")
    assert (found.content, get_calls(found)) == ("Go.", [("get_weather", arguments)])


def test_no_unit_stands_on_the_next_line() -> None:
    prompt, text = render_turn(UNENDED, {"content": "Go.", "tool_calls": [make_call("get_weather", {"days": 347})]}, TOOLS)
    found = read_all_ways(analyze(UNENDED), text.replace("347", "347\nThat is it."), TOOLS, prompt, "repair")
    assert (found.content, get_calls(found)) == ("Go.\nThat is it.", [("get_weather", {"days": 347})])
    found = read_all_ways(analyze(UNENDED), text.replace("347", "347 in all."), TOOLS, prompt, "repair")
    assert (found.content, get_calls(found)) == ("Go.", [("get_weather", {"days": "347 in all."})])


def test_a_sign_too_many_behind_a_list_ends_no_call() -> None:
    source, arguments = TURN.replace("CALL", CALLS["typed tags"]), {"tags": ["a"], "note": "a b", "days": 3}
    tools = [make_tool("get_weather", tags="array", note="string", days="integer")]
    prompt, text = render_turn(source, {"content": "Go.", "tool_calls": [make_call("get_weather", arguments)]}, tools)
    found = read_all_ways(analyze(source), text.replace('["a"]', '["a"],').replace("3", "3,"), tools, prompt, "repair")
    assert (found.content, get_calls(found)) == ("Go.", [("get_weather", arguments)])


def test_a_key_may_follow_a_number_with_nothing_between() -> None:
    items = ITEMS.replace("ITEM", "{{ k }}={{ v | tojson }}")
    source, arguments = TURN.replace("CALL", "[[{{ c.function.name }}(" + items + ")]]"), {"days": 347, "late": True, "city": "Oslo"}
    tools = [make_tool("get_weather", city="string", days="integer", late="boolean")]
    prompt, text = render_turn(source, {"content": "Go.", "tool_calls": [make_call("get_weather", arguments)] * 2}, tools)
    found = read_all_ways(analyze(source), text, tools, prompt, "repair")
    assert (found.content, get_calls(found), found.recoveries) == ("Go.", [("get_weather", arguments)] * 2, [])
