"""What is added to SGLang in each process: two parsers, and the hooks around what it decides for itself."""

from __future__ import annotations

import os

from . import LOG, NAME, engine, resolution, serving
from .calls import CallDetector
from .reasoning import ReasoningDetector

WORKER_APP = "chat_autoparser.sglang_plugin.app:app"


def register_all() -> None:
    """Register; see :func:`chat_autoparser.sglang_plugin.register`."""
    for name in (NAME, "auto"):  # `auto` is resolved before it is looked up, except in `/parse_function_call`
        engine.FunctionCallParser.ToolCallParserEnum[name] = CallDetector
        engine.ReasoningParser.DetectorMap[name] = ReasoningDetector
    engine.add_hook(engine.RESOLVE, resolution.resolve_auto)
    chat = engine.SERVING_CHAT
    engine.add_hook(f"{chat}._process_tool_call_id", serving.keep_call_id)
    engine.add_hook(f"{chat}._process_tool_calls", serving.keep_finish_reason)
    engine.add_hook(f"{chat}._process_messages", serving.note_template)
    engine.add_hook(f"{chat}._convert_to_internal_request", serving.rename_parser)
    engine.add_hook(f"{chat}.apply_reasoning_enabled", serving.rename_parser)
    engine.add_hook(f"{chat}._set_response_parser_context", serving.read_prompt)
    os.environ.setdefault(engine.WORKER_APP_VARIABLE, WORKER_APP)
    LOG.info("chat-autoparser is registered as '%s' in process %d", NAME, os.getpid())
