"""Formats whose fields are lines, each with a mark before it, and ends of turns that are lines of signs. The templates are invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn
from test_constrain import accepts

import chat_autoparser as ca

if TYPE_CHECKING:
    from chat_autoparser.recover import PolicyName

LINES = """\
{%%- macro marked(mark, text) -%%}
{%%- for line in text.split("\\n") -%%}{{ mark }}{{ (" " ~ line) if line or not %s else "" }}{{ "\\n" }}{%%- endfor -%%}
{%%- endmacro -%%}
{%%- for m in messages -%%}
@{{ m.role }}
{{ marked(%r, m.reasoning_content) if m.reasoning_content }}
{{- m.content or "" }}
{%%- for c in m.tool_calls or [] %%}
{{ "\\n" if m.content or not loop.first }}!{{ c.function.name }}
{%%- for k, v in c.function.arguments.items() %%}
={{ k }}
{{ marked(%r, v) if v is string else marked("~", v | tojson) -}}
{%%- endfor -%%}
{%%- endfor %%}
<over>
{%% endfor -%%}
{%%- if add_generation_prompt %%}@assistant
{%% endif -%%}
"""

PATCH = """\
{%%- for m in messages -%%}
@{{ m.role ~ "\\n" ~ (m.content or "") }}
{%%- for c in m.tool_calls or [] %%}{{ "\\n%(call)s " ~ c.function.name }}
{%%- for k, v in c.function.arguments.items() %%}{{ "\\n@@ " ~ k ~ " @@\\n" }}
{%%- if v is string %%}%(line)s{{ v | replace("\\n", "\\n%(line)s") }}{%% else %%}!{{ v | tojson }}{%% endif %%}
{%%- endfor %%}
{%%- endfor %%}{{ "\\n<over>\\n" }}
{%%- endfor %%}
{%%- if add_generation_prompt %%}{{ "@assistant\\n" }}{%% endif %%}
"""

SIGNS = """\
{%%- for m in messages -%%}
(({{ m.role }}))
{{ m.content or "" }}
{%%- for c in m.tool_calls or [] %%}
[do]{{ {"name": c.function.name, "arguments": c.function.arguments} | tojson }}[/do]
{%%- endfor %%}
{{ "\n%s" ~ eos_token }}
{%% endfor -%%}
{%%- if add_generation_prompt %%}((assistant))
{%% endif -%%}
"""

TOOLS = [make_tool("note", text="string"), make_tool("send", body="string")]


def write_calls(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [make_call(*call) for call in calls]


@pytest.mark.parametrize(("thought", "line"), [(">", "+"), ("#:", "|"), ("//", ":>"), ("--", "..")])
@pytest.mark.parametrize("bare", [True, False], ids=["empty lines are bare", "all lines are alike"])
@pytest.mark.parametrize("text", ["one", "one\ntwo", "one\n\ntwo", "one\n\n\n  two\n\nthree"])
def test_empty_lines_may_have_a_shorter_mark(thought: str, line: str, bare: bool, text: str) -> None:
    template = LINES % (bare, thought, line)
    format = analyze(template)
    calls = write_calls(("note", {"text": text}), ("send", {"body": text[::-1]}))
    prompt, written = render_turn(template, {"reasoning_content": text, "tool_calls": calls}, TOOLS)
    found = read_all_ways(format, written, TOOLS, prompt)
    assert found.reasoning == text
    assert get_calls(found) == [
        ("note", {"text": text}),
        ("send", {"body": text[::-1]}),
    ]
    assert accepts(format, written[written.index("!") :], TOOLS)


@pytest.mark.parametrize("policy", ["strict", "lenient"])
def test_the_shorter_mark_of_an_empty_line_is_one_however_the_text_is_split(policy: PolicyName) -> None:
    """Also in a text that lacks the mark before its first line."""
    format = analyze((Path(__file__).parent / "unseen" / "sickle.jinja").read_text(encoding="utf-8"))
    assert read_all_ways(format, "]\nsay|\nx", TOOLS, None, policy).content == "]\n\nx"


@pytest.mark.parametrize(("line", "call"), [("+", "+++"), ("+", "+ +"), ("|", "|>"), (">", ">>>")])
def test_a_mark_that_goes_on_where_the_mark_of_a_line_ends_is_that_mark(line: str, call: str) -> None:
    """Read by its letters it might be a line of the value; a template that writes both means what it writes itself."""
    template = PATCH % {"line": line, "call": call}
    format = analyze(template)
    assert format.verdict.proven
    calls = write_calls(("note", {"text": f"a\nb\n\n{line} c"}), ("send", {"body": "d"}))
    prompt, written = render_turn(template, {"tool_calls": calls}, TOOLS)
    assert get_calls(read_all_ways(format, written, TOOLS, prompt)) == [
        ("note", {"text": f"a\nb\n\n{line} c"}),
        ("send", {"body": "d"}),
    ]


@pytest.mark.parametrize("end", [":::", "---", "~~~~"])
def test_a_line_of_signs_ends_a_turn_whose_last_token_is_cut_off(end: str) -> None:
    template = SIGNS % end
    format = ca.analyze(template, eos_token="<eos>")
    assert format.verdict.proven
    prompt, written = render_turn(template, {"content": f"One.\n{end} two\n:: three"}, TOOLS, eos_token="<eos>")
    for text in (written, written.rstrip(), written.rstrip().removesuffix("<eos>")):
        assert read_all_ways(format, text, TOOLS, prompt).content == f"One.\n{end} two\n:: three"


def test_a_part_of_a_stop_that_stands_within_turns_is_no_stop() -> None:
    template = (
        "{%- macro part(kind, body, more) -%}{{ '--=_p\\nType: ' ~ kind ~ more ~ '\\n\\n' ~ body ~ '\\n' }}{%- endmacro -%}"
        "{%- for m in messages -%}From: {{ m.role }}{{ '\\n' }}"
        "{%- if m.content -%}{{ part('text', m.content, '') }}{%- endif -%}"
        "{%- for c in m.tool_calls or [] -%}{{ part('call', c.function.arguments | tojson, '\\nName: ' ~ c.function.name) }}"
        "{%- endfor -%}{{ '--=_p--\\n' }}{%- endfor -%}{%- if add_generation_prompt -%}{{ 'From: assistant\\n' }}{%- endif -%}"
    )
    format = analyze(template)
    assert format.verdict.proven
    assert not any(stop in "--=_p\nType: call\nName: " for stop in format.graph.stops)


BLOCKS = """\
{%- for m in messages -%}{{ "@" ~ m.role ~ "\\n" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "\\n\\n```use " ~ c.function.name ~ "\\n" }}
{%- for k, v in c.function.arguments.items() %}{{ k ~ (": |\\n  " ~ v | replace("\\n", "\\n  ") if v is string else ": " ~ v | tojson) ~ "\\n" }}
{%- endfor %}{{ "```" }}{% endfor %}{{ "\\n@over\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "@assistant\\n" }}{% endif %}
"""


@pytest.mark.parametrize("text", ["```sh\nls\n```", "one\n```\n\n```use note\nbody: |\n```", "@over\n@assistant"])
def test_a_mark_in_a_line_of_a_text_ends_nothing(text: str) -> None:
    format = analyze(BLOCKS)
    assert format.verdict.proven
    calls = write_calls(("note", {"text": text}), ("send", {"body": text}))
    prompt, written = render_turn(BLOCKS, {"tool_calls": calls}, TOOLS)
    found = read_all_ways(format, written, TOOLS, prompt)
    assert [json.loads(given) for _, given in found.calls] == [{"text": text}, {"body": text}]
    assert not found.recoveries


RULED = """\
{%- for m in messages -%}{{ "@" ~ m.role ~ "\\n" }}
{%- if m.reasoning_content %}{{ "+++\\n" ~ m.reasoning_content ~ "\\n+++\\n" }}{% endif %}{{ (m.content or "") ~ "\\n@over\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "@assistant\\n" }}{% endif %}
"""


@pytest.mark.parametrize("thought", ["a +++ b", "+++", "+++ a\nb +++", "a\n++++"])
def test_signs_that_are_a_line_end_nothing_within_one(thought: str) -> None:
    found = read_all_ways(analyze(RULED), f"+++\n{thought}.\n+++\nSo.\n@over\n", None, "@assistant\n")
    assert (found.reasoning, found.content) == (f"{thought}.", "So.")


SHARED = """\
{%- for m in messages -%}{{ "%% " ~ m.role ~ "\\n" }}
{%- if m.reasoning_content %}{{ "%% muse\\n" ~ m.reasoning_content ~ "\\n" }}{% endif %}
{%- if m.content %}{{ "%% say\\n" ~ m.content ~ "\\n" }}{% endif %}
{%- for c in m.tool_calls or [] %}{{ "%% do " ~ c.function.name ~ "\\n" ~ c.function.arguments | tojson ~ "\\n" }}{% endfor %}
{{- "%% over\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "%% assistant\\n" }}{% endif %}
"""


def test_signs_that_all_parts_begin_with_end_no_thought() -> None:
    """Else a prompt would seem to have opened one, as all that follows it begins with its end."""
    format = analyze(SHARED)
    assert format.verdict.proven
    found = read_all_ways(format, "Hello.\n%% over\n", TOOLS, "%% assistant\n")
    assert (found.reasoning, found.content) == (None, "Hello.")


LEDGER = """\
{%%- for m in messages -%%}{{ "@" ~ m.role ~ "\\n" ~ (m.content or "") ~ ("\\n" if m.content) }}
{%%- for c in m.tool_calls or [] %%}{{ "! " ~ c.function.name ~ "\\n" }}
{%%- for k, v in c.function.arguments.items() %%}
{%%- if v is string %%}{%% for line in v.split("\\n") %%}{{ %(line)s ~ "\\n" }}{%% endfor %%}
{%%- else %%}{{ "+" ~ k ~ "=" ~ v | tojson ~ "\\n" }}{%% endif %%}
{%%- endfor %%}
{%%- endfor %%}{{ "@over\\n" }}
{%%- endfor %%}
{%%- if add_generation_prompt %%}{{ "@assistant\\n" }}{%% endif %%}
"""


@pytest.mark.parametrize("line", ['"+" ~ k ~ "> " ~ line', '"[" ~ k ~ "] " ~ line', '"arg| " ~ k ~ "$ " ~ line'])
@pytest.mark.parametrize("text", ["one", "one\ntwo", "\n", "one\n\n  two\n+body> three\n! send\n"])
def test_each_line_of_a_text_may_begin_with_its_key(line: str, text: str) -> None:
    template = LEDGER % {"line": line}
    format = analyze(template)
    calls = write_calls(("note", {"text": text, "body": text[::-1], "n": 1}), ("send", {"body": text}))
    prompt, written = render_turn(template, {"tool_calls": calls}, TOOLS)
    assert format.verdict.proven
    found = read_all_ways(format, written, TOOLS, prompt)
    assert [json.loads(arguments) for _, arguments in found.calls] == [call["function"]["arguments"] for call in calls]
    assert not found.recoveries
    alone = render_turn(template, {"tool_calls": write_calls(("note", {"text": text}), ("send", {"body": text}))}, TOOLS)[1]
    assert accepts(format, alone.removesuffix("@over\n"), TOOLS)


@pytest.mark.parametrize("text", ["one\ntwo", "one\n+text-of> two", '\n+"text-of"> \n'])
def test_each_line_of_a_text_may_begin_with_a_key_in_quotes(text: str) -> None:
    template = LEDGER % {"line": '"+" ~ (k | tojson if "-" in k else k) ~ "> " ~ line'}
    format = analyze(template)
    assert format.verdict.proven
    prompt, written = render_turn(template, {"tool_calls": write_calls(("note", {"text-of": text, "text": text}))}, TOOLS)
    found = read_all_ways(format, written, None, prompt)
    assert [json.loads(arguments) for _, arguments in found.calls] == [{"text-of": text, "text": text}]
    assert not found.recoveries
