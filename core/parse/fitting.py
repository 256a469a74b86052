"""Values as their schemas want them: what was written as a text and is none, and texts without quotes."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Final

from ..recover.notation import fit_text
from ..schema import UNKNOWN, Schema
from .landing import HELD
from .lexer import GOING, JsonLexer

_HEAD: Final = re.compile(r'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*(?=\S)', re.DOTALL)
_BEGUN: Final = re.compile(r'\s*(?:[{,]\s*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*(?::\s*)?)?)?)?', re.DOTALL)
"""What stands before a value, from the one before it on; and the beginnings of that."""
_LONGEST: Final = 256  # so long that may be
_BARE_END: Final = re.compile(r"[,}\s]")
_KINDS: Final = {'"': "string", "{": "object", "[": "array", "t": "boolean", "f": "boolean", "n": "null"}
_NO_SCALARS: Final = "n{["  # what lists, objects and null begin with


class Fitting:
    """Hands on the arguments of a call as they come, but for values whose type the schema does not have: such a one is held until
    it has ended, and then written as the schema accepts it, if it can be read so. Of ``scalars`` alone, lists, objects and null
    stay as they are."""

    def __init__(self, parameters: Schema, scalars: bool = True) -> None:
        self.changed = 0  # so many values were written otherwise
        self._parameters = parameters
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
        head = self._head + text[at:]
        found = _HEAD.match(head)
        if found is None:
            self._head, self._over = head, len(head) > _LONGEST or _BEGUN.fullmatch(head) is None
            return len(text)
        start = len(text) - len(head) + found.end()
        first, self._head, self._reading = text[start], "", True
        self._lexer = JsonLexer() if first in '"{[' else None
        key: object = None
        with suppress(ValueError):
            key = json.loads(found[1], strict=False)
        self._schema = self._parameters.get_property(key) if isinstance(key, str) else UNKNOWN
        kind, types = _KINDS.get(first, "number"), () if first in self._kept else self._schema.get_types()
        self._held = None if not types or kind in types or (kind == "number" and "integer" in types) else ""
        return start

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
