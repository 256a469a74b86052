"""Reasoning that a model opens once more amid its answer: it is reasoning where what ends it follows, else text that names a mark."""

from __future__ import annotations

import re

import pytest
from streams import analyze, make_call, make_tool, read_all_ways, render_turn

TOOLS = [make_tool("find", q="string")]
TURN = (
    "{%- for m in messages %}HEAD{% if m.reasoning_content %}OPEN{{ m.reasoning_content }}CLOSE{% endif %}TEXT{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] %}<do>{{ c.function.name }} {{ c.function.arguments | tojson }}</do>{% endfor %}<over>{% endfor %}"
    "{%- if add_generation_prompt %}PROMPT{% endif %}"
)


def make(opener: str, close: str, text: str = "", head: str = "<%s>", prompt: str = "<assistant>") -> str:
    source = TURN.replace("HEAD", head % "{{ m.role }}").replace("OPEN", opener).replace("CLOSE", close)
    return source.replace("TEXT", text).replace("PROMPT", prompt)


FORMATS = {
    "tags": (make("<muse>", "</muse>"), "<muse>", "</muse>"),
    "tags in lines": (make("<muse>\n", "\n</muse>\n\n"), "<muse>\n", "\n</muse>\n\n"),
    "signs and a word": (make("#muse#", "#/muse#"), "#muse#", "#/muse#"),
    "the prompt opens it": (make("[muse:1]", "[/muse:1]", prompt="<assistant>[muse:1]"), "[muse:1]", "[/muse:1]"),
    "a lane": (make("<lane>inner<says>", "</says>", "<lane>aloud<says>"), "<lane>inner<says>", "</says><lane>aloud<says>"),
    "another format's": (re.sub(r"{% if m.reasoning.*?{% endif %}", "", make("", "")), "<think>", "</think>"),
}


@pytest.mark.parametrize("lead", ["", "\n", "\n\n"])
@pytest.mark.parametrize("name", FORMATS)
def test_what_ends_makes_it_reasoning(name: str, lead: str) -> None:
    source, opener, close = FORMATS[name]
    message = {"reasoning_content": "One.", "content": "I look.", "tool_calls": [make_call("find", {"q": "tea"})]}
    prompt, text = render_turn(source, message, TOOLS)
    found = read_all_ways(analyze(source), text.replace("I look.", f"I look.{lead}{opener}Two.{close}"), TOOLS, prompt)
    thoughts = [line for line in (found.reasoning or "").split("\n") if line]
    assert (thoughts[-1], (found.content or "").strip(), found.calls) == ("Two.", "I look.", [("find", '{"q": "tea"}')])
    assert found.recoveries != []


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "another format's"])
def test_an_answer_may_follow(name: str) -> None:
    source, opener, close = FORMATS[name]
    prompt, text = render_turn(source, {"reasoning_content": "One.", "content": "I look."}, TOOLS)
    found = read_all_ways(analyze(source), text.replace("I look.", f"I look.\n{opener}Two.{close}It is hot."), TOOLS, prompt)
    assert (found.reasoning, (found.content or "").replace("\n", " ")) == ("One.\n\nTwo.", "I look. It is hot.")


@pytest.mark.parametrize("said", ["I write {} before I think.", "`{}x{}` is a thought.", "```\n{}x{}\n```\nis a thought.", "See.\n{}{} is none.", "See: {}x{}', so."])
@pytest.mark.parametrize("name", ["tags", "signs and a word", "the prompt opens it"])
def test_a_mark_that_is_named_is_text(name: str, said: str) -> None:
    source, opener, close = FORMATS[name]
    said = said.format(opener, close)
    prompt, text = render_turn(source, {"reasoning_content": "One.", "content": "I look."}, TOOLS)
    found = read_all_ways(analyze(source), text.replace("I look.", said), TOOLS, prompt)
    assert (found.reasoning, found.content) == ("One.", said)


def test_a_thought_without_an_end_waits_but_so_long() -> None:
    """What is held back is bounded, and then text."""
    source, opener, _ = FORMATS["tags"]
    parser = analyze(source).parser(TOOLS, "<assistant>")
    text = f"<muse>One.</muse>I look.\n{opener}" + "word " * 10000
    sent = sum(len(delta.text) for start in range(0, len(text), 50) for delta in parser.feed(text[start : start + 50]))
    assert 0 < len(text) - sent < 20000
