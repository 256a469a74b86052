"""How the arguments of a call are written: what stands around, between and inside its keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from invent.design import Design
from invent.source import Row, text
from invent.values import write_key, write_type, write_value

JSON_STYLES = frozenset({"json", "json text", "json flat", "json pairs", "json objects"})
# Arguments that are written as one value: a dump of JSON, or what Python makes of a dict.
WHOLE_STYLES = JSON_STYLES | {"python"}
FENCE = "```"


@dataclass(frozen=True)
class Items:
    """What stands around all arguments, around each, between key and value, and between two of them. `repeat` stands
    around the key again behind the value."""

    opening: str = ""
    before: str = ""
    between: str = ""
    after: str = ""
    separator: str = ""
    closing: str = ""
    repeat: tuple[str, str] | None = None


def find_items(design: Design) -> Items:
    """The constants of a style that is not JSON."""
    marks, space, line = design.marks, design.value_space, design.space if "\n" in design.space else ""
    assign, comma = design.assign, design.comma
    key, value = marks.cut_open("key"), (marks.open("value"), marks.close("value"))
    left, right, close_left, close_right = marks.around("key")
    # fmt: off
    found = {
        "braces": lambda: Items("{", "", assign, "", comma, "}"),
        "brackets": lambda: Items("[", "", assign, "", comma, "]"),
        "parentheses": lambda: Items("(", "", assign, "", comma, ")"),
        "flags": lambda: Items("", " --", " " if assign != "=" else "=", ""),
        "keywords": lambda: Items("", " :", " ", ""),
        "tag, attribute": lambda: Items("", key[0] + ' name="', '"' + key[1] + space, space + marks.close("key"), line),
        "tag, equals": lambda: Items("", key[0] + "=", key[1] + space, space + marks.close("key"), line),
        "tag pairs": lambda: Items("", marks.open("key"), marks.close("key") + space + value[0], value[1], line),
        "key as tag": lambda: Items("", left, right + space, space, line, "", (close_left, close_right)),
        "key, mark, value": lambda: Items("", marks.open("key"), value[0], marks.close("key"), line),
        "lines": lambda: Items("", "", assign, "", "\n"),
        "tag of type": lambda: Items("", left, right + space, space, line),
        "numbered": lambda: Items("", ". ", assign, "", "\n"),
        "bullets": lambda: Items("", "- ", assign, "", "\n"),
        "indented": lambda: Items("", "  ", ":\n    ", "", "\n"),
        "yaml": lambda: Items("", "    ", ": ", "", "\n"),
        "headings": lambda: Items("", "## ", "\n", "\n", ""),
        "table": lambda: Items("", "| ", " | ", " |", "\n"),
        "query": lambda: Items("?", "", "=", "", "&"),
        "attributes": lambda: Items("", " ", "=", "", ""),
        "semicolons": lambda: Items("", "", assign, ";", " "),
    }
    # fmt: on
    return found[design.arguments]()


def write_items(design: Design, arguments: str) -> Row:
    """The code for arguments that are not JSON."""
    items = find_items(design)
    kind: Row = [write_type("v"), *text(":")]
    row: Row = [*text(items.opening), "{%- for k, v in " + arguments + " | items -%}"]
    if design.path != "-":
        spread = "{%- set ns.flat = [] -%}{{- spread(" + arguments + ", '') -}}"
        row = [*text(items.opening), spread, "{%- for k, v in ns.flat -%}"]
    row += ["{{ loop.index }}"] if design.arguments == "numbered" else []
    row += text(items.before)
    row += kind if design.type == "before key" else []
    row += _write_head(design, items)
    row += kind if design.type == "before value" else []
    row += write_value(design, "v")
    row += [*text("::"), write_type("v")] if design.type == "behind value" else []
    row += text(items.after)
    if items.repeat:
        row += [*text(items.repeat[0]), "{{ k }}", *text(items.repeat[1])]
    if design.arguments == "tag of type":
        _, _, left, right = design.marks.around("key")
        row += [*text(left), write_type("v"), *text(right)]
    if items.separator:
        row += ["{%- if not loop.last -%}", *text(items.separator), "{%- endif -%}"]
    return [*row, "{%- endfor -%}", *text(items.closing)]


def _write_head(design: Design, items: Items) -> Row:
    """The key, and what stands between it and its value."""
    key = write_key(design, "k")
    if design.arguments == "tag of type":
        return [write_type("v"), *text(' name="'), *key, *text('"' + items.between)]
    if design.type in ("attribute", "is string"):
        closing = '"' if design.arguments == "tag, attribute" else ""
        right = items.between.removeprefix(closing)
        if design.type == "is string":
            return [*key, *text(closing + ' string="'), "{{ (v is string) | tojson }}", *text('"' + right)]
        return [*key, *text(closing + ' type="'), write_type("v"), *text('"' + right)]
    return [*key, *text(items.between)]


def write_arguments(design: Design) -> Row:
    """The code for all arguments of a call `f`, with what stands around them."""
    row = _write_bare(design)
    if design.around == "fence":
        row = [*text(FENCE + ("python" if design.arguments == "python" else "json") + "\n"), *row, *text("\n" + FENCE)]
    elif design.around == "marks":
        row = [*text(design.marks.open("arguments")), *row, *text(design.marks.close("arguments"))]
    return ["{%- if f.arguments -%}", *row, "{%- endif -%}"] if design.empty == "left out" else row


def _write_bare(design: Design) -> Row:
    if design.arguments == "python":
        return ["{{ f.arguments | string }}"]
    if design.arguments not in JSON_STYLES:
        return write_items(design, "f.arguments")
    if design.takes == "string":
        return ["{{ f.arguments }}"]
    code, row = "f.arguments", Row()
    if design.arguments == "json pairs":
        code = "f.arguments | items | list"
    if design.arguments == "json objects":
        row, code = ["{%- set ns.list = [] -%}", *write_objects()], "ns.list"
    if design.arguments == "json text":
        code = "(f.arguments | tojson)"
    dumped = f"{code} | {find_filter(design)}"
    if design.takes == "both":
        dumped = f"f.arguments if f.arguments is string else {dumped}"
    return [*row, "{{ " + dumped + " }}"]


def write_objects() -> Row:
    """The code that collects arguments as objects of key and value."""
    return ["{%- for k, v in f.arguments | items -%}{%- set ns.list = ns.list + [{'key': k, 'value': v}] -%}{%- endfor -%}"]


def find_filter(design: Design) -> str:
    """The filter that writes JSON in the design's layout."""
    given = {"compact": "(separators=(',', ':'))", "pretty": "(indent=2)", "ascii": "(ensure_ascii=True)"}
    return "tojson" + given.get(design.json, "")
