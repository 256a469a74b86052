"""Objects whose members are written as arguments of their own, each under its path: ``place.city = "Oslo"``."""

from __future__ import annotations

from ..ask.words import make_word
from ..format import Path
from .places import BuildObject

_LONGEST = 8  # characters around a key


def find_path(build: BuildObject) -> Path | None:
    """Return what stands around the keys of members if a template writes objects so, at every depth."""
    outer, one, two, three, last = (make_word("kp", number) for number in range(5))
    words = [make_word("sp", number) for number in range(3)]
    nested = build([(outer, {one: words[0], two: {three: words[1]}}), (last, words[2])])
    plain = build([(one, words[0]), (three, words[1]), (last, words[2])])
    if nested is None or plain is None or any(text.count(words[0]) != 1 for text in (nested, plain)):
        return None
    opening, behind = (_find_between(nested, *pair) for pair in ((outer, one), (one, words[0])))
    joint = _find_between(plain, one, words[0])
    if not opening or not behind.endswith(joint) or max(len(opening), len(behind) - len(joint)) > _LONGEST:
        return None
    path = Path(opening, behind.removesuffix(joint))
    written = plain.replace(one, path.join((outer, one))).replace(three, path.join((outer, two, three)))
    return path if written == nested else None


def _find_between(text: str, one: str, two: str) -> str:
    """Return what stands between two words, empty where they do not follow each other."""
    return text.partition(one)[2].partition(two)[0] if two in text.partition(one)[2] else ""
