"""Texts that hold a number for each call: they grow with the calls, beyond any number that was asked. The templates are invented."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways

import chat_autoparser as ca

ENDS = (
    "{%- for m in messages -%}[{{ m.role }}]\n{{ m.content or '' }}{% if m.tool_calls %}{% for c in m.tool_calls %}"
    "\nlet v{{ loop.index }} = {{ c.function.name }}({{ c.function.arguments | tojson }});{% endfor %}"
    "\nyield {% for c in m.tool_calls %}v{{ loop.index }}{{ ' + ' if not loop.last }}{% endfor %}.{% endif %}[done]\n{% endfor -%}"
    "{%- if add_generation_prompt %}[assistant]\n{% endif -%}"
)
"""The numbers of all calls stand behind them."""

OPENS = (
    "{%- for m in messages -%}[{{ m.role }}]\n{{ m.content or '' }}{% if m.tool_calls %}\ntake ({% for c in m.tool_calls %}"
    "#{{ loop.index0 }}{{ '|' if not loop.last }}{% endfor %}) from {% for c in m.tool_calls %}"
    "{{ c.function.name }} <- {{ c.function.arguments | tojson }}{{ ' and ' if not loop.last }}{% endfor %};{% endif %}[done]\n"
    "{% endfor -%}{%- if add_generation_prompt %}[assistant]\n{% endif -%}"
)
"""They stand before them."""

TOOLS = [make_tool("find_route", start="string")]


@pytest.mark.parametrize("template", [ENDS, OPENS], ids=["ends", "opens"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9, 12])
def test_a_text_with_a_number_for_each_call_is_as_long_as_there_are_calls(template: str, count: int) -> None:
    arguments = [{"start": f"Place {number}"} for number in range(count)]
    render, user = ca.load_renderer(template), {"role": "user", "content": "Go."}
    turn = {"role": "assistant", "content": "", "tool_calls": [make_call("find_route", each) for each in arguments]}
    prompt = render([user], TOOLS, True)
    text = render([user, turn], TOOLS, False).removeprefix(prompt)
    found = read_all_ways(analyze(template), text, TOOLS, prompt, "strict")
    assert (found.content, get_calls(found)) == (None, [("find_route", each) for each in arguments])


@pytest.mark.parametrize("template", [ENDS, OPENS], ids=["ends", "opens"])
def test_a_template_with_such_a_text_is_proven(template: str) -> None:
    assert analyze(template).verdict.proven
