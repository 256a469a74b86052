"""Taught by example: a format where the template is silent, or where there is none.

What the examples show is put where the template has a gap: turns are written as the examples do, and handed to the template
as content (:class:`TaughtRenderer`). That renders conversations like any other template, so its format is derived and
proven like any other. The verdict says which parts were taught, and what no example showed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ..ask.budget import Budget, Meter
from ..ask.question import REASONING_FIELDS, Shape, build_tools
from ..ask.renderer import Conversation, Renderer
from ..errors import LessonError, TemplateError
from ..format import ChatFormat, Choice, Counterexample, Node, TurnGraph
from ..format import Conversation as Layout
from ..format.chat_format import CONFIRMED_BY, FROM_INSTRUCTIONS, MISREAD, TAUGHT, TAUGHT_BY
from ..format.view import list_edges
from ..prove.message import compare, make_counterexample
from .lesson import Lesson, read_call, read_text
from .manner import Manner, refuse
from .sample import cut_lesson


class TaughtRenderer(Renderer):
    """Renders turns as examples show them: by a template that gets them as content, or without one, as plain text.

    ``taught`` is what of a turn is written as in the examples; the rest is left to the template.
    """

    def __init__(self, manner: Manner, taught: frozenset[str], template: Renderer | None, prompt: str, ending: str) -> None:
        self._manner, self._taught, self._template = manner, taught, template
        self._prompt, self._ending = prompt, ending
        self._writes_calls = "tools" in taught or template is None
        self.source = template.source if template else None
        self.parts = (template,) if template else ()

    def within(self, budget: Budget) -> Renderer:
        """Return the same renderer with all renders of the template drawn on one budget."""
        renderer = super().within(budget)
        assert isinstance(renderer, TaughtRenderer), "it is a copy"
        renderer._template = self._template.within(budget) if self._template else None
        return renderer

    def _render(self, conversation: Conversation, meter: Meter) -> str:
        messages = [self._write(message) if is_answer(message) else message for message in conversation.messages]
        if self._template is not None:
            return self._template(messages, conversation.tools, conversation.add_generation_prompt, **conversation.kwargs)
        texts = [
            f"{self._prompt}{message['content']}{self._ending}" if is_answer(message) else f"{read_text(message)}\n"
            for message in messages
        ]
        return "".join([*texts, self._prompt * conversation.add_generation_prompt])

    def _write(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message with its taught parts written into its content."""
        given = message.get("tool_calls") or () if self._writes_calls else ()
        reasoning, calls = "", [call for data in given if (call := read_call(data, strict=True))]
        if len(calls) < len(given):
            raise refuse("arguments that are no object")
        if "reasoning" in self._taught:
            reasoning = next((str(message[name]) for name in REASONING_FIELDS if message.get(name)), "")
        written = [*(REASONING_FIELDS if reasoning else ()), *(["tool_calls"] if self._writes_calls else ())]
        plain = {key: value for key, value in message.items() if key not in written}
        content = read_text(message)
        if not isinstance(content, str):
            raise refuse("a content that is no text")
        text = self._manner.write(reasoning, content, calls)
        return {**plain, "content": [{"type": "text", "text": text}] if isinstance(message.get("content"), list) else text}


def is_answer(message: Mapping[str, Any]) -> bool:
    """Whether a message is the assistant's."""
    return message.get("role") == "assistant"


def learn(
    lessons: Sequence[Lesson],
    derive: Callable[[Renderer, tuple[str, ...]], ChatFormat],
    template: Renderer | None = None,
    silent: ChatFormat | None = None,
) -> ChatFormat:
    """Return a format learnt from lessons, and from what a template prints by itself (``silent``) where there is one.

    Raises :class:`LessonError` where the lessons teach nothing that can be read back. Costs an analysis, which ``derive``
    makes.
    """
    cuts = [cut_lesson(lesson, number, silent.stops if silent else ()) for number, lesson in enumerate(lessons)]
    parts = _choose_parts(lessons, silent)
    if silent is not None and not parts:
        return _judge(silent, lessons, parts, ())
    ending, stops = "", silent.graph.stops if silent else ()
    if silent is None:
        tails = [each[-1].before for each, lesson in zip(cuts, lessons, strict=True) if not lesson.calls]
        ending = next((tail for tail in tails if tail.strip()), "")
        stops = (ending.strip(),) if ending else ()
        cuts = [cut_lesson(lesson, number, stops) for number, lesson in enumerate(lessons)]
    manner = Manner(cuts, partial(_strip_known, silent) if silent else str)
    prompt = next((lesson.prompt for lesson in lessons if lesson.prompt), "")
    try:
        format = derive(TaughtRenderer(manner, parts, template, prompt, ending), stops)
    except TemplateError as error:
        raise LessonError(f"Learning from {len(lessons)} examples: no turn can be written as they are ({error}).") from None
    format = replace(format, graph=_spell_words(format.graph), conversation=silent.conversation if silent else Layout())
    return _judge(format, lessons, parts, tuple(manner.notes))


def _strip_known(silent: ChatFormat, text: str) -> str:
    """Return a text before content or a call without what the template prints there by itself."""
    known = (edge.text for edge in list_edges(silent.graph, ("start", "reasoning"), ("content",)))
    text = text[max((len(lead) for lead in known if text.startswith(lead)), default=0) :]
    end = silent.reasoning.end.text if silent.reasoning else ""
    return text.rpartition(end)[2].lstrip() if end and end in text else text


def _spell_words(graph: TurnGraph) -> TurnGraph:
    """Return a graph that reads the words for true, false and null as JSON and as Python writes them, too."""
    others: tuple[tuple[str, Literal["true", "false", "null"]], ...] = (("true", "true"), ("false", "false"), ("null", "null"))
    others += ("True", "true"), ("False", "false"), ("None", "null")

    def spell(node: Node) -> Node:
        if not isinstance(node.codec, Choice):
            return node
        literals = {literal for _, literal in node.codec.words}
        words = dict.fromkeys((*node.codec.words, *(word for word in others if word[1] in literals)))
        return replace(node, codec=Choice(tuple(words)))

    return replace(graph, turn=replace(graph.turn, nodes=tuple(map(spell, graph.turn.nodes))))


def _choose_parts(lessons: Sequence[Lesson], silent: ChatFormat | None) -> frozenset[str]:
    """Return what the lessons show and the template does not print by itself."""
    shown = _list_shown(lessons)
    if silent is None:
        return shown | {"content"}
    known = {"reasoning": silent.reasoning is not None, "tools": silent.capabilities.tool_calls, "content": True}
    return frozenset(part for part in shown if not known[part])


def _judge(format: ChatFormat, lessons: Sequence[Lesson], parts: frozenset[str], unknown: tuple[str, ...]) -> ChatFormat:
    """Read the lessons, and say in the verdict what was taught and what was not shown."""
    failures = [failure for lesson in lessons if (failure := _read(format, lesson))]
    count, known = len(lessons), format.verdict
    if len(failures) == count and parts:
        raise LessonError(
            f"Learning from {count} examples: none is read back with the format that they show. Check that each text "
            "is what the model writes, special tokens included, and that its message has every field of it. "
            f"The first was read as {failures[0].got}"
        )
    taught = "partly proven" if failures else TAUGHT
    confirmed = frozenset() if failures else _list_shown(lessons) - parts
    told = [note for note in known.notes if "inferred" in note]
    inferred = {part for part, old in known.parts if old == FROM_INSTRUCTIONS or any(part in note for note in told)}
    raised = (confirmed & inferred) | {part for part, old in known.parts if part in parts and old == "proven"}
    status = [(part, taught if part in raised else old) for part, old in known.parts]
    shown = (TAUGHT_BY, parts), (CONFIRMED_BY, confirmed)
    notes = [f"{how} {count} example{'s' if count > 1 else ''}: {', '.join(sorted(which))}" for how, which in shown if which]
    notes += [f"not known: {text}" for text in dict.fromkeys(unknown)]
    notes += [f"{len(failures)} {MISREAD}"] if failures else []
    verdict = replace(
        known,
        parts=tuple(status),
        checked=known.checked + count,
        passed=known.passed + count - len(failures),
        counterexample=min(failures, key=lambda failure: len(failure.text), default=known.counterexample),
        notes=(*known.notes, *notes),
    )
    return replace(format, verdict=verdict)


def _list_shown(lessons: Sequence[Lesson]) -> frozenset[str]:
    """Return the parts of a turn that lessons show."""
    fields = [{"reasoning": lesson.reasoning, "content": lesson.content, "tools": lesson.calls} for lesson in lessons]
    return frozenset(part for each in fields for part, shown in each.items() if shown)


def _read(format: ChatFormat, lesson: Lesson) -> Counterexample | None:
    """Read a lesson; return what is wrong with what comes out, if anything is."""
    tools = build_tools(lesson.calls, Shape()) if lesson.calls else None
    message = format.parse(lesson.text, tools, lesson.prompt or None)
    calls = [{"name": call.name, "id": None, "arguments": call.object} for call in lesson.calls]
    expected = {"reasoning_content": lesson.reasoning, "content": lesson.content, "tool_calls": calls}
    if compare(expected, message):
        return None
    return make_counterexample("examples", lesson.prompt, lesson.text, expected, message)
