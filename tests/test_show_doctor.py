"""The doctor: how readings are judged, and what is recommended, with engines written by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

from chat_autoparser.analysis import analyze
from chat_autoparser.ask.renderer import Renderer, load_renderer
from chat_autoparser.show import command, doctor
from chat_autoparser.show.display import Display
from chat_autoparser.show.turns import KnownTurn

DEMO = ROOT / "scripts" / "demo.jinja"


class Engine:
    """An engine whose parsers know a turn's fields, each but for what its name says."""

    name, version = "Engine", "1"
    calls: Sequence[str] = ("blind", "good", "raises", "streams_badly")
    reasoning: Sequence[str] = ("good", "keeps_all")

    def read(self, turn: KnownTurn, calls: str | None, reasoning: str | None, stream: bool) -> Mapping[str, Any]:
        if calls == "raises":
            raise ValueError("no such token\nsecond line")
        thought, content = turn.question.reasoning, turn.question.content
        if reasoning == "keeps_all":
            thought, content = turn.text, None
        bad = calls == "blind" or (calls == "streams_badly" and stream)
        called = [] if bad else [{"function": {"name": c.name, "arguments": c.arguments}} for c in turn.question.calls]
        return {"reasoning_content": thought, "content": content, "tool_calls": called}

    def say_flags(self, calls: str | None, reasoning: str | None) -> str:
        return f"serve --calls {calls} --reasoning {reasoning}"


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> list[doctor.Finding]:
    return examine(monkeypatch, Engine(), Path())


def examine(monkeypatch: pytest.MonkeyPatch, engine: Engine, model: Path) -> list[doctor.Finding]:
    """What is found where this engine is installed as vLLM."""
    module = ModuleType("builtin")
    module.open_engine = lambda folder: engine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "chat_autoparser.vllm_plugin.builtin", module)
    monkeypatch.setattr(doctor, "find_spec", lambda name: name == "vllm")
    monkeypatch.setattr(doctor, "import_module", lambda name: sys.modules[name])
    renderer = load_renderer(DEMO)
    return doctor.examine(model, renderer, analyze(renderer), Display())


def test_parsers_are_ranked_by_the_turns_that_they_read(findings: list[doctor.Finding]) -> None:
    (finding,) = findings
    assert finding.calls[0].name == "good"
    assert finding.calls[0].read == finding.calls[0].turns > 0
    faults = {reading.name: reading.fault for reading in finding.calls}
    assert "ValueError: no such token" in faults["raises"]
    assert "second line" not in faults["raises"]
    assert faults["streams_badly"].endswith("(streamed)")
    assert "calls are read" in faults["blind"]
    assert [reading.name for reading in finding.reasoning] == ["good", "keeps_all"]


def test_the_best_pair_gives_the_flags(findings: list[doctor.Finding]) -> None:
    (finding,) = findings
    assert finding.best_reads_all
    assert finding.flags == "serve --calls good --reasoning good"
    text = "\n".join(map(str, doctor.lay_out_findings(findings)))
    assert "use: serve --calls good --reasoning good" in text


def test_of_equals_the_one_that_is_named_like_the_model_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Twins(Engine):
        calls = ("good", "other_good")

    model = tmp_path / "Other-Good-7B"
    model.mkdir()
    (finding,) = examine(monkeypatch, Twins(), model)
    assert [reading.name for reading in finding.calls] == ["other_good", "good"]
    assert finding.flags == "serve --calls other_good --reasoning good"


def test_where_no_pair_reads_all_this_packages_parsers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind(Engine):
        calls = ("blind",)

    (finding,) = examine(monkeypatch, Blind(), Path())
    assert not finding.best_reads_all
    text = "\n".join(map(str, doctor.lay_out_findings([finding])))
    assert "no built-in parser reads all turns; use this package's: serve --calls auto --reasoning auto" in text


def test_a_template_is_chosen_where_a_model_has_several(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named = [{"name": name, "template": source} for name, source in (("default", "{{ nothing }}"), ("tools", DEMO.read_text("utf-8")))]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}), encoding="utf-8")
    seen: list[str | None] = []

    def examine(path: Path, renderer: Renderer, format: object, display: object) -> list[doctor.Finding]:
        seen.append(renderer.source)
        return []

    monkeypatch.setattr(command, "examine", examine)
    assert command.main(["doctor", str(tmp_path), "--template", "tools"]) == 1
    assert seen == [DEMO.read_text("utf-8")]


def test_an_engine_that_does_not_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise OSError("no GPU here")

    monkeypatch.setattr(doctor, "find_spec", lambda name: name == "sglang")
    monkeypatch.setattr(doctor, "import_module", fail)
    renderer = load_renderer(DEMO)
    findings = doctor.examine(Path(), renderer, analyze(renderer), Display())
    assert "could not be loaded: OSError: no GPU here" in "\n".join(map(str, doctor.lay_out_findings(findings)))
