"""The parser that a server holds: the machine, and where in the turn generation starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from ..delta import Delta
from ..format import TurnGraph
from ..plan.constants import is_marked
from ..plan.plan import BEHIND, get_plan
from ..recover import Policy, PolicyName, get_policy
from ..recover.habits import Habits
from ..schema import ToolSet
from .fitting import Fitting
from .machine import Machine

_SLICE: Final = 8192  # characters
FITTED: Final = "value of another type"
_LONGEST: Final = 1 << 16  # characters of an answer begun by a prompt that are read, the last of them: all others wait meanwhile


class StreamParser(Machine):
    """Reads one generation of a format that is a graph.

    ``tools`` are the request's tools; ``None`` means unknown, an empty list that nothing is a call. ``prompt`` is the rendered
    prompt or its tail. Costs microseconds; raises nothing while a model is talking.
    """

    def __init__(
        self,
        graph: TurnGraph,
        tools: Iterable[Mapping[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        after_reasoning: bool = False,
        known_only: bool = False,
        policy: Policy | PolicyName = "lenient",
    ) -> None:
        chosen = get_policy(policy)
        if known_only and chosen.unknown == "call":
            chosen = replace(chosen, unknown="text")
        plan = get_plan(graph, chosen.recover, chosen.markup == "drop", chosen.recover and chosen.overrun == "drop")
        wanted = None if tools is None else ToolSet((dict(t) for t in tools if isinstance(t, Mapping)), chosen.recover)
        number, rest = (BEHIND, "") if after_reasoning else find_start(graph, prompt)
        self.habits: Habits | None = None
        self._by_schema = chosen.typed != "written" and bool(wanted)
        self._fitting: Fitting | None = None  # of the call that came last
        self._fitted_call: int | None = None  # its number
        self._written: list[str] | None = [] if chosen.cut == "text" else None  # all that came
        self._sources: dict[int, str] = {}  # what was written of the calls that have no end
        self._ending = False
        self._begun: list[Delta] = []  # of a call that the prompt has begun
        unasked = wanted is not None and not wanted and chosen.unasked == "drop"
        super().__init__(plan, None if unasked else wanted, plan.start(number), chosen)
        if chosen.filters:
            self.habits = Habits(chosen, wanted or None, unasked, self.writer.incomplete, self._sources)
        self.unclosed = self.ended_reasoning = after_reasoning
        if rest:
            rest = rest[-_LONGEST:]
            self._written = None if self._written is None else [rest]
            begun = self._feed_slices(rest)  # what a prompt has written of the turn is read, and not emitted
            self.take_beginning()
            self._begun = self.writer.restart(begun)
            self._quick = self._passing = None  # which know of the calls before
            self.mute = len(self.buffer) if self.spot.kind in ("content", "reasoning") else 0

    def feed(self, text: str) -> list[Delta]:
        """Read a piece of the output."""
        if self._written is not None:
            self._written.append(text)
        deltas = super().feed(text) if len(text) <= _SLICE else self._feed_slices(text)
        if self._begun:
            deltas, self._begun = self._begun + deltas, []
        deltas = self._fit_values(deltas) if self._by_schema else deltas
        return deltas if self.habits is None else self.habits.feed(deltas)

    def _fit_values(self, deltas: list[Delta], final: bool = False) -> list[Delta]:
        """Return deltas with values as their schemas want them; what is held of one that never ends comes before others."""
        out: list[Delta] = []
        for delta in deltas:
            if self._fitting is not None and (delta.index is None or delta.name is not None):
                out += self._end_fitting()
            if delta.name is not None and self.tools is not None and delta.name in self.tools:
                parameters = self.tools.get_parameters(delta.name)
                self._fitting, self._fitted_call = Fitting(parameters, self.policy.typed == "scalars"), delta.index
            elif delta.index is not None and self._fitting is not None:
                text = self._fitting.feed(delta.text)
                delta = delta if text == delta.text else delta._replace(text=text)
                for _ in range(self._fitting.changed):
                    self._note(FITTED, self.at)
                self._fitting.changed = 0
            if delta.text or delta.name is not None:
                out.append(delta)
        return out + (self._end_fitting() if final else [])

    def _end_fitting(self) -> list[Delta]:
        """Return what was held of a value that has no end."""
        held = self._fitting.finish() if self._fitting is not None else ""
        self._fitting = None
        return [Delta("tool_call", held, self._fitted_call)] if held else []

    def _feed_slices(self, text: str) -> list[Delta]:
        """Read a long piece as if it came in several: what is looked through anew for each decision is never long."""
        return [delta for piece in cut_slices(text) for delta in super(StreamParser, self).feed(piece)]

    def finish(self) -> list[Delta]:
        """Say that the output has ended."""
        open_before = not self.closed
        deltas, self._begun = self._begun + super().finish(), []
        deltas = self._fit_values(deltas, final=True) if self._by_schema else deltas
        return self.habits.feed(deltas, final=True) if self.habits is not None and open_before else deltas

    def _end(self) -> None:
        self._ending = True
        super()._end()

    def _close_call(self, complete: bool = True) -> None:
        call = self.writer.call
        end = None if self._ending else self.gone + self.at
        super()._close_call(complete)
        if self._written is not None and call is not None and call.name is not None:
            unclosed = self._ending and any((self.plan.closes.get(node.name) or "").strip() for node in self.spot.nodes)
            if unclosed or call.index in self.writer.incomplete:
                self._sources[call.index] = "".join(self._written)[call.place : end]

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning, if it is no structure."""
        field = self.spot.fallback if self.spot.kind == "start" else self.spot
        return field is not None and field.kind == "reasoning" and not self._holds_end()

    def _holds_end(self) -> bool:
        """Whether what is held back begins with the end of reasoning, and only what follows it is waited for."""
        held = self.buffer[self.at :].lstrip()
        return bool(held) and any(held.startswith(close) for close in self.plan.reasoning_ends)

    @property
    def reasoning_ended(self) -> bool:
        """Whether reasoning was closed, or something else has begun; also where a prompt leaves no place for it."""
        if self.spot.kind == "start":
            return self.ended_reasoning or all(rule.kind != "reasoning" or rule.recovery for rule in self.spot.rules)
        return self.ended_reasoning or self.spot.kind != "reasoning" or self._holds_end()

    @property
    def calls_seen(self) -> int:
        """How many calls have begun."""
        return self.writer.calls

    @property
    def in_call(self) -> bool:
        """Whether the next character stands inside a call, from behind its name on."""
        return self.writer.call is not None

    @property
    def incomplete_calls(self) -> frozenset[int]:
        """The numbers of the calls that the end of the output cut off, or that went wrong."""
        return frozenset(self.writer.incomplete)

    @property
    def holds_back(self) -> bool:
        """Whether what was fed last may yet turn out to be structure."""
        return self.at < len(self.buffer)


def cut_slices(text: str) -> list[str]:
    """Cut a text into pieces that are read at once."""
    return [text[at : at + _SLICE] for at in range(0, len(text), _SLICE)] or [text]


def find_start(graph: TurnGraph, prompt: str | None) -> tuple[int, str]:
    """Return the number of the state in which a prompt leaves the turn (-1: none), and what it has written beyond that."""
    starts = graph.starts
    if prompt is None or not starts:
        return (0 if starts else -1), ""
    written = [(number, start.prompt) for number, start in enumerate(starts) if start.prompt]
    fitting = [(prompt.endswith(text), len(text), -number) for number, text in written if starts[number].ends(prompt)]
    if fitting:
        return -max(fitting)[2], ""
    found = [(place, len(text), -number) for number, text in written if (place := prompt.rfind(text)) >= 0]
    place, size, number = max(found, default=(0, 0, 0))
    rest = prompt[place + size :]
    answered = any(is_marked(other) and other in rest for other in graph.others)  # that prompt began an earlier turn
    if found and not answered:
        return -number, rest
    return next((number for number, start in enumerate(starts) if not start.prompt), -number), ""
