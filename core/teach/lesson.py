"""Lessons: raw outputs of a model, each with the message that it means, by which a format is taught.

A lesson is JSON: ``text`` is what the model wrote, ``message`` the OpenAI message that it stands for (``content``,
``reasoning_content``, ``tool_calls``). ``prompt``, which may be left out, is the rendered prompt or its end: what stands
right before the text. A file holds one lesson or a list of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ask.question import REASONING_FIELDS, Call
from ..ask.source import read_json
from ..errors import LessonError
from ..message import read_arguments

VARIABLE = "CHAT_AUTOPARSER_EXAMPLES"
"""The environment variable that names a file of lessons."""

_KEYS = {"text", "message", "prompt"}


@dataclass(frozen=True)
class Lesson:
    """What a model wrote, and what it means; fields that are absent are empty."""

    text: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    prompt: str = ""


def load_lessons(source: Any) -> tuple[Lesson, ...]:
    """Return lessons from a file (a :class:`~pathlib.Path`), or from data as such a file holds it.

    Raises :class:`LessonError` where that cannot be read or is no lesson.
    """
    where = "the examples"
    if isinstance(source, Path):
        where, source = str(source), read_json(source, "the examples in ", LessonError)
    if isinstance(source, Mapping) and "examples" in source:
        source = source["examples"]
    if isinstance(source, Mapping):
        source = [source]
    if not isinstance(source, Iterable) or isinstance(source, (str, bytes)):
        raise LessonError(f"Reading {where} found {type(source).__name__} and no list. Pass a list of {_SHAPE}.")
    lessons = tuple(
        item if isinstance(item, Lesson) else _read_lesson(item, f"example {number} of {where}")
        for number, item in enumerate(source)
    )
    if not lessons:
        raise LessonError(f"Reading {where} found no example in it. Pass a list of {_SHAPE}.")
    return lessons


def load_environment_lessons() -> tuple[Lesson, ...]:
    """Return the lessons in the file that ``CHAT_AUTOPARSER_EXAMPLES`` names, or none where it is not set.

    Raises :class:`LessonError` where that file cannot be used.
    """
    named = os.environ.get(VARIABLE, "")
    return load_lessons(Path(named)) if named else ()


_SHAPE = '{"text": RAW OUTPUT, "message": {"content": …, "reasoning_content": …, "tool_calls": […]}}'


def _read_lesson(data: Any, where: str) -> Lesson:
    if not isinstance(data, Mapping) or not (isinstance(data.get("text"), str) and isinstance(data.get("message"), Mapping)):
        raise LessonError(f"Reading {where}: it is not of the form {_SHAPE}.")
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise LessonError(f"Reading {where}: the key {unknown[0]!r} is not known; known are {', '.join(sorted(_KEYS))}.")
    message, prompt = data["message"], data.get("prompt") or ""
    reasoning = next((message[name] for name in REASONING_FIELDS if message.get(name)), "")
    content = read_text(message)
    if not all(isinstance(text, str) for text in (reasoning, content, prompt)):
        raise LessonError(f"Reading {where}: prompt, reasoning and content are texts or left out.")
    read = [read_call(call) for call in message.get("tool_calls") or []]
    calls = tuple(call for call in read if call is not None)
    if len(calls) != len(read):
        raise LessonError(f"Reading {where}: a tool call has a function with a name, and arguments that are a JSON object.")
    if not reasoning and not content and not calls:
        raise LessonError(f"Reading {where}: its message has neither reasoning nor content nor tool calls.")
    return Lesson(data["text"], reasoning, content, calls, prompt)


def read_text(message: Mapping[str, Any]) -> Any:
    """Return the content of a message as a text, that of typed parts joined; what is neither is returned as it is."""
    content = message.get("content") or ""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content


def read_call(data: Any, strict: bool = False) -> Call | None:
    """Return a tool call of a message, None where it is none; its arguments may be the text of an object unless ``strict``."""
    function = data.get("function", data) if isinstance(data, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    given = function.get("arguments", {})
    arguments = read_arguments(given or "{}") if isinstance(given, str) and not strict else given
    return Call.of(function["name"], str(data.get("id") or ""), arguments) if isinstance(arguments, dict) else None
