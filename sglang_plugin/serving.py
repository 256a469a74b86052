"""Hooks in SGLang's serving (0.5.23, `srt/entrypoints/openai/serving_chat.py`): what it has no other place for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from sglang.srt.sampling.sampling_params import set_request_reasoning_in_grammar

from chat_autoparser.serve import Reasoned, ToolChoice, describe_tools, publish_counters

from . import LOG, NAME, engine
from .calls import make_tag
from .formats import Reader, analyse_brought, get_brought_reader, get_reader, requested
from .reading import Prompt, Turn

_GRAMMARS = ("json_schema", "regex", "ebnf", "structural_tag")


# The template of a request


async def await_template(original: Callable[..., Any], serving: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Have a template that a request brings analysed before SGLang works on the request, and nobody else wait for it."""
    if _is_ours(serving):
        template, always = _find_template(serving, request)
        # Chat completions are refused with a template that is not trusted; responses are not.
        trusted = engine.read_setting("trust_request_chat_template") or not hasattr(request, "messages")
        if template is not None and not always and trusted:
            await asyncio.wrap_future(analyse_brought(serving.tokenizer_manager.tokenizer, template))
    return await original(serving, request, *args, **kwargs)


def note_template(original: Callable[..., Any], serving: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Let the template that a request brings, where the server allows that, be the one that detectors read by."""
    token = requested.set(_find_reader(serving, request) if _is_ours(serving) else None)
    try:
        return rename_parser(original, serving, request, *args, **kwargs)
    finally:
        requested.reset(token)


def _is_ours(serving: Any) -> bool:
    return NAME in (serving.reasoning_parser, serving.tool_call_parser)


def _find_template(serving: Any, request: Any) -> tuple[str | None, bool]:
    """Return the template that is not the model's, if there is one, and whether the server gives it to all requests."""
    always = (serving.default_chat_template_kwargs or {}).get("chat_template")
    template = (request.chat_template_kwargs or {}).get("chat_template", always)
    return (template if isinstance(template, str) else None), template is always


def _find_reader(serving: Any, request: Any) -> Reader:
    tokenizer = serving.tokenizer_manager.tokenizer
    template, always = _find_template(serving, request)
    return get_reader(tokenizer) if template is None else get_brought_reader(tokenizer, template, always)


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
    own = serving.template_manager.suggested_reasoning_parser if serving.reasoning_parser == NAME else None
    return original(_Renamed(serving, own) if own else serving, *args, **kwargs)


# The prompt and the constraint of a request


def read_prompt(original: Callable[..., None], serving: Any, request: Any, adapted_request: Any, *args: Any, **kwargs: Any) -> None:
    """Let the prompt say whether the model reasons, hold it from the first token on, and tell the detectors of the request.

    SGLang's guess from the request's switches would start its grammars too late, or count an answer as reasoning.
    """
    if not _is_ours(serving):
        return original(serving, request, adapted_request, *args, **kwargs)
    turn = None
    try:
        turn = _prepare(serving, request, adapted_request, **kwargs)
    except Exception:  # SGLang's guesses then stay
        LOG.exception("Preparing a request failed. Please report this")
    kwargs["template_tool_call_grammar"] = False  # its grammar is made here, by this request's prompt
    original(serving, request, adapted_request, *args, **kwargs)
    if turn is not None:
        request._response_parser_prefix = Prompt.mark(request._response_parser_prefix, turn)
        adapted_request.chat_autoparser_turn = turn
    return None


def _prepare(
    serving: Any,
    request: Any,
    adapted_request: Any,
    *,
    tool_call_constraint: Any,
    tools: Any,
    template_tool_call_grammar: bool = False,
    **_: Any,
) -> Turn:
    reader = _find_reader(serving, request)
    choose = getattr(request, "effective_tool_choice", None)
    choice = choose() if choose else request.tool_choice
    chosen = ToolChoice.read(choice)
    as_json = tool_call_constraint is not None and tool_call_constraint[0] == "json_schema"
    single = chosen.single or request.parallel_tool_calls is False
    if serving.reasoning_parser in (NAME, None):
        prompt = adapted_request.text
        state = reader.find_state(prompt if isinstance(prompt, str) else reader.read_prompt(adapted_request.input_ids or []))
        tag = None
        if template_tool_call_grammar and state != "ended" and not _keeps_gate(serving, state):
            tag = make_tag(reader.format, tools, choice, not single, state)
        _apply(adapted_request, state, tag, as_json)
    if as_json and chosen.single:
        params = adapted_request.sampling_params
        if schema := params.get("json_schema"):  # SGLang's JSON form of calls
            params["json_schema"] = json.dumps({**json.loads(schema), "maxItems": 1})
    calls = serving.tool_call_parser == NAME and not (as_json and chosen.mode == "required")
    return Turn(
        reader,
        describe_tools(tools),
        single=single,
        joined=calls and serving.reasoning_parser == NAME,
        shows=serving.reasoning_parser in (NAME, None),
    )


def _keeps_gate(serving: Any, state: Reasoned) -> bool:
    """Whether the grammar has to wait for the end of reasoning: SGLang bounds open reasoning only where it does."""
    return state == "open" and bool(serving.reasoning_parser and engine.read_setting("enable_strict_thinking"))


def _apply(adapted_request: Any, state: Reasoned, tag: Any, as_json: bool) -> None:
    """Say what the scheduler has to do about reasoning: count it, and wait for its end unless the grammar holds it."""
    params = adapted_request.sampling_params or {}
    if state != "possible":
        adapted_request.require_reasoning = state == "open"
    elif as_json or (tag and not engine.read_setting("enable_strict_thinking")) or not any(map(params.get, _GRAMMARS)):
        # It then counts from the marker with which the model begins to reason, if it does.
        adapted_request.require_reasoning = False
    if tag is not None:
        params["structural_tag"] = json.dumps(tag.model_dump(by_alias=True))
        set_request_reasoning_in_grammar(params, adapted_request.require_reasoning)


# The output of a request


def watch_tokens(original: Callable[..., Any], manager: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Tell the parsers which special tokens are behind the text that they are given: SGLang hands them text alone."""
    turn: Turn | None = getattr(obj, "chat_autoparser_turn", None)
    outputs = original(manager, obj, *args, **kwargs)
    if turn is None or not turn.special:
        return outputs
    return _watch(outputs, turn, bool(obj.stream), bool(engine.read_setting("incremental_streaming_output")))


async def _watch(outputs: Any, turn: Turn, stream: bool, incremental: bool) -> AsyncIterator[Any]:
    async with aclosing(outputs):
        async for output in outputs:
            if stream and isinstance(output, dict):
                turn.note(output, incremental)
            else:
                turn.note_whole(output if isinstance(output, list) else [output])
            yield output


def keep_finish_reason(
    original: Callable[..., Any], serving: Any, text: str, tools: Any, finish_reason: Any, *args: Any, **kwargs: Any
) -> Any:
    """Leave the reason alone where a call was cut off, as SGLang does when it streams."""
    turn = next((value.turn for value in (*args, *kwargs.values()) if isinstance(value, Prompt)), None)
    given = dict(finish_reason) if finish_reason else finish_reason
    result = original(serving, text, tools, finish_reason, *args, **kwargs)
    return result._replace(finish_reason=given) if turn and turn.cut and result.tool_calls else result


def keep_call_id(original: Callable[..., str], serving: Any, call_item: Any, *args: Any, **kwargs: Any) -> str:
    """Give a call the id that the model gave it, and not a made-up one."""
    return getattr(call_item, "id", None) or original(serving, call_item, *args, **kwargs)


def leave_content_out(original: Callable[..., Any], serving: Any, *args: Any, **kwargs: Any) -> Any:
    """Say null, and not an empty text, where there are calls and no content."""
    response = original(serving, *args, **kwargs)
    for choice in getattr(response, "choices", ()) if _is_ours(serving) else ():
        if choice.message.tool_calls and choice.message.content == "":
            choice.message.content = None
    return response


def publish_metrics(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Put our counters among SGLang's metrics, where it shows any (`--enable-metrics`)."""
    result = original(*args, **kwargs)
    publish_counters()
    return result
