"""Drawing a design: every axis for itself, then what plays no part is struck out, and what cannot be read is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from invent.arguments import JSON_STYLES
from invent.calls import JSON_FRAMES, MARKED_FRAMES, find_separator
from invent.design import AXES, Design
from invent.marks import SHAPES, draw_marks
from invent.values import find_quotes

MANNERS = ("plain", "plain", "made up", "alike at the start", "alike at the end")
# Shapes whose marks end in a bracket, so that attributes can stand inside.
BRACKETED = frozenset(
    shape for shape, (left, right, _, _) in SHAPES.items() if right.strip() and right != "{" and left.strip()
) - {"pipe, suffix", "wide pipe"}  # fmt: skip


# What may stand in square brackets with commas between.
LISTED_FRAMES = (*JSON_FRAMES, "json spliced", "call syntax", "s-expression")


def draw(choose: random.Random) -> Design:
    """A design that can be read, drawn at random."""
    while True:
        design = normalise(draw_any(choose))
        if next(find_flaws(design), None) is None:
            return design


def draw_any(choose: random.Random) -> Design:
    """A design with every axis drawn for itself, whether it can be read or not."""
    manner = choose.choice(MANNERS)
    drawn = {axis: choose.choices([*values], [*values.values()])[0] for axis, values in AXES.items()}
    return Design(draw_marks(choose, manner), manner, **drawn)


def normalise(design: Design) -> Design:
    """The design with "-" for what plays no part in it, and with what follows from another choice."""
    return _strike_values(_strike_turn(_strike_calls(design)))


def _strike_turn(design: Design) -> Design:
    if design.messages == "each part":
        design = replace(design.strike("header", "between", "content_space"), order="content, calls")
        if design.reasoning not in ("none", "-"):
            design = replace(design, reasoning="channel")
        design = replace(design.strike("switch"), content="wrapped" if design.content == "wrapped" else "plain")
    else:
        design = replace(design, middle="-")
    if design.reasoning == "none":
        design = design.strike("reasoning_when", "reasoning_opened", "reasoning_field", "reasoning_space", "switch")
        if design.order == "reasoning between":
            design = replace(design, order="content, calls")
    if design.reasoning == "delimiter":
        design = replace(design, reasoning_when="even if empty", reasoning_opened="model")
    if design.reasoning == "label" and design.messages == "one":
        design = replace(design, content="wrapped", content_space="-", reasoning_space="-", between="\n")
    if design.content == "plain":
        design = replace(design, content_space="-")
    return design


def _strike_calls(design: Design) -> Design:
    frame = design.frame
    if frame != "name, arguments":
        design = design.strike("joint")
    if frame == "s-expression":
        design = replace(design, arguments="keywords", id="none" if design.id == "between" else design.id)
    if frame in JSON_FRAMES or frame == "json spliced":
        if design.arguments not in JSON_STYLES:
            design = replace(design, arguments="json")
    else:
        design = replace(design, name_key="-", arguments_key="-", envelope="-")
        if design.arguments == "json flat":
            design = replace(design, arguments="json")
    if frame == "json spliced" and design.arguments in ("json flat", "json text"):
        design = replace(design, arguments="json")
    if frame in ("json keyed", "json keyed inside", "json list") and design.arguments == "json flat":
        design = replace(design, arguments="json")
    if frame == "json keyed":
        design = replace(design, name_key="-", arguments_key="-", envelope="-", id="none")
    if frame in ("json keyed inside", "json list"):
        design = replace(design, arguments_key="-", name_key="-" if frame == "json list" else design.name_key)
    if frame == "json in list":
        design = replace(design, section=design.section.replace("all, list", "all"), separator="-", wrap="none")
        design = replace(design, section="none" if design.section == "list" else design.section)
    if frame in MARKED_FRAMES:
        design = replace(design, wrap="-")
    if frame == "id":
        design = replace(design, id="inside", prefix="-")
    if frame == "call syntax":
        design = replace(design, arguments="parentheses", id="none" if design.id == "between" else design.id)
    if frame == "recipient":
        design = replace(design.strike("section", "separator"), wrap="none", messages="each part")
    if "list" in design.section and (frame not in LISTED_FRAMES or design.wrap in ("opened", "numbered", "fence")):
        design = replace(design, section=design.section.replace(", list", "").replace("list", "none"))
    if "list" in design.section:
        design = replace(design, separator=", ")
    elif design.separator == ", ":
        design = replace(design, separator="\n")
    if design.arguments == "attributes" and design.id == "after":
        design = replace(design, id="before")
    return design


def _strike_values(design: Design) -> Design:
    whole = design.arguments in JSON_STYLES
    if whole:
        design = design.strike(
            "assign", "comma", "value_space", "key_quote", "quote", "escape", "words", "nested", "type", "quoted"
        )
    else:
        design = replace(design, json="-", takes="dict")
    if not (design.arguments == "json" and design.frame not in JSON_FRAMES) and design.takes != "dict":
        design = replace(design, takes="string" if design.arguments == "json text" and design.takes == "string" else "dict")
    if design.type == "attribute" and design.arguments not in ("tag, attribute", "tag, equals"):
        design = replace(design, type="none")
    if design.nested == "python" and design.words != "python":
        design = replace(design, nested="json")
    if design.nested == "same" or design.quote == "none":
        design = design.strike("quoted")
    if design.takes == "string" and design.frame not in JSON_FRAMES:
        design = replace(design, json="-")
    if design.arguments not in ("tag, attribute", "tag, equals", "tag pairs", "key as tag", "tag of type", "-"):
        design = replace(design, value_space="-")
    uses_assign = ("braces", "brackets", "parentheses", "lines", "bullets", "numbered", "semicolons", "flags")
    if design.arguments not in uses_assign and design.nested != "same":
        design = replace(design, assign="-")
    if design.arguments not in ("braces", "brackets", "parentheses") and design.nested != "same":
        design = replace(design, comma="-")
    if design.arguments not in ("braces", "brackets", "lines"):
        design = replace(design, key_quote="-")
    if design.quote == "none" and design.escape in ("backslash", "json", "doubling"):
        design = replace(design, escape="none")
    return design


def ends_itself(design: Design) -> bool:
    """Whether a call that nothing closes is seen to be over."""
    return design.arguments in (
        *JSON_STYLES,
        "braces",
        "brackets",
        "parentheses",
        "tag, attribute",
        "tag, equals",
        "tag pairs",
    )


def find_flaws(design: Design) -> Iterator[str]:
    """Why a design cannot be read in principle, or is none."""
    yield from _find_flaws_of_turn(design)
    yield from _find_flaws_of_calls(design)
    yield from _find_flaws_of_values(design)


def _find_flaws_of_turn(design: Design) -> Iterator[str]:
    marks = design.marks
    bracketed = marks.shape in BRACKETED
    if design.header == "attribute" and not bracketed:
        yield "a mark without brackets takes no attribute"
    if design.header == "role as mark" and marks.shape == "signs":
        yield "a sign holds no word"
    if design.reasoning == "no closer" and design.content not in ("wrapped", "opened"):
        yield "nothing ends reasoning before content"
    if design.reasoning in ("no closer", "label") and design.order == "calls, content":
        yield "nothing ends reasoning in the usual place"
    if design.reasoning == "none" and design.content == "wrapped after reasoning":
        yield "there is no reasoning"
    if design.order == "reasoning between" and design.reasoning in ("delimiter", "label", "no closer"):
        yield "reasoning behind content needs marks"
    if design.order == "reasoning between" and (design.reasoning_opened == "prompt" or design.switch != "-"):
        yield "the prompt cannot open what comes later"
    if design.reasoning_opened == "prompt" and design.reasoning_when == "with calls":
        yield "the prompt does not know of calls"
    if design.switch != "-" and design.reasoning in ("no closer", "label"):
        yield "the prompt cannot close what has no closing mark"
    if design.order == "calls, content" and design.content == "wrapped after reasoning":
        yield "what content stands in depends on what is far off"
    if (
        design.reasoning == "channel"
        and design.messages == "one"
        and design.content == "plain"
        and marks.closing == "common"
    ):
        yield "one mark for everything ends reasoning"


def _find_flaws_of_calls(design: Design) -> Iterator[str]:
    marks, frame, own = design.marks, design.frame, design.messages == "each part"
    bracketed = marks.shape in BRACKETED
    if frame in MARKED_FRAMES and not bracketed:
        yield "a mark without brackets takes no name"
    if design.arguments == "attributes" and frame not in ("attribute", "equals"):
        yield "attributes stand in a mark"
    if design.arguments in ("tag, attribute", "tag, equals", "key as tag", "tag of type") and not bracketed:
        yield "a mark without brackets takes no key"
    if design.section == "all, counted" and not bracketed:
        yield "a mark without brackets takes no number"
    if design.wrap == "indexed" and not bracketed:
        yield "a mark without brackets takes no number"
    if marks.shape == "signs" and (
        frame == "name as tag" or design.arguments in ("key as tag", "tag of type") or design.wrap in ("fence", "numbered")
    ):
        yield "a sign is no word"
    opened = design.wrap != "none" or design.section in ("all", "all, counted", "all, list", "opened", "each") or own
    if not opened and frame not in ("json", "json nested", "json spliced", "json in list"):
        yield "nothing opens a call"
    if not opened and frame in ("json", "json spliced") and design.envelope == "counter":
        yield "nothing opens a call"
    closed = design.wrap in ("mark", "fence", "indexed", "-") or design.section == "each"
    told = frame in (*LISTED_FRAMES, "recipient") or find_separator(design).strip() != ""
    opens = design.wrap in ("opened", "numbered") and ends_itself(design)
    if not (closed or told or opens):
        yield "nothing stands between two calls"
    if design.section == "opened" and (design.order == "calls, content" or not (closed or ends_itself(design))):
        yield "nothing ends the calls"
    if design.order == "calls, content" and not closed and "all" not in design.section:
        yield "nothing ends the calls before content"
    if frame == "arguments, name" and (design.wrap not in ("mark", "indexed") or design.space == ""):
        yield "nothing ends the name"
    if frame == "name as tag" and "all" not in design.section and not own:
        yield "any mark would be a call"
    if frame == "name, arguments" and design.arguments in ("query", "semicolons") and design.id == "between":
        yield "the id is not told from arguments"
    if own and frame != "recipient" and design.section != "none" and design.order == "calls, content":
        yield "one section too many"


def _find_flaws_of_values(design: Design) -> Iterator[str]:
    arguments, quotes, marks = design.arguments, find_quotes(design), design.marks
    if arguments in JSON_STYLES:
        return
    raw = quotes.opening == ""
    closing = ("braces", "brackets", "parentheses", "flags", "keywords", "attributes", "query")
    if raw and arguments in closing and (arguments, design.escape) != ("query", "percent"):
        yield "raw values need a closing mark"
    if raw and design.nested == "same":
        yield "raw values inside lists"
    if raw and design.escape == "percent" and arguments not in ("query", "lines", "semicolons", "table", "bullets"):
        yield "nothing to escape"
    if design.escape in ("backslash", "json") and design.quote == "token":
        yield "a token needs no escape"
    if design.escape == "doubling" and len(quotes.closing) != 1:
        yield "long quotes are not doubled"
    if design.escape == "doubling" and design.quote == "angle quotes":
        yield "long quotes are not doubled"
    if design.escape == "html" and not raw and design.quote not in ('"', "'"):
        yield "html knows two quotes"
    if design.escape == "none" and not raw and design.quote in ('"', "'", "`") and design.arguments == "query":
        yield "a query escapes"
    if design.quoted == "all" and (design.nested == "python" or design.escape == "none"):
        yield "quotes in quotes"
    if arguments == "table" and marks.shape == "signs":
        yield "a table has lines"
    if arguments == "key, mark, value" and marks.closing == "common" and raw and design.nested == "same":
        yield "one mark for everything"
    following = {"semicolons": ";", "flags": " --", "keywords": " :"}
    if raw and arguments in following and design.escape != "percent":
        yield "what follows a value is likely to stand in it"
    if design.quote == "token" and arguments in ("tag pairs", "key, mark, value"):
        yield "the mark of a value stands around it already"
    frames = ("name, arguments", "name, mark, arguments", "id", "own tags", "attribute", "equals", "name as tag", "repeated")
    if arguments in ("lines", "bullets", "numbered", "indented", "table", "headings") and "\n" not in design.space and raw:
        yield f"lines stand in lines of their own, {frames[0]}"
