"""From one value of a call to the next, as templates write it: told in one look.

Most of a call whose arguments stand in a notation of the format's own is what parts its values: what ends one, a key, and what
begins the next. Where that stands to the letter, with a parameter of the tool that has not come yet, nothing else can be meant,
and none of the questions need be asked that tell what a model might have meant instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ..format.cut import find_common_start
from .rules import Rule, list_repeats, remember
from .scalars import fits
from .spots import Spot, Wait

_KEY: Final = r"[\w.-]{1,64}"
ASSIGNING: Final = frozenset(":=,;|>")
"""Signs that stand between keys and values and begin no value."""


class Way:
    """The rule that leads from a key to its value, and those of whose texts its own is the longer one."""

    def __init__(self, rule: Rule, others: Iterable[Rule], marks: Iterable[str]) -> None:
        self.rule = rule
        self._shorter = [each for each in others if each is not rule and rule.constant.text.startswith(each.constant.text)]
        self._marks = ASSIGNING.union(mark[:1] for mark in marks)
        self._doubtful: dict[tuple[str, ...], frozenset[str] | None] = {}

    def list_doubtful(self, types: tuple[str, ...]) -> frozenset[str] | None:
        """Return the signs that tell, where a value of some types begins, that what leads there may mean something else, or stands
        there twice; None where it may whatever follows."""
        if types not in self._doubtful:
            remember(self._doubtful, types, self._find_doubtful(types))
        return self._doubtful[types]

    def _find_doubtful(self, types: tuple[str, ...]) -> frozenset[str] | None:
        if (types and not _suits(self.rule, types)) or any(not types or _suits(each, types) for each in self._shorter):
            return None
        return self._marks.union(text[:1] for text in list_repeats(self.rule.constant, "value", types))


class Crossed(NamedTuple):
    """A key that was read, the way from it to its value, and the place behind that."""

    key: str
    way: Way
    end: int


class Crossing:
    """What parts two values: the rule that ends one and leads to the field of a key, and the ways on from there."""

    def __init__(self, rule: Rule, key: Spot) -> None:
        constant = rule.constant
        self.rule, self.key = rule, key
        self.text = constant.text[len(constant.lead) :] if constant.firm else constant.text  # layout before marks is theirs to find
        rules = sorted(filter(_is_plain, key.rules), key=lambda each: -each.constant.size)
        marks = (constant.last, *(each.constant.core for each in rules))
        self._ways = [Way(each, rules, marks) for each in rules]
        self._texts = [each.constant.text for each in rules]
        self._longest = len(self._texts[0])
        behind = "|".join(f"({re.escape(text)})" for text in self._texts)
        self._whole = re.compile(f"{re.escape(self.text)}({_KEY})(?:{behind})")
        self._begun = re.compile(f"{re.escape(self.text)}{_KEY}")

    def find(self, text: str, at: int) -> Crossed | Wait | None:
        """Return what stands at a place; None where it is something else."""
        found = self._whole.match(text, at)
        if found and not self._may_go_on(text, found.end(1)):
            return Crossed(found[1], self._ways[(found.lastindex or 0) - 2], found.end())
        if self.text.startswith(text[at : at + len(self.text)]):
            missing = self.text[len(text) - at :] if len(text) - at < len(self.text) else ""
            return Wait(missing, self.key) if missing else self._wait_for_key(text, at)
        return None

    def _may_go_on(self, text: str, at: int) -> bool:
        """Whether a longer text than what stands behind a key may yet come there."""
        size = len(text) - at
        return size < self._longest and any(len(each) > size and text.startswith(each[:size], at) for each in self._texts)

    def _wait_for_key(self, text: str, at: int) -> Wait | None:
        begun = self._begun.match(text, at)
        if begun is None or begun.end() == len(text):
            return Wait(short=self.key) if begun or len(text) - at == len(self.text) else None
        missing = [each[len(text) - begun.end() :] for each in self._texts if each.startswith(text[begun.end() :])]
        return Wait(missing[0][: find_common_start(*missing)]) if missing else None


def make_crossings(spot: Spot, keys: Iterable[tuple[Rule, Spot]]) -> tuple[Crossing, ...]:
    """Return what may part a value from the next one, given the rules that lead from it to keys, with the fields of these."""
    others = [rule.constant.core for rule in spot.rules if not rule.recovery]
    found = []
    for rule, key in keys:
        constant = rule.constant
        alone = sum(core.startswith(constant.core) for core in others) == 1
        plain = _is_plain(rule) and not (constant.line or constant.is_run or spot.lined)
        bare = constant.firm or constant.lead == ""
        if plain and alone and bare and not key.units.first and any(map(_is_plain, key.rules)):
            found.append(Crossing(rule, key))
    return tuple(found)


def _is_plain(rule: Rule) -> bool:
    """Whether a template writes a rule's text, with something to see in it that is always the same."""
    constant = rule.constant
    odd = rule.recovery or rule.guard or rule.spelling or constant.echoes or len(constant.parts) > 1
    return rule.kind in ("key", "value") and constant.core != "" and not (odd or rule.is_told or rule.targets[0].counted)


def _suits(rule: Rule, types: tuple[str, ...]) -> bool:
    return any(fits(node.type, types) for node in rule.targets)
