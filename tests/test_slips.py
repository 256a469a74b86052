"""Slips within calls: quotes, numbers, brackets and fields that are left out. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import read_all_ways

import chat_autoparser as ca

WRAPPER = """\
{%%- for m in messages -%%}
<<{{ m.role }}>>
{%%- if m.content %%}{{ m.content }}{%% endif -%%}
%s
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

STATEMENTS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}\nRUN {{ c.function.name }}"
    "{% for k, v in c.function.arguments.items() %}{{ ' ' if loop.first else ', ' }}{{ k }} := "
    "{% if v is string %}'{{ v | replace(\"'\", \"''\") }}'{% else %}{{ v | tojson }}{% endif %}{% endfor %};\n{%- endfor -%}"
)
"""A quote in a text is written twice."""

RECORDS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}{{ '\\n' }}act,{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    '{{ "\\n" }}arg,{{ k }},"{{ (v if v is string else v | tojson) | replace("\\"", "\\"\\"") }}"{% endfor %}{%- endfor -%}'
)
"""Only a quote stands behind a text in which quotes are written twice, and a line."""

PLAIN = WRAPPER % (
    "{%- if m.tool_calls -%}(({%- for c in m.tool_calls -%}{{ c.function.name }}("
    "{%- for k, v in c.function.arguments.items() -%}{{ k }}={{ v }}{%- if not loop.last -%}{{ ', ' }}{%- endif -%}{%- endfor -%})"
    "{%- if not loop.last -%}{{ ', ' }}{%- endif -%}{%- endfor -%})){%- endif -%}"
)
"""A text stands without quotes, but in a list it has them."""

BEHIND = WRAPPER % (
    "{%- if m.tool_calls -%}[[acts]] [{%- for c in m.tool_calls -%}"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}, "id": "{{ c.id }}"}'
    "{%- if not loop.last -%}{{ ', ' }}{%- endif -%}{%- endfor -%}]{%- endif -%}"
)
"""The id of a call stands behind its arguments."""

BARS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}~{{ c.function.name }}{% for k, v in c.function.arguments.items() %}|{{ k }}:"
    "{% if v is string %}`{{ v | replace('`', '``') }}`{% else %}{{ v | tojson }}{% endif %}{% endfor %}~{% endfor -%}"
)
"""Nothing is common to all that may stand behind a number."""

TAGS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<run {{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    "<in {{ k }}>{{ v if v is string else v | tojson }}</in>{% endfor %}</run>{% endfor -%}"
)


def make_tool(name: str, **types: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [make_tool("pin", note="string", count="integer", far="number", tags="array"), make_tool("ring")]

NOTE = ("pin", {"note": "a b"})


@pytest.mark.parametrize(
    ("template", "text", "calls"),
    [
        pytest.param(
            STATEMENTS,
            "\nRUN pin note := 'it won't do', count := 3;\n<<over>>",
            [("pin", {"note": "it won't do", "count": 3})],
            id="quote in a text",
        ),
        pytest.param(STATEMENTS, "\nRUN pin note := 'Ann's';\n<<over>>", [("pin", {"note": "Ann's"})], id="one in the last text"),
        pytest.param(STATEMENTS, "\nRUN pin note := 'Ann''s';\n", [("pin", {"note": "Ann's"})], id="quote written twice"),
        pytest.param(
            RECORDS,
            '\nact,pin\narg,note,"he said "hi" twice"\narg,count,"3"\n<<over>>',
            [("pin", {"note": 'he said "hi" twice', "count": 3})],
            id="quotes in a text that only a quote ends",
        ),
        pytest.param(
            RECORDS,
            '\nact,pin\narg,note,"he said "hi" twice"\nact,ring\n<<over>>',
            [("pin", {"note": 'he said "hi" twice'}), ("ring", {})],
            id="quotes in the last text",
        ),
        pytest.param(
            PLAIN,
            "((pin(note='a, b', tags=['c'], count=3), pin(note=\"it's\")))<<over>>",
            [("pin", {"note": "a, b", "tags": ["c"], "count": 3}), ("pin", {"note": "it's"})],
            id="texts in the quotes of lists",
        ),
        pytest.param(PLAIN, "((pin(note='tis true, count=3)))", [("pin", {"note": "'tis true", "count": 3})], id="one quote"),
        pytest.param(PLAIN, "((pin(note=a b)))", [NOTE], id="no quotes"),
        pytest.param(
            BEHIND,
            '[[acts]] [{"name": "pin", "arguments": {"note": "a b"}}][[acts]] [{"name": "ring", "arguments": {}}]',
            [NOTE, ("ring", {})],
            id="two lists without ids",
        ),
        pytest.param(
            BEHIND,
            '[[acts]] [{"name": "pin", "arguments": {"note": "a b"}}, {"name": "pin", "parameters": {"note": "a b"}}]',
            [NOTE, NOTE],
            id="no ids, and another key",
        ),
        pytest.param(
            BARS, "~pin|far:2.|note:`a`b`~~ring~", [("pin", {"far": 2.0, "note": "a`b"}), ("ring", {})], id="dot, and other quotes"
        ),
        pytest.param(TAGS, "<run pin><in note>a b</in></in></run>", [NOTE], id="end of a text twice"),
        pytest.param(TAGS, "<run pin><in note>a b<<over>>", [NOTE], id="the end of the turn in a text"),
        pytest.param(
            TAGS, "<run pin><in count>+7</in><in far>108.</in></run>", [("pin", {"count": 7, "far": 108.0})], id="numbers"
        ),
        pytest.param(STATEMENTS, "\nRUN pin count := +7, far := .5;\n", [("pin", {"count": 7, "far": 0.5})], id="numbers alone"),
        pytest.param(
            STATEMENTS, "\nRUN pin far := 108., count := 7;\n", [("pin", {"far": 108.0, "count": 7})], id="dot at the end"
        ),
    ],
)
def test_a_slip_is_read(template: str, text: str, calls: list[tuple[str, Any]]) -> None:
    format = ca.analyze(template)
    prompt = ca.load_renderer(template)([{"role": "user", "content": "Go."}], TOOLS, True)
    found = read_all_ways(format, text, TOOLS, prompt)
    assert (found.content, [(name, json.loads(arguments)) for name, arguments in found.calls]) == (None, calls)


def test_a_value_without_its_key_is_not_half_of_one() -> None:
    """What stands where a key should is no key for being followed by one."""
    format = ca.analyze(PLAIN)
    text = "((pin('a b', count=3)))"
    found = read_all_ways(format, text, TOOLS, "<<assistant>>")
    assert "a b" in (found.content or "") + str(found.calls)
    assert all(set(json.loads(arguments)) <= {"note", "count"} for _, arguments in found.calls)


def test_an_id_behind_indented_arguments_is_waited_for() -> None:
    format = ca.analyze(BEHIND)
    arguments = json.dumps({"tags": [[[number, {"deep": [number]}]] for number in range(4)]}, indent=4)
    parser = format.parser(tools=TOOLS, prompt="<<assistant>>")
    text = f'[[acts]] [{{"name": "pin", "arguments": {arguments}, "id": "abc123def"}}]'
    deltas = [delta for char in text for delta in parser.feed(char)] + parser.finish()
    assert 256 < len(arguments) < 1024
    assert [delta.id for delta in deltas if delta.id] == ["abc123def"]
