"""Whether a reader could tell: other fields that the template prints as the very same text.

Two messages with one text cannot be told apart by any reader, however clever. They are found by rendering them. A rival
counts only where it is at least as plausible as the truth: it agrees with the tools' schemas if the truth does, and it
holds no marker text as plain text (any call can be written into content; that is no ambiguity).
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from conversations import Call, Fields, JsonObject

Render = Callable[[Fields], "str | None"]

ROLES_ALIKE = "reasoning and content are printed alike"
UNSEPARATED = "nothing but white space stands between reasoning and content"
TYPES_ALIKE = "a value and the text that looks like it are printed alike, and the schema allows both"
ABSENT_ALIKE = "an argument and its absence are printed alike"
UNDECLARED_ALIKE = "an argument that no tool declares and the end of the text before it are printed alike"
ESCAPES_ALIKE = "text and its escaped form are printed alike"


def find_field_rival(render: Render, fields: Fields) -> str | None:
    """Why reasoning and content of these fields cannot be told apart, if so."""
    full = render(fields)
    if full is None:
        return None
    rivals: list[tuple[str, Fields]] = []
    if fields.content is not None and fields.reasoning is None:
        rivals.append((ROLES_ALIKE, replace(fields, content=None, reasoning=fields.content)))
    if fields.reasoning is not None and fields.content is None:
        rivals.append((ROLES_ALIKE, replace(fields, content=fields.reasoning, reasoning=None)))
    if fields.reasoning is not None and fields.content is not None:
        rivals.append((ROLES_ALIKE, replace(fields, content=fields.reasoning, reasoning=fields.content)))
        both = _cut_between(full, fields.reasoning, fields.content)
        if both:
            rivals.append((UNSEPARATED, replace(fields, content=both, reasoning=None)))
            rivals.append((UNSEPARATED, replace(fields, content=None, reasoning=both)))
    return next((reason for reason, rival in rivals if render(rival) == full), None)


def _cut_between(full: str, one: str, two: str) -> str | None:
    """Both texts with what stands between them, if that is nothing but white space."""
    places = sorted([(full.rfind(one), one), (full.rfind(two), two)])
    (start, first), (then, second) = places
    if start < 0 or full[start + len(first) : then].strip():
        return None
    return full[start : then + len(second)]


def find_split_rival(render: Render, fields: Fields, text: str) -> str | None:
    """Why the place between reasoning and content cannot be told, if it cannot."""
    if fields.reasoning is None or fields.content is None:
        return None
    reasoning, content = fields.reasoning.strip(), fields.content.strip()
    between = text.partition(reasoning)[2].partition(content)[0]
    if not between or between.strip() or content not in text or reasoning not in text:
        return None
    rivals = []
    if between in reasoning:
        head, _, rest = reasoning.partition(between)
        rivals.append(replace(fields, reasoning=head, content=rest + between + content))
    if between in content:
        head, _, rest = content.partition(between)
        rivals.append(replace(fields, reasoning=reasoning + between + head, content=rest))
    full = render(fields)
    return UNSEPARATED if any(render(rival) == full for rival in rivals) else None


def find_rival(render: Render, fields: Fields, tools: list[JsonObject] | None) -> str | None:
    """Why the arguments of these calls cannot be told, if so. `tools` is what the reader knows, None for nothing."""
    full = render(fields)
    if full is None:
        return None
    for index, call in enumerate(fields.calls):
        schema = _find_schema(tools, call.name)
        for reason, arguments in (*_change_object(call.arguments, schema), *_join_undeclared(full, call.arguments, schema)):
            calls = (*fields.calls[:index], Call(call.name, arguments), *fields.calls[index + 1 :])
            if render(replace(fields, calls=calls)) == full:
                return reason
    return None


def tells_types(render: Render, call: Call) -> bool:
    """Whether texts that look like values are printed differently from those values, plain and nested."""
    pairs: list[tuple[Any, Any]] = [
        ("5", 5), ("0.5", 0.5), ("true", True), ("True", True), ("null", None), ("None", None), ("", None),
        ("[]", []), ("{}", {}), ('["a"]', ["a"]), ("['a']", ["a"]), ('{"a": 1}', {"a": 1}),
        ("<b>", "&lt;b&gt;"), ('"', "&#34;"),
    ]  # fmt: skip
    key = next(iter(call.arguments))
    for one, two in pairs:
        for wrap in (lambda value: value, lambda value: {"hue": value}, lambda value: [value]):
            texts = [render(Fields(calls=(Call(call.name, {key: wrap(value)}),))) for value in (one, two)]
            if texts[0] is not None and texts[0] == texts[1]:
                return False
    return True


def strip_arguments(render: Render, fields: Fields) -> Fields:
    """The fields with outer white space taken off the arguments, where the template takes it off anyway."""
    calls = tuple(
        Call(call.name, {k: v.strip() if isinstance(v, str) else v for k, v in call.arguments.items()}) for call in fields.calls
    )
    if calls == fields.calls:
        return fields
    stripped = replace(fields, calls=calls)
    return stripped if render(stripped) == render(fields) else fields


def _find_schema(tools: list[JsonObject] | None, name: str) -> JsonObject:
    functions = [tool["function"] for tool in tools or [] if tool["function"]["name"] == name]
    return functions[0]["parameters"] if functions else {}


def _change_object(value: JsonObject, schema: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The object with one value changed into what might look the same, and is no less what the schema asks for."""
    for key, inner in value.items():
        for reason, changed in _change(inner, schema.get("properties", {}).get(key, {})):
            yield reason, {**value, key: changed}
        if inner in ("", None) or inner in ([], {}):
            yield ABSENT_ALIKE, {k: v for k, v in value.items() if k != key}


def _join_undeclared(full: str, value: JsonObject, schema: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The object with one text that goes on over the next argument, which the schema does not have."""
    for (key, text), (other, inner) in pairwise(value.items()):
        if isinstance(text, str) and text and other not in schema.get("properties", {other: {}}):
            written = inner if isinstance(inner, str) else json.dumps(inner)
            begin = full.rfind(text)
            end = full.find(written, begin + len(text)) + len(written)
            if re.fullmatch(r"[\w\s,;:=&|.]*", full[begin + len(text) : end]):  # no mark tells that the text has ended
                yield UNDECLARED_ALIKE, {**{k: v for k, v in value.items() if k != other}, key: full[begin:end]}


def _change(value: Any, schema: JsonObject) -> Iterator[tuple[str, Any]]:
    for reason, changed in _list_lookalikes(value):
        if allows(schema, changed) or not allows(schema, value):
            yield reason, changed
    if isinstance(value, dict):
        yield from _change_object(value, schema)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            for reason, changed in _change(inner, schema.get("items", {})):
                yield reason, [*value[:index], changed, *value[index + 1 :]]


def _list_lookalikes(value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, str):
        yield TYPES_ALIKE, json.dumps(value, ensure_ascii=False)
        yield TYPES_ALIKE, str(value)
        if value is None:
            yield TYPES_ALIKE, ""
        return
    for read in (json.loads, ast.literal_eval):
        try:
            parsed = read(value)
        except (ValueError, SyntaxError, RecursionError):
            continue
        if not isinstance(parsed, (str, tuple, set, bytes)):
            yield TYPES_ALIKE, parsed
    if not value:
        yield TYPES_ALIKE, None
    for other in (html.escape(value), html.unescape(value)):
        if other != value:
            yield ESCAPES_ALIKE, other


_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def allows(schema: JsonObject, value: Any) -> bool:
    """Whether a value is of a kind that the schema names; what is inside it does not matter."""
    if "anyOf" in schema:
        return any(allows(choice, value) for choice in schema["anyOf"])
    kinds = schema.get("type", [])
    return not kinds or any(_KINDS[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds))
