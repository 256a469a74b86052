"""Values as their schemas want them: what was written as a text and is none, and texts without quotes."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Final

from ..recover.notation import fit_text
from ..recover.repair import CLOSERS
from ..schema import UNKNOWN, Schema
from .guide import GOING
from .landing import HELD
from .lexer import JsonLexer

_HEADS: Final = {
    "{": re.compile(r'\s*(?:[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*(?=\S)|\{?\s*\})', re.DOTALL),
    "[": re.compile(r"\s*(?:[\[,]\s*(?=[^\s\]])|\[?\s*\])"),
}
_BEGUN: Final = re.compile(r'\s*(?:[{\[,]\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*(?::\s*)?)?)?)?', re.DOTALL)
"""What stands in an object or a list before a value, from the one before it on, or ends it; and the beginnings of that."""
_DEPTH: Final = 64  # of these within each other
_LONGEST: Final = 256  # so long that may be
_BARE_END: Final = re.compile(r"[,}\]\s]")
_KINDS: Final = {'"': "string", "{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}
_NO_SCALARS: Final = "n{["  # what lists, objects and null begin with


class Fitting:
    """Hands on the arguments of a call as they come, but for values whose type the schema does not have, wherever these stand: such
    a one is held until it has ended, and then written as the schema accepts it, if it can be read so. Of ``scalars`` alone, lists,
    objects and null stay as they are."""

    def __init__(self, parameters: Schema, scalars: bool = True) -> None:
        self.changed = 0  # so many values were written otherwise
        self._open = [("{", parameters)]  # the objects and lists that are open, and what their schemas are
        self._kept = _NO_SCALARS if scalars else ""
        self._schema = UNKNOWN  # of the value that is being read
        self._head = ""  # what came behind the last value
        self._lexer: JsonLexer | None = None  # reads the value, if that is no bare one
        self._reading = False
        self._held: str | None = None  # what has come of the value, if it is held
        self._over = False

    def feed(self, text: str) -> str:
        """Return what of a piece of the JSON is handed on, and what was held before it."""
        out, at = "", 0
        while at < len(text):
            if self._over:
                return out + text[at:]
            if not self._reading:
                start = self._find_value(text, at)
                out += text[at:start]
                at = start
                continue
            end = self._find_end(text, at)
            piece, at = text[at:end], end
            if self._held is None:
                out += piece
                continue
            self._held += piece
            if not self._reading or len(self._held) > HELD:
                out += self._held if len(self._held) > HELD else self._fit(self._held)
                self._held = None
        return out

    def finish(self) -> str:
        """Return what is still held, as it was written: its end did not come."""
        held, self._held, self._over = self._held or "", None, True
        return held

    def _find_value(self, text: str, at: int) -> int:
        """Return where the next value begins, or where the text ends."""
        head, (bracket, around) = self._head + text[at:], self._open[-1]
        found = _HEADS[bracket].match(head)
        if found is None:
            self._head, self._over = head, len(head) > _LONGEST or _BEGUN.fullmatch(head) is None
            return len(text)
        start, self._head = len(text) - len(head) + found.end(), ""
        if head[found.end() - 1] == CLOSERS[bracket]:
            self._open.pop()
            self._over = not self._open
            return start
        self._schema = self._find_schema(around, found[1]) if bracket == "{" else around.get_items()
        first = text[start]
        kind, types = _KINDS.get(first, "number"), () if first in self._kept else self._schema.get_types()
        self._held = None if not types or kind in types or (kind == "number" and "integer" in types) else ""
        if self._held is None and first in _HEADS and self._schema.node and len(self._open) < _DEPTH:
            self._open.append((first, self._schema))
            return start
        self._reading, self._lexer = True, JsonLexer() if first in '"{[' else None
        return start

    @staticmethod
    def _find_schema(around: Schema, key: str) -> Schema:
        """Return the schema of a member of an object, given its key in JSON."""
        with suppress(ValueError):
            return around.get_property(json.loads(key, strict=False))
        return UNKNOWN

    def _find_end(self, text: str, at: int) -> int:
        """Return where the value that is being read ends, or the text; where it is no JSON, all else is handed on as it comes."""
        if self._lexer is None:
            found = _BARE_END.search(text, at)
            self._reading = found is None
            return found.start() if found else len(text)
        end = self._lexer.scan(text, at)
        self._reading = end == GOING
        self._over = end < GOING
        return end if end >= 0 else len(text)

    def _fit(self, text: str) -> str:
        """Return a value as its schema accepts it, if that is another one."""
        found: str | None = None
        with suppress(ValueError, RecursionError):
            value = json.loads(text, strict=False)
            accepted = self._over or self._schema.accepts(value)
            found = None if accepted else fit_text(value if isinstance(value, str) else text, self._schema)
        self.changed += found is not None
        return text if found is None else found
