"""How a string is written: which forms it has, and what each character becomes.

Each special character is asked on its own, and again beside each of those that change what stands around the string (two
kinds of quotes, or a section for raw text). What a character becomes stands between two words, so that it needs no
guessing.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, get_args

from ..ask.hints import Hints
from ..ask.words import make_word
from ..format import Numeral, Text
from ..format.model import KEY_AGAIN, NumeralKind

_EMPTY_LINE = "\n\n"
_CONTROLS = ("\n", "\t", "\r", "\b", "\f", "\x01")
_SPECIAL = (*string.punctuation, " ", *_CONTROLS, "é", "☃", "東", "😀", "\xa0", "\u200d", "\U000e0001", _EMPTY_LINE)
"""Characters that may be written in another way: all marks, white space, some control characters and some others; and an empty
line, whose mark may lack the space that other lines have behind theirs."""

_SIGNS = 16  # so many of a template's own are asked for
_LONGEST = 64  # characters of a sequence
_NUMBERED = ("é", "\xa0", "☃", "東", "\u200d", "😀", "\U000e0001", "\x01")
_MOST_FORMS = 6
_BLANKS = ("\n", "\t", " ")
_FIRST, _LAST, _MIDDLE = make_word("sa"), make_word("sb"), make_word("sc")


class Gap(NamedTuple):
    """What stands before a key, and between it and the next thing known, with the value in it; where that is the ``key`` once more,
    the ``rest`` stands behind it."""

    before: str
    around: str
    key: str = ""
    rest: str = ""


class Special(NamedTuple):
    """Texts that a template may write in another way: ``anywhere``, or at the ``start`` of a text alone."""

    anywhere: tuple[str, ...] = ()
    start: tuple[str, ...] = ()


def list_special(hints: Hints) -> Special:
    """Return the texts that a template may write in another way: the characters above, the signs in its own short texts, as what it
    exchanges in a text is one of these, what its source says that it exchanges, and what it looks for where a text or a line
    begins."""
    signs = [sign for sign in list_signs(hints, 2) if sign not in _SPECIAL]
    begun = tuple(sorted(text for text in hints.begun if len(text) < _LONGEST))[:_SIGNS]
    sequences = dict.fromkeys([*(f"\n{sign}" for sign in begun), *list_sequences(hints)[:_SIGNS]])
    return Special((*_SPECIAL, *signs[:_SIGNS], *sequences), begun)


def list_signs(hints: Hints, longest: int) -> list[str]:
    """Return the signs in a template's texts of at most so many characters."""
    chars = {char for text in hints.constants if len(text) <= longest for char in text}
    return sorted(char for char in chars if not (char.isalnum() or char.isspace()))


def list_sequences(hints: Hints) -> list[str]:
    """Return the texts of several characters, and not of letters alone, that a template may exchange."""
    return sorted(text for text in hints.exchanged if 1 < len(text) <= _LONGEST and not text.isalnum() and not text.isspace())


AskGaps = Callable[[Sequence[Any]], list["Gap | None"]]
"""Renders values at one place and returns what stands around each, None where it is not printed."""


class Surroundings(NamedTuple):
    """What stands before the key of a value, before the value and behind it."""

    before: str
    mid: str
    behind: str


def strip_digits(text: str) -> str:
    """Return a text with 0 for each number: some count characters or items."""
    return re.sub(r"\d+", "0", text)


def take_digits(text: str, size: int) -> str:
    """Return the beginning of a text of which so many characters are left without its digits."""
    return "".join(re.findall(r"\d+|\D", text)[:size])


def ask_strings(ask: AskGaps, signs: Special) -> dict[Surroundings, Text]:
    """Return the ways in which strings are written, the plain one first, by what stands around them."""
    base = _match(ask([_FIRST + _LAST])[0], "")
    if base is None:
        return {}
    tables: dict[Surroundings, dict[str, str]] = {base[0]: {}}
    triggers: dict[Surroundings, str] = {}
    # What stands around a string may be written in another way inside of one, whatever sign it is.
    special = list(dict.fromkeys([*signs.anywhere, *(char for char in "".join(base[0]) if not char.isalnum())]))
    for char, form, (image,) in _ask_each(ask, special, "", "(.*)"):
        tables.setdefault(form, {})[char] = image
        triggers.setdefault(form, char)
    for trigger in [triggers[form] for form in list(tables)[1:_MOST_FORMS] if form in triggers]:
        for char, form, (own, image) in _ask_each(ask, special, trigger + _MIDDLE, f"(.*?){_MIDDLE}(.*)"):
            table = tables.setdefault(form, {})
            table.setdefault(trigger, own)
            table.setdefault(char, image)
    outer = _ask_at_ends(ask, tables)
    starts = _ask_at_start(ask, tables, signs.start)
    forms = list(tables.items())[:_MOST_FORMS]
    return {form: replace(make_text(table, outer.get(form)), starts=tuple(starts.get(form, ()))) for form, table in forms}


def _ask_each(ask: AskGaps, special: Sequence[str], lead: str, inside: str) -> Iterator[tuple[str, Surroundings, list[str]]]:
    """Ask for each character behind a lead, and yield it with what stands around the string and what is found inside."""
    for char, gap in zip(special, ask([_FIRST + lead + char + _LAST for char in special]), strict=True):
        found = _match(gap, inside)
        if found is not None:
            yield char, *found


def _ask_at_ends(ask: AskGaps, tables: dict[Surroundings, dict[str, str]]) -> dict[Surroundings, dict[str, str]]:
    """Ask for white space at both ends of a string, and return how it is written there if not as within one."""
    outer: dict[Surroundings, dict[str, str]] = {}
    gaps = ask([text for char in _BLANKS for text in (_FIRST + char, char + _LAST)])
    for number, gap in enumerate(gaps):
        char, last = _BLANKS[number // 2], number % 2 == 0
        before, _, rest = gap.around.partition(_FIRST if last else _LAST) if gap else ("", "", "")
        for form, table in tables.items():
            mid = before if last else take_digits(before, len(form.mid))
            behind = take_digits(rest[::-1], len(form.behind))[::-1] if last else rest
            if (strip_digits(mid), strip_digits(behind)) == (form.mid, form.behind):
                image = rest.removesuffix(behind) if last else before.removeprefix(mid)
                if last and char not in table:
                    table[char] = image
                elif image != table.get(char):
                    outer.setdefault(form, {})[char] = image
    return outer


def _ask_at_start(
    ask: AskGaps, tables: dict[Surroundings, dict[str, str]], signs: Sequence[str]
) -> dict[Surroundings, list[tuple[str, str]]]:
    """Ask for signs at the beginning of a string, and return how they are written there if not as within one."""
    starts: dict[Surroundings, list[tuple[str, str]]] = {}
    for sign, gap in zip(signs, ask([sign + _LAST for sign in signs]) if signs else (), strict=True):
        before, _, behind = gap.around.partition(_LAST) if gap else ("", "", "")
        for form, table in tables.items():
            if behind == form.behind:
                starts.setdefault(form, []).extend(read_start(before, form.mid, sign, table))
    return starts


def read_start(text: str, before: str, sign: str, images: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the escape of a sign with which a text begins, if what stands there, behind what stands ``before`` any text, is not
    what the sign becomes within one."""
    image = text.removeprefix(before) if text.startswith(before) else ""
    return [(image, sign)] if image.strip() and image != images.get(sign, sign) else []


def _match(gap: Gap | None, inside: str) -> tuple[Surroundings, list[str]] | None:
    """Return what stands around a string that begins and ends with the words for that, and what is found inside."""
    if gap is None:
        return None
    # Each line of a text may begin with its key.
    text = gap.around if _LAST in gap.around or not gap.key else gap.around + KEY_AGAIN + gap.rest
    mid, first, rest = text.partition(_FIRST)
    middle, last, behind = rest.rpartition(_LAST)
    match = re.fullmatch(inside, middle, re.DOTALL) if first and last else None
    return match and (Surroundings(*map(strip_digits, (gap.before, mid, behind))), [*match.groups()])


def make_text(images: dict[str, str], outer: Mapping[str, str] | None = None) -> Text:
    """Return the codec of a text in which characters and sequences become the given images, and some the ``outer`` ones at its
    ends; what becomes a plain letter is not told from it.

    Where several become the same, it stands for the first of them. An outer image is read where it cannot be text.
    """
    changed = {text: image for text, image in images.items() if image not in ("", _compose(text, images)) and not image.isalnum()}
    escapes: dict[str, str] = {}
    for char, image in changed.items():
        if char not in _NUMBERED and char != _EMPTY_LINE:
            escapes.setdefault(image, char)
    mark = _find_mark_of_empty_lines(images)
    if mark:
        escapes.setdefault(mark, "\n")
    for char, image in (outer or {}).items():
        if image[:1] in changed and image not in escapes:
            escapes.setdefault(images.get(char, char), char)
            escapes[image] = char
    return Text(tuple(escapes.items()), _find_numerals(changed))


def _compose(text: str, images: Mapping[str, str]) -> str:
    """Return what becomes of a text where its parts alone decide that; the longer part goes first."""
    parts = sorted((part for part in images if part != text and part in text), key=lambda part: (-len(part), part))
    return re.sub("|".join(map(re.escape, parts)), lambda part: images[part[0]], text) if parts else text


def _find_mark_of_empty_lines(images: dict[str, str]) -> str:
    """Return what a line break becomes before an empty line, where that is only the beginning of what it becomes before others."""
    line, empty = images.get("\n", ""), images.get(_EMPTY_LINE, "")
    mark = empty.removesuffix(line)
    return mark if mark.strip() and mark != line and line.startswith(mark) else ""


def _find_numerals(changed: dict[str, str]) -> tuple[Numeral, ...]:
    """Return how characters are written as numbers, as far as they are."""
    found: list[Numeral] = []
    for char in _NUMBERED:
        image = changed.get(char, "").lower()
        if image and not any(numeral.write(char).lower() == image for numeral in found):
            found += list(filter(None, (_fit_numeral(char, changed[char], kind) for kind in get_args(NumeralKind))))[:1]
    return tuple(found)


def _fit_numeral(char: str, image: str, kind: NumeralKind) -> Numeral | None:
    """Return the numeral of a kind that writes a character so, if there is one."""
    bare = Numeral(kind, "")
    digits = bare.write(char)
    if bare.digits:
        units = len(digits) // bare.digits
        numeral = Numeral(kind, image[: len(image) // units - bare.digits])
    else:
        before, _, after = image.lower().partition(digits)
        numeral = Numeral(kind, image[: len(before)], image[len(image) - len(after) :])
    return numeral if numeral.before and numeral.write(char).lower() == image.lower() else None


class Specimen:
    """A text that has all special characters in it, each between two words of a kind."""

    def __init__(self, kind: str, special: Sequence[str]) -> None:
        marks = [make_word(kind, number) for number in range(len(special) + 1)]
        self._bounds = dict(zip(special, pairwise(marks), strict=True))
        self.text = "".join(mark + char for mark, char in zip(marks, (*special, ""), strict=True))

    def read(self, text: str | None) -> dict[str, str]:
        """Return what each special character became in a render of the text."""
        return read_images(text, self._bounds)


def read_images(text: str | None, bounds: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return what became of characters, given the words that they were put between, as far as these are in a text."""
    found = {char: re.search(f"{first}(.*?){last}", text or "", re.DOTALL) for char, (first, last) in bounds.items()}
    return {char: match[1] for char, match in found.items() if match}
