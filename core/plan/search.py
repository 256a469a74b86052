"""Patterns that find the places in a text at which one of many texts may begin, quickly."""

from __future__ import annotations

import re
from collections.abc import Iterable

_END = r"\Z"


def list_choices(heads: Iterable[str], words: Iterable[str]) -> list[str]:
    """Return patterns that find texts, and their beginnings where a text ends; words only where one begins.

    That no letter stands before a word is asked behind it: a pattern whose choices all begin with a letter of their own is
    searched for twice as fast.
    """
    begun = [rf"{word}(?<!\w{word.removesuffix(_END)})" for word in _list_begun(words)]
    return _list_begun(heads) + begun


def _list_begun(heads: Iterable[str]) -> list[str]:
    begun = {head[:size] for head in heads for size in range(1, len(head))}
    patterns = [re.escape(head) for head in sorted(heads, key=_longest_first)]
    return patterns + [re.escape(half) + _END for half in sorted(begun, key=_longest_first)]


def _longest_first(text: str) -> tuple[int, str]:
    return -len(text), text
