"""What the plugins of serving engines share."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT

from chat_autoparser import AutoparserError, ChatFormat, Delta, analyze
from chat_autoparser.constrain import build_structural_tag
from chat_autoparser.message import fold_deltas
from chat_autoparser.serve import Formats, OutputReader, TagMaker, ToolChoice, describe_tools, make_parser, publish_counters
from chat_autoparser.serve.counters import Counters

DEMO = (ROOT / "scripts" / "demo.jinja").read_text()
CHATML = """{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "say", "parameters": {}}}]
CALL = '<tool_call>\n{"name": "say", "arguments": {"text": "TEXT"}}\n</tool_call>'


@pytest.fixture(scope="module")
def chatml() -> ChatFormat:
    return analyze(CHATML)


def test_plugins_take_what_is_offered_to_them() -> None:
    files = [path for plugin in ("sglang_plugin", "vllm_plugin") for path in (ROOT / plugin).glob("*.py")]
    assert files
    assert not [path.name for path in files if "from chat_autoparser.serve." in path.read_text("utf-8")]


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
    chosen = ToolChoice.read({"type": "allowed_tools", **ALLOWED}).select(tools)
    assert [tool["function"]["name"] for tool in chosen] == ["a", "c"]
    assert ToolChoice("none").select(tools) == []
    assert ToolChoice("required").select(tools) == tools


# Reading


Piece = tuple[str, list[int]]


def read(reader: OutputReader, pieces: list[Piece]) -> dict[str, Any]:
    deltas = [delta for text, ids in pieces for delta in reader.feed(text, ids)]
    return fold_deltas([*deltas, *reader.finish()])


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
    assert read_with("lenient, unknown=drop") == (1, True)
    assert read_with("no policy") == read_with("strict, no=field") == (1, True), "a request must not fail"
    with pytest.raises(AutoparserError, match="CHAT_AUTOPARSER_POLICY"):
        Formats().pin(CHATML, "the model's template")


@pytest.mark.parametrize(("asked", "calls"), [("strict", 0), ("lenient", 1), ("no policy", 1), (7, 1), (None, 1)])
def test_a_request_may_ask_for_a_policy(chatml: ChatFormat, asked: Any, calls: int) -> None:
    parser = make_parser(chatml, TOOLS, asked=asked)
    text = '<tool_call>\n{"name": "say", "parameters": {"text": "TEXT"}}\n</tool_call>'
    deltas = [*parser.feed(text), *parser.finish()]
    assert len([delta for delta in deltas if delta.name]) == calls


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
