"""Texts, numbers and words as they are written, and the JSON that they stand for."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Any, Final

from ..format import Choice, Json, Node, Number, Text
from ..format.units import MORE, NO, get_units
from ..recover.nearest import is_wanted
from ..recover.repair import LITERALS, read_literal, repair
from ..schema import Schema, find_type

NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBER_START: Final = re.compile(r"-?\d*(?:\.\d*)?(?:[eE][+-]?\d*)?", re.ASCII)


def escape_json(text: str) -> str:
    """Escape a text so that it can stand inside a JSON string."""
    return encode_basestring(text)[1:-1]


def find_within(nodes: tuple[Node, ...]) -> Text | None:
    """Return the notation in which JSON stands as a text in some fields; None where it stands as it is in one of them."""
    found = [node.codec.within for node in nodes if isinstance(node.codec, Json)]
    return None if None in found else next(iter(found), None)


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
    choices = (node.codec for node in nodes if isinstance(node.codec, Choice))
    return next((literal for choice in choices for word, literal in choice.words if not word), "")


_DIGITS: Final = "+-.0123456789"
BEGINNINGS: Final = {"integer": _DIGITS, "number": _DIGITS, "boolean": "tTfF", "null": "nN", "array": "[(<", "object": "{<"}
"""Signs with which values of a type begin, as models write them."""


def may_be_read(text: str) -> bool:
    """Whether a text has no more brackets than may stand within each other in JSON that is read."""
    return text.count("[") + text.count("{") <= _BRACKETS


def read_json(text: str) -> tuple[str, str] | None:
    """Return the JSON of a text that is a JSON value, without the white space around it, and its type."""
    text = text.strip()
    if text[:1] not in '{["tfn-0123456789' or not may_be_read(text):
        return None
    try:
        value: Any = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return text, find_type(value)


def _refuse(word: str) -> None:
    raise ValueError(word)


# Integers are read for their type alone: what Python refuses to read is handed on as it is written.
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=lambda digits: int(digits[:4000]))


def fits(kind: str, types: tuple[str, ...]) -> bool:
    """Whether a value of a JSON type is one of the types of a schema; all are where the schema says nothing."""
    return not types or kind in types or (kind == "integer" and "number" in types)


_BRACKETS: Final = 512
_WORD: Final = re.compile(r"[^\W\d]+")
_ZEROS: Final = re.compile(r"[+-]?0\d")  # as a number it would lose them
_SIGNED: Final = re.compile(r"[+.][\w.]*")
_FENCE: Final = re.compile(r"```[ \t]*\w*\n")
_DATA_BEGINS: Final = {
    "array": re.compile(r"\[|[\"']|-?\d[\d.]*\s*[,\]]|\{\s*[\"']"),
    "object": re.compile(r"\{|[\"']?\w+[\"']?\s*[:=]"),
}
_QUOTED: Final = re.compile(r"[\"']([^\"']+)[\"']")


def read_bare(nodes: tuple[Node, ...], text: str, at: int, final: bool) -> tuple[int, str]:
    """Match what no format need have: a word of its own in other letters, one of JSON or Python, or a number with a plus or a dot
    before it.

    Returns as :func:`match_scalar` does.
    """
    found = _WORD.match(text, at) or _SIGNED.match(text, at)
    if found is None:
        return NO, ""
    whole = found.end() < len(text) or final
    if found[0][0] in "+.":
        return (read_literal(text, at) or (NO, "")) if whole else (MORE, "")
    words = {**LITERALS, **_fold_words(nodes)}
    if not whole and any(word.startswith((found[0], found[0].casefold())) for word in words):
        return MORE, ""
    literal = words.get(found[0]) or words.get(found[0].casefold())
    return (found.end(), literal) if literal else (NO, "")


def _fold_words(nodes: tuple[Node, ...]) -> dict[str, str]:
    """Return the words of some fields in small letters, and their JSON."""
    choices = (node.codec for node in nodes if isinstance(node.codec, Choice))
    return {word.casefold(): literal for choice in choices for word, literal in choice.words if word}


def convert(raw: str, nodes: tuple[Node, ...], schema: Schema, lenient: bool) -> tuple[str, bool]:
    """Return the JSON of a value that stands as it is, without quotes, and whether that was mended.

    ``nodes`` are what it may be in the format. It is the first of what the schema's types, in their order, make of it that the
    schema accepts, null before all others; if it accepts none, the first one. Without types it is JSON if it is valid JSON,
    else text. If ``lenient``, a list or an object that is almost JSON, and a word of Python, is one where the schema says so.
    """
    types = schema.get_types()
    plain = _convert_typed(raw, nodes, types[0]) if schema.names_type and types and types[0] not in ("string", "null") else None
    if plain is not None:
        return plain, False
    codec = next((node.codec for node in nodes if node.type == "string" and isinstance(node.codec, Text)), Text())
    text = get_units(codec).decode(raw)
    readings: list[tuple[str, bool]] = []
    if lenient and not text and "null" in types and "string" not in types:
        return "null", True
    kinds = list(types)
    if "string" in types:  # then what is written otherwise than here is a value of no such type
        kinds = [kind for kind in types if kind == "string" or any(fits(node.type, (kind,)) or not node.type for node in nodes)]
    for kind in sorted(kinds, key=lambda kind: kind != "null") or [""]:
        found = encode_basestring(text) if kind == "string" else _convert_typed(raw, nodes, kind)
        if kind == "null" and "string" in types and any(node.type == "string" for node in nodes):
            # Any word but the format's own for it, if it has one, is a text, which the template writes so.
            found = "null" if match_scalar(nodes, raw, 0, True) == (len(raw), "null") else None
        mends = found is None and lenient
        if mends and (kind in ("integer", "number", "boolean") or (kind == "null" and "string" not in types)):
            quoted = _QUOTED.fullmatch(raw.strip())
            bare = quoted[1] if quoted else raw.strip()
            mended = _fold_words(nodes).get(bare.casefold()) or (None if _ZEROS.match(bare) else repair(bare))
            found = _convert_typed(mended, nodes, kind) if mended else None
        if mends and kind in ("array", "object"):
            found = _mend_container(raw.strip(), kind, schema)
        if found is not None:
            readings.append((found, mends))
    readings.append((encode_basestring(text), False))
    if len(readings) == 1 or not types:
        return readings[0]
    return next((each for each in readings if schema.accepts(_DECODER.decode(each[0]))), readings[0])


def _mend_container(raw: str, kind: str, schema: Schema) -> str | None:
    """Return the JSON of a list or an object that is almost JSON, also in a fence; one that lacks a bracket, or both, where it is
    all that the schema wants then."""

    def wants(value: Any) -> bool | None:
        return schema.fits(value) if find_type(value) == kind else None

    opening, closing = "[]" if kind == "array" else "{}"
    fenced = _FENCE.match(raw) if raw.endswith("```") else None
    bare = raw[fenced.end() : -3].strip() if fenced else raw
    if bare[:1] in ("[", "{", "("):
        mended = repair(bare, wants=wants) or _unescape(bare)
        if mended and mended[0] == opening:
            return mended
    if not (_DATA_BEGINS[kind].match(bare) and may_be_read(bare)) or bare.endswith((":", "=", ",")):  # something is to come
        return None
    for text in (bare + closing, opening + bare, opening + bare + closing):
        mended = repair(text, wants=wants)
        if mended and is_wanted(mended, wants):
            return mended
    return None


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
    if literal and end == len(raw):
        value = _DECODER.decode(literal)
        if fits(find_type(value), (kind,) if kind else ()):
            return literal
        if kind == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
            return str(int(value))  # which it is by JSON Schema, too
    within = find_within(nodes)
    found = (read_json(get_units(within).decode(raw)) if within else None) or read_json(raw)
    if found is None or not fits(found[1], (kind,) if kind else ()):
        return None
    if found[1] == "string" and any(node.type == "string" for node in nodes):
        return None
    return found[0]
