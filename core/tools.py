"""How tool calls are written: what stands around all of them, around each, and between the parts of one.

A turn with one call shows what is before its first field, between its fields and behind its last. A turn with two calls
shows where they are divided: what stands between them begins with what closes a call and ends with what opens one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from .content import drop_marker, drop_reasoning
from .format import KEY, NAME, Arguments, Content, Marker, ObjectBody, Reasoning, SequenceBody, Tools
from .marker import cut_common_prefix, cut_common_suffix, is_blank, is_punctuation, make_marker, split_atoms
from .notation import (
    BASIC_SAMPLES,
    JSON_ARGUMENTS,
    NESTED_SAMPLES,
    NULL_SAMPLES,
    ArgumentsFinding,
    Sample,
    derive_arguments,
    find_encoded_object,
    find_json_object,
    make_keys,
    make_needle,
    make_typed_arguments,
    split_entries,
)
from .probes import CONTENT, REASONING, Call, Oracle, Question, Shape
from .turn import Header, split_at

_PLACEHOLDER = "pqarguments"
_ARGUMENT_FORMS: tuple[Literal["object", "string"], ...] = ("object", "string")
_ABSENT_FORMS: tuple[Literal["empty", "null", "missing"], ...] = ("empty", "null", "missing")


def make_plain_call(number: int) -> Call:
    """Return a call with three string arguments, all needles."""
    keys = make_keys(3 * (number + 1))[3 * number :]
    return Call.of(number, {key: make_needle(3 * number + place) for place, key in enumerate(keys)})


def list_call_shapes(oracle: Oracle) -> Iterator[tuple[Shape, tuple[Call, ...]]]:
    """List the shapes in which the template prints a call, one for each form of arguments, with the call."""
    call = make_plain_call(0)
    needles = list(json.loads(call.arguments).values())
    plain, known = oracle.shape, set()
    for result, arguments, absent in product((False, True), _ARGUMENT_FORMS, _ABSENT_FORMS):
        likely = replace(plain, arguments=arguments, result=result, absent_content=absent)
        for shape in _list_tolerated_shapes(likely) if arguments not in known else ():
            answers = [oracle.ask(Question(content=content, calls=(call,)), shape) for content in (None, CONTENT)]
            if any(text is not None and all(needle in text for needle in needles) for text in answers):
                known.add(arguments)
                yield shape, (call,)
                break
            if None not in answers:
                break  # it takes this shape, and prints no call: what only helps against a refusal does not help here


def _list_tolerated_shapes(shape: Shape) -> Iterator[Shape]:
    """List the forms of tools, calls and content of which a template may refuse some."""
    for parts, flat, bare in product((False, True), repeat=3):
        yield replace(shape, parts=parts or shape.parts, flat_calls=flat, bare_tools=bare)
    yield replace(shape, tools="never")


@dataclass(frozen=True)
class Surroundings:
    """What the other parts of a turn look like, to be taken off the text before and behind calls."""

    header: Header
    reasoning: Reasoning | None
    continuation: Marker
    content: Content
    ending: str


@dataclass(frozen=True)
class Core:
    """The part of a rendered call that its body explains: where it stands, and how it is read."""

    start: int
    end: int
    body: ObjectBody | SequenceBody
    arguments: Arguments
    closing: str = ""
    leaves: tuple[tuple[tuple[str, ...], Any], ...] = ()


@dataclass(frozen=True)
class ToolsFinding:
    """How calls are written, what ends a turn behind them, and the header without what belongs to a call."""

    tools: Tools
    ending: str
    header: Header
    continues: bool
    """Whether calls stand in a message behind the end of the one before."""


def find_tools(oracle: Oracle, around: Surroundings, calls: tuple[Call, ...]) -> ToolsFinding | None:
    """Derive how calls are written from turns with one call, with two, and with one that has no arguments."""
    text = _read(oracle, around, Question(content=None, calls=calls)) or _read(oracle, around, Question(calls=calls))
    if text is None:
        return None
    core = _find_core(oracle, around, text, calls[0])
    if core is None:
        return None
    opener, shift = _find_opener(oracle, around, text[: core.start], text[core.start : core.end], calls)
    own_opener = _drop_message_end(opener, around.ending)
    behind, ending = split_ending(_mark_name(text[core.end :], calls[0]), around)
    tools = _divide(oracle, around, core, own_opener, behind)
    if tools.section_end and not tools.section_start and not (isinstance(tools.body, ObjectBody) and tools.body.array):
        ending = tools.section_end.written + ending
        tools = replace(tools, section_end=Marker())
    return ToolsFinding(tools, ending, around.header.shortened(shift), own_opener != opener)


def _read(oracle: Oracle, around: Surroundings, question: Question) -> str | None:
    """Return the body of a turn; where its header is another one, what stands behind the user's text."""
    body = around.header.read_body(oracle, question)
    return body if body is not None else oracle.ask(question)


def _find_core(oracle: Oracle, around: Surroundings, text: str, call: Call) -> Core | None:
    """Find where the body of a call stands in a rendered turn, and how it is written."""
    arguments = json.loads(call.arguments)
    span = find_json_object(text, arguments)
    encoded = span is None
    if span is None:
        span = find_encoded_object(text, arguments)
    if span is not None and _confirm_json(oracle, around, encoded):
        notation = replace(JSON_ARGUMENTS, encoded=encoded)
        return _find_object(text, call, span, notation) or _make_sequence(text, call, span, notation)
    finding = _find_arguments(oracle, around, text, call)
    if finding is None:
        return None
    span = _find_span(text, arguments, finding.arguments, finding.closing)
    if span is None:
        return None
    core = _find_object(text, call, span, finding.arguments) or _make_sequence(text, call, span, finding.arguments)
    return replace(core, closing=finding.closing)


def _confirm_json(oracle: Oracle, around: Surroundings, encoded: bool) -> bool:
    """Whether arguments with every kind of value are JSON too, and not only plain strings in JSON's clothes."""
    for samples in _list_samples():
        arguments = make_typed_arguments(samples)
        text = _read(oracle, around, Question(content=None, calls=(Call.of(0, arguments),)))
        if text is None:
            continue
        find = find_encoded_object if encoded else find_json_object
        return find(text, arguments) is not None
    return True


def _list_samples() -> Iterator[tuple[Sample, ...]]:
    yield (*BASIC_SAMPLES, *NESTED_SAMPLES, *NULL_SAMPLES)
    yield (*BASIC_SAMPLES, *NESTED_SAMPLES)
    yield BASIC_SAMPLES
    yield BASIC_SAMPLES[:4]


def _find_span(text: str, arguments: Mapping[str, str], notation: Arguments, closing: str) -> tuple[int, int] | None:
    """Return where string arguments in a known notation stand in a text, brackets included."""
    first, (last, value) = next(iter(arguments)), list(arguments.items())[-1]
    if first not in text or value not in text:
        return None
    start = text.index(first) - len(notation.object.key_start) - len(notation.object.start)
    return start, text.rindex(value) + len(value) + len(closing.replace(KEY, last))


def _find_arguments(oracle: Oracle, around: Surroundings, text: str, call: Call) -> ArgumentsFinding | None:
    """Derive the notation of arguments that are not JSON."""
    arguments = json.loads(call.arguments)
    before, _, behind = _cut_fields(text, call)
    entries = split_entries(text[before:behind], arguments)
    if entries is None:
        return None
    bare = _read(oracle, around, Question(content=None, calls=(replace(call, arguments="{}"),)))
    empty = None
    if bare is not None and call.name in bare:
        start, _, end = _cut_fields(bare, replace(call, arguments="{}"))
        empty = split_ending(bare[start:end], around)[0]
    entries = replace(entries, behind=split_ending(entries.behind, around)[0])
    return derive_arguments(entries, empty, _read_samples(oracle, around, entries.between))


def _cut_fields(text: str, call: Call) -> tuple[int, int, int]:
    """Return where the arguments may begin (behind the last field before them), where they do, and where they may end."""
    keys = list(json.loads(call.arguments))
    first = text.find(keys[0]) if keys else len(text)
    before = max(
        (text.rfind(field, 0, first) + len(field) for field in (call.name, call.id) if field in text[:first]), default=0
    )
    last = json.loads(call.arguments)[keys[-1]] if keys else ""
    position = text.rfind(last) + len(last) if keys else before
    following = [text.find(field, position) for field in (call.name, call.id)]
    found = [place for place in following if place >= 0]
    return before, first, min(found) if found and keys else len(text)


def _read_samples(oracle: Oracle, around: Surroundings, between: str) -> dict[str, str]:
    """Return what stands between key and next key for each sample, from the largest set the template accepts."""
    for samples in _list_samples():
        arguments = make_typed_arguments(samples)
        text = _read(oracle, around, Question(content=None, calls=(Call.of(0, arguments),)))
        if text is None:
            continue
        keys = list(arguments)
        found = {}
        position = 0
        for number, sample in enumerate(samples):
            at_key = text.find(keys[2 * number + 1], position)
            at_needle = text.find(make_needle(number + 1), at_key)
            at_next = text.rfind(keys[2 * number + 2], at_key, at_needle)
            if at_key < 0 or at_next < 0:
                continue
            position = at_needle
            found[sample.label] = text[at_key + len(keys[0]) : at_next].replace(keys[2 * number + 1], KEY)
        return found
    return {}


def _find_object(text: str, call: Call, span: tuple[int, int], notation: Arguments) -> Core | None:
    """Find the JSON object around the arguments that holds the name, if there is one."""
    masked = f'{text[: span[0]]}"{_PLACEHOLDER}"{text[span[1] :]}'
    decoder = json.JSONDecoder()
    limit = masked.index(_PLACEHOLDER)
    for match in re.finditer(r"\{", masked[:limit]):
        try:
            value, end = decoder.raw_decode(masked, match.start())
        except (ValueError, RecursionError):
            continue
        body = _read_object(value, call)
        if end > limit and body is not None:
            shift = (span[1] - span[0]) - len(_PLACEHOLDER) - 2
            return Core(match.start(), end + shift, body, notation, leaves=tuple(_walk(value, ())))
    return None


def _read_object(value: Any, call: Call) -> ObjectBody | None:
    """Return the paths of name, arguments and id in a decoded call object."""
    paths = dict(_walk(value, ()))
    arguments = next((path for path, leaf in paths.items() if leaf == _PLACEHOLDER), None)
    if arguments is None:
        return None
    name = next((path for path, leaf in paths.items() if leaf == call.name), None)
    id_path = next((path for path, leaf in paths.items() if leaf == call.id), ())
    keys = tuple(dict.fromkeys(path[-1] for path in paths))
    if name is not None:
        return ObjectBody(name, arguments, id_path, keys=_list_keys(value))
    if arguments[-1] == call.name:
        return ObjectBody(arguments[:-1], arguments[:-1], id_path, name_is_key=True, keys=keys[:0])
    return None


def _list_keys(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ()
    keys = list(value)
    for inner in value.values():
        keys += _list_keys(inner)
    return tuple(dict.fromkeys(keys))


def _walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk(inner, (*path, key))
    else:
        yield path, value


def _make_sequence(text: str, call: Call, span: tuple[int, int], notation: Arguments) -> Core:
    """Describe a call as its fields in the order in which they stand, with the text between them."""
    places = [(span[0], span[1], "arguments")]
    for field, kind in ((call.name, "name"), (call.id, "id")):
        place = text.rfind(field, 0, span[0])
        if place < 0 and kind == "id":
            place = text.find(field, span[1])
        if place >= 0:
            places.append((place, place + len(field), kind))
    places.sort()
    if all(kind != "name" for _, _, kind in places):
        places = [(start, end, "id with name" if kind == "id" else kind) for start, end, kind in places]
    fields = []
    for number, (_, end, kind) in enumerate(places):
        following = places[number + 1][0] if number + 1 < len(places) else end
        fields.append((kind, text[end:following].replace(call.name, NAME)))
    return Core(places[0][0], places[-1][1], SequenceBody(tuple(fields)), notation)


def _mark_name(text: str, call: Call) -> str:
    return text.replace(call.name, NAME)


def split_ending(text: str, around: Surroundings) -> tuple[str, str]:
    """Split off the end of the turn: it begins with the first atom that ends a turn, or that begins another message.

    Behind calls a turn may end in another way than behind content, but mostly begins to end alike.
    """
    atoms = split_atoms(around.ending)[:1] + [atom for atom in split_atoms(around.header.plain) if len(atom) > 1]
    places = [text.find(atom) for atom in atoms]
    position = min((place for place in places if place >= 0), default=-1)
    if position < 0:
        return text, ""
    position = len(text[:position].rstrip()) if around.ending[:1].isspace() else position
    return text[:position], text[position:]


def _find_opener(oracle: Oracle, around: Surroundings, before: str, core: str, calls: tuple[Call, ...]) -> tuple[str, int]:
    """Return what opens calls, and how much of it the header had swallowed.

    What stands before the first call is seen at the beginning of a turn, behind content and behind reasoning; what these
    have in common opens the call, the rest belongs to the others.
    """
    leads = [_drop_content(drop_reasoning(before, around.reasoning), around.content)]
    behind_content = split_at(_read(oracle, around, Question(calls=calls)), CONTENT, core)
    if behind_content:
        leads.append(behind_content[1].removeprefix(around.content.end.written))
    if around.reasoning is not None and around.reasoning.scope != "never printed":
        question = Question(reasoning=REASONING, content=None, calls=calls)
        behind_reasoning = split_at(_read(oracle, around, question), REASONING, core)
        if behind_reasoning:
            lead = _drop_content(drop_reasoning(behind_reasoning[1], around.reasoning), around.content)
            leads.append(drop_marker(lead, around.continuation))
    if len(leads) > 1 and is_blank(leads[0]) and not is_blank(leads[1]):
        swallowed = leads[1].strip()
        if around.header.plain.rstrip().endswith(swallowed):
            return leads[1], len(around.header.plain) - around.header.plain.rindex(swallowed)
    opener = cut_common_suffix(*leads)
    if behind_content and opener.strip():
        lead, place = leads[1], leads[1].rindex(opener.strip())
        ended = lead[:place].strip() in split_atoms(around.ending)[:1]  # as content: calls stand in a message of their own
        space = lead[: len(lead) - len(lead.lstrip())] if ended else ""
        opener = (space or lead[len(lead[:place].rstrip()) : place]) + lead[place:]
    return opener, 0


def _drop_message_end(opener: str, ending: str) -> str:
    """Return an opener without what ends the message before it, but with the layout that stands before that.

    Calls may stand in a message of their own.
    """
    atoms = split_atoms(ending)
    if not atoms or not opener.lstrip().startswith(atoms[0]):
        return opener
    rest = opener.lstrip()[len(atoms[0]) :]
    if is_punctuation(rest):
        return opener
    space = opener[: len(opener) - len(opener.lstrip())]
    return space + rest.lstrip() if space else rest


def _drop_content(text: str, content: Content) -> str:
    """Return a text without the markers of empty content that it begins with."""
    return drop_marker(drop_marker(text, content.start), content.end)


def _divide(oracle: Oracle, around: Surroundings, core: Core, opener: str, behind: str) -> Tools:
    """Divide what opens and closes calls into what belongs to the section and what to each call."""
    pair = (make_plain_call(0), make_plain_call(1))
    text = _read(oracle, around, Question(content=None, calls=pair)) or _read(oracle, around, Question(calls=pair))
    first = _locate(text, 0, pair[0], core) if text else None
    second = _locate(text, first.end, pair[1], core) if text and first else None
    array = isinstance(core.body, ObjectBody) and opener.rstrip().endswith("[") and behind.lstrip().startswith("]")
    if array:
        opener, behind = opener.rstrip()[:-1], behind.lstrip()[1:]
    if text is None or first is None or second is None:
        return _make_tools(core, "", "", opener, behind, "", array, parallel=False)
    core = _add_generated_id(core, first, second)
    prefix = _find_counter_prefix(first, second, opener)
    if prefix is not None:
        core = _merge_counter(core)
        opener = opener[: len(opener) - len(prefix)]
    joint = _mark_name(text[first.end : second.start - len(prefix or "")], pair[0])
    behind_both = split_ending(_mark_name(text[second.end :], pair[1]), around)[0]
    if behind_both.startswith(behind.rstrip()) and not array:
        behind = behind_both  # some templates close the section only behind several calls
    if array:
        joint = joint.strip().removeprefix("]").removesuffix("[")
    call_start = cut_common_suffix(joint, opener) if not is_blank(joint) else ""
    call_end = cut_common_prefix(joint[: len(joint) - len(call_start)], behind) if not is_blank(joint) else ""
    separator = joint[len(call_end) : len(joint) - len(call_start)].strip()
    opener = opener[: len(opener) - len(call_start)]
    return _make_tools(core, call_start, call_end, opener, behind[len(call_end) :], separator, array)


def _make_tools(
    core: Core, call_start: str, call_end: str, opener: str, behind: str, separator: str, array: bool, parallel: bool = True
) -> Tools:
    body = replace(core.body, array=array) if isinstance(core.body, ObjectBody) else core.body
    if not parallel and not array:
        call_start, call_end, opener, behind = opener, behind, "", ""
    # White space that stands before the first call alone is a section's layout, though no marker opens one.
    layout = Marker(before=opener) if not is_blank(call_start) else Marker()
    return Tools(
        section_start=make_marker(opener) if not is_blank(opener) else layout,
        section_end=make_marker(behind) if not is_blank(behind) else Marker(),
        call_start=make_marker(call_start) if not is_blank(call_start) else Marker(),
        call_end=make_marker(call_end) if not is_blank(call_end) else Marker(),
        separator=separator,
        body=body,
        arguments=core.arguments,
        parallel=parallel,
    )


def _locate(text: str, position: int, call: Call, like: Core) -> Core | None:
    """Find a call that is written like another in a text, from a position on."""
    rest = text[position:]
    arguments = json.loads(call.arguments)
    if like.arguments.json:
        find = find_encoded_object if like.arguments.encoded else find_json_object
        span = find(rest, arguments)
    else:
        span = _find_span(rest, arguments, like.arguments, like.closing)
    if span is None:
        return None
    make = _find_object if isinstance(like.body, ObjectBody) else _make_sequence
    core = make(rest, call, span, like.arguments)
    if core is None:
        return None
    return replace(core, start=core.start + position, end=core.end + position)


def _add_generated_id(core: Core, first: Core, second: Core) -> Core:
    """Take a text that differs from call to call, and is neither name nor arguments, for the id."""
    body = core.body
    if not isinstance(body, ObjectBody) or body.id or body.name_is_key:
        return core
    others = dict(second.leaves)
    for path, leaf in first.leaves:
        known = path in (body.name, body.arguments)
        if not known and isinstance(leaf, str) and isinstance(others.get(path), str) and others[path] != leaf:
            return replace(core, body=replace(body, id=path))
    return core


def _find_counter_prefix(first: Core, second: Core, opener: str) -> str | None:
    """Return what stands before the name inside an id that carries the name and a number, or None.

    Such an id is seen by the text behind the name, which counts.
    """
    if not isinstance(first.body, SequenceBody) or not isinstance(second.body, SequenceBody):
        return None
    one, two = dict(first.body.fields).get("name", ""), dict(second.body.fields).get("name", "")
    if one == two or re.sub(r"\d", "", one) != re.sub(r"\d", "", two):
        return None
    found = re.search(r"[\w.:/-]*$", opener)
    return found.group() if found else ""


def _merge_counter(core: Core) -> Core:
    """Make one field of the name and what counts behind it."""
    assert isinstance(core.body, SequenceBody)
    fields = []
    for kind, after in core.body.fields:
        if kind == "name":
            fields.append(("id with name", re.sub(r"^[\w.:/-]*", "", after)))
        else:
            fields.append((kind, after))
    return replace(core, body=SequenceBody(tuple(fields)))
