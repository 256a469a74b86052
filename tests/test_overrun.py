"""A model that goes on behind the end of its turn, with messages of others that it invents."""

from __future__ import annotations

import pytest
from streams import analyze, make_tool, read_all_ways

import chat_autoparser as ca
from chat_autoparser.recover import PolicyName

TOOLS = [make_tool("find", q="string")]

TEMPLATE = """\
{%- for message in messages %}
{{- '(/who ' + message.role + ')' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '(/do)' + call.function.name + ' ' + (call.function.arguments | tojson) + '(/did)' }}
{%- endfor %}
{{- '(/over)\n' }}
{%- endfor %}
{%- if add_generation_prompt %}(/who assistant){% endif %}"""

ENDLESS = TEMPLATE.replace("{{- '(/over)\n' }}\n", "")
"""The next message ends the one before."""

LEADING = TEMPLATE.replace(
    "{{- '(/over)\n' }}", "{{- '<stop>' if message.role == 'assistant' and loop.last else '(/over)' }}"
).replace(
    "{%- if message.content",
    "{%- if message.reasoning_content %}{{ '(/why)' + message.reasoning_content + '(/over)(/who assistant)' }}{% endif %}\n{%- if message.content",
)
"""The last turn ends otherwise than messages that another one follows."""

IN_PARTS = """\
{%- macro part(who, kind, text) %}{{ '(/part)\\nfrom: ' + who + kind + '\\n\\n' + text + '(/over)\\n' }}{% endmacro %}
{%- for message in messages %}
{%- if message.role != 'assistant' %}{{ part(message.role, '', message.content) }}{% else %}
{%- if message.content %}{{ part('assistant', '\\nkind: text', message.content) }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- part('assistant', '\\nkind: call\\nuse: ' + call.function.name, call.function.arguments | tojson) }}
{%- endfor %}
{{- '(/done)\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '(/part)\\nfrom: assistant\\n' }}{% endif %}"""
"""What ends a part of a turn ends no turn."""

PLAIN = TEMPLATE.replace("'(/who ' + message.role + ')'", "message.role + ': '").replace("(/who assistant)", "assistant: ")

TAGGED = TEMPLATE.replace(
    "' ' + (call.function.arguments | tojson) + '(/did)' }}",
    "'' }}{% for key, value in call.function.arguments | items %}{{ '(/in ' + key + ')' + value + '(/ni)' }}{% endfor %}(/did)",
)

CALL = [("find", '{"q": "tea"}')]


def read(
    text: str, template: str = TEMPLATE, policy: ca.Policy | PolicyName = "lenient"
) -> tuple[str | None, list[tuple[str, str]], list[str]]:
    """Read a text in all ways: its content, its calls, and what was relaxed."""
    found = read_all_ways(analyze(template), text, TOOLS, policy=policy)
    return found.content, found.calls, found.recoveries


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("It is four.(/over)\n(/who user)And five?(/over)\n(/who assistant)Six.", "It is four.", []),
        ("It is four.(/over)(/who user)And five?", "It is four.", []),
        ('(/do)find {"q": "tea"}(/did)(/over)\n(/who tool)None.(/over)\n(/who assistant)There is none.', None, CALL),
        ('(/do)find {"q": "tea"}(/did)\n(/who tool)None.', None, CALL),
        ('Four.(/over)\n(/who user)Look.(/over)\n(/who assistant)(/do)find {"q": "tea"}(/did)', "Four.", []),
    ],
)
def test_messages_of_others_are_dropped(text: str, content: str, calls: list[tuple[str, str]]) -> None:
    """Nobody asked for them, and a call in them answers nobody; the recovery says that something was dropped."""
    assert read(text) == (content, calls, ["message of another role"])


def test_call_in_marks_of_another_format_ends_before_one() -> None:
    text = '<tools>{"name": "find", "arguments": {"q": "tea"}}(/over)\n(/who tool)None.'
    assert read(text) == (None, CALL, ["call by its shape", "message of another role"])


@pytest.mark.parametrize(
    "text",
    [
        "Write (/who user) before a question.",
        "Write (/over) behind an answer, then the next one begins.",
        "It looks so:\n(/who user)Hi(/over)\n(/who assistant)Hello.(/over)\n(/who user)Bye.",
        "It looks so:\n```\nHi(/over)\n(/who user)Bye.\n```\nAnd so on.",
    ],
)
def test_conversation_that_is_shown_is_text(text: str) -> None:
    """What an answer says about the template is part of the answer."""
    assert read(text) == (text, [], [])


def test_argument_may_show_one() -> None:
    """What a value holds says nothing about the content behind its call."""
    text = "(/do)find(/in q)a (/who user) b(/ni)(/did)Well.(/over)\n(/who user)And five?"
    assert read(text, template=TAGGED) == ("Well.", [("find", '{"q": "a (/who user) b"}')], ["message of another role"])


@pytest.mark.parametrize("policy", ["strict", ca.Policy(overrun="text")])
def test_policies_keep_it(policy: ca.Policy | PolicyName) -> None:
    text = "It is four.(/over)\n(/who user)And five?"
    assert read(text, policy=policy) == (text, [], [])


@pytest.mark.parametrize("before", ["It is four.", "It is four", "It is four.\n", "It is four. "])
def test_next_message_ends_a_turn_that_has_no_end(before: str) -> None:
    found = read(f"{before}(/who user)And five?", template=ENDLESS)
    assert ((found[0] or "").rstrip(), *found[1:]) == (before.rstrip(), [], ["message of another role"])


@pytest.mark.parametrize(
    "text",
    [
        "Write (/who user) before a question.",
        "Write `(/who user)` before a question.",
        "(/who user) begins a question.",
        "The mark (/who user)\nbegins a question.\n(/who user)Hi",
        "{% if user %}\n(/who user){{ content }}\n{% endif %}",
        "```\nIt is four.\n(/who user)And five?\n```\nSo.",
    ],
)
def test_next_message_that_is_shown_is_text(text: str) -> None:
    assert read(text, template=ENDLESS) == (text, [], [])


def test_answer_in_the_middle_may_end_otherwise() -> None:
    assert read("It is four.(/over)(/who user)And five?", template=LEADING) == ("It is four.", [], ["message of another role"])
    text = "Write `(/over)(/who user)` before a question."
    assert read(text, template=LEADING) == (text, [], [])


def test_a_message_of_another_may_follow_a_part_of_a_turn() -> None:
    text = "kind: text\n\nIt is four.(/over)\n(/part)\nfrom: user\n\nAnd five?(/over)\n(/part)\nfrom: assistant\n"
    text += 'kind: call\nuse: find\n\n{"q": "five"}(/over)\n(/done)\n'
    assert read(text, template=IN_PARTS) == ("It is four.", [], ["message of another role"])
    text = "kind: text\n\nIt is four, from: user.(/over)\n(/done)\n"
    assert read(text, template=IN_PARTS) == ("It is four, from: user.", [], [])


LINES = TEMPLATE.replace("'(/who ' + message.role + ')'", "'ROLE ' + message.role + '\\n'").replace("(/who assistant)", "ROLE assistant\n")
"""The header is a line of words."""


@pytest.mark.parametrize("behind", ["ROLE user\nAnd five?", "ROLE user\nAnd five?(/over)\nROLE assistant\nFive."])
def test_a_line_of_words_begins_a_message_behind_the_end_of_a_turn(behind: str) -> None:
    assert read(f"It is four.(/over)\n{behind}", template=LINES) == ("It is four.", [], ["message of another role"])
    assert read(f'(/do)find {{"q": "tea"}}(/did)(/over)\n{behind}', template=LINES) == (None, CALL, ["message of another role"])
    text = f"It is four.\n{behind.partition('(')[0]}"
    assert read(text, template=LINES) == (text, [], [])


def test_words_tell_nothing_without_the_end_of_the_turn() -> None:
    """A role that is written as a word and a colon may stand in any text."""
    text = '(/do)find {"q": "tea"}(/did)\nuser: wait for it.'
    assert read(text, template=PLAIN) == ("\nuser: wait for it.", CALL, [])
    assert read("Four.(/over)\nuser: And five?", template=PLAIN) == ("Four.", [], ["message of another role"])


def test_prompt_may_hold_a_conversation() -> None:
    """What a prompt holds behind an earlier answer's beginning is no turn that the model has overrun."""
    prompt = "(/who user)Hi(/over)\n(/who assistant)Hello.(/over)\n(/who user)And?(/over)\n"
    assert analyze(TEMPLATE).parse("It is four.", prompt=prompt)["content"] == "It is four."
