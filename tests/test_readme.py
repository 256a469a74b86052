"""The README's examples are true: each Python block is run, and what it shows must come out."""

from __future__ import annotations

import doctest
import re

import pytest
from conftest import ROOT

from chat_autoparser import analyze
from chat_autoparser.describe.report import summarise_format
from chat_autoparser.show import command

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    assert example.examples
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)


TEXTS = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_log_is_what_servers_say() -> None:
    head, *lines = TEXTS[0].splitlines()
    assert head.startswith("Derived from the chat template in ")
    assert lines == summarise_format(analyze(ROOT / "scripts" / "demo.jinja"))


def test_description_is_what_inspect_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = TEXTS[1:]
    assert command.main(["inspect", "scripts/demo.jinja"]) == 0
    printed = capsys.readouterr().out.splitlines()
    positions = [printed.index(line) for line in shown.splitlines() if line]
    assert positions == sorted(positions)


def test_named_scripts_exist() -> None:
    named = set(re.findall(r"scripts/\w+\.(?:sh|jinja)", README))
    assert {"scripts/demo.sh", "scripts/test.sh", "scripts/demo.jinja"} <= named
    assert all((ROOT / name).is_file() for name in named)
