"""The parts of an assistant's turn: header and end, reasoning, content and calls, and what stands between them."""

from __future__ import annotations

from invent.arguments import FENCE
from invent.calls import find_separator, write_call, write_calls, write_name
from invent.design import Design
from invent.source import EOS, Row, Text, list_constants, quote, text

LABELS = ("Thought: ", "Answer: ")


def write_header(design: Design, role: str) -> Row:
    """What stands before the text of a message of a role, which is given as code."""
    return [*write_role(design, role), *text(find_message_mark(design) if design.messages == "each part" else "")]


def write_said(design: Design, role: str, said: Row) -> Row:
    """A whole message of another role than the assistant's."""
    closing = design.header_space + design.marks.close("turn") if design.header == "questions only" else find_end(design, False)
    return [*write_header(design, role), *said, *text(closing)]


def find_message_mark(design: Design) -> str:
    return design.marks.open("message") + design.header_space


def write_role(design: Design, role: str) -> Row:
    marks, space = design.marks, design.header_space
    if design.messages == "each part":
        return [*text(marks.open("turn")), "{{ " + role + " }}"]
    said = "{{ " + role + " }}"
    if design.header == "questions only":
        return [] if role == quote(design.assistant) else text(marks.open("turn") + space)
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


def head_part(design: Design, part: str) -> str:
    """What a message of its own begins with behind the role, if its header says what it is."""
    if design.channel == "own mark":
        return design.marks.open(part) + design.header_space
    return design.marks.open("channel") + design.marks.word(part) + find_message_mark(design)


def write_address(design: Design) -> Row:
    """The header behind the role of a message whose recipient is a function."""
    return [*text(find_address(design)), *write_name(design), *text(find_content_type(design) + find_message_mark(design))]


def find_address(design: Design) -> str:
    return design.marks.open("name") if design.address == "mark" else design.address


def find_content_type(design: Design) -> str:
    return design.marks.open("value") + "json" if design.content_type == "mark" else design.content_type


def find_reasoning(design: Design) -> tuple[str, str]:
    """What opens and closes reasoning."""
    marks, space = design.marks, "" if design.reasoning_space == "-" else design.reasoning_space
    pair = marks.open("reasoning") + space, space + marks.close("reasoning")
    if design.messages == "each part":
        return head_part(design, "reasoning"), ""
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
        if design.content == "addressed":
            return find_address(design) + "user" + find_message_mark(design), ""
        return head_part(design, "content") if design.content == "wrapped" else find_message_mark(design), ""
    if design.reasoning == "label":
        return LABELS[1], ""
    if design.reasoning == "channel" and design.content == "wrapped":
        return marks.open("channel") + marks.word("content") + marks.open("message") + space, space + marks.close("message")
    if design.content == "opened":
        return marks.open("content") + space, ""
    return marks.open("content") + space, space + marks.close("content")


def said_content(design: Design) -> str:
    return "m.content | trim" if design.trim == "yes" else "m.content"


def find_between(design: Design) -> str:
    return "" if design.between == "-" else design.between


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


def write_reasoning(design: Design) -> Row:
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


def write_content(design: Design) -> Row:
    opening, closing = find_content(design)
    wrapped = [*text(opening), "{{ " + said_content(design) + " }}", *text(closing)]
    condition = {
        "wrapped after reasoning": f"m.{design.reasoning_field}",
        "wrapped beside calls": "m.tool_calls",
    }.get(design.content)
    if design.content in ("wrapped", "opened") or design.messages == "each part":
        said: Row = wrapped
    elif condition:
        said = ["{%- if " + condition + " -%}", *wrapped, "{%- else -%}{{ " + said_content(design) + " }}{%- endif -%}"]
    else:
        said = ["{{ " + said_content(design) + " }}"]
    return ["{%- if m.content -%}", *write_joint(design), *said, "{%- endif -%}"]


def write_all_calls(design: Design) -> Row:
    if design.messages == "one":
        return ["{%- if m.tool_calls -%}", *write_joint(design), *write_calls(design), "{%- endif -%}"]
    if design.frame in ("recipient", "recipient, json") or design.calls_in == "a message each":
        addressed = design.frame in ("recipient", "recipient, json")
        header = write_address(design) if addressed else text(head_part(design, "section"))
        call = [*write_joint(design), *header, *write_call(design)]
        loop = ["{%- for c in m.tool_calls -%}{%- set f = c.function -%}{%- set index = loop.index -%}", *call]
        return ["{%- if m.tool_calls -%}", *loop, "{%- endfor -%}{%- endif -%}"]
    headed = text(head_part(design, "section"))
    return ["{%- if m.tool_calls -%}", *write_joint(design), *headed, *write_calls(design), "{%- endif -%}"]


def list_marks(design: Design) -> list[str]:
    """The constants that may begin or end a part of a turn: what no plain text may hold."""
    rows = [write_reasoning(design), write_content(design), write_all_calls(design)]
    constants = [constant for row in rows for constant in list_constants(row)]
    pieces = [piece for row in rows for piece in row if isinstance(piece, Text)]
    ends = [find_end(design, calls).strip() for calls in (False, True)]
    inside = [find_separator(design), *LABELS] if design.reasoning == "label" else []
    return [*dict.fromkeys(mark.strip() for mark in [*constants, *pieces, *ends, *inside] if mark.strip())]
