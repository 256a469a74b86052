"""Grammars that hold a model to calls in its own format, and the turn that a model would write for a message."""

from __future__ import annotations

from .calls import build_grammar
from .tag import build_structural_tag, prepend_reasoning
from .text import TextGrammar, build_text_grammar
from .write import write_turn

__all__ = [
    "TextGrammar",
    "build_grammar",
    "build_structural_tag",
    "build_text_grammar",
    "prepend_reasoning",
    "write_turn",
]
