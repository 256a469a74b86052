"""Servers of the engines, started on a free port for as long as a `with` block lasts, and surely stopped after it.

A server runs in a process group of its own, so that none of its children survives it. Its output goes to a log, whose
end is in the error where it does not come up.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "SGLANG_USE_CPU_ENGINE": "1",
    "SGLANG_UVICORN_WORKER_HEALTHCHECK_TIMEOUT": "300",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_TARGET_DEVICE": "cpu",
}
"""What the engines need where there is neither a network nor a GPU."""

STAND_INS = Path(__file__).parent / "sglang_cpu"
"""What has to be first on PYTHONPATH where SGLang runs without its kernels; its output is scripted from there as well."""

_SMALL_SGLANG = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--load-format", "dummy", "--mem-fraction-static", "0.1"),
    *("--max-total-tokens", "32768", "--max-running-requests", "4", "--disable-overlap-schedule", "--disable-radix-cache"),
    "--enable-custom-logit-processor",
)

_SECONDS = 600.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class ServerError(RuntimeError):
    """A server that did not come up (the message has the end of its log), or one that refused a request."""


@dataclass(frozen=True)
class Server:
    """A server that answers. `seconds` is how long it took until it did."""

    url: str
    log: Path
    seconds: float
    pid: int

    def is_alive(self) -> bool:
        """Whether it has not ended by itself."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


def find_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def serve(
    command: Sequence[str],
    log: Path,
    *,
    path: Sequence[str] = (),
    seconds: float = _SECONDS,
    watch: Callable[[float], None] | None = None,
) -> Iterator[Server]:
    """Run a command that serves, with `--host` and `--port` added, until the block ends.

    `path` is added to PYTHONPATH, and `watch` is told again and again how many seconds it has taken so far. Raises
    ServerError where the server dies or does not answer in time.
    """
    environment = {**ENVIRONMENT, **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join([*path, *filter(None, [os.environ.get("PYTHONPATH")])])
    port = find_port()
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    try:
        yield _wait(port, process.pid, lambda: process.poll() is None, log, start, seconds, "/health", watch)
    finally:
        _stop(process.pid, lambda: process.poll() is None)
        process.wait()


def list_sglang(arguments: Sequence[str], launcher: Sequence[str] = ("-m", "sglang.launch_server")) -> list[str]:
    """The command for SGLang's real server, small enough for any machine; the arguments are SGLang's."""
    return [sys.executable, *launcher, *arguments, *_SMALL_SGLANG]


@contextmanager
def serve_fork(
    module: str,
    arguments: Sequence[str],
    log: Path,
    *,
    path: Sequence[str] = (),
    health: str = "/health",
) -> Iterator[Server]:
    """Like `serve`, for a module with a function `run(arguments)`, in a fork of a process that has it imported already.

    Importing an engine takes many times longer than starting its server: the first server pays for all.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    for folder in path:
        _add_to_path(folder)
    _add_to_path(str(Path(__file__).parent))  # before Python 3.14 the fork server has no other way to find the module
    port = find_port()
    given = [*arguments, "--host", "127.0.0.1", "--port", str(port)]
    start = time.monotonic()
    process = context.Process(target=_run_fork, args=(module, given, str(log)), daemon=True)
    process.start()
    assert process.pid is not None
    try:
        yield _wait(port, process.pid, process.is_alive, log, start, _SECONDS, health)
    finally:
        _stop(process.pid, process.is_alive)
        process.join()


def _add_to_path(folder: str) -> None:
    known = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if folder not in known:
        os.environ["PYTHONPATH"] = os.pathsep.join([*known, folder])


def _run_fork(module: str, arguments: list[str], log: str) -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    importlib.import_module(module).run(arguments)


def _wait(
    port: int,
    pid: int,
    is_alive: Callable[[], bool],
    log: Path,
    start: float,
    seconds: float,
    health: str,
    watch: Callable[[float], None] | None = None,
) -> Server:
    url = f"http://127.0.0.1:{port}"
    while time.monotonic() < start + seconds:
        if not is_alive():
            raise ServerError(f"the server died; its log ends with:\n{read_tail(log)}")
        if watch is not None:
            watch(time.monotonic() - start)
        try:
            with urllib.request.urlopen(url + health, timeout=5):
                return Server(url, log, time.monotonic() - start, pid)
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise ServerError(f"the server did not answer in {seconds:.0f} s; its log ends with:\n{read_tail(log)}")


def read_tail(log: Path) -> str:
    """The last lines of a log."""
    found = log.read_text("utf-8", "replace").splitlines() if log.exists() else ["(no log)"]
    return "\n".join(line[:400] for line in found[-40:])


def _stop(pid: int, is_alive: Callable[[], bool]) -> None:
    """End a whole process group: asked first, and killed where that does not help."""
    for number, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            return  # nothing of it is left, or it has not become a group yet
        deadline = time.monotonic() + patience
        while is_alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        if number == signal.SIGTERM and not is_alive():
            continue  # its children may have outlived it: kill what is left of the group
