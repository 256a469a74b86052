"""The demonstration: what it shows of a template, how it finds one by name, and what it reads in a server's log."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cases import load_subject
from corpus import UnknownTemplateError, find_template, list_templates
from demo_client import list_said
from demo_server import THOUGHT, choose_turn, make_turn
from judge import find_fault

import chat_autoparser as ca
from chat_autoparser.converse.author import CONTENT

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "demo.sh"

NAMES = (
    "deepseek-ai-DeepSeek-V3.1",  # closes reasoning, unless a switch opens it
    "deepseek-ai-DeepSeek-V3.2",
    "openai-gpt-oss-120b",  # wants tools with descriptions
    "GLM-4.6",
    "HuggingFaceTB-SmolLM3-3B",
    "microsoft-phi-4",  # takes no tools
)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_comes_back_under_its_switches(name: str) -> None:
    """The request that is sent has what the template needs for the output that is scripted to mean its fields."""
    path = find_template(name)
    renderer = ca.load_renderer(path, bos_token="<s>", eos_token="</s>")
    format = ca.analyze(renderer)
    shown = choose_turn(load_subject(str(path)), format)
    assert shown is not None
    case = shown.case
    prompt = renderer(case.messages, case.tools, True, **case.kwargs)
    assert find_fault(case.expected, format.parse(case.text, tools=case.tools, prompt=prompt)) is None


def test_a_thought_is_put_where_the_template_prints_none() -> None:
    path = find_template("deepseek-ai-DeepSeek-V3.1")
    shown = choose_turn(load_subject(str(path)), ca.analyze(ca.load_renderer(path, eos_token="</s>")))
    assert shown is not None
    assert shown.case.expected["reasoning_content"] == THOUGHT
    assert shown.case.text.startswith(f"{THOUGHT}</think>")
    assert True in shown.case.kwargs.values()


@pytest.mark.parametrize("name", ["deepseek-ai-DeepSeek-R1-Distill-Qwen-32B@56a144", "llama-cpp-deepseek-r1"])
def test_a_turn_is_put_together_where_no_answer_continues_a_prompt(name: str) -> None:
    """With calls where the template takes tools. The second one fails with any."""
    path = find_template(name)
    renderer = ca.load_renderer(path, bos_token="<s>", eos_token="</s>")
    format = ca.analyze(renderer)
    assert choose_turn(load_subject(str(path)), format) is None
    case = make_turn(format).case
    prompt = renderer(case.messages, case.tools, True)
    message = format.parse(case.text, tools=case.tools, prompt=prompt)
    called = [call["function"]["name"] for call in message.get("tool_calls", [])]
    assert called == (["get_weather", "find_train"] if case.tools else [])
    assert called or message["content"] == CONTENT


def test_a_name_is_found_and_a_file_is_itself() -> None:
    assert find_template("GLM-4.6") == find_template("GLM-4.6.jinja") == list_templates()["GLM-4.6"]
    assert find_template(__file__) == Path(__file__)


@pytest.mark.parametrize(("name", "meant"), [("glm4.6", "GLM-4.6"), ("qwen3-coder-30b", "Qwen-Qwen3-Coder-30B-A3B-Instruct")])
def test_an_unknown_name_says_which_are_like_it(name: str, meant: str) -> None:
    with pytest.raises(UnknownTemplateError, match=f"Did you mean .*{meant}"):
        find_template(name)


def test_a_name_like_no_other_is_told_without_a_guess() -> None:
    with pytest.raises(UnknownTemplateError, match="nor the name of a template"):
        find_template("§§§§")


DERIVED = "chat-autoparser: from the chat template of the tokenizer in 40 ms: proven; 15 of 15 rendered turns were read back exactly"
DOUBTED = "chat-autoparser: the chat template of the tokenizer is not understood in full: tools not established: no call is ever printed"
LOGS = {
    "vllm": f"""\
(APIServer pid=9617) INFO 11-22 01:26:20 [model.py:596] Resolved architecture: Qwen3ForCausalLM
(APIServer pid=9617) INFO 11-22 01:26:20 [formats.py:120] {DERIVED}
(APIServer pid=9617) WARNING 11-22 01:26:20 [report.py:29] {DOUBTED}
(EngineCore pid=9692) INFO 11-22 01:26:30 [formats.py:120] {DERIVED.replace("40 ms", "95 ms")}
""",
    "sglang": f"""\
[2026-11-22 01:29:20] Attention backend not specified.
[2026-11-22 01:29:29] {DERIVED}
[2026-11-22 01:29:29] WARNING: {DOUBTED}
[2026-11-22 01:29:32] Using default HuggingFace chat template with detected content format: string
""",
}


@pytest.mark.parametrize("engine", LOGS)
def test_what_a_log_says_of_the_format_is_found_once(engine: str) -> None:
    assert list_said(LOGS[engine] * 2) == [DERIVED, DOUBTED]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60)


def test_help_is_the_demonstrations_own() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "Usage: scripts/demo.sh" in done.stdout
    assert "--keep" in done.stdout
    assert "set -eu" not in done.stdout


@pytest.mark.parametrize(
    "wrong", [["--no-such-option"], ["--engine"], ["--engine", "llama.cpp"], ["one", "two"], ["--engine", "none", "--keep"]]
)
def test_wrong_arguments_are_told_before_anything_is_set_up(wrong: list[str]) -> None:
    done = run(*wrong)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("demo: ")
    assert len(done.stderr.splitlines()) == 1
