"""What a format has around the values of calls, and what values are by their schema, however they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ..format.cut import find_closer
from ..schema import Schema
from .repair import repair

_QUOTES = {'"': '"', "'": "'", "`": "`", "«": "»"}
SIGNS = re.compile(r"[^\w\s]+")
_FIRST_WORD = re.compile(r"\W{0,64}(?:\d{1,8}\W{1,8}){0,4}(\w{0,64})")
_LETTERS, _LONGEST = 4, 256  # so many has a word that may be another one mistyped, at least and at most
_ALIKE = 0.8


class Notation(NamedTuple):
    """What a format has around values: the words between fields, those of them behind which a number or an id stands, the marks
    that open texts, each with the one that ends them, what reads a text without any, its words for the literals of JSON, what
    it has behind keys, which of the words between fields it has itself, which signs that nothing else has by chance, and whether
    calls have ids or numbers."""

    words: frozenset[str]
    counted: frozenset[str] = frozenset()
    quotes: Mapping[str, str] = {}
    decode: Callable[[str], str] = str
    literals: Mapping[str, str] = {}
    assigns: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    signs: frozenset[str] = frozenset()
    calls_have_ids: bool = False


class Begun(NamedTuple):
    """A call of which something has been read: its tool, and the parameters that were given."""

    name: str
    given: frozenset[str]


@lru_cache(maxsize=64)
def compile_names(names: frozenset[str]) -> re.Pattern[str]:
    """Return what finds one of some names at a place, as a whole word; so long a name as no tool has is none."""
    found = sorted((name for name in names if len(name) <= _LONGEST), key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, found))})(?![\w]|[.-]\w)") if found else re.compile(r"(?!)")


@lru_cache(maxsize=64)
def fold_words(words: frozenset[str]) -> frozenset[str]:
    """Return words in the letters by which they are compared."""
    return frozenset(map(str.casefold, words))


def begins_word(begun: str, names: Iterable[str], words: frozenset[str]) -> bool:
    """Whether one of some names, or of some words in letters of any case, begins so."""
    folded = begun.casefold()
    return any(name.startswith(begun) for name in names) or any(word.startswith(folded) for word in fold_words(words))


def may_lead(text: str, at: int, names: Iterable[str], any_name: re.Pattern[str], words: frozenset[str]) -> bool:
    """Whether the first word behind the signs and numbers at a place is one of some names, which a pattern finds, or words, or may
    yet become one; a tag may have any word in it."""
    found = _FIRST_WORD.match(text, at)
    if text[at] in "<[" or found is None or not found[1]:
        return True
    if found.end() < len(text):
        return found[1].casefold() in fold_words(words) or any_name.match(text, found.start(1)) is not None
    return begins_word(found[1], names, words)


def put_name_first(text: str, names: frozenset[str]) -> str | None:
    """Return the text of a call with the name of its tool first, if that is the only one in it and stands behind something."""
    found = [*islice(compile_names(names).finditer(text), 2)]
    before, name, behind = (text[: found[0].start()], found[0][0], text[found[0].end() :]) if found else ("", "", "")
    amid = any(before.count(quote) % 2 and not (before.endswith(quote) and behind.startswith(quote)) for quote in "\"'")
    return f"{name}\n{before} {behind}" if before and len(found) == 1 and not amid else None


@lru_cache(maxsize=1024)
def is_like(word: str, words: frozenset[str]) -> bool:
    """Whether a word is one of others but for a letter or two."""
    return _LETTERS <= len(word) <= _LONGEST and bool(get_close_matches(word.casefold(), words, 1, _ALIKE))


@lru_cache(maxsize=256)
def find_quote(sign: str) -> str:
    """Return what ends a text that a sign begins: a quote, or what Unicode has behind an opening bracket; empty where none does."""
    return _QUOTES.get(sign) or (find_closer(sign) if sign else "")


def accept(written: str | None, schema: Schema) -> str | None:
    """Return the JSON of a value if the schema accepts it."""
    return written if written is not None and schema.accepts(json.loads(written, strict=False)) else None


def fit_text(text: str, schema: Schema) -> str | None:
    """Return the JSON of a text in quotes: a text if the schema accepts one, else what it holds."""
    return json.dumps(text, ensure_ascii=False) if schema.accepts(text) else accept(repair(text.strip()), schema)


def fit_bare(text: str, schema: Schema, literals: Mapping[str, str]) -> str | None:
    """Return the JSON of a bare value: what it holds, but text where the schema wants that first. Signs alone are none."""
    if literal := accept(literals.get(text), schema):
        return literal
    if not any(map(str.isalnum, text)):
        return None
    if text == "null" and schema.accepts(None):
        return text
    if "string" in schema.get_types()[:1]:
        return fit_text(text, schema)
    return accept(repair(text), schema) or (json.dumps(text, ensure_ascii=False) if schema.accepts(text) else None)
