"""Drawing a design: every axis for itself, then what plays no part is struck out, and what cannot be read is refused."""

from __future__ import annotations

import random
from dataclasses import replace

from invent.arguments import JSON_STYLES, WHOLE_STYLES
from invent.calls import JSON_FRAMES, MARKED_FRAMES
from invent.design import AXES, Design
from invent.flaws import LISTED_FRAMES, find_flaws
from invent.marks import draw_marks, number_words

MANNERS = ("plain", "plain", "made up", "alike at the start", "alike at the end")
# Frames in which arguments stand by themselves, and those in which a name does.
_BARE = (*MARKED_FRAMES, "name, arguments", "name, mark, arguments", "id", "recipient", "heading", "bracketed")
_NAMED = ("name, arguments", "name, mark, arguments", "own tags", "heading", "labels")


LATER = ("inside", "path", "digits", "places", "odd_key")
"""Axes that came when seeds had their meaning."""


def draw(choose: random.Random) -> Design:
    """A design that can be read, drawn at random."""
    while True:
        design = normalise(draw_any(choose))
        if next(find_flaws(design), None) is None:
            return design


def draw_any(choose: random.Random) -> Design:
    """A design with every axis drawn for itself, whether it can be read or not."""
    manner = choose.choice(MANNERS)
    drawn = {axis: _draw_value(choose, axis) for axis in AXES if axis not in LATER}
    for axis in LATER:  # so that a seed means the formats that it meant before
        drawn[axis] = _draw_value(random.Random(repr(drawn)), axis)
    return Design(number_words(draw_marks(choose, manner), drawn["digits"]), **drawn)


def _draw_value(choose: random.Random, axis: str) -> str:
    return choose.choices([*AXES[axis]], [*AXES[axis].values()])[0]


def normalise(design: Design) -> Design:
    """The design with "-" for what plays no part in it, and with what follows from another choice."""
    return _strike_values(_strike_beside(_strike_turn(_strike_calls(_strike_envelope(design)))))


def _strike_turn(design: Design) -> Design:
    if design.messages == "each part":
        design = replace(design.strike("header", "between", "content_space", "switch"), order="content, calls")
        if design.calls_in == "a message each" or design.frame.startswith("recipient"):
            design = design.strike("section", "separator")
        if design.reasoning not in ("none", "-"):
            design = replace(design, reasoning="channel")
        addressed = design.frame.startswith("recipient") and design.content == "addressed"
        if not addressed:
            design = replace(design, content="wrapped" if design.content in ("wrapped", "addressed") else "plain")
    else:
        design = design.strike("middle", "channel", "calls_in")
        design = replace(design, content="plain" if design.content == "addressed" else design.content)
    if design.reasoning == "none":
        design = design.strike("reasoning_when", "reasoning_opened", "reasoning_field", "reasoning_space", "switch")
        if design.order == "reasoning between":
            design = replace(design, order="content, calls")
    if design.reasoning == "delimiter":
        design = replace(design, reasoning_when="even if empty", reasoning_opened="model")
        design = replace(design, switched="closes when off")
    if design.switch == "-":
        design = design.strike("switched")
    if design.switched == "opens when on":
        design = replace(design, reasoning_opened="model")
    if design.reasoning == "label":
        design = replace(design.strike("content_space", "reasoning_space"), content="wrapped", between="\n")
    if design.content in ("plain", "addressed"):
        design = design.strike("content_space")
    return design


def _strike_envelope(design: Design) -> Design:
    """What is said of JSON around name and arguments."""
    frame = design.frame
    if frame not in (*JSON_FRAMES, "json spliced"):
        design = design.strike("name_key", "arguments_key", "envelope")
        return replace(design, arguments="json") if design.arguments == "json flat" else design
    if design.arguments not in JSON_STYLES:
        design = replace(design, arguments="json")
    if frame == "json spliced" and design.arguments == "json text":
        design = replace(design, arguments="json")
    if frame in ("json spliced", "json keyed", "json keyed inside", "json list") and design.arguments == "json flat":
        design = replace(design, arguments="json")
    if frame == "json keyed":
        design = replace(design.strike("name_key", "arguments_key", "envelope"), id="none")
    if frame == "json keyed inside":
        design = design.strike("arguments_key")
    if frame == "json list":
        design = design.strike("arguments_key", "name_key")
    return design


def _strike_calls(design: Design) -> Design:
    frame = design.frame
    if frame == "json in list":
        section = {"all, list": "all", "list": "none", "word, list": "none"}.get(design.section, design.section)
        design = replace(design.strike("separator"), section=section, wrap="none", calls_in="one message")
    if frame in MARKED_FRAMES:
        design = design.strike("wrap")
    if frame == "id":
        design = replace(design, id="inside", prefix="-", suffix="-")
    if frame in ("labels", "yaml"):
        design = replace(design, id="none")
    if frame == "yaml":
        design = replace(design, arguments="yaml")
    if frame in ("call syntax", "s-expression"):
        written = "parentheses" if frame == "call syntax" else "keywords"
        design = replace(design, arguments=written, id="none" if design.id == "between" else design.id)
    if frame == "bracketed" and design.id == "between":
        design = replace(design, id="none")
    if frame.startswith("recipient"):
        design = replace(design.strike("section", "separator", "calls_in"), wrap="none", messages="each part")
    else:
        design = design.strike("address", "content_type")
    if "list" in design.section and (frame not in LISTED_FRAMES or design.wrap in ("opened", "numbered", "fence")):
        shorn = {"all, list": "all", "list": "none", "word, list": "all"}
        design = replace(design, section=shorn[design.section])
    if "list" in design.section:
        design = replace(design, separator=", ")
    elif design.separator == ", ":
        design = replace(design, separator="\n")
    if design.arguments == "attributes" and design.id == "after":
        design = replace(design, id="before")
    if design.demands == "ids of nine" and design.id in ("none", "inside"):
        design = replace(design, demands="nothing")
    return design


def _strike_beside(design: Design) -> Design:
    """What stands beside name and arguments."""
    frame, arguments = design.frame, design.arguments
    if frame != "name, arguments":
        design = design.strike("joint")
    if frame != "labels":
        design = design.strike("labels")
    if frame not in _NAMED:
        design = design.strike("name_quote")
    if frame not in (*_NAMED, "call syntax"):
        design = design.strike("suffix")
    if frame not in ("name, arguments", "name, mark, arguments", "id") or design.wrap not in ("mark", "indexed", "opened"):
        design = design.strike("lead")
    if frame not in _BARE or arguments == "attributes":
        design = design.strike("around")
    if design.around == "fence" and arguments not in ("json", "python"):
        design = replace(design, around="nothing")
    if design.around == "marks" and frame == "name, mark, arguments":
        design = replace(design, around="nothing")
    if frame not in _BARE or arguments in ("attributes", "braces") or design.takes == "string":
        design = design.strike("empty")
    return design


def _strike_values(design: Design) -> Design:
    if design.arguments in WHOLE_STYLES:
        design = design.strike("assign", "comma", "value_space", "key_quote", "quote", "quoted", "escape", "words", "nested")
        design = design.strike("type", "path")
    shifted = design.nested == "same" and design.inside == "indented"  # then members stand in lines of their own already
    if shifted or (design.path == "/" and design.arguments in ("key as tag", "query")):
        design = design.strike("path")
    if design.path == "-":
        design = design.strike("places")
    if design.arguments not in JSON_STYLES:
        design = replace(design.strike("json"), takes="dict")
    if not (design.arguments == "json" and design.frame not in JSON_FRAMES) and design.takes != "dict":
        design = replace(design, takes="string" if design.arguments == "json text" and design.takes == "string" else "dict")
    if design.takes == "string":
        design = design.strike("empty", *(() if design.frame in JSON_FRAMES else ("json",)))
    if design.type in ("attribute", "is string") and design.arguments not in ("tag, attribute", "tag, equals"):
        design = replace(design, type="none")
    if design.nested == "python" and design.words != "python":
        design = replace(design, nested="json")
    if design.nested != "same":
        design = design.strike("inside")
    if design.nested == "same" or design.quote == "none":
        design = design.strike("quoted")
    if design.arguments not in ("tag, attribute", "tag, equals", "tag pairs", "key as tag", "tag of type"):
        design = design.strike("value_space")
    uses_assign = ("braces", "brackets", "parentheses", "lines", "bullets", "numbered", "semicolons", "flags")
    if design.arguments not in uses_assign and design.nested != "same":
        design = design.strike("assign")
    if design.arguments not in ("braces", "brackets", "parentheses") and design.nested != "same":
        design = design.strike("comma")
    if design.arguments not in ("braces", "brackets", "lines"):
        design = design.strike("key_quote")
    free = design.arguments in ("braces", "brackets", "parentheses", "keywords", "lines") and design.key_quote not in ('"', "'")
    if not free or design.path != "-":  # a path would stand in quotes as a whole
        design = design.strike("odd_key")
    if design.quote == "cdata" or (design.quote == "token" and design.escape in ("backslash", "json")):
        design = replace(design, escape="none")
    if design.quote == "none" and design.escape in ("backslash", "json", "doubling"):
        design = replace(design, escape="none")
    return design
