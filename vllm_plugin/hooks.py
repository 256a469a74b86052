"""What vLLM has no interface for: its classes are extended here, and docs/upstream.md says what is missing.

Where a class, a function or a parameter is not there, :func:`install` raises before it has changed anything: nothing is registered
then, and the log says why.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pkgutil import resolve_name
from typing import Any, NamedTuple

from pydantic_core import from_json
from vllm.parser import ParserManager
from vllm.renderers.chat_utils import load_chat_template
from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

from chat_autoparser import AutoparserError, ChatFormat
from chat_autoparser.serve import list_named_tokens

from . import LOG, reader
from .constraint import is_told
from .engine import HAS_STEPS, MARKS_RESPONSES, TELLS_PROMPT, TEMPLATE, get_tag
from .halves import AutoReasoningParser, AutoToolParser
from .messages import CutCall, CutMessage
from .parser import AutoParser
from .reader import Server, find_given, get_reader, keep_reader, note_server

_HARMONY = {"tool_parser_name": "openai", "reasoning_parser_name": "openai_gptoss"}
"""vLLM's own parsers, for the one kind of model whose outputs it reads itself and lets no other parser see."""

_LAUNCHER = "vllm.entrypoints.launchers.launcher"
_MARK = "_chat_autoparser"
_LONGEST = 100_000  # characters that an environment variable may have
_CALLS = ("function_call", "custom_tool_call")
_TURNS = 8  # of the event loop, in which the tokens that have come reach their clients


class Hook(NamedTuple):
    """A function around one of vLLM's. The owner is what ``pkgutil.resolve_name`` takes; the parameters are used by their names."""

    owner: str
    name: str
    around: Callable[..., Any]
    parameters: tuple[str, ...] = ()


def install() -> None:
    """Extend vLLM. Raises AttributeError, ImportError or TypeError where it is not as it is known; may be called again."""
    starts = _LAUNCHER in sys.modules  # a server: its classes are imported in any case
    found = _find([*_list_reading(), *([Hook(_LAUNCHER, "validate_api_server_args", _check_start)] if starts else ())])
    if starts:
        _find(_list_watching())
    _wrap_all(found)


def watch_answers() -> None:
    """Extend the classes that serve answers. Raises what :func:`install` raises."""
    _wrap_all(_find(_list_watching()))


def _list_reading() -> list[Hook]:
    names = ("tool_parser_name", "reasoning_parser_name", "enable_auto_tools", "model_name", "is_harmony", "tool_strict_level")
    given = ("renderer", "model_config", "chat_template", "trust_request_chat_template", "default_chat_template_kwargs")
    renderer = "vllm.renderers.online_renderer:OnlineRenderer"
    return [
        Hook("vllm.parser:ParserManager", "get_parser", _get_parser, (*names, "tokenizer")),
        Hook(renderer, "__init__", _start_renderer, given),
        Hook(renderer, "preprocess_chat", _preprocess_chat, ("request", "parser")),
    ]


def _list_watching() -> list[Hook]:
    chat, messages = "vllm.entrypoints.openai.chat_completion", "vllm.entrypoints.anthropic.serving"
    responses = "vllm.entrypoints.openai.responses.serving:OpenAIServingResponses"
    hooks = [
        Hook(f"{chat}.serving:OpenAIServingChat", "chat_completion_full_generator", _answer_chat, ("request", "result_generator")),
        Hook(f"{messages}:AnthropicServingMessages", "messages_full_converter", _convert_whole),
        Hook(messages, "_to_anthropic_stop_reason", _find_stop_reason, ("stop_reason", "tool_complete")),
        Hook(responses, "_make_response_output_items", _make_items, ("parser",)),
        Hook(responses, "_process_simple_streaming_events", _stream_items, ("context",)),
    ]
    if HAS_STEPS:
        step = ("delta_text", "delta_token_ids", "finish_reason", "prompt_token_ids")
        hooks.append(Hook(f"{chat}.stream_processor:ChatStreamProcessor", "step", _end_step, step))
    else:
        derenderer = "vllm.renderers.online_derenderer:OnlineDerenderer"
        hooks.append(Hook(f"{chat}.serving", "maybe_filter_parallel_tool_calls", _end_choice))
        hooks.append(Hook(derenderer, "_derender_chat_stream_parsed", _end_chunk, ("generate_chunk",)))
    if not MARKS_RESPONSES:
        names = ("prompt", "sampling_params", "reasoning_ended")
        hooks.append(Hook("vllm.v1.engine.async_llm:AsyncLLM", "generate", _generate, names))
    return hooks


def _find(hooks: list[Hook]) -> list[tuple[Any, Hook]]:
    """Return hooks with what holds their targets."""
    found = []
    for hook in hooks:
        owner = resolve_name(hook.owner)
        known = inspect.signature(getattr(owner, hook.name)).parameters
        missing = [name for name in hook.parameters if name not in known]
        if missing:
            raise TypeError(f"{hook.name} of {hook.owner} takes no {' and no '.join(missing)}")
        found.append((owner, hook))
    return found


def _wrap_all(found: list[tuple[Any, Hook]]) -> None:
    for owner, hook in found:
        _wrap(owner, hook.name, hook.around)


def _wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Put a function around one of vLLM's: it is called with the original first."""
    original = getattr(owner, name)
    if getattr(original, _MARK, False):
        return
    function = getattr(original, "__func__", original)  # of a classmethod, which is bound to the class already

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(function, *args, **kwargs)

    setattr(wrapped, _MARK, True)
    setattr(owner, name, classmethod(wrapped) if function is not original else wrapped)


# One parser for both flags


def _get_parser(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Let one parser stand for both flags where both are ours, or one is and the other is not given."""
    given = inspect.signature(original).bind(*args, **kwargs)
    given.apply_defaults()
    options, manager = given.arguments, args[0]
    tools = manager.get_tool_parser(options["tool_parser_name"], options["enable_auto_tools"], options["model_name"])
    reasoning = manager.get_reasoning_parser(options["reasoning_parser_name"])
    if options["is_harmony"]:
        flags = zip(_HARMONY.items(), (tools, reasoning), strict=True)
        options.update(named for named, found in flags if found in (AutoToolParser, AutoReasoningParser))
        return original(**options)
    halves, named = {tools, reasoning} - {None}, options["tool_strict_level"]
    level = None if named is None else ToolStrictLevel.from_name(named)
    if not halves or halves - {AutoToolParser, AutoReasoningParser}:
        made = original(**options)
        if tools is AutoToolParser:
            made.tool_parser_cls = type("AutoToolParser", (AutoToolParser,), {"level": int(level or 0)})
        return made
    fields = {"reasoning_parser_cls": reasoning, "tool_parser_cls": tools, "tool_strict_level": level}
    made = type("AutoParser", (AutoParser,), fields)
    if options["tokenizer"] is not None:
        manager.validate_parser_tokenizer(
            made,
            options["tokenizer"],
            tool_parser_name=options["tool_parser_name"],
            reasoning_parser_name=options["reasoning_parser_name"],
            model_name=options["model_name"],
        )
    return made


# The template in force


def _check_start(original: Callable[..., None], args: Any) -> None:
    """Analyse the template before the engine is started. Ends the start, in one line, where it is not understood."""
    original(args)
    tools = args.tool_call_parser if args.enable_auto_tool_choice else None
    reasoning = args.reasoning_parser or args.structured_outputs_config.reasoning_parser
    try:
        ours = [
            ParserManager.get_tool_parser(tools, bool(tools)) is AutoToolParser,
            ParserManager.get_reasoning_parser(reasoning) is AutoReasoningParser,
        ]
        if any(ours):
            _prepare(args, *ours)
    except AutoparserError as error:
        flags = [f"--tool-call-parser {tools}"] * ours[0] + [f"--reasoning-parser {reasoning}"] * ours[1]
        raise SystemExit(f"chat-autoparser: {' and '.join(flags)} cannot be used: {error}") from None
    except (OSError, ValueError) as error:  # of loading model or tokenizer: vLLM will say it better
        LOG.warning("chat-autoparser: the template could not be looked at before the engine starts: %s", error)


def _prepare(args: Any, reads_calls: bool, reads_reasoning: bool) -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.tokenizers import cached_tokenizer_from_config

    config = AsyncEngineArgs.from_cli_args(args).create_model_config()
    if config.hf_config.model_type == "gpt_oss":
        LOG.info("chat-autoparser: vLLM reads the outputs of this model itself, and its own parsers are used")
        if reads_calls:
            args.tool_call_parser = _HARMONY["tool_parser_name"]
        if reads_reasoning:
            args.reasoning_parser = _HARMONY["reasoning_parser_name"]
            args.structured_outputs_config.reasoning_parser = _HARMONY["reasoning_parser_name"]
        return
    if config.skip_tokenizer_init:
        return
    os.environ.pop(TEMPLATE, None)
    given = args.chat_template or _find_default(args.default_chat_template_kwargs)
    if given and len(str(given)) < _LONGEST:
        os.environ[TEMPLATE] = str(given)
    tokenizer = cached_tokenizer_from_config(config)
    trusts, by_default = args.trust_request_chat_template, not args.chat_template
    note_server(Server(tokenizer, config, load_chat_template(given), trusts, by_default))
    get_reader(tokenizer, config)


def _find_default(arguments: dict[str, Any] | None) -> Any:
    """Return the template that ``--default-chat-template-kwargs`` names, with which vLLM renders where no other is given."""
    return (arguments or {}).get("chat_template")


def _start_renderer(original: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Note with what a server renders, before it makes its first parser."""
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    tokenizer = given["renderer"].tokenizer
    if tokenizer is not None:
        trusts = bool(given.get("trust_request_chat_template"))
        template = given["chat_template"] or _find_default(given.get("default_chat_template_kwargs"))
        note_server(Server(tokenizer, given["model_config"], template, trusts, not given["chat_template"]))
    original(*args, **kwargs)
    if _is_ours(given["self"].parser):
        watch_answers()
    if _reads_by_request(given["self"].parser) and given.get("trust_request_chat_template"):
        reader.FORMATS.prepare()


def _is_ours(parser: Any) -> bool:
    return isinstance(parser, type) and issubclass(parser, AutoParser)


def _reads_by_request(parser: Any) -> bool:
    """Whether a class reads by the template of a request: ours, or one of vLLM's with our half for calls."""
    half = getattr(parser, "tool_parser_cls", None)
    return _is_ours(parser) or (isinstance(half, type) and issubclass(half, AutoToolParser))


async def _preprocess_chat(original: Callable[..., Any], renderer: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Wait for the analysis of a request's own template, and tell the parser the prompt before it adjusts the request."""
    parser: Any = kwargs.get("parser")
    tokenizer = renderer.renderer.tokenizer
    given = find_given(request, tokenizer) if _reads_by_request(parser) else None
    if given is not None:
        keep_reader(request, await _wait_for_analysis(given, tokenizer), get_reader(tokenizer))
    if TELLS_PROMPT or not _is_ours(parser):
        return await original(renderer, request, *args, **kwargs)
    rendered = await original(renderer, request, *args, **{**kwargs, "parser": None})
    made = parser(
        tokenizer,
        request.tools,
        model_config=renderer.model_config,
        chat_template_kwargs=renderer.effective_chat_template_kwargs(request),
    )
    ids = rendered[1][0].get("prompt_token_ids")
    if ids is not None:
        made.set_prompt_token_ids(ids)
    made.adjust_request(request=request)
    return rendered


async def _wait_for_analysis(given: str, tokenizer: Any) -> ChatFormat:
    """Return the format of a template. One that is not known yet is waited for, and streams have their turn before it is rendered.

    Many analyses may end in one moment, where templates have waited too long or too many wait. vLLM compiles each of them on
    the event loop, in tens of milliseconds: all in one turn of the loop would be a gap in every stream.
    """
    tokens = list_named_tokens(tokenizer)
    known = reader.FORMATS.find(given, **tokens)
    if known is not None:
        return known
    format = await asyncio.wrap_future(reader.FORMATS.submit(given, **tokens))
    async with _find_gate(asyncio.get_running_loop()):
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    return format


@functools.lru_cache(maxsize=4)
def _find_gate(loop: asyncio.AbstractEventLoop) -> asyncio.Lock:
    return asyncio.Lock()


# What an answer says of itself


async def _answer_chat(
    original: Callable[..., Any], serving: Any, request: Any, result_generator: AsyncIterator[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let a whole answer with a call that was cut say how it ended, and one without content have none."""
    if not _is_ours(serving.parser_cls):
        return await original(serving, request, result_generator, *args, **kwargs)
    reasons: dict[int, str | None] = {}

    async def watch() -> AsyncIterator[Any]:
        async for result in result_generator:
            for output in result.outputs:
                reasons[output.index] = output.finish_reason
            yield result

    response = await original(serving, request, watch(), *args, **kwargs)
    for choice in getattr(response, "choices", None) or ():
        message = choice.message
        cut = _list_cut(message)
        reason = reasons.get(choice.index) or "stop"
        if choice.finish_reason == "tool_calls" and (cut or reason != "stop" or not message.tool_calls):
            choice.finish_reason = reason
        if message.content == "":
            message.content = None
    return response


def _end_step(
    original: Callable[..., Any], self: Any, delta_text: Any, delta_token_ids: Any, finish_reason: Any, prompt_token_ids: Any
) -> Any:
    """The same for a stream: no calls were made where one was cut."""
    step = original(self, delta_text, delta_token_ids, finish_reason, prompt_token_ids)
    return step._replace(finish_reason=finish_reason) if isinstance(step.delta, CutMessage) else step


def _end_choice(original: Callable[..., Any], choice: Any, *args: Any, **kwargs: Any) -> Any:
    """The same in 0.32, where calls are the reason instead of a stop, and no other."""
    if choice.finish_reason == "tool_calls" and isinstance(getattr(choice, "delta", None), CutMessage):
        choice.finish_reason = "stop"
    return original(choice, *args, **kwargs)


def _end_chunk(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same in 0.32 for what was generated elsewhere, where calls are the reason instead of any other."""
    generated = inspect.signature(original).bind(*args, **kwargs).arguments["generate_chunk"]
    chunk, state = original(*args, **kwargs)
    for choice, given in zip(chunk.choices, generated.choices, strict=False):
        if isinstance(choice.delta, CutMessage):
            choice.finish_reason = given.finish_reason
    return chunk, state


def _list_cut(message: Any) -> list[CutCall]:
    return [call.function for call in message.tool_calls or () if isinstance(call.function, CutCall)]


def _convert_whole(original: Callable[..., Any], serving: Any, response: Any) -> Any:
    """Let an answer of the Messages API hold what there is of a call that was cut, and say how it ended.

    Arguments are an object there: it is what the official client makes of a stream that was cut at the same place.
    """
    choice = response.choices[0]
    cut = _list_cut(choice.message)
    for function in cut:
        function.arguments = json.dumps(_read_begun(function.arguments))
    result = original(serving, response)
    if cut and result.stop_reason == "tool_use":
        result.stop_reason, result.stop_sequence = _end_message(choice.stop_reason)
    return result


def _read_begun(arguments: str | None) -> dict[str, Any]:
    """Return what there is of an object whose JSON was cut off: nothing where that is not JSON."""
    try:
        found = from_json(arguments or "{}", allow_partial=True, allow_inf_nan=False)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _find_stop_reason(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The same for a stream: no call is to be run that is not complete."""
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    reason = original(*args, **kwargs)
    return reason if given["tool_complete"] or reason[0] != "tool_use" else _end_message(given["stop_reason"])


def _end_message(stop: Any) -> tuple[str, str | None]:
    return ("stop_sequence", stop) if isinstance(stop, str) else ("end_turn", None)


def _make_items(original: Callable[..., list[Any]], serving: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Let the items of calls that were cut say so, in a response that is not streamed."""
    items = original(serving, *args, **kwargs)
    parser = inspect.signature(original).bind(serving, *args, **kwargs).arguments.get("parser")
    if isinstance(parser, AutoParser):
        calls = [item for item in items if item.type in _CALLS]
        for number, item in enumerate(calls):
            _mark_cut(item, number, parser)
    return items


async def _stream_items(original: Callable[..., Any], serving: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
    """The same for a response that is streamed."""
    given = inspect.signature(original).bind(serving, *args, **kwargs).arguments
    parser, number = getattr(given["context"], "response_parser", None), 0
    async for event in original(serving, *args, **kwargs):
        if event.type == "response.output_item.done" and event.item.type in _CALLS:
            if isinstance(parser, AutoParser):
                _mark_cut(event.item, number, parser)
            number += 1
        yield event


def _mark_cut(item: Any, number: int, parser: AutoParser) -> None:
    if number in parser.incomplete and item.type == "function_call":  # an item of a custom tool has no status
        item.status = "incomplete"


def _generate(original: Callable[..., Any], client: Any, prompt: Any, sampling_params: Any, *args: Any, **kwargs: Any) -> Any:
    """Tell the engine that a grammar of ours has a place for reasoning, where the Responses API of 0.32 does not."""
    if is_told(get_tag(sampling_params)):
        kwargs["reasoning_ended"] = True
    return original(client, prompt, sampling_params, *args, **kwargs)
