"""One output, read: text and token ids in, deltas out. Raises nothing, whatever the model writes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from ..delta import Delta
from ..errors import AutoparserError
from ..format import ChatFormat
from ..parse import ReasoningSplitter, StreamParser
from ..recover import REPAIR, Policy, PolicyName, get_policy
from .counters import COUNTERS
from .special import cut_at_special

POLICY = "CHAT_AUTOPARSER_POLICY"
"""The environment variable that names it: ``strict``, ``lenient`` or ``repair`` (as without it), and fields that differ."""

_LOG = logging.getLogger(__name__)
_MOST_DUE = 64  # texts of special tokens that are waited for: that of a token that stops generation never comes
_LATEST = 200  # characters of other text that may come before: engines hold back what may become a stop string
_NONE: Mapping[int, str] = {}
_RANKS = {"reasoning": 0, "content": 1, "tool_call": 2}


def check_policy() -> Policy:
    """Return the server's policy. Raises :class:`AutoparserError` for a name that none has."""
    named: Any = os.environ.get(POLICY, "").strip().lower() or "repair"
    try:
        return get_policy(named)
    except ValueError as error:
        raise AutoparserError(f"{POLICY} is not understood: {error}") from None


def make_parser(
    format: ChatFormat,
    tools: Iterable[Mapping[str, Any]] | None,
    prompt: str | None = None,
    *,
    asked: Any = None,
    **options: Any,
) -> StreamParser:
    """Make a format's parser with the policy that a request has ``asked`` for by its name, else with the server's.

    The other arguments are those of :meth:`ChatFormat.parser`. A name that no policy has is refused when a server starts
    (:func:`check_policy`), and counts as none here.
    """
    policy = REPAIR
    with suppress(AutoparserError):
        policy = check_policy()
    with suppress(ValueError):
        policy = get_policy(cast("PolicyName", asked)) if isinstance(asked, str) else policy
    return format.parser(tools, prompt, policy=policy, **options)


@dataclass(frozen=True)
class Rest:
    """Hands text on, as a parser that knows no structure: as reasoning where that was being read, else as content.

    Calls are those that were seen before.
    """

    in_reasoning: bool = False
    incomplete_calls: frozenset[int] = frozenset()
    calls_seen: int = 0
    in_call: bool = False
    holds_back: bool = False
    recoveries: tuple[tuple[str, int], ...] = ()

    def feed(self, text: str) -> list[Delta]:
        return [Delta("reasoning" if self.in_reasoning else "content", text)] if text else []

    def finish(self) -> list[Delta]:
        return []


class SplitReader:
    """Reads the reasoning with a splitter, and what is behind it with another parser; without one, that is content.

    As a parser of the core's it tells where it stands, of calls what the other parser tells.
    """

    def __init__(self, splitter: ReasoningSplitter, behind: Any = None) -> None:
        self._splitter = splitter
        self._behind: Any = Rest() if behind is None else behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @property
    def in_reasoning(self) -> bool:
        return self._splitter.in_reasoning

    @property
    def holds_back(self) -> bool:
        return bool(self._splitter.holds_back or self._behind.holds_back)

    @property
    def recoveries(self) -> tuple[tuple[str, int], ...]:
        return (*((("fault", 0),) if self._splitter.failed else ()), *self._behind.recoveries)

    def feed(self, text: str) -> list[Delta]:
        return self._sort(*self._splitter.feed(text))

    def finish(self) -> list[Delta]:
        return [*self._sort(*self._splitter.finish()), *self._behind.finish()]

    def _sort(self, reasoning: str, rest: str) -> list[Delta]:
        deltas = [Delta("reasoning", reasoning)] if reasoning else []
        return [*deltas, *self._behind.feed(rest)] if rest else deltas


class OutputReader:
    """Reads one output of a format; made for each choice of a request, in microseconds.

    ``tools`` and ``prompt`` are those of :meth:`ChatFormat.parser`. ``special`` are the special tokens by their ids whose
    text is to be dropped (:attr:`Served.special`), where the engine shows them. Only what was generated as such a
    token is dropped, and nothing that stands inside a call: there it is a piece of an argument. Which of equal texts was one,
    where several tokens come at once, is known with ``decode``, which returns the text of tokens. With ``single`` only the
    first call is handed on. ``parser`` overrides what reads: a parser of the core's, or what behaves like one.
    """

    def __init__(
        self,
        format: ChatFormat,
        tools: Iterable[dict[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        special: Mapping[int, str] = _NONE,
        decode: Callable[[Sequence[int]], str] | None = None,
        single: bool = False,
        parser: Any = None,
        log: logging.Logger = _LOG,
    ) -> None:
        self._parser: Any = make_parser(format, tools, prompt) if parser is None else parser
        self._special = special
        self._decode = decode
        self._single = single
        self._log = log
        self._due: list[tuple[str, int]] = []  # texts, and how many characters had been read when they became due
        self._length = 0
        self._held = ""
        self._done = False
        self._tail = ""
        self._text_kept = False
        self._mark = _find_mark(format) if tools is None or tools else ""

    @property
    def incomplete(self) -> frozenset[int]:
        """The numbers of the calls that have no end: they were cut off, or went wrong; known when all was read."""
        found: frozenset[int] = self._parser.incomplete_calls
        return found & {0} if self._single else found

    def feed(self, text: str, ids: Sequence[int] = ()) -> list[Delta]:
        """Read a piece of the output and the ids of its tokens. Text may come later than the ids of its tokens."""
        special = self._special
        if not special:
            return self._read(text)
        deltas: list[Delta] = []
        for piece, tokens in [(text, ids)] if self._decode is None else cut_at_special(text, ids, special, self._decode):
            self._due += [(special[token], self._length) for token in tokens if token in special]
            deltas += self._feed_around(piece) if self._due or self._held else self._read(piece)
        return deltas

    def finish(self) -> list[Delta]:
        """Say that the output has ended; return what was held back. What it was made of is counted now."""
        if self._done:
            return []
        self._done = True
        held, self._held = self._held, ""
        deltas = self._read(held)
        try:
            more: list[Delta] = self._parser.finish()
        except Exception:
            more = self._give_up("")
        deltas = deltas + self._hand_on(more)
        self._count()
        return deltas

    def _feed_around(self, text: str) -> list[Delta]:
        """Read a piece, less the texts of special tokens that are due."""
        text, self._held = self._held + text, ""
        deltas: list[Delta] = []
        while self._due:
            found = [(text.find(due), due, since) for due, since in self._due]
            place, token, since = min(
                (each for each in found if 0 <= each[0] <= each[2] + _LATEST - self._length), default=(-1, "", 0)
            )
            if place < 0:
                break
            deltas += self._read_around(text[:place])
            if self._parser.in_call:
                deltas += self._read_around(token)
            text = text[place + len(token) :]
            self._due.remove((token, since))
        begun = (size for due, _ in self._due for size in range(1, len(due)) if text.endswith(due[:size]))
        held = max(begun, default=0)
        self._held = text[len(text) - held :]
        deltas += self._read_around(text[: len(text) - held])
        self._due = [(due, since) for due, since in self._due[-_MOST_DUE:] if self._length <= since + _LATEST]
        return deltas

    def _read_around(self, text: str) -> list[Delta]:
        self._length += len(text)
        return self._read(text)

    def _read(self, text: str) -> list[Delta]:
        if not text:
            return []
        try:
            deltas: list[Delta] = self._parser.feed(text)
        except Exception:
            deltas = self._give_up(text)
        return self._hand_on(deltas)

    def _give_up(self, text: str) -> list[Delta]:
        """Go on without a parser that has failed: what is left is reasoning where it was being read, else content."""
        self._log.exception("chat-autoparser: reading an output failed, and its rest is handed on. Please report this")
        COUNTERS.add("faults")
        failed = self._parser
        cut = {max(failed.calls_seen - 1, 0)} if failed.in_call else ()
        rest = self._parser = Rest(failed.in_reasoning, failed.incomplete_calls.union(cut), failed.calls_seen)
        return rest.feed(text)

    def _hand_on(self, deltas: list[Delta]) -> list[Delta]:
        """Return what the client is to see, and look in it for text that opens calls."""
        if self._mark and not self._text_kept:
            for delta in deltas:
                if delta.kind == "content":
                    seen = self._tail + delta.text
                    self._text_kept = self._text_kept or self._mark in seen
                    self._tail = seen[1 - len(self._mark) :]
        return [delta for delta in deltas if not delta.index] if self._single else deltas

    def _count(self) -> None:
        count, parser = COUNTERS.add, self._parser
        faults = sum(kind == "fault" for kind, _ in parser.recoveries)
        count("outputs")
        count("calls", parser.calls_seen)
        count("cut_calls", len(parser.incomplete_calls))
        count("text_kept", int(self._text_kept))
        count("faults", faults)
        count("recoveries", len(parser.recoveries) - faults)


class Outbox:
    """The deltas of one stream that have not been sent yet.

    A message of an engine's may hold reasoning, content and calls at once, and whoever reads it takes them in that order. So
    what came in another order is sent in several messages: what cannot go out with this one waits for the next.
    """

    def __init__(self) -> None:
        self._waiting: list[Delta] = []

    def take(self, deltas: list[Delta]) -> list[Delta]:
        """Return as much of what is waiting and of what comes now as can go out in one message."""
        if not self._waiting and len(deltas) < 2:
            return deltas
        deltas, self._waiting = self._waiting + deltas, []
        for place, (before, delta) in enumerate(pairwise(deltas), 1):
            if _RANKS[delta.kind] < _RANKS[before.kind]:
                self._waiting = deltas[place:]
                return deltas[:place]
        return deltas

    def take_all(self, deltas: list[Delta]) -> list[Delta]:
        """Return everything: the stream has ended."""
        deltas, self._waiting = self._waiting + deltas, []
        return deltas


def _find_mark(format: ChatFormat) -> str:
    """Return the text by which an opener of calls is known; "" where there is none that would not stand in any text."""
    tools = format.tools
    if tools is None:
        return ""
    mark = next(iter((tools.section_start.text or tools.call_start.text).split()), "")
    return mark if len(mark) > 2 else ""
