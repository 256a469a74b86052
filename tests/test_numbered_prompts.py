"""Messages that have numbers, and what is printed behind a conversation whoever spoke last. The templates are invented."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways

import chat_autoparser as ca

NUMBERED = (
    '{%- for m in messages -%}<turn by="{{ m.role }}" no="{{ loop.index }}">\n'
    "{% if m.reasoning_content %}<muse>\n{{ m.reasoning_content }}\n</muse>\n{% endif %}"
    "{% if m.role == 'user' %}{{ m.content }}\n{% elif m.content %}<say>\n{{ m.content }}\n</say>\n{% endif %}{% for c in m.tool_calls or [] %}"
    "<do {{ c.function.name }}>{{ c.function.arguments | tojson }}</do>\n{% endfor %}</turn>\n{% endfor -%}"
    '{%- if add_generation_prompt %}<turn by="assistant" no="{{ messages | length + 1 }}">\n{% endif -%}'
)

TRAILING = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content }}<<over>>\n{% endfor -%}"
    "{%- for t in tools or [] %}<<tool>>\n{{ t | tojson }}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""The tools stand behind the conversation, and no call is printed."""

TOOLS = [make_tool("find_route", start="string")]


@pytest.mark.parametrize("earlier", [0, 1, 2, 4, 11])
def test_a_turn_is_read_whatever_number_its_message_has(earlier: int) -> None:
    render, messages = ca.load_renderer(NUMBERED), list[dict[str, object]]()
    for number in range(earlier):
        messages += [{"role": "user", "content": f"Ask {number}."}, {"role": "assistant", "content": f"Tell {number}."}]
    messages.append({"role": "user", "content": "Go."})
    prompt = render(messages, TOOLS, True)
    turn = {"role": "assistant", "reasoning_content": "So.", "content": "", "tool_calls": [make_call("find_route", {"start": "Ulm"})]}
    text = render([*messages, turn], TOOLS, False).removeprefix(prompt)
    found = read_all_ways(analyze(NUMBERED), text, TOOLS, prompt, "strict")
    assert (found.reasoning, found.content, get_calls(found)) == ("So.", None, [("find_route", {"start": "Ulm"})])


def test_a_template_that_numbers_messages_is_proven() -> None:
    assert analyze(NUMBERED).verdict.proven


def test_what_stands_behind_every_conversation_is_no_part_of_a_turn() -> None:
    format = analyze(TRAILING)
    assert format.verdict.counterexample is None
    assert dict(format.verdict.parts)["content"] == "proven"
    assert read_all_ways(format, "All is well.<<over>>\n", None, "<<assistant>>\n", "strict").content == "All is well."
