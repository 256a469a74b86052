"""A call in reasoning is made only if nothing shows that it was thought of. The template is invented."""

from __future__ import annotations

import pytest
from streams import ROUTE_TOOL, Reading, analyze, get_calls, read_all_ways

TEMPLATE = """\
{%- for m in messages -%}
[{{ m.role }}]
{% if m.reasoning_content %}{ponder}
{{ m.reasoning_content }}
{/ponder}
{% endif %}{{ m.content or "" }}{% for c in m.tool_calls or [] %}
{act}{"deed": "{{ c.function.name }}", "details": {{ c.function.arguments | tojson }}}{/act}
{%- endfor %}[over]
{% endfor -%}
{%- if add_generation_prompt %}[assistant]
{% endif -%}
"""
CALL = '{act}{"deed": "find_route", "details": {"start": "Oslo"}}{/act}'
MADE = [("find_route", {"start": "Oslo"})]


def read(text: str) -> Reading:
    return read_all_ways(analyze(TEMPLATE), "{ponder}\nMaybe:\n" + text, [ROUTE_TOOL])


@pytest.mark.parametrize(
    ("behind", "calls", "content"),
    [
        ("\nNo, they only greet.\n{/ponder}\nHello!", [], "Hello!"),
        ("\n{/ponder}\nHello!", [], "Hello!"),
        (f"\n{CALL}\n{{/ponder}}\nHello![over]\n", [], "Hello!"),
        (f"\n{{/ponder}}\n{CALL}[over]\n", MADE, ""),
        (f"\nYes.\n{{/ponder}}\nI look.\n{CALL}", MADE, "I look."),
    ],
)
def test_a_call_in_a_thought_that_ends_before_more_comes_is_not_made(behind: str, calls: list[object], content: str) -> None:
    found = read(CALL + behind)
    assert get_calls(found) == calls
    assert (found.content or "").strip() == content
    assert CALL in (found.reasoning or "")


@pytest.mark.parametrize("behind", ["", "[over]\n", "\n{/ponder}\n", "\n{/ponder}\n[over]\n", "\n{/ponder}\n{/ponder}", "\nLet me see."])
def test_a_call_with_which_the_output_ends_is_made(behind: str) -> None:
    found = read(CALL + behind)
    assert get_calls(found) == MADE
    assert (found.reasoning or "").strip() == "Maybe:"


def test_a_call_is_made_behind_which_another_thought_begins() -> None:
    assert get_calls(read(CALL + "\n{ponder}\nNow I wait.\n{/ponder}\nSo.")) == MADE
