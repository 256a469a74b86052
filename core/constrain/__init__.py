"""Grammars that hold a model to calls in its own format, and the turn that a model would write for a message."""

from __future__ import annotations

from .calls import Reasoned, ToolChoice, build_grammar
from .example import Example, make_example
from .tag import build_structural_tag, prepend_reasoning
from .text import TextGrammar, build_text_grammar
from .write import Piece, write_pieces, write_turn

__all__ = [
    "Example",
    "Piece",
    "Reasoned",
    "TextGrammar",
    "ToolChoice",
    "build_grammar",
    "build_structural_tag",
    "build_text_grammar",
    "make_example",
    "prepend_reasoning",
    "write_pieces",
    "write_turn",
]
