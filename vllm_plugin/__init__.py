"""The vLLM plugin: ``--tool-call-parser auto --reasoning-parser auto`` for any chat template.

vLLM finds :func:`register` through the entry point group ``vllm.general_plugins`` and calls it in each of its processes. It
registers names only; what they stand for is imported when a server asks for them.
"""

from __future__ import annotations

import logging

NAMES = ("auto", "chat_template")
"""The names under which both halves are registered; the second, should vLLM ever use the first itself."""

_LOG = logging.getLogger("vllm.chat_autoparser")


def register() -> None:
    """Register both halves with vLLM, lazily. Raises nothing, and may be called any number of times."""
    try:
        _register()
    except Exception:
        _LOG.exception("chat-autoparser could not be registered with vLLM; %s are not available as parsers", NAMES)


def _register() -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    from .server import watch_servers

    known = ToolParserManager.lazy_parsers.get(NAMES[0])
    for name in NAMES:
        ToolParserManager.register_lazy_module(name, f"{__name__}.tools", "AutoToolParser")
        ReasoningParserManager.register_lazy_module(name, f"{__name__}.reasoning", "AutoReasoningParser")
    watch_servers()
    if known is None:
        _LOG.info("chat-autoparser: 'auto' parsers for tool calls and reasoning read the format from the chat template")
