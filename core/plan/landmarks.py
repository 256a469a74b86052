"""What a graph says of a turn beyond single edges: what ends a call, all calls and the turn, and what begins a call.

Behind a call means behind what all edges that leave a call's last field have in common; the rest of these edges begins
there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple

from ..format import Edge, Graph, Json, Kind, Node, Numeral, Start, Text, TurnGraph
from ..format.cut import COUNTER, cut_common_start, find_closer
from ..format.view import find_reasoning, find_turn_end
from ..recover.repair import CLOSERS
from ..recover.shape import Envelope
from .constants import cut_last, cut_tails, find_cuts, is_firm, is_marked, is_word_in_signs
from .echoes import cut_behind_key, fold_echoes

TURN: Final = ""
"""The name of the graph of the turn, beside those of the insides."""

_KEY: Final = re.compile(r"[\"']([^\"'\\]+)[\"']\s*:\s*[\"']?$")
GAP: Final = Node("behind a call", "content")
AFTER: Final = Node("behind all calls", "content")
SHAPE: Final = Node("behind calls by their shape", "content")
MUTE: Final = Node("behind the beginning of a call that is none", "content")
OVER: Final = Node("behind the beginning of another message", "content")
UNSHOWN: Final = (GAP, AFTER, SHAPE, MUTE, OVER)
"""The places in content that no graph has as fields of their own."""
SILENT: Final = (MUTE, OVER)
"""Those of which nothing is handed on."""
THOUGHT: Final = Node("reasoning in other marks", "reasoning")
"""Stands for reasoning of a model whose template knows none."""
OF_TURN: Final = (*UNSHOWN, THOUGHT)
"""What no graph has stands in the turn, whatever list or object leads there."""
START, END = Node("start", "start"), Node("end", "end")
BODY: Final = Node("arguments as JSON", "arguments", Json())
"""Stands for arguments that a model writes as one JSON object where the template writes fields."""
UNQUOTED: Final = Node("arguments without quotes", "arguments", Json())
"""Stands for arguments that a model writes as they are where the template writes them in a string."""
JSON_TEXT: Final = Text(tuple((json.dumps(char)[1:-1], char) for char in '\\"\n\t\r\b\f'), (Numeral("utf-16", "\\u"),), True)
ENCODED: Final = Node("arguments in a string", "arguments", Json(JSON_TEXT))
"""Stands for arguments that a model encodes once more where the template writes an object."""
FENCED: Final = Node("arguments in a fence", "arguments", Json())
"""Stands for arguments that a model writes in a fence of code."""

QUOTES: Final = ("'", '"')
_PAIRS: Final = {**CLOSERS, "<": ">"}
SHORT_FIELDS: Final = ("name", "id")
_HALF_MARK: Final = re.compile(r"(?<=\s)[^\w\s<>\[\](){}]+\Z")
"""Signs that a word follows, with which they are a mark."""
NAMED_FIELDS: Final = (*SHORT_FIELDS, "key")
FIELDS: tuple[Kind, ...] = ("name", "id", "key", "value", "arguments")


class Link(NamedTuple):
    """An edge with the fields at its ends. ``text`` has COUNTER for each counter, ``leaves`` tells that it leaves a call."""

    source: Node
    text: str
    to: Node
    opens: bool
    leaves: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """The text, cut where a counter stands."""
        return read_parts(self.text)

    @property
    def shown(self) -> str:
        """The text with 0 for each counter."""
        return self.text.replace(COUNTER, "0")


def write_parts(edge: Edge) -> str:
    """Return the text of an edge with :data:`COUNTER` for each counter."""
    return COUNTER.join(edge.parts)


def read_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a text that :func:`write_parts` wrote."""
    return tuple(text.split(COUNTER))


def _make_link(source: Node, edge: Edge, to: Node) -> Link:
    return Link(source, write_parts(edge), to, edge.opens_call, edge.opens_call or to.kind in ("content", "reasoning", "end"))


def list_tails(text: str) -> list[str]:
    """Return what is left of a text where its first marks are left out, as far as that is marked itself."""
    return sorted(filter(is_marked, cut_tails(text)[1:]))


def list_doubled(text: str) -> list[str]:
    """Return a text with one of the marks in it twice, for each of them."""
    places = find_cuts(text)
    pieces = ((text[:end], text[start:end].strip(), text[end:]) for start, end in pairwise(places))
    return [f"{before}\n{mark}\n{behind}" for before, mark, behind in pieces if is_word_in_signs(mark) and is_marked(mark)]


def is_delimited(node: Node) -> bool:
    """Whether a value tells by itself where it ends."""
    return node.kind == "arguments" or (node.kind == "value" and not isinstance(node.codec, Text))


def is_quoted(node: Node) -> bool:
    """Whether a text cannot hold what ends it."""
    return isinstance(node.codec, Text) and node.codec.quoted


def tells_end(node: Node) -> bool:
    """Whether a field tells where it ends, so that what stands behind it need be no mark."""
    return is_quoted(node) or is_delimited(node) or node.kind in SHORT_FIELDS


class Landmarks:
    """The texts of a format that a parser knows by what they do."""

    def __init__(self, graph: TurnGraph) -> None:
        self.echoes = any(node.again for inner in (graph.turn, *dict(graph.insides).values()) for node in inner.nodes)
        self.graph = graph = fold_echoes(graph) if self.echoes else graph
        self.graphs: dict[str, Graph] = {TURN: graph.turn, **dict(graph.insides)}
        self.nodes = {(name, node.name): node for name, inner in self.graphs.items() for node in inner.nodes}
        self.inner_starts = {name: node for (name, _), node in self.nodes.items() if node.kind == "start" and name != TURN}
        """What the insides of lists and objects begin with, as far as that is known."""
        self.stops = sorted(filter(None, graph.stops), key=len, reverse=True)
        found = find_reasoning(graph)
        self.reasoning_start = found.start.text if found else ""
        self.reasoning_end = found.end.text if found else ""
        self.blank_starts = frozenset(edge.text for start in graph.starts for edge in start.edges if self._is_blank(start, edge))
        self.turn_end = find_turn_end(graph)
        beginnings = {text: self._find_beginning(text) for text in graph.others}
        self.others = sorted(set(beginnings.values()) - {""})
        self.other_lines = sorted({text.strip().split("\n")[0] for text, other in beginnings.items() if not other})
        """The first lines of those that have no mark, which tell it behind the end of a turn."""
        heads = {text.partition(other)[0].strip() for text, other in beginnings.items() if other}
        self.heads = heads.union(self._list_heads()) - {""}
        """What ends a message right before those, though not a turn."""
        self.calls = any(node.kind in ("name", "id") for node in graph.turn.nodes)
        self._links: dict[tuple[str, str], list[Link]] = {}
        self.links: list[Link] = []
        for name, inner in self.graphs.items():
            for edge in inner.edges:
                link = _make_link(self.nodes[name, edge.source], edge, self.nodes[name, edge.target])
                self._links.setdefault((name, edge.source), []).append(link)
                self.links += [link] if name == TURN else []
        self.firsts = [[_make_link(START, edge, self.nodes[TURN, edge.target]) for edge in start.edges] for start in graph.starts]
        """What leads to the first field of a turn, for each of its starts."""
        self.laid = _find_laid(graph)
        texts = {link.text for link in self.list_links("key") if link.to.type == "string"}
        counts = Counter(map(str.strip, texts))
        self.laid_texts = frozenset(text for text in texts if text.strip() and counts[text.strip()] > 1)
        """What stands between keys and texts, of which another differs in nothing but the white space around it."""
        self.closes = {node.name: self._find_close(node) for node in graph.turn.nodes if node.kind in FIELDS}
        self.shared = {node.name: self._find_shared(node) for node in graph.turn.nodes if node.kind in FIELDS}
        """What stands behind a field, whatever follows, and in ``ends`` what of that ends it."""
        self.ends = {name: cut_behind_key(text) for name, text in self.shared.items()}
        self.bodies: dict[str, str] = {}
        """What stands between a name and arguments that are one JSON object where the template writes fields."""
        for node in self.list_nodes("name"):
            own, whole = self.ends[node.name].rstrip(), self.closes[node.name] or ""
            if whole.startswith(own):
                braced = own.endswith("{") and whole[len(own) :].lstrip().startswith("}")  # as an object's own are
                self.bodies[node.name] = own.removesuffix("{") if braced else own
                rest = whole[len(own) :]
                self.closes[BODY.name], self.ends[BODY.name] = rest.lstrip()[1:] if braced else rest, ""
        for node in self.list_nodes("arguments"):
            close, text = self.closes[node.name], isinstance(node.codec, Json) and node.codec.within is not None
            if close is not None and (not text or close.startswith(QUOTES)):
                other = UNQUOTED if text else FENCED
                self.closes.setdefault(other.name, close[1:] if text else f"\n```{close}")
                self.ends[other.name] = ""
                if not text:
                    self.closes.setdefault(ENCODED.name, f'"{close}')
                    self.ends[ENCODED.name] = '"'
        self._quotes = {node.name: self._find_own_quote(node) for node in self.list_nodes("value") if isinstance(node.codec, Text)}
        self.content_end = cut_common_start([link.text for link in self.list_links("content")] or [""]).strip()
        self.wraps_content = self.content_end.removesuffix(self.turn_end.strip()).strip() != ""  # its end is not the turn's alone
        self.section_close = self._find_section_close()
        self.texts = frozenset(link.shown for links in self._links.values() for link in links)
        self.openers = self._list_openers()
        self.envelope = Envelope(*(self._find_key(kind) for kind in ("name", "arguments", "id")))
        self.reasoning_ends = self._list_reasoning_closes()
        self.speaks_behind = any(link.to.kind == "content" for link in self.list_links("arguments", "value"))
        """Whether text may stand behind calls."""
        self.id_behind = any(link.to.kind == "id" and not link.opens for link in self.list_links("arguments", "value"))
        """Whether within a call an id follows the arguments."""
        self.quote = self._find_quote()
        self.inner_quotes = self._find_inner_quotes()

    def _is_blank(self, start: Start, edge: Edge) -> bool:
        """Whether a block of reasoning with nothing in it stands before the first field of a turn."""
        before, end, _ = edge.text.partition(self.reasoning_end) if self.reasoning_end else ("", "", "")
        return end != "" and self.graph.blank != "" and (start.prompt + before).endswith(self.graph.blank)

    def list_nodes(self, kind: Kind) -> tuple[Node, ...]:
        """Return the fields of a turn that are of a kind."""
        return tuple(node for node in self.graph.turn.nodes if node.kind == kind)

    def list_links(self, *kinds: Kind) -> list[Link]:
        """Return what leads on from the fields of a turn that are of some kinds."""
        return [link for kind in kinds for node in self.list_nodes(kind) for link in self.leave(node)]

    def leave(self, node: Node, graph: str = TURN) -> Sequence[Link]:
        """Return what leads on from a field."""
        return self._links.get((graph, node.name), ())

    def list_inner(self, node: Node) -> list[Link]:
        """Return what leads on from a field within its call."""
        return [link for link in self.leave(node) if not link.leaves]

    def strip_stop(self, text: str) -> str:
        """Return what of a text at the end of a turn the model writes before the end of turn."""
        bare = text.rstrip()
        fitting = [stop.rstrip() for stop in self.stops if bare.endswith(stop.rstrip())]
        if fitting:
            return bare.removesuffix(min(fitting, key=len))
        if self.turn_end.strip():
            return text.removesuffix(self.turn_end)
        places = [text.find(stop) for stop in self.stops if stop in text]
        return text[: min(places)] if places else text

    def _find_beginning(self, other: str) -> str:
        """Return what tells that a message of another role begins, without what ends a message before it, if a turn has that."""
        inner = [edge.text.lstrip() for edge in self.graph.turn.edges]
        signs = ((place, other[place:].lstrip()[:1]) for place in find_cuts(other) if place)
        places = [place for place, sign in signs if not sign.isalnum() and sign not in tuple(")]}>")]  # a mark begins there
        heads = {place: other[:place].rstrip() for place in places if is_firm(other[:place])}
        known = [place for place, head in heads.items() if any(text.startswith(head) for text in inner)]
        text = other[min(known, default=0) :].strip()
        line = text.partition("\n")[0].rstrip("[{( ")  # what stands behind it may be laid out otherwise
        found = (each for each in (line, text) if is_marked(each) and not any(each in shown for shown in inner))
        return next((each for each in found if each == text or each not in self.stops), "")

    def _list_heads(self) -> Iterator[str]:
        """Return what ends a message within a turn, right before one that begins as messages of other roles do."""
        firm = [[other[:place] for place in find_cuts(other) if is_firm(other[:place])] for other in self.others]
        begins = {texts[0] for texts in firm if texts}
        for edge in self.graph.turn.edges:
            if self.nodes[TURN, edge.source].kind in ("content", "reasoning"):
                yield from (edge.text.partition(begin)[0].strip() for begin in begins if begin in edge.text)

    def list_end_texts(self) -> list[str]:
        """Return what ends turns behind text."""
        return sorted({link.text for link in self.list_links("content") if link.to.kind == "end"} | set(self.stops))

    def closes_fence(self, run: str) -> bool:
        """Whether a run of signs stands in what ends calls, as fences of code are the format's own marks."""
        return any(run in (self.closes.get(node.name) or "") for node in self.graph.turn.nodes) or run in self.section_close

    def _list_leaving(self, node: Node) -> list[str]:
        """Return the texts behind the last field of a call, without the end of turn."""
        leaving = [link for link in self.leave(node) if link.leaves]
        return [self.strip_stop(link.text) if link.to.kind == "end" else link.text for link in leaving]

    def _find_close(self, node: Node) -> str | None:
        """Return what ends a call behind a field; None where nothing tells it from the field's text."""
        texts = self._list_leaving(node)
        if not texts:
            return None
        close = cut_common_start(texts)
        close = close.rstrip() or close  # where a turn ends, layout may be cut off
        if is_firm(close) or is_delimited(node) or (close.strip() and (is_quoted(node) or node.kind in SHORT_FIELDS)):
            return close
        return None

    def _find_shared(self, node: Node) -> str:
        """Return what stands behind a field, whatever follows."""
        return cut_common_start([*(link.text for link in self.list_inner(node)), *self._list_leaving(node)] or [""])

    def _find_section_close(self) -> str:
        """Return what stands behind the last call, where it differs from what stands behind each."""
        found: list[tuple[bool, int, str]] = []
        for link in self.links:
            close = self.closes.get(link.source.name)
            if close is not None and link.to.kind == "end":
                text = self.strip_stop(link.text)[len(close) :]
                # A call without arguments may end with what stands for those, a turn with another message.
                places = [place for stop in self.stops if (place := text.find(stop)) > 0]
                text = text[: min(places, default=len(text))]
                found.append((link.source.kind != "name", len(text), text))
        return max(found, default=(False, 0, ""))[2]

    def _list_openers(self) -> tuple[tuple[str, tuple[Node, ...]], ...]:
        """Return what may begin a call in text, the longest first, with what is behind it, all of one kind."""
        found: dict[tuple[str, Kind], list[Node]] = {}
        for link in [*self.links, *chain(*self.firsts)]:
            if link.opens and link.source.kind in ("content", "start"):
                nodes = found.setdefault((link.text, link.to.kind), [])
                nodes += [link.to] if link.to not in nodes else []
        return tuple((text, tuple(nodes)) for (text, _), nodes in sorted(found.items(), key=lambda item: -len(item[0][0])))

    def _find_key(self, kind: Kind) -> str:
        """Return the key under which a field of a call is written as JSON; empty where it is not."""
        found = (_KEY.search(link.shown) for link in self.links if link.to.kind == kind)
        return next((key[1] for key in found if key), "")

    def _find_quote(self) -> str:
        """Return the mark that opens and ends strings; empty where nothing does that nobody writes by chance."""
        nodes = [node for node in self.list_nodes("value") if node.type == "string"]
        before = [link.text for link in self.links if link.to in nodes]
        ends = sorted({self.ends[node.name].rstrip() for node in nodes})
        return next((end for end in ends if is_firm(end) and any(text.endswith(end) for text in before)), "")

    def _find_quotes(self) -> dict[str, str]:
        """Return the marks that open strings, each with what ends them: one that does both, or begins and ends with a bracket."""
        quotes = {self.quote: self.quote} if self.quote else {}
        for _, text, node, *_ in self.links:
            if node.kind == "value" and node.type == "string" and text:
                opening, end = cut_last(text), self.ends[node.name]
                closer = _PAIRS.get(opening[0], "")
                if closer and closer in end and opening[-1] != closer and is_firm(opening):
                    quotes[opening] = end[: end.index(closer) + 1]
        return quotes

    def _find_inner_quotes(self) -> frozenset[str]:
        """Return the quotes around texts in lists and objects; none where a text of the call has marks or quotes of its own."""
        strings = [node for node in self.list_nodes("value") if node.type == "string"]
        behind = [link for node in strings for link in self.leave(node)]
        marked = any(is_firm(link.text) for link in behind if link.to.kind != "end")
        if marked or not strings or any(map(is_quoted, strings)):
            return frozenset()
        inner = (link for (name, _), links in self._links.items() for link in links if name != TURN)
        return frozenset(link.text[-1:] for link in inner if link.to.kind == "value" and is_quoted(link.to)) & frozenset("\"'")

    def get_end(self, node: Node) -> str:
        """Return what ends a field, whatever follows, without the layout around it; empty where nothing does."""
        return self.ends.get(node.name, "").strip()

    def get_quote(self, node: Node) -> str:
        """Return the quote, one sign or a mark, that opens a text of an argument and ends it; empty where none does both."""
        return self._quotes.get(node.name, "")

    def _find_own_quote(self, node: Node) -> str:
        """Return the quote around a text."""
        end, before = self.get_end(node), [link.text for link in self.links if link.to == node]
        found = (sign for sign in (end, end[:1]) if all(text.endswith(sign) or find_closer(text[-1]) == sign for text in before))
        return next(found, "") if end and all(before) else ""

    def _list_reasoning_closes(self) -> list[str]:
        """Return what ends reasoning, without what the template prints between it and what follows."""
        found = []
        leaving = [link for link in self.list_links("reasoning") if link.to.kind != "end"]
        if not leaving:  # it stands last
            last = {link.text.removesuffix(self.turn_end).strip() for link in self.list_links("reasoning")}
            return sorted(filter(is_marked, last))
        for node in self.list_nodes("reasoning"):
            links = [link for link in leaving if link.source == node]
            # Where all that follows are calls, what opens those may be part of a text that is shared.
            texts = [link.text for link in (leaving if all(link.opens for link in links) else links)]
            shared = cut_common_start(texts or [""])
            half = _HALF_MARK.search(shared) if any(text[len(shared) : len(shared) + 1].isalnum() for text in texts) else None
            close = (shared[: half.start()] if half else shared).strip()
            bare = close.removeprefix(self.reasoning_end).strip()
            if self.reasoning_end and bare != close and any(bare == text.strip() for text, _ in self.openers):
                close = self.reasoning_end  # where all that follows are calls, their opener is no part of it
            told = any(map(str.isalnum, close)) or any(text.strip() == close for text in texts)  # signs may begin other things
            if close and told and is_firm(close) and close not in found:
                found.append(close)
        return found


def _find_laid(graph: TurnGraph) -> frozenset[str]:
    """Return the lists and objects of which others differ in nothing but white space."""
    alike: dict[frozenset[tuple[str, str, str]], list[str]] = {}
    for name, inner in graph.insides:
        alike.setdefault(frozenset((edge.source, "".join(edge.text.split()), edge.target) for edge in inner.edges), []).append(name)
    return frozenset(name for names in alike.values() if len(names) > 1 for name in names)
