"""Formats by template: each template is analysed once in a process, however many threads ask for it.

An engine makes a parser for every request, and often several; what it asks for each time is here in well under a
microsecond's worth of work: a look into a dict. What an analysis raised is kept like a format, so that a template that
cannot be understood does not cost its analysis again with every request.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from time import perf_counter
from typing import Any

from .analysis import analyze
from .budget import Budget
from .errors import AutoparserError, MissingTemplateError
from .format import ChatFormat
from .lesson import load_environment_lessons
from .renderer import Renderer, load_renderer
from .summary import list_doubts, summarise_format

_LOG = logging.getLogger(__name__)

CAPACITY = 64
"""How many templates are kept: some for each model served, and a bound where requests bring their own."""


class FormatCache:
    """Keeps the formats of templates, and of those used last at most so many.

    ``log`` is the logger that is told, once for each template, what was derived (INFO) and what could not be
    established (WARNING). ``budget`` bounds each analysis: a server that renders the template anyway trusts it, and may be
    too busy while it starts for the usual bounds. Examples in the file that ``CHAT_AUTOPARSER_EXAMPLES`` names teach
    what a template does not print; it is read at each analysis.
    """

    def __init__(self, capacity: int = CAPACITY, log: logging.Logger = _LOG, budget: Budget | None = None) -> None:
        self._capacity = capacity
        self._budget = budget
        self._log = log
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(self, template: Any, key: Hashable = None, name: str = "the chat template", **special_tokens: str) -> ChatFormat:
        """Return the format of a template, analysed at the first call.

        ``template`` and ``special_tokens`` are what :func:`analyze` takes; ``name`` is what the log calls it. A template
        is known again by its source and special tokens, or where it is an object by its identity; ``key`` overrides
        that, for an object that is made anew but renders alike, or one that changes. Raises what :func:`analyze`
        raises, at each call. Several threads may ask at once: one analyses, and those that want the same format wait.
        """
        if key is None:
            source = template if isinstance(template, str) else id(template)
            key = (source, *sorted(special_tokens.items()))
        entry = self._find(key)
        if not entry.done:
            entry.fill(template, name, special_tokens, self._log, self._budget)
        if entry.error is not None:
            raise entry.error.with_traceback(None)
        assert entry.format is not None, "an entry that is done holds a format or an error"
        return entry.format

    def _find(self, key: Hashable) -> _Entry:
        """Return the entry of a key, made if there is none; the oldest make room for it."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
            return entry


class _Entry:
    """A format or what went wrong, and the lock of the thread that finds out."""

    __slots__ = ("_lock", "_template", "done", "error", "format")

    def __init__(self) -> None:
        self._lock = Lock()
        self._template: Any = None
        self.done = False
        self.format: ChatFormat | None = None
        self.error: AutoparserError | None = None

    def fill(
        self, template: Any, name: str, special_tokens: dict[str, str], log: logging.Logger, budget: Budget | None
    ) -> None:
        """Analyse the template, unless that is done."""
        with self._lock:
            if self.done:
                return
            self._template = template  # an object's identity is its key, so it must not be freed
            start = perf_counter()
            try:
                self.format = _analyze(template, special_tokens, budget)
            except AutoparserError as error:
                self.error = error
                log.warning("%s could not be understood: %s", name[:1].upper() + name[1:], error)
            else:
                _report(self.format, name, perf_counter() - start, log)
            self.done = True


def _analyze(template: Any, special_tokens: dict[str, str], budget: Budget | None) -> ChatFormat:
    """Derive a format, with the examples of the environment, which may stand in for a template."""
    lessons = load_environment_lessons()
    try:
        renderer: Renderer | None = load_renderer(template, **special_tokens).within(budget or Budget())
    except MissingTemplateError:
        if not lessons:
            raise
        renderer = None
    return analyze(renderer, examples=lessons)


def _report(format: ChatFormat, name: str, seconds: float, log: logging.Logger) -> None:
    log.info("Derived from %s in %.0f ms:\n%s", name, seconds * 1000, "\n".join(summarise_format(format)))
    for doubt in list_doubts(format):
        log.warning("%s", doubt)
