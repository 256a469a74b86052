"""Round trips as lines, and put together by what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ask.question import Switches
from ..converse.roundtrip import After, RoundTrip
from ..describe.spans import Line, Span, make_visible, say_words
from .turns import say_switches

_NEXT: dict[After, str] = {"user": "question", "tool": "results", "later": "results, answer, question"}


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
