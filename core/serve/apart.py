"""The analysis of templates in another process, which is started once and does no harm to this one."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import AutoparserError, BudgetError
from ..format import ChatFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 400_000
"""How many characters a template may have."""

_WAIT = 12.0  # seconds that an answer may take on a machine that is busy, its process's start included


class Analyst:
    """A process that analyses templates one at a time; started at the first one, or by :meth:`start`.

    To start a process holds this one up until that runs, which may take long on a busy machine: so it is done once, and
    each analysis is a fork of that process. One that dies is started anew.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0  # that of the last task
        atexit.register(self._stop)

    def start(self) -> None:
        """Start the process, unless it runs. Raises OSError where none can be started."""
        with self._lock:
            self._start()

    def analyse(self, source: str, special_tokens: Mapping[str, str], seconds: float) -> ChatFormat:
        """Return the format of a template, within so many seconds on the processor.

        Raises :class:`AutoparserError` where the template is not understood or exceeds its bounds.
        """
        if len(source) > LONGEST:
            raise BudgetError(f"it has {len(source)} characters, and {LONGEST} are allowed")
        with self._lock:
            self._number += 1
            task = {"number": self._number, "source": source, "special_tokens": dict(special_tokens), "seconds": seconds}
            try:
                answer = self._ask(json.dumps(task).encode() + b"\n", monotonic() + seconds + _WAIT)
            except (OSError, ValueError) as error:
                self._stop()
                raise BudgetError(f"the process that analyses templates has failed ({error})") from None
        if "error" in answer:
            raise (BudgetError if answer["bounds"] else AutoparserError)(answer["error"])
        return ChatFormat.from_dict(answer["format"])

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            path = os.pathsep.join(entry for entry in sys.path if entry)
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                bufsize=0,
                start_new_session=True,
            )
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _ask(self, task: bytes, deadline: float) -> dict[str, Any]:
        """Return the answer to a task. Raises OSError or ValueError where there is none."""
        process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        view = memoryview(task)
        while view:
            view = view[process.stdin.write(view) :]
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            found = b""
            while True:
                if not selector.select(max(0.0, deadline - monotonic())):
                    raise TimeoutError("it does not answer")
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise ConnectionError("it has ended")
                *lines, found = (found + piece).split(b"\n")
                for line in lines:
                    answer: dict[str, Any] = json.loads(line)
                    if answer["number"] == self._number:  # a fork that is ended as it answers leaves a second answer behind
                        return answer


ANALYST = Analyst()
"""The one of this process."""
