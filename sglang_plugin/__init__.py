"""SGLang's plugin: `--tool-call-parser auto --reasoning-parser auto` for any model with a chat template.

SGLang calls :func:`register` in each of its processes (entry point group `sglang.srt.plugins`, `srt/plugins/__init__.py` of
0.5.23). It adds a tool-call parser and a reasoning parser under :data:`NAME`, which can also be named explicitly, and takes
over what the word `auto` is resolved to. The environment variable :data:`SWITCH` set to `off` leaves `auto` to SGLang.
"""

from __future__ import annotations

import logging
import os

NAME = "chat_autoparser"
"""What `auto` is resolved to, in both of SGLang's tables of parsers."""

SWITCH = "CHAT_AUTOPARSER_SGLANG_AUTO"
"""The environment variable that, set to `off`, leaves the word `auto` to SGLang."""

LOG = logging.getLogger("sglang.chat_autoparser")

OLDEST, NEWER = (0, 5, 23), (0, 5, 24)
"""The versions of SGLang that the plugin is tested with: from the first on, and before the second.

0.5.23 is the first that hands a parser the rendered prompt and the special tokens of all requests, and lets a grammar hold
the reasoning as well (`srt/parser/response_template.py`). What is hooked into is no promised interface, so a version that
nobody has tried is refused instead of being half extended.
"""


def register() -> None:
    """Add the parsers and hooks to SGLang: all that are needed, or none. Raises ImportError, with the reason, for none.

    SGLang logs what a plugin raises and goes on without it: its own `auto` would then be used, and nobody would notice.
    So a failure is also said in plain words.
    """
    try:
        check_version()  # before anything is imported that another version does not have
        from .registration import register_all

        register_all()
    except Exception as error:
        LOG.error(
            "chat-autoparser could not be registered with this SGLang, whose own `auto` is now in force for "
            "--tool-call-parser and --reasoning-parser: %s. Name the parser (--tool-call-parser %s) to make this an error, "
            "install a supported version of SGLang, or uninstall chat-autoparser.",
            error,
            NAME,
        )
        raise


def check_version() -> None:
    """Raise ImportError for a version of SGLang that the plugin was not tested with."""
    from sglang.version import __version__

    numbers = tuple(int(part) for part in __version__.split("+")[0].split(".")[:3] if part.isdigit())
    if not OLDEST <= numbers < NEWER:
        oldest, newer = (".".join(map(str, version)) for version in (OLDEST, NEWER))
        raise ImportError(f"this is SGLang {__version__}, and {oldest} or newer, but older than {newer}, is needed")


def is_switched_off() -> bool:
    """Whether the user wants SGLang's own `auto`."""
    return os.environ.get(SWITCH, "").strip().lower() == "off"
