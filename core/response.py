"""Response templates: the declarative output format of transformers, written from a format and compared with one.

A response template (transformers 5.13 and later, ``utils/chat_parsing``; vLLM and SGLang read it, too) names regions by
what opens and what closes them: ``thinking``, ``content`` and ``tool_calls``. Between them, text is content. What a region
holds is text, JSON, or shallow tags. That says less than a format does; what gets lost is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .example import write_example
from .format import KEY, NAME, Arguments, ChatFormat, ObjectBody, SequenceBody, Tools

_SPACE = r"\s*"
_WORD = r"[\w.\-:/@$+~#]+?"


@dataclass(frozen=True)
class ResponseTemplate:
    """A response template, None where it would say nothing, and what it cannot say of the format it was made from."""

    template: dict[str, Any] | None
    lost: tuple[str, ...] = ()


class _Inexpressible(Exception):
    """A part of a format that has no form in a response template."""


def write_response_template(format: ChatFormat) -> ResponseTemplate:
    """Return a format as a response template of transformers, with what that cannot express.

    Never raises. The result is plain JSON data, fit for the key ``response_template`` of a ``tokenizer_config.json``.
    """
    lost: list[str] = []
    fields: dict[str, Any] = {}
    if not format.turn.headers:
        return ResponseTemplate(None, ("the header of an assistant's turn is not known, and a template must begin with it",))
    for name, write in (("thinking", _write_thinking), ("tool_calls", _write_calls), ("content", _write_content)):
        try:
            field = write(format, lost)
            fields.update({name: field} if field else {})
        except _Inexpressible as reason:
            lost.append(f"{name}: {reason}")
    anchors = _list_anchors(format)
    return ResponseTemplate({"defaults": {"role": "assistant"}, "start_anchor": anchors, "fields": fields}, tuple(lost))


def _list_anchors(format: ChatFormat) -> list[str]:
    """Return what a turn begins behind: its header, with the end of reasoning that a prompt prints without its start."""
    headers = [header for header in format.turn.headers if header.strip()]
    end = format.reasoning.end.text if format.reasoning else ""
    closed = [start.prefix for start in format.starts if end and start.prefix.strip() == end]
    return list(dict.fromkeys([*headers, *(header + prefix for header in headers for prefix in closed)]))


def _list_stops(format: ChatFormat) -> list[str]:
    return list(dict.fromkeys([*(marker.text for marker in format.turn.end if marker), *format.turn.stops]))


def _write_thinking(format: ChatFormat, lost: list[str]) -> dict[str, Any] | None:
    reasoning = format.reasoning
    if reasoning is None:
        return None
    if not reasoning.start.text:
        raise _Inexpressible("nothing opens reasoning, and only content may begin without a marker")
    return {"open": reasoning.start.text, "close": reasoning.end.text}


def _write_content(format: ChatFormat, lost: list[str]) -> dict[str, Any]:
    content, stops = format.content, _list_stops(format)
    ends = [content.end.text] if content.end else []
    field: dict[str, Any] = {"repeats": True, "join": ""}
    if ends or stops:
        field["close"] = list(dict.fromkeys([*ends, *stops]))
    if content.start and content.wrapped == "always":
        return {**field, "open": content.start.text}
    if content.start:
        lost.append(f"content: {content.start.text!r} opens only some content, and is left in the text")
    return field


def _write_calls(format: ChatFormat, lost: list[str]) -> dict[str, Any] | None:
    tools = format.tools
    if tools is None:
        return None
    if isinstance(tools.body, ObjectBody):
        return _write_objects(format, tools, tools.body)
    return _write_sequences(format, tools, tools.body, lost)


def _write_objects(format: ChatFormat, tools: Tools, body: ObjectBody) -> dict[str, Any]:
    """Return the field of calls that are JSON objects, in a list or one by one."""
    if body.name_is_key:
        raise _Inexpressible("the name of the tool is a key of the call's object")
    if not tools.arguments.json:
        raise _Inexpressible("arguments are neither JSON nor tags")
    prefix = "" if body.array else "content."

    def place(path: tuple[str, ...]) -> str:
        return "{" + prefix + ".".join(path) + "}"

    function = {"name": place(body.name), "arguments": place(body.arguments)}
    call: dict[str, Any] = {"type": "function", "function": function, **({"id": place(body.id)} if body.id else {})}
    if any(not re.fullmatch(r"\w+", key) for path in (body.name, body.arguments, body.id) for key in path):
        raise _Inexpressible("a key of the call's object has signs in its name")
    opener = (tools.section_start.text + "\n" + tools.call_start.text).strip().rstrip("[{ \n")
    closer = (tools.call_end.text + "\n" + tools.section_end.text).strip().lstrip("]} \n")
    if not body.array and tools.section_start and (tools.call_start or tools.parallel):
        opener, closer = tools.call_start.text.rstrip("{ \n"), tools.call_end.text.lstrip("} \n")
        if not opener or not closer:
            raise _Inexpressible("several calls stand between two markers, and are no list")
    field: dict[str, Any] = {"content": "json", "transform": call}
    field.update({"transform_each": True} if body.array else {"repeats": True})
    if opener:
        field["open_pattern"] = _flex(opener) if body.array else _write_open(opener, tools)
    elif not body.array and tools.parallel:
        raise _Inexpressible("several calls stand behind each other without markers")
    else:
        first = re.escape(body.keys[0]) if body.keys else r"\w+"
        bracket = r"\[\s*" if body.array else ""
        field["open_pattern"] = rf'(?={bracket}\{{\s*"{first}"\s*:)'
    return {**field, **_write_close(closer, opener, format)}


def _write_open(opener: str, tools: Tools) -> str:
    """Return the pattern of what opens a call; the first of them may have the start of a section before it."""
    section = tools.section_start.text.rstrip("[{ \n")
    return f"(?:{_flex(section)}{_SPACE})?{_flex(opener)}" if section and not opener.startswith(section) else _flex(opener)


def _write_close(closer: str, opener: str, format: ChatFormat) -> dict[str, Any]:
    """Return how a region of calls closes: by its marker, else before the next one, else where the turn ends."""
    tools = format.tools
    section = tools.section_end.text.lstrip("]} \n") if tools is not None else ""
    if closer:
        rest = f"(?:{_SPACE}{_flex(section)})?" if section and not closer.endswith(section) else ""
        return {"close_pattern": _flex(closer) + rest}
    ends = [re.escape(stop) for stop in _list_stops(format)]
    ends += [f"(?={_flex(opener)})"] if opener else []
    return {"close_pattern": "|".join(ends)} if ends else {}


def _write_sequences(format: ChatFormat, tools: Tools, body: SequenceBody, lost: list[str]) -> dict[str, Any]:
    """Return the field of calls whose name stands before their arguments, in a text of its own."""
    names = [field for field, _ in body.fields]
    place = names.index("arguments")
    if not {"name", "id with name"} & set(names[:place]):
        raise _Inexpressible("the name of the tool stands behind its arguments")
    opener = tools.call_start.text or tools.section_start.text
    if not opener:
        raise _Inexpressible("nothing but its name opens a call")
    if "id" in names[place:]:
        lost.append("tool_calls: the id behind the arguments")
    pattern = _write_open(opener, tools)
    known: dict[str, Any] = {"type": "function"}
    for field, behind in body.fields[:place]:
        if field == "id with name":
            pattern += _SPACE + rf"(?P<id>(?:\w+\.)?(?P<name>{_WORD})(?::\d+)?)"
        else:
            pattern += _SPACE + f"(?P<{field}>{_WORD})"
        pattern += _SPACE + _flex(behind) if behind.strip() else ""
        known.update({"id": "{id}"} if field in ("id", "id with name") else {})
    content = _write_arguments(tools.arguments, lost)
    if not body.fields[place - 1][1].strip():
        pattern += _find_lookahead(tools, closed=content["content"] == "xml-inline")
    closer = tools.call_end.text or tools.section_end.text
    call: dict[str, Any] = {**known, "function": {"name": "{name}", "arguments": "{content}"}}
    region: dict[str, Any] = {"open_pattern": pattern, "repeats": True, "transform": call, **content}
    return {**region, **_write_close(closer.replace(NAME, ""), opener, format)}


def _find_lookahead(tools: Tools, closed: bool) -> str:
    """Return what must follow a name that no text of its own ends."""
    begins = [tools.arguments.object.start or tools.arguments.object.key_start]
    begins += [(tools.call_end or tools.section_end).text] if closed else []
    return rf"(?=\s*(?:{'|'.join(_flex(begin) for begin in begins if begin.strip())}))"


def _write_arguments(arguments: Arguments, lost: list[str]) -> dict[str, Any]:
    """Return how the content of a call is read."""
    notation = arguments.object
    if arguments.json:
        if arguments.encoded:
            raise _Inexpressible("arguments are JSON inside of a JSON string")
        return {"content": "json"}
    slots, strings = notation.slots, arguments.strings
    quoted = bool(strings and strings[0].start)
    if all(slot.end.text.strip() for slot in slots) and not quoted and notation.key_start.strip():
        inner = arguments.value.object
        if not arguments.value.json and inner is not None and inner.key_start.strip("\"' "):
            raise _Inexpressible("values in tags hold tags of their own")
        if not arguments.value.json:
            lost.append("tool_calls: lists and objects in tags, which are not written as JSON, come as text")
        return {"content": "xml-inline", "content_args": {"tag_pattern": _write_tag_pattern(arguments)}}
    plain = notation.start.strip() == "{" and slots[0].start.text.strip() == ":" and notation.separator.strip() == ","
    if plain and not notation.key_start.strip() and quoted and not strings[0].escapes:
        delims = [[string.start, string.end] for string in strings if string.start != '"']
        return {"content": "json", "content_args": {"unquoted_keys": True, "string_delims": delims}}
    raise _Inexpressible("arguments are written in a language that is neither JSON nor tags")


def _write_tag_pattern(arguments: Arguments) -> str:
    """Return the pattern of an entry in tags, with the layout around its value."""
    notation = arguments.object
    slots = []
    for slot in notation.slots:
        after, before = re.escape(slot.start.after), re.escape(slot.end.before)
        start = _flex(slot.start.text) + (f"(?:{after})?" if after else "")
        end = (f"(?:{before})?" if before else "") + _flex(slot.end.text).replace(re.escape(KEY), "(?P=key)")
        slots.append((start, end))
    starts = "|".join(dict.fromkeys(start for start, _ in slots))
    ends = "|".join(dict.fromkeys(end for _, end in slots))
    return rf"{_flex(notation.key_start)}(?P<key>[^<>\n]+?)(?:{starts})(?P<value>.*?)(?:{ends})"


def _flex(text: str) -> str:
    """Return the pattern of a marker in which any white space may stand where it has some."""
    return _SPACE.join(re.escape(part) for part in text.split())


def compare_response_template(format: ChatFormat, template: Any) -> tuple[str, ...]:
    """Return in words where a response template that ships with a model disagrees with what its chat template shows.

    What opens and closes each region is tried on a turn written from the format. Never raises.
    """
    fields = template.get("fields") if isinstance(template, Mapping) else None
    if not isinstance(fields, Mapping):
        return ("the model's response_template has no fields",)
    reasoning, tools, found = format.reasoning, format.tools, []
    parts = {"thinking": reasoning is not None, "tool_calls": tools is not None}
    for name, known in parts.items():
        if known and name not in fields:
            found.append(f"{name}: the chat template prints it, the response_template does not know it")
        if not known and name in fields:
            found.append(f"{name}: the response_template knows it, the chat template never prints it")
    example = write_example(format)
    text = example.prompt + example.text
    for name, field in fields.items():
        if parts.get(name) and isinstance(field, Mapping):
            found += [f"{name}: {fault}" for fault in _try_region(field, text)]
    anchor = _read_pattern(template, "start_anchor")
    if anchor is not None and not _search(anchor, example.prompt):
        found.append("start_anchor: it is not in the prompt before a turn")
    return tuple(found)


def _try_region(field: Mapping[str, Any], text: str) -> list[str]:
    opening, closing = _read_pattern(field, "open"), _read_pattern(field, "close")
    opened = _search(opening, text) if opening is not None else None
    if opening is not None and opened is None:
        return [f"what opens it, {field.get('open', field.get('open_pattern'))!r}, is not what the chat template prints"]
    if closing is not None and not _search(closing, text[opened.end() if opened else 0 :]):
        return [f"what closes it, {field.get('close', field.get('close_pattern'))!r}, is not what the chat template prints"]
    return []


def _read_pattern(scope: Mapping[str, Any], key: str) -> str | None:
    literal, pattern = scope.get(key), scope.get(f"{key}_pattern")
    if isinstance(literal, str):
        return re.escape(literal)
    if isinstance(literal, list):
        return "|".join(re.escape(text) for text in literal if isinstance(text, str))
    return pattern if isinstance(pattern, str) else None


def _search(pattern: str, text: str) -> re.Match[str] | None:
    try:
        return re.search(pattern, text, re.DOTALL)
    except re.error:
        return re.search("", text)  # it is written for another engine; nothing can be said of it
