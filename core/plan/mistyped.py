"""Marks that a model mistypes: told by what they are like, and by what stands behind them."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from ..format.cut import CLOSE, OPEN
from .constants import end_word, skip_blank

_LONGEST: Final = 48
LONGEST_LIKE: Final = 2 * _LONGEST  # characters of a text that others may be like
_MARKS: Final = 3  # so many behind each other may be mistyped
_PAIRS: Final = (
    ("<<", "<>", r">(?:>|(?=\s|<<))"),
    ("<", "<>", ">"),
    (r"\[\[", r"\[\]", r"\](?:\]|(?=\s|\[\[))"),
    (r"\[", r"\[\]", r"\]"),
    (f"[{OPEN}]", OPEN + CLOSE, f"[{CLOSE}]"),
    (r"\{[{%#|@]", "{}", r"[}%#|@]\}"),
    (r"(?:[$@#%]|\\\w{1,16})\{", "{}", r"\}"),
    (r"\((?P<in>[|:*%#@+~^=-]{1,2}) ?", r"()\"'|:*%#@+~^=", r" ?(?P=in)\)"),
    (r"(?P<far>[-=*#~+_]{2,8}) ?", r"-=*#~+\"'(){}<>\[\]", r" ?(?P=far)"),
    (r"(?P<side>[@#%|~$^*=+!]{1,3})", r"@#%|~$^*+!\"'(){}<>\[\]", r"(?P=side)"),
    (r"(?P<twice>:{2,3})", r":\"'(){}<>\[\]", r"(?P=twice)"),
)
"""What marks begin with, what is not in them, and what they end with."""
_BRACKETS: Final = r"(?:[\"'\])}](?:\s{0,16}[\"'\])}]){0,7}\s{0,2})?"  # those of JSON before a mark
_BEFORE: Final = "\"'])} \t\n"
_SIGNS: Final = r"[]>}@#%|~$^*=+! _-]{0,8}[<\[]?"  # some of what ends one, and half of what may be behind it
_WHOLE: Final = (rf"{begins}[^{no}\s]{{2,{_LONGEST}}}(?: [^{no}\n]{{0,{_LONGEST}}})?{ends}" for begins, no, ends in _PAIRS)
_INNER: Final = r"[^{no}\s]{{0,{size}}}(?:(?<=[^{no}\s]{{2}}) [^{no}\n]{{0,{size}}})?"
_HALF: Final = (begins + _INNER.format(no=no, size=_LONGEST) + _SIGNS for begins, no, _ in _PAIRS)
_OPEN: Final = rf"<[^<>\s]{{2,{_LONGEST}}}(?=\n)"  # one without its last bracket, where a line ends
MARK: Final = re.compile(rf"{_BRACKETS}(?:{'|'.join(_WHOLE)}|{_OPEN})")
HALF_MARK: Final = re.compile(rf"{_BRACKETS}(?:{'|'.join(_HALF)}|[-=*#~+_{{])?")
LIKE: Final = 2  # so many characters are the same at the beginning of both
LETTERS: Final = 3  # and so many letters, so that little has to be waited for
BEGUN: Final = 4  # as many signs are where no line begins, for prose not to be held back
SPARE: Final = 2  # so many characters may be too many, or too few
_SHORT_RUN, _LONGEST_RUN = 3, 64  # of one sign, as tables and rules have it
_RUNS: Final = re.compile(rf"([`~*#=|+:%$@^_-])\1{{{_SHORT_RUN},}}")
"""A sign more than three times."""
_QUOTES: Final = {"'": '"', "`": '"'}
_SHARE: Final = 4  # and so many stand there for each
_ALIKE: Final = 0.75
_ATTRIBUTE: Final = re.compile(r"[= ][^>\]]*")
_COMMAND: Final = re.compile(r"^\\\w+(?=\{)")
_REST: Final = re.compile(r"(?<=\w)[^\w<>/\[\]|-][^>\]]*")


class Like(NamedTuple):
    """Where what is like another text ends, and how many signs are not those of that."""

    end: int
    other: int


def find_mark(text: str) -> str:
    """Return the mark with which a text begins, with brackets before it; empty where there is none."""
    found = MARK.match(text)
    return found[0] if found else ""


def find_marks(text: str, at: int, final: bool) -> str:
    """Return a few marks behind each other at a place; empty where more of the text is needed to tell."""
    end = start = at
    for _ in range(_MARKS):
        found = MARK.match(text, start)
        if found is None:
            half = not final and HALF_MARK.fullmatch(text, start)
            return "" if half else text[at:end]
        end, start = found.end(), skip_blank(text, found.end())
    return text[at:end]


def rewrite_marks(meant: str, written: str) -> tuple[str, list[str]]:
    """Return a text with the marks at its beginning as they stand in what is written, as far as they are alike, and those of
    them that are mistyped.

    ``meant`` begins with a mark that is the first one that is written, or near it; the layout between marks is left as it is.
    """
    done, at, rest, odd = "", 0, meant, []
    written += "\n"  # what a mark without its last bracket has behind it
    while (mark := find_mark(rest)) and (found := MARK.match(written, at)) and (is_near(found[0], mark) or found[0] == mark):
        odd += [found[0]] if found[0] != mark else []
        bare = rest[len(mark) :].lstrip()
        done += found[0] + rest[len(mark) : len(rest) - len(bare)]
        at, rest = skip_blank(written, found.end()), bare
    return done + rest, odd


def _find_letters(text: str) -> str:
    """Return the first letters of a mark's first word."""
    return "".join(filter(str.isalnum, _REST.sub("", text.lstrip(_BEFORE))[: 2 * LIKE + LETTERS]))[:LETTERS]


def strip_accent(sign: str) -> str:
    """Return a letter without what stands above or below it."""
    bare = unicodedata.normalize("NFD", sign)
    return bare[0] if len(bare) > 1 and unicodedata.combining(bare[1]) else sign


def _strip_signs(text: str) -> str:
    """Return a mark without the signs around and between its words, but for the slash of one that ends something."""
    return "".join(strip_accent(sign) for sign in text.casefold() if sign.isalnum() or sign == "/")


def _begin_alike(one: str, mark: str) -> bool:
    """Whether a text begins as a mark does, up to its first letters, as far as both have some."""
    letters, own = _find_letters(one), _find_letters(mark)
    return mark.startswith(one[:LIKE]) and bool(own) and (own.startswith(letters) or letters.startswith(own))


@lru_cache(maxsize=1024)
def may_be_near(half: str, mark: str) -> bool:
    """Whether what has come of a mark may be the beginning of one that is another one mistyped."""
    if half[-1:].isspace() and not (_find_letters(half) or mark.startswith(half)):
        return False  # no white space stands before its word but its own
    return _begin_alike(half, mark) or _strip_signs(mark).startswith(_strip_signs(half))


@lru_cache(maxsize=1024)
def find_like(text: str, meant: str, joined: bool = False) -> Like | None:
    """Return what a text begins with, if it is another text but for a sign or two, for case, layout, or the kind of its quotes.

    A word may go on behind it only if it may be ``joined`` to another one.
    """
    (written, ends), (meant, _) = _fold(text), _fold(meant)
    if written.startswith(meant) and len(meant) >= LIKE:
        return Like(ends[len(meant) - 1], 0)
    written = written[: len(meant) + SPARE + 1]
    begins = written[:1] == meant[:1] or written.startswith(meant[1 : 1 + LIKE])
    if not begins or sum(map(str.isalnum, meant)) < LETTERS:
        return None
    sizes = range(len(meant) - SPARE, min(len(meant) + SPARE, len(written)) + 1)
    told = (size for size in sizes if joined or end_word(text, ends[size - 1], True) >= 0)
    others = ((_count_other(written[:size], meant), size) for size in told if _is_alike(written[:size], meant))
    other, best = min(others, default=(SPARE, 0))
    return Like(ends[best - 1], other) if best and other <= SPARE and other * _SHARE <= len(meant) else None


def _fold(text: str) -> tuple[str, list[int]]:
    """Return a text without white space, case, kinds of quotes and what is more of a run than three, and where each of its signs
    ends."""
    bare = _RUNS.sub(lambda run: run[1] * (_SHORT_RUN - 1) + " " * (len(run[0]) - _SHORT_RUN) + run[1], text)
    # A letter may have two in lower case.
    signs = [(strip_accent(_QUOTES.get(sign, sign.lower())[0]), place) for place, sign in enumerate(bare, 1) if not sign.isspace()]
    return "".join(sign for sign, _ in signs), [place for _, place in signs]


def measure_like(text: str, at: int, meant: str) -> int:
    """Return how many characters have to be seen at a place of a text for what is like another one: a few more, and runs of
    any length."""
    size = len(meant) + SPARE
    return size + max(_count_in_runs(text[at : at + size + _LONGEST_RUN]) - _count_in_runs(meant), 0)


def _count_in_runs(text: str) -> int:
    """Return how many signs of a text are more of a run than three."""
    return sum(len(run[0]) - _SHORT_RUN for run in _RUNS.finditer(text))


def _is_alike(written: str, meant: str) -> bool:
    """Whether a text may stand for another one: without its signs a mark is none, and a bracket too many begins a list."""
    signs, own = (sum(not sign.isalnum() for sign in text) for text in (written, meant))
    return 2 * signs >= own and all(written.count(sign) <= meant.count(sign) for sign in "[{(")


@lru_cache(maxsize=1024)
def may_be_like(begun: str, meant: str) -> bool:
    """Whether what has come of a text may be the beginning of what is like another one."""
    size, meant = len(_fold(begun)[1]), _fold(meant)[0]
    places = range(max(size - SPARE, 0), size + SPARE + 1)
    return any(find_like(begun + meant[place:], meant) for place in places)


def _count_other(one: str, two: str) -> int:
    """Return how many characters of either of two texts are not those of the other one."""
    return len(one) + len(two) - 2 * sum(block.size for block in SequenceMatcher(None, one, two, False).get_matching_blocks())


@lru_cache(maxsize=1024)
def is_near(written: str, mark: str) -> bool:
    """Whether a mark is another one mistyped: with other signs, with some other letters, or with what only its beginning has."""
    if _strip_signs(written) == _strip_signs(mark):
        return not written.endswith(mark)  # then the mark itself stands there
    if not _begin_alike(written, mark):
        return False
    written, mark = (_COMMAND.sub("", each) for each in (written, mark))  # the word in the brackets tells them apart
    return _REST.sub("", written) == mark or SequenceMatcher(None, _ATTRIBUTE.sub("", written), mark, False).ratio() >= _ALIKE
