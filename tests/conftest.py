"""What the tests share: where templates and the expectations of other projects are found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from engines import Engine
    from served import Served
    from vllm_model import Model

    from chat_autoparser.serve.counters import Counters

ROOT = Path(__file__).resolve().parent.parent

# What a run finds must not depend on the day where it decides whether a change lands; elsewhere examples are drawn anew.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI") == "true":
    settings.load_profile("ci")
sys.path.insert(0, str(ROOT / "scripts"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what tests/engines needs to know; options have to be declared up here."""
    group = parser.getgroup("engines")
    group.addoption("--engine", choices=("vllm", "sglang"), help="the engine to test; it must be installed (default: one that is)")
    group.addoption("--parsers", default="auto", help="serve with these parsers, TOOL or TOOL,REASONING, instead of ours")


KNOWN = ROOT / "tests" / "known_failures.txt"
"""Tests of what the core does not do yet, an id a line under a line with the reason. They run, and are counted as expected failures."""


def read_known_failures() -> dict[str, str]:
    """Return the reasons by the ids of tests."""
    reason, found = "", {}
    for line in KNOWN.read_text("utf-8").splitlines() if KNOWN.exists() else ():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            found[line] = reason
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect those to fail that are known to."""
    known = read_known_failures()
    for item in items:
        reason = known.get(ascii(item.nodeid)[1:-1])
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Counters:
    """Counters of one test alone."""
    from chat_autoparser.serve.counters import Counters

    made = Counters()
    for module in ("formats", "reader"):
        monkeypatch.setattr(f"chat_autoparser.serve.{module}.COUNTERS", made)
    return made


# tests/engines: what imports the clients is imported where it is used, for this file also serves environments without them.


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    """The engine that was named, or the one that is installed; skips where there is none, and fails if it was named."""
    from engines import ENGINES

    named = request.config.getoption("--engine")
    for make in [ENGINES[named]] if named else ENGINES.values():
        engine = make()
        if engine.is_installed():
            return engine
    if named:
        pytest.fail(f"{named} is not installed in this environment ({sys.prefix})")
    return pytest.skip("no engine is installed in this environment: run scripts/test.sh")


@pytest.fixture(scope="session")
def served(request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for the shape of template, and the kind of markers, that the test is parametrised with (indirectly)."""
    from served import serve_subject

    shape, markers = request.param
    parsers = request.config.getoption("--parsers")
    with serve_subject(engine, shape, markers, tmp_path_factory.mktemp("server"), parsers) as served:
        yield served


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the model of a shape as vLLM's parsers have it, once."""
    from vllm_model import Model, load_shape

    @cache
    def make(shape: str, markers: str = "special") -> Model:
        subject = load_shape(shape)
        return Model(subject.source, subject.eos, markers, tmp_path_factory.mktemp("model"))

    return make


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Model]:
    """A model of vLLM's whose server is forgotten afterwards."""
    from vllm_model import Model, load_shape

    from chat_autoparser.vllm_plugin import reader

    subject = load_shape("JSON in tags")
    model = Model(subject.source, subject.eos, "special", tmp_path)
    yield model
    reader._SERVERS.pop(id(model.tokenizer), None)
