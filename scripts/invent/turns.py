"""What a model of an invented format would write, and what it means.

A turn is the part of a render behind the generation prompt, up to where the assistant's turn ends. A turn in which a raw
text holds what the format uses as structure is not made: no reader could tell.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conversations import Call, Fields, JsonObject
from rendering import Template, compile_template
from rivals import find_field_rival, find_split_rival
from splitting import count_common
from turns import Turn

from invent.arguments import WHOLE_STYLES, find_items
from invent.calls import find_spaces
from invent.design import Design
from invent.parts import find_between, find_end, find_reasoning, list_marks
from invent.says import EARLIER, ONE, QUESTION, RESULT, TOOLS, list_mixes, list_texts, list_values
from invent.values import escape, find_quotes
from invent.write import SWITCHES, write_template

ALIKE = "another message is rendered alike"
_LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


_ASKED = Call("NAMENEEDLE", {"KEYNEEDLE": "VALUENEEDLE"})
NEEDLES = [
    Fields(reasoning, content, calls)
    for reasoning in (None, "THOUGHTNEEDLE")
    for content in (None, "SAIDNEEDLE")
    for calls in ((), (_ASKED,), (_ASKED, _ASKED))
    if reasoning or content or calls
]
_NEEDLE = re.compile(r"([A-Z]+NEEDLE)")


class Speaker:
    """A format and its template, which write messages as a model would."""

    def __init__(self, design: Design, source: str | None = None) -> None:
        self.design = design
        self.source = source or write_template(design)
        self.template: Template = compile_template(self.source)
        self._prompts: dict[str, str] = {}
        self.marks = self._find_marks()

    def _find_marks(self) -> list[str]:
        """What no plain text may hold: all that stands beside reasoning and content in a turn, and all longer constants."""
        longer = [mark for mark in list_marks(self.design) if len(mark) > 2 or not mark.isascii()]
        beside: list[str] = []
        for fields in NEEDLES:
            ids = make_ids(self.design, fields.calls, "needles")
            prompt, full = self.render(None, [], "user", {}), self.render(fields, ids, "user", {})
            rest = _NEEDLE.split(full[count_common(prompt, full) :])
            beside += [piece.strip() for index, piece in enumerate(rest) if index % 2 == 0 and index < 6]
        return [*dict.fromkeys(mark for mark in [*longer, *beside] if mark)]

    def make_message(self, fields: Fields, ids: list[str]) -> JsonObject:
        """The assistant message that holds the fields."""
        message: JsonObject = {"role": "assistant", "content": fields.content or ""}
        if fields.reasoning is not None:
            message[self.design.reasoning_field.replace("-", "reasoning_content")] = fields.reasoning
        if fields.calls:
            made = zip(ids, fields.calls, strict=True)
            message["tool_calls"] = [{"id": given, "type": "function", "function": self._make(call)} for given, call in made]
        return message

    def _make(self, call: Call) -> JsonObject:
        arguments: Any = call.arguments
        if self.design.takes == "string":
            separators = (",", ":") if self.design.json == "compact" else None
            arguments = json.dumps(arguments, ensure_ascii=False, separators=separators)
        return {"name": call.name, "arguments": arguments}

    def make_history(self, history: str) -> list[JsonObject]:
        user = {"role": "user", "content": QUESTION}
        if history == "later":
            asked, said = EARLIER
            answer = self.make_message(Fields(content=said), [])
            return [{"role": "user", "content": asked}, answer, user]
        if history == "tool":
            given = make_ids(self.design, (ONE,), "history")
            asking = self.make_message(Fields(calls=(ONE,)), given)
            return [user, asking, {"role": "tool", "tool_call_id": given[0], "name": ONE.name, "content": RESULT}]
        return [user]

    def render(self, fields: Fields | None, ids: list[str], history: str, switches: JsonObject) -> str:
        """The conversation with an answer, or with a generation prompt. Raises ValueError if the template refuses it."""
        place = f"{history} {switches}"
        if fields is None and place in self._prompts:
            return self._prompts[place]
        messages = self.make_history(history)
        if fields is not None:
            messages = [*messages, self.make_message(fields, ids)]
        rendered = self.template.render(messages, TOOLS, fields is None, switches)
        if rendered is None:
            raise ValueError(self.template.error)
        if fields is None:
            self._prompts[place] = rendered
        return rendered


def make_ids(design: Design, calls: tuple[Call, ...], label: str) -> list[str]:
    """An id for each call, as this format has them."""
    if design.id == "inside":
        return [f"functions.{call.name}:{index}" for index, call in enumerate(calls)]
    if label == "needles":
        return ["IDXNEEDLE" for _ in calls]
    choose = random.Random(label)
    return ["".join(choose.choice(_LETTERS) for _ in range(9)) for _ in calls]


def make_turns(speaker: Speaker, seed: int | None = 0) -> list[Turn]:
    """Some forty turns of a format (all without a seed), each text once; those that another message renders alike are marked
    so."""
    found: dict[tuple[str, str], Turn] = {}
    alike: set[tuple[str, str]] = set()
    for turn in _list_turns(speaker, seed):
        place = (turn.prompt, turn.text)
        if place in found and found[place].expected != turn.expected:
            alike.add(place)
        found.setdefault(place, turn)
    return [_note(turn, ALIKE) if place in alike else turn for place, turn in found.items()]


def _note(turn: Turn, why: str) -> Turn:
    return Turn(**{**turn.__dict__, "unreadable": why})


def _list_turns(speaker: Speaker, seed: int | None) -> Iterator[Turn]:
    design = speaker.design
    said = {**list_texts(), **list_mixes(), **list_values()}
    chosen = [label for label, fields in said.items() if can_say(speaker, fields)]
    if seed is not None:
        chosen = _choose(chosen, random.Random(seed))
    for number, label in enumerate(chosen):
        fields = said[label]
        if design.reasoning_opened == "prompt" and fields.reasoning is None and can_say(speaker, _think(fields)):
            fields = _think(fields)
        yield from make_turn(speaker, label, fields, "user", {}, ended=number % 2 == 1)
    for label in ("content: plain", "reasoning: plain, content", "two calls", "reasoning, call", "content, call"):
        fields = said[label]
        if not can_say(speaker, fields):
            continue
        for history in ("tool", "later"):
            yield from make_turn(speaker, f"{label}, after {history}", fields, history, {}, ended=history == "tool")
        if design.switch != "-":
            for value in SWITCHES[design.switch][2:]:
                yield from make_turn(speaker, f"{label}, switched", fields, "user", {design.switch: value}, ended=False)


def _think(fields: Fields) -> Fields:
    """The fields with some reasoning, for models whose prompt makes them reason."""
    return replace(fields, reasoning="Let me think about it.")


def _choose(labels: list[str], choose: random.Random) -> list[str]:
    """Of values and of texts so many that all are some thirty with the mixes."""
    values = [label for label in labels if label.startswith("call: ")]
    texts = [label for label in labels if label.startswith(("content: ", "reasoning: ")) and "call" not in label]
    dropped = {*_drop(values, 14, choose), *_drop(texts, 7, choose)}
    return [label for label in labels if label not in dropped]


def _drop(labels: list[str], kept: int, choose: random.Random) -> list[str]:
    return choose.sample(labels, max(0, len(labels) - kept))


def make_turn(speaker: Speaker, label: str, fields: Fields, history: str, switches: JsonObject, *, ended: bool) -> Iterator[Turn]:
    """The turn with these fields, if the model would go on from the prompt in this way."""
    design, ids = speaker.design, make_ids(speaker.design, fields.calls, label)
    prompt, full = speaker.render(None, [], history, switches), speaker.render(fields, ids, history, switches)
    start = find_start(design, prompt, full, fields, switches)
    if start is None:
        return
    prompt, rest = full[:start] if full.startswith(prompt) else prompt, full[start:]
    end = find_end(design, bool(fields.calls))
    assert rest.endswith(end), (rest, end)
    text = rest.removesuffix(end)
    if not text.strip():
        return
    doubt = find_field_rival(lambda other: speaker.render(other, ids, history, switches), fields)
    doubt = doubt or find_split_rival(lambda other: speaker.render(other, ids, history, switches), fields, text)
    calls = [
        {"id": given if given in text else None, "name": call.name, "arguments": call.arguments}
        for given, call in zip(ids, fields.calls, strict=True)
    ]
    expected = {"reasoning_content": fields.reasoning, "content": fields.content, "tool_calls": calls}
    more = end.rstrip() if ended else ""
    yield Turn("", label, switches, prompt, text + more, TOOLS, expected, True, ended=ended, unreadable=doubt)


def find_start(design: Design, prompt: str, full: str, fields: Fields, switches: JsonObject) -> int | None:
    """Where the model's text starts in a render, or None if it would not go on from this prompt in this way."""
    if full.startswith(prompt):
        return len(prompt)
    if design.reasoning == "none" or fields.reasoning is not None:
        return None
    opening, closing = find_reasoning(design)
    closed = opening + closing + find_between(design)
    bare = prompt.removesuffix(closed)
    is_closed = switches and bare != prompt
    return len(bare) if is_closed and full.startswith(bare) and not full[len(bare) :].startswith(closed.strip()) else None


# What a format can carry


def can_say(speaker: Speaker, fields: Fields) -> bool:
    """Whether these fields are printed and can be told from structure."""
    design = speaker.design
    texts = [text for text in (fields.reasoning, fields.content) if text is not None]
    if fields.reasoning is not None and design.reasoning == "none":
        return False
    if fields.reasoning is not None and design.reasoning_when == "with calls" and not fields.calls:
        return False
    if not all(is_plain(speaker.marks, text) for text in texts):
        return False
    return all(can_hold(speaker, value) for call in fields.calls for value in call.arguments.values()) and all(
        can_hold_key(design, key) for call in fields.calls for key in call.arguments
    )


def is_plain(marks: list[str], text: str) -> bool:
    """Whether a raw text holds no mark, and none begins in it and ends behind it."""
    return not any((text + mark).find(mark) < len(text) for mark in marks)


def can_hold_key(design: Design, key: str) -> bool:
    """Whether a key can stand where this format has keys."""
    wide = (*WHOLE_STYLES, "tag, attribute", "tag pairs", "key, mark, value")
    simple = key.isidentifier() and key.isascii()
    return simple or design.arguments in wide or design.key_quote in ('"', "'") or design.odd_key not in ("", "-")


def can_hold(speaker: Speaker, value: Any) -> bool:
    """Whether a value can be told from what stands around it."""
    design = speaker.design
    if design.arguments in WHOLE_STYLES:
        return True
    if not isinstance(value, str) and design.quoted == "all":
        return True
    if not isinstance(value, str):
        return design.arguments != "query" or not isinstance(value, (list, dict))
    written, quotes = escape(design, value), find_quotes(design)
    if quotes.closing:
        single = quotes.closing in ('"', "'", "`")
        if design.escape == "doubling" or (design.escape in ("json", "backslash") and single):
            return True
        if design.escape == "backslash" and len(quotes.closing) == 1:
            return True
        return (written + quotes.closing).find(quotes.closing) == len(written)
    return _can_hold_raw(speaker, written)


def _can_hold_raw(speaker: Speaker, written: str) -> bool:
    design, items = speaker.design, find_items(speaker.design)
    before = ":" if design.type == "before value" else items.between
    after = "::" if design.type == "behind value" else items.after + (items.repeat[0] if items.repeat else "")
    after = after or items.separator
    if before[-1:].isspace() or after[:1].isspace() or not after:
        blank = {" ": " ", "\n": "\n"}.get(after[:1], "")
        if not written or written != written.strip() or (blank and blank in written):
            return False
    limits = [items.before, items.between, after, items.separator, items.closing, "::" if design.type != "none" else ""]
    limits += [find_spaces(design)[1]] if "\n" in find_spaces(design)[1] and not items.after else []
    marks = [limit if limit == "\n" else limit.strip() for limit in limits]
    return is_plain([mark for mark in marks if mark], written) and is_plain(speaker.marks, written)
