"""The vLLM plugin: ``--tool-call-parser auto --reasoning-parser auto`` for any chat template.

vLLM finds :func:`register` through the entry point group ``vllm.general_plugins`` and calls it in each of its processes.
What reads an output is one :class:`~.parser.AutoParser` of vLLM's class ``Parser``; the two names are what vLLM checks flags
against, and stand for half a parser each where one flag names a parser of vLLM's own.
"""

from __future__ import annotations

import logging

NAMES = ("auto", "chat_template")
"""The names under which both halves are registered; the second, should vLLM use the first itself."""

OLDEST = (0, 32)
"""The first version that hands a ``Parser`` the prompt of each answer, and makes one at the start to see whether it can."""

NEWEST = (0, 33)
"""The last version that was tested."""

LOG = logging.getLogger("vllm.chat_autoparser")


def register() -> None:
    """Register with vLLM. Raises nothing, and may be called any number of times.

    What is missing in the installed vLLM is said in one line of the log, and nothing is registered then: a server that names
    these parsers does not start.
    """
    try:
        check_version()
        _register()
    except Exception as error:
        LOG.error("chat-autoparser: %s are not available as parsers: %s", " and ".join(NAMES), error)
        LOG.debug("chat-autoparser could not be registered", exc_info=True)


def check_version() -> None:
    """Raise ImportError for a version of vLLM that is too old, and warn of one that was not tested."""
    from vllm import __version__

    numbers = tuple(int(part) for part in __version__.split("+")[0].split(".")[:2] if part.isdigit())
    if len(numbers) < 2:
        return  # built from source: what is missing will be said
    if numbers < OLDEST:
        raise ImportError(
            f"vLLM {__version__} is too old, for it tells a parser neither the prompt of an answer nor where a grammar "
            f"begins. Install vLLM {OLDEST[0]}.{OLDEST[1]} or newer, or name one of vLLM's own parsers"
        )
    if numbers > NEWEST:
        LOG.warning("chat-autoparser was tested with vLLM up to %d.%d; this is %s", *NEWEST, __version__)


def _register() -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    from .hooks import install

    install()
    for name in _list_free(ToolParserManager, ReasoningParserManager):
        ToolParserManager.register_lazy_module(name, f"{__name__}.halves", "AutoToolParser")
        ReasoningParserManager.register_lazy_module(name, f"{__name__}.halves", "AutoReasoningParser")


def _list_free(*managers: type) -> list[str]:
    """Return the names that vLLM does not use itself, for either half: halves of two origins must not share a name."""
    free = [name for name in NAMES if not any(_is_taken(manager, name) for manager in managers)]
    for name in NAMES:
        if name not in free:
            LOG.warning("chat-autoparser: vLLM has a parser '%s' of its own, which stays; ours is '%s'", name, NAMES[-1])
    return free


def _is_taken(manager: type, name: str) -> bool:
    """Whether somebody else has registered a name."""
    for table in vars(manager).values():
        if isinstance(table, dict) and name in table:
            found = table[name]
            module = found[0] if isinstance(found, tuple) else getattr(found, "__module__", "")
            return not str(module).startswith(f"{__name__}.")
    return False
