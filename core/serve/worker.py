"""Analyses chat templates that nobody trusts: the process that :class:`chat_autoparser.serve.apart.Analyst` starts.

Reads a task a line from its standard input, and writes for each a line with the format, or why there is none, to its
standard output, as JSON. Each task is done by a fork, which may die of it: it has so many ``seconds`` on the processor, and
is ended where it ``wait``s longer than the task says. Ends where its input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any

from chat_autoparser import BudgetError, analyze, load_renderer
from chat_autoparser.ask.budget import Budget

_MEMORY = 1 << 30
_SOON = 0.001  # a clock that is set to nothing never strikes
_PATIENT = 10  # a tenth of what others get where all processors are busy; at 19 an analysis starves there


def main() -> None:
    """Do one task after another: the server goes before."""
    _yield_to_all()
    for line in sys.stdin.buffer:
        task = json.loads(line)
        child = os.fork()
        if not child:
            os._exit(_work(task))
        if os.waitpid(child, 0)[1]:
            _answer(task, {"error": "it takes too much time or memory", "bounds": True})


def _yield_to_all() -> None:
    """Let every other process go before: in this session by the own priority, elsewhere by that of the session (sched(7))."""
    with contextlib.suppress(OSError):
        os.nice(_PATIENT)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as autogroup:
        autogroup.write(str(_PATIENT))


def _work(task: dict[str, Any]) -> int:
    _bound(task["seconds"], task["wait"])
    budget = Budget(seconds=task["wait"], render_seconds=task["seconds"])
    answer: dict[str, object]
    try:
        renderer = load_renderer(task["source"], **task["special_tokens"]).within(budget)
        answer = {"format": analyze(renderer).to_dict()}
    except MemoryError:
        return 1
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__, "bounds": isinstance(error, BudgetError)}
    _answer(task, answer)
    return 0


def _answer(task: dict[str, Any], answer: dict[str, object]) -> None:
    sys.stdout.buffer.write(json.dumps({"number": task["number"], **answer}).encode() + b"\n")
    sys.stdout.buffer.flush()


def _bound(seconds: float, wait: float) -> None:
    """Bound what this fork may take; signals end it when its time on the processor, or all of its time, is over."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not everywhere; time is bounded in any case
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF, signal.SIGALRM))  # a server may have blocked them
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, max(wait, _SOON))


if __name__ == "__main__":
    main()
