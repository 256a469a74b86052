"""Calls that go on, or begin, in signs that no render shows: the tool's parameters tell what is left. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

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
