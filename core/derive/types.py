"""How a value of each type is written, and what changes around it with the type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

from ..ask.pieces import Field, Link
from ..ask.words import make_word
from ..format import Choice, Codec, Insides, Json, Number, Text, Word
from ..format.cut import find_common_end, find_common_start
from .draft import Draft
from .encoded import find_encoding, find_written
from .strings import AskGaps, Gap, Specimen, Surroundings, strip_digits, take_digits

PLAIN = make_word("s", 1)
"""A string of nothing but letters."""
_INTEGER, _NUMBER = 7302146, 7302.25
_NESTED_KEY = make_word("nk")
_HARD = "q\"\\'\n<&>%"

LISTS: tuple[Any, ...] = ([], [PLAIN], [_INTEGER], [True], [PLAIN, PLAIN + "y"], [_HARD], [{_NESTED_KEY: PLAIN}])
OBJECTS: tuple[Any, ...] = ({}, *({_NESTED_KEY: value} for value in (PLAIN, _INTEGER, True, _HARD, [PLAIN])))
_SCALARS = (_INTEGER, _NUMBER, True, False, None)


class Writing(NamedTuple):
    """How a value of a type is written: what stands before its key, before it and behind it, and itself. ``early`` is set where the
    key does not come again behind it, as it does behind others; ``rest`` stands behind that key."""

    before: str
    mid: str
    codec: Codec
    behind: str
    early: bool = False
    rest: str = ""


Types = dict[tuple[str, int], Writing]
"""How values are written, by their types; a word that has a way of its own is another form of its type."""


def ask_types(ask: AskGaps, family: str, special: Sequence[str], lists: bool, objects: bool) -> Types:
    """Return how values of each type but strings are written.

    Without ``lists`` or ``objects`` the only one of those that is a value is the empty one, which is a word.
    """
    kinds = (("array", LISTS if lists else LISTS[:1], "list"), ("object", OBJECTS if objects else OBJECTS[:1], "object"))
    specimen = Specimen("m", special)
    hard: list[Any] = [[specimen.text]] if lists else [{_NESTED_KEY: specimen.text}] if objects else []
    gaps = ask([*_SCALARS, *(value for _, samples, _ in kinds for value in samples), *hard])
    within = find_encoding(specimen.read(gaps[-1].around)) if hard and gaps[-1] else None
    found: Types = {}
    for type_, value, gap in zip(("integer", "number"), _SCALARS, gaps, strict=False):
        if gap is not None and str(value) in gap.around:
            mid, _, behind = gap.around.partition(str(value))
            found[type_, 0] = Writing(gap.before, mid, Number(), behind, rest=gap.rest)
    others = [gap for gap in (gaps[0], *ask([PLAIN])) if gap]
    ends = {strip_digits(writing.behind) for writing in found.values()}
    found |= _read_words(gaps[2], gaps[3], gaps[4], [*others], ends.pop() if len(ends) == 1 else "")
    mids = [writing.mid for writing in found.values() if not _is_word(writing)]
    found |= {key: _part_type(writing, mids) for key, writing in found.items() if _is_word(writing)}
    rest = iter(gaps[len(_SCALARS) :])
    for type_, samples, name in kinds:
        pairs = [(value, gap) for value in samples if (gap := next(rest)) is not None]
        if pairs and len(samples) > 1:
            found[type_, 0] = _keep_digits(_read_compound(pairs, name + family, within), pairs[0][1])
        elif pairs and others:
            found[type_, 0] = _read_counted_word(pairs[0][1], "[]" if type_ == "array" else "{}", others)
    return found


def _keep_digits(writing: Writing, gap: Gap) -> Writing:
    """Return a writing with the digits that stand around its value, where it has 0 for each number."""
    mid, behind, plain = writing.mid, writing.behind, strip_digits(gap.around)
    mid = take_digits(gap.around, len(mid)) if plain.startswith(mid) else mid
    behind = take_digits(gap.around[::-1], len(behind))[::-1] if plain.endswith(behind) else behind
    return writing._replace(before=gap.before, mid=mid, behind=behind, rest=gap.rest)


def _read_words(yes: Gap | None, no: Gap | None, null: Gap | None, others: list[Gap], behind: str) -> Types:
    """Return how words are written, given what stands ``behind`` numbers: a word may stand before letters."""
    found: Types = {}
    gaps = {"boolean": yes, "null": null}
    if yes and no and strip_digits(yes.around) != strip_digits(no.around):
        yes, no, null = (gap and Gap(*map(strip_digits, gap)) for gap in (yes, no, null))
        others = [Gap(*map(strip_digits, gap)) for gap in others]
    if yes and no and yes.around != no.around:
        start, end = _find_word([yes.around, no.around])
        if all(gap.around.endswith(behind) and len(gap.around) - len(behind) > start for gap in (yes, no)):
            end = max(end, len(behind))
        words = [gap.around[start : len(gap.around) - end] for gap in (yes, no)]
        if all(words):
            choice = Choice(((words[0], "true"), (words[1], "false")))
            found["boolean", 0] = Writing(yes.before, yes.around[:start], choice, yes.around[len(yes.around) - end :])
    if yes and no and yes.around == no.around and yes.before != no.before:  # what stands before the key tells which it is
        found["boolean", 0], found["boolean", 1] = _read_word(yes, "true", others), _read_word(no, "false", others)
    else:
        word = found.get(("boolean", 0))  # with which that for null may begin (`no`, `no value`)
        others += [gap._replace(around=f"{word.mid}\0{word.behind}") if word else gap for gap in (yes, no) if gap]
    if null and others:
        found["null", 0] = _read_word(null, "null", others)
    kept = {kind: _keep_digits(writing, gap) for kind, writing in found.items() if kind[1] == 0 and (gap := gaps[kind[0]])}
    return found | kept


def _read_word(gap: Gap, literal: Word, others: Sequence[Gap]) -> Writing:
    """Return how a word is written that may be nothing, from what stands around it and around other values."""
    early = not gap.key and any(other.key for other in others)
    others = [Gap(other.before, other.around + other.key + other.rest) for other in others] if early else others
    bounds = [_find_word([gap.around, other.around]) for other in others]
    start = max((start for start, _ in bounds), default=0)
    end = min(max((end for _, end in bounds), default=0), len(gap.around) - start)
    word = gap.around[start : len(gap.around) - end]
    if not word:  # what might stand before it as well as behind it is what separates it from the next one
        start = len(gap.around) - max((find_common_end(gap.around, other.around) for other in others), default=0)
    return Writing(gap.before, gap.around[:start], Choice(((word, literal),)), gap.around[start + len(word) :], early)


def _is_word(writing: Writing) -> bool:
    return isinstance(writing.codec, Choice) and len(writing.codec.words) == 1


def _part_type(writing: Writing, mids: Sequence[str]) -> Writing:
    """Return a writing of one word without what tells the type before it, if that is parted from values of other types alike."""
    assert isinstance(writing.codec, Choice)
    rests = [mid.removeprefix(writing.mid) for mid in mids]
    parting = re.sub(r"\A\w+", "", rests[0][len(rests[0]) - find_common_end(*rests) :]) if len(set(rests)) > 1 else ""
    ((word, literal),) = writing.codec.words
    type_, parted, rest = word.partition(parting) if parting else ("", "", "")
    if not (type_ and parted and rest):
        return writing
    return writing._replace(mid=writing.mid + type_ + parted, codec=Choice(((rest, literal),)))


def _read_counted_word(gap: Gap, literal: Word, others: Sequence[Gap]) -> Writing:
    """Return the same where numbers around it may count."""
    bare, *plain = (Gap(*map(strip_digits, each)) for each in (gap, *others))
    writing = _keep_digits(_read_word(bare, literal, plain), gap)
    word = gap.around[len(writing.mid) : len(gap.around) - len(writing.behind)]
    return writing._replace(codec=Choice(((word, literal),)))


def _find_word(texts: Sequence[str]) -> tuple[int, int]:
    """Return how much of the beginning and end of the first text belongs to what stands around a word, which is kept
    whole."""
    text = texts[0]
    start = find_common_start(*texts)
    end = find_common_end(*(each[start:] for each in texts))
    while 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while 0 < end < len(text) - start and text[-end].isalnum() and text[-end - 1].isalnum():
        end -= 1
    return start, end


def _read_compound(pairs: Sequence[tuple[Any, Gap]], graph: str, within: Text | None) -> Writing:
    """Return how a list or an object is written: as JSON, as it stands or inside a string, or what stands around all of them and a
    graph for the inside."""
    codec = Json(within)
    places = [(gap.around, find_written(gap.around, value, codec)) for value, gap in pairs]
    sides = [(text[: place[0]], text[place[1] :]) if place else None for text, place in places]
    found = [each and (strip_digits(each[0]), strip_digits(each[1])) for each in sides]
    before = strip_digits(pairs[0][1].before)
    if found[0] is not None and len(pairs) > 4 and all(each == found[0] for each in found):
        return Writing(before, found[0][0], codec, found[0][1])
    around = [strip_digits(gap.around) for _, gap in pairs]
    start, end, size = find_common_start(*around), find_common_end(*around), min(map(len, around))
    if not around[0][size - end : start].isspace():
        end = find_common_end(*(each[start:] for each in around))
    start = min(start, size - end)  # white space that might stand before it as well as behind it separates it from the next one
    return Writing(before, around[0][:start], Insides(graph), around[0][len(around[0]) - end :])


def read_plain(gap: Gap | None) -> Surroundings | None:
    """Return what stands around a plain string, None where it is not printed."""
    if gap is None or PLAIN not in gap.around:
        return None
    mid, _, behind = gap.around.partition(PLAIN)
    return Surroundings(*map(strip_digits, (gap.before, mid, behind)))


class Change(NamedTuple):
    """An edge out of another ``field``, or into it: ``new`` stands there where ``base`` stands beside the field that it is in place
    of. An edge out of it may lead to another ``target``, too."""

    field: Field
    base: str
    new: str
    target: Field | None = None


def splice(
    draft: Draft,
    graph: str,
    leave: Callable[[Field, Field], Iterable[Change]],
    enter: Callable[[Field], Iterable[Change]],
) -> None:
    """Give edges to fields that are written in another way than those that were asked: all that may ``leave`` in place of the
    source of an edge, and ``enter`` in place of its target."""
    for source, links in draft.list_links(graph):
        for link in list(links):
            for out, into in product((None, *leave(source, link.target)), (None, *enter(link.target))):
                text = _splice_behind(link.text, out.base, out.new) if out else link.text
                if into and text is not None:
                    text = _splice_before(text, into.base, into.new)
                if text is not None and (out or into):
                    target = into.field if into else (out and out.target) or link.target
                    (draft.edges[graph][out.field] if out else links)[Link(text, target, link.opens_call)] = None


def _splice_before(edge: str, base: str, new: str) -> str | None:
    """Return the text before a value of another type: what differs in the end of the base is exchanged in the edge's."""
    shared = find_common_start(base, strip_digits(new))
    found, rest = re.search(match_digits(base[shared:]) + r"\Z", edge), new[len(take_digits(new, shared)) :]
    return edge[: found.start()] + restore_digits(rest, base[shared:], found[0]) if found else None


def _splice_behind(edge: str, base: str, new: str) -> str | None:
    """Return the text behind a value of another type."""
    shared = find_common_end(base, strip_digits(new))
    rest, other = base[: len(base) - shared], take_digits(new, len(strip_digits(new)) - shared)
    found = re.match(match_digits(rest), edge)
    return restore_digits(other, rest, found[0]) + edge[found.end() :] if found else None


def restore_digits(new: str, base: str, edge: str) -> str:
    """Return a text with the digits of another one where both are alike: ``base`` is without its digits, ``edge`` is the same with
    them."""
    digits, own, plain = re.findall(r"\d+", edge), re.findall(r"\d+", new), strip_digits(new)
    start = find_common_start(base, plain)
    end = find_common_end(base[start:], plain[start:])
    before, behind = plain[:start].count("0"), plain[len(plain) - end :].count("0")
    numbers = [*digits[:before], *own[before : len(own) - behind], *digits[len(digits) - behind :]]
    parts = re.split(r"\d+", new)
    return parts[0] + "".join(number + part for number, part in zip(numbers, parts[1:], strict=True))


def match_digits(text: str) -> str:
    """Return a pattern of a text of which each number was written as 0."""
    return re.sub("0", lambda _: r"\d+", re.escape(text))
