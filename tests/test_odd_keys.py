"""Keys that are no words, which templates put in quotes, between bars or in brackets. The templates are invented."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import make_call, read_all_ways, render_turn
from test_constrain import accepts

import chat_autoparser as ca
from chat_autoparser.constrain.write import write_turn
from chat_autoparser.format import ChatFormat, Path

TURNS = """\
%s
{%%- for m in messages -%%}
<<{{ m.role }}>>{{ m.content or '' }}
{%%- for c in m.tool_calls or [] %%}{%% set args = c.function.arguments %%}
%s
{%%- endfor -%%}
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

BARS = (
    """{%- macro w(v) -%}{%- if v is mapping -%}(dict{% for k, x in v.items() %} (
{{- k if k.isidentifier() else '|' ~ k ~ '|' }} {{ w(x) }}){% endfor %}){%- elif v is boolean -%}{{ '#t' if v else '#f' }}
{%- else -%}{{ v | tojson }}{%- endif -%}{%- endmacro -%}""",
    """<do>({{ c.function.name }}{% for k, v in args.items() %} ({{ k if k.isidentifier() else '|' ~ k ~ '|' }} {{ w(v) }})
{%- endfor %})</do>""",
)
QUOTES = (
    "",
    """<do>{{ c.function.name }}({% for k, v in args.items() %}{{ k if k.isidentifier() else k | tojson }}: {{ v | tojson }}
{%- if not loop.last %}, {% endif %}{% endfor %})</do>""",
)
SPLICED = (
    "",
    """<do>{{ c.function.name }}({% for k, v in args.items() -%}
{%- if k.isidentifier() %}{{ k }}={{ v | tojson }}{% else %}**{ {{- k | tojson }}: {{ v | tojson -}} }{% endif -%}
{%- if not loop.last %}, {% endif %}{% endfor %})</do>""",
)
BRACKETS = (
    """{%- macro row(path, v) -%}{%- if v is mapping and v -%}
{%- for k, x in v.items() -%}{{ row(path ~ ('.' ~ k if k.isidentifier() else '["' ~ k ~ '"]'), x) }}{%- endfor -%}
{%- else -%}{{ path }} = {{ v | tojson }}{{ "\\n" }}{%- endif -%}{%- endmacro -%}""",
    """<do>{{ c.function.name }}
{% for k, v in args.items() %}{{ row('in' ~ ('.' ~ k if k.isidentifier() else '["' ~ k ~ '"]'), v) }}{% endfor %}</do>""",
)
WAYS = {"bars": BARS, "quotes": QUOTES, "spliced": SPLICED, "brackets": BRACKETS}
NUMBER = {"max distance": {"type": "integer"}, "sort-by": {"type": "string"}, "plain": {"type": "boolean"}}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "sail",
            "parameters": {
                "type": "object",
                "properties": {**NUMBER, "to.do": {"type": "object"}, "more": {"type": "object", "properties": NUMBER}},
                "required": ["max distance"],
                "additionalProperties": False,
            },
        },
    }
]
MESSAGES: dict[str, dict[str, Any]] = {
    "one": {"max distance": 12},
    "beside others": {"plain": True, "sort-by": "fare, then time", "max distance": 3},
    "within one": {"max distance": 3, "to.do": {"a b": "x", "c": False, "d-e": {"f g": 1}}, "plain": False},
    "within another": {"more": {"sort-by": "x", "max distance": 1}, "sort-by": ""},
}


@cache
def analyze(way: str) -> tuple[str, ChatFormat]:
    """Return a template and its format."""
    template = TURNS % WAYS[way]
    return template, ca.analyze(template)


def render(template: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return the prompt of a template, and the turn behind it with one call."""
    return render_turn(template, {"content": "", "tool_calls": [make_call("sail", arguments)]}, TOOLS)


def read(fmt: ChatFormat, prompt: str, text: str) -> dict[str, Any]:
    """Return the arguments that are read of a turn, the same in all ways."""
    ((name, written),) = read_all_ways(fmt, text, TOOLS, prompt).calls
    assert name == "sail"
    found: dict[str, Any] = json.loads(written)
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("label", MESSAGES)
def test_a_key_that_is_no_word_is_read_and_written_as_the_template_does(way: str, label: str) -> None:
    template, fmt = analyze(way)
    arguments = MESSAGES[label]
    prompt, text = render(template, arguments)
    assert read(fmt, prompt, text) == arguments
    assert fmt.verdict.proven
    call = {"function": {"name": "sail", "arguments": arguments}}
    assert text.startswith(write_turn(fmt.graph, {"tool_calls": [call]}))


@pytest.mark.parametrize("way", WAYS)
@given(keys=st.lists(st.from_regex(r"[a-z]{1,6}[ -.@#%&][a-z]{1,6}", fullmatch=True), min_size=1, max_size=3, unique=True))
@settings(max_examples=20, deadline=None)
def test_any_key_comes_back(way: str, keys: list[str]) -> None:
    template, fmt = analyze(way)
    arguments = {"max distance": 1, "to.do": {key: number for number, key in enumerate(keys)}}
    prompt, text = render(template, arguments)
    assert read(fmt, prompt, text) == arguments


@pytest.mark.parametrize("way", WAYS)
def test_a_grammar_takes_such_a_key_in_its_own_form_alone(way: str) -> None:
    template, fmt = analyze(way)
    _, text = render(template, {"max distance": 12})
    assert accepts(fmt, text, TOOLS)
    bare = text.replace('"max distance"', "max distance").replace("|max distance|", "max distance")
    assert bare != text
    assert not accepts(fmt, bare, TOOLS)


def test_paths_with_such_keys_are_split_as_they_were_joined() -> None:
    path = Path(".", "", "[", "]", 0, '["', '"]', " .-")
    paths: list[list[str | int]] = [["a"], ["a b"], ["a", "b c"], ["a b", "c", 3, "d-e"], ["a b", "c.d"], ["a", 0, 1, "x y", "z"]]
    for keys in paths:
        assert path.split(path.join(keys)) == keys
    assert path.split('a["b') == ['a["b']
