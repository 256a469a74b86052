"""The Jinja source of an invented format's chat template."""

from __future__ import annotations

from invent.calls import FENCE, find_separator, write_call, write_calls, write_name
from invent.design import Design
from invent.source import EOS, Row, Text, list_constants, quote, text, write_row
from invent.values import write_macro

LABELS = ("Thought: ", "Answer: ")


def write_template(design: Design) -> str:
    """The source of the design's chat template, which works as those of model folders do."""
    row = [
        *write_macro(design),
        "{%- set ns = namespace(list=[], calls=[], more=false, last=-1) -%}",
        "{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}",
        "{{ bos_token }}" if design.bos == "yes" else "",
        *_write_tools(design),
        "{%- for m in messages -%}",
        "{%- if m.role == 'assistant' -%}",
        *write_assistant(design),
        "{%- elif m.role == 'tool' -%}",
        *write_result(design),
        "{%- elif m.role in ('system', 'user') -%}",
        *write_header(design, "m.role"),
        "{{ m.content }}",
        *text(find_end(design, False)),
        "{%- else -%}{{ raise_exception('Unknown role: ' ~ m.role) }}{%- endif -%}",
        "{%- endfor -%}",
        "{%- if add_generation_prompt -%}",
        *write_prompt(design),
        "{%- endif -%}",
    ]
    return write_row(row, design.source)


def _write_tools(design: Design) -> Row:
    listed = {
        "lines": ["{%- for t in tools -%}{{ t | tojson }}", Text("\n"), "{%- endfor -%}"],
        "list": ["{{ tools | tojson(indent=2) }}"],
        "signatures": [
            "{%- for t in tools -%}", Text("- "), "{{ t.function.name }}", Text("("),
            "{{ t.function.parameters.properties | join(', ') }}", Text(")\n"), "{%- endfor -%}",
        ],
        "not": [],
    }[design.told]  # fmt: skip
    if not listed:
        return []
    told = [*text("Functions that may be used, one a line:\n"), *listed, *text(find_end(design, False))]
    return ["{%- if tools -%}", *write_header(design, "'system'"), *told, "{%- endif -%}"]


def write_result(design: Design) -> Row:
    marks, role = design.marks, "'user'" if design.result == "in a question" else "m.role"
    said: Row = ["{{ m.content }}"]
    if design.result != "plain":
        said = [*text(marks.open("result")), *said, *text(marks.close("result"))]
    return [*write_header(design, role), *said, *text(find_end(design, False))]


# Turns


def write_header(design: Design, role: str) -> Row:
    """What stands before the text of a message of a role, which is given as code."""
    return [*write_role(design, role), *text(find_message_mark(design) if design.messages == "each part" else "")]


def find_message_mark(design: Design) -> str:
    return design.marks.open("message") + design.header_space


def write_role(design: Design, role: str) -> Row:
    marks, space = design.marks, design.header_space
    if design.messages == "each part":
        return [*text(marks.open("turn")), "{{ " + role + " }}"]
    said = "{{ " + role + " }}"
    left, right, _, _ = marks.around("turn")
    inside = marks.cut_open("turn")
    return {
        "role as mark": [*text(left), said, *text(right + space)],
        "role after mark": [*text(marks.open("turn")), said, *text(space or "\n")],
        "role, then mark": [*text(marks.open("turn")), said, *text(marks.open("message") + space)],
        "attribute": [*text(inside[0] + ' role="'), said, *text('"' + inside[1] + space)],
        "between marks": [*text(marks.open("turn")), said, *text(marks.close("turn") + space)],
        "label": ["{{ " + role + " | capitalize }}", *text(":" + (space or " "))],
        "heading": [*text("### "), "{{ " + role + " | capitalize }}", *text((space if "\n" in space else "") or "\n")],
    }[design.header]


def find_end(design: Design, calls: bool) -> str:
    """What ends a turn, with all white space."""
    mark = design.marks.open("call end" if calls and design.call_end == "other" else "end")
    if design.end.startswith("eos") and not (calls and design.call_end == "other"):
        mark = EOS
    if design.end == "spaced mark":
        return "\n" + mark + "\n"
    return mark + ("\n" if design.end.endswith("line break") else "")


def find_middle(design: Design) -> str:
    """What ends a message that is not the last one of its turn."""
    return design.marks.open("middle") if design.middle == "mark" else design.marks.close("turn")


def write_prompt(design: Design) -> Row:
    """What the generation prompt adds."""
    role = write_role(design, quote(design.assistant))
    if design.messages == "each part" and design.reasoning_opened != "prompt":
        return role
    opening, closing = find_reasoning(design)
    opened = text(opening) if design.reasoning_opened == "prompt" else []
    if design.switch == "-":
        return [*role, *opened]
    closed = text(opening + closing + find_between(design))
    return [*role, "{%- if " + find_condition(design) + " -%}", *closed, "{%- else -%}", *opened, "{%- endif -%}"]


SWITCHES: dict[str, tuple[str, object, object]] = {
    "enable_thinking": ("enable_thinking is defined and enable_thinking is false", True, False),
    "thinking": ("thinking is defined and not thinking", True, False),
    "deliberate": ("not (deliberate | default(true))", True, False),
    "reasoning_mode": ("reasoning_mode is defined and reasoning_mode == 'off'", "on", "off"),
    "no_plan": ("no_plan is defined and no_plan", False, True),
}


def find_condition(design: Design) -> str:
    """Under which condition the generation prompt closes reasoning."""
    return SWITCHES[design.switch][0]


# Parts of an assistant's turn


def find_reasoning(design: Design) -> tuple[str, str]:
    """What opens and closes reasoning."""
    marks, space = design.marks, "" if design.reasoning_space == "-" else design.reasoning_space
    pair = marks.open("reasoning") + space, space + marks.close("reasoning")
    if design.messages == "each part":
        return marks.open("channel") + marks.word("reasoning") + find_message_mark(design), ""
    return {
        "none": ("", ""),
        "tags": pair,
        "delimiter": ("", pair[1]),
        "no closer": (pair[0], ""),
        "label": (LABELS[0], ""),
        "fence": (FENCE + marks.word("reasoning") + "\n", "\n" + FENCE),
        "channel": (
            marks.open("channel") + marks.word("reasoning") + marks.open("message") + space,
            space + marks.close("message"),
        ),
    }[design.reasoning]


def find_content(design: Design) -> tuple[str, str]:
    """What opens and closes content where it is wrapped."""
    marks, space = design.marks, "" if design.content_space == "-" else design.content_space
    if design.messages == "each part":
        named = marks.open("channel") + marks.word("content") if design.content == "wrapped" else ""
        return named + find_message_mark(design), ""
    if design.reasoning == "label":
        return LABELS[1], ""
    if design.reasoning == "channel" and design.content == "wrapped":
        return marks.open("channel") + marks.word("content") + marks.open("message") + space, space + marks.close("message")
    if design.content == "opened":
        return marks.open("content") + space, ""
    return marks.open("content") + space, space + marks.close("content")


def find_between(design: Design) -> str:
    return "" if design.between == "-" else design.between


def write_assistant(design: Design) -> Row:
    """The whole turn, with header and end."""
    refuse = "{%- for c in m.tool_calls or [] if {} c.function.arguments is string -%}".replace("{}", _refusing(design))
    row: Row = []
    if design.takes in ("dict", "string"):
        wanted = "an object" if design.takes == "dict" else "a string"
        row += [refuse, "{{ raise_exception('arguments must be " + wanted + "') }}{%- endfor -%}"]
    if design.messages == "one":
        row += write_role(design, quote(design.assistant))
    row.append("{%- set ns.more = false -%}")
    parts = {"reasoning": _write_reasoning(design), "content": _write_content(design), "calls": _write_calls(design)}
    for part in list_order(design):
        row += parts[part]
    if design.call_end == "other":
        ends = ["{%- if m.tool_calls -%}", *text(find_end(design, True)), "{%- else -%}", *text(find_end(design, False))]
        return [*row, *ends, "{%- endif -%}"]
    return [*row, *text(find_end(design, False))]


def _refusing(design: Design) -> str:
    return "" if design.takes == "dict" else "not"


def list_order(design: Design) -> list[str]:
    return {
        "content, calls": ["reasoning", "content", "calls"],
        "calls, content": ["reasoning", "calls", "content"],
        "reasoning between": ["content", "reasoning", "calls"],
    }[design.order]


def write_joint(design: Design) -> Row:
    """What stands between two parts, the header of a further message included, if this is not the first one."""
    if design.messages == "each part":
        role = write_role(design, quote(design.assistant))
        return ["{%- if ns.more -%}", *text(find_middle(design)), "{%- endif -%}{%- set ns.more = true -%}", *role]
    between = find_between(design)
    if not between:
        return []
    return ["{%- if ns.more -%}", *text(between), "{%- endif -%}{%- set ns.more = true -%}"]


def _write_reasoning(design: Design) -> Row:
    if design.reasoning == "none":
        return []
    field = f"m.{design.reasoning_field}"
    opening, closing = find_reasoning(design)
    condition = {
        "always": field,
        "with calls": f"{field} and m.tool_calls",
        "after the last question": f"{field} and loop.index0 > ns.last",
        "last message": f"{field} and loop.last",
        "even if empty": "true",
    }[design.reasoning_when]
    said = [*write_joint(design), *text(opening), "{{ " + field + " or '' }}", *text(closing)]
    return ["{%- if " + condition + " -%}", *said, "{%- endif -%}"]


def _write_content(design: Design) -> Row:
    opening, closing = find_content(design)
    wrapped = [*text(opening), "{{ m.content }}", *text(closing)]
    condition = {
        "wrapped after reasoning": f"m.{design.reasoning_field}",
        "wrapped beside calls": "m.tool_calls",
    }.get(design.content)
    if design.content in ("wrapped", "opened") or design.messages == "each part":
        said: Row = wrapped
    elif condition:
        said = ["{%- if " + condition + " -%}", *wrapped, "{%- else -%}{{ m.content }}{%- endif -%}"]
    else:
        said = ["{{ m.content }}"]
    return ["{%- if m.content -%}", *write_joint(design), *said, "{%- endif -%}"]


def _write_calls(design: Design) -> Row:
    if design.messages == "one":
        return ["{%- if m.tool_calls -%}", *write_joint(design), *write_calls(design), "{%- endif -%}"]
    mark, marks = find_message_mark(design), design.marks
    if design.frame == "recipient":
        headed: Row = [*text(" to="), *write_name(design), *text(mark)]
        call = [*write_joint(design), *headed, *write_call(design)]
        loop = ["{%- for c in m.tool_calls -%}{%- set f = c.function -%}{%- set index = loop.index -%}", *call]
        return ["{%- if m.tool_calls -%}", *loop, "{%- endfor -%}{%- endif -%}"]
    headed = text(marks.open("channel") + marks.word("section") + mark)
    return ["{%- if m.tool_calls -%}", *write_joint(design), *headed, *write_calls(design), "{%- endif -%}"]


def list_marks(design: Design) -> list[str]:
    """The constants that may begin or end a part of a turn: what no plain text may hold."""
    rows = [_write_reasoning(design), _write_content(design), _write_calls(design)]
    constants = [constant for row in rows for constant in list_constants(row)]
    pieces = [piece for row in rows for piece in row if isinstance(piece, Text)]
    ends = [find_end(design, calls).strip() for calls in (False, True)]
    inside = [find_separator(design), *LABELS] if design.reasoning == "label" else []
    return [*dict.fromkeys(mark.strip() for mark in [*constants, *pieces, *ends, *inside] if mark.strip())]
