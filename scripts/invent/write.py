"""The Jinja source of an invented format's chat template."""

from __future__ import annotations

from invent.design import Design
from invent.parts import (
    find_between,
    find_end,
    find_reasoning,
    list_order,
    write_all_calls,
    write_content,
    write_reasoning,
    write_role,
    write_said,
)
from invent.source import Row, Text, quote, text, write_row
from invent.values import write_macro, write_spread

# Switches: under which condition reasoning is off, and on, and values that leave it on and turn it off.
SWITCHES: dict[str, tuple[str, str, object, object]] = {
    "enable_thinking": (
        "enable_thinking is defined and enable_thinking is false", "enable_thinking is defined and enable_thinking",
        True, False,
    ),
    "thinking": ("thinking is defined and not thinking", "thinking is defined and thinking", True, False),
    "deliberate": ("not (deliberate | default(true))", "deliberate | default(false)", True, False),
    "reasoning_mode": (
        "reasoning_mode is defined and reasoning_mode == 'off'", "reasoning_mode is defined and reasoning_mode == 'on'",
        "on", "off",
    ),
    "no_plan": ("no_plan is defined and no_plan", "no_plan is defined and not no_plan", False, True),
}  # fmt: skip


def write_template(design: Design) -> str:
    """The source of the design's chat template, which works as those of model folders do."""
    row = [
        *write_macro(design),
        *write_spread(design),
        "{%- set ns = namespace(list=[], calls=[], more=false, last=-1) -%}",
        "{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}",
        "{{ bos_token }}" if design.bos == "yes" else "",
        *_write_demands(design),
        *_write_default(design),
        *_write_tools(design),
        "{%- for m in messages -%}",
        "{%- if m.role == 'assistant' -%}",
        *_write_assistant(design),
        "{%- elif m.role == 'tool' -%}",
        *_write_result(design),
        "{%- elif m.role in ('system', 'user') -%}",
        *write_said(design, "m.role", ["{{ m.content }}"]),
        "{%- else -%}{{ raise_exception('Unknown role: ' ~ m.role) }}{%- endif -%}",
        "{%- endfor -%}",
        "{%- if add_generation_prompt -%}",
        *_write_prompt(design),
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
    told = [*text("Functions that may be used:\n"), *listed]
    return ["{%- if tools -%}", *write_said(design, "'system'", told), "{%- endif -%}"]


def _write_demands(design: Design) -> Row:
    """What raises for conversations that the template does not take."""
    if design.demands == "a question first":
        return ["{%- if messages[0].role not in ('system', 'user') -%}{{ raise_exception('Ask first.') }}{%- endif -%}"]
    if design.demands == "ids of nine":
        refused = "{%- for c in m.tool_calls or [] if c.id is not defined or c.id | length != 9 -%}"
        raised = "{{ raise_exception('An id has nine characters.') }}{%- endfor -%}"
        return ["{%- for m in messages -%}", refused, raised, "{%- endfor -%}"]
    if design.demands == "turns":
        twice = "loop.previtem is defined and loop.previtem.role == m.role and m.role in ('user', 'assistant')"
        raised = "{{ raise_exception('Users and assistants take turns.') }}"
        return ["{%- for m in messages -%}{%- if " + twice + " -%}", raised, "{%- endif -%}{%- endfor -%}"]
    return []


def _write_default(design: Design) -> Row:
    """A system message where none is given."""
    if design.system != "default":
        return []
    told = write_said(design, "'system'", text("You are a calm assistant."))
    return ["{%- if messages[0].role != 'system' -%}", *told, "{%- endif -%}"]


def _write_result(design: Design) -> Row:
    marks, role = design.marks, "'user'" if design.result == "in a question" else "m.role"
    said: Row = ["{{ m.content }}"]
    if design.result != "plain":
        said = [*text(marks.open("result")), *said, *text(marks.close("result"))]
    return write_said(design, role, said)


def _write_assistant(design: Design) -> Row:
    """The whole turn, with header and end."""
    row = _write_refusal(design)
    if design.messages == "one":
        row += write_role(design, quote(design.assistant))
    row.append("{%- set ns.more = false -%}")
    parts = {"reasoning": write_reasoning(design), "content": write_content(design), "calls": write_all_calls(design)}
    for part in list_order(design):
        row += parts[part]
    if design.call_end == "other":
        ends = ["{%- if m.tool_calls -%}", *text(find_end(design, True)), "{%- else -%}", *text(find_end(design, False))]
        return [*row, *ends, "{%- endif -%}"]
    return [*row, *text(find_end(design, False))]


def _write_refusal(design: Design) -> Row:
    """The code that raises for arguments of another kind than the template prints."""
    if design.takes == "both":
        return []
    wrong, wanted = ("", "an object") if design.takes == "dict" else ("not ", "a string")
    loop = "{%- for c in m.tool_calls or [] if c.function.arguments is " + wrong + "string -%}"
    return [loop, "{{ raise_exception('arguments must be " + wanted + "') }}{%- endfor -%}"]


def _write_prompt(design: Design) -> Row:
    """What the generation prompt adds."""
    role = write_role(design, quote(design.assistant))
    if design.messages == "each part" and design.reasoning_opened != "prompt":
        return role
    opening, closing = find_reasoning(design)
    opened = text(opening) if design.reasoning_opened == "prompt" else []
    if design.switch == "-":
        return [*role, *opened]
    off, on, _, _ = SWITCHES[design.switch]
    if design.switched == "opens when on":
        return [*role, "{%- if " + on + " -%}", *text(opening), "{%- endif -%}"]
    closed = text(opening + closing + find_between(design))
    return [*role, "{%- if " + off + " -%}", *closed, "{%- else -%}", *opened, "{%- endif -%}"]
