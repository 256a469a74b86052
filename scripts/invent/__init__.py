"""Invented chat templates: formats that nobody has seen, plausible and readable, drawn at random axis by axis.

`draw` gives a `Design`, `write_template` its Jinja source, `make_turns` what a model of that format would write for
messages of our choice. Nothing here knows how formats are derived: what is right is known before anything is rendered.
"""

from __future__ import annotations

from invent.design import AXES, Design
from invent.draw import draw, draw_any, normalise
from invent.flaws import find_flaws
from invent.write import write_template

__all__ = ["AXES", "Design", "draw", "draw_any", "find_flaws", "normalise", "write_template"]
