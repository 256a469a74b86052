"""The first stage: what SGLang calls a reasoning detector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sglang.srt.parser.response_template import GRAMMAR_FROM_START, ResponseTemplateReasoningDetector

from chat_autoparser import Delta
from chat_autoparser.serve import SplitReader, describe_tools, make_parser

from . import engine
from .formats import get_reader
from .reading import Prompt, Reading


class Split(NamedTuple):
    """What SGLang expects of a reasoning detector (`StreamingParseResult` of `srt/parser/reasoning_parser.py`)."""

    normal_text: str = ""
    reasoning_text: str = ""


_make = tuple.__new__


class ReasoningDetector(ResponseTemplateReasoningDetector):  # type: ignore[misc]
    """Takes the reasoning out of an output.

    SGLang makes one for each choice of a request, others for a look at their markers, and one in each scheduler. Where the
    prompt is known it decides whether reasoning is open, else the caller (``force_reasoning``). In a request
    whose calls nobody reads this is the only stage, and takes the markup of content off as well. What is reasoning stays
    reasoning: `force_nonempty_content`, by which a request asks for it as content, is not obeyed. Raises nothing.
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
        **_: Any,
    ) -> None:
        self._turn = prefix.turn if isinstance(prefix, Prompt) else None
        self._reader = reader = self._turn.reader if self._turn else get_reader(tokenizer)
        self._prompt = prefix or (reader.thinking_prompt if force_reasoning else None)
        self._tools = tools
        self._reads_calls = tool_call_parser_active
        self._grammar_start = grammar_start
        self._joined = bool(self._turn and self._turn.joined and tool_call_parser_active)
        self._reading: Reading | None = None
        self._waiting: list[str] | None = None if stream_reasoning else []
        self.stream_reasoning = stream_reasoning
        # What SGLang reads of a detector besides its results.
        self.think_start_token = reader.format.reasoning.start.text if reader.format.reasoning else ""
        self.think_end_token = reader.end_mark
        self.think_start_self_label = ""
        self.think_excluded_tokens = None
        self.message_start_think_openers = [self.think_start_token] if self.think_start_token else []
        self.answer_started = False
        self.reasoning_default = reader.reasoning_default

    def _start(self) -> Reading:
        format, turn = self._reader.format, self._turn
        tools = turn.tools if turn else describe_tools(self._tools)
        if self._joined:
            parser: Any = make_parser(format, tools, self._prompt, known_only=not engine.forwards_unknown_tools())
        elif self._reads_calls or self._grammar_start is not None:
            parser = SplitReader(format.reasoning_splitter(tools if self._reads_calls else [], self._prompt))
            return Reading(self._reader, [], parser, turn, drops=False)
        else:
            tools = []
            parser = make_parser(format, tools, self._prompt)
        return Reading(self._reader, tools, parser, turn)

    def detect_and_parse(self, text: str) -> Split:
        """Split a whole output."""
        if self._grammar_start == GRAMMAR_FROM_START:
            return Split(text)
        reading = self._start()
        return self._sort(reading, reading.read_whole(text))

    def parse_streaming_increment(self, new_text: str) -> Split:
        """Split a piece of an output."""
        if self._grammar_start == GRAMMAR_FROM_START:
            return _make(Split, (new_text, ""))
        self._reading = self._reading or self._start()
        return self._hold(self._sort(self._reading, self._reading.read(new_text)))

    def finish(self) -> Split:
        """Return what was held back."""
        if self._reading is None:
            return Split()
        normal, thought = self._sort(self._reading, self._reading.finish())
        return Split(normal, "".join([*(self._waiting or ()), thought]))

    def _hold(self, split: Split) -> Split:
        """Keep reasoning until something else comes, where a request wants it in one piece."""
        if self._waiting is None:
            return split
        self._waiting.append(split.reasoning_text)
        if not split.normal_text:
            return Split()
        thought, self._waiting = "".join(self._waiting), []
        return Split(split.normal_text, thought)

    def _sort(self, reading: Reading, deltas: Iterable[Delta]) -> Split:
        """Tell reasoning from the rest; where the second stage is ours it gets that as it is.

        SGLang asks the second stage only where there is a text for it, so there must be one.
        """
        thought, content, rest = [], [], []
        for delta in deltas:
            if delta.kind == "reasoning":
                thought.append(delta.text)
            else:
                rest.append(delta)
                if delta.kind == "content":
                    content.append(delta.text)
        if self._joined and self._turn:
            self._turn.leave(reading, rest)
        return _make(Split, ("".join(content) or (" " if rest and self._joined else ""), "".join(thought)))

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        """Return the tokens after which reasoning is over: SGLang counts up to them, and lets grammars begin there."""
        return list(tokenizer.encode(self.think_end_token, add_special_tokens=False)) if self.think_end_token else []

    def get_self_opened_think_start_token_ids(self, tokenizer: Any) -> list[int] | None:
        """Return the tokens with which the model itself begins to reason: SGLang counts from them."""
        reasoning = self._reader.format.reasoning
        start = reasoning.start.before + reasoning.start.text if reasoning else ""
        return list(tokenizer.encode(start, add_special_tokens=False)) or None

    def starts_message(self, prefix: str) -> bool:
        """SGLang's question whether a JSON answer's grammar has to hold reasoning as well: it is not asked to."""
        return False

    def answer_opener(self, prefix: str) -> str:
        """Return what has to stand between a prompt and content that the client began: reasoning may have to be closed."""
        format, state = self._reader.format, self._reader.find_state(prefix)
        opener = format.content.start.written if format.content.wrapped == "always" else ""
        if state == "open" and format.reasoning is not None:
            return format.reasoning.end.written + opener
        return opener if state == "possible" else ""

    def json_answer_structural_tag(self, json_schema: Any, **_: Any) -> None:
        """SGLang's question for a grammar of a JSON answer: its own is used."""
