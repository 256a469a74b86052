"""A worked example: an assistant's turn as the model would write it, cut into its parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..errors import ConstraintError
from ..format import Start, TurnGraph
from .write import Piece, write_pieces

# No field occurs in another, so each can be found in a text.
REASONING = "I need the forecast, and the time of the next one."
CONTENT = "Let me look that up."
NAMES = ("get_weather", "find_train")
IDS = ("a1B2c3D4e", "f5G6h7J8k")
ARGUMENTS: tuple[dict[str, Any], ...] = ({"city": "Oslo", "days": 3}, {"station": "Bergen"})


@dataclass(frozen=True)
class Example:
    """A turn in pieces, and the end of the prompt before it, which the model does not write.

    ``guessed`` is set where no rendered turn begins behind that prompt.
    """

    prompt: str
    pieces: tuple[Piece, ...]
    guessed: bool = False

    @property
    def text(self) -> str:
        """What the model writes."""
        return "".join(piece.text for piece in self.pieces)


def make_example(graph: TurnGraph) -> Example:
    """Write the turn with as much in it as the graph has: reasoning, content and two calls.

    Costs milliseconds. Raises :class:`ConstraintError` where not even a turn of plain content can be written.
    """
    starts = sorted(graph.starts, key=lambda start: not start.shown) or [Start("")]
    for message in _list_messages(graph):
        for start in starts:
            try:
                return Example(start.prompt, write_pieces(graph, message, start), not start.shown)
            except ConstraintError:
                continue
    raise ConstraintError("writing an example: this format has no turn at all. Read the verdict of its analysis")


def _list_messages(graph: TurnGraph) -> Iterator[dict[str, Any]]:
    """List messages, the richest first."""
    named = any(node.carries_name for node in graph.turn.nodes)
    kinds = {node.kind for node in graph.turn.nodes}
    counts = (2, 1, 0) if kinds & {"name", "id"} else (0,)
    for count, reasoning, content in product(counts, (REASONING, ""), (CONTENT, "")):
        if count or content:
            calls = [make_call(number, named) for number in range(count)]
            yield {"reasoning_content": reasoning, "content": content, "tool_calls": calls}


def make_call(number: int, named_id: bool = False) -> dict[str, Any]:
    """Return a call to show; with ``named_id`` its id carries the name, for templates that print nothing but the id."""
    name = NAMES[number]
    return {
        "id": f"{name}:{number}" if named_id else IDS[number],
        "function": {"name": name, "arguments": ARGUMENTS[number]},
    }
