"""Whether a chat template takes a conversation, and if not, which rule it breaks and where.

:func:`validate` holds a conversation against the rules that the analysis learnt by questioning the template; it needs
nothing but the format. :func:`check_conversation` asks the template itself about this very conversation, so that nothing
is missed, and uses the rules to say what is wrong. A message that is *dropped* is a problem too: the model never sees it,
and no error tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .budget import Budget
from .conversation import ANYWHERE, ASSISTANT, BEGINNING, CALLS, OTHER, PROMPT, SYSTEM, TOOL, USER, find_conversation
from .errors import BudgetError, TemplateError, TemplateRefusal
from .probes import Oracle
from .renderer import Renderer, load_renderer
from .tools import list_call_shapes
from .turn import ask_prompts, find_shape

if TYPE_CHECKING:
    from .format import ChatFormat, Step

Message = Mapping[str, Any]

_ROLES = (SYSTEM, USER, ASSISTANT, TOOL)
_FIRST = (SYSTEM, USER, ASSISTANT)
_ID = "a1B2c3D4e"
_NEEDLE = "vqorimas"


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


def validate(format: ChatFormat, messages: Sequence[Message], add_generation_prompt: bool = True) -> list[Problem]:
    """Return the rules that a conversation breaks, in the order of its messages; an empty list if it is fine.

    ``messages`` are OpenAI-style dicts. Rules are about roles and their order: what stands in the other fields is not
    looked at. Costs microseconds; raises nothing for whatever the messages are.
    """
    return list(_list_problems(format, messages, add_generation_prompt))


def check_conversation(
    template: Any,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = True,
    **kwargs: Any,
) -> list[Problem]:
    """Return what a template finds wrong with a conversation; an empty list where it renders all of it.

    ``template`` is whatever :func:`load_renderer` takes; further arguments go to it (special tokens, switches). The
    template is asked about this conversation; where it refuses, the rules it was found to have say why, or else the
    change of one message with which it does not refuse. Raises :class:`TemplateError` for a template that cannot be
    loaded. Costs up to a hundred renders.
    """
    ask = _Checker(load_renderer(template, **kwargs).within(Budget()), tools, kwargs)
    refusal = ask.find_refusal(messages, add_generation_prompt)
    if refusal is not None:
        rules = [problem for problem in _ask_rules(ask, messages, add_generation_prompt) if not problem.dropped]
        return rules or [_explain_refusal(ask, messages, add_generation_prompt, refusal)]
    missing = ask.list_dropped(messages, add_generation_prompt)
    known = {problem.index: problem for problem in _ask_rules(ask, messages, add_generation_prompt) if problem.dropped}
    return [known.get(index) or _explain_drop(ask, messages, add_generation_prompt, index) for index in missing]


def _explain_drop(ask: _Checker, messages: Sequence[Message], prompt: bool, index: int) -> Problem:
    """Say that nothing of a message is printed, or in which form it would be."""
    why = "nothing of its content is in the prompt"
    for words, changed in _vary(messages[index]):
        if index not in ask.list_dropped([*messages[:index], changed, *messages[index + 1 :]], prompt):
            why = words
            break
    return Problem(index, True, f"Message {index} ({_name_role(messages[index])}) is dropped without a word: {why}.")


class _Checker:
    """Asks a renderer about one conversation and changed copies of it."""

    def __init__(self, renderer: Renderer, tools: Sequence[Mapping[str, Any]] | None, kwargs: dict[str, Any]) -> None:
        self.renderer = renderer
        self.tools = tools
        self._kwargs = kwargs

    def find_refusal(self, messages: Sequence[Message], prompt: bool, tools: bool = True) -> TemplateError | None:
        """Return why the template does not render a conversation, or None where it does."""
        try:
            self.renderer(messages, self.tools if tools else None, prompt, **self._kwargs)
        except BudgetError:
            raise
        except TemplateError as error:
            return error
        return None

    def list_dropped(self, messages: Sequence[Message], prompt: bool) -> list[int]:
        """Return the messages of whose text nothing is printed, told by needles in its place."""
        marked = [_set_text(message, f"{_NEEDLE}{index}q") for index, message in enumerate(messages)]
        try:
            text = self.renderer(marked, self.tools, prompt, **self._kwargs)
        except BudgetError:
            raise
        except TemplateError:
            return []  # it looks at what the texts say; nothing can be put in their place
        return [
            index for index, message in enumerate(marked) if message != messages[index] and f"{_NEEDLE}{index}q" not in text
        ]


def _set_text(message: Message, text: str) -> Message:
    """Return a message with another text as its content, if it has one."""
    content = message.get("content")
    if isinstance(content, str) and content.strip():
        return {**message, "content": text}
    if isinstance(content, list) and any(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        return {**message, "content": [{"type": "text", "text": text}]}
    return message


def _ask_rules(ask: _Checker, messages: Sequence[Message], prompt: bool) -> list[Problem]:
    """Learn the rules of the template, and hold the conversation against them."""
    from .format import Capabilities, ChatFormat  # the format offers `validate`, so it cannot be imported first

    oracle = Oracle(ask.renderer)
    if not find_shape(oracle):
        return []
    ask_prompts(oracle)
    shape, calls = next(list_call_shapes(oracle), (oracle.shape, ()))
    oracle.shape = shape
    rules = find_conversation(oracle, calls)
    format = ChatFormat(conversation=rules, capabilities=Capabilities(tool_calls=bool(calls)))
    return validate(format, messages, prompt)


def _explain_refusal(ask: _Checker, messages: Sequence[Message], prompt: bool, refusal: TemplateError) -> Problem:
    """Find the message from which on the template refuses, and a change with which it does not."""
    reason = refusal.reason if isinstance(refusal, TemplateRefusal) else str(refusal)
    if ask.tools and ask.find_refusal(messages, prompt, tools=False) is None:
        return Problem(
            None, False, f"The template takes this conversation without tools, and refuses it with them: {reason}"
        )
    if ask.find_refusal([_rename_calls(message) for message in messages], prompt) is None:
        return Problem(None, False, f"The template wants other ids of calls, such as {_ID!r}. It says: {reason!r}")
    for index in reversed(range(len(messages))):
        for words, changed in _vary(messages[index]):
            if ask.find_refusal([*messages[:index], changed, *messages[index + 1 :]], prompt) is None:
                return Problem(
                    index, False, f"Message {index} ({_name_role(messages[index])}): {words}. It says: {reason!r}"
                )
    count = next((n for n in range(1, len(messages)) if ask.find_refusal(messages[:n], False) is not None), len(messages))
    where = f"from message {count - 1} on" if messages else "which is empty"
    return Problem(count - 1 if messages else None, False, f"The template refuses the conversation {where}: {reason}")


def _vary(message: Message) -> Iterator[tuple[str, Message]]:
    """List changes of a message that a template may insist on, with what to say of each."""
    content = message.get("content")
    if content is None:
        yield "its content is null, and the template wants a text, which may be empty", {**message, "content": ""}
    if isinstance(content, list):
        texts = [part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
        yield "its content is a list of parts, and the template wants a text", {**message, "content": "".join(texts)}
    elif isinstance(content, str):
        parts = [{"type": "text", "text": content}]
        yield "its content is a text, and the template wants a list of parts", {**message, "content": parts}
    if not content:
        yield "its content is empty, and the template wants some text", {**message, "content": "x"}
    calls = message.get("tool_calls")
    if isinstance(calls, list) and all(isinstance(call, Mapping) for call in calls):
        for words, change in (
            ("the arguments of its calls are a text, and the template wants an object", _read_arguments),
            ("the arguments of its calls are an object, and the template wants JSON text", _write_arguments),
        ):
            with suppress(TypeError, ValueError, RecursionError):
                yield words, {**message, "tool_calls": [change(call) for call in calls]}
        yield "the template takes it without its tool calls only", {**message, "tool_calls": None}


def _change_arguments(call: Mapping[str, Any], kind: type, change: Any) -> Mapping[str, Any]:
    function = call.get("function", {})
    if not isinstance(function.get("arguments"), kind):
        raise TypeError
    return {**call, "function": {**function, "arguments": change(function["arguments"])}}


def _read_arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    return _change_arguments(call, str, json.loads)


def _write_arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    return _change_arguments(call, Mapping, json.dumps)


def _rename_calls(message: Message) -> Message:
    """Return a message whose calls, or the call that it answers, have a plain id of nine letters and digits."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and all(isinstance(call, Mapping) for call in calls):
        return {**message, "tool_calls": [{**call, "id": _ID} for call in calls]}
    return {**message, "tool_call_id": _ID} if message.get("role") == TOOL else message


def _list_problems(format: ChatFormat, messages: Sequence[Message], prompt: bool) -> Iterator[Problem]:
    rules = format.conversation
    steps = {(step.before, step.kind): step for step in rules.steps}
    taken = [kind for before, kind in steps if before != ANYWHERE and kind]
    before, previous = BEGINNING, -1
    for index, message in enumerate(messages):
        kind = find_kind(message)
        if kind == CALLS and CALLS not in taken and (ANYWHERE, CALLS) not in steps:
            yield Problem(index, True, f"Message {index} ({ASSISTANT}) has tool calls, and this template prints none.")
            kind = ASSISTANT
        unknown = steps.get((ANYWHERE, kind))
        if unknown is not None:
            yield _explain_kind(index, message, unknown, taken)
            continue
        step = steps.get((before, kind))
        earlier = [place for place in range(index) if find_kind(messages[place]) == kind]
        if kind in rules.single and earlier:
            text = f"Message {earlier[-1]} ({kind}) is dropped without a word: message {index} has the same role, and this"
            yield Problem(earlier[-1], True, text + " template prints only the last of them. Join the two into one.")
        elif step is not None and step.outcome != "printed":
            yield _explain_step(format, index, previous, message, step)
        before, previous = kind, index
    for role in rules.needed if messages else ():
        if all(find_kind(message) != role for message in messages):
            yield Problem(None, False, f"There is no message of the role {role!r}, and this template wants one.")
    last = steps.get((before, PROMPT))
    if prompt and messages and last is not None and last.outcome == "refused":
        where = f"Message {len(messages) - 1} ({_name_role(messages[-1])})"
        endings = _list_kinds(before for before, kind in steps if not kind and steps[before, kind].outcome == "printed")
        yield Problem(len(messages) - 1, False, f"{where} cannot be the last: the template wants {endings}.{_quote(last)}")


def find_kind(message: Message) -> str:
    """Return the kind of a message: its role, unless it has tool calls or a role that is not asked about."""
    role = message.get("role")
    if role == ASSISTANT and message.get("tool_calls"):
        return CALLS
    return role if isinstance(role, str) and role in _ROLES else OTHER


def _name_role(message: Message) -> str:
    return "with tool calls" if find_kind(message) == CALLS else repr(message.get("role")).strip("'")


def _explain_kind(index: int, message: Message, step: Step, taken: list[str]) -> Problem:
    """Say that messages of a kind are taken nowhere."""
    known = _list_kinds(taken)
    does = "drops them without a word" if step.outcome == "dropped" else "refuses them"
    if step.kind == SYSTEM:
        text = f"Message {index} is a system message: this template has no system role and {does}."
        text += f" Put the text at the beginning of the first {USER} message."
    else:
        text = f"Message {index} has the role {_name_role(message)!r}: this template knows {known}, and {does}."
    return Problem(index, step.outcome == "dropped", text + _quote(step))


def _explain_step(format: ChatFormat, index: int, previous: int, message: Message, step: Step) -> Problem:
    """Say that a message cannot stand behind the one before it."""
    steps = format.conversation.steps
    role = _name_role(message)
    fine = [(other.before, other.kind) for other in steps if other.outcome == "printed"]
    following = _list_kinds(kind for before, kind in fine if before == step.before and (before or kind in _FIRST))
    preceding = _list_kinds(before or "the beginning" for before, kind in fine if kind == step.kind)
    dropped = step.outcome != "refused"
    if step.outcome == "replaces":
        text = f"Message {index} ({role}) stands in for message {previous}, which this template then drops without a word."
    elif dropped:
        text = f"Message {index} ({role}) is dropped without a word: this template prints one only behind {preceding}."
    elif not step.before:
        text = f"Message {index} ({role}) cannot be the first: the conversation must begin with {following}."
    elif step.before == step.kind:
        text = f"Messages {previous} and {index} are both of the role {role!r}: roles must alternate."
        text += f" Behind {step.before} the template takes {following}; join the two into one."
    else:
        text = f"Message {index} ({role}) cannot follow message {previous} ({step.before}): "
        text += f"behind {step.before} the template takes {following}."
    return Problem(index, dropped, text + _quote(step))


def _list_kinds(kinds: Iterable[str]) -> str:
    """Return kinds of messages as a list in words."""
    named = list(dict.fromkeys(kind or "the end" for kind in kinds if kind != OTHER)) or ["nothing"]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"


def _quote(step: Step) -> str:
    reason = " ".join(step.reason.split())
    return f" It says: {reason!r}" if reason else ""
