"""What nobody wrote is no argument, no key and no value. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import read_all_ways
from test_slips import make_tool

import chat_autoparser as ca

LINES = """\
{%%- for m in messages -%%}
{{ "~~ " ~ m.role ~ "\\n" ~ (m.content or "") }}
{%%- for c in m.tool_calls or [] %%}{{ "\\n%(call)s " ~ c.function.name ~ %(id)s }}
{%%- for k, v in c.function.arguments.items() %%}{{ "\\n" ~ k }}
{%%- if v is string %%}{{ "%(text)s" ~ v | replace("\\\\", "\\\\\\\\") | replace("\\n", "\\\\n") }}
{%%- else %%}{{ "%(other)s" ~ v | tojson }}{%% endif %%}{%% endfor %%}{{ "\\n%(end)s" }}
{%%- endfor %%}{{ "\\n~~ over\\n" }}
{%%- endfor %%}
{%%- if add_generation_prompt %%}{{ "~~ assistant\\n" }}{%% endif %%}
"""
"""A call is a block of lines; a text is one line, in which line breaks are escaped."""

TYPED = LINES % {"text": "=", "other": ":=", "call": "!do", "end": "!done", "id": "' #' ~ c.id"}
ARROWS = LINES % {"text": " -> ", "other": " => ", "call": "::act", "end": "::", "id": "''"}
COLONS = LINES % {"text": ": ", "other": ": ", "call": "@@run", "end": "@@end", "id": "''"}

PREFIXED = """\
{%- for m in messages -%}
{{ "((by " ~ m.role ~ "))\\n" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ '\\n<go to="' ~ c.function.name ~ '">' }}
{%- for k, v in c.function.arguments.items() %}
{%- if v is string %}{{ "\\n<s." ~ k ~ ">" ~ v | replace("&", "&amp;") | replace("<", "&lt;") ~ "</s." ~ k ~ ">" }}
{%- elif v is none %}{{ "\\n<z." ~ k ~ "/>" }}
{%- else %}{{ "\\n<j." ~ k ~ ">" ~ v | tojson ~ "</j." ~ k ~ ">" }}{% endif %}
{%- endfor %}{{ "\\n</go>" }}
{%- endfor %}{{ "\\n((over))\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "((by assistant))\\n" }}{% endif %}
"""
"""What stands before a key tells of what type its value is; an empty value is a tag that closes itself."""

TOOLS = [
    make_tool("save", path="string", body="string", times="integer"),
    make_tool("peek", deep="null", tags="array", note="string"),
    make_tool("now"),
]


def read(template: str, text: str) -> tuple[str | None, list[tuple[str, Any]], list[str], set[int]]:
    """What a text is read as, whatever pieces it comes in: content, calls, what was relaxed, and which calls are not whole."""
    format = ca.analyze(template)
    prompt = ca.load_renderer(template)([{"role": "user", "content": "Go."}], TOOLS, True)
    found = read_all_ways(format, text, TOOLS, prompt)
    return found.content, [(name, json.loads(arguments)) for name, arguments in found.calls], found.recoveries, found.incomplete


@pytest.mark.parametrize(
    ("template", "text", "arguments"),
    [
        pytest.param(
            TYPED,
            "\n!do save #1\npath=a\nbody=Roses are red\nViolets are blue\n!done\n~~ over",
            {"path": "a", "body": "Roses are red\nViolets are blue"},
            id="a line that holds no sign",
        ),
        pytest.param(
            TYPED,
            "\n!do save #1\nbody=import sys\nx = 1\nlet y=2\nThe end: all\npath=a\ntimes:=2\n!done\n~~ over",
            {"body": "import sys\nx = 1\nlet y=2\nThe end: all", "path": "a", "times": 2},
            id="lines that look like entries",
        ),
        pytest.param(
            TYPED,
            "\n!do save #1\npath = a\n times := 2\nbody =b\n!done\n~~ over",
            {"path": "a", "times": 2, "body": "b"},
            id="blanks around signs",
        ),
        pytest.param(
            ARROWS,
            "\n::act save\nbody -> one\ntwo -> three four\nx=>5\nnext step -> go\ntimes=>2\n::\n~~ over",
            {"body": "one", "two": "three four\nx=>5\nnext step -> go", "times": 2},
            id="a word to the letter of the template is a key, words are none",
        ),
        pytest.param(
            COLONS,
            "\n@@run save\nbody: Dear all,\nPS = see below\nNote well: yes\npath: a\n@@end\n~~ over",
            {"body": "Dear all,\nPS = see below\nNote well: yes", "path": "a"},
            id="colons",
        ),
    ],
)
def test_a_line_that_is_no_entry_goes_on_with_the_text_before_it(template: str, text: str, arguments: dict[str, Any]) -> None:
    content, calls, _, incomplete = read(template, text)
    assert (content, calls, incomplete) == (None, [("save", arguments)], set())


def test_what_the_tool_declares_may_have_blanks() -> None:
    """A key is as the tool has it."""
    tools = [make_tool("save", **{"full name": "string", "body": "string"})]
    text = "\n!do save #1\nbody=b\nfull name=Ann\n!done\n~~ over"
    found = read_all_ways(ca.analyze(TYPED), text, tools, "~~ assistant\n")
    assert found.calls == [("save", '{"body": "b", "full name": "Ann"}')]


def test_strict_reading_takes_what_the_template_renders() -> None:
    text = "\n!do save #1\nbody=b\nlet y=2\n!done\n~~ over"
    found = read_all_ways(ca.analyze(TYPED), text, TOOLS, "~~ assistant\n", policy="strict")
    assert found.calls == [("save", '{"body": "b", "let y": "2"}')]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param(
            "\n!do save #1\npath=a\ntimes:=2\n!do now #2\n~~ over",
            [("save", {"path": "a", "times": 2}), ("now", {})],
            id="behind a number, and behind an id",
        ),
        pytest.param(
            "\n!do now #12\n!do save #13\nbody=a\n!do now #14\n!done\n~~ over",
            [("now", {}), ("save", {"body": "a"}), ("now", {})],
            id="behind an id, and behind a text",
        ),
        pytest.param(
            "\n!do save #1\nbody=see\n!do nothing #2\n!done\n~~ over",
            [("save", {"body": "see\n!do nothing #2"})],
            id="a tool that nobody has",
        ),
    ],
)
def test_the_next_call_ends_a_call_of_lines(text: str, calls: list[tuple[str, Any]]) -> None:
    content, found, recoveries, incomplete = read(TYPED, text)
    assert (content, found, incomplete) == (None, calls, set())
    assert set(recoveries) <= {"end of a call missing"}


def test_a_call_that_begins_where_the_output_ends_is_no_text() -> None:
    form = ca.analyze(TYPED)
    found = read_all_ways(form, "\n!do save #1\nbody=a\n!do now #1", TOOLS, "~~ assistant\n")
    assert (found.calls, found.incomplete) == ([("save", '{"body": "a')], {0})
