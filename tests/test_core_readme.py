"""What core/README.md shows is true: its examples are run, and each folder stands in its map."""

from __future__ import annotations

import doctest
import re

from conftest import ROOT

CORE = ROOT / "core"
TEXT = (CORE / "README.md").read_text(encoding="utf-8")


def test_examples() -> None:
    example = doctest.DocTestParser().get_doctest(TEXT, {}, "core/README.md", "core/README.md", 0)
    assert len(example.examples) >= 10
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)


def test_map() -> None:
    folders = {path.parent.name for path in CORE.glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)/` \|", TEXT, re.MULTILINE)) == folders
