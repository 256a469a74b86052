"""Slips within calls: quotes, numbers, brackets and fields that are left out. The templates are invented."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

import chat_autoparser as ca
from chat_autoparser.recover import Policy

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

SILENT = WRAPPER.replace("{%%- if m.content %%}{{ m.content }}{%% endif -%%}", "")

THOUGHT = SILENT % (
    "{%- if m.reasoning_content -%}<muse>{{ m.reasoning_content }}</muse>{%- endif -%}{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] -%}<act>{{ c.function.name }} {{ c.function.arguments | tojson }}</act>{% endfor -%}"
)
"""Reasoning stands before content."""

LISTED = WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}<act>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    "\n</act>{% endfor -%}"
)
"""A call is one object in marks."""

NAMED = WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}<act>{{ c.function.name }}\n{{ c.function.arguments | tojson }}</act>{% endfor -%}"
)
"""The name of a call stands in a line of its own."""

HTML = WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}<act.{{ c.function.name }}{% for k, v in c.function.arguments.items() %} {{ k }}="
    "{% if v is string %}\"{{ v | e }}\"{% else %}{{ '{' }}{{ v | tojson }}{{ '}' }}{% endif %}{% endfor %} />{% endfor -%}"
)
"""Texts stand in quotes and are escaped, other values stand in braces."""

TAGS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<run {{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    "<in {{ k }}>{{ v if v is string else v | tojson }}</in>{% endfor %}</run>{% endfor -%}"
)


TOOLS = [make_tool("pin", note="string", count="integer", far="number", tags="array"), make_tool("ring")]

NOTE = ("pin", {"note": "a b"})


def read_turn(template: str, text: str) -> tuple[str | None, list[tuple[str, Any]]]:
    """Read an output of a template's behind its prompt in all ways; returns its content, and its calls with their arguments."""
    prompt = ca.load_renderer(template)([{"role": "user", "content": "Go."}], TOOLS, True)
    found = read_all_ways(analyze(template), text, TOOLS, prompt)
    return found.content, get_calls(found)


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
        pytest.param(
            LISTED, '<act>\n{"name": "pin", "arguments": {"note": "a b"},},\n</act>', [NOTE], id="separators everywhere"
        ),
        pytest.param(LISTED, '<act>\n{"name": "pin", "arguments": {"note": "a b"}]}\n</act>', [NOTE], id="a bracket too many"),
        pytest.param(
            LISTED,
            '<act>[{"name": "pin", "arguments": {"note": "a b"}}, {"name": "other", "arguments": {"x": 1}}]</act>',
            [NOTE, ("other", {"x": 1})],
            id="a list with a tool that nobody knows",
        ),
        pytest.param(LISTED, "<act>\n<tool=pin>\n<arg=note>\na b\n</arg>\n</tool>\n</act>", [NOTE], id="names within tags"),
        pytest.param(NAMED, '<act>pin \n\n{"note": "a b"}</act>', [NOTE], id="layout behind a name"),
        pytest.param(
            HTML,
            '<act.pin tags={["a"]} note="a &amp;\nb" /><<over>>',
            [("pin", {"tags": ["a"], "note": "a &\nb"})],
            id="a line break as it is",
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
    assert read_turn(template, text) == (None, calls)


def test_a_value_without_its_key_is_not_half_of_one() -> None:
    """What stands where a key should is no key for being followed by one."""
    format = analyze(PLAIN)
    text = "((pin('a b', count=3)))"
    found = read_all_ways(format, text, TOOLS, "<<assistant>>")
    assert "a b" in (found.content or "") + str(found.calls)
    assert all(set(json.loads(arguments)) <= {"note", "count"} for _, arguments in found.calls)


def test_an_id_behind_indented_arguments_is_waited_for() -> None:
    format = analyze(BEHIND)
    arguments = json.dumps({"tags": [[[number, {"deep": [number]}]] for number in range(4)]}, indent=4)
    parser = format.parser(tools=TOOLS, prompt="<<assistant>>")
    text = f'[[acts]] [{{"name": "pin", "arguments": {arguments}, "id": "abc123def"}}]'
    deltas = [delta for char in text for delta in parser.feed(char)] + parser.finish()
    assert 256 < len(arguments) < 1024
    assert [delta.id for delta in deltas if delta.id] == ["abc123def"]


def test_signs_of_data_before_prose_are_no_end_of_a_call() -> None:
    """Without a mark behind them they are text."""
    format = analyze(LISTED)
    text = '<act>\n{"name": "pin", "arguments": {"note": "a b"}}]) as I said'
    found = read_all_ways(format, text, TOOLS, "<<assistant>>")
    assert (found.content, len(found.calls)) == ("]) as I said", 1)


@pytest.mark.parametrize("keys", [("name", "arguments"), ("arguments", "name")])
def test_a_template_that_prints_no_calls_is_no_reason_to_lose_them(keys: tuple[str, str]) -> None:
    """What has the shape of calls is told by the request's tools; a policy for unknown ones leaves the others."""
    format = ca.analyze(SILENT % "{{ m.content or '' }}")
    call = {"name": "pin", "arguments": {"note": "a b"}}
    text = json.dumps([{key: call[key] for key in keys}])
    for policy in (Policy(), Policy(unknown="text")):
        found = read_all_ways(format, text, TOOLS, "<<assistant>>", policy)
        assert (found.content, get_calls(found)) == (None, [("pin", {"note": "a b"})])


def test_a_policy_that_takes_no_unknown_tools_takes_none_from_a_list() -> None:
    format = analyze(LISTED)
    text = '<act>[{"name": "pin", "arguments": {"note": "a b"}}, {"name": "other", "arguments": {"x": 1}}]</act>'
    found = read_all_ways(format, text, TOOLS, "<<assistant>>", Policy(unknown="text"))
    assert [name for name, _ in found.calls] == ["pin"]
    assert '"other"' in (found.content or "")


def test_reasoning_that_is_opened_again_goes_on() -> None:
    """Two blocks are one with a blank line between them, an empty one is none; the marks are no text."""
    format = analyze(THOUGHT)
    found = read_all_ways(format, "<muse>One.</muse>\n<muse>Two.</muse>So.<<over>>", TOOLS, "<<assistant>>")
    assert (found.reasoning, found.content) == ("One.\n\nTwo.", "So.")
    found = read_all_ways(format, "<muse>One.</muse><muse></muse>So.<<over>>", TOOLS, "<<assistant>>")
    assert (found.reasoning, found.content) == ("One.", "So.")
    found = read_all_ways(format, "<muse>One.</muse>A <muse> is a mark.<<over>>", TOOLS, "<<assistant>>")
    assert (found.reasoning, found.content) == ("One.", "A <muse> is a mark.")


@pytest.mark.parametrize("written", ['"it\\\'s"', '"a\tb"', '"50\\%"'])
def test_arguments_are_valid_json_under_repair(written: str) -> None:
    """An escape that JSON does not have, and a sign that it wants escaped; also where nothing but its shape tells of a call."""
    format = analyze(LISTED)
    call = f'{{"name": "pin", "arguments": {{"note": {written}}}}}'
    for text in (f"<act>\n{call}\n</act>", f"<act>[{call}]</act>"):
        for pieces in ([text], list(text)):
            parser = format.parser(tools=TOOLS, prompt="<<assistant>>", policy="repair")
            deltas = [delta for piece in pieces for delta in parser.feed(piece)] + parser.finish()
            arguments = "".join(delta.text for delta in deltas if delta.kind == "tool_call")
            assert set(json.loads(arguments)) == {"note"}


def test_signs_alone_do_not_end_reasoning() -> None:
    """What content and calls begin with alike may stand in reasoning, if it is no word: here that of a heading."""
    template = SILENT % (
        "{%- if m.reasoning_content %}{{ '\\n### Thought\\n' ~ m.reasoning_content }}{% endif %}"
        "{%- if m.tool_calls %}{{ '\\n### Act' }}{% for c in m.tool_calls %}"
        "{{ '\\n@' ~ c.function.name ~ ' ' ~ (c.function.arguments | tojson) }}{% endfor %}{% endif %}"
        "{%- if m.content %}{{ '\\n### Say\\n' ~ m.content }}{% endif %}"
    )
    text = "\n### Thought\nFirst.\n\n### Then\nSecond.\n### Say\nDone.<<over>>"
    found = read_all_ways(analyze(template), text, TOOLS, "<<assistant>>")
    assert (found.reasoning, found.content) == ("First.\n\n### Then\nSecond.", "Done.")


NESTED = """\
{%- macro write(v) -%}
{%- if v is mapping -%}{%- for k, x in v.items() -%}<{{ k }}>{{ write(x) }}</{{ k }}>{%- endfor -%}
{%- else -%}{{ v }}{%- endif -%}
{%- endmacro -%}
""" + WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}[[act {{ c.function.name }}]]{{ write(c.function.arguments) }}[[/act]]{% endfor -%}"
)


def test_many_objects_that_end_at_once_need_no_deep_stack() -> None:
    """A server calls the parser from deep within itself, and the model decides how deep its objects are."""
    format = analyze(NESTED)
    depth = 100
    text = "[[act pin]]" + "<a>" * depth + "x" + "</a>" * depth + "<b>y</b>[[/act]]<<over>>"
    frame, used = sys._getframe(), 0
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(used + 250)
    try:
        ((_, arguments),) = read_all_ways(format, text, None, "<<assistant>>").calls
    finally:
        sys.setrecursionlimit(limit)
    assert arguments == '{"a": ' * depth + '"x"' + "}" * (depth - 1) + ', "b": "y"}'


@pytest.mark.parametrize("missing", ["", "}", "}}", "}]", "}}]"])
def test_mark_ends_a_call_of_another_format_that_lacks_brackets(missing: str) -> None:
    """The call is told by its shape; nothing but brackets is added to it."""
    call = '[{"name": "pin", "arguments": {"note": "tea"}}]'.removesuffix(missing)
    form = analyze(STATEMENTS)
    reading = read_all_ways(form, f"<call>{call}</call><<over>>", TOOLS, policy="repair")
    assert (reading.content, reading.calls) == (None, [("pin", '{"note": "tea"}')])
    cut = f"<call>{call[: call.index('tea') + 3]}</call><<over>>"
    assert read_all_ways(form, cut, TOOLS, policy="repair").calls == []
