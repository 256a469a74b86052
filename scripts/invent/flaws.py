"""Why a design cannot be read in principle, or is none that anybody would make."""

from __future__ import annotations

from collections.abc import Iterator

from invent.arguments import WHOLE_STYLES
from invent.calls import JSON_FRAMES, MARKED_FRAMES, find_separator
from invent.design import Design
from invent.marks import SHAPES
from invent.values import find_quotes

# Shapes whose marks end in a bracket, so that attributes can stand inside.
BRACKETED = frozenset(
    shape for shape, (left, right, _, _) in SHAPES.items() if right.strip() and right != "{" and left.strip()
) - {"pipe, suffix", "wide pipe", "pipe, vendor"}  # fmt: skip
# What may stand in square brackets with commas between.
LISTED_FRAMES = (*JSON_FRAMES, "json spliced", "call syntax", "s-expression")
# Sections with an opening mark, and those with a closing one, too.
OPENED = ("all", "all, counted", "all, list", "opened", "each", "fence", "word, list", "label")
CLOSED = ("all", "all, counted", "all, list", "each", "fence", "word, list", "list")


def find_flaws(design: Design) -> Iterator[str]:
    """Every reason, in words."""
    yield from _find_flaws_of_turn(design)
    yield from _find_flaws_of_marks(design)
    yield from _find_flaws_of_calls(design)
    yield from _find_flaws_of_values(design)


def ends_itself(design: Design) -> bool:
    """Whether a call that nothing closes is seen to be over."""
    own = ("braces", "brackets", "parentheses", "tag, attribute", "tag, equals", "tag pairs")
    return design.empty != "left out" and design.arguments in (*WHOLE_STYLES, *own)


def _find_flaws_of_turn(design: Design) -> Iterator[str]:
    marks = design.marks
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
    if design.switched == "closes when off" and design.reasoning in ("no closer", "label"):
        yield "the prompt cannot close what has no closing mark"
    if design.header == "questions only" and design.end not in ("eos", "eos, line break", "mark", "mark, line break"):
        yield "nothing stands between two answers"
    if design.order == "calls, content" and design.content == "wrapped after reasoning":
        yield "what content stands in depends on what is far off"
    if design.reasoning == "channel" and design.messages == "one" and (design.content, marks.closing) == ("plain", "common"):
        yield "one mark for everything ends reasoning"


def _find_flaws_of_marks(design: Design) -> Iterator[str]:
    shape, frame, arguments = design.marks.shape, design.frame, design.arguments
    if design.header == "attribute" and design.marks.outer not in BRACKETED:
        yield "a mark without brackets takes no attribute"
    if shape not in BRACKETED:
        if frame in MARKED_FRAMES:
            yield "a mark without brackets takes no name"
        if arguments in ("tag, attribute", "tag, equals", "key as tag", "tag of type"):
            yield "a mark without brackets takes no key"
        if design.section == "all, counted" or design.wrap == "indexed":
            yield "a mark without brackets takes no number"
    if shape == "signs":
        worded = (frame == "name as tag", arguments in ("key as tag", "tag of type"), design.wrap in ("fence", "numbered"))
        if any(worded) or design.section in ("fence", "word, list") or design.reasoning == "fence":
            yield "a sign is no word"
    if design.header == "role as mark" and design.marks.outer == "signs":
        yield "a sign holds no word"
    if arguments == "attributes" and frame not in ("attribute", "equals"):
        yield "attributes stand in a mark"


def _find_flaws_of_calls(design: Design) -> Iterator[str]:
    frame, own = design.frame, design.messages == "each part"
    opened = design.wrap != "none" or design.section in OPENED or own
    if not opened and frame not in ("json", "json nested", "json spliced", "json in list", "labels"):
        yield "nothing opens a call"
    if not opened and frame != "labels" and design.envelope in ("counter", "text counter"):
        yield "nothing opens a call"
    closed = design.wrap in ("mark", "fence", "indexed", "-") or design.section == "each"
    told = frame in (*LISTED_FRAMES, "recipient") or find_separator(design).strip() != ""
    opens = (design.wrap in ("opened", "numbered") or frame == "labels") and ends_itself(design)
    if not (closed or told or opens):
        yield "nothing stands between two calls"
    if design.section in ("opened", "label", "none", "-") and not (closed or ends_itself(design) or own):
        yield "nothing ends the calls"
    if design.order == "calls, content" and not closed and design.section not in CLOSED:
        yield "nothing ends the calls before content"
    if frame == "arguments, name" and (design.wrap not in ("mark", "indexed") or design.space == ""):
        yield "nothing ends the name"
    if frame == "name as tag" and "all" not in design.section and not own:
        yield "any mark would be a call"
    if frame == "name, arguments" and design.arguments in ("query", "semicolons") and design.id == "between":
        yield "the id is not told from arguments"
    if frame == "labels" and design.labels == "use, with" and not (design.wrap != "none" or design.section in OPENED):
        yield "two words open a call"
    if design.wrap == "fence" and (design.section == "fence" or design.around == "fence"):
        yield "a fence in a fence"
    if design.section == "fence" and design.around == "fence":
        yield "a fence in a fence"
    if design.empty == "left out" and not closed:
        yield "nothing ends a name without arguments"


def _find_flaws_of_values(design: Design) -> Iterator[str]:
    arguments, quotes = design.arguments, find_quotes(design)
    if arguments in WHOLE_STYLES:
        return
    raw = quotes.opening == ""
    closing = ("braces", "brackets", "parentheses", "flags", "keywords", "attributes", "query", "semicolons")
    if raw and arguments in closing and (arguments, design.escape) not in (("query", "percent"), ("semicolons", "percent")):
        yield "raw values need a closing mark"
    if raw and design.nested == "same":
        yield "raw values inside lists"
    if raw and design.escape == "percent" and arguments not in ("query", "lines", "semicolons", "table", "bullets"):
        yield "nothing to escape"
    if design.escape == "doubling" and (len(quotes.closing) != 1 or design.quote == "angle quotes"):
        yield "long quotes are not doubled"
    if design.escape == "html" and not raw and design.quote not in ('"', "'"):
        yield "html knows two quotes"
    if design.quote == "token" and arguments in ("tag pairs", "key, mark, value"):
        yield "the mark of a value stands around it already"
    if design.quoted == "all" and (design.nested == "python" or design.escape == "none"):
        yield "quotes in quotes"
    lines = ("lines", "bullets", "yaml", "numbered", "indented", "table", "headings")
    if arguments in lines and "\n" not in design.space and raw:
        yield "lines stand in lines of their own"
