"""A format in a few lines, for the log of a server: what was derived, what the proof says, and what is in doubt."""

from __future__ import annotations

import json

from .description import show_marker, show_structure, summarise
from .format import TAUGHT, ChatFormat, Marker, ObjectBody, Tools

_DOUBTS = {
    "reasoning": "reasoning may arrive as content, or content as reasoning",
    "content": "content may arrive with markup in it",
    "tools": "tool calls may arrive as content",
}


def summarise_format(format: ChatFormat) -> list[str]:
    """Return a format in four lines: the verdict, reasoning, content and tool calls, each as the model writes it."""
    return [
        summarise(format.verdict),
        "reasoning: " + _say_reasoning(format),
        "content: " + (_say_between(format.content.start, "…", format.content.end) if format.content.start else "plain"),
        "tool calls: " + _say_calls(format),
    ]


def list_doubts(format: ChatFormat) -> list[str]:
    """Return what could not be established, a line for each part; each says what that means for a client."""
    doubts = []
    for part, status in format.verdict.parts:
        if status not in ("proven", "absent", TAUGHT):
            found = f" ({format.tools.provenance})" if part == "tools" and format.tools else ""
            doubts.append(f"{part}{found}: {status}; {_DOUBTS.get(part, 'it may be read wrongly')}")
    return doubts


def _say_reasoning(format: ChatFormat) -> str:
    reasoning = format.reasoning
    if reasoning is None:
        return "none"
    default = next((start for start in format.starts if not start.switches), None)
    opened = {"reasoning": "opened by the prompt", "content": "closed by the prompt"}
    how = opened.get(default.state, "") if default else ""
    return _say_between(reasoning.start, "…", reasoning.end) + (f" ({how})" if how else "")


def _say_calls(format: ChatFormat) -> str:
    tools = format.tools
    if tools is None:
        return "not known, though the template takes tools" if format.capabilities.tools else "none"
    call = _say_between(tools.call_start, _say_body(tools), tools.call_end)
    call = _say_between(tools.section_start, call, tools.section_end)
    sources = {"instructions": " (read from the instructions in the prompt)", "examples": " (taught by example)"}
    return call + sources.get(tools.provenance, "")


def _say_body(tools: Tools) -> str:
    body = tools.body
    if isinstance(body, ObjectBody):
        if body.name_is_key:
            call = "{NAME: ARGUMENTS}"
        else:
            call = "{" + f"{_say_path(body.name)}: NAME, {_say_path(body.arguments)}: ARGUMENTS" + "}"
        return f"[{call}]" if body.array else call
    words = {"name": "NAME", "id": "ID", "arguments": "ARGUMENTS", "id with name": "ID"}
    return "".join(words[field] + "".join(span.text for span in show_structure(behind)) for field, behind in body.fields)


def _say_path(path: tuple[str, ...]) -> str:
    return json.dumps(".".join(path), ensure_ascii=False)


def _say_between(start: Marker, inner: str, end: Marker) -> str:
    texts = ("".join(span.text for span in show_marker(marker)) for marker in (start, end))
    return inner.join(texts)
