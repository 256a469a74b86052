"""A terminal: lines in colour and a progress bar where ``rich`` is installed, plain text otherwise.

What is printed comes from templates and models, so nothing in it is ever taken for markup of the terminal's.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from .description import Line, Span, make_visible

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


_CLEAR = "\r\x1b[K"


class Display:
    """Prints lines to a stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._console = _make_console(self._stream)
        self._counting = False

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
                self._stream.write(f"{_CLEAR if self._counting else ''}{line}\n")
            else:
                self._print_coloured(self._console, line)
        self._stream.flush()

    @staticmethod
    def _print_coloured(console: Console, line: Line) -> None:
        from rich.text import Text

        text = Text.assemble(*((span.text, STYLES.get(span.kind, "")) for span in line.spans))
        console.print(text, soft_wrap=True)

    @contextmanager
    def track(self, total: int) -> Iterator[Callable[[str], None]]:
        """Show progress on a terminal; the function given is called with the name of what is begun next."""
        if not self._stream.isatty():
            yield _ignore
        elif self._console is None:
            yield from self._count(total)
        else:
            yield from self._draw_bar(self._console, total)

    def _count(self, total: int) -> Iterator[Callable[[str], None]]:
        begun = 0

        def advance(name: str) -> None:
            nonlocal begun
            begun += 1
            self._stream.write(f"{_CLEAR}{begun}/{total} {make_visible(name[:60], layout=True)}\r")
            self._stream.flush()

        self._counting = True
        try:
            yield advance
        finally:
            self._counting = False
            self._stream.write(_CLEAR)
            self._stream.flush()

    @staticmethod
    def _draw_bar(console: Console, total: int) -> Iterator[Callable[[str], None]]:
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("", total=total)
            begun = 0

            def advance(name: str) -> None:
                nonlocal begun
                progress.update(task, completed=begun, description=escape(make_visible(name[:60], layout=True)))
                begun += 1

            yield advance


def _make_console(stream: TextIO) -> Console | None:
    """Return rich's console for a terminal; None where rich is missing or the stream is a file or pipe."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    return console if console.is_terminal else None


def _ignore(name: str) -> None:
    """Show nothing."""


def make_line(*spans: tuple[str, str]) -> Line:
    """Return a line of pairs of kind and text."""
    return Line(tuple(Span(*span) for span in spans))


def make_legend(kinds: Iterable[str]) -> Line:
    """Return a line in which the name of each kind has its colour."""
    spans: list[Any] = []
    for kind in kinds:
        spans += [Span("text", "  "), Span(kind, kind)]
    return Line(tuple(spans))
