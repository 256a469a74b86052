"""The proof: what the template renders for fields of our choice, a parser must read back."""

from __future__ import annotations

from .cases import Case, draw_cases
from .proof import Read, prove

__all__ = ["Case", "Read", "draw_cases", "prove"]
