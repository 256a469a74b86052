"""SGLang's two parsers of an output, put together and fed as its chat endpoint does it, without a server.

Knowledge of the order comes from SGLang 0.5.23, `srt/entrypoints/openai/serving_chat.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

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
        """The parser of reasoning, if there is one."""
        if self.reasoning is None:
            return None
        reads_calls = bool(self.calls and self.tools)
        options = {"tokenizer": self.tokenizer, "tool_call_parser_active": reads_calls, "prefix": self.prompt}
        return ReasoningParser(self.reasoning, force_reasoning=self.thinks, **options)

    def make_second(self) -> Any:
        """The parser of calls, if there is one and the request has tools."""
        if self.calls is None or not self.tools:
            return None
        return FunctionCallParser(list(self.tools), self.calls, tokenizer=self.tokenizer, prefix=self.prompt)

    def read_pieces(self, pieces: Sequence[str]) -> dict[str, Any]:
        """The message of a stream that comes in these pieces."""
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
        """The message of an output that is read at once."""
        first, second = self.make_first(), self.make_second()
        thought, rest = first.parse_non_stream(text) if first else ("", text)
        items: Sequence[Any] = []
        if second and second.has_tool_call(rest):
            rest, items = second.parse_non_stream(rest)
        return _fold([(thought or "", rest or "", items)], streamed=False)


def make_tools(tools: Iterable[dict[str, Any]] | None) -> list[Any]:
    """OpenAI-style dicts as SGLang's tools."""
    return [Tool(**tool) for tool in tools or ()]


def _fold(results: Iterable[Result], streamed: bool = True) -> dict[str, Any]:
    """The message that a client makes of results; a name starts a call."""
    calls: list[dict[str, Any]] = []
    places: dict[int, int] = {}
    results = list(results)
    for item in (item for _, _, items in results for item in items):
        if item.name or item.tool_index not in places or not streamed:
            places[item.tool_index] = len(calls)
            function = {"name": item.name, "arguments": ""}
            calls.append({"id": getattr(item, "id", None), "type": "function", "function": function})
        calls[places[item.tool_index]]["function"]["arguments"] += item.parameters or ""
    return {
        "reasoning_content": "".join(thought for thought, _, _ in results) or None,
        "content": "".join(text for _, text, _ in results) or None,
        "tool_calls": calls,
    }


def strip_ids(message: dict[str, Any]) -> dict[str, Any]:
    """A message without its calls' ids, which may be made up."""
    return {**message, "tool_calls": [call["function"] for call in message["tool_calls"]]}
