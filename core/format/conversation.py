"""How messages are laid out, which conversations a template takes, and what is wrong with one that it does not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

SYSTEM, USER, ASSISTANT, CALLS, TOOL = "system", "user", "assistant", "assistant with calls", "tool"
"""The kinds of messages that are asked about; a message with tool calls is a kind of its own."""

OTHER = "any other role"
"""The kind of a message whose role no template knows."""

BEGINNING = PROMPT = ""
"""What stands for the beginning of a conversation in a step, and for the generation prompt at its end."""

ANYWHERE = "*"
"""What stands in a step for every place: the kind of message is taken nowhere."""

NAME, ID = "\ue000", "\ue002"
"""What stands in the text around a tool's message for the call that it answers."""

Message = Mapping[str, Any]

_ROLES = (SYSTEM, USER, ASSISTANT, TOOL)
_FIRST = (SYSTEM, USER, ASSISTANT)


@dataclass(frozen=True)
class Role:
    """What a template prints around the messages of one role, layout included.

    ``within`` names the role in whose next message this one stands, as a system prompt does in some templates. :data:`NAME`
    and :data:`ID` stand for the call that a tool's message answers.
    """

    name: str
    start: str = ""
    end: str = ""
    within: str = ""


@dataclass(frozen=True)
class Step:
    """What becomes of a message (``kind``) behind another (``before``).

    A kind is a role, ``"assistant with calls"`` or ``"any other role"``. An empty ``before`` is the beginning of the
    conversation and ``"*"`` any place, an empty ``kind`` the generation prompt at its end. A message that is
    ``"dropped"`` is left out without a word; one that ``"replaces"`` the message before it makes the template drop that
    one. ``reason`` is what the template says where it refuses.
    """

    before: str
    kind: str
    outcome: Literal["printed", "replaces", "dropped", "refused"]
    reason: str = ""


@dataclass(frozen=True)
class Problem:
    """A rule that a conversation breaks.

    ``index`` is that of the message, counted from 0, or None where it is the conversation as a whole. ``dropped`` is set
    where the template would render the conversation and leave something out; else it refuses it. ``message`` says it all
    in words.
    """

    index: int | None
    dropped: bool
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Conversation:
    """How messages are laid out, and which conversations the template takes.

    ``opening`` stands before the first message, ``preset`` in place of a system message where none is given. ``steps``
    tell for each pair of messages whether the second may follow the first, ``needed`` the roles that each conversation
    must have, ``single`` those of which only the last message is printed. ``proven`` is set where renders are exactly
    what the layout says.
    """

    opening: str = ""
    preset: str = ""
    roles: tuple[Role, ...] = ()
    steps: tuple[Step, ...] = ()
    needed: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    proven: bool = False

    def compose(self, messages: Iterable[tuple[str, str]]) -> str:
        """Write messages, given as role and content, as the layout says; raises KeyError for a role without layout."""
        roles = {role.name: role for role in self.roles}
        parts, held = [self.opening], ""
        for number, (name, content) in enumerate(messages):
            role = roles[name]
            written = role.start + held + content + role.end
            held = role.start + content + role.end if role.within else ""
            if not number and name != SYSTEM:
                parts.append(self.preset)
            parts.append("" if role.within else written)
        return "".join(parts)

    def validate(self, messages: Sequence[Message], add_generation_prompt: bool = True) -> list[Problem]:
        """Return the rules that a conversation breaks, in the order of its messages; an empty list if it is fine.

        ``messages`` are OpenAI-style dicts. Rules are about roles and their order: what stands in the other fields is not
        looked at. Costs microseconds; raises nothing for whatever the messages are.
        """
        return list(_Rules(self).list_problems(messages, add_generation_prompt))


def find_kind(message: Message) -> str:
    """Return the kind of a message: its role, unless it has tool calls or a role that is not asked about."""
    role = message.get("role")
    if role == ASSISTANT and message.get("tool_calls"):
        return CALLS
    return role if isinstance(role, str) and role in _ROLES else OTHER


def name_role(message: Message) -> str:
    """Return the role of a message in words."""
    return "with tool calls" if find_kind(message) == CALLS else repr(message.get("role")).strip("'")


class _Rules:
    """The steps of a conversation, looked up."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._steps = {(step.before, step.kind): step for step in conversation.steps}
        self._taken = [kind for before, kind in self._steps if before != ANYWHERE and kind]
        self._fine = [place for place, step in self._steps.items() if step.outcome == "printed"]

    def list_problems(self, messages: Sequence[Message], prompt: bool) -> Iterator[Problem]:
        before, previous = BEGINNING, -1
        for index, message in enumerate(messages):
            kind = find_kind(message)
            if kind == CALLS and CALLS not in self._taken and (ANYWHERE, CALLS) not in self._steps:
                yield Problem(index, True, f"Message {index} ({ASSISTANT}) has tool calls, and this template prints none.")
                kind = ASSISTANT
            unknown = self._steps.get((ANYWHERE, kind))
            if unknown is not None:
                yield self._explain_kind(index, message, unknown)
                continue
            step = self._steps.get((before, kind))
            earlier = [place for place in range(index) if find_kind(messages[place]) == kind]
            if kind in self._conversation.single and earlier:
                text = f"Message {earlier[-1]} ({kind}) is dropped without a word: message {index} has the same role, and this "
                yield Problem(earlier[-1], True, f"{text}template prints only the last of them. Join the two into one.")
            elif step is not None and step.outcome != "printed":
                yield self._explain_step(index, previous, message, step)
            before, previous = kind, index
        yield from self._list_problems_of_all(messages, before, prompt)

    def _list_problems_of_all(self, messages: Sequence[Message], before: str, prompt: bool) -> Iterator[Problem]:
        """List what is wrong with the roles that are there, and with the end."""
        for role in self._conversation.needed if messages else ():
            if all(find_kind(message) != role for message in messages):
                yield Problem(None, False, f"There is no message of the role {role!r}, and this template wants one.")
        last = self._steps.get((before, PROMPT))
        if prompt and messages and last is not None and last.outcome == "refused":
            where = f"Message {len(messages) - 1} ({name_role(messages[-1])})"
            endings = _list_kinds(before for before, kind in self._fine if not kind)
            text = f"{where} cannot be the last: the template wants {endings}.{_quote(last)}"
            yield Problem(len(messages) - 1, False, text)

    def _explain_kind(self, index: int, message: Message, step: Step) -> Problem:
        """Say that messages of a kind are taken nowhere."""
        does = "drops them without a word" if step.outcome == "dropped" else "refuses them"
        if step.kind == SYSTEM:
            text = f"Message {index} is a system message: this template has no system role and {does}."
            text += f" Put the text at the beginning of the first {USER} message."
        else:
            known = _list_kinds(self._taken)
            text = f"Message {index} has the role {name_role(message)!r}: this template knows {known}, and {does}."
        return Problem(index, step.outcome == "dropped", text + _quote(step))

    def _explain_step(self, index: int, previous: int, message: Message, step: Step) -> Problem:
        """Say that a message cannot stand behind the one before it."""
        role = name_role(message)
        following = _list_kinds(k for before, k in self._fine if before == step.before and (before or k in _FIRST))
        if step.outcome == "replaces":
            text = f"Message {index} ({role}) stands in for message {previous}, which this template then drops without a word."
        elif step.outcome == "dropped":
            preceding = _list_kinds(before or "the beginning" for before, kind in self._fine if kind == step.kind)
            text = f"Message {index} ({role}) is dropped without a word: this template prints one only behind {preceding}."
        elif not step.before:
            text = f"Message {index} ({role}) cannot be the first: the conversation must begin with {following}."
        elif step.before == step.kind:
            text = f"Messages {previous} and {index} are both of the role {role!r}: roles must alternate."
            text += f" Behind {step.before} the template takes {following}; join the two into one."
        else:
            text = f"Message {index} ({role}) cannot follow message {previous} ({step.before}): "
            text += f"behind {step.before} the template takes {following}."
        return Problem(index, step.outcome != "refused", text + _quote(step))


def _list_kinds(kinds: Iterable[str]) -> str:
    named = list(dict.fromkeys(kind or "the end" for kind in kinds if kind != OTHER)) or ["nothing"]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"


def _quote(step: Step) -> str:
    reason = " ".join(step.reason.split())
    return f" It says: {reason!r}" if reason else ""
