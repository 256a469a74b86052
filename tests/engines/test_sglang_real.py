"""The real engine of SGLang with random weights: constraints hold from the first token on, and nothing waits for reasoning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sglang", reason="this is not SGLang's environment: see scripts/setup_sglang.sh")

from cases import Case
from clients import ask_chat
from served import Served, both, check_bound, make_bound, serve_subject

if TYPE_CHECKING:
    from engines import Engine

SHAPES = ("JSON in tags", pytest.param("reasoning opened by the prompt", marks=pytest.mark.more))
"""In one the model may reason and need not, in the other the prompt has begun the reasoning."""


@pytest.fixture(scope="module", params=SHAPES)
def real(request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_subject(engine, request.param, "special", tmp_path_factory.mktemp("real"), real=True) as served:
        yield served


def make_thinking(served: Served, choice: str) -> Case:
    """A request for a call, with thinking as the template has it by default."""
    return replace(make_bound(served, choice), kwargs={}, max_tokens=150)


@pytest.mark.parametrize("choice", ["required", "named"])
@both
def test_there_is_a_call_unless_the_answer_was_cut(real: Served, choice: str, stream: bool) -> None:
    """Random weights end reasoning whenever they like, and would end the turn as readily."""
    for _ in range(3):
        reply = real.ask_freely(make_thinking(real, choice), stream=stream)
        if reply.finish == "length":
            # What opens a call is text where the output ends before its name.
            assert re.match(r"(<tool_call>|$)", reply.message["content"] or ""), reply
            continue
        check_bound(reply)
        assert choice == "required" or len(reply.message["tool_calls"]) == 1


@pytest.mark.parametrize("thought", ["", "Hm."], ids=["without reasoning", "with reasoning"])
@pytest.mark.parametrize("choice", ["required", "named"])
def test_a_call_follows_reasoning_or_none(real: Served, choice: str, thought: str) -> None:
    """The model is made to reason, or not, and left alone: what it then may write is a call."""
    opened = real.subject.get("reasoning, content", "reasoning").text.startswith("<think>")
    text = (f"<think>\n{thought}\n</think>\n\n" if thought else "<tool_call>") if opened else f"{thought}\n</think>\n\n"
    extra = {"script": {"text": text, "more": True}}
    reply = ask_chat(real.server.url, make_thinking(real, choice), extra, False)
    check_bound(reply)
    assert (reply.message["reasoning_content"] or "").strip() == thought
    assert reply.message["content"] is None


def test_strict_tools_hold_from_the_first_token(real: Served) -> None:
    """The model begins a call at once, with thinking on; what it then may write are fitting arguments."""
    case = make_thinking(real, "required")
    assert case.tools is not None
    function = {**case.tools[0]["function"], "strict": True}
    strict = replace(case, tools=[{"type": "function", "function": function}], options={"tool_choice": "auto"})
    opened = real.subject.get("reasoning, content", "reasoning").text.startswith("<think>")
    text = "" if opened else "</think>\n\n"
    extra = {"script": {"text": f'{text}<tool_call>\n{{"name": "pick_colour"', "more": True}}
    reply = ask_chat(real.server.url, strict, extra, False)
    assert reply.message["tool_calls"]
    assert set(json.loads(reply.message["tool_calls"][0]["function"]["arguments"])) == {"colour", "bright"}
