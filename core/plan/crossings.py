"""From one value of a call to the next, as templates write it: told in one look.

Most of a call whose arguments stand in a notation of the format's own is what parts its values: what ends one, a key, and what
begins the next. Where that stands to the letter, with a parameter of the tool that has not come yet, nothing else can be meant,
and none of the questions need be asked that tell what a model might have meant instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ..format.cut import find_common_start
from .rules import Rule, list_repeats, remember
from .scalars import fits
from .spots import Spot, Wait

_KEY: Final = r"[\w.-]{1,64}"
WORD: Final = re.compile(_KEY)
"""A key that is one word."""
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
    """A key that was read, the way from it to its value, the place behind that, and the rule that led to the key."""

    key: str
    way: Way
    end: int
    rule: Rule


class Crossing:
    """What parts two values: the rule that ends one and leads to the field of a key, and the ways on from there."""

    def __init__(self, rule: Rule, key: Spot) -> None:
        self.rule, self.key, self._text = rule, key, _strip_lead(rule)
        rules = sorted(filter(_is_plain, key.rules), key=lambda each: -each.constant.size)
        marks = (rule.constant.last, *(each.constant.core for each in rules))
        self._ways = [Way(each, rules, marks) for each in rules]
        self._texts = [each.constant.text for each in rules]
        self._longest = len(self._texts[0])
        behind = "|".join(f"({re.escape(text)})" for text in self._texts)
        self._whole = re.compile(f"({_KEY})(?:{behind})")

    def find(self, text: str, at: int, find_word: Callable[[str], str | None]) -> Crossed | Wait | None:
        """Return what stands at a place, given what finds the words that a format repeats; None where it is something else."""
        rule = self.rule.fill(find_word)
        if rule is None:
            return None
        between = self._text if rule is self.rule else _strip_lead(rule)
        if not text.startswith(between, at):
            return Wait(between[len(text) - at :], self.key.short_end) if between.startswith(text[at:]) else None
        begin = at + len(between)
        found = self._whole.match(text, begin)
        if found and not self._may_go_on(text, found.end(1)):
            return Crossed(found[1], self._ways[(found.lastindex or 0) - 2], found.end(), rule)
        return self._wait_for_key(text, begin)

    def _may_go_on(self, text: str, at: int) -> bool:
        """Whether a longer text than what stands behind a key may yet come there."""
        size = len(text) - at
        return size < self._longest and any(len(each) > size and text.startswith(each[:size], at) for each in self._texts)

    def _wait_for_key(self, text: str, at: int) -> Wait | None:
        word = WORD.match(text, at)
        end = word.end() if word else at
        if end == len(text):
            return Wait(until=self.key.short_end)
        missing = [each[len(text) - end :] for each in self._texts if each.startswith(text[end:])] if end > at else []
        return Wait(missing[0][: find_common_start(*missing)]) if missing else None


InnerCrossings = tuple[tuple[Rule, Crossing | None], ...]
"""What a template writes at a place within a list or an object in a notation of the format's own: rules, in the order in which they
are tried, each with what parts its key from a value where it leads to one."""


def make_crossings(spot: Spot, keys: Iterable[tuple[Rule, Spot]]) -> tuple[Crossing, ...]:
    """Return what may part a value from the next one, given the rules that lead from it to keys, with the fields of these."""
    others = [rule.constant.core for rule in _list_shown(spot)]
    found = []
    for rule, key in keys:
        constant = rule.constant
        behind = (core[len(constant.core) :] for core in others if core.startswith(constant.core) and core != constant.core)
        alone = others.count(constant.core) == 1 and not any(map(WORD.match, behind))
        plain = _is_plain(rule, echoes=True) and not (constant.line or constant.is_run or spot.lined)
        bare = constant.firm or constant.lead == ""
        if plain and alone and bare and _has_words(key) and any(map(_is_plain, key.rules)):
            found.append(Crossing(rule, key))
    return tuple(found)


def _strip_lead(rule: Rule) -> str:
    """Return the text of a rule without the layout before its mark, which is that mark's to find."""
    constant = rule.constant
    return constant.text[len(constant.lead) :] if constant.firm else constant.text


def _is_plain(rule: Rule, echoes: bool = False) -> bool:
    """Whether a template writes a rule's text, with something to see in it that is always the same, but for words that it repeats
    if there may be ``echoes``."""
    constant = rule.constant
    odd = rule.recovery or rule.guard or rule.spelling or (constant.echoes and not echoes) or len(constant.parts) > 1
    return rule.kind in ("key", "value") and constant.core != "" and not (odd or rule.is_told or rule.targets[0].counted)


def _suits(rule: Rule, types: tuple[str, ...]) -> bool:
    return any(fits(node.type, types) for node in rule.targets)


def make_inner_crossings(spot: Spot, behind: Callable[[Rule], Spot]) -> InnerCrossings:
    """Return what a template writes behind a value within a list or an object, or where these begin, given what finds the field
    behind a rule: nothing where more tells it than the texts of the rules alone."""
    shown = tuple(_list_shown(spot))
    if spot.lined or shown != spot.rules[: len(shown)] or not (all(map(_tells_alone, shown)) and _differ_in_more(shown)):
        return ()
    if spot.kind == "value" and spot.raw and any(rule.constant.text == "" for rule in shown):
        return ()
    keys = [behind(rule) if rule.kind == "key" else None for rule in shown]
    if not all(key is None or _leads_plainly(key) for key in keys):
        return ()
    return tuple((rule, Crossing(rule, key) if key else None) for rule, key in zip(shown, keys, strict=True))


def _list_shown(spot: Spot) -> list[Rule]:
    return [rule for rule in spot.rules if not rule.recovery]


def _leads_plainly(key: Spot) -> bool:
    shown = _list_shown(key)
    return _has_words(key) and all(map(_is_plain, shown)) and _differ_in_more(shown)


def _differ_in_more(rules: Iterable[Rule]) -> bool:
    """Whether the texts of some rules differ in more than their layout, which models write otherwise."""
    texts = {rule.constant.text for rule in rules}
    return len({text.strip() for text in texts}) == len(texts)


def _has_words(key: Spot) -> bool:
    """Whether a word that stands as a key is that key: no sign in it is written otherwise."""
    return not any(map(WORD.match, key.units.first))


def _tells_alone(rule: Rule) -> bool:
    """Whether a template writes the text of a rule, which may be none, and nothing but that tells it."""
    constant = rule.constant
    odd = rule.guard or rule.opens or rule.spelling or rule.is_told or rule.targets[0].counted
    laid = constant.line or constant.is_run or constant.text[:1].isspace() or len(constant.parts) > 1
    return not (odd or laid)
