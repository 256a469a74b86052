"""Taught by example: a format where the template is silent, or where there is none.

What examples show is put where the template leaves a gap: a renderer that writes turns like the examples is questioned as
any other, and the format proven against it. Then the examples themselves must be read back. The verdict says which parts
were taught, and what no example showed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .analysis import derive_format
from .budget import Meter
from .errors import LessonError
from .format import TAUGHT, Capabilities, ChatFormat, Conversation, Counterexample, Turn, Verdict
from .imitation import Pattern, find_pattern
from .lesson import Lesson, LessonCall
from .marker import is_blank, make_marker
from .probes import REASONING_FIELDS, Call, Shape, build_tools
from .renderer import Conversation as Request
from .renderer import Renderer
from .verification import compare

_PARTS = ("reasoning", "content", "tools")


class TaughtRenderer(Renderer):
    """Renders with a template, except for what it does not print and examples show.

    Without a template, messages are written one below the other, the assistant's behind ``header``.
    """

    def __init__(self, pattern: Pattern, base: Renderer | None, parts: frozenset[str], header: str = "") -> None:
        super().__init__(base._bounds if base else None)
        self._pattern = pattern
        self._base = base
        self._parts = parts
        self._header = header
        self.source = base.source if base else None

    @property
    def switches(self) -> frozenset[str]:
        """What the template reads."""
        return self._base.switches if self._base else frozenset()

    @property
    def constants(self) -> frozenset[str]:
        """The texts in the template's expressions."""
        return self._base.constants if self._base else frozenset()

    def _render(self, conversation: Request, meter: Meter) -> str:
        if self._base is None:
            return self._write_bare(conversation)
        messages = [self._teach(message) for message in conversation.messages]
        return self._base._render(conversation._replace(messages=messages), meter)

    def _write_bare(self, conversation: Request) -> str:
        text = ""
        for message in conversation.messages:
            if message.get("role") == "assistant":
                text += self._header + self._pattern.write_turn(*read_fields(message)) + self._pattern.ending + "\n"
            else:
                text += _join_parts(message.get("content")) + "\n"
        return text + (self._header if conversation.add_generation_prompt else "")

    def _teach(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put what the template does not print into the content of an assistant's message, written as examples show it."""
        if message.get("role") != "assistant":
            return message
        reasoning, content, calls = read_fields(message)
        taught = dict(message)
        text = content
        if "reasoning" in self._parts and reasoning:
            text = self._pattern.write_turn(reasoning, content, ())
            for name in REASONING_FIELDS:
                taught.pop(name, None)
        if "tools" in self._parts and calls:
            behind = "reasoning" if reasoning else "start"
            text = text.removesuffix(content) + self._pattern.write_answer(behind, content, calls)
            taught.pop("tool_calls", None)
        if text == content:
            return message
        parts = isinstance(message.get("content"), list)
        return {**taught, "content": [{"type": "text", "text": text}] if parts else text}


def read_fields(message: Mapping[str, Any]) -> tuple[str, str, tuple[LessonCall, ...]]:
    """Return reasoning, content and calls of a message."""
    reasoning = next((message[name] for name in REASONING_FIELDS if message.get(name)), "")
    calls = []
    for call in message.get("tool_calls") or []:
        function = call.get("function", call)
        arguments = function.get("arguments", {})
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        calls.append(LessonCall(function["name"], arguments, call.get("id", "")))
    return str(reasoning), _join_parts(message.get("content")), tuple(calls)


def _join_parts(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    return content or ""


def learn(lessons: tuple[Lesson, ...], base: Renderer | None = None) -> ChatFormat:
    """Derive a format from a template and lessons, or from lessons alone.

    Raises :class:`LessonError` where the lessons teach nothing that can be read back, and whatever the analysis of the
    template raises. Costs two analyses.
    """
    silent = derive_format(base) if base else None
    wanted = {"reasoning": any(lesson.reasoning for lesson in lessons), "tools": any(lesson.calls for lesson in lessons)}
    parts = frozenset(part for part, shown in wanted.items() if shown and not _knows(silent, part))
    pattern = find_pattern(lessons, silent.turn.stops if silent else ())
    if silent is not None and not parts:
        taught = silent
    else:
        header = next((lesson.prompt for lesson in lessons if lesson.prompt), "")
        taught = derive_format(TaughtRenderer(pattern, base, parts, header))
        if "tools" in parts and taught.tools is not None:
            taught = replace(taught, tools=replace(taught.tools, provenance="examples"))
        if base is None:
            parts = frozenset(_PARTS)
            taught = _forget_layout(taught, header, pattern)
    return replace(taught, verdict=_check_lessons(taught, lessons, parts, pattern))


def _knows(format: ChatFormat | None, part: str) -> bool:
    """Whether a template prints a part by itself."""
    if format is None:
        return False
    return format.reasoning is not None if part == "reasoning" else format.capabilities.tool_calls


def _forget_layout(format: ChatFormat, header: str, pattern: Pattern) -> ChatFormat:
    """Drop what was only invented to put the examples into: all that stands around a turn."""
    ending = make_marker(pattern.ending)
    turn = Turn(
        headers=() if is_blank(header) else (header,),
        end=(replace(ending, after=""),) if ending else (),
        stops=(ending.text,) if ending else (),
    )
    starts = tuple(replace(start, prefix="") for start in format.starts)
    able = format.capabilities
    capabilities = Capabilities(tool_calls=able.tool_calls, parallel_calls=able.parallel_calls)
    return replace(format, turn=turn, starts=starts, capabilities=capabilities, conversation=Conversation())


def _check_lessons(format: ChatFormat, lessons: tuple[Lesson, ...], parts: frozenset[str], pattern: Pattern) -> Verdict:
    """Read the lessons themselves, and say in the verdict what was taught and what was not shown."""
    verdict = format.verdict
    failures: list[Counterexample] = []
    for lesson in lessons:
        got = format.parse(lesson.text, tools=declare_tools(lesson.calls) or None, prompt=lesson.prompt or None)
        expected = {
            "reasoning_content": lesson.reasoning or None,
            "content": lesson.content or None,
            "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in lesson.calls],
        }
        if not compare(expected, got):
            shown = json.dumps(expected, ensure_ascii=False), json.dumps(got, ensure_ascii=False)
            failures.append(Counterexample("examples", lesson.prompt, lesson.text, *shown))
    if len(failures) == len(lessons) and parts:
        raise LessonError(
            f"Learning from {len(lessons)} examples: none is read back with the format that they show. Check that each text "
            "is what the model writes, special tokens included, and that its message has every field of it. "
            f"The first was read as {failures[0].got}"
        )
    status = {
        part: TAUGHT if part in parts and known == "proven" and not failures else known for part, known in verdict.parts
    }
    count = len(lessons)
    notes = [f"taught by {count} example{'s' if count > 1 else ''}: {', '.join(sorted(parts))}"] if parts else []
    notes += [f"not known: {text}" for text in pattern.unknown] if parts else []
    notes += [f"{len(failures)} of the examples are not read back as they say"] if failures else []
    return replace(
        verdict,
        parts=tuple(status.items()),
        checked=verdict.checked + count,
        passed=verdict.passed + count - len(failures),
        counterexample=min(failures, key=lambda failure: len(failure.text), default=verdict.counterexample),
        notes=(*verdict.notes, *notes),
    )


def declare_tools(calls: Sequence[LessonCall]) -> list[dict[str, Any]]:
    """Declare the tools that calls use, every parameter with the type of its value."""
    return build_tools([Call.of(0, call.arguments, call.name) for call in calls], Shape()) if calls else []
