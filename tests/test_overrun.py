"""A model that goes on behind the end of its turn, with messages of others that it invents."""

from __future__ import annotations

from typing import Literal

import pytest

import chat_autoparser as ca

TOOLS = [
    {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}
]

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

PLAIN = TEMPLATE.replace("'(/who ' + message.role + ')'", "message.role + ': '").replace("(/who assistant)", "assistant: ")

CALL = [("find", '{"q": "tea"}')]


def read(
    text: str, step: int = 0, template: str = TEMPLATE, policy: ca.Policy | Literal["lenient", "strict"] = "lenient"
) -> tuple[str, list[tuple[str, str]], list[str]]:
    """Read a text in pieces of some characters: its content, its calls, and what was relaxed."""
    parser = ca.analyze(template).parser(TOOLS, policy=policy)
    pieces = [text[at : at + step] for at in range(0, len(text), step)] if step else [text]
    deltas = [delta for piece in pieces for delta in parser.feed(piece)] + parser.finish()
    content = "".join(delta.text for delta in deltas if delta.kind == "content")
    names = [delta.name for delta in deltas if delta.kind == "tool_call" and delta.name]
    arguments = ["".join(d.text for d in deltas if d.kind == "tool_call" and d.index == number) for number in range(len(names))]
    return content, list(zip(names, arguments, strict=True)), [name for name, _ in parser.recoveries]


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("It is four.(/over)\n(/who user)And five?(/over)\n(/who assistant)Six.", "It is four.", []),
        ("It is four.(/over)(/who user)And five?", "It is four.", []),
        ('(/do)find {"q": "tea"}(/did)(/over)\n(/who tool)None.(/over)\n(/who assistant)There is none.', "", CALL),
        ('(/do)find {"q": "tea"}(/did)\n(/who tool)None.', "", CALL),
        ('Four.(/over)\n(/who user)Look.(/over)\n(/who assistant)(/do)find {"q": "tea"}(/did)', "Four.", []),
    ],
)
def test_messages_of_others_are_dropped(text: str, content: str, calls: list[tuple[str, str]], step: int) -> None:
    """Nobody asked for them, and a call in them answers nobody; the recovery says that something was dropped."""
    assert read(text, step) == (content, calls, ["message of another role"])


@pytest.mark.parametrize("step", [0, 1, 3])
@pytest.mark.parametrize(
    "text",
    [
        "Write (/who user) before a question.",
        "Write (/over) behind an answer, then the next one begins.",
        "It looks so:\n(/who user)Hi(/over)\n(/who assistant)Hello.(/over)\n(/who user)Bye.",
        "It looks so:\n```\nHi(/over)\n(/who user)Bye.\n```\nAnd so on.",
    ],
)
def test_conversation_that_is_shown_is_text(text: str, step: int) -> None:
    """What an answer says about the template is part of the answer."""
    assert read(text, step) == (text, [], [])


@pytest.mark.parametrize("policy", ["strict", ca.Policy(overrun="text")])
def test_policies_keep_it(policy: ca.Policy | Literal["lenient", "strict"]) -> None:
    text = "It is four.(/over)\n(/who user)And five?"
    assert read(text, policy=policy) == (text, [], [])


def test_words_tell_nothing_without_the_end_of_the_turn() -> None:
    """A role that is written as a word and a colon may stand in any text."""
    text = '(/do)find {"q": "tea"}(/did)\nuser: wait for it.'
    assert read(text, template=PLAIN) == ("\nuser: wait for it.", CALL, [])
    assert read("Four.(/over)\nuser: And five?", template=PLAIN) == ("Four.", [], ["message of another role"])


def test_prompt_may_hold_a_conversation() -> None:
    """What a prompt holds behind an earlier answer's beginning is no turn that the model has overrun."""
    prompt = "(/who user)Hi(/over)\n(/who assistant)Hello.(/over)\n(/who user)And?(/over)\n"
    assert ca.analyze(TEMPLATE).parse("It is four.", prompt=prompt)["content"] == "It is four."
