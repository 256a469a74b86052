"""One page of HTML that shows a format: the verdict, the format, a turn and a conversation in colours, and an output as
it streams in.

What the page shows comes from strangers: templates, models, names of files. Jinja's autoescape writes every text, the data
for the script has no character that HTML knows, the script puts text into the page as text only, and the page's own policy
allows its one style sheet and its one script, known by their hashes, and nothing from anywhere else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from ..ask.question import build_result, wrap_text
from ..ask.renderer import Renderer
from ..ask.words import SYSTEM, USER
from ..converse.author import Author
from ..converse.roundtrip import RoundTrip
from ..describe.spans import make_visible, say_words
from ..describe.verdict import find_next_step, lay_out_counterexample, list_doubts, list_notes, rate, rate_status, summarise
from ..describe.words import list_sections
from ..format import ChatFormat
from ..parse import StreamParser
from .sources import name_model
from .turns import KnownTurn, cut_pieces, cut_words, group_trips, name_trip, pick_example, say_switches

_FUNCTIONS = (find_next_step, lay_out_counterexample, list_doubts, list_sections, name_model, rate, rate_status, summarise)
_MOST_PIECES = 20_000
_SYSTEM, _USER, _RESULT = say_words(SYSTEM), say_words(USER), "Rain on day "


class Said(NamedTuple):
    """A part of a rendered conversation: whose message and which field it is from; ``template`` where it is neither's."""

    role: str
    field: str
    text: str


def make_page(
    name: str,
    format: ChatFormat,
    renderer: Renderer | None,
    turns: Sequence[KnownTurn],
    *,
    output: str | None = None,
    parser: StreamParser | None = None,
    notes: Sequence[str] = (),
    trips: Sequence[RoundTrip] | None = None,
) -> str:
    """Return the page as HTML.

    ``name`` is what the template was called by, ``turns`` are turns that it renders. ``output`` is what a model wrote, and
    ``parser`` reads it; an example stands in for it. ``trips`` are round trips, or None where they
    were not tried.
    """
    turn = pick_example(turns)
    about = "This is the output that was given." if output else "There is nothing to show."
    if output is None and turn is not None:
        output, about = turn.text, "This is the turn from above."
        parser = format.parser(turn.tools or None, turn.prompt)
    deltas = _list_deltas(parser or format.parser(), output or "")
    style, script = (_read(f"page.{kind}") for kind in ("css", "js"))
    values = {
        "name": name,
        "format": format,
        "verdict": format.verdict,
        "notes": [*list_notes(format), *notes],
        "switches": say_switches(turn.switches) if turn else "",
        "turn": [piece for piece in cut_pieces(turn) if piece.text] if turn else [],
        "added": turn.added if turn else "",
        "talk": list(_make_talk(renderer, turn, format)) if renderer and turn else [],
        "no_talk": "There is no template that renders one." if renderer is None else "The template renders none.",
        "stream_about": about,
        "output": output or "",
        "deltas": [(position, json.dumps(delta, ensure_ascii=False)) for position, delta in deltas],
        "trips": None if trips is None else [forms[0] for forms in group_trips(trips)],
        "data": {"text": output or "", "deltas": deltas},
        "style": Markup(style),
        "script": Markup(script),
    }
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_show)
    environment.globals.update({function.__name__: function for function in _FUNCTIONS}, hash=_hash, merge_trips=_merge_trips)
    return environment.from_string(_read("page.html")).render(values)


def _show(value: Any) -> Any:
    """Return what is printed for a value: characters of strangers that act on a screen stand there as escapes."""
    return make_visible(value) if type(value) is str else value


def _read(file: str) -> str:
    """Return one of the page's files, which are the project's own: nothing in them comes from a stranger."""
    return (files(__package__) / file).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _list_deltas(parser: StreamParser, text: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the deltas of an output that comes in character by character, each with how many had come in."""
    step = 1 + len(text) // _MOST_PIECES
    deltas = []
    for start in range(0, len(text), step):
        piece = text[start : start + step]
        deltas += [(start + len(piece), delta.to_openai()) for delta in parser.feed(piece)]
    return deltas + [(len(text), delta.to_openai()) for delta in parser.finish()]


def _merge_trips(trips: Sequence[RoundTrip]) -> Iterator[dict[str, Any]]:
    """Return what became of round trips, each outcome once, with an example of it and the turns that it is true of."""
    merged: dict[tuple[Any, ...], list[RoundTrip]] = {}
    for trip in trips:
        merged.setdefault((trip.kept, trip.fault, trip.repair), []).append(trip)
    for (kept, fault, repair), alike in merged.items():
        first = min(alike, key=lambda trip: len(trip.earlier) + len(trip.later))
        lost = "white space alone is not read as content" if fault == "white space" else f"changed by the {fault}"
        yield {
            "kind": "good" if kept else "bad",
            "kept": "unchanged" if kept else lost,
            "repair": say_switches(repair),
            "earlier": say_words(first.earlier),
            "later": say_words(first.later),
            "turns": list(map(name_trip, alike)),
        }


# The conversation


def _make_talk(renderer: Renderer, turn: KnownTurn, format: ChatFormat) -> Iterator[Said]:
    """Render a conversation with the turn in it, and tell which of its words come from which message."""
    author = Author(renderer, format)
    history = [message for message in turn.messages if message["role"] == "user"]
    results = [build_result(call, f"{_RESULT}{number}") for number, call in enumerate(turn.question.calls)]
    system = {"role": "system", "content": wrap_text(SYSTEM, author.shape)}
    for lead in ([system], []):
        messages = [*lead, *history, turn.message, *results]
        text = author.render(messages, list(turn.tools) or None, True, turn.switches)
        if text is not None:
            yield from _cut(say_words(text), turn)
            return


def _cut(text: str, turn: KnownTurn) -> Iterator[Said]:
    words = {_SYSTEM: ("system", "content"), _USER: ("user", "content")}
    words.update({word: ("assistant", kind) for word, kind in turn.words().items()})
    words.update({_RESULT + str(number): ("tool", "content") for number in range(len(turn.question.calls))})
    at, asked = 0, text.find(_USER)
    answered = text.find(_RESULT) if _RESULT in text else len(text)
    for before, word in cut_words(text, words):
        yield Said("template", "marker", before)
        at += len(before)
        role, field = words.get(word, ("", ""))
        if role == "assistant" and at < asked:
            role, field = "tools", "declaration"
        elif role == "assistant" and at > answered:
            role = "tool"
        at += len(word)
        yield from [Said(role, field, word)] if word else ()
