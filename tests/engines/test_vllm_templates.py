"""Which classes of the vLLM plugin, which names and which template count."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import itertools
import logging
import sys
from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from vllm_model import PLAIN, TOOLS, WEATHER, Model, load_shape, make_case, make_message, make_request, note

from chat_autoparser import BudgetError, analyze
from chat_autoparser.serve import Formats, list_named_tokens
from chat_autoparser.vllm_plugin import NAMES, check_version, hooks, reader, register
from chat_autoparser.vllm_plugin.halves import AutoReasoningParser, AutoToolParser
from chat_autoparser.vllm_plugin.parser import AutoParser
from chat_autoparser.vllm_plugin.reader import get_reader

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


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


OTHERS = {
    "preprocess_chat": "vllm.renderers.online_renderer.OnlineRenderer.preprocess_chat",
    "takes no context": "vllm.entrypoints.openai.responses.serving.OpenAIServingResponses._process_simple_streaming_events",
}


@pytest.mark.parametrize("missing", OTHERS)
def test_where_vllm_is_not_as_it_is_known_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch, log: pytest.LogCaptureFixture, missing: str
) -> None:
    """Also what only answers need is looked for at once, where a server is being started."""
    from vllm.entrypoints.launchers import launcher
    from vllm.parser import ParserManager
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    def others(self: Any) -> None:
        """Something that is called as a parser's maker and a check are."""

    known = inspect.unwrap(ParserManager.__dict__["get_parser"].__func__)
    monkeypatch.setattr(ParserManager, "get_parser", classmethod(known))
    monkeypatch.setattr(launcher, "validate_api_server_args", others)
    for manager in (ToolParserManager, ReasoningParserManager):
        for table in [name for name, value in vars(manager).items() if isinstance(value, dict)]:
            monkeypatch.setattr(manager, table, {})
    if missing.startswith("takes"):
        monkeypatch.setattr(OTHERS[missing], others)
    else:
        monkeypatch.delattr(OTHERS[missing])
    register()
    assert missing in log.text
    assert ParserManager.__dict__["get_parser"].__func__ is known
    assert launcher.validate_api_server_args is others
    assert not {*NAMES} & {*ToolParserManager.list_registered(), *ReasoningParserManager.list_registered()}


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


def test_the_server_s_template_goes_before_the_model_s(own: Model) -> None:
    source = load_shape("own reasoning tags").source
    note(own.tokenizer, source)
    found = get_reader(own.tokenizer).format.reasoning
    assert found is not None
    assert found.end.text == "</seed:think>"


def test_a_request_s_template_counts_where_it_is_trusted_and_known(own: Model) -> None:
    """What is not known yet is not waited for: it is content. A server waits for the analysis before it renders."""
    source = load_shape("own reasoning tags").source + "{# which no server has #}"
    request = make_request(make_case("Hello."), chat_template=source)
    note(own.tokenizer, own.tokenizer.chat_template)
    server = get_reader(own.tokenizer)
    assert reader.find_reader(request, server) is server
    note(own.tokenizer, own.tokenizer.chat_template, trusts=True)
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
    note(own.tokenizer, PLAIN, trusts=True)
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


def test_a_request_s_own_template_is_analysed_beside_a_parser_of_vllms(own: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    async def render(*args: Any, **kwargs: Any) -> Any:
        return [], [{"prompt_token_ids": own.encode("Hello")}]

    monkeypatch.setattr(reader, "FORMATS", Formats())
    note(own.tokenizer, PLAIN, trusts=True)
    renderer = SimpleNamespace(renderer=SimpleNamespace(tokenizer=own.tokenizer))
    composed = own.compose("auto", "deepseek_r1")
    request = make_request(make_case("", TOOLS), chat_template=load_shape("JSON in tags").source + "{# of a request #}")
    asyncio.run(hooks._preprocess_chat(render, renderer, request, parser=composed))
    assert reader.find_reader(request, get_reader(own.tokenizer)).format.tools is not None
    message = make_message(*composed(own.tokenizer, request.tools).parse(f"Hm.</think>{WEATHER}", request, True))
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["get_weather"]


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
    note(own.tokenizer, own.tokenizer.chat_template, trusts=True)
    renderer = SimpleNamespace(renderer=SimpleNamespace(tokenizer=own.tokenizer))
    requests = [make_request(make_case("Hello."), chat_template=f"{PLAIN}{{# {number} #}}") for number in range(40)]
    asyncio.run(run())
    assert len(rendered) == len(requests)
    assert all(after - before >= 8 for before, after in itertools.pairwise(rendered))


def test_special_tokens_that_are_no_single_texts_are_no_variables(own: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tokenizers have lists among them, which name nothing that a template prints."""
    tokens = {**own.tokenizer.special_tokens_map, "additional_special_tokens": ["<a>", "<b>"]}
    monkeypatch.setattr(type(own.tokenizer), "special_tokens_map", tokens)
    note(own.tokenizer, own.tokenizer.chat_template, trusts=True)
    assert get_reader(own.tokenizer).format.tools is not None
    request = make_request(make_case("Hello."), chat_template=PLAIN)
    reader.FORMATS.submit(PLAIN, **list_named_tokens(own.tokenizer)).result()
    assert reader.find_reader(request, get_reader(own.tokenizer)).format.tools is None


def test_so_many_readers_are_kept_and_those_of_servers(own: Model) -> None:
    note(own.tokenizer, own.tokenizer.chat_template)
    first = get_reader(own.tokenizer)
    for _ in range(70):
        get_reader(copy.copy(own.tokenizer))
    assert len(reader._GUESSED) <= 64
    assert get_reader(own.tokenizer) is first


def test_a_template_that_nobody_understands_ends_the_start(own: Model) -> None:
    note(own.tokenizer, "{{ raise_exception('no') }}")
    with pytest.raises(Exception, match="the chat template of --chat-template is not understood") as caught:
        own.compose()
    assert "\n" not in str(caught.value)
    note(own.tokenizer, PLAIN)
    own.compose()


def test_no_template_ends_the_start(own: Model) -> None:
    own.tokenizer.chat_template = None
    with pytest.raises(Exception, match="--chat-template"):
        own.compose()


def test_reasoning_is_counted_by_the_template_of_the_request_and_for_each_output(own: Model) -> None:
    source = load_shape("own reasoning tags").source + "{# whose tokens are counted #}"
    note(own.tokenizer, own.tokenizer.chat_template, trusts=True)
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
