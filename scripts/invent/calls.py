"""How calls are written: where name, id, counter and arguments stand in one, and what stands around and between them."""

from __future__ import annotations

from invent.arguments import FENCE, WHOLE_STYLES, find_filter, write_arguments, write_items, write_objects
from invent.design import Design
from invent.source import Row, quote, text

JSON_FRAMES = ("json", "recipient, json", "json nested", "json keyed", "json keyed inside", "json list", "json in list")
# Frames that are their own marks: the name stands in the opening one.
MARKED_FRAMES = ("attribute", "equals", "name as tag", "repeated")
LABELS = {
    "Action, Action Input": ("Action: ", "\nAction Input: "),
    "Tool, Arguments": ("Tool: ", "\nArguments: "),
    "use, with": ("use ", " with "),
    "name, args": ("name: ", "\nargs: "),
}


def write_name(design: Design) -> Row:
    prefix, suffix, mark = ("" if axis == "-" else axis for axis in (design.prefix, design.suffix, design.name_quote))
    return [*text(mark + prefix), "{{ f.name }}", *text(mark + suffix)]


def write_call(design: Design) -> Row:
    """The code for one call, with all that stands around each."""
    if design.section != "each":
        return _write_wrapped(design)
    opening, closing = find_spaces(design)
    section = design.marks.open("section") + opening, closing + design.marks.close("section")
    return [*text(section[0]), *_write_wrapped(design), *text(section[1])]


def _write_wrapped(design: Design) -> Row:
    """The code for one call, its marks included; `c` is the call, `f` its function, `index` counts from 1."""
    marks = design.marks
    if design.frame in MARKED_FRAMES:
        return _write_marked(design)
    inside = _write_json(design) if design.frame in JSON_FRAMES else _write_inside(design)
    opening, closing = find_spaces(design)
    if design.wrap == "fence":
        return [*text(FENCE + marks.word("call") + "\n"), *inside, *text("\n" + FENCE)]
    if design.wrap == "indexed":
        left, right = marks.cut_open("call")
        return [*text(left + "_"), "{{ index }}", *text(right + opening), *inside, *text(closing + marks.close("call"))]
    if design.wrap == "numbered":
        return [*text(marks.word("call") + " "), "{{ index }}", *text(": "), *inside, *text("\n")]
    if design.wrap == "opened":
        return [*text(marks.open("call") + opening), *inside]
    if design.wrap == "mark":
        return [*text(marks.open("call") + opening), *inside, *text(closing + marks.close("call"))]
    return inside


def find_spaces(design: Design) -> tuple[str, str]:
    """The white space inside marks: after an opening one, and before a closing one."""
    return design.space, design.space.rstrip(" ") if "\n" in design.space else design.space


def _write_marked(design: Design) -> Row:
    marks, name, (opening, closing) = design.marks, write_name(design), find_spaces(design)
    left, right = marks.cut_open("call")
    close = [*text(marks.close("call"))]
    if design.frame == "name as tag":
        left, right, close_left, close_right = marks.around("call")
        head, close = [*text(left), *name], [*text(close_left), *name, *text(close_right)]
    elif design.frame == "equals":
        head = [*text(left + "="), *name]
    elif design.frame == "repeated":
        close_left, close_right = marks.cut_close("call")
        head, close = [*text(left + " "), *name], [*text(close_left + " "), *name, *text(close_right)]
    else:
        head = [*text(left + ' name="'), *name, *text('"')]
    given: Row = [*text(' id="'), "{{ c.id }}", *text('"')]
    head += given if design.id in ("before", "between") else []
    if design.arguments == "attributes":
        return [*head, *write_items(design, "f.arguments"), *text(right), *(given if design.id == "after" else []), *close]
    behind = _write_id(design) if design.id == "after" else []
    return [*head, *text(right + opening), *write_arguments(design), *behind, *text(closing), *close]


def _write_id(design: Design) -> Row:
    return [*text(design.marks.open("id")), "{{ c.id }}", *text(design.marks.close("id"))]


def _write_inside(design: Design) -> Row:
    """A call in which name and arguments stand side by side."""
    marks, name, arguments = design.marks, write_name(design), write_arguments(design)
    line = design.space if "\n" in design.space else ""
    if design.frame == "json spliced":
        colon, comma = (":", ",") if design.json == "compact" else (": ", ", ")
        parts = {
            "name": [*text(f'"{design.name_key}"{colon}"'), *name, *text('"')],
            "arguments": [*text(f'"{design.arguments_key}"{colon}'), *arguments],
            "id": [*text(f'"id"{colon}"'), "{{ c.id }}", *text('"')],
            "constant": text(f'"type"{colon}"function"'),
            "counter": [*text(f'"index"{colon}'), "{{ index }}"],
            "text counter": [*text(f'"nr"{colon}"'), "{{ index - 1 }}", *text('"')],
        }
        row: Row = text("{")
        for number, part in enumerate(list_parts(design)):
            row += [*text(comma if number else ""), *parts[part]]
        return [*row, *text("}")]
    before = _write_id(design) if design.id == "before" else []
    between = _write_id(design) if design.id == "between" else []
    after = _write_id(design) if design.id == "after" else []
    if design.lead == "word":
        before = [*before, *text("function" + marks.open("separator"))]
    elif design.lead == "mark":
        before = [*before, *text(marks.open("channel"))]
    if design.frame == "id":
        return [*before, "{{ c.id }}", *text(marks.open("arguments") + line), *arguments]
    if design.frame == "own tags":
        named = [*text(marks.open("name")), *name, *text(marks.close("name") + line)]
        given = [*text(marks.open("arguments")), *arguments, *text(marks.close("arguments"))]
        return [*before, *named, *between, *given, *after]
    if design.frame == "arguments, name":
        return [*before, *arguments, *between, *text(line + marks.open("name")), *name, *after]
    if design.frame == "name, mark, arguments":
        return [*before, *name, *between, *text(marks.open("arguments") + line), *arguments, *after]
    if design.frame == "recipient":
        return [*before, *between, *arguments, *after]
    if design.frame == "call syntax":
        return [*before, *name, *arguments, *after]
    if design.frame == "s-expression":
        return [*before, *text("("), *name, *arguments, *text(")"), *after]
    if design.frame == "labels":
        label, middle = LABELS[design.labels]
        if design.arguments not in WHOLE_STYLES and "\n" in middle:
            middle = middle.rstrip(" ") + "\n"
        return [*text(label), *name, *text(middle), *arguments]
    if design.frame == "yaml":
        return [*text("- tool: "), *name, *text("\n  with:\n"), *arguments]
    if design.frame == "bracketed":
        return [*before, *text("["), *name, *text("]\n"), *arguments, *after]
    if design.frame == "heading":
        return [*before, *text("### "), *name, *between, *text("\n"), *arguments, *after]
    return [*before, *name, *between, *text(design.joint), *arguments, *after]


def list_parts(design: Design) -> list[str]:
    """The parts of a JSON envelope in their order."""
    parts = ["name", "arguments"]
    if design.envelope == "arguments first":
        parts.reverse()
    if design.id in ("before", "between", "after"):
        parts.insert(("before", "between", "after").index(design.id), "id")
    if design.envelope == "constant first":
        parts.insert(0, "constant")
    if design.envelope == "constant last":
        parts.append("constant")
    if design.envelope in ("counter", "text counter"):
        parts.insert(0, design.envelope)
    return parts


def _write_json(design: Design) -> Row:
    """A call that is one JSON value, as a Jinja literal."""
    row, literal = make_literal(design)
    if design.frame == "json in list":
        return [*row, "{%- set ns.calls = ns.calls + [" + literal + "] -%}"]
    return [*row, "{{ " + literal + " | " + find_filter(design) + " }}"]


def make_literal(design: Design) -> tuple[Row, str]:
    """The code to run first, and the Jinja literal of one call."""
    row: Row = []
    given = "f.arguments"
    if design.arguments == "json text":
        given = "f.arguments" if design.takes == "string" else "(f.arguments | tojson)"
    elif design.arguments == "json pairs":
        given = "(f.arguments | items | list)"
    elif design.arguments == "json objects":
        row, given = ["{%- set ns.list = [] -%}", *write_objects()], "ns.list"
    name = "f.name" if design.prefix in ("", "-") else f"({quote(design.prefix)} ~ f.name)"
    if design.frame == "json list":
        shown = {"name": name, "arguments": given, "id": "c.id", "constant": '"call"', "counter": "index"}
        shown["text counter"] = "(index - 1) | string"
        return row, "[" + ", ".join(shown[part] for part in list_parts(design)) + "]"
    entries = {
        "name": f'"{design.name_key}": {name}',
        "arguments": f'"{design.arguments_key}": {given}',
        "id": '"id": c.id',
        "constant": '"type": "function"',
        "counter": '"index": index',
        "text counter": '"nr": (index - 1) | string',
    }
    parts = list_parts(design)
    if design.frame in ("json keyed", "json keyed inside"):
        keyed = "{" + f"{name}: {given}" + "}"
        if design.frame == "json keyed":
            return row, keyed
        entries["name"] = f'"{design.name_key}": {keyed}'
        return row, "{" + ", ".join(entries[part] for part in parts if part != "arguments") + "}"
    if design.frame == "json nested":
        inner = "{" + ", ".join(entries[part] for part in parts if part in ("name", "arguments")) + "}"
        entries["name"] = '"function": ' + (_flatten(inner) if design.arguments == "json flat" else inner)
        return row, "{" + ", ".join(entries[part] for part in parts if part != "arguments") + "}"
    if design.arguments == "json flat":
        return row, _flatten("{" + ", ".join(entries[part] for part in parts if part != "arguments") + "}")
    return row, "{" + ", ".join(entries[part] for part in parts) + "}"


def _flatten(envelope: str) -> str:
    names = ("arguments", "parameters", "args", "input", "kwargs", "payload", "with")
    for name in names:
        envelope = envelope.replace(f', "{name}": f.arguments', "").replace(f'"{name}": f.arguments, ', "")
    return f"dict({envelope}, **f.arguments)"


def write_calls(design: Design) -> Row:
    """The code for all calls of the message `m`, what stands around and between them included."""
    call, separator = write_call(design), find_separator(design)
    opening, closing = _write_section(design)
    if design.frame == "json in list":
        spoken = '{{ {"' + design.marks.word("section") + '": ns.calls} | ' + find_filter(design) + " }}"
        return [*opening, "{%- set ns.calls = [] -%}", *write_loop(call, ""), spoken, *closing]
    return [*opening, *write_loop(call, separator), *closing]


def write_loop(call: Row, separator: str) -> Row:
    row = ["{%- for c in m.tool_calls -%}{%- set f = c.function -%}{%- set index = loop.index -%}", *call]
    if separator:
        row += ["{%- if not loop.last -%}", *text(separator), "{%- endif -%}"]
    return [*row, "{%- endfor -%}"]


def find_separator(design: Design) -> str:
    """What stands between two calls."""
    return {"mark": design.marks.open("separator"), "-": ""}.get(design.separator, design.separator)


def _write_section(design: Design) -> tuple[Row, Row]:
    marks, (opening, closing) = design.marks, find_spaces(design)
    before, after = ("[", "]") if "list" in design.section else ("", "")
    if design.section in ("none", "list", "each", "-"):
        return text(before), text(after)
    if design.section == "fence":
        return text(FENCE + marks.word("section") + "\n"), text("\n" + FENCE)
    if design.section == "word, list":
        return text(marks.word("section") + before), text(after)
    if design.section == "label":
        return text("Next: "), []
    left, right = marks.cut_open("section")
    head: Row = [*text(left)]
    if design.section == "all, counted":
        head += [*text(" n="), "{{ m.tool_calls | length }}"]
    if design.section == "opened":
        return [*head, *text(right + opening)], []
    return [*head, *text(right + opening + before)], text(after + closing + marks.close("section"))
