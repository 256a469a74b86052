"""What is read where a model did not write what its template shows. Nothing here knows a format; imports nothing but schemas."""

from __future__ import annotations

from .shape import Envelope, FoundCall, read_calls

__all__ = ["Envelope", "FoundCall", "read_calls"]
