"""Response templates: the declarative output format of transformers, written from a format and compared with one.

A response template (transformers 5.13 and later, ``utils/chat_parsing``; vLLM and SGLang read it, too) names regions by
what opens and what closes them: ``thinking``, ``content`` and ``tool_calls``. Between them, text is content. What a region
holds is text, JSON, or shallow tags. That says less than a graph does; what gets lost is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..format import ChatFormat, Insides, Json, Node, Text, TurnGraph
from ..format.cut import cut_common_end, cut_common_start
from ..format.view import Marker, Tools, kind_of, walk_call

_SPACE = r"\s*"
_WORD = r"[\w.\-:/@$+~#]+?"
_NAME, _ID, _ARGUMENTS = "name", "id", "arguments"


@dataclass(frozen=True)
class ResponseTemplate:
    """A response template, None where it would say nothing, and what it cannot say of the format it was made from."""

    template: dict[str, Any] | None
    lost: tuple[str, ...] = ()

    @classmethod
    def of(cls, format: ChatFormat) -> ResponseTemplate:
        """Return a format as a response template of transformers, with what that cannot express.

        Never raises. The result is plain JSON data, fit for the key ``response_template`` of a ``tokenizer_config.json``.
        """
        lost: list[str] = []
        fields: dict[str, Any] = {}
        if not format.header.strip():
            return cls(None, ("the header of an assistant's turn is not known, and a template must begin with it",))
        for name, write in (("thinking", _write_thinking), ("tool_calls", _write_calls), ("content", _write_content)):
            try:
                field = write(format, lost)
                fields.update({name: field} if field else {})
            except _Inexpressible as reason:
                lost.append(f"{name}: {reason}")
        return cls({"defaults": {"role": "assistant"}, "start_anchor": _list_anchors(format), "fields": fields}, tuple(lost))


class _Inexpressible(Exception):
    """A part of a format that has no form in a response template."""


def _list_anchors(format: ChatFormat) -> list[str]:
    """Return what a turn begins behind: its header, with the end of reasoning that a prompt prints without its start."""
    end = format.reasoning.end.text if format.reasoning else ""
    closed = [added for _, added, _ in format.states if end and added.strip() == end]
    return list(dict.fromkeys([format.header, *(format.header + added for added in closed)]))


def _write_thinking(format: ChatFormat, lost: list[str]) -> dict[str, Any] | None:
    reasoning = format.reasoning
    if reasoning is None:
        return None
    if not reasoning.start or not reasoning.end:
        raise _Inexpressible("nothing opens or closes reasoning, and only content may do without markers")
    return {"open": reasoning.start.text, "close": reasoning.end.text}


def _write_content(format: ChatFormat, lost: list[str]) -> dict[str, Any]:
    content = format.content
    ends = list(dict.fromkeys(filter(None, (content.end.text, *format.stops))))
    field = {"repeats": True, "join": "", **({"close": ends} if ends else {})}
    if content.start and content.wrapped == "always":
        return {**field, "open": content.start.text}
    if content.start:
        lost.append(f"content: {content.start.text!r} opens only some content, and is left in the text")
    return field


# Calls


Fields = list[tuple[str, str]]
"""The fields of a call in their order, each with the text behind it."""


def _write_calls(format: ChatFormat, lost: list[str]) -> dict[str, Any] | None:
    tools = format.tools
    if tools is None:
        return None
    fields = _list_fields(format.graph)
    end = tools.call_end.written or tools.section_end.written
    if fields and end and end in fields[-1][1]:
        fields[-1] = fields[-1][0], fields[-1][1].partition(end)[0] + end
    envelope = _find_envelope(fields, tools)
    return _write_objects(format, tools, envelope) if envelope else _write_sequences(format, tools, fields, lost)


def _list_fields(graph: TurnGraph) -> Fields:
    return [(kind_of(graph, edge.source), edge.text) for edge in walk_call(graph)]


class _Envelope(NamedTuple):
    """A JSON object that holds a call: what stands before and behind it, whether it is in an array, and where its parts are."""

    opener: str
    closer: str
    array: bool
    first: str
    paths: dict[str, tuple[str, ...]]


def _find_envelope(fields: Fields, tools: Tools) -> _Envelope | None:
    """Find the JSON object of a call by reading one that is written with words for its fields; None where there is none."""
    shown = {_NAME: "@name", _ID: "@id", _ARGUMENTS: '{"@": 0}'}
    if not {kind for kind, _ in fields} <= shown.keys():
        return None
    lead = tools.section_start.written + tools.call_start.written
    text = lead + "".join(shown[kind] + behind for kind, behind in fields)
    for match in re.finditer(r"\{", text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.start())
        except ValueError:
            continue
        if match.start() >= len(lead) or value == {"@": 0}:
            return None
        paths = {kind: path for kind in shown for path in _find_paths(value, kind)}
        if _NAME not in paths or _ARGUMENTS not in paths:
            raise _Inexpressible("the name of the tool is a key of the call's object")
        opener = text[: match.start()].strip()
        array = opener.endswith("[")
        closer = text[end:].strip()
        return _Envelope(opener.rstrip("[ \n"), closer.lstrip("] \n") if array else closer, array, next(iter(value)), paths)
    return None


def _find_paths(value: Any, kind: str) -> Iterator[tuple[str, ...]]:
    wanted = {"@": 0} if kind == _ARGUMENTS else f"@{kind}"
    if value == wanted:
        yield ()
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from ((key, *path) for path in _find_paths(inner, kind))


def _write_objects(format: ChatFormat, tools: Tools, found: _Envelope) -> dict[str, Any]:
    """Return the field of calls that are JSON objects, in a list or one by one."""
    if any(not re.fullmatch(r"\w+", key) for path in found.paths.values() for key in path):
        raise _Inexpressible("a key of the call's object has signs in its name")
    places = {kind: "{" + ("" if found.array else "content.") + ".".join(path) + "}" for kind, path in found.paths.items()}
    call: dict[str, Any] = {"type": "function", "function": {"name": places[_NAME], "arguments": places[_ARGUMENTS]}}
    call.update({"id": places[_ID]} if _ID in places else {})
    field: dict[str, Any] = {"content": "json", "transform": call}
    field.update({"transform_each": True} if found.array else {"repeats": True})
    section = tools.section_start.text.rstrip("[ \n") if not found.array else ""
    opener = found.opener.removeprefix(section).strip() if section else found.opener
    if section and not opener:
        raise _Inexpressible("several calls stand between two markers, and are no list")
    if opener:
        field["open_pattern"] = _write_open(opener, section)
    elif tools.parallel and not found.array:
        raise _Inexpressible("several calls stand behind each other without markers")
    else:
        bracket = r"\[\s*" if found.array else ""
        field["open_pattern"] = rf'(?={bracket}\{{\s*"{re.escape(found.first)}"\s*:)'
    return {**field, **_write_close(found.closer or _cut_array(tools.section_end.text), opener, tools, format.stops)}


def _cut_array(text: str) -> str:
    return text.strip().lstrip("] \n")


def _write_open(opener: str, section: str) -> str:
    """Return the pattern of what opens a call; the first of them may have the start of a section before it."""
    return f"(?:{_flex(section)}{_SPACE})?{_flex(opener)}" if section and not opener.startswith(section) else _flex(opener)


def _write_close(closer: str, opener: str, tools: Tools, stops: Iterable[str]) -> dict[str, Any]:
    """Return how a region of calls closes: by its marker, else before the next one, else where the turn ends."""
    section = _cut_array(tools.section_end.text)
    if closer:
        rest = f"(?:{_SPACE}{_flex(section)})?" if section and not closer.endswith(section) else ""
        return {"close_pattern": _flex(closer) + rest}
    ends = [re.escape(stop) for stop in stops]
    ends += [f"(?={_flex(opener)})"] if opener else []
    return {"close_pattern": "|".join(ends)} if ends else {}


def _write_sequences(format: ChatFormat, tools: Tools, fields: Fields, lost: list[str]) -> dict[str, Any]:
    """Return the field of calls whose name stands before their arguments, in a text of its own."""
    names = [kind for kind, _ in fields]
    place = next((number for number, kind in enumerate(names) if kind in (_ARGUMENTS, "key", "value")), len(names))
    carries = any(node.carries_name for node in format.graph.turn.nodes)
    if _NAME not in names[:place] and not (carries and _ID in names[:place]):
        raise _Inexpressible("the name of the tool stands behind its arguments")
    opener = tools.call_start.text or tools.section_start.text
    if not opener:
        raise _Inexpressible("nothing but its name opens a call")
    if _ID in names[place:]:
        lost.append("tool_calls: the id behind the arguments")
    closer = tools.call_end.text or tools.section_end.text
    content, begin = _write_arguments(format.graph, names[place:])
    pattern = _write_open(opener, tools.section_start.text)
    known: dict[str, Any] = {"type": "function"}
    for number, (kind, behind) in enumerate(fields[:place]):
        named = kind == _ID and carries and _NAME not in names[:place]
        pattern += _SPACE + (rf"(?P<id>(?:\w+\.)?(?P<name>{_WORD})(?::\d+)?)" if named else f"(?P<{kind}>{_WORD})")
        between = behind.removesuffix(begin) if number == place - 1 else behind
        pattern += _SPACE + _flex(between) if between.strip() else ""
        known.update({"id": "{id}"} if kind == _ID else {})
        if number == place - 1 and not between.strip():
            pattern += rf"(?=\s*(?:{'|'.join(_flex(end) for end in (begin or '{', closer) if end.strip())}))"
    value = {**known, "function": {"name": "{name}", "arguments": "{content}"}}
    region: dict[str, Any] = {"open_pattern": pattern, "repeats": True, "transform": value, **content}
    return {**region, **_write_close(closer.lstrip("} \n") if begin == "{" else closer, opener, tools, format.stops)}


def _write_arguments(graph: TurnGraph, kinds: list[str]) -> tuple[dict[str, Any], str]:
    """Return how the content of a call is read, and what its arguments begin with; ``kinds`` are those of its fields."""
    if not kinds:
        raise _Inexpressible("no arguments are known")
    if kinds[0] == _ARGUMENTS:
        node = next(node for node in graph.turn.nodes if node.kind == _ARGUMENTS)
        if isinstance(node.codec, Json) and node.codec.within:
            raise _Inexpressible("arguments are JSON inside of a JSON string")
        return {"content": "json"}, ""
    if kinds[0] != "key":
        raise _Inexpressible("keys stand in no place of their own")
    return _write_entries(graph)


def _write_entries(graph: TurnGraph) -> tuple[dict[str, Any], str]:
    """Return how keys and values are read: in tags, or as JSON with keys that have no quotes."""
    if graph.path:
        raise _Inexpressible("the members of objects are written as arguments of their own")
    keys = {node.name for node in graph.turn.nodes if node.kind == "key" and not (node.again or node.signs)}
    entering = [edge for edge in graph.turn.edges if edge.target in keys]
    first = [edge.text for edge in entering if kind_of(graph, edge.source) in (_NAME, _ID)]
    later = [edge.text for edge in entering if kind_of(graph, edge.source) not in (_NAME, _ID)]
    begin = cut_common_end([*first, *later]).lstrip()
    values = [node for node in graph.turn.nodes if node.kind == "value"]
    slots = [slot for node in values for slot in _list_slots(graph, node, begin)]
    quoted = any(isinstance(node.codec, Text) and node.codec.quoted for node in values)
    if begin.strip() and all(end.strip() for _, end in slots) and not quoted:
        if any(isinstance(node.codec, Insides) for node in values):
            raise _Inexpressible("values in tags hold tags of their own")
        return {"content": "xml-inline", "content_args": {"tag_pattern": _write_tag_pattern(begin, slots)}}, begin
    texts = [(node, node.codec) for node in values if isinstance(node.codec, Text)]
    starts = sorted({start.strip() for start, _ in slots}, key=len)
    signs = {text.strip()[-1:] for text in first}, {text.strip()[-1:] for text in later}
    if starts[:1] == [":"] and signs == ({"{"}, {","}) and quoted and not any(codec.escapes for _, codec in texts):
        quotes = {start.strip()[1:] for node, _ in texts for start, _ in _list_slots(graph, node, begin)} - {"", '"'}
        delims = [[quote, quote] for quote in sorted(quotes)]
        return {"content": "json", "content_args": {"unquoted_keys": True, "string_delims": delims}}, "{"
    raise _Inexpressible("arguments are written in a language that is neither JSON nor tags")


def _list_slots(graph: TurnGraph, node: Node, begin: str) -> Iterator[tuple[str, str]]:
    """List what may stand between a key and a value, and behind it."""
    behind = [edge.text for edge in graph.turn.leaving(node.name)]
    end = cut_common_start(behind).removesuffix(begin) if behind else ""
    entering = [edge for edge in graph.turn.edges if edge.target == node.name]
    yield from ((edge.text, end) for edge in entering if kind_of(graph, edge.source) == "key")


def _write_tag_pattern(begin: str, slots: list[tuple[str, str]]) -> str:
    """Return the pattern of an entry in tags, with the layout around its value."""
    starts = "|".join(dict.fromkeys(_flex(start) + _allow(Marker.of(start).after) for start, _ in slots))
    ends = "|".join(dict.fromkeys(_allow(Marker.of(end).before) + _flex(end) for _, end in slots))
    return rf"{_flex(begin)}(?P<key>[^<>\n]+?)(?:{starts})(?P<value>.*?)(?:{ends})"


def _allow(space: str) -> str:
    """Return the pattern of white space that need not be there."""
    return f"(?:{re.escape(space)})?" if space else ""


def _flex(text: str) -> str:
    """Return the pattern of a marker in which any white space may stand where it has some."""
    return _SPACE.join(re.escape(part) for part in text.split())


# Comparing


def compare_response_template(format: ChatFormat, template: Any) -> tuple[str, ...]:
    """Return in words where a response template that ships with a model disagrees with what its chat template shows.

    What opens and closes each region is tried on the marks of the format. Never raises.
    """
    fields = template.get("fields") if isinstance(template, Mapping) else None
    if not isinstance(fields, Mapping):
        return ("the model's response_template has no fields",)
    reasoning = format.reasoning
    thought = f"{format.header}{reasoning.start.written}x{reasoning.end.written}" if reasoning else ""
    shown = {"thinking": thought, "tool_calls": _show_calls(format)}
    found = []
    for name, text in shown.items():
        if text and name not in fields:
            found.append(f"{name}: the chat template prints it, the response_template does not know it")
        if not text and name in fields:
            found.append(f"{name}: the response_template knows it, the chat template never prints it")
        if text and isinstance(fields.get(name), Mapping):
            found += [f"{name}: {fault}" for fault in _try_region(fields[name], text)]
    anchor = _read_pattern(template, "start_anchor")
    if anchor is not None and not any(_search(anchor, start.prompt) for start in format.graph.starts):
        found.append("start_anchor: it is not in the prompt before a turn")
    return tuple(found)


def _show_calls(format: ChatFormat) -> str:
    """Return a call as it is written, with a word in each field."""
    tools, words = format.tools, {_NAME: "tool", _ID: "call000001", "key": "key", "value": "x", _ARGUMENTS: '{"key": "x"}'}
    if tools is None:
        return ""
    fields = "".join(words[kind] + behind for kind, behind in _list_fields(format.graph))
    return tools.section_start.written + tools.call_start.written + fields


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
