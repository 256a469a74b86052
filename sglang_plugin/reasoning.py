"""The first stage: what SGLang calls a reasoning detector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from chat_autoparser import ChatFormat, Delta

from . import LOG
from .engine import GRAMMAR_FROM_START, ResponseTemplateReasoningDetector
from .formats import Reader, get_reader
from .tools import describe_tools


class Split(NamedTuple):
    """What SGLang expects of a reasoning detector (`StreamingParseResult` of `srt/parser/reasoning_parser.py`)."""

    normal_text: str = ""
    reasoning_text: str = ""


_make = tuple.__new__


class _Stage(Protocol):
    @property
    def ended(self) -> bool: ...

    @property
    def holds_back(self) -> bool: ...

    def feed(self, text: str) -> tuple[str, str]: ...

    def finish(self) -> tuple[str, str]: ...


class _Whole:
    """Reads the whole message, in requests whose text goes to no second stage: its content is unwrapped here."""

    ended = False

    def __init__(self, format: ChatFormat, prompt: str | None) -> None:
        self._parser = format.parser([], prompt)

    @property
    def holds_back(self) -> bool:
        return self._parser.holds_back

    def feed(self, text: str) -> tuple[str, str]:
        return _sort(self._parser.feed(text))

    def finish(self) -> tuple[str, str]:
        return _sort(self._parser.finish())


class _Nothing:
    """Hands all text on: there is no reasoning."""

    ended = True
    holds_back = False

    def feed(self, text: str) -> tuple[str, str]:
        return "", text

    def finish(self) -> tuple[str, str]:
        return "", ""


def _sort(deltas: Iterable[Delta]) -> tuple[str, str]:
    texts: dict[str, list[str]] = {"reasoning": [], "content": []}
    for delta in deltas:
        texts.get(delta.kind, texts["content"]).append(delta.text)
    return "".join(texts["reasoning"]), "".join(texts["content"])


class ReasoningStream:
    """Reads one output. Raises nothing.

    ``collects`` keeps reasoning until something else comes, and ``keeps`` remembers all of it for the case that nothing
    does: it is then what the client gets as content.
    """

    collects = False
    keeps = False

    def __init__(self, reader: Reader, stage: _Stage) -> None:
        self._stage = stage
        self._over = False  # whether all that is still to come is handed on
        self._dropper = reader.make_dropper()
        self._waiting: list[str] = []
        self._kept: list[str] = []
        self._answered = False

    def feed(self, text: str) -> Split:
        """Split a piece."""
        text = self._dropper.feed(text)
        if self._over:
            return _make(Split, (text, ""))
        try:
            reasoning, rest = self._stage.feed(text)
        except Exception:
            reasoning, rest = self._give_up(text)
        if self.keeps:
            self._kept.append(reasoning)
            self._answered = self._answered or bool(rest)
        if self.collects:
            self._waiting.append(reasoning)
            reasoning = ""
            if rest:
                reasoning, self._waiting = "".join(self._waiting), []
        self._over = self._stage.ended and not self._waiting and (self._answered or not self.keeps)
        return _make(Split, (rest, reasoning))

    def finish(self, text: str = "") -> Split:
        """Split a last piece, and what was held back."""
        text, half = self._dropper.finish(text)
        try:
            reasoning, rest = self._stage.feed(text)
            more = self._stage.feed(half) if half and not self._stage.holds_back else ("", "")
            end = self._stage.finish()
            reasoning, rest = reasoning + more[0] + end[0], rest + more[1] + end[1]
        except Exception:
            reasoning, rest = self._give_up(text)
        if self.keeps and not self._answered and not rest:
            return Split("".join([*self._kept, reasoning]), "")
        return Split(rest, "".join([*self._waiting, reasoning]))

    def _give_up(self, text: str) -> tuple[str, str]:
        """Go on without a stage that has failed: whatever it was, the client gets its text."""
        LOG.exception("Reading reasoning failed, and the rest of the output is content. Please report this")
        self._stage = _Nothing()
        return "", text


class ReasoningDetector(ResponseTemplateReasoningDetector):  # type: ignore[misc]
    """Splits an output into reasoning and the rest; see :meth:`ChatFormat.reasoning_splitter`.

    SGLang makes one for each choice of a request, others for a look at their markers, and one in each scheduler. Where the
    prompt is known it decides whether reasoning is open, and not what SGLang thinks (``force_reasoning``). In a request
    whose calls nobody reads this is the only stage, and takes the markup of content off as well. Raises nothing.
    """

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool | None = None,
        tokenizer: Any = None,
        tool_call_parser_active: bool = False,
        prefix: str = "",
        tools: Sequence[Any] | None = None,
        grammar_start: str | None = None,
        force_nonempty_content: bool = False,
        **_: Any,
    ) -> None:
        reader = getattr(prefix, "reader", None) or get_reader(tokenizer)
        self._reader = reader
        self._prompt = prefix or None
        self._tools = tools
        self._reads_calls = tool_call_parser_active
        self._grammar_start = grammar_start
        self._nonempty = force_nonempty_content
        self._stream: ReasoningStream | None = None
        self.stream_reasoning = stream_reasoning
        # What SGLang reads of a detector besides its results.
        self.think_start_token = reader.think_start
        self.think_end_token = reader.think_end
        self.think_start_self_label = ""
        self.think_excluded_tokens = None
        self.message_start_think_openers = [reader.think_start] if reader.think_start else []
        self.answer_started = False
        self.reasoning_default = reader.reasoning_default

    def _make_stream(self) -> ReasoningStream:
        stream = ReasoningStream(self._reader, self._make_stage())
        stream.keeps = self._nonempty
        return stream

    def _make_stage(self) -> _Stage:
        format = self._reader.format
        if self._grammar_start == GRAMMAR_FROM_START:
            return _Nothing()
        if not self._reads_calls and self._grammar_start is None:
            return _Whole(format, self._prompt)
        return format.reasoning_splitter(describe_tools(self._tools) if self._reads_calls else [], self._prompt)

    def detect_and_parse(self, text: str) -> Split:
        """Split a whole output; with ``force_nonempty_content`` all of it is content where nothing else would be."""
        return self._make_stream().finish(text)

    def parse_streaming_increment(self, new_text: str) -> Split:
        """Split a piece of an output."""
        if self._stream is None:
            self._stream = self._make_stream()
            self._stream.collects = not self.stream_reasoning
        return self._stream.feed(new_text)

    def finish(self) -> Split:
        """Return what was held back; with ``force_nonempty_content`` all reasoning, where there was nothing else."""
        return (self._stream or self._make_stream()).finish()

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        """Return the tokens after which reasoning is over: SGLang counts up to them, and lets grammars begin there."""
        return list(tokenizer.encode(self.think_end_token, add_special_tokens=False)) if self.think_end_token else []

    def get_self_opened_think_start_token_ids(self, tokenizer: Any) -> list[int] | None:
        """Return the tokens with which the model itself begins to reason: SGLang counts from them."""
        reasoning = self._reader.format.reasoning
        start = reasoning.start.before + reasoning.start.text if reasoning else ""
        return list(tokenizer.encode(start, add_special_tokens=False)) or None

    def starts_message(self, prefix: str) -> bool:
        """Whether the model may reason behind a prompt, and may not."""
        return find_state(self._reader, prefix) == "open"

    def answer_opener(self, prefix: str) -> str:
        """Return what has to stand between a prompt and content that the client began: reasoning may have to be closed."""
        format, state = self._reader.format, find_state(self._reader, prefix)
        opener = format.content.start.written if format.content.wrapped == "always" else ""
        if state == "reasoning" and format.reasoning is not None:
            return format.reasoning.end.written + opener
        return opener if state == "open" else ""

    def answer_rest_structural_tag(self, prefix: str) -> None:
        """SGLang's question for a grammar of the rest of an answer: there is none."""

    def json_answer_structural_tag(self, json_schema: Any, **_: Any) -> None:
        """SGLang's question for a grammar of a JSON answer: its own is used."""

    def json_output_started(self, text: str) -> bool:
        """Whether the output has come to what a grammar holds."""
        splitter = self._reader.format.reasoning_splitter([], self._prompt)
        splitter.feed(text)
        return splitter.reasoning_ended

    def get_answer_frame(self) -> None:
        """SGLang's question for markers around answers that grammars must leave alone: there are none."""


def find_state(reader: Reader, prompt: str) -> str:
    """Return what a prompt leaves to the model: `reasoning` (it is open), `content` (it is over), or `open`."""
    splitter = reader.format.reasoning_splitter([], prompt)
    if splitter.in_reasoning:
        return "reasoning"
    return "content" if splitter.reasoning_ended else "open"
