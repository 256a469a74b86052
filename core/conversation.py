"""What conversations a template takes, and what it prints around the messages of each role.

Both are asked for, never read: conversations of a few messages with needles in them are rendered, and looked at is what
comes out. A template may *refuse* a conversation, or *drop* a message from it without a word. Which message may stand
behind which is asked pair by pair, in the shortest conversations that have the pair. What stands around a message is told
by a render that has it and one that ends before it; glued together again, these texts must give what the template
renders, or the layout is not proven.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from .errors import BudgetError, TemplateError, TemplateRefusal
from .format import ID, NAME, Conversation, Role, Step
from .marker import cut_common_prefix, cut_common_suffix, is_blank
from .probes import NAMES, Call, Oracle, Question, build_assistant, build_tools

SYSTEM, USER, ASSISTANT, CALLS, TOOL = "system", "user", "assistant", "assistant with calls", "tool"
"""The kinds of messages that are asked about; a message with tool calls is a kind of its own."""

OTHER = "any other role"
"""The kind of a message whose role no template knows."""

BEGINNING = PROMPT = ""
"""What stands for the beginning of a conversation in a step, and for the generation prompt at its end."""

ANYWHERE = "*"
"""What stands in a step for every place: the kind of message is taken nowhere."""

Kinds = tuple[str, ...]

_UNKNOWN_ROLE = "rqolemi"
NEEDLES = ("mqvandis", "mqtolber", "mqsuviro", "mqlenaka", "mqpidoru", "mqhemast")
_OUTCOMES = ("printed", "replaces", "dropped", "refused")
_TAILS: Mapping[str, Kinds] = {SYSTEM: (USER,), ASSISTANT: (USER,), CALLS: (TOOL,), TOOL: (ASSISTANT,), OTHER: (USER,)}
"""What some templates want to see behind a message before they take it."""

_LEADS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    BEGINNING: ((),),
    SYSTEM: ((SYSTEM,),),
    USER: ((USER,), (SYSTEM, USER)),
    ASSISTANT: ((USER, ASSISTANT), (SYSTEM, USER, ASSISTANT)),
    CALLS: ((USER, CALLS), (SYSTEM, USER, CALLS)),
    TOOL: ((USER, CALLS, TOOL), (USER, ASSISTANT, TOOL), (SYSTEM, USER, CALLS, TOOL)),
    OTHER: ((OTHER,), (USER, OTHER)),
}
"""The conversations, shortest first, that end with a message of a kind."""


@dataclass(frozen=True)
class Answer:
    """What became of a conversation: its text, the messages that are not in it, or the template's reason to refuse it."""

    text: str = ""
    missing: tuple[int, ...] = ()
    refused: bool = False
    reason: str = ""


class Asker:
    """Renders conversations given as kinds of messages, in the shape that the template takes."""

    def __init__(self, oracle: Oracle, calls: tuple[Call, ...]) -> None:
        self._oracle = oracle
        self._calls = calls
        self._answers: dict[tuple[Kinds, bool], Answer] = {}

    def ask(self, kinds: Kinds, prompt: bool = False) -> Answer:
        """Render a conversation; raises :class:`BudgetError` when the bounds of the analysis are exceeded."""
        key = (kinds, prompt)
        if key not in self._answers:
            self._answers[key] = self._ask(kinds, prompt)
        return self._answers[key]

    def _ask(self, kinds: Kinds, prompt: bool) -> Answer:
        shape = self._oracle.shape
        messages = [self._build(kind, number) for number, kind in enumerate(kinds)]
        calls = tuple(self.name_call(number) for number, kind in enumerate(kinds) if kind == CALLS)
        tools = build_tools(calls, shape) if shape.tools == "always" or (calls and shape.tools != "never") else None
        try:
            text = self._oracle.renderer(messages, tools, prompt, **dict(shape.switches))
        except BudgetError:
            raise
        except TemplateError as error:
            return Answer(refused=True, reason=error.reason if isinstance(error, TemplateRefusal) else "")
        text = text if prompt else text.removesuffix(self._oracle.trailing)
        wanted = [self.name_call(number).name if kind == CALLS else name_needle(number) for number, kind in enumerate(kinds)]
        return Answer(text, tuple(number for number, needle in enumerate(wanted) if needle not in text))

    def _build(self, kind: str, number: int) -> dict[str, Any]:
        shape = self._oracle.shape
        needle = name_needle(number)
        if kind == CALLS:
            return build_assistant(Question(content=None, calls=(self.name_call(number),)), shape)
        if kind == TOOL:
            call = self.name_call(number - 1)
            return {"role": TOOL, "tool_call_id": call.id, "name": call.name, "content": needle}
        content = [{"type": "text", "text": needle}] if shape.parts else needle
        return {"role": _UNKNOWN_ROLE if kind == OTHER else kind, "content": content}

    def name_call(self, number: int) -> Call:
        """Return the call of the message with a number; its name has the needle of the message in it."""
        call = self._calls[0] if self._calls else Call.of(0, {})
        return replace(call, name=f"{NAMES[0]}_{name_needle(number)}")


def name_needle(number: int) -> str:
    """Return the content of the message with a number, counted from 0."""
    return NEEDLES[number % len(NEEDLES)]


def find_conversation(oracle: Oracle, calls: tuple[Call, ...]) -> Conversation:
    """Derive which conversations a template takes, and what it prints around messages.

    ``calls`` holds a call that the template prints, in the shape of the oracle, or nothing. Costs some dozens of renders.
    """
    asker = Asker(oracle, calls)
    steps: list[Step] = []
    taken: list[str] = []
    for kind in (SYSTEM, USER, ASSISTANT, *((CALLS,) if calls else ()), TOOL, OTHER):
        step = _choose(step for lead in _LEADS[kind] for step in _try_step(asker, lead[:-1], kind))
        if step.outcome == "printed":
            taken.append(kind)
        else:
            steps.append(replace(step, before=ANYWHERE))
    pairs = [pair for pair in product((BEGINNING, *taken), (*taken, PROMPT)) if any(pair)]
    steps += [_choose(step for lead in _LEADS[before] for step in _try_step(asker, lead, kind)) for before, kind in pairs]
    needs_user = all(asker.ask(lead, True).refused for lead in ((SYSTEM,), (ASSISTANT,), (SYSTEM, ASSISTANT)))
    layout = _find_layout(asker) or Conversation()
    needed, single = (USER,) if needs_user else (), (SYSTEM,) if _is_replaced(asker) else ()
    return replace(layout, steps=tuple(steps), needed=needed, single=single)


def _is_replaced(asker: Asker) -> bool:
    """Whether a system message behind others is printed, and an earlier one then is not."""
    answer = asker.ask((SYSTEM, USER, SYSTEM, USER))
    return not answer.refused and answer.missing == (0,) and not asker.ask((SYSTEM, USER)).missing


def _choose(steps: Iterable[Step]) -> Step:
    """Return the best of the outcomes that a pair of messages has in several conversations."""
    tried = []
    for step in steps:
        if step.outcome == "printed":
            return step
        tried.append(step)
    return min(tried, key=lambda step: (_OUTCOMES.index(step.outcome), not step.reason))


def _try_step(asker: Asker, lead: Kinds, kind: str) -> Iterator[Step]:
    """Ask what becomes of a message, and, where it is not printed, of the message with another one behind it."""
    before = lead[-1] if lead else BEGINNING
    place = len(lead)
    for tail in ((), *((_TAILS[kind],) if kind in _TAILS else ())):
        answer = asker.ask((*lead, *((kind,) if kind else ()), *tail), kind == PROMPT)
        if answer.refused:
            yield Step(before, kind, "refused", answer.reason)
            continue
        if kind != PROMPT and place in answer.missing:
            yield Step(before, kind, "dropped")
            continue
        if kind != PROMPT and place - 1 in answer.missing and place - 1 not in asker.ask(lead).missing:
            yield Step(before, kind, "replaces")
        else:
            yield Step(before, kind, "printed")
        return


# Layout


def _find_layout(asker: Asker) -> Conversation | None:
    """Return what stands around messages, from conversations of two turns; None where there are none."""
    first, pair, longer = asker.ask((USER,)), asker.ask((USER, ASSISTANT)), asker.ask((USER, ASSISTANT, USER, ASSISTANT))
    gaps = _split(longer, 4)
    if gaps is None or first.missing or pair.missing or first.refused or pair.refused:
        return None
    lead = gaps[0]
    user_end = cut_common_prefix(gaps[1], _behind(first, 0))
    assistant_end = cut_common_prefix(gaps[2], _behind(pair, 1))
    user_start = gaps[2][len(assistant_end) :]
    shared = cut_common_suffix(user_start, lead)
    if not is_blank(shared):
        user_start = shared
    assistant_end = gaps[2][: len(gaps[2]) - len(user_start)]
    opening = lead.removesuffix(user_start)
    assistant_start = gaps[1][len(user_end) :]
    if not user_end and not is_blank(assistant_end) and assistant_start.startswith(assistant_end):
        # A generation prompt that is always printed hides what ends a message before it; both roles end alike.
        user_end, assistant_start = assistant_end, assistant_start[len(assistant_end) :]
    alike = user_start.replace(USER, ASSISTANT)
    if is_blank(assistant_start) and alike != user_start and gaps[1].endswith(alike + assistant_start):
        # The header of the assistant's turn is printed behind every user's message, even where no turn follows.
        assistant_start = alike + assistant_start
        user_end = gaps[1].removesuffix(assistant_start)
    roles = [Role(USER, user_start, user_end), Role(ASSISTANT, assistant_start, assistant_end)]
    layout = _add_system(asker, Conversation(opening=opening, roles=tuple(roles)), roles[0])
    layout = _add_tool(asker, layout)
    return replace(layout, proven=_is_proven(asker, layout))


def _split(answer: Answer, count: int) -> list[str] | None:
    """Return the texts before and between the needles of a conversation, or None where one is missing or out of order."""
    if answer.refused:
        return None
    pieces, position = [], 0
    for number in range(count):
        found = answer.text.find(name_needle(number), position)
        if found < 0:
            return None
        pieces.append(answer.text[position:found])
        position = found + len(name_needle(number))
    return pieces


def _behind(answer: Answer, number: int) -> str:
    return answer.text.rpartition(name_needle(number))[2]


def _add_system(asker: Asker, layout: Conversation, user: Role) -> Conversation:
    """Add the system role, in a message of its own or inside the user's, and what stands there without one."""
    pieces = _split(asker.ask((SYSTEM, USER)), 2)
    if pieces is None:
        return layout
    before, between = pieces
    opening = layout.opening
    if not between.endswith(user.start) and before.startswith(opening + user.start):
        role = Role(SYSTEM, before.removeprefix(opening + user.start), between, within=USER)
        return replace(layout, roles=(role, *layout.roles))
    end = between.removesuffix(user.start)
    start = before.removeprefix(opening)
    if not before.startswith(opening):
        # The template has a system message of its own where none is given. The header of the user's tells that of the
        # system's, if the two differ by the role's name alone.
        alike = user.start.replace(USER, SYSTEM)
        start = alike if USER in user.start and before.endswith(alike) else before[len(cut_common_prefix(before, opening)) :]
        shared = before.removesuffix(start)
        layout = replace(layout, opening=shared, preset=opening.removeprefix(shared))
    return replace(layout, roles=(Role(SYSTEM, start, end), *layout.roles))


def _add_tool(asker: Asker, layout: Conversation) -> Conversation:
    lead = asker.ask((USER, CALLS))
    answer = asker.ask((USER, CALLS, TOOL))
    if answer.refused or answer.missing or lead.refused:
        return layout
    before, _, end = answer.text.rpartition(name_needle(2))
    call = asker.name_call(1)
    values = [value for value in json.loads(call.arguments).values() if value in before and value in lead.text]
    last = values[-1] if values else call.name
    # What follows the last field of the call, less what closes the call where no result follows.
    behind, closing = before.rpartition(last)[2], lead.text.rpartition(last)[2]
    start = behind[len(cut_common_prefix(behind, closing)) :]
    start, end = (text.replace(call.name, NAME).replace(call.id, ID) for text in (start, end))
    return replace(layout, roles=(*layout.roles, Role(TOOL, start, end)))


def _is_proven(asker: Asker, layout: Conversation) -> bool:
    """Whether conversations glued together from the layout are what the template renders.

    What a template prints behind every conversation that no answer follows may stand there, if it is always the same.
    """
    conversations: list[Kinds] = [(USER,), (USER, ASSISTANT, USER), (USER, ASSISTANT, USER, ASSISTANT, USER)]
    if any(role.name == SYSTEM for role in layout.roles):
        conversations += [(SYSTEM, USER), (SYSTEM, USER, ASSISTANT, USER)]
    endings = set()
    for kinds in conversations:
        written = layout.compose((kind, name_needle(number)) for number, kind in enumerate(kinds))
        text = asker.ask(kinds, True).text
        if not text.startswith(written):
            return False
        endings.add(text[len(written) :])
    return len(endings) == 1
