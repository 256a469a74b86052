"""What README shows of vLLM's own parsers is what they do."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")


def test_the_readmes_example_is_what_the_installed_vllm_does() -> None:
    called = [sys.executable, "-W", "ignore", str(ROOT / "scripts" / "beside.py")]
    done = subprocess.run(called, capture_output=True, text=True, timeout=300, check=True)
    _, _, said = done.stdout.partition("\n")  # the first line is the version
    assert said in (ROOT / "README.md").read_text("utf-8")
