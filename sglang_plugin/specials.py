"""Special tokens that no client may see, taken out of text whose token ids are not known.

The parsers need the special tokens that are markers of the format, and SGLang shows all of them or none. Detectors are given
text without its tokens; so whatever reads like such a token goes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection


class TokenDropper:
    """Takes the given texts out of a stream, wherever it is cut. Costs a look for their first characters."""

    __slots__ = ("_heads", "_held", "_lengths", "_sorted", "_texts")

    def __init__(self, texts: frozenset[str], heads: Collection[str]) -> None:
        self._texts = texts
        self._heads = heads
        self._lengths: list[int] = []
        self._sorted: list[str] = []
        self._held = ""

    def feed(self, text: str) -> str:
        """Read a piece of the stream; return what is left of it, but for an ending that may become such a text."""
        if self._held:
            text, self._held = self._held + text, ""
        for head in self._heads:
            if head in text:
                return self._drop(text)
        return text

    def finish(self) -> str:
        """Say that the stream has ended; return what was held back."""
        held, self._held = self._held, ""
        return held

    def _drop(self, text: str) -> str:
        if not self._sorted:
            self._sorted = sorted(self._texts)
            self._lengths = sorted({len(token) for token in self._texts}, reverse=True)
        kept: list[str] = []
        start = at = 0
        while at < len(text):
            if text[at] not in self._heads:
                at += 1
                continue
            length = next((n for n in self._lengths if text[at : at + n] in self._texts), 0)
            if length:
                kept.append(text[start:at])
                start = at = at + length
            elif len(text) - at < self._lengths[0] and self._may_grow(text[at:]):
                self._held = text[at:]
                kept.append(text[start:at])
                return "".join(kept)
            else:
                at += 1
        kept.append(text[start:])
        return "".join(kept)

    def _may_grow(self, ending: str) -> bool:
        """Whether an ending is the beginning of such a text."""
        place = bisect_left(self._sorted, ending)
        return place < len(self._sorted) and self._sorted[place].startswith(ending)
