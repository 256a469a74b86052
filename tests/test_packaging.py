"""What is built and installed: the package under its name, with all of its modules, and nothing else."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDERS = {
    "chat_autoparser": ROOT / "core",
    **{f"chat_autoparser.{path.parent.name}": path.parent for path in sorted((ROOT / "core").glob("*/__init__.py"))},
    "chat_autoparser.vllm_plugin": ROOT / "vllm_plugin",
    "chat_autoparser.sglang_plugin": ROOT / "sglang_plugin",
}

USE = """
import importlib.util
import chat_autoparser, chat_autoparser.vllm_plugin, chat_autoparser.sglang_plugin
from chat_autoparser.ask.renderer import load_renderer

for name in ("core", "vllm_plugin", "sglang_plugin", "typings", "torch", "transformers"):
    assert importlib.util.find_spec(name) is None, name
render = load_renderer("{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}", eos_token="</s>")
assert render([{"role": "user", "content": "Hi"}]) == "Hi</s>"
print(chat_autoparser.__file__)
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source distribution, so that this one is complete too."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Install the wheel, with what it depends on, where nothing else is."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", wheel, cwd=folder)
    return folder


def test_the_wheel_holds_every_module_and_nothing_else(wheel: Path) -> None:
    expected = {f"chat_autoparser/{name}" for name in ("py.typed", "show/page.html", "show/page.css", "show/page.js")}
    for package, folder in FOLDERS.items():
        expected |= {f"{package.replace('.', '/')}/{path.name}" for path in folder.glob("*.py")}
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    assert names - metadata == expected
    assert any(name.endswith("licenses/LICENSE") for name in metadata)


def test_the_source_distribution_has_what_its_tests_need(wheel: Path) -> None:
    """Every file that is under version control, but for what only this repository's own checks take."""
    (archive,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        found = {name.partition("/")[2] for name in opened.getnames()}
    for folder in ("core", "vllm_plugin", "sglang_plugin", "docs", "scripts", "tests"):
        kept = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        missing = {path.relative_to(ROOT).as_posix() for path in kept} - found
        assert not missing
    assert {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml"} <= found


def test_no_link_of_the_readme_leads_nowhere_on_an_index(wheel: Path) -> None:
    """There the repository's files are not at hand."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        text = opened.read(name).decode()
    assert "# chat-autoparser" in text
    assert all(re.match(r"https?:|#", target) for target in re.findall(r"\]\(([^)]*)\)", text))


def test_the_wheel_works_in_an_empty_environment(empty_environment: Path) -> None:
    place = run(empty_environment / "bin" / "python", "-I", "-c", USE, cwd=empty_environment)
    assert Path(place.strip()).is_relative_to(empty_environment)


def test_the_command_is_installed(empty_environment: Path) -> None:
    assert "inspect" in run(empty_environment / "bin" / "chat-autoparser", "--help", cwd=empty_environment)


@pytest.mark.parametrize("package", FOLDERS)
def test_an_editable_installation_is_the_source(package: str) -> None:
    file = importlib.import_module(package).__file__
    assert file is not None
    assert Path(file).parent == FOLDERS[package]


@pytest.mark.parametrize("extra", ["", "cli", "test"])
def test_torch_is_never_pulled_in(extra: str) -> None:
    seen: set[tuple[str, str]] = set()
    waiting = [("chat-autoparser", extra)]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            requirements = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            continue  # not needed on this platform
        for requirement in requirements:
            if requirement.marker is None or requirement.marker.evaluate({"extra": wanted}):
                extras = ["", *requirement.extras]
                waiting += [(canonicalize_name(requirement.name), wish) for wish in extras]
    names = {name for name, _ in seen}
    assert "jinja2" in names
    assert not names & {"torch", "vllm", "sglang"}


@pytest.mark.parametrize(("ci", "status", "last"), [("true", 1, "setup_browser"), ("", 0, "pytest")])
def test_ci_fails_where_there_is_no_browser(tmp_path: Path, ci: str, status: int, last: str) -> None:
    """The test command, with stand-ins for all that it calls: the one that looks for a browser finds none."""
    script = tmp_path / "scripts" / "test.sh"
    names = {"scripts": ("setup.sh", "setup_browser.sh", "compile.sh"), ".venv/bin": ("ruff", "mypy", "lint-imports", "python")}
    for folder, files in names.items():
        (tmp_path / folder).mkdir(parents=True)
        for name in files:
            file = tmp_path / folder / name
            ends = 3 if name == "setup_browser.sh" else 0
            file.write_text(f'#!/bin/sh\necho "{name} $*" >>called\nexit {ends}\n', encoding="utf-8")
            file.chmod(0o755)
    shutil.copy(ROOT / "scripts" / "test.sh", script)
    done = subprocess.run(
        ["bash", script, "--engine", "none"], env={**os.environ, "CI": ci}, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == status
    assert last in (tmp_path / "called").read_text("utf-8").splitlines()[-1]
