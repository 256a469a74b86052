"""How large the result of a template's operation can become, known before it is made.

Most operations make something about as large as what they are given; the sandbox charges their results afterwards.
The ones here can make much out of little, or take time out of all proportion, so their worst case is charged first.
Each function takes the operands of the operation it is named for and returns a number of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from itertools import chain
from types import MappingProxyType
from typing import Any

ENOUGH = 1 << 30
"""More than any budget has; where it is reached, counting on would be a waste."""

_LISTS: tuple[type, ...] = (list, tuple, set, frozenset, type({}.keys()), type({}.values()), type({}.items()))
_MAPPINGS = (dict, MappingProxyType)
_SLOT = 8
_LONG_NEEDLE = 64


def size_of(value: Any, limit: int = ENOUGH) -> int:
    """Return the size of a value as it would be if everything in it were written out, or some number above the limit.

    A list that holds another one many times is as large as its text: a few lines of template can build one that no
    machine could print or compare.
    """
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, int):
        return _SLOT + (value.bit_length() >> 1)
    if isinstance(value, _MAPPINGS):
        parts: Any = chain(value, value.values())
    elif isinstance(value, _LISTS):
        parts = value
    else:
        return _SLOT
    size = _SLOT * (len(value) + 1)
    for part in parts:
        if size > limit:
            break
        size += size_of(part, limit - size)
    return size


def _measure_product(left: Any, right: Any) -> int:
    """Bound a repeated text or list, or the work of multiplying or dividing long integers."""
    if isinstance(left, int) and isinstance(right, int):
        return (left.bit_length() * right.bit_length()) >> 10
    for times, value in ((left, right), (right, left)):
        if isinstance(times, int):
            return max(0, times) * size_of(value)
    return 0


def _measure_power(base: Any, exponent: Any) -> int:
    bits = base.bit_length() * abs(exponent) if isinstance(base, int) and isinstance(exponent, int) else 0
    return bits * bits >> 10


def _measure_remainder(left: Any, right: Any) -> int:
    """Bound the remainder of long integers, or a text with values put in."""
    if isinstance(left, (str, bytes)):
        return _measure_formatting(_text(left), "%", right)
    return _measure_product(left, right)


def measure_search(text: str | bytes, needles: tuple[Any, ...]) -> int:
    """Bound the time of looking for each needle in a text; some methods take the product of the lengths."""
    longest = max((len(needle) for needle in needles if isinstance(needle, (str, bytes))), default=0)
    return len(text) * longest // _LONG_NEEDLE if longest > _LONG_NEEDLE else 0


def _measure_formatting(pattern: str, mark: str, *values: Any) -> int:
    size = size_of(values)
    fields = pattern.count(mark)
    widths = sum(int(run[:12]) for run in re.findall(r"\d+", pattern))
    if "*" in pattern or re.search(r"\{[^{}]*\{", pattern):
        widths += fields * max(_find_integers(values), default=0)
    return len(pattern) + widths + fields * size


def _find_integers(value: Any) -> list[int]:
    """Return the numbers in the values of a format, of which any may be a width, also where a text tells it."""
    if isinstance(value, int):
        return [abs(value)]
    if isinstance(value, str):
        return [int(run[:12]) for run in re.findall(r"\d+", value)]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [number for item in value for number in _find_integers(item)]


def _measure_format(pattern: str, *values: Any, **named: Any) -> int:
    return _measure_formatting(pattern, "{", values, named)


def _measure_padding(text: Any, *operands: Any, **named: Any) -> int:
    return size_of(text) + sum(abs(number) for number in (*operands, *named.values()) if isinstance(number, int))


def _measure_replacement(text: Any, old: Any, new: Any, count: Any = None) -> int:
    return len(_text(text)) + _text(text).count(_text(old)) * len(_text(new))


def _measure_join(separator: str | bytes, items: Any) -> int:
    return (len(separator) + 1) * len(items) if isinstance(items, Sized) else 0


def _measure_coding(text: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> int:
    usual = re.fullmatch(r"(utf|ascii|latin|iso)[-_0-9a-z]*", encoding.lower()) is not None
    return len(text) if usual else len(text) ** 2


def _measure_slow(text: Any, *operands: Any, **named: Any) -> int:
    # Their time can grow with the square of the length.
    return size_of((text, operands, named)) ** 2 >> 8


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else str(value)


OPERATORS: dict[str, Callable[[Any, Any], int]] = {
    "*": _measure_product,
    "**": _measure_power,
    "//": _measure_product,
    "%": _measure_remainder,
}

METHODS: dict[str, Callable[..., int]] = {
    "center": _measure_padding,
    "decode": _measure_coding,
    "encode": _measure_coding,
    "expandtabs": lambda text, tabsize=8: len(text) + _text(text).count("\t") * abs(tabsize),
    "format": _measure_format,
    "format_map": _measure_format,
    "join": _measure_join,
    "ljust": _measure_padding,
    "replace": _measure_replacement,
    "rjust": _measure_padding,
    "striptags": _measure_slow,
    "to_bytes": lambda number, length=1, *_, **__: abs(length),
    "translate": lambda text, table, **_: (
        len(text) * max(map(size_of, table.values() if isinstance(table, dict) else ()), default=1)
    ),
    "zfill": _measure_padding,
}
"""The methods of texts, bytes and numbers; the first operand is the value they belong to."""

FILTERS: dict[str, Callable[..., int]] = {
    "batch": lambda items, linecount, fill_with=None: abs(linecount) * (_SLOT + size_of(fill_with)),
    "center": _measure_padding,
    "format": lambda pattern, *values, **named: _measure_formatting(_text(pattern), "%", values, named),
    "indent": lambda text, width=4, *_, **__: (
        size_of(text) + (len(_text(text).splitlines()) + 1) * (abs(width) if isinstance(width, int) else len(width))
    ),
    "join": lambda items, d="", attribute=None: _measure_join(_text(d), items),
    "pprint": _measure_slow,
    "replace": _measure_replacement,
    "round": lambda value, precision=0, *_, **__: abs(precision) * 16,
    "striptags": _measure_slow,
    # A sum of lists copies what it has so far for each item.
    "sum": lambda items, attribute=None, start=0: (
        0 if isinstance(start, (int, float)) or not isinstance(items, Sized) else len(items) * size_of(items)
    ),
    "title": lambda text: len(_text(text)),  # word by word, each a text of its own
    "urlize": _measure_slow,
    "wordwrap": _measure_slow,
}
"""The filters of Jinja; the first operand is the filtered value."""
