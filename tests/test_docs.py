"""What README and docs say is true: their examples are run, what they show is printed, and what they name exists."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from beside import OUTPUT, TOOLS, render_prompt
from conftest import ROOT
from corpus import read_template
from tiny_model import make_model

import chat_autoparser as ca
from chat_autoparser.describe.words import report_format
from chat_autoparser.show import command

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]}
BLOCKS: list[str] = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def find_block(beginning: str) -> str:
    (block,) = (block for block in BLOCKS if block.startswith(beginning))
    return block


@pytest.mark.parametrize("page", ["README.md", "docs/library.md", "docs/conversations.md"])
def test_python_examples(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder that has what they read: the demonstration's template, and a model with its tokenizer."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "demo.jinja", tmp_path / "scripts")
    make_model(read_template(str(ROOT / "scripts" / "demo.jinja")), tmp_path / "my-model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    text = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE))
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert len(example.examples) >= 5
    report: list[str] = []
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append).failed == 0, "".join(report)


def test_log_is_what_servers_say() -> None:
    """In one line, which is too long for the page."""
    format = ca.analyze(ROOT / "scripts" / "demo.jinja")
    said = report_format(format, "the chat template of --chat-template", 0.4)
    assert find_block("chat-autoparser: from ").replace("\n", " ").strip() == said


def test_description_is_what_inspect_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert command.main(["inspect", "scripts/demo.jinja"]) == 0
    printed = capsys.readouterr().out.splitlines()
    positions = [printed.index(line) for line in find_block("Chat format: ").splitlines() if line]
    assert positions == sorted(positions)


def test_the_example_is_read_as_it_says() -> None:
    """What vLLM's own parsers make of it is compared where vLLM is installed, in tests/engines/test_beside.py."""
    assert OUTPUT.partition("\n\n")[2] in README
    block = find_block("vllm ")
    format = ca.analyze(read_template("Qwen-Qwen3.6-35B-A3B"), eos_token="<|im_end|>")
    (call,) = format.parse(OUTPUT, TOOLS, render_prompt())["tool_calls"]
    arguments = json.dumps(json.loads(call["function"]["arguments"]))
    assert block.splitlines()[-1] == f"    {call['function']['name']} {arguments}"


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 250


@pytest.mark.parametrize("page", PAGES)
def test_what_is_named_exists(page: str) -> None:
    """Files, headings behind links, modules and their members."""
    text = PAGES[page]
    folder = (ROOT / page).parent
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)", prose):
        file = folder / target if target else ROOT / page
        assert file.exists(), target
        headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for path in re.findall(
        r"\b(?:scripts|tests|docs|core|vllm_plugin|sglang_plugin)/[\w/.-]+\.(?:sh|py|jinja|json|md|txt)\b", text
    ):
        assert (ROOT / path).is_file(), path
    for name in re.findall(r"`chat_autoparser\.([\w.]+)", text):
        if name.split(".")[0] not in ("__all__", "json"):
            check_name(name)
    for name in re.findall(r"\bca\.(\w+)", text):
        assert name in ca.__all__, name


def check_name(name: str) -> None:
    """Assert that a dotted name is a module (which may need what is not installed here), or a member of one."""
    parts = ["chat_autoparser", *name.split(".")]
    count = next(count for count in range(len(parts), 0, -1) if find_module(parts[:count]))
    if count < len(parts):
        found: object = importlib.import_module(".".join(parts[:count]))
        for part in parts[count:]:
            found = getattr(found, part)


def find_module(parts: list[str]) -> bool:
    try:
        return find_spec(".".join(parts)) is not None
    except ModuleNotFoundError:
        return False
