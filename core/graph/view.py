"""What a graph says in the words of people: the marks around reasoning, content and calls.

A graph has no openers and closers; these are cut out of its edges by looks (brackets, words, white space). They serve descriptions,
engines that want to know a mark by name, and the reading of what no template shows. Nothing that a template renders is read by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .cut import cut_common_end, cut_common_start
from .model import Edge, Kind, Start, TurnGraph


@dataclass(frozen=True)
class Marker:
    """Structure text, and the layout white space that the template prints around it."""

    text: str = ""
    before: str = ""
    after: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def written(self) -> str:
        """The marker as the template prints it, layout included."""
        return self.before + self.text + self.after

    @classmethod
    def of(cls, text: str) -> Marker:
        """Tell the layout of a text from its marker; white space alone is no marker."""
        core = text.strip()
        if not core:
            return cls("", "", text)
        return cls(core, text[: text.index(core)], text[text.index(core) + len(core) :])


@dataclass(frozen=True)
class Reasoning:
    """The marks around reasoning. ``start`` is empty where reasoning begins where the turn begins; ``beside_calls_only`` is set
    where the template prints it in turns with calls alone."""

    start: Marker
    end: Marker
    beside_calls_only: bool = False


@dataclass(frozen=True)
class Content:
    """The marks around content; ``wrapped`` tells in which turns they stand there."""

    start: Marker = Marker()
    end: Marker = Marker()
    wrapped: Literal["never", "always", "after reasoning", "with calls"] = "never"


@dataclass(frozen=True)
class Tools:
    """The marks around calls: ``section_start`` and ``section_end`` around all of them, ``call_start`` before the first field of
    each, ``call_end`` behind its last one, and ``separator`` between two."""

    section_start: Marker
    section_end: Marker
    call_start: Marker
    call_end: Marker
    separator: str
    parallel: bool


State = Literal["open", "reasoning", "content"]


def find_state(start: Start, graph: TurnGraph) -> State:
    """Tell what a model continues: reasoning, content (reasoning is over), or neither (``"open"``)."""
    kinds = {kind_of(graph, edge.target) for edge in start.edges}
    bare = {kind_of(graph, edge.target) for edge in start.edges if not edge.text.strip()}
    if "reasoning" in bare:
        return "reasoning"
    others = [edge for other in graph.starts for edge in other.edges]
    if "reasoning" in kinds or not any(kind_of(graph, edge.target) == "reasoning" for edge in others):
        return "open"
    longest = max(graph.starts, key=lambda other: len(other.prompt))
    return "content" if start.prompt == longest.prompt or any(start.prompt.startswith(o.prompt) for o in graph.starts if o != start) else "open"


def kind_of(graph: TurnGraph, name: str) -> Kind:
    """Return the kind of a node of the turn."""
    return graph.turn.node(name).kind


def find_header(graph: TurnGraph) -> str:
    """Return what all generation prompts have in common: the header of the assistant's turn."""
    return cut_common_start([start.prompt for start in graph.starts]) if graph.starts else ""


def find_reasoning(graph: TurnGraph) -> Reasoning | None:
    """Find the marks around reasoning; None where no turn has any."""
    nodes = [node for node in graph.turn.nodes if node.kind == "reasoning"]
    if not nodes:
        return None
    header = find_header(graph)
    opening: list[str] = []
    for start in graph.starts:
        for edge in start.edges:
            if kind_of(graph, edge.target) == "reasoning":
                opening.append(start.prompt[len(header) :] + edge.text)
    leaving = _list_leaving(graph, "reasoning", ("content", "name", "id", "key", "arguments"))
    ends = [edge.text for edge in leaving] or [_cut_stop(edge.text, graph) for edge in _list_leaving(graph, "reasoning", ("end",))]
    end = cut_common_start(ends) if ends else ""
    start = cut_common_end(opening) if opening else ""
    return Reasoning(Marker.of(start), Marker.of(end), all(node.beside_calls for node in nodes))


def find_content(graph: TurnGraph) -> Content:
    """Find the marks around content."""
    plain = [edge.text for start in graph.starts for edge in start.edges if kind_of(graph, edge.target) == "content"]
    behind = [edge.text for edge in _list_leaving(graph, "content", ("end",))]
    reasoning = find_reasoning(graph)
    end = Marker.of(_cut_stop(cut_common_start(behind), graph)) if behind else Marker()
    start = Marker.of(cut_common_end(plain)) if plain else Marker()
    if reasoning and start.text and reasoning.end.text and reasoning.end.text in start.text:
        start = Marker.of(start.text.rpartition(reasoning.end.text)[2])
    if not start and not end:
        return Content()
    return Content(start, end, "always")


def find_tools(graph: TurnGraph) -> Tools | None:
    """Find the marks around calls; None where no turn has any."""
    openings = [edge.text for edge in _list_opening(graph) if kind_of(graph, edge.source) == "content"]
    openings = openings or [edge.text for start in graph.starts for edge in start.edges if edge.opens_call]
    between = [edge.text for edge in _list_opening(graph) if kind_of(graph, edge.source) in _FIELDS]
    ends = [_cut_stop(edge.text, graph) for edge in graph.turn.edges if _leaves(graph, edge, "end")]
    if not openings and not between:
        return None
    opening = min(openings, key=len) if openings else ""
    call_end = cut_common_start([*between, *ends]) if between or ends else ""
    section_end = max((text[len(call_end) :] for text in ends if text.startswith(call_end)), key=len, default="")
    rest = between[0][len(call_end) :] if between else ""
    call_start = cut_common_end([opening, rest]) if rest else opening
    section_start = opening[: len(opening) - len(call_start)]
    separator = rest[: len(rest) - len(call_start)] if rest else ""
    marks = (Marker.of(text) for text in (section_start, section_end, call_start, call_end))
    return Tools(*marks, separator=separator, parallel=bool(between))


_FIELDS: tuple[Kind, ...] = ("name", "id", "key", "value", "arguments")


def _leaves(graph: TurnGraph, edge: Edge, target: Kind) -> bool:
    return kind_of(graph, edge.source) in _FIELDS and kind_of(graph, edge.target) == target


def _list_opening(graph: TurnGraph) -> list[Edge]:
    return [edge for edge in graph.turn.edges if edge.opens_call]


def _list_leaving(graph: TurnGraph, source: Kind, targets: tuple[Kind, ...]) -> list[Edge]:
    return [edge for edge in graph.turn.edges if kind_of(graph, edge.source) == source and kind_of(graph, edge.target) in targets]


def _cut_stop(text: str, graph: TurnGraph) -> str:
    places = [text.find(stop) for stop in graph.stops if stop and stop in text]
    return text[: min(places)] if places else text
