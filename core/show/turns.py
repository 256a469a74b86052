"""Turns with words that a person can read, as a model writes them: what examples, comparisons and judges of parsers use.

And round trips of turns as lines, put together by what became of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import partial_json_parser

from ..ask.question import Question, Switches, build_history
from ..ask.renderer import Renderer
from ..constrain import write_turn
from ..converse.author import CONTENT, REASONING, Author, Generation, make_calls, make_message, read_switches
from ..converse.roundtrip import After, RoundTrip
from ..delta import Delta
from ..describe.spans import Line, Span, make_visible, say_words
from ..errors import ConstraintError
from ..format import ChatFormat, Start

_NEXT: dict[After, str] = {"user": "question", "tool": "results", "later": "results, answer, question"}


@dataclass(frozen=True)
class KnownTurn(Generation):
    """A turn of which is known what stands in it: the fields of its question.

    ``added`` is what the generation prompt adds. ``messages`` and ``tools`` are what a request says that leads to ``prompt``,
    ``message`` is the turn as it is handed back.
    """

    added: str = ""
    messages: tuple[dict[str, Any], ...] = ()
    message: dict[str, Any] = field(default_factory=dict)
    tools: tuple[dict[str, Any], ...] = ()

    @property
    def switches(self) -> Switches:
        """The switches of its request."""
        return self.question.switches

    @property
    def name(self) -> str:
        """What stands in it, in words."""
        reasoning, content, calls = self.question.reasoning, self.question.content, self.question.calls
        parts = [name for name, there in (("reasoning", reasoning), ("content", content)) if there]
        parts += [f"{len(calls)} call{'s' if len(calls) > 1 else ''}"] if calls else []
        return ", ".join(parts) + (f" ({say_switches(self.switches)})" if self.switches else "")

    def words(self) -> dict[str, str]:
        """Return what stands in the fields, each text with its kind."""
        fields = (("reasoning", self.question.reasoning), ("content", self.question.content))
        words = {text: kind for kind, text in fields if text}
        for call in self.question.calls:
            words.update({call.name: "name", call.id: "id"})
            for key, value in call.object.items():
                words.update({key: "key", value if isinstance(value, str) else json.dumps(value): "value"})
        return words


def say_switches(switches: Switches) -> str:
    """Return switches in one line."""
    return ", ".join(f"{name}={value!r}" for name, value in switches)


def list_turns(renderer: Renderer | None, format: ChatFormat) -> list[KnownTurn]:
    """Return turns as the model writes them: with reasoning or none, content or none, two calls, one or none, for each
    setting of the switches that changes what the prompt adds. Empty where the template renders none.

    Without a renderer they are written by the format alone, for a prompt without switches. Costs some dozens of renders.
    """
    author = Author(renderer, format) if renderer else None
    starts = format.graph.starts if author else format.graph.starts[:1]
    found: dict[tuple[str, str], KnownTurn] = {}
    for start in starts:
        for reasoning, content, count in product((REASONING, None), (CONTENT, None), (2, 1, 0) if format.tools else (0,)):
            calls = make_calls(count, format.asking.named_ids)
            question = Question(reasoning, content, calls, read_switches(start.switches), tools=bool(count))
            if reasoning or content or count:
                turn = _write(author, question) if author else _walk(format, start, question)
                if turn:
                    found.setdefault((turn.prompt, turn.text), turn)
    return list(found.values())


def _walk(format: ChatFormat, start: Start, question: Question) -> KnownTurn | None:
    try:
        text = write_turn(format.graph, make_message(question), start)
    except ConstraintError:
        return None
    stop = max((stop for stop in format.stops if text.endswith(stop)), key=len, default="")
    return KnownTurn(question, start.prompt, text.removesuffix(stop), stop, start.prompt)


def _write(author: Author, question: Question) -> KnownTurn | None:
    made, message = author.write(question), author.answer(question)
    if made is None or message is None:
        return None
    start = author.find_start(made.prompt)
    return KnownTurn(
        **vars(made),
        added=start.prompt if start else "",
        messages=tuple(build_history(question, author.shape)),
        message=message,
        tools=tuple(author.choose_tools(question) or ()),
    )


def pick_example(turns: Sequence[KnownTurn]) -> KnownTurn | None:
    """Return the turn that shows most, under as few switches as that takes."""

    def rank(turn: KnownTurn) -> tuple[int, bool, bool, int]:
        shown = turn.question
        fields = bool(shown.reasoning) + bool(shown.content) + len(shown.calls)
        return fields, bool(shown.calls), bool(shown.reasoning), -len(shown.switches)

    return max(turns, key=rank, default=None)


def cut_pieces(turn: KnownTurn) -> Iterator[Span]:
    """Return a turn in pieces, each field told from the texts around it, which are ``structure``."""
    words = turn.words()
    for before, word in cut_words(turn.text + turn.stop, words):
        yield Span("structure", before)
        yield from [Span(words[word], word)] if word else ()


def cut_words(text: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Cut a text at words: what stands before each, and it; at last the rest, and nothing."""
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(words, key=len, reverse=True))
    at = 0
    for match in re.finditer(pattern, text) if pattern else ():
        yield text[at : match.start()], match[0]
        at = match.end()
    yield text[at:], ""


def describe_incomplete(deltas: Iterable[Delta], index: int) -> str:
    """Say which call is incomplete, and what can be read of its arguments so far."""
    pieces = [delta for delta in deltas if delta.kind == "tool_call" and delta.index == index]
    name, written = pieces[0].name, "".join(delta.text for delta in pieces)
    try:
        read = partial_json_parser.loads(written)
    except ValueError:
        read = None
    if not read:
        return f"the tool call to {name} is incomplete: not one argument is whole"
    return f"the tool call to {name} is incomplete; of its arguments there is {json.dumps(read, ensure_ascii=False)}"


# Round trips


def name_trip(trip: RoundTrip) -> str:
    """Return a turn and what follows it in words."""
    return f"{trip.turn}, then {_NEXT[trip.after]}" + (f" ({say_switches(trip.switches)})" if trip.switches else "")


def group_trips(trips: Sequence[RoundTrip]) -> list[list[RoundTrip]]:
    """Put the forms together in which the same turn was handed back, the one that came back best first."""
    turns: dict[tuple[str, After, Switches], list[RoundTrip]] = {}
    for trip in trips:
        turns.setdefault((trip.turn, trip.after, trip.switches), []).append(trip)
    return [sorted(forms, key=lambda trip: (not trip.kept, not trip.repair)) for forms in turns.values()]


def lay_out_roundtrips(trips: Sequence[RoundTrip]) -> Iterator[Line]:
    """Return results as lines: one for each turn and what follows it, and below it where it breaks."""
    turns = group_trips(trips)
    kept = sum(best.kept for best, *_ in turns)
    yield Line.of(("title", f"Round trips: {kept} of {len(turns)} turns come back unchanged"))
    width = max((len(best.turn) for best, *_ in turns), default=0)
    shown: set[tuple[str, str]] = set()
    given: Switches | None = None
    for forms in turns:
        best = forms[0]
        if best.switches != given:
            given = best.switches
            yield Line()
            yield Line.of(("label", f"with {say_switches(given)}" if given else "with no switch set"))
        yield Line((Span("text", f"  {best.turn:<{width}}  then {_NEXT[best.after]:<27}"), *_say_result(best, forms)))
        if not best.kept and (best.earlier, best.later) not in shown:
            shown.add((best.earlier, best.later))
            for label, text in (("written    ", best.earlier), ("came back  ", best.later)):
                yield Line.of(("label", f"      {label}"), ("content", make_visible(say_words(text), layout=True)))


def _say_result(best: RoundTrip, forms: Sequence[RoundTrip]) -> Iterator[Span]:
    if not best.kept:
        lost = best.fault == "white space"
        yield Span("bad", "broken: white space alone is not read as content" if lost else f"broken by the {best.fault}")
        if best.repair:
            yield Span("fair", f"; {say_switches(best.repair)} repairs it")
    elif best.tokens is False:
        yield Span("fair", "kept as text, not as tokens")
    elif not all(form.kept for form in forms):
        yield Span("fair", f"kept with arguments as {best.arguments}")
    else:
        yield Span("good", "kept" if best.tokens is None else "kept, tokens too")
