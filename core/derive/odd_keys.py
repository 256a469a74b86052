"""Keys that are no words: how they are written where that is another way, in quotes or between bars or in brackets.

They are asked in the place of a plain key. What differs around them is exchanged in every edge into a key, behind it, and out
of its value, so that no type of value is asked again.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import replace

from ..ask.pieces import Field
from ..ask.words import make_word
from ..format import Path, Text
from ..format.cut import find_common_end, find_common_start
from ..format.model import KEY_AGAIN
from .draft import TURN, Draft
from .places import AskEntries, Place, make_entry_key
from .strings import Surroundings
from .types import PLAIN, Change, Types, read_plain, splice

_SIGNS = string.punctuation + " "


def learn_odd_keys(draft: Draft, place: Place, ask: AskEntries, types: Types, written: Text) -> None:
    """Learn how keys are written that are no words; ``written`` is what signs become in keys, ``types`` how values are written."""
    if any(source.kind == "key" and source.again for source in draft.edges[place.graph]):
        return
    base, around = _ask_around(ask)
    if base is None or not around:
        return
    odd = max(around.values(), key=[*around.values()].count)  # the way of the most signs
    signs = "".join(sign for sign, other in around.items() if other == odd)
    if draft.path is not None and place.graph == TURN:
        odd = _learn_path(draft, draft.path, ask, base, odd, signs)
    _repeat_odd_keys(draft, place, base, odd)
    draft.codecs[place.graph, Field("key")] = Text()
    for key in [field for field in draft.edges[place.graph] if field.kind == "key" and field.family == place.family]:
        draft.codecs[place.graph, key._replace(signs=signs)] = replace(written, quoted=True)
    _splice(draft, place, base, odd, signs, types)


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
    base, *others = map(read_plain, ask([(key, PLAIN) for key in keys]))
    quotes = {"'", '"', "`"} & {base.before[-1:], base.mid[:1]} if base else ()  # one in a key exchanges them for others
    pairs = zip(_SIGNS, others, strict=True)
    return base, {sign: other for sign, other in pairs if other and other != base and sign not in quotes}


def _learn_path(draft: Draft, path: Path, ask: AskEntries, base: Surroundings, odd: Surroundings, signs: str) -> Surroundings:
    """Learn how such keys stand in paths, and return what stands around one at the beginning of a path: its end is in the path."""
    first, last = make_word("kr"), make_word("kr", 1)
    inner = ask([(make_entry_key(0), {f"{first}{signs[0]}{last}": PLAIN})])[0]
    opening, _, rest = inner.around.partition(first) if inner else ("", "", "")
    closing = odd.mid.removesuffix(base.mid)
    if rest.startswith(f"{signs[0]}{last}{closing}{base.mid}") and closing:
        draft.path = replace(path, odd_opening=opening, odd_closing=closing, odd_signs=signs)
    return odd._replace(mid=base.mid)


def _splice(draft: Draft, place: Place, base: Surroundings, odd: Surroundings, signs: str, types: Types) -> None:
    """Give every edge into a key, and out of it, to odd keys; and those out of values, where these have something more behind."""
    start = find_common_start(base.behind, odd.behind)
    end = min(find_common_end(base.behind, odd.behind), len(base.behind) - start)
    more = odd.behind[start : len(odd.behind) - end]
    told = base.behind != odd.behind and start + end == len(base.behind)  # by what stands behind the value

    def is_own(field: Field, kind: str) -> bool:
        return field.kind == kind and field.family == place.family and not field.signs

    def leave(source: Field, target: Field) -> Iterator[Change]:
        if is_own(source, "key"):
            yield Change(source._replace(signs=signs), base.mid, odd.mid, target._replace(signs=signs) if told else None)
        elif told and is_own(source, "value"):
            writing = types.get((source.type, source.form))
            behind = writing.behind if writing else base.behind
            size = len(behind) - end
            yield Change(source._replace(signs=signs), behind, behind[:size] + more + behind[size:])

    def enter(target: Field) -> Iterator[Change]:
        if is_own(target, "key"):
            yield Change(target._replace(signs=signs), base.before, odd.before)

    for (name, field), codec in list(draft.codecs.items()) if told else ():
        if name == place.graph and is_own(field, "value"):
            draft.codecs[name, field._replace(signs=signs)] = codec
    splice(draft, place.graph, leave, enter)
