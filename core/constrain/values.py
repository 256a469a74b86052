"""Arguments as a format writes them, held to the JSON Schema of a tool.

What of a schema is enforced where values are not JSON: types, alternatives, ``enum`` and ``const``, properties with
their order and which of them are required, the items of lists, and the bounds of numbers that stand by themselves. Lengths,
patterns, and bounds inside of lists and objects are left to the reader of the answer. JSON is left to whoever enforces the
grammar, or is written out as any other graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from .. import format as formats
from ..errors import ConstraintError
from ..format import Choice, Codec, Edge, Graph, Insides, Node, Number, Numeral, TurnGraph
from ..format.cut import COUNTER
from ..schema import Schema as ToolSchema
from .schemas import Schema, list_alternatives, list_properties, list_values
from .texts import find_ends, spell_key, spell_text, write_number, write_text, write_within
from .tree import DIGITS, NOTHING, Chars, Grammar, Json, Reference, Text, Tree, choose, join, replace_leaves
from .walk import END, Arm, Exits, Field, Slot, Walk

WORD = (("A", "Z"), ("a", "z"), ("0", "9"), ("_", "_"), ("-", "-"))
_DEFINITIONS = ("$defs", "definitions")
_MEMBERS = ("type", "properties", "required", "items", "additionalProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LIKE = {"number": "integer", "integer": "number"}
_LETTERS = str.maketrans("0123456789", "ghijklmnop")

_LIST, _OBJECT = "json list", "json object"

STRING = formats.Text(tuple((json.dumps(char)[1:-1], char) for char in '"\\\b\f\n\r\t'), (Numeral("utf-16", "\\u"),), quoted=True)
_JSON_FORMS: dict[str, tuple[Codec, str, str]] = {
    "string": (STRING, '"', '"'),
    "integer": (Number(), "", ""),
    "number": (Number(), "", ""),
    "boolean": (Choice((("true", "true"), ("false", "false"))), "", ""),
    "null": (Choice((("null", "null"),)), "", ""),
    "array": (Insides(_LIST), "[" + COUNTER, COUNTER + "]"),
    "object": (Insides(_OBJECT), "{" + COUNTER, COUNTER + "}"),
}
_KEY, _MIDDLE, _COMMA = '"', '":' + COUNTER, "," + COUNTER


def _make_json() -> TurnGraph:
    """Return the insides of lists and objects in JSON; white space may stand where they have counters."""
    bounds = Node("start", "start"), Node("end", "end")
    values = [Node(f"value:{kind}", "value", codec, kind) for kind, (codec, _, _) in _JSON_FORMS.items()]
    keys = [Node(f"key:{kind}", "key", STRING, kind) for kind in _JSON_FORMS]
    entries = [_link(f"key:{kind}", _MIDDLE + before, f"value:{kind}") for kind, (_, before, _) in _JSON_FORMS.items()]
    items: list[Edge] = []
    behind_values = [(f"value:{kind}", behind, _COMMA) for kind, (_, _, behind) in _JSON_FORMS.items()]
    for source, closing, comma in [("start", "", ""), *behind_values]:
        entries += [_link(source, closing + comma + _KEY, key.name) for key in keys]
        items += [_link(source, closing + comma + before, f"value:{kind}") for kind, (_, before, _) in _JSON_FORMS.items()]
        entries.append(_link(source, closing, "end"))
        items.append(_link(source, closing, "end"))
    inside_list, inside_object = Graph((*bounds, *values), tuple(items)), Graph((*bounds, *keys, *values), tuple(entries))
    return TurnGraph(insides=((_LIST, inside_list), (_OBJECT, inside_object)))


def _link(source: str, text: str, target: str) -> Edge:
    return Edge(source, tuple(text.split(COUNTER)), target)


_JSON = _make_json()


class Values:
    """Makes trees for the values of one object schema, ``root``, as a graph writes them; rules that they need are added to
    ``rules``. ``spaces`` bounds the white space between tokens of JSON.
    """

    def __init__(self, graph: TurnGraph, rules: dict[str, Tree], root: Any, spaces: int) -> None:
        self._graph, self._rules, self._root, self._spaces = graph, rules, root, spaces
        blank = Chars(((" ", " "), ("\n", "\n")), least=0, most=spaces)
        self.walks = {name: Walk(inside, blank if graph is _JSON else DIGITS) for name, inside in graph.insides}

    # Entries and items ---------------------------------------------------------------------------------------------------

    def write_entries(self, walk: Walk, exits: Exits, schema: Schema) -> list[Arm]:
        """Return the ways to write the entries of an object behind a field with some exits."""
        properties = list_properties(schema)
        keys = walk.list_nodes(exits, "key")
        if properties is None:
            kinds = [(key, {"type": key.type or "string"}) for key in keys if not key.signs]
            fields = [field for key, kind in kinds for field in self._list_fields(walk, key, None, kind, told=False)]
            return walk.list_rows(exits, [Slot(fields, False)], self._share, repeats=True)
        slots = [Slot(self._list_ways(walk, keys, name, inner), needed) for name, (inner, needed) in properties.items()]
        return walk.list_rows(exits, slots, self._share)

    def _list_ways(self, walk: Walk, keys: list[Node], name: str, schema: Any) -> list[Field]:
        """List the ways to write an argument."""
        path = self._graph.path
        found = [
            field
            for way in list_alternatives(schema, self._root)
            if not (way["type"] == "array" and path and path.base >= 0)  # how many items come cannot be said
            for key in _find_typed([key for key in keys if walk.has_form(key, name)], way["type"])
            for field in self._list_fields(walk, key, name, way, ToolSchema(schema).says_string)
        ]
        if not found:
            raise ConstraintError(f"constraining calls: this format cannot write the parameter {name!r} as its schema wants it")
        return found

    def _spell(self, name: str, key: Node) -> str:
        path = self._graph.path
        if path is None:
            return spell_key(name, key)
        odd = replace(key, signs=path.odd_signs)
        steps = path.split(name)
        return path.join(s if isinstance(s, int) else spell_key(s, odd if path.is_odd(s) else key) for s in steps)

    def _list_fields(self, walk: Walk, key: Node, name: str | None, schema: Schema, told: bool) -> Iterable[Field]:
        """List the ways to write a key and a value; without a name the key is any. A string is ``told`` by the tool."""
        spelled = "" if name is None else self._spell(name, key)
        written = Chars(WORD, least=1, most=64) if name is None else Text(spelled)
        exits = walk.list_exits(key.name)
        for value in walk.list_nodes(exits, "value"):
            untold = isinstance(value.codec, formats.Text) and value.codec.told and not told
            node = replace(value, codec=formats.Json()) if untold else value
            if isinstance(node.codec, formats.Text) and node.codec.repeats_key:
                if name is None:
                    continue  # a key that is repeated must be known
                node = replace(node, codec=node.codec.fill(spelled))
            inner = self.write(node, schema, find_ends(walk, value))
            last, after = value.name, walk.list_exits(value.name)
            for again in walk.list_nodes(after, "key", again=True):
                if name is None:
                    return  # as above
                inner, last = join(inner, walk.spell(after[again.name][0]), written), again.name
            for text in exits[value.name]:
                yield Field(key.name, join(written, walk.spell(text), inner), last)

    def _write_inside(self, name: str, schema: Schema) -> Tree:
        """Return a reference to the inside of a list or an object that obeys a schema."""
        kept = {key: schema[key] for key in _MEMBERS if key in schema}
        text = json.dumps([name, self._spaces, kept], sort_keys=True)
        text += json.dumps(self._find_definitions()) if "$ref" in text else ""
        return self._refer(text, lambda: self._write_rows(self.walks[name], schema))

    def _share(self, tree: Tree) -> Tree:
        """Return a reference to a rule that says what a tree does."""
        return self._refer(repr(tree), lambda: tree)

    def _refer(self, text: str, make: Callable[[], Tree]) -> Tree:
        """Return a reference to the rule that goes by a text, which is made where there is none yet."""
        rule = "inside-" + hashlib.sha256(text.encode()).hexdigest()[:10].translate(_LETTERS)
        if rule not in self._rules:
            self._rules[rule] = NOTHING  # it may refer to itself
            self._rules[rule] = make()
        return Reference(rule)

    def _write_rows(self, walk: Walk, schema: Schema) -> Tree:
        exits = walk.list_exits("start")
        if schema["type"] == "object":
            arms = self.write_entries(walk, exits, schema)
        else:
            fields = [
                Field(node.name, self.write(node, way, find_ends(walk, node)), node.name)
                for way in list_alternatives(schema.get("items"), self._root)
                for node in _find_typed(walk.list_nodes(exits, "value"), way["type"])
            ]
            arms = walk.list_rows(exits, [Slot(fields, False)], self._share, repeats=True)
        rows = [join(arm.tree, walk.spell(text)) for arm in arms for text in arm.exits.get(END, ())]
        if not rows:
            raise ConstraintError("constraining calls: how this model ends lists and objects inside of arguments is not known")
        return choose(*rows)

    def _find_definitions(self) -> Schema:
        return {key: self._root[key] for key in _DEFINITIONS if isinstance(self._root, Mapping) and key in self._root}

    # Values --------------------------------------------------------------------------------------------------------------

    def write(self, node: Node, schema: Schema, ends: tuple[str, ...] = ()) -> Tree:
        """Return the tree of the values of a node that obey a schema with one type; ``ends`` must not stand in raw text."""
        codec, values = node.codec, list_values(schema)
        if isinstance(codec, formats.Json):
            return self._write_json(schema, codec, ends)
        if isinstance(codec, Insides):
            return self._write_inside(codec.graph, schema)
        if isinstance(codec, formats.Text):
            words = [spell_text(str(value), codec, ends) for value in values]
            trees: list[Tree] = [Text(word) for word in words if word is not None] if values else [write_text(codec, ends)]
        elif isinstance(codec, Number):
            bounds = {key: schema[key] for key in ("type", *_BOUNDS) if key in schema}
            left = self._graph is not _JSON and len(bounds) > 1  # to whoever enforces the schema of JSON
            trees = [Text(json.dumps(value)) for value in values]
            trees = trees or [Json(bounds, 0) if left else write_number(schema["type"] == "integer")]
        else:
            assert isinstance(codec, Choice)
            wanted = {json.dumps(value) for value in values} or {"true", "false", "null", "{}", "[]"}
            trees = [Text(word) for word, literal in codec.words if literal in wanted]
        if not trees:
            raise ConstraintError(f"constraining calls: none of the values {values!r} can be written in this format")
        return choose(*trees)

    def _write_json(self, schema: Schema, codec: formats.Json, ends: tuple[str, ...]) -> Tree:
        """Return the tree of a JSON value; of one inside a text, as that text writes it."""
        within = codec.within
        if within is None:
            return Json({**schema, **self._find_definitions()}, self._spaces, ends)
        rules: dict[str, Tree] = {}
        tree = _write_out(schema, self._root, self._spaces, rules)

        def change(leaf: Tree) -> Tree:
            return Reference(f"{leaf.name}-text") if isinstance(leaf, Reference) else write_within(leaf, within)

        self._rules.update({f"{name}-text": replace_leaves(rule, change) for name, rule in rules.items()})
        return replace_leaves(tree, change)


def expand_grammar(grammar: Grammar) -> Grammar:
    """Return a grammar in which JSON Schemas are written out."""
    rules = dict(grammar.rules)

    def change(leaf: Tree) -> Tree:
        return _write_out(leaf.schema, leaf.schema, leaf.spaces, rules) if isinstance(leaf, Json) else leaf

    rules.update({name: replace_leaves(rule, change) for name, rule in grammar.rules.items()})
    return Grammar(replace_leaves(grammar.root, change), rules)


def _write_out(schema: Any, root: Any, spaces: int, rules: dict[str, Tree]) -> Tree:
    """Return the tree of a JSON value that obeys a schema, without any JSON Schema in it; rules that it needs are added."""
    values = Values(_JSON, rules, root, spaces)
    spell = values.walks[_LIST].spell
    found: list[Tree] = []
    for way in list_alternatives(schema, root):
        codec, before, behind = _JSON_FORMS[way["type"]]
        found.append(join(spell(before), values.write(Node("value", "value", codec), way), spell(behind)))
    return choose(*found)


def _find_typed(nodes: list[Node], kind: str) -> list[Node]:
    """Return the nodes for values of a type, of a number of the other type where it has none."""
    found = ([node for node in nodes if node.type == wanted] for wanted in (kind, _LIKE.get(kind, kind), ""))
    return next(filter(None, found), [])
