"""The second stage: what SGLang calls a tool-call detector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import Field
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import ToolCallItem
from sglang.srt.parser.response_template import ResponseTemplateToolDetector

from chat_autoparser import ChatFormat, Delta
from chat_autoparser.message import fold_deltas
from chat_autoparser.serve import Outbox, Reasoned, TagMaker, ToolChoice, describe_tools, make_parser

from . import LOG, engine
from .formats import get_reader
from .reading import Prompt, Reading, Turn


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
    calls: Sequence[CallItem | CallPiece]


_make = tuple.__new__
_TAGS = TagMaker(engine.compile_tag, LOG.warning)


class CallDetector(ResponseTemplateToolDetector):  # type: ignore[misc]
    """Makes content and tool calls of what follows the reasoning.

    SGLang makes one for each choice of a request, and others for a look at its constraint. A message of SGLang's that holds
    text and calls is sent text first: so what comes behind a call waits for the next piece of the output. Where the request
    wants one call at most, what follows the first is left out. Raises nothing.
    """

    def __init__(self, tokenizer: Any = None, prefix: str = "", tools: Sequence[Any] | None = None, **_: Any) -> None:
        BaseFormatDetector.__init__(self)
        self._turn = prefix.turn if isinstance(prefix, Prompt) else None
        self._reader = self._turn.reader if self._turn else get_reader(tokenizer)
        self._prompt = prefix or None
        self._tools = tools
        self._choice: Any = None
        self._reading: Reading | None = None
        self._outbox = Outbox()
        self._parsed: tuple[str, CallResult] | None = None
        self.tool_close_literals: list[str] = []
        self.incomplete_tool_call_indices: set[int] = set()

    @property
    def _left(self) -> Turn | None:
        """The turn on which the first stage has left what it read, if it is ours as well."""
        return self._turn if self._turn and self._turn.joined and self._turn.first else None

    def _start(self, tools: Sequence[Any]) -> Reading:
        described, format = describe_tools(self._tools or tools), self._reader.plain
        known = not engine.forwards_unknown_tools()
        parser = make_parser(format, described, self._prompt, after_reasoning=True, known_only=known)
        return Reading(self._reader, described, parser, self._turn)

    def has_tool_call(self, text: str) -> bool:
        """Whether a whole output is anything else than the text that it is."""
        if self._left:
            return self._left.has_calls
        result = self.detect_and_parse(text, self._tools or [])
        return bool(result.calls) or result.normal_text != text

    def detect_and_parse(self, text: str, tools: Sequence[Any]) -> Any:
        """Read a whole output. SGLang asks twice."""
        if self._parsed is None or self._parsed[0] != text:
            reading = self._left or self._start(tools)
            self._parsed = text, _make_whole(reading.read_whole(text))
            self._settle(reading)
        return self._parsed[1]

    def parse_streaming_increment(self, new_text: str, tools: Sequence[Any]) -> Any:
        """Read a piece of an output; return what can be sent with it: up to text that stands behind a call."""
        reading = self._left or self._reading
        if reading is None:
            reading = self._reading = self._start(tools)
        deltas = self._outbox.take(reading.read(new_text))
        if len(deltas) == 1:
            kind, piece, index, _, name = deltas[0]
            if kind != "tool_call":
                return _make(CallResult, (piece, []))
            if name is None:
                return _make(CallResult, ("", [_make(CallPiece, (index, piece, None))]))
        return _make_result(deltas)

    def finish(self, tools: Sequence[Any]) -> Any:
        """Return what was held back."""
        reading = self._left or self._reading
        deltas = reading.finish() if reading else []
        if reading:
            self._settle(reading)
        return _make_result(self._outbox.take_all(deltas))

    def _settle(self, reading: Reading | Turn) -> None:
        """Say which calls were cut off: SGLang does not call such an answer complete."""
        self.incomplete_tool_call_indices = set(reading.incomplete)
        if self._turn:
            self._turn.cut = bool(reading.incomplete)

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
    ) -> Any:
        """Return the structural tag for a choice, for what follows the reasoning."""
        return make_tag(self._reader.format, tools, tool_choice, parallel_tool_calls is not False)


def _make_result(deltas: list[Delta]) -> CallResult:
    """Return deltas as SGLang's result; neighbouring pieces of the same arguments are one."""
    items: list[CallItem | CallPiece] = []
    texts: list[str] = []
    for kind, text, index, call_id, name in deltas:
        if kind != "tool_call":
            texts.append(text)
        elif name is not None:
            items.append(CallItem(tool_index=index, name=name, parameters=text, id=call_id))
        elif items and items[-1].tool_index == index and items[-1].name is None:
            items[-1] = CallPiece(index or 0, items[-1].parameters + text)
        else:
            items.append(CallPiece(index or 0, text))
    return CallResult("".join(texts), items)


def _make_whole(deltas: list[Delta]) -> CallResult:
    """Return the deltas of a whole output as a result in which each call is one item."""
    message = fold_deltas(deltas)
    calls = [
        CallItem(tool_index=index, id=call["id"], name=call["function"]["name"], parameters=call["function"]["arguments"])
        for index, call in enumerate(message.get("tool_calls", ()))
    ]
    return CallResult(message["content"] or "", calls)


def make_tag(format: ChatFormat, tools: Iterable[Any] | None, choice: Any, parallel: bool, reasoning: Reasoned = "ended") -> Any:
    """Return xgrammar's structural tag for a request, or None where the format has none; the log says why.

    ``choice`` is SGLang's: `auto`, `required` or one function's, of which there is then exactly one call. ``reasoning`` says
    what the tag has to hold of it: see :func:`chat_autoparser.build_structural_tag`.
    """
    backend = engine.read_setting("grammar_backend", engine.TAG_BACKEND)
    if backend != engine.TAG_BACKEND:
        _warn(backend)
        return None
    return _TAGS.make(format, describe_tools(tools), ToolChoice.read(choice), parallel=parallel, reasoning=reasoning)


@lru_cache
def _warn(backend: str) -> None:
    LOG.warning(
        "--grammar-backend %s cannot hold calls to the model's own format: SGLang's JSON form is used for calls that a "
        "request requires or names, and strict tools are not enforced elsewhere",
        backend,
    )
