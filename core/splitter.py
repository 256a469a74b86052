"""Reasoning alone: what a server needs that asks one parser for the reasoning and another one for the rest.

Serving engines read an output in two stages, with two parsers that know nothing of each other. The first stage is the
:class:`ReasoningSplitter`: it emits reasoning, and hands everything from the first thing on that is none (visible content, a
call, the header of another message) to the second, verbatim but for the layout that belongs to the end of reasoning. The
second is a :class:`StreamParser` made with ``after_reasoning``. Together they give what one parser over the whole gives.

The splitter is that one parser, stopped where it would begin to do something else: each structure that it takes for one
passes through ``_end_text``, and each visible text through ``_flush``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parser import StreamParser
from .program import CONTINUATION, END, REASONING, get_program
from .tape import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .delta import Delta
    from .format import ChatFormat
    from .program import Structure
    from .scanner import Literal
    from .tape import Wait


class _Stop(Exception):
    """Ends a machine at a place of its text."""

    def __init__(self, place: int) -> None:
        self.place = place


class _Machine(StreamParser):
    """A parser that stops where reasoning is over; see the module's text."""

    def __init__(self, format: ChatFormat, tools: Iterable[dict[str, Any]] | None, prompt: str | None) -> None:
        self._own = False  # whether the structure that is being read belongs to reasoning
        super().__init__(format, tools, prompt)

    def stop(self, place: int) -> tuple[list[Delta], str]:
        """Return what was emitted before a place, and the output from there on."""
        return self._out, self._text[max(place, self._mute) :]

    def _try_closer(self, closer: Literal, at: int, blank: bool = False) -> Wait:
        self._own = True
        end = yield from super()._try_closer(closer, at, blank)
        self._own = False
        return end

    def _read_structure(self, structure: Structure, at: int, end: int) -> Wait:
        self._own = structure.kind == REASONING or (self._thinking and structure.kind in (END, CONTINUATION))
        end = yield from super()._read_structure(structure, at, end)
        self._own = False
        return end

    def _read_header(self, at: int) -> Wait:
        _, end = yield from self._find_header_end(at)
        self._own = end >= 0 and self._opens_reasoning(at, end)
        return (yield from super()._read_header(at))

    def _end_text(self, end: int, before: str) -> int:
        gone = super()._end_text(end, before)
        if not self._own:
            raise _Stop(end - gone)
        return gone

    def _flush(self, end: int) -> int:
        if not self._thinking:
            start = self._find_start(end)
            if start < 0:
                return 0
            raise _Stop(start)
        return super()._flush(end)


class ReasoningSplitter:
    """Splits one generation into reasoning and the text of everything else.

    Made by :meth:`ChatFormat.reasoning_splitter`. Costs what a parser costs until reasoning is over, and nothing then.
    """

    def __init__(self, format: ChatFormat, tools: Iterable[dict[str, Any]] | None = None, prompt: str | None = None) -> None:
        self._ended = get_program(format).reasoning is None
        if not self._ended:
            try:
                self._machine = _Machine(format, tools, prompt)
            except _Stop:
                self._ended = True

    @property
    def ended(self) -> bool:
        """Whether something else than reasoning has begun; all that is fed from then on is handed through.

        White space after the end of reasoning is not something else: it may be the marker's layout.
        """
        return self._ended

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning."""
        return not self._ended and self._machine.in_reasoning

    @property
    def reasoning_ended(self) -> bool:
        """Whether reasoning was closed, or something else has begun."""
        return self._ended or self._machine.reasoning_ended

    @property
    def holds_back(self) -> bool:
        """Whether what was fed last may yet turn out to be structure."""
        return not self._ended and self._machine.holds_back

    def feed(self, text: str) -> tuple[str, str]:
        """Read a piece of the output; return what of it is certainly reasoning, and what belongs to the second stage."""
        if self._ended:
            return "", text
        reasoning: list[str] = []
        for start in range(0, len(text), CHUNK):
            try:
                deltas = self._machine.feed(text[start : start + CHUNK])
            except _Stop as stop:
                self._ended = True
                deltas, rest = self._machine.stop(stop.place)
                reasoning += [delta.text for delta in deltas]
                return "".join(reasoning), rest + text[start + CHUNK :]
            reasoning += [delta.text for delta in deltas]
        return "".join(reasoning), ""

    def finish(self) -> tuple[str, str]:
        """Say that the output has ended; return what was held back, as :meth:`feed` does."""
        if self._ended:
            return "", ""
        self._ended = True
        try:
            deltas, rest = self._machine.finish(), ""
        except _Stop as stop:
            deltas, rest = self._machine.stop(stop.place)
        reasoning = "".join(delta.text for delta in deltas if delta.kind == "reasoning")
        return reasoning, "".join(delta.text for delta in deltas if delta.kind == "content") + rest
