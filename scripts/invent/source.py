"""Jinja source as a row of pieces: constants of the format, and code."""

from __future__ import annotations

import json
from collections.abc import Iterable

# Stands for the end token of the tokenizer, which a template is given.
EOS = "</s>"


class Text(str):
    """A constant text of the format; any other string in a row is Jinja code."""

    __slots__ = ()


Row = list[str]


def text(*words: str) -> Row:
    """Constants, one piece each; empty ones are left out."""
    return [Text(word) for word in words if word]


def list_constants(row: Iterable[str]) -> list[str]:
    """The constants of a row, neighbours joined."""
    found = [""]
    for piece in row:
        if isinstance(piece, Text):
            found[-1] += piece
        else:
            found.append("")
    return [constant for constant in found if constant]


def quote(constant: str) -> str:
    """A constant as a Jinja expression."""
    return json.dumps(constant, ensure_ascii=False)


def write_row(row: Iterable[str], style: str) -> str:
    """The source. In the style "data" constants stand bare where Jinja leaves them alone."""
    return "".join(_write_constant(piece, style) if isinstance(piece, Text) else piece for piece in row)


def _write_constant(constant: str, style: str) -> str:
    if EOS in constant:
        return "{{ eos_token }}".join(_write_constant(part, style) if part else "" for part in constant.split(EOS))
    bare = constant.strip() == constant and "{" not in constant and "}" not in constant and "\\" not in constant
    return constant if style == "data" and bare else "{{ " + quote(constant) + " }}"
