"""What the names stand for: half a parser each.

vLLM checks its flags against them, asks the reasoning half for the markers of reasoning and, in the process of the engine,
where reasoning ends. Where both flags are ours they read nothing (:class:`~.parser.AutoParser` does); beside a parser of
vLLM's own, each reads its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vllm.reasoning import ReasoningParser
from vllm.tool_parsers import ToolParser

from chat_autoparser.parse import ReasoningSplitter
from chat_autoparser.serve import OutputReader, SplitReader

from . import LOG
from .constraint import constrain
from .engine import list_tools
from .messages import make_extracted, make_message, make_whole
from .parser import Stream
from .reader import Reader, find_reader, find_reader_or_none, get_reader


class AutoToolParser(ToolParser):  # type: ignore[misc]
    """Reads the calls in what a reasoning parser of vLLM's leaves."""

    engine_based_streaming = True
    supports_required_and_named = False  # forced calls are read here too, whatever form they have
    level = 0
    """The server's ``--tool-strict-level``, of which vLLM does not tell a tool parser."""

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools)
        self._own = get_reader(tokenizer)
        self._stream: Stream | None = None

    def adjust_request(self, request: Any) -> Any:
        """Hold the model to a call where the request wants one, and have special tokens shown that mark calls."""
        reader = find_reader(request, self._own)
        if reader.needs_special and list_tools(request):
            request.skip_special_tokens = False
        constrain(request, reader, self.level, None, tells=False)
        return request

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
        """Return what a piece of the output makes certain: content and calls."""
        self._stream = self._stream or self._open(request)
        return self._stream.send(delta_text, delta_token_ids, False)

    def finish_streaming(self) -> Any:
        """Return what was held back until the end of the output."""
        return self._stream.send("", (), True) if self._stream is not None else None

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Return content and calls of what is left of a whole output."""
        return make_extracted(self._open(request).read(model_output, (), True))

    def _open(self, request: Any) -> Stream:
        return Stream(find_reader(request, self._own), request, self.level, "", thinks=False, second=True)


class AutoReasoningParser(ReasoningParser):  # type: ignore[misc]
    """Splits reasoning from all else, and hands that on verbatim to a tool parser of vLLM's.

    In the process of the engine it tells where reasoning ends, for answers whose form the client has given: by the template
    of the server, and never by what a request says. There it raises nothing: where the template is not known, the form
    holds from the first token on.
    """

    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._model_config = kwargs.get("model_config")
        if self._model_config is not None:
            get_reader(tokenizer, self._model_config)  # a server's: what it cannot read is to be known at the start
        self._prompt_ids: Sequence[int] | None = None
        self._splitter: ReasoningSplitter | None = None
        self._output: OutputReader | None = None
        self._rest = 0  # characters of the piece just read that are for the tool parser

    @property
    def reasoning_start_str(self) -> str | None:
        """The text that starts reasoning, for ``thinking_token_budget``; None where there is none."""
        return self._get_marker("start")

    @property
    def reasoning_end_str(self) -> str | None:
        """The text that ends reasoning; None where there is none."""
        return self._get_marker("end")

    def _get_marker(self, name: str) -> str | None:
        reader = find_reader_or_none(self.model_tokenizer)
        reasoning = reader.format.reasoning if reader is not None else None
        return (getattr(reasoning, name).text or None) if reasoning else None

    def adjust_request(self, request: Any) -> Any:
        """Have the text of special tokens shown, where markers are special tokens."""
        reader = find_reader_or_none(self.model_tokenizer)
        if reader is not None and reader.needs_special:
            request.skip_special_tokens = False
        return request

    # Where generation starts, and where reasoning ends.

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Remember the rendered prompt."""
        self._prompt_ids = prompt_token_ids

    adjust_initial_state_from_prompt = set_prompt_token_ids

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is over, or was never to be, behind a prompt."""
        self._prompt_ids = input_ids
        return self._ask(lambda reader: reader.find_state(reader.read_prompt(input_ids)) == "ended")

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether reasoning ends within the last tokens; depends on these and a few before them alone."""
        return self._ask(lambda reader: _ends_within(reader, input_ids, list(delta_ids)))

    def _ask(self, has_ended: Callable[[Reader], bool]) -> bool:
        try:
            reader = find_reader_or_none(self.model_tokenizer)
            return reader is None or has_ended(reader)
        except Exception:
            LOG.exception("chat-autoparser: whether reasoning is over could not be told: the grammar holds. Please report this")
            return True

    # Reading, beside a tool parser of vLLM's.

    def _open(self) -> OutputReader:
        reader, ids = get_reader(self.model_tokenizer, self._model_config), self._prompt_ids
        self._splitter = reader.format.reasoning_splitter(None, None if ids is None else reader.read_prompt(ids))
        return OutputReader(reader.format, [], parser=SplitReader(self._splitter), log=LOG)

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Return the reasoning in a piece of the output, and as content what the tool parser is to begin with."""
        self._output = self._output or self._open()
        deltas = self._output.feed(delta_text)
        self._rest = sum(len(delta.text) for delta in deltas if delta.kind == "content")
        return make_message(deltas)

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the tool parser is to go on."""
        return self._splitter is not None and self._splitter.ended

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Return the tokens of the piece just read that stand behind the end of reasoning."""
        reader = get_reader(self.model_tokenizer, self._model_config)
        missing, place = self._rest, len(input_ids)
        while place > 0 and missing > 0:
            place -= 1
            missing = self._rest - len(reader.decode(input_ids[place:]))
        return input_ids[place:]

    def finish_streaming(self) -> Any:
        """Return what was held back: at the end of reasoning, or at that of the output."""
        return None if self._output is None else make_message(self._output.finish())

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Return the reasoning of a whole output and what else it holds."""
        output = self._open()
        reasoning, rest, _ = make_whole([*output.feed(model_output), *output.finish()], frozenset())
        return reasoning, rest


def _ends_within(reader: Reader, input_ids: Sequence[int], delta: list[int]) -> bool:
    if reader.format.reasoning is None or not delta:
        return reader.format.reasoning is None
    marker = reader.end_mark
    if reader.marker_ids[1] in delta or not marker:
        return bool(marker)  # without one, what ends reasoning is the answer itself, in which no form can begin any more
    start = len(input_ids) - len(delta)
    window = input_ids[max(0, start - len(marker)) :]
    text = reader.decode(window)
    before = reader.decode(window[: len(window) - len(delta)])
    return text.find(marker, max(0, len(before) - len(marker) + 1)) >= 0
