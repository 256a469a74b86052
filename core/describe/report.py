"""A format in a few lines, for the log of a server: the verdict, reasoning, content and calls, and what is in doubt."""

from __future__ import annotations

import logging

from ..format import ChatFormat
from ..format.view import Marker
from .spans import show_text
from .verdict import list_doubts, summarise
from .words import show_call

_ADVICE = (
    "Show examples of what the model writes in a file that CHAT_AUTOPARSER_EXAMPLES names, or choose one of the engine's "
    "own parsers"
)


def report_format(format: ChatFormat, name: str, seconds: float) -> str:
    """Return one line with what was derived from a template, called ``name``, and how far it is proven."""
    text = "; ".join(summarise_format(format)).replace("\n", "\\n")
    return f"chat-autoparser: from {name} in {seconds * 1000:.0f} ms: {text}"


def warn_of_doubts(format: ChatFormat, name: str, log: logging.Logger) -> None:
    """Warn, in one line, where something could not be established; says what it means and what to do."""
    doubts = "; ".join(map(str, list_doubts(format))).replace("\n", "\\n")
    if doubts:
        log.warning("chat-autoparser: %s is not understood in full: %s. %s", name, doubts, _ADVICE)


def summarise_format(format: ChatFormat) -> list[str]:
    """Return a format in four lines: the verdict, reasoning, content and tool calls, each as the model writes it."""
    content = format.content
    return [
        summarise(format.verdict),
        "reasoning: " + _say_reasoning(format),
        "content: " + ("plain" if content.wrapped == "never" else _say_between(content.start, "…", content.end)),
        "tool calls: " + _say_calls(format),
    ]


def name_start(format: ChatFormat) -> str:
    """Say how the prompt without switches leaves reasoning: ``"opened by the prompt"``, ``"closed by the prompt"`` or
    nothing.
    """
    state = format.states[0][2] if format.states else "open"
    return {"reasoning": "opened by the prompt", "content": "closed by the prompt"}.get(state, "")


def _say_reasoning(format: ChatFormat) -> str:
    reasoning = format.reasoning
    if reasoning is None:
        return "none"
    how = name_start(format)
    return _say_between(reasoning.start, "…", reasoning.end) + (f" ({how})" if how else "")


def _say_calls(format: ChatFormat) -> str:
    tools = format.tools
    if tools is None:
        return "not known, though the template takes tools" if format.capabilities.tools else "none"
    call = "".join(span.text for span in show_call(format))
    return _say_between(tools.section_start, call, tools.section_end)


def _say_between(start: Marker, inner: str, end: Marker) -> str:
    return inner.join("".join(span.text for span in show_text(marker.written)) for marker in (start, end))
