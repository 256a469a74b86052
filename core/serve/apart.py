"""The analysis of templates in another process, which is started once and does no harm to this one."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from threading import RLock
from time import monotonic
from typing import IO, Any

from ..errors import AutoparserError, BudgetError, FormatError
from ..format import ChatFormat

LONGEST = 400_000
"""How many characters a template may have."""

_BUSY = 12.0  # seconds that an analysis may wait for the processor, on a machine that is busy
_START = 3.0  # seconds that its process may take to start, and to answer
_LONGEST_COMPLAINT = 1000
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")  # what Python may need to start, and no more


class Analyst:
    """A process that analyses templates one at a time; started at the first one, or by :meth:`start`.

    To start a process holds this one up until that runs, which may take long on a busy machine: so it is done once, and
    each analysis is a fork of that process. One that dies is started anew.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0  # that of the last task
        self._complaints: IO[bytes] | None = None
        atexit.register(self._stop)

    def analyse(self, source: str, special_tokens: Mapping[str, str], seconds: float) -> ChatFormat:
        """Return the format of a template, within so many seconds on the processor and some more that it may wait for that.

        Raises :class:`AutoparserError` where the template is not understood, :class:`BudgetError` where it exceeds its bounds
        or the process fails.
        """
        if len(source) > LONGEST:
            raise BudgetError(f"it has {len(source)} characters, and {LONGEST} are allowed")
        with self._lock:
            self._number += 1
            task = {"number": self._number, "source": source, "special_tokens": dict(special_tokens), "seconds": seconds}
            task["wait"] = seconds + _BUSY
            try:
                answer = self._ask(json.dumps(task).encode() + b"\n", monotonic() + seconds + _BUSY + _START)
                if "error" in answer:
                    raise (BudgetError if answer["bounds"] else AutoparserError)(answer["error"])
                return ChatFormat.from_dict(answer["format"])
            except (OSError, ValueError, TypeError, KeyError, FormatError) as error:
                said = self._read_complaint()
                self._stop()
                reason = f"{error or type(error).__name__}{': ' if said else ''}{said}"
                raise BudgetError(f"the process that analyses templates has failed ({reason})") from None

    def start(self) -> subprocess.Popen[bytes]:
        """Return the process, which is started unless it runs. Raises OSError where none can be started."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._stop()
                path = os.pathsep.join(entry for entry in sys.path if entry)
                inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
                self._complaints = TemporaryFile()  # noqa: SIM115  # closed when the process is stopped
                self._process = subprocess.Popen(
                    [sys.executable, "-m", f"{__package__}.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._complaints,
                    env={**inherited, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                    bufsize=0,
                    start_new_session=True,
                )
            return self._process

    def _stop(self) -> None:
        if self._process is not None and self._complaints is not None:
            with self._process, self._complaints:
                self._process.kill()
        self._process = None

    def _ask(self, task: bytes, deadline: float) -> dict[str, Any]:
        """Return the answer to a task. Raises OSError, ValueError, TypeError or KeyError where there is none."""
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        view = memoryview(task)
        while view:
            view = view[process.stdin.write(view) :]
        found = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - monotonic())):
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise ConnectionError("it has ended")
                *lines, found = (found + piece).split(b"\n")
                for line in lines:
                    answer: dict[str, Any] = json.loads(line)
                    if answer["number"] == self._number:  # a fork that is ended as it answers leaves a second answer behind
                        return answer
        raise TimeoutError("it does not answer")

    def _read_complaint(self) -> str:
        """Return the last line of what the process has complained of."""
        if self._process is None or self._complaints is None:
            return ""
        file = self._complaints.fileno()  # the process writes on where this file stands: it must not be moved
        end = os.pread(file, _LONGEST_COMPLAINT, max(0, os.fstat(file).st_size - _LONGEST_COMPLAINT))
        return end.decode(errors="replace").strip().rpartition("\n")[2]


ANALYST = Analyst()
"""The one of this process."""
