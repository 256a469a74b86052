"""How many of the generated tokens are reasoning, counted as they come."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reader import Reader


class ReasoningCounter:
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
        reader = self._reader
        self._by_id = reader.end_id is not None and (reader.start_id is not None or self._inside)

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
        start, end, count = self._reader.start_id, self._reader.end_id, 0
        for token in () if self._over else ids:
            if token == end:
                self._inside, self._over = False, True
                break
            if token == start:
                self._inside = True
            elif self._inside:
                count += 1
        return count

    def _count_by_text(self, ids: Sequence[int]) -> int:
        """Count the tokens of text that is reasoning; those that may yet become a marker wait."""
        if self._splitter.ended:
            return 0
        before = self._splitter.in_reasoning
        emitted = self._splitter.feed(self._reader.decode(ids))[0]
        waiting, self._waiting = [*self._waiting, *ids], []
        holds = self._splitter.holds_back
        if before and self._splitter.in_reasoning and not holds and len(waiting) == len(ids):
            return len(waiting) if emitted else 0
        place = self._reader.decode(waiting).find(emitted) if emitted else -1
        start = self._measure(waiting, place) if place >= 0 else 0
        end = self._measure(waiting, place + len(emitted)) if place >= 0 else 0
        if holds:
            self._waiting = waiting[end:]
        return end - start

    def _measure(self, ids: Sequence[int], length: int) -> int:
        """Return how many tokens make a text of so many characters."""
        return bisect_left(range(len(ids) + 1), length, key=lambda count: len(self._reader.decode(ids[:count])))
