"""What the word `auto` is resolved to: the format of the template in force, where it is proven or nobody else knows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from chat_autoparser import AutoparserError, ChatFormat
from chat_autoparser.errors import MissingTemplateError
from chat_autoparser.serve import check_policy

from . import LOG, NAME, SWITCH, engine, formats, is_switched_off

_PARTS = {"reasoning_parser": "reasoning", "tool_call_parser": "tools"}
_FLAGS = {"reasoning_parser": "--reasoning-parser", "tool_call_parser": "--tool-call-parser"}
_SURE = ("proven", "taught by example")
_USABLE = (*_SURE, "partly proven", "read from the instructions, not proven")


class Found(NamedTuple):
    """What was derived from the template in force, or the reason why nothing was. ``broken`` says that there is a template."""

    format: ChatFormat
    reason: str = ""
    broken: bool = False


def resolve_auto(original: Callable[[Any], None], server_args: Any) -> None:
    """Decide about `auto`, with SGLang's own answer at hand. ``original`` decides as SGLang would, and may fail.

    Runs once, in the process that starts the others, before there are weights. Raises SystemExit where nobody understands
    the template, or where the user names these parsers explicitly and they cannot be used.
    """
    asked = engine.list_parsers(server_args)
    wanted = [name for name, parser in asked.items() if parser in ("auto", NAME)]
    named = [name for name in wanted if asked[name] == NAME]
    if not wanted or (is_switched_off() and not named):
        if wanted:
            LOG.info("%s=off: what `auto` means is left to SGLang", SWITCH)
        return original(server_args)
    try:
        check_policy()
    except AutoparserError as error:
        raise SystemExit(f"chat-autoparser: {error}") from None
    found = _derive(server_args)
    own = _ask_engine(original, server_args, [name for name in wanted if name not in named])
    return _decide(server_args, wanted, named, found, own)


def _decide(server_args: Any, wanted: list[str], named: list[str], found: Found, own: dict[str, str | None]) -> None:
    """Use what was derived for the parts where it is proven, and where SGLang knows nothing and it is not."""
    if found.reason and (named or (found.broken and not any(own.values()))):
        flags = " and ".join(f"{_FLAGS[name]} {NAME if name in named else 'auto'}" for name in wanted)
        hint = "" if named else f", or {SWITCH}=off to serve without"
        raise SystemExit(
            f"chat-autoparser: {flags} cannot be used: {found.reason} Correct the template, choose another parser{hint}."
        )
    ours = [name for name in wanted if name in named or _is_usable(found.format, name, own[name])]
    if not named and all(own.values()) and any(name not in ours and _is_found(found.format, name) for name in wanted):
        ours = []  # parsers of two origins do not know of each other's markers
    if "reasoning_parser" in ours and found.format.reasoning is None:
        LOG.warning("The chat template has no reasoning: %s %s reads none", _FLAGS["reasoning_parser"], NAME)
    engine.declare_parsers(server_args, dict.fromkeys(ours, NAME))
    for name in wanted:
        if name in ours:
            instead = f"; SGLang alone would have chosen '{own[name]}'" if own.get(name) else ""
            LOG.info("%s: read by chat-autoparser ('%s')%s", _FLAGS[name], NAME, instead)
        else:
            why = found.reason or _explain(found.format, name)
            LOG.warning("%s auto: %s; SGLang has chosen %s", _FLAGS[name], why, own[name] or "none")


def _derive(server_args: Any) -> Found:
    """Derive the format of the template in force."""
    try:
        return Found(formats.derive_format(*engine.load_template(server_args)))
    except (engine.UnknownTemplate, MissingTemplateError) as error:
        return Found(ChatFormat(), _tidy(error))
    except AutoparserError as error:
        return Found(ChatFormat(), _tidy(error), broken=True)
    except Exception as error:  # what loading a tokenizer raises is anybody's guess; SGLang will say more
        return Found(ChatFormat(), f"the tokenizer or its template could not be loaded ({type(error).__name__}: {_tidy(error)})")


def _tidy(error: Exception) -> str:
    return " ".join(str(error).split())


def _is_usable(format: ChatFormat, name: str, own: str | None) -> bool:
    """Whether a part is ours to read: it is proven, or all there is."""
    return _is_found(format, name) and format.verdict.of(_PARTS[name]) in (_SURE if own else _USABLE)


def _is_found(format: ChatFormat, name: str) -> bool:
    """Whether the model has that part."""
    return getattr(format, _PARTS[name]) is not None


def _explain(format: ChatFormat, name: str) -> str:
    status = format.verdict.of(_PARTS[name])
    what = "how the model reasons" if name == "reasoning_parser" else "how the model calls tools"
    return f"{what} is not proven from the chat template ({status})"


def _ask_engine(original: Callable[[Any], None], server_args: Any, left: list[str]) -> dict[str, str | None]:
    """Let SGLang decide about what is left to it; returns its answers, None where it has none."""
    try:
        original(server_args)
    except Exception as error:
        if not left:
            raise
        LOG.warning("SGLang's own detection failed (%s: %s)", type(error).__name__, _tidy(error))
        engine.declare_parsers(server_args, dict.fromkeys(left))
    decided = engine.list_parsers(server_args)
    return {name: parser for name, parser in decided.items() if name in left}
