"""What was derived from a template, as plain data: fields, the texts between them, and how each field is written."""

from __future__ import annotations

from .chat_format import Asking, Capabilities, ChatFormat, Counterexample, Verdict
from .conversation import Conversation
from .model import Choice, Codec, Edge, Graph, Insides, Json, Kind, Node, Number, Numeral, Path, Start, Text, TurnGraph, Word
from .view import Reasoning

__all__ = [
    "Asking",
    "Capabilities",
    "ChatFormat",
    "Choice",
    "Codec",
    "Conversation",
    "Counterexample",
    "Edge",
    "Graph",
    "Insides",
    "Json",
    "Kind",
    "Node",
    "Number",
    "Numeral",
    "Path",
    "Reasoning",
    "Start",
    "Text",
    "TurnGraph",
    "Verdict",
    "Word",
]
