"""One real output of a model, as an engine's own parsers read it and as this package does: the example at the top of README.

    build/vllm/bin/python scripts/beside.py
    PYTHONPATH=scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1 build/sglang/bin/python -W ignore scripts/beside.py

The output is that of https://github.com/raullenchai/Rapid-MLX/issues/1542: Qwen3.6 is asked to write a file, and the file's text
holds the tag that ends a value. It is read token by token by the parsers of the installed engine, without a server or a model.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from conversations import make_tool
from corpus import read_template
from rendering import BOS
from tiny_model import make_model

import chat_autoparser as ca

TEMPLATE = "Qwen-Qwen3.6-35B-A3B"
END = "<|im_end|>"
BUILT_IN = ("qwen3_coder", "qwen3")
"""Calls and reasoning, as both engines call the parsers for this model."""
OURS = {"vllm": "auto", "sglang": "chat_autoparser"}

_PROPERTIES = {"path": {"type": "string"}, "content": {"type": "string"}}
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Write /tmp/a.py."}]
TOOLS = [make_tool("write_file", "Write a file.", _PROPERTIES, ["path", "content"])]
OUTPUT = """\
</think>

<tool_call>
<function=write_file>
<parameter=path>
/tmp/a.py
</parameter>
<parameter=content>
def f():
    return "</parameter>"
</parameter>
</function>
</tool_call>"""


def render_prompt() -> str:
    """The prompt that the output stands behind."""
    return ca.load_renderer(read_template(TEMPLATE), bos_token=BOS, eos_token=END)(MESSAGES, TOOLS)


def read(engine: str) -> dict[str, str]:
    """The calls that a client gets, as JSON, by the names of the parsers."""
    logging.disable(logging.WARNING)
    loader, function = {"vllm": ("vllm.plugins", "load_general_plugins"), "sglang": ("sglang.srt.plugins", "load_plugins")}[engine]
    getattr(import_module(loader), function)()
    turn = SimpleNamespace(prompt=render_prompt(), text=OUTPUT, messages=MESSAGES, tools=TOOLS, switches=())
    found = {}
    with tempfile.TemporaryDirectory(prefix="tiny-") as folder:
        model = make_model(read_template(TEMPLATE), Path(folder), markers="added", eos=END)
        built_in = import_module(f"chat_autoparser.{engine}_plugin.builtin").open_engine(model)
        for calls, reasoning in (BUILT_IN, (OURS[engine],) * 2):
            message = built_in.read(turn, calls, reasoning, stream=True)
            (call,) = (call["function"] for call in message["tool_calls"])
            flags = f"--tool-call-parser {calls} --reasoning-parser {reasoning}"
            found[flags] = f"{call['name']} {json.dumps(json.loads(call['arguments']))}"
    return found


def main() -> int:
    engine = next((name for name in OURS if find_spec(name)), None)
    if engine is None:
        print("beside: run this with build/vllm/bin/python or build/sglang/bin/python", file=sys.stderr)
        return 2
    found = read(engine)
    print(f"{engine} {import_module(engine).__version__}")
    for flags, call in found.items():
        print(f"{flags}:\n    {call}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
