"""The formats of a server: its own, which stay, and those of templates that requests bring.

A server's own template is analysed where it is asked for, before the server is up. A request's template is untrusted code
that a client chose: it is analysed in a process of its own, with bounds of time and memory that the operating system
enforces, one at a time, while the server goes on. What was found is kept in a table of bounded size, the least recently
used first to go; the server's own formats are not in it and cannot be evicted.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic, perf_counter
from typing import Any

from ..analysis import analyze
from ..ask.budget import Budget
from ..ask.renderer import Renderer, load_renderer
from ..describe.words import report_format, warn_of_doubts
from ..errors import AutoparserError, BudgetError, FormatError, MissingTemplateError
from ..export.certificate import FILE_NAME, load_certificate
from ..format import ChatFormat
from ..teach.lesson import load_environment_lessons
from .apart import ANALYST
from .counters import COUNTERS
from .reader import check_policy

_LOG = logging.getLogger(__name__)

OWN_BUDGET = Budget(seconds=120, render_seconds=30)
"""What a server's own template may cost: the engine will render it without any bounds."""

VARIABLE = "CHAT_AUTOPARSER_TEMPLATE_SECONDS"
"""The environment variable that says how much time on the processor the analysis of a request's template may take."""

SECONDS = 3.0
"""How much that is without it."""

PATIENCE = 4.0
"""How long a request's template waits for its turn, in seconds; then its output is content."""

CAPACITY = 64
"""How many formats of requests' templates are kept."""

_WAITING = 32  # templates that may wait; what comes while so many do is not analysed


class Formats:
    """Keeps the formats of one server; see the module's text.

    ``log`` is told once for each format, in one line. ``apart`` replaces the function that analyses a request's template:
    source, special tokens and seconds in, a format out; raises :class:`AutoparserError`.
    """

    def __init__(
        self,
        log: logging.Logger = _LOG,
        *,
        capacity: int = CAPACITY,
        apart: Callable[[str, Mapping[str, str], float], ChatFormat] | None = None,
    ) -> None:
        self._log = log
        self._capacity = capacity
        self._apart = apart or ANALYST.analyse
        self._lock = Lock()
        self._pinned: dict[Hashable, ChatFormat] = {}
        self._kept: OrderedDict[Hashable, ChatFormat] = OrderedDict()
        self._running: dict[Hashable, Future[ChatFormat]] = {}
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="chat-autoparser")  # starts its thread with its first task

    def pin(
        self, template: Any, name: str, *, key: Hashable = None, folder: str | None = None, **special_tokens: str
    ) -> ChatFormat:
        """Return the format of the server's own template, analysed here and now at the first call, and keep it.

        ``template`` and ``special_tokens`` are those of :func:`analyze`, with the examples that ``CHAT_AUTOPARSER_EXAMPLES``
        names; ``name`` is what log and errors call it. Known again by ``key``, by default source and special tokens.
        Where the model's ``folder`` has a certificate of this template, and there are no examples, the format is taken from
        that, in milliseconds. Raises :class:`AutoparserError`, at each call, in one line that names the template.
        """
        find_seconds()
        key = _make_key(template, special_tokens) if key is None else key
        if key in self._pinned:
            return self._pinned[key]
        check_policy()
        start = perf_counter()
        origin = name
        try:
            lessons = load_environment_lessons()
            try:
                renderer = load_renderer(template, **special_tokens).within(OWN_BUDGET)
            except MissingTemplateError:
                if not lessons:
                    raise
                renderer = None
            certified = None if renderer is None or lessons else self._find_certificate(folder, renderer)
            if certified is not None:
                format, origin = certified, f"{name}, certified in {FILE_NAME},"
            else:
                COUNTERS.add("analyses")
                format = analyze(renderer, examples=lessons)
        except AutoparserError as error:
            COUNTERS.add("refused_analyses")
            raise type(error)(f"{name} is not understood: {' '.join(str(error).split())}") from None
        format = self._pinned.setdefault(key, format)
        self._log.info("%s", report_format(format, origin, perf_counter() - start))
        warn_of_doubts(format, name, self._log)
        return format

    def _find_certificate(self, folder: str | None, renderer: Renderer) -> ChatFormat | None:
        """Return the format of a model's certificate, None where there is none that fits; the log says why it does not."""
        if not folder or not Path(folder, FILE_NAME).is_file():
            return None
        try:
            return load_certificate(Path(folder), renderer)
        except FormatError as error:
            self._log.warning("chat-autoparser: %s is not used, the template is analysed: %s", Path(folder, FILE_NAME), error)
            return None

    def prepare(self) -> None:
        """Get ready to analyse templates of requests, while a server starts; without it the first of them does that."""
        try:
            ANALYST.start()
        except OSError as error:
            self._log.warning("chat-autoparser: no process can be started to analyse requests' templates: %s", error)

    def find(self, source: str, **special_tokens: str) -> ChatFormat | None:
        """Return the format of a request's template if it is known; waits for nothing."""
        key = _make_key(source, special_tokens)
        with self._lock:
            found = self._pinned.get(key)
            if found is None and key in self._kept:
                self._kept.move_to_end(key)
                found = self._kept[key]
            return found

    def submit(self, source: str, **special_tokens: str) -> Future[ChatFormat]:
        """Have a request's template analysed apart; the future is done within some seconds and raises nothing.

        Where the template is not understood, or not in time, its format is an empty one, by which all is content; the log
        says so. On an event loop, await ``asyncio.wrap_future(...)``.
        """
        key = _make_key(source, special_tokens)
        known = self.find(source, **special_tokens)
        if known is not None:
            return _done(known)
        with self._lock:
            if key in self._running:
                return self._running[key]
            if len(self._running) < _WAITING:
                future: Future[ChatFormat] = Future()
                future.set_running_or_notify_cancel()  # from now on nobody can cancel what others wait for, too
                self._executor.submit(self._run, future, key, source, special_tokens, monotonic() + PATIENCE)
                self._running[key] = future
                return future
        self._refuse("too many other templates are being analysed")
        return _done(ChatFormat())

    def _run(
        self, future: Future[ChatFormat], key: Hashable, source: str, special_tokens: Mapping[str, str], deadline: float
    ) -> None:
        """Analyse a template, and tell those who wait for it; where it is not understood, its format is an empty one."""
        start, keep = perf_counter(), True
        try:
            if monotonic() > deadline:
                raise BudgetError("it had to wait too long for other templates")
            COUNTERS.add("analyses")
            format = self._apart(source, special_tokens, find_seconds())
            self._log.info("%s", report_format(format, "a request's chat template", perf_counter() - start))
        except Exception as error:
            self._refuse(" ".join(str(error).split())[:300])
            format, keep = ChatFormat(), not isinstance(error, BudgetError)  # the machine may only have been busy
        with self._lock:
            if keep:
                self._kept[key] = format
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
            self._running.pop(key, None)
        future.set_result(format)

    def _refuse(self, reason: str) -> None:
        COUNTERS.add("refused_analyses")
        self._log.warning("chat-autoparser: a request's chat template is not understood, all is content: %s", reason)


def find_seconds() -> float:
    """Return how long a request's template may take. Raises :class:`AutoparserError` where the environment names no such time."""
    named = os.environ.get(VARIABLE, "").strip() or str(SECONDS)
    with suppress(ValueError):
        if 0 < float(named) <= 60:
            return float(named)
    raise AutoparserError(f"{VARIABLE} is {named!r}, and must be a number of seconds above 0, at most 60")


def _make_key(source: Hashable, special_tokens: Mapping[str, str]) -> Hashable:
    return (source, *sorted(special_tokens.items()))


def _done(format: ChatFormat) -> Future[ChatFormat]:
    future: Future[ChatFormat] = Future()
    future.set_result(format)
    return future
