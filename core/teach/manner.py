"""How turns are written, learnt from examples: enough to write turns that no example shows.

Few examples show what a template would: each type of value at each place, calls behind reasoning, behind content and at the
start of a turn, a call without arguments. What stands around a value goes with its type alone, and what stands before the
first call is the same everywhere but for what ends the field before it; so the rest can be put together. What cannot is
noted, and a turn that would need it is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from ..ask.pieces import list_tokens
from ..ask.question import Call
from ..constrain.texts import encode_text
from ..errors import TemplateRefusal
from ..format import Json, Text
from ..format.cut import cut_common_end, find_common_end
from .sample import PYTHON_TEXT, RAW, Cut

_WORDS = {True: ("true", "True"), False: ("false", "False"), None: ("null", "None")}

Row = tuple[Cut, ...]
"""The fields of one call, and the cut behind them, for the text before that."""


def refuse(what: str) -> TemplateRefusal:
    """Return the error that says which turn cannot be written."""
    return TemplateRefusal(f"Writing a turn as the examples do: no example shows {what}.", None, f"no example shows {what}")


class Manner:
    """How turns are written; ``notes`` say what no example shows.

    ``strip`` takes from a text what a template prints by itself, with reasoning and where a turn begins.
    """

    def __init__(self, samples: Sequence[Sequence[Cut]], strip: Callable[[str], str] = str) -> None:
        self.notes: list[str] = []
        thinking = [cuts for cuts in samples if cuts[0].kind == "reasoning"]
        self._lead = strip(next((cuts[0].before for cuts in samples if cuts[0].kind == "content"), ""))
        self._opening = thinking[0][0].before if thinking else ""
        rows = [row for cuts in samples for row in _list_rows(cuts)]
        self._calls = _Calls(rows, self.notes) if rows else None
        # What stands before the first call, behind a field of which kind ("end" for where the turn begins with it).
        leads: dict[str, str] = {}
        for before, cut in (pair for cuts in samples for pair in pairwise((cuts[-1], *cuts[:-1]))):
            if before.call is None and cut.call is not None:
                leads.setdefault(before.kind, strip(cut.before))
        self._end = self._find_end([cuts[1] for cuts in thinking], leads)
        if "reasoning" in leads and "content" not in leads:
            leads.setdefault("end", leads["reasoning"].removeprefix(self._end.rstrip()).lstrip())
        leads.setdefault("end", leads.get("content", "").lstrip())
        self._leads = leads

    def _find_end(self, behind: Sequence[Cut], leads: Mapping[str, str]) -> str:
        """Return what ends reasoning, without what begins content or a call."""
        followed = sorted((cut for cut in behind if cut.kind != "end"), key=lambda cut: cut.kind != "content")
        if not followed:
            return behind[0].before if behind else ""
        lead = followed[0].before
        if followed[0].kind == "content":
            return lead.removesuffix(self._lead)
        for other in (leads.get("content"), leads.get("end"), self._calls.between if self._calls else None):
            shared = cut_common_end([lead, other]) if other else ""
            if shared.strip() and shared.strip() != lead.strip():
                return lead[: len(lead) - len(shared)]
        self.notes.append("where reasoning ends and a call begins: no example has content between them, or two calls")
        tokens = list_tokens(lead)
        first = next((number for number, token in enumerate(tokens) if token.strip()), 0)
        return "".join(tokens[: first + 1])

    def write(self, reasoning: str, content: str, calls: Sequence[Call]) -> str:
        """Return the text of a turn, without its end. Raises :class:`TemplateRefusal` where no example tells how."""
        text, before = "", "end"
        if reasoning:
            text, before = self._opening + reasoning, "reasoning"
        if content:
            text, before = text + self._end * bool(reasoning) + self._lead + content, "content"
        elif reasoning and not (calls and "reasoning" in self._leads):
            text, before = text + self._end, "end"
        if not calls:
            return text
        if self._calls is None:
            raise refuse("a call")
        return text + self._leads.get(before, self._leads["end"]) + self._calls.write(calls)


def _list_rows(cuts: Sequence[Cut]) -> Iterator[Row]:
    for number in sorted({cut.call for cut in cuts if cut.call is not None}):
        places = [place for place, cut in enumerate(cuts) if cut.call == number]
        *fields, behind = cuts[places[0] : places[-1] + 2]
        yield (*fields, behind._replace(before=behind.before.rstrip()) if behind.kind == "content" else behind)


class _Calls:
    """How calls are written."""

    def __init__(self, rows: list[Row], notes: list[str]) -> None:
        rows = sorted(rows, key=lambda row: -sum(cut.kind == "value" for cut in row))
        self._entries = _Entries(rows, notes) if any(cut.kind == "value" for cut in rows[0]) else None
        rows = [_strip(row, self._entries.quote if self._entries else "") for row in rows]
        self._slots = _list_slots(rows[0])
        bare = [row for row in rows if not any(cut.kind in ("key", "arguments") for cut in row)]
        self._bare = _list_slots(bare[0]) if bare else self._slots
        self._json = next((cut.codec for row in rows for cut in row if isinstance(cut.codec, Json)), Json())
        self.between = next((row[-1].before for row in rows if row[-1].call is not None), None)
        self._tail = next((row[-1].before for row in rows if row[-1].call is None), "")
        if self.between is None:
            notes.append("how several calls are written: no example has two")

    def write(self, calls: Sequence[Call]) -> str:
        """Return the text of calls, from the first field of the first one on."""
        if len(calls) > 1 and self.between is None:
            raise refuse("two calls")
        behind = [self.between or ""] * (len(calls) - 1) + [self._tail]
        return "".join(self._write_call(call, text) for call, text in zip(calls, behind, strict=True))

    def _write_call(self, call: Call, behind: str) -> str:
        arguments = call.object
        slots = self._slots if arguments else self._bare
        if arguments and not any(kind in ("arguments", "entries") for _, kind in slots):
            raise refuse("arguments")
        fields = {"name": call.name, "id": call.id, "arguments": encode_text(call.arguments, self._json.within or RAW)}
        written, lead, quote = "", "", ""
        for number, (text, kind) in enumerate([*slots, (behind, "end")]):
            if kind == "entries" and not arguments:
                lead = text
            elif kind == "entries" and self._entries:
                entries, quote = self._entries.write(arguments, text)
                written += entries
            else:
                text = self._entries.skip(lead, text) if lead and self._entries else text
                written += quote + text * bool(number) + fields.get(kind, "")
                lead = quote = ""
        return written


def _strip(row: Row, quote: str) -> Row:
    """Return a call without the quote that closes a string in the text behind it."""
    pairs = pairwise(row)
    return row[0], *(cut._replace(before=cut.before.removeprefix(quote)) if one.is_string else cut for one, cut in pairs)


def _list_slots(row: Row) -> list[tuple[str, str]]:
    """Return the fields of a call with the texts before them; its keys and values are one."""
    slots: list[tuple[str, str]] = []
    for cut in row[:-1]:
        if cut.kind not in ("key", "value"):
            slots.append((cut.before, cut.kind))
        elif not slots or slots[-1][1] != "entries":
            slots.append((cut.before, "entries"))
    return slots


class _Entries:
    """How arguments are written entry by entry; ``quote`` closes a string."""

    def __init__(self, rows: Sequence[Row], notes: list[str]) -> None:
        values = [cut for row in rows for cut in row if cut.kind == "value"]
        strings = [cut for cut in values if cut.is_string]
        self._codec = next((cut.codec for cut in strings if isinstance(cut.codec, Text) and cut.codec is not RAW), RAW)
        self._python = self._codec == PYTHON_TEXT or any(cut.written in ("True", "False", "None") for cut in values)
        middles = {cut.is_string: cut.before for cut in reversed(values)}
        opening, self.quote = _find_quotes(rows, middles)
        middles.setdefault(True, middles.get(False, ""))
        middles.setdefault(False, middles[True].removesuffix(opening))
        self._middles = middles
        pairs = [pair for row in rows for pair in pairwise(_strip(row, self.quote))]
        self._closer = next((cut.before for _, cut in pairs if cut.kind == "key" and cut.again), None)
        keys = [(one, cut.before) for one, cut in pairs if cut.kind == "key" and not cut.again]
        self._outs = [cut.before for one, cut in pairs if one.ends_entry and cut.kind != "key"]
        self._joint = next((text for one, text in keys if one.ends_entry), None)
        if self._joint is None:
            notes.append("what stands between two arguments: no example has two")
            leads = [text for one, text in keys if not one.ends_entry]
            self._joint = next(_guess_joint(leads, self._outs, self._closer is not None), None)
        if len(strings) in (0, len(values)):
            notes.append(f"how {'values other than strings' if strings else 'strings'} are written: no example has one")
        plain = all(re.fullmatch(r"[\w .]*", cut.written) for cut in strings)
        if strings and plain and self._codec is RAW and not opening:
            notes.append("whether strings with quotes, brackets or line breaks are escaped: no example has one")

    def write(self, arguments: Mapping[str, Any], lead: str) -> tuple[str, str]:
        """Return the text of entries, and the quote that is still to close the last one."""
        if len(arguments) > 1 and self._joint is None:
            raise refuse("two arguments")
        written, quote = lead, ""
        for number, (key, value) in enumerate(arguments.items()):
            written += (quote + (self._joint or "")) * bool(number) + key
            written += self._middles[isinstance(value, str)] + self._write_value(value)
            quote = self.quote if isinstance(value, str) else ""
            if self._closer is not None:
                written, quote = written + quote + self._closer + key, ""
        return written, quote

    def _write_value(self, value: Any) -> str:
        if isinstance(value, str):
            behind = [self._closer] if self._closer is not None else [self._joint or "", *self._outs]
            if self._codec is RAW and any(end in value for text in behind if (end := (self.quote + text).strip())):
                raise refuse("how a string is escaped")
            return encode_text(value, self._codec)
        if isinstance(value, bool) or value is None:
            return _WORDS[value][self._python]
        return json.dumps(value, ensure_ascii=False)

    def skip(self, lead: str, out: str) -> str:
        """Return what leads past arguments that are none: what stands around all, without what stands around each."""
        joint = self._joint or ""
        shared = find_common_end(lead, joint)
        each = joint[: len(joint) - shared]
        if self._joint is None or (shared and not out.startswith(each)):
            raise refuse("a call without arguments")
        return lead[: len(lead) - shared] + out.removeprefix(each)


def _find_quotes(rows: Sequence[Row], middles: Mapping[bool, str]) -> tuple[str, str]:
    """Return what opens and closes a string beyond what stands around every value."""
    string, other = middles.get(True, ""), middles.get(False)
    opening = string[-1:] if string[-1:] in ('"', "'") else ""
    if other is not None:
        opening = string.removeprefix(other) if string.startswith(other) else ""
    behind = next((cut.before for row in rows for one, cut in pairwise(row) if one.is_string), "")
    return opening, opening if behind.startswith(opening) else list_tokens(behind)[0]


def _guess_joint(leads: Sequence[str], outs: Sequence[str], again: bool) -> Iterator[str]:
    """List what may stand between two arguments where examples show only one, if a tag around the argument tells."""
    for lead, out in product(leads, outs):
        closer = re.match(r"()\s*[>\])}|]+" if again else r"\s*[^\w\s]*(\w*)[^\w\s]*?[>\])}|]", out)
        place = lead.rfind(closer[1]) if closer and closer[1] else len(lead)
        opener = re.search(r"\s*[^\w\s>\])}]+$", lead[: max(place, 0)])
        if closer and opener and (closer[1] or again):
            yield closer[0] + lead[opener.start() :]
