"""Two stages read what one parser reads: the splitter's reasoning, and a second parser over what it hands on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import read
from templates import CONTENT, REASONING, SAMPLES, TOOLS, get_format, open_calls, write_calls, write_lead, write_prompt
from test_parser import NOISE, SHAPES, TAGS, THINKING

from chat_autoparser import ChatFormat
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


@pytest.mark.parametrize("shape", SHAPES)
def test_turns_that_the_template_renders(shape: str) -> None:
    form, prompt = get_format(shape), write_prompt(shape)
    calls = write_calls(shape, ("find_okapi", {"habitat": "pen"}))
    for text in (write_lead(shape)[0] + CONTENT, open_calls(shape) + calls):
        whole = read(form, [text], TOOLS, prompt)[:4]
        for pieces in ([text], list(text)):
            assert read_in_stages(form, pieces, TOOLS, prompt) == whole


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SHAPES), NOISE, st.sampled_from([None, TOOLS, []]), st.booleans())
def test_stages_equal_one_parser(shape: str, pieces: list[str], tools: list[dict[str, Any]] | None, thinking: bool) -> None:
    form, prompt = get_format(shape), write_prompt(shape)
    opened = SAMPLES[shape].think[0] if thinking and not prompt.rstrip().endswith(SAMPLES[shape].think[0]) else ""
    whole = read(form, [opened, *pieces], tools, prompt)[:4]
    assert read_in_stages(form, [opened, *pieces], tools, prompt) == whole
    assert read_in_stages(form, list(opened + "".join(pieces)), tools, prompt) == whole


@pytest.mark.parametrize("shape", THINKING)
@pytest.mark.parametrize(("thought", "answer"), [(9_000, 100), (100, 9_000), (20_000, 20_000)])
def test_nothing_of_a_long_piece_is_lost(shape: str, thought: int, answer: int) -> None:
    splitter, lead = get_format(shape).reasoning_splitter(TOOLS, write_prompt(shape)), write_lead(shape)[0]
    long_thought, long_answer = ("thinking " * thought)[:thought].strip(), ("answering " * answer)[:answer].strip()
    parts = [splitter.feed(lead.replace(REASONING, long_thought) + long_answer), splitter.finish()]
    assert "".join(reasoning for reasoning, _ in parts).strip() == long_thought
    assert "".join(rest for _, rest in parts).endswith(long_answer)


@pytest.mark.parametrize("shape", THINKING)
def test_the_end_shows_when_something_else_begins(shape: str) -> None:
    splitter = get_format(shape).reasoning_splitter(TOOLS, write_prompt(shape))
    lead = write_lead(shape)[0]
    amid = lead.index(REASONING) + len(REASONING) - 4
    splitter.feed(lead[:amid])
    assert splitter.in_reasoning
    assert not splitter.reasoning_ended
    splitter.feed(lead.rstrip()[amid:])
    rest = splitter.feed(CONTENT)[1] + splitter.finish()[1]
    assert not splitter.in_reasoning
    assert splitter.reasoning_ended
    assert rest.endswith(CONTENT)


def test_a_format_without_reasoning_takes_its_marks_for_content() -> None:
    form = get_format(TAGS).without_reasoning()
    text = "<think>\nhm\n</think>\n\nHi"
    reading = read(form, [text], TOOLS, write_prompt(TAGS))
    assert (reading.reasoning, reading.content) == (None, text)
