"""The halves of the vLLM plugin, made and called as vLLM's own parser makes and calls them, without a server.

The tokenizers are made for each template; what is generated is what the template renders for known fields, and these are
the expected message.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

with warnings.catch_warnings():  # the engine's own, and not ours to mend
    warnings.simplefilter("ignore")
    pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")
    pytest.importorskip("vllm.parser")

from cases import TEMPLATES, Case, Subject, load_subject
from conversations import JsonObject
from judge import find_fault, fold
from tiny_model import make_model
from tokenizers.decoders import DecodeStream
from vllm_messages import make_message, take_delta

from chat_autoparser.vllm_plugin import NAMES, messages, register, server
from chat_autoparser.vllm_plugin.messages import Outbox
from chat_autoparser.vllm_plugin.reader import HINT, get_reader
from chat_autoparser.vllm_plugin.reasoning import AutoReasoningParser
from chat_autoparser.vllm_plugin.tools import AutoToolParser

register()

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

Message = tuple[JsonObject, list[JsonObject]]

BURSTS = (1, 4, 10_000)
PLAIN = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
REQUIRED = '[{"name": "NAME", "parameters": {"city": "Oslo"}}, {"name": "NAME", "parameters": {"city": "a[]{}\\"b"}}]'

shapes = pytest.mark.parametrize("shape", TEMPLATES)


class Model:
    """A template's tokenizer, and the parsers that vLLM makes for it."""

    def __init__(self, source: str, eos: str, markers: Any, folder: Path) -> None:
        from vllm.tokenizers import get_tokenizer

        self.tokenizer = get_tokenizer(str(make_model(source, folder, markers=markers, eos=eos)))

    def compose(self, tools: str | None = "auto", reasoning: str | None = "auto", **options: Any) -> Any:
        """The class of parser that a server uses; made once with the tokenizer, as vLLM does from 0.32 on."""
        from vllm.parser import ParserManager

        options = {"enable_auto_tools": True, "model_name": "tiny", **options}
        composed = ParserManager.get_parser(tool_parser_name=tools, reasoning_parser_name=reasoning, **options)
        composed(self.tokenizer)
        return composed

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def render_prompt(self, case: Case) -> list[int]:
        render = self.tokenizer.apply_chat_template
        return self.encode(render(case.messages, case.tools, add_generation_prompt=True, tokenize=False, **case.kwargs))

    def cut(self, text: str, burst: int) -> Iterator[tuple[str, list[int]]]:
        """The pieces in which a server gets a text: what the detokenizer makes of so many tokens at a time."""
        stream, tokens, piece = DecodeStream([], skip_special_tokens=False), self.encode(text), ""
        for place, token in enumerate(tokens, 1):
            piece += stream.step(self.tokenizer._tokenizer, token) or ""
            if place % burst == 0 or place == len(tokens):
                yield piece, tokens[place - 1 - (place - 1) % burst : place]
                piece = ""
        yield "", [self.tokenizer.eos_token_id]

    def make_parser(self, composed: Any, case: Case, request: Any) -> Any:
        return composed(self.tokenizer, request.tools, chat_template_kwargs=dict(case.kwargs))

    def parse(self, composed: Any, case: Case, request: Any, prompt: list[int]) -> JsonObject:
        """The message of the whole output."""
        parser = self.make_parser(composed, case, request)
        parser.is_reasoning_end(prompt)
        return make_message(*parser.parse(case.text, request, True, self.encode(case.text)))

    def stream(self, composed: Any, case: Case, request: Any, prompt: list[int], burst: int) -> Message:
        """The message of the stream, and the deltas in it."""
        parser = self.make_parser(composed, case, request)
        pieces, deltas = list(self.cut(case.text, burst)), []
        for place, (text, ids) in enumerate(pieces, 1):
            delta = parser.parse_delta(text, ids, request, prompt, finished=place == len(pieces))
            if delta is not None:
                deltas.append(take_delta(delta))
        return fold(deltas), deltas


def make_request(case: Case, **options: Any) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return ChatCompletionRequest(model="tiny", messages=case.messages, tools=case.tools, **{**case.options, **options})


def strip_ids(message: JsonObject) -> JsonObject:
    calls = [call["function"] for call in message["tool_calls"]]
    return {**message, "tool_calls": calls, "content": message["content"] or None}


def make_case(text: str, tools: list[JsonObject] | None = None) -> Case:
    expected: JsonObject = {"reasoning_content": None, "content": text, "tool_calls": []}
    return Case("made up", [{"role": "user", "content": "Hello"}], tools, {}, text, expected)


TOOLS: list[JsonObject] = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    for name in ("get_weather", "find_train")
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the model of a shape, once."""
    made: dict[tuple[str, str], Model] = {}

    def make(shape: str, markers: str = "special") -> Model:
        if (shape, markers) not in made:
            subject = load_shape(shape)
            made[shape, markers] = Model(subject.source, subject.eos, markers, tmp_path_factory.mktemp("model"))
        return made[shape, markers]

    return make


def load_shape(shape: str) -> Subject:
    return load_subject(TEMPLATES[shape])


def find_case(shape: str, *names: str) -> Case:
    return load_shape(shape).find(*names) or pytest.skip(f"the template prints none of: {', '.join(names)}")


@shapes
@pytest.mark.parametrize("markers", ["special", "added", "plain"])
def test_rendered_fields_come_back(models: Any, shape: str, markers: str) -> None:
    model = models(shape, markers)
    composed = model.compose()
    for case in load_shape(shape).cases.values():
        request, prompt = make_request(case), model.render_prompt(case)
        whole = model.parse(composed, case, request, prompt)
        assert find_fault(case.expected, whole) is None, (case.name, whole)
        for burst in BURSTS:
            streamed, _ = model.stream(composed, case, request, prompt, burst)
            assert strip_ids(streamed) == strip_ids(whole), (case.name, burst)


@shapes
@pytest.mark.parametrize("given", [{"tools": None}, {"tool_choice": "none"}], ids=["no tools", "choice none"])
def test_without_calls_nothing_is_lost(models: Any, shape: str, given: JsonObject) -> None:
    model, case = models(shape), find_case(shape, "reasoning, content, call", "content, call", "call")
    request, prompt = make_request(case), model.render_prompt(case)
    request = request.model_copy(update=given)
    for composed in (model.compose(), model.compose(tools=None)):
        whole = model.parse(composed, case, request, prompt)
        assert not whole["tool_calls"]
        assert case.expected["tool_calls"][0]["name"] in (whole["content"] or "") + (whole["reasoning_content"] or "")
        assert (whole["reasoning_content"] or "").startswith((case.expected["reasoning_content"] or "").strip())
        for burst in BURSTS:
            streamed, _ = model.stream(composed, case, request, prompt, burst)
            assert strip_ids(streamed) == strip_ids(whole), burst


@shapes
def test_the_tool_half_alone_leaves_reasoning_in_the_text(models: Any, shape: str) -> None:
    model, case = models(shape), find_case(shape, "content, call", "call")
    composed = model.compose(reasoning=None)
    request, prompt = make_request(case), model.render_prompt(case)
    whole = model.parse(composed, case, request, prompt)
    assert [call["function"]["name"] for call in whole["tool_calls"]] == [
        call["name"] for call in case.expected["tool_calls"]
    ]
    assert whole["reasoning_content"] is None
    for burst in BURSTS:
        assert strip_ids(model.stream(composed, case, request, prompt, burst)[0]) == strip_ids(whole), burst


@pytest.mark.parametrize(("tools", "reasoning"), [("auto", "deepseek_r1"), ("hermes", "auto"), ("auto", "qwen3")])
def test_beside_a_half_of_vllms(models: Any, tools: str, reasoning: str) -> None:
    shape = "reasoning opened by the prompt"
    model, case = models(shape, "added"), find_case(shape, "reasoning, content, call")
    composed = model.compose(tools, reasoning)
    request, prompt = make_request(case), model.render_prompt(case)
    assert find_fault(case.expected, model.parse(composed, case, request, prompt)) is None
    for burst in (1, 4):
        streamed, _ = model.stream(composed, case, request, prompt, burst)
        assert find_fault(case.expected, streamed) is None, (burst, streamed)


@pytest.mark.parametrize("burst", BURSTS)
def test_reasoning_that_comes_again_is_reasoning(models: Any, burst: int) -> None:
    shape = "JSON in tags"
    model, case = models(shape), make_case("<think>One.</think>Two.<think>Three.</think>Four.", TOOLS)
    composed, prompt = model.compose(), model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    request = make_request(case)
    whole = model.parse(composed, case, request, prompt)
    streamed, _ = model.stream(composed, case, request, prompt, burst)
    assert strip_ids(streamed) == strip_ids(whole)
    assert (whole["reasoning_content"] or "").startswith("One.")
    assert all(word in whole["reasoning_content"] + whole["content"] for word in ("Two.", "Three.", "Four."))


def test_order_is_kept_in_several_messages() -> None:
    from chat_autoparser import Delta

    box, call = Outbox(), Delta("tool_call", "", 0, "id1", "f")
    sent = [
        box.send([Delta("content", "a"), call, Delta("content", "b"), Delta("reasoning", "c")]),
        box.send([]),
        box.send_all([]),
    ]
    assert [message.content for message in sent] == ["a", "b", None]
    assert [len(message.tool_calls) for message in sent] == [1, 0, 0]
    assert sent[2].reasoning == "c"
    assert box.send_all([]) is None


def test_pieces_are_made_without_checks_and_are_what_the_checks_make() -> None:
    from chat_autoparser.vllm_plugin.engine import DeltaMessage

    assert messages.make_text is messages._make_text_unchecked, "this pydantic makes the frequent messages slowly"
    assert messages.make_piece is messages._make_piece_unchecked
    texts = [(messages.make_text(kind, "x"), DeltaMessage(**{kind: "x"})) for kind in ("reasoning", "content")]
    call = {"index": 2, "function": {"arguments": "x"}}
    for made, checked in [*texts, (messages.make_piece(2, "x"), DeltaMessage(tool_calls=[call]))]:
        assert made == checked
        assert made.model_dump(exclude_unset=True) == checked.model_dump(exclude_unset=True)
        assert made.model_copy(deep=True) == checked
    assert texts[0][0].tool_calls is not texts[1][0].tool_calls


@pytest.mark.parametrize("burst", BURSTS)
def test_unknown_special_tokens_are_dropped_and_spelled_ones_kept(models: Any, burst: int) -> None:
    model = models("JSON in tags")
    composed = model.compose()
    prompt = model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    case = make_case("<think>Hm.</think>\n\nThe <s>end</s> is near.", TOOLS)
    request = make_request(case)
    assert request.skip_special_tokens is not False
    composed(model.tokenizer, request.tools).adjust_request(request)
    assert request.skip_special_tokens is False
    streamed, _ = model.stream(composed, case, request, prompt, burst)
    assert streamed["content"] == "The end is near."
    assert model.parse(composed, case, request, prompt)["content"] == "The end is near."
    spelled = model.encode("The <")
    parser = composed(model.tokenizer, request.tools)
    deltas = [
        parser.parse_delta("The <s>", [*spelled, *model.encode("s"), *model.encode(">")], request, prompt, finished=True)
    ]
    assert "".join(delta.content or "" for delta in deltas if delta) == "The <s>"


# What vLLM wants to know of a format


@shapes
def test_where_reasoning_ends_is_told_from_few_tokens(models: Any, shape: str) -> None:
    model, case = models(shape), find_case(shape, "reasoning, content")
    half = AutoReasoningParser(model.tokenizer)
    marker = half.reasoning_end_str
    assert marker is not None
    prompt, tokens = model.render_prompt(case), model.encode(case.text)
    assert not half.is_reasoning_end(prompt)
    ends = []
    for place in range(1, len(tokens) + 1):
        said = half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[place - 1 : place])
        assert said == half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[place - 1 : place])
        ends += [place] if said else []
    assert ends
    assert model.tokenizer.decode(tokens[: ends[0]]).rstrip().endswith(marker)
    assert half.is_reasoning_end_streaming([*prompt, *tokens], tokens)
    assert not half.is_reasoning_end_streaming([*prompt, *tokens[: ends[0] - 1]], tokens[: ends[0] - 1])


@shapes
@pytest.mark.parametrize("markers", ["special", "plain"])
def test_reasoning_tokens_are_counted(models: Any, shape: str, markers: str) -> None:
    model, case = models(shape, markers), find_case(shape, "reasoning, content hard", "reasoning, content")
    composed, prompt = model.compose(), model.render_prompt(case)
    parser = composed(model.tokenizer, None, chat_template_kwargs=dict(case.kwargs))
    parser.is_reasoning_end(prompt)
    expected = len(model.encode(case.expected["reasoning_content"]))
    assert abs(parser.count_reasoning_tokens(model.encode(case.text)) - expected) <= 3
    assert parser.count_reasoning_tokens([]) == 0


def test_the_engine_process_reads_with_the_format_of_the_server(models: Any) -> None:
    model, other = models("JSON in tags"), models("own reasoning tags")
    kwargs: JsonObject = {"enable_thinking": True, HINT: "from a client"}
    model.compose()(model.tokenizer, None, chat_template_kwargs=kwargs)
    half = AutoReasoningParser(tokenizer=other.tokenizer, chat_template_kwargs=kwargs)
    assert half.reader.format == get_reader(model.tokenizer).format
    wrong = AutoReasoningParser(tokenizer=other.tokenizer, chat_template_kwargs={HINT: '{"version": 0}'})
    assert wrong.reader.format == get_reader(other.tokenizer).format


# Which classes, which template


@pytest.mark.skipif("pytest.importorskip('openai_harmony') is None")
def test_a_model_for_which_vllm_insists_on_its_own_halves_gets_them(models: Any) -> None:
    from vllm.parser.harmony import HarmonyParser

    model = models("headers of messages")
    composed = model.compose(is_harmony=True)
    assert issubclass(composed, HarmonyParser)
    kwargs: JsonObject = {}
    parser = composed(model.tokenizer, None, chat_template_kwargs=kwargs)
    assert not isinstance(parser.reasoning_parser, AutoReasoningParser)
    assert not isinstance(parser.tool_parser, AutoToolParser)
    there = AutoReasoningParser(tokenizer=model.tokenizer, chat_template_kwargs=kwargs)
    assert type(there) is type(parser.reasoning_parser)


def test_registering_twice_and_without_vllm(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    register()
    for name in NAMES:
        assert ToolParserManager.get_tool_parser(name) is AutoToolParser
        assert ReasoningParserManager.get_reasoning_parser(name) is AutoReasoningParser
    monkeypatch.setitem(sys.modules, "vllm.reasoning", None)
    with caplog.at_level(logging.ERROR):
        logging.getLogger("vllm").propagate, before = True, logging.getLogger("vllm").propagate
        register()
        logging.getLogger("vllm").propagate = before
    assert "could not be registered" in caplog.text


def note(model: Model, template: str | None, trusts: bool = False) -> None:
    config = SimpleNamespace(hf_config=SimpleNamespace(model_type="qwen3"))
    server.note_server(server.Server(model.tokenizer, config, template, trusts))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Model]:
    """A model of its own whose server is forgotten afterwards."""
    subject = load_shape("JSON in tags")
    model = Model(subject.source, subject.eos, "special", tmp_path)
    yield model
    server._SERVERS.pop(id(model.tokenizer), None)


def test_the_server_s_template_goes_before_the_model_s(own: Model) -> None:
    source = load_shape("own reasoning tags").source
    note(own, source)
    found = get_reader(own.tokenizer).format.reasoning
    assert found is not None
    assert found.end.text == "</seed:think>"


def test_a_request_s_template_counts_where_it_is_trusted(own: Model) -> None:
    case = make_case("Hello.")
    request = make_request(case, chat_template=load_shape("own reasoning tags").source)
    for trusts, end in ((False, "</think>"), (True, "</seed:think>")):
        note(own, own.tokenizer.chat_template, trusts)
        reasoning = get_reader(own.tokenizer).format.reasoning
        assert request is not None
        assert reasoning is not None
        assert reasoning.end.text == end


def test_a_template_that_nobody_understands_ends_the_start(own: Model) -> None:
    note(own, "{{ raise_exception('no') }}")
    with pytest.raises(Exception, match="renders no plain conversation"):
        own.compose()
    note(own, PLAIN)
    own.compose()


def test_no_template_ends_the_start(own: Model) -> None:
    own.tokenizer.chat_template = None
    with pytest.raises(Exception, match="--chat-template"):
        own.compose()


# Forced calls


@shapes
@pytest.mark.parametrize("named", [False, True], ids=["required", "named"])
def test_forced_calls(models: Any, shape: str, named: bool) -> None:
    """The model is held to its own format, or to vLLM's JSON; either answer is read."""
    import xgrammar

    model, case = models(shape), make_case("", TOOLS)
    choice = {"type": "function", "function": {"name": "find_train"}} if named else "required"
    request = make_request(case, tool_choice=choice)
    composed = model.compose()
    composed(model.tokenizer, request.tools).adjust_request(request)
    held = request.structured_outputs
    assert held is not None
    if held.structural_tag is not None:
        xgrammar.Grammar.from_structural_tag(held.structural_tag)
        assert "find_train" in held.structural_tag
        return
    assert held.json is not None
    text = '{"city": "Oslo"}' if named else REQUIRED.replace("NAME", "find_train")
    prompt = model.encode(model.tokenizer.apply_chat_template(case.messages, add_generation_prompt=True, tokenize=False))
    answered = make_case(text, TOOLS)
    whole = model.parse(composed, answered, request, prompt)
    assert [call["function"]["name"] for call in whole["tool_calls"]] == ["find_train"] * (1 if named else 2)
    assert whole["tool_calls"][0]["function"]["arguments"] == '{"city": "Oslo"}'
    for burst in BURSTS:
        assert strip_ids(model.stream(composed, answered, request, prompt, burst)[0]) == strip_ids(whole)


@pytest.mark.parametrize("given", [{"strict": True}, {"parallel_tool_calls": False}, {}], ids=["strict", "one call", "free"])
def test_free_calls_are_held_to_their_form_only_where_that_is_wanted(models: Any, given: JsonObject) -> None:
    tools: list[JsonObject] = [{**tool, "function": {**tool["function"], "strict": "strict" in given}} for tool in TOOLS]
    model, case = models("JSON in tags"), make_case("", tools)
    request = make_request(case, **{key: value for key, value in given.items() if key != "strict"})
    model.compose()(model.tokenizer, request.tools).adjust_request(request)
    assert (request.structured_outputs is not None) == bool(given)
