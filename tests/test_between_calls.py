"""What models put between calls, or leave out there: other signs, marks, fences and lines. The templates are invented."""

from __future__ import annotations

import pytest
from streams import ROUTE_TOOL, Reading, analyze, get_calls, read_all_ways

FRAME = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n{{ m.content or '' }}{%% if m.tool_calls %%}%s{%% endif %%}<<over>>{%% endfor -%%}"
    "{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)

SHELL = (
    "{% for c in m.tool_calls %}\n<|sh|>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    "{% if v is string %} --{{ k }}='{{ v | replace(\"'\", \"'\\\\''\") }}'{% else %} --{{ k }}:={{ v | tojson }}{% endif %}"
    "{% endfor %}{% endfor %}"
)

LINES = (
    "<|act|>{% for c in m.tool_calls %}{{ c.function.name }} <- {{ c.function.arguments | tojson }}"
    "{{ '\\n' if not loop.last }}{% endfor %}"
)

STATEMENTS = (
    "<|do|>\n{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}"
    "{{ k }}: {{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %});\n{% endfor %}<|/do|>"
)

FORMS = (
    "(do{% for c in m.tool_calls %}\n  ({{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    " :{{ k }} {{ v | tojson }}{% endfor %}){% endfor %})"
)

ROWS = (
    "\n[rows]\n| call | tool | argument | type | value |\n|---|---|---|---|---|\n{% for c in m.tool_calls %}{% set n = loop.index %}"
    "{% for k, v in c.function.arguments.items() %}| {{ n }} | {{ c.function.name }} | {{ k }} | "
    "{{ 'text' if v is string else 'number' if v is number else 'data' }} | {{ v if v is string else v | tojson }} |\n"
    "{% endfor %}{% endfor %}[/rows]"
)

BLOCK = (
    "\n<do>\n{% for c in m.tool_calls %}- name: {{ c.function.name }}\n  with:\n{% for k, v in c.function.arguments.items() %}"
    "    {{ k }}: {{ v | tojson }}\n{% endfor %}{% endfor %}</do>"
)

TWO = [("find_route", {"start": "Oslo", "legs": 3}), ("find_route", {"goal": "Bergen"})]


def read(calls: str, text: str) -> Reading:
    return read_all_ways(analyze(FRAME % calls, bos_token="<s>", eos_token="</s>"), text, [ROUTE_TOOL], "<<assistant>>\n")


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (LINES, 'Go.<|act|>find_route <- {"start": "Oslo", "legs": 3}; find_route <- {"goal": "Bergen"}'),
        (LINES, 'Go.<|act|>find_route <- {"start": "Oslo", "legs": 3}, find_route <- {"goal": "Bergen"}'),
        (STATEMENTS, 'Go.<|do|>\nfind_route(start: "Oslo", legs: 3)\nfind_route(goal: "Bergen")\n<|/do|>'),
        (STATEMENTS, 'Go.<|do|>\nfind_route(start="Oslo", legs=3)\nfind_route(goal="Bergen")\n<|/do|>'),
        (SHELL, "Go.\n<|sh|>find_route --start='Oslo' --legs:=3\nfind_route --goal='Bergen'"),
        (FORMS, 'Go.\n(find_route :start "Oslo" :legs 3)\n(find_route :goal "Bergen")'),
        (FORMS, 'Go.(do\n  (find_route :start "Oslo" :legs 3) (find_route :goal "Bergen"))'),
        (BLOCK, 'Go.\n<do>\n```yaml\n- name: find_route\n  with:\n    start: "Oslo"\n    legs: 3\n- name: find_route\n  with:\n    goal: "Bergen"\n```\n</do>'),
        (BLOCK, 'Go.\n<do>\n- tool: find_route\n  args:\n    start: "Oslo"\n    legs: 3\n- tool: find_route\n  args:\n    goal: "Bergen"\n</do>'),
        (
            ROWS,
            "Go.\n[rows]\n| call | tool | argument | type | value |\n| 1 | find_route | start | text | Oslo |\n"
            "| 1 | find_route | legs | number | 3 |\n| 2 | find_route | goal | text | Bergen |\n[/rows]",
        ),
        (
            ROWS,
            "Go.\n[rows]\n| call | tool | argument | type | value |\n|---|---|---|---|---|\n| 1 | find_route | start | string | Oslo |\n"
            "| 1 | find_route | legs | integer | 3 |\n| 2 | find_route | goal | string | Bergen |\n[/rows]",
        ),
    ],
)  # fmt: skip
def test_calls_may_be_parted_in_another_way(calls: str, text: str) -> None:
    found = read(calls, text)
    assert ((found.content or "").strip(), get_calls(found), found.incomplete) == ("Go.", TWO, set())


@pytest.mark.parametrize("between", ["\n\nAnd back.\n\n", "\nAnd back.\n", " And back. "])
def test_a_text_does_not_run_on_into_the_next_call(between: str) -> None:
    """Its end stands there, though prose follows; what follows that would be a text with quotes that are not escaped."""
    found = read(SHELL, f"Go.\n<|sh|>find_route --start='Oslo'{between}<|sh|>find_route --goal='Bergen'")
    assert get_calls(found) == [("find_route", {"start": "Oslo"}), ("find_route", {"goal": "Bergen"})]
    assert "And back." in (found.content or "")


@pytest.mark.parametrize("text", ["Bergen (by sea)", "it's <|sh|>find_route --goal='x'"])
def test_a_text_may_hold_what_looks_like_a_call(text: str) -> None:
    quoted = text.replace("'", "'\\''")
    found = read(SHELL, f"\n<|sh|>find_route --start='{quoted}' --legs:=3")
    assert get_calls(found) == [("find_route", {"start": text, "legs": 3})]


@pytest.mark.parametrize(
    "text", ["find_route is a tool.\nfind_route finds routes.", "(find_route) is a tool.", "Use\nfind_route --fast"]
)
def test_the_name_of_a_tool_in_prose_begins_no_call(text: str) -> None:
    for calls in (LINES, STATEMENTS, SHELL, FORMS, ROWS, BLOCK):
        assert read(calls, text)[1:3] == (text, [])


LABELS = (
    "{%- for m in messages -%}{{ m.role }}> {{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\nTOOL> ' ~ c.function.name }}"
    "{% for k, v in c.function.arguments.items() %} || {{ k }} = {{ v | tojson }}{% endfor %}{% endfor %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}assistant> {% endif -%}"
)


def test_a_word_that_begins_calls_does_so_where_a_line_begins() -> None:
    format = analyze(LABELS, bos_token="<s>", eos_token="</s>")
    text = 'A record is one line: TOOL> find_route || goal = "Bergen" would be one.'
    assert read_all_ways(format, text, [ROUTE_TOOL], "assistant> ")[1:3] == (text, [])
    found = read_all_ways(format, f'{text}\nTOOL> find_route || goal = "Bergen"', [ROUTE_TOOL], "assistant> ")
    assert (found.content, get_calls(found)) == (text, [("find_route", {"goal": "Bergen"})])


@pytest.mark.parametrize("opener", ["<|acts|>", "<|Act|>", "<act>", "<|act>"])
def test_a_mark_that_begins_calls_may_be_mistyped(opener: str) -> None:
    found = read(LINES, f'Go.\n{opener}find_route <- {{"legs": 3}}')
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", [("find_route", {"legs": 3})])
    prose = f'Go.\n{opener}find_path <- {{"legs": 3}}'
    assert read(LINES, prose)[1:3] == (prose, [])


def test_a_mark_in_inline_code_begins_no_call_of_a_tool_that_is_not_there() -> None:
    prose = "Each begins with `<|act|>tool_name <- {}` and ends with its line, like `<|act|>other <- {`; I call nothing."
    assert read(LINES, prose)[1:3] == (prose, [])


def test_plus_signs_are_blanks_where_a_template_writes_both_by_their_numbers() -> None:
    links = (
        "{% for c in m.tool_calls %}\n<|at|>{{ c.function.name }}?{% for k, v in c.function.arguments.items() %}"
        "{{ k }}{{ '' if v is string else ':j' }}={{ (v if v is string else v | tojson) | urlencode }}{{ '&' if not loop.last }}"
        "{% endfor %}{% endfor %}\n"
    )
    found = read(links, "Go.\n<|at|>find_route?start=S%C3%A3o+Paulo%2B&legs:j=3\n")
    assert get_calls(found) == [("find_route", {"start": "São Paulo+", "legs": 3})]
