"""Characters as they are written: reading escapes piece by piece, and texts, numbers and words as the JSON that they stand for."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from ..format import Choice, Json, Node, Number, Numeral, Text
from ..recover import repair
from ..schema import Schema
from .constants import MORE, NO

NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBER_START = re.compile(r"-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?", re.ASCII)
_HEX = "0-9a-fA-F"
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def escape_json(text: str) -> str:
    """Escape a text so that it can stand inside a JSON string."""
    return encode_basestring(text)[1:-1]


class Units:
    """Reads the escapes of one notation of text."""

    def __init__(self, codec: Text) -> None:
        self.table = dict(codec.escapes)
        self.written = sorted(self.table, key=len, reverse=True)
        self.first = frozenset(written[:1] for written in self.written)
        self._numerals = [(numeral, _compile_numeral(numeral)) for numeral in codec.numerals]
        self.first |= {numeral.before[:1] for numeral in codec.numerals}
        self.signs = re.compile("[" + "".join(map(re.escape, sorted(self.first))) + "]" if self.first else "(?!)")

    def read(self, text: str, at: int, final: bool) -> tuple[int, str]:
        """Read one escape at a place; returns the place behind it (or NO, MORE) and what it stands for."""
        rest = len(text) - at
        for written in self.written:
            if text.startswith(written, at):
                return at + len(written), self.table[written]
            if not final and rest < len(written) and written.startswith(text[at:]):
                return MORE, ""
        found = [_read_numeral(numeral, pattern, text, at, final) for numeral, pattern in self._numerals]
        return max(found, key=lambda each: (each[0] == MORE, each[0]), default=(NO, ""))

    def decode(self, text: str, final: bool = True) -> str:
        """Decode a text; what may be the beginning of an escape at its end is left out if it is not ``final``."""
        out: list[str] = []
        at = 0
        while found := self.signs.search(text, at):
            start = found.start()
            end, char = self.read(text, start, final)
            if end == MORE:
                return "".join(out) + text[at:start]
            out += [text[at:start], char if end > start else text[start]]
            at = max(end, start + 1)
        return "".join(out) + text[at:]


def _read_numeral(numeral: Numeral, pattern: re.Pattern[str], text: str, at: int, final: bool) -> tuple[int, str]:
    before = numeral.before
    if not text.startswith(before, at):
        return (MORE if not final and before.startswith(text[at:]) else NO), ""
    found = pattern.match(text, at)
    if found is None:
        short = len(text) - at < len(before) + 10 and re.fullmatch(f"[{_HEX}]*", text[at + len(before) :])
        return (MORE if short and not final else NO), ""
    if not final and _is_beginning(numeral, text[found.end() :]) and _may_go_on(numeral, found[0]):
        return MORE, ""
    return found.end(), _decode_numeral(numeral, found[0])


def _is_beginning(numeral: Numeral, rest: str) -> bool:
    """Whether the text ends within another unit, or before it."""
    if len(rest) >= len(numeral.before) + numeral.digits:
        return False
    return numeral.before.startswith(rest) or (
        rest.startswith(numeral.before) and set(rest[len(numeral.before) :]) <= _HEX_DIGITS
    )


def _may_go_on(numeral: Numeral, written: str) -> bool:
    """Whether a second half may follow that belongs to the same character."""
    if numeral.kind == "utf-16":
        return written[-4:-2].lower() in ("d8", "d9", "da", "db")
    return numeral.kind == "utf-8" and "\ufffd" in _decode_numeral(numeral, written)


def _compile_numeral(numeral: Numeral) -> re.Pattern[str]:
    before, after = re.escape(numeral.before), re.escape(numeral.after)
    if numeral.kind == "utf-16":
        high, low = "[dD][89abAB]", "[dD][c-fC-F]"
        pair = f"{before}{high}[{_HEX}]{{2}}{before}{low}[{_HEX}]{{2}}"
        return re.compile(f"{pair}|{before}[{_HEX}]{{4}}")
    if numeral.kind == "utf-8":
        return re.compile(f"{before}[0-7][{_HEX}]|{before}[89a-fA-F][{_HEX}](?:{before}[89abAB][{_HEX}]){{0,3}}")
    digits = f"[{_HEX}]{{{numeral.digits or '1,6'}}}"
    return re.compile(before + (r"\d{1,7}" if numeral.kind == "decimal" else digits) + after)


def _decode_numeral(numeral: Numeral, written: str) -> str:
    digits = written.split(numeral.before)[1:]
    if numeral.kind == "utf-16":
        return b"".join(int(unit, 16).to_bytes(2, "big") for unit in digits).decode("utf-16-be", "surrogatepass")
    if numeral.kind == "utf-8":
        return bytes(int(unit, 16) for unit in digits).decode("utf-8", "replace")
    body = digits[0].removesuffix(numeral.after) if numeral.after else digits[0]
    code = int(body, 10 if numeral.kind == "decimal" else 16)
    return chr(code) if code < 0x110000 else "\ufffd"


def find_within(nodes: tuple[Node, ...]) -> Text | None:
    """Return the notation in which JSON stands as a text in one of some fields; None where it stands as it is."""
    return next((node.codec.within for node in nodes if isinstance(node.codec, Json) and node.codec.within), None)


@lru_cache(maxsize=256)
def get_units(codec: Text) -> Units:
    """Return the reader of a notation's escapes."""
    return Units(codec)


# Scalars -----------------------------------------------------------------------------------------------------------------


def match_scalar(nodes: tuple[Node, ...], text: str, at: int, final: bool) -> tuple[int, str]:
    """Match a number or a word at a place; returns the place behind it (or NO, MORE) and its JSON."""
    best, more = (NO, ""), False
    for node in nodes:
        if isinstance(node.codec, Number):
            found = NUMBER.match(text, at)
            start = _NUMBER_START.match(text, at)
            if start and start.end() == len(text) and not final:
                more = True
            elif found and found.end() > best[0]:
                best = found.end(), found[0]
        elif isinstance(node.codec, Choice):
            for word, literal in node.codec.words:
                if word and text.startswith(word, at) and at + len(word) > best[0]:
                    best = at + len(word), literal
                elif not final and len(text) - at < len(word) and word.startswith(text[at:]):
                    more = True
    return (MORE, "") if more else best


def read_empty(nodes: tuple[Node, ...]) -> str:
    """Return the JSON of a word that is written as nothing; empty where there is none."""
    for node in nodes:
        if isinstance(node.codec, Choice):
            for word, literal in node.codec.words:
                if not word:
                    return literal
    return ""


_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def read_json(text: str) -> tuple[str, str] | None:
    """Return the JSON of a text that is a JSON value, without the white space around it, and its type."""
    text = text.strip()
    if text[:1] not in '{["tfn-0123456789' or text.count("[") + text.count("{") > 512:
        return None
    try:
        value: Any = _load(text)
    except (ValueError, RecursionError):
        return None
    return text, _KINDS[type(value)]


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse, parse_int=_read_integer)


def _read_integer(digits: str) -> int:
    """Read an integer for its type; what Python refuses to read is handed on as it is written."""
    return int(digits[:4000])


def _refuse(word: str) -> None:
    raise ValueError(word)


def fits(kind: str, types: tuple[str, ...]) -> bool:
    """Whether a value of a JSON type is one of the types of a schema; all are where the schema says nothing."""
    return not types or kind in types or (kind == "integer" and "number" in types)


_WORD = re.compile(r"[^\W\d]+")
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}


def read_word(text: str, at: int, final: bool) -> tuple[int, str]:
    """Match a word of JSON or Python at a place, whatever a format has; returns as :func:`match_scalar` does."""
    found = _WORD.match(text, at)
    if found is None:
        return NO, ""
    if found.end() == len(text) and not final and any(word.startswith(found[0]) for word in _WORDS):
        return MORE, ""
    return (found.end(), _WORDS[found[0]]) if found[0] in _WORDS else (NO, "")


def convert(raw: str, nodes: tuple[Node, ...], schema: Schema, lenient: bool = True) -> str:
    """Return the JSON of a value that stands as it is, without quotes.

    ``nodes`` are what it may be in the format. It is the first of what the schema's types, in their order, make of it that the
    schema accepts, null before all others; if it accepts none, the first one. Without types it is JSON if it is valid JSON,
    else text. If ``lenient``, a list or an object that is almost JSON, and a word of Python, is one where the schema says so.
    """
    codec = next((node.codec for node in nodes if node.type == "string" and isinstance(node.codec, Text)), Text())
    text = get_units(codec).decode(raw)
    readings = []
    types = schema.get_types()
    for kind in sorted(types, key=lambda kind: kind != "null") or [""]:
        found = encode_basestring(text) if kind == "string" else _convert_typed(raw, nodes, kind)
        if kind == "null" and "string" in types and any(node.type == "string" for node in nodes):
            # Any word but the format's own for it, if it has one, is a text, which the template writes so.
            found = "null" if match_scalar(nodes, raw, 0, True) == (len(raw), "null") else None
        if found is None and lenient and kind == "boolean":
            end, word = read_word(raw.strip(), 0, True)
            found = word if end == len(raw.strip()) and _literal_type(word) == "boolean" else None
        if found is None and lenient and kind in ("array", "object") and raw.lstrip()[:1] in ("[", "{", "("):
            mended = repair(raw.strip()) or _unescape(raw.strip())
            found = mended if mended and mended[0] == ("[" if kind == "array" else "{") else None
        if found is not None:
            readings.append(found)
    readings.append(encode_basestring(text))
    if len(readings) == 1 or not types:
        return readings[0]
    return next((found for found in readings if schema.accepts(_load(found))), readings[0])


def _unescape(raw: str) -> str | None:
    """Return the JSON of a list or an object that was escaped as if it stood in a string."""
    try:
        return repair(json.loads(f'"{raw}"', strict=False)) if '\\"' in raw else None
    except ValueError:
        return None


def _convert_typed(raw: str, nodes: tuple[Node, ...], kind: str) -> str | None:
    """Return the JSON of a value if it is of a type (any but a string where that is empty)."""
    end, literal = match_scalar(nodes, raw, 0, True)
    if not raw and not end > 0:
        literal, end = read_empty(nodes), 0
    if literal and end == len(raw) and fits(_literal_type(literal), (kind,) if kind else ()):
        return literal
    within = find_within(nodes)
    found = (read_json(get_units(within).decode(raw)) if within else None) or read_json(raw)
    if found is None or not fits(found[1], (kind,) if kind else ()):
        return None
    if found[1] == "string" and any(node.type == "string" for node in nodes):
        return None
    return found[0]


def _literal_type(literal: str) -> str:
    if literal in ("true", "false"):
        return "boolean"
    return "null" if literal == "null" else "number" if set(literal) & set(".eE") else "integer"
