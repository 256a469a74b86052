"""One output on its way through SGLang's two stages.

SGLang reads an output with two parsers: the first takes the reasoning out, the second makes calls of the rest. Where both
are ours and serve a request together, the first reads everything in one pass and leaves the second what is not reasoning,
on the :class:`Turn` that the request carries; the text between them is then not looked at again. The turn also brings what
SGLang's parsers are not told: the ids of the tokens behind a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chat_autoparser import Delta
from chat_autoparser.serve import OutputReader

from . import LOG
from .formats import Reader

HALF = "\ufffd"
"""What SGLang writes, at the end of the output, for a character that a limit has cut in two (`detokenizer_manager.py`)."""


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

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Become None where SGLang writes requests to a file: that is to be read without a tokenizer, and without this package."""
        return type(None), ()

    # What the first stage leaves to the second, which reads it here as if this were its output

    def leave(self, first: Reading, deltas: list[Delta]) -> None:
        """Leave deltas to the second stage; ``first`` has read them. What nobody has taken of another output goes."""
        self._deltas = self._deltas + deltas if first is self.first else deltas
        self.first = first

    def read(self, text: str = "") -> list[Delta]:
        """Return what was left since the last time, whatever text stands between the stages."""
        deltas, self._deltas = self._deltas, []
        return deltas

    read_whole = finish = read

    @property
    def incomplete(self) -> frozenset[int]:
        """The numbers of the calls that were cut off."""
        return self.first.incomplete if self.first else frozenset()

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
        self._due.setdefault(index, []).extend(ids)

    def note_whole(self, outputs: list[dict[str, Any]]) -> None:
        """Look at whole outputs before the stages are given their text."""
        self._whole = [(str(output.get("text")), list(output.get("output_ids") or ())) for output in outputs]

    def take_ids(self) -> Sequence[int]:
        """Return the tokens of the next text of a stream."""
        return self._due.pop(self._index, ())

    def take_ids_of(self, text: str) -> Sequence[int]:
        """Return the tokens of a whole output."""
        for place, (known, ids) in enumerate(self._whole):
            if known == text:
                del self._whole[place]
                return ids
        return ()


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
        special, single = (turn.special if drops else {}, turn.single) if turn else ({}, False)
        self._reader = OutputReader(
            reader.format, tools, parser=parser, special=special, decode=reader.decode, single=single, log=LOG
        )
        self._half = ""

    @property
    def incomplete(self) -> frozenset[int]:
        """The numbers of the calls that were cut off."""
        return self._reader.incomplete

    def read(self, text: str) -> list[Delta]:
        """Read the next text of a stream."""
        return self._feed(text, self._turn.take_ids() if self._turn else ())

    def read_whole(self, text: str) -> list[Delta]:
        """Read a whole output."""
        return self._feed(text, self._turn.take_ids_of(text) if self._turn else ()) + self.finish()

    def _feed(self, text: str, ids: Sequence[int]) -> list[Delta]:
        if self._half:
            text, self._half = self._half + text, ""
        if text.endswith(HALF):
            whole = text.rstrip(HALF)
            text, self._half = whole, text[len(whole) :]
        return self._reader.feed(text, ids)

    def finish(self) -> list[Delta]:
        """Return all that is left. Half a character of what may be a marker is no text."""
        half = self._half if not self._parser.holds_back else ""
        deltas = self._reader.feed(half) if half else []
        return deltas + self._reader.finish()
