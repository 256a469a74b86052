"""Texts whose lines are escaped where they begin as a mark of the format does. The template is invented."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import analyze, get_calls, make_tool, read_all_ways

import chat_autoparser as ca
from chat_autoparser.format import Text
from chat_autoparser.recover import PolicyName

TEMPLATE = r"""
{%- macro write(text) -%}
{%- set lines = ('\n' ~ text) | replace('\n\\', '\n\\\\') | replace('\n==', '\n\\==') | replace('\n~', '\n\\~') -%}
{%- set lines = lines | replace('\n@end@', '\n\\@end@') -%}
{{- lines[1:] -}}
{%- endmacro -%}
{%- for m in messages -%}
[{{ m.role }}]
{% if m.role == 'assistant' -%}
{%- for line in (m.reasoning_content or '').split('\n') if m.reasoning_content -%}{{ '~ ' ~ line ~ '\n' }}{%- endfor -%}
{%- if m.content -%}{{ write(m.content) ~ '\n' }}{%- endif -%}
{%- for c in m.tool_calls or [] -%}{{ '== call ' ~ c.function.name ~ ' ' ~ (c.function.arguments | tojson) ~ '\n' }}{%- endfor -%}
{%- else -%}{{ write(m.content) ~ '\n' }}{%- endif -%}
@end@
{% endfor -%}
{%- if add_generation_prompt -%}[assistant]
{% endif -%}"""
TOOLS = [make_tool("list_files", path="string")]
USER = {"role": "user", "content": "Go."}
RENDER = ca.load_renderer(TEMPLATE)
PROMPT = RENDER([USER], TOOLS, True)
LINES = st.lists(
    st.sampled_from(
        ["== call list_files {}", "=== x", "\\== call", "~ hm", "\\~", "\\", "@end@", "see == call list_files {}", "a ~ b", "a @end@", "a", "b c"]
    ),
    min_size=1,
    max_size=4,
).map("\n".join)


@pytest.mark.parametrize("policy", ["strict", "repair"])
@settings(max_examples=60, deadline=None)
@given(content=LINES, reasons=st.booleans(), calls=st.booleans())
def test_what_is_escaped_is_text(policy: PolicyName, content: str, reasons: bool, calls: bool) -> None:
    """A mark stands where a line begins, or it is none; nothing of an escaped one is a mark either."""
    called = [{"type": "function", "function": {"name": "list_files", "arguments": {"path": "a"}}}] if calls else []
    turn = {"role": "assistant", "content": content, "reasoning_content": "Why?" if reasons else None, "tool_calls": called}
    text = RENDER([USER, turn], TOOLS, False).removeprefix(PROMPT)
    found = read_all_ways(analyze(TEMPLATE), text, TOOLS, PROMPT, policy)
    assert (found.content, found.reasoning) == (content, "Why?" if reasons else None)
    assert get_calls(found) == [("list_files", {"path": "a"})] * calls


def test_lines_may_be_escaped_where_a_text_begins() -> None:
    nodes = {node.kind: node.codec for node in analyze(TEMPLATE).graph.turn.nodes if isinstance(node.codec, Text)}
    assert dict(nodes["content"].starts) == {"\\==": "==", "\\~": "~", "\\@end@": "@end@", "\\\\": "\\"}
    assert nodes["reasoning"].starts == ()
