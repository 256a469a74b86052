"""The formats of the templates that are served, and what one request needs of them while it is worked on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any

from chat_autoparser import AutoparserError, ChatFormat
from chat_autoparser.serve import Formats, Served, list_named_tokens

from . import LOG, engine

formats = Formats(LOG)
"""The formats of this process. Each process derives those that it needs, so that engines in one process share nothing."""

_MOST = 64
_UNKNOWN = ChatFormat()


class Reader(Served):
    """What the outputs of one template and tokenizer are read with."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, as SGLang shows it."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, spaces_between_special_tokens=False))

    @cached_property
    def thinking_prompt(self) -> str | None:
        """A prompt that leaves reasoning open, for who says that it is open and has no prompt; None without reasoning."""
        reasoning = self.format.reasoning
        if reasoning is None:
            return None
        opening = [text for _, text, state in self.format.states if state == "reasoning"]
        return self.format.header + next(iter(opening), reasoning.start.written)

    @cached_property
    def reasoning_default(self) -> str | None:
        """SGLang's word for how a request turns reasoning on and off, used where it has not found out by itself."""
        settings = self.format.states
        default = next((state for switches, _, state in settings if not switches), "open")
        for name in ("enable_thinking", "thinking"):
            states = {state for switches, _, state in settings if [switch for switch, _ in switches] == [name]}
            if states - {default}:
                return f"explicit_{name}" if default == "content" else name
        return "always" if default == "reasoning" else None


requested: ContextVar[Reader | None] = ContextVar("requested", default=None)
"""What reads by the template that a request brings, while SGLang works on that request."""


def derive_format(tokenizer: Any, name: str) -> ChatFormat:
    """Return the format of a tokenizer's template. Raises :class:`AutoparserError` where there is none."""
    tokens = list_named_tokens(tokenizer)
    source = getattr(tokenizer, "chat_template", None)
    # What renders may be the tokenizer's own code, of which the source alone tells nothing.
    folder = str(getattr(tokenizer, "name_or_path", ""))
    made = type(tokenizer).__qualname__, folder
    return formats.pin(tokenizer, name, key=(made, repr(source), *sorted(tokens.items())), folder=folder)


def get_reader(tokenizer: Any) -> Reader:
    """Return what reads the model's output: by the template of the request that is worked on, else by the one in force.

    Raises nothing: where none is known, everything is content. Costs a look into a table.
    """
    return requested.get() or _make_served(tokenizer, str(getattr(tokenizer, "chat_template", None)))


def get_brought_reader(tokenizer: Any, template: str, always: bool) -> Reader:
    """Return what reads by a template that a request brings, or that the server ``always`` gives to requests.

    A request's has been analysed before (:func:`analyse_brought`); where it has not, everything is content. Raises nothing.
    """
    if always:
        return _make_served(tokenizer, template)
    format = formats.find(template, **list_named_tokens(tokenizer))
    if format is None:
        analyse_brought(tokenizer, template)
    return _make_brought(format or _UNKNOWN, tokenizer)


def analyse_brought(tokenizer: Any, template: str) -> Future[ChatFormat]:
    """Have a template that a request brings analysed, in a process of its own and within a few seconds. Raises nothing."""
    return formats.submit(template, **list_named_tokens(tokenizer))


# Apart, so that the templates of requests cannot crowd out a server's own.
@lru_cache(maxsize=_MOST)
def _make_served(tokenizer: Any, template: str) -> Reader:
    settled = engine.settle_template(tokenizer)
    if settled is tokenizer and template != str(getattr(tokenizer, "chat_template", None)):
        settled = copy.copy(tokenizer)
        settled.chat_template = template
    try:
        return Reader(derive_format(settled, "the chat template in force"), tokenizer)
    except AutoparserError as error:
        LOG.warning("The model's format is not known, and all of its output is content: %s", error)
        return Reader(_UNKNOWN, tokenizer)


_make_brought = lru_cache(maxsize=_MOST)(Reader)
