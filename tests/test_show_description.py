"""A format in words: what must stand in the text, written by hand, and what must never stand there."""

from __future__ import annotations

import dataclasses
import io
import json
import logging

import pytest
from conftest import ROOT
from corpus import list_templates
from shown import FORMAT, GRAPH, PROVEN, give

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.describe.spans import Line, Span, make_visible, measure, split_lines
from chat_autoparser.describe.verdict import compare_fields, list_doubts
from chat_autoparser.describe.words import describe, summarise_format, warn_of_doubts
from chat_autoparser.format import ChatFormat, Counterexample, Graph, Start, TurnGraph, Verdict
from chat_autoparser.format.chat_format import FROM_INSTRUCTIONS
from chat_autoparser.format.view import Marker
from chat_autoparser.show.display import Display


def words(text: str) -> list[str]:
    """Return the lines of a text with runs of spaces made one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_description_of_a_whole_format() -> None:
    assert words(describe(FORMAT)) == [
        "Chat format: proven; 9 of 9 rendered turns were read back exactly",
        "",
        "Turn",
        "header <bot>⏎ right before what the model writes",
        "end of turn <end>",
        "prompt adds {{ generation starts inside reasoning",
        "with ponder=False {{}}⏎ generation starts behind reasoning",
        "",
        "Reasoning",
        "opened by {{ by the prompt",
        "closed by }}⏎",
        "shown in prompts as the messages have it",
        "",
        "Content",
        "written plainly: it is what is left of the turn",
        "",
        "Tool calls",
        "section opened by <all>⏎ before the first call of a turn",
        "section closed by </all> behind the last call of a turn",
        "a call <do·NAME#ID⏎<KEY='VALUE'>⏎</do>",
        "between two calls ,·",
        "several calls yes",
        "string text, 1 characters escaped",
        "integer as in JSON written VALUE",
        "boolean True for true, False for false written VALUE",
        "between two arguments '>⏎<",
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
    ]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("kniphofia", ["integer, number as in JSON written n~VALUE", "between two arguments &"]),
        ("flitch", ["array in a notation of its own written [VALUE]", "between two arguments '⏎+"]),
        ("whisk", ["closed by nothing of its own: what begins content or a call ends it"]),
    ],
)
def test_what_stands_around_values_and_ends_reasoning_is_told(name: str, rows: list[str]) -> None:
    described = words(describe(analyze(ROOT / "tests" / "unseen" / f"{name}.jinja")))
    assert set(rows) <= {row.strip() for row in described}


def test_reasoning_that_is_never_printed_is_not_shown_in_prompts() -> None:
    hidden = dataclasses.replace(PROVEN, notes=("the template never prints reasoning; what ends it was inferred (x)",))
    assert "shown in prompts never" in words(describe(give(hidden)))


def test_views_are_the_marks_that_people_see() -> None:
    tools, reasoning = FORMAT.tools, FORMAT.reasoning
    assert FORMAT.header == "<bot>\n"
    assert FORMAT.stops == ("<end>",)
    assert reasoning is not None
    assert (reasoning.start, reasoning.end) == (Marker("{{"), Marker("}}", after="\n"))
    assert tools is not None
    assert (tools.section_start.text, tools.section_end.text) == ("<all>", "</all>")
    assert (tools.call_start.text, tools.call_end.text, tools.separator) == ("<do", "</do>", ", ")
    assert [state for *_, state in FORMAT.states] == ["reasoning", "content"]


def test_log_of_a_server_has_four_lines() -> None:
    assert summarise_format(FORMAT) == [
        "proven; 9 of 9 rendered turns were read back exactly",
        "reasoning: {{…}}⏎ (opened by the prompt)",
        "content: plain",
        "tool calls: <all>⏎<do·NAME#ID⏎<KEY='VALUE'>⏎</do></all>",
    ]
    assert list_doubts(FORMAT) == []


def test_columns_are_aligned_whatever_the_width_of_characters() -> None:
    starts = tuple(dataclasses.replace(start, prompt=start.prompt.replace("<bot>", "<｜bot｜>")) for start in GRAPH.starts)
    lines = str(dataclasses.replace(FORMAT, graph=dataclasses.replace(GRAPH, starts=starts))).splitlines()
    columns = {
        measure([Span("text", line[: line.index(note)])])
        for line in lines
        for note in ("right before", "generation starts")
        if note in line
    }
    assert len(columns) == 1


def test_a_format_that_was_never_checked_is_not_called_proven() -> None:
    text = str(ChatFormat())
    assert text.splitlines()[0] == "Chat format: not proven, no turn was read back"
    assert "proven;" not in text


@pytest.mark.parametrize(
    ("parts", "passed", "headline"),
    [
        ({"tools": "partly proven"}, 7, "partly proven (tools partly proven); 7 of 9 rendered turns were read back"),
        ({"content": "not established"}, 0, "not established (content not established); 0 of 9 rendered turns were"),
        (
            {"tools": FROM_INSTRUCTIONS, "reasoning": "absent"},
            9,
            "partly proven (tools read from the instructions, not proven); 9 of 9 rendered turns were read back",
        ),
    ],
)
def test_headline_names_what_is_not_proven(parts: dict[str, str], passed: int, headline: str) -> None:
    assert describe(give(Verdict(tuple(parts.items()), 9, passed))).startswith(f"Chat format: {headline}")


@pytest.mark.parametrize(
    ("notes", "example", "reason"),
    [
        ((), Counterexample("tools", "", "", "{}", "{}"), "a turn that the template renders is read otherwise"),
        (("no call is ever printed",), None, "no call is ever printed"),
        ((), None, "not all of its turns could be rendered and read back"),
    ],
)
def test_what_is_not_proven_has_a_reason_and_a_next_step(
    notes: tuple[str, ...], example: Counterexample | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A reason that is a note is not told once more as a note."""
    verdict = Verdict((("tools", "not established"),), 3, 1, example, notes=(*notes, "and more"))
    shown = dataclasses.replace(FORMAT, verdict=verdict)
    lines = words(str(shown))
    assert lines[1].startswith("tools not established: ")
    assert reason in lines[1]
    assert lines[1].endswith("; tool calls may arrive as content")
    assert lines[2].startswith("next step: ")
    assert [line for line in lines if line.startswith("note: ")] == ["note: and more"]
    with caplog.at_level("WARNING"):
        warn_of_doubts(shown, "the template", logging.getLogger("any"))
    assert reason in caplog.text
    assert "CHAT_AUTOPARSER_EXAMPLES" in caplog.text


def test_counterexample_shows_only_what_differs() -> None:
    expected = {"reasoning_content": None, "content": "one\ntwo", "tool_calls": [{"name": "f", "arguments": {"a": 1}}]}
    got = {"reasoning_content": "one", "content": "two", "tool_calls": [{"name": "f", "arguments": '{"a": 1}'}]}
    example = Counterexample("content", "<bot>\n", "one\ntwo", json.dumps(expected), json.dumps(got))
    verdict = Verdict((("content", "not established"),), 1, 0, example, notes=("no turn had two calls",))
    lines = words(describe(give(verdict)))
    assert "note: no turn had two calls" in lines
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
    nodes = GRAPH.turn.nodes
    edges = tuple(dataclasses.replace(edge, parts=(hostile + edge.text + hostile,)) for edge in GRAPH.turn.edges)
    graph = TurnGraph(Graph(nodes, edges), starts=(Start(hostile, ((hostile, hostile),), edges[:1]),), stops=(hostile,))
    counterexample = Counterexample("content", hostile, hostile, json.dumps({"content": hostile}), "not JSON" + hostile)
    verdict = Verdict((("content", "not established"),), 1, 0, counterexample, notes=(hostile,))
    format = ChatFormat(graph, verdict=verdict)
    for text in (describe(format), *summarise_format(format), *map(str, list_doubts(format))):
        assert not set(text) & set(hostile.replace("[2J", ""))
        text.encode()
    assert r"\x1b[2J\x07\u202e\u200b\r\ud800" in describe(format)


def test_white_space_is_shown_at_edges_only() -> None:
    assert make_visible("\n a\tb ", layout=True) == "⏎·a⇥b·"
    assert make_visible("\n a b ") == "\n a b "


def test_a_text_is_laid_out_as_it_is_written() -> None:
    spans = [Span("note", "<bot>\n"), Span("structure", "{{"), Span("reasoning", "one\n\ntwo"), Span("structure", "}}\n")]
    lines = list(split_lines([*spans, Span("name", "f")], "    "))
    assert [str(line) for line in lines] == ["    <bot>", "    {{one", "", "    two}}", "    f"]
    assert [span.kind for span in lines[1].spans[1:] if span.text] == ["structure", "reasoning"]


@pytest.mark.parametrize("number", range(0, 786, 60))
def test_every_marker_of_a_real_format_is_shown(number: int) -> None:
    paths = list(list_templates().values())
    path = paths[number % len(paths)]
    try:
        format = analyze(path, bos_token="<s>", eos_token="</s>")
    except ca.AutoparserError as error:
        pytest.skip(str(error))
    text = describe(format)
    markers = [format.content.start, format.content.end, *map(Marker.of, format.stops)]
    if format.reasoning:
        markers += [format.reasoning.start, format.reasoning.end]
    if format.tools:
        tools = format.tools
        markers += [tools.section_start, tools.section_end, tools.call_start]
    for marker in markers:
        for line in marker.text.split("\n"):
            assert make_visible(line.strip()) in text
    for start in format.graph.starts:
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
    import sys

    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    stream = Terminal()
    display = Display(stream)
    with display.track(2) as begin:
        begin("first")
        display.print(LINE)
    assert stream.getvalue() == "get_weather [b]plain[/b]\n"


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
