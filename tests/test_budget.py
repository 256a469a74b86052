"""The bounds of a render and of an analysis: what a hostile or a slow template may take, and what an ordinary one takes."""

from __future__ import annotations

import sys
import time
import tracemalloc
from typing import Any

import pytest

from chat_autoparser.analysis import analyze
from chat_autoparser.ask.budget import Budget
from chat_autoparser.ask.growth import size_of
from chat_autoparser.ask.renderer import load_renderer
from chat_autoparser.ask.sandbox import ENVIRONMENT
from chat_autoparser.errors import AutoparserError, BudgetError, TemplateError

USER = {"role": "user", "content": "Hi"}

HOSTILE = {
    "endless loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops that only filter": "{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}",
    "loops that write": "{% for a in range(99999) %}{% for b in range(99999) %}text{% endfor %}{% endfor %}",
    "macro that calls itself twice": "{% macro f(n) %}{{ f(n - 1) ~ f(n - 1) if n }}{% endmacro %}{{ f(90) }}",
    "macro that calls itself without end": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "loop that calls itself twice": "{% for a in [9] recursive %}{{ loop([9]) }}{{ loop([9]) }}{% endfor %}",
    "block that calls itself twice": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "doubling by ~": "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "doubling by +": "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "doubling lists": "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "doubling by many ~": "{% set n = namespace(x='ab') %}{% for i in range(9) %}{% set n.x = "
    + " ~ ".join(["n.x"] * 500)
    + " %}{% endfor %}",
    "huge product": "{{ 'a' * 10 ** 10 }}",
    "huge product the other way": "{{ 10 ** 10 * [1] }}",
    "huge power": "{{ 9 ** 999999999 }}",
    "long integers": "{% set n = namespace(x=3) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "division of long integers": "{% set x = ('f' * 1000000)|int(0, 16) %}{{ x * x // x }}",
    "huge center": "{{ 'a'|center(10 ** 10) }}",
    "huge method": "{{ 'a'.center(10 ** 10) }}",
    "huge zfill": "{{ 'a'.zfill(10 ** 10) }}",
    "huge tabs": "{{ '\t'.expandtabs(2 ** 31 - 1) }}",
    "huge bytes": "{{ (1).to_bytes(10 ** 10, 'big') }}",
    "huge format": "{{ '{:10000000000}'.format(1) }}",
    "huge nested format": "{{ '{:{w}}'.format(1, w=10 ** 10) }}",
    "huge format by map": "{{ '{a:10000000000}'.format_map({'a': 1}) }}",
    "huge %": "{{ '%10000000000d' % 1 }}",
    "huge % by argument": "{{ '%*d' % (10 ** 9, 1) }}",
    "huge precision": "{{ '%.1000000000f' % 1.5 }}",
    "huge format filter": "{{ '%10000000000d'|format(1) }}",
    "many fields": "{{ ('{0}' * 100000).format('a' * 100000) }}",
    "huge indent": "{{ 'a\nb'|indent(10 ** 10) }}",
    "huge indent of JSON": "{{ [1]|tojson(indent=10 ** 10) }}",
    "huge separators of JSON": "{{ range(9999)|list|tojson(separators=('a' * 1000000, ':')) }}",
    "huge join": "{{ range(99999)|join('a' * 100000) }}",
    "huge join of a lazy filter": "{{ range(99999)|map('string')|join('a' * 100000) }}",
    "huge join method": "{{ ('a' * 100000).join(range(99999)|map('string')) }}",
    "lazy values joined": "{{ range(99999)|map(attribute='x')|map('default', 'a' * 100000)|join }}",
    "huge replace": "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
    "huge replace method": "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
    "huge translation": "{{ ('a' * 100000).translate({97: 'b' * 100000}) }}",
    "huge batch": "{{ [1]|batch(10 ** 10, 0)|list }}",
    "huge slice": "{{ [1]|slice(10 ** 10)|list }}",
    "huge sum": "{{ (['a'] * 9999)|map('list')|list|sum(start=[]) }}",
    "huge rounding": "{{ 1.5|round(10 ** 9, 'floor') }}",
    "huge filler": "{{ lipsum(10 ** 9) }}",
    "huge range": "{% for i in range(10 ** 12) %}{% endfor %}",
    "huge time format": "{{ strftime_now('%c' * 1000000) }}",
    "slices kept by recursion": "{% macro f(x) %}{{ f(x[1:]) }}{% endmacro %}{{ f('a' * 1000000) }}",
    "slow wrapping": "{{ ('a' * 1000000)|wordwrap(1) }}",
    "slow links": "{{ ('(' * 500000 ~ 'a' ~ ')' * 500000)|urlize }}",
    "slow tags": "{{ ('<!---->' * 200000)|striptags }}",
    "slow search": "{{ ('a' * 1000000).rfind('b' + 'a' * 500000) }}",
    "slow strip": "{{ ('b' * 1000000).strip('a' * 1000000 + 'b') }}",
    "slow trim": "{{ ('b' * 1000000)|trim('a' * 1000000 + 'b') }}",
    "slow coding": "{{ ('ü' * 1000000).encode('punycode') }}",
    "slow attribute path": "{{ range(99999)|sort(attribute='a' ~ '.a' * 99999) }}",
    "output of one constant": "{% set b %}" + "x" * 50_000 + "{% endset %}"
    "{% macro m() %}{% for i in range(99999) %}{{ b }}{% endfor %}{% endmacro %}{{ m()|length }}",
    "text of a loop": "{% macro m() %}{% for i in range(99999) %}" + "x" * 50_000 + "{% endfor %}{% endmacro %}{{ m()|length }}",
    "nested parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "nested lists": "{{ " + "[" * 5000 + "]" * 5000 + " }}",
    "nested loops": "{% for a in b %}" * 500 + "{% endfor %}" * 500,
    "list that holds itself deeply": "{% set n = namespace(x=[]) %}{% for i in range(99999) %}"
    "{% set n.x = [n.x] %}{% endfor %}{{ n.x }}",
    "lazy filters within each other": "{% set n = namespace(x=range(9)) %}{% for i in range(50000) %}"
    "{% set n.x = n.x|map('string') %}{% endfor %}{{ n.x|first }}",
    "huge title": "{{ ('a ' * 3000000)|title }}",
    "namespace that holds itself": "{% set n = namespace() %}{% set n.n = [n, n] %}{{ n }}",
}

# A list that holds another one ten times, twelve times over, and what would walk through all of it.
LAUGHS = "{% set a0 = ['x'] %}" + "".join(
    f"{{% set a{i + 1} = [{', '.join([f'a{i}'] * 10)}] %}}{{% set b{i + 1} = [{', '.join([f'a{i}'] * 10)}] %}}" for i in range(12)
)
WALKS = ("{{ a12 }}", "{{ a12|tojson }}", "{{ a12 == b12 }}", "{{ a12 ~ '' }}", "{{ '%s' % a12 }}", "{{ a12|string }}")
HOSTILE |= {f"laughs {walk}": LAUGHS + walk for walk in WALKS}
HOSTILE["laughs by arguments"] = (
    "{% macro f(n) %}{{ f(n - 1, varargs, varargs) if n else varargs|string|length }}{% endmacro %}{{ f(60, 'x') }}"
)
HOSTILE["laughs by objects"] = LAUGHS.replace("[", "dict(a=(").replace("]", "))") + "{{ a12 }}"
HOSTILE["laughs by cyclers"] = "{% set n = namespace(x='x') %}{% for i in range(99) %}" + (
    "{% set n.x = cycler(n.x, n.x).items %}{% endfor %}{{ n.x }}"
)


STOPPED_BY_PYTHON_OR_JINJA = {
    "block that calls itself twice",
    "huge range",
    "list that holds itself deeply",
    "loop that calls itself twice",
    "macro that calls itself without end",
    "namespace that holds itself",
    "nested lists",
    "nested loops",
    "nested parentheses",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_ends_soon_in_a_clear_error(name: str) -> None:
    tracemalloc.start()
    start = time.thread_time()
    try:
        with pytest.raises(AutoparserError) as caught:
            load_renderer(HOSTILE[name]).within(Budget(render_seconds=0.1))([USER])
        elapsed = time.thread_time() - start
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(caught.value, BudgetError) or name in STOPPED_BY_PYTHON_OR_JINJA
    assert not isinstance(caught.value.__cause__, MemoryError)
    assert peak < 250_000_000
    # Of processor time. Generous, as tracing slows down: what is not stopped takes minutes or for ever.
    assert elapsed < 10


def test_a_bound_tells_where_and_what_to_do() -> None:
    endless = "\n{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(BudgetError, match=r"after 0\.\d+ s.*Budget\.render_seconds.*line 2"):
        load_renderer(endless).within(Budget(render_seconds=0.05))([])
    with pytest.raises(BudgetError, match=r"more than 100 characters.*Budget\.characters.*line 1"):
        load_renderer("{{ 'a' * 101 }}").within(Budget(characters=100))([])
    assert load_renderer("{{ 'a' * 40 }}").within(Budget(characters=100))([]) == "a" * 40


def test_an_analysis_as_a_whole_is_bounded() -> None:
    renderer = load_renderer("x")
    limited = renderer.within(Budget(renders=3))
    assert [limited([]) for _ in range(3)] == ["x"] * 3
    with pytest.raises(BudgetError, match="more than 3 renders"):
        limited([])
    assert renderer([]) == "x"
    limited = renderer.within(Budget(seconds=0))
    time.sleep(0.001)
    with pytest.raises(BudgetError, match="more than 0 s"):
        limited([])


LONG_MARK = """\
{%- for m in messages -%}<{{ m.role }}>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}MARK{{ c.function.name }} {{ c.function.arguments | tojson }}]{%- endfor -%}</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""


@pytest.mark.parametrize("unit", ["do ", "[", "(a+)+$.*?[[", "<t a='b'>\n"])
def test_what_is_derived_from_a_long_mark_costs_in_proportion(unit: str) -> None:
    """Calls are counted, Python's or C's; what looks at all that stands before or behind each of its words costs sixteen times as much."""
    counts = []
    for size in (500, 2000):
        counts.append(0)

        def note(frame: object, event: str, argument: object) -> None:
            counts[-1] += event in ("call", "c_call")

        template = LONG_MARK.replace("MARK", unit * (size // len(unit)))
        sys.setprofile(note)
        try:
            analyze(template)
        finally:
            sys.setprofile(None)
    assert counts[1] < 7 * counts[0]


def test_an_answer_that_is_much_longer_than_what_was_asked_for_is_not_analysed() -> None:
    template = LONG_MARK.replace("MARK", "<mark>" * 3000)
    with pytest.raises(BudgetError, match=r"more than 16384 characters.*Budget\.turn_characters"):
        analyze(template)
    assert analyze(load_renderer(LONG_MARK.replace("MARK", "<mark>" * 30)).within(Budget(turn_characters=1000))).tools
    with pytest.raises(BudgetError, match="more than 100 characters"):
        analyze(load_renderer(LONG_MARK.replace("MARK", "<mark>" * 30)).within(Budget(turn_characters=100)))


def test_functions_are_bounded_when_they_return() -> None:
    def slow(messages: Any, tools: Any, add_generation_prompt: bool) -> str:
        time.sleep(0.02)
        return "x"

    with pytest.raises(BudgetError, match=r"too long in .*slow, which came back after 0\.\d+ s\. Make it faster"):
        load_renderer(slow).within(Budget(seconds=0.01))([])
    assert load_renderer(slow).within(Budget(render_seconds=0.01))([]) == "x"
    with pytest.raises(BudgetError, match="more than 5 characters"):
        load_renderer(lambda m, t, g: "x" * 6).within(Budget(characters=5))([])


@pytest.mark.parametrize("tokenizer", [False, True])
def test_the_analysis_of_a_slow_function_ends_with_its_time(tokenizer: bool) -> None:
    """It ends at the first return behind that, even where the function takes every conversation."""
    asked = 0

    def render(messages: Any, tools: Any = None, add_generation_prompt: bool = False, **_: Any) -> str:
        nonlocal asked
        asked += 1
        time.sleep(0.02)
        return "".join(f"<{m['role']}>{m['content']}" for m in messages) + "<assistant>" * add_generation_prompt

    slow: Any = render
    if tokenizer:
        slow = type("Tokenizer", (), {"apply_chat_template": staticmethod(render)})()
    renderer = load_renderer(slow).within(Budget(seconds=0.1))
    with pytest.raises(BudgetError, match=r"too long in .*came back after|took more than 0\.1 s \(\d+ renders\)"):
        analyze(renderer)
    assert 1 <= asked <= 6


def test_the_filters_that_bound_a_template_cannot_be_named() -> None:
    for name in ("weigh value", "tick clock"):
        assert name in ENVIRONMENT.filters
        with pytest.raises(TemplateError):
            load_renderer(f"{{{{ 'x'|{name} }}}}")
        with pytest.raises(AutoparserError):
            load_renderer("{{ ['x']|map('" + name + "', 10 ** 9, 2)|list }}")([])


def test_size_counts_what_a_value_would_be_written_out() -> None:
    part = ["ab", {"k": "v"}]
    assert size_of("abc") == 3
    assert size_of([part, part]) > 2 * size_of(part) > 2 * 4
    assert size_of([part] * 1000, 100) > 100
