"""One page of HTML that shows a format: a conversation in colours, the format beside it, and an output as it streams in.

What the page shows comes from strangers: templates, models, names of files. Jinja's autoescape writes every text, the data
for the script has no character that HTML knows, the script puts text into the page as text only, and the page's own policy
allows its one style sheet and its one script, known by their hashes, and nothing from anywhere else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from .attribution import Attribution, attribute
from .budget import Budget
from .description import lay_out, make_visible, rate, summarise
from .errors import AutoparserError
from .example import CONTENT, REASONING, Example, make_calls
from .format import ChatFormat
from .marks import Field
from .probes import LATER, REASONING_FIELDS, SYSTEM, USER, Oracle, Question, build_messages, build_tools
from .reasoning import find_reasoning_shape
from .renderer import Renderer
from .roundtrip import RoundTrip
from .tools import list_call_shapes
from .turn import ask_prompts, find_shape

_MOST_PIECES = 20_000
_WORDS = {USER: "What will the weather be?", LATER: "And tomorrow?", SYSTEM: "Be brief."}
_RESULT = "Rain on day "
_FOLLOWING = {"user": "a question", "tool": "results", "later": "results, an answer and a question"}
_RATINGS = {"proven": "good", "taught by example": "good", "absent": "remark", "partly proven": "fair"}


class Piece(NamedTuple):
    """A part of a rendered conversation: whose message and which field it is from, and that in words."""

    role: str
    field: str
    origin: str
    text: str


@dataclass(frozen=True)
class Talk:
    """A conversation that the template rendered, in pieces, with remarks."""

    pieces: tuple[Piece, ...] = ()
    remarks: tuple[str, ...] = ()


def make_page(
    name: str,
    format: ChatFormat,
    renderer: Renderer | None,
    example: Example,
    *,
    output: str | None = None,
    tools: Sequence[dict[str, Any]] | None = None,
    prompt: str | None = None,
    trips: Sequence[RoundTrip] | None = None,
) -> str:
    """Return the page as HTML.

    ``output`` is what a model wrote behind ``prompt`` with the request's ``tools``; the example's text stands in for it.
    ``trips`` are the round trips of the template's turns, or None where they were not tried. Costs as much as
    attributing one conversation.
    """
    shown = example.text if output is None else output
    if output is None:
        prompt = example.prompt
    talk = _make_talk(renderer, format) if renderer else Talk()
    deltas = _list_deltas(format, shown, tools, prompt)
    style, script = (_read(f"page.{kind}") for kind in ("css", "js"))
    verdict = format.verdict
    values = {
        "name": make_visible(name),
        "rating": rate(verdict),
        "summary": summarise(verdict),
        "parts": [(part, status, _RATINGS.get(status, "bad")) for part, status in verdict.parts],
        "notes": [make_visible(note) for note in verdict.notes],
        "segments": talk.pieces,
        "roles": list(dict.fromkeys(piece.role for piece in talk.pieces if piece.role != "none")),
        "fields": list(dict.fromkeys(piece.field for piece in talk.pieces if piece.field not in ("marker", "content"))),
        "talk_remarks": talk.remarks,
        "no_talk": "There is no template that renders one." if renderer is None else "The template renders none.",
        "example": {
            "prompt": make_visible(example.prompt),
            "pieces": [(piece.kind, make_visible(piece.text)) for piece in example.pieces],
            "written": example.written,
        },
        "example_kinds": list(dict.fromkeys(piece.kind for piece in example.pieces)),
        "format": [[(span.kind, span.text) for span in line.spans] for line in lay_out(format)],
        "stream_about": "This is the turn from above." if output is None else "This is the output that was given.",
        "output": make_visible(shown),
        "length": len(shown),
        "deltas": [(position, make_visible(json.dumps(delta, ensure_ascii=False))) for position, delta in deltas],
        "kept": len({(trip.turn, trip.after, trip.switches) for trip in trips or () if trip.kept}),
        "trips": None if trips is None else list(_list_trips(trips)),
        "data": _embed({"text": shown, "deltas": deltas}),
        "style": Markup(style),
        "script": Markup(script),
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_read("page.html")).render(values)


def _read(file: str) -> str:
    """Return one of the page's files, which are the project's own: nothing in them comes from a stranger."""
    return (files(__package__) / file).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _embed(value: Any) -> Markup:
    """Return data as JSON that can stand in a script element whatever is in it."""
    text = json.dumps(value, ensure_ascii=True)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)


def _list_deltas(
    format: ChatFormat, text: str, tools: Sequence[dict[str, Any]] | None, prompt: str | None
) -> list[tuple[int, dict[str, Any]]]:
    """Return the deltas of an output that comes in character by character, each with how many had come in."""
    parser = format.parser(tools, prompt)
    step = 1 + len(text) // _MOST_PIECES
    deltas = []
    for start in range(0, len(text), step):
        piece = text[start : start + step]
        deltas += [(start + len(piece), delta.to_openai()) for delta in parser.feed(piece)]
    return deltas + [(len(text), delta.to_openai()) for delta in parser.finish()]


def _list_trips(trips: Sequence[RoundTrip]) -> Iterator[dict[str, Any]]:
    """Return round trips as the texts of rows, one for each turn and what follows it, whatever the form of arguments."""
    turns: dict[tuple[Any, ...], list[RoundTrip]] = {}
    for trip in trips:
        turns.setdefault((trip.turn, trip.after, trip.switches), []).append(trip)
    for forms in turns.values():
        best = min(forms, key=lambda trip: (not trip.kept, not trip.repair))
        alike = len({trip.kept for trip in forms}) == 1
        texts = {
            "turn": best.turn,
            "after": _FOLLOWING[best.after],
            "switches": ", ".join(f"{name}={value}" for name, value in best.switches),
            "kept": ("yes" if alike else f"yes, with arguments as {best.arguments}") if best.kept else f"no: {best.fault}",
            "earlier": best.earlier,
            "later": best.later,
            "repair": ", ".join(f"{name}={value}" for name, value in best.repair),
        }
        kind = "bad" if not best.kept else "good" if alike else "fair"
        yield {**{name: make_visible(text) for name, text in texts.items()}, "kind": kind}


# The conversation


def _make_talk(renderer: Renderer, format: ChatFormat) -> Talk:
    """Render the richest conversation that the template takes, and tell where each character of it came from."""
    oracle = Oracle(renderer.within(Budget()))
    if not find_shape(oracle):
        return Talk()
    ask_prompts(oracle)
    shape, printed = next(list_call_shapes(oracle), (oracle.shape, ()))
    oracle.shape = shape
    find_reasoning_shape(oracle, printed)
    shape = oracle.shape
    poor = Talk()
    for system, question in product((True, False), _list_questions(format)):
        messages = [_say(message) for message in build_messages(question, replace(shape, system=system))]
        declared = shape.tools == "always" or (bool(question.calls) and shape.tools != "never")
        tools = build_tools(question.calls, shape) if declared else None
        try:
            found = attribute(renderer, messages, tools, True, **dict(shape.switches))
        except AutoparserError:
            continue
        talk = Talk(tuple(_cut(found, messages)), tuple(_list_remarks(found, messages)))
        if not any(_matters(field, messages) for field in found.absent):
            return talk
        poor = talk
    return poor


def _matters(field: Field, messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a conversation without a field is not worth showing: ids and declarations are often not printed."""
    if field.message is None or messages[field.message]["role"] == "tool":
        return False
    return _name_field(field) != "id"


def _list_questions(format: ChatFormat) -> Iterator[Question]:
    """List turns to be shown, the richest first."""
    reasoning = REASONING if format.reasoning and format.reasoning.scope != "never printed" else None
    if format.capabilities.tool_calls:
        calls = make_calls(2 if format.capabilities.parallel_calls else 1)
        yield Question(content=CONTENT, reasoning=reasoning, calls=calls, after="tool", tools=True)
        yield Question(content=None, reasoning=reasoning, calls=calls, after="tool", tools=True)
        yield Question(content=None, calls=calls, after="tool", tools=True)
    yield Question(content=CONTENT, reasoning=reasoning, after="user")
    yield Question(content=CONTENT, after="user")


def _say(message: dict[str, Any]) -> dict[str, Any]:
    """Put words that a person can read in the place of needles."""
    text = message.get("content")
    needle = text[0]["text"] if isinstance(text, list) and text else text
    if message["role"] == "tool":
        return {**message, "content": _RESULT + str(needle)[-1]}
    if needle not in _WORDS:
        return message
    content: Any = _WORDS[str(needle)]
    return {**message, "content": [{"type": "text", "text": content}] if isinstance(text, list) else content}


def _cut(found: Attribution, messages: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    for text, span in found.cut():
        if span is None:
            yield Piece("none", "marker", "the template", make_visible(text))
            continue
        role, field = _name_role(span.field, messages), _name_field(span.field)
        number = span.field.message
        origin = f"message {number} ({role}): {field}" if number is not None else f"tools: {field}"
        yield Piece(role, field, make_visible(origin), make_visible(text))


def _name_role(field: Field, messages: Sequence[Mapping[str, Any]]) -> str:
    return "tools" if field.message is None else str(messages[field.message]["role"])


def _name_field(field: Field) -> str:
    """Return the kind of a field, by the names on the way to it."""
    names = [name for name in field.path if isinstance(name, str)]
    if field.path[0] == "tools":
        return "declaration"
    if "arguments" in names:
        return "key" if field.key else "value"
    if names[-1] in REASONING_FIELDS:
        return "reasoning"
    return {"name": "name", "id": "id", "tool_call_id": "id"}.get(names[-1], "content")


def _list_remarks(found: Attribution, messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for label, fields in (("Not printed", found.absent), ("Place not certain", found.uncertain)):
        named = dict.fromkeys(f"{_name_field(field)} of {_name_role(field, messages)}" for field in fields)
        if named:
            yield make_visible(f"{label}: {', '.join(named)}.")
