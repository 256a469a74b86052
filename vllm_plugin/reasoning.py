"""The reasoning half.

In streaming it splits reasoning from everything else and hands the rest on, verbatim, to the tool half; where there is
none, it reads the whole output itself. Otherwise it has the whole output in hand, and reads all of it once: what is no
reasoning it hands to the tool half as text that carries the message already read.
"""

from __future__ import annotations

import importlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, cast

from chat_autoparser.delta import Delta
from chat_autoparser.errors import AutoparserError
from chat_autoparser.parser import StreamParser
from chat_autoparser.splitter import ReasoningSplitter
from chat_autoparser.tokens import TokenFilter

from .engine import DeltaMessage, ReasoningParser, find_local, find_owner, find_request, find_required, list_tools
from .forced import make_forced_parser, starts_at_once
from .messages import Outbox, make_message, read_message
from .reader import HINT, Reader, get_reader, read_hint


class ReadText(str):
    """What an output holds besides reasoning: its text, and the message that was read from the whole output.

    The text is that of the message, or as the model wrote it where the message has calls.
    """

    message: dict[str, Any]

    def __new__(cls, text: str, message: dict[str, Any]) -> ReadText:
        """Make the text of a message."""
        made = super().__new__(cls, text)
        made.message = message
        return made


class AutoReasoningParser(ReasoningParser):  # type: ignore[misc]
    """Reads the reasoning of any model whose chat template is understood."""

    engine_based_streaming = True

    def __new__(cls, tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Make the half, or the one that vLLM insists on for this model."""
        owner = find_owner()
        kwargs_of_template = kwargs.get("chat_template_kwargs")
        if owner is not None:
            required = find_required(owner, ReasoningParser)
            if required is not None:
                if isinstance(kwargs_of_template, dict):
                    kwargs_of_template[HINT] = {"class": [required.__module__, required.__qualname__]}
                return required(tokenizer, *args, **kwargs)
        elif isinstance(kwargs_of_template, dict):
            required = _find_named(kwargs_of_template.get(HINT))
            if required is not None:
                return required(tokenizer, *args, **kwargs)
        made = super().__new__(cls)
        made._owner = owner
        return made

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        owner = self.__dict__.pop("_owner")  # it holds this half, and nothing needs the circle
        self._kwargs = kwargs.get("chat_template_kwargs")
        self._known: Reader | None = None
        self._prompt_ids: Sequence[int] | None = None
        self._prompt: str | None = None
        self._splitter: ReasoningSplitter | None = None
        self._parser: StreamParser | None = None
        self.filter: TokenFilter | None = None
        self._request: Any = None
        self._rest = ""
        self._outbox = Outbox()
        half = getattr(owner, "tool_parser_cls", None)
        self._alone = owner is not None and half is None
        self._paired = getattr(half, "reads_after", None) is AutoReasoningParser
        if owner is not None:
            self._known = get_reader(tokenizer, kwargs.get("model_config"))
            if isinstance(self._kwargs, dict):
                self._kwargs[HINT] = self._known.hint

    @property
    def reader(self) -> Reader:
        """What this half reads with; found when it is first needed, outside of a server's parser."""
        if self._known is None:
            hint = self._kwargs.get(HINT) if isinstance(self._kwargs, dict) else None
            self._known = read_hint(hint, self.model_tokenizer) or get_reader(self.model_tokenizer)
        return self._known

    # What vLLM wants to know of the format.

    @property
    def reasoning_start_str(self) -> str | None:
        """The text that starts reasoning, for ``thinking_token_budget``; None where there is none."""
        return self._get_marker("start")

    @property
    def reasoning_end_str(self) -> str | None:
        """The text that ends reasoning; None where there is none."""
        return self._get_marker("end")

    def _get_marker(self, name: str) -> str | None:
        try:
            reasoning = self.reader.format.reasoning
        except AutoparserError:  # asked for while a server is configured; it will say so when it makes its parser
            return None
        return (getattr(reasoning, name).text or None) if reasoning else None

    def adjust_request(self, request: Any) -> Any:
        """Have the text of special tokens shown, where markers are special tokens."""
        if self.reader.needs_special_tokens and not (self._alone and self._is_ended_by_prompt()):
            request.skip_special_tokens = False
        return request

    def _is_ended_by_prompt(self) -> bool:
        """Whether nothing is read here at all: then vLLM passes the text on as it is."""
        return self._make_splitter([], self.find_prompt()).reasoning_ended

    # Where generation starts.

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Remember the rendered prompt (vLLM 0.33)."""
        if self._prompt_ids is not prompt_token_ids:
            self._prompt_ids, self._prompt = prompt_token_ids, None

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """Remember the rendered prompt."""
        self.set_prompt_token_ids(prompt_token_ids)

    def find_prompt(self) -> str | None:
        """Return the end of the prompt: its own, or one that is rendered with the same template arguments."""
        if self._prompt is None:
            if self._prompt_ids is not None:
                self._prompt = self.reader.read_prompt(self._prompt_ids)
            else:
                self._prompt = self.reader.render_prompt(self._kwargs)
        return self._prompt

    def _make_splitter(self, tools: list[dict[str, Any]] | None, prompt: str | None) -> ReasoningSplitter:
        return self.reader.format.reasoning_splitter(tools, prompt)

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is over, or was never to be, behind a prompt."""
        self.set_prompt_token_ids(input_ids)
        return self._make_splitter([], self.find_prompt()).reasoning_ended

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether reasoning ends within the last tokens; depends on these and a few before them alone."""
        reader, delta = self.reader, list(delta_ids)
        reasoning = reader.format.reasoning
        if reasoning is None or not delta:
            return reasoning is None
        if reader.end_id in delta:
            return True
        marker = reasoning.end.text
        start = len(input_ids) - len(delta)
        window = input_ids[max(0, start - len(marker)) :]
        text = reader.decode(window)
        before = reader.decode(window[: len(window) - len(delta)])
        return text.find(marker, max(0, len(before) - len(marker) + 1)) >= 0

    # Streaming.

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Return the reasoning in a piece of the output, and as content what the tool half is to begin with."""
        if self.filter is None:
            self._start_stream(find_request())
        text = cast(TokenFilter, self.filter).feed(delta_text, delta_token_ids)
        if self._splitter is None:
            return self._outbox.send(cast(StreamParser, self._parser).feed(text))
        reasoning, rest = self._splitter.feed(text)
        self._rest = rest
        deltas = [Delta("reasoning", reasoning)] if reasoning else []
        return make_message([*deltas, Delta("content", rest)] if rest else deltas)

    def _start_stream(self, request: Any) -> None:
        self.filter = TokenFilter(self.reader.unknown_tokens)
        self._request = request
        prompt = self.find_prompt()
        at_once = starts_at_once(request)
        if self._alone:
            self._parser = self.reader.format.parser([], prompt, after_reasoning=at_once)
        elif at_once:
            self._splitter = self.reader.plain.reasoning_splitter()
        else:
            self._splitter = self._make_splitter(list_tools(request), prompt)

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the tool half is to go on."""
        return self._splitter is not None and self._splitter.ended

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Return the tokens of the piece just read that stand behind the end of reasoning."""
        missing = len(self._rest) if self._splitter is not None else 0
        place = len(input_ids)
        while place > 0 and missing > 0:
            place -= 1
            missing = len(self._rest) - len(self.reader.decode(input_ids[place:]))
        return input_ids[place:]

    def finish_streaming(self) -> Any:
        """Return what was held back: at the end of reasoning, or at that of the output."""
        if self.filter is None:
            return None
        if self._splitter is None:
            parser = cast(StreamParser, self._parser)
            return self._outbox.send_all([*parser.feed(self.filter.finish()), *parser.finish()])
        if self._splitter.ended:
            held = "" if self._paired else self.filter.finish()
            return DeltaMessage(content=held) if held else None
        reasoning, rest = self._splitter.feed(self.filter.finish())
        more, behind = self._splitter.finish()
        deltas = self._read_rest(rest + behind)
        message = make_message(deltas)
        if reasoning + more:
            message = message or DeltaMessage()
            message.reasoning = reasoning + more + (message.reasoning or "")
        return message

    def _read_rest(self, rest: str) -> Any:
        """Read what stands behind reasoning that only the end of the output ended: no tool half will."""
        tools = list_tools(self._request) if self._paired else []
        parser = make_forced_parser(self._request, tools) or self.reader.format.parser(tools, after_reasoning=True)
        return [*parser.feed(rest), *parser.finish()]

    # Whole outputs.

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Return the reasoning of a whole output and what else it holds."""
        reader, prompt = self.reader, self.find_prompt()
        text = reader.drop_unknown_tokens(model_output, find_local("model_output_token_ids"))
        tools = list_tools(request)
        at_once = starts_at_once(request)
        if self._alone:
            message = read_message(reader.format.parser([], prompt, after_reasoning=at_once), text)
            return message["reasoning_content"], message["content"]
        splitter = reader.plain.reasoning_splitter() if at_once else self._make_splitter(tools, prompt)
        reasoning, rest = splitter.feed(text)
        more, behind = splitter.finish()
        reasoning, rest = reasoning + more, rest + behind
        if not self._paired:
            return reasoning or None, rest or None
        parser = make_forced_parser(request, tools) or reader.format.parser(tools, prompt, after_reasoning=True)
        message = read_message(parser, rest)
        reasoning += message["reasoning_content"] or ""
        content = rest if message.get("tool_calls") else message["content"] or ""
        return reasoning or None, ReadText(content, message)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Return how many of the generated tokens are reasoning; markers do not count."""
        reader = self.reader
        reasoning = reader.format.reasoning
        if reasoning is None or not token_ids:
            return 0
        splitter = self._make_splitter([], self.find_prompt())
        if reader.end_id is not None and (reader.start_id is not None or splitter.in_reasoning):
            return _count_between(token_ids, reader.start_id, reader.end_id, splitter.in_reasoning)
        return self._count_by_text(token_ids, splitter)

    def _count_by_text(self, token_ids: Sequence[int], splitter: ReasoningSplitter) -> int:
        """Count the tokens before the end of reasoning whose markers are spelled from several tokens."""
        text = self.reader.decode(token_ids)
        found = (splitter.feed(text)[0] + splitter.finish()[0]).strip()
        place = text.find(found) if found else -1
        if place < 0:
            return 0
        end = _count_tokens(self.reader, token_ids, place + len(found))
        return end - _count_tokens(self.reader, token_ids, place)


def _count_between(token_ids: Sequence[int], start: int | None, end: int, inside: bool) -> int:
    count = 0
    for token in token_ids:
        if token == end:
            inside = False
        elif token == start:
            inside = True
        elif inside:
            count += 1
    return count


def _count_tokens(reader: Reader, token_ids: Sequence[int], length: int) -> int:
    """Return how many tokens make a text of so many characters."""
    return bisect_left(range(len(token_ids) + 1), length, key=lambda count: len(reader.decode(token_ids[:count])))


def _find_named(hint: Any) -> Any:
    """Return the class of vLLM's that another process named, or None."""
    named = hint.get("class") if isinstance(hint, dict) else None
    if not isinstance(named, list) or len(named) != 2 or not str(named[0]).startswith("vllm."):
        return None
    found = getattr(importlib.import_module(named[0]), named[1], None)
    return found if isinstance(found, type) and issubclass(found, ReasoningParser) else None
