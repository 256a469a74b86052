"""The one place that cuts a render into constant texts and fields.

All that was put into the fields of a question is known, so the constants between them are exactly known too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..format import Kind
from ..format.cut import TOKEN, cut_common_start
from .words import find_make


class Field(NamedTuple):
    """What stands at a place of a render; it becomes a node of the graph.

    ``form`` counts the ways of writing a value of one type, ``family`` tells arguments given as an object (``""``) from
    those given as text, where they are printed differently. ``signs`` are those that make a key to be written in another way.
    """

    kind: Kind
    type: str = ""
    form: int = 0
    family: str = ""
    again: bool = False
    beside_calls: bool = False
    signs: str = ""

    @property
    def name(self) -> str:
        """The name of the node."""
        form = f".{self.form}" if self.form else ""
        beside = "+calls" if self.beside_calls else ""
        marks = "=" * self.again + "!" * bool(self.signs)
        return self.kind + (f":{self.type}{form}" if self.type else "") + self.family + beside + marks


START, END = Field("start"), Field("end")


class Needle(NamedTuple):
    """What a word stands for, and in which call."""

    field: Field
    call: int | None = None


class Span(NamedTuple):
    """A field at its place in a render."""

    start: int
    end: int
    needle: Needle


class Link(NamedTuple):
    """The constant text that leads from some field to ``target``; ``opens_call`` is set where another call begins with that."""

    text: str
    target: Field
    opens_call: bool = False


def cut_row(text: str, needles: Mapping[str, Needle], spans: Sequence[Span] = ()) -> list[Link]:
    """Cut a render at the needles, and at spans that are already known, into the links from field to field, up to its end; no
    needle is looked for inside of the spans."""
    found = [*spans, *_find_needles(text, needles, spans)]
    links: list[Link] = []
    seen: set[tuple[str, Field]] = set()
    at, call = 0, None
    for start, end, needle in sorted(found):
        word, field = text[start:end], needle.field
        if (word, field) in seen and field.kind in ("name", "id", "key"):
            # A key that comes again belongs to no type: it stands behind the value, or the type is known by then.
            field = field._replace(again=True, type="", form=0)
        seen.add((word, needle.field))
        opens = needle.call not in (None, call)
        call = needle.call if opens else call
        links.append(Link(text[at:start], field, opens))
        at = end
    return [*links, Link(text[at:], END)]


def _find_needles(text: str, needles: Mapping[str, Needle], spans: Sequence[Span]) -> list[Span]:
    if not needles:
        return []
    makes = sorted({find_make(word) for word in needles}, key=len, reverse=True)
    found = re.finditer("|".join(makes), text)
    places = [Span(match.start(), match.end(), needles[match[0]]) for match in found if match[0] in needles]
    return [one for one in places if not any(span.start <= one.start < span.end for span in spans)]


_TOKEN = re.compile(r"<[^<>\n]{1,60}>|\[[^\[\]\n]{1,60}\]|\s|" + TOKEN.pattern, re.DOTALL)
"""Where a text may be cut without cutting a word or a bracket: a preference, which decides nothing about what can be
read."""


def list_tokens(text: str) -> list[str]:
    """Return the words, brackets and single characters of a text."""
    return [found[0] for found in _TOKEN.finditer(text)]


def find_shared_header(one: str, other: str) -> str:
    """Return the common beginning of two texts, as far as it cuts no word or bracket of either."""
    return cut_common_start([one, other], _TOKEN)
