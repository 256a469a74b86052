"""Places where values stand: the entries of an object, the items of a list. Many values are asked in one render.

Between two values that are asked stands one of plain words, so that what belongs to a value is known from what is before
it and behind it. Members of objects and lists may also be written as arguments of their own, each under its path:
``place.cities[0] = "Oslo"``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ..ask.pieces import Field
from ..ask.words import make_word
from ..format import Path
from .strings import AskGaps, Gap

Build = Callable[[Any], "str | None"]
"""Renders a list or an object and returns what stands between its bounds; None where it is refused."""

Pairs = Sequence[tuple[str, Any]]
AskEntries = Callable[[Pairs], list["Gap | None"]]
"""Renders entries and returns what stands around each, None where it is not printed."""

_KEY, _VALUE = "kp", "sp"


class Place(NamedTuple):
    """Where values stand: the graph, the family of their fields, and the field whose text before it may tell the type."""

    graph: str
    family: str
    entry: Literal["key", "value"]

    def field(self, kind: Literal["key", "value"], type_: str = "string", form: int = 0) -> Field:
        """Return a field of the place."""
        return Field(kind, type_, form, self.family)


def ask_beside_keys(ask: AskEntries) -> AskGaps:
    """Return what asks for values that stand beside their keys."""
    return _one_by_one_if_refused(lambda values: ask([(make_entry_key(number), value) for number, value in enumerate(values)]))


def make_entry_key(number: int) -> str:
    """Return the word with which the key of an entry begins, by its number: in the order of the alphabet, as templates may sort."""
    return make_word(_KEY, 2 * number + 1)


def ask_entries(build: Build, outer: Sequence[str], entries: Pairs) -> list[Gap | None]:
    """Return what stands around each of some entries, all of them in one render; ``outer`` are other words that bound them."""
    pairs: list[tuple[str, Any]] = [(make_word(_KEY), make_word(_VALUE))]
    for number, entry in enumerate(entries):
        pairs += [entry, (make_word(_KEY, 2 * number + 2), make_word(_VALUE, number + 1))]
    count = len(entries) + 1  # before the last entry something else may stand than before others
    pairs.append((make_word(_KEY, 2 * count), make_word(_VALUE, count)))
    text = build(dict(pairs))
    if text is None:
        return [None] * len(entries)
    words = [key for key, _ in pairs] + [make_word(_VALUE, number) for number in range(count + 1)]
    return _cut_beside_keys(text, [key for key, _ in entries], [*words, *outer])


def _cut_beside_keys(text: str, keys: Sequence[str], words: Sequence[str]) -> list[Gap | None]:
    found = list(re.finditer("|".join(map(re.escape, words)), text))
    starts, ends = [match.start() for match in found], [match.end() for match in found]
    gaps: list[Gap | None] = []
    for key in keys:
        place = text.find(key)
        if place < 0:
            gaps.append(None)
            continue
        before, after = bisect_right(ends, place), bisect_left(starts, place + len(key))
        bounds = [*starts[after : after + 2], len(text), len(text)]
        again = text[bounds[0] : bounds[0] + len(key)] == key
        rest = text[bounds[0] + len(key) : bounds[1]] if again else ""
        gaps.append(Gap(text[ends[before - 1] if before else 0 : place], text[place + len(key) : bounds[0]], key * again, rest))
    return gaps


def ask_apart(build: Build) -> AskGaps:
    """Return what asks for values that follow each other."""

    def ask_all(values: Sequence[Any]) -> list[Gap | None]:
        items: list[Any] = [make_word(_VALUE)]
        for number, value in enumerate(values):
            items += [value, make_word(_VALUE, number + 1)]
        text = build([*items, make_word(_VALUE, len(values) + 1)]) or ""  # what stands before the last item may differ, too
        places = [text.find(item) for item in items[::2]]
        if -1 in places:
            return [None] * len(values)
        length = len(items[0])
        return [Gap("", text[one + length : two]) for one, two in pairwise(places)]

    return _one_by_one_if_refused(ask_all)


def ask_values_apart(build: Build) -> AskGaps:
    """Return what asks for the values of an object whose keys stand elsewhere."""
    return ask_apart(lambda items: build({make_word(_KEY, number): item for number, item in enumerate(items)}))


def _one_by_one_if_refused(ask: AskGaps) -> AskGaps:
    """Ask for each value alone where a template refuses all of them together: it may refuse a single one."""

    def ask_each(values: Sequence[Any]) -> list[Gap | None]:
        gaps = ask(values)
        if len(values) > 1 and not any(gaps):
            return [ask([value])[0] for value in values] if any(ask(values[:1])) else gaps
        return gaps

    return ask_each


_LONGEST = 8  # characters around a key or a number


def find_path(build: Build) -> Path | None:
    """Return how paths are written if a template writes objects so, at every depth, and lists too if it writes those so."""
    outer, one, two, three, last = (make_word("kp", number) for number in range(5))
    words = [make_word("sp", number) for number in range(3)]
    nested = build({outer: {one: words[0], two: {three: words[1]}}, last: words[2]})
    plain = build({one: words[0], three: words[1], last: words[2]})
    if nested is None or plain is None or any(text.count(words[0]) != 1 for text in (nested, plain)):
        return None
    opening, behind = (find_between(nested, *pair) for pair in ((outer, one), (one, words[0])))
    joint = find_between(plain, one, words[0])
    if not opening or not behind.endswith(joint) or max(len(opening), len(behind) - len(joint)) > _LONGEST:
        return None
    path = Path(opening, behind.removesuffix(joint))
    if plain.replace(one, path.join((outer, one))).replace(three, path.join((outer, two, three))) != nested:
        return None
    listed = build({outer: [words[0], [{two: words[1]}]], last: words[2]})
    around = find_between(listed or "", outer, words[0]).removesuffix(joint)
    first = re.fullmatch(rf"(\D{{0,{_LONGEST}}})([01])(\D{{0,{_LONGEST}}})", around)
    if first is None:
        return path
    numbered = replace(path, before=first[1], behind=first[3], base=int(first[2]))
    written = plain.replace(one, numbered.join((outer, 0))).replace(three, numbered.join((outer, 1, 0, two)))
    return numbered if written == listed else path


def find_between(text: str, one: str, two: str) -> str:
    """Return what stands between two words, empty where they do not follow each other."""
    return text.partition(one)[2].partition(two)[0] if two in text.partition(one)[2] else ""
