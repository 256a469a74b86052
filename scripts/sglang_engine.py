"""SGLang's `Engine`, which has no server: made with `auto`, asked once, and what came of it printed as JSON.

    PYTHONPATH=scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1 build/sglang/bin/python scripts/sglang_engine.py MODEL THOUGHT ...

Of several models each has an engine of its own in this process, and all live at once. A model is made to write the thought and
then left alone, but for a JSON Schema. What the grammar lets it write at once, if it takes the thought for an answer, is
`{"done": true}` or the same with false.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import sglang
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang_scripted import script

from chat_autoparser.sglang_plugin.engine import list_parsers

SCHEMA = {"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"], "additionalProperties": False}
_SMALL = {
    "device": "cpu",
    "attention_backend": "torch_native",
    "load_format": "dummy",
    "mem_fraction_static": 0.1,
    "max_total_tokens": 4096,
    "max_running_requests": 4,
    "disable_overlap_schedule": True,
    "disable_radix_cache": True,
    "enable_custom_logit_processor": True,
}


def ask(engine: Any, thought: str) -> dict[str, Any]:
    """Return the parsers that an engine uses, what it generated, and what these parsers make of that."""
    script.set({"text": thought, "more": True})
    params = {"json_schema": json.dumps(SCHEMA), "max_new_tokens": 400, "skip_special_tokens": False}
    output = engine.generate("Think.", params, require_reasoning=True)
    tokenizer = engine.tokenizer_manager.tokenizer
    parsers = list_parsers(engine.server_args)
    names = parsers["reasoning_parser"], parsers["tool_call_parser"]
    reader = ReasoningParser(names[0], force_reasoning=True, tokenizer=tokenizer)
    reasoning, content = reader.parse_non_stream(output["text"])
    calls = FunctionCallParser([], names[1], tokenizer=tokenizer).detector
    return {
        "parsers": names,
        "text": output["text"],
        "reasoning_tokens": output["meta_info"]["reasoning_tokens"],
        "reasoning": reasoning,
        "content": content,
        "detector": type(calls).__name__,
    }


def main(given: list[str]) -> None:
    """Make an engine for each model before any is asked."""
    options = {"tool_call_parser": "auto", "reasoning_parser": "auto", "log_level": "info", **_SMALL}
    engines = [sglang.Engine(model_path=model, **options) for model in given[::2]]
    try:
        print(json.dumps([ask(engine, thought) for engine, thought in zip(engines, given[1::2], strict=True)]))
    finally:
        for engine in engines:
            engine.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
