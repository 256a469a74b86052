"""Hooks in SGLang's chat serving (0.5.23, `srt/entrypoints/openai/serving_chat.py`): what it has no other place for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from . import LOG, NAME
from .calls import last_read
from .formats import OWN, Reader, get_reader, requested
from .reasoning import find_state

_GRAMMARS = ("json_schema", "regex", "ebnf", "structural_tag")
_TAIL = 2048  # tokens of a prompt that are enough to see how its last message begins


def keep_call_id(original: Callable[..., str], serving: Any, call_item: Any, *args: Any, **kwargs: Any) -> str:
    """Give a call the id that the model gave it, and not a made-up one."""
    return getattr(call_item, "id", None) or original(serving, call_item, *args, **kwargs)


def keep_finish_reason(
    original: Callable[..., Any], serving: Any, text: str, tools: Any, finish_reason: Any, *args: Any, **kwargs: Any
) -> Any:
    """Leave the reason alone where a call was cut off, as SGLang does when it streams."""
    last_read.incomplete = False
    given = dict(finish_reason) if finish_reason else finish_reason
    result = original(serving, text, tools, finish_reason, *args, **kwargs)
    return result._replace(finish_reason=given) if last_read.incomplete else result


class _Renamed:
    """SGLang's chat serving, as if it had the reasoning parser that its own `auto` would have picked.

    What it does to requests for the sake of some models goes by that name, and must not be lost with ours: how an effort
    or a switch reaches their templates, and what else ends their reasoning.
    """

    def __init__(self, serving: Any, name: str) -> None:
        self.__dict__.update(_serving=serving, reasoning_parser=name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._serving, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._serving, name, value)


def rename_parser(original: Callable[..., Any], serving: Any, *args: Any, **kwargs: Any) -> Any:
    """Let a step in the preparation of a request be what it is without us."""
    own = os.environ.get(OWN)
    return original(_Renamed(serving, own) if own and serving.reasoning_parser == NAME else serving, *args, **kwargs)


def note_template(original: Callable[..., Any], serving: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Let the template that a request brings, where the server allows that, be the one that detectors read by."""
    token = requested.set(_find_template(serving, request))
    try:
        return rename_parser(original, serving, request, *args, **kwargs)
    finally:
        requested.reset(token)


def _find_template(serving: Any, request: Any) -> str | None:
    given = {**(serving.default_chat_template_kwargs or {}), **(request.chat_template_kwargs or {})}
    template = given.get("chat_template")
    return template if isinstance(template, str) else None


def read_prompt(
    original: Callable[..., None], serving: Any, request: Any, adapted_request: Any, *args: Any, **kwargs: Any
) -> None:
    """Let the prompt say whether the model reasons, and tell the detectors by which template it was rendered.

    SGLang's guess from the request's switches would start its grammars too late, or count an answer as reasoning.
    """
    reader = None
    if NAME in (serving.reasoning_parser, serving.tool_call_parser):
        reader = get_reader(serving.tokenizer_manager.tokenizer, _find_template(serving, request))
    if reader is not None and serving.reasoning_parser == NAME:
        try:
            _correct(reader, adapted_request)
        except Exception:  # a guess of SGLang's then stays
            LOG.exception("Reading the prompt's end failed. Please report this")
    original(serving, request, adapted_request, *args, **kwargs)
    if reader is not None:
        single = request.parallel_tool_calls is False
        request._response_parser_prefix = reader.mark(request._response_parser_prefix, single)


def _correct(reader: Reader, adapted_request: Any) -> None:
    prompt = adapted_request.text
    if not isinstance(prompt, str):
        ids = adapted_request.input_ids or []
        prompt = reader.tokenizer.decode(ids[-_TAIL:], skip_special_tokens=False)
    state = find_state(reader, prompt)
    if state == "reasoning":
        adapted_request.require_reasoning = True
    elif state == "content":
        adapted_request.require_reasoning = False
    elif not any((adapted_request.sampling_params or {}).get(name) for name in _GRAMMARS):
        # The scheduler then counts reasoning from the marker with which the model begins it, if it does.
        adapted_request.require_reasoning = False
