"""SGLang's built-in parsers, read with as its chat endpoint does, without a server: what ``chat-autoparser doctor``
compares.

Knowledge of the order comes from SGLang 0.5.23, ``srt/entrypoints/openai/serving_chat.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from transformers import AutoTokenizer

_OWN = ("auto", "chat_template")


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
        tools = [Tool(**tool) for tool in turn.tools]
        options: dict[str, Any] = {"tokenizer": self._tokenizer, "prefix": turn.prompt}
        active = bool(calls and tools)
        first = ReasoningParser(reasoning, tool_call_parser_active=active, **options) if reasoning else None
        second = FunctionCallParser(tools, calls, **options) if active else None
        if not stream:
            thought, rest = first.parse_non_stream(turn.text) if first else ("", turn.text)
            items: Sequence[Any] = ()
            if second and second.has_tool_call(rest):
                rest, items = second.parse_non_stream(rest)
            return _fold([thought or ""], [rest or ""], items, whole=True)
        return self._stream(turn.text, first, second)

    def _stream(self, text: str, first: Any, second: Any) -> dict[str, Any]:
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        ends = [len(self._tokenizer.decode(ids[:count])) for count in range(1, len(ids))]
        places = [0, *(end for end in ends if end <= len(text)), len(text)]
        thoughts, texts, items = [], [], []
        for start, end in pairwise(places):
            thought, rest = first.parse_stream_chunk(text[start:end]) if first else ("", text[start:end])
            if first and end == len(text):
                more = first.parse_stream_end()
                thought, rest = (thought or "") + (more[0] or ""), (rest or "") + (more[1] or "")
            shown, found = second.parse_stream_chunk(rest or "") if second else (rest, [])
            thoughts.append(thought or "")
            texts.append(shown or "")
            items += found
        if second:
            shown, found = second.parse_stream_end()
            texts.append(shown or "")
            items += found
        return _fold(thoughts, texts, items)

    def say_flags(self, calls: str | None, reasoning: str | None) -> str:
        """Return the flags of ``python -m sglang.launch_server``."""
        flags = [f"--{kind} {name}" for kind, name in (("tool-call-parser", calls), ("reasoning-parser", reasoning)) if name]
        return " ".join(["python -m sglang.launch_server --model-path MODEL", *flags])


def _fold(thoughts: Sequence[str], texts: Sequence[str], items: Sequence[Any], whole: bool = False) -> dict[str, Any]:
    """Join pieces into a message; a name starts a call."""
    calls: list[dict[str, str]] = []
    places: dict[int, int] = {}
    for item in items:
        if item.name or item.tool_index not in places or whole:
            places[item.tool_index] = len(calls)
            calls.append({"name": item.name or "", "arguments": ""})
        calls[places[item.tool_index]]["arguments"] += item.parameters or ""
    called = [{"function": call} for call in calls]
    return {"reasoning_content": "".join(thoughts) or None, "content": "".join(texts) or None, "tool_calls": called}
