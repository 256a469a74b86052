"""Calls that few marks or none stand around: in prose, in a fence, as a command, without the marks of a format. Invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

LISTED = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{% if m.tool_calls %}[{% for c in m.tool_calls %}{{ c.function.name }}("
    "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}{% if not loop.last %}, {% endif %}{% endfor %})"
    "{% if not loop.last %}, {% endif %}{% endfor %}]{% else %}{{ m.content }}{% endif %}<<over>>{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""A list of calls as programs have them, whose texts stand without quotes; nothing marks it."""

SHELL = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% if m.tool_calls %}<run>{% for c in m.tool_calls %}"
    "{{ '\n$ ' }}{{ c.function.name }}{% for k, v in c.function.arguments.items() %} --{{ k }} {% if v is string %}'"
    "{{ v | replace(\"'\", \"''\") }}'{% else %}{{ v | tojson }}{% endif %}{% endfor %}{% endfor %}{{ '\n</run>' }}{% endif %}<<over>>\n"
    "{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""Calls as commands, each in a line."""

JSON = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% if m.tool_calls %}[CALLS][\n{% for c in m.tool_calls %}    "
    '{"call_id": "{{ loop.index0 }}", "call": {{ c.function.name | tojson }}, "with": {{ c.function.arguments | tojson }}}'
    "{% if not loop.last %},\n{% endif %}{% endfor %}\n][DONE]{% endif %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""Calls as a list of JSON, each with its number as a text."""

NAMED = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n>>>{% if m.content %}all\n{{ m.content }}{% endif %}{% for c in m.tool_calls or [] %}"
    "{% if m.content or not loop.first %}>>>{% endif %}{{ c.function.name }}\n{{ c.function.arguments | tojson }}{% endfor %}<<over>>"
    "{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n>>>{% endif -%}"
)
"""A name in its line, and JSON; the prompt has written the signs before the first one."""

GRID = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n== {{ c.function.name }} ==\n"
    "| argument | kind | value |\n|---|---|---|\n{% for k, v in c.function.arguments.items() %}| {{ k }} | "
    "{% if v is string %}text | {{ v }}{% elif v is number and v is not boolean %}count | {{ v }}{% else %}data | {{ v | tojson }}"
    "{% endif %} |\n{% endfor %}===={% endfor %}<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""Arguments as rows of a table."""

TOKENS = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}<|fn|>{{ c.function.name }}"
    "{% for k, v in c.function.arguments.items() %}<|p|>{{ k }}<|v|>{{ v if v is string else v | tojson }}{% endfor %}<|/fn|>"
    "{% endfor %}<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""Texts stand without quotes between tokens."""

TOOLS = [
    make_tool("find_route", start="string", legs="integer"),
    make_tool("list_trips"),
    make_tool("track", ["number"], number="string", carrier="string"),
    make_tool("run_code", code="string", limit="integer"),
]
ROUTE = {"start": "Oslo", "legs": 2}


def read(template: str, text: str, prompt: str = "<<assistant>>\n", policy: Any = "lenient") -> Reading:
    return read_all_ways(analyze(template), text, TOOLS, prompt, policy)


def test_a_list_of_calls_stands_behind_prose() -> None:
    found = read(LISTED, "I look that up.\n\n[find_route(start=Oslo, legs=2)]<<over>>")
    assert ((found.content or "").strip(), get_calls(found)) == ("I look that up.", [("find_route", ROUTE)])


@pytest.mark.parametrize("text", ["It is [find_route] or so.", "See [list_trips](https://trips.example) for more.", "[1] find_route"])
def test_a_tool_in_brackets_in_a_sentence_is_no_call(text: str) -> None:
    found = read(LISTED, f"{text}<<over>>")
    assert (found.content, found.calls) == (text, [])


def test_the_fence_around_a_whole_answer_that_is_calls_is_dropped() -> None:
    found = read(LISTED, '```python\n[find_route(start="Oslo", legs=2), list_trips()]\n```<<over>>')
    assert ((found.content or "").strip(), get_calls(found)) == ("", [("find_route", ROUTE), ("list_trips", {})])


def test_a_call_in_a_fence_behind_prose_is_an_example() -> None:
    text = "One writes it so:\n```python\n[find_route(start=Oslo, legs=2)]\n```\nThat is all."
    found = read(LISTED, f"{text}<<over>>")
    assert (found.content, found.calls) == (text, [])


def test_signs_in_quotes_end_no_call_where_texts_have_none() -> None:
    found = read(LISTED, """[run_code(code="a = [f(1, 2), 'b]c']; g(\\"so)\\")", limit=5)]<<over>>""")
    assert get_calls(found) == [("run_code", {"code": "a = [f(1, 2), 'b]c']; g(\"so)\")", "limit": 5})]


def test_a_command_is_a_call_without_the_mark_before_it() -> None:
    found = read(SHELL, "I look.\n$ find_route --start 'Oslo' --legs 2\n</run><<over>>\n")
    assert ((found.content or "").strip(), get_calls(found)) == ("I look.", [("find_route", ROUTE)])


def test_a_parameter_may_be_called_as_types_are() -> None:
    found = read(SHELL, "$ track --number '0042'\n</run><<over>>\n")
    assert get_calls(found) == [("track", {"number": "0042"})]


@pytest.mark.parametrize("end", ["\n][DONE]<<over>>\n", "\n]<<over>>\n"])
def test_a_number_takes_the_place_of_an_id_in_each_of_several_calls(end: str) -> None:
    text = '[CALLS][\n    {"call_id": 0, "call": "find_route", "with": {"start": "Oslo", "legs": 2}},\n    {"call_id": 1, '
    found = read(JSON, f'{text}"call": "list_trips", "with": {{}}}}{end}')
    assert ((found.content or "").strip(), get_calls(found)) == ("", [("find_route", ROUTE), ("list_trips", {})])


def test_marks_may_stand_between_a_name_and_its_arguments() -> None:
    found = read(JSON, 'So.[CALLS]find_route[CALL_ID]x8[ARGS]{"start": "Oslo", "legs": 2}<<over>>\n')
    assert ((found.content or "").strip(), get_calls(found)) == ("So.", [("find_route", ROUTE)])


def test_arguments_in_a_fence_stand_below_a_name() -> None:
    found = read(NAMED, 'find_route\n```json\n{"start": "Oslo", "legs": 2}\n```<<over>>', "<<assistant>>\n>>>")
    assert ((found.content or "").strip(), get_calls(found)) == ("", [("find_route", ROUTE)])


def test_an_answer_stands_behind_a_call_with_the_signs_that_the_prompt_has_before_the_first() -> None:
    found = read(NAMED, 'find_route\n{"start": "Oslo", "legs": 2}\n>>>all\nThere.<<over>>', "<<assistant>>\n>>>")
    assert ((found.content or "").strip(), get_calls(found)) == ("There.", [("find_route", ROUTE)])


def test_a_value_may_begin_with_a_word_of_the_format() -> None:
    text = "\n== find_route ==\n| argument | value |\n|---|---|\n| start | Kind of Oslo |\n| legs | 2 |\n====<<over>>\n"
    assert get_calls(read(GRID, text)) == [("find_route", {"start": "Kind of Oslo", "legs": 2})]


def test_a_call_begins_in_a_text_if_its_argument_has_come_already() -> None:
    """No call has an argument twice, so that the text has ended before."""
    found = read(TOKENS, "<|fn|>find_route<|p|>start<|v|>Oslo<|fn|>find_route<|p|>start<|v|>Ulm<|p|>legs<|v|>3<|/fn|><<over>>\n")
    assert get_calls(found) == [("find_route", {"start": "Oslo"}), ("find_route", {"start": "Ulm", "legs": 3})]


@pytest.mark.parametrize("policy", ["strict", "lenient", "repair"])
def test_a_text_holds_what_begins_a_call_if_it_may(policy: str) -> None:
    found = read(TOKENS, "<|fn|>run_code<|p|>code<|v|>a<|fn|>find_route<|p|>limit<|v|>5<|/fn|><<over>>\n", policy=policy)
    assert get_calls(found) == [("run_code", {"code": "a<|fn|>find_route", "limit": 5})]


def test_marks_that_close_stand_where_the_format_has_none() -> None:
    text = "<|fn|>find_route<|p|>start<|/p|><|v|>Oslo<|/v|><|p|>legs<|/p|><|v|>2<|/v|><|/fn|><<over>>\n"
    assert get_calls(read(TOKENS, text)) == [("find_route", ROUTE)]
