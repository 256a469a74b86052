"""What an invented format is: a value for each axis, and the words of its markers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from invent.marks import Marks

# Every axis with its values, drawn independently; a value that stands twice is drawn twice as often.
AXES: dict[str, tuple[str, ...]] = {
    # Where role and the rest of the header stand, and what ends a turn.
    "header": ("role as mark", "role after mark", "role, then mark", "attribute", "between marks", "label", "heading"),
    "header_space": ("", "\n", "\n", " ", "\n\n"),
    "end": ("mark", "mark", "mark, line break", "eos", "eos, line break", "spaced mark"),
    "call_end": ("same", "same", "same", "other"),
    "messages": ("one", "one", "one", "one", "each part"),
    "middle": ("mark", "end of part"),
    # Reasoning.
    "reasoning": ("none", "tags", "tags", "tags", "channel", "label", "delimiter", "no closer"),
    "reasoning_when": ("always", "always", "with calls", "after the last question", "last message", "even if empty"),
    "reasoning_opened": ("model", "model", "prompt"),
    "reasoning_field": ("reasoning_content", "reasoning_content", "reasoning", "thinking"),
    "reasoning_space": ("", "\n", "\n", " "),
    "switch": ("none", "none", "enable_thinking", "thinking", "deliberate", "reasoning_mode", "no_plan"),
    # Content.
    "content": ("plain", "plain", "plain", "wrapped", "wrapped after reasoning", "wrapped beside calls"),
    "content_space": ("", "\n", " "),
    "order": ("content, calls", "content, calls", "content, calls", "calls, content", "reasoning between"),
    "between": ("", "\n", "\n\n", " "),
    # Calls.
    "section": ("none", "all", "all", "all, counted", "list", "all, list"),
    "wrap": ("mark", "mark", "mark", "none", "fence", "indexed"),
    "space": ("", "\n", "\n", " ", "\n  "),
    "separator": ("", "\n", ", ", ";\n", "mark", "\n\n"),
    "frame": (
        "json", "json", "json nested", "json keyed", "json keyed inside", "json list", "json spliced", "json in list",
        "name, arguments", "name, arguments", "name, mark, arguments", "attribute", "attribute", "equals", "own tags",
        "name as tag", "repeated", "arguments, name", "call syntax", "call syntax", "id", "recipient",
    ),
    "name_key": ("name", "name", "tool", "function", "fn", "action", "recipient_name", "op"),
    "arguments_key": ("arguments", "arguments", "parameters", "args", "input", "kwargs", "payload", "with"),
    "envelope": ("plain", "plain", "constant first", "constant last", "counter", "arguments first"),
    "id": ("none", "none", "none", "before", "between", "after"),
    "prefix": ("", "", "", "functions.", "tool:", "@"),
    # Arguments.
    "arguments": (
        "json", "json", "json text", "json flat", "json pairs", "json objects",
        "braces", "brackets", "parentheses", "flags", "keywords", "tag, attribute", "tag, equals", "tag pairs",
        "key as tag", "key, mark, value", "lines", "bullets", "indented", "headings", "table", "query", "attributes",
        "semicolons",
    ),
    "json": ("spaced", "spaced", "compact", "pretty", "ascii"),
    "takes": ("dict", "dict", "both", "string"),
    "assign": ("=", "=", ": ", ":", " = ", " => "),
    "comma": (", ", ",", "; ", " | "),
    "value_space": ("", "", "\n"),
    "key_quote": ("", "", '"', "'"),
    # Values.
    "quote": ("none", "none", '"', '"', "'", "`", "token", "angle quotes", "triple"),
    "escape": ("none", "backslash", "backslash", "json", "doubling", "html", "percent"),
    "words": ("json", "json", "python", "upper", "lisp"),
    "nested": ("json", "json", "same"),
    "type": ("none", "none", "none", "before value", "before key", "behind value"),
    # How the source is written.
    "source": ("expressions", "data"),
}  # fmt: skip


@dataclass(frozen=True)
class Design:
    """How an invented model writes: its marks, and a value of each axis of `AXES` ("-" where it plays no part)."""

    marks: Marks
    manner: str
    header: str
    header_space: str
    end: str
    call_end: str
    messages: str
    middle: str
    reasoning: str
    reasoning_when: str
    reasoning_opened: str
    reasoning_field: str
    reasoning_space: str
    switch: str
    content: str
    content_space: str
    order: str
    between: str
    section: str
    wrap: str
    space: str
    separator: str
    frame: str
    name_key: str
    arguments_key: str
    envelope: str
    id: str
    prefix: str
    arguments: str
    json: str
    takes: str
    assign: str
    comma: str
    value_space: str
    key_quote: str
    quote: str
    escape: str
    words: str
    nested: str
    type: str
    source: str

    @property
    def axes(self) -> dict[str, str]:
        """The value of each axis, for tables."""
        drawn = {field.name: str(getattr(self, field.name)) for field in fields(self) if field.name != "marks"}
        closing = "common" if self.marks.closing else "own"
        return {"shape": self.marks.shape, "closing": closing, "behind": self.marks.behind, **drawn}

    def strike(self, *axes: str) -> Design:
        """The design with "-" for axes that play no part."""
        struck: dict[str, Any] = dict.fromkeys(axes, "-")
        return replace(self, **struck)
