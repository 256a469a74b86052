"""The parser that a server holds: the machine, and where in the turn generation starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..delta import Delta
from ..format import Edge, Start, TurnGraph
from .machine import Machine
from .plan import Plan, Spot, get_plan


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
    ) -> None:
        plan = get_plan(graph)
        state, rest = find_start(graph, prompt)
        start = plan.start(state or Start(""))
        super().__init__(plan, tools, start)
        if rest:
            self.feed(rest)  # what a prompt has written of the turn is read, and not emitted
            self.writer.take()
            self.writer.wrote = False

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning."""
        return self.spot.kind == "reasoning"

    @property
    def reasoning_ended(self) -> bool:
        """Whether reasoning was closed, or something else has begun."""
        return self.ended_reasoning or self.spot.kind not in ("start", "reasoning")

    @property
    def calls_seen(self) -> int:
        """How many calls have begun."""
        return self.writer.calls

    @property
    def incomplete_calls(self) -> set[int]:
        """The numbers of the calls that the output did not finish."""
        return self.writer.incomplete

    @property
    def incomplete(self) -> bool:
        """Whether any call was not finished."""
        return bool(self.writer.incomplete)

    @property
    def holds_back(self) -> bool:
        """Whether what was fed last may yet turn out to be structure."""
        return self.at < len(self.buffer)


def find_start(graph: TurnGraph, prompt: str | None) -> tuple[Start | None, str]:
    """Return the state in which a prompt leaves the turn, and what it has written of the turn beyond that."""
    starts = graph.starts
    if not starts:
        return None, ""
    if prompt is None:
        return starts[0], ""
    fitting = [start for start in starts if prompt.endswith(start.prompt)]
    if fitting:
        return max(fitting, key=lambda start: len(start.prompt)), ""
    best: tuple[int, int, Start] | None = None
    for start in starts:
        place = prompt.rfind(start.prompt) if start.prompt else -1
        if place >= 0 and (best is None or (place, len(start.prompt)) > best[:2]):
            best = place, len(start.prompt), start
    if best is None:
        return starts[0], ""
    return best[2], prompt[best[0] + best[1] :]


def read_message(graph: TurnGraph, text: str, tools: Iterable[Mapping[str, Any]] | None, prompt: str | None) -> list[Delta]:
    """Read a whole output; one feed and one finish."""
    parser = StreamParser(graph, tools, prompt)
    return [*parser.feed(text), *parser.finish()]


__all__ = ["Edge", "Plan", "Spot", "StreamParser", "find_start", "read_message"]
