"""The search for the places of fields in a render; see :mod:`.attribution`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
"""Where a field stands: ``("messages", 2, "content")``, ``("tools", 0, "function", "name")``."""

_FIRST_MARK = 0x20000  # ideographs: printable for repr, no case, and next to never in a conversation
_SELECTORS = ("role", "type")
_OPEN_OBJECTS = ("arguments", "properties")
"""The members whose keys are names that somebody chose, and not part of the layout of a message or tool."""
_MOST_RENDERS = 600
_MOST_GAPS = 4_000
_LONGEST_RUN = 100
_SPACES, _LETTERS = ("\n", " ", "\t", "\u2003"), ("x", "X", "0")
_ESCAPED_MARK = re.compile(r"\\u(d8[4-6][0-9a-f])\\u(d[c-f][0-9a-f]{2})")


class Field(NamedTuple):
    """A field of a conversation; with ``key`` the name of the member that ``path`` leads to, and not its value."""

    path: Path
    key: bool = False

    @property
    def message(self) -> int | None:
        """The number of the message, or None for a tool's field."""
        return int(self.path[1]) if self.path[0] == "messages" else None


@dataclass(frozen=True)
class Span:
    """Characters of a render that came from one field.

    ``verbatim`` tells that they are the field's own, all or a part of them; otherwise they are what the template made of
    it (escaped, in capitals).
    """

    start: int
    end: int
    field: Field
    verbatim: bool = True


class Leaf(NamedTuple):
    """A field and its value: a text, number or truth value, or the name of a member."""

    field: Field
    value: Any


Changes = dict[Field, Any]
"""New values of fields."""


def group_leaves(leaves: list[Leaf]) -> list[list[Leaf]]:
    """Group the fields of one kind: marks must not part what a template compares, as the two places of a call's id."""
    groups: dict[tuple[Any, ...], list[Leaf]] = {}
    for leaf in leaves:
        kind = tuple(name for name in leaf.field.path if isinstance(name, str))
        if "arguments" in kind:
            kind = kind[: kind.index("arguments") + 1]
        elif leaf.field.key:
            kind = kind[:-1]
        groups.setdefault((kind, leaf.field.key), []).append(leaf)
    return list(groups.values())


def list_leaves(path: Path, value: Any, inside: bool = False, open_keys: bool = False) -> Iterator[Leaf]:
    """List the fields of a conversation; ``inside`` tells that the value is of an argument, where every name is free."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str) or (not inside and name in _SELECTORS and not isinstance(inner, Mapping)):
                continue
            if (inside or open_keys) and name:
                yield Leaf(Field((*path, name), key=True), name)
            free = inside or (name == "arguments" and not open_keys)
            yield from list_leaves((*path, name), inner, free, name in _OPEN_OBJECTS and not open_keys)
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from list_leaves((*path, number), inner, inside)
    elif (isinstance(value, str) and value) or isinstance(value, (bool, int, float)) or (value is None and inside):
        yield Leaf(Field(path), value)


def change_fields(path: Path, value: Any, changes: Changes) -> Any:
    """Return a copy of a value with the changes made."""
    if isinstance(value, Mapping):
        return {
            changes.get(Field((*path, name), key=True), name): change_fields((*path, name), inner, changes)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [change_fields((*path, number), inner, changes) for number, inner in enumerate(value)]
    return changes.get(Field(path), value)


class _Mark(NamedTuple):
    """A mark that was found: the field, the place in its text, and the position in the plain render."""

    leaf: Leaf
    gap: int
    position: int


@dataclass
class Search:
    """The search for the places of all fields in one render."""

    text: str
    render: Callable[[Changes], str | None]
    constants: frozenset[str]
    leaves: list[Leaf]
    spans: list[Span] = field(default_factory=list)
    absent: list[Leaf] = field(default_factory=list)
    uncertain: list[Field] = field(default_factory=list)
    renders: int = 0

    def __post_init__(self) -> None:
        self._used = set(self.text).union(*(leaf.value for leaf in self.leaves if isinstance(leaf.value, str)))

    def ask(self, changes: Changes) -> str | None:
        """Render with changes; None where that is refused or too many renders were made."""
        self.renders += 1
        return self.render(changes) if self.renders <= _MOST_RENDERS else None

    def solve(self, leaves: list[Leaf]) -> None:
        """Find the spans of some fields: together if they can be marked together, else half by half."""
        marks = self.locate({leaf: [0, len(leaf.value)] if isinstance(leaf.value, str) else [0] for leaf in leaves})
        if marks is not None:
            for leaf in leaves:
                self._take(leaf, [mark for mark in marks if mark.leaf == leaf])
        elif len(leaves) > 1:
            middle = len(leaves) // 2
            self.solve(leaves[:middle])
            self.solve(leaves[middle:])
        elif isinstance(leaves[0].value, str):
            self._search_inside(leaves[0])
        else:
            self.uncertain.append(leaves[0].field)

    def _take(self, leaf: Leaf, marks: list[_Mark]) -> None:
        """Take the text between a field's first and last mark as its span, for each time it is printed."""
        ends = [0, len(leaf.value)] if isinstance(leaf.value, str) else [0, 0]
        if not marks:
            self.absent.append(leaf)
        elif [mark.gap for mark in marks] == ends * (len(marks) // 2):
            for first, last in zip(marks[::2], marks[1::2], strict=True):
                verbatim = not isinstance(leaf.value, str) or self.text[first.position : last.position] == leaf.value
                self.spans.append(Span(first.position, last.position, leaf.field, verbatim))
        else:
            self._search_inside(leaf)

    def locate(self, gaps: Mapping[Leaf, Sequence[int]]) -> list[_Mark] | None:
        """Mark fields in the given places and return where the marks stand; None where marks change what is rendered."""
        changes: Changes = {}
        meaning: dict[str, tuple[Leaf, int]] = {}
        unused = self._list_marks()
        # In the order of their values, so that a template that sorts them still finds them in order.
        for leaf, places in sorted(gaps.items(), key=lambda item: str(item[0].value)):
            if not isinstance(leaf.value, str):
                numbers = count(907_218_000 + len(meaning), 1_000_000)
                changes[leaf.field] = number = next(number for number in numbers if str(number) not in self.text)
                meaning[str(number)] = leaf, 0
                continue
            marked, position = "", 0
            for place in places:
                mark = next(unused, "")
                if not mark:
                    return None
                meaning[mark] = leaf, place
                marked += leaf.value[position:place] + mark
                position = place
            changes[leaf.field] = marked + leaf.value[position:]
        rendered = self.ask(changes)
        return None if rendered is None else self._align(rendered, meaning)

    def _list_marks(self) -> Iterator[str]:
        return (mark for mark in map(chr, range(_FIRST_MARK, 0x2A6E0)) if mark not in self._used)

    def _align(self, rendered: str, meaning: Mapping[str, tuple[Leaf, int]]) -> list[_Mark] | None:
        """Read marks out of a render, two for what is no text; None where the rest of it is not the plain render."""
        rendered = _ESCAPED_MARK.sub(lambda found: bytes.fromhex(found[1] + found[2]).decode("utf-16-be"), rendered)
        marks: list[_Mark] = []
        position = 0
        for number, part in enumerate(re.split("(" + "|".join(map(re.escape, meaning)) + ")", rendered)):
            if number % 2 == 0:
                if not self.text.startswith(part, position):
                    return None
                position += len(part)
                continue
            leaf, gap = meaning[part]
            marks.append(_Mark(leaf, gap, position))
            if not isinstance(leaf.value, str):
                forms = (json.dumps(leaf.value), str(leaf.value))
                position += next((len(form) for form in forms if self.text.startswith(form, position)), len(self.text) + 1)
                marks.append(_Mark(leaf, gap, position))
        return marks if position == len(self.text) else None

    def confirm_absent(self) -> None:
        """Make sure that fields whose ends are not printed are not printed in part: change them all, then each."""
        mark = next(self._list_marks(), "")
        changes: Changes = {leaf.field: mark.join(leaf.value) for leaf in self.absent if isinstance(leaf.value, str)}
        if not changes or self.ask(changes) == self.text:
            return
        for leaf in [leaf for leaf in self.absent if leaf.field in changes]:
            if self.ask({leaf.field: changes[leaf.field]}) != self.text:
                self.absent.remove(leaf)
                self._search_inside(leaf)

    def _search_inside(self, leaf: Leaf) -> None:
        """Find the spans of a field that cannot be marked at its ends."""
        accepted: list[int] = []
        marks: list[_Mark] = []
        untried = self._group_gaps(leaf.value)
        while untried and self.renders <= _MOST_RENDERS:
            gaps = untried.pop(0)
            found = self.locate({leaf: sorted({*accepted, *gaps})}) if gaps else None
            if found is not None:
                accepted, marks = sorted({*accepted, *gaps}), found
            elif len(gaps) > 1:
                untried[:0] = [gaps[: len(gaps) // 2], gaps[len(gaps) // 2 :]]
        spans = self._read_runs(leaf, accepted, marks)
        if spans is None:
            self.uncertain.append(leaf.field)
        elif not spans:
            self.absent.append(leaf)
        else:
            self.spans += _join_spans(spans)

    def _group_gaps(self, value: str) -> list[list[int]]:
        """Return the places in a text where it may be marked, those that a template is likely to look at last."""
        spaces = {place for place, char in enumerate(value) if char.isspace()}
        touchy = {0, len(value)} | spaces | {place + 1 for place in spaces}
        for constant in filter(str.strip, self.constants):
            for found in re.finditer(f"(?={re.escape(constant)})", value):
                touchy.update(range(found.start(), found.start() + len(constant) + 1))
        inner = [gap for gap in range(1, len(value)) if gap not in touchy]
        return [inner[:_MOST_GAPS], sorted(touchy)[:_MOST_GAPS]]

    def _read_runs(self, leaf: Leaf, accepted: list[int], marks: list[_Mark]) -> list[Span] | None:
        """Return what is printed of a field, from one place that can be marked to the next; None if it cannot be told."""
        spans: list[Span] = []
        shown = {mark.gap for mark in marks}
        for start, end in pairwise(sorted({0, *accepted, len(leaf.value)})):
            source, replaced = leaf.value[start:end], False
            for first, second in pairwise(marks):
                if (first.gap, second.gap) == (start, end):
                    printed = self.text[first.position : second.position]
                    if printed in (source, json.dumps(source)[1:-1], json.dumps(source, ensure_ascii=False)[1:-1]):
                        spans.append(Span(first.position, second.position, leaf.field, printed == source))
                    else:
                        replaced = True
            # Where the marks on both sides of a single character are not printed, neither is the character.
            skipped = end - start == 1 and {start, end} <= set(accepted) - shown
            if replaced or not ({start, end} <= shown or skipped):
                found = self._exchange_run(leaf, start, end)
                if found is None and not replaced and not self._is_cut(leaf, start, end, marks):
                    return None
                spans += found or []
        return spans

    def _is_cut(self, leaf: Leaf, start: int, end: int, marks: list[_Mark]) -> bool:
        """Whether a text that is printed up to a place, or from a place on, does not go on there as the field does."""
        behind = [self.text[mark.position : mark.position + 1] == leaf.value[start] for mark in marks if mark.gap == start]
        before = [self.text[: mark.position].endswith(leaf.value[end - 1]) for mark in marks if mark.gap == end]
        return bool(behind + before) and not any(behind + before)

    def _exchange_run(self, leaf: Leaf, start: int, end: int) -> list[Span] | None:
        """Return where characters that cannot be marked are printed; None where that cannot be told."""
        spans: list[Span] = []
        for index in range(start, end):
            places = self._exchange(leaf, index) if end - start <= _LONGEST_RUN else None
            if places is None:
                return self._double_run(leaf, start, end)
            spans += [Span(place, place + 1, leaf.field) for place in places]
        return spans

    def _exchange(self, leaf: Leaf, index: int) -> list[int] | None:
        """Return where one character is printed: where the render changes if it is exchanged for another.

        If the render is the same without it, it is not printed.
        """
        before, char, behind = leaf.value[:index], leaf.value[index], leaf.value[index + 1 :]
        if self.ask({leaf.field: before + behind}) == self.text:
            return []
        for other in _SPACES if char.isspace() else _LETTERS:
            answer = self.ask({leaf.field: before + other + behind}) if other != char else None
            if answer is not None and len(answer) == len(self.text):
                changed = [place for place, (old, new) in enumerate(zip(self.text, answer, strict=True)) if old != new]
                if all(self.text[place] == char and answer[place] == other for place in changed):
                    return changed
        return None

    def _double_run(self, leaf: Leaf, start: int, end: int) -> list[Span] | None:
        """Return where characters are printed that a template looks for: where they stand twice if they are given twice."""
        run = leaf.value[start:end]
        answer = self.ask({leaf.field: leaf.value[:end] + run + leaf.value[end:]})
        for found in re.finditer(f"(?={re.escape(run)})", self.text) if answer is not None else ():
            place = found.start()
            if answer == self.text[:place] + run + self.text[place:]:
                return [Span(place, place + len(run), leaf.field)]
        return None


def _join_spans(spans: list[Span]) -> list[Span]:
    """Join the spans of one field that touch."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        if joined and joined[-1].end == span.start:
            last = joined.pop()
            span = Span(last.start, span.end, span.field, last.verbatim and span.verbatim)
        joined.append(span)
    return joined
