"""Headers of messages that hold the id of a call, written with more freedom than the template does. The template is invented."""

from __future__ import annotations

import pytest
from streams import ROUTE_TOOL, Reading, analyze, get_calls, read_all_ways

TEMPLATE = """\
{%- for m in messages -%}
{%- if m.role == "assistant" -%}
{%- if m.reasoning_content %}<|part|>model kind=musing<|text|>{{ m.reasoning_content }}<|stop|>{% endif -%}
{%- if m.content %}<|part|>model kind=answer<|text|>{{ m.content }}<|stop|>{% endif -%}
{%- for c in m.tool_calls or [] -%}
<|part|>model kind=deed for=own.{{ c.function.name }} no={{ c.id }}<|text|>{{ c.function.arguments | tojson }}<|stop|>
{%- endfor -%}
<|over|>
{%- else -%}
<|part|>{{ m.role }}<|text|>{{ m.content }}<|stop|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|part|>model{% endif -%}
"""
ARGUMENTS = '{"start": "Oslo", "legs": 2}'
MUSING, ANSWER = " kind=musing<|text|>A route.<|stop|>", "<|part|>model kind=answer<|text|>I look.<|stop|>"
DEED = f"<|part|>model kind=deed for=own.find_route no=a_1<|text|>{ARGUMENTS}<|stop|><|over|>"
MADE = [("find_route", {"start": "Oslo", "legs": 2})]


def read(text: str) -> Reading:
    return read_all_ways(analyze(TEMPLATE), text, [ROUTE_TOOL])


@pytest.mark.parametrize(
    ("right", "wrong", "ids"),
    [
        ("", "", ["a_1"]),
        ("kind=deed for=own.find_route no=a_1", "for=own.find_route no=a_1 kind=deed", ["a_1"]),
        ("kind=deed for=own.find_route no=a_1", "no=a_1 for=own.find_route", ["a_1"]),
        (" no=a_1", "", []),
        ("for=own.find_route", "for=find_route", ["a_1"]),
        ("kind=deed", "kind=commentary", ["a_1"]),
        ("for=own.find_route", "for=functions.find_route", ["a_1"]),
    ],
)
def test_a_header_may_be_written_freely(right: str, wrong: str, ids: list[str]) -> None:
    found = read(MUSING + ANSWER + DEED.replace(right, wrong, 1))
    assert ((found.reasoning or "").strip(), found.content, get_calls(found)) == ("A route.", "I look.", MADE)
    assert [each for each in found.ids if each == "a_1"] == ids


def test_of_the_first_header_its_end_is_enough() -> None:
    found = read("<|text|>Good morning.<|stop|><|over|>")
    assert (found.reasoning, found.content, found.calls) == (None, "Good morning.", [])


def test_a_later_header_may_say_nothing_of_its_message() -> None:
    told = TEMPLATE.replace(" kind=", "<|kind|>")
    found = read_all_ways(analyze(told), "<|kind|>musing<|text|>A route.<|stop|><|part|>model<|text|>I look.<|stop|><|over|>", [ROUTE_TOOL])
    assert ((found.reasoning or "").strip(), found.content, found.calls) == ("A route.", "I look.", [])


@pytest.mark.parametrize("written", [f"```json\n{ARGUMENTS}\n```", '"{\\"start\\": \\"Oslo\\", \\"legs\\": 2}"'])
def test_arguments_may_stand_in_a_fence_or_a_string(written: str) -> None:
    found = read(MUSING + DEED.replace(ARGUMENTS, written))
    assert ((found.reasoning or "").strip(), found.content, get_calls(found)) == ("A route.", None, MADE)


PARTS = """\
{%- for m in messages -%}
<|from|>{{ m.role }}
{%- if m.role == "assistant" -%}
{%- if m.reasoning_content %}<|part|>musing<|text|>{{ m.reasoning_content }}<|stop|>{% endif -%}
{%- if m.content %}<|part|>answer<|text|>{{ m.content }}<|stop|>{% endif -%}
{%- for c in m.tool_calls or [] %}<|part|>deed:{{ c.function.name }}#{{ c.id }}<|text|>{{ c.function.arguments | tojson }}<|stop|>{% endfor -%}
{%- else %}<|text|>{{ m.content }}{% endif -%}
<|over|>
{%- endfor -%}
{%- if add_generation_prompt %}<|from|>assistant{% endif -%}
"""


@pytest.mark.parametrize(
    ("written", "content", "calls"),
    [
        (f"<|part|>deed: find_route #a_1<|text|>{ARGUMENTS}<|stop|>\n<|over|>", None, MADE),
        ("<|part|>final<|text|>Good morning.<|stop|><|over|>", "Good morning.", []),
    ],
)
def test_the_parts_of_a_turn_that_has_one_header_have_headers_of_their_own(written: str, content: str, calls: list[object]) -> None:
    found = read_all_ways(analyze(PARTS), f"<|part|>musing<|text|>A route.<|stop|>\n{written}", [ROUTE_TOOL])
    assert ((found.reasoning or "").strip(), found.content, get_calls(found)) == ("A route.", content, calls)


def test_the_first_mark_of_a_header_may_be_missing() -> None:
    """Its word tells with the mark behind it what begins."""
    source = (
        "{% for m in messages %}<<from>>{{ m.role }}{% if m.reasoning_content %}<<lane>>muse<<text>>{{ m.reasoning_content }}<<end>>"
        "<<from>>{{ m.role }}{% endif %}<<lane>>speak<<text>>{{ m.content }}<<stop>>{% endfor %}"
        "{% if add_generation_prompt %}<<from>>assistant{% endif %}"
    )
    for text in ("<<lane>>muse<<text>>Hm.<<end>><<from>>assistant<<lane>>speak<<text>>Hi.", "muse<<text>>Hm.<<end>><<from>>assistant<<lane>>speak<<text>>Hi."):
        found = read_all_ways(analyze(source), text, None, "<<from>>assistant")
        assert (found.reasoning, found.content) == ("Hm.", "Hi.")
    found = read_all_ways(analyze(source), "speak<<text>>Hi.", None, "<<from>>assistant")
    assert (found.reasoning, found.content) == (None, "Hi.")
