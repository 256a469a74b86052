"""What reads an output where one parser does not read all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..delta import Delta
from .counters import COUNTERS

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from ..parse import ReasoningSplitter


class Rest:
    """Hands text on: as reasoning where that was ``thinking``, else as content. Calls are those that were seen before."""

    in_call = False
    holds_back = False

    def __init__(self, thinking: bool = False, incomplete: frozenset[int] = frozenset(), calls: int = 0) -> None:
        self.in_reasoning = thinking
        self.incomplete_calls = incomplete
        self.calls_seen = calls

    def feed(self, text: str) -> list[Delta]:
        """Hand a piece on."""
        return [Delta("reasoning" if self.in_reasoning else "content", text)] if text else []

    def finish(self) -> list[Delta]:
        """Return nothing."""
        return []


class SafeSplitter:
    """Makes a splitter and splits with it, and raises nothing: where it fails, what is left is handed on, and that is counted.

    It is reasoning where that was being read, else what belongs to the second stage.
    """

    def __init__(self, make: Callable[[], ReasoningSplitter], log: logging.Logger) -> None:
        self._log = log
        self._thinking = False
        self._failed = False
        self._splitter: ReasoningSplitter | None = None
        try:
            self._splitter = make()
        except Exception:
            self._give_up()

    @property
    def ended(self) -> bool:
        """Whether something else than reasoning has begun."""
        return self._splitter.ended if self._splitter is not None else not self._thinking

    def feed(self, text: str) -> tuple[str, str]:
        """Read a piece of the output; return what of it is reasoning, and what belongs to the second stage."""
        return self._read(lambda splitter: splitter.feed(text)) or ((text, "") if self._thinking else ("", text))

    def finish(self) -> tuple[str, str]:
        """Say that the output has ended; return what was held back."""
        return self._read(lambda splitter: splitter.finish()) or ("", "")

    def _read(self, read: Callable[[ReasoningSplitter], tuple[str, str]]) -> tuple[str, str] | None:
        """Return what a splitter reads, None where it fails or has failed; a fault that stays within it is counted once."""
        if self._splitter is None:
            return None
        try:
            found = read(self._splitter)
        except Exception:
            self._give_up()
            return None
        if self._splitter.failed and not self._failed:
            self._failed = True
            COUNTERS.add("faults")
        return found

    def _give_up(self) -> None:
        """Go on without the splitter."""
        self._log.exception("chat-autoparser: splitting an output failed, and its rest is handed on. Please report this")
        COUNTERS.add("faults")
        self._thinking = self._splitter is not None and self._splitter.in_reasoning
        self._splitter = None


class SplitReader:
    """Reads the reasoning with a splitter, and what is behind it with another parser; without one, that is content."""

    def __init__(self, splitter: ReasoningSplitter, behind: Any = None) -> None:
        self._splitter = splitter
        self._behind: Any = Rest() if behind is None else behind

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning."""
        return self._splitter.in_reasoning

    @property
    def in_call(self) -> bool:
        """Whether the next character stands inside a call."""
        return bool(self._behind.in_call)

    @property
    def holds_back(self) -> bool:
        """Whether what was fed last may yet turn out to be structure."""
        return bool(self._splitter.holds_back or self._behind.holds_back)

    @property
    def incomplete_calls(self) -> frozenset[int]:
        """The numbers of the calls that have no end."""
        return frozenset(self._behind.incomplete_calls)

    @property
    def calls_seen(self) -> int:
        """How many calls have begun."""
        return int(self._behind.calls_seen)

    def feed(self, text: str) -> list[Delta]:
        """Read a piece."""
        return self._sort(*self._splitter.feed(text))

    def finish(self) -> list[Delta]:
        """Say that the output has ended."""
        return [*self._sort(*self._splitter.finish()), *self._behind.finish()]

    def _sort(self, reasoning: str, rest: str) -> list[Delta]:
        deltas = [Delta("reasoning", reasoning)] if reasoning else []
        return [*deltas, *self._behind.feed(rest)] if rest else deltas
