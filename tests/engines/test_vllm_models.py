"""Servers of vLLM for what is not every model's: its own classes, a Python encoder, templates that requests bring."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")

from cases import TEMPLATES, Case, load_subject
from clients import ENDPOINTS, Reply
from conversations import JsonObject
from engines import Vllm
from judge import find_fault
from served import both, serve_model
from tiny_model import find_markers, make_model

if TYPE_CHECKING:
    from engines import Engine

USER: JsonObject = {"role": "user", "content": "How is the weather?"}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: list[JsonObject] = [
    {"type": "function", "function": {"name": "get_weather", "description": "Looks it up.", "parameters": PARAMETERS}}
]
CALL: JsonObject = {"name": "get_weather", "arguments": {"city": 'Old "Oslo" [1]'}}
ARGUMENTS = json.dumps(CALL["arguments"])
CHAT_AND_RESPONSES = pytest.mark.parametrize("endpoint", ["chat", "responses"])


@contextmanager
def serve(engine: Engine, model: Path, *more: str) -> Iterator[str]:
    assert isinstance(engine, Vllm)
    with serve_model(engine, model, model.parent / "log", options=more) as server:
        yield server.url


def ask(url: str, endpoint: str, case: Case, ids: list[int], stream: bool) -> Reply:
    """What a client gets where these tokens are generated."""
    return ENDPOINTS[endpoint](url, case, {"vllm_xargs": {"script_ids": ids, "no_eos": 1}}, stream)


def make_case(text: str, reasoning: str | None, content: str | None, *calls: JsonObject, **options: Any) -> Case:
    expected: JsonObject = {"reasoning_content": reasoning, "content": content, "tool_calls": list(calls)}
    return Case("made up", [USER], TOOLS, {}, text, expected, options=options, max_tokens=300)


# A model whose output vLLM reads by itself

GPT_OSS: JsonObject = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "vocab_size": 201088,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"],
}
HARMONY = [
    make_case(
        "<|channel|>analysis<|message|>They want it.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
        f"<|constrain|>json<|message|>{ARGUMENTS}<|call|>",
        "They want it.",
        None,
        CALL,
    ),
    make_case(
        "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>It rains.<|return|>",
        "Easy.",
        "It rains.",
    ),
]


@pytest.fixture(scope="module")
def gpt_oss(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model of this type, for which vLLM renders prompts and reads outputs by token ids with a vocabulary of its own."""
    source = load_subject(TEMPLATES["headers of messages"]).source
    model = make_model(source, tmp_path_factory.mktemp("gpt-oss") / "model", eos="<|return|>")
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, **GPT_OSS}), "utf-8")
    with serve(engine, model) as url:
        yield url


@CHAT_AND_RESPONSES
@both
def test_where_vllm_insists_on_its_own_classes(gpt_oss: str, endpoint: str, stream: bool) -> None:
    harmony = pytest.importorskip("vllm.entrypoints.openai.parser.harmony_utils")
    for case in HARMONY:
        reply = ask(gpt_oss, endpoint, case, harmony.get_encoding().encode(case.text, allowed_special="all"), stream)
        assert find_fault(case.expected, reply.message) is None, reply


# An encoder in Python


@pytest.fixture(scope="module")
def mistral(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """A model whose conversations mistral-common renders, and its tokenizer."""
    from vllm.tokenizers import get_tokenizer

    model = make_model("{# never read #}", tmp_path_factory.mktemp("mistral") / "model")
    shutil.copy(str(files("mistral_common") / "data" / "mistral_instruct_tokenizer_241114.model.v7"), model / "tokenizer.model.v7")
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "vocab_size": 32768, "eos_token_id": 2}), "utf-8")
    (model / "generation_config.json").unlink()
    with serve(engine, model, "--tokenizer-mode", "mistral") as url:
        yield url, get_tokenizer(str(model), tokenizer_mode="mistral")


@CHAT_AND_RESPONSES
@both
def test_an_encoder_in_python(mistral: tuple[str, Any], endpoint: str, stream: bool) -> None:
    url, tokenizer = mistral
    made = {"id": "callnum01", "type": "function", "function": {"name": CALL["name"], "arguments": ARGUMENTS}}
    prompt = tokenizer.apply_chat_template([USER], tools=TOOLS, add_generation_prompt=True)
    for content, calls in (("It [rains] - {mostly}.", ()), ("", (CALL,)), ("Let me look.", (CALL,))):
        answer = {"role": "assistant", "content": content, **({"tool_calls": [made]} if calls else {})}
        whole = tokenizer.apply_chat_template([USER, answer], tools=TOOLS, continue_final_message=True)
        assert whole[: len(prompt)] == prompt
        case = make_case("", None, content or None, *calls, chat_template_kwargs=None)  # it refuses a request with any
        reply = ask(url, endpoint, case, whole[len(prompt) :], stream)
        assert find_fault(case.expected, reply.message) is None, reply


# Templates that requests bring


@pytest.fixture(scope="module")
def trusting(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    model = make_model(load_subject(TEMPLATES["JSON in tags"]).source, tmp_path_factory.mktemp("trusting") / "model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHAT_AUTOPARSER_TEMPLATE_SECONDS", "20")  # the machine may be busy; the bound has tests of its own
        with serve(engine, model, "--trust-request-chat-template") as url:
            yield url


@both
@pytest.mark.parametrize("among", [False, True], ids=["for itself", "among the template's arguments"])
def test_a_template_that_a_request_brings(engine: Engine, trusting: str, among: bool, stream: bool) -> None:
    """One after the other, each is read as it writes: the model's own, another, and the model's own again."""
    for shape in ("JSON in tags", "own reasoning tags", "tagged arguments", "JSON in tags"):
        subject = load_subject(TEMPLATES[shape])
        case = subject.get("reasoning, content, call", "content, call")
        if shape != "JSON in tags":
            brought: JsonObject = {"chat_template": subject.source}
            case = replace(case, kwargs={**case.kwargs, **brought}) if among else replace(case, options=brought)
        reply = ENDPOINTS["chat"](trusting, case, engine.script(case.text), stream)
        assert find_fault(case.expected, reply.message) is None, (shape, reply)


# What a server is started with


@pytest.fixture(scope="module")
def overruled(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model whose own template knows neither reasoning nor calls, served with another one that is told not to reason."""
    folder = tmp_path_factory.mktemp("overruled")
    source = load_subject(TEMPLATES["JSON in tags"]).source
    (folder / "given.jinja").write_text(source, "utf-8")
    plain = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
    model = make_model(plain, folder / "model", more=find_markers(source))
    defaults = json.dumps({"enable_thinking": False})
    with serve(engine, model, "--chat-template", str(folder / "given.jinja"), "--default-chat-template-kwargs", defaults) as url:
        yield url


@both
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_the_server_s_template_and_its_arguments(engine: Engine, overruled: str, endpoint: str, stream: bool) -> None:
    """By default the prompt closes reasoning, so what follows is content; a request can have it otherwise."""
    subject = load_subject(TEMPLATES["JSON in tags"])
    silent, thought = subject.get("content, call {'enable_thinking': False}"), subject.get("reasoning, content, call")
    asked = replace(silent, kwargs={})  # the server says it already
    for case in (asked, replace(thought, kwargs={"enable_thinking": True}), asked):
        reply = ENDPOINTS[endpoint](overruled, case, engine.script(case.text), stream)
        assert find_fault(case.expected, reply.message) is None, reply


@both
@pytest.mark.parametrize("endpoint", ["chat", "responses"])
def test_an_answer_of_a_given_form_comes_behind_reasoning(engine: Engine, overruled: str, endpoint: str, stream: bool) -> None:
    """The form is required of what stands behind reasoning: the core that generates would refuse any other text in it."""
    case = load_subject(TEMPLATES["JSON in tags"]).get("reasoning, content")
    answer, schema = '{"city": "Oslo"}', {**PARAMETERS, "required": ["city"], "additionalProperties": False}
    form: JsonObject = {"type": "json_schema", "name": "place", "schema": schema}
    if endpoint == "chat":
        options: JsonObject = {"response_format": {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}}
    else:
        options = {"text": {"format": form}}
    right = replace(
        case,
        tools=None,
        kwargs={"enable_thinking": True},
        options=options,
        text=case.text.partition(case.expected["content"])[0].rstrip() + answer,  # the form allows no layout before it
        expected={**case.expected, "content": answer},
    )
    reply = ENDPOINTS[endpoint](overruled, right, engine.script(right.text), stream)
    assert find_fault(right.expected, reply.message) is None, reply
    wrong = replace(right, text=right.text.replace("city", "zebra"))
    try:
        reply = ENDPOINTS[endpoint](overruled, wrong, engine.script(wrong.text), stream)
    except Exception:
        return  # where it was refused, there is an error or only the beginning
    assert "zebra" not in (reply.message["content"] or "")
