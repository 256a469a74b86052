"""Chat templates made up on the spot: every marker a random word, every layout drawn.

A :class:`Design` says how the invented model writes; :func:`write_template` turns it into Jinja source. What the analysis
must find out is known here from the start, and no word of it from anywhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Calls = Literal["json", "array", "nested", "key", "name and json", "id and json", "tagged", "typed", "keywords", "none"]


@dataclass(frozen=True)
class Design:
    """How an invented model writes its turns.

    ``words`` are six different words for the markers; ``brackets`` are put around each. ``line`` is the layout printed
    around the inside of reasoning and of calls (a line break or nothing).
    """

    words: tuple[str, str, str, str, str, str]
    brackets: tuple[str, str]
    line: str
    reasoning: Literal["none", "tags", "opened by the prompt", "with calls"]
    content: Literal["plain", "wrapped"]
    calls: Calls
    section: bool

    def mark(self, number: int, close: bool = False) -> str:
        """Return the opening or closing marker made of a word."""
        opening, closing = self.brackets
        return f"{opening}{'/' if close else ''}{self.words[number]}{closing}"


def _literal(text: str) -> str:
    return "{{ " + json.dumps(text, ensure_ascii=False) + " }}"


def write_template(design: Design) -> str:
    """Return the Jinja source of the design's chat template."""
    role, end = f"{design.brackets[0]}{design.words[0]}:", design.mark(0, close=True)
    start = f"{role}assistant{design.brackets[1]}\n"
    opened = design.mark(1) + design.line if design.reasoning == "opened by the prompt" else ""
    return "".join(
        [
            "{%- for m in messages -%}",
            "{%- if m.role == 'assistant' -%}",
            _literal(start) + _write_reasoning(design) + _write_content(design) + _write_calls(design),
            _literal(end + "\n"),
            "{%- else -%}",
            _literal(role) + "{{ m.role }}" + _literal(design.brackets[1] + "\n") + "{{ m.content }}",
            _literal(end + "\n"),
            "{%- endif -%}",
            "{%- endfor -%}",
            "{%- if add_generation_prompt -%}" + _literal(start + opened) + "{%- endif -%}",
        ]
    )


def _write_reasoning(design: Design) -> str:
    if design.reasoning == "none":
        return ""
    condition = "m.reasoning_content and m.tool_calls" if design.reasoning == "with calls" else "m.reasoning_content"
    opening, closing = design.mark(1) + design.line, design.line + design.mark(1, close=True) + design.line
    return f"{{%- if {condition} -%}}{_literal(opening)}{{{{ m.reasoning_content }}}}{_literal(closing)}{{%- endif -%}}"


def _write_content(design: Design) -> str:
    if design.content == "plain":
        return "{{ m.content or '' }}"
    marked = _literal(design.mark(2)) + "{{ m.content }}" + _literal(design.mark(2, close=True))
    return "{%- if m.content -%}" + marked + "{%- endif -%}"


def _write_calls(design: Design) -> str:
    if design.calls == "none":
        return ""
    opening, closing, separator, call = _CALLS[design.calls](design)
    section = (design.mark(3) + design.line, design.line + design.mark(3, close=True)) if design.section else ("", "")
    return (
        "{%- if m.tool_calls -%}"
        + _literal(section[0] + opening)
        + "{%- for c in m.tool_calls -%}{%- set f = c.function -%}"
        + call
        + "{%- if not loop.last -%}" + _literal(separator) + "{%- endif -%}"
        + "{%- endfor -%}"
        + _literal(closing + section[1])
        + "{%- endif -%}"
    )  # fmt: skip


def _wrap(design: Design, inside: str) -> tuple[str, str, str, str]:
    call = _literal(design.mark(4) + design.line) + inside + _literal(design.line + design.mark(4, close=True))
    return "", "", design.line, call


def _json_call(design: Design) -> tuple[str, str, str, str]:
    return _wrap(design, """{{ {"name": f.name, "arguments": f.arguments} | tojson }}""")


def _nested_call(design: Design) -> tuple[str, str, str, str]:
    return _wrap(design, """{{ {"id": c.id, "function": {"tool": f.name, "input": f.arguments}} | tojson }}""")


def _key_call(design: Design) -> tuple[str, str, str, str]:
    return _wrap(design, """{{ {f.name: f.arguments} | tojson }}""")


def _array_call(design: Design) -> tuple[str, str, str, str]:
    call = """{{ {"name": f.name, "parameters": f.arguments, "id": c.id} | tojson }}"""
    return design.mark(4) + "[", "]" + design.mark(4, close=True), ", ", call


def _named_call(design: Design) -> tuple[str, str, str, str]:
    return _wrap(design, "{{ f.name }}" + _literal(design.mark(5)) + "{{ f.arguments | tojson }}")


def _identified_call(design: Design) -> tuple[str, str, str, str]:
    inside = "{{ f.name }}" + _literal(design.mark(5)) + "{{ c.id }}" + _literal(design.mark(5, close=True))
    return _wrap(design, inside + "{{ f.arguments | tojson }}")


def _tagged_call(design: Design) -> tuple[str, str, str, str]:
    opening, closing = design.brackets
    key = _literal(f"{opening}{design.words[5]}=") + "{{ k }}" + _literal(closing)
    value = "{{ v if v is string else v | tojson }}" + _literal(design.mark(5, close=True) + design.line)
    inside = "{{ f.name }}" + _literal(closing + design.line) + "{%- for k, v in f.arguments | items -%}" + key + value
    call = _literal(f"{opening}{design.words[4]}=") + inside + "{%- endfor -%}" + _literal(design.mark(4, close=True))
    return "", "", design.line, call


def _typed_call(design: Design) -> tuple[str, str, str, str]:
    opening, closing = design.brackets
    kind = """{{ 'text' if v is string else 'data' }}"""
    key = _literal(f"{opening}{design.words[5]} key='") + "{{ k }}" + _literal("' kind='") + kind + _literal(f"'{closing}")
    value = "{{ v if v is string else v | tojson }}" + _literal(design.mark(5, close=True))
    inside = "{{ f.name }}" + _literal(design.mark(5)) + "{%- for k, v in f.arguments | items -%}" + key + value
    return _wrap(design, inside + "{%- endfor -%}")


def _keyword_call(design: Design) -> tuple[str, str, str, str]:
    inside = (
        "{{ f.name }}({%- for k, v in f.arguments | items -%}{{ k }}={{ v | tojson }}"
        "{%- if not loop.last -%}{{ ', ' }}{%- endif -%}{%- endfor -%})"
    )
    return design.mark(4) + "[", "]" + design.mark(4, close=True), ", ", inside


_CALLS: dict[str, Callable[[Design], tuple[str, str, str, str]]] = {
    "json": _json_call,
    "array": _array_call,
    "nested": _nested_call,
    "key": _key_call,
    "name and json": _named_call,
    "id and json": _identified_call,
    "tagged": _tagged_call,
    "typed": _typed_call,
    "keywords": _keyword_call,
}
