"""Texts cut in pieces of random sizes, as servers hand them on."""

from __future__ import annotations

import random


def cut_pieces(text: str, longest: int = 9) -> list[str]:
    """Cut a text in pieces of one to ``longest`` characters; the same text is always cut alike."""
    source, pieces, start = random.Random(text), [], 0
    while start < len(text):
        size = source.randint(1, longest)
        pieces.append(text[start : start + size])
        start += size
    return pieces
