"""Analyses one chat template in a process that may die: what :func:`chat_autoparser.serve.formats.analyse_apart` starts.

Reads a task from its standard input and writes the format, or why there is none, to its standard output, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys

_MEMORY = 1 << 30
_WAITS = 8  # how much longer it may take where the machine is busy


def main() -> None:
    """Read a task, do it within its bounds, and write what became of it."""
    task = json.load(sys.stdin)
    _bound(float(task["seconds"]))
    from chat_autoparser import analyze, load_renderer
    from chat_autoparser.ask.budget import Budget

    budget = Budget(seconds=task["seconds"] * _WAITS, render_seconds=task["seconds"])
    answer: dict[str, object]
    try:
        answer = {"format": analyze(load_renderer(task["source"], **task["special_tokens"]).within(budget)).to_dict()}
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__}
    json.dump(answer, sys.stdout)


def _bound(seconds: float) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # not everywhere; the parent has its own clock
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with contextlib.suppress(AttributeError):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # time on the processor: then the signal ends this process


if __name__ == "__main__":
    main()
