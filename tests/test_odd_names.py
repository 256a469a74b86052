"""Tools whose names are no words, which templates put in quotes, between bars or in brackets. The templates are invented."""

from __future__ import annotations

from itertools import product

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn
from test_constrain import accepts
from test_slips import WRAPPER

from chat_autoparser.constrain.write import write_turn

SPELL = "{%%- macro spell(n) -%%}{{ n if '-' not in n and '.' not in n else %s }}{%%- endmacro -%%}"
CALLS = {
    "quotes": ("'\"' ~ n ~ '\"'", "[[do]]{{ spell(c.function.name) }}({{ c.function.arguments | tojson }})[[/do]]"),
    "bars": ("'|' ~ n ~ '|'", "[[do]]({{ spell(c.function.name) }}{% for k, v in c.function.arguments.items() %} :{{ k }} {{ v | tojson }}{% endfor %})"),
    "brackets": ("'[' ~ n ~ ']'", "{{ '\n' }}> {{ spell(c.function.name) }} {{ c.function.arguments | tojson }}"),
}
NAMES = ["now", "get-time", "a.b_c"]
TOOLS = [make_tool(name, city="string", days="integer") for name in NAMES]


def make_template(way: str) -> str:
    odd, call = CALLS[way]
    return SPELL % odd + WRAPPER % ("{%- for c in m.tool_calls or [] %}" + call + "{% endfor -%}")


@pytest.mark.parametrize("way", CALLS)
def test_odd_names_are_read_and_written(way: str) -> None:
    template = make_template(way)
    format = analyze(template)
    assert format.verdict.proven
    for names, arguments in product(product(NAMES, repeat=2), ({}, {"city": "Oslo", "days": 2})):
        message = {"content": None, "tool_calls": [make_call(name, arguments) for name in names]}
        prompt, written = render_turn(template, message, TOOLS)
        found = read_all_ways(format, written, TOOLS, prompt)
        assert get_calls(found) == [(name, arguments) for name in names]
        assert not found.recoveries
        assert written.startswith(write_turn(format.graph, message))
        bare = written.partition("<<over>>")[0]
        assert accepts(format, bare, TOOLS)
        assert not accepts(format, bare.replace("get-time", "now").replace("a.b_c", "now"), TOOLS) or set(names) == {"now"}


def test_an_odd_name_may_be_the_first_behind_a_result() -> None:
    """The prompt there is another one, so that what may follow it is learnt on its own."""
    template = (
        "{%- macro spell(n) -%}{{ '\"' ~ n ~ '\"' if '-' in n else n }}{%- endmacro -%}"
        "{%- for m in messages -%}{%- if m.role == 'assistant' -%}{{ '<again>' if loop.previtem.role == 'tool' else '<bot>' }}{{ m.content or '' }}"
        "{%- for c in m.tool_calls or [] %}[do]{{ spell(c.function.name) }}({{ c.function.arguments | tojson }})[/do]{% endfor -%}</bot>"
        "{%- else -%}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{%- endif -%}{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{ '<again>' if messages[-1].role == 'tool' else '<bot>' }}{%- endif -%}"
    )
    format = analyze(template)
    assert format.verdict.proven
    targets = [{edge.target for edge in start.edges} for start in format.graph.starts if start.prompt == "<again>"]
    assert targets == [{"name", "name!", "content", "content+calls"}]
