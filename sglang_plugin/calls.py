"""The second stage: what SGLang calls a tool-call detector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from chat_autoparser import Delta
from chat_autoparser.parser import StreamParser

from . import LOG, constraints
from .engine import (
    BaseFormatDetector,
    ResponseTemplateToolDetector,
    ToolCallItem,
    forwards_unknown_tools,
)
from .formats import Prompt, Reader, get_reader
from .specials import TokenDropper
from .tools import describe_tools


class CallItem(ToolCallItem):  # type: ignore[misc]
    """The beginning of a call, with the id that the model gave it. SGLang copies these and adds to them."""

    id: str | None = Field(default=None, exclude=True)


class CallPiece(NamedTuple):
    """More of a call's arguments: SGLang's `ToolCallItem`, which it only reads, without a validation a token."""

    tool_index: int
    parameters: str
    name: None = None


class CallResult(NamedTuple):
    """What SGLang expects of a tool-call detector: its `StreamingParseResult`, without a validation a token."""

    normal_text: str
    calls: list[CallItem | CallPiece]


_make = tuple.__new__


class KnownCallParser(StreamParser):
    """Takes only what names a tool of the request for a call; anything else is text."""

    def _admit(self, name: str) -> bool:
        return super()._admit(name) and self._tools is not None and name in self._tools


class CallStream:
    """Reads one output. Raises nothing. Where the request wants one call at most, what follows the first is left out."""

    def __init__(self, reader: Reader, tools: list[dict[str, Any]], prompt: Prompt | str | None) -> None:
        make = StreamParser if forwards_unknown_tools() else KnownCallParser
        self._parser: Any = make(reader.calls_format, tools, prompt, True)
        self._single = getattr(prompt, "single", False)
        self._late: list[Delta] = []
        # Where the first stage is ours, it has dropped them.
        self._dropper = reader.make_dropper() if not reader.splits else TokenDropper(frozenset(), ())

    @property
    def incomplete(self) -> set[int]:
        """The numbers of the calls that were cut off."""
        return {index for index in self._parser.incomplete_calls if not index or not self._single}

    def feed(self, text: str) -> CallResult:
        """Read a piece; return what can be sent with it: up to text that stands behind a call, which waits for the next."""
        try:
            deltas = self._parser.feed(self._dropper.feed(text))
        except Exception:  # whatever it is, the client gets its text
            deltas = self._give_up(text)
        if self._late:
            deltas, self._late = self._late + deltas, []
        if len(deltas) == 1:
            kind, piece, index, _, name = deltas[0]
            if kind != "tool_call":
                return _make(CallResult, (piece, []))
            if name is None and (not index or not self._single):
                return _make(CallResult, ("", [_make(CallPiece, (index, piece, None))]))
        return self._make_result(self._keep_late(deltas))

    def finish(self, text: str = "") -> CallResult:
        """Read a last piece; return all that is left."""
        text, half = self._dropper.finish(text)
        try:
            deltas = self._parser.feed(text)
            if half and not self._parser.holds_back:
                deltas += self._parser.feed(half)
            deltas += self._parser.finish()
        except Exception:
            deltas = self._give_up(text)
        deltas, self._late = self._late + deltas, []
        return self._make_result(deltas)

    def _give_up(self, text: str) -> list[Delta]:
        LOG.exception("Reading tool calls failed, and the rest of the output is content. Please report this")
        self._parser = _Text()
        return [Delta("content", text)] if text else []

    def _keep_late(self, deltas: list[Delta]) -> list[Delta]:
        """Return the deltas before text that stands behind a call, and keep the others."""
        for place in range(1, len(deltas)):
            if deltas[place].kind != "tool_call" and deltas[place - 1].kind == "tool_call":
                self._late = deltas[place:]
                return deltas[:place]
        return deltas

    def _make_result(self, deltas: list[Delta]) -> CallResult:
        """Return deltas as SGLang's result; neighbouring pieces of the same arguments are one."""
        items: list[CallItem | CallPiece] = []
        texts: list[str] = []
        for kind, text, index, call_id, name in deltas:
            if kind != "tool_call":
                texts.append(text)
            elif index and self._single:
                continue
            elif name is not None:
                items.append(CallItem(tool_index=index, name=name, parameters=text, id=call_id))
            elif items and items[-1].tool_index == index and items[-1].name is None:
                items[-1] = CallPiece(index or 0, items[-1].parameters + text)
            else:
                items.append(CallPiece(index or 0, text))
        return CallResult("".join(texts), items)


class _Text:
    """What reads on where reading has failed."""

    incomplete_calls: frozenset[int] = frozenset()
    holds_back = False

    def feed(self, text: str) -> list[Delta]:
        return [Delta("content", text)] if text else []

    def finish(self) -> list[Delta]:
        return []


class CallDetector(ResponseTemplateToolDetector):  # type: ignore[misc]
    """Reads what follows the reasoning: content and tool calls; see :meth:`ChatFormat.parser`.

    SGLang makes one for each choice of a request, and others for a look at its constraint. A message of SGLang's that holds
    text and calls is sent text first: so what comes behind a call waits for the next piece of the output. Raises nothing.
    """

    def __init__(
        self,
        tokenizer: Any = None,
        prefix: str = "",
        tools: Sequence[Any] | None = None,
        constrained: bool = False,
        **_: Any,
    ) -> None:
        BaseFormatDetector.__init__(self)
        self._reader = getattr(prefix, "reader", None) or get_reader(tokenizer)
        self._prompt = prefix or None
        self._tools = tools
        self._choice: Any = None
        self._stream: CallStream | None = None
        self._parsed: tuple[str, Any] | None = None
        self.tool_close_literals: list[str] = []
        self.incomplete_tool_call_indices: set[int] = set()

    def _make_stream(self, tools: Sequence[Any]) -> CallStream:
        return CallStream(self._reader, describe_tools(self._tools or tools) or [], self._prompt)

    def has_tool_call(self, text: str) -> bool:
        """Whether a whole output is anything else than the text that it is."""
        result = self.detect_and_parse(text, self._tools or [])
        return bool(result.calls) or result.normal_text != text

    def detect_and_parse(self, text: str, tools: Sequence[Any]) -> Any:
        """Read a whole output. SGLang asks twice."""
        if self._parsed is None or self._parsed[0] != text:
            stream = self._make_stream(tools)
            result = stream.finish(text)
            calls: dict[int, Any] = {}
            for item in result.calls:
                if item.tool_index in calls:
                    calls[item.tool_index].parameters += item.parameters
                else:
                    calls[item.tool_index] = item
            result = CallResult(result.normal_text, list(calls.values()))
            self.incomplete_tool_call_indices = stream.incomplete
            self._parsed = text, result
        last_read.incomplete = bool(self.incomplete_tool_call_indices)
        return self._parsed[1]

    def parse_streaming_increment(self, new_text: str, tools: Sequence[Any]) -> Any:
        """Read a piece of an output."""
        if self._stream is None:
            self._stream = self._make_stream(tools)
        return self._stream.feed(new_text)

    def finish(self, tools: Sequence[Any]) -> Any:
        """Return what was held back."""
        stream = self._stream or self._make_stream(tools)
        result = stream.finish()
        self.incomplete_tool_call_indices = stream.incomplete
        return result

    def get_required_tool_parser(self, tool_choice: Any) -> None:
        """SGLang's question for a parser of its JSON form, which says what the request wants: this is it."""
        self._choice = tool_choice

    def supports_structural_tag(self) -> bool:
        """Whether calls that a request requires are written in the model's own format."""
        choice = self._choice if self._choice not in (None, "auto", "none") else "required"
        return self.get_structural_tag(self._tools, choice) is not None

    def validate_structure_constraint_request(
        self,
        tool_choice: Any,
        parallel_tool_calls: bool,
        strict_requested: bool,
        *,
        tools: Sequence[Any],
        thinking_mode: bool = False,
    ) -> Any:
        """Return the structural tag for a request, or None where it needs none or the format has none."""
        if tool_choice == "auto" and not strict_requested and parallel_tool_calls is not False:
            return None
        return self.get_structural_tag(tools, tool_choice, thinking_mode, parallel_tool_calls)

    def get_structural_tag(
        self,
        tools: Sequence[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
        message_start: bool = False,
    ) -> Any:
        """Return the structural tag for a choice; at the start of a message it also holds the reasoning."""
        described = describe_tools(tools) or []
        parallel = parallel_tool_calls is not False
        return constraints.make_tag(self._reader.format, described, tool_choice, parallel, message_start)

    def open_call_closer(self, text: str) -> None:
        """SGLang's question for the end of a call that a stop token has cut off: the parser does not need it."""

    def structure_info(self) -> Callable[[str], Any]:
        """SGLang's older description of a format, which is never asked for where there is a structural tag."""
        raise NotImplementedError("the calls of this format are held by a structural tag")


class _LastRead:
    """Whether the output read last had a call that was cut off: SGLang has no place for that where it does not stream."""

    incomplete = False


last_read = _LastRead()
