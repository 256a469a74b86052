"""Tokens that are no part of a format: their text is taken out of what the model wrote.

A format whose markers are special tokens can only be read where an engine shows the text of special tokens. Then it shows
all of them, also those that a client must not see. Which of them were generated, their ids tell; text that merely looks
like such a token was spelled by the model, and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..format import ChatFormat, TurnGraph
from ..parse.constants import is_firm

_MOST_DUE = 64


class TokenFilter:
    """Takes the texts of given tokens out of one generation.

    ``texts`` are the texts of those tokens by their ids. Text may come later than the ids of its tokens, as it does where an
    engine holds text back; only the beginning of a text that is due is held back here. Costs a look at the ids.
    """

    __slots__ = ("_due", "_held", "_texts")

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._due: list[str] = []
        self._held = ""

    def feed(self, text: str, ids: Collection[int]) -> str:
        """Read a piece of the output and the ids of its tokens; return what is to be read of it."""
        texts = self._texts
        for token in ids:
            if token in texts:
                self._due.append(texts[token])
        return self._take_out(text) if self._due or self._held else text

    def finish(self) -> str:
        """Say that the output has ended; return what was held back."""
        held, self._held = self._held, ""
        self._due.clear()
        return held

    def _take_out(self, text: str) -> str:
        text, kept = self._held + text, []
        while self._due:
            place, token = min(((text.find(token), token) for token in self._due if token in text), default=(-1, ""))
            if place < 0:
                break
            kept.append(text[:place])
            text = text[place + len(token) :]
            self._due.remove(token)
        del self._due[:-_MOST_DUE]  # the text of a token that stops generation never comes
        held = max((_count_overlap(text, token) for token in self._due), default=0)
        self._held = text[len(text) - held :]
        return "".join(kept) + text[: len(text) - held]


def is_structure(format: ChatFormat, token: str) -> bool:
    """Whether a token's text stands in something that a model writes as structure in this format, or holds a marker."""
    texts = _list_texts(format.graph)
    if any(token in text for text in texts):
        return True
    return any(mark in token for text in texts for mark in [text.strip()] if is_firm(mark))


def _list_texts(graph: TurnGraph) -> set[str]:
    """Return all texts that stand between fields, or that a generation prompt writes."""
    graphs = [graph.turn, *(inner for _, inner in graph.insides)]
    edges = [edge for inner in graphs for edge in inner.edges]
    edges += [edge for start in graph.starts for edge in start.edges]
    prompts = {start.prompt for start in graph.starts}
    return {part for edge in edges for part in edge.parts} | prompts | set(graph.stops)


def _count_overlap(text: str, token: str) -> int:
    """Return how long the ending of a text is that is a beginning of a token."""
    for size in range(min(len(token) - 1, len(text)), 0, -1):
        if text.endswith(token[:size]):
            return size
    return 0
