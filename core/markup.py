"""Nested markup: lists and objects whose items and entries stand in tags of their own.

A :class:`Level` is such a list or object that is open. The levels are a stack, kept by the reader: however deep the markup
is nested, nothing recurses, and deeper than :data:`DEPTH` it is text. Here stands what does not depend on how the text
comes in; :mod:`tagged` reads it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .entries import SPACE, Plan, get_searches, write_flexible
from .format import KEY, Marker, Slot
from .scanner import BEGUN, make_literal, skip_space
from .schema import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .format import ValueNotation
    from .scanner import Literal, Search
    from .schema import Schema
    from .values import Value

DEPTH = 4096
KEY_PATTERN = re.compile(r"""([^\s<>/"'=]{1,256})""")


def may_nest(types: tuple[str, ...]) -> bool:
    """Whether a value of some types may be nested markup; what may be a string first of all is text."""
    return not types or (types[0] != "string" and ("array" in types or "object" in types))


class Kind:
    """How one kind of level is written: lists, or objects."""

    def __init__(self, is_list: bool, texts: tuple[str, str, str, str], slot: Slot, openers: Iterable[str]) -> None:
        start, item, separator, end = texts
        self.is_list = is_list
        self.opening, self.closing = "[]" if is_list else "{}"
        self.start, self.item, self.slot = make_literal(start), make_literal(item), make_literal(slot.start.text)
        self.separator, self.end = make_literal(separator), end
        self.opener = make_literal(start or item)
        key = "" if is_list else KEY_PATTERN.pattern + write_flexible(self.slot)
        optional = f"(?:{write_flexible(self.separator)}{SPACE})?" if separator else ""
        self.next = re.compile(SPACE + optional + write_flexible(self.item) + key)
        closer, before = slot.end.text, slot.end.before
        searches = get_searches((closer.split(KEY)[0], *openers), before)
        self.plan = Plan(closer, before, slot.start.after, KEY in closer, *searches)
        # How much behind a value's end marker is waited for, and what a key ends with.
        self.rest_size = len("".join(self.item.atoms))
        self.tail: Search | None = None
        if not is_list:
            self.rest_size += 1 + len("".join(self.slot.atoms))
            self.tail = re.compile(f"[\\s/{re.escape(self.slot.text.strip()[-1:])}]").search


class Level:
    """A list or an object that is open, with what ends both it and the value that it is."""

    back = 0

    __slots__ = ("closer", "end_text", "kind", "next", "rest_size", "schema", "tail", "value")

    def __init__(self, kind: Kind, closer: str, schema: Schema) -> None:
        self.kind, self.schema, self.next, self.tail = kind, schema, kind.next, kind.tail
        self.closer, self.end_text = closer, kind.end + closer
        self.value: Value | None = None  # how the last item was read
        self.rest_size = max(kind.rest_size, len(self.end_text)) if kind.is_list else kind.rest_size

    @property
    def end(self) -> Literal:
        """What ends the level and the value that it is, with any layout between the two."""
        return make_literal(f"{self.kind.end}\n{self.closer}")

    def is_like(self, closer: str, schema: Schema) -> bool:
        """Whether another level of this kind would be the same."""
        return schema is self.schema and closer == self.closer

    def get_need(self, text: str, at: int) -> int:
        """There is nothing better to wait for than what the careful way waits for."""
        return 0

    def get_schema(self, key: str) -> Schema:
        """Return the schema of an item or of the value of an entry."""
        if self.schema is UNKNOWN:
            return UNKNOWN
        return self.schema.get_items() if self.kind.is_list else self.schema.get_property(key)

    def is_cut(self, text: str, at: int) -> bool:
        """Whether a text ends before it is certain that an item, an entry or the end of the level stands at a place."""
        kind, at = self.kind, skip_space(text, at)
        if at == len(text) or self.end.match(text, at) == BEGUN:
            return True
        separated = kind.separator.match(text, at)
        if separated >= 0:
            at = skip_space(text, separated)
        end = kind.item.match(text, at)
        if end < 0 or kind.is_list:
            return BEGUN in (end, separated)
        key = KEY_PATTERN.match(text, end)
        return kind.slot.match(text, key.end()) == BEGUN if key else end == len(text)


class Markup:
    """How nested markup is written in one notation."""

    def __init__(self, notation: ValueNotation) -> None:
        kinds: list[tuple[bool, tuple[str, str, str, str], Slot]] = []
        lists, objects = notation.list, notation.object
        if lists and lists.item_start.strip() and lists.item_end.strip():
            texts = (lists.start.strip(), lists.item_start.strip(), lists.separator.strip(), lists.end.strip())
            kinds.append((True, texts, Slot(Marker(), Marker(lists.item_end.strip()))))
        if objects and objects.key_start.strip() and objects.slots[0].end.text.strip():
            texts = (objects.start.strip(), objects.key_start.strip(), objects.separator.strip(), objects.end.strip())
            kinds.append((False, texts, objects.slots[0]))
        self.openers = tuple(texts[0] or texts[1] for _, texts, _ in kinds)
        self.heads = frozenset(text[0] for text in self.openers)
        self._kinds = tuple(Kind(*parts, self.openers) for parts in kinds)

    def get_kinds(self, types: tuple[str, ...]) -> Iterable[Kind]:
        """Return the kinds of level that a value of some types may be."""
        if not types:
            return self._kinds
        return [kind for kind in self._kinds if ("array" if kind.is_list else "object") in types]

    def check(self, text: str, schema: Schema) -> str:
        """Tell whether a text is nested markup (``"whole"``), the beginning of some (``"prefix"``), or neither (``""``)."""
        stack: list[tuple[Level, set[str]]] = []
        at = self._open(text, 0, "", schema, stack)
        while stack:
            level, keys = stack[-1]
            entry = level.next.match(text, at)
            if entry is None:
                end = level.end.match(text, skip_space(text, at))
                if level.is_cut(text, at) and (len(stack) > 1 or end < 0 or text[end:].strip()):
                    return "prefix"
                if end < 0:
                    return ""
                at = end
                stack.pop()
                continue
            at, key = entry.end(), "" if level.kind.is_list else entry[1]
            if key in keys:
                return ""  # an object says nothing twice
            keys.update((key,) if key else ())
            closer = level.kind.plan.closer.replace(KEY, key)
            inside = self._open(text, at, closer, level.get_schema(key), stack) if len(stack) < DEPTH else -1
            if inside < 0:
                stop = text.find(closer, at)
                if stop < 0:
                    return "prefix"
                inside = stop + len(closer)
            at = inside
        return "" if at < 0 or text[at:].strip() else "whole"

    def _open(self, text: str, at: int, closer: str, schema: Schema, stack: list[tuple[Level, set[str]]]) -> int:
        """Open the level that begins at a place, if one does; returns where its first item or entry is, or -1."""
        at = skip_space(text, at)
        for kind in self.get_kinds(schema.get_types()):
            end = kind.start.match(text, at)
            if end >= 0 and ((kind.is_list and kind.start) or kind.next.match(text, end)):
                stack.append((Level(kind, closer, schema), set()))
                return end
        return -1
