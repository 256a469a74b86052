"""Sequences that a template exchanges within texts are read back, and a proof that does not hold is not given."""

from __future__ import annotations

import json

import pytest
from streams import ROUTE_TOOL, analyze, get_calls, make_call, make_tool, read_all_ways, render_turn

import chat_autoparser as ca
from chat_autoparser.recover import PolicyName

TEMPLATE = """{%- macro put(text) -%}{{ text@@ }}{%- endmacro -%}
{%- for m in messages -%}{{ "[" ~ m.role ~ "]\\n" ~ put(m.content or "") }}
{%- for call in m.tool_calls or [] %}{{ "<use " ~ call.function.name ~ ">" }}
{%- for key, value in call.function.arguments.items() %}{{ "OPEN" ~ key ~ "MID" ~ put(value if value is string else value | tojson) ~ "CLOSE" }}
{%- endfor %}{{ "</use>" }}{% endfor %}{{ "[end]\\n" }}
{%- endfor %}{%- if add_generation_prompt %}{{ "[assistant]\\n" }}{% endif %}"""

NOTATIONS = {
    "section": (' | replace("]]>", "]]]]><![CDATA[>")', "<p n='", "'><![CDATA[", "]]></p>"),
    "tag": (' | replace("</", "<\\\\/")', "<note ", ">", "</note>"),
    "comment": (' | replace("-->", "--&gt;")', "<!-- ", " = ", " -->"),
    "token": (' | replace("<|", "<||")', "<|k:", "|>", "<|/k|>"),
    "colons": (' | replace("::", ":\\\\:")', "::", "=", "::"),
    "dots": ('.replace("\\n.", "\\n..")', "\\n@", ":\\n", "\\n.\\n"),
    "fence": (' | replace("```", "`\u200b``")', "\\n", ":\\n```\\n", "\\n```"),
    "table": (" | replace(pair, pair[0] ~ '~' ~ pair[1])", "::", "=", "::"),
}
TEXTS = (
    "plain words", "a ]]> b", "]]>", "</note>", "a --> b", "<|x|> y", "::", "a::b::c", "one\n.\ntwo", "a\n..\nb", "```\nx\n```", "a ``` b",
    "]]", "x <", "- -", ":", "\\/", "&gt;",
)  # fmt: skip


def write(replaced: str, opened: str, mid: str, close: str) -> str:
    """The template of a notation; the table of one is a loop over what it exchanges."""
    source = TEMPLATE
    if "pair" in replaced:
        source = source.replace("{{ text@@ }}", "{% set pair = '::' %}{{ text@@ }}")
    return source.replace("@@", replaced).replace("OPEN", opened).replace("MID", mid).replace("CLOSE", close)


@pytest.mark.parametrize("name", NOTATIONS)
def test_what_is_exchanged_is_read_back(name: str) -> None:
    template = write(*NOTATIONS[name])
    format, tools = analyze(template), [make_tool("keep", note="string", other="string")]
    assert format.verdict.proven, format.verdict.counterexample
    for text in TEXTS:
        arguments = {"note": text, "other": f"{text} more"}
        for content in (text, "Hello."):
            prompt, written = render_turn(template, {"content": content, "tool_calls": [make_call("keep", arguments)]}, tools)
            read = format.parse(written, tools=tools, prompt=prompt)
            found = [json.loads(each["function"]["arguments"]) for each in read.get("tool_calls") or []]
            assert (read["content"], found) == (content, [arguments]), written


ENDS = (
    "{%- macro whole(s) -%}{%- set t = s | replace('%%', '%%25') | replace('\\n', '%%0A') -%}"
    "{%- set t = ('%%20' ~ t[1:]) if t.startswith(' ') else t -%}{{ (t[:-1] ~ '%%20') if t.endswith(' ') else t }}{%- endmacro -%}"
    "{%- for m in messages -%}<{{ m.role }}>{{ m.content or '' }}{%- for c in m.tool_calls or [] %}{{ '\\n' }}!{{ c.function.name }}"
    "{%- for k, v in c.function.arguments.items() %}{{ '\\n' }}{{ k }}{{ '=' ~ whole(v) if v is string else ':=' ~ v | tojson }}{% endfor -%}"
    "{{ '\\n' }}!over{% endfor -%}</{{ m.role }}>{%- endfor -%}{%- if add_generation_prompt %}<assistant>{% endif -%}"
).replace("%%", "%")


@pytest.mark.parametrize("text", [" ", "  ", " a b ", "a  b", "%20", " %20 ", "\n a \n", "100 %", ""])
def test_blanks_may_be_exchanged_at_the_ends_of_a_text_alone(text: str) -> None:
    format = analyze(ENDS)
    assert format.verdict.proven
    call = ("find_route", {"start": text, "goal": text, "legs": 2})
    _, written = render_turn(ENDS, {"tool_calls": [make_call(*call)]}, [ROUTE_TOOL])
    found = read_all_ways(format, written, [ROUTE_TOOL], "<assistant>")
    assert get_calls(found) == [call]
    assert not found.recoveries


STARTS = (
    "{%- macro plain(s) -%}{{ ('~' if s[:1] in ['#', '~', 'λ'] and s else '') ~ (s | replace('|', '~|')) }}{%- endmacro -%}"
    "{%- macro prose(s) -%}{% for l in s.split('\n') %}{{ ('~' if l[:1] in ['#', '~'] and l else '') ~ l ~ ('' if loop.last else '\n') }}{% endfor %}"
    "{%- endmacro -%}{%- for m in messages -%}<{{ m.role }}>{{ prose(m.content or '') }}{%- for c in m.tool_calls or [] -%}"
    "{{ '\n#use ' ~ c.function.name }}{%- for k, v in c.function.arguments.items() -%}"
    "{{ '|' ~ k ~ '=' ~ (plain(v) if v is string else '#' ~ v | tojson) }}{%- endfor -%}|.{%- endfor -%}</{{ m.role }}>{%- endfor -%}"
    "{%- if add_generation_prompt %}<assistant>{% endif -%}"
)


@pytest.mark.parametrize("policy", ["lenient", "strict"])
@pytest.mark.parametrize("text", ["# a", "#", "~", "~#", "~~ a", "λ", "a # ~ b", "|#", "#|a", "a\n# b\n~ c", "# a\n# b", "##", ""])
def test_a_sign_may_be_escaped_only_where_a_text_or_a_line_begins(text: str, policy: PolicyName) -> None:
    format = analyze(STARTS)
    assert format.verdict.proven, format.verdict.counterexample
    for calls in ([("find_route", {"start": text, "goal": text, "legs": 2})], []):
        message = {"content": text, **({"tool_calls": [make_call(*call) for call in calls]} if calls else {})}
        _, written = render_turn(STARTS, message, [ROUTE_TOOL])
        found = read_all_ways(format, written, [ROUTE_TOOL], "<assistant>", policy=policy)
        assert ((found.content or ""), get_calls(found)) == (text, calls)
        assert not found.recoveries


def test_a_sequence_that_is_read_as_written_is_no_proof() -> None:
    """Where what is exchanged cannot be told from the end of a text, the proof finds it."""
    template = write(""" | replace('\\"\\"\\"', '\\\\\\"\\"\\"')""", "\\n", ' = \\"\\"\\"', '\\"\\"\\"')
    assert not analyze(template).verdict.proven


def test_a_call_behind_an_open_fence_is_one_though_its_values_stand_in_fences() -> None:
    template = write("", *NOTATIONS["fence"][1:])
    call = make_call("keep", {"note": "one", "other": "two"})
    for content in ("a ``` b", "a\n```\nb", "```sh\nls", "a\n```\nb\n```\nc"):
        prompt, written = render_turn(template, {"content": content, "tool_calls": [call]})
        read = analyze(template).parse(written, prompt=prompt)
        assert (read["content"], len(read.get("tool_calls") or [])) == (content, 1), written


def test_an_earlier_turn_may_end_in_another_way_than_the_last_one() -> None:
    template = """{%- for m in messages %}{{ "<<" ~ m.role ~ ">>\\n" ~ m.content ~ ("" if loop.last else "<<over>>") }}
{%- if loop.last and m.role == "assistant" %}{{ eos_token }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ "<<over>><<assistant>>\\n" }}{% endif %}"""
    format = ca.analyze(template, eos_token="</s>")
    for end in ("</s>", "<<over>>"):
        assert format.parse(f"Hello.{end}")["content"] == "Hello."
