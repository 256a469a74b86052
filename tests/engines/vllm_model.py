"""Models as vLLM's own parser has them, made and called without a server, and what its parsers return as the OpenAI API has it."""

from __future__ import annotations

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
from judge import fold
from streams import make_tool
from tiny_model import make_model
from tokenizers.decoders import DecodeStream

from chat_autoparser.vllm_plugin import reader, register

register()


Message = tuple[JsonObject, list[JsonObject]]

BURSTS = (1, 4, 10_000)
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"

shapes = pytest.mark.parametrize("shape", TEMPLATES)


class Model:
    """A template's tokenizer, and the parsers that vLLM makes for it."""

    def __init__(self, source: str, eos: str, markers: Any, folder: Path) -> None:
        from vllm.tokenizers import get_tokenizer

        self.tokenizer = get_tokenizer(str(make_model(source, folder, markers=markers, eos=eos)))

    def compose(self, tools: str | None = "auto", reasoning: str | None = "auto", **options: Any) -> Any:
        """The class of parser that a server uses; made once with the tokenizer, as vLLM does from 0.32 on."""
        composed = compose(tools, reasoning, **options)
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


def compose(tools: str | None = "auto", reasoning: str | None = "auto", **options: Any) -> Any:
    """The class of parser that a server uses."""
    from vllm.parser import ParserManager

    options = {"enable_auto_tools": True, "model_name": "tiny", **options}
    return ParserManager.get_parser(tool_parser_name=tools, reasoning_parser_name=reasoning, **options)


def make_request(case: Case, **options: Any) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return ChatCompletionRequest(model="tiny", messages=case.messages, tools=case.tools, **{**case.options, **options})


def make_case(text: str, tools: list[JsonObject] | None = None) -> Case:
    expected: JsonObject = {"reasoning_content": None, "content": text, "tool_calls": []}
    return Case("made up", [{"role": "user", "content": "Hello"}], tools, {}, text, expected)


TOOLS = [make_tool(name, city="string") for name in ("get_weather", "find_train")]


def load_shape(shape: str) -> Subject:
    return load_subject(TEMPLATES[shape])


def find_case(shape: str, *names: str) -> Case:
    return load_shape(shape).find(*names) or pytest.skip(f"the template prints none of: {', '.join(names)}")


def make_message(reasoning: str | None, content: str | None, calls: Any) -> JsonObject:
    """The message of a whole output, from the three things that `Parser.parse` returns."""
    listed = [{"id": call.id, "type": "function", "function": call.model_dump()} for call in calls or []]
    return {"reasoning_content": reasoning, "content": content or None, "tool_calls": listed}


def take_delta(delta: Any) -> JsonObject:
    """What a client is sent of a message that `Parser.parse_delta` returns."""
    sent = delta.model_dump(exclude_unset=True)
    return {("reasoning_content" if key == "reasoning" else key): value for key, value in sent.items()}


def note(tokenizer: Any, template: str | None, trusts: bool = False, **defaults: Any) -> None:
    """Tell what a server would: by the model's configuration vLLM looks for a processor's template, and finds none.

    The `defaults` are those that the model has for requests.
    """
    config = SimpleNamespace(
        hf_config=SimpleNamespace(model_type="qwen3"),
        model="tiny",
        tokenizer="tiny",
        **dict.fromkeys(("tokenizer_revision", "code_revision"), None),
        trust_remote_code=False,
        get_diff_sampling_param=lambda: defaults,
    )
    reader.note_server(reader.Server(tokenizer, config, template, trusts))


CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo, where \\"it\\" rains"}}\n</tool_call>'
WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TRAIN = WEATHER.replace("get_weather", "find_train")


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
