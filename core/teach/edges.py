"""Edges of a turn learnt from examples: those that are shown, and those that follow from them.

Few examples show what many renders would: each type of value at each place, calls behind reasoning, behind content and at the start of
a turn, a call without arguments. What stands around a value goes with its type alone, and what stands before the first call is the
same everywhere but for what ends the field before it; so the rest can be put together. What cannot is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..ask.pieces import Field, find_common_end, list_tokens
from ..graph import Choice, Codec, Edge, Graph, Json, Node, Number, Start, Text, TurnGraph
from ..graph.cut import cut_common_end
from .sample import PYTHON_TEXT, RAW, Sample

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")

_WORDS = {"boolean": (("true", "True"), ("false", "False")), "null": (("null", "None"),)}
_START, _END = "start", "end"


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
        turn = Graph((*nodes, self.nodes[_END]), self._sort(self.edges))
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
    nodes = (Node(_START, "start"), Node("content", "content"), Node(_END, "end"))
    edges = (Edge("content", (ending,), _END),)
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
    draft.add("reasoning", end.rstrip() + _find_closing(draft), _END)


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


class _Out(NamedTuple):
    """What leads away from a call or to its next part: a text and a node."""

    text: str
    target: str
    opens: bool


def teach_calls(draft: Draft, samples: Sequence[Sample]) -> None:
    """Add calls: what leads to the first one, their fields, and what follows them."""
    calling = [sample for sample in samples if sample.lesson.calls]
    if not calling:
        return
    inside = _Inside(draft, calling)
    closing = _find_closing(draft)
    for sample in calling:
        rows = list(zip(sample.pieces, (*sample.pieces[1:], None), strict=True))
        for piece, following in rows:
            if piece.call is None:
                continue
            if following is None:
                inside.leave(piece.field, _Out(sample.tail + closing, _END, False))
            elif following.call is None:
                inside.leave(piece.field, _Out(following.text, draft.add_node(following.field), False))
                draft.add(following.field.name, sample.tail + closing, _END)
                inside.leave(piece.field, _Out(following.text.rstrip() + sample.tail.lstrip() + closing, _END, False))
            else:
                inside.follow(piece.field, following.text, following.field, following.call != piece.call)
    inside.finish()
    _add_leads(draft, calling)
    if not any(len(sample.lesson.calls) > 1 for sample in calling):
        draft.notes.append("how several calls are written: no example has two")


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


class _Inside:
    """The inside of calls: edges as they are shown, and for keys and values those of all types."""

    def __init__(self, draft: Draft, calling: Sequence[Sample]) -> None:
        self._draft = draft
        self._middles: dict[bool, str] = {}
        self._leads: dict[tuple[Field, str, bool], None] = {}
        self._outs: dict[tuple[Field, bool], dict[_Out, None]] = {}
        rows = [row for s in calling for row in zip(s.pieces, s.codecs, s.written, strict=True)]
        for piece, codec, written in rows:
            if piece.call is not None and piece.field.kind not in ("key", "value"):
                named = piece.field.kind == "id" and any(c.id == written and c.name in c.id for s in calling for c in s.lesson.calls)
                draft.add_node(piece.field, codec, named)
        self._values = [(piece.field, codec, written) for piece, codec, written in rows if piece.field.kind == "value"]
        self._again = next((piece.field for piece, _, _ in rows if piece.field.kind == "key" and piece.field.again), None)

    def follow(self, source: Field, text: str, target: Field, opens: bool) -> None:
        """Note what leads from one field of a call to the next, or to the next call."""
        if source.kind == "key" and target.kind == "value":
            self._middles.setdefault(source.type == "string", text)
        elif target.kind == "key" and not target.again:
            self._leads[source._replace(type=""), text if source.kind != "value" else self._strip(source, text), opens] = None
        else:
            self.leave(source, _Out(text, self._draft.add_node(target), opens))

    def leave(self, source: Field, out: _Out) -> None:
        """Note what leads from a field to another one, or away from the call."""
        if source.kind in ("key", "value"):
            kept = self._outs.setdefault((source._replace(type=""), source.type == "string"), {})
            kept[out] = None
        else:
            self._draft.add(source.name, *out)

    def _strip(self, source: Field, text: str) -> str:
        """Return the text behind a value with a sign before it that tells whether the value was a string."""
        return ("s" if source.type == "string" else "o") + text

    def finish(self) -> None:
        """Add the edges of keys and values."""
        if not self._values:
            return
        opening, quote = self._find_quotes()
        draft = self._draft
        ends = [(f, string, out) for (f, string), outs in self._outs.items() for out in outs]
        rests = {(f, out._replace(text=self._cut(out.text, quote, string and f.kind == "value"))) for f, string, out in ends}
        last = self._again or Field("value")
        leads = {(f, self._cut(text[1:], quote, text[0] == "s") if f.kind == "value" else text, opens) for f, text, opens in self._leads}
        leads |= set(self._guess_joint(last, leads, rests)) if not any(f == last and not opens for f, _, opens in leads) else set()
        for type_ in TYPES:
            key = draft.add_node(Field("key", type_))
            value = draft.add_node(Field("value", type_), self._find_codec(type_, bool(opening)))
            string = type_ == "string"
            middle = self._middles.get(string)
            if middle is None:
                other = next(iter(self._middles.values()))
                middle = other + opening if string else other.removesuffix(opening)
            draft.add(key, middle, value)
            for field, text, opens in leads:
                source = field.name if field.kind != "value" else ""
                for each in TYPES if not source else ():
                    draft.add(Field("value", each).name, quote * (each == "string") + text, key, opens)
                if source:
                    draft.add(source, text, key, opens)
            for field, out in rests:
                if field.kind == "value":
                    draft.add(value, quote * string + out.text, out.target, out.opens)
        for field, out in rests:
            if field.kind == "key":
                draft.add(field.name, *out)
        self._add_empty(last, leads, rests)
        self._note_unknown(opening)

    def _find_quotes(self) -> tuple[str, str]:
        """Return what opens and closes a string beyond what stands around every value."""
        string, other = self._middles.get(True), self._middles.get(False)
        if string is None:
            return "", ""
        opening = string[len(other) :] if other is not None and string.startswith(other) else ""
        opening = opening or (string[-1] if other is None and string[-1:] in ('"', "'") else "")
        behind = [out.text for (f, is_string), outs in self._outs.items() if is_string and f.kind == "value" for out in outs]
        behind += [text[1:] for f, text, _ in self._leads if f.kind == "value" and text[0] == "s"]
        if not opening or not behind:
            return opening, ""
        return opening, opening if behind[0].startswith(opening) else list_tokens(behind[0])[0]

    @staticmethod
    def _cut(text: str, quote: str, string: bool) -> str:
        return text.removeprefix(quote) if string else text

    def _find_codec(self, type_: str, quoted: bool) -> Codec:
        if type_ == "string":
            codecs = [codec for field, codec, _ in self._values if field.type == "string" and isinstance(codec, Text)]
            codec = next((each for each in codecs if each is not RAW), RAW)
            return Text(codec.escapes, codec.numeral, quoted or codec is not RAW)
        if type_ in _WORDS:
            python = any(written in ("True", "False", "None") for field, _, written in self._values if field.type in _WORDS)
            python |= self._find_codec("string", quoted) == PYTHON_TEXT
            return Choice(tuple((words[python], words[0]) for words in _WORDS[type_]))  # type: ignore[misc]
        return Json() if type_ in ("array", "object") else Number()

    def _guess_joint(self, last: Field, leads: set[tuple[Field, str, bool]], rests: set[tuple[Field, _Out]]) -> Iterator[tuple[Field, str, bool]]:
        """Return what stands between two arguments where examples show only one, if a tag around the argument tells."""
        self._draft.notes.append("what stands between two arguments: no example has two")
        for _, lead, opens in list(leads):
            for field, out in rests:
                closer = re.match(r"\s*(\S[^\w\s]*(\w+)?[^\w\s]*?[>\])}|])", out.text)
                if opens or field != last or closer is None:
                    continue
                word = closer[2]
                place = lead.rfind(word) if word else len(lead)
                opener = re.search(r"\s*[^\w\s>\])}]+$", lead[:place]) if place >= 0 else None
                if opener is not None and (word or last.again):
                    yield last, closer[0] + lead[opener.start() :], False
                    return

    def _add_empty(self, last: Field, leads: set[tuple[Field, str, bool]], rests: set[tuple[Field, _Out]]) -> None:
        """Lead past arguments that are none: what stands around all of them, without what stands around each."""
        joint = next((text for field, text, opens in leads if field == last and not opens), "")
        for field, lead, _ in leads:
            if field == last or not joint:
                continue
            shared = find_common_end(lead, joint)
            before, each = lead[: len(lead) - shared], joint[: len(joint) - shared]
            for source, out in rests:
                if source == last and (out.text.startswith(each) or not shared):
                    self._draft.add(field.name, before + out.text.removeprefix(each), out.target, out.opens)

    def _note_unknown(self, opening: str) -> None:
        kinds = {field.type == "string" for field, _, _ in self._values}
        if kinds == {True}:
            self._draft.notes.append("how values other than strings are written: no example has one")
        if kinds == {False}:
            self._draft.notes.append("how strings are written: no example has one")
        raw = [written for field, codec, written in self._values if field.type == "string" and codec is RAW]
        if raw and not opening and all(re.fullmatch(r"[\w .]*", written) for written in raw):
            self._draft.notes.append("whether strings with quotes, brackets or line breaks are escaped: no example has one")
