"""The command: what it prints, and its exit status."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from shown import BROKEN, DEMO, OUTPUT, PROVEN, TOOLS, Streams, give_input, run

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.format import ChatFormat
from chat_autoparser.show import command
from chat_autoparser.show.sources import find_templates


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


@pytest.mark.usefixtures("proven")
def test_command_needs_no_rich(monkeypatch: pytest.MonkeyPatch, capsys: Streams) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"] + ["rich"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert run("inspect", DEMO) == 0
    assert run("check", DEMO) == 0
    assert "1 template: 1 proven" in capsys.readouterr().out


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
