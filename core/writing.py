"""Values as a notation writes them, held to a JSON Schema: the leaves of a grammar.

What of a schema is enforced in notations that are not JSON: types, alternatives, ``enum`` and ``const``, properties with
their order and which of them are required, and the items of lists. Bounds of numbers and lengths, and patterns, are left
to the reader of the answer. JSON is left to whoever enforces the grammar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ConstraintError
from .format import KEY, StringNotation, ValueNotation
from .grammar import NOTHING, Chars, Json, Node, Reference, Repeat, Text, Until, choose, join, maybe
from .schema import TYPES

DEPTH = 16
_DIGIT = (("0", "9"),)
_WORD = (("A", "Z"), ("a", "z"), ("0", "9"), ("_", "_"), ("-", "-"))
_KEY = re.compile(r"[^\s<>\"'=/(){}\[\],:|\\][^\s<>\"'=(){}\[\],:|\\]{0,127}")
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
_DEFINITIONS = ("$defs", "definitions")

Schema = dict[str, Any]


def make_object_schema(schema: Any, in_order: bool) -> Schema:
    """Return the schema of a tool's arguments as one of an object, keys in the order in which the model writes them."""
    if not isinstance(schema, Mapping) or not schema:
        return {"type": "object"}
    made: Schema = dict(_order(schema) if in_order else schema)
    if "type" not in made and not any(key in made for key in ("$ref", "anyOf", "oneOf", "allOf")):
        made["type"] = "object"
    return made


def _order(schema: Any) -> Any:
    """Return a schema with all properties in the order of the alphabet."""
    if isinstance(schema, list):
        return [_order(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: value if key in ("enum", "const", "default") else _order(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict):
        made["properties"] = dict(sorted(made["properties"].items(), key=lambda item: str(item[0]).lower()))
    return made


def list_alternatives(schema: Any, root: Any, depth: int = 0) -> list[Schema]:
    """Return the schemas of which a value must obey one, each with exactly one type.

    References are followed and ``allOf`` is merged, one level deep. Raises :class:`ConstraintError` for a reference that
    leads nowhere or to itself.
    """
    if depth > DEPTH:
        raise ConstraintError("the schema of a tool is nested too deeply, or refers to itself")
    node: Schema = dict(schema) if isinstance(schema, Mapping) else {}
    if isinstance(node.get("$ref"), str):
        return list_alternatives({**_follow(node.pop("$ref"), root), **node}, root, depth + 1)
    for part in node.pop("allOf", None) or ():
        for inner in list_alternatives(part, root, depth + 1)[:1]:
            node = _merge(node, inner)
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list) and node[key]:
            rest = {name: value for name, value in node.items() if name not in (key, "description", "title", "default")}
            parts = [_merge(rest, part) if isinstance(part, Mapping) else rest for part in node[key]]
            return [inner for part in parts for inner in list_alternatives(part, root, depth + 1)]
    return [narrowed for kind in _list_types(node) for narrowed in _narrow(node, kind)]


def _merge(one: Mapping[str, Any], two: Mapping[str, Any]) -> Schema:
    merged: Schema = {**one, **two}
    for key in ("properties", "required"):
        if key in one and key in two:
            merged[key] = {**one[key], **two[key]} if key == "properties" else [*one[key], *two[key]]
    return merged


def _follow(reference: str, root: Any) -> Schema:
    found = root
    for part in reference.lstrip("#").split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        found = found.get(part) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping):
        raise ConstraintError(f"the schema of a tool refers to {reference!r}, which is not in it")
    return dict(found)


def _list_types(node: Schema) -> list[str]:
    declared = node.get("type")
    if isinstance(declared, str):
        declared = [declared]
    if isinstance(declared, list):
        return [kind for kind in declared if kind in TYPES]
    values = _list_values(node)
    if values:
        return list(dict.fromkeys(_KINDS[type(value)] for value in values))
    return ["object"] if "properties" in node else ["array"] if "items" in node else list(TYPES)


def _list_values(node: Mapping[str, Any]) -> list[Any]:
    if "const" in node:
        return [node["const"]]
    return list(node["enum"]) if isinstance(node.get("enum"), list) else []


def _narrow(node: Schema, kind: str) -> list[Schema]:
    """Return a schema with one type, and of its values only those of that type; nothing where there are none."""
    values = _list_values(node)
    if not values:
        return [{**node, "type": kind}]
    fitting = [value for value in values if _is_kind(value, kind)]
    rest = {key: value for key, value in node.items() if key not in ("const", "enum")}
    return [{**rest, "type": kind, "enum": fitting}] if fitting else []


def _is_kind(value: Any, kind: str) -> bool:
    found = _KINDS.get(type(value))
    return found == kind or (kind == "number" and found == "integer")


def check_key(key: str) -> str:
    """Return a key that can be written outside of JSON. Raises :class:`ConstraintError` for another one."""
    if not _KEY.fullmatch(key):
        raise ConstraintError(f"the parameter {key!r} has signs in its name that this model's format may need itself")
    return key


class Writer:
    """Makes nodes for values of one notation; rules that they need are added to ``rules``.

    ``ends`` are always the texts that a value must not hold, since they would end it. With ``expand`` JSON is written out,
    too, for those who cannot enforce a schema by themselves, with so much white space between its tokens at most.
    """

    def __init__(self, notation: ValueNotation, rules: dict[str, Node], root: Any, expand: int = 0) -> None:
        self._notation, self._rules, self._root, self._expand = notation, rules, root, expand
        blank = Chars(((" ", " "), ("\n", "\n")), least=0, most=expand)
        self._margin: Node = blank if expand > 1 else NOTHING
        self._space: Node = blank if expand > 1 else maybe(Text(" "))

    def write_others(self, schemas: Sequence[Schema], ends: tuple[str, ...]) -> Node:
        """Return the node of the values that obey one of some schemas, none of them a string's."""
        if not self._notation.json or self._expand:
            return choose(*(self._write(schema, ends, 0) for schema in schemas))
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
        defined = {key: self._root[key] for key in _DEFINITIONS if isinstance(self._root, Mapping) and key in self._root}
        return Json({**schema, **defined}, excludes=ends)

    def write_strings(self, schemas: Sequence[Schema], notations: tuple[StringNotation, ...], ends: tuple[str, ...]) -> Node:
        """Return the node of strings that obey one of some schemas, in any of some notations."""
        return choose(*(self._write_string(schema, notations, ends) for schema in schemas))

    def _write_string(self, schema: Schema, notations: tuple[StringNotation, ...], ends: tuple[str, ...]) -> Node:
        known = notations or (StringNotation(),)
        if not known[0].start:
            known = known[:1]  # raw text; quotes stand there only where a text needs them
        words = _list_values(schema)
        if not words:
            return choose(*(write_text(notation, ends) for notation in known))
        spelled = [text for word in words if (text := spell_text(word, known, ends)) is not None]
        if not spelled:
            raise ConstraintError(f"none of the values {words!r} can be written: each holds what would end it")
        return choose(*map(Text, spelled))

    def _write_any(self, schema: Any, ends: tuple[str, ...], depth: int) -> Node:
        """Return the node of any value that a schema allows, inside a list or an object."""
        if not schema or not isinstance(schema, Mapping):
            return self._refer()
        return choose(*(self._write(inner, ends, depth) for inner in list_alternatives(schema, self._root)))

    def _refer(self) -> Node:
        """Return a reference to the rule of values of any kind."""
        name = "json-value" if self._notation.json else "value"
        if name not in self._rules:
            self._rules[name] = NOTHING  # it refers to itself
            ends = self._list_ends()
            self._rules[name] = choose(*(self._write({"type": kind}, ends, 1) for kind in TYPES if kind != "integer"))
        return Reference(name)

    def _write(self, schema: Schema, ends: tuple[str, ...], depth: int) -> Node:
        """Return the node of values of one type."""
        notation, kind, values = self._notation, schema["type"], _list_values(schema)
        if depth > DEPTH:
            raise ConstraintError("the schema of a tool is nested too deeply, or refers to itself, for this notation")
        if kind == "string" and notation.json:
            spelled: list[Node] = [Text(json.dumps(value, ensure_ascii=False)) for value in values]
            return choose(*(spelled or [write_json_string(ends)]))
        if kind == "string":
            return self._write_string(schema, notation.strings, ends)
        words = {"boolean": [notation.true, notation.false], "null": [notation.null]}.get(kind, [])
        if values and kind not in ("array", "object"):
            words = [self._spell(value) for value in values]
        if words:
            return choose(*map(Text, words))
        if kind in ("integer", "number"):
            return write_number(kind == "integer")
        return self._write_list(schema, depth) if kind == "array" else self._write_object(schema, depth)

    def _spell(self, value: Any) -> str:
        if value is None:
            return self._notation.null
        if isinstance(value, bool):
            return self._notation.true if value else self._notation.false
        return json.dumps(value)

    def _list_ends(self) -> tuple[str, ...]:
        """Return what ends values inside lists and objects."""
        if self._notation.json:
            return ()
        inner = self._notation.list
        ends = [inner.item_end or inner.separator, inner.end] if inner else []
        outer = self._notation.object
        ends += [outer.slots[0].end.text.partition(KEY)[0] or outer.separator, outer.end] if outer else []
        return tuple(dict.fromkeys(end.strip() for end in ends if end.strip()))

    def _divide(self, separator: str) -> Node:
        """Return what stands between two entries; how much white space belongs to it is not known."""
        return join(Text(separator), self._space) if separator.strip() else maybe(Text("\n"))

    def _write_list(self, schema: Schema, depth: int) -> Node:
        notation = self._notation.list
        if notation is None:
            raise ConstraintError("how this model writes lists inside of arguments is not known")
        ends = (notation.item_end.strip(),) if notation.item_end.strip() else self._list_ends()
        item = self._write_any(schema.get("items"), ends, depth + 1)
        entry = join(Text(notation.item_start), item, Text(notation.item_end))
        entries = maybe(join(entry, Repeat(join(self._divide(notation.separator), entry))))
        return join(Text(notation.start), self._margin, entries, self._margin, Text(notation.end))

    def _write_object(self, schema: Schema, depth: int) -> Node:
        notation = self._notation.object
        if notation is None:
            raise ConstraintError("how this model writes objects inside of arguments is not known")
        slot, in_json = notation.slots[0], self._notation.json
        space = NOTHING if slot.start.after or slot.end.text.strip() else self._space

        def write(key: Node, name: str, inner: Any) -> Node:
            end = slot.end.text.replace(KEY, name).strip()
            value = self._write_any(inner, (end,) if end else self._list_ends(), depth + 1)
            start = join(Text(notation.key_start), key, Text(slot.start.written), space)
            return join(start, value, Text(slot.end.written.replace(KEY, name)))

        properties = schema.get("properties")
        if isinstance(properties, Mapping) and properties:
            required = list_required(schema)
            keys = {key: json.dumps(key, ensure_ascii=False)[1:-1] if in_json else check_key(key) for key in properties}
            entries = [(write(Text(keys[key]), key, inner), key in required) for key, inner in properties.items()]
            inside = arrange(entries, self._divide(notation.separator))
        elif KEY in slot.end.text:
            inside = NOTHING  # a key that is repeated must be known
        elif "properties" in schema and schema.get("additionalProperties", False) is False:
            inside = NOTHING
        else:
            entry = write(Chars(_WORD, least=1, most=64), "", None)
            inside = maybe(join(entry, Repeat(join(self._divide(notation.separator), entry))))
        return join(Text(notation.start), self._margin, inside, self._margin, Text(notation.end))


def list_required(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the properties that must be there."""
    required = schema.get("required")
    return frozenset(required) if isinstance(required, list) else frozenset()


def arrange(entries: list[tuple[Node, bool]], separator: Node, least: int = 0) -> Node:
    """Return entries in their order, with a separator between two; an entry that is not required may be left out.

    With ``least`` there must be one.
    """
    needed = [number for number, (_, required) in enumerate(entries) if required]
    if separator == NOTHING and (needed or not least):
        return join(*(node if required else maybe(node) for node, required in entries))
    if needed:
        first = needed[0]
        before = [maybe(join(node, separator)) for node, _ in entries[:first]]
        return join(*before, *_follow_up(entries[first:], separator))
    nodes = [join(*_follow_up(entries[number:], separator)) for number in range(len(entries))]
    if not nodes:
        return NOTHING
    return choose(*nodes) if least else maybe(choose(*nodes))


def _follow_up(entries: list[tuple[Node, bool]], separator: Node) -> list[Node]:
    """Return the first of some entries, which stands there, and the others."""
    rest = [(join(separator, node), required) for node, required in entries[1:]]
    return [entries[0][0], *(node if required else maybe(node) for node, required in rest)]


def write_number(whole: bool) -> Node:
    """Return the node of numbers, as JSON and all known notations write them."""
    more = Chars(_DIGIT, least=0, most=30)
    integer = join(maybe(Text("-")), choose(Text("0"), join(Chars((("1", "9"),)), more)))
    if whole:
        return integer
    digits, sign = Chars(_DIGIT, least=1, most=30), maybe(choose(Text("+"), Text("-")))
    exponent = join(choose(Text("e"), Text("E")), sign, Chars(_DIGIT, least=1, most=3))
    return join(integer, maybe(join(Text("."), digits)), maybe(exponent))


def write_text(notation: StringNotation, ends: tuple[str, ...]) -> Node:
    """Return the node of any string in a notation."""
    if not notation.start and not notation.end:
        return Until(ends) if ends else Chars((), negated=True, least=0, most=None)
    escapes = dict(notation.escapes)
    signs = sorted({written[1] for written in escapes.values() if len(written) == 2 and written[0] == "\\"} - {"u"})
    signs += ["r"] if {"n", "t"} <= set(signs) else []
    others = [written for written in escapes.values() if not written.startswith("\\")]
    if not escapes or len(notation.end) > 1:
        return join(Text(notation.start), Until((notation.end,)), Text(notation.end))
    raw = {*escapes, notation.end, *(["\\"] if signs else []), *(["&"] if any(w[0] == "&" for w in others) else [])}
    plain = Chars(tuple((char, char) for char in sorted(raw)), negated=True)
    escaped = [join(Text("\\"), Chars(tuple((sign, sign) for sign in signs)))] if signs else []
    body = Repeat(choose(plain, *escaped, *map(Text, others)))
    return join(Text(notation.start), body, Text(notation.end))


def write_json_string(ends: tuple[str, ...]) -> Node:
    """Return the node of any JSON string; the first signs of the texts that it must not hold are written as escapes."""
    hexadecimal = Chars((("0", "9"), ("A", "F"), ("a", "f")), least=4, most=4)
    signs = Chars(tuple((sign, sign) for sign in '"/\\bfnrt'))
    raw = sorted({'"', "\\", *(end[0] for end in ends if end[0].isascii() and not end[0].isalnum())})
    plain = Chars((("\0", "\x1f"), ("\x7f", "\x7f"), *((char, char) for char in raw)), negated=True)
    return join(Text('"'), Repeat(choose(plain, join(Text("\\"), choose(signs, join(Text("u"), hexadecimal))))), Text('"'))


def spell_text(word: str, notations: tuple[StringNotation, ...], ends: tuple[str, ...]) -> str | None:
    """Return a string as the first notation that can writes it, or None where none can."""
    for notation in notations:
        escapes = dict(notation.escapes)
        written = "".join(escapes.get(char, char) for char in word)
        held = (notation.end,) if notation.end else ends
        unescaped = word if notation.end in escapes else written
        if not any(end in written for end in held) or (notation.end in escapes and unescaped == word):
            return notation.start + written + notation.end
    return None
