"""What stands in a detector's text and is no text of the model's: special tokens, and half a character.

The parsers need the special tokens that are markers of the format, and SGLang shows all of them or none. Detectors are given
text without its tokens; so whatever reads like such a token goes.

Where a limit cuts the output amid the bytes of a character, SGLang writes U+FFFD for what there is of it, at the very end
(0.5.23, `srt/managers/detokenizer_manager.py`). It may be half of a marker's character, and then it is no text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection

HALF = "\ufffd"
"""What SGLang writes for a character that the end of the output has cut in two."""

_BYTES = 4  # of the longest character, each of which may have a U+FFFD of its own


class TokenDropper:
    """Takes the given texts out of a stream, wherever it is cut. Costs a look for their first characters.

    What may be half a character is kept back until something follows it, or nothing does.
    """

    __slots__ = ("_heads", "_held", "_lengths", "_longest", "_sorted", "_texts")

    def __init__(self, texts: frozenset[str], heads: Collection[str]) -> None:
        self._texts = texts
        self._heads = (HALF, *heads)
        self._lengths: list[int] = []
        self._longest = 0
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

    def finish(self, text: str = "") -> tuple[str, str]:
        """Read the last piece of the stream; return what is left of it and of what was held back, and half a character."""
        text = self.feed(text)
        held, self._held = self._held, ""
        return (text, held) if held.startswith(HALF) else (text + held, "")

    def _drop(self, text: str) -> str:
        if not self._sorted:
            self._sorted = sorted(self._texts)
            self._lengths = sorted({len(token) for token in self._texts}, reverse=True)
            self._longest = max([_BYTES, *self._lengths])
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
            elif len(text) - at < self._longest and self._may_grow(text[at:]):
                self._held = text[at:]
                kept.append(text[start:at])
                return "".join(kept)
            else:
                at += 1
        kept.append(text[start:])
        return "".join(kept)

    def _may_grow(self, ending: str) -> bool:
        """Whether an ending is the beginning of such a text, or half a character."""
        if ending[0] == HALF:
            return not ending.strip(HALF)
        place = bisect_left(self._sorted, ending)
        return place < len(self._sorted) and self._sorted[place].startswith(ending)
