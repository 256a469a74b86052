"""What a graph says in the words of people: the marks around reasoning, content and calls.

A graph has no openers and closers; these are cut out of its edges by looks (brackets, words, white space). They serve
descriptions, engines that want to know a mark by name, and the reading of what no template shows. Nothing that a
template renders is read by them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .cut import COUNTER, cut_common_end, cut_common_start, find_boundaries, take_letters
from .model import Edge, Graph, Kind, Start, TurnGraph


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
        before, _, after = text.partition(core) if core else ("", "", text)
        return cls(core, before, after)


@dataclass(frozen=True)
class Reasoning:
    """The marks around reasoning. ``start`` is empty where reasoning begins where the turn begins;
    ``beside_calls_only`` is set where the template prints it in turns with calls alone."""

    start: Marker
    end: Marker
    beside_calls_only: bool = False


@dataclass(frozen=True)
class Content:
    """The marks around content; ``wrapped`` tells in which turns they stand there."""

    start: Marker = Marker()
    end: Marker = Marker()
    wrapped: Literal["never", "always", "with calls"] = "never"


@dataclass(frozen=True)
class Tools:
    """The marks around calls: ``section_start`` and ``section_end`` around all of them, ``call_start`` before the first
    field of each, ``call_end`` behind its last one, and ``separator`` between two."""

    section_start: Marker
    section_end: Marker
    call_start: Marker
    call_end: Marker
    separator: str
    parallel: bool


State = Literal["open", "reasoning", "content"]

_FIELDS: tuple[Kind, ...] = ("name", "id", "key", "value", "arguments")


def kind_of(graph: TurnGraph, name: str) -> Kind:
    """Return the kind of a node of the turn."""
    return graph.turn.node(name).kind


def find_header(graph: TurnGraph) -> str:
    """Return the header of the assistant's turn: what generation prompts begin with, without what opens reasoning."""
    prompt, reasoning = _find_common_prompt(graph), find_reasoning(graph)
    start = reasoning.start.text if reasoning else ""
    return prompt[: prompt.rindex(start)] if start and prompt.rstrip().endswith(start) else prompt


def _find_common_prompt(graph: TurnGraph) -> str:
    """Return what generation prompts have in common at their beginning, those that begin alike."""
    prompts = [start.prompt for start in graph.starts]
    alike = [prompt for prompt in prompts if cut_common_start([prompts[0], prompt])]
    return cut_common_start(alike) if alike else ""


def find_turn_end(graph: TurnGraph) -> str:
    """Return what all turns end with, with :data:`.cut.COUNTER` for each counter."""
    texts = [COUNTER.join(edge.parts) for edge in graph.turn.edges if kind_of(graph, edge.target) == "end"]
    return cut_common_end(texts) if texts else ""


def list_inner_texts(graph: TurnGraph) -> list[str]:
    """Return the texts inside of turns: those that lead on to another field."""
    return [edge.text for edge in graph.turn.edges if kind_of(graph, edge.target) != "end"]


def find_ends(graph: TurnGraph) -> tuple[str, ...]:
    """Return what ends a turn: the stop strings, or what all turns end with, or else what stands behind plain content."""
    if any(graph.stops):
        return tuple(stop for stop in graph.stops if stop)
    common = find_turn_end(graph).replace(COUNTER, "0").strip()
    plain = [edge.text.strip() for edge in list_edges(graph, ("content",), ("end",))]
    return tuple(dict.fromkeys(text for text in ([common] if common else plain) if text))


def find_state(start: Start, graph: TurnGraph) -> State:
    """Tell what a model continues: reasoning, content (reasoning is over), or neither (``"open"``)."""
    reasoning, prompt = find_reasoning(graph), start.prompt.rstrip()
    if reasoning is None:
        return "open"
    if reasoning.start and prompt.endswith(reasoning.start.text):
        return "reasoning"
    if reasoning.end and prompt.endswith(reasoning.end.text):
        return "content"
    bare = {kind_of(graph, edge.target) for edge in start.edges if not edge.text.strip()}
    return "reasoning" if "reasoning" in bare and not reasoning.start else "open"


def find_reasoning(graph: TurnGraph) -> Reasoning | None:
    """Find the marks around reasoning; None where no turn has any."""
    nodes = [node for node in graph.turn.nodes if node.kind == "reasoning"]
    if not nodes:
        return None
    header = _find_common_prompt(graph)
    opening = find_call_opening(graph, ("content",)) or ""
    leaving = list_edges(graph, ("reasoning",), ("content", *_FIELDS))
    behind = [edge.text.removesuffix(opening.lstrip()) if edge.opens_call else edge.text for edge in leaving]
    behind = behind or [_cut_end(edge.text, graph) for edge in list_edges(graph, ("reasoning",), ("end",))]
    end = cut_common_start(behind) if behind else ""
    end = end.rstrip().removesuffix(header.rstrip()) if header.strip() and end.rstrip().endswith(header.rstrip()) else end
    start = _find_opening(graph, header, end.strip())
    return Reasoning(Marker.of(start), Marker.of(end), all(node.beside_calls for node in nodes))


def _find_opening(graph: TurnGraph, header: str, end: str) -> str:
    """Return what opens reasoning: what turns begin with, or what the prompt writes; the end of its header only where the
    prompt of another setting goes on with the end of reasoning, or where the two are alike but for signs."""
    edges = [(start, edge) for start in graph.starts for edge in start.edges if kind_of(graph, edge.target) == "reasoning"]
    written = [edge.text for _, edge in edges if edge.text.strip()]
    if written:
        return cut_common_end(written)
    added = [start.prompt[len(header) :] for start, _ in edges if start.shown and start.prompt.startswith(header)]
    if added and all(text.strip() for text in added):
        return cut_common_end(added)
    body = header.rstrip()
    mirrored = end[::-1].translate(_MIRROR)
    if end and mirrored != end and body.endswith(mirrored):
        return mirrored + header[len(body) :]
    last = body[max((place for place in find_boundaries(body) if place < len(body)), default=0) :]
    closed = any(start.prompt[len(header) :].strip() == end for start in graph.starts)
    if end and last and (closed or take_letters(last) == take_letters(end) != ""):
        return last + header[len(body) :]
    return ""


_MIRROR = str.maketrans("()[]{}<>", ")(][}{><")


def find_content(graph: TurnGraph) -> Content:
    """Find the marks around content; an empty reasoning before it is not among them."""
    before: dict[bool, list[str]] = {False: [], True: []}
    reasoning = find_reasoning(graph)
    cut = reasoning.end.text if reasoning else ""
    for edge in list_edges(graph, ("start", "reasoning"), ("content",)):
        text = edge.text.rpartition(cut)[2] if cut else edge.text
        before[graph.turn.node(edge.target).beside_calls].append(text)
    plain, beside = (cut_common_end(texts) if texts else "" for texts in before.values())
    behind = [_cut_end(edge.text, graph) for edge in list_edges(graph, ("content",), ("end",))]
    end = cut_common_start(behind) if behind else ""
    if plain.strip() or end.strip():
        return Content(Marker.of(plain), Marker.of(end), "always")
    return Content(Marker.of(beside), Marker(), "with calls") if beside.strip() else Content()


def find_tools(graph: TurnGraph) -> Tools | None:
    """Find the marks around calls; None where no turn has any."""
    opening, call = find_call_opening(graph), walk_call(graph)
    if opening is None or not call:
        return None
    header = find_header(graph)
    source = call[-1].source
    leaving = list(graph.turn.leaving(source))
    inner = any(_is_inner(graph, edge) for edge in leaving)
    behind = _close_brackets(cut_common_start([edge.text for edge in leaving])) if inner else ""
    between = [edge.text[len(behind) :] for edge in leaving if edge.opens_call]
    ends = [_cut_end(edge.text, graph)[len(behind) :] for edge in leaving if kind_of(graph, edge.target) == "end"]
    call_end = _close_brackets(cut_common_start([*between, *ends])) if between and ends else (ends[0] if ends else "")
    section_end = max((text[len(call_end) :] for text in ends), key=len, default="") if between else ""
    rest = between[0][len(call_end) :] if between else ""
    call_start = cut_common_end([opening, rest]) if rest.strip() else opening
    section_start = opening[: len(opening) - len(call_start)]
    separator = rest[: len(rest) - len(call_start)] if rest.strip() else rest
    if header.strip() and header.strip() in call_start:
        call_start = call_start[call_start.rindex(header.strip()) + len(header.strip()) :]
    marks = [Marker.of(text) for text in (section_start, section_end, call_start, call_end)]
    return Tools(marks[0], marks[1], marks[2], marks[3], separator, parallel=bool(between))


def find_call_opening(graph: TurnGraph, sources: tuple[Kind, ...] = ("content", "reasoning")) -> str | None:
    """Return the shortest text that opens the first call of a turn, where that begins or behind fields of these kinds."""
    edges = list_edges(graph, ("start", *sources), _FIELDS)
    return min((edge.text for edge in edges if edge.opens_call), key=len, default=None)


def walk_call(graph: TurnGraph) -> tuple[Edge, ...]:
    """Return the edges of one call, from its first field to the end of the turn, with one argument where those are fields."""
    path: list[Edge] = []
    edge = next((edge for edge in (*graph.turn.edges, *graph.begun) if edge.opens_call), None)
    while edge is not None:
        edges = [one for one in graph.turn.leaving(edge.target) if not one.opens_call]
        passed = {edge.target, *(one.source for one in path)}
        further = [] if kind_of(graph, edge.target) == "value" else [one for one in edges if one.target not in passed]
        inner = [one for one in further if _is_inner(graph, one)]
        edge = min(inner or [one for one in edges if kind_of(graph, one.target) == "end"], key=_is_odd, default=None)
        path += [edge] if edge else []
    return tuple(path)


def _close_brackets(text: str) -> str:
    """Return what of a text leaves no bracket open that it opens: a mark is not taken apart."""
    opened: list[int] = []
    for place, char in enumerate(text):
        if char in "([{<":
            opened.append(place)
        elif char in ")]}>" and opened:
            opened.pop()
    return text[: opened[0]] if opened else text


def _is_odd(edge: Edge) -> bool:
    """Whether a field is of another form or type than plain strings: those are tried first."""
    return not edge.target.replace("=", "").endswith(("string", "name", "id", "arguments", "end"))


def _is_inner(graph: TurnGraph, edge: Edge) -> bool:
    return kind_of(graph, edge.target) in _FIELDS and not edge.opens_call


def list_edges(graph: TurnGraph, sources: tuple[Kind, ...], targets: tuple[Kind, ...]) -> list[Edge]:
    """Return the edges of a turn between fields of these kinds; those with which it begins come first."""
    edges = (*graph.begun, *graph.turn.edges)
    return [edge for edge in edges if kind_of(graph, edge.source) in sources and kind_of(graph, edge.target) in targets]


def _cut_end(text: str, graph: TurnGraph) -> str:
    """Return a text without the end of the turn."""
    return text[: min((place for stop in find_ends(graph) if (place := text.rfind(stop)) >= 0), default=len(text))]


def drop_reasoning(graph: TurnGraph) -> TurnGraph:
    """Return a graph without reasoning: no node and no edge of it, and no beginning of a turn that writes its markers."""
    gone = {node.name for node in graph.turn.nodes if node.kind == "reasoning"}
    reasoning = find_reasoning(graph)
    marks = [mark.text for mark in (reasoning.start, reasoning.end) if mark.text] if reasoning else []
    nodes = tuple(node for node in graph.turn.nodes if node.name not in gone)
    edges = tuple(edge for edge in graph.turn.edges if edge.source not in gone and edge.target not in gone)
    starts = tuple(
        replace(start, edges=tuple(e for e in start.edges if e.target not in gone and not any(m in e.text for m in marks)))
        for start in graph.starts
    )
    return replace(graph, turn=Graph(nodes, edges), starts=starts, silent=True)
