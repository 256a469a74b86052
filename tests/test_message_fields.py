"""Reasoning is found in whatever field of a message a template reads it from; no part of a header is taken for it."""

from __future__ import annotations

import pytest
from streams import ROUTE_TOOL, read_all_ways
from test_slips import WRAPPER

import chat_autoparser as ca
from chat_autoparser.ask.question import REASONING_FIELDS

CALLS = "{%- for c in m.tool_calls or [] %}<go>{{ c.function | tojson }}</go>{% endfor -%}"
FIELDS = {
    "attribute": "{%- if m.musing %}(# {{ m.musing }} #){% endif -%}",
    "item": "{%- if 'musing' in m %}(# {{ m['musing'] }} #){% endif -%}",
    "method": "{%- if m.get('musing') %}(# {{ m.get('musing', '') }} #){% endif -%}",
    "with calls": "{%- if m.tool_calls and m.musing %}(# {{ m.musing }} #){% endif -%}",
    "switched": "{%- if muses and m.musing %}(# {{ m.musing }} #){% endif -%}",
}


def write(thought: str) -> str:
    """A template that writes something before a message's content."""
    return WRAPPER.replace("<<{{ m.role }}>>", "<<{{ m.role }}>>" + thought.replace("%", "%%")) % CALLS


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_another_name_holds_reasoning(name: str) -> None:
    format = ca.analyze(write(FIELDS[name]))
    assert format.asking.reasoning == ("musing",)
    assert format.verdict.proven, format.verdict.counterexample
    found = read_all_ways(format, '(# Which way? #)So.<go>{"name": "find_route", "arguments": {"legs": 2}}</go><<over>>', [ROUTE_TOOL])
    assert (found.reasoning, found.content, found.calls) == ("Which way?", "So.", [("find_route", '{"legs": 2}')])


@pytest.mark.parametrize(
    "header",
    [
        "{%- if m.who %}(# {{ m.who }} #){% endif -%}<<say>>",  # the prompt ends behind it
        "{%- if m.who %} to={{ m.who }}{% endif -%}",  # nothing but what stands there anyway ends it
    ],
)
def test_what_heads_a_message_is_no_reasoning(header: str) -> None:
    source = write("").replace("<<{{ m.role }}>>", "<<{{ m.role }}" + header + ">>")
    if "<<say>>" in header:
        source = source.replace("<<assistant>>", "<<assistant<<say>>>>")
    format = ca.analyze(source)
    assert format.reasoning is None
    assert format.parse("(# Which way? #)So.<<over>>")["content"] == "(# Which way? #)So."


def test_the_field_that_engines_know_comes_first() -> None:
    source = write("{%- if m.musing %}(# {{ m.musing }} #){% endif -%}{%- if m.reasoning_content %}[# {{ m.reasoning_content }} #]{% endif -%}")
    format = ca.analyze(source)
    assert format.asking.reasoning == REASONING_FIELDS


BLOCKS = (
    "{%- for m in messages %}<<{{ m.role }}>>{% if m.content is mapping and 'blocks' in m.content %}{% for b in m.content.blocks %}"
    "{% if b.type == 'thoughts' %}(# {{ b.text }}{% else %} #){{ b.text }}{% endif %}{% endfor %}{% else %}{{ m.content or '' }}{% endif %}"
    + CALLS
    + "<<over>>{% endfor -%}{%- if add_generation_prompt %}<<assistant>>{% endif -%}"
)
"""The content of a message may be an object of blocks; nothing ends a thought before a call."""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("(# Which way? #)North.<<over>>", ("Which way?", "North.", [])),
        ('(# Which way?<go>{"name": "find_route", "arguments": {"legs": 2}}</go><<over>>', ("Which way?", None, [("find_route", '{"legs": 2}')])),
        ("North.<<over>>", (None, "North.", [])),
    ],
)
def test_a_block_of_a_content_that_is_an_object_holds_reasoning(text: str, read: tuple[object, ...]) -> None:
    format = ca.analyze(BLOCKS)
    assert format.asking.reasoning == ("blocks",)
    assert format.verdict.proven, format.verdict.counterexample
    found = read_all_ways(format, text, [ROUTE_TOOL], policy="strict")
    assert (found.reasoning, found.content, found.calls) == read
