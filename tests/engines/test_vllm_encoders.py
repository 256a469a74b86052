"""vLLM's own tokenizers whose chat template is Python, and tokenizers with several templates, without a server.

What is generated is what the tokenizer itself renders for known fields behind the prompt that it renders for the request,
in tokens; the text of these is what vLLM's incremental detokenizer makes of them. The fields are the expected message.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from conversations import JsonObject
from judge import find_fault, fold
from tiny_model import make_model
from vllm_model import compose, make_message, note, take_delta

from chat_autoparser.serve import list_named_tokens
from chat_autoparser.vllm_plugin import reader
from chat_autoparser.vllm_plugin.reader import get_reader

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

USER: JsonObject = {"role": "user", "content": "How is the weather?"}
TYPES = {"city": "string", "days": "integer", "units": "array", "exact": "boolean"}
TOOLS: list[JsonObject] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Looks it up.",
            "parameters": {"type": "object", "properties": {key: {"type": kind} for key, kind in TYPES.items()}},
        },
    }
    for name in ("get_weather", "find_train")
]
FIRST = ("get_weather", '{"city": "Old \\"Oslo\\"\\n[1]", "days": 3, "units": ["mm", "C"], "exact": true}')
SECOND = ("find_train", '{"city": "7"}')
REASONING = "The user wants the weather.\n\nSo I look it up."
CONTENT = "Let me look: {that} is [easy]."
ANSWERS = {
    "content": (None, CONTENT, ()),
    "call": (None, None, (FIRST,)),
    "two calls": (None, None, (FIRST, SECOND)),
    "content, call": (None, CONTENT, (SECOND,)),
    "reasoning, content": (REASONING, CONTENT, ()),
    "reasoning, call": (REASONING, None, (FIRST,)),
    "reasoning, content, two calls": (REASONING, CONTENT, (SECOND, FIRST)),
}
PLAIN = [name for name, answer in ANSWERS.items() if answer[0] is None]
THOUGHT = [name for name, answer in ANSWERS.items() if answer[0] is not None]


@dataclass(frozen=True)
class Model:
    """One of vLLM's tokenizers, and how it is asked for an answer that is part of the history."""

    tokenizer: Any
    finished: bool = True
    """Whether it renders a conversation that ends with an answer; else the answer has to be one to be continued."""

    def render(self, messages: list[JsonObject], tools: list[JsonObject] | None, **kwargs: Any) -> list[int]:
        found: list[int] = self.tokenizer.apply_chat_template(messages, tools=tools, return_dict=False, **kwargs)
        return list(found)

    def generate(self, name: str, tools: list[JsonObject] | None, **kwargs: Any) -> tuple[list[int], list[int]]:
        """The prompt, and what is generated behind it for a message with known fields, up to the end of the turn."""
        end = {} if self.finished else {"continue_final_message": True}
        whole = self.render([USER, make_answer(name)], tools, **end, **kwargs)
        prompt = self.render([USER], tools, add_generation_prompt=True, **kwargs)
        assert whole[: len(prompt)] == prompt
        generated = whole[len(prompt) :]
        if generated[-1] == self.tokenizer.eos_token_id:
            generated.pop()
        return prompt, generated

    def cut(self, ids: list[int]) -> list[str]:
        """What each token adds to the text, as vLLM's detokenizer says it."""
        from vllm.tokenizers.detokenizer_utils import detokenize_incrementally

        pieces: list[str] = []
        tokens: list[str] | None = None
        place = read = 0
        for count in range(1, len(ids) + 1):
            new, text, place, read = detokenize_incrementally(
                self.tokenizer, ids[:count], tokens, place, read, False, spaces_between_special_tokens=False
            )
            tokens = [*(tokens or []), *new]
            pieces.append(text)
        return pieces

    def find_faults(self, name: str, tools: list[JsonObject] | None, **kwargs: Any) -> list[str]:
        """What is wrong with the message, read whole, and in steps of several sizes."""
        prompt, ids = self.generate(name, tools, **kwargs)
        pieces = self.cut(ids)
        request, composed = make_request(tools), compose()
        composed(self.tokenizer, request.tools, chat_template_kwargs=dict(kwargs)).adjust_request(request)
        assert not tools or request.skip_special_tokens is False, "without the text of special tokens nothing can be read"
        parser = composed(self.tokenizer, request.tools, chat_template_kwargs=dict(kwargs))
        parser.is_reasoning_end(prompt)
        messages = {"whole": make_message(*parser.parse("".join(pieces), request, True, ids))}
        for burst in (1, 3, 10_000):
            parser = composed(self.tokenizer, request.tools, chat_template_kwargs=dict(kwargs))
            messages[f"in steps of {burst}"] = fold(self._stream(parser, request, prompt, ids, pieces, burst))
        found = {how: find_fault(make_expected(name), message) for how, message in messages.items()}
        return [f"{how}: {fault}: {messages[how]} of {''.join(pieces)!r}" for how, fault in found.items() if fault]

    def _stream(
        self, parser: Any, request: Any, prompt: list[int], ids: list[int], pieces: list[str], burst: int
    ) -> Iterator[JsonObject]:
        ids, pieces = [*ids, self.tokenizer.eos_token_id], [*pieces, ""]
        for start in range(0, len(ids), burst):
            end = start + burst
            text = "".join(pieces[start:end])
            delta = parser.parse_delta(text, ids[start:end], request, prompt, finished=end >= len(ids))
            if delta is not None:
                yield take_delta(delta)


def make_answer(name: str) -> JsonObject:
    reasoning, content, calls = ANSWERS[name]
    message: JsonObject = {"role": "assistant", "content": content or ""}
    if reasoning is not None:
        message |= {"reasoning": reasoning, "reasoning_content": reasoning}  # vLLM renders with either name
    if calls:
        message["tool_calls"] = [
            {"id": f"callnum0{number}", "type": "function", "function": {"name": called, "arguments": arguments}}
            for number, (called, arguments) in enumerate(calls)
        ]
    return message


def make_expected(name: str) -> JsonObject:
    reasoning, content, calls = ANSWERS[name]
    listed = [{"name": called, "arguments": json.loads(arguments)} for called, arguments in calls]
    return {"reasoning_content": reasoning, "content": content, "tool_calls": listed}


def make_request(tools: list[JsonObject] | None) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return ChatCompletionRequest(model="tiny", messages=[USER], tools=tools)


def list_tools(name: str) -> list[JsonObject] | None:
    return TOOLS if ANSWERS[name][2] else None


# Encoders of vLLM's

DEEPSEEK = ("deepseek_v32", "deepseek_v4", "deepseek_v41")


@pytest.fixture(scope="module")
def deepseek(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the tokenizer of a mode, around a vocabulary that holds the markers of all of them."""
    from vllm.tokenizers import get_tokenizer

    names = ("begin▁of▁sentence", "User", "Assistant")
    more = ["<think>", "</think>", "｜DSML｜", *(f"<｜{name}｜>" for name in names)]
    folder = make_model("{# none #}", tmp_path_factory.mktemp("deepseek"), eos="<｜end▁of▁sentence｜>", more=more)
    made = {mode: Model(get_tokenizer(str(folder), tokenizer_mode=mode)) for mode in DEEPSEEK}
    for model in made.values():
        model.tokenizer.chat_template = None  # it is never asked
    return made.__getitem__


@pytest.mark.parametrize("mode", DEEPSEEK)
@pytest.mark.parametrize("thinking", [False, True])
def test_an_encoder_of_text(deepseek: Any, mode: str, thinking: bool) -> None:
    model = deepseek(mode)
    for name in THOUGHT if thinking else PLAIN:
        assert model.find_faults(name, list_tools(name), enable_thinking=thinking) == [], name
    assert get_reader(model.tokenizer).format.verdict.proven


@pytest.fixture(scope="module")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the tokenizer around one of the vocabularies that mistral-common ships."""
    from vllm.tokenizers import get_tokenizer

    data = files("mistral_common") / "data"

    def make(source: str, name: str) -> Model:
        folder = tmp_path_factory.mktemp("mistral")
        shutil.copy(str(data / source), folder / name)
        return Model(get_tokenizer(str(folder), tokenizer_mode="mistral"), finished=False)

    return make


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("mistral_instruct_tokenizer_240323.model.v3", "tokenizer.model.v3"),
        ("mistral_instruct_tokenizer_241114.model.v7", "tokenizer.model.v7"),
        pytest.param("tekken_240911.json", "tekken.json", marks=pytest.mark.more),  # takes six seconds to load
    ],
)
def test_an_encoder_of_tokens(mistral: Any, source: str, name: str) -> None:
    """mistral-common, which refuses conversations that end with an answer, and reasoning in these versions."""
    model = mistral(source, name)
    for answer in PLAIN:
        if answer == "content, call" and model.tokenizer.version < 7:
            continue  # refused by these versions
        assert model.find_faults(answer, list_tools(answer)) == [], answer
    assert get_reader(model.tokenizer).format.verdict.proven


# Several templates in one tokenizer

DEFAULT = (
    "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TOOL_USE = (
    "<|tools|>{{ tools | tojson }}<|end|>{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture
def named(tmp_path: Path) -> Iterator[Model]:
    from vllm.tokenizers import get_tokenizer

    folder = make_model(DEFAULT, tmp_path, eos="<|end|>", more=["<call>", "</call>", "<|tools|>"])
    tokenizer = get_tokenizer(str(folder))
    tokenizer.chat_template = {"default": DEFAULT, "tool_use": TOOL_USE}
    yield Model(tokenizer)
    reader._SERVERS.pop(id(tokenizer), None)


@pytest.mark.parametrize("served", [False, True], ids=["alone", "by a server"])
def test_several_named_templates(named: Model, served: bool) -> None:
    """vLLM renders a request with tools by the one called tool_use, and one without by the default."""
    if served:
        note(named.tokenizer, None)
    for name in ANSWERS:
        tools = list_tools(name)
        assert named.find_faults(name, tools) == [], name
        assert ("<|tools|>" in named.tokenizer.decode(named.generate(name, tools)[0])) == bool(tools)


def test_a_template_is_chosen_by_its_name(named: Model) -> None:
    note(named.tokenizer, "default")
    assert get_reader(named.tokenizer).format.tools is None
    note(named.tokenizer, "tool_use")
    assert get_reader(named.tokenizer).format.tools is not None


OWN = DEFAULT.replace("think>", "thought>")
OTHER = DEFAULT.replace("think>", "musing>")


@pytest.mark.parametrize(
    ("server_s", "trusts", "given", "kwargs", "wins"),
    [
        (None, True, None, {"chat_template": OTHER}, "musing"),
        (None, True, OWN, {"chat_template": OTHER}, "thought"),
        (OWN, True, None, {"chat_template": OTHER}, "thought"),
        (None, False, None, {"chat_template": OTHER}, "think"),
    ],
    ids=["in the arguments", "for itself before", "the server's before", "not trusted"],
)
def test_which_of_several_templates_counts(
    named: Model, server_s: str | None, trusts: bool, given: str | None, kwargs: JsonObject, wins: str
) -> None:
    """The one that vLLM renders with, which is asked in the same way as its server does it."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    note(named.tokenizer, server_s, trusts)
    request = ChatCompletionRequest(model="tiny", messages=[USER], chat_template=given, chat_template_kwargs=kwargs)
    own = get_reader(named.tokenizer)
    template = reader.find_given(request, named.tokenizer)
    if template is not None:
        reader.FORMATS.submit(template, **list_named_tokens(named.tokenizer)).result()
    reasoning = reader.find_reader(request, own).format.reasoning
    assert reasoning is not None
    assert reasoning.end.text == f"</{wins}>"
    if trusts:
        asked = request.build_chat_params(server_s, "auto").get_apply_chat_template_kwargs()["chat_template"]
        assert f"</{wins}>" in asked
