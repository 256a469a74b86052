"""The values of arguments: how each type is written, and the edges that go with it.

All turns are rendered with plain strings only. What stands around a value of another type is asked once, between two
strings; what differs there is exchanged in every edge into a string and out of it. So no type has to be asked in every
kind of turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..ask.pieces import END, Field, Needle, cut_row
from ..ask.words import make_word
from ..format import Insides, Text
from ..format.cut import find_first
from .draft import TURN, Draft
from .levels import indent_levels
from .odd_keys import learn_odd_keys
from .places import Build, Place, ask_apart, ask_beside_keys, ask_entries, ask_values_apart, find_path
from .strings import AskGaps, Surroundings, ask_strings, make_text, read_images, strip_digits
from .types import PLAIN, Change, Types, Writing, ask_types, match_digits, read_plain, restore_digits, splice


def learn_object(draft: Draft, graph: str, family: str, build: Build, outer: Sequence[str] = ()) -> Types:
    """Learn the entries of an object: keys beside their values, or keys and values in rows of their own."""
    plain = build({make_word("ka"): make_word("sl"), make_word("kb"): PLAIN})
    if plain is None:
        return {}
    path = find_path(build) if graph == TURN else None
    within = path is not None and path.base >= 0  # then each item of a list has its path, which begins with the key
    repeats = not within and _repeats_keys(build, plain)
    draft.repeated_keys |= repeats
    draft.path = draft.path or path
    key_codec = _ask_keys(build, draft.special.anywhere)
    if key_codec is not None:
        draft.codecs[graph, Field("key")] = key_codec
    if _are_values_apart(draft, graph):
        return learn_values(draft, Place(graph, family, "value"), ask_values_apart(build))
    lists = not (repeats or within)
    place = Place(graph, family, "key")
    ask = partial(ask_entries, build, outer)
    types = learn_values(draft, place, ask_beside_keys(ask), lists, path is None)
    learn_odd_keys(draft, place, ask, types, key_codec or Text())
    return types


def _repeats_keys(build: Build, plain: str) -> bool:
    """Whether a list is written as its key once for each item."""
    key = make_word("kb")
    listed = build({make_word("ka"): make_word("sl"), key: [PLAIN, PLAIN + "y"]}) or ""
    return 0 < 2 * plain.count(key) <= listed.count(key)


def _are_values_apart(draft: Draft, graph: str) -> bool:
    return any(source.kind == link.target.kind == "value" for source, links in draft.edges[graph].items() for link in links)


def _ask_keys(build: Build, special: Sequence[str]) -> Text | None:
    """Return what special characters become in keys, or None where the template refuses such keys."""
    bounds = {char: (make_word("q", number), make_word("sb")) for number, char in enumerate(special)}
    images = read_images(build({first + char + last: PLAIN for char, (first, last) in bounds.items()}), bounds)
    return make_text(images) if images else None


def learn_values(draft: Draft, place: Place, ask: AskGaps, lists: bool = True, objects: bool = True) -> Types:
    """Learn how values of each type are written at a place, and add the edges that go with each type.

    Without ``lists`` and ``objects`` those are no values of their own here, but for an empty object, which has no members.
    """
    plain = ask([PLAIN])[0]
    base = read_plain(plain)
    if plain is None or base is None:
        draft.codecs.setdefault((place.graph, place.field("value")), Text())
        return {}
    forms = ask_strings(ask, draft.special)
    types = ask_types(ask, place.family, draft.special.anywhere, lists, objects)
    ways = types | _learn_strings(draft, place, forms, base, types)
    for way, writing in ways.items():
        _add_way(draft, place, base, way, writing)
    entry = place.field(place.entry)
    entering = [
        Change(place.field("key", *way), base.before, writing.before)
        if entry.kind == "key"
        else Change(place.field("value", *way), base.mid, writing.mid)
        for way, writing in ways.items()
    ]
    leave = partial(_list_exits, place, ways, base, strip_digits(plain.rest))
    splice(draft, place.graph, leave, lambda target: entering if target == entry else ())
    return types


def _learn_strings(draft: Draft, place: Place, forms: dict[Surroundings, Text], base: Surroundings, types: Types) -> Types:
    """Note how plain strings are written, and return the other forms."""
    scalars = [writing for (name, _), writing in types.items() if name in ("integer", "number", "boolean")]
    others = [Surroundings(*map(strip_digits, (each.before, each.mid, each.behind))) for each in scalars]
    quoted = bool(others) and base not in others
    written = [(around, replace(codec, quoted=quoted)) for around, codec in forms.items()]
    draft.codecs[place.graph, place.field("value")] = written[0][1] if written else Text(quoted=quoted)
    return {
        ("string", form): Writing(around.before, around.mid, codec, around.behind)
        for form, (around, codec) in enumerate(written[1:], 1)
    }


def _add_way(draft: Draft, place: Place, base: Surroundings, way: tuple[str, int], writing: Writing) -> None:
    """Note how the values of a type and form are written, and what leads to them from their key."""
    value = place.field("value", *way)
    draft.codecs[place.graph, value] = writing.codec
    if place.entry == "key":
        links = draft.edges[place.graph][place.field("key")]
        plain = [link.text for link in links if strip_digits(link.text) == base.mid]
        for text in sorted({restore_digits(writing.mid, base.mid, text) for text in plain}) or [writing.mid]:
            draft.add(place.graph, place.field("key", *way), text, value)


def _list_exits(place: Place, ways: Types, base: Surroundings, rest: str, source: Field, target: Field) -> Iterator[Change]:
    """List what leaves values written in other ways as an edge leaves plain strings, or the key that comes again behind those and
    has the ``rest`` behind it."""
    again = source == place.field("key", "")._replace(again=True)
    for way, writing in ways.items() if again or source == place.field("value") else ():
        told = rest and writing.rest and strip_digits(writing.rest) != rest  # behind the key, too
        typed = place.field("key", *way)._replace(again=True) if told else None
        if again and typed:
            yield Change(typed, rest, writing.rest)
        elif writing.early == again:
            behind = rest if writing.early else base.behind
            yield Change(place.field("value", *way), behind, writing.behind, typed if target.again else None)


def learn_insides(draft: Draft, family: str, build: Build, types: Types) -> None:
    """Learn the graphs of lists and objects that are not JSON."""
    if _is_inside(types, "array"):
        _learn_rows(draft, "list" + family, family, build, keyed=False)
        inner = learn_values(draft, Place("list" + family, family, "value"), ask_apart(build))
        if _is_inside(inner, "object"):
            before, behind = make_word("sl", 0), make_word("sl", 2)
            within = _build_within(lambda value: build([before, value, behind]), inner, before, (behind,))
            if not _is_inside(types, "object"):
                _learn_inner_object(draft, "object" + family, family, within)
            elif _differs(build, within):
                _learn_objects_in_lists(draft, family, within)
    if _is_inside(types, "object"):
        _learn_inner_object(draft, "object" + family, family, build)
    kinds = {name: graph + family for name, graph in (("array", "list"), ("object", "object")) if _is_inside(types, name)}
    links = (link for graph in kinds.values() for links in draft.edges[graph].values() for link in links)
    if any(link.target == END and not link.text.strip() for link in links):
        indent_levels(draft, kinds, build)


def _is_inside(types: Types, name: str) -> bool:
    return (name, 0) in types and isinstance(types[name, 0].codec, Insides)


def _differs(one: Build, other: Build) -> bool:
    """Whether an object is written in other marks in one place than in another one."""
    texts = [build({make_word("ka"): PLAIN, make_word("kb"): PLAIN}) for build in (one, other)]
    return None not in texts and len({"".join((text or "").split()) for text in texts}) > 1


def _learn_objects_in_lists(draft: Draft, family: str, build: Build) -> None:
    """Learn a graph for objects in lists, at whatever depth, beside the one of other objects."""
    graph, usual = "item" + family, Insides("object" + family)
    _learn_inner_object(draft, graph, family, build)
    for place, codec in list(draft.codecs.items()):
        if place[0] in (graph, "list" + family) and codec == usual:
            draft.codecs[place] = Insides(graph)


def _learn_inner_object(draft: Draft, graph: str, family: str, build: Build) -> None:
    _learn_rows(draft, graph, family, build, keyed=True)
    learn_object(draft, graph, family, build)


def _learn_rows(draft: Draft, graph: str, family: str, build: Build, keyed: bool) -> None:
    """Learn the edges of objects with few entries, or of lists with few items."""
    for count in range(3 if keyed else 4):
        keys, values = ([make_word(kind, number) for number in range(count)] for kind in ("k", "v"))
        needles = {word: Needle(Field("value", "string", 0, family)) for word in values}
        if keyed:
            needles |= {word: Needle(Field("key", "string", 0, family)) for word in keys}
        text = build(dict(zip(keys, values, strict=True)) if keyed else values)
        row = [] if text is None else cut_row(text, needles)
        if len(row) > len(needles):
            draft.add_row(graph, row)


def make_inner_build(build: Build, types: Types, others: Sequence[str]) -> Build:
    """Return what renders a list or an object among arguments and returns what stands between its bounds."""
    first, key, last = (make_word("kw", number) for number in range(3))
    before, behind = make_word("sw", 0), make_word("sw", 2)
    return _build_within(lambda value: build({first: before, key: value, last: behind}), types, key, (key, last, behind, *others))


def _build_within(build: Build, types: Types, start: str, ends: Sequence[str]) -> Build:
    """Return what renders a list or an object between a word and some others and returns what stands between its bounds."""

    def build_inner(value: Any) -> str | None:
        _, found, rest = (build(value) or "").partition(start)
        writing = types["array" if isinstance(value, list) else "object", 0]
        mid, behind = (match_digits(strip_digits(text)) for text in (writing.mid, writing.behind))  # numbers in them may count
        match = re.fullmatch(f"{mid}(.*){behind}", rest[: find_first(rest, ends)], re.DOTALL) if found else None
        return match[1] if match else None

    return build_inner
