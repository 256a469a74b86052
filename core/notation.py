"""How arguments and the values in them are written, whatever the language.

One call is rendered whose arguments hold every kind of value, with a plain string between any two: what stands between
two needles then is the text of one value with what is around it. What all values have around them is the slot; what only
strings have is their quotes; what differs from one kind to another is a mark of the type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .format import (
    KEY,
    Arguments,
    ListNotation,
    Marker,
    ObjectNotation,
    Slot,
    StringNotation,
    ValueNotation,
)
from .marker import (
    cut_common_prefix,
    cut_common_suffix,
    find_common_prefix,
    find_common_suffix,
    is_blank,
    make_marker,
    match_bracket,
)

SPECIAL_CHARACTERS = ('"', "'", "\\", "\n", "\t", "<", "&", "é", "/")

JSON_VALUES = ValueNotation(
    strings=(StringNotation('"', '"', (('"', '\\"'), ("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"))),),
    true="true",
    false="false",
    null="null",
    list=ListNotation("[", "", "", ",", "]"),
    object=ObjectNotation("{", '"', (Slot(Marker('":'), Marker()),), ",", "}"),
    json=True,
)

JSON_ARGUMENTS = Arguments(
    json=True,
    object=ObjectNotation("{", '"', (Slot(Marker('":'), Marker()),), ",", "}"),
    strings=JSON_VALUES.strings,
    value=JSON_VALUES,
)


def make_keys(count: int) -> list[str]:
    """Return so many argument names, in alphabetical order, none part of another."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [f"kq{letters[number // 26]}{letters[number % 26]}v" for number in range(count)]


def make_needle(number: int) -> str:
    """Return the plain string that stands at a place of the typed arguments."""
    return f"vz{number:02d}w"


@dataclass(frozen=True)
class Sample:
    """A value that is rendered between two plain strings, and the name of what it shows."""

    label: str
    value: Any


BASIC_SAMPLES = (
    Sample("number", 70311),
    Sample("float", 0.25),
    Sample("true", True),
    Sample("false", False),
    *(Sample(f"special {char}", f"sa{char}sb") for char in SPECIAL_CHARACTERS),
)
NESTED_SAMPLES = (
    Sample("strings", ["vla", "vlb"]),
    Sample("numbers", [70312, 70313]),
    Sample("object", {"oka": 70314, "okb": 70315}),
    Sample("deep", {"oka": [{"okb": "vlc"}], "okb": {"okc": "vld"}}),
    Sample("empty list", []),
    Sample("empty object", {}),
    *(Sample(f"nested {char}", [f"sa{char}sb"]) for char in SPECIAL_CHARACTERS[:4]),
)
NULL_SAMPLES = (Sample("null", None), Sample("nested null", [None, True, False]))


def make_typed_arguments(samples: tuple[Sample, ...]) -> dict[str, Any]:
    """Return arguments in which each sample stands between two needles."""
    keys = make_keys(2 * len(samples) + 1)
    arguments: dict[str, Any] = {keys[0]: make_needle(0)}
    for number, sample in enumerate(samples):
        arguments[keys[2 * number + 1]] = sample.value
        arguments[keys[2 * number + 2]] = make_needle(number + 1)
    return arguments


def find_json_object(text: str, arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return where a JSON object that equals the arguments stands in a text, or None."""
    first = next(iter(arguments), None)
    position = text.find("{") if first is None else text.find(f'"{first}"')
    decoder = json.JSONDecoder()
    start = position if first is None else text.rfind("{", 0, max(position, 0))
    if position < 0 or start < 0:
        return None
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return (start, end) if value == arguments else None


def find_encoded_object(text: str, arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return where a JSON string whose content is the arguments as JSON stands in a text, or None."""
    position = text.find(next(iter(arguments)))
    start = text.rfind('"{', 0, max(position, 0))
    if start < 0:
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
        return (start, end) if json.loads(value) == arguments else None
    except (ValueError, TypeError, RecursionError):
        return None


@dataclass(frozen=True)
class Entries:
    """The literals of rendered entries: before the first key, between key and value, between a value and the next key,
    and behind the last value. ``KEY`` stands where the key is repeated."""

    before: str
    between: str
    joint: str
    behind: str


def split_entries(text: str, arguments: Mapping[str, str]) -> Entries | None:
    """Split the text of a call with several plain string arguments into its literals; None where they vary."""
    keys, values = list(arguments), list(arguments.values())
    pieces: list[str] = []
    position = 0
    for key, value in arguments.items():
        at_key = text.find(key, position)
        at_value = text.find(value, at_key + len(key)) if at_key >= 0 else -1
        if at_value < 0:
            return None
        pieces += [text[position:at_key], text[at_key + len(key) : at_value]]
        position = at_value + len(value)
    pieces.append(text[position:])
    betweens, joints = pieces[1::2], pieces[2:-1:2]
    joints = [joint.replace(key, KEY) for joint, key in zip(joints, keys, strict=False)]
    behind = pieces[-1].replace(keys[-1], KEY)
    if len(set(betweens)) != 1 or len(set(joints)) != 1 or len(values) < 2:
        return None
    return Entries(pieces[0], betweens[0], joints[0], behind)


@dataclass(frozen=True)
class ArgumentsFinding:
    """The notation, and the literals that stand before and behind the arguments and do not belong to them."""

    arguments: Arguments
    before: str
    behind: str
    closing: str
    """What the arguments end with, as rendered, behind the last value."""


def derive_arguments(entries: Entries, empty: str | None, values: Mapping[str, str]) -> ArgumentsFinding:
    """Derive the notation of arguments that are not one JSON object.

    ``entries`` are the literals of a call with string arguments only. ``empty`` is the text from before the arguments to
    the end of a call without any, ``values`` what stands between key and next key for each sample, by its label.
    """
    key_start = cut_common_suffix(entries.before, entries.joint).lstrip()
    room = len(entries.joint) - len(key_start)
    value_end = cut_common_prefix(entries.joint[:room], entries.behind).rstrip()
    slots, string, other = _derive_slots(entries, value_end, values.get("number"))
    before = entries.before[: len(entries.before) - len(key_start)]
    behind = entries.behind[len(value_end) :]
    start, end, before, behind = _split_container(before, behind, empty)
    separator = entries.joint[len(value_end) : room].strip()
    notation = Arguments(
        json=False,
        object=ObjectNotation(start, key_start, slots, separator, end),
        strings=_derive_strings(string, values, "special "),
        value=_derive_values(other, values),
    )
    closing = entries.behind[: len(entries.behind) - len(behind)]
    return ArgumentsFinding(notation, before, behind, closing)


@dataclass(frozen=True)
class Frame:
    """What stands around the value of an entry: everything from its key to it, and from it to the next key."""

    before: str
    behind: str

    def unwrap(self, text: str) -> str | None:
        """Return the text inside the frame, or None where the text has another frame."""
        if not text.startswith(self.before) or not text.endswith(self.behind):
            return None
        return text[len(self.before) : len(text) - len(self.behind)]


def _derive_slots(entries: Entries, value_end: str, number: str | None) -> tuple[tuple[Slot, ...], Frame, Frame]:
    """Return the slots, and the frames of a string and of another value.

    The number tells strings from the rest: framed alike, the slot holds anything; framed by less, what is missing are
    the quotes of a string; framed otherwise, the frame marks the type.
    """
    string = Frame(entries.between, entries.joint)
    end = make_marker(value_end)
    pieces = number.split("70311") if number else []
    if len(pieces) != 2 or pieces == [string.before, string.behind]:
        return (Slot(make_marker(entries.between), end),), string, string
    other = Frame(*pieces)
    if string.before.startswith(other.before) and string.behind.endswith(other.behind):
        quote = len(string.behind) - len(other.behind)
        rest = make_marker(value_end[quote:]) if quote < len(value_end) else Marker()
        return (Slot(make_marker(other.before), rest),), _make_quoted(string, other), other
    following = entries.joint[len(value_end) :]
    shared = other.behind[: len(other.behind) - len(following)] if other.behind.endswith(following) else ""
    other_end = make_marker(shared or cut_common_prefix(other.behind, value_end)) or end
    return (
        (Slot(make_marker(string.before), end, "string"), Slot(make_marker(other.before), other_end, "other")),
        string,
        other,
    )


def _make_quoted(string: Frame, other: Frame) -> Frame:
    """Return the frame of a string inside the frame of any value: its quotes."""
    return Frame(
        other.before + "\0" + string.before[len(other.before) :],
        string.behind[: len(string.behind) - len(other.behind)] + "\0" + other.behind,
    )


def _derive_strings(frame: Frame, values: Mapping[str, str], prefix: str) -> tuple[StringNotation, ...]:
    """Derive how strings are quoted and escaped from samples that hold one special character each."""
    outer = Frame(frame.before.partition("\0")[0], frame.behind.rpartition("\0")[2])
    quoted = "\0" in frame.before
    notations: dict[tuple[str, str], list[tuple[str, str]]] = {}
    if quoted:
        notations[frame.before.partition("\0")[2], frame.behind.rpartition("\0")[0]] = []
    else:
        outer = frame
        notations["", ""] = []
    for label, text in values.items():
        inside = outer.unwrap(text) if label.startswith(prefix) else None
        if inside is None or "sa" not in inside or "sb" not in inside:
            continue
        start, _, rest = inside.partition("sa")
        image, _, end = rest.rpartition("sb")
        escapes = notations.setdefault((start, end), [])
        if image != label[len(prefix) :]:
            escapes.append((label[len(prefix) :], image))
    escaped = any(image.startswith("\\") for escapes in notations.values() for _, image in escapes)
    for (_, end), escapes in notations.items():
        if escaped and ("\\", "\\\\") not in escapes:  # seen with a text that needed none of it, in the same language
            escapes += [("\\", "\\\\"), *([(end, f"\\{end}")] if len(end) == 1 else [])]
    return tuple(StringNotation(start, end, tuple(escapes)) for (start, end), escapes in notations.items())


def _split_container(before: str, behind: str, empty: str | None) -> tuple[str, str, str, str]:
    """Split what surrounds the entries into the brackets of the object and what lies outside.

    A pair of brackets right around the entries is the object's. Other text belongs to it where a call without arguments
    does not have it.
    """
    opening = before.rstrip()[-1:]
    if opening and opening in "([{" and behind.lstrip().startswith(match_bracket(opening)):
        closing = behind.index(match_bracket(opening)) + 1
        return opening, match_bracket(opening), before.rstrip()[:-1], behind[closing:]
    if empty is None or is_blank(empty):
        return "", "", before, behind
    outside_before = cut_common_prefix(before, empty)
    rest = empty[len(outside_before) :]
    outside_behind = cut_common_suffix(behind, rest) if rest else behind
    start = before[len(outside_before) :].strip()
    end = behind[: len(behind) - len(outside_behind)].strip()
    if not start and not end:
        return "", "", before, behind
    return start, end, outside_before, outside_behind


def _derive_values(frame: Frame, values: Mapping[str, str]) -> ValueNotation:
    """Derive how values inside values are written; JSON where all samples are JSON."""
    inner = {label: frame.unwrap(text) for label, text in values.items()}
    nested = {sample.label: sample.value for sample in NESTED_SAMPLES + NULL_SAMPLES if inner.get(sample.label) is not None}
    if all(_reads_as(inner[label], value) for label, value in nested.items()) and _reads_as(inner.get("true"), True):
        return JSON_VALUES
    words = {label: inner.get(label) or label for label in ("true", "false", "null")}
    list_notation, strings = _derive_list(inner)
    return ValueNotation(
        strings=strings,
        true=words["true"],
        false=words["false"],
        null=words["null"] if inner.get("null") else _find_nested_null(inner, list_notation),
        list=list_notation,
        object=_derive_object(inner),
        json=False,
    )


def _reads_as(text: str | None, value: Any) -> bool:
    if text is None:
        return value is True
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _find_nested_null(inner: Mapping[str, str | None], notation: ListNotation | None) -> str:
    text = inner.get("nested null")
    if text is None or notation is None:
        return "null"
    body = text[len(notation.start) + len(notation.item_start) :]
    stop = notation.item_end or notation.separator
    return body.partition(stop)[0].strip() if stop else "null"


def _derive_list(inner: Mapping[str, str | None]) -> tuple[ListNotation | None, tuple[StringNotation, ...]]:
    numbers, strings = inner.get("numbers"), inner.get("strings")
    if numbers is None or "70312" not in numbers or "70313" not in numbers:
        return None, (StringNotation(),)
    start, _, rest = numbers.partition("70312")
    joint, _, end = rest.partition("70313")
    item_start = find_common_suffix(start, joint) if joint.strip() else ""
    item_end = find_common_prefix(joint[: len(joint) - len(item_start)], end)
    notation = ListNotation(
        start[: len(start) - len(item_start)].strip(),
        item_start,
        item_end,
        joint[len(item_end) : len(joint) - len(item_start)].strip(),
        end[len(item_end) :].strip(),
    )
    if strings is None or "vla" not in strings or "vlb" not in strings:
        return notation, (StringNotation(),)
    before, _, rest = strings.partition("vla")
    middle = rest.partition("vlb")[0]
    opening = before[len(start) :]
    closing = middle[: len(middle) - len(joint) - len(opening)]
    quote = Frame(start + "\0" + opening, closing + "\0" + end)
    samples = {label: text for label, text in inner.items() if text is not None}
    return notation, _derive_strings(quote, samples, "nested ") if before != start else (StringNotation(),)


def _derive_object(inner: Mapping[str, str | None]) -> ObjectNotation | None:
    text = inner.get("object")
    entries = split_entries(text, {"oka": "70314", "okb": "70315"}) if text else None
    if entries is None:
        return None
    key_start = find_common_suffix(entries.before, entries.joint)
    value_end = find_common_prefix(entries.joint[: len(entries.joint) - len(key_start)], entries.behind)
    return ObjectNotation(
        entries.before[: len(entries.before) - len(key_start)].strip(),
        key_start.strip(),
        (Slot(make_marker(entries.between), make_marker(value_end)),),
        entries.joint[len(value_end) : len(entries.joint) - len(key_start)].strip(),
        entries.behind[len(value_end) :].strip(),
    )
