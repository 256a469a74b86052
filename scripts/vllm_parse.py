"""vLLM's own parsers for `roundtrips.py --parser vllm_parse:make_parse`, on the templates that they are named for.

build/vllm/bin/python scripts/roundtrips.py --parser vllm_parse:make_parse --jobs 1
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import Case
from compare_vllm import PAIRS, load_bench
from conversations import JsonObject


def make_parse(name: str, source: str) -> Callable[[str, list[JsonObject] | None, str], JsonObject] | None:
    """A function that reads a text as the chat endpoint does; None for templates that vLLM names no parsers for."""
    if name not in PAIRS:
        return None
    bench = load_bench(name, Path(tempfile.mkdtemp()))
    parser_class = bench.get_class(PAIRS[name])
    messages: list[JsonObject] = [{"role": "user", "content": "Hello"}]

    def parse(text: str, tools: list[JsonObject] | None, prompt: str) -> JsonObject:
        case = Case("", messages, tools, {}, text, {})
        request, parser = bench.open(parser_class, case)
        ids = bench.encode(text)
        if hasattr(parser, "set_prompt_token_ids"):
            parser.set_prompt_token_ids(bench.encode(prompt))
        shown = "".join(bench.decode(ids, request))
        reasoning, content, calls = parser.parse(shown, request, enable_auto_tools=True, model_output_token_ids=ids)
        called: list[Any] = [
            {"id": call.id or "", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls or []
        ]
        return {"reasoning_content": reasoning, "content": content, "tool_calls": called}

    return parse
