"""A worked example: an assistant's turn as the model would write it, cut into its parts.

The template itself writes it where it can: known fields are put into a message, and what the render holds besides them
is structure. What the template never prints is written from the format instead, and the example says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, NamedTuple

from .budget import Budget
from .format import KEY, NAME, Arguments, ChatFormat, Marker, ObjectBody, Reasoning, Slot, Start, Tools
from .marker import cut_common_prefix
from .probes import RESULT, Call, Oracle, Question
from .reasoning import find_reasoning_shape
from .renderer import Renderer
from .tools import list_call_shapes
from .turn import find_shape

Kind = Literal["structure", "reasoning", "content", "name", "id", "key", "value"]

# No field occurs in another, so each is found in a render wherever the template puts it.
REASONING = "I need the forecast, and the time of the next one."
CONTENT = "Let me look that up."
NAMES = ("get_weather", "find_train")
IDS = ("a1B2c3D4e", "f5G6h7J8k")
ARGUMENTS: tuple[Mapping[str, Any], ...] = ({"city": "Oslo", "days": 3}, {"station": "Bergen"})


class Piece(NamedTuple):
    """A part of a turn: what it is, and its text."""

    kind: Kind
    text: str


class Field(NamedTuple):
    """Where a field stands in a rendered text, and its kind."""

    start: int
    end: int
    kind: Kind


@dataclass(frozen=True)
class Example:
    """A turn in pieces, and the end of the prompt before it, which the model does not write.

    ``written`` names the parts that the template does not print and that were therefore written from the format.
    """

    prompt: str
    pieces: tuple[Piece, ...]
    written: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the model writes."""
        return "".join(piece.text for piece in self.pieces)


def make_example(renderer: Renderer, format: ChatFormat) -> Example:
    """Let the template write a turn with as much in it as it prints, and write the rest from the format.

    Costs some dozens of renders. Raises :class:`BudgetError` where they exceed the bounds of an analysis.
    """
    oracle = Oracle(renderer.within(Budget()))
    find_shape(oracle)
    shape, printed = next(list_call_shapes(oracle), (oracle.shape, ()))
    oracle.shape = shape
    find_reasoning_shape(oracle, printed)
    if format.tools is not None and not printed:
        return write_example(format)
    for question in _list_questions(format):
        example = _ask_example(oracle, format, question)
        if example is not None:
            return _add_reasoning(example, format)
    return write_example(format)


def make_calls(count: int, named_ids: bool = False) -> tuple[Call, ...]:
    """Return calls to show; with ``named_ids`` the id carries the name, for templates that print nothing but the id."""
    return tuple(
        Call(NAMES[number], json.dumps(ARGUMENTS[number]), f"{NAMES[number]}:{number}" if named_ids else IDS[number])
        for number in range(count)
    )


def _list_questions(format: ChatFormat) -> Iterator[Question]:
    """List turns that may be rendered, the richest first."""
    counts = (2, 1) if format.tools and format.tools.parallel else (1,) if format.tools else ()
    calls = [make_calls(count, named_ids) for count, named_ids in product(counts, (False, True))]
    shown = format.reasoning is not None and format.reasoning.scope != "never printed"
    for called, reasoning, content in product([*calls, ()], (REASONING, None) if shown else (None,), (CONTENT, None)):
        if called or content:
            yield Question(content=content, reasoning=reasoning, calls=called)


def _ask_example(oracle: Oracle, format: ChatFormat, question: Question) -> Example | None:
    """Render a turn and cut it into pieces; None where the template refuses it or leaves a field out."""
    rendered = oracle.ask(question)
    prompt = oracle.ask(Question(prompt=True, tools=bool(question.calls)))
    fields = find_fields(rendered, question) if rendered is not None else None
    if rendered is None or prompt is None or fields is None:
        return None
    start, end = _find_start(rendered, prompt, fields[0], format), _find_end(rendered, fields[-1].end, format)
    opened = prompt.startswith(rendered[:start]) and _opens_reasoning(prompt[start:], format)
    if fields[0].kind != "reasoning" or rendered[start : fields[0].start].strip() or not opened:
        prompt = rendered[:start]
    if not format.turn.header_end and any(stop in rendered[start : fields[-1].end] for stop in format.turn.stops):
        return None  # what the template made of the turn is two of them
    return Example(prompt, tuple(cut_pieces(rendered, fields, start, end)))


def _opens_reasoning(text: str, format: ChatFormat) -> bool:
    """Whether a text that only the generation prompt has opens reasoning and leaves it open."""
    return bool(text.strip()) and format.reasoning is not None and format.reasoning.end.text not in text


def _find_start(rendered: str, prompt: str, first: Field, format: ChatFormat) -> int:
    """Return where the model begins: where the generation prompt ends in a render, or behind the turn's header."""
    places = [len(prompt) if rendered.startswith(prompt) else len(cut_common_prefix(rendered, prompt))]
    for header in format.turn.headers:
        if header in rendered[: first.start]:
            places.append(rendered.rindex(header, 0, first.start) + len(header))
    return max(places)


def find_fields(text: str, question: Question) -> list[Field] | None:
    """Return where the fields of a turn stand in its text, in order; None where one is not there.

    Only ids may be missing: many templates do not print them.
    """
    wanted: list[tuple[Kind, str]] = [("reasoning", question.reasoning)] if question.reasoning else []
    wanted += [("content", question.content)] if question.content else []
    for call in question.calls:
        arguments = json.loads(call.arguments)
        wanted += [("name", call.name), *(("key", key) for key in arguments)]
        wanted += [("value", value) for value in arguments.values() if isinstance(value, str)]
        wanted += [("id", call.id)] if call.name not in call.id else []
    fields: list[Field] = []
    for kind, field in wanted:
        found = _find_words(text, field)
        if not found and kind != "id":
            return None
        fields += [Field(start, end, kind) for start, end in found]
    for call in question.calls:
        for key, value in json.loads(call.arguments).items():
            if not isinstance(value, str):
                found = _find_words(text, json.dumps(value), _find_words(text, key)[0][1])
                if not found:
                    return None
                fields.append(Field(*found[0], "value"))
    return sorted(fields)


def _find_words(text: str, words: str, position: int = 0) -> list[tuple[int, int]]:
    pattern = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(words)}(?![A-Za-z0-9_])")
    return [found.span() for found in pattern.finditer(text, position)]


def cut_pieces(text: str, fields: list[Field], start: int, end: int) -> Iterator[Piece]:
    """Cut a part of a text into the given fields and the structure between them."""
    position = start
    for field in fields:
        if field.start > position:
            yield Piece("structure", text[position : field.start])
        yield Piece(field.kind, text[field.start : field.end])
        position = field.end
    if end > position:
        yield Piece("structure", text[position:end])


def _find_end(text: str, position: int, format: ChatFormat) -> int:
    """Return where the turn ends whose last field ends at a position; what follows may be a message of another role."""
    tools = format.tools
    for closer in (tools.section_end.text, tools.call_end.text) if tools else ():
        found = text.find(closer, position) if closer and NAME not in closer else -1
        if found >= 0:
            position = found + len(closer)
            break
    else:
        stops = [text.find(stop, position) for stop in format.turn.stops]
        if RESULT not in text[position:] or max(stops, default=-1) >= 0:
            position = min((found for found in stops if found >= 0), default=len(text))
    rest = text[position:]
    stop = next((stop for stop in format.turn.stops if rest.lstrip().startswith(stop)), "")
    return position + (rest.index(stop) + len(stop) if stop else 0)


def _add_reasoning(example: Example, format: ChatFormat) -> Example:
    """Put reasoning before a turn whose template never prints it."""
    reasoning = format.reasoning
    if reasoning is None or reasoning.scope != "never printed":
        return example
    prompt, opened = _write_prompt(format)
    pieces = list(_write_reasoning(reasoning, opened))
    if example.text.lstrip().startswith(reasoning.end.text):
        pieces.pop()
    return Example(prompt, _join([*pieces, *example.pieces]), ("reasoning",))


def write_example(format: ChatFormat) -> Example:
    """Write a turn from the format alone, with everything in it that the format knows of."""
    prompt, opened = _write_prompt(format)
    pieces: list[Piece] = []
    if format.reasoning is not None and opened is not None:
        pieces += _write_reasoning(format.reasoning, opened)
        pieces += _write(format.turn.continuation) if format.turn.header_end else []
    content = format.content
    if content.wrapped == "always" or (content.wrapped == "after reasoning" and pieces):
        pieces += [*_write(content.start), Piece("content", CONTENT), *_write(content.end)]
    else:
        pieces.append(Piece("content", CONTENT))
    if format.tools is not None:
        pieces += _write_calls(format.tools)
    pieces += [piece for marker in format.turn.end[:1] for piece in _write(marker)]
    return Example(prompt, _join(pieces), ("all of it",))


def _write_prompt(format: ChatFormat) -> tuple[str, bool | None]:
    """Return what stands before a turn that leaves room for reasoning, and whether it opens it (None: no room)."""
    starts = format.starts or (Start((), format.turn.prefix, "open"),)
    start = next((start for start in starts if start.state != "content"), starts[0])
    prompt = (format.turn.headers[0] if format.turn.headers else "") + start.prefix
    opener = format.reasoning.start.text if format.reasoning else ""
    if start.state == "content":
        return prompt, None
    return prompt, start.state == "reasoning" or bool(opener and prompt.rstrip().endswith(opener))


def _write(marker: Marker, **names: str) -> list[Piece]:
    return _write_structure(marker.written, **names)


def _write_structure(text: str, name: str = "", key: str = "") -> list[Piece]:
    """Write structure text in which the name or the key may be repeated."""
    kinds: dict[str, Piece] = {NAME: Piece("name", name), KEY: Piece("key", key)}
    parts = re.split(f"([{NAME}{KEY}])", text)
    return [kinds.get(part) or Piece("structure", part) for part in parts if part]


def _write_reasoning(reasoning: Reasoning, opened: bool | None) -> Iterator[Piece]:
    if not opened:
        yield from _write(reasoning.start)
    yield Piece("reasoning", REASONING)
    yield from _write(reasoning.end)


def _write_calls(tools: Tools) -> Iterator[Piece]:
    yield from _write(tools.section_start)
    array = isinstance(tools.body, ObjectBody) and tools.body.array
    if array:
        yield Piece("structure", "[")
    calls = make_calls(2 if tools.parallel else 1)
    for number, call in enumerate(calls):
        if number:
            yield Piece("structure", tools.separator or (", " if array else ""))
        yield from _write(tools.call_start, name=call.name)
        yield from _write_body(tools, call)
        yield from _write(tools.call_end, name=call.name)
    if array:
        yield Piece("structure", "]")
    yield from _write(tools.section_end, name=calls[-1].name)


def _write_body(tools: Tools, call: Call) -> Iterator[Piece]:
    body, arguments = tools.body, list(write_arguments(tools.arguments, json.loads(call.arguments)))
    if isinstance(body, ObjectBody):
        yield from _write_object(_nest_body(body, call, arguments))
        return
    for kind, behind in body.fields:
        if kind == "arguments":
            yield from arguments
        elif kind == "id":
            yield Piece("id", call.id)
        else:
            yield Piece("name", call.name)
        yield from _write_structure(behind, name=call.name)


def _nest_body(body: ObjectBody, call: Call, arguments: list[Piece]) -> dict[str, Any]:
    """Return the call object as nested dicts with lists of pieces as leaves, in the order of the format's keys."""
    if body.name_is_key:
        leaves: list[tuple[tuple[str, ...], list[Piece]]] = [((*body.arguments, NAME), arguments)]
    else:
        quoted = [Piece("structure", '"'), Piece("name", call.name), Piece("structure", '"')]
        leaves = [(body.name, quoted), (body.arguments, arguments)]
    if body.id:
        leaves.append((body.id, [Piece("structure", '"'), Piece("id", call.id), Piece("structure", '"')]))
    order = {key: number for number, key in enumerate(body.keys)}
    leaves.sort(key=lambda leaf: [order.get(key, 0) for key in leaf[0]])
    nested: dict[str, Any] = {}
    for path, leaf in leaves:
        level = nested
        for key in path[:-1]:
            level = level.setdefault(key, {})
        level[path[-1].replace(NAME, call.name)] = leaf
    return nested


def _write_object(value: dict[str, Any] | list[Piece]) -> Iterator[Piece]:
    if isinstance(value, list):
        yield from value
        return
    for number, (key, inner) in enumerate(value.items()):
        yield Piece("structure", ', "' if number else '{"')
        yield Piece("name" if key in NAMES else "structure", key)
        yield Piece("structure", '": ')
        yield from _write_object(inner)
    yield Piece("structure", "}")


def write_arguments(notation: Arguments, arguments: Mapping[str, Any]) -> Iterator[Piece]:
    """Write the arguments of a call in their notation: plain strings and numbers, which need no escape."""
    written = notation.object
    if notation.json:
        quote = '\\"' if notation.encoded else '"'
        written = replace(written, key_start=quote, slots=(Slot(Marker(f"{quote}:", after=" "), Marker()),))
        written = replace(written, start="{", separator=", ", end="}")
    opening, closing = ('"', '"') if notation.json and notation.encoded else ("", "")
    yield Piece("structure", opening + written.start)
    for number, (key, value) in enumerate(arguments.items()):
        kind = "string" if isinstance(value, str) else "other"
        slot = next((slot for slot in written.slots if slot.holds in (kind, "any")), written.slots[0])
        yield from _write_structure((written.separator if number else "") + written.key_start, key=key)
        yield Piece("key", key)
        yield from _write(slot.start, key=key)
        quotes = notation.strings[0] if kind == "string" and notation.strings else None
        start, end = (quotes.start, quotes.end) if quotes else ("", "")
        if notation.json and kind == "string":
            start = end = written.key_start
        yield Piece("structure", start)
        yield Piece("value", value if isinstance(value, str) else json.dumps(value))
        yield Piece("structure", end)
        yield from _write(slot.end, key=key)
    yield Piece("structure", written.end + closing)


def _join(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Join neighbours of one kind and drop empty pieces."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].kind == piece.kind == "structure":
            joined[-1] = Piece("structure", joined[-1].text + piece.text)
        elif piece.text:
            joined.append(piece)
    return tuple(joined)
