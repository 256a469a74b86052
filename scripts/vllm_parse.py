"""vLLM's own parsers for `roundtrips.py --parser vllm_parse:make_parse`, on the templates that they are named for.

build/vllm/bin/python scripts/roundtrips.py --parser vllm_parse:make_parse --jobs 1
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from compare_vllm import PAIRS, load_bench
from conversations import JsonObject


def make_parse(name: str, source: str) -> Callable[[str, list[JsonObject] | None, str], JsonObject] | None:
    """A function that reads a text as the chat endpoint does; None for templates that vLLM names no parsers for."""
    if name not in PAIRS:
        return None
    engine = load_bench(name, Path(tempfile.mkdtemp())).engine
    messages: list[JsonObject] = [{"role": "user", "content": "Hello"}]

    def parse(text: str, tools: list[JsonObject] | None, prompt: str) -> JsonObject:
        turn = SimpleNamespace(prompt=prompt, text=text, messages=messages, tools=tools or (), switches=())
        message = engine.read(turn, *PAIRS[name], stream=False)
        return {**message, "tool_calls": [{**call, "id": call["id"] or "", "type": "function"} for call in message["tool_calls"]]}

    return parse
