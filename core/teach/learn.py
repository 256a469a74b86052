"""Taught by example: a format where the template is silent, or where there is none.

What examples show is put where the format of the template has a gap. Then turns of other words are written by the graph
that came out, and must be read back, and so must the examples. The verdict says which parts were taught, and what no
example showed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from ..ask.question import Call, Question, Shape, build_tools
from ..ask.words import make_id, make_word
from ..constrain import write_turn
from ..converse.author import make_message, read_arguments
from ..errors import ConstraintError, LessonError
from ..format import TAUGHT, Capabilities, ChatFormat, Counterexample, Verdict
from .edges import Draft, cut_ending, make_plain, teach_calls, teach_reasoning
from .lesson import Lesson, LessonCall
from .sample import cut_lesson


class _Turn(NamedTuple):
    """A text and the fields that must be read out of it."""

    text: str
    prompt: str | None
    reasoning: str
    content: str
    calls: tuple[LessonCall, ...]


def learn(lessons: Sequence[Lesson], silent: ChatFormat | None = None) -> ChatFormat:
    """Return a format learnt from lessons, and from what a template prints by itself (``silent``) where there is one.

    Raises :class:`LessonError` where the lessons teach nothing that can be read back. Costs milliseconds.
    """
    samples = [cut_lesson(lesson, number) for number, lesson in enumerate(lessons)]
    parts = _choose_parts(lessons, silent)
    if silent is not None and not parts:
        return replace(silent, verdict=_judge(silent, lessons, parts, ()))
    graph = silent.graph if silent else make_plain(samples, ())
    samples = [cut_ending(sample, graph.stops) for sample in samples]
    draft = Draft(graph)
    if "reasoning" in parts:
        teach_reasoning(draft, samples)
    if "tools" in parts:
        teach_calls(draft, samples)
    able = silent.capabilities if silent else Capabilities()
    if "tools" in parts:
        able = replace(able, tool_calls=True, parallel_calls=any(len(lesson.calls) > 1 for lesson in lessons))
    format = replace(silent or ChatFormat(), graph=draft.finish(), capabilities=able)
    return replace(format, verdict=_judge(format, lessons, parts, tuple(draft.notes)))


def _choose_parts(lessons: Sequence[Lesson], silent: ChatFormat | None) -> frozenset[str]:
    """Return what the lessons show and the template does not print by itself."""
    shown = {"reasoning": any(lesson.reasoning for lesson in lessons), "tools": any(lesson.calls for lesson in lessons)}
    if silent is None:
        return frozenset(["content", *(part for part, is_shown in shown.items() if is_shown)])
    known = {"reasoning": silent.reasoning is not None, "tools": silent.capabilities.tool_calls}
    return frozenset(part for part, is_shown in shown.items() if is_shown and not known[part])


def _judge(format: ChatFormat, lessons: Sequence[Lesson], parts: frozenset[str], unknown: tuple[str, ...]) -> Verdict:
    """Read the lessons, and turns of other words, and say in the verdict what was taught and what was not shown."""
    given = [_Turn(each.text, each.prompt or None, each.reasoning, each.content, each.calls) for each in lessons]
    failures = [failure for turn in given if (failure := _read(format, turn))]
    if len(failures) == len(lessons) and parts:
        raise LessonError(
            f"Learning from {len(lessons)} examples: none is read back with the format that they show. Check that each text "
            "is what the model writes, special tokens included, and that its message has every field of it. "
            f"The first was read as {failures[0].got}"
        )
    written = list(_write_turns(format, parts)) if parts else []
    misread = [failure for turn in written if (failure := _read(format, turn))]
    status = dict.fromkeys(sorted(parts), TAUGHT if not failures and not misread else "partly proven")
    count = len(lessons)
    notes = [f"taught by {count} example{'s' if count > 1 else ''}: {', '.join(sorted(parts))}"] if parts else []
    notes += [f"not known: {text}" for text in dict.fromkeys(unknown)]
    notes += [f"{len(failures)} of the examples are not read back as they say"] if failures else []
    known = format.verdict
    return replace(
        known,
        parts=tuple({**dict(known.parts), **status}.items()),
        checked=known.checked + count + len(written),
        passed=known.passed + count + len(written) - len(failures) - len(misread),
        counterexample=min([*failures, *misread], key=lambda failure: len(failure.text), default=known.counterexample),
        notes=(*known.notes, *notes),
    )


def _write_turns(format: ChatFormat, parts: frozenset[str]) -> Iterator[_Turn]:
    """Write turns with fresh words, as the graph says."""
    values: tuple[dict[str, Any], ...] = ({}, {"ka": "Some words."}, {"ka": 7, "kb": "more", "kc": [1, {"x": None}]})
    calls = [LessonCall(make_word("tool", n), each, f"{make_word('tool', n)}:{n}") for n, each in enumerate(values)]
    chosen: list[tuple[LessonCall, ...]] = [(), *((call,) for call in calls[1:]), (calls[1], calls[2])]
    for reasoning, content, called in product(("", "One thought."), ("", "An answer."), chosen):
        if not (content or called) or (called and "tools" not in parts) or (not called and not reasoning):
            continue
        made = [Call.of(call.name, call.id or make_id(number), call.arguments) for number, call in enumerate(called)]
        message = make_message(Question(reasoning or None, content or None, tuple(made)))
        with suppress(ConstraintError):
            yield _Turn(write_turn(format.graph, message), None, reasoning, content, called)


def _read(format: ChatFormat, turn: _Turn) -> Counterexample | None:
    """Read a turn; return what is wrong with what comes out, if anything is."""
    message = format.parse(turn.text, declare_tools(turn.calls) or None, turn.prompt)
    calls = [call["function"] for call in message.get("tool_calls", ())]
    got = (message["reasoning_content"] or "", message["content"] or "")
    read = [(call["name"], read_arguments(call["arguments"] or "{}")) for call in calls]
    expected = [(call.name, call.arguments) for call in turn.calls]
    if read == expected and [text.strip() for text in got] == [turn.reasoning.strip(), turn.content.strip()]:
        return None
    wanted, found = ([turn.reasoning, turn.content, expected], [*got, read])
    texts = (json.dumps(each, ensure_ascii=False) for each in (wanted, found))
    return Counterexample("examples", turn.prompt or "", turn.text, *texts)


def declare_tools(calls: Sequence[LessonCall]) -> list[dict[str, Any]]:
    """Declare the tools that calls use, every parameter with the type of its value."""
    return build_tools([Call.of(call.name, call.id, call.arguments) for call in calls], Shape()) if calls else []
