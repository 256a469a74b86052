"""Structural tags for SGLang, from the core's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from chat_autoparser import AutoparserError, ChatFormat, build_structural_tag
from chat_autoparser.serve import ToolChoice, describe_tools

from . import LOG, engine

LONGEST = 200_000
"""How many characters the tools may have whose tag is made here: it is made while other requests wait."""


def make_tag(format: ChatFormat, tools: Iterable[Any] | None, choice: Any, parallel: bool, reasoning: str = "ended") -> Any:
    """Return xgrammar's structural tag for a request, or None where the format has none; the log says why.

    ``choice`` is SGLang's: `auto`, `required` or one function's, of which there is then exactly one call. ``reasoning`` says
    what the tag has to hold of it: see :func:`chat_autoparser.build_structural_tag`.
    """
    backend = engine.read_setting("grammar_backend", engine.TAG_BACKEND)
    if backend != engine.TAG_BACKEND:
        _warn(backend)
        return None
    chosen = ToolChoice.read(choice)
    text = json.dumps([chosen.select(describe_tools(tools)), chosen.mode, parallel and not chosen.single, reasoning])
    return _make_tag(_Key(format, text)) if len(text) <= LONGEST else None


class _Key:
    """What a tag is made from; equal for equal requests to the same format."""

    __slots__ = ("_text", "format")

    def __init__(self, format: ChatFormat, text: str) -> None:
        self.format = format
        self._text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.format is other.format and self._text == other._text

    def __hash__(self) -> int:
        return hash((id(self.format), self._text))

    def read(self) -> Any:
        return json.loads(self._text)


@lru_cache
def _warn(backend: str) -> None:
    LOG.warning(
        "--grammar-backend %s cannot hold calls to the model's own format: SGLang's JSON form is used for calls that a "
        "request requires or names, and strict tools are not enforced elsewhere",
        backend,
    )


@lru_cache(maxsize=256)
def _make_tag(key: _Key) -> Any:
    tools, choice, parallel, reasoning = key.read()
    try:
        tag = build_structural_tag(key.format, tools, choice, parallel=parallel, reasoning=reasoning)
        return engine.compile_tag(tag)
    except (AutoparserError, ValueError, RuntimeError, RecursionError) as error:
        LOG.warning("Calls cannot be held to the model's own format, SGLang's JSON form is used where it must: %s", error)
        return None
