"""The example of a call that a template's own instructions hold, where it never prints one.

Some templates show the tools in the prompt, tell the model how to call them, and yet print no call. Their instructions
often hold an example: an object whose values are placeholders, with markers around it. What it says cannot be proven, for
there is nothing to read back; the format says so.
"""

from __future__ import annotations

import re

from .format import Marker, ObjectBody, Tools
from .marker import is_blank, is_marked, split_atoms
from .notation import JSON_ARGUMENTS
from .probes import Oracle, Question

_EXAMPLE = re.compile(
    r"""\{\s*['"]+(\w+)['"]+\s*:\s*['"]?<([^<>{}\n]*)>['"]?\s*,\s*['"]+(\w+)['"]+\s*:\s*['"]?<([^<>{}\n]*)>['"]?\s*\}"""
)


def read_instructions(oracle: Oracle) -> Tools | None:
    """Return how calls are written by the example in the rendered instructions, or None where there is none.

    Only an object of two placeholders is understood, one of which speaks of a name: the other stands for the arguments.
    """
    text = oracle.render(Question(prompt=True, tools=True))
    plain = oracle.render(Question(prompt=True))
    if text is None or text == plain:
        return None
    for match in _EXAMPLE.finditer(text):
        body = _read_example(*match.groups())
        before, behind = text[: match.start()], text[match.end() :]
        array = before.rstrip().endswith("[")
        start = Marker(_find_last_marker(before.rstrip().removesuffix("[")), "\n", "\n")
        end = Marker(_find_first_marker(behind), "\n", "")
        if body is not None and start and end:
            several = array or "..." in behind.partition(end.text)[0]
            section, call = ((start, end), (Marker(), Marker())) if several else ((Marker(), Marker()), (start, end))
            return Tools(
                section_start=section[0],
                section_end=section[1],
                call_start=call[0],
                call_end=call[1],
                separator="",
                body=ObjectBody(*body, keys=(body[0][0], body[1][0]), array=array),
                arguments=JSON_ARGUMENTS,
                provenance="instructions",
            )
    return None


def _read_example(key: str, value: str, other_key: str, other_value: str) -> tuple[tuple[str], tuple[str]] | None:
    """Return the keys of name and arguments; the placeholder of one must speak of a name, that of the other must not."""
    names, other_names = "name" in value.lower(), "name" in other_value.lower()
    if names == other_names:
        return None
    return ((key,), (other_key,)) if names else ((other_key,), (key,))


def _find_last_marker(text: str) -> str:
    """Return the bracketed marker that a text ends with, white space aside."""
    atoms = split_atoms(text[-80:].rstrip().rpartition("\n")[2])
    return atoms[-1] if atoms and _is_bracketed(atoms[-1]) else ""


def _find_first_marker(text: str) -> str:
    """Return the first bracketed marker that begins a line of a text."""
    for line in text[:200].lstrip("]").split("\n"):
        atoms = split_atoms(line)
        if not is_blank(line) and atoms and _is_bracketed(atoms[0]):
            return atoms[0]
    return ""


def _is_bracketed(atom: str) -> bool:
    return is_marked(atom)
