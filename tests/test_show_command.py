"""The command: what it prints, its exit status, and that bad input costs one line and no traceback."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from shown import PROVEN

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.format import ChatFormat
from chat_autoparser.show import command, sources
from chat_autoparser.show.options import read_switch
from chat_autoparser.show.sources import find_templates

DEMO = ROOT / "scripts" / "demo.jinja"

OUTPUT = """\
Ünïque thoughts.(:decided:)
Here.
(:ask get_weather:)
(:with city:)Oslo(:.:)
(:with days:)3(:.:)
(:asked:)"""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "string"}}},
        },
    }
]

BROKEN = "{% for m in messages %}"

Streams = pytest.CaptureFixture[str]


def run(*arguments: str | Path) -> int:
    return command.main([str(argument) for argument in arguments])


def give_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def start(*arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
    """Start the command as a process of its own, which an interrupt reaches even if these tests run in the background."""
    called = [sys.executable, "-m", "chat_autoparser", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(called, cwd=ROOT / "tests", env={**os.environ, "PYTHONUTF8": "1"}, preexec_fn=_heed_interrupts, **pipes)


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def fold(lines: list[str]) -> dict[str, Any]:
    """Join OpenAI deltas, one a line, into a message without ids."""
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "calls": []}
    for delta in map(json.loads, lines):
        for name in ("content", "reasoning_content"):
            message[name] += delta.get(name, "")
        for call in delta.get("tool_calls", []):
            if "id" in call:
                message["calls"].append([call["function"]["name"], ""])
            message["calls"][call["index"]][1] += call["function"]["arguments"]
    return message


@pytest.fixture
def proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats that were proven."""
    monkeypatch.setattr(command, "analyze", lambda renderer, **_: dataclasses.replace(analyze(renderer), verdict=PROVEN))


def test_inspect_tells_format_verdict_and_example(capsys: Streams) -> None:
    assert run("inspect", DEMO) == 0
    out = capsys.readouterr().out
    assert out.startswith("Chat format: proven; ")
    assert "(:decided:)" in out
    assert "with pondering=False" in out
    assert "(:with city:)Oslo(:.:)\n    (:with days:)3(:.:)\n    (:asked:)\n    (:ask find_train:)" in out
    assert "\x1b" not in out


def test_inspect_as_json_is_the_format(capsys: Streams) -> None:
    assert run("inspect", DEMO, "--json") == 0
    format = analyze(DEMO)
    assert ChatFormat.from_dict(json.loads(capsys.readouterr().out)) == format


def test_inspect_takes_a_model_folder(tmp_path: Path, capsys: Streams) -> None:
    config = {"chat_template": DEMO.read_text(encoding="utf-8").replace("'[over]", "eos_token + '"), "eos_token": "<E>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert run("inspect", tmp_path) == 0
    assert "end of turn" in (out := capsys.readouterr().out)
    assert "<E>" in out
    assert "eos_token" not in out


def test_inspect_says_which_special_token_is_missing(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "bare.jinja"
    path.write_text(DEMO.read_text(encoding="utf-8").replace("'[over]", "eos_token + '"), encoding="utf-8")
    assert run("inspect", path) == 0
    out = capsys.readouterr().out
    note = "eos_token is not known and stands as <eos_token>: give it with --eos-token"
    assert note in out
    assert "bos_token" not in out
    format = ca.analyze(path)
    assert format.stops == ("<eos_token>",)
    assert note in format.verdict.notes[-1], "the library says and does the same"
    source = path.read_text(encoding="utf-8")
    with pytest.raises(ca.TemplateError, match=r"'eos_token' is undefined\. Give this special token \(eos_token=…\)"):
        ca.analyze(source)
    assert "eos_token is not known and prints nothing" in ca.analyze(source.replace("eos_token +", "eos_token ~")).verdict.notes[-1]
    assert run("inspect", path, "--eos-token", "<E>") == 0
    out = capsys.readouterr().out
    assert "not known" not in out
    assert "<E>" in out


def test_parse_prints_the_message(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    give_input(monkeypatch, OUTPUT.encode())
    assert run("parse", DEMO) == 0
    message = json.loads(capsys.readouterr().out)
    call = message["tool_calls"][0]
    assert call.pop("id")
    assert message == {
        "role": "assistant",
        "content": "Here.",
        "reasoning_content": "Ünïque thoughts.",
        "tool_calls": [{"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo", "days": 3}'}}],
    }


def test_parse_types_values_by_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS), encoding="utf-8")
    give_input(monkeypatch, OUTPUT.encode())
    assert run("parse", DEMO, "--tools", tools) == 0
    message = json.loads(capsys.readouterr().out)
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo", "days": "3"}


def test_parse_without_tools_finds_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text("[]", encoding="utf-8")
    give_input(monkeypatch, OUTPUT.encode())
    assert run("parse", DEMO, "--tools", tools) == 0
    message = json.loads(capsys.readouterr().out)
    assert "tool_calls" not in message
    assert message["content"] == OUTPUT.partition("(:decided:)\n")[2]


def test_parse_starts_where_the_prompt_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_bytes("[user]\nÜ?[over]\n[assistant]\n(:ponder:)(:decided:)\n".encode())
    give_input(monkeypatch, b"Plain.")
    assert run("parse", DEMO, "--prompt", prompt) == 0
    message = json.loads(capsys.readouterr().out)
    assert (message["reasoning_content"], message["content"]) == (None, "Plain.")


def test_parse_says_when_a_call_is_incomplete(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    give_input(monkeypatch, OUTPUT[: OUTPUT.index("slo")].encode())
    assert run("parse", DEMO) == 0
    said = capsys.readouterr().err
    assert said == 'chat-autoparser: note: the tool call to get_weather is incomplete; of its arguments there is {"city": "O"}\n'
    give_input(monkeypatch, OUTPUT[: OUTPUT.index("Oslo")].encode())
    assert run("parse", DEMO) == 0
    assert capsys.readouterr().err.endswith("the tool call to get_weather is incomplete: not one argument is whole\n")


def test_parse_says_what_there_is_of_an_incomplete_call(monkeypatch: pytest.MonkeyPatch, capsys: Streams, tmp_path: Path) -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]))
    give_input(monkeypatch, OUTPUT[: OUTPUT.index("slo") + 1].encode())
    assert run("parse", DEMO, "--tools", tools) == 0
    said = capsys.readouterr().err
    assert said.endswith('the tool call to get_weather is incomplete; of its arguments there is {"city": "Os"}\n')


ALMOST_JSON = "{% for m in messages %}<{{ m.role }}>{% for c in m.tool_calls or [] %}[call {{ c.function.name }} " + (
    "{{ c.function.arguments | tojson }}]{% endfor %}{{ m.content or '' }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.parametrize(("policy", "arguments"), [((), "{'a': 1}"), (("--policy", "repair"), '{"a": 1}')])
def test_parse_reads_by_a_policy_and_names_recoveries(
    policy: tuple[str, ...], arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Streams
) -> None:
    (template := tmp_path / "t.jinja").write_text(ALMOST_JSON)
    (output := tmp_path / "output.txt").write_text("[call f {'a': 1}]")
    give_input(monkeypatch, output.read_bytes())
    assert run("parse", template, *policy) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["tool_calls"][0]["function"]["arguments"] == arguments
    assert told.err.startswith("chat-autoparser: note: off the script at character ")
    assert run("inspect", template, "--html", tmp_path / "page.html", "--output", output, *policy) == 0
    assert run("roundtrip", template, "--output", output, *policy) in (0, 1)


def test_stream_is_one_delta_a_line(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    give_input(monkeypatch, OUTPUT.encode())
    assert run("parse", DEMO, "--stream") == 0
    assert fold(capsys.readouterr().out.splitlines()) == {
        "content": "Here.",
        "reasoning_content": "Ünïque thoughts.",
        "calls": [["get_weather", '{"city": "Oslo", "days": 3}']],
    }


def test_stream_prints_as_input_arrives() -> None:
    """Nothing waits for the end of the input, nor for a line; a character may be split between two pieces."""
    with start("parse", DEMO, "--stream") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"abc\xc3")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"reasoning_content": "abc"}
        process.stdin.write(b"\x9c")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"reasoning_content": "Ü"}
        assert process.communicate(timeout=30) == (b"", b"")
        assert process.returncode == 0


def test_interrupt_is_quiet() -> None:
    with start("parse", DEMO, "--stream") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"abc")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        assert process.returncode == 130
        assert process.stderr
        assert process.stderr.read() == b""


def test_closed_pipe_is_quiet() -> None:
    with start("inspect", DEMO) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.wait(timeout=30)
        assert process.returncode == 141
        assert process.stderr.read() == b""


def test_closed_pipe_is_quiet_where_arguments_print() -> None:
    pytest.importorskip("shtab")
    with start("--print-completion", "bash") as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.wait(timeout=30)
        assert (process.returncode, process.stderr.read()) == (141, b"")


def test_a_fault_of_the_program_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    def fail(renderer: Any, **_: Any) -> ChatFormat:
        raise KeyError("lost\nline")

    monkeypatch.setattr(command, "analyze", fail)
    assert run("check", DEMO) == 70
    err = capsys.readouterr().err
    assert err.startswith("chat-autoparser: KeyError: ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("proven")
def test_check_of_proven_templates(tmp_path: Path, capsys: Streams) -> None:
    nested = tmp_path / "one" / "two"
    nested.mkdir(parents=True)
    for name in ("b.jinja", "a.jinja"):
        (nested / name).write_bytes(DEMO.read_bytes())
    assert run("check", tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["template", "reasoning", "content", "tools", "checks", "time"]
    assert [line.split("  ")[0] for line in lines[1:3]] == [str(nested / "a.jinja"), str(nested / "b.jinja")]
    assert "✓ opened by prompt" in lines[1]
    assert "✓ plain" in lines[1]
    assert "✓ own notation" in lines[1]
    assert lines[-1].startswith("2 templates: 2 proven; ")


def test_check_of_a_template_that_is_not_proven(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = dataclasses.replace(PROVEN, parts=(("reasoning", "proven"), ("content", "proven"), ("tools", "not established")))
    monkeypatch.setattr(command, "analyze", lambda renderer, **_: dataclasses.replace(analyze(renderer), verdict=verdict))
    assert run("check", DEMO) == 1
    out = capsys.readouterr().out
    assert "✗ own notation" in out
    assert out.splitlines()[-1].startswith("1 template: 1 partly proven; ")


def test_check_of_a_file_that_is_no_chat_template(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "text.jinja"
    path.write_text("Hello {{ name }}!", encoding="utf-8")
    assert run("check", path) == 1
    assert "Check that it is a chat template" in capsys.readouterr().out


@pytest.mark.usefixtures("proven")
def test_check_of_a_broken_template(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "broken.jinja").write_text(BROKEN, encoding="utf-8")
    assert run("check", tmp_path, DEMO) == 2
    out = capsys.readouterr().out
    assert "✗ Compiling the chat template failed" in out
    assert out.splitlines()[-1].startswith("2 templates: 1 proven, 1 failed; ")


@pytest.mark.usefixtures("proven")
def test_check_as_json(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "broken.jinja"
    path.write_text(BROKEN, encoding="utf-8")
    assert run("check", DEMO, path, "--json") == 2
    streams = capsys.readouterr()
    report = json.loads(streams.out)
    good, bad = report["templates"]
    assert report["summary"] == {"proven": 1, "partly proven": 0, "not established": 0, "failed": 1}
    assert good["path"] == str(DEMO)
    assert good["proven"]
    assert good["verdict"]["parts"] == {"reasoning": "proven", "content": "proven", "tools": "proven"}
    assert good["verdict"]["checked"] == good["verdict"]["passed"] > 0
    assert good["derived"] == {"reasoning": "opened by prompt", "content": "plain", "tools": "own notation"}
    assert not bad["proven"]
    assert bad["unreadable"]
    assert "Compiling" in bad["error"]
    assert streams.err.count("\n") == 1, "as for all input that cannot be used"


def test_folders_are_searched_for_templates_and_models(tmp_path: Path) -> None:
    source = DEMO.read_text(encoding="utf-8")
    model, configured, plain = (tmp_path / name for name in ("model", "configured", "plain"))
    for folder in (model / "additional_chat_templates", configured, plain / "empty"):
        folder.mkdir(parents=True)
    (model / "chat_template.jinja").write_text(source, encoding="utf-8")
    (model / "additional_chat_templates" / "other.jinja").write_text(source, encoding="utf-8")
    (configured / "tokenizer_config.json").write_text(json.dumps({"chat_template": source}), encoding="utf-8")
    (plain / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    (plain / "x.jinja").write_text(source, encoding="utf-8")
    (plain / "x.txt").write_text(source, encoding="utf-8")
    assert find_templates([str(tmp_path), str(plain / "x.jinja")]) == [configured, model, plain / "x.jinja"]


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


@pytest.mark.usefixtures("proven")
def test_command_needs_no_rich(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"] + ["rich"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert run("inspect", DEMO) == 0
    assert run("check", DEMO) == 0
    assert "1 template: 1 proven" in capsys.readouterr().out


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


@pytest.mark.usefixtures("proven")
def test_a_certificate_stands_for_an_analysis(tmp_path: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chat_template.jinja").write_bytes(DEMO.read_bytes())
    assert run("certify", tmp_path) == 0
    file = tmp_path / "chat_autoparser.json"
    assert "proven; 9 of 9" in capsys.readouterr().out
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["proof"]["parts"] == {"reasoning": "proven", "content": "proven", "tools": "proven"}
    monkeypatch.setattr(command, "analyze", None)  # nothing is analysed
    assert run("certify", tmp_path, "--verify", file) == 0
    assert run("certify", tmp_path, "--set", "pondering=false", "--verify", file) == 2
    assert "belongs to another template" in capsys.readouterr().err


def test_a_certificate_with_stand_ins_is_warned_of(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "bare.jinja"
    path.write_text(DEMO.read_text(encoding="utf-8").replace("'[over]", "eos_token + '"), encoding="utf-8")
    for given, warned in (((), True), (("--eos-token", "<E>"), False)):
        assert run("certify", path, *given) == 0
        assert ("eos_token was not given, and stands as <eos_token>" in capsys.readouterr().err) == warned


def test_doctor_says_what_it_needs(tmp_path: Path, capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    from chat_autoparser.show import doctor

    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert run("doctor", DEMO) == 2
    assert "no model folder" in capsys.readouterr().err
    (tmp_path / "chat_template.jinja").write_bytes(DEMO.read_bytes())
    assert run("doctor", tmp_path) == 2
    assert "neither vLLM nor SGLang" in capsys.readouterr().err


def test_round_trips_are_told(capsys: Streams) -> None:
    assert run("roundtrip", DEMO) in (0, 1)
    assert capsys.readouterr().out.startswith("Round trips: ")
    assert run("roundtrip", DEMO, "--json") in (0, 1)
    assert all({"turn", "kept", "fault"} <= set(trip) for trip in json.loads(capsys.readouterr().out))


# The library's own front


@pytest.mark.parametrize("tools", ["x", b"x", 5, {"type": "function"}, ["x"], [1], [object(), None]])
def test_tools_that_are_no_list_of_dicts_are_refused(tools: Any) -> None:
    for read in (ChatFormat().parser, ChatFormat().reasoning_splitter):
        with pytest.raises(TypeError, match="list of tool dicts"):
            read(tools)


@pytest.mark.parametrize("messages", ["x", ["x"], 5, None, {"role": "user"}, [{"role": "user"}, 5]])
def test_messages_that_are_no_list_of_dicts_are_refused(messages: Any) -> None:
    with pytest.raises(TypeError, match="messages must be a list of message dicts, not "):
        ChatFormat().validate(messages)
    with pytest.raises(TypeError, match="messages must be a list of message dicts, not "):
        ca.check_conversation("{{ messages }}", messages)


@pytest.mark.parametrize(
    ("bounds", "kind"), [({"seconds": "x"}, TypeError), ({"seconds": float("nan")}, ValueError), ({"renders": -1}, ValueError)]
)
def test_bounds_are_numbers(bounds: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"{next(iter(bounds))} must be "):
        ca.Budget(**bounds)


def test_a_prompt_that_is_no_text_is_refused() -> None:
    messages: Any = [{"role": "user", "content": "Hello"}]
    with pytest.raises(TypeError, match="rendered prompt as text"):
        ChatFormat().parse("Hm.", None, messages)


@pytest.mark.parametrize("text", [None, 3, b"Hm."])
def test_an_output_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(TypeError, match="what the model wrote, as str"):
        ChatFormat().parse(text)


@pytest.mark.parametrize(("text", "told"), [("", "is empty"), ("some-lab/Model-7B", "looks like the name of a model")])
def test_texts_that_are_no_template_are_told_apart(text: str, told: str) -> None:
    with pytest.raises(ca.TemplateError, match=told):
        analyze(text)


def test_the_package_has_a_version_and_a_page_of_help() -> None:
    assert ca.__version__
    assert {"StreamParser", "Budget", "__version__"} <= set(ca.__all__)
    named = set(re.findall(r":(?:func|class):`(\w+)`", ca.__doc__ or ""))
    assert len(named) >= 10
    assert named <= set(ca.__all__)
