"""On what the engines differ where an output is off the script: the switches of a policy as each test wants them.

Only what a test shows of itself decides: which engine's parser it is for, and the request's choice of tools. No case is looked up;
for those that are not read as they want, :data:`REASONS` says why.
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

REASONS: dict[str, str] = {
    "names no tool of the request, which a recovery needs": "vllm-0072 vllm-0078 vllm-1835 vllm-1839",
    "a value that a template renders so: nothing but what ends it ends it": "vllm-0308 glm-exo1344-value",
    "a call without a name": "vllm-1250 vllm-2267 vllm-2269",
    "a call whose name is not one, with less than the model wrote": "vllm-0309 vllm-0310 vllm-1046 vllm-1047 vllm-1228",
    "a call with less than the model wrote": "vllm-0238 vllm-0261 vllm-0737 vllm-0746 vllm-0742 vllm-0743 vllm-0744 "
    "vllm-1824 sglang-1536 sglang-1540 sglang-2403 sglang-2458",
    "the end of a value is taken off it, and half a mark is not": "vllm-2044 vllm-2045 vllm-2046 vllm-2047 vllm-2050",
    "the name of another tool than the one that is called": "vllm-0263",
    "a name that the arguments have to tell": "sglang-1604 sglang-2470 sglang-2475",
    "that engine alone refuses such keys or ids": "vllm-0175 vllm-0252 vllm-0258 sglang-1507 sglang-1508",
    "what streams of a call before its end is compared as if it were all": "vllm-1629 vllm-2105 vllm-2259 vllm-2296 sglang-2412 "
    "sglang-2422 sglang-2425 sglang-2426 sglang-1590",
    "the end of the output was never told to the parser": "vllm-1735 sglang-2414 sglang-2415",
    "two calls are run together": "vllm-2145 vllm-2250",
    "the case says that reasoning is closed, and wants it": "vllm-0504 vllm-1829",
    "the request, not the text, decides: a named tool, or no parser for calls": "vllm-1273 vllm-1275 vllm-1279",
    "that a mark was written as plain characters only its tokens tell": "vllm-2098",
    "marks of another template": "vllm-0372 vllm-0427 vllm-0479 vllm-0484 vllm-0739 vllm-1788 vllm-1811 vllm-1813 sglang-1570 "
    "sglang-1571 sglang-1591 sglang-2436 sglang-2442",
    "a mistyped mark beside a call, or in prose, is text": "vllm-0513 vllm-0514 vllm-0516 vllm-0518 vllm-0519 vllm-0524",
    "reasoning and answer change places": "vllm-0755",
    "white space of the layout is counted as text": "vllm-1039 vllm-1662 sglang-1500 sglang-1504",
    "escaped line breaks stand for the layout": "sglang-1424 sglang-1426 sglang-1428",
    "nothing tells a name from half of one where the output ends": "vllm-1249",
    "the beginning of a call that is data, not a mark, is text": "sglang-1398",
    "another test of the same parser wants the opposite": "sglang-1457",
    "a time without quotes is a text, where the case wants its call cut or left out": "cohere-malformed",
    "marks of raw strings stand for themselves in what the template renders": "lfm-escaped",
}
"""Why a case cannot be read as it wants, or not without reading another one worse."""


def find_reason(case: JsonObject, conventions: bool) -> str:
    """Why a case is not read as it wants, with its engine's ``conventions`` or not; empty where nothing is known against it."""
    found = next((reason for reason, cases in REASONS.items() if case["id"] in cases.split()), "")
    rests = not conventions and case["kind"] == "engines" and list_options(case) != {"policy": Policy()}
    return found or ("it rests on its engine's conventions" if rests else "")
