"""The graph of a turn while it is put together: edges as they are seen, and how each field is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..ask.oracle import Turn
from ..ask.pieces import END, START, Field, Row
from ..ask.question import Switches
from ..format import Codec, Path, Text

TURN = "turn"
"""The name of the graph of the turn itself, beside those of lists and objects."""


class Link(NamedTuple):
    """The text that leads from some field to ``target``."""

    text: str
    target: Field
    opens_call: bool = False


Links = dict[Link, None]
"""An ordered set."""


class Draft:
    """Edges by graph and source, starts by prompt, codecs by graph and field, and notes on what was found; ``special`` are the
    characters that the template may write in another way."""

    def __init__(self, special: Sequence[str]) -> None:
        self.special = special
        self.edges: dict[str, dict[Field, Links]] = defaultdict(lambda: defaultdict(dict))
        self.codecs: dict[tuple[str, Field], Codec] = {}
        self.starts: dict[str, Links] = defaultdict(dict)
        self.switches: dict[str, Switches] = {}
        self.guessed: set[str] = set()
        self.stops: list[str] = []
        self.named_ids = False
        self.hidden = False
        self.repeated_keys = False
        self.sorted_keys = False
        self.path: Path | None = None
        self.notes: list[str] = []

    def add(self, graph: str, source: Field, text: str, target: Field, opens_call: bool = False) -> None:
        """Add an edge."""
        self.edges[graph][source][Link(text, target, opens_call)] = None

    def add_turn(self, turn: Turn, row: Row, switches: Switches = ()) -> None:
        """Add the edges of a rendered turn."""
        if not row.pieces:
            return
        self.switches.setdefault(turn.prompt, switches)
        source, current = START, None
        for piece in row.pieces:
            opens = piece.call is not None and piece.call != current
            current = piece.call if piece.call is not None else current
            link = Link(piece.text, piece.field, opens)
            if source == START:
                self.starts[turn.prompt][link] = None
                if turn.header:
                    self.starts[turn.header][link._replace(text=turn.between + link.text)] = None
            else:
                self.edges[TURN][source][link] = None
            source = piece.field
        self.add(TURN, source, row.tail, END)

    def add_row(self, graph: str, row: Row) -> None:
        """Add the edges of the inside of a list or an object."""
        source = START
        for piece in row.pieces:
            self.add(graph, source, piece.text, piece.field)
            source = piece.field
        self.add(graph, source, row.tail, END)

    def tell_strings(self, family: str) -> None:
        """Note that nothing but the tools tells the strings of a family of arguments from other values."""
        for (graph, field), codec in self.codecs.items():
            if graph == TURN and field.kind == "value" and field.family == family and isinstance(codec, Text):
                self.codecs[graph, field] = replace(codec, told=True)

    def list_links(self, graph: str) -> Iterable[tuple[Field, Links]]:
        """List the links of a graph by source; those of the starts come under START."""
        yield from list(self.edges[graph].items())
        if graph == TURN:
            for links in list(self.starts.values()):
                yield START, links
