"""One output on its way through SGLang's two stages.

SGLang reads an output with two parsers: the first takes the reasoning out, the second makes calls of the rest. Where both
are ours and serve a request together, the first reads everything in one pass and leaves the second what is not reasoning,
on the :class:`Turn` that the request carries; the text between them is then not looked at again. The turn also brings what
SGLang's parsers are not told: the ids of the tokens behind a text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from chat_autoparser import Delta
from chat_autoparser.serve import OutputReader, cut_at_special

from . import LOG
from .formats import Reader

HALF = "\ufffd"
"""What SGLang writes, at the end of the output, for a character that a limit has cut in two (`detokenizer_manager.py`)."""

Piece = tuple[str, Collection[int]]
_NONE: Collection[int] = ()


class Turn:
    """One request, as the parsers of its outputs need it.

    ``single`` says that it wants one call at most, ``joined`` that a parser of ours makes the calls of what another one of
    ours leaves, ``tools`` which those are, and ``shows`` that the outputs have special tokens in them which are to go.
    """

    def __init__(
        self, reader: Reader, tools: list[dict[str, Any]], *, single: bool = False, joined: bool = False, shows: bool = False
    ) -> None:
        self.reader = reader
        self.tools = tools
        self.single = single
        self.joined = joined
        self.special = reader.special if shows else {}
        self.cut = False
        self.first: Reading | None = None
        self._deltas: list[Delta] = []
        self._seen: dict[int, int] = {}
        self._due: dict[int, list[int]] = {}
        self._index = 0
        self._whole: list[tuple[str, list[int]]] = []

    # What the first stage leaves to the second

    def leave(self, first: Reading, deltas: list[Delta]) -> None:
        """Leave deltas to the second stage; ``first`` has read them. What nobody has taken of another output goes."""
        self._deltas = self._deltas + deltas if first is self.first else deltas
        self.first = first

    def take(self) -> list[Delta]:
        """Return what was left since the last time."""
        deltas, self._deltas = self._deltas, []
        return deltas

    @property
    def has_calls(self) -> bool:
        """Whether calls are among what was left."""
        return any(delta.kind == "tool_call" for delta in self._deltas)

    # The tokens behind the text

    def note(self, output: dict[str, Any], incremental: bool) -> None:
        """Look at a part of a stream before the stages are given its text."""
        self._index = index = output.get("index", 0)
        ids = output.get("output_ids") or []
        if not incremental:  # SGLang goes on adding to this list
            count = output["meta_info"].get("completion_tokens", len(ids))
            ids, self._seen[index] = ids[self._seen.get(index, 0) : count], count
        if self._due.get(index) or any(token in self.special for token in ids):
            self._due.setdefault(index, []).extend(ids)

    def note_whole(self, outputs: list[dict[str, Any]]) -> None:
        """Look at whole outputs before the stages are given their text."""
        self._whole = [(str(output.get("text")), list(output.get("output_ids") or ())) for output in outputs]

    def split(self, text: str) -> list[Piece]:
        """Return the next text of a stream with the ids of its special tokens, in pieces that tell where each stands."""
        ids = self._due.pop(self._index, None) if self._due else None
        return cut_at_special(text, ids, self.special, self._decode) if ids else [(text, _NONE)]

    def split_whole(self, text: str) -> list[Piece]:
        """Return a whole output likewise."""
        for place, (known, ids) in enumerate(self._whole):
            if known == text:
                del self._whole[place]
                return cut_at_special(text, ids, self.special, self._decode)
        return [(text, _NONE)]

    def _decode(self, ids: Sequence[int]) -> str:
        options = {"skip_special_tokens": False, "spaces_between_special_tokens": False}
        return str(self.reader.tokenizer.decode(list(ids), **options))


class Prompt(str):
    """A rendered prompt that knows the turn it begins: SGLang hands prompts to its parsers, and no requests."""

    turn: Turn

    @classmethod
    def mark(cls, prompt: str, turn: Turn) -> Prompt:
        """Return a prompt that knows this turn."""
        marked = cls(prompt)
        marked.turn = turn
        return marked


class Reading:
    """Reads one output with a parser of the core's; ``drops`` tells whether special tokens that a turn knows of go.

    Raises nothing. Half a character is kept back until the end.
    """

    def __init__(self, reader: Reader, tools: list[dict[str, Any]], parser: Any, turn: Turn | None, drops: bool = True) -> None:
        self._parser = parser
        self._turn = turn
        special = turn.special if turn and drops else {}
        self._reader = OutputReader(reader.format, tools, parser=parser, special=special, log=LOG)
        self._half = ""

    @property
    def incomplete(self) -> frozenset[int]:
        """The numbers of the calls that were cut off."""
        return self._reader.incomplete

    def read(self, text: str) -> list[Delta]:
        """Read the next text of a stream."""
        return self._feed(self._turn.split(text) if self._turn else [(text, _NONE)])

    def read_whole(self, text: str) -> list[Delta]:
        """Read a whole output."""
        return self._feed(self._turn.split_whole(text) if self._turn else [(text, _NONE)]) + self.finish()

    def _feed(self, pieces: list[Piece]) -> list[Delta]:
        deltas: list[Delta] = []
        for text, ids in pieces:
            if self._half:
                text, self._half = self._half + text, ""
            if text.endswith(HALF):
                whole = text.rstrip(HALF)
                text, self._half = whole, text[len(whole) :]
            deltas += self._reader.feed(text, ids)
        return deltas

    def finish(self) -> list[Delta]:
        """Return all that is left. Half a character of what may be a marker is no text."""
        half = self._half if not self._parser.holds_back else ""
        deltas = self._reader.feed(half) if half else []
        return deltas + self._reader.finish()
