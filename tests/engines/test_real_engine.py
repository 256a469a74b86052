"""The real engine, weights and sampling included: what the scripted core of the other tests cannot show.

A server of it takes half a minute to a minute to start, so there are few.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

pytest.importorskip("openai", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")
pytest.importorskip("anthropic", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")

from cases import Case
from engines import MODEL
from judge import find_fault
from served import Served, both, check_bound, make_bound, serve_subject

if TYPE_CHECKING:
    from engines import Engine

SHAPES = ("JSON in tags", pytest.param("tagged arguments", marks=pytest.mark.more))
CASES = ("content hard", "call all types", "reasoning, content, two calls", "two calls")
"""What is asked of it, where the template prints it: for each message a model runs on a CPU."""
DOUBLED = "tagged arguments"
"""The shape whose server has two processes for its API, if the engine can do that."""


@pytest.fixture(scope="module", params=SHAPES)
def real(request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    parsers, options = request.config.getoption("--parsers"), engine.doubled if request.param == DOUBLED else ()
    folder = tmp_path_factory.mktemp("real")
    with serve_subject(engine, request.param, "added", folder, parsers, real=True, options=options) as served:
        yield served


@both
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_rendered_fields_come_back(real: Served, endpoint: str, stream: bool) -> None:
    cases = [case for case in real.list_cases(endpoint) if case.name in CASES]
    assert len(cases) >= 3
    faults = {case.name: real.find_fault(case, endpoint, stream=stream) for case in cases}
    assert [f"{name}: {fault}" for name, fault in faults.items() if fault] == []


@pytest.fixture(scope="module")
def two_processes(engine: Engine) -> None:
    """Skips, before a server is started, where an engine serves its API from one process."""
    if not engine.doubled:
        pytest.skip(f"{engine.name} serves its API from one process")


@pytest.mark.more  # one more start of a real server
@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize("real", [DOUBLED], indirect=True)
def test_both_of_two_processes_read_calls(real: Served) -> None:
    """Of many connections each process gets some, and whoever answers, the calls in the answer are read."""
    case = real.subject.get("two calls", "call")
    answered: dict[int, list[str | None]] = {}
    for _ in range(5):
        connections = [HTTPConnection(urlsplit(real.server.url).netloc, timeout=120) for _ in range(12)]
        for connection in connections:
            connection.connect()
        processes = [find_process(real.server.pid, connection) for connection in connections]  # before one is closed
        with ThreadPoolExecutor(len(connections)) as pool:
            for process, fault in zip(processes, pool.map(partial(ask_by, real, case), connections), strict=True):
                answered.setdefault(process, []).append(fault)
        if len(answered) > 1:
            break
    assert len(answered) == 2, "one process answered everything"
    assert {fault for faults in answered.values() for fault in faults} == {None}


def ask_by(served: Served, case: Case, connection: HTTPConnection) -> str | None:
    """What is wrong with the answer on a connection."""
    body = {"model": MODEL, "messages": case.messages, "tools": case.tools, "chat_template_kwargs": case.kwargs}
    scripted = json.dumps({**body, "max_tokens": case.max_tokens, **served.engine.script(case.text)})
    connection.request("POST", "/v1/chat/completions", scripted, {"Content-Type": "application/json"})
    message = json.load(connection.getresponse())["choices"][0]["message"]
    connection.close()
    return find_fault(case.expected, {"reasoning_content": message.get("reasoning"), **message})


def find_process(session: int, connection: HTTPConnection) -> int:
    """The process of a session that holds the other end of a connection; it may not have taken it yet."""
    sides = [f":{connection.sock.getsockname()[1]:04X}", f":{connection.sock.getpeername()[1]:04X}"]
    for _ in range(600):
        rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
        (socket,) = [f"socket:[{row[9]}]" for row in rows if [row[2][-5:], row[1][-5:]] == sides]
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended, or is none of ours
                if os.getsid(int(folder.name)) == session and socket in map(os.readlink, (folder / "fd").iterdir()):
                    return int(folder.name)
        time.sleep(0.1)
    raise AssertionError("nobody holds the other end")


@pytest.mark.parametrize("choice", ["required", "named"])
@both
def test_random_weights_are_held_to_a_call(real: Served, choice: str, stream: bool) -> None:
    """Left to itself the model writes noise; held to a call, it writes one, in its own format, with fitting arguments."""
    check_bound(real.ask_freely(make_bound(real, choice), stream=stream))
