"""The halves of the vLLM plugin, made and called as vLLM's own parser makes and calls them, without a server.

The tokenizers are made for each template; what is generated is what the template renders for known fields, and these are
the expected message.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import itertools
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

with warnings.catch_warnings():  # the engine's own, and not ours to mend
    warnings.simplefilter("ignore")
    pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")
    pytest.importorskip("vllm.parser")

from cases import TEMPLATES, Case, Subject, load_subject
from conversations import JsonObject
from judge import find_fault, fold, take_meaning
from tiny_model import make_model
from tokenizers.decoders import DecodeStream
from vllm_messages import make_message, take_delta

from chat_autoparser import BudgetError, analyze
from chat_autoparser.serve import Formats, Outbox, list_named_tokens
from chat_autoparser.serve.counters import COUNTERS
from chat_autoparser.vllm_plugin import NAMES, check_version, hooks, messages, reader, register
from chat_autoparser.vllm_plugin.halves import AutoReasoningParser, AutoToolParser
from chat_autoparser.vllm_plugin.messages import CutCall, PendingCalls
from chat_autoparser.vllm_plugin.parser import AutoParser
from chat_autoparser.vllm_plugin.reader import get_reader

register()

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

Message = tuple[JsonObject, list[JsonObject]]

BURSTS = (1, 4, 10_000)
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
REQUIRED = '[{"name": "NAME", "parameters": {"city": "Oslo"}}, {"name": "NAME", "parameters": {"city": "a[]{}\\"b"}}]'

UNSEEN = Path(__file__).parent.parent / "unseen"

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
            assert take_meaning(streamed) == take_meaning(whole), (case.name, burst)


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
            assert take_meaning(streamed) == take_meaning(whole), burst


@shapes
def test_the_tool_half_alone_leaves_reasoning_in_the_text(models: Any, shape: str) -> None:
    model, case = models(shape), find_case(shape, "content, call", "call")
    composed = model.compose(reasoning=None)
    request, prompt = make_request(case), model.render_prompt(case)
    whole = model.parse(composed, case, request, prompt)
    assert [call["function"]["name"] for call in whole["tool_calls"]] == [call["name"] for call in case.expected["tool_calls"]]
    assert whole["reasoning_content"] is None
    for burst in BURSTS:
        assert take_meaning(model.stream(composed, case, request, prompt, burst)[0]) == take_meaning(whole), burst


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
    assert take_meaning(streamed) == take_meaning(whole)
    assert (whole["reasoning_content"] or "").startswith("One.")
    assert all(word in whole["reasoning_content"] + whole["content"] for word in ("Two.", "Three.", "Four."))


def test_order_is_kept_in_several_messages() -> None:
    from chat_autoparser import Delta

    box, call = Outbox(), Delta("tool_call", "", 0, "id1", "f")
    came = [Delta("content", "a"), call, Delta("content", "b"), Delta("reasoning", "c")]
    sent = [messages.make_message(deltas) for deltas in (box.take(came), box.take([]), box.take_all([]))]
    assert [message.content for message in sent] == ["a", "b", None]
    assert [len(message.tool_calls) for message in sent] == [1, 0, 0]
    assert sent[2].reasoning == "c"
    assert box.take_all([]) == []


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
    deltas = [parser.parse_delta("The <s>", [*spelled, *model.encode("s"), *model.encode(">")], request, prompt, finished=True)]
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


@pytest.mark.parametrize("markers", ["special", "plain"])
def test_where_reasoning_ends_without_a_mark_of_its_own(markers: str, tmp_path: Path) -> None:
    """What begins the answer ends reasoning; where nothing does, no form is begun amid the answer, but at its beginning."""
    model = Model((UNSEEN / "bowline.jinja").read_text(), "<|over|>", markers, tmp_path / "a")
    half, prompt = AutoReasoningParser(model.tokenizer), model.encode("<|turn:assistant|>\n")
    tokens = model.encode("> Let me think.\n> And more.\n<|say|>Hello")
    said = [
        half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[place - 1 : place])
        for place in range(1, len(tokens) + 1)
    ]
    assert model.tokenizer.decode(tokens[: said.index(True) + 1]).endswith("<|say|>")
    assert not model.compose()(model.tokenizer, None).is_reasoning_end(prompt)
    model = Model((UNSEEN / "ashleybend.jinja").read_text(), "⟦.⟧", markers, tmp_path / "b")
    half, prompt = AutoReasoningParser(model.tokenizer), model.encode("⟦assistant⟧\n")
    tokens = model.encode("% Let me think.\nHello")
    assert not any(half.is_reasoning_end_streaming([*prompt, *tokens[:place]], tokens[:place]) for place in range(1, len(tokens)))
    assert not half.is_reasoning_end(prompt)
    assert model.compose()(model.tokenizer, None).is_reasoning_end(prompt)


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


@pytest.mark.parametrize("markers", ["special", "plain"])
@pytest.mark.parametrize("opened", [True, False], ids=["opened by the prompt", "opened by the model"])
def test_what_opens_reasoning_is_not_counted_in_the_answer(models: Any, markers: str, opened: bool) -> None:
    model, thought = models("JSON in tags", markers), "Let me think of stripes."
    text = ("" if opened else "<think>\n") + thought + "\n</think>\n\n"
    parser = model.compose()(model.tokenizer, None)
    parser.set_prompt_token_ids(make_prompt(model, "open" if opened else "possible"))
    counts = {parser.count_reasoning_tokens(model.encode(text + more)) for more in ("", "A model writes <think> and then thinks.")}
    assert len(counts) == 1
    assert abs(counts.pop() - len(model.encode(thought))) <= 3


@pytest.mark.parametrize("markers", ["special", "plain"])
def test_counting_again_after_each_token_costs_no_more_than_counting_once(models: Any, markers: str) -> None:
    """A client that wants the usage continuously makes vLLM ask after each token: what was counted is not decoded again."""
    model = models("reasoning opened by the prompt", markers)
    case = make_case("<think>" + "Thinking of stripes. " * 100 + "</think>It has forty-two." + " And more." * 50)
    tokens = model.encode(case.text)
    parser = model.compose()(model.tokenizer, None)
    parser.set_prompt_token_ids(model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"))
    expected = parser.count_reasoning_tokens(tokens)
    assert expected > 200
    decoded = 0

    def decode(self: Any, ids: Any) -> str:
        nonlocal decoded
        decoded += len(ids)
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False)
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader.Reader, "decode", decode)
        counts = [parser.count_reasoning_tokens(tuple(tokens[:place])) for place in range(1, len(tokens) + 1)]
    assert abs(counts[-1] - expected) <= 3
    assert counts == sorted(counts)
    assert decoded < 20 * len(tokens)


def make_engine_half(model: Model, **kwargs: Any) -> Any:
    """The half that vLLM makes in the process of the engine."""
    return AutoReasoningParser(tokenizer=model.tokenizer, **kwargs)


@pytest.mark.parametrize(
    "hint",
    [{"class": ["vllm.no_such_module", "X"]}, {"class": ["os", "system"]}, "[" * 100_000, '{"version": 0}', 7],
    ids=["no module", "any module", "deep", "another version", "a number"],
)
def test_nothing_that_a_request_carries_reaches_the_engine(models: Any, hint: Any) -> None:
    model, other = models("JSON in tags"), models("own reasoning tags")
    half = make_engine_half(model, chat_template_kwargs={"chat_autoparser": hint, "chat_template": other})
    prompt = model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    assert half.is_reasoning_end(prompt) is False
    assert half.is_reasoning_end_streaming([*prompt, *model.encode("<think>a</think>")], model.encode("</think>")) is True
    assert half.reasoning_end_str == "</think>"


def test_the_engine_s_half_raises_nothing(models: Any, own: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is known of reasoning, a grammar holds from the first token on."""
    own.tokenizer.chat_template = "{{ raise_exception('no') }}"
    half = make_engine_half(own)
    assert half.is_reasoning_end([1, 2]) is True
    assert half.is_reasoning_end_streaming([1, 2, 3], [3]) is True
    assert half.reasoning_end_str is None

    def fail(self: Any, ids: Any) -> str:
        raise RecursionError

    monkeypatch.setattr(reader.Reader, "decode", fail)
    half = make_engine_half(models("JSON in tags", "plain"))
    assert half.is_reasoning_end([1, 2]) is True
    assert half.is_reasoning_end_streaming([1, 2, 3], [3]) is True


@pytest.mark.parametrize("where", ["reasoning", "answer"])
def test_a_fault_beside_a_half_of_vllms_loses_nothing(models: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of the output is handed on: as reasoning where that was being read, else to the tool parser of vLLM's."""
    from chat_autoparser.parse.machine import Machine

    model, step = models("JSON in tags", "added"), Machine._step
    text = {"reasoning": "Let me BREAK it.\n</think>\n\nSo.", "answer": "BREAK it."}[where]
    case, prompt = make_case(text, TOOLS), make_prompt(model, "open" if where == "reasoning" else "possible")
    composed, request = model.compose("hermes", "auto"), make_request(case)

    def fail(self: Any, final: bool) -> Any:
        if "BREAK" in self.buffer:
            raise AttributeError("made up")
        return step(self, final)

    monkeypatch.setattr(Machine, "_step", fail)
    before = COUNTERS.read()["faults"]
    for message in (model.stream(composed, case, request, prompt, 10_000)[0], model.parse(composed, case, request, prompt)):
        if where == "reasoning":
            assert message["reasoning_content"].endswith("BREAK it.\n</think>\n\nSo.")
        else:
            assert message["content"].endswith("BREAK it.")
    assert COUNTERS.read()["faults"] == before + 2


# Which classes, which names, which template


def test_one_parser_reads_for_both_flags_or_either(models: Any) -> None:
    from vllm.parser.abstract_parser import DelegatingParser

    model = models("JSON in tags")
    assert issubclass(model.compose(), AutoParser)
    assert issubclass(model.compose("chat_template", "auto"), AutoParser)
    assert model.compose("auto", None).reasoning_parser_cls is None
    assert model.compose(None, "auto").tool_parser_cls is None
    assert model.compose("auto", "auto", enable_auto_tools=False).tool_parser_cls is None
    assert issubclass(model.compose("auto", "deepseek_r1"), DelegatingParser)


@pytest.mark.skipif("pytest.importorskip('openai_harmony') is None")
def test_a_model_for_which_vllm_insists_on_its_own_halves_gets_them(models: Any) -> None:
    from vllm.parser.harmony import HarmonyParser

    model = models("headers of messages")
    composed = model.compose(is_harmony=True)
    assert issubclass(composed, HarmonyParser)
    parser = composed(model.tokenizer, None)
    assert not isinstance(parser.reasoning_parser, AutoReasoningParser)
    assert not isinstance(parser.tool_parser, AutoToolParser)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the plugin logs: vLLM keeps its loggers to itself."""
    logger = logging.getLogger("vllm")
    logger.propagate, before = True, logger.propagate
    with caplog.at_level(logging.INFO):
        yield caplog
    logger.propagate = before


def test_registering_twice_and_without_vllm(monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    register()
    for name in NAMES:
        assert ToolParserManager.get_tool_parser(name) is AutoToolParser
        assert ReasoningParserManager.get_reasoning_parser(name) is AutoReasoningParser
    assert log.text == ""
    monkeypatch.setitem(sys.modules, "vllm.reasoning", None)
    register()
    assert "are not available as parsers" in log.text


def test_an_auto_of_vllm_s_own_is_not_shadowed(monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture) -> None:
    """Neither half of it, even where vLLM has the name for one kind of parser alone."""
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    for manager in (ToolParserManager, ReasoningParserManager):
        for table in [name for name, value in vars(manager).items() if isinstance(value, dict)]:
            monkeypatch.setattr(manager, table, {})

    class Theirs(AutoToolParser):  # type: ignore[misc]
        __module__ = "vllm.tool_parsers.auto"

    ToolParserManager.register_module("auto", True, Theirs)
    register()
    assert ToolParserManager.get_tool_parser("auto") is Theirs
    assert "auto" not in ReasoningParserManager.list_registered()
    assert ToolParserManager.get_tool_parser("chat_template") is AutoToolParser
    assert "vLLM has a parser 'auto' of its own" in log.text


@pytest.mark.parametrize(("version", "refused"), [("0.25.1", True), ("0.31.0+cpu", True), ("0.32.0", False), ("1.0", False)])
def test_an_old_version_is_refused_and_a_new_one_is_not(
    monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture, version: str, refused: bool
) -> None:
    monkeypatch.setattr("vllm.__version__", version)
    if refused:
        with pytest.raises(ImportError, match=r"too old.*0\.32 or newer"):
            check_version()
        register()
        assert "too old" in log.text
    else:
        check_version()
        assert ("was tested with" in log.text) == (version == "1.0")


def note(model: Model, template: str | None, trusts: bool = False) -> None:
    config = SimpleNamespace(hf_config=SimpleNamespace(model_type="qwen3"))
    reader.note_server(reader.Server(model.tokenizer, config, template, trusts))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Model]:
    """A model of its own whose server is forgotten afterwards."""
    subject = load_shape("JSON in tags")
    model = Model(subject.source, subject.eos, "special", tmp_path)
    yield model
    reader._SERVERS.pop(id(model.tokenizer), None)


def test_the_server_s_template_goes_before_the_model_s(own: Model) -> None:
    source = load_shape("own reasoning tags").source
    note(own, source)
    found = get_reader(own.tokenizer).format.reasoning
    assert found is not None
    assert found.end.text == "</seed:think>"


def test_a_request_s_template_counts_where_it_is_trusted_and_known(own: Model) -> None:
    """What is not known yet is not waited for: it is content. A server waits for the analysis before it renders."""
    source = load_shape("own reasoning tags").source + "{# which no server has #}"
    request = make_request(make_case("Hello."), chat_template=source)
    note(own, own.tokenizer.chat_template)
    server = get_reader(own.tokenizer)
    assert reader.find_reader(request, server) is server
    note(own, own.tokenizer.chat_template, trusts=True)
    server = get_reader(own.tokenizer)
    assert reader.find_reader(request, server).format.reasoning is None
    reader.FORMATS.submit(source, **list_named_tokens(own.tokenizer)).result()
    found = reader.find_reader(request, server)
    assert found.format.reasoning is not None
    assert found.format.reasoning.end.text == "</seed:think>"
    assert reader.find_reader(request, server) is found  # made once
    assert reader.find_reader(make_request(make_case("Hello.")), server) is server


@pytest.mark.parametrize("understood", [True, False])
def test_a_request_keeps_the_format_of_its_own_template(own: Model, understood: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others bring so many templates meanwhile that there is room for no more; and one that nobody understood stays that."""
    source = load_shape("own reasoning tags").source
    failing = [] if understood else [source]

    def analyse(template: str, tokens: Any, seconds: float) -> Any:
        if template in failing:
            raise BudgetError("it takes too long")
        return analyze(template, **tokens)

    async def render(renderer: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        return [], [{"prompt_token_ids": own.encode("Hello")}]

    formats = Formats(apart=analyse, capacity=1)
    monkeypatch.setattr(reader, "FORMATS", formats)
    note(own, PLAIN, trusts=True)
    composed = own.compose()
    renderer: Any = SimpleNamespace(
        renderer=SimpleNamespace(tokenizer=own.tokenizer), model_config=None, effective_chat_template_kwargs=lambda request: {}
    )
    request = make_request(make_case("Hello."), chat_template=source)
    asyncio.run(hooks._preprocess_chat(render, renderer, request, parser=composed))
    failing.clear()
    reader.FORMATS.submit(source, **list_named_tokens(own.tokenizer)).result()
    formats.submit("{# another #}" + PLAIN).result()
    message = make_message(*composed(own.tokenizer, None).parse("<seed:think>So.</seed:think>Hello.", request))
    assert (message["reasoning_content"], message["content"]) == (
        ("So.", "Hello.") if understood else (None, "<seed:think>So.</seed:think>Hello.")
    )
    assert id(request) in reader._KEPT
    number = id(request)
    del request
    gc.collect()
    assert number not in reader._KEPT


def test_templates_whose_analyses_end_in_one_moment_are_rendered_one_after_the_other(
    own: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vLLM compiles each on the event loop: so many turns of it are between two, in which streams go on."""
    expired, turns, rendered = Event(), [0], []

    def refuse(source: str, special_tokens: Any, seconds: float) -> Any:
        expired.wait(20)
        raise BudgetError("it had to wait too long")

    async def render(*args: Any, **kwargs: Any) -> Any:
        rendered.append(turns[0])
        raise ValueError("that is all")

    async def count_turns() -> None:
        while True:
            await asyncio.sleep(0)
            turns[0] += 1

    async def run() -> None:
        counting = asyncio.ensure_future(count_turns())
        parts = [hooks._preprocess_chat(render, renderer, request, parser=own.compose()) for request in requests]
        asyncio.get_running_loop().call_later(0.05, expired.set)
        await asyncio.gather(*parts, return_exceptions=True)
        counting.cancel()

    monkeypatch.setattr(reader, "FORMATS", Formats(apart=refuse))
    note(own, own.tokenizer.chat_template, trusts=True)
    renderer = SimpleNamespace(renderer=SimpleNamespace(tokenizer=own.tokenizer))
    requests = [make_request(make_case("Hello."), chat_template=f"{PLAIN}{{# {number} #}}") for number in range(40)]
    asyncio.run(run())
    assert len(rendered) == len(requests)
    assert all(after - before >= 8 for before, after in itertools.pairwise(rendered))


def test_special_tokens_that_are_no_single_texts_are_no_variables(own: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tokenizers have lists among them, which name nothing that a template prints."""
    tokens = {**own.tokenizer.special_tokens_map, "additional_special_tokens": ["<a>", "<b>"]}
    monkeypatch.setattr(type(own.tokenizer), "special_tokens_map", tokens)
    note(own, own.tokenizer.chat_template, trusts=True)
    assert get_reader(own.tokenizer).format.tools is not None
    request = make_request(make_case("Hello."), chat_template=PLAIN)
    reader.FORMATS.submit(PLAIN, **list_named_tokens(own.tokenizer)).result()
    assert reader.find_reader(request, get_reader(own.tokenizer)).format.tools is None


def test_so_many_readers_are_kept_and_those_of_servers(own: Model) -> None:
    note(own, own.tokenizer.chat_template)
    first = get_reader(own.tokenizer)
    for _ in range(70):
        get_reader(copy.copy(own.tokenizer))
    assert len(reader._GUESSED) <= 64
    assert get_reader(own.tokenizer) is first


def test_a_template_that_nobody_understands_ends_the_start(own: Model) -> None:
    note(own, "{{ raise_exception('no') }}")
    with pytest.raises(Exception, match="the chat template of --chat-template is not understood") as caught:
        own.compose()
    assert "\n" not in str(caught.value)
    note(own, PLAIN)
    own.compose()


def test_no_template_ends_the_start(own: Model) -> None:
    own.tokenizer.chat_template = None
    with pytest.raises(Exception, match="--chat-template"):
        own.compose()


# Cut calls


CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo, where \\"it\\" rains"}}\n</tool_call>'


def test_a_call_that_was_cut_is_never_said_to_be_made(models: Any) -> None:
    """At each of its positions: whole and in a stream, for vLLM asks in different ways whether calls were made."""
    model, composed = models("JSON in tags"), models("JSON in tags").compose()
    prompt = model.encode("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    complete = cut = 0
    for length in range(1, len(CALL) + 1):
        case = make_case(CALL[:length], TOOLS)
        request = make_request(case)
        calls = composed(model.tokenizer, request.tools).parse(case.text, request, True, model.encode(case.text))[2]
        parser, told, arguments = composed(model.tokenizer, request.tools), False, ""
        pieces = list(model.cut(case.text, 1))
        for place, (text, ids) in enumerate(pieces, 1):
            delta = parser.parse_delta(text, ids, request, prompt, finished=place == len(pieces))
            if delta is not None:
                told = told or bool(delta.tool_calls)
                arguments += "".join(call.function.arguments or "" for call in delta.tool_calls)
        made = [call for call in calls if not isinstance(call, CutCall)]
        assert told == bool(made), case.text
        assert arguments == "".join(call.arguments for call in calls), case.text
        complete, cut = complete + bool(made), cut + (len(calls) > len(made))
        if made:  # its arguments are all there
            assert length >= len(CALL) - 14
    assert complete
    assert cut > 20


def test_pieces_of_calls_that_are_pending_are_sent_as_any(models: Any) -> None:
    from vllm.entrypoints.generate.base.protocol import DeltaMessage

    message = DeltaMessage(tool_calls=[{"index": 0, "function": {"arguments": "x"}}])
    expected = message.model_dump_json(exclude_unset=True)
    message.tool_calls = PendingCalls(message.tool_calls)
    assert not message.tool_calls
    assert message.model_dump_json(exclude_unset=True) == expected


def test_what_is_read_is_counted(models: Any) -> None:
    model = models("JSON in tags")
    before = COUNTERS.read()
    for text in (CALL, CALL[:60], "Hello."):
        case = make_case(text, TOOLS)
        request = make_request(case)
        model.compose()(model.tokenizer, request.tools).parse(case.text, request, True, model.encode(case.text))
    found = {name: number - before[name] for name, number in COUNTERS.read().items()}
    assert (found["outputs"], found["calls"], found["cut_calls"], found["recoveries"]) == (3, 2, 1, 0)


# Forced calls

STATES = {"ended": "<think>\n\n</think>\n\n", "open": "<think>\n", "possible": ""}


def make_prompt(model: Model, state: str) -> list[int]:
    return model.encode(f"<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n{STATES[state]}")


def adjust(model: Model, request: Any, prompt: list[int], **options: Any) -> Any:
    parser = model.compose(**options)(model.tokenizer, request.tools)
    parser.set_prompt_token_ids(prompt)
    return parser.adjust_request(request)


def accepts(request: Any, text: str) -> bool:
    """Whether the constraint of a request allows an output, from its first character to its end."""
    import xgrammar

    tag = request.structured_outputs.structural_tag
    grammar = xgrammar.Grammar.from_structural_tag(tag)
    tokenizer = xgrammar.TokenizerInfo([chr(code) for code in range(256)], stop_token_ids=[0])
    matcher = xgrammar.GrammarMatcher(xgrammar.GrammarCompiler(tokenizer).compile_grammar(grammar))
    return bool(matcher.accept_string(text) and matcher.accept_token(0))


REASONED = "I need the weather.\n</think>\n\n"
WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TRAIN = WEATHER.replace("get_weather", "find_train")


@pytest.mark.parametrize("choice", ["required", "named"])
@pytest.mark.parametrize("state", STATES)
def test_a_forced_call_holds_from_the_first_token_with_a_place_for_reasoning(models: Any, state: str, choice: str) -> None:
    model = models("JSON in tags")
    named = {"type": "function", "function": {"name": "get_weather"}}
    request = make_request(make_case("", TOOLS), tool_choice=named if choice == "named" else "required")
    prompt = make_prompt(model, state)
    adjust(model, request, prompt)
    assert request._grammar_from_parser  # which tells vLLM not to wait for the end of reasoning
    outputs = {"ended": WEATHER, "open": f"{REASONED}{WEATHER}", "possible": f"<think>\n{REASONED}{WEATHER}"}
    assert accepts(request, outputs[state])
    assert accepts(request, WEATHER) == (state != "open")
    for refused in ("Hello.", "<think>\nHm.", f"{REASONED}Hello.", "<think>\n</think>\n\nHello.", ""):
        assert not accepts(request, refused), refused
    two = outputs[state].replace(WEATHER, f"{WEATHER}\n{WEATHER}")
    assert accepts(request, two) == (choice == "required")
    assert accepts(request, outputs[state].replace("get_weather", "find_train")) == (choice == "required")


def test_two_calls_where_one_was_named_are_one(models: Any) -> None:
    """Whatever the model was not held to."""
    model, case = models("JSON in tags"), make_case(f"{WEATHER}\n{WEATHER}", TOOLS)
    named = {"type": "function", "function": {"name": "get_weather"}}
    request, composed = make_request(case, tool_choice=named), model.compose()
    prompt = make_prompt(model, "ended")
    whole = model.parse(composed, case, request, prompt)
    assert len(whole["tool_calls"]) == 1
    assert take_meaning(model.stream(composed, case, request, prompt, 1)[0]) == take_meaning(whole)


def test_a_parser_tells_what_stands_open(models: Any) -> None:
    model = models("JSON in tags")
    parser = model.compose()(model.tokenizer, None)
    assert [parser.is_reasoning_end(make_prompt(model, state)) for state in STATES] == [True, False, False]


@shapes
@pytest.mark.parametrize("named", [False, True], ids=["required", "named"])
@pytest.mark.parametrize("enforced", [True, False], ids=["enforced", "not enforced"])
def test_forced_calls(models: Any, shape: str, named: bool, enforced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is held to its own format, or to vLLM's JSON; either answer is read."""
    import xgrammar

    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", str(int(enforced)))
    model, case = models(shape), make_case("", TOOLS)
    choice = {"type": "function", "function": {"name": "find_train"}} if named else "required"
    request = make_request(case, tool_choice=choice)
    render = model.tokenizer.apply_chat_template
    prompt = model.encode(render(case.messages, add_generation_prompt=True, tokenize=False))
    adjust(model, request, prompt)
    held = request.structured_outputs
    assert held is not None
    if enforced:
        assert held.structural_tag is not None
        xgrammar.Grammar.from_structural_tag(held.structural_tag)
        assert "find_train" in held.structural_tag
    else:
        assert held.structural_tag is None
        assert held.json is not None
    if not enforced or '"json_schema": {"type": "array"' in (held.structural_tag or ""):
        text = REQUIRED.replace("NAME", "find_train")
        used = get_reader(model.tokenizer)
        if used.find_state(used.read_prompt(prompt)) == "open":
            assert used.format.reasoning is not None
            text = f"Hm.{used.format.reasoning.end.written}{text}"
        composed = model.compose()
        answered = make_case(text, TOOLS)
        whole = model.parse(composed, answered, request, prompt)
        assert [call["function"]["name"] for call in whole["tool_calls"]] == ["find_train"] * (1 if named else 2)
        assert whole["tool_calls"][0]["function"]["arguments"] == '{"city": "Oslo"}'
        for burst in BURSTS:
            assert take_meaning(model.stream(composed, answered, request, prompt, burst)[0]) == take_meaning(whole)
        if enforced and not named:
            assert accepts(request, text)
            assert not accepts(request, text.replace('"name":', '"name":' + 9 * "\n"))  # some models would never stop with those


@pytest.mark.parametrize("given", [{"strict": True}, {"parallel_tool_calls": False}, {}], ids=["strict", "one call", "free"])
@pytest.mark.parametrize("enforced", [True, False], ids=["enforced", "not enforced"])
def test_free_calls_are_held_to_their_form_only_where_that_is_wanted(
    models: Any, given: JsonObject, enforced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", str(int(enforced)))
    tools: list[JsonObject] = [{**tool, "function": {**tool["function"], "strict": "strict" in given}} for tool in TOOLS]
    model, case = models("JSON in tags"), make_case("", tools)
    request = make_request(case, **{key: value for key, value in given.items() if key != "strict"})
    adjust(model, request, make_prompt(model, "possible"))
    assert (request.structured_outputs is not None) == bool(given and enforced)


HALVES = pytest.mark.parametrize("reasoning", ["auto", "qwen3"])


@HALVES
@pytest.mark.parametrize("level", ["function", "auto"])
def test_the_server_s_level_holds_beside_a_half_of_vllms_too(models: Any, reasoning: str, level: str) -> None:
    model, case = models("JSON in tags"), make_case("", TOOLS)
    request = make_request(case)
    adjust(model, request, make_prompt(model, "ended"), reasoning=reasoning, tool_strict_level=level)
    assert (request.structured_outputs is not None) == (level == "function")


@HALVES
@pytest.mark.parametrize("form", ["the model's", "JSON"])
@pytest.mark.parametrize(("asked", "calls"), [("strict", 0), ("repair", 1)])
def test_a_request_s_policy_counts_for_every_form(
    models: Any, reasoning: str, form: str, asked: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", "0")
    text = WEATHER.replace("arguments", "parameters") if form != "JSON" else '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'
    model, case = models("JSON in tags"), make_case("So.\n</think>\n\n" + text, TOOLS)
    prompt = make_prompt(model, "open")
    request = make_request(
        case, vllm_xargs={"chat_autoparser_policy": asked}, tool_choice="required" if form == "JSON" else "auto"
    )
    adjust(model, request, prompt, reasoning=reasoning)
    composed = model.compose(reasoning=reasoning)
    assert len(model.stream(composed, case, request, prompt, 4)[0]["tool_calls"] or ()) == calls
    assert len(model.parse(composed, case, request, prompt)["tool_calls"] or ()) == calls


@HALVES
def test_one_call_is_read_where_a_request_wants_no_more(models: Any, reasoning: str) -> None:
    model, case, prompt = models("JSON in tags"), make_case(f"{WEATHER}\n{TRAIN}", TOOLS), make_prompt(models("JSON in tags"), "ended")
    request, composed = make_request(case, parallel_tool_calls=False), model.compose(reasoning=reasoning)
    for message in (model.stream(composed, case, request, prompt, 4)[0], model.parse(composed, case, request, prompt)):
        assert [call["function"]["name"] for call in message["tool_calls"]] == ["get_weather"]


@pytest.mark.parametrize("mode", ["required", "auto"])
def test_allowed_tools_are_the_ones_that_may_be_called(models: Any, mode: str) -> None:
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    model = models("JSON in tags")
    tools = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
    allowed = {"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": "find_train"}]}
    request = ResponsesRequest(model="tiny", input="Hello", tools=tools, tool_choice=allowed)
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, TRAIN)
    assert not accepts(request, WEATHER)
    assert accepts(request, "Hello.") == (mode == "auto")


@pytest.mark.parametrize("count", [50, 150])
def test_tools_whose_tag_would_keep_the_server_busy_get_the_json_form(models: Any, count: int) -> None:
    """The tag is made on the event loop, and grows with the square of the parameters where each has marks of its own."""
    model = models("tagged arguments")
    parameters = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(count)}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    request = make_request(make_case("", tools), tool_choice="required")
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, '[{"name": "f", "parameters": {}}]') == (count > 100)


@pytest.mark.parametrize("schema", ["deep", "not so deep", "many ways", "no schema"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_hostile_schema_raises_nothing(models: Any, schema: str, choice: str) -> None:
    """Nor does it keep the server busy: of 400 levels xgrammar would take many seconds, of 16 ways in 16 layers nobody an end."""
    parameters: Any = {"type": "object", "properties": {}}
    for _ in range({"deep": 3000, "not so deep": 400}.get(schema, 0)):
        parameters = {"type": "object", "properties": {"a": parameters}}
    if schema == "many ways":
        layers = {f"a{layer}": {"anyOf": [{"$ref": f"#/$defs/a{layer + 1}"}] * 16} for layer in range(15)}
        parameters = {"$defs": {**layers, "a15": parameters}, "$ref": "#/$defs/a0"}
    if schema == "no schema":
        parameters = {"type": ["object", 7], "properties": ["a"], "required": {"b": 1}}
    tools = [{"type": "function", "function": {"name": "f", "strict": True, "parameters": parameters}}]
    model, request = models("JSON in tags"), make_request(make_case("", tools), tool_choice=choice)
    adjust(model, request, make_prompt(model, "ended"))
    assert getattr(request.structured_outputs, "structural_tag", None) is None or schema in ("many ways", "no schema")


def test_a_required_call_goes_before_a_form_of_the_client_s(models: Any) -> None:
    """As vLLM has it for every other form."""
    model, free = models("JSON in tags"), {"type": "structural_tag", "format": {"type": "any_text"}}
    given = {"structured_outputs": {"structural_tag": json.dumps(free)}}
    request = make_request(make_case("", TOOLS), tool_choice="required", **given)
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, WEATHER)
    assert not accepts(request, "Hello.")
    request = make_request(make_case("", TOOLS), **given)
    adjust(model, request, make_prompt(model, "ended"))
    assert accepts(request, "Hello.")


@pytest.mark.parametrize("state", STATES)
def test_strict_calls_may_come_in_the_place_of_an_answer_of_a_given_form(models: Any, state: str) -> None:
    """As vLLM has it for its own parsers: an agent with strict tools and a form for its answer must be able to call them."""
    strict = [{"type": "function", "function": {**tool["function"], "strict": True}} for tool in TOOLS]
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    model, thought = models("JSON in tags"), {"ended": "", "open": REASONED, "possible": f"<think>\n{REASONED}"}[state]
    request, prompt = make_request(make_case("", strict), response_format=form), make_prompt(model, state)
    adjust(model, request, prompt)
    for answer in (WEATHER, '{"sum": 4}'):
        text = (thought if answer == WEATHER else thought.rstrip()) + answer
        assert accepts(request, text)
        read = model.parse(model.compose(), make_case(text, strict), request, prompt)
        assert (read["content"], len(read["tool_calls"])) == ((None, 1) if answer == WEATHER else (answer, 0))
    for refused in ("Hello.", '{"sum": "four"}', f"{WEATHER}Hello."):
        assert not accepts(request, thought + refused), refused
    adjust(model, request := make_request(make_case("", TOOLS), response_format=form), prompt)
    assert request.response_format is not None, "of tools that are not strict, the form goes before calls"


def test_an_adjusted_request_that_was_written_out_hides_reasoning_too(models: Any) -> None:
    """As it is for vLLM's endpoints that render and read apart from each other."""
    model, case = models("JSON in tags"), make_case(f"{REASONED}{WEATHER}", TOOLS)
    request, prompt = make_request(case, tool_choice="required", include_reasoning=False), make_prompt(model, "open")
    adjust(model, request, prompt)
    again = type(request).model_validate_json(request.model_dump_json(exclude_none=True))
    for each in (request, again):
        read = model.parse(model.compose(), case, each, prompt)
        assert (read["content"], read["reasoning_content"], len(read["tool_calls"])) == (None, None, 1)


def test_special_tokens_are_dropped_whichever_object_asked_for_them(models: Any) -> None:
    """A batch adjusts one request, and reads with others."""
    model, case = models("JSON in tags"), make_case("The <s>end</s> is near.")
    for adjusted in (True, False):
        request, prompt = make_request(case), make_prompt(model, "ended")
        if adjusted:
            adjust(model, request, prompt)
        assert model.parse(model.compose(), case, request, prompt)["content"] == "The end is near."


def test_reasoning_is_counted_by_the_template_of_the_request_and_for_each_output(own: Model) -> None:
    source = load_shape("own reasoning tags").source + "{# whose tokens are counted #}"
    note(own, own.tokenizer.chat_template, trusts=True)
    reader.FORMATS.submit(source, **list_named_tokens(own.tokenizer)).result()
    thoughts = ["Hm.", "Hm, let me think of it."]
    texts = [f"<seed:think>{thought}</seed:think>Hello." for thought in thoughts]
    request = make_request(make_case(""), chat_template=source)
    parser = own.compose()(own.tokenizer, None)
    parser.set_prompt_token_ids(own.encode("<seed:bos>assistant\n"))
    for thought, text in zip(thoughts, texts, strict=True):
        parser.parse(text, request)
        assert abs(parser.count_reasoning_tokens(own.encode(text)) - len(own.encode(thought))) <= 2


def test_the_server_s_template_may_stand_among_its_default_arguments(own: Model) -> None:
    """vLLM renders with that one where no other is given, and a trusted request's arguments go before it."""
    source = load_shape("own reasoning tags").source
    reader.note_server(reader.Server(own.tokenizer, None, source, True, by_default=True))
    found = get_reader(own.tokenizer)
    assert found.format.reasoning is not None
    assert found.format.reasoning.end.text == "</seed:think>"
    assert reader.find_given(make_request(make_case("Hello.")), own.tokenizer) is None
    assert reader.find_given(make_request(make_case("Hello."), chat_template_kwargs={"chat_template": PLAIN}), own.tokenizer) == PLAIN
