"""Which chat template a server uses: vLLM tells its parsers the tokenizer, but never what ``--chat-template`` says.

The object that renders a server's prompts (``OnlineRenderer``, vLLM 0.25 to 0.33) is made with all that is needed. It is
watched while it is made; where a future version has no such object, the tokenizer's own template is what is known.
Nothing here imports vLLM: this module is loaded in each of its processes.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

_LOG = logging.getLogger("vllm.chat_autoparser")

_MODULE = "vllm.renderers.online_renderer"
_CLASS = "OnlineRenderer"
_MARK = "_chat_autoparser_watched"


@dataclass(frozen=True)
class Server:
    """What a server was started with: its tokenizer and model, and the template for all requests (None: the model's)."""

    tokenizer: Any
    model_config: Any
    chat_template: str | None
    trusts_requests: bool


_SERVERS: dict[int, Server] = {}


def find_server(tokenizer: Any) -> Server | None:
    """Return the server that uses a tokenizer, if it is known in this process."""
    return _SERVERS.get(id(tokenizer))


def note_server(server: Server) -> None:
    """Remember a server."""
    _SERVERS[id(server.tokenizer)] = server


def watch_servers() -> None:
    """See to it that each server is noted before it makes its first parser."""
    module = sys.modules.get(_MODULE)
    if module is not None:
        _wrap(module)
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


class _Watcher(importlib.abc.MetaPathFinder):
    """Waits for the module to be imported, wraps what is to be watched in it, and goes."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find nothing but the one module, and that as everybody else does."""
        if fullname != _MODULE:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as another loader does, and wraps the class in what was loaded."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Create the module."""
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module."""
        self._loader.exec_module(module)
        _wrap(module)


def _wrap(module: ModuleType) -> None:
    watched = getattr(module, _CLASS, None)
    if watched is None:
        _LOG.warning("chat-autoparser: this vLLM has no %s.%s; --chat-template is not seen", _MODULE, _CLASS)
        return
    original = watched.__init__
    if getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def observed(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            _note(original, self, *args, **kwargs)
        except Exception:
            _LOG.exception("chat-autoparser could not see which chat template the server uses; the model's own is read")
        original(self, *args, **kwargs)
        _try_parser(self)

    setattr(observed, _MARK, True)
    watched.__init__ = observed


def _note(original: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    tokenizer = given["renderer"].tokenizer
    if tokenizer is not None:
        trusts = bool(given.get("trust_request_chat_template"))
        note_server(Server(tokenizer, given["model_config"], given.get("chat_template"), trusts))


def _try_parser(renderer: Any) -> None:
    """Make the server's parser once, so that a template nobody understands ends the start (vLLM does so from 0.32 on)."""
    halves = (getattr(renderer.parser, "reasoning_parser_cls", None), getattr(renderer.parser, "tool_parser_cls", None))
    if any(getattr(half, "__module__", "").startswith(f"{__package__}.") for half in halves):
        renderer.parser(renderer.renderer.tokenizer, model_config=renderer.model_config)
