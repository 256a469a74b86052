"""What servers are loaded with: a turn of any size that a template renders for known fields, and servers to write it.

The servers are the engines' real API servers over the scripted cores of `load_core` and `load_sglang_core`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import BUDGET, make_text
from cases import load_subject
from judge import find_fault
from load_client import Answer, JsonObject, ask_many
from serving import STAND_INS, Server, serve_fork
from tiny_model import make_model
from tokenizers import Tokenizer

import chat_autoparser as ca

MODEL = "load"
LENGTH = 2_000_000
"""Tokens that a conversation may have here."""

TEMPLATES = {"tagged calls": "Qwen3-Coder", "JSON calls": "Qwen-Qwen3-0.6B"}
BUILT_IN = {
    "vllm": {"tagged calls": ("qwen3_coder", None), "JSON calls": ("hermes", "qwen3")},
    "sglang": {"tagged calls": ("qwen3_coder", None), "JSON calls": ("qwen", "qwen3")},
}
"""For each engine the parsers of calls and of reasoning that it names for these models."""
PARSERS = ("auto", "built-in", "none")


@dataclass(frozen=True)
class Workload:
    """A model folder, what is generated, and the message that it means."""

    engine: str
    shape: str
    model: Path
    text: str
    tokens: int
    tools: list[JsonObject]
    expected: JsonObject

    def make_body(self, parsers: str, **script: Any) -> JsonObject:
        """A streamed request that generates the text; the rest of the `script` is for the core."""
        scripted = {"text": self.text, **script}
        if self.engine == "vllm":
            scripted = {"script": self.text, **script}
        return {
            "model": MODEL,
            "messages": [{"role": "user", "content": "Go."}],
            "tools": self.tools,
            "tool_choice": "none" if parsers == "none" else "auto",
            "stream": True,
            "vllm_xargs" if self.engine == "vllm" else "script": scripted,
        }

    def find_fault(self, answer: Answer, parsers: str) -> str | None:
        """What is wrong with an answer, or None."""
        if answer.cut:
            return "it was not complete in time"
        if answer.status != 200:
            return f"HTTP status {answer.status}: {b''.join(answer.parts)[-300:]!r}"
        try:
            message = answer.read_message()
        except ValueError as error:
            return str(error)
        if parsers == "none":
            return None if message["content"] == self.text else "the content is not what was generated"
        return find_fault(self.expected, message)


def make_workload(engine: str, shape: str, folder: Path, tokens: int, argument: int = 60, *, has_calls: bool = True) -> Workload:
    """A turn of about so many tokens: a fifth of it reasoning, a fifth content, the rest calls.

    With 0 tokens it is one call, whose one long argument has so many characters. Without calls it is reasoning and content,
    of which no parser has to wait for more than a few tokens.
    """
    subject = load_subject(TEMPLATES[shape])
    name = f"{shape}-{tokens}-{argument}" + ("" if has_calls else "-text")
    model = make_model(subject.source, folder / name, markers="added", eos=subject.eos)
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": LENGTH}), "utf-8")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    case = subject.get("two calls", "call")
    assert case.tools is not None
    reasons = any(each.expected["reasoning_content"] for each in subject.cases.values())

    def write(calls: int) -> tuple[str, JsonObject]:
        prose = make_text(calls * argument // 2).strip() if tokens else None
        fields = {
            "reasoning_content": prose if reasons else None,
            "content": prose,
            "tool_calls": [
                {"id": None, "name": "find_okapi", "arguments": {"habitat": make_text(argument).strip(), "limit": number}}
                for number in range(calls if has_calls else 0)
            ],
        }
        return render_answer(subject.source, subject.eos, case.tools or [], fields), fields

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    calls = max(1, tokens * 10 // count(write(10)[0])) if tokens else 1
    text, expected = write(calls)
    return Workload(engine, shape, model, text, count(text), case.tools, expected)


def render_answer(source: str, eos: str, tools: list[JsonObject], fields: JsonObject) -> str:
    """What the template writes behind its generation prompt for an answer with these fields."""
    render = ca.load_renderer(source, bos_token="<s>", eos_token="</s>").within(BUDGET)
    user = {"role": "user", "content": "Go."}
    calls = [
        {"id": f"call{number}", "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for number, call in enumerate(fields["tool_calls"])
    ]
    answer = {**fields, "role": "assistant", "content": fields["content"] or "", "tool_calls": calls}
    prompt, whole = render([user], tools, True), render([user, answer], tools, False)
    if not whole.startswith(prompt):
        raise ValueError("the template does not continue its generation prompt")
    return whole[len(prompt) :].rpartition(eos)[0]


@contextmanager
def serve(load: Workload, folder: Path, parsers: str, options: Iterable[str] = ()) -> Iterator[Server]:
    """The API server with these parsers, which has answered a few requests already."""
    with _START[load.engine](load, folder / "log", _list_flags(load, parsers), list(options)) as server:
        body = {key: value for key, value in load.make_body("none").items() if key not in ("vllm_xargs", "script", "stream")}
        asyncio.run(ask_many(get_port(server), [body] * 4, 4, 60))
        yield server


def _list_flags(load: Workload, parsers: str) -> list[str]:
    given: dict[str, tuple[str | None, str | None]] = {"auto": ("auto", "auto"), "none": (None, None)}
    tools, reasoning = given.get(parsers, BUILT_IN[load.engine][load.shape])
    flags = ["--tool-call-parser", tools] if tools else []
    return flags + (["--reasoning-parser", reasoning] if reasoning else [])


def _start_vllm(load: Workload, log: Path, flags: list[str], options: list[str]) -> AbstractContextManager[Server]:
    common = ["serve", str(load.model), "--served-model-name", MODEL, "--max-model-len", str(LENGTH), "--disable-log-stats"]
    enabled = ["--enable-auto-tool-choice"] if flags else []
    return serve_fork("load_core", [*common, "--disable-uvicorn-access-log", *flags, *enabled, *options], log)


def _start_sglang(load: Workload, log: Path, flags: list[str], options: list[str]) -> AbstractContextManager[Server]:
    common = ["--model-path", str(load.model), "--served-model-name", MODEL, "--context-length", str(LENGTH)]
    given = [*common, "--log-level-http", "warning", *flags, *options]
    return serve_fork("load_sglang_core", given, log, health="/v1/models", path=[str(STAND_INS)])


_START = {"vllm": _start_vllm, "sglang": _start_sglang}


def get_port(server: Server) -> int:
    port = urlsplit(server.url).port
    assert port
    return port
