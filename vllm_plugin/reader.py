"""The template in force and its format, seen from one tokenizer: what the parsers of a server read with.

A server is noted when it is started (:mod:`.hooks`), for vLLM tells its parsers the tokenizer, but never what
``--chat-template`` says.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from transformers import PreTrainedTokenizerBase

from chat_autoparser import AutoparserError, ChatFormat, TemplateError, load_renderer
from chat_autoparser.ask.renderer import NamedRenderer
from chat_autoparser.serve import Formats, Served, decode_apart, list_named_tokens, list_special_tokens, publish_counters

from . import LOG
from .engine import hides_special_by_default, read_template_variable, renders_jinja, resolve_template

FORMATS = Formats(LOG)
"""The formats of all servers in this process."""

_PROBE_TOOL = {"type": "function", "function": {"name": "probe", "parameters": {"type": "object", "properties": {}}}}


@dataclass(frozen=True, eq=False)
class Server:
    """What a server was started with: its tokenizer and model, and the template for all requests (None: the model's), or
    ``by_default`` for those whose arguments name no other."""

    tokenizer: Any
    model_config: Any
    chat_template: str | None
    trusts_requests: bool = False
    by_default: bool = False

    @cached_property
    def reader(self) -> Reader:
        """What reads by its template. Raises :class:`AutoparserError` where there is none or it is not understood."""
        reader = Reader(_pin(self), self.tokenizer)
        publish_counters()
        return reader

    @cached_property
    def hides_special(self) -> bool:
        """Whether special tokens are left out of the text of an answer where its request does not say."""
        return hides_special_by_default(self.model_config)


_MOST = 64  # tokenizers that are kept of which no server is known

_SERVERS: dict[int, Server] = {}  # by their tokenizers
_GUESSED: dict[int, Server] = {}


def note_server(server: Server) -> None:
    """Remember a server, by its tokenizer."""
    _SERVERS[id(server.tokenizer)] = server
    _GUESSED.clear()


def _guess_server(tokenizer: Any, model_config: Any) -> Server:
    """Return the server of a tokenizer that is not known yet, or is known of no server: the template is that of this process."""
    given = next((server.chat_template for server in reversed(_SERVERS.values())), None)
    server = Server(tokenizer, model_config, given if given is not None else read_template_variable())
    _GUESSED[id(tokenizer)] = server
    if len(_GUESSED) > _MOST:
        del _GUESSED[next(iter(_GUESSED))]
    return server


class Reader(Served):
    """A format and a tokenizer; made once for each server, and for each template that a request brings."""

    @cached_property
    def marker_ids(self) -> tuple[int | None, int | None]:
        """The tokens that start and end reasoning, each where it is one token."""
        reasoning = self.format.reasoning
        if reasoning is None:
            return None, None
        vocabulary = self.tokenizer.get_vocab()
        return vocabulary.get(reasoning.start.text), vocabulary.get(reasoning.end.text)


def get_server(tokenizer: Any, model_config: Any = None) -> Server:
    """Return the server of a tokenizer, or what stands for it."""
    return _SERVERS.get(id(tokenizer)) or _GUESSED.get(id(tokenizer)) or _guess_server(tokenizer, model_config)


def get_reader(tokenizer: Any, model_config: Any = None) -> Reader:
    """Return the reader for the template that a server uses; analysed at the first call.

    Raises :class:`AutoparserError` where there is no template or it is not understood.
    """
    return get_server(tokenizer, model_config).reader


def find_given(request: Any, tokenizer: Any) -> str | None:
    """Return the template that a request brings, if its server lets that count and renders with templates at all.

    That is its own, or one among its arguments where none goes before that.
    """
    server = _SERVERS.get(id(tokenizer))
    if server is None or not server.trusts_requests:
        return None
    given = getattr(request, "chat_template", None)
    if given is None and (server.by_default or server.chat_template is None):
        given = (getattr(request, "chat_template_kwargs", None) or {}).get("chat_template")
    return given if isinstance(given, str) and renders_jinja(tokenizer) else None


def find_reader(request: Any, own: Reader) -> Reader:
    """Return the reader for a request: the server's, or that of the request's own template. Raises nothing, never waits.

    It is the same one as long as the request is there, once its template was known. One of which nothing is known is read
    as content: the log has said so.
    """
    given = find_given(request, own.tokenizer)
    if given is None:
        return own
    kept = _KEPT.get(id(request))
    if kept is not None:
        return kept
    format = FORMATS.find(given, **list_named_tokens(own.tokenizer))
    return _make_given_reader(_UNKNOWN, own) if format is None else keep_reader(request, format, own)


def keep_reader(request: Any, format: ChatFormat, own: Reader) -> Reader:
    """Return the reader for a request whose own template has a format, and keep it: formats make room for others meanwhile."""
    reader = own if format is own.format else _make_given_reader(format, own)
    if id(request) not in _KEPT:
        weakref.finalize(request, _KEPT.pop, id(request), None).atexit = False
    _KEPT[id(request)] = reader
    return reader


_UNKNOWN = ChatFormat()
_KEPT: dict[int, Reader] = {}  # by requests, which cannot be hashed


@lru_cache(maxsize=64)
def _make_given_reader(format: ChatFormat, own: Reader) -> Reader:
    return Reader(format, own.tokenizer)


def find_reader_or_none(tokenizer: Any) -> Reader | None:
    """Return the reader of a process that must not fail, or None."""
    try:
        return get_reader(tokenizer)
    except AutoparserError:
        return None


def _pin(server: Server) -> ChatFormat:
    """Return the format of what renders as vLLM does.

    That is a Python encoder, one template, or one for requests without tools and another for those with tools.
    """
    tokenizer, given = server.tokenizer, server.chat_template
    folder = None if given is not None else str(getattr(tokenizer, "name_or_path", "") or "") or None  # of the model's certificate
    flag = "--default-chat-template-kwargs" if server.by_default else "--chat-template"
    name = f"the chat template of {flag}" if given is not None else "the model's chat template"
    if not renders_jinja(tokenizer):
        named = {"chat_template": given} if given else {}
        # What a tokenizer of transformers' gives as text is what is cut into tokens; others tell the tokens alone.
        encoder = tokenizer if isinstance(tokenizer, PreTrainedTokenizerBase) else _Encoder(tokenizer)
        return FORMATS.pin(load_renderer(encoder, **named), "the tokenizer's own encoder", key=(tokenizer, given))
    without = resolve_template(tokenizer, given, None, server.model_config)
    with_tools = resolve_template(tokenizer, given, [_PROBE_TOOL], server.model_config)
    sources = [source for source in dict.fromkeys((without, with_tools)) if source]
    variables: dict[str, Any] = {**list_named_tokens(tokenizer)}
    if len(sources) == 2:
        templates = {"default": sources[0], "tool_use": sources[1]}
        names = (*sources, repr(sorted(variables.items())))
        return FORMATS.pin(NamedRenderer(templates, **variables), name, key=names, folder=folder)
    if not sources:
        raise TemplateError(
            "neither the tokenizer nor the model's folder has a chat template. Give one with --chat-template, or leave out "
            "--tool-call-parser and --reasoning-parser"
        )
    return FORMATS.pin(sources[0], name, folder=folder, **variables)


class _Encoder:
    """Renders with a tokenizer's encoder that tells tokens alone; what :func:`chat_autoparser.load_renderer` takes for a function.

    The text that such a tokenizer gives of a prompt is for people to look at, and other than what vLLM shows of generated
    tokens. So a rendered conversation is decoded here as an output would be, special tokens by their names.

    Knowledge of them comes from vLLM 0.32.0, ``tokenizers/mistral.py`` and ``renderers/mistral.py``.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = list_special_tokens(tokenizer)
        self.__qualname__ = f"{type(tokenizer).__name__}.apply_chat_template"

    def __call__(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, add_generation_prompt: bool, **kwargs: Any
    ) -> str:
        """Render a conversation. Raises what the encoder raises where it refuses one.

        An encoder for serving may refuse a conversation that ends with an answer, unless that is to be continued.
        """
        render = self._tokenizer.apply_chat_template
        try:
            ids = render(messages, tools=tools, add_generation_prompt=add_generation_prompt, **kwargs)
        except Exception:
            if add_generation_prompt or messages[-1]["role"] != "assistant":
                raise
            ids = render(messages, tools=tools, continue_final_message=True, **kwargs)
        decode = self._tokenizer.decode  # as that of an output is: each stretch between special tokens for itself
        return "".join(
            text for _, text in decode_apart(ids, self._special, lambda stretch: decode(stretch, skip_special_tokens=True))
        )
