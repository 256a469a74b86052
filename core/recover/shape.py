"""Calls told by their shape: a JSON value that names a tool and holds arguments for it, whatever its keys and their order.

Guards: the name is that of a tool of the request; what is taken for arguments stands under the key that the format uses,
or fits the parameters of that tool; and there is only one way to read it so. Arguments are returned as they stand, never
written anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..schema import ToolSet
from .repair import write_object

_DECODER = json.JSONDecoder(strict=False)  # a raw line break in a string is no reason to lose a call
_NAME = re.compile(r"[\w.:/-]{1,128}")
_PREFIXED = re.compile(r"(?:\w{0,32}[.:/=])?([\w.-]+?)(?:[:#@/]\d{1,4})?")
_DEPTH = 4  # lists and objects around a call
_BLANK = " \t\r\n"
_IDS = ("id", "tool_call_id", "call_id")  # what the id of a call is called in messages
_OF_ENVELOPES = (*_IDS, "type", "index")  # of calls, as messages have them


class Envelope(NamedTuple):
    """The keys under which a format writes the fields of a call in JSON; empty where it does not."""

    name: str = ""
    arguments: str = ""
    id: str = ""


class FoundCall(NamedTuple):
    """A call that was told by its shape. ``arguments`` is a JSON object as the model wrote it, ``said`` what stands beside it in
    sentences."""

    name: str
    arguments: str
    id: str | None = None
    said: str = ""


class Member(NamedTuple):
    """A member of an object, or an item of a list: its value, and its JSON as it was written."""

    value: Any
    text: str


def find_tool_in(name: str, tools: ToolSet | None) -> str:
    """Return the tool of a request that a name is with a word in front of it or a number behind it, or in other letters; the name
    where it is one itself, or none is."""
    if tools is None or name in tools:
        return tools.aliases.get(name, name) if tools else name
    found = _PREFIXED.fullmatch(name)
    return found[1] if found and found[1] in tools else tools.find_spelled(name) or name


def read_calls(text: str, tools: ToolSet | None, envelope: Envelope) -> list[FoundCall] | None:
    """Return the calls that a JSON value is, or None where any part of it is none. ``tools`` None means that they are unknown.

    Costs time linear in the text; raises nothing.
    """
    try:
        value, end = _DECODER.raw_decode(text)
        return _read(Member(value, text[:end]), tools, envelope, 0) or None
    except (ValueError, RecursionError):
        return None


def _read(item: Member, tools: ToolSet | None, envelope: Envelope, depth: int) -> list[FoundCall]:
    """Return the calls that a value is: one call, or a list or an object of what are calls. Raises what tells that it is none."""
    if depth > _DEPTH or not isinstance(item.value, dict | list):
        raise ValueError
    if isinstance(item.value, list):
        items = [inner for _, inner in _list_entries(item.text)]
        pair = _read_pair(items, tools)
        return [pair] if pair else _read_list(items, tools, envelope, depth)
    members = _list_entries(item.text)
    key = _find_name(dict(members), tools, envelope)
    if key is not None:
        return [_read_named(_to_dict(members), key, tools, envelope)]
    return _read_by_name(members, tools) or _read_inner(members, tools, envelope, depth)


def _read_pair(items: list[Member], tools: ToolSet | None) -> FoundCall | None:
    """Return the call that a tool, its arguments and maybe an id are in a list; None where it has something else."""
    texts = [item.value for item in items if isinstance(item.value, str)]
    names = [text for text in texts if tools is not None and text in tools]
    if len(names) != 1 or len(items) > 3:
        return None
    rest = [item for item in items if item.value != names[0]]
    objects = [item for item in rest if item.value and _fits(item, names[0], tools)] or [i for i in rest if i.value == {}]
    others = [item.value for item in rest if item not in objects]
    if len(objects) != 1 or not all(isinstance(other, str) and _NAME.fullmatch(other) for other in others):
        return None
    return FoundCall(names[0], _read_object(objects[0]) or "{}", *others)


def _read_by_name(members: Sequence[tuple[str, Member]], tools: ToolSet | None) -> list[FoundCall]:
    """Return the calls of an object in which the arguments of each stand under its tool; none where anything else stands there."""
    found = [FoundCall(key, _read_object(item) or "") for key, item in members if tools is not None and key in tools]
    fitting = all(_fits(item, key, tools) for key, item in members)
    told = len(found) == 1 or any(call.arguments.strip("{} ") for call in found)  # else it may be no more than a list of names
    return found if found and len(found) == len(members) and fitting and told else []


def _fits(item: Member, name: str, tools: ToolSet | None) -> bool:
    """Whether a value is an object of arguments for a tool, or a text that holds one."""
    written = _read_object(item) if item.value else "{}" if item.value == {} else None
    properties = _list_parameters(name, tools)
    return written is not None and (not properties or properties.issuperset(json.loads(written, strict=False)))


def _list_parameters(name: str, tools: ToolSet | None) -> frozenset[str]:
    """Return the parameters that a tool declares; none where it is not known."""
    return tools.get_parameters(name).list_properties() if tools is not None else frozenset()


def _read_inner(
    members: Sequence[tuple[str, Member]], tools: ToolSet | None, envelope: Envelope, depth: int
) -> list[FoundCall]:
    """Return the calls under the keys of an object, each an id or a word for calls; beside several nothing else stands."""
    inner = [(key, item) for key, item in members if isinstance(item.value, dict | list)]
    if not inner or (len(inner) > 1 and len(inner) < len(members)):
        raise ValueError
    found: list[FoundCall] = []
    for key, item in inner:
        calls = _read(item, tools, envelope, depth + 1)
        named = len(inner) > 1 or isinstance(item.value, list) or any(map(str.isdigit, key))
        nested = isinstance(item.value, list) and isinstance(item.value[0], dict | list)
        one = len(calls) == 1 and calls[0].id is None and named and not nested
        found += [calls[0]._replace(id=key)] if one else calls
    return [found[0]._replace(said=_find_said(dict(members))), *found[1:]] if found and len(inner) < len(members) else found


def _find_said(members: Mapping[str, Member]) -> str:
    """Return the texts of several words among members of an envelope, which are none of a call."""
    said = (member.value for key, member in members.items() if key not in _OF_ENVELOPES)
    texts = (value.strip() for value in said if isinstance(value, str))
    return "\n".join(text for text in texts if len(text.split()) > 1)


def _read_list(items: list[Member], tools: ToolSet | None, envelope: Envelope, depth: int) -> list[FoundCall]:
    """Return the calls that the items of a list are. Beside one of a tool of the request, what has the same keys is one of a tool
    that the request does not have. Raises what tells that any of them is none."""
    known = {number: calls for number, item in enumerate(items) if (calls := _try(item, tools, envelope, depth + 1))}
    if not known:
        raise ValueError
    number, first = next(iter(known.items()))
    alike = _learn_envelope(items[number], first[0], envelope.id) if len(known) < len(items) else envelope
    return [call for number, item in enumerate(items) for call in known.get(number) or [_read_alike(item, alike)]]


def _try(item: Member, tools: ToolSet | None, envelope: Envelope, depth: int) -> list[FoundCall]:
    try:
        return _read(item, tools, envelope, depth)
    except ValueError:
        return []


def _learn_envelope(item: Member, call: FoundCall, id_key: str) -> Envelope:
    """Return the keys under which the fields of a call stand; empty where they stand otherwise."""
    members = list_members(item.text) if isinstance(item.value, dict) else {}
    name = next((key for key, member in members.items() if member.value == call.name), "")
    return Envelope(name, next((key for key, member in members.items() if call.arguments in member), ""), id_key)


def _read_alike(item: Member, envelope: Envelope) -> FoundCall:
    """Return the call of whatever tool that a value is, if it has the keys of one."""
    keyed = isinstance(item.value, dict) and {envelope.name, envelope.arguments}.issubset(item.value)
    if not keyed or not _NAME.fullmatch(str(item.value[envelope.name])):
        raise ValueError
    return _read_named(list_members(item.text), envelope.name, None, envelope)


def list_members(text: str) -> dict[str, Member]:
    """Return the members of an object, each with the text of its value. Raises ValueError."""
    return _to_dict(_list_entries(text))


def _to_dict(entries: Sequence[tuple[str, Member]]) -> dict[str, Member]:
    """Return members by their keys. Raises ValueError where one comes twice."""
    found = dict(entries)
    if len(found) < len(entries):
        raise ValueError("a key comes twice")
    return found


def _list_entries(text: str) -> list[tuple[str, Member]]:
    """Return the members of an object, also those whose key comes twice, or the items of a list. Raises ValueError."""
    found: list[tuple[str, Member]] = []
    at, key = _skip(text, 1), ""
    keyed = text.startswith("{")
    while not text.startswith("}" if keyed else "]", at):
        if keyed:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at, ":"))
        value, end = _DECODER.raw_decode(text, at)
        if not isinstance(key, str):
            raise ValueError(key)
        found.append((key, Member(value, text[at:end])))
        at = _skip(text, _skip(text, end, ","))
    return found


def _skip(text: str, at: int, sign: str = "") -> int:
    """Return the place behind the white space at a place, and behind a sign that may stand there."""
    while text[at : at + 1] and text[at] in _BLANK:
        at += 1
    return at + 1 if sign and text.startswith(sign, at) else at


def _find_name(members: Mapping[str, Member], tools: ToolSet | None, envelope: Envelope) -> str | None:
    """Return the key under which the tool is named."""

    def names(key: str) -> bool:
        value = members[key].value if key in members else None
        return isinstance(value, str) and value != "" and (tools is None or find_tool_in(value, tools) in tools)

    if envelope.name and names(envelope.name):
        return envelope.name
    found = [key for key in members if tools is not None and names(key)]
    return found[0] if len(found) == 1 else None


def _read_named(members: dict[str, Member], key: str, tools: ToolSet | None, envelope: Envelope) -> FoundCall:
    name = find_tool_in(members[key].value, tools)
    declared = _list_parameters(name, tools)
    keys = (envelope.id, *(each for each in _IDS if each not in declared))
    ident = next((member.value for each in keys if (member := members.get(each)) and isinstance(member.value, str)), None)
    rest = {other: member for other, member in members.items() if other != key}
    given = rest.pop(envelope.arguments, None)
    arguments = _find_arguments(rest, name, tools) if given is None else _read_object(given)
    if arguments is None:
        raise ValueError
    # Members beside the arguments that are parameters of the tool, and none of an envelope, are arguments, too.
    beside = declared.difference(json.loads(arguments, strict=False), _OF_ENVELOPES)
    more = [f"{json.dumps(key, ensure_ascii=False)}: {member.text}" for key, member in rest.items() if key in beside]
    if more:
        arguments = "{" + ", ".join([*filter(None, [arguments.strip()[1:-1].strip()]), *more]) + "}"
    others = {key: member for key, member in rest.items() if key not in beside}
    left = {key: member for key, member in others.items() if member.text not in arguments and member.value != arguments}
    return FoundCall(name, arguments, ident or None, _find_said(left))


def _find_arguments(rest: dict[str, Member], name: str, tools: ToolSet | None) -> str | None:
    """Return the arguments among the members beside the name: one of them, all of them, or none where nothing is there."""
    properties = _list_parameters(name, tools)
    flat = {key: member.text for key, member in rest.items() if key in properties or key not in _OF_ENVELOPES}
    if flat and properties.issuperset(flat):
        return write_object(flat)
    objects = [member for member in rest.values() if member.value not in (None, "") and _read_object(member) is not None]
    if any(isinstance(member.value, dict | list) and member not in objects for member in rest.values()) or len(objects) > 1:
        return None
    if not objects:
        told = any(isinstance(member.value, str) and len(member.value.split()) > 1 for member in rest.values())
        if told and properties:
            return None  # as a list of tools describes one
        return "{}" if all(isinstance(member.value, str) or not member.value for member in rest.values()) else None
    return _read_object(objects[0]) if _fits(objects[0], name, tools) else None


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
