"""Holding a model to calls in its own format: a grammar of the turn, made from its graph and the tools of a request.

The texts between fields are taken as the template prints them, each character, so that what a model is held to is what it
was trained to write and what the next prompt will show it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

from ..errors import ConstraintError
from ..format import ChatFormat, Edge, Node, Reasoning, TurnGraph
from ..format import Json as JsonCodec
from ..format.cut import COUNTER, find_boundaries, find_common_start
from ..format.view import list_edges
from ..schema import ToolSet
from ..tools import ToolChoice
from .schemas import Schema, list_alternatives, list_by_path, list_properties, sort_properties
from .tree import DIGITS, NOTHING, Chars, Free, Grammar, Repeat, Sequence, Text, Tree, Until, choose, join, maybe
from .values import WORD, Values
from .walk import END, Arm, Exits, Walk

Chosen = str | Mapping[str, Any]
"""A tool choice as a request of the OpenAI API has it."""

Reasoned = Literal["ended", "open", "possible"]
"""Whether reasoning is over, stands open, or may begin."""

_NAME = re.compile(r"[^\s\"'<>{}()\[\],;]{1,128}")
_DEEP = 32  # white space in indented JSON, beyond what is seen of it


def build_grammar(
    format: ChatFormat,
    tools: Iterable[dict[str, Any]],
    choice: Chosen = "required",
    *,
    parallel: bool = True,
    strict: bool | None = None,
    reasoning: Reasoned = "ended",
) -> Grammar:
    """Make the grammar of the turns in which a model may call the given tools. See :func:`build_structural_tag`."""
    if reasoning not in get_args(Reasoned):
        raise ValueError(f"reasoning: {reasoning!r} is none of {', '.join(get_args(Reasoned))}")
    called, free = select_tools(tools, choice)
    builder = _Builder(format, called, parallel, strict, free)
    root = builder.build_free() if free else builder.build_calls()
    if find_closing(format) or reasoning == "ended" or format.reasoning is None:
        return Grammar(join(write_reasoning(format, reasoning), root), builder.rules)
    # What begins a call ends reasoning that has no end of its own; text that may hold calls may be reasoning, too.
    return Grammar(root if free else builder.build_thought(root, format.reasoning, reasoning), builder.rules)


def select_tools(tools: Iterable[dict[str, Any]], choice: Chosen) -> tuple[dict[str, Any], bool]:
    """Return the functions that a tool choice of the OpenAI API leaves, by name, and whether text may come instead.

    ``choice`` is ``"auto"``, ``"required"``, or an object that names a function (of chat completions or of responses) or
    allowed tools. Raises :class:`ConstraintError` for ``"none"``, for a name that is no tool's, and where no tool is left,
    and ValueError for another choice.
    """
    known: dict[str, Any] = ToolSet(tools).tools
    if choice == "none":
        raise ConstraintError("constraining calls: the tool choice is 'none'; there is nothing to constrain")
    if choice not in ("auto", "required") and not isinstance(choice, Mapping):
        raise ValueError(f"choice: {choice!r} is none of auto, required, none and an object that names a function or allowed tools")
    wanted = ToolChoice.read(choice)
    if isinstance(choice, Mapping) and wanted.names is None:
        raise ConstraintError("constraining calls: the tool choice names no tool")
    names = known.keys() if wanted.names is None else wanted.names
    if unknown := sorted(names - known.keys()):
        raise ConstraintError(f"constraining calls: the tool choice names {unknown[0]!r}, which is none of the tools")
    selected = {name: function for name, function in known.items() if name in names}
    if not selected:
        raise ConstraintError("constraining calls: the request has no tools")
    for name in selected:
        if not _NAME.fullmatch(name):
            raise ConstraintError(f"constraining calls: no model can be held to the name {name!r}")
    return selected, wanted.mode == "auto"


def find_closing(format: ChatFormat) -> str:
    """Return the text that closes reasoning; where only calls follow it, without what opens these."""
    closing = format.reasoning.end.text if format.reasoning else ""
    openings = [edge.text.strip() for edge in format.graph.begun if edge.opens_call]
    return closing[: min((place for text in openings if text and (place := closing.find(text)) > 0), default=len(closing))].rstrip()


def write_reasoning(format: ChatFormat, state: Reasoned) -> Tree:
    """Return what stands before all else: no reasoning, the rest of it, or optional reasoning; where it has no end of its own,
    what begins content ends it.
    """
    reasoning, closing = format.reasoning, find_closing(format)
    begun = list_edges(format.graph, ("reasoning",), ("content",))
    ends = (closing,) if closing else tuple(dict.fromkeys(edge.text for edge in begun if edge.text))
    if state == "ended" or reasoning is None or not ends:
        return NOTHING
    thought = join(Until(ends), choose(*map(Text, ends)))
    return thought if state == "open" else maybe(join(_write_opening(reasoning), thought))


def _write_opening(reasoning: Reasoning) -> Tree:
    """Return what opens reasoning, behind a prompt that may have written the white space before it."""
    start = reasoning.start
    return join(maybe(Text(start.before)), Text(start.text)) if start.before else Text(start.text)


class _Builder:
    """Makes the trees of one grammar; see the module's text."""

    def __init__(self, format: ChatFormat, called: dict[str, Any], parallel: bool, strict: bool | None, free: bool) -> None:
        graph = format.graph
        self.format, self.called, self.strict, self.free, self.parallel = format, called, strict, free, parallel
        self.walk = Walk(graph.turn, DIGITS, list_stops(graph), graph.path)
        self.rules: dict[str, Tree] = {}
        firsts = {edge.target for edge in (*graph.begun, *graph.turn.edges) if edge.opens_call}
        if not firsts:
            raise ConstraintError("constraining calls: how this model writes calls is not known, for the template prints none")
        self.firsts = [self.walk.nodes[name] for name in sorted(firsts, key=self.walk.rank.__getitem__)]
        self.spaces = _count_spaces(graph)
        self.trees, self.ends, self.joints = self._write_tools()

    # A turn of calls -----------------------------------------------------------------------------------------------------

    def build_calls(self) -> Tree:
        """Return the tree of a turn that consists of calls."""
        openings = {first: self.list_openings(first) for first in self.trees}
        if not any(openings.values()):
            raise ConstraintError("constraining calls: no turn begins with a call, so what may stand before one is not known")
        return join(self._write_calls(openings), self._write_more())

    def build_thought(self, root: Tree, reasoning: Reasoning, state: Reasoned) -> Tree:
        """Return the tree of calls behind reasoning that they end; ``root`` is that of calls without reasoning."""
        behind = self._leaving("reasoning")
        openings = {first: self._list_texts(first, behind, "") for first in self.trees}
        ends = dict.fromkeys(edge.parts[0] for edge in behind if edge.opens_call or self.walk.is_kind(edge.target, "content"))
        if not all(ends) or not any(openings.values()):
            raise ConstraintError(
                "constraining calls: reasoning has no end of its own, and what begins a call behind it is not known"
            )
        thought = join(Until(tuple(ends)), self._write_calls(openings), self._write_more())
        return thought if state == "open" else choose(root, join(_write_opening(reasoning), thought))

    def _write_calls(self, before: Mapping[str, Iterable[str]]) -> Tree:
        """Return the tree of one call behind texts that lead to its first field."""
        return choose(
            *(
                join(choose(*map(self.walk.spell, before[first])), choose(*(tree for ways in trees.values() for tree in ways)))
                for first, trees in self.trees.items()
                if before.get(first)
            )
        )

    def list_openings(self, first: str) -> list[str]:
        """List what may stand between where the model begins and the first field of the first call.

        Where it begins is the end of a prompt, or of reasoning, whose closing mark is cut off. The white space before the
        mark of a call is any that is seen in one of these places.
        """
        closing = find_closing(self.format)
        found = self._list_texts(first, self.format.graph.begun, closing)
        behind = self._list_texts(first, self._leaving("reasoning"), closing)
        marks = {text.lstrip() for text in found}
        header = self.format.header.strip()
        found += [text for text in behind if not marks or text.lstrip() in marks or (header and header in text)]
        found = found or self._list_texts(first, self._leaving("content"), "")
        leads = sorted({text[: len(text) - len(text.lstrip())] for text in found}, key=lambda lead: (len(lead), lead))
        return list(dict.fromkeys(lead + text.lstrip() for text in found for lead in leads))

    def _leaving(self, kind: str) -> list[Edge]:
        return [edge for edge in self.walk.graph.edges if self.walk.is_kind(edge.source, kind)]

    def _list_texts(self, first: str, edges: Iterable[Edge], closing: str) -> list[str]:
        """Return the texts of those edges that open a call, behind what closes reasoning in them."""
        texts = [COUNTER.join(edge.parts) for edge in edges if edge.opens_call and edge.target == first]
        return [text.rpartition(closing)[2] if closing else text for text in texts]

    def _write_more(self) -> Tree:
        """Return the tree of what follows a call: more calls, and the end, with or without what ends the turn.

        An engine may take that for the end of the output before a grammar sees it.
        """
        more = Repeat(self._write_calls(self.joints)) if any(self.joints.values()) else NOTHING
        tails = []
        for text in self.ends:
            bare, stop = self.walk.cut_stop(text)
            rest = text[len(bare) :]
            behind = maybe(choose(*(self.walk.spell(part) for part in dict.fromkeys((stop, rest))))) if rest else NOTHING
            tails += [join(self.walk.spell(part), behind) for part in dict.fromkeys((bare, bare.rstrip()))]
        return join(more, choose(*tails))

    # Text and calls ------------------------------------------------------------------------------------------------------

    def build_free(self) -> Tree:
        """Return the tree of text in which whatever opens a call must go on as one.

        Where what opens a call may stand in any text, it must do so where the turn begins with it.
        """
        rules: dict[str, list[Tree]] = {}
        for first, trees in self.trees.items():
            openings = list(dict.fromkeys(text.lstrip() for text in self.list_openings(first)))
            for opening in openings:
                mark = _find_mark(opening)
                if mark:
                    call = self._write_calls({first: [opening[len(mark) :]]})
                    rules.setdefault(mark, []).append(join(call, self._write_more()))
                    continue
                if self.walk.is_kind(first, "id") and opening:
                    return choose(self.build_calls(), write_unless(openings))
                for name, ways in trees.items():
                    head, rest = _split_head(opening, name, ways)
                    rules.setdefault(head, []).append(join(rest, self._write_more()))
        return Free(tuple((head, choose(*trees)) for head, trees in rules.items()), any(self.joints.values()))

    # One call ------------------------------------------------------------------------------------------------------------

    def _write_tools(self) -> tuple[dict[str, dict[str, list[Tree]]], tuple[str, ...], Exits]:
        """Return the ways to write a call of each tool, by its first field, and what stands behind the last one and between two."""
        trees: dict[str, dict[str, list[Tree]]] = {}
        rests: list[dict[str, tuple[str, ...]]] = []
        for name, function in self.called.items():
            for first, arm in self._write_call(name, function):
                exits = {node.name: arm.exits.get(f"+{node.name}", ()) for node in self.firsts if self.parallel}
                shown = [text for texts in exits.values() for text in texts]
                shown += [self.walk.cut_stop(text)[0].rstrip() for text in arm.exits[END]]
                size = find_common_start(*shown)
                trees.setdefault(first, {}).setdefault(name, []).append(join(arm.tree, self.walk.spell(shown[0][:size])))
                exits[END] = arm.exits[END]
                rests.append({target: tuple(text[size:] for text in texts) for target, texts in exits.items()})
        if any(rest != rests[0] for rest in rests):
            raise ConstraintError("constraining calls: what stands behind a call depends on what is in it")
        return trees, rests[0].pop(END), rests[0]

    def _write_call(self, name: str, function: Mapping[str, Any]) -> list[tuple[str, Arm]]:
        """Return the ways to write a call, from its first field to its last, with the name of the first."""
        path = self.format.graph.path
        schema = self._make_schema(function)
        schema = list_by_path(schema, path) if path else schema
        objects = [inner for inner in list_alternatives(schema, schema) if inner["type"] == "object"]
        if len(objects) != 1:
            raise ConstraintError("constraining calls: a tool's arguments are not described as one object")
        writing = _Writing(name, schema, objects[0], Values(self.format.graph, self.rules, schema, self.spaces))
        found: list[tuple[str, Arm]] = []
        for first in self.firsts:
            if first.kind == "name" and not self.walk.has_form(first, name):
                continue
            begun = Arm(NOTHING, {first.name: ("",)})
            found += [(first.name, arm) for arm in self._follow(begun, writing)]
            if found and first.kind != "key":
                break  # behind arguments, which may be none, all others are ways to write the same
        if not found:
            raise ConstraintError(f"constraining calls: how a call to {name!r} is written is not known")
        return found

    def _follow(self, arm: Arm, writing: _Writing, written: bool = False) -> Iterator[Arm]:
        """Go on with a call behind what was written of it; ``written`` tells whether its arguments were."""
        inner = [self.walk.nodes[target] for target in arm.exits if target in self.walk.nodes and target != END]
        inner = [node for node in inner if not written or node.kind not in ("key", "value", "arguments")]
        inner = [node for node in inner if node.kind != "name" or self.walk.has_form(node, writing.name)]
        node = min(inner, key=lambda node: self.walk.rank[node.name], default=None)  # the shape that the template takes best
        kind = node.kind if node else ""
        if kind == "value":
            raise ConstraintError("constraining calls: this format writes values apart from the names of their parameters")
        if kind == "key":
            for entries in writing.values.write_entries(self.walk, arm.exits, writing.object):
                yield from self._follow(Arm(join(arm.tree, entries.tree), entries.exits), writing, True)
            return
        needed = any(needed for _, needed in (list_properties(writing.object) or {}).values())
        if END in arm.exits and (written or (kind != "arguments" and not needed)):
            yield arm
        if node is None:
            return
        for text in arm.exits[node.name]:
            tree = join(arm.tree, self.walk.spell(text), self._write_field(node, writing))
            yield from self._follow(Arm(tree, self.walk.list_exits(node.name)), writing, written or kind == "arguments")

    def _write_field(self, node: Node, writing: _Writing) -> Tree:
        if node.kind == "name":
            return Text(writing.name)
        if node.kind == "arguments":
            return writing.values.write(node, writing.schema)
        if node.again:
            raise ConstraintError("constraining calls: this format repeats the id of a call")
        if not node.carries_name:
            return Chars(WORD, least=1, most=64)
        # An id that carries the name is only passed on by the template, so its shape is any.
        name = writing.name
        alone = not any(other != name and name in other for other in self.called)
        prefix = maybe(join(Chars(WORD[:2], least=1, most=32), Text("."))) if alone else NOTHING
        return join(prefix, Text(name), maybe(join(Text(":"), DIGITS)))

    def _make_schema(self, function: Mapping[str, Any]) -> Schema:
        """Return the schema of the object that the arguments of a call are, keys in the order in which the model writes them;
        where a call need not obey its tool's, that of any object.
        """
        schema = function.get("parameters") or function.get("input_schema")
        if not isinstance(schema, Mapping):
            return {"type": "object"}
        if not (self.strict if self.strict is not None else not self.free or function.get("strict")):
            known = schema.get("properties") if any(node.kind == "key" for node in self.walk.graph.nodes) else None
            schema = {"type": "object", "properties": {key: {} for key in known}} if isinstance(known, Mapping) else {}
        if self.format.graph.sorted_keys:
            schema = sort_properties(schema)
        typed = any(key in schema for key in ("type", "$ref", "anyOf", "oneOf", "allOf"))
        return dict(schema) if typed else {**schema, "type": "object"}


class _Writing(NamedTuple):
    """The call that is being written, with the schema of its arguments, and that as one of an object."""

    name: str
    schema: Schema
    object: Schema
    values: Values


def list_stops(graph: TurnGraph) -> list[str]:
    """Return the texts that end a turn, the longest first."""
    return sorted(filter(None, graph.stops), key=len, reverse=True)


def _count_spaces(graph: TurnGraph) -> int:
    """Return how much white space may stand between the tokens of JSON: more where the format around it is indented."""
    if not any(isinstance(node.codec, JsonCodec) for node in graph.turn.nodes):
        return 1
    indents = [len(found) for edge in graph.turn.edges for part in edge.parts for found in re.findall(r"\n( +)", part)]
    return max(indents) + _DEEP if indents else 1


def _find_mark(opening: str) -> str:
    """Return what tells at the beginning of an opening that a call begins; empty where nothing does."""
    text = opening.partition(COUNTER)[0]
    for place in sorted(find_boundaries(text)):
        head = text[:place]
        if len(head) > 2 and head[0] in "<[(" and head[-1] in ">])" and any(map(str.isalnum, head)):
            return head
    by_chance = text[:1].isalnum() or not any(map(str.isalnum, text)) or set(text) & set('{"')  # it may stand in prose or data
    return text if len(text) > 4 and not by_chance else ""


def _split_head(opening: str, name: str, trees: list[Tree]) -> tuple[str, Tree]:
    """Return what tells, where no mark does, that a call to a tool begins, and the rest of that call."""
    heads, rests = [], []
    for tree in trees:
        parts = tree.parts if isinstance(tree, Sequence) else (tree,)
        heads.append(parts[0].text if isinstance(parts[0], Text) else "")
        rests.append(parts[1:])
    head = heads[0][: find_common_start(*heads)]
    if COUNTER in opening or not head.startswith(name):
        raise ConstraintError("constraining calls: text may come first, and what opens a call cannot be told from text")
    if opening + head == name:
        raise ConstraintError("constraining calls: text may come first, and nothing but a name opens a call")
    inner = [join(Text(whole[len(head) :]), *rest) for whole, rest in zip(heads, rests, strict=True)]
    return opening + head, choose(*inner)


def write_unless(beginnings: Iterable[str]) -> Tree:
    """Return the tree of any text that begins with none of some texts."""
    texts = list(beginnings)
    rests = {text[0]: [other[1:] for other in texts if other[0] == text[0]] for text in texts}
    others = join(Chars(tuple((sign, sign) for sign in rests), negated=True), Chars((), negated=True, least=0, most=None))
    begun = [join(Text(sign), write_unless(rest)) for sign, rest in rests.items() if all(rest)]
    return maybe(choose(others, *begun))
