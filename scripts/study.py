"""How a chat template wants to be asked, and what it prints where: found by comparisons of renders alone.

* *Layout*: for each combination of fields (reasoning, content, number of calls), the shape of messages under which the
  template prints the most of them, after a prompt that the render of the answer continues. Needles tell what is printed.
* *End of turn*: what follows the last field in a render of calls and in a render of content alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile

from conversations import (
    CONTENT_NEEDLE,
    CONVERSATIONS,
    EARLIER_ANSWER,
    EARLIER_QUESTION,
    LEADING,
    NEXT_RESULT,
    QUESTION,
    REASONING_NEEDLE,
    Conversation,
    Fields,
    pick_needles,
)
from rendering import EMPTIES, EOS, FOLLOWS, IDS, REASONING_KEYS, Shape, compile_template
from rivals import ROLES_ALIKE, find_field_rival
from splitting import Oracle, Setting, Switches, find_common_end

Signature = tuple[bool, bool, int]

UNEXPLAINED = "content stands after what only the prompt opens, and no render ever closes"
BEGUN_ALIKE = "reasoning and content start alike after the prompt, and a stream cannot be taken back"
PARTIAL_CALL = "the template prints a call without its name or without its arguments"


@dataclass(frozen=True)
class Layout:
    """How fields of one signature are printed in a setting. `printed` has the same shape as a signature."""

    setting: Setting
    printed: Signature
    exact: bool
    tail: str
    partial: bool = False
    unreadable: str | None = None


@dataclass
class Study:
    """A template, and what was found out about it so far."""

    name: str
    oracle: Oracle
    base: Shape = field(default_factory=Shape)
    calls: Shape | None = None
    reasoning: list[str] = field(default_factory=list)
    variants: list[Switches] = field(default_factory=list)
    typed: bool | None = None
    layouts: dict[tuple[Signature, str, Switches], Layout | None] = field(default_factory=dict)
    ends: dict[Switches, tuple[str, str]] = field(default_factory=dict)
    markers: tuple[set[str], set[str]] | None = None
    """What `rename` found out about the words of its markers, whatever it makes of them."""


def study_template(name: str, source: str) -> Study | None:
    """How a template wants to be asked; None if it prints no answer to anything."""
    study = Study(name, Oracle(compile_template(source)))
    if not find_base(study):
        return None
    find_variants(study)
    find_shapes(study)
    return study


def list_layouts(
    study: Study, *, quick: bool = False, conversations: tuple[Conversation, ...] = CONVERSATIONS
) -> Iterator[tuple[Conversation, Layout, bool]]:
    """For each conversation its layout, and whether it is to be tried with its end left on, too."""

    def lay_out(conversation: Conversation, switches: Switches) -> Layout | None:
        key = (conversation.fields.signature, conversation.history, switches)
        if key not in study.layouts:
            study.layouts[key] = find_layout(study, *key)
        return study.layouts[key]

    for conversation in conversations:
        leading = conversation.name in LEADING
        if quick and not leading:
            continue
        choices = [lay_out(conversation, switches) for switches in [(), *study.variants]]
        layout = _prefer([choice for choice in choices if choice])
        if layout:
            yield conversation, layout, leading
        for choice in choices if leading else []:
            if choice and choice.exact and choice is not layout:
                yield conversation, choice, False


def _prefer(layouts: list[Layout]) -> Layout | None:
    """The layout that prints the most, of those one that a prompt fits exactly, of those the first."""
    return max(layouts, key=lambda layout: (*layout.printed[::-1], layout.exact), default=None)


def keep_printed(fields: Fields, printed: Signature) -> Fields:
    calls = fields.calls[: printed[2]]
    return Fields(fields.reasoning if printed[0] else None, fields.content if printed[1] else None, calls)


# Shapes: which way of giving messages makes this template print the most


def find_base(study: Study) -> bool:
    """Whether the template renders a question and an answer at all; how, is noted in the study."""
    told = ("given", "described", "kept back")
    for shape in (Shape(system=s, parts=p, tools=t) for t in told for p in (False, True) for s in (False, True)):
        prompt = study.oracle.render_prompt(Setting(shape))
        full = study.oracle.render_full(Setting(shape), Fields(content=CONTENT_NEEDLE))
        if prompt is not None and full is not None and QUESTION in prompt and CONTENT_NEEDLE in full:
            study.base = shape
            return True
    return False


def find_shapes(study: Study) -> None:
    """Note how calls and reasoning have to be given so that they are printed."""
    signature = (False, False, 1)
    shapes = [
        replace(study.base, follow=follow, ids=ids, text_arguments=text, empty=empty, flat=flat)
        for flat in (False, True)
        for follow in FOLLOWS
        for ids in IDS
        for text in (False, True)
        for empty in EMPTIES
    ]
    found = _choose(_try(study, signature, [Setting(shape) for shape in shapes]), signature)
    if found and (found.printed[2] or found.partial):
        study.calls = found.setting.shape
        if _prints_python(study, study.calls):
            study.calls = replace(study.calls, text_arguments=True)
    for key in REASONING_KEYS:
        if any(_prints_reasoning(study, key, switches) for switches in [(), *study.variants]):
            study.reasoning.append(key)
    if not study.reasoning:
        for switches in (((name, True),) for name in study.oracle.template.switches):
            if _prints_reasoning(study, REASONING_KEYS[0], switches):
                study.reasoning.append(REASONING_KEYS[0])
                study.variants.append(switches)
                break


def _prints_reasoning(study: Study, key: str, switches: Switches) -> bool:
    settings = [Setting(replace(study.base, reasoning=key), switches=switches)]
    layout = _choose(_try(study, (True, True, 0), settings), (True, True, 0))
    if study.calls and not (layout and layout.printed[0]):
        shapes = [replace(study.calls, reasoning=key, follow=follow) for follow in FOLLOWS]
        settings = [Setting(shape, switches=switches) for shape in shapes]
        layout = _choose(_try(study, (True, True, 1), settings), (True, True, 1))
    return bool(layout and layout.printed[0])


def _prints_python(study: Study, shape: Shape) -> bool:
    """Whether arguments given as an object come out as Python writes it, and given as JSON text come out as that."""
    fields = pick_needles((False, False, 1))
    as_object = study.oracle.render_full(Setting(shape), fields) or ""
    as_text = study.oracle.render_full(Setting(replace(shape, text_arguments=True)), fields) or ""
    arguments = fields.calls[0].arguments
    return repr(arguments) in as_object and json.dumps(arguments) in as_text


def find_variants(study: Study) -> None:
    """Note the switches that change how the generation prompt ends, one value for each ending."""
    plain = _read_ending(study, ()) or ""
    silent = study.oracle.render_full(Setting(study.base), None) or ""
    endings = {plain, None, silent[silent.rfind(QUESTION) :]}
    for name, values in study.oracle.template.switches.items():
        for value in values:
            ending = _read_ending(study, ((name, value),))
            if ending is None or ending in endings or len(study.variants) == 4:
                continue
            # A switch that is printed as it is, is text and no switch.
            if str(value) not in ending.replace(plain, ""):
                study.variants.append(((name, value),))
                endings.add(ending)


def _read_ending(study: Study, switches: Switches) -> str | None:
    prompt = study.oracle.render_prompt(Setting(study.base, switches=switches))
    return prompt[prompt.rfind(QUESTION) :] if prompt and QUESTION in prompt else None


# Layouts: what is printed where for one signature


def find_layout(study: Study, signature: Signature, history: str, switches: Switches) -> Layout | None:
    """The layout that prints the most of the fields, those first that a prompt fits exactly; None if nothing is."""
    if history == "later" and not find_layout(study, signature, "user", switches):
        return None
    needs_calls = bool(signature[2]) or history == "tool"
    if (needs_calls and not study.calls) or (signature[0] and not study.reasoning):
        return None
    shapes = [study.calls if needs_calls and study.calls else study.base]
    if signature[0]:
        shapes = [replace(shapes[0], reasoning=key) for key in study.reasoning]
    if not signature[1]:
        shapes = [replace(shape, empty=empty) for shape in shapes for empty in dict.fromkeys([shape.empty, *EMPTIES])]
    if signature[2]:
        shapes = [replace(s, follow=follow) for s in shapes for follow in dict.fromkeys([s.follow, *FOLLOWS])]
    else:
        shapes = [replace(shape, follow="nothing") for shape in shapes]
    settings = [Setting(shape, history, switches) for shape in shapes]
    layout = _choose(_try(study, signature, settings), signature)
    if layout is None or not (any(layout.printed) or layout.partial) or _ends_early(study, layout, signature):
        return None
    return replace(layout, unreadable=_compare_fields(study, layout, signature))


def _compare_fields(study: Study, layout: Layout, signature: Signature) -> str | None:
    """Why the fields of this layout cannot be told, whatever is in them."""
    if layout.partial:
        return PARTIAL_CALL
    shape = layout.setting.shape
    if not signature[0] and study.reasoning:
        shape = replace(shape, reasoning=study.reasoning[0])
    setting = replace(layout.setting, shape=shape)
    printed = keep_printed(pick_needles(signature), layout.printed)
    if _opens_unexplained(study, layout):
        return UNEXPLAINED
    if printed.reasoning and _begins_like_content(study, setting, printed):
        return BEGUN_ALIKE
    doubt = find_field_rival(lambda fields: study.oracle.render_full(setting, fields), printed)
    if doubt == ROLES_ALIKE and printed.reasoning and not printed.content:
        # What reasoning looks like is settled where there is content, too: printing content so does not change that.
        here = study.oracle.split(setting, printed)
        other = study.oracle.split(setting, pick_needles((True, True, 0)))
        opened = [found.rest.partition(REASONING_NEEDLE)[0] for found in (here, other) if found]
        if len(opened) == 2 and opened[0] == opened[1] and opened[0].strip():
            return None
    return doubt


def _begins_like_content(study: Study, setting: Setting, fields: Fields) -> bool:
    """Whether after this prompt reasoning starts at once, and content does: a stream could not say which it is."""
    shape = replace(setting.shape, follow="nothing")
    plain = study.oracle.split(replace(setting, shape=shape), pick_needles((False, True, 0)))
    found = study.oracle.split(setting, fields)
    if not plain or not found or plain.prompt != found.prompt:
        return False
    openings = {plain.rest.partition(CONTENT_NEEDLE)[0], found.rest.partition(REASONING_NEEDLE)[0]}
    return len(openings) == 1 and not openings.pop().strip()


def _opens_unexplained(study: Study, layout: Layout) -> bool:
    """Whether content follows at once what the prompt opens, in a template that never prints reasoning.

    Past answers do without it, and under another switch the prompt has more of it: here it opens something that content
    then stands in, as far as renders tell.
    """
    setting = replace(layout.setting, history="user")
    found = study.oracle.split(setting, pick_needles((False, True, 0)))
    if study.reasoning or layout.printed != (False, True, 0) or not found or found.rest.partition(CONTENT_NEEDLE)[0].strip():
        return False
    past = study.oracle.render_prompt(replace(setting, history="later")) or ""
    before = past.partition(EARLIER_QUESTION)[2].partition(EARLIER_ANSWER)[0]
    prompts = [study.oracle.render_prompt(replace(setting, switches=switches)) for switches in [(), *study.variants]]
    prompts += [study.oracle.render_told(setting, word) for word in study.oracle.template.words]
    endings = [prompt.rpartition(QUESTION)[2] for prompt in prompts if prompt]
    extras = {ending[len(before) :].strip() for ending in endings if before.strip() and ending.startswith(before)}
    mine = found.prompt.rpartition(QUESTION)[2].removeprefix(before).strip()
    return bool(mine) and any(extra.startswith(mine) and extra != mine for extra in extras)


def _ends_early(study: Study, layout: Layout, signature: Signature) -> bool:
    """Whether the render starts with a whole turn of fewer fields, end of turn and all: generation would stop there."""
    full = (study.oracle.render_full(layout.setting, pick_needles(signature)) or "").rstrip()
    fewer = {(r, c, n) for r in {False, signature[0]} for c in {False, signature[1]} for n in range(signature[2] + 1)}
    for part in sorted(fewer - {signature, (False, False, 0)}):
        fields = pick_needles(part)
        stops = tuple(stop.strip() for stop in (*find_ends(study, layout.setting.switches), EOS) if stop.strip())
        for empty in EMPTIES if not part[1] else EMPTIES[:1]:
            shape = replace(layout.setting.shape, follow="nothing", empty=empty)
            short = study.oracle.split(replace(layout.setting, shape=shape), fields)
            if short and any(needle in short.rest for needle in _list_needles(fields)):
                whole = (short.prompt + short.rest).rstrip()
                if whole.endswith(stops) and full.startswith(whole) and len(whole) < len(full):
                    return True
    return False


def _try(study: Study, signature: Signature, settings: list[Setting]) -> Iterator[Layout]:
    fields = pick_needles(signature)
    for setting in settings:
        found = study.oracle.split(setting, fields)
        if not found:
            continue
        rest = found.rest
        if setting.shape.follow != "nothing" and NEXT_RESULT in rest:
            rest = rest[: rest.find(NEXT_RESULT)]
        ends = [rest.rfind(needle) + len(needle) for needle in _list_needles(fields) if needle in rest]
        count = _count_printed(fields, rest)
        printed = (signature[0] and REASONING_NEEDLE in rest, signature[1] and CONTENT_NEEDLE in rest, count)
        partial = any(word in rest for call in fields.calls[count:] for word in (call.name, *call.arguments.values()))
        yield Layout(setting, printed, found.exact, rest[max(ends, default=len(rest)) :], partial)


def _list_needles(fields: Fields) -> list[str]:
    values = [value for call in fields.calls for value in call.arguments.values()]
    return [needle for needle in (fields.reasoning, fields.content, *values) if needle]


def _count_printed(fields: Fields, text: str) -> int:
    """How many calls are printed with name and argument, from the first on."""
    printed = (call.name in text and all(value in text for value in call.arguments.values()) for call in fields.calls)
    return sum(takewhile(bool, printed))


def _choose(layouts: Iterator[Layout], signature: Signature) -> Layout | None:
    best: tuple[tuple[int, bool], Layout] | None = None
    for layout in layouts:
        score = (layout.printed[2] * 3 + layout.printed[0] + layout.printed[1], layout.exact)
        if layout.exact and layout.printed == signature:
            return layout
        if best is None or score > best[0]:
            best = score, layout
    return best[1] if best else None


# The end of turn


def find_ends(study: Study, switches: Switches) -> tuple[str, str]:
    """What ends a turn of content and a turn with calls."""
    if switches not in study.ends:
        study.ends[switches] = "", ""  # for the layouts that are looked for meanwhile
        content = find_layout(study, (False, True, 0), "user", switches)
        calls = find_layout(study, (False, False, 1), "user", switches)
        spoken, called = content.tail if content else "", calls.tail if calls else ""
        if calls and not spoken.strip():
            # Some end their answers only after the result of a tool.
            answer = find_layout(study, (False, True, 0), "tool", switches)
            spoken = answer.tail if answer else spoken
        if not calls:
            study.ends[switches] = spoken, ""
        elif calls.setting.shape.follow != "nothing":
            study.ends[switches] = spoken, spoken
        else:
            both = _cut_common_marks(study, switches, find_common_end(spoken, called))
            own = EOS if called.rstrip().endswith(EOS) else ""
            study.ends[switches] = (both, both) if both.strip() else (spoken, own)
    return study.ends[switches]


def _cut_common_marks(study: Study, switches: Switches, end: str) -> str:
    """An end of turn from its first line on that stands nowhere else in a turn: a server stops there, and cuts nothing before; a
    quote that ends a text in both kinds of turns is the text's."""
    full = find_layout(study, (True, True, 1), "user", switches)
    split = study.oracle.split(full.setting, pick_needles((True, True, 1))) if full else None
    before = split.rest.rstrip().removesuffix(end.rstrip()) if split else ""
    end = end.lstrip().lstrip("\"'`")
    while "\n" in end.rstrip() and end.partition("\n")[0].strip() in before:
        end = end.partition("\n")[2].lstrip()
    return end
