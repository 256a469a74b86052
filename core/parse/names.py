"""Names, ids and keys: what may be one, and what else is written in one word with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from ..plan.rules import Rule

SHORT: Final = 256  # characters that a name or a key may have

NAME: Final = re.compile(r"[^\s\\\"'<>{}()\[\],;]{1,128}")
ID: Final = re.compile(r"[^\s\"'<>{}()\[\]]+")
WITHIN_ID: Final = re.compile(r"[\w.:/-]")  # else an id may end there
KEY: Final = re.compile(r"[\w .:$@-]+")
SCALAR: Final = re.compile(r"[\w.+-]{0,64}")
WITH_PREFIX: Final = "prefix of a name"
OTHER_LETTERS: Final = "name in other letters"
AMID: Final = "name amid other text"
PADDED: Final = "signs around a key"
AMID_WORD: Final = re.compile(r"\w\w")
_WORD: Final = r"\w{1,32}"
PREFIX: Final = re.compile(rf"{_WORD}(?:[.:/]| ?= ?| ?\Z)|[.:/=] ?")
"""A word in front of a name, or what may be one where the output ends; or a sign alone."""
LEAD, NUMBER = re.compile(rf"(?:{_WORD})?[.:/= ]{{1,2}}"), re.compile(r"(?:[:#@./ -]{1,2}\d{1,4})?")
"""What may stand before a name and behind it, with no other mark around."""
FOREIGN: Final = re.compile(r"(\[[A-Z_]{2,40}\]|<\|?[\w-]{2,40}\|?>)([\w-]{1,64})?(?!\w)|\[[A-Z_]{0,40}\Z|<\|?[\w-]{0,40}\|?\Z")
"""A field that another format writes behind a name: a mark and a word, or the beginning of one where the output ends."""

EDGE, EDGE_BEHIND = re.compile(r"\A[\W_]+"), re.compile(r"[\W_]+\Z")
"""What stands before the first letter of a key, and behind its last one."""
_LEADING: Final = re.compile(r"[^\w\s\"'<>()\[\]{}]{1,8}\Z")
_ID_KEY: Final = re.compile(r"(?<![^\W_])id\W{1,6}\Z", re.IGNORECASE)
_ID_COUNTED: Final = re.compile(r"(?<![^\W_])id\W{1,6}(\d+)", re.IGNORECASE)
COMMENTS: Final = re.compile(r"(?:\s+|(?:#|//)[^\n]*\n)*")
_JOINT, _NUMBERED = re.compile(r"[:#@.-]"), re.compile(r"((?:\w+\.)*[\w-]+)[:#@.-]\d+(?!\w)")


def find_count(rule: Rule, buffer: str, end: int) -> str:
    """Return the number in a rule that ends at a place; empty where it has none."""
    if len(rule.parts) < 2:
        return ""
    begin = max(end - rule.constant.size - SHORT, 0)
    found = re.search(rf"(\d+){re.escape(rule.parts[-1].rstrip())}\s*\Z", buffer[begin:end])
    return found[1] if found else ""


def find_longer(odd: tuple[str, ...], names: frozenset[str], text: str, start: int, end: int) -> str:
    """Return the one of some ``odd`` names that may stand at a place and is longer than what is read there, if that is none of all
    names; or nothing."""
    if start == end or text[start:end] in names:
        return ""
    return next((n for n in odd if len(n) > end - start and n.startswith(text[start : start + len(n)])), "")


def find_counted_id(rule: Rule, buffer: str, end: int) -> str | None:
    """Return the number that counts calls where a rule, which ends at a place, writes it as their id."""
    if not any(_ID_KEY.search(part) for part in rule.parts[:-1]):
        return None
    found = _ID_COUNTED.findall(buffer, max(end - rule.constant.size - SHORT, 0), end)
    return found[-1] if found else None


def find_numbered_id(rules: Iterable[Rule], buffer: str, name: str, end: int) -> str | None:
    """Return the id that a name, which ends at a place, makes in one word with what numbers the calls."""
    if not any(len(rule.parts) > 1 and _JOINT.fullmatch(rule.parts[0]) for rule in rules):
        return None
    found = _NUMBERED.search(buffer, max(end - len(name) - SHORT, 0), end + SHORT)
    return found[0] if found and found.end(1) == end else None


def find_id(field: re.Match[str]) -> str | None:
    """Return what is in a field of another format, if its mark says that it is an id."""
    return field[2] if field[1] and re.search(r"(?<![^\W_])id(?![^\W_])", field[1], re.IGNORECASE) else None


@lru_cache(maxsize=1024)
def find_name_in_id(text: str, names: tuple[str, ...]) -> str:
    """Return the name that an id carries: that of a tool, also where the signs around it were left out, else what stands before
    its number and behind its last point."""
    held = [name for name in names if name in text]
    known = [name for name in held if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text)]
    known += [name for name in held if re.fullmatch(rf"(?:[^\W\d_]+[_.]?)?{re.escape(name)}_?\d+", text)]
    return next(iter(known), None) or re.sub(r"[^\w]\d+$", "", text).rpartition(".")[2] or text


def find_signs(buffer: str, end: int) -> str:
    """Return the signs that lead to a key at a place or behind white space there; empty where a word or a bracket does."""
    found = _LEADING.search(buffer[max(end - 16, 0) : end].rstrip())
    return found[0] if found else ""


def is_within(marks: Iterable[str], buffer: str, start: int, end: int) -> bool:
    """Whether a mark stands around what is between two places, and begins before it."""
    places = [(buffer.rfind(mark, max(start - len(mark), 0), end + 1), mark) for mark in marks]
    return any(0 <= place < start and place + len(mark) >= end for place, mark in places)
