"""A format and a tokenizer: which special tokens this has, and which of them a client must not see.

A format whose markers are special tokens can only be read where an engine shows the text of special tokens. Then it shows
all of them, also those that have no part in the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from ..constrain.calls import Reasoned
from ..format import ChatFormat, TurnGraph
from ..plan.constants import is_firm


def list_special_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the special tokens of a tokenizer by their ids: those that an engine leaves out of the text by default.

    ``tokenizer`` has what transformers' have: ``added_tokens_decoder``, ``all_special_tokens`` and ``all_special_ids``; what
    is missing counts as empty.
    """
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    special = {token: str(entry) for token, entry in added.items() if getattr(entry, "special", False)}
    ids = getattr(tokenizer, "all_special_ids", None) or ()
    special.update(zip(ids, getattr(tokenizer, "all_special_tokens", None) or (), strict=False))
    return {token: text for token, text in special.items() if text}


def list_named_tokens(tokenizer: Any) -> dict[str, str]:
    """Return the special tokens that a template can name, by these names; others than single texts have no name of their own."""
    tokens = getattr(tokenizer, "special_tokens_map", None) or {}
    return {name: text for name, text in tokens.items() if isinstance(text, str)}


def decode_apart(
    ids: Sequence[int], special: Mapping[int, str], decode: Callable[[Sequence[int]], str]
) -> Iterator[tuple[list[int], str]]:
    """Return tokens with their texts: each special one for itself, and each stretch between them as ``decode`` has it."""
    for known, group in groupby(ids, special.__contains__):
        stretch = list(group)
        if known:
            yield from (([token], special[token]) for token in stretch)
        else:
            yield stretch, decode(stretch)


def cut_at_special(
    text: str, ids: Sequence[int], special: Mapping[int, str], decode: Callable[[Sequence[int]], str]
) -> list[tuple[str, Sequence[int]]]:
    """Cut the text of several tokens where ``special`` ones stand; returns pieces of the text, each with its tokens.

    Which of several equal texts was such a token, and which the model has spelled, only the texts of the other tokens tell:
    these are asked of ``decode``. The text may end before its tokens do: engines take off what stopped the output. Where the
    tokens do not begin with the text it stays whole.
    """
    if len(ids) < 2 or special.keys().isdisjoint(ids):
        return [(text, ids)]
    pieces: list[tuple[str, Sequence[int]]] = []
    rest = text
    for tokens, whole in decode_apart(ids, special, decode):
        piece = whole[: len(rest)]
        if not rest.startswith(piece):
            return [(text, ids)]
        pieces.append((piece, tokens))
        rest = rest[len(piece) :]
    return [(text, ids)] if rest else pieces


_TAILS = (48, 512)  # how many tokens of a prompt are looked at before all of it is


@dataclass(frozen=True, eq=False)
class Served:
    """A format and a tokenizer; what is found out of them is found out once."""

    format: ChatFormat
    tokenizer: Any

    @cached_property
    def plain(self) -> ChatFormat:
        """The format without reasoning, which is then text like any other."""
        return self.format.without_reasoning()

    @cached_property
    def special(self) -> dict[int, str]:
        """The special tokens that have no part in the format, by their ids: :class:`OutputReader` drops them."""
        tokens = list_special_tokens(self.tokenizer)
        return {token: text for token, text in tokens.items() if not is_structure(self.format, text)}

    @cached_property
    def needs_special(self) -> bool:
        """Whether the format can only be read where the text of special tokens is shown."""
        return len(self.special) < len(list_special_tokens(self.tokenizer))

    @cached_property
    def end_mark(self) -> str:
        """The text behind which reasoning is over: its own, or that of content, which has to follow; "" where there is none."""
        return (self.format.reasoning.end.text or self.format.content.start.text) if self.format.reasoning else ""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, special ones included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    def read_prompt(self, ids: Sequence[int]) -> str:
        """Return the end of a prompt's text, from before the header of the assistant's turn on."""
        header = self.format.header
        for length in _TAILS:
            if length >= len(ids):
                break
            text = self.decode(ids[-length:])
            if header and header in text:
                return text
        return self.decode(ids)

    def find_state(self, prompt: str | None) -> Reasoned:
        """Return what a prompt leaves to the model."""
        splitter = self.format.reasoning_splitter([], prompt)
        return "open" if splitter.in_reasoning else "ended" if splitter.reasoning_ended else "possible"


def is_structure(format: ChatFormat, token: str) -> bool:
    """Whether a token's text stands in something that a model writes as structure in this format, or holds a marker."""
    texts = _list_texts(format.graph)
    marks = filter(is_firm, map(str.strip, texts))
    return any(token in text for text in texts) or any(mark in token for mark in marks)


def _list_texts(graph: TurnGraph) -> set[str]:
    """Return all texts that stand between fields, or that a generation prompt writes."""
    graphs = (graph.turn, *(inner for _, inner in graph.insides))
    edges = [*graph.begun, *(edge for inner in graphs for edge in inner.edges)]
    prompts = {start.prompt for start in graph.starts}
    return {part for edge in edges for part in edge.parts} | prompts | set(graph.stops)
