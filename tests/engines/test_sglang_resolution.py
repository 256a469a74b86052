"""What `auto` is resolved to in SGLang, and what the plugin registers there."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sglang", reason="this is not SGLang's environment: see scripts/setup_sglang.sh")

from cases import TEMPLATES, Subject, load_subject
from judge import find_fault
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from test_sglang_plugin import JSON_IN_TAGS, make_stages
from tiny_model import make_model
from transformers import AutoTokenizer

from chat_autoparser.sglang_plugin import NAME, SWITCH, engine, formats, register, registration, resolution
from chat_autoparser.sglang_plugin.reasoning import ReasoningDetector


def make_arguments(folder: Path, **given: Any) -> Any:
    """Return what stands for SGLang's ServerArgs, with what was decided about them."""
    defaults: dict[str, Any] = {
        "model_path": str(folder),
        "tokenizer_path": str(folder),
        "tokenizer_mode": "auto",
        "tokenizer_backend": "huggingface",
        "trust_remote_code": False,
        "revision": None,
        "chat_template": None,
        "hf_chat_template_name": None,
        "default_chat_template_kwargs": None,
        "reasoning_parser": "auto",
        "tool_call_parser": "auto",
    }
    return SimpleNamespace(**{**defaults, **given})


@pytest.fixture
def resolve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Resolve the parsers for a template, with an engine whose own answer is given: `engines-own`."""
    monkeypatch.setattr(engine, "resolving_view", lambda args: args)
    monkeypatch.setattr(engine, "declare_parsers", lambda args, parsers: args.__dict__.update(parsers))

    def run(
        source: str,
        named: dict[str, str] | None = None,
        architecture: str | None = None,
        own: str | None = "engines-own",
        **given: Any,
    ) -> tuple[str | None, str | None]:
        def answer(args: Any) -> None:
            for name in engine.PARSERS:
                if getattr(args, name) == "auto":
                    setattr(args, name, own)

        folder = make_model(source, tmp_path / "model")
        if named is not None:
            config = json.loads((folder / "tokenizer_config.json").read_text())
            config["chat_template"] = [{"name": name, "template": text} for name, text in named.items()]
            (folder / "tokenizer_config.json").write_text(json.dumps(config))
        if architecture is not None:
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**config, "architectures": [architecture]}))
        args = make_arguments(folder, **given)
        resolution.resolve_auto(answer, args)
        return args.reasoning_parser, args.tool_call_parser

    return run


def load(shape: str) -> Subject:
    return load_subject(TEMPLATES[shape])


BARE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


def test_auto_is_the_template_in_force(resolve: Any) -> None:
    assert resolve(load(JSON_IN_TAGS).source) == (NAME, NAME)


@pytest.mark.parametrize("doubted", ["reasoning", "reasoning content tools"])
@pytest.mark.parametrize("own", ["engines-own", None])
def test_what_is_not_proven_is_ours_only_where_nobody_else_knows(
    own: str | None, doubted: str, resolve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where the engine knows both parts, both are read by parsers of one origin."""

    def doubt(*args: Any) -> Any:
        format = derive(*args)
        parts = tuple((part, "partly proven" if part in doubted else how) for part, how in format.verdict.parts)
        return replace(format, verdict=replace(format.verdict, parts=parts))

    derive = formats.derive_format
    monkeypatch.setattr(formats, "derive_format", doubt)
    assert resolve(load(JSON_IN_TAGS).source, own=own) == (own or NAME, own or NAME)


def test_a_template_that_nobody_understands_is_an_error(resolve: Any) -> None:
    with pytest.raises(SystemExit) as stopped:
        resolve("{{ raise_exception('no') }}", own=None)
    message = str(stopped.value)
    assert "the chat template of" in message
    assert "model" in message
    assert SWITCH in message
    assert "\n" not in message
    assert resolve(BARE, own=None) == (None, None)  # it is understood, and has neither


def test_a_policy_that_is_none_is_an_error(resolve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the engine could read instead."""
    monkeypatch.setenv("CHAT_AUTOPARSER_POLICY", "careless")
    with pytest.raises(SystemExit, match="strict, lenient or repair"):
        resolve(load(JSON_IN_TAGS).source)


def test_a_model_without_a_template_is_the_engines(resolve: Any) -> None:
    assert resolve(BARE, {"default": ""}, own=None) == (None, None)


def test_what_a_template_does_not_show_is_left_to_the_engine(resolve: Any) -> None:
    assert resolve(BARE) == ("engines-own", "engines-own")
    assert resolve("{{ raise_exception('no') }}") == ("engines-own", "engines-own")


def test_the_user_may_have_the_engines_answer(resolve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    assert resolve(load(JSON_IN_TAGS).source) == ("engines-own", "engines-own")
    assert resolve(load(JSON_IN_TAGS).source, tool_call_parser=NAME, reasoning_parser=None) == (None, NAME)


def test_other_parsers_are_left_alone(resolve: Any) -> None:
    assert resolve(load(JSON_IN_TAGS).source, reasoning_parser=None) == (None, NAME)
    assert resolve(load(JSON_IN_TAGS).source, reasoning_parser="qwen3") == ("qwen3", NAME)
    assert resolve(load(JSON_IN_TAGS).source, reasoning_parser=None, tool_call_parser=None) == (None, None)


def test_of_several_templates_the_one_that_is_served(resolve: Any) -> None:
    named = {"default": BARE, "tool_use": load(JSON_IN_TAGS).source}
    assert resolve(BARE, named) == ("engines-own", "engines-own")
    assert resolve(BARE, named, hf_chat_template_name="tool_use") == (NAME, NAME)


def test_a_template_file(resolve: Any, tmp_path: Path) -> None:
    given = tmp_path / "given.jinja"
    given.write_text(load(JSON_IN_TAGS).source.replace("\n", "\\n"), "utf-8")
    assert resolve(BARE, chat_template=str(given)) == (NAME, NAME)


@pytest.mark.parametrize("name", ["chatml", "template.json"])
def test_conversation_templates_are_the_engines(resolve: Any, name: str) -> None:
    assert resolve(load(JSON_IN_TAGS).source, chat_template=name) == ("engines-own", "engines-own")


def test_models_with_an_encoder_are_the_engines(resolve: Any) -> None:
    source = load(JSON_IN_TAGS).source
    assert resolve(source, architecture="DeepseekV4ForCausalLM") == ("engines-own", "engines-own")
    assert resolve(source, tool_call_parser="deepseekv32") == ("engines-own", "deepseekv32")


def test_a_named_parser_that_cannot_be_used_is_an_error(resolve: Any) -> None:
    with pytest.raises(SystemExit, match="cannot be used"):
        resolve("{{ raise_exception('no') }}", tool_call_parser=NAME)


def test_two_engines_in_one_process_share_nothing(resolve: Any) -> None:
    """Both are resolved before either reads; nothing that one decides is where the other looks."""
    environment = dict(os.environ)
    shapes = (JSON_IN_TAGS, "tagged arguments")
    assert [resolve(load(shape).source)[1] for shape in shapes] == [NAME, NAME]
    assert dict(os.environ) == environment
    for shape in (*shapes, *shapes):
        case = load(shape).get("call")
        assert find_fault(case.expected, make_stages(shape, case).read_whole(case.text)) is None, shape


def test_a_scheduler_goes_by_the_template_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tokenizer has the model's own template, whatever `--chat-template` says."""
    given = tmp_path / "given.jinja"
    given.write_text(load("own reasoning tags").source, "utf-8")
    tokenizer = AutoTokenizer.from_pretrained(make_model(load(JSON_IN_TAGS).source, tmp_path / "model"))
    arguments = make_arguments(tmp_path, chat_template=str(given))
    monkeypatch.setattr(engine, "publish_role", lambda: "scheduler")
    monkeypatch.setattr(engine, "resolving_view", lambda args: args)
    monkeypatch.setattr(engine, "get_context", lambda: SimpleNamespace(server_args=arguments))
    source = tokenizer.chat_template
    assert ReasoningDetector(tokenizer=tokenizer).think_end_token == "</seed:think>"
    assert tokenizer.chat_template == source


VERSIONS = ["0.5.22", "0.5.24", "0.6.0", "1.0"]


@pytest.mark.parametrize("version", VERSIONS)
def test_other_versions_are_refused(version: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("sglang.version.__version__", version)
    with pytest.raises(ImportError, match=rf"this is SGLang {version}, and 0\.5\.23 or newer, but older than 0\.5\.24"):
        register()
    assert "could not be registered" in caplog.text


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a registration changes in SGLang, empty."""
    changed: dict[str, Any] = {"hooks": [], "calls": {}, "reasoning": {}}
    monkeypatch.setattr(registration.HookRegistry, "register", lambda target, *_: changed["hooks"].append(target))
    monkeypatch.setattr(FunctionCallParser, "ToolCallParserEnum", changed["calls"])
    monkeypatch.setattr(ReasoningParser, "DetectorMap", changed["reasoning"])
    return changed


def replace_hook(monkeypatch: pytest.MonkeyPatch, place: int) -> Any:
    """Let one of SGLang's functions be missing."""
    hooks = list(registration.HOOKS)
    hooks[place] = hooks[place]._replace(target=f"{hooks[place].target}_that_was_renamed")
    monkeypatch.setattr(registration, "HOOKS", tuple(hooks))
    return hooks[place]


NEEDED = [place for place, hook in enumerate(registration.HOOKS) if not hook.loss]


@pytest.mark.parametrize("place", NEEDED, ids=lambda place: registration.HOOKS[place].target.rsplit(".")[-1])
def test_all_is_registered_or_nothing(
    place: int, registered: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    missing = replace_hook(monkeypatch, place)
    with pytest.raises(ImportError, match=missing.target):
        register()
    assert registered == {"hooks": [], "calls": {}, "reasoning": {}}
    assert "whose own `auto` is now in force" in caplog.text
    assert "is registered as" not in caplog.text


def test_what_is_cosmetic_may_be_missing(
    registered: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = next(place for place, hook in enumerate(registration.HOOKS) if hook.loss)
    missing = replace_hook(monkeypatch, place)
    caplog.set_level("INFO")
    register()
    assert len(registered["hooks"]) == len(registration.HOOKS) - 1
    assert registered["calls"].keys() == registered["reasoning"].keys() == {NAME, "auto"}
    assert missing.loss in caplog.text
    assert "is registered as" in caplog.text
