"""The command: what it prints, its exit status, and that bad input costs one line and no traceback."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import chat_autoparser as ca
from chat_autoparser import command
from chat_autoparser.check import PLACEHOLDERS, find_templates

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

NO_CALLS = "{{ tools }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
BROKEN = "{% for m in messages %}"

Streams = pytest.CaptureFixture[str]


def run(*arguments: str | Path) -> int:
    return command.main([str(argument) for argument in arguments])


def give_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def start(*arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
    """Start the command as a process of its own, which an interrupt reaches even if these tests run in the background."""
    called = [sys.executable, "-m", "chat_autoparser.command", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(
        called, cwd=ROOT / "tests", env={**os.environ, "PYTHONUTF8": "1"}, preexec_fn=_heed_interrupts, **pipes
    )


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


def test_inspect_tells_format_verdict_and_example(capsys: Streams) -> None:
    assert run("inspect", DEMO) == 0
    out = capsys.readouterr().out
    assert out.startswith("Chat format: proven; ")
    assert "(:decided:)⏎" in out
    assert "with pondering=False" in out
    assert "(:with city:)Oslo(:.:)\n    (:with days:)3(:.:)\n    (:asked:)\n    (:ask find_train:)" in out
    assert "\x1b" not in out


def test_inspect_as_json_is_the_format(capsys: Streams) -> None:
    assert run("inspect", DEMO, "--json") == 0
    format = ca.analyze(DEMO, **PLACEHOLDERS)
    assert ca.ChatFormat.from_dict(json.loads(capsys.readouterr().out)) == format


def test_inspect_takes_a_model_folder(tmp_path: Path, capsys: Streams) -> None:
    config = {"chat_template": DEMO.read_text(encoding="utf-8").replace("'[over]", "eos_token + '"), "eos_token": "<E>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert run("inspect", tmp_path) == 0
    assert "stop strings" in (out := capsys.readouterr().out)
    assert "<E>" in out
    assert "eos_token" not in out


def test_inspect_says_which_special_token_is_missing(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "bare.jinja"
    path.write_text(DEMO.read_text(encoding="utf-8").replace("'[over]", "eos_token + '"), encoding="utf-8")
    assert run("inspect", path) == 0
    out = capsys.readouterr().out
    assert "eos_token is not known and stands as <eos_token>: give it with --eos-token" in out
    assert "bos_token" not in out
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
        "tool_calls": [
            {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo", "days": 3}'}}
        ],
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
    assert said == "chat-autoparser: note: the tool call to get_weather is incomplete, before its arguments\n"


def test_parse_says_what_there_is_of_an_incomplete_call(
    monkeypatch: pytest.MonkeyPatch, capsys: Streams, tmp_path: Path
) -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]))
    give_input(monkeypatch, OUTPUT[: OUTPUT.index("slo") + 1].encode())
    assert run("parse", DEMO, "--tools", tools) == 0
    said = capsys.readouterr().err
    assert said.endswith('the tool call to get_weather is incomplete; of its arguments there is {"city": "Os"}\n')


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


def test_check_of_a_template_that_is_not_proven(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "no-calls.jinja"
    path.write_text(NO_CALLS, encoding="utf-8")
    assert run("check", path, DEMO) == 1
    out = capsys.readouterr().out
    assert "✗ unknown" in out
    assert out.splitlines()[-1].startswith("2 templates: 1 proven, 1 partly proven; ")


def test_check_of_a_file_that_is_no_chat_template(tmp_path: Path, capsys: Streams) -> None:
    path = tmp_path / "text.jinja"
    path.write_text("Hello {{ name }}!", encoding="utf-8")
    assert run("check", path) == 1
    assert "is it a chat template?" in capsys.readouterr().out


def test_check_of_a_broken_template(tmp_path: Path, capsys: Streams) -> None:
    (tmp_path / "broken.jinja").write_text(BROKEN, encoding="utf-8")
    assert run("check", tmp_path, DEMO) == 2
    out = capsys.readouterr().out
    assert "✗ Compiling the chat template failed" in out
    assert out.splitlines()[-1].startswith("2 templates: 1 proven, 1 failed; ")


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
    assert streams.err == ""


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
    assert find_templates([tmp_path, plain / "x.jinja"]) == [configured, model, plain / "x.jinja"]


BAD_INPUT = {
    "no such template": (["inspect", "missing.jinja"], "Reading missing.jinja: No such file or directory"),
    "no such path": (["check", "missing"], "missing does not exist"),
    "folder without a model": (["inspect", "empty"], "the folder empty found neither chat_template.jinja nor"),
    "folder without templates": (["check", "empty"], "empty holds neither *.jinja files nor a model folder"),
    "syntax error": (["inspect", "broken.jinja"], "(line 1 of the template)"),
    "template not UTF-8": (["inspect", "latin.jinja"], "latin.jinja: it is not valid UTF-8"),
    "no conversation": (["inspect", "text.jinja"], "is it a chat template?"),
    "configuration without template": (["inspect", "no.json"], "found no chat_template"),
    "no such tools": (["parse", "good.jinja", "--tools", "missing"], "cannot read missing: No such file"),
    "tools not JSON": (["parse", "good.jinja", "--tools", "broken.jinja"], "broken.jinja is not valid JSON"),
    "tools no list": (["parse", "good.jinja", "--tools", "no.json"], "no.json holds no list of tools but dict"),
    "tool without a name": (["parse", "good.jinja", "--tools", "nameless.json"], "tool 1 has no function with a name"),
    "no such prompt": (["parse", "good.jinja", "--prompt", "missing"], "cannot read missing: No such file"),
    "prompt not UTF-8": (["parse", "good.jinja", "--prompt", "latin.jinja"], "latin.jinja is not valid UTF-8"),
    "output not UTF-8": (["parse", "good.jinja"], "standard input is not valid UTF-8: invalid start byte at byte 3"),
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


@pytest.mark.parametrize("arguments", [[], ["check"], ["parse", "x", "--nonsense"], ["derive"]])
def test_wrong_usage_gets_one_line(arguments: list[str], capsys: Streams) -> None:
    with pytest.raises(SystemExit) as exit_info:
        command.main(arguments)
    assert exit_info.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--help" in err


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


def test_command_needs_no_rich(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"] + ["rich"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert run("inspect", DEMO) == 0
    assert run("check", DEMO) == 0
    assert "1 template: 1 proven" in capsys.readouterr().out


def test_demo_shows_the_stream_and_the_message() -> None:
    demo = [sys.executable, str(ROOT / "scripts" / "demo.py")]
    done = subprocess.run(demo, capture_output=True, timeout=60, env={**os.environ, "PYTHONUTF8": "1"}, check=True)
    out = done.stdout.decode()
    message = json.loads(out[out.rindex("\n  {\n") :])
    call = message["tool_calls"][0]["function"]
    assert message["reasoning_content"] == "Three days of Oslo. There is a tool for that."
    assert message["content"] == "I will look that up (the tool is called with :ask)."
    assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"city": "Oslo", "days": 3})
