"""Objects and lists whose members are written as arguments of their own, each under its path: ``place.cities[0] = "Oslo"``."""

from __future__ import annotations

import re
from dataclasses import replace

from ..ask.words import make_word
from ..format import Path
from .places import BuildObject

_LONGEST = 8  # characters around a key or a number


def find_path(build: BuildObject) -> Path | None:
    """Return how paths are written if a template writes objects so, at every depth, and lists too if it writes those so."""
    outer, one, two, three, last = (make_word("kp", number) for number in range(5))
    words = [make_word("sp", number) for number in range(3)]
    nested = build([(outer, {one: words[0], two: {three: words[1]}}), (last, words[2])])
    plain = build([(one, words[0]), (three, words[1]), (last, words[2])])
    if nested is None or plain is None or any(text.count(words[0]) != 1 for text in (nested, plain)):
        return None
    opening, behind = (find_between(nested, *pair) for pair in ((outer, one), (one, words[0])))
    joint = find_between(plain, one, words[0])
    if not opening or not behind.endswith(joint) or max(len(opening), len(behind) - len(joint)) > _LONGEST:
        return None
    path = Path(opening, behind.removesuffix(joint))
    if plain.replace(one, path.join((outer, one))).replace(three, path.join((outer, two, three))) != nested:
        return None
    listed = build([(outer, [words[0], [{two: words[1]}]]), (last, words[2])])
    around = find_between(listed or "", outer, words[0]).removesuffix(joint)
    first = re.fullmatch(rf"(\D{{0,{_LONGEST}}})([01])(\D{{0,{_LONGEST}}})", around)
    if first is None:
        return path
    numbered = replace(path, before=first[1], behind=first[3], base=int(first[2]))
    written = plain.replace(one, numbered.join((outer, 0))).replace(three, numbered.join((outer, 1, 0, two)))
    return numbered if written == listed else path


def find_between(text: str, one: str, two: str) -> str:
    """Return what stands between two words, empty where they do not follow each other."""
    return text.partition(one)[2].partition(two)[0] if two in text.partition(one)[2] else ""
