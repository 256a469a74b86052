"""Structural tags for SGLang, from the core's."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from chat_autoparser import ChatFormat
from chat_autoparser.serve import State, TagMaker, ToolChoice, describe_tools

from . import LOG, engine

_TAGS = TagMaker(engine.compile_tag, LOG.warning)


def make_tag(format: ChatFormat, tools: Iterable[Any] | None, choice: Any, parallel: bool, reasoning: State = "ended") -> Any:
    """Return xgrammar's structural tag for a request, or None where the format has none; the log says why.

    ``choice`` is SGLang's: `auto`, `required` or one function's, of which there is then exactly one call. ``reasoning`` says
    what the tag has to hold of it: see :func:`chat_autoparser.build_structural_tag`.
    """
    backend = engine.read_setting("grammar_backend", engine.TAG_BACKEND)
    if backend != engine.TAG_BACKEND:
        _warn(backend)
        return None
    return _TAGS.make(format, describe_tools(tools), ToolChoice.read(choice), parallel=parallel, reasoning=reasoning)


@lru_cache
def _warn(backend: str) -> None:
    LOG.warning(
        "--grammar-backend %s cannot hold calls to the model's own format: SGLang's JSON form is used for calls that a "
        "request requires or names, and strict tools are not enforced elsewhere",
        backend,
    )
