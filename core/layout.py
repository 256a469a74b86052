"""The exact text of a turn with calls, white space included, as the template prints it.

The other steps of the analysis look for what a reader must recognise. This one looks for what a writer must write: it
takes rendered turns whose fields are known, and keeps everything else as it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from .format import ARGUMENTS, COUNTER, ID, KEY, NAME, EntriesLayout, EntryLayout, Layout, Tools
from .marker import find_common_prefix, find_common_suffix
from .notation import find_encoded_object, find_json_object, split_entries
from .probes import REASONING, Call, Oracle, Question
from .tools import Surroundings, make_plain_call, split_ending

_LONG_ID = "call_q0v9x8z7y6w5"


@dataclass(frozen=True)
class Written:
    """A rendered turn with calls, cut: what stands before the first field, each call, what is between two, what is behind.

    Fields are masked; ``arguments`` are the texts for which ``ARGUMENTS`` stands.
    """

    lead: str
    calls: tuple[str, ...]
    joints: tuple[str, ...]
    tail: str
    arguments: tuple[str, ...]

    def get_text_behind(self) -> str:
        """Return what stands between the arguments of the first call and the next field, or the end."""
        behind = self.calls[0].partition(ARGUMENTS)[2]
        return re.split(f"[{NAME}{ID}]", behind)[0] if behind else self.tail


def find_layout(oracle: Oracle, around: Surroundings, tools: Tools) -> Layout | None:
    """Derive the layout of calls from turns with one call, with two, without arguments, and with other values.

    None where the calls of a turn are not written alike. Costs half a dozen renders.
    """
    first, second = make_plain_call(0), make_plain_call(1)
    one, two = _write(oracle, around, tools, first), _write(oracle, around, tools, first, second)
    if one is None:
        return None
    call, joint, tails = one.calls[0], None, [one.tail]
    if two is not None and two.joints:
        merged = _merge_counters(two.calls[0], two.calls[1])
        if merged is None:
            return None
        call, joint = merged, two.joints[0]
        tails.append(two.tail.replace(_get_last_key(second), _get_last_key(first)))
    opener, leads = _split_lead(oracle, around, tools, one.lead, first)
    if joint is not None:
        opener, joint = _mark_counters(opener, joint)
    entries: EntriesLayout | None = None
    empty: str | None = None
    if not tools.arguments.json:
        entries = _find_entries(oracle, around, tools, one)
        if entries is None:
            return None
        close, last = entries.string.close, _get_last_key(first)
        before, _, behind = call.partition(ARGUMENTS)
        behind = behind.replace(last, KEY).removeprefix(close)
        if call.endswith(ARGUMENTS):
            tails = [tail.replace(last, KEY).removeprefix(close) for tail in tails]
            joint = joint.replace(last, KEY).removeprefix(close) if joint is not None else None
        call = before.removesuffix(entries.key_start) + ARGUMENTS + behind
        empty = _find_empty(oracle, around, tools, tails)
    return Layout(
        leads=leads,
        opener=opener,
        call=call,
        empty=empty,
        joint=joint,
        tails=tuple(dict.fromkeys(tails)),
        entries=entries,
        id=_find_id_shape(oracle, around, tools, first) if ID in call else "any",
        indent=_find_indent(one.arguments[0]) if tools.arguments.json else 0,
        sorted=_is_sorted(oracle, around, tools, first),
    )


def _get_last_key(call: Call) -> str:
    keys: list[str] = list(json.loads(call.arguments))
    return keys[-1]


def _read(oracle: Oracle, around: Surroundings, calls: tuple[Call, ...], reasoning: str | None = None) -> str | None:
    """Return the turn with calls, without content where the template takes that."""
    for content in (None, Question().content):
        question = Question(content=content, reasoning=reasoning, calls=calls)
        text = around.header.read_body(oracle, question)
        text = text if text is not None else oracle.ask(question)
        if text is not None and all(field in text for call in calls for field in (*json.loads(call.arguments),)):
            return text
    return None


def _write(oracle: Oracle, around: Surroundings, tools: Tools, *calls: Call) -> Written | None:
    """Render a turn with calls and cut it; None where a field is not where it should be."""
    text = _read(oracle, around, calls)
    if text is None:
        return None
    spans: list[tuple[int, int, str, int]] = []
    position = 0
    for number, call in enumerate(calls):
        span = _find_arguments(text, position, call, tools)
        if span is None:
            return None
        spans += [(*span, ARGUMENTS, number)] if span[1] > span[0] else []
        position = span[1]
    limit = position + len(split_ending(text[position:], around)[0])
    fields = [(field, mark) for call in calls for field, mark in ((call.name, NAME), (call.id, ID))]
    for place, (field, mark) in enumerate(fields):
        spans += [(start, start + len(field), mark, place // 2) for start in _find_all(field, text, limit)]
    return _cut(text[:limit], sorted(spans), len(calls))


def _find_arguments(text: str, position: int, call: Call, tools: Tools) -> tuple[int, int] | None:
    """Return where the arguments of a call stand; in tags, from the first key to the last value."""
    arguments = json.loads(call.arguments)
    if tools.arguments.json:
        find = find_encoded_object if tools.arguments.encoded else find_json_object
        span = find(text[position:], arguments)
        return (span[0] + position, span[1] + position) if span else None
    if not arguments:
        place = text.find(call.name, position)
        return (place + len(call.name),) * 2 if place >= 0 else None
    key, value = next(iter(arguments)), str(list(arguments.values())[-1])
    start = text.find(key, position)
    end = text.find(value, start)
    return (start, end + len(value)) if 0 <= start < end else None


def _find_all(field: str, text: str, limit: int) -> Iterable[int]:
    return (found.start() for found in re.finditer(re.escape(field), text[:limit]))


def _cut(text: str, spans: list[tuple[int, int, str, int]], count: int) -> Written | None:
    owners = [owner for _, _, _, owner in spans]
    if owners != sorted(owners) or set(owners) != set(range(count)):
        return None
    calls, joints, arguments, position = [""] * count, [""] * count, [], 0
    for number, (start, end, mark, owner) in enumerate(spans):
        if start < position:
            return None
        if number and owner == spans[number - 1][3]:
            calls[owner] += text[position:start] + mark
        else:
            joints[owner] = text[position:start]
            calls[owner] = mark
        arguments += [text[start:end]] if mark == ARGUMENTS else []
        position = end
    return Written(joints[0], tuple(calls), tuple(joints[1:]), text[position:], tuple(arguments))


def _merge_counters(first: str, second: str) -> str | None:
    """Return how both of two calls are written: what differs must count."""
    if first == second:
        return first
    if re.sub(r"\d+", COUNTER, first) == re.sub(r"\d+", COUNTER, second):
        pieces = zip(re.split(r"(\d+)", first), re.split(r"(\d+)", second), strict=True)
        return "".join(one if one == two else COUNTER for one, two in pieces)
    return None


def _mark_counters(opener: str, joint: str) -> tuple[str, str]:
    """Put a placeholder for the number where a first call and another one are opened alike but for one number."""
    ones, others = list(re.finditer(r"\d+", opener)), list(re.finditer(r"\d+", joint))
    for one, other in zip(reversed(ones), reversed(others), strict=False):
        if opener[one.end() :] != joint[other.end() :]:
            break
        if one[0] != other[0]:
            rest = COUNTER + opener[one.end() :]
            return opener[: one.start()] + rest, joint[: other.start()] + rest
    return opener, joint


def _split_lead(oracle: Oracle, around: Surroundings, tools: Tools, lead: str, call: Call) -> tuple[str, tuple[str, ...]]:
    """Split what stands before the first field into the opener of calls and what may stand before it."""
    marker = (tools.section_start or tools.call_start).text

    def split(text: str) -> tuple[str, str]:
        if around.reasoning is not None and around.reasoning.end.text in text:
            text = text[text.rindex(around.reasoning.end.text) + len(around.reasoning.end.text) :]
        if marker and marker in text:
            place = text.rindex(marker)
        else:
            rest = text
            for known in (around.content.end.text, around.continuation.text):
                rest = rest[rest.rindex(known) + len(known) :] if known and known in rest else rest
            place = len(text) - len(rest.lstrip())
        return text[:place], text[place:]

    before, opener = split(lead)
    leads = ["", before[len(before.rstrip()) :], before]
    text = _read(oracle, around, (call,), REASONING) if around.reasoning is not None else None
    if text is not None and REASONING in text:
        first = min(place for place in (text.find(call.name), text.find(call.id), text.find(call.arguments)) if place >= 0)
        behind, same = split(text[text.index(REASONING) : first])
        leads += [behind] if same == opener else []
    return opener, tuple(dict.fromkeys(lead for lead in leads if lead.strip() in ("", around.continuation.text)))


def _find_entries(oracle: Oracle, around: Surroundings, tools: Tools, one: Written) -> EntriesLayout | None:
    """Derive the text around entries from arguments that are all strings and from others that are all numbers."""
    strings = json.loads(make_plain_call(0).arguments)
    numbers = dict(zip(strings, (70311, 70312, 70313), strict=True))
    other = _write(oracle, around, tools, Call.of(0, numbers))
    other = other or _write(oracle, around, tools, Call.of(0, {key: str(number) for key, number in numbers.items()}))
    if other is None:
        return None
    entries = split_entries(one.arguments[0], strings)
    others = split_entries(other.arguments[0], {key: str(value) for key, value in numbers.items()})
    if entries is None or others is None:
        return None
    before = _find_text_before(one)
    last = _get_last_key(make_plain_call(0))
    behind, behind_other = (written.get_text_behind().replace(last, KEY) for written in (one, other))
    return _solve(before, (entries.joint, others.joint), (behind, behind_other), (entries.between, others.between))


def _find_text_before(one: Written) -> str:
    before = one.calls[0].partition(ARGUMENTS)[0]
    return re.split(f"[{NAME}{ID}]", before)[-1] if before else one.lead


def _solve(
    before: str, joints: tuple[str, str], behinds: tuple[str, str], betweens: tuple[str, str]
) -> EntriesLayout | None:
    """Split what stands before, between and behind entries into what belongs to each entry and what divides two.

    What the beginning and the joints end with begins an entry. Best, it is all of a joint but what closes the value, which
    also the last value has behind it: then nothing divides two entries.
    """
    start = find_common_suffix(before, *joints)
    for length in range(len(start), -1, -1):
        key_start = start[len(start) - length :]
        closes = [joint[: len(joint) - length] for joint in joints]
        ends = {behind[len(close) :] for behind, close in zip(behinds, closes, strict=True) if behind.startswith(close)}
        if len(ends) == 1 and all(map(str.startswith, behinds, closes)):
            return _make_entries(key_start, "", closes, betweens)
    rests = [joint[: len(joint) - len(start)] for joint in joints]
    common = find_common_prefix(rests[0], behinds[0])
    for length in range(len(common), -1, -1):
        end, separator = behinds[0][length:], rests[0][length:]
        if behinds[1].endswith(end) and rests[1] == behinds[1][: len(behinds[1]) - len(end)] + separator:
            return _make_entries(start, separator, [common[:length], behinds[1][: len(behinds[1]) - len(end)]], betweens)
    return None


def _make_entries(key_start: str, separator: str, closes: list[str], betweens: tuple[str, str]) -> EntriesLayout:
    string, other = (EntryLayout(between, close) for between, close in zip(betweens, closes, strict=True))
    return EntriesLayout(key_start, separator, string, other)


def _find_empty(oracle: Oracle, around: Surroundings, tools: Tools, tails: list[str]) -> str | None:
    """Return a call without arguments, or None where the template writes none."""
    bare = _write(oracle, around, tools, replace(make_plain_call(0), arguments="{}"))
    if bare is None:
        return None
    for tail in sorted(tails, key=len, reverse=True):
        if bare.tail.endswith(tail):
            return bare.calls[0] + bare.tail[: len(bare.tail) - len(tail)]
    return None


def _find_id_shape(oracle: Oracle, around: Surroundings, tools: Tools, call: Call) -> Literal["any", "nine"]:
    text = _read(oracle, around, (replace(call, id=_LONG_ID),))
    return "any" if text is not None and _LONG_ID in text else "nine"


def _find_indent(arguments: str) -> int:
    """Return by how much the keys of a JSON object are indented, 0 where it stands in one line."""
    found = re.search(r'\n( *)"', arguments)
    return max(len(found[1]), 1) if found else 0


def _is_sorted(oracle: Oracle, around: Surroundings, tools: Tools, call: Call) -> bool:
    """Whether keys come out in the order of the alphabet when they were given in another."""
    arguments: Mapping[str, str] = json.loads(call.arguments)
    turned = dict(reversed(list(arguments.items())))
    text = _read(oracle, around, (Call.of(0, turned),))
    if text is None:
        return False
    first, *_, last = arguments
    return text.find(first) < text.find(last)
