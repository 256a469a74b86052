"""Nested markup: lists and objects whose items and entries stand in tags of their own, read as a whole.

Only the end of such a value tells whether it was one, so it is waited for, up to a bound. The reader keeps its own stack:
however deep the markup is nested, nothing recurses, and deeper than :data:`DEPTH` it is text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .format import KEY
from .scanner import skip_space
from .values import convert_value, dump_text

if TYPE_CHECKING:
    from .format import ListNotation, ObjectNotation, ValueNotation
    from .schema import Schema
    from .transducer import Transducer

DEPTH = 256


class Frame:
    """A list or an object that is open, what it holds so far, and the text that ends the value it is."""

    __slots__ = ("end", "inner_end", "is_list", "parts", "schema")

    def __init__(self, is_list: bool, end: str, inner_end: str, schema: Schema) -> None:
        self.is_list, self.end, self.inner_end, self.schema = is_list, end, inner_end, schema
        self.parts: list[str] = []

    def write(self) -> str:
        """Return the JSON of it."""
        return f"[{', '.join(self.parts)}]" if self.is_list else f"{{{', '.join(self.parts)}}}"


class MarkupReader:
    """Reads values of one notation."""

    def __init__(self, notation: ValueNotation, transducer: Transducer) -> None:
        self._list: ListNotation | None = notation.list
        self._object: ObjectNotation | None = notation.object
        self._transducer = transducer
        slot = self._object.slots[0] if self._object else None
        pattern = r"(?!)"
        if self._object and slot:
            pattern = rf"{re.escape(self._object.key_start.strip())}([^\s<>/\"'=]{{1,256}}){re.escape(slot.start.text)}"
        self._entry = re.compile(pattern)
        self._close = slot.end.text if slot else ""
        self._lists = (self._list.start.strip(), self._list.end.strip()) if self._list else ("", "")
        self._objects = (self._object.start.strip(), self._object.end.strip()) if self._object else ("", "")
        notations = (self._object, self._list)
        self._separators = tuple(notation.separator.strip() if notation else "" for notation in notations)
        self._item = (self._list.item_start.strip(), self._list.item_end.strip()) if self._list else ("", "")

    def is_begun(self, text: str, schema: Schema) -> bool:
        """Whether a value that begins like this is nested markup if it is anything but text."""
        return self._open(text, 0, "", schema) is not None

    def read(self, text: str, schema: Schema) -> str:
        """Return the JSON of a whole value; what does not nest properly is text, or what its type makes of text."""
        converted = self._read(text, schema)
        return self._convert(text, schema) if converted is None else converted

    def _convert(self, text: str, schema: Schema) -> str:
        types = schema.get_types()
        if not text.strip() and types and types[0] in ("array", "object"):
            return "[]" if types[0] == "array" else "{}"
        return convert_value(text, types, self._transducer, True)

    def _open(self, text: str, at: int, end: str, schema: Schema) -> tuple[Frame, int] | None:
        """Open the list or object that begins at a place, if one does."""
        types = schema.get_types()
        at = skip_space(text, at)
        if self._item[0] and (not types or "array" in types):
            start, close = self._lists
            if text.startswith(start or self._item[0], at):
                return Frame(True, end, close, schema), at + len(start)
        if self._object and (not types or "object" in types):
            start, close = self._objects
            if text.startswith(start, at) and self._entry.match(text, skip_space(text, at + len(start))):
                return Frame(False, end, close, schema), at + len(start)
        return None

    def _read(self, text: str, schema: Schema) -> str | None:
        """Read a value; None where the markup is not nested properly."""
        opened = self._open(text, 0, "", schema)
        if opened is None:
            return None
        frame, at = opened
        stack = [frame]
        key = ""
        while stack:
            frame = stack[-1]
            at = self._skip_separator(frame, text, at)
            entry = None if frame.is_list else self._entry.match(text, at)
            if frame.is_list and text.startswith(self._item[0], at):
                end, inner, at = self._item[1], frame.schema.get_items(), at + len(self._item[0])
            elif entry:
                key, at = entry[1], entry.end()
                end, inner = self._close.replace(KEY, key), frame.schema.get_property(key)
                frame.parts.append(dump_text(key))
            else:
                closed = self._match_all(text, at, frame.inner_end, frame.end)
                if closed < 0:
                    return None
                at = closed
                stack.pop()
                if stack:
                    self._deliver(stack[-1], frame.write())
                continue
            opened = self._open(text, at, end, inner) if len(stack) < DEPTH else None
            if opened:
                stack.append(opened[0])
                at = opened[1]
                continue
            stop = text.find(end, at) if end else -1
            if stop < 0:
                return None
            self._deliver(frame, self._convert(text[at:stop], inner))
            at = stop + len(end)
        return frame.write() if skip_space(text, at) == len(text) else None

    def _deliver(self, frame: Frame, value: str) -> None:
        if frame.is_list:
            frame.parts.append(value)
        else:
            frame.parts[-1] += ": " + value

    def _skip_separator(self, frame: Frame, text: str, at: int) -> int:
        separator = self._separators[frame.is_list]
        at = skip_space(text, at)
        if separator and frame.parts and text.startswith(separator, at):
            at = skip_space(text, at + len(separator))
        return at

    def _match_all(self, text: str, at: int, *parts: str) -> int:
        for part in parts:
            if part:
                at = skip_space(text, at)
            if not text.startswith(part, at):
                return -1
            at += len(part)
        return at
