"""Writing turns as examples show them: the oracle where a template is silent.

An example is a raw output and the message that it means. Each field of the message is found in the text, in the form in
which it is written there; what stands between the fields is structure. Put other fields into the same structure, and there
is a text for any message: so examples can be questioned just like a template, and the same analysis and the same proof run.
What no example shows cannot be written; it is refused, as templates refuse what they do not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import LessonError, TemplateRefusal
from .format import KEY, NAME
from .lesson import Lesson, LessonCall
from .marker import cut_common_prefix, cut_common_suffix, is_blank, split_atoms
from .notation import find_encoded_object, find_json_object

Write = Callable[[Mapping[str, Any]], str]

_JSON_STYLES: tuple[dict[str, Any], ...] = tuple(
    {"ensure_ascii": ascii, **layout}
    for ascii in (False, True)
    for layout in ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4}, {"separators": (",", ": ")})
)
_OTHER = "\ue00f"
"""Stands in the text between two calls for the name of the second; ``NAME`` for that of the first."""


@dataclass
class Core:
    """A call found in a text: where it is, its fields with the text behind each, and how arguments are written."""

    start: int
    end: int
    fields: tuple[tuple[str, str], ...]
    write: Write


@dataclass
class Pattern:
    """The structure that examples show. A text is None where no example shows it."""

    reasoning_start: str | None = None
    reasoning_end: str | None = None
    content_start: str = ""
    leads: dict[str, str] = field(default_factory=dict)
    """What stands before the first call: behind content, behind reasoning, or at the start of the turn."""
    fields: tuple[tuple[str, str], ...] = ()
    write: Write | None = None
    gap: str | None = None
    tail: str = ""
    content_end: str | None = None
    """What stands behind content that comes behind calls; None where it comes before them."""
    ending: str = ""
    unknown: list[str] = field(default_factory=list)

    def write_turn(self, reasoning: str, content: str, calls: tuple[LessonCall, ...]) -> str:
        """Write a turn; raises :class:`TemplateRefusal` for what no example shows."""
        text = ""
        if reasoning:
            if self.reasoning_end is None:
                raise _refuse("reasoning")
            text = (self.reasoning_start or "") + reasoning + self.reasoning_end
        if content and not reasoning:
            content = self.content_start + content
        return text + self.write_answer("reasoning" if reasoning else "start", content, calls)

    def write_answer(self, behind: str, content: str, calls: tuple[LessonCall, ...]) -> str:
        """Write content and calls, behind reasoning or at the start of the turn."""
        if not calls:
            return content
        if self.content_end is not None:
            return self._write_calls(behind, calls) + content + self.content_end
        return content + self._write_calls("content" if content else behind, calls)

    def _write_calls(self, behind: str, calls: tuple[LessonCall, ...]) -> str:
        if self.write is None or (len(calls) > 1 and self.gap is None):
            raise _refuse("several calls" if self.write else "calls")
        lead = self.leads.get(behind)
        if lead is None:
            lead = next(iter(self.leads.values()))
            lead = lead if behind == "content" else lead.lstrip()
        text = lead.replace(NAME, calls[0].name)
        for number, call in enumerate(calls):
            if number and self.gap is not None:
                text += self.gap.replace(NAME, calls[number - 1].name).replace(_OTHER, call.name)
            for kind, behind_field in self.fields:
                text += {"name": call.name, "id": call.id}[kind] if kind != "arguments" else self.write(call.arguments)
                text += behind_field.replace(NAME, call.name)
        return text + self.tail.replace(NAME, calls[-1].name)


def _refuse(what: str) -> TemplateRefusal:
    return TemplateRefusal(f"No example shows how {what} are written.", reason=f"no example shows {what}")


@dataclass
class _Found:
    """The fields of a lesson, found in its text."""

    lesson: Lesson
    text: str
    reasoning: tuple[int, int] | None = None
    content: tuple[int, int] | None = None
    cores: list[Core] = field(default_factory=list)
    content_last: bool = False

    @property
    def lead(self) -> tuple[str, str]:
        """What stands before the first call, and behind what."""
        content = None if self.content_last else self.content
        before = content or self.reasoning or (0, 0)
        kind = "content" if content else "reasoning" if self.reasoning else "start"
        return kind, self.text[before[1] : self.cores[0].start]


def find_pattern(lessons: tuple[Lesson, ...], endings: tuple[str, ...] = ()) -> Pattern:
    """Derive the structure that lessons show; ``endings`` are texts known to end a turn.

    Raises :class:`LessonError` where a field of a message is not in its text.
    """
    found = [_find_fields(lesson, number) for number, lesson in enumerate(lessons)]
    pattern = Pattern()
    spoken = [lesson for lesson in found if lesson.content and not lesson.cores]
    tails = [lesson.text[lesson.content[1] :] for lesson in spoken if lesson.content]
    known = [ending for ending in (*tails, *endings) if not is_blank(ending)]
    pattern.ending = known[0] if known else ""
    for lesson in found:
        for ending in sorted(known, key=len, reverse=True):
            if lesson.text.rstrip().endswith(ending.strip()):
                lesson.text = lesson.text[: lesson.text.rstrip().rindex(ending.strip())]
                break
    calling = [lesson for lesson in found if lesson.cores]
    if calling:
        _find_calls(pattern, calling)
    _find_reasoning(pattern, found)
    return pattern


def _find_fields(lesson: Lesson, number: int) -> _Found:
    """Find the fields of a lesson in its text: reasoning first, then content and calls, in either order."""
    found = _Found(lesson, lesson.text)
    position = 0
    for kind, value in (("reasoning", lesson.reasoning.strip()), ("content", lesson.content.strip())):
        if value:
            start = lesson.text.find(value, position)
            if start < 0:
                raise LessonError(f"Reading example {number}: its {kind} does not stand in its text, or not in this order.")
            setattr(found, kind, (start, start + len(value)))
            position = start + len(value)
    found.cores = _find_cores(lesson, position)
    if not found.cores and found.content:
        found.cores = _find_cores(lesson, found.reasoning[1] if found.reasoning else 0)
        found.content_last = bool(found.cores) and found.cores[-1].end <= found.content[0]
    if len(found.cores) != len(lesson.calls) or (found.cores and not found.content_last and found.cores[0].start < position):
        raise LessonError(
            f"Reading example {number}: its calls do not all stand in its text, behind reasoning and beside content. Name, "
            "keys and values must be there as the message has them, and values inside values as JSON."
        )
    return found


def _find_cores(lesson: Lesson, position: int) -> list[Core]:
    cores = []
    for call in lesson.calls:
        core = _find_core(lesson.text, position, call)
        if core is None:
            return []
        position = core.end
        cores.append(core)
    return cores


def _find_calls(pattern: Pattern, calling: list[_Found]) -> None:
    """Note what stands around calls and between the parts of one."""
    cores = [core for lesson in calling for core in lesson.cores]
    best = max(cores, key=lambda core: getattr(core.write, "weight", 0))
    pattern.fields, pattern.write = best.fields, best.write
    for lesson in calling:
        calls, cores = lesson.lesson.calls, lesson.cores
        kind, lead = lesson.lead
        pattern.leads.setdefault(kind, lead.replace(calls[0].name, NAME))
        tail = lesson.text[cores[-1].end :]
        if lesson.content_last and lesson.content:
            tail = lesson.text[cores[-1].end : lesson.content[0]]
            pattern.content_end = lesson.text[lesson.content[1] :]
        if lesson.content_last or not pattern.tail:
            pattern.tail = tail.replace(calls[-1].name, NAME)
        for number in range(len(cores) - 1):
            gap = lesson.text[cores[number].end : cores[number + 1].start]
            one, other = calls[number].name, calls[number + 1].name
            if pattern.gap is None or one != other:
                pattern.gap = gap.replace(one, NAME) if one == other else gap.replace(one, NAME).replace(other, _OTHER)
    if pattern.gap is None:
        pattern.unknown.append("how several calls are written: no example has two")
    if not getattr(pattern.write, "typed", True):
        pattern.unknown.append("how values other than strings are written: no example has one")
    if getattr(pattern.write, "plain", False):
        pattern.unknown.append("whether strings with quotes, brackets or line breaks are escaped: no example has one")


def _find_reasoning(pattern: Pattern, found: list[_Found]) -> None:
    """Note what stands around reasoning, and before content where there is none."""
    for lesson in found:
        if lesson.content and not lesson.reasoning and not lesson.content_last:
            pattern.content_start = lesson.text[: lesson.content[0]]
    thinking = [lesson for lesson in found if lesson.reasoning]
    for lesson in sorted(thinking, key=lambda lesson: lesson.content is None or lesson.content_last):
        assert lesson.reasoning is not None
        pattern.reasoning_start = pattern.reasoning_start or lesson.text[: lesson.reasoning[0]]
        if pattern.reasoning_end is not None:
            continue
        if lesson.content and not lesson.content_last:
            gap = lesson.text[lesson.reasoning[1] : lesson.content[0]]
            pattern.reasoning_end = gap.removesuffix(pattern.content_start) if pattern.content_start else gap
        elif lesson.cores:
            pattern.reasoning_end, pattern.leads["reasoning"] = _split_lead(pattern, lesson.lead[1])
        else:
            pattern.reasoning_end = lesson.text[lesson.reasoning[1] :]
    if pattern.reasoning_end is not None and "reasoning" in pattern.leads:
        lead = pattern.leads["reasoning"]
        pattern.leads["reasoning"] = lead.removeprefix(pattern.reasoning_end.rstrip()).lstrip()


def _split_lead(pattern: Pattern, lead: str) -> tuple[str, str]:
    """Split what stands between reasoning and a call into the end of the one and the beginning of the other."""
    others = [text.strip() for kind, text in pattern.leads.items() if kind != "reasoning"]
    others += [cut_common_suffix(lead, pattern.gap)] if pattern.gap else []
    for other in others:
        if not is_blank(other) and lead.rstrip().endswith(other.strip()) and lead.strip() != other.strip():
            cut = lead.rindex(other.strip())
            return lead[:cut], lead[cut:]
    first = split_atoms(lead)[0] if not is_blank(lead) else ""
    cut = lead.index(first) + len(first)
    pattern.unknown.append("where reasoning ends and a call begins: no example has content between them, or two calls")
    return lead[:cut], lead[cut:]


# One call


def _find_core(text: str, position: int, call: LessonCall) -> Core | None:
    """Find a call behind a position: the arguments, and name and id beside them."""
    region = _find_arguments(text, position, call.arguments)
    if region is None:
        return None
    start, end, write = region
    places = [(start, end, "arguments")]
    for kind, value in (("name", call.name), ("id", call.id)):
        if not value:
            continue
        at = text.rfind(value, position, start)
        at = text.find(value, end) if at < 0 else at
        if at >= 0 and not any(one <= at < other for one, other, _ in places):
            places.append((at, at + len(value), kind))
    kinds = {kind for _, _, kind in places}
    if "name" not in kinds and not ("id" in kinds and call.name in call.id):
        return None
    if "id" in kinds and call.name in call.id:  # the id carries the name
        places = [place for place in places if place[2] != "name"]
    places.sort()
    fields = []
    for number, (_, place_end, kind) in enumerate(places):
        following = places[number + 1][0] if number + 1 < len(places) else place_end
        fields.append((kind, text[place_end:following].replace(call.name, NAME)))
    return Core(places[0][0], places[-1][1], tuple(fields), write)


def _find_arguments(text: str, position: int, arguments: Mapping[str, Any]) -> tuple[int, int, Write] | None:
    """Find arguments behind a position: as JSON, as JSON in a JSON string, or entry by entry."""
    rest = text[position:]
    if not arguments:
        found = re.compile(r"\{\s*\}").search(text, position)
        return (*found.span(), _JsonWriter("{}", {}, False)) if found else None
    for find, encoded in ((find_json_object, False), (find_encoded_object, True)):
        span = find(rest, arguments)
        if span is not None:
            start, end = position + span[0], position + span[1]
            return start, end, _JsonWriter(text[start:end], arguments, encoded)
    return _find_entries(text, position, arguments)


class _JsonWriter:
    """Writes JSON in the style of a sample: white space, and characters beyond ASCII."""

    typed = True

    def __init__(self, sample: str, arguments: Mapping[str, Any], encoded: bool) -> None:
        self.weight = len(arguments)
        self._encoded = encoded
        inner = json.loads(sample) if encoded else sample
        self._style = next((style for style in _JSON_STYLES if json.dumps(arguments, **style) == inner), _JSON_STYLES[0])

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        text = json.dumps(arguments, **self._style)
        return json.dumps(text, ensure_ascii=False) if self._encoded else text


# Arguments entry by entry


@dataclass(frozen=True)
class _Entry:
    """An entry found in a text: its key and value with their places, and how the value is written."""

    key: tuple[int, int]
    value: tuple[int, int]
    kind: str
    style: str


def _find_entries(text: str, position: int, arguments: Mapping[str, Any]) -> tuple[int, int, Write] | None:
    entries: list[_Entry] = []
    start = position
    keys = sorted(arguments, key=lambda key: _find_word(text, position, key))  # some templates sort them
    for key in keys:
        value = arguments[key]
        entry = _find_entry(text, start, key, value)
        if entry is None:
            return None
        entries.append(entry)
        start = entry.value[1]
    if len(entries) < 2:
        return None
    writer = _EntryWriter(text, position, keys, entries)
    return writer.start, writer.end, writer


def _find_word(text: str, position: int, word: str) -> int:
    found = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(text, position)
    return found.start() if found else -1


def _find_entry(text: str, position: int, key: str, value: Any) -> _Entry | None:
    start = _find_word(text, position, key)
    if start < 0:
        return None
    best: _Entry | None = None
    for style, written in _list_forms(value):
        after = start + len(key)
        at = _find_word(text, after, written) if not isinstance(value, str) else text.find(written, after) if written else -1
        if at >= 0 and (best is None or at < best.value[0]):
            style = _name_string_style(text, at, len(written), style) if isinstance(value, str) else style
            kind = "string" if isinstance(value, str) else "other"
            best = _Entry((start, after), (at, at + len(written)), kind, style)
    return best


def _list_forms(value: Any) -> Iterator[tuple[str, str]]:
    """List the ways in which a value may be written, without the quotes of a string."""
    if isinstance(value, str):
        yield "raw", value
        yield "json", json.dumps(value, ensure_ascii=False)[1:-1]
        yield "python", repr(value)[1:-1]
        return
    for style in _JSON_STYLES:
        yield "json", json.dumps(value, **style)
    yield "python", repr(value)


def _name_string_style(text: str, at: int, length: int, style: str) -> str:
    """Tell by the quotes around a string how others would be escaped, where it needed no escape itself."""
    if style != "raw":
        return style
    around = text[at - 1 : at] + text[at + length : at + length + 1]
    return {'""': "json", "''": "python"}.get(around, "raw")


class _EntryWriter:
    """Writes entries as a sample shows them: what stands before a key, between key and value, and between two entries."""

    def __init__(self, text: str, position: int, keys: list[str], entries: list[_Entry]) -> None:
        self.weight = len(entries)
        self.end = entries[-1].value[1]
        joints = [
            text[one.value[1] : other.key[0]].replace(key, KEY)
            for key, one, other in zip(keys, entries, entries[1:], strict=False)
        ]
        self._frames: dict[str, str] = {}
        for key, entry in zip(keys, entries, strict=True):
            self._frames.setdefault(entry.kind, text[entry.key[1] : entry.value[0]].replace(key, KEY))
        self.typed = "other" in self._frames
        texts = [text[slice(*entry.value)] for entry in entries if entry.kind == "string" and entry.style == "raw"]
        self.plain = bool(texts) and all(re.fullmatch(r"[\w\s.]*", text) and "\n" not in text for text in texts)
        self._styles = {entry.kind: entry.style for entry in entries}
        self._key_start = cut_common_suffix(text[position : entries[0].key[0]], *joints)
        self.start = entries[0].key[0] - len(self._key_start)
        rooms = [joint[: len(joint) - len(self._key_start)] for joint in joints]
        tail = text[self.end :].replace(keys[-1], KEY)
        self._closers = self._split_closers(entries, rooms, tail)
        first = self._closers[entries[0].kind]
        self._separator = rooms[0][len(first) :]
        self.end += self._measure_closer(text, keys[-1], self._closers[entries[-1].kind])

    def _split_closers(self, entries: list[_Entry], rooms: list[str], tail: str) -> dict[str, str]:
        """Return what closes the value of each kind: what all joints have in common, and the quotes of strings."""
        frames, string, other = self._frames, self._frames.get("string", ""), self._frames.get("other", "")
        quote = string[len(other) :] if string.startswith(other) and len(frames) == 2 else ""
        shared = _find_shared_start([*rooms, tail])
        closers = dict.fromkeys(("string", "other"), shared)
        if quote:
            texts = [*rooms, tail]
            of_string = [text for text, entry in zip(texts, entries, strict=True) if entry.kind == "string"]
            of_other = [text for text, entry in zip(texts, entries, strict=True) if entry.kind == "other"]
            closing = quote if of_string[0].startswith(quote) else split_atoms(of_string[0])[0]
            rest = _find_shared_start([*(text.removeprefix(closing) for text in of_string), *of_other])
            closers = {"string": closing + rest, "other": rest}
        return closers

    @staticmethod
    def _measure_closer(text: str, key: str, closer: str) -> int:
        return len(closer.replace(KEY, key))

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        parts = []
        for key, value in arguments.items():
            kind = "string" if isinstance(value, str) else "other"
            frame = self._frames.get(kind) or next(iter(self._frames.values()))
            written = self._key_start + key + frame + self._write_value(value, kind) + self._closers[kind]
            parts.append(written.replace(KEY, key))
        return self._separator.join(parts)

    def _write_value(self, value: Any, kind: str) -> str:
        style = self._styles.get(kind, "json")
        if kind == "string":
            text: str = value
            return {"raw": text, "json": json.dumps(text, ensure_ascii=False)[1:-1], "python": repr(text)[1:-1]}[style]
        return repr(value) if style == "python" else json.dumps(value, ensure_ascii=False)


def _find_shared_start(texts: list[str]) -> str:
    """Return the beginning that texts share and that ends at a marker's end in each."""
    return cut_common_prefix(*texts) if len(texts) > 1 else ""
