"""Numbers for an operator: what was read, and what went wrong. They hold no text of any request or output."""

from __future__ import annotations

from threading import Lock
from typing import Any

DESCRIPTIONS = {
    "outputs": "Outputs that were read",
    "calls": "Tool calls that were read",
    "cut_calls": "Tool calls that did not end: cut off, or not written as the format says",
    "text_kept": "Outputs that hold what opens a tool call and is none: it was handed on as text",
    "recoveries": "Places where a model left its format and was read all the same",
    "faults": "Outputs whose reading failed and whose rest was handed on as it came; each is a defect worth reporting",
    "analyses": "Chat templates that were analysed",
    "refused_analyses": "Chat templates that could not be understood, or not in time",
}
"""The counters by their names."""

_PREFIX = "chat_autoparser_"


class Counters:
    """Counts events by the names in :data:`DESCRIPTIONS`; several threads may count."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._numbers = dict.fromkeys(DESCRIPTIONS, 0)
        self._published: dict[str, Any] = {}

    def add(self, name: str, number: int = 1) -> None:
        """Count some events."""
        if not number:
            return
        with self._lock:
            self._numbers[name] += number
        published = self._published.get(name)
        if published is not None:
            published.inc(number)

    def read(self) -> dict[str, int]:
        """Return all numbers of this process."""
        with self._lock:
            return dict(self._numbers)

    def publish(self) -> bool:
        """Put the counters among the metrics of ``prometheus_client``, as ``chat_autoparser_calls_total`` and so on.

        Engines show the metrics of that library's own registry. Called more than once it does nothing. Returns whether
        there is such a library.
        """
        with self._lock:
            if self._published:
                return True
            try:
                from prometheus_client import Counter

                published = {name: Counter(_PREFIX + name, text) for name, text in DESCRIPTIONS.items()}
            except (ImportError, ValueError):  # ValueError: somebody else has metrics of these names
                return False
            for name, number in self._numbers.items():
                published[name].inc(number)
            self._published = published
            return True


COUNTERS = Counters()
"""The counters of this process."""

publish_counters = COUNTERS.publish
