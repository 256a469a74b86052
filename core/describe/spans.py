"""Lines of pieces, each with its kind, which a terminal or a page can colour.

White space at the edge of a marker is shown by signs (``⏎`` a line break, ``·`` a space, ``⇥`` a tab), and a character
that would act on a terminal by its escape.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..ask.words import LATER, RESULT, SYSTEM, USER
from ..format.view import Marker

_SIGNS = {"\n": "⏎", " ": "·", "\t": "⇥"}
_SAID = {USER: "What will the weather be?", LATER: "And tomorrow?", RESULT: "Rain.", SYSTEM: "Be brief."}
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


class Span(NamedTuple):
    """A part of a line and its kind.

    Kinds are the fields of a turn (``reasoning``, ``content``, ``name``, ``id``, ``key``, ``value``), ``structure``
    (what a template writes around them), ``title``, ``label``, ``text``, ``note`` (a remark), and the results ``good``,
    ``fair`` and ``bad``.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Line:
    """One line."""

    spans: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return "".join(span.text for span in self.spans).rstrip()

    @classmethod
    def of(cls, *spans: tuple[str, str]) -> Line:
        """Return a line of pairs of kind and text."""
        return cls(tuple(Span(*span) for span in spans))


def make_visible(text: str, layout: bool = False) -> str:
    """Return a text whose control characters are shown as escapes; with ``layout`` its white space as signs too."""
    signs = _SIGNS if layout else {"\n": "\n"}
    return "".join(signs.get(char) or _escape(char) for char in text)


def say_words(text: str) -> str:
    """Return a text with words that a person can read in the place of those that stand around a turn that is asked for."""
    for word, said in _SAID.items():
        text = text.replace(word, said)
    return text


def _escape(char: str) -> str:
    """Return a character as it is, or its escape where a terminal would act on it or not show it."""
    if unicodedata.category(char) in _UNSEEN:
        return char.encode("unicode_escape", "surrogatepass").decode()
    return char


def show_text(text: str) -> list[Span]:
    """Return structure on one line: its outer white space as signs, its line breaks too."""
    marker = Marker.of(text)
    shown = (
        Span("note", make_visible(marker.before, layout=True)),
        Span("structure", make_visible(marker.text).replace("\n", "⏎")),
        Span("note", make_visible(marker.after, layout=True)),
    )
    return [span for span in shown if span.text]


def split_lines(spans: Iterable[Span], indent: str) -> Iterator[Line]:
    """Lay spans that hold line breaks out as lines."""
    line = [Span("text", indent)]
    for span in spans:
        first, *others = make_visible(span.text).split("\n")
        line.append(Span(span.kind, first))
        for part in others:
            yield Line(tuple(line))
            line = [Span("text", indent), Span(span.kind, part)]
    if any(span.text for span in line[1:]):
        yield Line(tuple(line))


def measure(spans: Iterable[Span]) -> int:
    """Return how many columns spans take on a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for span in spans for char in span.text)
