"""Arguments whose quotes are escaped as in a string, where no string is around them. The templates are invented."""

from __future__ import annotations

import json

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

from chat_autoparser.recover import PolicyName

TURN = (
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}{%- for c in m.tool_calls or [] -%}\n<act>CALL</act>{%- endfor -%}"
    "<|over|>{%- endfor -%}"
)
PLAIN = TURN.replace("CALL", '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}')
QUOTED = TURN.replace("CALL", "**{{ c.function.name }}** {{ c.function.arguments | tojson | tojson }}")
TOOL = make_tool("book", title="string", days="integer")


@pytest.mark.parametrize("end", ["}</act><|over|>", "}</act>", "}"])
@pytest.mark.parametrize("policy", ["lenient", "repair"])
def test_they_are_what_the_string_would_hold(end: str, policy: PolicyName) -> None:
    written = json.dumps(json.dumps({"title": 'a "b"', "days": 2}))[1:-1]
    text = f'Go.\n<act>{{"name": "book", "arguments": {written}{end}'
    found = read_all_ways(analyze(PLAIN), text, [TOOL], policy=policy)
    assert (found.content, get_calls(found)) == ("Go.\n", [("book", {"title": 'a "b"', "days": 2})])
    assert "arguments in a string" in found.recoveries


def test_the_quote_before_them_may_be_missing() -> None:
    found = read_all_ways(analyze(QUOTED), 'Go.\n<act>**book** {\\"title\\": \\"x\\"}"</act><|over|>', [TOOL])
    assert (found.content, get_calls(found)) == ("Go.\n", [("book", {"title": "x"})])


def test_an_output_that_ends_with_a_bracket_has_begun_arguments() -> None:
    found = read_all_ways(analyze(PLAIN), 'Go.\n<act>{"name": "book", "arguments": {', [TOOL])
    assert (found.calls, found.incomplete) == ([("book", "{")], {0})
