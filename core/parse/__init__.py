"""A stream in, deltas out: parsers made from a graph."""

from __future__ import annotations

from .stream import StreamParser

__all__ = ["StreamParser"]
