"""The tool half.

It reads what stands behind reasoning: the text that our own reasoning half hands on, the content that one of vLLM's leaves,
or everything where there is none. Reasoning that comes later goes out as reasoning, where both halves are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chat_autoparser.tokens import TokenFilter

from .engine import ExtractedToolCallInformation, ToolParser, find_local, find_owner, find_required, list_tools
from .forced import constrain, make_forced_parser
from .messages import Outbox, make_extracted, read_message
from .reader import Reader, get_reader
from .reasoning import AutoReasoningParser, ReadText


class AutoToolParser(ToolParser):  # type: ignore[misc]
    """Reads the tool calls of any model whose chat template is understood."""

    engine_based_streaming = True
    supports_required_and_named = False  # forced calls are read here too, whatever form they have
    reads_after = AutoReasoningParser

    def __new__(cls, tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Make the half, or the one that vLLM insists on for this model."""
        owner = find_owner()
        required = find_required(owner, ToolParser) if owner is not None else None
        if required is not None:
            return required(tokenizer, *args, **kwargs)
        made = super().__new__(cls)
        made._owner = owner
        return made

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools)
        owner = self.__dict__.pop("_owner")
        other = getattr(owner, "reasoning_parser", None)
        self._reasoning = other if isinstance(other, AutoReasoningParser) else None
        self._follows = other is not None
        self._level = int(getattr(owner, "tool_strict_level", None) or 0)  # since vLLM 0.32
        self._reader: Reader = self._reasoning.reader if self._reasoning else get_reader(tokenizer)
        self._parser: Any = None
        self._filter: TokenFilter | None = None
        self._outbox = Outbox()

    def adjust_request(self, request: Any) -> Any:
        """Hold the model to a call where the request wants one, and have special tokens shown that mark calls."""
        tools = list_tools(request)
        if tools and self._reader.needs_special_tokens:
            request.skip_special_tokens = False
        return constrain(request, self._reader, tools, self._level)

    def get_remaining_unstreamed_args(self) -> str:
        """Return nothing: all arguments are streamed."""
        return ""

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Return what a piece of the output makes certain: content, calls, and reasoning that comes late."""
        if self._parser is None:
            return self._start_stream(delta_text, delta_token_ids, request)
        return self._outbox.send(self._parser.feed(self._filter.feed(delta_text, delta_token_ids)))  # type: ignore[union-attr]

    def _start_stream(self, text: str, ids: Sequence[int], request: Any) -> Any:
        self._parser = self._make_parser(request)
        handed_on = self._reasoning.filter if self._reasoning else None
        if handed_on is not None:
            self._filter = handed_on
            return self._outbox.send_later(self._parser.feed(text))
        self._filter = TokenFilter(self._reader.unknown_tokens)
        return self._outbox.send(self._parser.feed(self._filter.feed(text, ids)))

    def _make_parser(self, request: Any) -> Any:
        """Return the parser for what this half is given of an output."""
        tools = list_tools(request)
        forced = make_forced_parser(request, tools)
        if forced is not None:
            return forced
        if self._reasoning is None:
            return self._reader.plain.parser(tools, "" if self._follows else None)
        handed_on = self._reasoning.filter is not None
        return self._reader.format.parser(tools, self._reasoning.find_prompt(), after_reasoning=handed_on)

    def finish_streaming(self) -> Any:
        """Return what was held back until the end of the output."""
        if self._parser is None or self._filter is None:
            return None
        return self._outbox.send_all([*self._parser.feed(self._filter.finish()), *self._parser.finish()])

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return content and calls of what is left of a whole output."""
        if isinstance(model_output, ReadText):
            return make_extracted(model_output.message)
        if self._reasoning is not None:
            if not model_output:
                return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=None)
            tools = list_tools(request)
            parser = make_forced_parser(request, tools) or self._reader.format.parser(tools, after_reasoning=True)
        else:
            model_output = self._reader.drop_unknown_tokens(model_output, find_local("model_output_token_ids"))
            parser = self._make_parser(request)
        return make_extracted(read_message(parser, model_output))
