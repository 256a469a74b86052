"""Calls told by their shape: a JSON value that names a tool and holds arguments for it, whatever its keys and their order.

Guards: the name is that of a tool of the request; what is taken for arguments stands under the key that the format uses,
or fits the parameters of that tool; and there is only one way to read it so. Arguments are returned as they stand, never
written anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..schema import ToolSet

_DECODER = json.JSONDecoder(strict=False)  # a raw line break in a string is no reason to lose a call
_NAME = re.compile(r"[\w.:/-]{1,128}")
_DEPTH = 3  # objects around a call
_BLANK = " \t\r\n"


class Envelope(NamedTuple):
    """The keys under which a format writes the fields of a call in JSON; empty where it does not."""

    name: str = ""
    arguments: str = ""
    id: str = ""


class FoundCall(NamedTuple):
    """A call that was told by its shape. ``arguments`` is a JSON object as the model wrote it."""

    name: str
    arguments: str
    id: str | None = None


class Member(NamedTuple):
    """A member of an object, or an item of a list: its value, and its JSON as it was written."""

    value: Any
    text: str


class _NoCallError(Exception):
    """A value is no call."""


def read_calls(text: str, tools: ToolSet | None, envelope: Envelope) -> list[FoundCall] | None:
    """Return the calls that a JSON value is, or None where any part of it is none. ``tools`` None means that they are unknown.

    Costs time linear in the text; raises nothing.
    """
    try:
        if text.startswith("["):
            found = _read_list(_list_items(text), tools, envelope)
        else:
            value, end = _DECODER.raw_decode(text)
            found = [_read_call(text[:end], value, tools, envelope, 0)]
    except (_NoCallError, ValueError, RecursionError):
        return None
    return found or None


def _read_list(items: list[Member], tools: ToolSet | None, envelope: Envelope) -> list[FoundCall]:
    """Return the calls that the items of a list are. Beside one of a tool of the request, what has the same keys is one of a tool
    that the request does not have. Raises what tells that any of them is none."""
    known = {number: call for number, item in enumerate(items) if (call := _try_call(item, tools, envelope))}
    if not known:
        raise _NoCallError
    number, first = next(iter(known.items()))
    alike = _learn_envelope(items[number], first, envelope.id) if len(known) < len(items) else envelope
    return [known.get(number) or _read_alike(item, alike) for number, item in enumerate(items)]


def _try_call(item: Member, tools: ToolSet | None, envelope: Envelope) -> FoundCall | None:
    try:
        return _read_call(item.text, item.value, tools, envelope, 0)
    except _NoCallError:
        return None


def _learn_envelope(item: Member, call: FoundCall, id_key: str) -> Envelope:
    """Return the keys under which the fields of a call stand; empty where they stand otherwise."""
    members = list_members(item.text) if isinstance(item.value, dict) else {}
    name = next((key for key, member in members.items() if member.value == call.name), "")
    return Envelope(name, next((key for key, member in members.items() if call.arguments in member), ""), id_key)


def _read_alike(item: Member, envelope: Envelope) -> FoundCall:
    """Return the call of whatever tool that a value is, if it has the keys of one."""
    keyed = isinstance(item.value, dict) and {envelope.name, envelope.arguments}.issubset(item.value)
    if not keyed or not _NAME.fullmatch(str(item.value[envelope.name])):
        raise _NoCallError
    return _read_call(item.text, item.value, None, envelope, 0)


def _list_items(text: str) -> list[Member]:
    """Return the items of a list, each with its text. Raises ValueError."""
    found: list[Member] = []
    at = _skip(text, 1)
    while not text.startswith("]", at):
        value, end = _DECODER.raw_decode(text, at)
        found.append(Member(value, text[at:end]))
        at = _skip(text, _skip(text, end, ","))
    return found


def list_members(text: str) -> dict[str, Member]:
    """Return the members of an object, each with the text of its value. Raises ValueError."""
    found: dict[str, Member] = {}
    at = _skip(text, 1)
    while not text.startswith("}", at):
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at, ":"))
        value, end = _DECODER.raw_decode(text, at)
        if not isinstance(key, str) or key in found:
            raise ValueError(key)
        found[key] = Member(value, text[at:end])
        at = _skip(text, _skip(text, end, ","))
    return found


def _skip(text: str, at: int, sign: str = "") -> int:
    """Return the place behind the white space at a place, and behind a sign that may stand there."""
    while text[at : at + 1] and text[at] in _BLANK:
        at += 1
    return at + 1 if sign and text.startswith(sign, at) else at


def _read_call(text: str, value: Any, tools: ToolSet | None, envelope: Envelope, depth: int) -> FoundCall:
    if not isinstance(value, dict) or depth > _DEPTH:
        raise _NoCallError
    members = list_members(text)
    key = _find_name(members, tools, envelope)
    if key is not None:
        return _read_named(members, key, tools, envelope)
    inner = [(name, member) for name, member in members.items() if isinstance(member.value, dict)]
    if len(inner) != 1:
        raise _NoCallError
    ((name, member),) = inner
    if tools is not None and name in tools and len(members) == 1:
        return FoundCall(name, member.text)
    return _read_call(member.text, member.value, tools, envelope, depth + 1)


def _find_name(members: Mapping[str, Member], tools: ToolSet | None, envelope: Envelope) -> str | None:
    """Return the key under which the tool is named."""

    def names(key: str) -> bool:
        value = members[key].value if key in members else None
        return isinstance(value, str) and value != "" and (tools is None or value in tools)

    if envelope.name and names(envelope.name):
        return envelope.name
    found = [key for key in members if tools is not None and names(key)]
    return found[0] if len(found) == 1 else None


def _read_named(members: dict[str, Member], key: str, tools: ToolSet | None, envelope: Envelope) -> FoundCall:
    name = members[key].value
    ident = members[envelope.id].value if envelope.id in members else None
    rest = {other: member for other, member in members.items() if other != key}
    given = rest.get(envelope.arguments)
    arguments = _find_arguments(rest, name, tools) if given is None else _read_object(given)
    if arguments is None:
        raise _NoCallError
    return FoundCall(name, arguments, ident if isinstance(ident, str) and ident else None)


def _find_arguments(rest: dict[str, Member], name: str, tools: ToolSet | None) -> str | None:
    """Return the arguments among the members beside the name: one of them, all of them, or none where nothing is there."""
    properties = tools.get_parameters(name).list_properties() if tools is not None else frozenset()
    if rest and properties.issuperset(rest):
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {member.text}" for key, member in rest.items()) + "}"
    objects = [member for member in rest.values() if _read_object(member) is not None and isinstance(member.value, dict | str)]
    objects = [member for member in objects if member.value != ""]
    if any(isinstance(member.value, dict | list) and member not in objects for member in rest.values()) or len(objects) > 1:
        return None
    if not objects:
        return "{}" if all(isinstance(member.value, str) or not member.value for member in rest.values()) else None
    written = _read_object(objects[0])
    if written is None or (properties and not properties.issuperset(json.loads(written, strict=False))):
        return None
    return written


def _read_object(member: Member) -> str | None:
    """Return the JSON of a member that is an object, a text that holds one, or nothing."""
    if isinstance(member.value, dict):
        return member.text
    if member.value is None or member.value == "":
        return "{}"
    if isinstance(member.value, str) and member.value.lstrip().startswith("{"):
        try:
            return member.value if isinstance(json.loads(member.value, strict=False), dict) else None
        except (ValueError, RecursionError):
            return None
    return None
