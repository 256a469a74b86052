"""Reasoning alone: what a server needs that asks one parser for the reasoning and another one for the rest.

The first stage is the :class:`ReasoningSplitter`: it emits reasoning, and hands everything from the first thing on that is
none to the second, verbatim but for the end of reasoning. The second is a :class:`StreamParser` made with
``after_reasoning``. Together they give what one parser over the whole gives. The splitter is that one parser, stopped where
it would begin to do something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..delta import Delta
from ..format import TurnGraph
from ..plan.constants import is_firm
from ..recover import Policy, PolicyName, get_policy
from .landing import Landing
from .stream import StreamParser, cut_slices


class _Stop(BaseException):
    """Ends a machine at a place of its buffer; no fault, for which a machine would look out."""

    def __init__(self, place: int) -> None:
        self.place = place


class _Thinker(StreamParser):
    """A parser that stops where reasoning is over."""

    def _apply(self, landing: Landing, start: int) -> None:
        called = any(step.kind == "open" for step in landing.steps)  # then the turn may end with it
        if self.spot.kind in ("start", "reasoning") and (called or landing.spot.kind not in ("reasoning", "end")):
            if self._leaves_blank(landing):
                self.writer.text("reasoning", self.plan.graph.blank)
            raise _Stop(self._find_rest(start, landing))
        super()._apply(landing, start)

    def _find_rest(self, start: int, landing: Landing) -> int:
        """Return where the second stage begins: behind the end of reasoning, if there is one, and where a call begins."""
        places = ((self.buffer.find(close, start, landing.end), len(close)) for close in self.plan.reasoning_ends)
        behind = next((place + size for place, size in places if place >= 0), start)
        marks = (text for text, _ in self.plan.openers if is_firm(text))
        calls = max((self.buffer.find(mark, start, landing.end) for mark in marks), default=start)
        return min(behind, calls) if calls > start else behind

    def _fall_back(self) -> None:
        super()._fall_back()
        if self.spot.kind != "reasoning":
            raise _Stop(self.at)


class ReasoningSplitter:
    """Splits one generation into reasoning and the text of everything else.

    Made by :meth:`ChatFormat.reasoning_splitter`. Costs what a parser costs until reasoning is over, and nothing then.
    """

    def __init__(
        self,
        graph: TurnGraph,
        tools: Iterable[Mapping[str, Any]] | None = None,
        prompt: str | None = None,
        policy: Policy | PolicyName = "lenient",
    ) -> None:
        chosen = get_policy(policy)
        self._held: list[str] | None = [] if chosen.unanswered == "content" else None  # reasoning that may be all there is
        self.ended = all(node.kind != "reasoning" for node in graph.turn.nodes)
        self._machine: _Thinker | None = None
        if not self.ended:
            try:
                self._machine = _Thinker(graph, tools, prompt, policy=replace(chosen, unanswered="reasoning"))
            except _Stop:
                self.ended = True

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning."""
        return not self.ended and self._machine is not None and self._machine.in_reasoning

    @property
    def reasoning_ended(self) -> bool:
        """Whether reasoning was closed, or something else has begun."""
        return self.ended or (self._machine is not None and self._machine.reasoning_ended)

    @property
    def holds_back(self) -> bool:
        """Whether what was fed last may yet turn out to be structure."""
        return not self.ended and self._machine is not None and self._machine.holds_back

    @property
    def failed(self) -> bool:
        """Whether the parser itself has failed, and all is handed on as it stands from then on."""
        return self._machine is not None and any(name == "fault" for name, _ in self._machine.recoveries)

    def feed(self, text: str) -> tuple[str, str]:
        """Read a piece of the output; return what of it is certainly reasoning, and what belongs to the second stage."""
        parts = [self._step(piece) for piece in cut_slices(text)]  # what reading stops in is no longer than one of them
        return self._hold("".join(thought for thought, _ in parts), "".join(rest for _, rest in parts))

    def _hold(self, thought: str, rest: str) -> tuple[str, str]:
        """Hold reasoning back as long as nothing else has come, if that is to be content then."""
        if self._held is None:
            return thought, rest
        self._held.append(thought)
        if not (self.ended and rest.strip()):
            return "", rest
        held, self._held = self._held, None
        return "".join(held), rest

    def finish(self) -> tuple[str, str]:
        """Say that the output has ended; return what was held back, as :meth:`feed` does."""
        found = self._hold(*self._step(None))
        held, self._held = self._held, None
        self.ended = True
        return ("", "".join(held) + found[1]) if held else found

    def _step(self, text: str | None) -> tuple[str, str]:
        machine = self._machine
        if self.ended or machine is None:
            return "", text or ""
        try:
            deltas = machine.finish() if text is None else machine.feed(text)
            rest = ""
        except _Stop as stop:
            self.ended = True
            deltas, rest = machine.writer.take(), machine.buffer[stop.place :]
        return _join(deltas, "reasoning"), _join(deltas, "content") + rest


def _join(deltas: Iterable[Delta], kind: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)
