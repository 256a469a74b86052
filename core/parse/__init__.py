"""A stream in, deltas out: parsers made from a graph."""

from __future__ import annotations

from .machine import ClosedParserError
from .splitter import ReasoningSplitter
from .stream import StreamParser

__all__ = ["ClosedParserError", "ReasoningSplitter", "StreamParser"]
