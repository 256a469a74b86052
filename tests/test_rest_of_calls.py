"""Calls that go on, or begin, in signs that no render shows: the tool's parameters tell what is left. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

from chat_autoparser.format import Node
from chat_autoparser.plan.rules import MISTYPED, Rule

FRAME = (
    "{%%- for m in messages -%%}[{{ m.role }}]\n{{ m.content or '' }}{%% for c in m.tool_calls or [] %%}%s{%% endfor %%}"
    "{{ '\\n%%%%\\n' }}{%% endfor -%%}{%%- if add_generation_prompt %%}[assistant]\n{%% endif -%%}"
)
VALUE = "{{ '«' ~ v | replace('»', '\\\\»') ~ '»' if v is string else 'yes' if v is true else 'no' if v is false else v | tojson }}"
LINES = "{{ '\\n┝ ' ~ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ '\\n┊ ' ~ k ~ ' ⇒ ' }}" + VALUE + "{% endfor %}"
CALLED = (
    "{{ '\\n→ ' ~ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}: "
    + VALUE
    + "{{ '' if loop.last else '; ' }}{% endfor %})"
)
COMMAND = (
    "{{ '\\n$ ' ~ c.function.name }}{% for k, v in c.function.arguments.items() %} --{{ k }}="
    "{{ \"'\" ~ v | replace(\"'\", \"'\\\\''\") ~ \"'\" if v is string else v | tojson }}{% endfor %}"
)
TOOLS = [make_tool("plan", city="string", days="integer", fast="boolean", tags="array"), make_tool("ping", host="string")]
OSLO = {"city": "Oslo", "days": 3}


def read(call: str, text: str, policy: str = "lenient") -> Reading:
    format = analyze(FRAME % call, bos_token="<s>", eos_token="</s>")
    return read_all_ways(format, f"{text}\n%%\n", TOOLS, "[assistant]\n", policy)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "text", "expected"),
    [
        (CALLED, "→ plan(city: «Oslo», days = 3)", [("plan", OSLO)]),
        (CALLED, "→ plan(city: «Oslo», days = 3, fast = no)\n→ ping(host: «a»)", [("plan", {**OSLO, "fast": False}), ("ping", {"host": "a"})]),
        (CALLED, "→ plan(city: «Oslo»; tags: [«a», «b»], days = 3)", [("plan", {"city": "Oslo", "tags": ["a", "b"], "days": 3})]),
        (CALLED, "→ plan(\n  city: «Oslo»,  # the capital\n  days: 3  // nights\n)", [("plan", OSLO)]),
        (CALLED, "→ plan(city: «Oslo # 1»;  # one\n  days: 3)", [("plan", {"city": "Oslo # 1", "days": 3})]),
        (LINES, '┝ plan\n┊ city => "Oslo"\n┊ days => 3', [("plan", OSLO)]),
        (LINES, '┝ plan {"city": "Oslo", "days": 3}', [("plan", OSLO)]),
        (LINES, "┝ plan\n┊ city ⇒ «Oslo»\n┊ days = 3", [("plan", OSLO)]),
        (COMMAND, "$ plan --city 'Oslo' --days 3", [("plan", OSLO)]),
        (COMMAND, "$ plan --city='Oslo' --days 3", [("plan", OSLO)]),
        (COMMAND, "$ plan --city='Oslo' --fast", [("plan", {"city": "Oslo", "fast": True})]),
    ],
)  # fmt: skip
def test_what_names_a_tool_and_its_parameters_is_its_call(call: str, text: str, expected: list[tuple[str, Any]]) -> None:
    for before in ("", "Off.\n"):
        found = read(call, before + text)
        assert ((found.content or "").strip(), get_calls(found)) == (before.strip(), expected)
    assert get_calls(read(call, text, "strict")) != expected


def test_a_call_whose_result_is_assigned_is_one() -> None:
    tagged = "{{ '<|py|>\\n' ~ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}"
    tagged += "{{ '' if loop.last else ', ' }}{% endfor %})<|/py|>"
    for text in ('<|py|>\ntrip = plan(city="Oslo", days=3)\n<|/py|>', '<|py|>\ntrip=plan(city="Oslo", days=3)<|/py|>'):
        assert get_calls(read(tagged, text)) == [("plan", OSLO)]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (LINES, "┝ plan the trip, then\n┊ pack"),
        (LINES, '┝ plan\n┊ town => "Oslo"'),  # nobody declares that
        (LINES, '┝ plan\n┊ city => "Oslo"\nand so on'),
        (COMMAND, "It costs $ plan --city 'Oslo' amid a line"),
        (COMMAND, "$ plan --city 'Oslo' --days three"),  # no integer
        (COMMAND, "$ fly --city 'Oslo'"),
    ],
)
def test_what_is_anything_else_is_text(call: str, text: str) -> None:
    found = read(call, text)
    assert ((found.content or "").strip(), get_calls(found)) == (text, [])


def test_nothing_is_dropped_where_the_rest_of_a_call_is_no_argument() -> None:
    """What was read of the call has been handed on; the rest is text, all of it."""
    rest = ", fast = perhaps, or so)"
    found = read(CALLED, f"Off.\n→ plan(city: «Oslo»; days: 3{rest}")
    assert found.content is not None
    assert rest in found.content
    assert [(name, text) for name, text in found.calls] == [("plan", '{"city": "Oslo", "days": 3')]


SPOKEN = (
    "{%- for m in messages -%}[{{ m.role }}]\n{% if m.reasoning_content %}{{ 'Considering: ' ~ m.reasoning_content ~ '\nConsidered.\n' }}"
    "{% endif %}{{ 'Reply: ' ~ m.content if m.content else '' }}{% for c in m.tool_calls or [] %}"
    "{{ '\nrun call ' ~ c.function.name ~ ' ' ~ c.function.arguments | tojson ~ ' end of call;' }}{% endfor %}{{ '\n%%\n' }}"
    "{% endfor -%}{%- if add_generation_prompt %}[assistant]\n{% endif -%}"
)
JSON = '{"city": "Oslo", "days": 3}'


@pytest.mark.parametrize(
    "text",
    [
        f"Considering: Oslo.\nConsidered.\nReply: Off.\nrun call plan {JSON} endd of call;",
        f"Considering: Oslo.\nConsidered.\nReply: Off.\nrun call plan {JSON} END OF CALL;",
        f"Considering: Oslo.\nConsidered.\nReply: Off.\nrun call plan {JSON} end of call",
        f"Considering: Oslo.\nConsidered\nReply: Off.\nrun call plan {JSON} end of call;",
        f"Considering: Oslo.\nConsiderd.\nReply: Off.\nrun call plan {JSON} end of call;",
        f"Considering: Oslo.\nConsidered.\nReply: Off.\nRun call plan {JSON} end of call;",
    ],
)
def test_what_is_like_a_text_of_the_format_is_that_text(text: str) -> None:
    found = read_all_ways(analyze(SPOKEN), f"{text}\n%%\n", TOOLS, "[assistant]\n")
    assert (found.reasoning, (found.content or "").strip(), get_calls(found)) == ("Oslo.", "Off.", [("plan", OSLO)])
    assert found.recoveries


@pytest.mark.parametrize(
    "behind", ["And of course, none.", "end.", "run along", "running call plan", "Reply later", "Considered opinions differ."]
)
def test_what_is_only_a_little_like_it_is_text(behind: str) -> None:
    text = f"Reply: Off.\nrun call plan {JSON} end of call;"
    found = read_all_ways(analyze(SPOKEN), f"{text}\n{behind}\n%%\n", TOOLS, "[assistant]\n")
    assert ((found.content or "").strip(), get_calls(found)) == (f"Off.\n{behind}", [("plan", OSLO)])


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("→ plan(tags: [«a»]; days: 3; fast: yes; city: «Oslo»", True),  # the tool takes nothing else
        ("→ plan(tags: [«a»]; days: 3; fast: yes; city: «Oslo", False),
        ("→ plan(days: 3; fast: yes; city: «Oslo»", False),
        ("→ plan(tags: [«a»]; city: «Oslo»; fast: yes; days: 3", False),  # or 30
    ],
)
def test_a_call_that_has_all_its_tool_takes_has_ended(text: str, whole: bool) -> None:
    """Though the output is cut off behind that."""
    found = read_all_ways(analyze(FRAME % CALLED), f"Off.\n{text}", TOOLS, "[assistant]\n")
    assert (found.incomplete == set()) == whole
    if whole:
        assert get_calls(found) == [("plan", {"city": "Oslo", "days": 3, "fast": True, "tags": ["a"]})]


def test_a_rule_for_what_is_like_its_text_keeps_its_guard() -> None:
    """Whatever else was asked of it before."""
    rule = Rule(("run call ",), (Node("name", "name"),), True)
    assert rule.name_recovery(MISTYPED).guard == ""
    assert rule.mistype().guard == "known"
    assert rule.mistype() is rule.mistype()
