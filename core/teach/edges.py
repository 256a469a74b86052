"""Edges of a turn learnt from examples: those that are shown, and those that follow from them.

Few examples show what many renders would: each type of value at each place, calls behind reasoning, behind content and at
the start of a turn, a call without arguments. What stands around a value goes with its type alone, and what stands before
the first call is the same everywhere but for what ends the field before it; so the rest can be put together. What cannot
is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal, NamedTuple

from ..ask.pieces import END, Field, find_common_end, list_tokens
from ..format import Choice, Codec, Edge, Graph, Json, Node, Number, Start, Text, TurnGraph
from ..format.cut import cut_common_end
from ..schema import TYPES
from .sample import PYTHON_TEXT, RAW, Sample

_WORDS: Mapping[str, tuple[tuple[Literal["true", "false", "null"], str], ...]] = {
    "boolean": (("true", "True"), ("false", "False")),
    "null": (("null", "None"),),
}
_START = "start"


class Draft:
    """A graph that is added to: nodes and edges by name, and notes on what no example shows."""

    def __init__(self, graph: TurnGraph) -> None:
        self.graph = graph
        self.nodes = {node.name: node for node in graph.turn.nodes}
        self.edges = dict.fromkeys(graph.turn.edges)
        self.starts = [dict.fromkeys(start.edges) for start in graph.starts]
        self.notes: list[str] = []

    def add_node(self, field: Field, codec: Codec | None = None, carries_name: bool = False) -> str:
        """Add the node of a field, if there is none yet, and return its name."""
        node = Node(field.name, field.kind, codec or Text(), field.type, field.again, field.beside_calls, carries_name)
        return self.nodes.setdefault(field.name, node).name

    def add(self, source: str, text: str, target: str, opens: bool = False) -> None:
        """Add an edge; one that leaves the start is one of every state in which generation starts."""
        edge = Edge(source, (text,), target, opens)
        for edges in self.starts if source == _START else [self.edges]:
            edges.setdefault(edge)

    def find(self, source: str = "", target: str = "") -> list[Edge]:
        """Return the edges from and to nodes of the given kinds (any, where one is empty), those of the starts included."""
        every = [edge for edges in (*self.starts, self.edges) for edge in edges]
        kinds = [(self.nodes[edge.source].kind, self.nodes[edge.target].kind, edge) for edge in every]
        return [edge for one, other, edge in kinds if source in ("", one) and target in ("", other)]

    def finish(self) -> TurnGraph:
        """Return the graph, the edge to be tried first before others."""
        starts = (replace(s, edges=self._sort(e)) for s, e in zip(self.graph.starts, self.starts, strict=True))
        nodes = [node for node in self.nodes.values() if node.kind != "end"]
        turn = Graph((*nodes, self.nodes[END.name]), self._sort(self.edges))
        return replace(self.graph, turn=turn, starts=tuple(starts))

    def _sort(self, edges: dict[Edge, None]) -> tuple[Edge, ...]:
        def rank(edge: Edge) -> tuple[bool | int, ...]:
            node = self.nodes[edge.target]
            return -len(edge.text), node.type not in ("", "string"), node.kind == "content", not node.beside_calls

        return tuple(sorted(edges, key=rank))


def make_plain(samples: Sequence[Sample], endings: Sequence[str]) -> TurnGraph:
    """Return the graph of turns that are content alone, as samples show them, for a model without a template."""
    spoken = [s for s in samples if s.pieces and s.pieces[0].field.kind == "content"]
    lead = next((s.pieces[0].text for s in spoken), "")
    ending = next((s.tail for s in spoken if len(s.pieces) == 1 and s.tail.strip()), next(iter(endings), ""))
    prompt = next((s.lesson.prompt for s in samples if s.lesson.prompt), "")
    nodes = (Node(_START, "start"), Node("content", "content"), Node(END.name, "end"))
    edges = (Edge("content", (ending,), END.name),)
    starts = (Start(prompt, (), (Edge(_START, (lead,), "content"),)),)
    return TurnGraph(Graph(nodes, edges), (), starts, (ending.strip(),) if ending.strip() else ())


def cut_ending(sample: Sample, stops: Sequence[str]) -> Sample:
    """Return a sample without the end of turn: some examples have it, some do not."""
    places = [place for stop in stops if (place := sample.tail.find(stop)) >= 0]
    return replace(sample, tail=sample.tail[: min(places)]) if places else sample


def teach_reasoning(draft: Draft, samples: Sequence[Sample]) -> None:
    """Add reasoning, and what leads from it to all that may begin a turn."""
    thinking = [s for s in samples if s.lesson.reasoning]
    if not thinking:
        return
    opening, end = thinking[0].pieces[0].text, _find_reasoning_end(draft, thinking, samples)
    first = list(draft.starts[0])
    for beside in (False, True):
        name = draft.add_node(Field("reasoning", beside_calls=beside))
        draft.add(_START, opening, name)
        for edge in first:
            target = draft.nodes[edge.target]
            if target.kind != "reasoning" and target.beside_calls == beside:
                draft.add(name, end + edge.text, edge.target, edge.opens_call)
    draft.add("reasoning", end.rstrip() + _find_closing(draft), END.name)


def _find_reasoning_end(draft: Draft, thinking: Sequence[Sample], samples: Sequence[Sample]) -> str:
    """Return what ends reasoning, without what begins content or a call."""
    before_content = next(iter(draft.find("start", "content")), None)
    for sample in thinking:
        if len(sample.pieces) > 1 and sample.pieces[1].field.kind == "content":
            return sample.pieces[1].text.removesuffix(before_content.text if before_content else "")
    for sample in thinking:
        if len(sample.pieces) > 1:
            return _split_lead(draft, sample.pieces[1].text, samples)
    return thinking[0].tail


def _split_lead(draft: Draft, lead: str, samples: Sequence[Sample]) -> str:
    """Return the first part of what stands between reasoning and a call."""
    for sample in samples:
        for before, piece in zip((None, *sample.pieces), sample.pieces, strict=False):
            opens = piece.call is not None and (before is None or before.call != piece.call)
            if opens and (before is None or before.field.kind != "reasoning"):
                shared = cut_common_end([lead, piece.text])
                if shared.strip() and shared.strip() != lead.strip():
                    return lead[: len(lead) - len(shared)]
    draft.notes.append("where reasoning ends and a call begins: no example has content between them, or two calls")
    tokens = list_tokens(lead)
    first = next((number for number, token in enumerate(tokens) if token.strip()), 0)
    return "".join(tokens[: first + 1])


def _find_closing(draft: Draft) -> str:
    """Return what ends a turn, without what closes content."""
    text = next((edge.text for edge in draft.find("content", "end")), "")
    places = [place for stop in draft.graph.stops if (place := text.find(stop)) >= 0]
    return text[min(places) :] if places else text


class _Link(NamedTuple):
    """A text between two fields of an example, as it is shown."""

    source: Field
    text: str
    target: Field
    opens: bool = False


def teach_calls(draft: Draft, samples: Sequence[Sample]) -> None:
    """Add calls: what leads to the first one, their fields, and what follows them."""
    calling = [sample for sample in samples if sample.lesson.calls]
    if not calling:
        return
    for sample in calling:
        for piece, codec, written in zip(sample.pieces, sample.codecs, sample.written, strict=True):
            if piece.field.kind in ("name", "id", "arguments"):
                named = any(call.id == written and call.name in call.id for call in sample.lesson.calls)
                draft.add_node(piece.field, codec, piece.field.kind == "id" and named)
    links = dict.fromkeys(link for sample in calling for link in _list_links(sample, _find_closing(draft)))
    _Entries(draft, list(links), calling).add()
    _add_leads(draft, calling)
    if not any(len(sample.lesson.calls) > 1 for sample in calling):
        draft.notes.append("how several calls are written: no example has two")


def _list_links(sample: Sample, closing: str) -> Iterator[_Link]:
    """List what stands behind each field of a call; what content there is behind the calls may be left out."""
    for piece, following in zip(sample.pieces, (*sample.pieces[1:], None), strict=True):
        if following is None:
            yield _Link(piece.field, sample.tail + closing, END)
        elif piece.call is not None:
            yield _Link(piece.field, following.text, following.field, following.call not in (None, piece.call))
            if following.call is None:
                yield _Link(piece.field, following.text.rstrip() + sample.tail.lstrip() + closing, END)


def _add_leads(draft: Draft, calling: Sequence[Sample]) -> None:
    """Lead to the first call from the start, from reasoning and from content, as shown or as follows from what is shown."""
    leads: dict[str, str] = {}
    first = next(piece.field for sample in calling for piece in sample.pieces if piece.call is not None)
    for sample in calling:
        before: Field | None = None
        for piece in sample.pieces:
            if piece.call is not None:
                leads.setdefault(before.kind if before else _START, piece.text)
                break
            before = piece.field
    content = draft.add_node(Field("content", beside_calls=True))
    ends = {edge.text for edge in draft.find("reasoning", "content")}
    if _START not in leads and "content" not in leads:
        end = next((end for end in ends if leads["reasoning"].startswith(end.rstrip())), "")
        leads[_START] = leads["reasoning"].removeprefix(end.rstrip()).lstrip()
    bare = leads.get(_START, leads.get("content", "").lstrip())
    targets = [node for node in draft.nodes.values() if node.kind == first.kind and not node.again]
    for target in (node.name for node in targets):
        draft.add(content, leads.get("content", bare), target, True)
        draft.add(_START, leads.get(_START, bare), target, True)
        if "reasoning" in leads and draft.find("start", "reasoning"):
            draft.add(draft.add_node(Field("reasoning", beside_calls=True)), leads["reasoning"], target, True)
    for edge in draft.find("", "content"):
        source = edge.source
        if draft.nodes[edge.target].beside_calls or draft.nodes[source].kind not in ("start", "reasoning"):
            continue
        if draft.nodes[source].kind == "reasoning":
            source = draft.add_node(Field("reasoning", beside_calls=True))
        for target, text, opens in ((content, "", False), *((node.name, bare, True) for node in targets)):
            if source != _START:
                draft.add(source, edge.text + text, target, opens)
            else:
                _extend_start(draft, edge, text, target, opens)
    for edge in draft.find("start", "reasoning"):
        _extend_start(draft, edge, "", draft.add_node(Field("reasoning", beside_calls=True)), False)


def _extend_start(draft: Draft, edge: Edge, text: str, target: str, opens: bool) -> None:
    """Lead on from where an edge leads, in each state that has this edge."""
    for edges in draft.starts:
        if edge in edges:
            edges.setdefault(Edge(_START, (edge.text + text,), target, opens))


class _Entries:
    """The fields of calls: edges as they are shown, and for keys and values those of all types."""

    def __init__(self, draft: Draft, links: Sequence[_Link], calling: Sequence[Sample]) -> None:
        self._draft = draft
        self._middles = {link.source.type == "string": link.text for link in links if _is_middle(link)}
        rows = [row for sample in calling for row in zip(sample.pieces, sample.codecs, sample.written, strict=True)]
        self._values = [(piece.field.type, codec, written) for piece, codec, written in rows if piece.field.kind == "value"]
        again = next((piece.field for piece, _, _ in rows if piece.field.kind == "key" and piece.field.again), None)
        self._last = again or Field("value")
        self._opening, self._quote = self._find_quotes(links)
        self._links = dict.fromkeys(self._strip_type(link) for link in links)

    def _find_quotes(self, links: Sequence[_Link]) -> tuple[str, str]:
        """Return what opens and closes a string beyond what stands around every value."""
        string, other = self._middles.get(True, ""), self._middles.get(False)
        opening = string[-1:] if string[-1:] in ('"', "'") else ""
        if other is not None:
            opening = string.removeprefix(other) if string.startswith(other) else ""
        behind = next((link.text for link in links if link.source == Field("value", "string")), "")
        return opening, opening if behind.startswith(opening) else list_tokens(behind)[0]

    def _strip_type(self, link: _Link) -> _Link:
        """Return a link for values of any type."""
        quoted = link.source == Field("value", "string")
        text = link.text.removeprefix(self._quote) if quoted else link.text
        return _Link(link.source._replace(type=""), text, link.target._replace(type=""), link.opens)

    def add(self) -> None:
        """Add all edges."""
        if self._values:
            if not self._list_joints():
                self._links.update(dict.fromkeys(self._guess_joint()))
            self._links.update(dict.fromkeys(self._list_empty()))
            self._note_unknown()
            for type_ in TYPES:
                self._draft.add_node(Field("key", type_))
                self._draft.add_node(Field("value", type_), self._find_codec(type_))
        for link in self._links:
            for source, target in product(_list_typed(link.source), _list_typed(link.target)):
                if not _is_middle(link):
                    text = self._quote * (source == Field("value", "string")) + link.text
                elif source.type == target.type:
                    text = self._find_middle(source.type == "string")
                else:
                    continue
                self._draft.add(self._draft.add_node(source), text, self._draft.add_node(target), link.opens)

    def _find_middle(self, string: bool) -> str:
        """Return what stands between a key and a string, or a value of another type."""
        if string in self._middles:
            return self._middles[string]
        return self._middles[True].removesuffix(self._opening) if not string else self._middles[False]

    def _find_codec(self, type_: str) -> Codec:
        if type_ == "string":
            codecs = [codec for kind, codec, _ in self._values if kind == "string" and isinstance(codec, Text)]
            codec = next((each for each in codecs if each is not RAW), RAW)
            return replace(codec, quoted=bool(self._opening) or codec is not RAW)
        if type_ in _WORDS:
            python = any(written in ("True", "False", "None") for kind, _, written in self._values if kind in _WORDS)
            python |= self._find_codec("string") == PYTHON_TEXT
            # Both spellings are read; the one that is shown, or JSON's, is written.
            return Choice(tuple((word, words[0]) for words in _WORDS[type_] for word in (words[python], words[not python])))
        return Json() if type_ in ("array", "object") else Number()

    def _list_leads(self) -> list[_Link]:
        """Return what leads from the fields of a call to the first key."""
        return [link for link in self._links if link.target == Field("key") and link.source != self._last and not link.opens]

    def _list_joints(self) -> list[str]:
        """Return what stands between two arguments."""
        return [link.text for link in self._links if link[::2] == (self._last, Field("key")) and not link.opens]

    def _list_outs(self) -> list[_Link]:
        """Return what leads from the last argument away."""
        return [link for link in self._links if link.source == self._last and (link.opens or link.target.kind != "key")]

    def _guess_joint(self) -> Iterator[_Link]:
        """Return what stands between two arguments where examples show only one, if a tag around the argument tells."""
        self._draft.notes.append("what stands between two arguments: no example has two")
        for lead, out in product(self._list_leads(), self._list_outs()):
            again = self._last.again
            closer = re.match(r"()\s*[>\])}|]+" if again else r"\s*[^\w\s]*(\w*)[^\w\s]*?[>\])}|]", out.text)
            place = lead.text.rfind(closer[1]) if closer and closer[1] else len(lead.text)
            opener = re.search(r"\s*[^\w\s>\])}]+$", lead.text[: max(place, 0)])
            if closer and opener and (closer[1] or again):
                yield _Link(self._last, closer[0] + lead.text[opener.start() :], Field("key"))
                return

    def _list_empty(self) -> Iterator[_Link]:
        """List what leads past arguments that are none: what stands around all of them, without what stands around each."""
        joints = self._list_joints()
        for lead, out in product(self._list_leads() if joints else (), self._list_outs()):
            shared = find_common_end(lead.text, joints[0])
            before, each = lead.text[: len(lead.text) - shared], joints[0][: len(joints[0]) - shared]
            if out.text.startswith(each) or not shared:
                yield _Link(lead.source, before + out.text.removeprefix(each), out.target, out.opens)

    def _note_unknown(self) -> None:
        kinds = {kind == "string" for kind, _, _ in self._values}
        if len(kinds) == 1:
            what = "values other than strings" if True in kinds else "strings"
            self._draft.notes.append(f"how {what} are written: no example has one")
        raw = [written for kind, codec, written in self._values if kind == "string" and codec is RAW]
        if raw and not self._opening and all(re.fullmatch(r"[\w .]*", written) for written in raw):
            self._draft.notes.append("whether strings with quotes, brackets or line breaks are escaped: no example has one")


def _is_middle(link: _Link) -> bool:
    """Whether a link leads from a key to its value."""
    return link.source.kind == "key" and not link.source.again and link.target.kind == "value"


def _list_typed(field: Field) -> list[Field]:
    """Return a key or value with each type; another field as it is."""
    typed = field.kind in ("key", "value") and not field.again
    return [field._replace(type=type_) for type_ in TYPES] if typed else [field]
