"""Whether a chat template takes a conversation, and if not, which rule it breaks and where.

What a format knows of rules (:meth:`Conversation.validate`) was learnt by questioning the template, and needs nothing
else. :func:`check_conversation` asks the template itself about this very conversation, so that nothing is missed, and
uses the rules to say what is wrong. A message that is *dropped* is a problem too: the model never sees it, and no error
tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..ask.budget import Budget
from ..ask.oracle import Oracle
from ..ask.renderer import Renderer, load_renderer
from ..ask.shapes import find_shape, list_call_shapes
from ..ask.words import make_id, make_word
from ..derive.roles import find_conversation
from ..errors import TemplateError, TemplateRefusal
from ..format.chat_format import check_dicts
from ..format.conversation import TOOL, Message, Problem, name_role

_ID = make_id(0)


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
    loaded, and TypeError for messages that are no list of dicts. Costs up to a hundred renders.
    """
    check_dicts("messages must be a list of message dicts", messages, each=True)
    ask = _Checker(load_renderer(template, **kwargs).within(Budget()), messages, tools, add_generation_prompt, kwargs)
    refusal = ask.find_refusal(messages)
    missing = ask.list_dropped(messages) if refusal is None else []
    rules = ask.list_rules()
    if refusal is not None:
        return [problem for problem in rules if not problem.dropped] or [ask.explain_refusal(refusal)]
    known = {problem.index: problem for problem in rules if problem.dropped}
    return [known.get(index) or ask.explain_drop(index) for index in missing]


@dataclass(frozen=True)
class _Checker:
    """Asks a renderer about one conversation and changed copies of it."""

    renderer: Renderer
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] | None
    prompt: bool
    kwargs: dict[str, Any]

    def list_rules(self) -> list[Problem]:
        """Learn the rules of the template, and hold the conversation against them."""
        oracle = Oracle(self.renderer)
        if not find_shape(oracle):
            return []
        shapes = list_call_shapes(oracle)
        found = find_conversation(oracle, shapes[0] if shapes else oracle.shape, bool(shapes))
        return found.validate(self.messages, self.prompt)

    def find_refusal(self, messages: Sequence[Message], tools: bool = True, prompt: bool = True) -> TemplateError | None:
        """Return why the template does not render messages, or None where it does."""
        try:
            self.renderer(messages, self.tools if tools else None, prompt and self.prompt, **self.kwargs)
        except TemplateError as error:
            return error
        return None

    def list_dropped(self, messages: Sequence[Message]) -> list[int]:
        """Return the messages of whose text nothing is printed, told by needles in its place."""
        marked = [_set_text(message, make_word("said", index)) for index, message in enumerate(messages)]
        try:
            text = self.renderer(marked, self.tools, self.prompt, **self.kwargs)
        except TemplateError:
            return []  # it looks at what the texts say; nothing can be put in their place
        changed = [index for index, message in enumerate(marked) if message != messages[index]]
        return [index for index in changed if make_word("said", index) not in text]

    def explain_drop(self, index: int) -> Problem:
        """Say that nothing of a message is printed, or in which form it would be."""
        found = (words for words, changed in self._vary(index) if index not in self.list_dropped(changed))
        why = next(found, "nothing of its content is in the prompt")
        return Problem(index, True, f"Message {index} ({name_role(self.messages[index])}) is dropped without a word: {why}.")

    def explain_refusal(self, refusal: TemplateError) -> Problem:
        """Find the message from which on the template refuses, and a change with which it does not."""
        messages, reason = self.messages, refusal.reason if isinstance(refusal, TemplateRefusal) else str(refusal)
        if self.tools and self.find_refusal(messages, tools=False) is None:
            return Problem(None, False, f"The template takes this conversation without tools, and refuses it with them: {reason}")
        if self.find_refusal([_rename_calls(message) for message in messages]) is None:
            return Problem(None, False, f"The template wants other ids of calls, such as {_ID!r}. It says: {reason!r}")
        for index in reversed(range(len(messages))):
            for words, changed in self._vary(index):
                if self.find_refusal(changed) is None:
                    text = f"Message {index} ({name_role(messages[index])}): {words}. It says: {reason!r}"
                    return Problem(index, False, text)
        refused = (n for n in range(1, len(messages)) if self.find_refusal(messages[:n], prompt=False) is not None)
        count = next(refused, len(messages))
        where = f"from message {count - 1} on" if messages else "which is empty"
        return Problem(count - 1 if messages else None, False, f"The template refuses the conversation {where}: {reason}")

    def _vary(self, index: int) -> Iterator[tuple[str, list[Message]]]:
        """List the conversation with changes of one message, with what to say of each."""
        for words, changed in _vary(self.messages[index]):
            yield words, [*self.messages[:index], changed, *self.messages[index + 1 :]]


def _set_text(message: Message, text: str) -> Message:
    """Return a message with another text as its content, if it has one."""
    content = message.get("content")
    if isinstance(content, str) and content.strip():
        return {**message, "content": text}
    if isinstance(content, list) and any(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        return {**message, "content": [{"type": "text", "text": text}]}
    return message


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
        for words, kind, change in (
            ("the arguments of its calls are a text, and the template wants an object", str, json.loads),
            ("the arguments of its calls are an object, and the template wants JSON text", Mapping, json.dumps),
        ):
            with suppress(TypeError, ValueError, RecursionError):
                yield words, {**message, "tool_calls": [_change_arguments(call, kind, change) for call in calls]}
        yield "the template takes it without its tool calls only", {**message, "tool_calls": None}


def _change_arguments(call: Mapping[str, Any], kind: type, change: Any) -> Mapping[str, Any]:
    function = call.get("function", {})
    if not isinstance(function.get("arguments"), kind):
        raise TypeError
    return {**call, "function": {**function, "arguments": change(function["arguments"])}}


def _rename_calls(message: Message) -> Message:
    """Return a message whose calls, or the call that it answers, have a plain id of nine letters and digits."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and all(isinstance(call, Mapping) for call in calls):
        return {**message, "tool_calls": [{**call, "id": _ID} for call in calls]}
    return {**message, "tool_call_id": _ID} if message.get("role") == TOOL else message
