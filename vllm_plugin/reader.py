"""A template in force and a tokenizer: the format, and what follows from it for the tokens of that tokenizer."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

from transformers import PreTrainedTokenizerBase

from chat_autoparser import AutoparserError, ChatFormat, Renderer, TemplateError, load_renderer
from chat_autoparser.budget import Budget
from chat_autoparser.cache import FormatCache
from chat_autoparser.renderer import NamedRenderer
from chat_autoparser.tokens import TokenFilter, drop_tokens, is_structure

from .encoder import Encoder
from .engine import find_request, read_template_argument, renders_jinja, resolve_template
from .server import Server, find_server

_LOG = logging.getLogger("vllm.chat_autoparser")

HINT = "chat_autoparser"
"""The key in a parser's ``chat_template_kwargs`` under which the server process tells the engine process the format."""

_TAILS = (48, 512)  # how many tokens of a prompt are looked at before all of it is
_PROBE_TOOL = {"type": "function", "function": {"name": "probe", "parameters": {"type": "object", "properties": {}}}}
_NOT_SWITCHES = {"add_generation_prompt", "continue_final_message", "documents", "tools", "tokenize", "chat_template", HINT}
_MOST = 64

_formats = FormatCache(log=_LOG, budget=Budget(seconds=120, render_seconds=30))  # vLLM itself sets no bounds
_Key = tuple[int, str | None, tuple[str | None] | None]
_readers: dict[_Key, Reader] = {}
_lock = Lock()


@dataclass(frozen=True, eq=False)
class Reader:
    """What both halves read with; made once for each template and tokenizer."""

    format: ChatFormat
    tokenizer: Any
    renderer: Renderer | None = None

    @cached_property
    def plain(self) -> ChatFormat:
        """The format without reasoning, which is then text like any other."""
        return replace(self.format, reasoning=None)

    @cached_property
    def hint(self) -> str:
        """The format as text, for another process."""
        return json.dumps(self.format.to_dict())

    @cached_property
    def unknown_tokens(self) -> dict[int, str]:
        """The special tokens that have no part in the format, and must not be seen by a client."""
        special = _list_special_tokens(self.tokenizer)
        return {token: text for token, text in special.items() if not is_structure(self.format, text)}

    def drop_unknown_tokens(self, text: str, ids: Sequence[int] | None) -> str:
        """Take the special tokens that have no part in the format out of a whole output; their ids may not be known."""
        unknown = self.unknown_tokens
        if not ids:
            return drop_tokens(text, unknown.values())
        if unknown.keys().isdisjoint(ids):
            return text
        tokens = TokenFilter(unknown)
        return tokens.feed(text, ids) + tokens.finish()

    @cached_property
    def needs_special_tokens(self) -> bool:
        """Whether the format can only be read where the text of special tokens is shown."""
        return len(self.unknown_tokens) < len(_list_special_tokens(self.tokenizer))

    @cached_property
    def end_id(self) -> int | None:
        """The token that ends reasoning, where it is one token."""
        return self._find_token(self.format.reasoning.end.text) if self.format.reasoning else None

    @cached_property
    def start_id(self) -> int | None:
        """The token that starts reasoning, where it is one token."""
        return self._find_token(self.format.reasoning.start.text) if self.format.reasoning else None

    def _find_token(self, text: str) -> int | None:
        found: int | None = self.tokenizer.get_vocab().get(text)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, special ones included."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False)
        return text

    def read_prompt(self, ids: Sequence[int]) -> str:
        """Return the end of a prompt's text, from before the header of the assistant's turn on."""
        headers = [header for header in self.format.turn.headers if header]
        for length in _TAILS:
            if length >= len(ids):
                break
            text = self.decode(ids[-length:])
            if any(header in text for header in headers):
                return text
        return self.decode(ids)

    def render_prompt(self, kwargs: dict[str, Any] | None) -> str | None:
        """Return a prompt made with a request's template arguments, where its own is not known; None: as by default."""
        switches = {name: value for name, value in (kwargs or {}).items() if name not in _NOT_SWITCHES}
        if self.renderer is None or not switches:
            return None
        try:
            return self.renderer([{"role": "user", "content": "Hello"}], None, True, **switches)
        except AutoparserError:
            return None


def get_reader(tokenizer: Any, model_config: Any = None) -> Reader:
    """Return the reader for what is in force: the request's template, the server's, or the model's own.

    Raises :class:`AutoparserError` where there is no template or it is not understood. A template that only came with a
    request is no reason to fail: then everything is content.
    """
    server = find_server(tokenizer)
    given = _find_given(server) if server and server.trusts_requests else None
    key = (id(tokenizer), given, (server.chat_template,) if server else None)
    known = _readers.get(key)
    if known is not None:
        return known
    try:
        reader = _make_reader(tokenizer, given, server, model_config)
    except AutoparserError as error:
        if given is None:
            raise
        _LOG.warning("A request's chat template is not understood, and all of its output is content: %s", error)
        reader = Reader(ChatFormat(), tokenizer)
    return _remember(key, reader)


def _find_given(server: Server) -> str | None:
    """Return the template that the current request brings: for itself, or among its arguments, if none goes before that."""
    request = find_request()
    given: str | None = getattr(request, "chat_template", None)
    if given is None and server.chat_template is None:
        given = (getattr(request, "chat_template_kwargs", None) or {}).get("chat_template")
    return given


def read_hint(text: Any, tokenizer: Any) -> Reader | None:
    """Return the reader for a format that another process derived, or None where the text is none."""
    if not isinstance(text, str):
        return None
    known = _readers.get((id(tokenizer), text, None))
    if known is not None:
        return known
    try:
        return _remember((id(tokenizer), text, None), Reader(ChatFormat.from_dict(json.loads(text)), tokenizer))
    except (AutoparserError, ValueError):
        return None


def _remember(key: _Key, reader: Reader) -> Reader:
    with _lock:
        while len(_readers) >= _MOST:
            del _readers[next(iter(_readers))]
        return _readers.setdefault(key, reader)


def _make_reader(tokenizer: Any, given: str | None, server: Server | None, model_config: Any) -> Reader:
    name = "the request's chat template"
    if given is None:
        name = "the model's chat template"
        given = server.chat_template if server else read_template_argument()
        if given is not None:
            name = "the chat template of --chat-template"
    renderer, key = _load_renderer(tokenizer, given, server.model_config if server else model_config)
    return Reader(_formats.get(renderer, key=key, name=name), tokenizer, renderer)


def _load_renderer(tokenizer: Any, given: str | None, model_config: Any) -> tuple[Renderer, Any]:
    """Return what renders as vLLM does, and by what it is known again.

    That is a Python encoder, one template, or one for requests without tools and another for those with tools.
    """
    if not renders_jinja(tokenizer):
        named = {"chat_template": given} if given else {}
        # What a tokenizer of transformers' gives as text is what is cut into tokens; others tell the tokens alone.
        takes_text = isinstance(tokenizer, PreTrainedTokenizerBase)
        encoder = tokenizer if takes_text else Encoder(tokenizer, _list_special_tokens(tokenizer))
        return load_renderer(encoder, **named), (id(tokenizer), given)
    without = resolve_template(tokenizer, given, None, model_config)
    with_tools = resolve_template(tokenizer, given, [_PROBE_TOOL], model_config)
    sources = [source for source in dict.fromkeys((without, with_tools)) if source]
    if not sources:
        raise TemplateError(
            "Learning how the model writes: neither the tokenizer nor the model's folder has a chat template. Give one with "
            "--chat-template, or leave out --tool-call-parser and --reasoning-parser."
        )
    variables = dict(tokenizer.special_tokens_map)
    key = (*sources, repr(sorted(variables.items())))
    if len(sources) == 1:
        return load_renderer(sources[0], **variables), key
    return NamedRenderer({"default": sources[0], "tool_use": sources[1]}, **variables), key


def _list_special_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the special tokens of a tokenizer: those that a server leaves out of the text unless told otherwise."""
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    special = {token: str(entry) for token, entry in added.items() if getattr(entry, "special", False)}
    texts = [*tokenizer.all_special_tokens]
    special.update(zip(tokenizer.all_special_ids, texts, strict=False))
    return {token: text for token, text in special.items() if text}
