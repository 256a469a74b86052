"""The command's arguments: what a user may want to say, and that bad input costs one line and no traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from shown import BROKEN, DEMO, TOOLS, Streams, give_input, run

from chat_autoparser.show import command, sources
from chat_autoparser.show.options import read_switch

BAD_INPUT = {
    "no such template": (["inspect", "missing.jinja"], "Reading missing.jinja: No such file or directory"),
    "no such path": (["check", "missing"], "missing does not exist"),
    "folder without a model": (["inspect", "empty"], "the folder empty found neither chat_template.jinja nor"),
    "folder without templates": (["check", "empty"], "empty holds neither *.jinja files nor a model folder"),
    "syntax error": (["inspect", "broken.jinja"], "(line 1 of the template)"),
    "template not UTF-8": (["inspect", "latin.jinja"], "latin.jinja: it is not valid UTF-8"),
    "no conversation": (["inspect", "text.jinja"], "Check that it is a chat template"),
    "configuration without template": (["inspect", "no.json"], "found no chat_template"),
    "no such tools": (["parse", "good.jinja", "--tools", "missing"], "cannot read missing: No such file"),
    "tools not JSON": (["parse", "good.jinja", "--tools", "broken.jinja"], "broken.jinja is not valid JSON"),
    "tools no list": (["parse", "good.jinja", "--tools", "no.json"], "no.json holds no list of tools but dict"),
    "tool without a name": (["parse", "good.jinja", "--tools", "nameless.json"], "tool 1 has no function with a name"),
    "no such prompt": (["parse", "good.jinja", "--prompt", "missing"], "cannot read missing: No such file"),
    "prompt not UTF-8": (["parse", "good.jinja", "--prompt", "latin.jinja"], "latin.jinja is not valid UTF-8"),
    "output without a page": (["inspect", "good.jinja", "--output", "good.jinja"], "--output does nothing without --html"),
    "tools without a page": (["inspect", "good.jinja", "--tools", "no.json"], "--tools does nothing without --html"),
    "prompt and switch": (["parse", "good.jinja", "--prompt", "no.json", "--set", "pondering=true"], "beside --prompt"),
    "unknown switch": (
        ["parse", "good.jinja", "--set", "thinking=true"],
        "does not read it. It reads these switches: pondering",
    ),
    "a file in a folder that is there": (["inspect", "empty/model"], "Reading empty/model: No such file"),
    "switch without a template": (
        ["inspect", "--examples", "x", "--set", "a=1"],
        "--set does nothing without a template",
    ),
    "certificate with examples": (
        ["certify", "good.jinja", "--verify", "x", "--examples", "y"],
        "--examples does nothing beside --verify",
    ),
    "nothing to read": (["inspect"], "name a template or a model folder"),
    "output not UTF-8": (["parse", "good.jinja"], "standard input is not valid UTF-8: invalid start byte at byte 3"),
    "check of a syntax error": (["check", "broken.jinja", "good.jinja"], "broken.jinja: Compiling the chat template failed"),
    "difference to a syntax error": (["diff", "good.jinja", "broken.jinja"], "broken.jinja: Compiling the chat template failed"),
    "certificate over another file": (["certify", "good.jinja", "--to", "no.json"], "no.json is no certificate"),
    "stream not UTF-8": (["parse", "good.jinja", "--stream"], "invalid start byte at byte 3"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_gets_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    files = {
        "good.jinja": DEMO.read_bytes(),
        "broken.jinja": BROKEN.encode(),
        "text.jinja": b"Hello {{ name }}!",
        "latin.jinja": b"\xfc{{ messages }}",
        "no.json": b"{}",
        "nameless.json": json.dumps([*TOOLS, {"type": "function"}]).encode(),
    }
    for file, data in files.items():
        (tmp_path / file).write_bytes(data)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    give_input(monkeypatch, b"\xc3\x9c.\xff...")
    arguments, message = BAD_INPUT[name]
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("chat-autoparser: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["parse", "x", "--nonsense"],
        ["derive"],
        ["inspect", "x", "--json", "--html", "y"],
        ["inspect", "x", "--set", "pondering"],
        ["certify", "x", "--to", "y", "--verify", "z"],
        ["check", "x", "--search", "-1"],
        ["check", "x", "--search", "nan"],
        ["check", "x", "--search", "inf"],
    ],
)
def test_wrong_usage_gets_one_line(arguments: list[str], capsys: Streams) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command.main(arguments)
    assert exit_info.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--help" in err


@pytest.mark.parametrize(("wrong", "meant"), [(["inspekt", "x"], "inspect"), (["inspect", "x", "--jsn"], "--json")])
def test_what_may_be_meant_is_said(wrong: list[str], meant: str, capsys: Streams) -> None:
    with pytest.raises(SystemExit):
        command.main(wrong)
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_an_error_message_cannot_act_on_the_terminal(capsys: Streams) -> None:
    assert run("inspect", "a\x1b[2J\nb") == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.count("\n") == 1


def test_json_can_be_printed_in_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    give_input(monkeypatch, "😀ü(:decided:)\n漢".encode())
    assert run("parse", DEMO) == 0
    message = json.loads(buffer.getvalue().decode("ascii"))
    assert (message["reasoning_content"], message["content"]) == ("😀ü", "漢")


# What a user may want to say


def test_a_switch_can_be_set(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    """The template closes reasoning where the switch is off: the same output is read otherwise."""
    for value, reasoning, content in (("true", "Plain.", None), ("false", None, "Plain.")):
        give_input(monkeypatch, b"Plain.")
        assert run("parse", DEMO, "--set", f"pondering={value}") == 0
        message = json.loads(capsys.readouterr().out)
        assert (message["reasoning_content"], message["content"]) == (reasoning, content)
    assert run("inspect", DEMO, "--set", "pondering=false") == 0
    assert "Assumed in every request: pondering=False" in capsys.readouterr().out


def test_a_switch_that_one_of_many_templates_does_not_read_is_that_ones_fault(tmp_path: Path, capsys: Streams) -> None:
    other = tmp_path / "other.jinja"
    other.write_text(DEMO.read_text(encoding="utf-8").replace("pondering", "musing"), encoding="utf-8")
    assert run("check", DEMO, other, "--set", "pondering=true") == 2
    lines = capsys.readouterr().out.splitlines()
    assert "opened by prompt" in lines[1]
    assert "It reads these switches: musing" in lines[2]


def test_switches_are_typed() -> None:
    given = ["a=true", "a=null", "a=3", "a=[1]", "a='x'", "a=high", "a=None", "a="]
    assert [read_switch(text)[1] for text in given] == [True, None, 3, [1], "x", "high", None, ""]


def test_one_of_several_templates_can_be_named(tmp_path: Path, capsys: Streams) -> None:
    source = DEMO.read_text(encoding="utf-8")
    listed = [{"name": "default", "template": source}, {"name": "other", "template": source.replace("[over]", "[out]")}]
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": listed}), encoding="utf-8")
    assert run("inspect", config) == 0
    out = capsys.readouterr().out
    assert "[over]" in out
    assert "There are several templates, default, other" in out
    assert run("inspect", config, "--template", "other") == 0
    out = capsys.readouterr().out
    assert "[out]" in out
    assert "several templates" not in out
    assert run("inspect", config, "--template", "third") == 2
    assert "no template called 'third'; it has 'default', 'other'" in capsys.readouterr().err


def test_a_name_on_a_hub_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Streams) -> None:
    monkeypatch.setattr(sources, "_find_cached", lambda name: None)
    assert run("inspect", "some-lab/Model-7B") == 2
    assert "looks like the name of a model on a hub: nothing is downloaded" in capsys.readouterr().err


def test_a_model_in_the_hubs_cache_is_read(tmp_path: Path) -> None:
    """The cache as huggingface_hub lays it out; a process of its own, as its place is read when the library is imported."""
    pytest.importorskip("huggingface_hub")
    repository = tmp_path / "hub" / "models--some-lab--Model-7B"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "chat_template.jinja").write_bytes(DEMO.read_bytes())
    called = [sys.executable, "-m", "chat_autoparser", "inspect", "some-lab/Model-7B"]
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub"), "PYTHONUTF8": "1"}
    done = subprocess.run(called, capture_output=True, timeout=60, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "(:decided:)" in done.stdout.decode()


def test_version_and_statuses_are_told(capsys: Streams) -> None:
    for arguments, told in (
        (["--version"], "chat-autoparser "),
        (["--help"], "exit status:"),
        (["check", "--help"], "  1  some"),
    ):
        with pytest.raises(SystemExit) as exit_info:
            command.main(arguments)
        assert exit_info.value.code == 0
        assert told in capsys.readouterr().out


def test_diff_names_what_changed(tmp_path: Path, capsys: Streams) -> None:
    changed = tmp_path / "changed.jinja"
    changed.write_text(DEMO.read_text(encoding="utf-8").replace("(:asked:)", "(:done:)"), encoding="utf-8")
    assert run("diff", DEMO, DEMO) == 0
    assert "described alike" in capsys.readouterr().out
    assert run("diff", DEMO, changed) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Tool calls"
    assert [line.partition("VALUE")[2] for line in lines[2:4]] == ["(:.:)⏎(:asked:)", "(:.:)⏎(:done:)"]
    assert run("diff", DEMO, changed, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert [change["section"] for change in told["changes"]] == ["Tool calls"]
    for crossing in told["read"]:
        assert 0 < len(crossing["missed"]) < crossing["turns"]
        assert all("call" in name for name in crossing["missed"])


def test_doctor_says_what_it_needs(tmp_path: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    from chat_autoparser.show import doctor

    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert run("doctor", DEMO) == 2
    assert "no model folder" in capsys.readouterr().err
    (tmp_path / "chat_template.jinja").write_bytes(DEMO.read_bytes())
    assert run("doctor", tmp_path) == 2
    assert "neither vLLM nor SGLang" in capsys.readouterr().err
