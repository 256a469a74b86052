"""Round trips as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ask.question import Switches
from ..converse.roundtrip import After, RoundTrip
from ..describe.spans import Line, Span, make_visible, say_words

_NEXT: dict[After, str] = {"user": "question", "tool": "results", "later": "results, answer, question"}


def lay_out_roundtrips(results: Sequence[RoundTrip]) -> Iterator[Line]:
    """Return results as lines: one for each turn and what follows it, and below it where it breaks."""
    turns: dict[tuple[str, After, Switches], list[RoundTrip]] = {}
    for result in results:
        turns.setdefault((result.turn, result.after, result.switches), []).append(result)
    kept = sum(any(result.kept for result in forms) for forms in turns.values())
    yield Line((Span("title", f"Round trips: {kept} of {len(turns)} turns come back unchanged"),))
    width = max((len(turn) for turn, _, _ in turns), default=0)
    shown: set[tuple[str, str]] = set()
    given: Switches | None = None
    for (turn, after, switches), forms in turns.items():
        if switches != given:
            given = switches
            yield Line(())
            yield Line((Span("label", f"with {_name_switches(switches)}" if switches else "with no switch set"),))
        best = next((result for result in forms if result.kept), None)
        first = best or next((result for result in forms if result.repair), forms[0])
        lead = Span("text", f"  {turn:<{width}}  then {_NEXT[after]:<27}")
        yield Line((lead, *_say_result(first, forms)))
        if not first.kept and (first.earlier, first.later) not in shown:
            shown.add((first.earlier, first.later))
            yield Line(
                (Span("label", "      written    "), Span("content", make_visible(say_words(first.earlier), layout=True)))
            )
            yield Line(
                (Span("label", "      came back  "), Span("content", make_visible(say_words(first.later), layout=True)))
            )


def _say_result(result: RoundTrip, forms: Sequence[RoundTrip]) -> Iterator[Span]:
    if not result.kept:
        lost = result.fault == "white space"
        yield Span("bad", "broken: white space alone is no field" if lost else f"broken by the {result.fault}")
        if result.repair:
            yield Span("fair", f"; {_name_switches(result.repair)} repairs it")
    elif result.tokens is False:
        yield Span("fair", "kept as text, not as tokens")
    elif not all(form.kept for form in forms):
        yield Span("fair", f"kept with arguments as {result.arguments}")
    else:
        yield Span("good", "kept" if result.tokens is None else "kept, tokens too")


def _name_switches(switches: Switches) -> str:
    return ", ".join(f"{name}={value}" for name, value in switches)
