"""The real engine, weights and sampling included: what the scripted core of the other tests cannot show.

A server of it takes half a minute to a minute to start, so there are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("openai", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")
pytest.importorskip("anthropic", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")

from served import Served, check_bound, make_bound, serve_subject

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


@pytest.mark.parametrize("stream", [pytest.param(False, id="whole"), pytest.param(True, id="stream")])
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


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize("real", [DOUBLED], indirect=True)
def test_many_connections_to_two_processes(real: Served) -> None:
    cases = list(real.subject.cases.values())[:10]
    with ThreadPoolExecutor(len(cases)) as pool:  # many connections at once, for each process to get some
        faults = list(pool.map(partial(real.find_fault, stream=True), cases))
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize("choice", ["required", "named"])
@pytest.mark.parametrize("stream", [pytest.param(False, id="whole"), pytest.param(True, id="stream")])
def test_random_weights_are_held_to_a_call(real: Served, choice: str, stream: bool) -> None:
    """Left to itself the model writes noise; held to a call, it writes one, in its own format, with fitting arguments."""
    check_bound(real.ask_freely(make_bound(real, choice), stream=stream))
