"""The format of the model that is served: derived once at startup, and known to each of SGLang's processes.

Schedulers and detokenizers have the model's tokenizer, but not the template that `--chat-template` names; so what was
derived before they are started is handed over in the environment, which each of them inherits.
"""

from __future__ import annotations

import json
import os
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from chat_autoparser import AutoparserError, ChatFormat
from chat_autoparser.cache import FormatCache
from chat_autoparser.tokens import is_structure

from . import LOG
from .specials import TokenDropper

HANDOVER = "CHAT_AUTOPARSER_SGLANG_FORMAT"
"""The environment variable in which the format is handed over."""

OWN = "CHAT_AUTOPARSER_SGLANG_OWN"
"""The environment variable that names the reasoning parser which SGLang's own `auto` would have picked."""

_formats = FormatCache(log=LOG)
_readers: dict[tuple[int, str | None], Reader] = {}
_MOST = 64

requested: ContextVar[str | None] = ContextVar("requested", default=None)
"""The chat template that a request brings, while SGLang works on that request."""


class Prompt(str):
    """A rendered prompt that knows what reads its continuation: SGLang hands prompts to detectors, and no requests.

    ``single`` says that the request wants one call at most.
    """

    reader: Reader
    single: bool


@dataclass(frozen=True, eq=False)
class Reader:
    """What the detectors read with. ``splits`` says whether they also read the reasoning, or somebody else does."""

    format: ChatFormat
    tokenizer: Any
    splits: bool = True

    def mark(self, prompt: str, single: bool) -> Prompt:
        """Return a prompt that knows this reader."""
        marked = Prompt(prompt)
        marked.reader, marked.single = self, single
        return marked

    @cached_property
    def calls_format(self) -> ChatFormat:
        """The format for what comes after reasoning; where nobody splits that off, it is text like any other."""
        return self.format if self.splits else replace(self.format, reasoning=None)

    @cached_property
    def think_start(self) -> str:
        """The marker that opens reasoning."""
        return self.format.reasoning.start.text if self.format.reasoning else ""

    @cached_property
    def think_end(self) -> str:
        """The marker behind which reasoning is over: its own, or that of content, which has to follow."""
        return (self.format.reasoning.end.text or self.format.content.start.text) if self.format.reasoning else ""

    @cached_property
    def reasoning_default(self) -> str | None:
        """SGLang's word for how a request turns reasoning on and off, used where it has not found out by itself."""
        starts = self.format.starts
        default = next((start.state for start in starts if not start.switches), "open")
        for name in ("enable_thinking", "thinking"):
            states = {start.state for start in starts if [switch for switch, _ in start.switches] == [name]}
            if states - {default}:
                return f"explicit_{name}" if default == "content" else name
        return "always" if default == "reasoning" else None

    def make_dropper(self) -> TokenDropper:
        """Return what takes out of an output the special tokens that a client must not see."""
        return TokenDropper(self.unknown_tokens, self.token_heads)

    @cached_property
    def unknown_tokens(self) -> frozenset[str]:
        """The texts of special tokens that have no part in the format, and must not be seen by a client."""
        added = getattr(self.tokenizer, "added_tokens_decoder", None) or {}
        texts = {str(entry) for entry in added.values() if getattr(entry, "special", False)}
        texts.update(getattr(self.tokenizer, "all_special_tokens", None) or ())
        return frozenset(text for text in texts if text and not is_structure(self.format, text))

    @cached_property
    def token_heads(self) -> frozenset[str]:
        """The characters with which such tokens begin."""
        return frozenset(text[0] for text in self.unknown_tokens)


def derive_format(tokenizer: Any, name: str) -> ChatFormat:
    """Return the format of a tokenizer's template. Raises :class:`AutoparserError` where there is none."""
    return _formats.get(tokenizer, key=_identify(tokenizer), name=name)


def hand_over(format: ChatFormat, splits: bool, own: str | None = None) -> None:
    """Make a format the one in force, in this process and those that it will start.

    ``own`` is the reasoning parser that SGLang would use without us.
    """
    if own:
        os.environ[OWN] = own
    os.environ[HANDOVER] = json.dumps({"format": format.to_dict(), "splits": splits})
    _readers.clear()


def withdraw() -> None:
    """Forget the format in force: this server does not use it."""
    os.environ.pop(HANDOVER, None)
    os.environ.pop(OWN, None)
    _readers.clear()


def get_reader(tokenizer: Any, template: str | None = None) -> Reader:
    """Return what reads the model's output: by a request's template, the one in force, or the tokenizer's.

    Raises nothing: where none is known, everything is content.
    """
    template = template or requested.get()
    key = id(tokenizer), template
    reader = _readers.get(key)
    if reader is None or reader.tokenizer is not tokenizer:
        if len(_readers) >= _MOST:
            _readers.clear()
        reader = _readers[key] = _make_reader(tokenizer, template)
    return reader


def _make_reader(tokenizer: Any, template: str | None) -> Reader:
    handed = os.environ.get(HANDOVER)
    data: dict[str, Any] = {}
    try:
        data = json.loads(handed) if handed else {}
        splits = bool(data.get("splits", True))
        if template is not None:
            tokens = dict(tokenizer.special_tokens_map)
            return Reader(_formats.get(template, name="a request's chat template", **tokens), tokenizer, splits)
        if data:
            return Reader(ChatFormat.from_dict(data["format"]), tokenizer, splits)
        return Reader(derive_format(tokenizer, "the tokenizer's chat template"), tokenizer)
    except (AutoparserError, ValueError, KeyError) as error:
        LOG.warning("The model's format is not known, and all of its output is content: %s", error)
        return Reader(ChatFormat(), tokenizer)


def _identify(tokenizer: Any) -> Any:
    """Return by what a tokenizer's template is known again, also when the tokenizer gets another one."""
    return id(tokenizer), repr(getattr(tokenizer, "chat_template", None))
