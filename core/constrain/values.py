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
from ..format import Choice, Codec, Edge, Graph, Insides, Node, Number, Numeral, Path
from ..schema import Schema as ToolSchema
from .schemas import Schema, list_alternatives, list_properties, list_values
from .texts import find_ends, spell_key, spell_text, write_number, write_text, write_within
from .tree import NOTHING, Chars, Grammar, Json, Reference, Text, Tree, choose, join, replace_leaves
from .walk import COUNTER, END, Arm, Exits, Field, Slot, Walk

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


def _make_json_graphs() -> dict[str, Graph]:
    """Return the graphs of the insides of lists and objects in JSON; white space may stand where they have counters."""
    opened = {kind: before for kind, (_, before, _) in _JSON_FORMS.items()}
    closed = {kind: behind for kind, (_, _, behind) in _JSON_FORMS.items()}
    bounds = Node("start", "start"), Node("end", "end")
    values = [Node(f"value:{kind}", "value", codec, kind) for kind, (codec, _, _) in _JSON_FORMS.items()]
    keys = [Node(f"key:{kind}", "key", STRING, kind) for kind in _JSON_FORMS]
    items = [_link("start", "", "end"), *(_link("start", opened[one.type], one.name) for one in values)]
    entries = [_link("start", "", "end"), *(_link("start", _KEY, key.name) for key in keys)]
    for one in values:
        items += [_link(one.name, closed[one.type] + _COMMA + opened[two.type], two.name) for two in values]
        items.append(_link(one.name, closed[one.type], "end"))
        entries.append(_link(f"key:{one.type}", _MIDDLE + opened[one.type], one.name))
        entries += [_link(one.name, closed[one.type] + _COMMA + _KEY, key.name) for key in keys]
        entries.append(_link(one.name, closed[one.type], "end"))
    return {_LIST: Graph((*bounds, *values), tuple(items)), _OBJECT: Graph((*bounds, *keys, *values), tuple(entries))}


def _link(source: str, text: str, target: str) -> Edge:
    return Edge(source, tuple(text.split(COUNTER)), target)


_JSON = _make_json_graphs()


class Values:
    """Makes trees for the values of one object schema, ``root``; rules that they need are added to ``rules``.

    ``insides`` are the graphs of lists and objects by name. ``spaces`` bounds the white space between tokens of JSON. With a
    ``path`` keys may be paths. Unless they are ``bounded``, numbers may be any.
    """

    def __init__(
        self,
        insides: Mapping[str, Graph],
        rules: dict[str, Tree],
        root: Any,
        spaces: int = 1,
        path: Path | None = None,
        bounded: bool = True,
    ) -> None:
        self._insides, self._rules, self._root, self._spaces, self._path = insides, rules, root, spaces, path
        self._bounded = bounded
        self._walks: dict[str, Walk] = {}

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
        found = [
            field
            for way in list_alternatives(schema, self._root)
            if not (way["type"] == "array" and self._path and self._path.base >= 0)  # how many items come cannot be said
            for key in _find_typed([key for key in keys if walk.has_form(key, name)], way["type"])
            for field in self._list_fields(walk, key, name, way, ToolSchema(schema).says_string)
        ]
        if not found:
            raise ConstraintError(f"constraining calls: this format cannot write the parameter {name!r} as its schema wants it")
        return found

    def _spell(self, name: str, key: Node) -> str:
        path = self._path
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

    def _write_items(self, walk: Walk, exits: Exits, schema: Any) -> list[Arm]:
        nodes = walk.list_nodes(exits, "value")
        fields = [
            Field(node.name, self.write(node, way, find_ends(walk, node)), node.name)
            for way in list_alternatives(schema, self._root)
            for node in _find_typed(nodes, way["type"])
        ]
        return walk.list_rows(exits, [Slot(fields, False)], self._share, repeats=True)

    def _write_inside(self, name: str, schema: Schema) -> Tree:
        """Return a reference to the inside of a list or an object that obeys a schema."""
        kept = {key: schema[key] for key in _MEMBERS if key in schema}
        text = json.dumps([name, self._spaces, kept], sort_keys=True)
        text += json.dumps(self._find_definitions()) if "$ref" in text else ""
        return self._refer(text, lambda: self._write_rows(self._find_walk(name), schema))

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
            arms = self._write_items(walk, exits, schema.get("items"))
        rows = [join(arm.tree, walk.spell(text)) for arm in arms for text in arm.exits.get(END, ())]
        if not rows:
            raise ConstraintError("constraining calls: how this model ends lists and objects inside of arguments is not known")
        return choose(*rows)

    def _find_walk(self, name: str) -> Walk:
        if name not in self._walks:
            blank = Chars(((" ", " "), ("\n", "\n")), least=0, most=self._spaces)
            self._walks[name] = Walk(_JSON[name], blank) if name in _JSON else Walk(self._insides[name])
        return self._walks[name]

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
            trees = [Text(json.dumps(value)) for value in values] or [self._write_number(schema)]
        else:
            assert isinstance(codec, Choice)
            wanted = {json.dumps(value) for value in values} or {"true", "false", "null", "{}", "[]"}
            trees = [Text(word) for word, literal in codec.words if literal in wanted]
        if not trees:
            raise ConstraintError(f"constraining calls: none of the values {values!r} can be written in this format")
        return choose(*trees)

    def _write_number(self, schema: Schema) -> Tree:
        """Return the tree of a number; one with bounds is left to whoever enforces the schema of JSON."""
        bounds = {key: schema[key] for key in ("type", *_BOUNDS) if key in schema}
        return Json(bounds, 0) if self._bounded and len(bounds) > 1 else write_number(schema["type"] == "integer")

    def _write_json(self, schema: Schema, codec: formats.Json, ends: tuple[str, ...]) -> Tree:
        """Return the tree of a JSON value; of one inside a text, as that text writes it."""
        within = codec.within
        if within is None:
            return Json({**schema, **self._find_definitions()}, self._spaces, ends)
        rules: dict[str, Tree] = {}
        tree = Values({}, rules, self._root, self._spaces, bounded=False).expand([schema])

        def change(leaf: Tree) -> Tree:
            return Reference(f"{leaf.name}-text") if isinstance(leaf, Reference) else write_within(leaf, within)

        self._rules.update({f"{name}-text": replace_leaves(rule, change) for name, rule in rules.items()})
        return replace_leaves(tree, change)

    def expand(self, schemas: list[Schema]) -> Tree:
        """Return the tree of a JSON value that obeys one of some schemas with one type, which are written out."""
        spell = self._find_walk(_LIST).spell
        forms = [(found, found["type"], *_JSON_FORMS[found["type"]]) for found in schemas]
        return choose(
            *(
                join(spell(before), self.write(Node("value", "value", codec, kind), found, ('"',)), spell(behind))
                for found, kind, codec, before, behind in forms
            )
        )


def expand_grammar(grammar: Grammar) -> Grammar:
    """Return a grammar in which JSON Schemas are written out."""
    rules = dict(grammar.rules)
    rules.update({name: _expand_json(rule, rules) for name, rule in grammar.rules.items()})
    return Grammar(_expand_json(grammar.root, rules), rules)


def _expand_json(tree: Tree, rules: dict[str, Tree]) -> Tree:
    """Return a tree in which JSON Schemas are written out; rules that they need are added."""

    def change(leaf: Tree) -> Tree:
        if not isinstance(leaf, Json):
            return leaf
        return Values({}, rules, leaf.schema, leaf.spaces, bounded=False).expand(list_alternatives(leaf.schema, leaf.schema))

    return replace_leaves(tree, change)


def _find_typed(nodes: list[Node], kind: str) -> list[Node]:
    """Return the nodes for values of a type, of a number of the other type where it has none."""
    for wanted in (kind, _LIKE.get(kind, kind), ""):
        found = [node for node in nodes if node.type == wanted]
        if found:
            return found
    return []
