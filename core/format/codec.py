"""A format as JSON-serialisable data and back; the annotations of the dataclasses are the schema."""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any, Literal

from ..errors import FormatError


@cache
def _list_hints(kind: type) -> dict[str, Any]:
    """Return the annotations of a class, which cost more to find than all else here."""
    return typing.get_type_hints(kind)


def dump(value: Any, hint: Any = None) -> Any:
    """Return dataclasses as dicts, with the class's name under ``"is"`` where the annotation (``hint``) has several."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        hints, kind = _list_hints(type(value)), type(value).__name__
        dumped = {field.name: dump(getattr(value, field.name), hints[field.name]) for field in dataclasses.fields(value)}
        return {"is": kind, **dumped} if sum(map(dataclasses.is_dataclass, typing.get_args(hint))) > 1 else dumped
    return [dump(item) for item in value] if isinstance(value, tuple) else value


def load(cls: type, data: Any, version: int) -> Any:
    """Build a dataclass from what :func:`dump` wrote, with its version. Raises :class:`FormatError`."""
    if not isinstance(data, dict):
        raise FormatError(f"reading a format: found {type(data).__name__}, pass the dict that to_dict() returned")
    found = data.get("version")
    if found != version:
        raise FormatError(f"reading a format: found version {found!r}, this release reads {version}; analyse again")
    return _load(cls, {key: value for key, value in data.items() if key != "version"}, "format")


def _load(kind: Any, data: Any, where: str) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return _load_tuple(args, data, where)
    if origin is Literal:
        if data not in args:
            raise FormatError(f"reading {where}: found {data!r}, expected one of {', '.join(map(repr, args))}")
        return data
    if origin in (typing.Union, types.UnionType):
        return _load_union(args, data, where)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _load_dataclass(kind, data, where)
    if not isinstance(data, kind):
        raise FormatError(f"reading {where}: found {data!r}, expected {kind.__name__}")
    return data


def _load_tuple(args: tuple[Any, ...], data: Any, where: str) -> Any:
    if not isinstance(data, (list, tuple)):
        raise FormatError(f"reading {where}: found {type(data).__name__}, expected a list")
    kinds = [args[0]] * len(data) if args[-1] is Ellipsis else args
    if len(kinds) != len(data):
        raise FormatError(f"reading {where}: found {len(data)} entries, expected {len(kinds)}")
    return tuple(_load(kind, item, f"{where}[{number}]") for number, (kind, item) in enumerate(zip(kinds, data, strict=True)))


def _load_union(args: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in args:
        return None
    classes: list[Any] = [kind for kind in args if dataclasses.is_dataclass(kind)]
    if len(classes) == 1:
        return _load(classes[0], data, where)
    if isinstance(data, dict):
        for kind in classes:
            if kind.__name__ == data.get("is"):
                return _load(kind, {key: value for key, value in data.items() if key != "is"}, where)
    raise FormatError(f"reading {where}: found {data!r}, expected one of {', '.join(kind.__name__ for kind in classes)}")


def _load_dataclass(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise FormatError(f"reading {where}: found {type(data).__name__}, expected an object")
    hints = _list_hints(kind)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise FormatError(f"reading {where}: unknown key {unknown[0]!r}; was it written by another release?")
    try:
        return kind(**{key: _load(hints[key], value, f"{where}.{key}") for key, value in data.items()})
    except TypeError as error:
        raise FormatError(f"reading {where}: {error}") from None
