"""What the plugins of serving engines share."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT

from chat_autoparser import AutoparserError, BudgetError, ChatFormat, Delta, Verdict, analyze, load_renderer
from chat_autoparser.constrain import build_structural_tag
from chat_autoparser.export.certificate import FILE_NAME, make_certificate
from chat_autoparser.message import fold_deltas
from chat_autoparser.serve import (
    Formats,
    OutputReader,
    Served,
    TagMaker,
    ToolChoice,
    apart,
    describe_tools,
    list_special_tokens,
    make_parser,
    publish_counters,
)
from chat_autoparser.serve.apart import LONGEST, Analyst
from chat_autoparser.serve.counters import Counters
from chat_autoparser.serve.special import cut_at_special

DEMO = (ROOT / "scripts" / "demo.jinja").read_text()
CHATML = """{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
ENDLESS = (
    "{% for i in range(100000) %}{% for i in range(100000) %}{% for i in range(100000) %}{% endfor %}{% endfor %}{% endfor %}"
    + PLAIN
)
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "say", "parameters": {}}}]
CALL = '<tool_call>\n{"name": "say", "arguments": {"text": "TEXT"}}\n</tool_call>'


@pytest.fixture(scope="module")
def chatml() -> ChatFormat:
    return analyze(CHATML)


# The tools of a request


def test_tools_are_described_whatever_they_are_made_of() -> None:
    function = SimpleNamespace(name="a", parameters={"type": "object"}, strict=True)
    given = [
        SimpleNamespace(type="function", function=function),
        SimpleNamespace(type="function", name="b", parameters=None, strict=None),
        {"type": "function", "function": {"name": "c", "parameters": {"x": 1}}},
        {"type": "function", "name": "d", "strict": False},
        SimpleNamespace(type="mcp", name="e"),
        {"type": "web_search"},
        SimpleNamespace(type="function", function=SimpleNamespace(name=None)),
        None,
    ]
    functions = [tool["function"] for tool in describe_tools(given)]
    assert [function["name"] for function in functions] == ["a", "b", "c", "d"]
    assert functions[0] == {"name": "a", "parameters": {"type": "object"}, "strict": True}
    assert functions[1] == {"name": "b", "parameters": {}}
    assert functions[3]["strict"] is False
    assert describe_tools(None) == []


ALLOWED = {"mode": "required", "tools": [{"type": "function", "name": "a"}, {"type": "function", "function": {"name": "c"}}]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ToolChoice()),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "function": {"name": "a"}}, ToolChoice("required", frozenset("a"), True)),
        (SimpleNamespace(type="function", name="a"), ToolChoice("required", frozenset("a"), True)),
        ({"type": "allowed_tools", **ALLOWED}, ToolChoice("required", frozenset("ac"))),
        ({"type": "allowed_tools", "allowed_tools": ALLOWED}, ToolChoice("required", frozenset("ac"))),
        ({"type": "allowed_tools", **ALLOWED, "mode": "auto"}, ToolChoice("auto", frozenset("ac"))),
        ({"type": "nonsense"}, ToolChoice()),
    ],
)
def test_choices_are_read_in_every_form(given: Any, expected: ToolChoice) -> None:
    assert ToolChoice.read(given) == expected


def test_a_choice_selects_tools() -> None:
    tools = describe_tools([{"type": "function", "name": name} for name in "abc"])
    assert [tool["function"]["name"] for tool in ToolChoice.read({"type": "allowed_tools", **ALLOWED}).select(tools)] == [
        "a",
        "c",
    ]
    assert ToolChoice("none").select(tools) == []
    assert ToolChoice("required").select(tools) == tools


# Special tokens


def make_tokenizer() -> Any:
    tokens = {1: "<s>", 2: "<|im_end|>", 3: "<tool_call>"}
    entries = {token: _Entry(text) for token, text in tokens.items()}
    return SimpleNamespace(added_tokens_decoder=entries, all_special_tokens=["</s>"], all_special_ids=[4])


class _Entry(str):
    special = True


def test_special_tokens_that_have_no_part_in_a_format(chatml: ChatFormat) -> None:
    tokens = list_special_tokens(make_tokenizer())
    assert tokens == {1: "<s>", 2: "<|im_end|>", 3: "<tool_call>", 4: "</s>"}
    seen = Served(chatml, make_tokenizer())
    assert seen.special == {1: "<s>", 4: "</s>"}
    assert seen.needs_special
    assert not Served(ChatFormat(), make_tokenizer()).needs_special
    assert list_special_tokens(object()) == {}


Piece = tuple[str, list[int]]


def read(reader: OutputReader, pieces: list[Piece]) -> dict[str, Any]:
    deltas = [delta for text, ids in pieces for delta in reader.feed(text, ids)]
    return fold_deltas([*deltas, *reader.finish()])


@pytest.mark.parametrize("together", [False, True], ids=["token by token", "in one step"])
def test_a_special_token_is_dropped_by_its_id_and_never_inside_a_call(chatml: ChatFormat, together: bool) -> None:
    head, tail = CALL.split("TEXT")
    pieces: list[Piece] = [
        ("A spelled <s> stays, ", [10]),
        ("<s>", [1]),
        ("a generated one goes.", [11]),
        (f"{head}an ", [12]),
        ("<s>", [1]),
        (f" and a <s> stay{tail}", [13]),
    ]
    if together:
        # All that is known is which tokens were generated: the first of equal texts is taken for the token's.
        pieces = [("A generated ", [10]), ("<s>goes." + head + "<s> stays" + tail, [1, 11, 12, 1, 13])]
    message = read(OutputReader(chatml, TOOLS, special={1: "<s>"}), pieces)
    text = json.loads(message["tool_calls"][0]["function"]["arguments"])["text"]
    if together:
        assert (message["content"], text) == ("A generated goes.", "<s> stays")
    else:
        assert (message["content"], text) == ("A spelled <s> stays, a generated one goes.", "an <s> and a <s> stay")


@pytest.mark.parametrize(
    ("text", "ids", "pieces"),
    [
        ("One <s>two<s>.", [2, 1, 3], [("One <s>two", [2]), ("<s>", [1]), (".", [3])]),
        ("One <s>two<s>.", [2, 1, 3, 9], [("One <s>two", [2]), ("<s>", [1]), (".", [3, 9])]),  # the last one has stopped it
        ("One <s>two<s>", [2, 1, 9], [("One <s>two", [2]), ("<s>", [1]), ("", [9])]),
        ("One <s>two", [2, 1, 3], [("One <s>two", [2]), ("", [1]), ("", [3])]),  # its text comes later
        ("One <s>", [3, 1], [("One <s>", [3, 1])]),  # not the text of these tokens
        ("One <s>two<s>.!", [2, 1, 3], [("One <s>two<s>.!", [2, 1, 3])]),
    ],
)
def test_special_tokens_are_told_from_texts_that_are_spelled_alike(text: str, ids: list[int], pieces: list[object]) -> None:
    words = {1: "<s>", 2: "One <s>two", 3: ".", 9: "</s>"}
    assert cut_at_special(text, ids, {1: "<s>"}, lambda tokens: "".join(words[token] for token in tokens)) == pieces


def test_the_text_of_a_special_token_may_come_late_and_in_pieces(chatml: ChatFormat) -> None:
    reader = OutputReader(chatml, TOOLS, special={1: "<s>"})
    assert read(reader, [("", [1]), ("a <", [5]), ("s", [6]), ("> b", [7])])["content"] == "a  b"
    reader = OutputReader(chatml, TOOLS, special={1: "<s>"})
    assert read(reader, [("a <", [1])])["content"] == "a <"


def test_the_text_of_a_special_token_is_not_waited_for_for_ever(chatml: ChatFormat) -> None:
    reader = OutputReader(chatml, TOOLS, special={1: "<s>"})
    assert read(reader, [("Hello. ", [1]), ("And so on. ", [5]), ("<s>", [6])])["content"] == "Hello. And so on. "
    for pieces in ([("And so on. ", [5])] * 30, [("And so on. " * 30, [5])]):
        reader = OutputReader(chatml, TOOLS, special={1: "<s>"})
        message = read(reader, [("Hello. ", [1]), *pieces, ("Write <s>", [6]), (" and <s>.", [7]), ("<s>", [1]), (" So.", [8])])
        assert message["content"] == "Hello. " + 30 * "And so on. " + "Write <s> and <s>. So."


# Reading


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Counters:
    """Counters of this test alone."""
    made = Counters()
    for module in ("formats", "reader"):
        monkeypatch.setattr(f"chat_autoparser.serve.{module}.COUNTERS", made)
    return made


class Broken:
    """A parser that fails at a word."""

    in_reasoning = True
    in_call = False
    calls_seen = 0
    recoveries = ()
    incomplete_calls: frozenset[int] = frozenset()

    def feed(self, text: str) -> list[Delta]:
        if "fail" in text:
            raise RecursionError
        return [Delta("reasoning", text)]

    def finish(self) -> list[Delta]:
        raise ValueError


def test_a_parser_that_fails_loses_nothing_and_publishes_no_reasoning(
    counters: Counters, caplog: pytest.LogCaptureFixture
) -> None:
    reader = OutputReader(ChatFormat(), parser=Broken())
    message = read(reader, [("one, ", []), ("fail, ", []), ("three", [])])
    assert (message["reasoning_content"], message["content"]) == ("one, fail, three", None)
    assert counters.read()["faults"] == 1
    assert "fail" not in caplog.text.replace("that has failed", "").replace("failed", "")  # no payload
    assert read(OutputReader(ChatFormat(), parser=Broken()), [("one", [])])["reasoning_content"] == "one"


def test_outputs_are_counted(chatml: ChatFormat, counters: Counters) -> None:
    def count(text: str, tools: list[dict[str, Any]] | None = TOOLS) -> dict[str, int]:
        before = counters.read()
        reader = OutputReader(chatml, tools)
        read(reader, [(char, []) for char in text])
        reader.finish()  # counts once
        return {name: number - before[name] for name, number in counters.read().items() if number != before[name]}

    assert count("Hello.") == {"outputs": 1}
    assert count(CALL + "\n" + CALL) == {"outputs": 1, "calls": 2}
    assert count(CALL[:-20]) == {"outputs": 1, "calls": 1, "cut_calls": 1}
    assert count("I never write <tool_call> myself.") == {"outputs": 1, "text_kept": 1}
    assert count("I never write <tool_call> myself.", []) == {"outputs": 1}


def test_a_cut_call_is_known_at_each_of_its_positions(chatml: ChatFormat) -> None:
    for length in range(len(CALL) + 1):
        reader = OutputReader(chatml, TOOLS)
        message = read(reader, [(CALL[:length], [])])
        if "tool_calls" in message and reader.incomplete != {0}:
            assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"text": "TEXT"}, length


def test_counters_are_published_where_there_is_something_to_publish_them_with() -> None:
    registry = pytest.importorskip("prometheus_client").REGISTRY
    assert publish_counters()
    assert publish_counters()
    assert registry.get_sample_value("chat_autoparser_outputs_total") is not None


# Structural tags


def make_tools(count: int, parameters: int) -> list[dict[str, Any]]:
    properties = {f"p{number}": {"type": "string"} for number in range(parameters)}
    schema = {"type": "object", "properties": properties}
    return [{"type": "function", "function": {"name": f"f{number}", "parameters": schema}} for number in range(count)]


def test_a_tag_is_made_once_for_equal_requests_and_those_made_last_are_kept(chatml: ChatFormat) -> None:
    made: list[str] = []

    def finish(tag: dict[str, Any]) -> str:
        made.append(json.dumps(tag))
        return made[-1]

    required, maker = ToolChoice("required"), TagMaker(finish, logging.debug)
    first = maker.make(chatml, make_tools(1, 2), required)
    assert first == json.dumps(build_structural_tag(chatml, make_tools(1, 2), "required"))
    assert maker.make(chatml, make_tools(1, 2), required) is first
    for other in (
        maker.make(chatml, make_tools(1, 2), required, parallel=False),
        maker.make(chatml, make_tools(2, 2), required),
        maker.make(chatml, make_tools(1, 2), ToolChoice()),
    ):
        assert other not in (None, first)
    assert maker.make(chatml, make_tools(2, 2), ToolChoice("required", frozenset(["f0"]), single=True)) is made[1]
    assert len(made) == 4
    maker = TagMaker(finish, logging.debug, room=2 * len(first) + 2500)
    for number in (0, 1, 0, 2, 0, 2, 1):  # there is room for two, and the one used last stays
        maker.make(chatml, make_tools(3, 2)[number : number + 1], required)
    assert len(made) == 4 + 4


def test_a_tag_that_costs_too_much_is_not_made_and_no_request_fails(chatml: ChatFormat) -> None:
    said: list[str] = []
    maker = TagMaker(lambda tag: tag, lambda text, error: said.append(text % error))
    demo, required = analyze(DEMO), ToolChoice("required")
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"properties": {"a": deep}}
    levels: dict[str, Any] = {}
    for _ in range(60):  # of which xgrammar would make something, in seconds
        levels = {"type": "array", "items": levels}
    layers = {f"a{layer}": {"anyOf": [{"$ref": f"#/$defs/a{layer + 1}"}] * 16} for layer in range(8)}
    wide = {"type": "object", "properties": {f"p{number}": {} for number in range(80)}}
    many = {"$defs": {**layers, "a8": {"type": "object"}}, "$ref": "#/$defs/a0"}  # four milliards
    for format, tools in (
        (chatml, make_tools(1, 8000)),
        (demo, make_tools(1, 80)),
        (demo, make_tools(100, 10)),
        (demo, [{"type": "function", "function": {"name": "f", "parameters": {"properties": 7}}}]),
        (chatml, [{"type": "function", "function": {"name": "f", "parameters": deep}}]),
        (chatml, [{"type": "function", "function": {"name": "f", "parameters": {"default": b""}}}]),
        (chatml, [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": levels}}}}]),
        (chatml, [{"type": "function", "function": {"name": "f", "parameters": many}}]),
        (demo, [{"type": "function", "function": {"name": "f", "parameters": {"allOf": [wide]}}}]),
        (ChatFormat(), make_tools(1, 1)),
    ):
        before = len(said)
        assert maker.make(format, tools, required) is None
        assert len(said) == before + 1
    assert "too many parameters" in said[0]
    before = len(said)
    assert maker.make(demo, make_tools(1, 80), required) is None
    assert len(said) == before, "it is said once"
    assert maker.make(demo, make_tools(1, 70), required) is not None
    assert maker.make(chatml, make_tools(100, 10), required) is not None

    def refuse(tag: dict[str, Any]) -> Any:
        raise RuntimeError("no such format")

    assert TagMaker(refuse, logging.debug).make(chatml, make_tools(1, 1), required) is None


# Formats


def test_a_server_s_own_format_is_pinned_and_reported_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    formats = Formats(capacity=2, apart=lambda source, tokens, seconds: ChatFormat())
    own = formats.pin(CHATML, "the model's chat template")
    assert formats.pin(CHATML, "the model's chat template") is own
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("chat-autoparser: from the model's chat template in ")
    assert "<tool_call>" in line
    assert "proven" in line
    assert "\n" not in line
    for number in range(5):
        formats.submit(f"{PLAIN}{{# {number} #}}").result()
    assert formats.find(CHATML) is own
    assert formats.submit(CHATML).result() is own
    kept = [number for number in range(5) if formats.find(f"{PLAIN}{{# {number} #}}")]
    assert kept == [3, 4]


@pytest.mark.parametrize("fits", [True, False])
def test_a_certificate_beside_the_model_is_taken_where_it_fits(
    fits: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture, counters: Counters
) -> None:
    caplog.set_level(logging.INFO)
    marked = replace(analyze(CHATML), verdict=Verdict(notes=("from the certificate",)))
    (tmp_path / FILE_NAME).write_text(json.dumps(make_certificate(load_renderer(CHATML), marked)))
    found = Formats().pin(CHATML if fits else PLAIN, "the model's template", folder=str(tmp_path))
    assert (found == marked) == fits
    assert counters.read()["analyses"] == int(not fits)
    told = " ".join(record.getMessage() for record in caplog.records)
    assert ("certified in chat_autoparser.json" in told) == fits
    assert ("chat_autoparser.json is not used" in told) != fits


def test_the_policy_is_the_environment_s(chatml: ChatFormat, counters: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '<tool_call>\n{"name": "say", "parameters": {"text": "TEXT"}}\n</tool_call>'

    def read_with(policy: str) -> tuple[int, bool]:
        monkeypatch.setenv("CHAT_AUTOPARSER_POLICY", policy)
        before = counters.read()
        read(OutputReader(chatml, TOOLS), [(text, [])])
        found = {name: number - before[name] for name, number in counters.read().items()}
        return found["calls"], found["recoveries"] > 0

    assert read_with("strict") == (0, False)
    assert read_with("lenient") == read_with("Repair") == read_with("") == (1, True)
    assert read_with("no policy") == (1, True), "a request must not fail"
    with pytest.raises(AutoparserError, match="CHAT_AUTOPARSER_POLICY"):
        Formats().pin(CHATML, "the model's template")


def test_how_long_a_request_s_template_may_take_is_the_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def analyse(source: str, special_tokens: Mapping[str, str], seconds: float) -> ChatFormat:
        given.append(seconds)
        return ChatFormat()

    formats = Formats(apart=analyse)
    for number, named in enumerate(("", "7.5", " 20 ")):
        monkeypatch.setenv("CHAT_AUTOPARSER_TEMPLATE_SECONDS", named)
        formats.submit(f"{CHATML}{number}").result()
    assert given == [3.0, 7.5, 20.0]
    for named in ("long", "0", "-1", "nan", "inf", "61"):
        monkeypatch.setenv("CHAT_AUTOPARSER_TEMPLATE_SECONDS", named)
        with pytest.raises(AutoparserError, match="CHAT_AUTOPARSER_TEMPLATE_SECONDS is"):
            Formats().pin(CHATML, "the model's template")


@pytest.mark.parametrize(("asked", "calls"), [("strict", 0), ("lenient", 1), ("no policy", 1), (7, 1), (None, 1)])
def test_a_request_may_ask_for_a_policy(chatml: ChatFormat, asked: Any, calls: int) -> None:
    parser = make_parser(chatml, TOOLS, asked=asked)
    text = '<tool_call>\n{"name": "say", "parameters": {"text": "TEXT"}}\n</tool_call>'
    deltas = [*parser.feed(text), *parser.finish()]
    assert len([delta for delta in deltas if delta.name]) == calls


def test_examples_go_before_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = replace(analyze(CHATML), verdict=Verdict())
    (tmp_path / FILE_NAME).write_text(json.dumps(make_certificate(load_renderer(CHATML), marked)))
    examples = tmp_path / "examples.json"
    message = {"role": "assistant", "content": "Hello."}
    examples.write_text(json.dumps([{"text": "Hello.", "message": message}]))
    monkeypatch.setenv("CHAT_AUTOPARSER_EXAMPLES", str(examples))
    assert Formats().pin(CHATML, "the model's template", folder=str(tmp_path)) != marked


def test_a_server_s_template_that_is_not_understood_is_named_in_one_line() -> None:
    with pytest.raises(AutoparserError) as caught:
        Formats().pin("{{ raise_exception('no\nway') }}", "the chat template of --chat-template")
    assert str(caught.value).startswith("the chat template of --chat-template is not understood: ")
    assert "\n" not in str(caught.value)


def test_what_is_not_proven_is_said_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    template = PLAIN.replace("{% if add", "{{ tools }}{% if add")
    Formats().pin(template, "the model's chat template")
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "not understood in full" in warning
    assert "CHAT_AUTOPARSER_EXAMPLES" in warning


def test_a_request_s_template_is_analysed_in_another_process() -> None:
    analyst = Analyst()
    analyst.start()
    process = analyst._process
    assert process is not None
    for _ in range(3):
        assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML)
        with pytest.raises(AutoparserError):
            analyst.analyse("{{ raise_exception('no') }}", {}, 20)
        with pytest.raises(BudgetError):
            analyst.analyse(" " * (LONGEST + 1), {}, 20)
        with pytest.raises(BudgetError):
            analyst.analyse(ENDLESS, {}, 0.2)
    assert analyst._process is process, "it was started more than once"
    process.kill()
    process.wait()
    assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML), "it is started anew"
    analyst._stop()


def test_an_analysis_that_waits_too_long_is_ended_by_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not the process that is ended and started anew: others come after that template."""
    analyst = Analyst()
    analyst.analyse(PLAIN, {}, 20)
    process = analyst._process
    monkeypatch.setattr(apart, "_BUSY", -20.0)
    with pytest.raises(BudgetError, match="it takes too much time or memory"):
        analyst.analyse(ENDLESS, {}, 20)
    monkeypatch.undo()
    assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML)
    assert analyst._process is process
    analyst._stop()


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("read line; echo '[]'; read line", ""),
        ("read line; echo '{}'; read line", ""),
        ("""read line; echo '{"number": 1}'; read line""", ""),
        ("""read line; echo '{"number": 1, "format": 7}'; read line""", ""),
        ("read line; echo nothing; read line", ""),
        ("echo Traceback >&2; echo no such library: $LD_LIBRARY_PATH $SECRET. >&2", "no such library: /opt/lib ."),
    ],
)
def test_a_process_that_fails_is_named_with_its_last_words(
    does: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    monkeypatch.setenv("SECRET", "secret")
    analyst = Analyst()
    with pytest.raises(BudgetError, match="the process that analyses templates has failed") as caught:
        analyst.analyse(PLAIN, {}, 5)
    assert reason in str(caught.value)
    assert analyst._process is None


def test_the_analysis_lets_all_other_processes_go_before() -> None:
    """Also where the kernel groups processes by session: there the priority of one tells nothing to those of another."""
    analyst = Analyst()
    analyst.analyse(CHATML, {}, 20)
    assert analyst._process is not None
    number = analyst._process.pid
    assert os.getpriority(os.PRIO_PROCESS, number) == 10
    group = Path(f"/proc/{number}/autogroup")
    if group.exists():
        assert group.read_text().split()[-1] == "10"
    analyst._stop()


def test_an_answer_that_comes_twice_is_not_that_of_the_next_template() -> None:
    """A fork may be ended in the moment in which it answers; then there is a second answer to the same task."""
    analyst = Analyst()
    analyst.start()
    process = analyst._process
    assert process is not None
    assert process.stdin is not None
    task = {"number": 0, "source": "{{ raise_exception('no') }}", "special_tokens": {}, "seconds": 20}
    task["wait"] = 30
    process.stdin.write(json.dumps(task).encode() + b"\n")
    assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML)
    assert analyst._process is process
    analyst._stop()


HOSTILE = {
    "endless": ENDLESS,
    "large": "{{ 'x' * 2000000000 }}" + PLAIN,
    "a number": "{{ 9 ** 9 ** 9 }}" + PLAIN,
    "deep": "{{ " + "(" * 50_000 + ")" * 50_000 + " }}",
    "many": "{% set x = 1 %}" * 20_000 + PLAIN,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_stopped(name: str) -> None:
    """It costs its time and no more, and this process is free meanwhile."""
    formats, start, gaps = Formats(), time.monotonic(), [0.0]
    future = formats.submit(HOSTILE[name])
    last = start
    while not future.done():
        time.sleep(0.002)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
    assert isinstance(future.result(), ChatFormat)
    assert time.monotonic() - start < 20
    assert max(gaps) < 1, "this process stood still"


def test_an_analysis_costs_this_process_next_to_nothing() -> None:
    """Measured as time on the processor, which a busy machine does not change: so much of it may stall a stream."""
    formats = Formats()
    formats.submit(PLAIN).result()  # starts the process
    start = time.process_time()
    for number in range(2):
        formats.submit(f"{CHATML}{{# {number} #}}").result()
    assert time.process_time() - start < 2 * 0.02, "it was analysed here"


def test_so_many_templates_wait_and_no_more() -> None:
    def work(source: str, tokens: Any, seconds: float) -> ChatFormat:
        time.sleep(0.2)
        return ChatFormat()

    formats, start = Formats(apart=work), time.monotonic()
    futures: list[Future[ChatFormat]] = [formats.submit(str(number)) for number in range(200)]
    assert time.monotonic() - start < 1
    assert formats.submit("1") is futures[1] or futures[1].done()  # asked twice, analysed once
    wait(futures, timeout=20)
    assert all(future.result() == ChatFormat() for future in futures)
    assert time.monotonic() - start < 6


def test_a_request_that_is_given_up_ends_no_analysis_for_others() -> None:
    """A client that hangs up cancels the task that waits for its template: others wait for the same one, or come later."""
    begun, go = Event(), Event()

    def work(source: str, tokens: Any, seconds: float) -> ChatFormat:
        begun.set()
        assert go.wait(20)
        return ChatFormat()

    formats = Formats(apart=work)

    async def await_format(source: str) -> ChatFormat:
        return await asyncio.wrap_future(formats.submit(source))

    async def run() -> None:
        first, leaver, stayer = (asyncio.create_task(await_format(source)) for source in ("first", "shared", "shared"))
        others = [asyncio.create_task(await_format(str(number))) for number in range(30)]
        await asyncio.to_thread(begun.wait, 20)
        for task in (first, leaver, *others):
            task.cancel()
        assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(first, leaver, *others, return_exceptions=True))
        go.set()
        assert await asyncio.wait_for(stayer, 20) == ChatFormat()
        assert await asyncio.wait_for(await_format("shared"), 20) == ChatFormat()
        assert await asyncio.wait_for(await_format("29"), 20) == ChatFormat()

    asyncio.run(run())
    assert all(formats.find(source) == ChatFormat() for source in ("first", "shared", *map(str, range(30))))
    assert not formats._running
