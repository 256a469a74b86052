"""The nearest JSON: what a model meant that left a quote or a bracket out, or wrote it twice.

A value that lacks one sign is none, and where reading it fails seldom tells what it was: a quote that is missing turns what stands
in strings and what does not into each other, up to the end. So each place at which one may be missing, or be one too many, is
tried, up to a bound, and the first value counts that the schema wants. It differs by one sign; what was handed on before is its
beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

_DOUBLED: Final = re.compile(r'(?<!\\)(["{}\[\],:])(?=\1)')
_QUOTE: Final = re.compile(r'(?<!\\)"')
_BRACKET: Final = re.compile(r"[{}\[\]]")
_OTHERS: Final = {"[": "{", "{": "[", "]": "}", "}": "]"}
_BEFORE: Final = re.compile(r"(?:(?<=[\[{:,])|(?<=[\[{:,] )|(?<=[\[{:,]\n)|^)(?=[^\s\"\[{}\],:])")
"""Where a string may begin whose quote is missing."""
_BEHIND: Final = re.compile(r"(?<=[^\s\"\\\[{,:])(?=\s{0,8}(?:[,:}\]]|\Z))")
"""Where one may end."""
_OPENING: Final = re.compile(r'(?<=[\[{:,] )(?=["\d{}\[\]tfn-])|(?<=[\[{:,])(?=["\d{}\[\]tfn-])')
_CLOSING: Final = re.compile(r"(?<=[\"\w{}\[\]])(?=\s{0,8}(?:[,}\]]|\Z))")
_MOST: Final = 512  # values that are tried
_WORK: Final = 1 << 20  # characters that are read of them in all


def _refuse(word: str) -> Any:
    """Refuse what JSON does not have, though Python reads it."""
    raise ValueError(word)


_decode: Final = json.JSONDecoder(parse_constant=_refuse).raw_decode


Wants: TypeAlias = Callable[[Any], bool | None]
"""Tells whether the schema wants all of a value; None where it does not want it."""


class Nearest(NamedTuple):
    """A value in JSON, the place behind it in the text in which it was found, and whether the schema wants all of it."""

    end: int
    written: str
    fits: bool


def is_wanted(written: str, wants: Wants) -> bool:
    """Whether the schema wants all of a value in JSON, as far as Python reads it."""
    try:
        return bool(wants(_decode(written.lstrip())[0]))
    except (ValueError, RecursionError):
        return False


def list_nearest(text: str, begin: int, wants: Wants, sure: bool = False) -> Iterator[Nearest]:
    """List the lists and objects that a text begins with if one sign behind a place is dropped, or put there, or one bracket is
    another; the likeliest first.

    Those are ``sure`` in which a sign stands twice, or a string lacks a quote. Bounded: at most some 500 values are tried, and a
    million characters read.
    """
    work, start = 0, len(text) - len(text.lstrip())
    if not text.startswith(("{", "["), start):
        return
    size = len(text.rstrip())  # nothing is put behind that: what is cut off is not completed
    slips = chain(_list_sure(text, begin), () if sure else _list_others(text, begin))
    for tried, (at, dropped, sign) in enumerate(slip for slip in slips if slip[0] < size):
        work += len(text)
        if tried == _MOST or work > _WORK:
            return
        other = text[:at] + sign + text[at + dropped :]
        try:
            value, end = _decode(other, start)
        except (ValueError, RecursionError):
            continue
        fits = wants(value) if end > at else None
        if fits is not None:
            yield Nearest(end + dropped - len(sign), other[:end], fits)


def _list_sure(text: str, begin: int) -> Iterator[tuple[int, int, str]]:
    """List where a sign is dropped that stands twice, or a quote put; how many are dropped, and what is put there."""
    for found in _DOUBLED.finditer(text, max(begin - 1, 0)):
        yield max(found.start(), begin), 1, ""
    for place in sorted({found.start() for pattern in (_BEFORE, _BEHIND) for found in pattern.finditer(text, begin)}):
        yield place, 0, '"'


def _list_others(text: str, begin: int) -> Iterator[tuple[int, int, str]]:
    """List the same for other signs."""
    for found in _QUOTE.finditer(text, begin):
        yield found.start(), 1, ""
    for pattern, signs in ((_CLOSING, "]}"), (_OPENING, "[{")):
        for found in pattern.finditer(text, begin):
            yield from ((found.start(), 0, sign) for sign in signs)
    for found in _BRACKET.finditer(text, begin):
        yield from ((found.start(), 1, sign) for sign in ("", _OTHERS[found[0]]))
