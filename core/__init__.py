"""Derive a model's output format from its chat template, prove it, and parse what the model writes."""

from __future__ import annotations

from .analysis import analyze
from .delta import Delta
from .errors import AutoparserError, BudgetError, FormatError, TemplateError
from .format import (
    Arguments,
    Capabilities,
    ChatFormat,
    Content,
    Counterexample,
    ListNotation,
    Marker,
    ObjectBody,
    ObjectNotation,
    Reasoning,
    SequenceBody,
    Slot,
    Start,
    StringNotation,
    Tools,
    Turn,
    ValueNotation,
    Verdict,
)
from .renderer import Renderer, load_renderer

__all__ = [
    "Arguments",
    "AutoparserError",
    "BudgetError",
    "Capabilities",
    "ChatFormat",
    "Content",
    "Counterexample",
    "Delta",
    "FormatError",
    "ListNotation",
    "Marker",
    "ObjectBody",
    "ObjectNotation",
    "Reasoning",
    "Renderer",
    "SequenceBody",
    "Slot",
    "Start",
    "StringNotation",
    "TemplateError",
    "Tools",
    "Turn",
    "ValueNotation",
    "Verdict",
    "analyze",
    "load_renderer",
]
