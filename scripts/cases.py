"""What the servers are made to write, and what a client must get of it: the same for every engine.

A case's text is what a template renders for known fields behind the very prompt that the server renders, and these
fields are the expected message. Nothing here knows a format, an engine or the parser that is tested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from conversations import JsonObject
from corpus import REPOSITORY, read_template
from rendering import make_history
from study import Study, find_ends, study_template
from tiny_model import EOS, find_markers
from turns import list_turns

TEMPLATES = {
    "JSON in tags": "Qwen-Qwen3-0.6B",
    "JSON array": "0xA50C1A1-Mistral-Nemo-Instruct-2407-Heretic-v2",
    "bare JSON": "meta-llama-Llama-3.1-8B-Instruct",
    "marker, name and JSON": "Mistral-Small-3.2-24B-Instruct-2506",
    "name in the id": "moonshotai-Kimi-K2.5",
    "headers of messages": "openai-gpt-oss-120b",
    "tagged arguments": "Qwen3-Coder",
    "tagged keys": "GLM-4.6",
    "typed tags": "deepseek-ai-DeepSeek-V4",
    "call syntax": "LiquidAI-LFM2.5-8B-A1B-Base",
    "odd quotes": "google-gemma-4-31B-it",
    "nested markup": "MiniMaxAI-MiniMax-M3-MXFP8",
    "reasoning opened by the prompt": "Qwen-Qwen3-4B-Thinking-2507",
    "own reasoning tags": "ByteDance-Seed-OSS",
    "prompt closes reasoning": "deepseek-ai-DeepSeek-V3.1",
    "no calls": "HuggingFaceTB-SmolLM3-3B",
    "markers made up": "scripts/demo.jinja",
}
"""Shapes, and a template of each."""

FEW = ("JSON in tags", "headers of messages", "tagged arguments", "odd quotes", "reasoning opened by the prompt")
"""Shapes that between them take every way through an engine: enough for one version of several."""

_CHOSEN = {
    "content",
    "content hard",
    "content like JSON",
    "reasoning",
    "reasoning, content",
    "reasoning, content hard",
    "call",
    "call all types",
    "call backslashes",
    "call lines",
    "call like numbers",
    "call nested",
    "call no arguments",
    "call quotes",
    "two calls",
    "content, call",
    "reasoning, call",
    "reasoning, content, call",
    "reasoning, content, two calls",
}


@dataclass(frozen=True)
class Case:
    """A request, what is generated for it, and the message that it means (as `judge.find_fault` wants it).

    `kwargs` go to the template, `options` into the request's body. `burst` is the number of tokens a step.
    Where it is not `bound`, the text is generated even if the request's constraint refuses it.
    """

    name: str
    messages: list[JsonObject]
    tools: list[JsonObject] | None
    kwargs: JsonObject
    text: str
    expected: JsonObject
    options: JsonObject = field(default_factory=dict)
    burst: int = 1
    max_tokens: int = 4000
    bound: bool = True


@dataclass(frozen=True)
class Subject:
    """A template, the token that ends a turn, and its cases by name; the name tells the switches."""

    name: str
    source: str = field(repr=False)
    eos: str
    cases: dict[str, Case] = field(repr=False)

    def find(self, *names: str) -> Case | None:
        """The first of these cases that there is without switches, else with any; None if there is none."""
        for name in names:
            for case in (self.cases.get(name), *(c for n, c in self.cases.items() if n.startswith(f"{name} {{"))):
                if case is not None:
                    return case
        return None

    def get(self, *names: str) -> Case:
        """The same where there has to be one. Raises LookupError."""
        case = self.find(*names)
        if case is None:
            raise LookupError(f"{self.name} prints none of: {', '.join(names)}")
        return case


@cache
def load_subject(name: str) -> Subject:
    """A template, by its name or by its file in the repository, with its cases. Takes about a second."""
    source = read_template(str(REPOSITORY / name) if name.endswith(".jinja") else name)
    study = study_template(name, source)
    if study is None:
        raise ValueError(f"{name} renders no answer")
    cases: dict[str, Case] = {}
    for turn in list_turns(study):
        if turn.name not in _CHOSEN or turn.ended or turn.unreadable or not turn.exact or turn.tools is None:
            continue
        label = f"{turn.name} {turn.switches}" if turn.switches else turn.name
        messages = make_history("user", study.base)
        cases[label] = Case(label, messages, turn.tools, turn.switches, turn.text, turn.expected)
    return Subject(name, source, _find_eos(study, source), cases)


def _find_eos(study: Study, source: str) -> str:
    """The token that ends a turn with content: generation stops there, and the parser does not get to see it."""
    end = find_ends(study, ())[0].strip()
    tokens = [marker for marker in find_markers(source) if end.startswith(marker)]
    if tokens:
        return max(tokens, key=len)
    return end if re.fullmatch(r"\S{2,24}", end) else EOS


def count_calls(case: Case) -> int:
    return len(case.expected["tool_calls"])


def list_needles(expected: JsonObject) -> list[str]:
    """Words that only the fields hold, to find them again wherever they end up."""
    found: list[str] = []
    for text in (expected["reasoning_content"], expected["content"]):
        found += [line.strip() for line in (text or "").splitlines() if line.strip()]
    for call in expected["tool_calls"]:
        found += [call["name"], *_list_words(call["arguments"])]
    return found


def _list_words(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [word for key, inner in value.items() for word in (key, *_list_words(inner))]
    if isinstance(value, list):
        return [word for inner in value for word in _list_words(inner)]
    return re.findall(r"\w{2,}", value) if isinstance(value, str) and value.isascii() else []
