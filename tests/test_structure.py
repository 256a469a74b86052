"""What counts as structure where something is missing: the next call in the same marks, what begins a thought, the end of a turn that is
the end of its calls. The templates are invented."""

from __future__ import annotations

import pytest
from streams import ROUTE_TOOL, Reading, analyze, get_calls, make_tool, read_all_ways

TURNS = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n%s<<over>>\n{%% endfor -%%}"
    "{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)
SAID = "{{ m.content or '' }}"
FIELDS = "{% for k, v in c.function.arguments.items() %}{{ k }}: {{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}"
BEHIND = TURNS % f"{{% for c in m.tool_calls or [] %}}[[act]]do:{{{{ c.function.name }}}}({FIELDS})[[/act]]{{% endfor %}}{SAID}"
"""An answer stands behind its calls."""
LAST = TURNS % (
    SAID
    + "{% for c in m.tool_calls or [] %}\n:::do\n{{ c.function.name }}\n{% for k, v in c.function.arguments.items() %}"
    + "{{ '| ' ~ k ~ ' | ' ~ (v | tojson) ~ ' |\n' }}{% endfor %}:::{% endfor %}\n"
    + "{% if m.reasoning_content %}<why>{{ m.reasoning_content }}</why>\n{% endif %}"
)
"""So does a thought."""
STATEMENTS = TURNS % (
    "{% if m.reasoning_content %}[think]{{ m.reasoning_content }}[/think]{% endif %}"
    + SAID
    + "{% for c in m.tool_calls or [] %}{{ '[py]\n' if loop.first }}{{ c.function.name }}("
    + FIELDS.replace(": ", "=")
    + "){{ '  # ' ~ c.id if c.id }}{{ '\n' }}{{ '[/py]' if loop.last }}{% endfor %}"
)
"""Nothing ends calls but what ends their turn."""
LABELS = TURNS % (
    SAID
    + "{% for c in m.tool_calls or [] %}\n<ask>\nname: {{ c.function.name }}\nargs: {{ c.function.arguments | tojson }}\n</ask>{% endfor %}"
)
FORMS = TURNS % (
    SAID
    + "{% for c in m.tool_calls or [] %}\n(go {{ c.function.name }} {% raw %}{{% endraw %}{% for k, v in c.function.arguments.items() %}"
    + '"{{ k }}" {{ v | tojson }}{{ ", " if not loop.last }}{% endfor %}})' + "{% endfor %}"
)
"""No sign stands between a key and its value."""
OSLO = [("find_route", {"start": "Oslo"})]


def read(source: str, text: str) -> Reading:
    return read_all_ways(analyze(source), text, [ROUTE_TOOL, make_tool("now")], "<<assistant>>\n")


@pytest.mark.parametrize(("between", "end"), [("", "[[/act]]"), ("\n", "[[/act]]"), ("", "")])
def test_calls_in_the_marks_of_one_are_calls_where_an_answer_may_follow_them(between: str, end: str) -> None:
    found = read(BEHIND, f'[[act]]do:find_route(start: "Oslo"){between}do:find_route(goal: "Bergen", legs: 2){end}<<over>>')
    assert (found.content, get_calls(found)) == (None, [*OSLO, ("find_route", {"goal": "Bergen", "legs": 2})])
    assert "call ended early" not in found.recoveries


def test_a_mark_that_begins_a_thought_ends_a_call_without_its_end() -> None:
    found = read(LAST, 'Let me see.\n:::do\nfind_route\n| start | "Oslo" |\n<why>They go there.</why>\n<<over>>')
    assert ((found.content or "").strip(), found.reasoning, get_calls(found)) == ("Let me see.", "They go there.", OSLO)


def test_a_call_that_a_thought_goes_on_behind_is_not_made_where_nothing_but_the_turn_ends_calls() -> None:
    thought = 'I might write [py]\nfind_route(start="Oslo")\n[/py] but they only greet.'
    found = read(STATEMENTS, f"[think]{thought}[/think]Hello!<<over>>")
    assert (found.reasoning, found.content, found.calls) == (thought, "Hello!", [])
    made = read(STATEMENTS, '[think]I write it.\n[py]\nfind_route(start="Oslo")\n[/py]<<over>>')
    assert (made.content, get_calls(made)) == (None, OSLO)


@pytest.mark.parametrize("end", ["\n</ask>", "\n</ask>\n<<over>>"])
def test_a_name_may_stand_behind_its_arguments(end: str) -> None:
    found = read(LABELS, f'Go.\n<ask>\nargs: {{"start": "Oslo"}}\nname: find_route{end}')
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", OSLO)


@pytest.mark.parametrize(
    "written", ['args: {"start": "ask find_route"}', 'args: {"start": "Oslo"}\nname: find_way', 'start and find_route'],
)
def test_what_has_no_name_behind_its_arguments_is_text(written: str) -> None:
    text = f"Go.\n<ask>\n{written}\n</ask>"
    found = read(LABELS, text)
    assert ((found.content or "").strip(), found.calls) == (text, [])


def test_a_sign_that_the_format_has_not_makes_no_other_value() -> None:
    found = read(FORMS, 'Go.\n(go find_route {"start": "Oslo", "legs": 2})<<over>>')
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", [("find_route", {"start": "Oslo", "legs": 2})])
    assert get_calls(read(FORMS, '\n(go find_route {"start" "Oslo", "legs" 2})<<over>>')) == [("find_route", {"start": "Oslo", "legs": 2})]


@pytest.mark.parametrize("text", ["\n(go now", "\n(go nowhere"])
def test_a_name_without_the_end_of_its_call_is_that_of_a_tool_of_the_request(text: str) -> None:
    found = read(FORMS, f"Go.{text}<<over>>")
    assert ((found.content or "").strip(), get_calls(found)) == (("Go.", [("now", {})]) if text.endswith("now") else (f"Go.{text}", []))


MARGINS = TURNS % (
    "{% if m.reasoning_content %}{% for line in m.reasoning_content.split('\n') %}{{ '~ ' ~ line ~ '\n' }}{% endfor %}{% endif %}"
    + "{% if m.content %}{% for line in m.content.split('\n') %}{{ '> ' ~ line ~ '\n' }}{% endfor %}{% endif %}"
    + "{% for c in m.tool_calls or [] %}! {{ c.function.name }} {{ c.function.arguments | tojson }}\n{% endfor %}"
)
"""Each line says what it is."""


@pytest.mark.parametrize("text", ["~They greet.\n>Hello!\n<<over>>", "~ They greet.\n>Hello!\n<<over>>"])
def test_a_mark_with_which_each_turn_begins_may_have_other_layout_behind_it(text: str) -> None:
    found = read(MARGINS, text)
    assert ((found.reasoning or "").strip(), (found.content or "").strip(), found.calls) == ("They greet.", "Hello!", [])


def test_a_thought_that_a_template_writes_last_may_stand_first() -> None:
    found = read(LAST, "<why>They greet.</why>\nHello!\n<<over>>")
    assert ((found.reasoning or "").strip(), (found.content or "").strip(), found.calls) == ("They greet.", "Hello!", [])


SLASHED = TURNS % (
    "{% if m.reasoning_content %}/* {{ m.reasoning_content }} */\n{% endif %}"
    + SAID
    + "{% for c in m.tool_calls or [] %}\nCALL {{ c.function.name }} {{ c.function.arguments | tojson }};\nCOMMIT;{% endfor %}"
)
"""Signs without a word end a thought."""


def test_signs_that_end_a_thought_may_have_a_line_of_their_own() -> None:
    found = read(SLASHED, "/* They greet.\n*/\nHello!<<over>>")
    assert (found.reasoning, found.content) == ("They greet.", "Hello!")
    shown = "It is\n```c\n/* x\n*/\n```\nas they say."
    found = read(SLASHED, f"/* {shown} */\nHello!<<over>>")
    assert (found.reasoning, found.content) == (shown, "Hello!")


LINED = TURNS % (
    "{% if m.reasoning_content %}@muse\n{{ m.reasoning_content }}\n@@\n{% endif %}"
    + "{% if m.content %}@speak\n{{ m.content }}\n@@\n{% endif %}"
    + "{% for c in m.tool_calls or [] %}@do {{ c.function.name }}\n{{ c.function.arguments | tojson }}\n@@\n{% endfor %}"
)
"""Each mark has a line."""


def test_an_answer_may_begin_with_its_line_behind_a_call() -> None:
    found = read(LINED, '@do find_route\n{"start": "Oslo"}\n@@\n@speak\nI look.\n@@\n<<over>>')
    assert ((found.content or "").strip(), get_calls(found)) == ("I look.", OSLO)


BLOCKS = TURNS % (
    SAID
    + "{% for c in m.tool_calls or [] %}\n[[act]]\ntool: {{ c.function.name }}\nargs:\n{% for k, v in c.function.arguments.items() %}  {{ k }}: "
    + "{{ '|\n    ' ~ v.replace('\n', '\n    ') if v is string and '\n' in v else v | tojson }}\n{% endfor %}[[/act]]{% endfor %}"
)
"""A text of several lines is indented."""


@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_a_mark_that_a_line_ends_may_have_a_sign_more(sign: str) -> None:
    found = read(BLOCKS, f"[[act]]\ntool: find_route\nargs:\n  start: |{sign}\n    Oslo\n    S\n  legs: 2\n[[/act]]<<over>>")
    assert get_calls(found) == [("find_route", {"start": "Oslo\nS", "legs": 2})]


TABLES = TURNS % (
    SAID
    + "{% for c in m.tool_calls or [] %}\n\n| TOOL | {{ c.function.name }} |\n|------|------|\n"
    + "{% for k, v in c.function.arguments.items() %}| .{{ k }} | {{ v | tojson }} |\n{% endfor %}{% endfor %}\n==end==\n"
)


def test_the_rule_of_a_table_may_have_any_length() -> None:
    padded = '| TOOL   | find_route |\n|--------|------------|\n| .start | "Oslo"     |\n| .legs  | 2          |\n'
    found = read(TABLES, f"\n\n{padded}\n==end==\n<<over>>")
    assert get_calls(found) == [("find_route", {"start": "Oslo", "legs": 2})]
