"""Calls in lines of their own without the mark that begins calls, in words and signs of the format or none. Invented."""

from __future__ import annotations

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

_HEAD = "{%- for m in messages -%}<<{{ m.role }}>>\n"
_TAIL = "<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"

TABLE = (
    _HEAD + "{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n%% use {{ c.function.name }}\n| key | value |\n"
    "{% for k, v in c.function.arguments.items() %}| {{ k }} | {{ v | tojson }} |\n{% endfor %}%%{% endfor %}" + _TAIL
)
"""Arguments as rows of a table, with a head, between two marks."""

PATHS = (
    _HEAD + "{% if m.content %}say = {{ m.content | tojson }}\n{% endif %}{% for c in m.tool_calls or [] %}"
    "run[{{ loop.index0 }}].tool = {{ c.function.name | tojson }}\n{% for k, v in c.function.arguments.items() %}"
    "run[{{ loop.index0 }}].with[{{ k | tojson }}] = {{ v | tojson }}\n{% endfor %}{% endfor %}" + _TAIL
)
"""Everything is an assignment."""

SCRIPT = (
    _HEAD + "{% if m.reasoning_content %}<<muse>>{{ m.reasoning_content }}<</muse>>{% endif %}{{ m.content or '' }}"
    "{% if m.tool_calls %}\n<|script|>{% for c in m.tool_calls %}\nCALL {{ c.function.name }}("
    "{% for k, v in c.function.arguments.items() %}{{ k }} := {{ v | tojson }}{% if not loop.last %}, {% endif %}{% endfor %});"
    "{% endfor %}\n<|/script|>{% endif %}" + _TAIL
)
"""Calls as statements between two marks."""

LISTED = (
    _HEAD + "{{ m.content or '' }}{% if m.tool_calls %}[{% for c in m.tool_calls %}{{ c.function.name }}("
    "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]{% endif %}" + _TAIL
)
"""Calls in brackets, and nothing else."""

TOOLS = [make_tool("find_route", start="string", legs="integer"), make_tool("list_trips")]
ROUTE = ("find_route", {"start": "Oslo", "legs": 2})


def read(template: str, text: str) -> Reading:
    return read_all_ways(analyze(template), text, TOOLS, "<<assistant>>\n")


@pytest.mark.parametrize(
    ("template", "text", "content"),
    [
        (TABLE, '%% find_route\n| start | "Oslo" |\n| legs | 2 |\n%%<<over>>', None),
        (TABLE, 'One moment.\n## use find_route\n| key | value |\n|---|---|\n| start | "Oslo" |\n| legs | 2 |\n%%<<over>>', "One moment."),
        (TABLE, 'One moment.\n\n| use | find_route |\n| start | Oslo |\n| legs | 2 |\n', "One moment."),
        (PATHS, 'run.tool = find_route\nrun.start = "Oslo"\nrun.legs = 2\n<<over>>', None),
        (SCRIPT, 'find_route(start := "Oslo", legs := 2);\n<|/script|><<over>>', None),
        (SCRIPT, 'I look.\nCALL find_route(start="Oslo", legs=2)<<over>>', "I look."),
        (SCRIPT, '<<muse>>Look.<</muse>>\n-> find_route: {"start": "Oslo", "legs": 2}<<over>>', None),
    ],
)
def test_a_line_that_names_a_tool_and_its_arguments_begins_a_call(template: str, text: str, content: str | None) -> None:
    found = read(template, text)
    assert ((found.content or "").strip() or None, get_calls(found)) == (content, [ROUTE])


@pytest.mark.parametrize(
    "text",
    [
        "These are the tools:\n- find_route: finds a route from a start in so many legs\n- list_trips: lists all trips",
        "- find_route\n- list_trips\n\nWhich of them?",
        'To look it up, write\n\nCALL find_route(start := "Oslo", legs := 2);\n\nat the prompt.',
        "Routes:\n- start: Oslo\n- legs: 2\n\nThat is what find_route says.",
        "find_route wants a start and the number of legs.",
        'Like this:\n```\nCALL find_route(start := "Oslo", legs := 2);\n```',
    ],
)
def test_lines_that_speak_of_tools_are_text(text: str) -> None:
    for template in (TABLE, SCRIPT):
        found = read(template, f"{text}<<over>>")
        assert (found.content, found.calls) == (text, [])


def test_a_line_that_speaks_of_a_tool_is_not_held_back() -> None:
    parser = analyze(SCRIPT).parser(TOOLS, "<<assistant>>\n")
    text = "The tools:\n- find_route: finds a way from a start to where one wants to be, whatever that is, in so many legs\n" * 3
    held = 0
    for end in range(1, len(text) + 1):
        held = 0 if parser.feed(text[end - 1 : end]) else held + 1
        assert held < 100


def test_what_comes_with_the_end_of_a_call_does_not_tell_whether_it_is_one() -> None:
    call = 'find_route(start := "Oslo", legs := 2);\n<|/script|>'
    found = read(SCRIPT, f"{call} And here is much more that is no call, with '(quotes' and <tags in it.\n- one\n- two<<over>>")
    assert get_calls(found) == [ROUTE]
    assert (found.content or "").strip().startswith("And here")


@pytest.mark.parametrize("lead", ["I look.\n\n", "I look.\n"])
@pytest.mark.parametrize("end", ["<<over>>", "", "<|eom|>"])
def test_what_a_template_writes_alone_is_a_call_behind_prose(lead: str, end: str) -> None:
    found = read(LISTED, f'{lead}[find_route(start="Oslo", legs=2)]{end}')
    assert ((found.content or "").strip(), get_calls(found)) == ("I look.", [ROUTE])
