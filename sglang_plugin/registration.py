"""What is added to SGLang in each process: two parsers, and the hooks around what it decides for itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from sglang.version import __version__

from . import LOG, NAME, engine, resolution, serving
from .calls import CallDetector
from .reasoning import ReasoningDetector

WORKER_APP = "chat_autoparser.sglang_plugin.app:app"


class Hook(NamedTuple):
    """A function around one of SGLang's. ``loss`` says what is missing without it; where nothing stands there, all is."""

    target: str
    function: Callable[..., Any]
    loss: str = ""


_CHAT = "sglang.srt.entrypoints.openai.serving_chat.OpenAIServingChat"
_RESPONSES = "sglang.srt.entrypoints.openai.serving_responses.OpenAIServingResponses"
_FIRST = "a template that a request brings is read only from its second request on"

HOOKS = (
    Hook("sglang.srt.parser.template_detection.resolve_auto_parsers", resolution.resolve_auto),
    Hook(f"{_CHAT}._process_messages", serving.note_template),
    Hook(f"{_CHAT}._set_response_parser_context", serving.read_prompt),
    Hook(f"{_CHAT}._process_tool_calls", serving.keep_finish_reason),
    Hook("sglang.srt.managers.tokenizer_manager.TokenizerManager.generate_request", serving.watch_tokens),
    Hook(f"{_CHAT}.handle_request", serving.await_template, _FIRST),
    Hook(f"{_RESPONSES}.create_responses", serving.await_template, _FIRST),
    Hook(f"{_CHAT}._build_chat_response", serving.leave_content_out, "content beside calls is an empty text and not null"),
    Hook(f"{_CHAT}._process_tool_call_id", serving.keep_call_id, "calls get new ids instead of the model's"),
    Hook(f"{_CHAT}._convert_to_internal_request", serving.rename_parser, "efforts are not translated for some families"),
    Hook(f"{_CHAT}.apply_reasoning_enabled", serving.rename_parser, "messages cannot turn some families' thinking off"),
    Hook("sglang.srt.utils.common.add_prometheus_middleware", serving.publish_metrics, "/metrics has no counters of ours"),
)


def register_all() -> None:
    """Register; see :func:`chat_autoparser.sglang_plugin.register`. Nothing is changed before all needed is found."""
    missing = [hook for hook in HOOKS if not engine.has_function(hook.target)]
    needed = [hook.target for hook in missing if not hook.loss]
    if needed:
        raise ImportError(f"SGLang {__version__} has no {' and no '.join(needed)}, which has to be extended")
    for hook in missing:
        LOG.warning("SGLang %s has no %s: %s", __version__, hook.target, hook.loss)
    for name in (NAME, "auto"):  # `auto` is resolved before it is looked up, except in `/parse_function_call`
        FunctionCallParser.ToolCallParserEnum[name] = CallDetector
        ReasoningParser.DetectorMap[name] = ReasoningDetector
    for hook in HOOKS:
        if hook not in missing:
            HookRegistry.register(hook.target, hook.function, HookType.AROUND)
    os.environ.setdefault(engine.WORKER_APP_VARIABLE, WORKER_APP)
    LOG.info("chat-autoparser is registered as '%s' in process %d", NAME, os.getpid())
