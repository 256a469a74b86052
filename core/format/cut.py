"""Where a text may be cut so that neither a word nor a tag is taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category

STOPS = frozenset(".!?…。！？．｡։؟۔।॥።។။")  # at the end of a sentence, in any script (STerm of Unicode, those in common use)
COUNTER = "\0"
"""Stands for a counter where texts are cut and compared."""


def _list_signs(*categories: str) -> str:
    """Return the brackets and quotation marks of Unicode, beyond ASCII, that open or close."""
    return "".join(chr(code) for code in range(0x80, 0x10000) if category(chr(code)) in categories)


OPEN, CLOSE = _list_signs("Ps", "Pi") + "◁◀≪", _list_signs("Pe", "Pf") + "▷▶≫"
"""Brackets and quotation marks that ASCII does not have, and what is used for such."""


def find_closer(sign: str) -> str:
    """Return what Unicode has behind an opening bracket or quotation mark beyond ASCII; empty where that closes nothing."""
    behind = chr(ord(sign) + 1) if "\x80" <= sign < "\uffff" else ""
    return behind if sign in OPEN and behind in CLOSE else ""


_WORDS = r"\w+(?:[:.]\w+)*"
_SIGN = r"[^\w\s(){}<>\[\]\"'`.,;!?&\\]"
TOKEN = re.compile(
    r"<<[^<>\n]+>>|\[\[[^\[\]\s\"',]+\]\]|[{$@#%]\{[^{}\s\"',:]+\}+|\\\w+\{[^{}\s\"',]+\}+"
    rf"|</?[^<>\s\"'=]+>|<[^<>\n]*(?:>|\Z)|\[(?:/?{_WORDS}|[^\w\s\[\]{{}}()\"',:]+)\]"
    rf"|[{OPEN}][^\s{OPEN}{CLOSE}]+(?:[{CLOSE}]|\Z)"
    rf"|(?=(?P<side>(?P<sign>(?!/){_SIGN})(?P=sign)*))(?P=side)/?\w+(?:(?!(?P=sign))[:.]\w+)*(?P=side)"
    rf"|(?P<far>{_SIGN}{{2,}}) /?\w+(?: \w+){{0,2}} (?P=far)"
    rf"|(?P<one>{_SIGN})(?P<two>{_SIGN}) ?/?\w+(?: \w+){{0,2}} ?(?P=two)(?P=one)"
    rf"|[{{(\[](?P<in>{_SIGN}{{1,2}}) ?/?\w+(?: \w+){{0,2}} ?(?P=in)[\]}})]"
    rf"|\w+|\s+|(?P<run>[`~*#=|+:%$@^-])(?P=run)+|[^\w\s]{COUNTER}|.",
    re.DOTALL,
)
"""A tag or bracketed word, a word between signs, a word, white space, a run of one sign, or a sign, with its counter."""


@lru_cache(maxsize=4096)
def find_boundaries(text: str, token: re.Pattern[str] = TOKEN) -> frozenset[int]:
    """Return the places where a text may be cut, which is between two of what a pattern finds."""
    return frozenset({0, *(found.end() for found in token.finditer(text))})


def find_first(text: str, words: Iterable[str | None]) -> int:
    """Return where the first of some words stands in a text, or where the text ends."""
    return min((place for word in words if word and (place := text.find(word)) >= 0), default=len(text))


def take_letters(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def find_common_start(*texts: str) -> int:
    """Return how many characters all texts share at their beginning."""
    first, last = min(texts), max(texts)
    pairs = zip(first, last, strict=False)
    return next((place for place, (one, two) in enumerate(pairs) if one != two), min(len(first), len(last)))


def find_common_end(*texts: str) -> int:
    """Return how many characters all texts share at their end."""
    return find_common_start(*(text[::-1] for text in texts))


def cut_common_start(texts: list[str], token: re.Pattern[str] = TOKEN) -> str:
    """Return what all texts have in common at their beginning, cut where all may be cut."""
    size = find_common_start(*texts)
    allowed = frozenset.intersection(*(find_boundaries(text, token) for text in texts))
    return texts[0][: max(place for place in allowed if place <= size)]


def cut_common_end(texts: list[str]) -> str:
    """Return what all texts have in common at their end, cut where all may be cut."""
    size = find_common_end(*texts)
    while size and not all(len(text) - size in find_boundaries(text) for text in texts):
        size -= 1
    return texts[0][len(texts[0]) - size :]
