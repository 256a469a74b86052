"""What the word `auto` is resolved to: the format of the template in force, where it could be established."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chat_autoparser import AutoparserError, ChatFormat

from . import LOG, NAME, SWITCH, engine, formats, is_switched_off

_PARTS = {"reasoning_parser": "reasoning", "tool_call_parser": "tools"}
_FLAGS = {"reasoning_parser": "--reasoning-parser", "tool_call_parser": "--tool-call-parser"}
_ESTABLISHED = ("proven", "partly proven", "read from the instructions, not proven")


def resolve_auto(original: Callable[[Any], None], server_args: Any) -> None:
    """Decide about `auto` before SGLang does, which decides about what is left.

    Runs once, in the process that starts the others. Raises SystemExit where the user names these parsers explicitly and
    the template cannot be understood.
    """
    wanted = [name for name, parser in engine.list_parsers(server_args).items() if parser in ("auto", NAME)]
    named = [name for name, parser in engine.list_parsers(server_args).items() if parser == NAME]
    formats.withdraw()
    if is_switched_off() and not named:
        if wanted:
            LOG.info("%s=off: what `auto` means is left to SGLang", SWITCH)
        return original(server_args)
    if wanted:
        _decide(server_args, wanted, named)
    return _ask_engine(original, server_args)


def _decide(server_args: Any, wanted: list[str], named: list[str]) -> None:
    """Use what was derived from the template for those parts that could be established."""
    format, own, reason = _derive(server_args)
    if format is None and named:
        raise SystemExit(f"chat-autoparser: {_FLAGS[named[0]]} {NAME} cannot be used: {reason}")
    ours = {name: NAME for name in wanted if name in named or (format and _is_established(format, name))}
    if format is not None and "reasoning_parser" in ours and format.reasoning is None:
        LOG.warning("The chat template has no reasoning: %s %s reads none", _FLAGS["reasoning_parser"], NAME)
    for name in wanted:
        if name not in ours:
            LOG.warning("%s auto: %s; SGLang's own answer is used", _FLAGS[name], reason or _explain(format, name))
    if ours and format is not None:
        splits = engine.list_parsers(server_args)["reasoning_parser"] is not None and "reasoning_parser" in ours
        formats.hand_over(format, splits, own if splits else None)
        engine.declare_parsers(server_args, dict(ours))
        LOG.info("%s: read by chat-autoparser ('%s')", ", ".join(_FLAGS[name] for name in ours), NAME)


def _derive(server_args: Any) -> tuple[ChatFormat | None, str | None, str]:
    """Return the format of the template in force and SGLang's reasoning parser for it, or why there is none."""
    try:
        template = engine.load_template(server_args)
        return formats.derive_format(*template), engine.guess_reasoning_parser(template.tokenizer), ""
    except (engine.UnknownTemplate, AutoparserError) as error:
        return None, None, str(error)
    except Exception as error:  # what loading a tokenizer raises is anybody's guess; SGLang will say more
        return None, None, f"the tokenizer or its template could not be loaded ({type(error).__name__}: {error})"


def _is_established(format: ChatFormat, name: str) -> bool:
    found = format.reasoning if name == "reasoning_parser" else format.tools
    return found is not None and format.verdict.of(_PARTS[name]) in _ESTABLISHED


def _explain(format: ChatFormat | None, name: str) -> str:
    status = format.verdict.of(_PARTS[name]) if format else "unknown"
    what = "how the model reasons" if name == "reasoning_parser" else "how the model calls tools"
    return f"{what} could not be derived from the chat template ({status})"


def _ask_engine(original: Callable[[Any], None], server_args: Any) -> None:
    """Let SGLang decide about what is left, and say what it has decided."""
    left = [name for name, parser in engine.list_parsers(server_args).items() if parser == "auto"]
    try:
        original(server_args)
    except Exception as error:
        if not left:
            raise
        LOG.warning("SGLang's own detection failed (%s: %s); without it", type(error).__name__, error)
        engine.declare_parsers(server_args, dict.fromkeys(left))
    decided = engine.list_parsers(server_args)
    for name in left:
        LOG.info("%s auto: SGLang has chosen %s", _FLAGS[name], decided[name] or "none")
