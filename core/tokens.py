"""Tokens that are no part of a format: their text is taken out of what the model wrote.

A format whose markers are special tokens can only be read where an engine shows the text of special tokens. Then it shows
all of them, also those that a client must not see. Which of them were generated, their ids tell; text that merely looks
like such a token was spelled by the model, and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .format import KEY, NAME, ChatFormat
from .scanner import is_weak

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


def drop_tokens(text: str, texts: Collection[str]) -> str:
    """Take the texts of tokens out of a whole output whose ids are not known."""
    for token in texts:
        text = text.replace(token, "")
    return text


def is_structure(format: ChatFormat, token: str) -> bool:
    """Whether a token's text stands in something that a model writes as structure in this format, or holds a marker."""
    tools, turn = format.tools, format.turn
    markers = [*_list_texts((turn.continuation, turn.header_end, turn.end, format.reasoning, format.content))]
    markers += [start.prefix for start in format.starts]
    values: list[str] = []
    if tools is not None:
        markers += _list_texts((tools.section_start, tools.section_end, tools.call_start, tools.call_end, tools.separator))
        markers += [behind for _, behind in getattr(tools.body, "fields", ())]
        values += _list_texts(tools.arguments)
    if any(token in text for text in (*markers, *values)):
        return True
    return any(text.strip() in token for text in markers if not is_weak(text))


def _list_texts(value: Any) -> Iterator[str]:
    """Return the texts that a part of a format holds, without the places of name and key in them."""
    if isinstance(value, str):
        yield from value.replace(KEY, NAME).split(NAME)
    elif isinstance(value, tuple):
        for item in value:
            yield from _list_texts(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _list_texts(getattr(value, field.name))


def _count_overlap(text: str, token: str) -> int:
    """Return how long the ending of a text is that is a beginning of a token."""
    for size in range(min(len(token) - 1, len(text)), 0, -1):
        if text.endswith(token[:size]):
            return size
    return 0
