"""JSON Schemas as grammars need them: alternatives that have exactly one type each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Any

from ..errors import ConstraintError
from ..format import Path
from ..schema import TYPES, find_type, follow_reference
from ..schema import Schema as ToolSchema

Schema = dict[str, Any]

_DEPTH = 16
_MOST = 256


def list_alternatives(schema: Any, root: Any) -> list[Schema]:
    """Return the schemas of which a value must obey one, each with exactly one type.

    References are followed and ``allOf`` is merged, one level deep. Raises :class:`ConstraintError` for a reference that
    leads nowhere or to itself, and where more than :data:`_MOST` schemas would have to be looked at.
    """
    return list(_find_alternatives(schema, root, count(), 0))


def _find_alternatives(schema: Any, root: Any, seen: Iterator[int], depth: int) -> Iterator[Schema]:
    if depth > _DEPTH:
        raise ConstraintError("constraining calls: the schema of a tool refers to itself without end")
    if next(seen) > _MOST:
        raise ConstraintError("constraining calls: the schema of a tool has too many alternatives within alternatives")
    node: Schema = dict(schema) if isinstance(schema, Mapping) else {}
    if isinstance(node.get("$ref"), str):
        found = follow_reference(reference := node.pop("$ref"), root)
        if not isinstance(found, Mapping):
            raise ConstraintError(f"constraining calls: the schema of a tool refers to {reference!r}, which is not in it")
        yield from _find_alternatives({**found, **node}, root, seen, depth + 1)
        return
    for part in node.pop("allOf", None) or ():
        for inner in islice(_find_alternatives(part, root, seen, depth + 1), 1):
            node = _merge(node, inner)
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list) and node[key]:
            rest = {name: value for name, value in node.items() if name not in (key, "description", "title", "default")}
            for part in node[key]:
                inner = _merge(rest, part) if isinstance(part, Mapping) else rest
                yield from _find_alternatives(inner, root, seen, depth + 1)
            return
    values = list_values(node)
    rest = {key: value for key, value in node.items() if key not in ("const", "enum")} if values else node
    for kind in ToolSchema(node).get_types() or TYPES:
        kinds = ("integer", "number") if kind == "number" else (kind,)
        fitting = [value for value in values if find_type(value) in kinds]
        if fitting or not values:
            yield {**rest, "type": kind, **({"enum": fitting} if fitting else {})}


def list_values(node: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema allows, where it counts them up."""
    if "const" in node:
        return [node["const"]]
    return list(node["enum"]) if isinstance(node.get("enum"), list) else []


def list_properties(node: Mapping[str, Any]) -> dict[str, tuple[Any, bool]] | None:
    """Return the schema of each property of an object, and whether it must be there; None where any may be."""
    properties = node.get("properties")
    if not isinstance(properties, Mapping):
        return {} if node.get("additionalProperties") is False else None
    required = node.get("required")
    needed = frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset()
    return {name: (inner, name in needed) for name, inner in properties.items()}


def sort_properties(schema: Any) -> Any:
    """Return a schema with all properties in the order of the alphabet."""
    if isinstance(schema, list):
        return [sort_properties(inner) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: value if key in ("enum", "const", "default") else sort_properties(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict):
        made["properties"] = dict(sorted(made["properties"].items(), key=lambda item: str(item[0]).lower()))
    return made


def list_by_path(schema: Mapping[str, Any], path: Path, outer: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with the properties of objects within it in their places, each under its path.

    What must be in an object must then be there even where that may be left out: parts of it cannot be written without the others.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, (inner, needed) in (list_properties(schema) or {}).items():
        keys = (*outer, name)
        nested = isinstance(inner, Mapping) and isinstance(inner.get("properties"), Mapping) and inner["properties"]
        parts = list_by_path(inner, path, keys) if nested and len(outer) < _DEPTH else {"properties": {}, "required": []}
        below = parts["properties"] or {path.join(keys): inner}
        properties |= below
        required += parts["required"] or list(below)[: int(needed)]
    return {**schema, "properties": properties, "required": required} if properties else dict(schema)


def _merge(one: Mapping[str, Any], two: Mapping[str, Any]) -> Schema:
    merged: Schema = {**one, **two}
    for key in ("properties", "required"):
        if key in one and key in two:
            merged[key] = {**one[key], **two[key]} if key == "properties" else [*one[key], *two[key]]
    return merged
