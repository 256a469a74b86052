"""Keys that are no words: how they are written where that is another way, in quotes or between bars or in brackets.

They are asked in the place of a plain key. What differs around them is exchanged in every edge into a key, behind it, and out
of its value, so that no type of value is asked again.
"""

from __future__ import annotations

import string
from dataclasses import replace

from ..ask.pieces import Field
from ..ask.words import make_word
from ..format import Path, Text
from ..format.cut import find_common_end, find_common_start
from ..format.model import KEY_AGAIN
from .draft import TURN, Draft, Link
from .places import AskEntries, Place, make_entry_key
from .strings import Gap, Surroundings, strip_digits
from .types import PLAIN, Types, splice_before, splice_behind

_SIGNS = string.punctuation + " "


def learn_odd_keys(draft: Draft, place: Place, ask: AskEntries, types: Types, written: Text) -> None:
    """Learn how keys are written that are no words; ``written`` is what signs become in keys, ``types`` how values are written."""
    if any(source.kind == "key" and source.again for source in draft.edges[place.graph]):
        return
    base, around = _ask_around(ask)
    forms: dict[Surroundings, str] = {}
    for sign, other in around.items():
        forms[other] = forms.get(other, "") + sign
    if base is None or not forms:
        return
    odd, signs = max(forms.items(), key=lambda form: len(form[1]))
    if draft.path is not None and place.graph == TURN:
        odd = _learn_path(draft, draft.path, ask, base, odd, signs)
    _repeat_odd_keys(draft, place, base, odd)
    draft.codecs[place.graph, Field("key")] = Text()
    for key in [field for field in draft.edges[place.graph] if field.kind == "key" and field.family == place.family]:
        draft.codecs[place.graph, key._replace(signs=signs)] = replace(written, quoted=True)
    _Splicer(draft, place, base, odd, signs, types).splice()


def _repeat_odd_keys(draft: Draft, place: Place, base: Surroundings, odd: Surroundings) -> None:
    """Note what such a key has around it where each line of a text begins with its key."""
    if not (odd.before.startswith(base.before) and odd.mid.endswith(base.mid)):
        return
    key = odd.before.removeprefix(base.before) + KEY_AGAIN + odd.mid.removesuffix(base.mid)
    for where, codec in draft.codecs.items():
        if where[0] == place.graph and isinstance(codec, Text) and codec.repeats_key:
            more = ((written.replace(KEY_AGAIN, key), char) for written, char in codec.escapes if KEY_AGAIN in written)
            draft.codecs[where] = replace(codec, escapes=(*codec.escapes, *more))


def _ask_around(ask: AskEntries) -> tuple[Surroundings | None, dict[str, Surroundings]]:
    """Return what stands around a plain key and its value, and around one with each sign in it that makes a difference."""
    keys = [make_entry_key(0), *(f"{make_entry_key(number)}{sign}{make_word('kr')}" for number, sign in enumerate(_SIGNS, 1))]
    base, *others = (_read_gap(gap) for gap in ask([(key, PLAIN) for key in keys]))
    quotes = {"'", '"', "`"} & {base.before[-1:], base.mid[:1]} if base else ()  # one in a key exchanges them for others
    pairs = zip(_SIGNS, others, strict=True)
    return base, {sign: other for sign, other in pairs if other and other != base and sign not in quotes}


def _read_gap(gap: Gap | None) -> Surroundings | None:
    if gap is None or PLAIN not in gap.around:
        return None
    mid, _, behind = gap.around.partition(PLAIN)
    return Surroundings(*map(strip_digits, (gap.before, mid, behind)))


def _learn_path(draft: Draft, path: Path, ask: AskEntries, base: Surroundings, odd: Surroundings, signs: str) -> Surroundings:
    """Learn how such keys stand in paths, and return what stands around one at the beginning of a path: its end is in the path."""
    first, last = make_word("kr"), make_word("kr", 1)
    inner = ask([(make_entry_key(0), {f"{first}{signs[0]}{last}": PLAIN})])[0]
    opening, _, rest = inner.around.partition(first) if inner else ("", "", "")
    closing = odd.mid.removesuffix(base.mid)
    if rest.startswith(f"{signs[0]}{last}{closing}{base.mid}") and closing:
        draft.path = replace(path, odd_opening=opening, odd_closing=closing, odd_signs=signs)
    return odd._replace(mid=base.mid)


class _Splicer:
    """Gives every edge into a key, and out of it, to odd keys; and those out of values, where these have something more behind."""

    def __init__(self, draft: Draft, place: Place, base: Surroundings, odd: Surroundings, signs: str, types: Types) -> None:
        self._draft, self._place, self._base, self._odd, self._signs, self._types = draft, place, base, odd, signs, types
        start = find_common_start(base.behind, odd.behind)
        self._end = min(find_common_end(base.behind, odd.behind), len(base.behind) - start)
        self._more = odd.behind[start : len(odd.behind) - self._end]
        self._told = base.behind != odd.behind and start + self._end == len(base.behind)  # by what stands behind the value

    def splice(self) -> None:
        """Add the edges."""
        draft, graph = self._draft, self._place.graph
        if self._told:
            for field, codec in [(field, codec) for (name, field), codec in draft.codecs.items() if name == graph]:
                if self._is_own(field, "value"):
                    draft.codecs[graph, field._replace(signs=self._signs)] = codec
        for source, links in draft.list_links(graph):
            for link in list(links):
                for one, other in self._list_spliced(source, link):
                    (links if one == source else draft.edges[graph][one])[other] = None

    def _is_own(self, field: Field, kind: str) -> bool:
        return field.kind == kind and field.family == self._place.family and not field.signs

    def _list_spliced(self, source: Field, link: Link) -> list[tuple[Field, Link]]:
        found, odd_source, text = [(source, link)], source._replace(signs=self._signs), None
        if self._is_own(source, "key"):
            text = splice_behind(link.text, self._base.mid, self._odd.mid)
            link = link._replace(target=link.target._replace(signs=self._signs)) if self._told else link
        elif self._told and self._is_own(source, "value"):
            text = self._close(source, link.text)
        if text is not None:
            found.append((odd_source, link._replace(text=text)))
        for one, other in list(found):
            before = splice_before(other.text, self._base.before, self._odd.before) if self._is_own(other.target, "key") else None
            if before is not None:
                found.append((one, other._replace(text=before, target=other.target._replace(signs=self._signs))))
        return found[1:]

    def _close(self, value: Field, text: str) -> str | None:
        """Return what stands behind the value of an odd key, where the text stands behind that of another one."""
        writing = self._types.get((value.type, value.form))
        behind = writing.behind if writing else self._base.behind
        place = len(behind) - self._end
        return splice_behind(text, behind, behind[:place] + self._more + behind[place:])
