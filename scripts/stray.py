"""On what the engines differ where an output is off the script: the switches of a policy as each test wants them.

Only what a test shows of itself decides: which engine's parser it is for, and the request's choice of tools. No case is looked up.
"""

from __future__ import annotations

from typing import Any

from conversations import JsonObject

from chat_autoparser.recover import Policy

CONVENTIONS: dict[str, dict[str, Any]] = {
    "sglang.srt.function_call": {"unknown": "drop"},
    "sglang.srt.function_call.gemma4": {"unknown": "call"},
    "sglang.srt.function_call.gemma4 whole": {"beside": "drop"},
    "sglang.srt.function_call.gigachat3": {"beside": "drop", "markup": "drop"},
    "sglang.srt.function_call.glm4_moe": {"markup": "drop"},
    "sglang.srt.function_call.hunyuan": {"markup": "drop"},
    "sglang.srt.function_call.kimik2 stream": {"markup": "drop"},
    "sglang.srt.function_call.lfm2": {"beside": "drop"},
    "sglang.srt.function_call.llama32": {"markup": "drop"},
    "sglang.srt.function_call.minicpm5": {"unknown": "text", "cut": "text"},
    "sglang.srt.function_call.minimax_m3": {"cut": "text"},
    "sglang.srt.function_call.mistral": {"markup": "drop"},
    "sglang.srt.function_call.poolside": {"cut": "drop", "markup": "drop"},
    "sglang.srt.function_call.qwen3_coder": {"cut": "complete"},
    "sglang.srt.parser": {"interrupts": "mark"},
    "vllm.parser.deepseek": {"beside": "drop", "markup": "drop", "typed": "schema", "wrapped": "open"},
    "vllm.parser.engine.adapters.KimiK2": {"interrupts": "mark"},
    "vllm.parser.engine.parser_engine": {"untyped": "text"},
    "vllm.parser.gemma4": {"cut": "complete", "typed": "schema", "untyped": "text"},
    "vllm.parser.glm47": {"cut": "complete", "untyped": "text"},
    "vllm.parser.mimo": {"untyped": "text"},
    "vllm.parser.minimax_m2": {"unknown": "drop", "untyped": "text"},
    "vllm.parser.qwen3": {"untyped": "text"},
    "vllm.tool_parsers.deepseek": {"beside": "drop", "markup": "drop", "typed": "schema", "wrapped": "open"},
    "vllm.tool_parsers.gemma4": {"cut": "complete", "typed": "schema", "untyped": "text"},
    "vllm.tool_parsers.granite4": {"cut": "text"},
    "vllm.tool_parsers.hermes": {"cut": "text"},
    "vllm.tool_parsers.llama": {"beside": "none"},
    "vllm.tool_parsers.longcat": {"cut": "text"},
    "vllm.tool_parsers.minicpm5": {"beside": "none", "cut": "text", "wrapped": "open"},
    "vllm.tool_parsers.minimax_m2": {"untyped": "text"},
    "vllm.tool_parsers.step3_": {"beside": "none", "cut": "text"},
}
"""By the beginning of a parser's name, longer ones last; some differ between whole and streamed. The rest is as in the library."""


def list_options(case: JsonObject) -> JsonObject:
    """The arguments of a parser that make it keep the conventions of a case's engine."""
    chosen: dict[str, Any] = {"unasked": "drop" if case["tool_choice"] == "none" else "text"}
    for name in sorted(CONVENTIONS, key=len):
        parser, _, mode = name.partition(" ")
        if case["parser"].startswith(parser) and (not mode or case["modes"] == [mode]):
            chosen |= CONVENTIONS[name]
    if "force_nonempty" in case["source"]["test"]:
        chosen["unanswered"] = "content"
    if not case["tools"]:
        chosen.pop("unknown", None)  # a known list of tools is needed for that
    return {"policy": Policy(**chosen)}
