"""Turns written by the graph are what the template renders, and what is known of the shape of its input is enough to ask it."""

from __future__ import annotations

from typing import Any

import pytest
from corpus import load_corpus

import chat_autoparser as ca
from chat_autoparser.analysing import analyze
from chat_autoparser.ask.question import Call
from chat_autoparser.converse.author import Author
from chat_autoparser.converse.writing import write_turn

NAMES = {
    "Qwen-Qwen3.6-35B-A3B": 5,
    "zai-org-GLM-5.1": 5,
    "moonshotai-Kimi-K2.6": 5,
    "openai-gpt-oss-120b": 1,
    "deepseek-ai-DeepSeek-V3.1": 3,
    "MiniMaxAI-MiniMax-M2.5": 2,
}
SAID, THOUGHT = "It is so & <so>.", "Let me see:\nyes."
FIRST = Call.of(
    "find_okapi", "functions.find_okapi:0", {"habitat": 'pen "12"', "limit": 3, "fed": True, "tags": ["a", {"b": None}]}
)
SECOND = Call.of("send_postcard", "functions.send_postcard:1", {"to": "the keeper"})


TURNS: list[tuple[str | None, str | None, tuple[Call, ...]]] = [
    (None, SAID, ()),
    (None, None, (FIRST,)),
    (None, SAID, (FIRST, SECOND)),
    (THOUGHT, SAID, (FIRST,)),
    (THOUGHT, None, (SECOND,)),
]


@pytest.mark.parametrize(("name", "written"), NAMES.items())
def test_turns_are_written_as_the_template_renders_them(name: str, written: int) -> None:
    """Of the turns, ``written`` are rendered whole behind the template's own prompt."""
    source = next(source for source in load_corpus(name) if name in source.names)
    renderer = ca.load_renderer(source.text, bos_token="<s>", eos_token="</s>")
    format = analyze(renderer)
    author = Author(renderer, format)
    compared = 0
    for reasoning, content, calls in TURNS:
        user: dict[str, Any] = {"role": "user", "content": "Where?"}
        answer: dict[str, Any] = {"role": "assistant", "content": content or ""}
        answer |= {"reasoning_content": reasoning} if reasoning else {}
        functions = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.object}} for call in calls
        ]
        answer |= {"tool_calls": functions} if calls else {}
        tools = [{"type": "function", "function": {"name": call.name, "parameters": {"type": "object"}}} for call in calls]
        prompt = author.render([user], tools or None, True, ())
        full = author.render([user, answer], tools or None, False, ())
        if prompt is None or full is None or not full.startswith(prompt) or (reasoning or "") not in full:
            continue
        start = author.find_start(prompt)
        assert start is not None
        assert write_turn(format.graph, start, reasoning, content, calls) == full.removeprefix(prompt)
        compared += 1
    assert compared == written


@pytest.mark.parametrize(
    ("name", "stops"),
    [("KSP-NMAI-Boris-125M-Instruct", ("\n### Instruction:",)), ("upstage-SOLAR-10.7B-Instruct-v1.0", ("### User:",))],
)
def test_a_turn_without_an_end_stops_where_another_role_begins(name: str, stops: tuple[str, ...]) -> None:
    source = next(source for source in load_corpus(name) if name in source.names)
    assert analyze(source.text).stops == stops


def test_the_shape_of_the_input_is_kept() -> None:
    asking = {
        name: analyze(next(s for s in load_corpus(name) if name in s.names).text, eos_token="</s>").asking
        for name in list(NAMES)[:3]
    }
    assert [each.named_ids for each in asking.values()] == [False, False, True]
    assert all(each.arguments[0] == "object" for each in asking.values())
