"""A format in one line, for the log of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..describe.report import summarise_format
from ..describe.report import warn_of_doubts as list_doubts

if TYPE_CHECKING:
    import logging

    from ..format import ChatFormat

ADVICE = (
    "Show examples of what the model writes in a file that CHAT_AUTOPARSER_EXAMPLES names, or choose one of the engine's "
    "own parsers"
)
"""What an operator can do where a format is not proven."""


def report_format(format: ChatFormat, name: str, seconds: float | None = None) -> str:
    """Return one line with what was derived from a template, called ``name``, and how far it is proven."""
    took = "" if seconds is None else f" in {seconds * 1000:.0f} ms"
    text = "; ".join(summarise_format(format)).replace("\n", "\\n")
    return f"chat-autoparser: from {name}{took}: {text}"


def warn_of_doubts(format: ChatFormat, name: str, log: logging.Logger) -> None:
    """Warn, in one line, where something could not be established; says what it means and what to do."""
    doubts = list_doubts(format)
    if doubts:
        log.warning("chat-autoparser: %s is not understood in full: %s. %s", name, "; ".join(doubts), ADVICE)
