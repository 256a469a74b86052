"""Turns to measure a parser with, from a chat template and from nothing else.

A turn is what a model would have generated for known fields: the prompt is rendered with a generation prompt, the same
conversation is rendered with the answer in it, and what the second has beyond the first is the text. No knowledge of any
format is used, only comparisons of renders: `study` finds out how the template wants to be asked. A turn's truth are the
fields that are printed; whether a reader could tell them is for `rivals` to say.

Where no render of an answer continues the prompt, the longest common start of both takes its place (`exact` is False).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from conversations import CONVERSATIONS, NEXT_RESULT, TOOLS, Conversation, Fields, JsonObject, pick_needles
from rendering import EOS, make_ids
from rivals import find_rival, find_split_rival, strip_arguments, tells_types
from splitting import Setting, find_common_end, find_common_start, is_token
from study import Layout, Study, find_ends, keep_printed, list_layouts, study_template

REWRITTEN_CONTENT = "the template rewrites the content"
REWRITTEN_REASONING = "the template rewrites the reasoning"


@dataclass(frozen=True)
class Turn:
    """What was generated, and what it means.

    `expected` has `reasoning_content`, `content` (None when absent) and `tool_calls`, a list of `name`, `arguments` (an
    object) and `id` (None if the text does not hold it). `unreadable` is why no reader could tell that, or None.
    """

    template: str
    name: str
    switches: JsonObject
    prompt: str
    text: str
    tools: list[JsonObject] | None
    expected: JsonObject
    exact: bool
    ended: bool = False
    unreadable: str | None = None


def build_turns(
    name: str, source: str, *, quick: bool = False, conversations: tuple[Conversation, ...] = CONVERSATIONS
) -> list[Turn]:
    """All turns of a template, each text once. Raises what Jinja raises for a source that cannot be compiled."""
    study = study_template(name, source)
    return list_turns(study, quick=quick, conversations=conversations) if study else []


def list_turns(study: Study, *, quick: bool = False, conversations: tuple[Conversation, ...] = CONVERSATIONS) -> list[Turn]:
    """All turns of a template that has been studied."""
    turns: dict[tuple[str, str, bool], Turn] = {}
    for conversation, layout, leading in list_layouts(study, quick=quick, conversations=conversations):
        for turn in make_turns(study, layout, conversation, leading):
            turns.setdefault((turn.prompt, turn.text, turn.tools is None), turn)
    return list(turns.values())


def _cut_end(study: Study, layout: Layout, fields: Fields, rest: str) -> tuple[str, str]:
    """The text of the turn, and the end of turn after it (empty if it is not known)."""
    spoken, called = find_ends(study, layout.setting.switches)
    if layout.setting.shape.follow != "nothing":
        stop = called.strip() or EOS
        until = rest.rfind(stop, 0, rest.find(NEXT_RESULT) if NEXT_RESULT in rest else len(rest))
        return (rest[:until], stop) if until >= 0 else (rest, "")
    for end in (called if fields.calls else spoken, spoken, called, EOS):
        stripped = rest.rstrip() if not end[-1:].isspace() else rest
        if end and stripped.endswith(end):
            return stripped.removesuffix(end), end.strip()
    return rest, ""


def make_turns(study: Study, layout: Layout, conversation: Conversation, leading: bool) -> Iterator[Turn]:
    setting, fields = replace(layout.setting, tools=conversation.tools), conversation.fields

    def render(other: Fields) -> str | None:
        return study.oracle.render_full(setting, other)

    found = study.oracle.split(setting, fields)
    if not found:
        return
    prompt, rest = found.prompt, found.rest
    if not found.exact:
        # Fields may start with the words that a prompt ends with; needles do not.
        bare = study.oracle.split(setting, pick_needles(fields.signature))
        length = len(bare.prompt) if bare and (prompt + rest).startswith(bare.prompt) else len(prompt)
        prompt, rest = (prompt + rest)[:length], (prompt + rest)[length:]
    text, stop = _cut_end(study, layout, fields, rest)
    if not text.strip():
        return
    told = TOOLS[conversation.tools] if conversation.told else None
    printed = strip_arguments(render, fields)
    printed = printed if layout.partial else keep_printed(printed, layout.printed)
    doubt = layout.unreadable or _find_rewrite(printed, text) or find_split_rival(render, fields, text)
    if not doubt and printed.calls and not _tells_types(study, layout):
        doubt = find_rival(render, fields, told)
    ids = make_ids(fields, setting.shape, int(setting.history == "tool"))
    expected = _expect(printed, [given if given in text else None for given in ids])
    switches = dict(setting.switches)
    turn = Turn(study.name, conversation.name, switches, prompt, text, told, expected, found.exact, unreadable=doubt)
    yield turn
    ending = _read_ended(study, setting, rest[len(text) :]) if leading and stop and setting.shape.follow == "nothing" else ""
    if ending:
        yield replace(turn, name=f"{turn.name}, ended", text=text + ending, ended=True)


def _read_ended(study: Study, setting: Setting, tail: str) -> str:
    """As much of what follows the last answer as also ends past answers; the rest may be the next prompt already."""
    closing = study.oracle.find_closing(setting)
    if find_common_end(tail.strip(), closing.strip()).strip():
        return ""
    if is_token(tail.strip()):
        return tail.rstrip()
    after, space = study.oracle.read_after(setting).lstrip(), len(tail) - len(tail.lstrip())
    if tail.strip() and tail.strip() in after:  # which may begin with what ends the answer itself
        return tail.rstrip()
    common = space + find_common_start(tail[space:], after)
    left = tail[common:].strip()
    return tail[:common].rstrip() if not left or is_token(left) else ""


def _find_rewrite(fields: Fields, text: str) -> str | None:
    if fields.content is not None and fields.content.strip() not in text:
        return REWRITTEN_CONTENT
    if fields.reasoning is not None and fields.reasoning.strip() not in text:
        return REWRITTEN_REASONING
    return None


def _tells_types(study: Study, layout: Layout) -> bool:
    if study.typed is None:
        call = pick_needles((False, False, 1)).calls[0]
        setting = replace(layout.setting, history="user", tools="plain", switches=())
        study.typed = tells_types(lambda fields: study.oracle.render_full(setting, fields), call)
    return study.typed


def _expect(fields: Fields, ids: list[str | None]) -> JsonObject:
    calls = [{"id": given, "name": call.name, "arguments": call.arguments} for given, call in zip(ids, fields.calls, strict=False)]
    return {"reasoning_content": fields.reasoning, "content": fields.content, "tool_calls": calls}
