"""What the tools of a request say about values: the JSON Schema types by which raw text is read.

Only what decides a type is looked at: ``type`` (one or a list), ``nullable``, ``anyOf``/``oneOf``/``allOf``, ``enum``/``const``,
``$ref`` within the schema, ``properties`` and ``items``. Each of a bounded number of schemas within one is asked once, and one that
is none says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
_COMPOSING = frozenset(("$ref", *_ALTERNATIVES))
_NARROWING = _COMPOSING | {"nullable", "enum", "const", "required"}
_REFERENCES = 16  # that lead to each other
_MOST = 128  # schemas within one that are asked, each once

_NO_WORD = re.compile(r"\W", re.ASCII)
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

    __slots__ = ("_types", "names_type", "node", "root")

    def __init__(self, node: Any, root: Any = None) -> None:
        self.node = node
        self.root = node if root is None else root
        self._types: tuple[str, ...] | None = None
        self.names_type = isinstance(node, dict) and isinstance(node.get("type"), str) and _NARROWING.isdisjoint(node)
        """Whether it says of values of one type that all are allowed, as far as :meth:`accepts` looks."""

    def get_types(self) -> tuple[str, ...]:
        """Return the types a value may have, in the order in which to try them; empty if nothing is known."""
        if self._types is None:
            self._types = self._find_types()
        return self._types

    def _find_types(self) -> tuple[str, ...]:
        declared = self.node.get("type") if isinstance(self.node, dict) else None
        if isinstance(declared, str) and declared in TYPES and "$ref" not in self.node and not self.node.get("nullable"):
            return (declared,)
        if not self.node:
            return ()
        return tuple(dict.fromkeys(_list_types(self.node, self.root, set())))

    @property
    def says_string(self) -> bool:
        """Whether it says itself, and not by other words of JSON Schema, that a value is a string: templates look for no more."""
        return isinstance(self.node, dict) and self.node.get("type") == "string"

    def accepts(self, value: Any) -> bool:
        """Whether a value is one that the schema allows, as far as types, ``enum``, ``const`` and ``required`` tell."""
        return _accepts(self.node, self.root, value, {})

    def fits(self, value: Any, depth: int = 32) -> bool:
        """Whether it also allows all that is within a value, and declares all keys of objects of which it declares some."""
        if not depth or not self.accepts(value):
            return False
        if isinstance(value, list):
            items = self.get_items()
            return all(items.fits(item, depth - 1) for item in value)
        declared = self.list_properties() if isinstance(value, dict) else frozenset()
        return not declared or all(key in declared and self.get_property(key).fits(value[key], depth - 1) for key in value)

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
        for properties in self._list_declared():
            if key in properties:
                return Schema(properties[key], self.root)
        return self._find("additionalProperties")

    def _find(self, key: str) -> Schema:
        """Return the first schema that stands under a key; an empty one if there is none."""
        for node in _expand(self.node, self.root):
            if isinstance(node.get(key), dict):
                return Schema(node[key], self.root)
        return UNKNOWN

    def _list_declared(self) -> list[dict[str, Any]]:
        """Return what it and its alternatives say of properties."""
        found = [node.get("properties") for node in _expand(self.node, self.root)]
        return [properties for properties in found if isinstance(properties, dict)]

    def names_properties(self) -> bool:
        """Whether it lists properties, if only to say that there are none."""
        return bool(self._list_declared())

    def list_properties(self) -> frozenset[str]:
        """Return the names of all properties that are declared."""
        return frozenset(self.list_in_order())

    def list_in_order(self) -> tuple[str, ...]:
        """Return the same in the order in which they are declared."""
        declared = self._list_declared()
        return tuple(dict.fromkeys(key for properties in declared for key in properties if isinstance(key, str)))

    def get_items(self) -> Schema:
        """Return the schema of a list's items; an empty one if nothing is said."""
        return UNKNOWN if self._is_bare("items") else self._find("items")


UNKNOWN = Schema({})


def _resolve(node: Any, root: Any) -> dict[str, Any]:
    for _ in range(_REFERENCES):
        if not (isinstance(node, dict) and isinstance(node.get("$ref"), str)):
            return node if isinstance(node, dict) else {}
        node = follow_reference(node["$ref"], root)
    return {}


def _list_parts(node: dict[str, Any], key: str) -> list[Any]:
    """Return the schemas of which a value has to fit one, or all."""
    parts = node.get(key)
    return parts[:_MOST] if isinstance(parts, list) else []


def _expand(node: Any, root: Any) -> list[dict[str, Any]]:
    """Return a schema and its alternatives, each once."""
    found: dict[int, dict[str, Any]] = {}
    waiting = [node]
    while waiting and len(found) < _MOST:
        node = _resolve(waiting.pop(), root)
        if id(node) not in found:
            found[id(node)] = node
            parts = [part for key in _ALTERNATIVES for part in _list_parts(node, key)]
            waiting += parts[::-1]
    return list(found.values())


def _accepts(node: Any, root: Any, value: Any, known: dict[int, bool]) -> bool:
    """Whether a schema allows a value; ``known`` is what is known of those within it, where one that is being asked says yes."""
    node = _resolve(node, root)
    if value is None and node.get("nullable") is True:
        return True
    if id(node) not in known and len(known) < _MOST:
        known[id(node)] = True
        known[id(node)] = _accepts_itself(node, value)
        for key in _ALTERNATIVES if known[id(node)] else ():
            fits = [_accepts(part, root, value, known) for part in _list_parts(node, key)]
            known[id(node)] = known[id(node)] and (all(fits) if key == "allOf" or not fits else any(fits))
    return known.get(id(node), True)


def _list_declared_types(node: dict[str, Any]) -> list[Any]:
    """Return what stands under ``type``; nothing where that is neither a type nor a list."""
    declared = node.get("type")
    return declared if isinstance(declared, list) else [declared] if isinstance(declared, str) else []


def _accepts_itself(node: dict[str, Any], value: Any) -> bool:
    """Whether a schema allows a value, whatever stands in its alternatives."""
    kind, declared = find_type(value), _list_declared_types(node)
    if declared and not (kind in declared or (kind == "integer" and "number" in declared)):
        return False
    if "const" in node and not _is_same(node["const"], value):
        return False
    if isinstance(node.get("enum"), list) and not any(_is_same(choice, value) for choice in node["enum"][:1024]):
        return False
    required = node.get("required")
    named = [key for key in required if isinstance(key, str)] if isinstance(required, list) else []
    return not isinstance(value, dict) or all(key in value for key in named)


def _is_same(one: Any, two: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1."""
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _list_types(node: Any, root: Any, seen: set[int]) -> list[str]:
    """Return the types that a schema allows, or its alternatives where it says none itself; ``seen`` are those that were asked."""
    node = _resolve(node, root)
    if id(node) in seen or len(seen) >= _MOST:
        return []
    seen.add(id(node))
    found = ["null"] if node.get("nullable") is True else []
    if declared := _list_declared_types(node):
        return found + [kind for kind in declared if kind in TYPES]
    if "const" in node:
        return [*found, find_type(node["const"])]
    if isinstance(node.get("enum"), list):
        return found + list(map(find_type, node["enum"]))
    if "properties" in node:
        return [*found, "object"]
    if "items" in node:
        return [*found, "array"]
    parts = [part for key in _ALTERNATIVES for part in _list_parts(node, key)]
    return found + [kind for part in parts for kind in _list_types(part, root, seen)]


def spell(name: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return "".join(filter(str.isalnum, name)).casefold()


class ToolSet:
    """The tools of a request by name, however odd the dicts are."""

    def __init__(self, tools: Iterable[Any], aliased: bool = False) -> None:
        """``aliased`` are also known under what is left of their names where only words are names, as in programs."""
        self.tools: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}
        for tool in tools:
            function = tool.get("function", tool) if isinstance(tool, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str) and function["name"].strip():
                self.tools[function["name"]] = function
        if aliased:
            words = [(_NO_WORD.sub("_", name), name) for name in self.tools]
            counted = Counter(word for word, _ in words)
            self.aliases = {word: name for word, name in words if counted[word] == 1 and word != name}
            self.tools |= {word: self.tools[name] for word, name in self.aliases.items()}

    def find_spelled(self, name: str) -> str | None:
        """Return the tool of which a name has all letters and digits, in whatever case and with whatever signs, if it is the only
        one."""
        letters = spell(name)
        found = [tool for tool in self.tools if tool not in self.aliases and spell(tool) == letters]
        return found[0] if len(found) == 1 and letters else None

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
