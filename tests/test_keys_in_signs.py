"""The name of a parameter in quotes or other signs, which the template writes without, is that of the parameter."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn
from test_values_go_on import CALLS, ITEMS, TURN

CALLS = {
    **CALLS,
    "a table": "\n## {{ c.function.name }}"
    + ITEMS.replace("ITEM", "{{ '\\n| ' ~ k ~ ' | ' ~ v | tojson | replace('|', '\\\\u007c') ~ ' |' }}"),
}
TOOLS = [make_tool("get_weather", city="string", days="integer", note="string")]
ARGUMENTS = ({"city": "Oslo", "days": 347, "note": "a b"}, {"days": 347, "note": "a b", "city": "Oslo"})


@pytest.mark.parametrize("written", ['"note"', "'note'", "`note`", "**note**", "note?", "@note"])
@pytest.mark.parametrize("name", CALLS)
def test_signs_around_a_key_are_none_of_it(name: str, written: str) -> None:
    source = TURN.replace("CALL", CALLS[name])
    for arguments in ARGUMENTS:
        prompt, text = render_turn(source, {"content": "Go.", "tool_calls": [make_call("get_weather", arguments)] * 2}, TOOLS)
        assert text.count("note") == 2
        found = read_all_ways(analyze(source), text.replace("note", written), TOOLS, prompt, "repair")
        assert (found.content, get_calls(found)) == ("Go.", [("get_weather", arguments)] * 2)
        assert set(found.recoveries) in ({"key in quotes"}, {"signs around a key"})
