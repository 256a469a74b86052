"""A terminal: lines in colour and a progress bar where ``rich`` is installed, plain text otherwise.

What is printed comes from templates and models, so nothing in it is ever taken for markup of the terminal's.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, TextIO

from ..describe.spans import Line, make_visible

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {
    "title": "bold",
    "label": "dim",
    "note": "dim",
    "structure": "cyan",
    "reasoning": "italic magenta",
    "content": "bold",
    "name": "bold yellow",
    "key": "blue",
    "value": "green",
    "id": "red",
    "good": "bold green",
    "fair": "bold yellow",
    "bad": "bold red",
}


class Display:
    """Prints lines to a stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._console = _make_console(self._stream)

    @property
    def coloured(self) -> bool:
        """Whether kinds are told apart by colours."""
        return self._console is not None and self._console.color_system is not None and not self._console.no_color

    @property
    def width(self) -> int | None:
        """How many columns the terminal has; None where there is none."""
        return shutil.get_terminal_size().columns if self._stream.isatty() else None

    def print(self, *lines: Line) -> None:
        """Print lines; each ends with a line break."""
        for line in lines:
            if self._console is None:
                self._stream.write(f"{line}\n")
            else:
                from rich.text import Text

                text = Text.assemble(*((span.text, STYLES.get(span.kind, "")) for span in line.spans))
                self._console.print(text, soft_wrap=True)
        self._stream.flush()

    def print_legend(self, kinds: Iterable[str]) -> None:
        """Print the names of kinds, each in its colour, where there are colours."""
        if self.coloured:
            self.print(Line(), Line.of(*(pair for kind in kinds for pair in (("text", "  "), (kind, kind)))))

    @contextmanager
    def track(self, total: int) -> Iterator[Callable[[str], None]]:
        """Show a bar on a terminal that can; the function given is called with the name of what is begun next."""
        if self._console is None:
            yield lambda name: None
            return
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task("", total=total)
            begun = count()

            def begin(name: str) -> None:
                progress.update(task, completed=next(begun), description=escape(make_visible(name[:60], layout=True)))

            yield begin


def _make_console(stream: TextIO) -> Console | None:
    """Return rich's console for a terminal; None where rich is missing or the stream is a file or pipe."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    return console if console.is_terminal else None
