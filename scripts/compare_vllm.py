"""Our parsers and vLLM's own side by side: the same outputs, in one run, through vLLM's `ParserManager` and no server.

    build/vllm/bin/python scripts/compare_vllm.py                 # the tables, in Markdown
    build/vllm/bin/python scripts/compare_vllm.py --only GLM      # templates whose name contains this
    build/vllm/bin/python scripts/compare_vllm.py --messages      # which messages are read right, and no costs: some minutes
    build/vllm/bin/python scripts/compare_vllm.py --markers added # markers are added tokens that are not special
    build/vllm/bin/python scripts/compare_vllm.py --starts 5      # also start servers with and without `auto`, so often

Messages are what templates render for known fields, and must come back. Costs are microseconds of processor time a token,
the best of several repeats, taken in turn with the floor: a pair of parsers that hands the text on as content, so what
vLLM's own machinery costs. "First fragment" is the number of tokens from a call's name to the first text of its arguments.

Knowledge of vLLM's calls comes from 0.32.0, `entrypoints/openai/chat_completion/serving.py` and `parser/abstract_parser.py`.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import serving
from bench import CALL_ID, LOADS, Load, render_output
from cases import Case, Subject, load_subject
from conversations import JsonObject
from judge import find_fault, fold, take_meaning
from load_client import take_fields
from tiny_model import Markers, make_model

os.environ.update({key: value for key, value in serving.ENVIRONMENT.items() if key not in os.environ})
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

from vllm.entrypoints.generate.base.protocol import DeltaMessage, ExtractedToolCallInformation
from vllm.plugins import load_general_plugins
from vllm.reasoning import ReasoningParser, ReasoningParserManager
from vllm.tool_parsers import ToolParser, ToolParserManager

import chat_autoparser
from chat_autoparser import vllm_plugin
from chat_autoparser.vllm_plugin.builtin import BuiltIn, Pair, open_engine

PAIRS: dict[str, Pair] = {
    "Qwen-Qwen3-0.6B": ("hermes", "qwen3"),
    "Qwen-Qwen3-4B-Thinking-2507": ("hermes", "deepseek_r1"),
    "Qwen3-Coder": ("qwen3_coder", None),
    "GLM-4.6": ("glm45", "glm45"),
    "moonshotai-Kimi-K2.5": ("kimi_k2", "kimi_k2"),
    "deepseek-ai-DeepSeek-V3.1": ("deepseek_v31", "deepseek_v3"),
    "deepseek-ai-DeepSeek-V4": ("deepseek_v4", "deepseek_v4"),
    "google-gemma-4-31B-it": ("gemma4", "gemma4"),
    "MiniMaxAI-MiniMax-M2": ("minimax_m2", "minimax_m2"),
    "MiniMaxAI-MiniMax-M3-MXFP8": ("minimax_m3", "minimax_m3"),
    "ByteDance-Seed-OSS": ("seed_oss", "seed_oss"),
    "LiquidAI-LFM2.5-8B-A1B-Base": ("lfm2", "deepseek_r1"),
    "meta-llama-Llama-3.1-8B-Instruct": ("llama3_json", None),
    "0xA50C1A1-Mistral-Nemo-Instruct-2407-Heretic-v2": ("mistral", None),
    "Mistral-Small-3.2-24B-Instruct-2506": ("mistral", None),
    "allenai-Olmo-3-7B-Instruct": ("olmo3", None),
    "ibm-granite-granite-4.0": ("granite4", None),
    "tencent-Hunyuan-A13B-Instruct": ("hunyuan_a13b", "hunyuan_a13b"),
}
"""Templates, and the parsers for tool calls and reasoning that vLLM's documentation names for their models."""

OURS: Pair = ("auto", "auto")
NOTHING: Pair = ("nothing", "nothing")
LENGTHS = (2000, 8000)
_REPEATS = 7
_SLICE = 100
_PATIENCE = 3.0
"""Seconds after which a measurement is not repeated."""


class NoReasoning(ReasoningParser):  # type: ignore[misc]
    """Says that reasoning is over before it began."""

    engine_based_streaming = True

    def is_reasoning_end(self, input_ids: Any) -> bool:
        return True

    def has_engine_confirmed_reasoning_end(self) -> bool:
        return True

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        return input_ids

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        return None, model_output

    def extract_reasoning_streaming(self, *args: Any) -> None:
        return None


class NoTools(ToolParser):  # type: ignore[misc]
    """Hands every text on as content."""

    engine_based_streaming = True

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output)

    def extract_tool_calls_streaming(self, pt: str, ct: str, delta_text: str, *args: Any) -> Any:
        return DeltaMessage(content=delta_text)


@dataclass(frozen=True)
class Bench:
    """A template, and vLLM's parsers with a tokenizer around it."""

    subject: Subject
    engine: BuiltIn

    def make_turn(self, case: Case) -> Any:
        """A case as the engine reads it."""
        prompt = self.engine.tokenizer.apply_chat_template(
            case.messages, tools=case.tools, tokenize=False, add_generation_prompt=True, **case.kwargs
        )
        switches = tuple(case.kwargs.items())
        return SimpleNamespace(prompt=prompt, text=case.text, messages=case.messages, tools=case.tools or (), switches=switches)


# Messages


def read_stream(engine: BuiltIn, pair: Pair, turn: Any, burst: int = 1) -> JsonObject:
    """The message that the deltas add up to."""
    request, parser = engine.open(turn, pair)
    ids, prompt = engine.encode(turn.text), engine.encode(turn.prompt)
    ids, pieces = [*ids, engine.tokenizer.eos_token_id], [*engine.decode(ids, request), ""]
    deltas = []
    for start in range(0, len(ids), burst):
        step, text = ids[start : start + burst], "".join(pieces[start : start + burst])
        deltas.append(parser.parse_delta(text, step, request, prompt, finished=start + burst >= len(ids)))
    return fold(take_fields(delta.model_dump(exclude_none=True)) for delta in deltas if delta is not None)


@dataclass(frozen=True)
class Score:
    """How many messages were right in both ways of reading, and in how many the two agree."""

    right: int
    alike: int
    cases: int
    faults: tuple[str, ...]


def judge(bench: Bench, pair: Pair) -> Score:
    """Read every case of a template whole, token by token and five tokens at a time."""
    right = alike = 0
    faults = []
    for name, case in bench.subject.cases.items():
        try:
            turn = bench.make_turn(case)
            whole = dict(bench.engine.read(turn, *pair, stream=False))
            streams = [read_stream(bench.engine, pair, turn, burst) for burst in (1, 5)]
        except Exception as error:
            faults.append(f"{name}: {type(error).__name__}: {error}"[:200])
            continue
        found = [find_fault(case.expected, message) for message in (whole, *streams)]
        right += found == [None] * len(found)
        alike += all(take_meaning(stream) == take_meaning(whole) for stream in streams)
        faults += [f"{name}: {fault}" for fault in found if fault][:1]
    return Score(right, alike, len(bench.subject.cases), tuple(faults))


# Costs


@dataclass(frozen=True)
class Feed:
    """An output in tokens, ready to be fed."""

    turn: Any
    ids: list[int]
    prompt: list[int]


def make_feed(bench: Bench, load: Load, tokens: int) -> Feed | None:
    """So many tokens of a kind of output; None where the template refuses it."""
    plain = bench.subject.find("content")
    rendered = render_output(bench.subject.source, load, tokens * 4)
    if rendered is None or plain is None:
        return None
    text, tools, _ = rendered
    turn = bench.make_turn(Case(load.name, plain.messages, tools, plain.kwargs, text, {}))
    ids = bench.engine.encode(text)[:tokens]
    return Feed(turn, ids, bench.engine.encode(turn.prompt)) if len(ids) == tokens else None


def time_feed(engine: BuiltIn, pair: Pair, feed: Feed) -> tuple[float, float]:
    """The mean microseconds of processor time that a token costs vLLM with these parsers, and with the floor's.

    The two are fed in turn, a slice at a time, so that both meet the same processor, and of each slice the best of the
    repeats counts: a machine that others use too is slower for milliseconds, not for whole repeats.
    """
    best: dict[tuple[Pair, int], float] = {}
    start = time.monotonic()
    for number in range(_REPEATS):
        if number and time.monotonic() - start > _PATIENCE:
            break
        opened = [(each, *engine.open(feed.turn, each)) for each in (pair, NOTHING)]
        steps = [list(zip(engine.decode(feed.ids, o[1]), ([token] for token in feed.ids), strict=True)) for o in opened]
        gc.disable()
        for place in range(0, len(feed.ids), _SLICE):
            for (each, request, parser), pieces in zip(opened, steps, strict=True):
                spent = _time_slice(parser, request, feed.prompt, pieces[place : place + _SLICE])
                best[each, place] = min(spent, best.get((each, place), spent))
        gc.enable()
    cost, floor = (sum(spent for key, spent in best.items() if key[0] == each) for each in (pair, NOTHING))
    return cost / len(feed.ids) * 1e6, floor / len(feed.ids) * 1e6


def _time_slice(parser: Any, request: Any, prompt: list[int], steps: list[tuple[str, list[int]]]) -> float:
    start = time.thread_time()
    for text, ids in steps:
        parser.parse_delta(text, ids, request, prompt, finished=False)
    return time.thread_time() - start


def find_first_fragment(engine: BuiltIn, pair: Pair, feed: Feed) -> int | None:
    """How many tokens after the call's name the first fragment of arguments with more than a bracket arrives.

    Where a template prints the id alone, that is the name.
    """
    request, parser = engine.open(feed.turn, pair)
    named, text = None, ""
    for count, (piece, token) in enumerate(zip(engine.decode(feed.ids, request), feed.ids, strict=True)):
        text += piece
        named = count if named is None and ("run" in text or CALL_ID in text) else named
        delta = parser.parse_delta(piece, [token], request, feed.prompt, finished=False)
        arguments = "".join(call.function.arguments or "" for call in (delta.tool_calls if delta else ()) if call.function)
        if named is not None and arguments.strip(" {\n"):
            return count - named
    return None


def time_construction(bench: Bench, pair: Pair) -> float:
    """The median microseconds of making a parser for a request."""
    parser_class = bench.engine.get_class(pair)
    request, _ = bench.engine.open(bench.make_turn(next(iter(bench.subject.cases.values()))), pair)
    times = []
    for _ in range(500):
        start = time.thread_time()
        parser_class(bench.engine.tokenizer, request.tools, chat_template_kwargs={})
        times.append(time.thread_time() - start)
    return statistics.median(times) * 1e6


def time_starts(model: Path, folder: Path, repeats: int) -> tuple[float, float]:
    """The median seconds that a server takes to answer, with and without `auto`.

    In forks, so without vLLM's imports, but with ours: from bytecode, as an installed package has it.
    """
    for package in (chat_autoparser, vllm_plugin):
        compileall.compile_dir(str(Path(str(package.__file__)).parent), quiet=1)
    common = ["serve", str(model), "--max-model-len", "8192"]
    flags = ["--enable-auto-tool-choice", "--tool-call-parser", "auto", "--reasoning-parser", "auto"]
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(repeats + 1):
        for ours in (True, False):
            with serving.serve_fork("fake_core", [*common, *(flags if ours else [])], folder / "log") as server:
                if number:  # the first pays for the imports
                    times[ours].append(server.seconds)
    return statistics.median(times[True]), statistics.median(times[False])


# The report


def load_bench(name: str, folder: Path, markers: Markers = "special") -> Bench:
    subject = load_subject(name)
    model = make_model(subject.source, folder / name, markers=markers, eos=subject.eos)
    return Bench(subject, open_engine(model))


def compare(bench: Bench, costs: bool = True) -> Iterator[JsonObject]:
    """A row for our parsers, one for vLLM's own, each with its costs as multiples of the floor."""
    loads = {load.name: load for load in LOADS if load.name in ("text", "arguments", "one long string")}
    kinds = [(name, tokens) for name in loads for tokens in LENGTHS]
    feeds = {(name, tokens): make_feed(bench, loads[name], tokens) if costs else None for name, tokens in kinds}
    for pair in (OURS, PAIRS[bench.subject.name]):
        row: JsonObject = {"template": bench.subject.name, "parsers": name_pair(pair)}
        try:
            score = judge(bench, pair)
            row |= {"right": score.right, "alike": score.alike, "cases": score.cases, "faults": score.faults}
            row["construction"] = time_construction(bench, pair) if costs else 0
            times = {key: time_feed(bench.engine, pair, feed) for key, feed in feeds.items() if feed}
            row["costs"], row["floors"] = ({key: pair[place] for key, pair in times.items()} for place in (0, 1))
            first = feeds["one long string", LENGTHS[0]]
            if first:
                row["first"] = find_first_fragment(bench.engine, pair, first)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:160]
        yield row


def name_pair(pair: Pair) -> str:
    return "auto" if pair == OURS else " + ".join(dict.fromkeys(name for name in pair if name))


HEADERS = ("template", "parsers", "messages right", "stream = whole", "first fragment", "text", "fields", "string")


def print_table(rows: Iterable[JsonObject]) -> None:
    print("| " + " | ".join(HEADERS) + " |\n|" + "---|" * len(HEADERS))
    for row in rows:
        if "error" in row:
            cells = [row["template"], row["parsers"], row["error"].replace("|", "¦").replace("\n", " ")]
        else:
            counts = [f"{row['right']} / {row['cases']}", f"{row['alike']} / {row['cases']}"]
            first = str(row.get("first", "–")).replace("None", "never")
            kinds = ("text", "arguments", "one long string")
            cells = [row["template"], row["parsers"], *counts, first, *(_show_costs(row, kind) for kind in kinds)]
        print("| " + " | ".join(cells) + " |", flush=True)


def _show_costs(row: JsonObject, kind: str) -> str:
    found = [row["costs"].get((kind, tokens)) for tokens in LENGTHS]
    return " → ".join(f"{cost:.1f}" for cost in found if cost is not None) or "–"


def print_sums(rows: list[JsonObject]) -> None:
    """Of all messages, how many each side reads right, and streams as it reads them whole; an error reads none."""
    total = sum(row["cases"] for row in rows if row["parsers"] == "auto" and "cases" in row)
    for whose, mine in (("`auto`", True), ("vLLM's own", False)):
        of = [row for row in rows if (row["parsers"] == "auto") == mine and "right" in row]
        print(f"\n{whose}: {sum(row['right'] for row in of)} of {total} messages right, {sum(row['alike'] for row in of)} alike")


def print_bars(rows: list[JsonObject]) -> None:
    """Hold the figures against what was promised."""
    sound = [row for row in rows if "error" not in row]
    ours = {row["template"]: row for row in sound if row["parsers"] == "auto"}
    ratios = {(name, *key): cost / row["floors"][key] for name, row in ours.items() for key, cost in row["costs"].items()}
    over = {key: ratio for key, ratio in ratios.items() if ratio > 1.5}
    print(f"\n`auto` costs up to 1.5 times the floor in {len(ratios) - len(over)} of {len(ratios)} measurements")
    for key, ratio in sorted(over.items(), key=lambda item: -item[1]):
        print(f"* {ratio:.2f} times the floor: {key[0]}, {key[1]}, {key[2]} tokens")
    for row in (row for row in sound if row["parsers"] != "auto" and row["template"] in ours):
        for key, cost in row["costs"].items():
            mine = ours[row["template"]]["costs"][key]
            if key[1] == LENGTHS[-1] and mine >= cost:
                print(f"* behind {row['parsers']}: {row['template']}, {key[0]}: {mine:.1f} and {cost:.1f} µs")
    made = [row["construction"] for row in ours.values()]
    if made:
        print(f"\nmaking a parser: {statistics.median(made):.0f} µs in the median, {max(made):.0f} µs at most")
    for row in sound:
        for fault in row["faults"]:
            print(f"* {row['template']}, {row['parsers']}: {fault}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare our parsers with vLLM's own.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--starts", type=int, default=0, metavar="N", help="also time N starts of a server, with and without auto")
    parser.add_argument("--messages", action="store_true", help="measure no costs")
    parser.add_argument(
        "--markers", choices=("special", "added"), default="special", help="what the tokenizer takes a template's markers for"
    )
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    load_general_plugins()
    ToolParserManager.register_module("nothing", True, NoTools)
    ReasoningParserManager.register_module("nothing", True, NoReasoning)
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        names = [name for name in PAIRS if options.only.lower() in name.lower()]
        rows = []
        for name in names:
            rows += list(compare(load_bench(name, Path(folder), options.markers), costs=not options.messages))
            print(f"{name} done", file=sys.stderr, flush=True)
        print_table(rows)
        print_sums(rows)
        print_bars(rows)
        if options.starts:
            with_auto, without = time_starts(Path(folder) / names[0], Path(folder), options.starts)
            print(f"\na server answers after {with_auto:.2f} s with auto, {without:.2f} s without")


if __name__ == "__main__":
    main()
