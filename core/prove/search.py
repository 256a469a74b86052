"""A longer search for a turn that is misread: conversations are drawn at random, and the first that fails is made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from time import monotonic
from typing import Any

from ..ask.oracle import Oracle
from ..ask.question import Call, Question
from ..ask.renderer import Renderer
from ..derive.driver import Derivation
from ..format import Counterexample
from .cases import HARD_TEXTS, ODD_STRINGS, PLAIN_TEXTS, STRINGS, Case, Drawer
from .proof import Examination, Read

_PIECES = [text for texts in (*STRINGS, *ODD_STRINGS) for text in texts]
_TRIES = 200


def search(
    renderer: Renderer, derivation: Derivation, reads: Mapping[str, Read], seconds: float
) -> tuple[int, Counterexample | None]:
    """Draw conversations for some seconds, in the shapes and under the switches that were found; return how many were tried, and
    the smallest that is misread. Raises :class:`BudgetError` where a render takes too long."""

    def fail(case: Case) -> Counterexample | None:
        examination = Examination(Oracle(renderer), derivation.graph, reads)
        examination.examine(case)
        return examination.smallest

    end, choose, tried = monotonic() + seconds, Random("search"), 0
    while monotonic() < end:
        case = _draw(choose, derivation)
        tried += 1
        failure = fail(case)
        if failure is not None:
            return tried, _shrink(case, failure, fail)
    return tried, None


def _shrink(case: Case, failure: Counterexample, fail: Callable[[Case], Counterexample | None]) -> Counterexample:
    """Take away from a turn what it fails without."""
    smaller = _list_smaller(case)
    for _ in range(_TRIES):
        one = next(smaller, None)
        if one is None:
            break
        if found := fail(one):
            failure, smaller = found, _list_smaller(one)
    return failure


def _list_smaller(case: Case) -> Iterator[Case]:
    """List turns with less in them: without a field, without a call or an argument, with shorter texts."""
    question = case.question
    changes: list[dict[str, Any]] = []
    for number, call in enumerate(question.calls):
        changes.append({"calls": question.calls[:number] + question.calls[number + 1 :]})
        smaller_calls = (Call.of(call.name, call.id, less) for less in _reduce(call.object))
        changes += [{"calls": (*question.calls[:number], one, *question.calls[number + 1 :])} for one in smaller_calls]
    for name, text in (("reasoning", question.reasoning), ("content", question.content)):
        changes += [{name: less} for less in (None, *_cut_text(text or ""))] if text else []
    changes += [{"switches": ()}] if question.switches else []
    for change in changes:
        smaller = replace(question, **change)
        if smaller.calls or smaller.reasoning or smaller.content:
            yield replace(case, question=smaller)


def _reduce(value: Any) -> Iterator[Any]:
    """List what is left of a value without a part of it: of a text, an item, a member, or a part of one."""
    if isinstance(value, str):
        yield from _cut_text(value)
    elif isinstance(value, list):
        yield from (value[:number] + value[number + 1 :] for number in range(len(value)))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield {other: kept for other, kept in value.items() if other != key}
            yield from ({**value, key: less} for less in _reduce(inner))


def _cut_text(text: str) -> Iterator[str]:
    half = len(text) // 2
    yield from dict.fromkeys(less for less in (text[:half], text[half:], text[1:], text[:-1]) if less and less != text)


# Drawing -----------------------------------------------------------------------------------------------------------------


def _draw(choose: Random, known: Derivation) -> Case:
    drawer = Drawer(str(choose.random()))
    count = choose.choice((0, 1, 1, 2, 3, 5)) if known.calling else 0
    shape = choose.choice(known.calling) if count else known.shape
    keys = [drawer.names(("{}", "max_{}", "{}_2"), choose.choice((0, 1, 1, 2, 3, 6))) for _ in range(count)]
    arguments = [{name: _draw_value(choose, 2) for name in names} for names in keys]
    question = Question(
        reasoning=_draw_text(choose, drawer) if choose.random() < 0.5 else None,
        content=_draw_text(choose, drawer) if choose.random() < 0.5 or not count else None,
        calls=drawer.calls(shape, arguments) if count else (),
        switches=choose.choice(known.settings or ((),)),
        resumed=bool(known.calling) and choose.random() < 0.1,
    )
    return Case.of(question, shape)


def _draw_text(choose: Random, drawer: Drawer) -> str:
    texts = [drawer.text(choose.choice((PLAIN_TEXTS, HARD_TEXTS))), *(choose.choice(_PIECES) for _ in range(choose.randrange(4)))]
    return choose.choice((" ", "\n", "")).join(texts).strip()


def _draw_value(choose: Random, depth: int) -> Any:
    """Draw an argument; lists and objects hold others."""
    kind = choose.randrange(7 if depth else 5)
    if kind < 2:
        return choose.choice((" ", "\n", "")).join(choose.choice(_PIECES) for _ in range(choose.choice((1, 1, 1, 2, 3))))
    if kind == 2:
        return choose.choice((0, -1, 7, 10**6, 10**20, 2.5, -0.125, 1e-05))
    if kind < 5:
        return choose.random() < 0.5
    if kind == 5:
        return [_draw_value(choose, depth - 1) for _ in range(choose.randrange(4))]
    return {f"key{number}": _draw_value(choose, depth - 1) for number in range(choose.randrange(3))}
