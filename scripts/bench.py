"""What parsing costs: a ratio table against a parser that does nothing, the growth with length, and the analysis.

    python scripts/bench.py                  # the whole table
    python scripts/bench.py --quick          # fewer repeats, shorter outputs
    python scripts/bench.py --json FILE      # the figures as JSON
    python scripts/bench.py --only tagged    # formats whose name contains this, without the analysis

Below the table stands for each format what is held against the bars (`BARS`): the mean of its ratios, the worst of them,
and the worst growth. Exit status 1 if one of them is missed.

The column *to strict* says what recoveries cost: the time divided by that of the policy `strict`, which knows none.

Every output is fed in tokens of four characters. The floor is a parser whose ``feed`` returns one Delta with the text. It
and ours are fed in turn, a hundred tokens at a time, so both meet the same processor: one that changes its speed, or is
shared, does so within milliseconds. What is counted is the time of this thread on the processor; a ratio is the median of
many rounds, and the rounds of the short and of the long output alternate, so that the growth compares like with like.
Absolute times depend on the machine: read the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from conversations import make_tool
from corpus import load_corpus

import chat_autoparser as ca
from chat_autoparser.ask.budget import Budget
from chat_autoparser.format.view import find_call_opening

BARS = {"mean": 2.5, "worst": 5.0, "growth": 1.1}
"""What a format may cost: the mean of its ratios over the loads that its template renders, the worst of them, and the worst growth
of all."""

TOKEN = 4
SLICE = 100  # how many tokens the parsers are fed in turn
BUDGET = Budget(seconds=120, render_seconds=60, characters=1 << 33)  # some templates join texts in quadratic time
SHAPES = {
    "JSON in tags": "Qwen-Qwen3-0.6B",
    "JSON array": "0xA50C1A1-Mistral-Nemo-Instruct-2407-Heretic-v2",
    "bare JSON": "meta-llama-Llama-3.1-8B-Instruct",
    "name as key": "swiss-ai-Apertus-8B-Instruct-2509",
    "marker and JSON": "Mistral-Small-3.2-24B-Instruct-2506",
    "id with name": "moonshotai-Kimi-K2.5",
    "message headers": "openai-gpt-oss-120b",
    "tagged": "Qwen3-Coder",
    "tagged keys": "GLM-4.6",
    "typed tags": "deepseek-ai-DeepSeek-V4",
    "keywords": "LiquidAI-LFM2.5-8B-A1B-Base",
    "odd quotes": "google-gemma-4-31B-it",
    "nested markup": "MiniMaxAI-MiniMax-M3-MXFP8",
}
WORDS = "the quick brown fox, who said: jumps over a lazy dog; then 3 more times (or so) - and rests. "


@dataclass(frozen=True)
class Load:
    """A kind of output: a name, and the arguments of the one call in it (None: plain text).

    With ``near`` the text has in it what is nearly a call: recoveries are possible, and must not apply.
    """

    name: str
    make: Callable[[int], dict[str, Any] | None]
    near: bool = False


def make_text(length: int) -> str:
    """Return prose of about so many characters."""
    return (WORDS * (length // len(WORDS) + 1))[:length]


def make_fields(length: int) -> dict[str, Any]:
    """Return arguments with many fields of every type."""
    arguments: dict[str, Any] = {}
    for number in range(length // 100):
        arguments[f"field_{number}"] = f"value number {number} of many"
        arguments[f"count_{number}"] = number
        arguments[f"list_{number}"] = [number, "two", {"three": True}]
    return arguments


CALL_ID = "abcd12345"
CONTENT = "an answer"
NUMBER = 7000001
DEPTH = 1000


LOADS = (
    Load("text", lambda length: None),
    Load("nearly calls", lambda length: None, near=True),
    Load("arguments", make_fields),
    Load("one long string", lambda length: {"code": make_text(length)}),
    Load("nested lists", lambda length: {f"lists_{number}": [[NUMBER]] for number in range(max(1, length // 2000))}),
)


def make_near_calls(format: ca.ChatFormat, length: int) -> str:
    """Return prose with what is nearly a call every few lines.

    That is: the text that opens a call without a call behind it, its end alone, a call as JSON to a tool that is not there,
    and to the one that is, with arguments that it does not take.
    """
    tools, opening = format.tools, find_call_opening(format.graph) or ""
    closing = (tools.call_end.text or tools.section_end.text) if tools else ""
    nearly = [
        f"It begins with `{opening.strip()}` as a rule. ",
        f"It ends with `{closing}` as a rule. ",
        'One writes {"name": "walk", "arguments": {"far": true}} for that. ',
        'Or else {"name": "run", "arguments": 7}, which is wrong. ',
    ]
    text = "".join(WORDS + nearly[number % len(nearly)] for number in range(length // len(WORDS) + 1))
    return text[:length]


class NoParser:
    """The floor: hands each piece of text back."""

    def feed(self, text: str) -> list[ca.Delta]:
        return [ca.Delta("content", text)]


def make_tools(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Declare one tool with a parameter for each argument."""
    kinds = {str: "string", int: "integer", list: "array"}
    properties = {key: {"type": kinds[type(value)], "description": "A parameter."} for key, value in arguments.items()}
    return [make_tool("run", "Runs.", properties, additionalProperties=False)]


class Output(NamedTuple):
    """What a model of a template would write behind a prompt, and the tools of the request."""

    text: str
    tools: list[dict[str, Any]]
    prompt: str


def render_output(source: str, load: Load, length: int, format: ca.ChatFormat | None = None) -> Output | None:
    """Return an output with a load in it; None where the template refuses it."""
    arguments = load.make(length)
    tools = make_tools(arguments or {})
    render = ca.load_renderer(source, bos_token="<s>", eos_token="</s>").within(BUDGET)
    user = {"role": "user", "content": "Go."}
    function: dict[str, Any] = {"name": "run", "arguments": arguments}
    turn: dict[str, Any] = {"role": "assistant", "content": CONTENT}
    if arguments is not None:
        turn |= {"content": "", "tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}
    # Templates want arguments as an object or as text, and tools with or without their envelope.
    for spelled, listed in product((arguments, json.dumps(arguments)), (tools, [tool["function"] for tool in tools])):
        function["arguments"] = spelled
        try:
            text = render([user, turn], listed, False)
            prompts = [render([user], listed, generates) for generates in (True, False)]
        except ca.AutoparserError:
            continue
        prompt = next((prompt for prompt in prompts if text.startswith(prompt)), "")
        text = text.removeprefix(prompt)
        if arguments is not None:
            return Output(deepen(text) if load.name == "nested lists" else text, tools, prompt)
        format = format or ca.analyze(source, bos_token="<s>", eos_token="</s>")
        written = make_near_calls(format, length) if load.near else make_text(length)
        return Output(text.partition(CONTENT)[0] + written, tools, prompt)
    return None


def deepen(text: str) -> str:
    """Nest the lists around each number in an output a thousand deep, in the notation in which they are written twice."""
    for half in range(30, 0, -1):
        found = re.search(rf"(.{{{half}}})(?:\1){NUMBER}(.{{1,{half + 1}}}?)\2", text, re.DOTALL)
        if found and not found[1].isspace():
            opening, closing = found[1], found[2]
            return text.replace(f"{opening}{NUMBER}{closing}", f"{opening * DEPTH}{NUMBER}{closing * DEPTH}")
    return text


def split_tokens(text: str) -> list[str]:
    """Split a text into tokens of four characters."""
    return [text[place : place + TOKEN] for place in range(0, len(text), TOKEN)]


def time_feeding(feeds: Sequence[Callable[[str], Any]], tokens: list[str]) -> list[float]:
    """Return the mean microseconds of each feed over the tokens, which are fed to all in turn, a slice at a time."""
    elapsed = [0.0] * len(feeds)
    gc.disable()
    for place in range(0, len(tokens), SLICE):
        piece = tokens[place : place + SLICE]
        for number, feed in enumerate(feeds):
            start = time.thread_time()
            for token in piece:
                feed(token)
            elapsed[number] += time.thread_time() - start
    gc.enable()
    return [seconds / len(tokens) * 1e6 for seconds in elapsed]


class Figures:
    """What the rounds of one output gave, in microseconds a token: ours, ours without recoveries, and the floor."""

    def __init__(self, format: ca.ChatFormat, output: Output, tokens: int) -> None:
        text, self._tools, self._prompt = output
        self._format, self._tokens = format, split_tokens(text)[:tokens]
        self._rounds: list[list[float]] = []

    def run_rounds(self, number: int) -> None:
        """Measure so many rounds more."""
        for _ in range(number):
            ours = self._format.parser(tools=self._tools, prompt=self._prompt)
            bare = self._format.parser(tools=self._tools, prompt=self._prompt, policy="strict")
            self._rounds.append(time_feeding((ours.feed, bare.feed, NoParser().feed), self._tokens))

    def sum_up(self) -> tuple[float, float, float, float]:
        """Return the best of the rounds for ours and the floor, the median of their ratios, and that of ours to ours without
        recoveries."""
        ratio, recoveries = (statistics.median(each[0] / each[number] for each in self._rounds) for number in (2, 1))
        return min(each[0] for each in self._rounds), min(each[2] for each in self._rounds), ratio, recoveries


def measure_shapes(short: int, long: int, repeats: int, only: str = "") -> Iterator[dict[str, Any]]:
    """Measure each load in each shape whose name contains a text, at two lengths."""
    sources = {source.name: source.text for source in load_corpus()}
    for shape, name in SHAPES.items():
        if only not in shape:
            continue
        source = sources[name]
        format = ca.analyze(source, bos_token="<s>", eos_token="</s>")
        for load in LOADS:
            outputs = [render_output(source, load, tokens * TOKEN, format) for tokens in (short, long)]
            if outputs[0] is None or outputs[1] is None:
                continue
            near, far = Figures(format, outputs[0], short), Figures(format, outputs[1], long)
            for _ in range(repeats):
                near.run_rounds(8)
                far.run_rounds(1)
            us, floor, ratio, recoveries = near.sum_up()
            yield {
                "shape": shape,
                "load": load.name,
                "near": load.near,
                "us": round(us, 2),
                "floor_us": round(floor, 2),
                "ratio": round(ratio, 2),
                "recoveries": round(recoveries, 2),
                "growth": round(far.sum_up()[2] / ratio, 2),
            }


def sum_up_formats(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each format what is held against the bars."""
    formats: dict[str, dict[str, float]] = {}
    for shape in dict.fromkeys(row["shape"] for row in rows):
        own = [row for row in rows if row["shape"] == shape]
        ratios = [row["ratio"] for row in own if not row["near"]]  # no template renders what is nearly a call
        worst = {"worst": max(ratios), "growth": max(row["growth"] for row in own)}
        formats[shape] = {"mean": round(statistics.mean(ratios), 2), **worst}
    return formats


def measure_construction(repeats: int) -> float:
    """Return the median microseconds of making a parser from a known format."""
    (source,) = (source.text for source in load_corpus() if source.name == SHAPES["tagged"])
    format = ca.analyze(source, bos_token="<s>", eos_token="</s>")
    tools = make_tools(make_fields(1000))
    prompt = "x" * 1000 + format.header
    times = []
    for _ in range(repeats * 100):
        start = time.perf_counter()
        format.parser(tools=tools, prompt=prompt)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def measure_analysis(share: int) -> list[float]:
    """Return the milliseconds of analysing every so-many-th template of the corpus, proof included."""
    times = []
    for source in load_corpus()[::share]:
        start = time.perf_counter()
        with contextlib.suppress(ca.AutoparserError):
            ca.analyze(source.text, bos_token="<s>", eos_token="</s>")
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="fewer repeats and shorter outputs")
    options.add_argument("--only", default="", metavar="TEXT", help="only formats whose name contains this")
    options.add_argument("--json", metavar="FILE", help="write the figures to a file")
    chosen = options.parse_args()
    repeats, long = (3, 8000) if chosen.quick else (9, 32000)
    print(f"{'shape':18} {'load':16} {'µs/token':>9} {'floor':>6} {'ratio':>6} {'to strict':>10} {f'x at {long}':>10}")
    rows = []
    for row in measure_shapes(2000, long, repeats, chosen.only):
        rows.append(row)
        columns = f"{row['us']:9} {row['floor_us']:6} {row['ratio']:6} {row['recoveries']:10} {row['growth']:10}"
        print(f"{row['shape']:18} {row['load']:16} {columns}", flush=True)
    formats = sum_up_formats(rows)
    print(f"\n{'shape':18}" + "".join(f" {f'{name} ≤ {bar}':>14}" for name, bar in BARS.items()))
    missed = 0
    for shape, figures in formats.items():
        over = [name for name, bar in BARS.items() if figures[name] > bar]
        missed += len(over)
        print(f"{shape:18}" + "".join(f" {figures[name]:12}{' !' if name in over else '  '}" for name in BARS))
    print(f"{missed} of {len(BARS) * len(formats)} bars missed")
    report: dict[str, Any] = {"rows": rows, "formats": formats, "bars": BARS}
    if not chosen.only:
        construction, analysis = measure_construction(repeats), measure_analysis(10 if chosen.quick else 1)
        print(f"making a parser: {construction:.1f} µs")
        median, worst = statistics.median(analysis), analysis[-1]
        print(f"analysis with proof: median {median:.0f} ms, worst {worst:.0f} ms, {len(analysis)} templates")
        report.update({"construction_us": construction, "analysis_ms": analysis})
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
