"""The SGLang plugin's parts, through SGLang's own classes: what servers alone do not show."""

from __future__ import annotations

import json
import logging
import pickle
import tempfile
import time
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sglang", reason="this is not SGLang's environment: see scripts/setup_sglang.sh")

from cases import TEMPLATES, Case, load_subject
from corpus import read_template
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judge import find_fault, take_meaning
from rendering import BOS
from sglang.srt.entrypoints.openai.protocol import Tool, ToolChoice
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.managers.io_struct import GenerateReqInput
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins import load_plugins
from tiny_model import make_model
from transformers import AutoTokenizer

from chat_autoparser import Delta, analyze, load_renderer
from chat_autoparser.serve.reader import Rest
from chat_autoparser.sglang_plugin import NAME, engine, formats, serving
from chat_autoparser.sglang_plugin.builtin import Stages, make_tools
from chat_autoparser.sglang_plugin.calls import CallDetector
from chat_autoparser.sglang_plugin.reading import HALF
from chat_autoparser.sglang_plugin.reasoning import ReasoningDetector
from chat_autoparser.show import doctor
from chat_autoparser.show.display import Display

load_plugins()


shapes = pytest.mark.parametrize("shape", TEMPLATES)


@cache
def load_tokenizer(shape: str) -> Any:
    subject = load_subject(TEMPLATES[shape])
    folder = Path(tempfile.mkdtemp(prefix="tiny-"))
    return AutoTokenizer.from_pretrained(make_model(subject.source, folder, eos=subject.eos))


def render_prompt(shape: str, case: Case) -> str:
    text: str = load_tokenizer(shape).apply_chat_template(
        case.messages, tools=case.tools, add_generation_prompt=True, tokenize=False, **case.kwargs
    )
    return text


def make_stages(shape: str, case: Case) -> Stages:
    return Stages(NAME, NAME, load_tokenizer(shape), render_prompt(shape, case), make_tools(case.tools))


# What doctor compares

QWEN = "Qwen-Qwen3.6-35B-A3B"


def test_parsers_that_sglang_maintains_for_a_model_read_all_of_its_turns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are told whether a request's model thinks, as the server tells them."""
    caplog.set_level(logging.CRITICAL, "sglang")  # as doctor sets it for good
    source, end = read_template(QWEN), "<|im_end|>"
    renderer = load_renderer(source, bos_token=BOS, eos_token=end)
    model = make_model(source, tmp_path, markers="added", eos=end)
    [finding] = doctor.examine(model, renderer, analyze(renderer), Display())
    readings = [*finding.calls, *finding.reasoning]
    read_all = {reading.name for reading in readings if reading.read == reading.turns}
    assert {"qwen3_coder", "qwen3"} <= read_all
    assert finding.best_reads_all
    assert NAME not in {reading.name for reading in readings}


# Detectors


@shapes
def test_every_case_in_every_way(shape: str) -> None:
    for case in list_possible(shape):
        stages = make_stages(shape, case)
        for message in (
            stages.read_whole(case.text),
            stages.read_pieces([case.text, ""]),
            stages.read_pieces([*case.text, ""]),
        ):
            assert find_fault(case.expected, message) is None, case.name


def list_possible(shape: str) -> list[Case]:
    """The cases of a shape, but for answers that nobody can tell from the reasoning that their prompt has begun."""
    format = formats.derive_format(load_tokenizer(shape), "a template")
    end = format.reasoning.end.text if format.reasoning else ""
    return [
        case
        for case in load_subject(TEMPLATES[shape]).cases.values()
        if end in case.text or not format.reasoning_splitter([], render_prompt(shape, case)).in_reasoning
    ]


@shapes
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_pieces_mean_nothing(shape: str, data: st.DataObject) -> None:
    """Any output, in any pieces: what SGLang gets is the same, and nothing is raised."""
    cases = load_subject(TEMPLATES[shape]).cases
    case = cases[data.draw(st.sampled_from(sorted(cases)), label="case")]
    odd = [case.text, case.text[: len(case.text) // 2], case.text + "\nmore", case.text * 2]
    text = data.draw(st.sampled_from(odd), label="text")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8), label="cuts"))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    stages = make_stages(shape, case)
    assert take_meaning(stages.read_pieces(pieces)) == take_meaning(stages.read_whole(text))


JSON_IN_TAGS = "JSON in tags"
WEATHER = Tool(
    type="function",
    function={"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def make_detector(**kwargs: Any) -> Any:
    return CallDetector(tokenizer=load_tokenizer(JSON_IN_TAGS), **kwargs)


def test_text_behind_a_call_is_sent_behind_it() -> None:
    detector = make_detector()
    first = detector.parse_streaming_increment(f"Before.{CALL}\nAfter.", [WEATHER])
    second = detector.parse_streaming_increment("", [WEATHER])
    assert (first.normal_text, [item.name for item in first.calls]) == ("Before.", ["get_weather", None])
    assert (second.normal_text, second.calls) == ("\nAfter.", [])


def test_a_call_that_is_cut_off_is_marked() -> None:
    detector = make_detector()
    detector.parse_streaming_increment(CALL + CALL[:50], [WEATHER])
    detector.finish([WEATHER])
    assert detector.incomplete_tool_call_indices == {1}


def test_unknown_tools_are_text_unless_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CALL.replace("get_weather", "get_wether")
    assert make_detector().detect_and_parse(text, [WEATHER]).normal_text == text
    monkeypatch.setenv("SGLANG_FORWARD_UNKNOWN_TOOLS", "1")
    assert [item.name for item in make_detector().detect_and_parse(text, [WEATHER]).calls] == ["get_wether"]


def test_ids_of_the_model_are_kept() -> None:
    shape = "name in the id"
    case = load_subject(TEMPLATES[shape]).get("call")
    message = make_stages(shape, case).read_whole(case.text)
    assert message["tool_calls"][0]["id"] in case.text


def test_a_failure_inside_costs_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Rest):
        def feed(self, text: str) -> list[Delta]:
            raise RuntimeError("broken")

    detector, splitter = make_detector(), ReasoningDetector(tokenizer=load_tokenizer(JSON_IN_TAGS))
    detector.parse_streaming_increment("Hel", [WEATHER])
    splitter.parse_streaming_increment("Hel")
    for stage in (detector, splitter):
        monkeypatch.setattr(stage._reading._reader, "_parser", Broken())
    assert detector.parse_streaming_increment("lo", [WEATHER]).normal_text == "lo"
    assert detector.finish([WEATHER]).normal_text == ""
    assert splitter.parse_streaming_increment("lo").normal_text == "lo"


def test_whole_and_stream_share_nothing() -> None:
    """The Responses endpoint asks one detector for both."""
    detector = make_detector(tools=[WEATHER])
    assert detector.has_tool_call(CALL)
    assert [item.name for item in detector.parse_streaming_increment(CALL, [WEATHER]).calls] == ["get_weather", None]


def test_a_whole_output_is_read_in_either_of_the_engines_ways() -> None:
    """Responses fold the calls of a stream, and copy and change what comes first of each."""
    for kept in (False, True):
        parser = FunctionCallParser([WEATHER], NAME, tokenizer=load_tokenizer(JSON_IN_TAGS))
        text, calls = parser.parse_non_stream(f"Wait.{CALL}{CALL}", preserve_incomplete=kept)
        assert text == "Wait."
        assert [(call.name, json.loads(call.parameters)) for call in calls] == [("get_weather", {"city": "Oslo"})] * 2
        assert [call.model_dump()["tool_index"] for call in calls] == [0, 1]


@pytest.mark.parametrize(
    ("prompt", "text", "expected"),
    [
        ("", "Hello.", (None, "Hello.")),
        ("", "<think>\nHm.\n</think>\n\nHello.", ("Hm.", "Hello.")),
        ("<think>\n", "Hm.\n</think>\n\nHello.", ("Hm.", "Hello.")),
        ("<think>\n\n</think>\n\n", "Hello <think>.", (None, "Hello <think>.")),
    ],
)
def test_the_prompt_decides_and_not_the_switch(prompt: str, text: str, expected: tuple[str | None, str]) -> None:
    prompt = f"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{prompt}"
    for forced in (True, False):
        parser = ReasoningParser(NAME, force_reasoning=forced, tokenizer=load_tokenizer(JSON_IN_TAGS), prefix=prompt)
        assert tuple(part or None for part in parser.parse_non_stream(text)) == expected


def test_reasoning_in_one_piece_where_it_must_not_stream() -> None:
    parser = ReasoningParser(NAME, stream_reasoning=False, tokenizer=load_tokenizer(JSON_IN_TAGS))
    results = [parser.parse_stream_chunk(char) for char in "<think>\nHm.\n</think>\n\nHello."]
    assert [thought for thought, _ in results if thought] == ["Hm."]


def test_reasoning_never_stands_in_for_content() -> None:
    """SGLang has a field of requests for that."""
    parser = ReasoningDetector(force_nonempty_content=True, tokenizer=load_tokenizer(JSON_IN_TAGS))
    assert tuple(parser.detect_and_parse("<think>\nHm.\n</think>")) == ("", "Hm.")


def test_a_grammar_from_the_start_leaves_no_reasoning() -> None:
    detector = ReasoningDetector(grammar_start="from_start", tokenizer=load_tokenizer(JSON_IN_TAGS))
    assert detector.detect_and_parse('{"a": "<think>"}').normal_text == '{"a": "<think>"}'


@shapes
def test_half_a_character_of_a_marker_is_no_text(shape: str) -> None:
    """What SGLang's detokenizer writes where a limit cuts an output amid a character that is no field's."""
    case = load_subject(TEMPLATES[shape]).get("reasoning, content, two calls", "content, call", "call", "content")
    stages = make_stages(shape, case)
    texts = "".join(list_texts(case.expected))
    for place, char in enumerate(case.text):
        if char.isascii() or char in texts:
            continue
        cut = case.text[:place]
        without = take_meaning(stages.read_whole(cut))
        assert take_meaning(stages.read_whole(cut + HALF)) == without, cut[-20:]
        assert take_meaning(stages.read_pieces([cut + HALF, ""])) == without, cut[-20:]
        assert take_meaning(stages.read_pieces([*cut, HALF])) == without, cut[-20:]


def list_texts(expected: dict[str, Any]) -> list[str]:
    calls = json.dumps(expected["tool_calls"], ensure_ascii=False)
    return [expected["reasoning_content"] or "", expected["content"] or "", calls]


@pytest.mark.parametrize("tools", [[], [WEATHER]])
@pytest.mark.parametrize("text", [HALF, "Grüße, n", "Grüße, n\ufffd\ufffdz", "<think>\nHm.\n</think>\n\nz", "<think>\nHm"])
def test_half_a_character_of_text_stays(text: str, tools: list[Any]) -> None:
    stages = Stages(NAME, NAME, load_tokenizer(JSON_IN_TAGS), "", tools)
    expected = stages.read_whole(text)
    kind = "content" if expected["content"] else "reasoning_content"
    expected[kind] += HALF
    assert stages.read_whole(text + HALF) == expected
    assert stages.read_pieces([*text, HALF, ""]) == expected


# What a request is held to


def test_a_named_call_is_that_call() -> None:
    xgrammar = pytest.importorskip("xgrammar")
    other = Tool(type="function", function={"name": "get_time", "parameters": {"type": "object", "properties": {}}})
    parser = FunctionCallParser([WEATHER, other], NAME, tokenizer=load_tokenizer(JSON_IN_TAGS))
    choice = ToolChoice(type="function", function={"name": "get_weather"})
    constraint = parser.get_structure_constraint(choice)
    assert constraint is not None
    kind, tag = constraint
    assert kind == "structural_tag"
    written = json.dumps(tag.model_dump(by_alias=True))
    assert "get_weather" in written
    assert "get_time" not in written
    xgrammar.Grammar.from_structural_tag(json.loads(written))


@pytest.mark.parametrize(
    ("shape", "count", "held"), [(JSON_IN_TAGS, 400, True), ("tagged arguments", 30, True), ("tagged arguments", 400, False)]
)
def test_no_request_keeps_the_server_busy_with_its_schema(shape: str, count: int, held: bool) -> None:
    """Beyond what a tag can be made of in time, the call has SGLang's JSON form."""
    properties = {f"p{number}": {"type": "string"} for number in range(count)}
    tool = Tool(type="function", function={"name": "many", "parameters": {"type": "object", "properties": properties}})
    parser = FunctionCallParser([tool], NAME, tokenizer=load_tokenizer(shape))
    start = time.process_time()
    constraint = parser.get_structure_constraint("required")
    assert constraint is not None
    assert constraint[0] == ("structural_tag" if held else "json_schema")
    assert time.process_time() - start < 2


def test_calls_are_not_held_where_nothing_asks_for_it() -> None:
    parser = FunctionCallParser([WEATHER], NAME, tokenizer=load_tokenizer(JSON_IN_TAGS))
    assert parser.get_structure_constraint("auto") is None
    assert parser.get_structure_constraint("auto", parallel_tool_calls=False) is not None


@pytest.mark.parametrize("backend", ["llguidance", "outlines", "none"])
def test_other_grammar_backends_get_the_form_that_they_know(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SGLang's own JSON form where a call has to come, read by its own parser; and nothing where none has to."""
    monkeypatch.setattr(engine, "get_context", lambda: SimpleNamespace(config_leaf={"grammar_backend": backend}.get))
    strict = Tool(type="function", function={**WEATHER.function.model_dump(), "strict": True})
    named = ToolChoice(type="function", function={"name": "get_weather"})
    for choice in ("required", named):
        parser = FunctionCallParser([strict], NAME, tokenizer=load_tokenizer(JSON_IN_TAGS), tool_choice=choice)
        constraint = parser.get_structure_constraint(choice, parallel_tool_calls=False)
        assert constraint is not None
        assert constraint[0] == "json_schema"
        assert not parser.owns_tool_format()
    parser = FunctionCallParser([strict], NAME, tokenizer=load_tokenizer(JSON_IN_TAGS), tool_choice="auto")
    assert parser.get_structure_constraint("auto", parallel_tool_calls=False) is None


HEADER = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
NAMED = ToolChoice(type="function", function={"name": "get_weather"})


def prepare(prompt: str, choice: Any, constraint: Any, params: dict[str, Any]) -> Any:
    """Run the hook that a request passes when its prompt is known; returns what the scheduler is asked for."""
    manager = SimpleNamespace(tokenizer=load_tokenizer(JSON_IN_TAGS))
    parsers = {"reasoning_parser": NAME, "tool_call_parser": NAME}
    serving_chat = SimpleNamespace(tokenizer_manager=manager, default_chat_template_kwargs={}, **parsers)
    asked = SimpleNamespace(tool_choice=choice, parallel_tool_calls=True, chat_template_kwargs=None, _response_parser_prefix="")
    adapted = SimpleNamespace(text=prompt, input_ids=None, sampling_params=params, require_reasoning=True)
    given = {
        "tool_call_constraint": constraint,
        "tools": [WEATHER],
        "template_tool_call_grammar": "structural_tag" in params,
    }
    serving.read_prompt(lambda *_, **__: None, serving_chat, asked, adapted, **given)
    return adapted


PROMPTS = [
    pytest.param(HEADER, False, ["optional"], id="the model may reason"),
    pytest.param(f"{HEADER}<think>\n", True, ["any_text", "const_string"], id="the prompt has begun to reason"),
    pytest.param(f"{HEADER}<think>\n\n</think>\n\n", False, None, id="the prompt has ended reasoning"),
]


@pytest.mark.parametrize("choice", ["required", NAMED], ids=["required", "named"])
@pytest.mark.parametrize(("prompt", "reasons", "before"), PROMPTS)
def test_a_constraint_begins_with_what_the_prompt_leaves_open(
    prompt: str, reasons: bool, before: list[str] | None, choice: Any
) -> None:
    """And the scheduler is told that it need not wait for the end of reasoning."""
    given = '{"type": "structural_tag"}'
    adapted = prepare(prompt, choice, ("structural_tag", None), {"structural_tag": given})
    assert adapted.require_reasoning == reasons
    params = adapted.sampling_params
    if before is None:
        assert params == {"structural_tag": given}  # what was made without the prompt is right
        return
    found = json.loads(params["structural_tag"])["format"]
    assert [element["type"] for element in found["elements"]][: len(before)] == before
    assert bool(params.get("custom_params")) == reasons


def test_a_named_call_in_the_engines_form_is_one_call_at_once() -> None:
    schema = json.dumps({"type": "array", "minItems": 1})
    adapted = prepare(HEADER, NAMED, ("json_schema", schema), {"json_schema": schema})
    assert json.loads(adapted.sampling_params["json_schema"])["maxItems"] == 1
    assert not adapted.require_reasoning


def test_a_request_that_is_written_to_a_file_holds_nothing_of_ours() -> None:
    """SGLang dumps requests, before a crash and where it is asked to."""
    request = GenerateReqInput(text="Hello")
    request.chat_autoparser_turn = prepare(HEADER, "auto", None, {}).chat_autoparser_turn
    dumped = pickle.dumps(request)
    assert b"sglang_plugin" not in dumped
    found = pickle.loads(dumped)
    assert (found.text, found.chat_autoparser_turn) == ("Hello", None)
