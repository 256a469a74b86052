"""One output, read: text and token ids in, deltas out. Raises nothing, whatever the model writes."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from ..delta import Delta
from ..errors import AutoparserError
from ..recover import REPAIR, Policy, PolicyName, get_policy
from .counters import COUNTERS, Counters
from .split import Rest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ..format import ChatFormat
    from ..parse import StreamParser

POLICY = "CHAT_AUTOPARSER_POLICY"
"""The environment variable that names it: ``strict``, ``lenient`` or ``repair`` (as without it)."""

_LOG = logging.getLogger(__name__)
_MOST_DUE = 64  # texts of special tokens that are waited for: that of a token that stops generation never comes
_LATEST = 200  # characters of other text that may come before: engines hold back what may become a stop string
_NONE: Mapping[int, str] = {}


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


class OutputReader:
    """Reads one output of a format; made for each choice of a request, in microseconds.

    ``tools`` and ``prompt`` are those of :meth:`ChatFormat.parser`. ``special`` are the special tokens by their ids whose
    text is to be dropped (:attr:`Served.special`), where the engine shows them. Only what was generated as such a
    token is dropped, and nothing that stands inside a call: there it is a piece of an argument. ``parser`` overrides
    what reads: anything with ``feed`` and ``finish``.
    """

    __slots__ = ("_counters", "_done", "_due", "_held", "_length", "_log", "_mark", "_parser", "_special", "_tail", "_text_kept")

    def __init__(
        self,
        format: ChatFormat,
        tools: Iterable[dict[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        special: Mapping[int, str] = _NONE,
        parser: Any = None,
        counters: Counters = COUNTERS,
        log: logging.Logger = _LOG,
    ) -> None:
        self._parser: Any = make_parser(format, tools, prompt) if parser is None else parser
        self._special = special
        self._counters = counters
        self._log = log
        self._due: list[tuple[str, int]] = []  # texts, and how many characters had been read when they became due
        self._length = 0
        self._held = ""
        self._done = False
        self._tail = ""
        self._text_kept = False
        self._mark = _find_mark(format) if tools is None or tools else ""

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning."""
        return bool(getattr(self._parser, "in_reasoning", False))

    @property
    def incomplete(self) -> frozenset[int]:
        """The numbers of the calls that have no end: they were cut off, or went wrong; known when all was read."""
        return frozenset(getattr(self._parser, "incomplete_calls", ()))

    def feed(self, text: str, ids: Collection[int] = ()) -> list[Delta]:
        """Read a piece of the output and the ids of its tokens. Text may come later than the ids of its tokens."""
        special = self._special
        if special:
            for token in ids:
                if token in special:
                    self._due.append((special[token], self._length))
            if self._due or self._held:
                return self._feed_around(text)
        return self._read(text)

    def finish(self) -> list[Delta]:
        """Say that the output has ended; return what was held back. What it was made of is counted now."""
        if self._done:
            return []
        self._done = True
        held, self._held = self._held, ""
        deltas = self._read(held) if held else []
        try:
            more: list[Delta] = self._parser.finish()
        except Exception:
            more = self._give_up("")
        self._watch(more)
        self._count()
        return deltas + more

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
            if getattr(self._parser, "in_call", False):
                deltas += self._read_around(token)
            text = text[place + len(token) :]
            self._due.remove((token, since))
        held = max((_count_overlap(text, due) for due, _ in self._due), default=0)
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
        if self._mark:
            self._watch(deltas)
        return deltas

    def _give_up(self, text: str) -> list[Delta]:
        """Go on without a parser that has failed: what is left is reasoning where it was being read, else content."""
        self._log.exception("chat-autoparser: reading an output failed, and its rest is handed on. Please report this")
        self._counters.add("faults")
        thinking, incomplete = self.in_reasoning, self.incomplete
        if getattr(self._parser, "in_call", False):
            incomplete |= {max(getattr(self._parser, "calls_seen", 1) - 1, 0)}
        rest = self._parser = Rest(thinking, incomplete, getattr(self._parser, "calls_seen", 0))
        return rest.feed(text)

    def _watch(self, deltas: list[Delta]) -> None:
        """Look for what opens calls in the text that is handed on."""
        if self._mark and not self._text_kept:
            for delta in deltas:
                if delta.kind == "content":
                    seen = self._tail + delta.text
                    self._text_kept = self._text_kept or self._mark in seen
                    self._tail = seen[-len(self._mark) + 1 :] if len(self._mark) > 1 else ""

    def _count(self) -> None:
        count = self._counters.add
        count("outputs")
        count("calls", getattr(self._parser, "calls_seen", 0))
        count("cut_calls", len(self.incomplete))
        count("text_kept", int(self._text_kept))
        kinds = [kind for kind, _ in getattr(self._parser, "recoveries", ())]
        count("faults", kinds.count("fault"))
        count("recoveries", len(kinds) - kinds.count("fault"))


def _find_mark(format: ChatFormat) -> str:
    """Return the text by which an opener of calls is known; "" where there is none that would not stand in any text."""
    tools = format.tools
    if tools is None:
        return ""
    mark = next(iter((tools.section_start.text or tools.call_start.text).split()), "")
    return mark if len(mark) > 2 else ""


def _count_overlap(text: str, token: str) -> int:
    """Return how long the ending of a text is that is a beginning of a token."""
    for size in range(min(len(token) - 1, len(text)), 0, -1):
        if text.endswith(token[:size]):
            return size
    return 0
