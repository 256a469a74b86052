"""The parser: reasoning, content and calls of an output, read in one pass."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from vllm.parser.abstract_parser import Parser

from chat_autoparser import Delta
from chat_autoparser.serve import JSON_CALLS, Outbox, OutputReader, Reasoned, SplitReader, make_parser

from . import LOG
from .constraint import constrain, is_told, reads_json
from .engine import get_tag, has_form, hides_special, is_chat, list_tools, read_choice, read_policy, wants_one
from .messages import make_message, make_whole
from .reader import Reader, find_reader, get_reader, get_server


class AutoParser(Parser):  # type: ignore[misc]
    """Reads the outputs of any model whose chat template is understood.

    vLLM makes one for each choice of a request, and others to adjust the request and to look at its prompt. The class
    attributes tell which of calls and reasoning the server is to read: what it is not, stays in the content.
    """

    always_adjust_request = True

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, model_config: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools, *args, model_config=model_config, **kwargs)
        self._own = self._reader = get_reader(tokenizer, model_config)  # the server's, and that of the answer that is read
        self._ids: Sequence[int] | None = None
        self._stream: Stream | None = None
        self._counter: _ReasoningCounter | None = None

    @property
    def incomplete(self) -> frozenset[int]:
        """The numbers of the calls of the output that was read last that have no end."""
        return self._stream.output.incomplete if self._stream is not None else frozenset()

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Remember the rendered prompt."""
        self._ids = prompt_token_ids
        self._counter = None

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is over, or was never to be, behind a prompt: then an answer of a given form begins there.

        Where reasoning may begin and nothing would mark its end, the form begins there, too: later nobody could tell where.
        """
        self.set_prompt_token_ids(input_ids)
        state = self._own.find_state(self._find_prompt(self._own))
        return state == "ended" or (state == "possible" and not self._own.end_mark)

    def adjust_request(self, request: Any) -> Any:
        """Hold the model to calls where the request wants that, and have special tokens shown that mark something."""
        reader = find_reader(request, self._own)
        if reader.needs_special:
            request.skip_special_tokens = False
        if self.tool_parser_cls is not None:
            constrain(request, reader, int(self.tool_strict_level or 0), self._find_prompt(reader))
        return request

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[Any]]:
        """Read a whole output; returns reasoning, content and calls."""
        self._stream = stream = self._open(request)
        deltas = stream.read(model_output, model_output_token_ids, True)
        return make_whole(deltas, stream.output.incomplete)

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: Sequence[int],
        request: Any,
        prompt_token_ids: Sequence[int] | None = None,
        *,
        finished: bool,
    ) -> Any:
        """Read a piece of an output; returns a message with what it makes certain, or None."""
        if self._stream is None:
            if prompt_token_ids is not None:
                self.set_prompt_token_ids(prompt_token_ids)
            self._stream = self._open(request)
        return self._stream.send(delta_text, delta_token_ids, finished)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return how many of the tokens generated so far are reasoning; markers do not count."""
        if self.reasoning_parser_cls is None or self._reader.format.reasoning is None:
            return 0
        if self._counter is None:
            self._counter = _ReasoningCounter(self._reader, self._find_prompt(self._reader))
        return self._counter.count(token_ids)

    def _find_prompt(self, reader: Reader) -> str | None:
        return None if self._ids is None else reader.read_prompt(self._ids)

    def _open(self, request: Any) -> Stream:
        """Return what reads the answer to a request."""
        self._reader, self._counter = find_reader(request, self._own), None
        level = None if self.tool_parser_cls is None else int(self.tool_strict_level or 0)
        return Stream(self._reader, request, level, self._find_prompt(self._reader), thinks=self.reasoning_parser_cls is not None)


def _starts_at_once(request: Any) -> bool:
    """Whether the model was not allowed to reason.

    vLLM holds an answer of a given form from the first token on where a request of chat completions does not want to see
    reasoning (``resolve_reasoning_ended``). That is not so for a grammar of ours, nor in the Responses API.
    """
    if request.include_reasoning or not is_chat(request) or getattr(request, "_grammar_from_parser", False):
        return False
    return has_form(request) and not is_told(get_tag(request))  # the private attribute is lost where a request was written out


class Stream:
    """One output that is being read, by ``output``.

    ``level`` is the server's (``--tool-strict-level``), None where calls are not read. Reasoning is text like any other unless
    the stream ``thinks``; where it is the ``second`` stage, somebody else has read it.
    """

    def __init__(
        self, reader: Reader, request: Any, level: int | None, prompt: str | None, *, thinks: bool, second: bool = False
    ) -> None:
        tools = list_tools(request) if level is not None and read_choice(request).mode != "none" else []
        format, at_once = reader.format if thinks else reader.plain, not second and _starts_at_once(request)
        asked, parser = read_policy(request), None
        if level is not None and tools:
            state: Reasoned = "ended" if second else reader.find_state(prompt)
            if reads_json(request, reader, level, state):
                splitter = (reader.plain if at_once else format).reasoning_splitter([], prompt)
                parser = SplitReader(splitter, make_parser(JSON_CALLS, tools, asked=asked))
        hidden = hides_special(request, get_server(reader.tokenizer).hides_special)
        hidden = hidden and not reader.needs_special  # what a reader needs was asked for, in another object
        self.output = OutputReader(
            format,
            tools,
            parser=parser or make_parser(format, tools, prompt, asked=asked, after_reasoning=at_once),
            special={} if hidden else reader.special,
            decode=reader.decode,
            single=wants_one(request),
            log=LOG,
        )
        self._outbox = Outbox()
        self._shows = bool(request.include_reasoning)
        self._second = second

    def read(self, text: str, ids: Sequence[int], finished: bool) -> list[Delta]:
        """Read a piece, the last one if it has finished; return what the client is to see: no hidden reasoning."""
        deltas = self.output.feed(text, ids)
        if finished:
            deltas = deltas + self.output.finish()
        return deltas if self._shows else [delta for delta in deltas if delta.kind != "reasoning"]

    def send(self, text: str, ids: Sequence[int], finished: bool) -> Any:
        """Do the same, and return what goes out as vLLM's message, or None. The last one says if a call was cut.

        Not so of the second stage, of which others make the message.
        """
        deltas = self.read(text, ids, finished)
        if not finished:
            return make_message(self._outbox.take(deltas))
        return make_message(self._outbox.take_all(deltas), cut=not self._second and bool(self.output.incomplete))


class _ReasoningCounter:
    """Counts the reasoning tokens of one output; markers do not count where they are tokens of their own.

    vLLM asks for the number of all tokens so far, after each step where a client wants the usage continuously. What was
    counted is not looked at again.
    """

    def __init__(self, reader: Reader, prompt: str | None) -> None:
        self._reader = reader
        self._prompt = prompt
        self._restart()

    def _restart(self) -> None:
        self._seen = self._count = 0
        self._waiting: list[int] = []
        self._splitter = self._reader.format.reasoning_splitter([], self._prompt)
        self._inside, self._over = self._splitter.in_reasoning, self._splitter.ended
        start, end = self._reader.marker_ids
        self._by_id = end is not None and (start is not None or self._inside)

    def count(self, ids: Sequence[int]) -> int:
        """Return the number for the whole output so far."""
        if len(ids) < self._seen:
            self._restart()
        new = ids[self._seen :]
        self._seen = len(ids)
        if new:
            self._count += self._count_by_id(new) if self._by_id else self._count_by_text(new)
        return self._count

    def _count_by_id(self, ids: Sequence[int]) -> int:
        """Count the tokens up to the first end: behind it, what opens reasoning is a word of the answer."""
        start, end = self._reader.marker_ids
        if self._over:
            return 0
        if end in ids:
            ids, self._over = ids[: ids.index(end)], True
        if not self._inside:
            if start not in ids:
                return 0
            ids, self._inside = ids[ids.index(start) + 1 :], True
        return len(ids) - ids.count(start)

    def _count_by_text(self, ids: Sequence[int]) -> int:
        """Count the tokens of text that is reasoning; those that may yet become a marker wait."""
        if self._splitter.ended:
            return 0
        emitted = self._splitter.feed(self._reader.decode(ids))[0]
        waiting, self._waiting = [*self._waiting, *ids], []
        place = self._reader.decode(waiting).find(emitted) if emitted else -1
        start = self._measure(waiting, place) if place >= 0 else 0
        end = self._measure(waiting, place + len(emitted)) if place >= 0 else 0
        if self._splitter.holds_back:
            self._waiting = waiting[end:]
        return end - start

    def _measure(self, ids: Sequence[int], length: int) -> int:
        """Return how many tokens make a text of so many characters."""
        return bisect_left(range(len(ids) + 1), length, key=lambda count: len(self._reader.decode(ids[:count])))
