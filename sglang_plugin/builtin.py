"""SGLang's parsers, put together and fed as its chat endpoint does it, without a server: what ``chat-autoparser doctor`` compares.

Knowledge of the order comes from SGLang 0.5.23, ``srt/entrypoints/openai/serving_chat.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.parser.template_detection import detect_reasoning_pattern
from transformers import AutoTokenizer

from . import NAME

_OWN = (NAME, "auto")

Result = tuple[str, str, Sequence[Any]]
"""Reasoning, content and pieces of calls."""


@dataclass(frozen=True)
class Stages:
    """What an output is read with: the names of two of SGLang's parsers (or None), and what they are told."""

    calls: str | None
    reasoning: str | None
    tokenizer: Any
    prompt: str = ""
    tools: Sequence[Any] = ()
    thinks: bool | None = None

    def make_first(self) -> Any:
        """Make the parser of reasoning, if there is one."""
        if self.reasoning is None:
            return None
        reads_calls = bool(self.calls and self.tools)
        options = {"tokenizer": self.tokenizer, "tool_call_parser_active": reads_calls, "prefix": self.prompt}
        return ReasoningParser(self.reasoning, force_reasoning=self.thinks, **options)

    def make_second(self) -> Any:
        """Make the parser of calls, if there is one and the request has tools."""
        if self.calls is None or not self.tools:
            return None
        return FunctionCallParser(list(self.tools), self.calls, tokenizer=self.tokenizer, prefix=self.prompt)

    def read_pieces(self, pieces: Sequence[str]) -> dict[str, Any]:
        """Return the message of a stream that comes in these pieces."""
        first, second = self.make_first(), self.make_second()
        results: list[Result] = []
        for number, piece in enumerate(pieces):
            thought, rest = first.parse_stream_chunk(piece) if first else ("", piece)
            if first and number == len(pieces) - 1:
                more = first.parse_stream_end()
                thought, rest = (thought or "") + (more[0] or ""), (rest or "") + (more[1] or "")
            text, items = second.parse_stream_chunk(rest or "") if second else (rest, [])
            results.append((thought or "", text or "", items))
        if second:
            text, items = second.parse_stream_end()
            results.append(("", text or "", items))
        return _fold(results)

    def read_whole(self, text: str) -> dict[str, Any]:
        """Return the message of an output that is read at once."""
        first, second = self.make_first(), self.make_second()
        thought, rest = first.parse_non_stream(text) if first else ("", text)
        items: Sequence[Any] = []
        if second and second.has_tool_call(rest):
            rest, items = second.parse_non_stream(rest)
        return _fold([(thought or "", rest or "", items)], streamed=False)


def detect_thinking(tokenizer: Any, reasoning: str | None, switches: Mapping[str, Any]) -> bool:
    """Return what SGLang tells a parser of reasoning about a request with these switches: whether the model thinks.

    Its own code says so, by the parser's name and the template.
    """
    if reasoning is None:
        return False
    template = tokenizer.chat_template
    source = next(iter(template.values()), None) if isinstance(template, dict) else template
    forced, toggle = detect_reasoning_pattern(source)
    try:
        detector = ReasoningParser(reasoning, tokenizer=tokenizer).detector
    except ValueError:  # of one that wants more of a tokenizer: the server, too, goes on without
        detector = None
    manager = SimpleNamespace(reasoning_config=toggle)
    serving = SimpleNamespace(reasoning_parser=reasoning, template_manager=manager, _reasoning_detector=detector)
    request = SimpleNamespace(chat_template_kwargs=dict(switches), reasoning_effort=switches.get("reasoning_effort"))
    return forced or bool(OpenAIServingChat._get_reasoning_from_request(serving, request))


def make_tools(tools: Iterable[dict[str, Any]] | None) -> list[Any]:
    """Return OpenAI-style dicts as SGLang's tools."""
    return [Tool(**tool) for tool in tools or ()]


def _fold(results: Sequence[Result], streamed: bool = True) -> dict[str, Any]:
    """Return the message that a client makes of results; a name starts a call."""
    calls: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    for item in (item for _, _, items in results for item in items):
        if item.name or item.tool_index not in places or not streamed:
            places[item.tool_index] = len(calls)
            function = {"name": item.name, "arguments": ""}
            calls.append({"id": getattr(item, "id", None), "type": "function", "function": function})
        calls[places[item.tool_index]]["function"]["arguments"] += item.parameters or ""
    reasoning, content = "".join(result[0] for result in results), "".join(result[1] for result in results)
    return {"reasoning_content": reasoning or None, "content": content or None, "tool_calls": calls}


def open_engine(folder: Path) -> BuiltIn:
    """Return the parsers of the installed SGLang with the tokenizer in a folder. Raises what transformers raises for
    such a tokenizer.
    """
    logging.getLogger("sglang").setLevel(logging.CRITICAL)
    return BuiltIn(AutoTokenizer.from_pretrained(str(folder)))


class BuiltIn:
    """SGLang's parsers, but for this package's own."""

    name = "SGLang"

    def __init__(self, tokenizer: Any) -> None:
        self.version = version("sglang")
        self.calls: Sequence[str] = sorted(name for name in FunctionCallParser.ToolCallParserEnum if name not in _OWN)
        self.reasoning: Sequence[str] = sorted(name for name in ReasoningParser.DetectorMap if name not in _OWN)
        self._tokenizer = tokenizer

    def read(self, turn: Any, calls: str | None, reasoning: str | None, stream: bool) -> Mapping[str, Any]:
        """Read a turn (a ``KnownTurn``) whole or token by token into an OpenAI message. Raises what the parsers raise."""
        thinks = detect_thinking(self._tokenizer, reasoning, dict(turn.switches))
        stages, text = Stages(calls, reasoning, self._tokenizer, turn.prompt, make_tools(turn.tools), thinks), turn.text
        if not stream:
            return stages.read_whole(text)
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        ends = [len(self._tokenizer.decode(ids[:count])) for count in range(1, len(ids))]
        places = [0, *(end for end in ends if end <= len(text)), len(text)]
        return stages.read_pieces([text[start:end] for start, end in pairwise(places)])

    def say_flags(self, calls: str | None, reasoning: str | None) -> str:
        """Return the flags of ``python -m sglang.launch_server``."""
        flags = [f"--{kind} {name}" for kind, name in (("tool-call-parser", calls), ("reasoning-parser", reasoning)) if name]
        return " ".join(["python -m sglang.launch_server --model-path MODEL", *flags])
