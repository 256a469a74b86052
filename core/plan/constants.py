"""Matching the texts between fields against what has come of an output.

A text can match, not match, or not have come whole; nothing else is ever asked of a buffer. A text that holds a *mark* (something
that nobody writes by chance) is matched by its marks: the white space around and between them is layout, which models leave out or
add. Any other text is matched to the letter, because there the white space may be all that separates two fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from ..format.cut import CLOSE, OPEN, TOKEN, find_boundaries, take_letters
from ..format.units import MORE, NO
from .echoes import cut_echo, list_echoes

_SIGN: Final = re.compile(r"[^\w\s]")
_QUOTED: Final = re.compile(r"\"[^\"]*\"?|'[^']*'?")
_NESTING: Final = re.compile(r"[()\[\]{}]|\"(?:[^\"\\\n]|\\.)*\"?")
"""Brackets, and strings as JSON has them, in which none counts."""
BRACKETS: Final = ("()", "[]", "<>", "{}")
_PAIRS: Final = (*BRACKETS, '""', "''", "``")
_CLOSERS: Final = frozenset((*(pair[1] for pair in _PAIRS), ""))
_PARTING: Final = " \t\n,;"
"""What parts a field from the one before it."""
_ASSIGNED: Final = re.compile(r"\s*(?::=|=>|->|[:=])\Z")
_LABEL: Final = re.compile(r"([\"'`])[\w-]+\1\Z|[\w.:@$-]+\Z|([^\w\s()\[\]{}<>\"'`])\2+\Z")
"""A word, or one sign several times, that tells what a field is."""
_CUTS: Final = 64  # places at each end of a long text at which it may be cut
_BLANK: Final = re.compile(r"\s*")
_SPACES: Final = re.compile(r"[ \t]*")
_DIGITS: Final = re.compile(r"\d*")
DATA: Final = frozenset("{}[]\",: \n\t'()")
_ODD_SIGN: Final = re.compile(rf"[^\w{re.escape(''.join(sorted(DATA)))}]|_")
_BEGINNING: Final = frozenset("\"'([{")
SIGNS: Final = re.compile(rf"[\"{{}}()\[\]<>/{OPEN}{CLOSE}]")
"""What no key has that is written without quotes."""
_OPENS, _CLOSES = frozenset("<[({" + OPEN), frozenset(">])}" + CLOSE)


class Atom(NamedTuple):
    """A piece of a text: to the letter (``solid``), any white space (``space``), such that may be missing (``blank``), or a
    ``counter``, with its text and a number behind it as often as they come."""

    kind: str
    text: str


def skip_blank(text: str, at: int) -> int:
    """Return the place behind the white space at a place."""
    return find_end(_BLANK, text, at) if text[at : at + 1].isspace() else at


def find_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the place behind what a pattern matches at a place; the place itself where nothing is."""
    found = pattern.match(text, at)
    return found.end() if found else at


def match_texts(texts: Iterable[str], text: str, at: int) -> int:
    """Match some texts behind each other, with any white space before each; returns the place behind them, or NO, or MORE."""
    for each in texts:
        at = skip_blank(text, at) if each else at
        if not text.startswith(each, at):
            return MORE if each.startswith(text[at:]) else NO
        at += len(each)
    return at


def skip_spaces(text: str, at: int) -> int:
    """Return the place behind the blanks and tabs at a place."""
    return find_end(_SPACES, text, at)


def end_word(text: str, at: int, final: bool) -> int:
    """Return a place, if no word goes on there; NO, or MORE where one may."""
    if not text[at - 1 : at].isalnum():
        return at
    if at == len(text):
        return at if final else MORE
    return NO if text[at].isalnum() else at


def find_closed(text: str, at: int, limit: int) -> int:
    """Return the place behind the brackets that a text opens from a place on, where none is open any more; NO if some stay open
    before a limit."""
    depth = 0
    for found in _NESTING.finditer(text, at, limit):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        if depth <= 0 and found[0] in ")]}":
            return found.end()
    return NO


def is_plain(sign: str) -> bool:
    """Whether a sign is a letter, a digit, or one of data."""
    return sign.isalnum() or sign in DATA


def is_firm(text: str) -> bool:
    """Whether a text holds something that nobody writes by chance.

    That is three signs without white space, one of them no letter, or two signs around words; the brackets, quotes and commas of
    data alone are not.
    """
    if any(len(word) >= 3 and not DATA.issuperset(word) and _SIGN.search(word) for word in text.split()):
        return True
    return len(_ODD_SIGN.findall(text)) >= 2 and len("".join(text.split())) >= 4


def is_marked(text: str) -> bool:
    """Whether a text is more than data: it has a word that stands in no quotes, or signs that are not brackets, quotes and
    commas.
    """
    bare = _QUOTED.sub("", text)
    return is_firm(text) and any(not (sign.isspace() or sign in DATA) for sign in bare)


def has_rare_sign(text: str) -> bool:
    """Whether a text holds a sign that stands in no sentence: one that ASCII does not have, or what joins words."""
    return any(sign == "_" or not (sign.isalnum() or sign.isspace() or sign.isascii()) for sign in text)


def begins_no_text(text: str) -> bool:
    """Whether a text that nobody writes by chance begins no other text, either: it has a word in it, a sign that is rare, or
    different ones."""
    bare = "".join(text.split())
    differ = len(set(bare)) > 1 and not any(map(str.isalnum, bare))
    return has_rare_sign(text) or differ or (is_firm(text) and any(map(str.isalnum, text)))


def begins_apart(text: str) -> bool:
    """Whether a text begins with a sign that begins no word, string, list or object, or with more than that of one, or with a word
    that stands in no sentence."""
    first = text.split()[0]
    return (not text[0].isalnum() and (text[0] not in _BEGINNING or is_marked(first))) or has_rare_sign(first)


def is_word_in_signs(text: str) -> bool:
    """Whether a text begins and ends with signs and has a word in it, as nothing does that follows a sentence."""
    ends = {text[:1], text[-1:]}
    return any(map(str.isalnum, text)) and not (any(map(str.isalnum, ends)) or text[0] in ".,;:!?)]}>\"'")


@lru_cache(maxsize=1024)
def cut_last(text: str) -> str:
    """Return the last mark, word or sign of a text."""
    return text[max(find_boundaries(text) - {len(text)}, default=0) :]


def cut_first(text: str) -> str:
    """Return the first mark, word or sign of a text, behind the white space before it."""
    bare = text.lstrip()
    return bare[: min(find_boundaries(bare) - {0}, default=0)].rstrip()


def sort_longest(texts: Iterable[str]) -> list[str]:
    """Return texts with the longest first, those of a length by their letters."""
    return sorted(sorted(texts), key=len, reverse=True)


@lru_cache(maxsize=4096)
def find_cuts(text: str) -> tuple[int, ...]:
    """Return the places where a text may be cut, in their order; of a long one those near its ends, so that looking at what stands
    before or behind each of them costs no more than a template may."""
    places = sorted(find_boundaries(text))
    return tuple(places if len(places) <= 2 * _CUTS else places[:_CUTS] + places[-_CUTS:])


def cut_heads(text: str) -> list[str]:
    """Return the beginnings of a text up to the places where it may be cut, without white space behind them, the shortest first."""
    return [text[:place].rstrip() for place in find_cuts(text)]


def cut_tails(text: str) -> list[str]:
    """Return the ends of a text from these places on, without white space around them, the longest first."""
    return [text[place:].strip() for place in find_cuts(text)]


def leave_out(before: str, behind: str) -> list[str]:
    """Return what stands where a field was left out between two texts: these with nothing between them, or without the blank before
    it, and what is left without the quotes or brackets around the field and the word or mark that tells what it is."""
    head, tail = before.rstrip(), behind
    while head[-1:] + tail.lstrip()[:1] in _PAIRS:
        head, tail = head[:-1].rstrip(), tail.lstrip()[1:]
    bare = _ASSIGNED.sub("", head)
    found = _LABEL.search(bare)
    label = found[0] if found else cut_last(bare)
    if label not in _CLOSERS:
        end, told = cut_first(tail), take_letters(label)
        tail = tail.lstrip()[len(end) :] if told and is_marked(end) and told in take_letters(end) else tail
        bare = bare.removesuffix(label)
    return list(dict.fromkeys((bare.rstrip(_PARTING) + tail, before + behind, before.rstrip() + behind)))


class Constant:
    """A text between two fields. ``parts`` as in :class:`~chat_autoparser.format.Edge`.

    ``core`` is the text without the layout around it, ``lead`` and ``trail``. Of one that is ``laid`` all is matched to the letter.
    Signs that are a ``line`` are matched in a text only where they have one of their own, a word that is a ``label`` only where a
    line begins. One that has ``echoes``, words told by the kinds of their fields, has to be filled with them before it is
    matched. ``last`` is the mark right before what is behind it, empty where there is none, and a ``run`` one sign several times.
    """

    def __init__(self, parts: tuple[str, ...], laid: bool = False) -> None:
        self.parts = parts
        self.text = text = "0".join(parts)
        self.size = len(text)
        self.firm = not laid and is_firm(text) and parts[0].strip() != ""  # a number begins nothing that is looked for
        self.line = self.firm and text[:1] == "\n" == text[-1:] and text.isascii() and not any(map(str.isalnum, text))
        self.marked = is_marked(text)
        self.core = text.strip()
        self.lead = text[: len(text) - len(text.lstrip())]
        self.trail = text[len(text.rstrip()) :] if self.core else ""
        self.label = self.firm and "\n" in self.lead and self.core[:1].isalnum()
        last = cut_last(self.core)
        self.last = last if is_firm(last) else ""
        self.is_run = len(self.core) > 1 == len(set(self.core)) and not self.trail
        self._simple = len(parts) == 1
        unit, joined = _join_counters(parts)
        self._letters = [atom for part in joined for atom in (Atom("counter", unit), Atom("solid", part))][1:]  # all of it, exactly
        core = list(parts)
        core[0] = core[0].lstrip()
        core[-1] = core[-1].rstrip()
        self.atoms = _list_atoms(tuple(core))
        # What must stand at a place where it is to match: of layout alone nothing does.
        self.echoes = list_echoes(text)
        begun = takewhile(lambda atom: atom.kind in ("solid", "space"), self.atoms)  # words that only a blank parts are one there
        first = "".join(atom.text for atom in begun) if self.firm else parts[0]
        self.first = cut_echo(first) if self.echoes else first
        self.head = self.first[:12]  # the first characters of what is looked for

    @property
    def counts(self) -> bool:
        """Whether it begins with a counter."""
        return len(self.parts) > 1 and not self.parts[0].strip()

    def extends(self, other: Constant) -> bool:
        """Whether it begins as another text does, and goes on with more than a quote."""
        return self.size > other.size + 1 and self.text.startswith(other.text)

    def match_exactly(self, text: str, at: int, final: bool) -> int:
        """Match the whole text to the letter at a place; ``final`` tells that no more will come."""
        if self._simple:
            whole = self.text
            if text.startswith(whole, at):
                return at + self.size
            return MORE if not final and len(text) - at < self.size and whole.startswith(text[at:]) else NO
        return match_atoms(self._letters, text, at, final)

    def match_core(self, text: str, at: int, final: bool) -> int:
        """Match the core at a place, whatever white space stands between its marks."""
        if self._simple and text.startswith(self.core, at):
            return at + len(self.core)
        return match_atoms(self.atoms, text, at, final)

    def match_loosely(self, text: str, at: int, final: bool) -> int:
        """Match the core behind other white space than the text has before it; a word stays one."""
        start = skip_blank(text, at) if self.lead or self.firm else at
        if self.lead and start == at and self.core[0].isalnum():
            return NO
        end = self.match_core(text, start, final)
        return end_word(text, end, final) if end >= 0 and self.trail else end

    def find_rest(self, text: str, at: int) -> str:
        """Return what of its letters is missing where the text ends within it; empty where that cannot be said."""
        if self._simple and self.text.startswith(text[at:]):
            return self.text[len(text) - at :]
        for kind, solid in self.atoms if self.firm else (Atom("solid", self.text),):
            if kind == "counter":
                return ""
            if kind in ("blank", "space"):
                at = skip_blank(text, at)
            elif text.startswith(solid, at):
                at += len(solid)
            else:
                return solid[len(text) - at :]
        return ""

    def take_lead(self, text: str, start: int, at: int) -> int:
        """Return where the layout before a core at a place begins, not before ``start``."""
        size = min(len(self.lead), at - start)
        while size and not text.endswith(self.lead[-size:], 0, at):
            size -= 1
        return at - size


@lru_cache(maxsize=1 << 13)
def get_constant(parts: tuple[str, ...], laid: bool = False) -> Constant:
    """Return what matches a text; the same one for all rules that have it."""
    return Constant(parts, laid)


def _list_atoms(parts: tuple[str, ...]) -> tuple[Atom, ...]:
    unit, parts = _join_counters(parts)
    atoms: list[Atom] = []
    for number, part in enumerate(parts):
        if number:
            atoms.append(Atom("counter", unit))
        atoms += _split_atoms(part)
    return tuple(atoms)


def _join_counters(parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Join counters that are a list, one for each of several calls, which may be longer than any that a render has; returns what
    stands between two of them, and what is around all."""
    between = set(parts[1:-1])
    return (between.pop(), (parts[0], parts[-1])) if len(parts) > 3 and len(between) == 1 else ("", parts)


def _split_atoms(text: str) -> list[Atom]:
    """Cut a text at the white space that is layout, and between two tags."""
    atoms: list[Atom] = []
    solid, depth = "", 0
    for found in TOKEN.finditer(text):
        token = found[0]
        before, behind, sign = text[max(found.start() - 1, 0) : found.start()], text[found.end() : found.end() + 1], token[0]
        if token.isspace() and depth <= 0:
            atoms += [Atom("solid", solid)] if solid else []
            atoms.append(Atom("blank" if _is_layout(token, before, behind) else "space", token))
            solid = ""
            continue
        ends = before in _CLOSES and sign != before and (before == ">" or sign not in _CLOSES)
        if solid and depth <= 0 and (ends or sign in _OPENS or _is_data(before, sign)):
            atoms += [Atom("solid", solid), Atom("blank", "")]
            solid = ""
        solid += token
        depth += token.count("<") - token.count(">")
    return atoms + ([Atom("solid", solid)] if solid else [])


def _is_layout(blank: str, before: str, behind: str) -> bool:
    """Whether white space could be left out: beside a sign, or where a line ends; not between two words."""
    return "\n" in blank or before in _CLOSES or behind in _OPENS or _is_data(before, behind)


def _is_data(before: str, behind: str) -> bool:
    """Whether two signs belong to data in which white space says nothing."""
    return (before in "{[,:" and behind in '"{[') or (before in '"}]' and behind in "}]:,")


def match_atoms(atoms: Sequence[Atom], text: str, at: int, final: bool) -> int:
    """Match pieces one behind the other."""
    size = len(text)
    for kind, solid in atoms:
        if kind == "solid":
            if not text.startswith(solid, at):
                return MORE if not final and size - at < len(solid) and solid.startswith(text[at:]) else NO
            at += len(solid)
        elif kind in ("blank", "space"):
            start, at = at, skip_blank(text, at)
            if kind == "space" and at == start:
                return MORE if at == size and not final else NO
        else:
            end = find_end(_DIGITS, text, at)
            while solid and end > at and text.startswith(solid, end):
                at = end + len(solid)
                end = find_end(_DIGITS, text, at)
            if not final and (end == size or (solid and size - end < len(solid) and solid.startswith(text[end:]))):
                return MORE
            if end == at:
                return NO
            at = end
    return at
