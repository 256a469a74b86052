"""SGLang's own parsers for `roundtrips.py --parser sglang_parse:make_parse`, on the templates that its `auto` knows.

    PYTHONPATH=scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1 \
        build/sglang/bin/python scripts/roundtrips.py --parser sglang_parse:make_parse --jobs 1

Knowledge of how a request is read comes from SGLang 0.5.23, `srt/entrypoints/openai/serving_chat.py`.
"""

from __future__ import annotations

import logging
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

from cases import Subject
from compare_sglang import Bench, find_own
from conversations import JsonObject
from tiny_model import EOS, make_model
from transformers import AutoTokenizer

from chat_autoparser.sglang_plugin.builtin import Stages, detect_thinking, make_tools


def make_parse(name: str, source: str) -> Callable[[str, list[JsonObject] | None, str], JsonObject] | None:
    """A function that reads a text as the chat endpoint does; None for templates that SGLang's own rules do not know."""
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="tiny-") as folder:
        tokenizer = AutoTokenizer.from_pretrained(make_model(source, Path(folder)))
    calls, reasoning = find_own(Bench(Subject(name, source, EOS, {}), tokenizer))
    if calls is None and reasoning is None:
        return None
    thinks = detect_thinking(tokenizer, reasoning, {})

    def parse(text: str, tools: list[JsonObject] | None, prompt: str) -> JsonObject:
        message: JsonObject = Stages(calls, reasoning, tokenizer, prompt, make_tools(tools), thinks).read_whole(text)
        for number, call in enumerate(message["tool_calls"]):
            call["id"] = make_id(calls, call["function"]["name"], number)
        return message

    return parse


def make_id(parser: str | None, name: str, number: int) -> str:
    """The id that the endpoint makes up for a call; what the model wrote is not looked at."""
    counted = {"kimi_k2": f"functions.{name}:{number}", "kimi_k3": f"{name}:{number}"}
    return counted.get(parser or "", f"call_{uuid.uuid4().hex[:24]}")
