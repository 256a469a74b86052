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
    Conversation,
    Counterexample,
    ListNotation,
    Marker,
    ObjectBody,
    ObjectNotation,
    Reasoning,
    Role,
    SequenceBody,
    Slot,
    Start,
    Step,
    StringNotation,
    Tools,
    Turn,
    ValueNotation,
    Verdict,
)
from .renderer import Renderer, load_renderer
from .validation import Problem, check_conversation, validate

__all__ = [
    "Arguments",
    "AutoparserError",
    "BudgetError",
    "Capabilities",
    "ChatFormat",
    "Content",
    "Conversation",
    "Counterexample",
    "Delta",
    "FormatError",
    "ListNotation",
    "Marker",
    "ObjectBody",
    "ObjectNotation",
    "Problem",
    "Reasoning",
    "Renderer",
    "Role",
    "SequenceBody",
    "Slot",
    "Start",
    "Step",
    "StringNotation",
    "TemplateError",
    "Tools",
    "Turn",
    "ValueNotation",
    "Verdict",
    "analyze",
    "check_conversation",
    "load_renderer",
    "validate",
]
