"""What an invented format is: a value for each axis, and the words of its markers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from invent.marks import Marks

# Every axis with its values and how often each is drawn, independently of all others.
AXES: dict[str, dict[str, int]] = {
    # Where role and the rest of the header stand, and what ends a turn.
    "header": {
        "role as mark": 4, "role after mark": 4, "role, then mark": 3, "attribute": 2, "between marks": 2, "label": 2,
        "heading": 1, "questions only": 2,
    },
    "header_space": {"": 2, "\n": 4, " ": 1, "\n\n": 1},
    "assistant": {"assistant": 8, "model": 1, "bot": 1, "AI": 1},
    "end": {"mark": 4, "mark, line break": 4, "eos": 2, "eos, line break": 1, "spaced mark": 1},
    "call_end": {"same": 4, "other": 1},
    "messages": {"one": 7, "each part": 1},
    "calls_in": {"one message": 2, "a message each": 1},
    "channel": {"word": 2, "own mark": 1},
    "address": {" to=": 2, " recipient=": 1, "mark": 1, " -> ": 1},
    "content_type": {"": 3, " json": 1, "mark": 1},
    "trim": {"no": 2, "yes": 1},
    "middle": {"mark": 1, "end of part": 1},
    "bos": {"yes": 2, "no": 1},
    "system": {"as given": 4, "default": 1},
    "demands": {"nothing": 8, "a question first": 1, "ids of nine": 1, "turns": 1},
    "told": {"lines": 2, "list": 2, "signatures": 1, "not": 1},
    "result": {"mark": 2, "plain": 2, "in a question": 1},
    # Reasoning.
    "reasoning": {"none": 2, "tags": 8, "channel": 2, "label": 2, "delimiter": 1, "no closer": 3, "fence": 1},
    "reasoning_when": {
        "always": 5, "with calls": 1, "after the last question": 2, "last message": 1, "even if empty": 2,
    },
    "reasoning_opened": {"model": 3, "prompt": 1},
    "reasoning_field": {"reasoning_content": 4, "reasoning": 1, "thinking": 1, "musing": 1},
    "reasoning_space": {"": 2, "\n": 5, " ": 1},
    "switch": {"-": 4, "enable_thinking": 2, "thinking": 1, "deliberate": 1, "reasoning_mode": 1, "no_plan": 1},
    "switched": {"closes when off": 2, "opens when on": 1},
    # Content.
    "content": {
        "plain": 6, "wrapped": 2, "addressed": 1, "opened": 1, "wrapped after reasoning": 1, "wrapped beside calls": 1,
    },
    "content_space": {"": 2, "\n": 2, " ": 1},
    "order": {"content, calls": 7, "calls, content": 2, "reasoning between": 1},
    "between": {"": 3, "\n": 5, "\n\n": 2, " ": 1, "\n---\n": 1},
    # Calls.
    "section": {
        "none": 5, "all": 4, "all, counted": 1, "list": 1, "all, list": 1, "opened": 1, "each": 1, "fence": 1,
        "word, list": 1, "label": 1,
    },
    "wrap": {"mark": 6, "none": 2, "fence": 1, "indexed": 1, "opened": 1, "numbered": 1},
    "space": {"": 3, "\n": 5, " ": 1, "\n  ": 1},
    "separator": {"": 2, "\n": 6, ", ": 2, ";\n": 1, "mark": 1, "\n\n": 1},
    "frame": {
        "json": 4, "json nested": 2, "json keyed": 1, "json keyed inside": 1, "json list": 1, "json spliced": 2,
        "json in list": 1, "name, arguments": 5, "name, mark, arguments": 3, "attribute": 4, "equals": 3, "own tags": 2,
        "name as tag": 2, "repeated": 1, "arguments, name": 1, "call syntax": 4, "s-expression": 1, "id": 1, "recipient": 2,
        "heading": 1, "labels": 3, "recipient, json": 1, "bracketed": 1, "yaml": 1,
    },
    "labels": {"Action, Action Input": 1, "Tool, Arguments": 1, "use, with": 1, "name, args": 1},
    "name_key": {"name": 4, "tool": 1, "function": 1, "fn": 1, "action": 1, "recipient_name": 1, "op": 1},
    "arguments_key": {"arguments": 4, "parameters": 2, "args": 1, "input": 1, "kwargs": 1, "payload": 1, "with": 1},
    "envelope": {"plain": 5, "constant first": 1, "constant last": 1, "counter": 1, "text counter": 1, "arguments first": 1},
    "joint": {" ": 2, "\n": 4, ": ": 1, " -> ": 1, " with ": 1, " | ": 1, "=": 1},
    "id": {"none": 5, "before": 1, "between": 1, "after": 1},
    "prefix": {"": 8, "functions.": 1, "tool:": 1, "@": 1, "call:": 1},
    "suffix": {"": 8, ".call": 1, ":": 1},
    "name_quote": {"": 6, '"': 1, "`": 1, "**": 1},
    "lead": {"": 6, "word": 1, "mark": 1},
    "around": {"nothing": 6, "fence": 1, "marks": 1},
    "empty": {"printed": 4, "left out": 1},
    # Arguments.
    "arguments": {
        "json": 7, "python": 1, "json text": 1, "json flat": 2, "json pairs": 1, "json objects": 1, "braces": 2,
        "brackets": 1, "parentheses": 1, "flags": 2, "keywords": 1, "tag, attribute": 3, "tag, equals": 3, "tag pairs": 2,
        "key as tag": 2, "key, mark, value": 2, "tag of type": 1, "lines": 3, "bullets": 2, "numbered": 1, "indented": 1,
        "headings": 1, "table": 1, "query": 1, "attributes": 5, "semicolons": 1,
    },
    "json": {"spaced": 5, "compact": 2, "pretty": 2, "ascii": 1},
    "takes": {"dict": 5, "both": 2, "string": 2},
    "assign": {"=": 4, ": ": 4, ":": 2, " = ": 2, " => ": 1, "->": 1},
    "comma": {", ": 5, ",": 2, "; ": 1, " | ": 1, "\n": 1},
    "value_space": {"": 3, "\n": 2},
    "key_quote": {"": 4, '"': 1, "'": 1},
    # What stands around a key that is no word, and around no other.
    "odd_key": {"": 2, '"': 2, "|": 1},
    # Values.
    "quote": {"none": 9, '"': 4, "'": 2, "`": 1, "token": 1, "angle quotes": 1, "triple": 1, "cdata": 1},
    "quoted": {"strings": 5, "all": 1},
    "escape": {"none": 1, "backslash": 3, "json": 3, "doubling": 1, "html": 1, "percent": 1},
    "words": {"json": 6, "python": 3, "upper": 1, "lisp": 1},
    "nested": {"json": 4, "same": 2, "python": 1},
    "inside": {"brackets": 3, "marks": 1, "indented": 1},
    "path": {"-": 8, ".": 2, "[": 1, "/": 1, "__": 1},
    # What stands around the number of an item's place, and the number of the first, where items have paths too.
    "places": {"-": 2, "[0]": 2, "(1)": 1, ".0": 1, "#1": 1},
    # Numbers in the words of marks.
    "digits": {"-": 9, "{}2": 1, "v3{}": 1, "{}:v10": 1},
    "type": {"none": 8, "before value": 1, "before key": 1, "behind value": 1, "attribute": 1, "is string": 1},
    # How the source is written.
    "source": {"expressions": 1, "data": 1},
}  # fmt: skip


@dataclass(frozen=True)
class Design:
    """How an invented model writes: its marks, and a value of each axis of `AXES` ("-" where it plays no part)."""

    marks: Marks
    header: str
    header_space: str
    assistant: str
    end: str
    call_end: str
    messages: str
    calls_in: str
    channel: str
    address: str
    content_type: str
    trim: str
    middle: str
    bos: str
    system: str
    demands: str
    told: str
    result: str
    reasoning: str
    reasoning_when: str
    reasoning_opened: str
    reasoning_field: str
    reasoning_space: str
    switch: str
    switched: str
    content: str
    content_space: str
    order: str
    between: str
    section: str
    wrap: str
    space: str
    separator: str
    frame: str
    labels: str
    name_key: str
    arguments_key: str
    envelope: str
    joint: str
    id: str
    prefix: str
    suffix: str
    name_quote: str
    lead: str
    around: str
    empty: str
    arguments: str
    json: str
    takes: str
    assign: str
    comma: str
    value_space: str
    key_quote: str
    odd_key: str
    quote: str
    quoted: str
    escape: str
    words: str
    nested: str
    inside: str
    path: str
    places: str
    digits: str
    type: str
    source: str

    @property
    def axes(self) -> dict[str, str]:
        """The value of each axis, for tables."""
        drawn = {field.name: str(getattr(self, field.name)) for field in fields(self) if field.name != "marks"}
        outer = "the same" if self.marks.outer == self.marks.shape else "another"
        return {
            "shape": self.marks.shape,
            "outer": outer,
            "closing": self.marks.closing,
            "behind": self.marks.behind,
            **drawn,
        }

    def strike(self, *axes: str) -> Design:
        """The design with "-" for axes that play no part."""
        struck: dict[str, Any] = dict.fromkeys(axes, "-")
        return replace(self, **struck)
