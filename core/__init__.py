"""Derive a model's output format from its chat template, prove it, and parse what the model writes."""

from __future__ import annotations

from .analysis import analyze
from .attribution import attribute, find_written
from .bridge import bridge
from .delta import Delta
from .errors import AutoparserError, BudgetError, ConstraintError, FormatError, LessonError, TemplateError
from .format import (
    Arguments,
    Capabilities,
    ChatFormat,
    Content,
    Conversation,
    Counterexample,
    EntriesLayout,
    EntryLayout,
    Layout,
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
from .gbnf import TextGrammar, build_text_grammar
from .lesson import Lesson, load_environment_lessons, load_lessons
from .renderer import Renderer, load_renderer
from .response import ResponseTemplate, compare_response_template
from .roundtrip import check_roundtrips
from .structural import build_structural_tag
from .validation import Problem, check_conversation

__all__ = [
    "Arguments",
    "AutoparserError",
    "BudgetError",
    "Capabilities",
    "ChatFormat",
    "ConstraintError",
    "Content",
    "Conversation",
    "Counterexample",
    "Delta",
    "EntriesLayout",
    "EntryLayout",
    "FormatError",
    "Layout",
    "Lesson",
    "LessonError",
    "ListNotation",
    "Marker",
    "ObjectBody",
    "ObjectNotation",
    "Problem",
    "Reasoning",
    "Renderer",
    "ResponseTemplate",
    "Role",
    "SequenceBody",
    "Slot",
    "Start",
    "Step",
    "StringNotation",
    "TemplateError",
    "TextGrammar",
    "Tools",
    "Turn",
    "ValueNotation",
    "Verdict",
    "analyze",
    "attribute",
    "bridge",
    "build_structural_tag",
    "build_text_grammar",
    "check_conversation",
    "check_roundtrips",
    "compare_response_template",
    "find_written",
    "load_environment_lessons",
    "load_lessons",
    "load_renderer",
]
