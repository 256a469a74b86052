"""What the tools of a request say about values: the JSON Schema types by which raw text is read.

Only what decides a type is looked at: ``type`` (one or a list), ``nullable``, ``anyOf``/``oneOf``/``allOf``, ``enum``/``const``,
``$ref`` within the schema, ``properties`` and ``items``. Everything is bounded, and a schema that is not one says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_SINGLE = {kind: (kind,) for kind in TYPES}
_COMPOSING = frozenset(("$ref", "anyOf", "oneOf", "allOf"))
_DEPTH = 16

_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def find_type(value: Any) -> str:
    """Return the JSON Schema type of a JSON value."""
    return _KINDS.get(type(value), "null")


def follow_reference(reference: str, root: Any) -> Any:
    """Return what a reference within a schema leads to, None where that is nothing."""
    found = root if reference.startswith("#") else None
    for part in reference.split("/")[1:]:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


class Schema:
    """One place of a JSON Schema; ``root`` is where references lead."""

    __slots__ = ("node", "root")

    def __init__(self, node: Any, root: Any = None) -> None:
        self.node = node
        self.root = node if root is None else root

    def get_types(self) -> tuple[str, ...]:
        """Return the types a value may have, in the order in which to try them; empty if nothing is known."""
        declared = self.node.get("type") if isinstance(self.node, dict) else None
        if isinstance(declared, str) and declared in TYPES and "$ref" not in self.node and not self.node.get("nullable"):
            return _SINGLE[declared]
        if not self.node:
            return ()
        return tuple(dict.fromkeys(_list_types(self.node, self.root, _DEPTH)))

    @property
    def says_string(self) -> bool:
        """Whether it says itself, and not by other words of JSON Schema, that a value is a string: templates look for no more."""
        return isinstance(self.node, dict) and self.node.get("type") == "string"

    def accepts(self, value: Any) -> bool:
        """Whether a value is one that the schema allows, as far as types, ``enum``, ``const`` and ``required`` tell."""
        return _accepts(self.node, self.root, value, _DEPTH)

    def _is_bare(self, key: str) -> bool:
        """Whether a schema says nothing under a key, not even by a reference or by alternatives."""
        return isinstance(self.node, dict) and key not in self.node and _COMPOSING.isdisjoint(self.node)

    def get_property(self, key: str) -> Schema:
        """Return the schema of a property; an empty one if nothing is said."""
        plain = self.node.get("properties") if isinstance(self.node, dict) else None
        if isinstance(plain, dict) and key in plain:
            return Schema(plain[key], self.root)
        if self._is_bare("additionalProperties"):
            return UNKNOWN
        for node in _expand(self.node, self.root, _DEPTH):
            properties = node.get("properties")
            if isinstance(properties, dict) and key in properties:
                return Schema(properties[key], self.root)
        for node in _expand(self.node, self.root, _DEPTH):
            if isinstance(node.get("additionalProperties"), dict):
                return Schema(node["additionalProperties"], self.root)
        return UNKNOWN

    def names_properties(self) -> bool:
        """Whether it lists properties, if only to say that there are none."""
        return any(isinstance(node.get("properties"), dict) for node in _expand(self.node, self.root, _DEPTH))

    def list_properties(self) -> frozenset[str]:
        """Return the names of all properties that are declared."""
        return frozenset(self.list_in_order())

    def list_in_order(self) -> tuple[str, ...]:
        """Return the same in the order in which they are declared."""
        found: dict[str, None] = {}
        for node in _expand(self.node, self.root, _DEPTH):
            if isinstance(node.get("properties"), dict):
                found.update(dict.fromkeys(node["properties"]))
        return tuple(found)

    def get_items(self) -> Schema:
        """Return the schema of a list's items; an empty one if nothing is said."""
        if self._is_bare("items"):
            return UNKNOWN
        for node in _expand(self.node, self.root, _DEPTH):
            if isinstance(node.get("items"), dict):
                return Schema(node["items"], self.root)
        return UNKNOWN


UNKNOWN = Schema({})


def _resolve(node: Any, root: Any, depth: int) -> dict[str, Any]:
    """Follow references within the schema."""
    while isinstance(node, dict) and isinstance(node.get("$ref"), str) and depth > 0:
        depth -= 1
        node = follow_reference(node["$ref"], root)
    return node if isinstance(node, dict) and depth > 0 else {}


def _expand(node: Any, root: Any, depth: int) -> Iterable[dict[str, Any]]:
    """Return a schema and its alternatives."""
    node = _resolve(node, root, depth)
    yield node
    if depth > 0:
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(node.get(key), list):
                for part in node[key][:64]:
                    yield from _expand(part, root, depth // 2)


def _accepts(node: Any, root: Any, value: Any, depth: int) -> bool:
    node = _resolve(node, root, depth)
    kind = _KINDS.get(type(value), "null")
    if value is None and node.get("nullable") is True:
        return True
    declared = node.get("type")
    declared = [declared] if isinstance(declared, str) else declared
    if isinstance(declared, list) and declared and not (kind in declared or (kind == "integer" and "number" in declared)):
        return False
    if "const" in node and not _is_same(node["const"], value):
        return False
    if isinstance(node.get("enum"), list) and not any(_is_same(choice, value) for choice in node["enum"][:1024]):
        return False
    if isinstance(value, dict) and isinstance(node.get("required"), list) and not all(key in value for key in node["required"]):
        return False
    if depth <= 0:
        return True
    for key, needs in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        parts = node.get(key)
        if isinstance(parts, list) and parts and not needs(_accepts(part, root, value, depth // 2) for part in parts[:64]):
            return False
    return True


def _is_same(one: Any, two: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1."""
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _list_types(node: Any, root: Any, depth: int) -> Iterable[str]:
    node = _resolve(node, root, depth)
    if node.get("nullable") is True:
        yield "null"
    declared = node.get("type")
    if isinstance(declared, str):
        declared = [declared]
    if isinstance(declared, list) and declared:
        yield from (kind for kind in declared if kind in TYPES)
        return
    if "const" in node:
        yield find_type(node["const"])
    elif isinstance(node.get("enum"), list):
        yield from map(find_type, node["enum"])
    elif "properties" in node:
        yield "object"
    elif "items" in node:
        yield "array"
    elif depth > 0:
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(node.get(key), list):
                for part in node[key][:64]:
                    yield from _list_types(part, root, depth // 2)


class ToolSet:
    """The tools of a request by name, however odd the dicts are."""

    def __init__(self, tools: Iterable[Any]) -> None:
        self.tools: dict[str, Any] = {}
        for tool in tools:
            function = tool.get("function", tool) if isinstance(tool, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                self.tools[function["name"]] = function

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def __bool__(self) -> bool:
        return bool(self.tools)

    def find_property(self, key: str) -> Schema:
        """Return the schema of a property of whatever tool: what all that declare it say of its types."""
        found = [s.get_property(key) for name in self.tools if key in (s := self.get_parameters(name)).list_properties()]
        return found[0] if len({schema.get_types() for schema in found}) == 1 else UNKNOWN

    def get_parameters(self, name: str) -> Schema:
        """Return the schema of a tool's arguments."""
        function = self.tools.get(name)
        if function is None:
            return UNKNOWN
        return Schema(function.get("parameters") or function.get("input_schema") or {})
