"""The texts that end a turn, on which a server may stop generation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..ask.pieces import END, Field, find_shared_header, list_tokens
from ..format.cut import cut_common_end, find_boundaries, find_common_end, find_common_start
from .draft import TURN, Draft, Links


def find_stops(draft: Draft) -> list[str]:
    """Return what ends turns: the same text behind all fields, or one behind content and another one behind calls.

    What also stands before a further field closes the field and not the turn.
    """
    turn, alone = draft.edges[TURN], (Field("content"), Field("reasoning"))
    plain = [links for field, links in turn.items() if field in alone]
    others = [links for field, links in turn.items() if field not in alone]
    inner = [link.text for _, links in draft.list_links(TURN) for link in links if link.target != END]
    shared = _share([*plain, *others], inner) if plain and others else ""
    if shared:
        return [shared]
    content = [_share(plain, inner)] if len(plain) > 1 else []
    if not any(content):
        content = [_drop_first(end, inner) for end in _cut_closers(turn.get(Field("content"), {}))]
    stops = dict.fromkeys(end for end in content if is_marker(end))
    behind = _share(others, inner)
    for end in [behind] if behind else sorted((end for links in others for end in _cut_closers(links)), key=len):
        if is_marker(end) and not any(end.endswith(stop) for stop in stops):
            stops[_take_last(end, content, inner)] = None
    parts = [stop for stop in stops if any(stop in other and stop != other for other in stops)]
    return [stop for stop in stops if stop not in parts or not any(stop in text for text in inner)]


_PREFIX = re.compile(r"(?:([^\w\s)\]}>\"'])\1*|>{2,}) ?\Z")
"""Signs before the word of a mark."""
_WORDS = re.compile(r"(?:\w+ )+\Z")
"""Words before another one of a mark."""
_LINE = re.compile(r"\n[^\w\s]\Z")
"""The first sign of a line."""


def _leave_mark(text: str, place: int) -> int:
    """Return a place in a text, or where the mark begins if it is between the signs and the word of one, two words, or behind the
    first sign of its line."""
    found = (_PREFIX.search(text, 0, place) or _WORDS.search(text, 0, place)) if text[place : place + 1].isalnum() else None
    return found.start() if found else _leave_line(text, place)


def _leave_line(text: str, place: int) -> int:
    """Return a place in a text, or that of the first sign of its line if more stands right behind that."""
    return place - 1 if _LINE.search(text, 0, place) and not text[place : place + 1].isspace() else place


def _share(sources: Iterable[Links], inner: Sequence[str]) -> str:
    """Return what all turns end with that end behind some fields, if it ends nothing but turns."""
    texts = [link.text for links in sources for link in links if link.target == END]
    common = texts[0][len(texts[0]) - find_common_end(*texts) :] if len(texts) > 1 else ""
    shared = _take_sign(cut_common_end(texts).strip() if common else "", common, inner)
    shared = _drop_brackets(_drop_closers(_drop_first(shared, inner), sources), inner)
    return shared if is_marker(shared) and not any(shared in text for text in inner) else ""


def _take_sign(shared: str, common: str, inner: Iterable[str]) -> str:
    """Return what ends all turns with the signs before its first word, if marks of the format begin with those."""
    place = common.rfind(shared)
    sign = common[_leave_mark(common, place) : place] if shared else ""
    begins = re.compile(rf"(?:\A|\s){re.escape(sign)}\w")
    return sign + shared if sign and any(map(begins.search, inner)) else shared


def _drop_first(shared: str, inner: Sequence[str]) -> str:
    """Return what ends turns without the marks at its beginning that also stand before further fields: they end other things."""
    for place in sorted(find_boundaries(shared), reverse=True):
        first, rest = shared[:place], shared[place:].lstrip()
        begin = len(shared) - len(rest)
        if not _parts_marks(first, rest) or _leave_mark(shared, begin) < begin:
            continue
        if any(first in text for text in inner) and not any(rest in text for text in inner):
            return _drop_first(rest, inner)
    return shared


def _parts_marks(first: str, rest: str) -> bool:
    """Whether one mark ends and another one begins between two halves of a text: no word, bracket or run of a sign is cut."""
    last, following = first.rstrip()[-1:], rest[:1]
    cuts = last.isalnum() or following.isalnum() or last in tuple("([{<") or first[-1:] == following
    return not cuts and is_marker(first) and is_marker(rest)


def _drop_closers(stop: str, sources: Iterable[Links]) -> str:
    """Return a stop without signs at its beginning that also stand before further fields: they end another mark."""
    for links in sources:
        others = [link.text for link in links if link.target != END]
        for link in links:
            closer = max((find_common_start(link.text, other) for other in others), default=0)
            cut = max(_leave_line(link.text, closer) - link.text.rfind(stop), 0)
            rest = stop[cut:] if link.target == END and stop in link.text else stop
            place = len(stop) - len(rest)
            if is_marker(rest) and not (rest[0].isalnum() or rest[0].isspace() or stop[place - 1 : place] == rest[0]):
                stop = rest if place in find_boundaries(stop) else stop
    return stop


def _drop_brackets(stop: str, inner: Iterable[str]) -> str:
    """Return a stop without the brackets and quotes of data before its mark, which has none of them: they end what a turn is in."""
    rest = stop.lstrip("]}\"' \n")
    marked = is_marker(rest) and not rest[0].isalnum() and not any(rest in text for text in inner)
    return rest if marked and not any(sign in rest for sign in "[]{}\"'") else stop


def _cut_closers(links: Links) -> Iterable[str]:
    """Return the ends of turns behind a field, less what is common with what leads to other fields."""
    others = [link.text for link in links if link.target != END]
    for link in links:
        if link.target == END:
            closer = max((find_shared_header(link.text, other) for other in others), key=len, default="")
            yield link.text[_leave_mark(link.text, len(closer)) :].strip()


def is_marker(text: str) -> bool:
    """Whether a text is more than a single sign."""
    return any(map(str.isalnum, text)) or len(text) > 1


def _take_last(text: str, known: Iterable[str], inner: Sequence[str]) -> str:
    """Return the last mark of several: those before it may close calls. It is of the same make as one that is known, or
    the shortest end that stands nowhere else."""
    for mark in known:
        make = re.sub(r"\w+", lambda _: r"\w+", re.escape(mark))
        match = re.search(make + r"\Z", text)
        if mark and match:
            return match[0]
    tokens = list_tokens(text)
    ends = ("".join(tokens[place:]) for place in range(len(tokens) - 1, 0, -1))
    whole = (text[_leave_mark(text, len(text) - len(end)) :] for end in ends if len(end) > 2 and not end.isalnum())
    found = (end for end in whole if not any(end in each for each in inner))
    return next(found, text).strip()
