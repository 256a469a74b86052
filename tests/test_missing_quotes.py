"""A quote that is missing where a text ends, in notations that are no JSON, and ends that lack a part. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways
from templates import count_work

TOOLS = [make_tool("route", start="string", goal="string", days="integer", fast="boolean")]
FRAME = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n{%% if m.reasoning_content %%}<x:muse>{{ m.reasoning_content }}</x:muse>\n{%% endif %%}"
    "{{ m.content or '' }}{%% for c in m.tool_calls or [] %%}\n%s{%% endfor %%}<<over>>\n{%% endfor -%%}"
    "{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)
EACH = "{% for k, v in c.function.arguments.items() %}"
ESCAPED = r"(v | replace('\\', '\\\\') | replace('\'', '\\\''))"
CALLED = FRAME % (
    "[do] {{ c.function.name }}(" + EACH + "{{ k }}={{ '\\'' ~ " + ESCAPED + " ~ '\\'' if v is string else v | tojson }}"
    "{{ ', ' if not loop.last }}{% endfor %}) [/do]"
)
"""Quotes that stand in no text."""
MARKED = FRAME % (
    "[do] {{ c.function.name ~ '{' }}"
    + EACH
    + "{{ k }}:{{ '<|q|>' ~ v ~ '<|q|>' if v is string else v | tojson }}{{ ',' if not loop.last }}{% endfor %}} [/do]"
)
"""Marks for quotes, which a text may hold."""
NAMED = FRAME % (
    '<do:{{ c.function.name }}>'
    + EACH
    + "\n<p:{{ k }}>{{ '\"' ~ (v | tojson)[1:-1] ~ '\"' if v is string else v | tojson }}</p:{{ k }}>{% endfor %}\n</do:{{ c.function.name }}>"
)
"""The end of an argument has its quote and its key in it."""
ENDED = FRAME % (
    "[do] {{ c.function.name }}:" + EACH + " {{ k }} = \"{{ (v | tojson)[1:-1] if v is string else v | tojson }}\";{% endfor %} [/do]"
)
"""Each value is in quotes, and has the same sign behind it."""
PLAIN = FRAME % (
    "[do] {{ c.function.name }}("
    + EACH
    + "{{ k }} => {{ '\"' ~ v ~ '\"' if v is string else v | tojson }}{{ ', ' if not loop.last }}{% endfor %}) [/do]"
)
"""Quotes that a text may hold."""
HELD = FRAME % (
    "[do] {{ c.function.name }}" + EACH + "<|k|>{{ k }}<|v|>{{ '\\'' ~ " + ESCAPED + " ~ '\\'' if v is string else v | tojson }}"
    "<|z|>{% endfor %}<|z|>"
)
"""The mark behind a quote ends calls, too."""
APART = FRAME % (
    "<do {{ c.function.name }}>" + EACH + "<in {{ k }}>{{ v | tojson }}</in>{% endfor %}</do>"
)
"""A blank stands before a key."""
LINKED = FRAME % (
    "<do://{{ c.function.name }}" + EACH + "{{ '?' if loop.first else '&' }}{{ k }}"
    "{{ '=' ~ (v | urlencode) if v is string else ':json=' ~ (v | tojson | urlencode) }}{% endfor %};"
)
"""No text has a line break in it, or what begins a call."""


def read(template: str, written: str, policy: Any = "repair") -> Any:
    return read_all_ways(analyze(template), written, TOOLS, "<<assistant>>\n", policy)


@pytest.mark.parametrize(
    ("template", "written"),
    [
        (CALLED, "\n[do] route(start='Oslo, goal='By the sea') [/do]<<over>>"),
        (CALLED, "\n[do] route(goal='By the sea, start='Oslo') [/do]<<over>>\n"),
        (MARKED, "\n[do] route{start:<|q|>Oslo,goal:<|q|>By the sea<|q|>} [/do]<<over>>"),
        (NAMED, '<do:route>\n<p:start>"Oslo"</p>\n<p:goal>"By the sea"</p>\n</do:route><<over>>'),
        (APART, '\n<do route><in start>"Oslo</in><in goal>"By the sea"</in></do><<over>>'),
    ],
)
def test_a_text_ends_where_the_next_one_begins(template: str, written: str) -> None:
    found = read(template, written)
    assert [(name, dict(sorted(given.items()))) for name, given in get_calls(found)] == [("route", {"goal": "By the sea", "start": "Oslo"})]
    assert found.recoveries != []


def test_a_text_whose_quote_never_comes_ends_before_an_argument() -> None:
    found = read(CALLED, "\n[do] route(start='Oslo, days=2, fast=true) [/do]<<over>>")
    assert get_calls(found) == [("route", {"start": "Oslo", "days": 2, "fast": True})]
    assert found.recoveries == ["end of a value missing"]


@pytest.mark.parametrize(
    ("template", "written", "start"),
    [
        (CALLED, "\n[do] route(start='Oslo, days=2, or so', goal='Bergen') [/do]<<over>>", "Oslo, days=2, or so"),
        (CALLED, "\n[do] route(start='Oslo, colour=\\'red\\'', goal='Bergen') [/do]<<over>>", "Oslo, colour='red'"),
        (CALLED, "\n[do] route(start='days=', goal='Bergen') [/do]<<over>>", "days="),
        (MARKED, "\n[do] route{start:<|q|>Oslo,days:2<|q|>,goal:<|q|>Bergen<|q|>} [/do]<<over>>", "Oslo,days:2"),
        (MARKED, "\n[do] route{start:<|q|>Oslo,goal:<|q|>,goal:<|q|>Bergen<|q|>} [/do]<<over>>", "Oslo,goal:"),
    ],
)
@pytest.mark.parametrize("policy", ["strict", "lenient", "repair"])
def test_a_text_that_ends_as_it_should_is_left_alone(template: str, written: str, start: str, policy: str) -> None:
    found = read(template, written, policy)
    assert (get_calls(found), found.recoveries) == ([("route", {"start": start, "goal": "Bergen"})], [])


def test_a_call_begins_where_no_text_goes_on() -> None:
    found = read(LINKED, "\n<do://route?start=Oslo&goal=Bergen\n<do://route?start=Bod%C3%B8\n<<over>>")
    assert get_calls(found) == [("route", {"start": "Oslo", "goal": "Bergen"}), ("route", {"start": "Bodø"})]


@pytest.mark.parametrize("end", ["</x:musing>", "</x:muses>"])
def test_a_thought_ends_with_a_mistyped_mark_behind_its_last_sentence(end: str) -> None:
    found = read(CALLED, f"<x:muse>They know the way.{end}\nGo north.<<over>>")
    assert (found.reasoning, found.content) == ("They know the way.", "Go north.")


def test_a_thought_may_speak_of_a_mark_like_its_end() -> None:
    found = read(CALLED, "<x:muse>One writes </x:musing> there.</x:muse>\nGo north.<<over>>")
    assert (found.reasoning, found.content) == ("One writes </x:musing> there.", "Go north.")


def test_a_number_that_zeros_begin_keeps_them_where_a_text_is_wanted() -> None:
    template = FRAME % '<do>{{ {"name": c.function.name, "arguments": c.function.arguments} | tojson }}</do>'
    found = read(template, '\n<do>{"name": "route", "arguments": {"start": 0047, "days": 007}}</do><<over>>')
    assert get_calls(found) == [("route", {"start": "0047", "days": 7})]


@pytest.mark.parametrize(("template", "call"), [(CALLED, "\n[do] route(start='%s') [/do]"), (MARKED, "\n[do] route{start:<|q|>%s<|q|>} [/do]")])
@pytest.mark.parametrize("flood", ["x, goal y, ", "x, goal=y, ", "x, goal:y,goal:y, ", "x, go, "])
def test_names_of_arguments_in_a_text_cost_what_its_length_costs(template: str, call: str, flood: str) -> None:
    form = analyze(template)
    counts = []
    for size in (100, 100, 300):  # the first time, what is made once counts, too
        counts.append(count_work(form, "<<assistant>>\n", call % (flood * size), 8, TOOLS, "repair")[-1])
    assert counts[2] <= 3.3 * counts[1] + 2000


@pytest.mark.parametrize(
    ("template", "written"),
    [
        (MARKED, "\n[do] route{start:<|q|>Oslo,days:2,goal:<|q|>By the sea<|q|>} [/do]<<over>>"),
        (ENDED, '\n[do] route: start = "Oslo; days = "2"; goal = "By the sea"; [/do]<<over>>'),
        (ENDED, '\n[do] route: start = "Oslo"; days = "2; goal = "By the sea"; [/do]<<over>>'),
        (PLAIN, '\n[do] route(goal => "By the sea", start => "Oslo, days => 2) [/do]<<over>>'),
        (PLAIN, '\n[do] route(goal => "By the sea", start => "Oslo" days => 2) [/do]<<over>>'),
        (PLAIN, '\n[do] route(goal => "By the sea", start => "Oslo",, days => 2) [/do]<<over>>'),
        (PLAIN, '\n[do] route(start "Oslo", goal "By the sea", days => 2) [/do]<<over>>'),
        (PLAIN, '\n[do] route(start => "Oslo", goal => "By the sea", days > 2) [/do]<<over>>'),
        (HELD, "\n[do] route<|k|>start<|v|>'Oslo<|z|><|k|>days<|v|>2<|z|><|k|>goal<|v|>'By the sea'<|z|><|z|><<over>>"),
        (HELD, "\n[do] route<|k|>days<|v|>2<|z|><|k|>start<|v|>'Oslo'<|z|><|k|>goal<|v|>'By the sea<|z|><|z|><<over>>"),
    ],
)
def test_a_slip_between_two_arguments_puts_neither_into_the_other(template: str, written: str) -> None:
    found = read(template, written)
    wanted = {"days": 2, "goal": "By the sea", "start": "Oslo"}
    assert [(name, dict(sorted(given.items()))) for name, given in get_calls(found)] == [("route", wanted)]
    assert found.recoveries != []
