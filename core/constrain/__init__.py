"""Grammars that hold a model to calls in its own format, and the turn that a model would write for a message."""

from __future__ import annotations

from .calls import Reasoned, ToolChoice, build_grammar
from .tag import build_structural_tag
from .text import TextGrammar, build_text_grammar

__all__ = ["Reasoned", "TextGrammar", "ToolChoice", "build_grammar", "build_structural_tag", "build_text_grammar"]
