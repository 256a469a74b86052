"""The page on the command is true: what it shows is printed, and every command and option that it names exists."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from chat_autoparser.show import command

TEXT = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
DEMO = ROOT / "scripts" / "demo.jinja"


def test_the_difference_is_what_diff_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = tmp_path / "changed.jinja"
    changed.write_text(DEMO.read_text(encoding="utf-8").replace("(:asked:)", "(:done:)"), encoding="utf-8")
    (shown,) = re.findall(r"^\$ chat-autoparser diff .*?\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert command.main(["diff", str(DEMO), str(changed)]) == 1
    assert capsys.readouterr().out.startswith(shown)


def test_the_message_is_what_parse_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ((given, shown),) = re.findall(r"^\$ printf '(.*?)' \|.*?\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.replace("\\n", "\n").encode())))
    assert command.main(["parse", str(DEMO)]) == 0
    assert capsys.readouterr().out == shown


def test_named_commands_and_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^\| `(\w+)", TEXT, re.MULTILINE)
    assert set(commands) == set(command._ACTIONS)
    told = ""
    for arguments in [[], *([name] for name in commands)]:
        with pytest.raises(SystemExit):
            command.main([*arguments, "--help"])
        told += capsys.readouterr().out
    engines = {"--enable-auto-tool-choice", "--tool-call-parser", "--reasoning-parser"}
    assert set(re.findall(r"--[a-z][a-z-]*", TEXT)) - engines <= set(re.findall(r"--[a-z-]+", told))


def test_completion_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab", reason="of the extra 'cli'")
    with pytest.raises(SystemExit) as exit_info:
        command.main(["--print-completion", "bash"])
    assert exit_info.value.code == 0
    assert "doctor" in capsys.readouterr().out
