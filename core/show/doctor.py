"""Which built-in parsers of the installed engines read a model's turns: how many, how the others differ, and the flags
to use.

Each engine's own plugin knows how that engine reads an output (``chat_autoparser.ENGINE_plugin.builtin``); here turns
are made, readings are judged by what stands in the turns, and parsers are picked. Parsers of calls are judged by the calls of
turns without reasoning, and those of reasoning on turns without calls, so that each counts for itself; then the best of both are
tried together. Of equals, those come first whose names have more in common with the model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from ..ask.renderer import Renderer
from ..describe.spans import Line, make_visible
from ..errors import TemplateError
from ..format import ChatFormat
from .difference import find_fault
from .display import Display
from .sources import name_model
from .turns import KnownTurn, list_turns

_ENGINES = ("vllm", "sglang")
_MOST_TRIED = 3
_MOST_SHOWN = 5


class Engine(Protocol):
    """An engine as this process has it installed, with the tokenizer of a model."""

    name: str
    version: str
    calls: Sequence[str]
    reasoning: Sequence[str]

    def read(self, turn: KnownTurn, calls: str | None, reasoning: str | None, stream: bool) -> Mapping[str, Any]:
        """Read a turn by the parsers of these names, whole or token by token, into an OpenAI message. Raises what they
        raise.
        """

    def say_flags(self, calls: str | None, reasoning: str | None) -> str:
        """Return the flags that make a server use these parsers."""


@dataclass(frozen=True)
class Reading:
    """How many turns a parser, or a pair of them, reads, and in what the first other one differs."""

    calls: str | None
    reasoning: str | None
    read: int
    turns: int
    fault: str = ""

    @property
    def name(self) -> str:
        """The names of its parsers."""
        return " + ".join(name for name in (self.calls, self.reasoning) if name) or "none"


@dataclass(frozen=True)
class Finding:
    """What was found for one engine: its parsers of calls and of reasoning, the best first, and the best pairs."""

    engine: str
    version: str
    calls: tuple[Reading, ...] = ()
    reasoning: tuple[Reading, ...] = ()
    pairs: tuple[Reading, ...] = ()
    flags: str = ""
    error: str = ""

    @property
    def best_reads_all(self) -> bool:
        """Whether some pair of built-in parsers reads every turn."""
        return any(pair.read == pair.turns for pair in self.pairs)


def examine(folder: Path, renderer: Renderer, format: ChatFormat, progress: Display) -> list[Finding]:
    """Try the built-in parsers of each installed engine on the turns that a template renders.

    Raises :class:`TemplateError` where there is no turn or no engine. Takes seconds, most of them for importing the engine.
    """
    installed = [name for name in _ENGINES if find_spec(name)]
    if not installed:
        raise TemplateError(
            "Looking for engines found neither vLLM nor SGLang in this environment. Run doctor in the one that serves."
        )
    turns = list_turns(renderer, format)
    if not turns:
        raise TemplateError("Looking for turns found none that the template renders. Run chat-autoparser inspect to see why.")
    return [_examine_engine(name, folder, turns, progress) for name in installed]


def _examine_engine(name: str, folder: Path, turns: Sequence[KnownTurn], progress: Display) -> Finding:
    try:
        engine: Engine = import_module(f"chat_autoparser.{name}_plugin.builtin").open_engine(folder)
    except Exception as error:  # of an engine that is installed but does not run here
        return Finding(name, "", error=f"{type(error).__name__}: {error}"[:300])
    calling = [turn for turn in turns if turn.question.calls]
    calling = [turn for turn in calling if not turn.question.reasoning] or calling
    thinking = [turn for turn in turns if not turn.question.calls]
    has_reasoning = any(turn.question.reasoning for turn in turns)
    known = name_model(str(folder)).lower()

    def rank(readings: Iterable[Reading]) -> tuple[Reading, ...]:
        return tuple(sorted(readings, key=lambda reading: (-reading.read, -_measure_likeness(reading, known))))

    with progress.track(len(engine.calls) + len(engine.reasoning)) as begin:

        def judge(tried: Sequence[KnownTurn], calls: str | None, reasoning: str | None) -> Reading:
            begin(calls or reasoning or "")
            return _judge(engine, tried, calls, reasoning, calls_only=calls is not None and has_reasoning)

        calls = rank(judge(calling, name, None) for name in engine.calls) if calling else ()
        reasoning = rank(judge(thinking, None, name) for name in engine.reasoning) if has_reasoning else ()
    best = [[each.calls for each in calls[:_MOST_TRIED]] or [None], [each.reasoning for each in reasoning[:_MOST_TRIED]] or [None]]
    pairs = rank(_judge(engine, turns, one, other) for one, other in product(*best))
    first = pairs[0] if pairs[0].read == pairs[0].turns else Reading("auto", "auto", 0, 0)
    return Finding(engine.name, engine.version, calls, reasoning, pairs, engine.say_flags(first.calls, first.reasoning))


def _measure_likeness(reading: Reading, known: str) -> int:
    """Return how long the longest text is that the names of parsers share with that of the model."""
    names = [name.lower() for name in (reading.calls, reading.reasoning) if name]
    return sum(SequenceMatcher(None, name, known).find_longest_match().size for name in names)


def _judge(
    engine: Engine, turns: Sequence[KnownTurn], calls: str | None, reasoning: str | None, calls_only: bool = False
) -> Reading:
    """Read turns whole and as a stream; a turn counts if both are right."""
    faults = [(turn.name, _find_fault(engine, turn, calls, reasoning, calls_only)) for turn in turns]
    read = sum(fault is None for _, fault in faults)
    return Reading(calls, reasoning, read, len(turns), next((f"{name}: {fault}" for name, fault in faults if fault), ""))


def _find_fault(engine: Engine, turn: KnownTurn, calls: str | None, reasoning: str | None, calls_only: bool) -> str | None:
    for stream in (False, True):
        try:
            fault = find_fault(turn, engine.read(turn, calls, reasoning, stream), calls_only)
        except Exception as error:  # of a parser that is compared: what it raises is its result
            fault = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]
        if fault is not None:
            return fault + (" (streamed)" if stream else "")
    return None


def lay_out_findings(findings: Sequence[Finding]) -> Iterator[Line]:
    """Return lines that tell what was found, and what to type."""
    for finding in findings:
        yield Line.of(("title", f"{finding.engine} {finding.version}".strip()))
        if finding.error:
            yield Line.of(("bad", f"  it could not be loaded: {make_visible(finding.error)}"))
        for title, readings in (("parsers of calls", finding.calls), ("parsers of reasoning", finding.reasoning)):
            yield from _lay_out_readings(title, readings)
        yield from _lay_out_readings("together", finding.pairs[:_MOST_TRIED])
        if finding.flags:
            advice = "use: " if finding.best_reads_all else "no built-in parser reads all turns; use this package's: "
            yield Line.of(("text", f"  {advice}"), ("good", make_visible(finding.flags)))
        yield Line()


def _lay_out_readings(title: str, readings: Sequence[Reading]) -> Iterator[Line]:
    """Return a line for each parser that reads all turns and for the next best, and one for all others."""
    shown = [reading for number, reading in enumerate(readings) if reading.read == reading.turns or number < _MOST_SHOWN]
    if not readings:
        return
    yield Line.of(("label", f"  {title}"))
    width = max(len(reading.name) for reading in shown)
    for reading in shown:
        kind = "good" if reading.read == reading.turns else "fair" if reading.read else "bad"
        count = (kind, f"{reading.read} of {reading.turns}")
        yield Line.of(("text", f"    {reading.name:<{width}}  "), count, ("note", f"  {make_visible(reading.fault)}"))
    others = [reading for reading in readings if reading not in shown]
    fewer = [f"{reading.name} ({reading.read})" for reading in others if reading.read]
    for title, names in (("fewer", fewer), ("none of the turns", [reading.name for reading in others if not reading.read])):
        if names:
            yield Line.of(("note", f"    {title}: {', '.join(names)}"))
