"""What conversations a template takes, and what it prints around the messages of each role.

Both are asked for, never read: conversations of a few messages, each with a word of its own, are rendered, and looked at
is what comes out. A template may *refuse* a conversation, or *drop* a message from it without a word. Which message may
stand behind which is asked pair by pair, in the shortest conversations that have the pair. What stands around a message
is told by a render that has it and one that ends before it; glued together again, these texts must give what the template
renders, or they are not proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from ..ask.oracle import Oracle
from ..ask.question import Call, Question, Shape, build_result, build_tools, build_turn, wrap_text
from ..ask.shapes import make_test_call
from ..ask.words import make_word
from ..errors import TemplateError, TemplateRefusal
from ..format.conversation import (
    ANYWHERE,
    ASSISTANT,
    BEGINNING,
    CALLS,
    ID,
    NAME,
    OTHER,
    PROMPT,
    SYSTEM,
    TOOL,
    USER,
    Conversation,
    Role,
    Step,
)
from ..format.cut import cut_common_end, cut_common_start

Kinds = tuple[str, ...]

_UNKNOWN_ROLE = make_word("role")
_OUTCOMES = ("printed", "replaces", "dropped", "refused")
_TAILS: Mapping[str, Kinds] = {SYSTEM: (USER,), ASSISTANT: (USER,), CALLS: (TOOL,), TOOL: (ASSISTANT,), OTHER: (USER,)}
"""What some templates want to see behind a message before they take it."""

_LEADS: Mapping[str, tuple[Kinds, ...]] = {
    BEGINNING: ((),),
    SYSTEM: ((SYSTEM,),),
    USER: ((USER,), (SYSTEM, USER)),
    ASSISTANT: ((USER, ASSISTANT), (SYSTEM, USER, ASSISTANT)),
    CALLS: ((USER, CALLS), (SYSTEM, USER, CALLS)),
    TOOL: ((USER, CALLS, TOOL), (USER, ASSISTANT, TOOL), (SYSTEM, USER, CALLS, TOOL)),
    OTHER: ((OTHER,), (USER, OTHER)),
}
"""The conversations, shortest first, that end with a message of a kind."""


class Answer(NamedTuple):
    """What became of a conversation: its text, the messages that are not in it, or the template's reason to refuse it."""

    text: str = ""
    missing: tuple[int, ...] = ()
    refused: bool = False
    reason: str = ""


class Asker:
    """Renders conversations given as kinds of messages, in the shape that the template takes."""

    def __init__(self, oracle: Oracle, shape: Shape) -> None:
        self._renderer, self._shape = oracle.renderer, shape
        self._call = make_test_call(shape)
        self._trailing = _find_trailing(oracle, shape)
        self._answers: dict[tuple[Kinds, bool], Answer] = {}

    def ask(self, kinds: Kinds, prompt: bool = False) -> Answer:
        """Render a conversation; raises :class:`BudgetError` when the bounds of the analysis are exceeded."""
        key = (kinds, prompt)
        if key not in self._answers:
            self._answers[key] = self._ask(kinds, prompt)
        return self._answers[key]

    def _ask(self, kinds: Kinds, prompt: bool) -> Answer:
        messages = [self._build(kind, number) for number, kind in enumerate(kinds)]
        calls = [self.name_call(number) for number, kind in enumerate(kinds) if kind == CALLS]
        tools = build_tools(calls, self._shape) if calls and self._shape.tools else None
        try:
            text = self._renderer(messages, tools, prompt)
        except TemplateError as error:
            return Answer(refused=True, reason=error.reason if isinstance(error, TemplateRefusal) else "")
        text = text if prompt else text.removesuffix(self._trailing)
        words = [self.name_call(number).name if kind == CALLS else name_word(number) for number, kind in enumerate(kinds)]
        return Answer(text, tuple(number for number, word in enumerate(words) if word not in text))

    def _build(self, kind: str, number: int) -> dict[str, Any]:
        word = name_word(number)
        if kind == CALLS:
            return build_turn(Question(calls=(self.name_call(number),)), self._shape)
        if kind == TOOL:
            return build_result(self.name_call(number - 1), word)
        return {"role": _UNKNOWN_ROLE if kind == OTHER else kind, "content": wrap_text(word, self._shape)}

    def name_call(self, number: int) -> Call:
        """Return the call of the message with a number; its name is a word of its own."""
        return self._call.rename(make_word("fm", number))


def _find_trailing(oracle: Oracle, shape: Shape) -> str:
    """Return the generation prompt if the template prints it behind every conversation, asked for or not."""
    prompt = oracle.ask_prompt(Question(tools=False), shape)
    return prompt.trailing if prompt and prompt.ends != "messages" and prompt.trailing.strip() else ""


def name_word(number: int) -> str:
    """Return the content of the message with a number, counted from 0."""
    return make_word("m", number)


def find_conversation(oracle: Oracle, shape: Shape, calling: bool) -> Conversation:
    """Derive which conversations a template takes, and what it prints around messages.

    ``shape`` is the one in which it takes calls where it prints any (``calling``). Costs some dozens of renders.
    """
    asker = Asker(oracle, shape)
    steps: list[Step] = []
    taken: list[str] = []
    for kind in (SYSTEM, USER, ASSISTANT, *((CALLS,) if calling else ()), TOOL, OTHER):
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
    before, place = lead[-1] if lead else BEGINNING, len(lead)
    for tail in ((), *((_TAILS[kind],) if kind in _TAILS else ())):
        answer = asker.ask((*lead, *((kind,) if kind else ()), *tail), kind == PROMPT)
        if answer.refused:
            yield Step(before, kind, "refused", answer.reason)
        elif kind != PROMPT and place in answer.missing:
            yield Step(before, kind, "dropped")
        else:
            replaced = kind != PROMPT and place - 1 in answer.missing and place - 1 not in asker.ask(lead).missing
            yield Step(before, kind, "replaces" if replaced else "printed")
            return


# Layout


def _find_layout(asker: Asker) -> Conversation | None:
    """Return what stands around messages, from conversations of two turns; None where there are none."""
    first, pair, longer = asker.ask((USER,)), asker.ask((USER, ASSISTANT)), asker.ask((USER, ASSISTANT, USER, ASSISTANT))
    gaps = _split(longer, 4)
    if gaps is None or first.missing or pair.missing or first.refused or pair.refused:
        return None
    lead = gaps[0]
    user_end = cut_common_start([gaps[1], _behind(first, 0)])
    assistant_end = cut_common_start([gaps[2], _behind(pair, 1)])
    user_start = gaps[2][len(assistant_end) :]
    shared = cut_common_end([user_start, lead])
    if shared.strip():
        user_start = shared
    assistant_end = gaps[2][: len(gaps[2]) - len(user_start)]
    opening = lead.removesuffix(user_start)
    assistant_start = gaps[1][len(user_end) :]
    if not user_end and assistant_end.strip() and assistant_start.startswith(assistant_end):
        # A generation prompt that is always printed hides what ends a message before it; both roles end alike.
        user_end, assistant_start = assistant_end, assistant_start[len(assistant_end) :]
    alike = user_start.replace(USER, ASSISTANT)
    if not assistant_start.strip() and alike != user_start and gaps[1].endswith(alike + assistant_start):
        # The header of the assistant's turn is printed behind every user's message, even where no turn follows.
        assistant_start = alike + assistant_start
        user_end = gaps[1].removesuffix(assistant_start)
    roles = (Role(USER, user_start, user_end), Role(ASSISTANT, assistant_start, assistant_end))
    layout = _add_tool(asker, _add_system(asker, Conversation(opening=opening, roles=roles), roles[0]))
    return replace(layout, proven=_is_proven(asker, layout))


def _split(answer: Answer, count: int) -> list[str] | None:
    """Return the texts before and between the words of a conversation, or None where one is missing or out of order."""
    pieces, rest = [], answer.text
    for number in range(count):
        piece, found, rest = rest.partition(name_word(number))
        if not found:
            return None
        pieces.append(piece)
    return pieces


def _behind(answer: Answer, number: int) -> str:
    return answer.text.rpartition(name_word(number))[2]


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
        told = USER in user.start and before.endswith(alike)
        start = alike if told else before[len(cut_common_start([before, opening])) :]
        shared = before.removesuffix(start)
        layout = replace(layout, opening=shared, preset=opening.removeprefix(shared))
    return replace(layout, roles=(Role(SYSTEM, start, end), *layout.roles))


def _add_tool(asker: Asker, layout: Conversation) -> Conversation:
    lead, answer = asker.ask((USER, CALLS)), asker.ask((USER, CALLS, TOOL))
    if answer.refused or answer.missing or lead.refused:
        return layout
    before, _, end = answer.text.rpartition(name_word(2))
    call = asker.name_call(1)
    values = [value for value in call.object.values() if value in before and value in lead.text]
    last = values[-1] if values else call.name
    # What follows the last field of the call, less what closes the call where no result follows.
    behind, closing = before.rpartition(last)[2], lead.text.rpartition(last)[2]
    start = behind[len(cut_common_start([behind, closing])) :]
    start, end = (text.replace(call.id, ID).replace(call.name, NAME) for text in (start, end))
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
        written = layout.compose((kind, name_word(number)) for number, kind in enumerate(kinds))
        text = asker.ask(kinds, True).text
        if not text.startswith(written):
            return False
        endings.add(text[len(written) :])
    return len(endings) == 1
