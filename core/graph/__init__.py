"""What was derived from a template, as plain data: fields, the texts between them, and how each field is written."""

from __future__ import annotations

from .model import (
    Choice,
    Codec,
    Edge,
    Graph,
    Insides,
    Json,
    Kind,
    Node,
    Number,
    Numeral,
    Start,
    Text,
    TurnGraph,
)

__all__ = [
    "Choice",
    "Codec",
    "Edge",
    "Graph",
    "Insides",
    "Json",
    "Kind",
    "Node",
    "Number",
    "Numeral",
    "Start",
    "Text",
    "TurnGraph",
]
