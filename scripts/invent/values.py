"""How one value is written: quotes, escapes, words for true and null, marks of type, and lists and objects inside."""

from __future__ import annotations

import json
from dataclasses import dataclass

from invent.design import Design
from invent.source import Row, Text, quote, text

# true, false and null.
WORDS: dict[str, tuple[str, str, str]] = {
    "json": ("true", "false", "null"),
    "python": ("True", "False", "None"),
    "upper": ("TRUE", "FALSE", "NULL"),
    "lisp": ("#t", "#f", "nil"),
}
KINDS = ("str", "num", "bool", "null", "list", "obj")
# What is written instead of a character, in this order.
_ESCAPES: dict[str, tuple[tuple[str, str], ...]] = {
    "html": (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")),
    "percent": (
        ("%", "%25"), (" ", "%20"), ("\n", "%0A"), ('"', "%22"), ("&", "%26"), ("<", "%3C"), (">", "%3E"), ("'", "%27"),
        ("`", "%60"), ("=", "%3D"), (",", "%2C"), (";", "%3B"), ("|", "%7C"), ("[", "%5B"), ("]", "%5D"), ("{", "%7B"),
        ("}", "%7D"), ("(", "%28"), (")", "%29"), ("\\", "%5C"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Quotes:
    opening: str
    closing: str


def find_quotes(design: Design) -> Quotes:
    if design.quote == "token":
        mark = design.marks.open("value")
        return Quotes(mark, mark)
    if design.quote == "angle quotes":
        return Quotes("“", "”")
    if design.quote == "cdata":
        return Quotes("<![CDATA[", "]]>")
    both = {"none": "", "triple": '"""', "-": ""}.get(design.quote, design.quote)
    return Quotes(both, both)


def list_escapes(design: Design) -> tuple[tuple[str, str], ...]:
    """The characters that are written as something else."""
    closing = find_quotes(design).closing
    if design.escape == "backslash":
        marks = () if len(closing) > 1 else ((closing, "\\" + closing),)
        return (("\\", "\\\\"), *marks)
    if design.escape == "doubling":
        return ((closing, closing * 2),)
    return _ESCAPES.get(design.escape, ())


def escape(design: Design, string: str) -> str:
    """A string as the template writes it inside its quotes."""
    if design.escape == "json":
        written = json.dumps(string, ensure_ascii=False)[1:-1]
        other = find_quotes(design).closing
        return written.replace('\\"', '"').replace(other, "\\" + other) if other in ("'", "`") else written
    for character, replacement in list_escapes(design):
        string = string.replace(character, replacement)
    return string


def write_string(design: Design, value: str) -> Row:
    """The code for a string with its quotes."""
    quotes = find_quotes(design)
    if design.escape == "json":
        code = f"({value} | tojson)[1:-1]"
        if quotes.closing in ("'", "`"):
            code += f" | replace({quote(chr(92) + chr(34))}, {quote(chr(34))})"
            code += f" | replace({quote(quotes.closing)}, {quote(chr(92) + quotes.closing)})"
    else:
        code = value + "".join(f" | replace({quote(a)}, {quote(b)})" for a, b in list_escapes(design))
    return [*text(quotes.opening), "{{ " + code + " }}", *text(quotes.closing)]


def spell(design: Design, value: str) -> str:
    """The Jinja expression for a value that is neither a string, nor a list or object written in the same manner."""
    inner = f"({value} | string if {value} is mapping or {value} is iterable else {value} | tojson)"
    other = inner if design.nested == "python" else f"({value} | tojson)"
    if WORDS.get(design.words, WORDS["json"]) == WORDS["json"]:
        return other
    true, false, null = (quote(word) for word in WORDS[design.words])
    spelled = f"{true} if {value} is sameas true else {false} if {value} is sameas false else {null} if {value} is none"
    return f"({spelled} else {other})"


def write_scalar(design: Design, value: str) -> Row:
    return ["{{ " + spell(design, value) + " }}"]


def write_value(design: Design, value: str) -> Row:
    """The code for any value, without a mark of its type."""
    if design.nested == "same":
        return ["{{ write(" + value + ") }}"]
    if design.quoted == "all":
        bare = "{%- set w = " + f"{value} if {value} is string else {spell(design, value)}" + " -%}"
        return [bare, *write_string(design, "w")]
    return [
        "{%- if " + value + " is string -%}",
        *write_string(design, value),
        "{%- else -%}",
        *write_scalar(design, value),
        "{%- endif -%}",
    ]


def write_spread(design: Design) -> Row:
    """A macro that collects arguments and what stands in objects among them, and in lists, each under its path."""
    if design.path == "-":
        return []
    closing = quote("]") if design.path == "[" else "''"
    row: Row = [
        "{%- macro spread(x, path) -%}{%- if x is mapping and x -%}{%- for k, v in x | items -%}",
        "{{ spread(v, path ~ " + quote(design.path) + " ~ k ~ " + closing + " if path else k) }}{%- endfor -%}",
    ]
    if design.places != "-":
        before, number, behind = design.places[0], design.places[1], design.places[2:]
        place = f"{quote(before)} ~ loop.index{'' if number == '1' else '0'} ~ {quote(behind)}"
        row.append("{%- elif x is iterable and x is not string and x -%}{%- for v in x -%}")
        row.append("{{ spread(v, path ~ " + place + ") }}{%- endfor -%}")
    return [*row, "{%- elif path -%}{%- set ns.flat = ns.flat + [[path, x]] -%}{%- endif -%}{%- endmacro -%}"]


def write_macro(design: Design) -> Row:
    """A macro that writes values of any depth in the design's own manner; `d` is how deep a value stands."""
    if design.nested != "same":
        return []
    entries = {"brackets": _write_in_brackets, "marks": _write_in_marks, "indented": _write_indented}
    row = ["{%- macro write(v, d=1) -%}{%- if v is string -%}", *write_string(design, "v")]
    row += [*entries[design.inside](design), "{%- else -%}", *write_scalar(design, "v")]
    return [*row, "{%- endif -%}{%- endmacro -%}"]


def _write_in_brackets(design: Design) -> Row:
    comma = ["{%- if not loop.last -%}", *text(design.comma), "{%- endif -%}"]
    return [
        "{%- elif v is mapping -%}",
        Text("{"),
        *["{%- for k, x in v | items -%}", *write_key(design, "k"), *text(design.assign)],
        *["{{ write(x) }}", *comma, "{%- endfor -%}"],
        Text("}"),
        "{%- elif v is iterable -%}",
        Text("["),
        *["{%- for x in v -%}", "{{ write(x) }}", *comma, "{%- endfor -%}"],
        Text("]"),
    ]


def _write_in_marks(design: Design) -> Row:
    """Marks around a list and around an object, around each item, and around a key before its value."""
    marks = design.marks
    return [
        "{%- elif v is mapping -%}",
        *[*text(marks.open("object")), "{%- for k, x in v | items -%}", *text(marks.open("entry"))],
        *[*write_key(design, "k"), *text(design.assign), "{{ write(x) }}", *text(marks.close("entry"))],
        *["{%- endfor -%}", *text(marks.close("object"))],
        "{%- elif v is iterable -%}",
        *[*text(marks.open("list")), "{%- for x in v -%}", *text(marks.open("item")), "{{ write(x) }}"],
        *[*text(marks.close("item")), "{%- endfor -%}", *text(marks.close("list"))],
    ]


def _write_indented(design: Design) -> Row:
    """Lines that are indented more with each level; what is empty stands in brackets."""
    line = ["{{ " + quote("\n") + " ~ " + quote(" " * 4) + " * (d + 1) }}"]
    return [
        "{%- elif v is mapping -%}{%- for k, x in v | items -%}",
        *[*line, *write_key(design, "k"), *text(design.assign), "{{ write(x, d + 1) }}"],
        *["{%- else -%}", Text("{}"), "{%- endfor -%}"],
        "{%- elif v is iterable -%}{%- for x in v -%}",
        *[*line, *text("- "), "{{ write(x, d + 1) }}", "{%- else -%}", Text("[]"), "{%- endfor -%}"],
    ]


def write_key(design: Design, key: str) -> Row:
    if design.odd_key not in ("", "-"):
        return ["{{ " + f"{key} if {key}.isidentifier() else '{design.odd_key}' ~ {key} ~ '{design.odd_key}'" + " }}"]
    mark = "" if design.key_quote == "-" else design.key_quote
    return [*text(mark), "{{ " + key + " }}", *text(mark)]


def write_type(value: str) -> str:
    """The code for the name of a value's type."""
    kinds = f"'str' if {value} is string else 'bool' if {value} is boolean else 'null' if {value} is none"
    return "{{ " + f"{kinds} else 'num' if {value} is number else 'obj' if {value} is mapping else 'list'" + " }}"
