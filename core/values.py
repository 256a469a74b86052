"""Values that are raw text: what type they have, and how they are streamed as JSON.

A string is streamed as it comes. Any other value is waited for, since only its end tells whether it is what its type
promises; a long array or object is streamed from the moment on at which so much of it is valid that it is one beyond
reasonable doubt. That moment is a number of characters of the value, so it does not depend on how the text is split.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from .lexer import JSON, Lexer, escape_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema import Schema
    from .transducer import Transducer

HOLD = 256  # longer values that are not strings are streamed

_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.0+)?", re.ASCII)
_FIRST = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
_WORDS = ("true", "false", "null")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_TOKEN = re.compile(
    r"""[ \t\n\r]*(?:
        (?P<open>\{|\[+) | (?P<close>[}\]]) | (?P<comma>,) | (?P<colon>:)
        | (?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
        | (?P<word>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])|(?:true|false|null)(?!\w)))""",
    re.VERBOSE,
)
_TAIL = re.compile(r'[ \t\n\r]*(?:"(?:[^"\\\x00-\x1f]|\\.)*\\?|[-+.\w]{0,64})\Z', re.DOTALL)


def _refuse(name: str) -> None:
    raise ValueError(name)


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]
_RECURSION = 64  # deeper values are checked without recursion
_JSON_SPACE = " \t\n\r"


def dump_text(text: str) -> str:
    """Return a text as a JSON string."""
    return encode_basestring(text)


def check_json(text: str) -> str:
    """Tell whether a text is a JSON value (``"whole"``), the beginning of one (``"prefix"``), or neither (``""``).

    Needs no recursion, whatever the nesting.
    """
    stack: list[str] = []
    expect, at = "value", 0  # one of value, item (or end), key, key (or end), colon, next
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            break
        kind, at = found.lastgroup or "", found.end()
        token = found[kind]
        closes = bool(stack) and token == stack[-1]
        if kind == "open" and expect in ("value", "item"):
            stack.extend("}" if token == "{" else "]" * len(token))
            expect = "first" if token == "{" else "item"
        elif kind == "close" and closes and expect in ("first", "item", "next"):
            stack.pop()
            expect = "next"
        elif kind == "comma" and expect == "next" and stack:
            expect = "key" if stack[-1] == "}" else "value"
        elif kind == "colon" and expect == "colon":
            expect = "value"
        elif kind == "string" and expect in ("first", "key"):
            expect = "colon"
        elif kind in ("string", "word") and expect in ("value", "item"):
            expect = "next"
        else:
            return ""
    if not text[at:].strip(" \t\n\r"):
        return "prefix" if stack or expect != "next" else "whole"
    return "prefix" if _TAIL.match(text, at) and (stack or expect != "next") else ""


def get_json_type(text: str) -> str:
    """Return the JSON Schema type of the JSON value in a text, or "" if there is none."""
    text = text.strip(_JSON_SPACE)
    if not text:
        return ""
    kind = _FIRST.get(text[0])
    if kind is None or kind in ("boolean", "null"):
        if kind is not None:
            return kind if text in _WORDS else ""
        return "number" if _NUMBER.fullmatch(text) else ""
    try:
        if len(text) > HOLD or text.count("[") + text.count("{") > _RECURSION:
            whole = check_json(text) == "whole"
        else:
            whole = _scan(text, 0)[1] == len(text)
    except (ValueError, StopIteration):
        whole = False
    return kind if whole else ""


def convert_value(text: str, types: tuple[str, ...], transducer: Transducer, foreign: bool) -> str:
    """Return the JSON of a raw value: the first of its types that fits, else a string.

    Without types it is JSON if it is valid JSON; with ``foreign`` (the notation is not JSON) also what the notation
    writes for the three words, lists and objects.
    """
    word = text.strip()
    if not types and word in _WORDS:
        return word
    for kind in types:
        if kind == "string":
            return dump_text(text)
        if kind == "integer" and _INTEGER.fullmatch(word):
            return word
        if kind == "number" and _NUMBER.fullmatch(word):
            return word
        if kind in ("boolean", "null"):
            known = transducer.convert_word(word)
            if known in (("true", "false") if kind == "boolean" else ("null",)):
                return known
        if kind in ("array", "object"):
            converted = _convert_container(word, (kind,), transducer)
            if converted is not None:
                return converted
    if not types:
        if get_json_type(word):
            return word
        if foreign:
            converted = transducer.convert_word(word)
            if converted in ("true", "false", "null"):
                return converted
            converted = _convert_container(word, ("array", "object"), transducer) or ""
            if converted:
                return converted
    return dump_text(text)


def _convert_container(text: str, kinds: tuple[str, ...], transducer: Transducer) -> str | None:
    if get_json_type(text) in kinds:
        return text
    if text[:1] in ("{", "["):
        converted = transducer.translate(text)
        if converted is not None and get_json_type(converted) in kinds:
            return converted
    return None


def choose_lexer(text: str, types: tuple[str, ...], transducer: Transducer, foreign: bool) -> Lexer | None:
    """Decide from its beginning how to stream a long value that may be an array or object; None: as text."""
    start = text.lstrip()
    kind = {"{": "object", "[": "array"}.get(start[:1])
    if kind is None or (types and kind not in types):
        return None
    if check_json(start):
        return JSON
    if types or foreign:
        read = transducer.scan(transducer.start, start, 0)
        if read.end < 0 and check_json(read.out):
            return transducer
    return None


class Value:
    """One raw value that is being read: held back, streamed as a string, or streamed through a lexer.

    ``lead`` is what stands before it and is not emitted yet; ``opener`` the beginning of an entry of the same key, where the
    value may hold one. ``schema`` is set where it may be nested markup, ``certain`` where it is if it begins like that. A
    ``short`` one need only be looked at when its end has come.
    """

    __slots__ = (
        "_foreign",
        "_transducer",
        "certain",
        "holding",
        "late",
        "lead",
        "lexer",
        "opener",
        "schema",
        "short",
        "state",
        "types",
    )

    def __init__(self, types: tuple[str, ...], transducer: Transducer, foreign: bool, quoted: bool = False) -> None:
        self.types, self._transducer, self._foreign = types, transducer, foreign
        self.holding = self.late = self.short = quoted or types[:1] != ("string",)
        self.opener = self.lead = ""
        self.lexer: Lexer | None = None
        self.state: Any = None
        self.schema: Schema | None = None
        self.certain = False

    def nest(self, schema: Schema, known: bool) -> None:
        """Let the value be nested markup, which it need not prove if ``known`` says that such a type is expected."""
        self.schema = schema
        self.certain = self.short = known and "string" not in self.types

    def open(self) -> str:
        """Return what stands before the first piece of a string."""
        return self.lead + '"'

    def decide(self, text: str) -> None:
        """Decide by its first characters how to go on with a value that is longer than what is waited for."""
        self.lexer = choose_lexer(text[:HOLD], self.types, self._transducer, self._foreign)
        self.state = self.lexer.start if self.lexer else None
        if self.lexer is None:
            self.lead = self.open()
        self.holding = False

    def write(self, text: str) -> str:
        """Return the JSON of a piece of a value that is not held."""
        lead = ""
        if self.late:
            lead, self.late = self.lead, False
        if self.lexer is None:
            return lead + escape_json(text)
        self.state, out, _, _ = self.lexer.scan(self.state, text, 1 << 30)
        return lead + out

    def close(self, text: str) -> str:
        """Return the JSON of the rest of the value."""
        if not self.holding:
            return self.write(text) + ("" if self.lexer is not None else '"')
        if self.schema is not None and self.types[:1] in (("array",), ("object",)) and not text.strip():
            return self.lead + ("[]" if self.types[0] == "array" else "{}")  # what a list without items looks like
        return self.lead + convert_value(text, self.types, self._transducer, self._foreign)
