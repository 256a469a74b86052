"""Two stages read what one parser reads: the splitter's reasoning, and a second parser over what it hands on."""

from __future__ import annotations

from typing import Any

import pytest
from formats import FORMATS, TOOLS
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import read
from test_parser import PIECES, SHAPES, TURNS

from chat_autoparser.format import ChatFormat
from chat_autoparser.message import fold_deltas


def read_in_stages(
    form: ChatFormat, pieces: list[str], tools: list[dict[str, Any]] | None = None, prompt: str | None = None
) -> tuple[str | None, str | None, list[tuple[str, str]], set[int]]:
    """Read an output with the two parsers, and put together what they say."""
    splitter, parser = form.reasoning_splitter(tools, prompt), form.parser(tools, prompt, after_reasoning=True)
    split = [splitter.feed(piece) for piece in pieces] + [splitter.finish()]
    deltas = [delta for _, rest in split for delta in parser.feed(rest)]
    message = fold_deltas([*deltas, *parser.finish()])
    reasoning = "".join(part for part, _ in split) + (message["reasoning_content"] or "")
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
    return reasoning or None, message["content"], calls, set(parser.incomplete_calls)


@pytest.mark.parametrize(("shape", "text", "reasoning", "content", "calls"), TURNS)
def test_turns(shape: str, text: str, reasoning: str | None, content: str | None, calls: list[tuple[str, str]]) -> None:
    for pieces in ([text], list(text)):
        assert read_in_stages(FORMATS[shape], pieces, TOOLS) == (reasoning, content, calls, set())


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(SHAPES),
    st.lists(PIECES, max_size=14),
    st.sampled_from([None, TOOLS, []]),
    st.sampled_from([None, "header", "reasoning", "closed", "content"]),
)
def test_stages_equal_one_parser(
    shape: str, pieces: list[str], tools: list[dict[str, Any]] | None, state: str | None
) -> None:
    form, prompt = FORMATS[shape], None
    if state:
        prompt = form.turn.headers[0]
        if form.reasoning and state != "header":
            prompt += form.reasoning.start.written + ("" if state == "reasoning" else form.reasoning.end.written)
        if state == "content":
            prompt += "Certainly"
    whole = read(form, pieces, tools, prompt)[:4]
    assert read_in_stages(form, pieces, tools, prompt) == whole
    assert read_in_stages(form, list("".join(pieces)), tools, prompt) == whole


def test_the_end_shows_when_something_else_begins() -> None:
    splitter = FORMATS["JSON_TAGS"].reasoning_splitter(TOOLS, "<|im_start|>assistant\n")
    seen = [
        (splitter.feed(piece), splitter.in_reasoning, splitter.reasoning_ended, splitter.ended)
        for piece in ("<think>", "\nhm", "\n</thi", "nk>", "\n\n", "He", "llo")
    ]
    assert seen == [
        (("", ""), True, False, False),
        (("hm", ""), True, False, False),
        (("", ""), True, False, False),
        (("", ""), False, True, False),
        (("", ""), False, True, False),
        (("", "He"), False, True, True),
        (("", "llo"), False, True, True),
    ]  # fmt: skip
