"""On what the engines differ where an output is off the script: the switches of a policy as each test wants them.

Only what a test shows of itself decides: which engine's parser it is for, and the request's choice of tools. No case is looked up.
"""

from __future__ import annotations

from conversations import JsonObject

from chat_autoparser.recover import Policy

FILTERS = ("sglang.", "vllm.parser.minimax_m2")
"""Parsers that drop a call of a tool that the request does not have; a known list of tools is needed for that."""


def list_options(case: JsonObject) -> JsonObject:
    """The arguments of a parser that make it keep the conventions of a case's engine."""
    policy = Policy(
        unknown="drop" if case["tools"] and case["parser"].startswith(FILTERS) else "call",
        unasked="drop" if case["tool_choice"] == "none" else "text",
    )
    return {"policy": policy}
