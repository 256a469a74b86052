"""vLLM's built-in parsers, read with as its chat endpoint does, without a server: what ``chat-autoparser doctor`` compares.

Knowledge of the calls comes from vLLM 0.32.0, ``entrypoints/openai/chat_completion/serving.py`` and
``parser/abstract_parser.py``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import vllm
from tokenizers.decoders import DecodeStream
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser import ParserManager
from vllm.reasoning import ReasoningParserManager
from vllm.tokenizers import get_tokenizer
from vllm.tool_parsers import ToolParserManager

from . import NAMES
from .engine import hides_special

Pair = tuple["str | None", "str | None"]


def open_engine(folder: Path) -> BuiltIn:
    """Return the parsers of the installed vLLM with the tokenizer in a folder. Raises what vLLM raises for such a
    tokenizer.
    """
    logging.getLogger("vllm").setLevel(logging.CRITICAL)
    return BuiltIn(get_tokenizer(str(folder)))


class BuiltIn:
    """vLLM's registered parsers, but for this package's own."""

    name = "vLLM"

    def __init__(self, tokenizer: Any) -> None:
        self.version = str(vllm.__version__)
        self.calls: Sequence[str] = [name for name in ToolParserManager.list_registered() if name not in NAMES]
        self.reasoning: Sequence[str] = [name for name in ReasoningParserManager.list_registered() if name not in NAMES]
        self.tokenizer = tokenizer
        self._classes: dict[Pair, Any] = {}

    def read(self, turn: Any, calls: str | None, reasoning: str | None, stream: bool) -> Mapping[str, Any]:
        """Read a turn (a ``KnownTurn``) whole or token by token into an OpenAI message. Raises what the parsers raise."""
        request, parser = self.open(turn, (calls, reasoning))
        prompt, ids = self.encode(turn.prompt), self.encode(turn.text)
        pieces = self.decode(ids, request)
        if not stream:
            if hasattr(parser, "set_prompt_token_ids"):
                parser.set_prompt_token_ids(prompt)
            thought, content, found = parser.parse("".join(pieces), request, enable_auto_tools=True, model_output_token_ids=ids)
            called = [{"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in found or []]
            return {"reasoning_content": thought, "content": content, "tool_calls": called}
        steps = [*zip(ids, pieces, strict=True), (self.tokenizer.eos_token_id, "")]
        deltas = [
            parser.parse_delta(text, [token], request, prompt, finished=number == len(steps) - 1)
            for number, (token, text) in enumerate(steps)
        ]
        return _fold([delta.model_dump(exclude_none=True) for delta in deltas if delta is not None])

    def say_flags(self, calls: str | None, reasoning: str | None) -> str:
        """Return the flags of ``vllm serve``."""
        flags = [f"--enable-auto-tool-choice --tool-call-parser {calls}"] if calls else []
        return " ".join(["vllm serve MODEL", *flags, *([f"--reasoning-parser {reasoning}"] if reasoning else [])])

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def get_class(self, pair: Pair) -> Any:
        """Return the class that makes a parser for each request. Raises what vLLM raises for a tokenizer that does not fit."""
        if pair not in self._classes:
            self._classes[pair] = ParserManager.get_parser(
                tool_parser_name=pair[0],
                reasoning_parser_name=pair[1],
                enable_auto_tools=True,
                model_name="model",
                tokenizer=self.tokenizer,
            )
        return self._classes[pair]

    def open(self, turn: Any, pair: Pair) -> tuple[Any, Any]:
        """Return a request and a parser for it, as the chat endpoint makes them."""
        switches = dict(turn.switches)
        request = ChatCompletionRequest(
            model="model",
            messages=list(turn.messages),
            tools=list(turn.tools) or None,
            chat_template_kwargs=switches or None,
        )
        make = self.get_class(pair)
        request = make(self.tokenizer, request.tools, chat_template_kwargs=switches).adjust_request(request)
        return request, make(self.tokenizer, request.tools, chat_template_kwargs=switches)

    def decode(self, ids: list[int], request: Any) -> list[str]:
        """Return what each token adds to the text, as vLLM's detokenizer says it."""
        stream, backend = DecodeStream(skip_special_tokens=hides_special(request)), self.tokenizer._tokenizer
        return [stream.step(backend, token) or "" for token in ids]


def _fold(deltas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join deltas into a message."""
    calls: dict[int, dict[str, str]] = {}
    for piece in (piece for delta in deltas for piece in delta.get("tool_calls", ())):
        call = calls.setdefault(piece["index"], {"name": "", "arguments": ""})
        for key in call:
            call[key] += piece.get("function", {}).get(key) or ""
    texts = {name: "".join(delta.get(name) or "" for delta in deltas) or None for name in ("reasoning", "content")}
    called = [{"function": call} for _, call in sorted(calls.items())]
    return {"reasoning_content": texts["reasoning"], "content": texts["content"], "tool_calls": called}
