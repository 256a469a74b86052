"""Marks of calls that go wrong in ways that bug reports show of real models: around the call, at its end, and without any call. The
templates are invented."""

from __future__ import annotations

import pytest
from streams import get_calls, read_all_ways
from test_slips import WRAPPER, make_tool

import chat_autoparser as ca

ADDRESSED = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{%- if m.reasoning_content %}<|go|>assistant to=self<|says|>{{ m.reasoning_content }}<|next|>{% endif -%}
{%- for c in m.tool_calls or [] %}<|go|>assistant to={{ c.function.name }}<|says|><do:calls>
<do:call name="{{ c.function.name }}">
{% for k, v in c.function.arguments.items() %}<do:with name="{{ k }}">{{ v if v is string else v | tojson }}</do:with>
{% endfor %}</do:call>
</do:calls>{{ '<|done|>' if loop.last else '<|next|>' }}
{%- else %}<|go|>assistant to=user<|says|>{{ m.content }}<|done|>{% endfor -%}
{%- else %}<|go|>{{ m.role }}<|says|>{{ m.content }}<|done|>{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|go|>assistant{% endif -%}
"""
"""The header names the tool, and so does the call behind it."""

BRACES = WRAPPER % (
    "{%- macro w(v) -%}{%- if v is mapping -%} { {%- for k, x in v.items() %}{{ k }}:{{ w(x) }}{{ ',' if not loop.last }}{% endfor -%} }"
    "{%- elif v is string -%}~{{ v }}~{%- elif v is iterable -%}[{%- for x in v %}{{ w(x) }}{{ ',' if not loop.last }}{% endfor -%}]"
    "{%- else -%}{{ v | tojson }}{%- endif -%}{%- endmacro -%}"
    "{%- for c in m.tool_calls or [] %}<|do|>{{ c.function.name }}{ {%- for k, v in c.function.arguments.items() %}{{ k }}:{{ w(v) }}"
    "{{ ',' if not loop.last }}{% endfor -%} }<|done|>{% endfor -%}"
)
"""Values in a notation of their own, with a bracket behind them."""

MARKED = WRAPPER % (
    "{%- if m.tool_calls %}{{ '\\n\\n' }}<¦AX¦calls>{% for c in m.tool_calls %}{{ '\\n' }}<¦AX¦call name=\"{{ c.function.name }}\">"
    "{% for k, v in c.function.arguments.items() %}{{ '\\n' }}<¦AX¦with name=\"{{ k }}\">{{ v if v is string else v | tojson }}</¦AX¦with>{% endfor %}"
    "{{ '\\n' }}</¦AX¦call>{% endfor %}{{ '\\n' }}</¦AX¦calls>{% endif -%}"
)
"""All marks begin with the same signs."""

KINDS = {"start": "string", "legs": "integer", "stops": "array"}
TOOLS = [make_tool("find_route", **KINDS)]
ROUTE = {"start": "Oslo", "legs": 2}
BODY = '<do:with name="start">Oslo</do:with>\n<do:with name="legs">2</do:with>\n</do:call>\n</do:calls>'


@pytest.mark.parametrize(
    "written",
    [
        f' to=do:calls<|says|><do:calls>\n<do:call name="find_route">\n{BODY}<|done|>',
        f' to=find<|says|><do:calls>\n<do:call name="find_route">\n{BODY}<|next|>',
        f' to=user<|says|><do:calls>\n<do:call name="find_route">\n{BODY}<|done|>',
        f' to=find_route<|says|><do:calls>\n<do:call name="find_route<|says|>">\n{BODY}<|done|>',
        f' to=find_route<|says|><do:calls>\n<do:call name="find_route<|says|>{BODY}<|done|>',
        f' to=find_route<|says|><do:calls>\n<do:call name="find_route">\n{BODY.replace("do:with", "do:arg")}<|done|>',
    ],
)
def test_a_call_that_names_its_tool_needs_no_right_header(written: str) -> None:
    format = ca.analyze(ADDRESSED)
    assert format.verdict.proven
    found = read_all_ways(format, written, TOOLS, "<|go|>assistant")
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


def test_a_call_that_a_sentence_in_reasoning_goes_on_behind_is_none() -> None:
    thought = f'Maybe <do:calls>\n<do:call name="find_route">\n{BODY} — no.'
    written = f" to=self<|says|>{thought}<|next|><|go|>assistant to=user<|says|>I will not.<|done|>"
    found = read_all_ways(ca.analyze(ADDRESSED), written, TOOLS, "<|go|>assistant")
    assert (found.reasoning, found.content, found.calls) == (thought, "I will not.", [])


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("{start:~Oslo~,legs:2<|done|>", ROUTE),
        ("{stops:[~a~,{n:1}]<|done|>", {"stops": ["a", {"n": 1}]}),
        ("{legs:2,stops:[1,2]<|done|>", {"legs": 2, "stops": [1, 2]}),
        ("{legs:2,start:~Oslo~<|done|>", ROUTE),
        ("{legs:2,start:~Oslo~}<|done|>", ROUTE),
    ],
)
def test_the_bracket_behind_the_last_value_may_be_missing(written: str, arguments: dict[str, object]) -> None:
    found = read_all_ways(ca.analyze(BRACES), f"<|do|>find_route{written}<<over>>", TOOLS)
    assert (found.content, get_calls(found), found.incomplete) == (None, [("find_route", arguments)], set())


SPACED = (
    '<¦AX¦ calls>\n<¦AX¦ call name="find_route">\n<¦AX¦ with name="start">Oslo</¦AX¦ with>\n<¦AX¦ with name="legs">2</¦AX¦ with>\n'
    "</¦AX¦ call>\n</¦AX¦ calls>"
)


@pytest.mark.parametrize("outer", ["calls", "tool_calls"])
@pytest.mark.parametrize("before", ["", "So.\n"])
def test_the_words_of_marks_may_stand_apart_from_their_signs(outer: str, before: str) -> None:
    format = ca.analyze(MARKED)
    assert format.verdict.proven
    found = read_all_ways(format, before + SPACED.replace(" calls", f" {outer}"), TOOLS)
    assert ((found.content or "").strip(), get_calls(found)) == (before.strip(), [("find_route", ROUTE)])


@pytest.mark.parametrize(
    ("written", "content"),
    [
        ("Done.\n\n</¦AX¦with>", "Done."),
        ("Done.\n\n</¦AX¦with>\n</¦AX¦call>\n</¦AX¦calls>", "Done."),
        ("Done.\n</¦AX¦call>\n</¦AX¦calls>", "Done."),
        ("One.\n\n<¦AX¦calls></¦AX¦calls>\n\nTwo.", "One.\n\n\n\nTwo."),
        ("One.\n\n<¦AX¦calls>\n</¦AX¦calls>\nTwo.", "One.\n\n\nTwo."),
        ("Done.<¦AX¦ca", "Done."),
        ("Done.\n\n<¦AX¦calls>", "Done."),
    ],
)
def test_marks_around_nothing_are_no_text(written: str, content: str) -> None:
    found = read_all_ways(ca.analyze(MARKED), written, TOOLS)
    assert ((found.content or "").strip(), found.calls) == (content, [])
    assert found.recoveries


@pytest.mark.parametrize(
    "written",
    ["It ends with </¦AX¦with>, as a rule.", "So <¦AX¦calls></¦AX¦calls> stands around calls.", "It begins with <¦AX¦ca", "`<¦AX¦calls></¦AX¦calls>`"],
)
def test_marks_that_a_sentence_speaks_of_are_text(written: str) -> None:
    found = read_all_ways(ca.analyze(MARKED), written, TOOLS)
    assert (found.content, found.calls) == (written, [])
