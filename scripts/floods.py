"""Outputs that repeat one sign without end: what they cost must grow with their length, and no faster.

    python scripts/floods.py                  # every sixtieth real template
    python scripts/floods.py --only Qwen3     # those whose names contain this

Each flood is read alone and whole, as a server reads what it does not stream, and some at four places of a turn with a call,
whole and in small pieces, all at two lengths; the ratio of the times is divided by that of the lengths. One that takes no
time worth mentioning is not counted. The policy is that of servers (repair). Exit status 1 where the cost grows faster.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from corpus import load_corpus
from rendering import BOS, EOS

import chat_autoparser as ca
from chat_autoparser.constrain import write_turn

SHORT, LONG = 10_000, 40_000
GROWTH = 1.8  # of linear growth: what a machine that is busy may add
LEAST = 0.02  # seconds
FLOODS = (
    *"<>[](){}`'\"\\=:|#\n",
    *("  ", "</", "[/", "<|", "|>", "<a", "</pa", "</x y", "```", "\n\n", "<x=y", '{"a":', "a=1,", "[[", "{{", "]]>"),
    *("run", "run(", "run(y=", "functions.", "<think>", "</think>", "<tool", "<|tool", "<![CDATA["),
)
AMID = ("\n\n", "  ", "x\n", "<", "</", "{", '"', "`", "word ")
"""What is tried within a turn, too."""
PIECE = 5  # characters
ARGUMENTS = {"y": "some words", "x": [1, 2]}
CALL = {"content": "I look.", "tool_calls": [{"id": "a1", "function": {"name": "run", "arguments": ARGUMENTS}}]}
TOOL = {
    "type": "function",
    "function": {"name": "run", "parameters": {"type": "object", "properties": {"x": {"type": "array"}, "y": {"type": "string"}}}},
}


def measure(form: ca.ChatFormat, text: str, prompt: str | None = None, piece: int = 0) -> float:
    """The least seconds of three readings, in pieces of so many characters, or whole."""
    times: list[float] = []
    for _ in range(3):
        parser: Any = form.parser([TOOL], prompt, policy="repair")
        start = time.thread_time()
        for place in range(0, len(text), piece) if piece else (0,):
            parser.feed(text[place : place + piece] if piece else text)
        parser.finish()
        times.append(time.thread_time() - start)
    return min(times)


def write_call(form: ca.ChatFormat) -> tuple[str, str | None]:
    """Return a turn with a call, and the prompt behind which it may stand; no text where the format has none."""
    for start in form.graph.starts:
        try:
            return write_turn(form.graph, CALL, start), start.prompt
        except ca.AutoparserError:
            continue
    return "", None


def list_floods(form: ca.ChatFormat) -> Iterator[tuple[str, str, float, float]]:
    """List each flood with where it stands, and the seconds that it takes short and long."""
    for flood in FLOODS:
        short, long = (measure(form, flood * (length // len(flood))) for length in (SHORT, LONG))
        yield flood, "alone", short, long
    turn, prompt = write_call(form)
    for flood, part, piece in product(AMID, range(1, 5), (0, PIECE)) if turn else ():
        place = len(turn) * part // 4
        texts = [turn[:place] + flood * (length // len(flood)) + turn[place:] for length in (SHORT, LONG)]
        short, long = (measure(form, text, prompt, piece) for text in texts)
        yield flood, f"behind {turn[:place][-20:]!r}{' in pieces' if piece else ''}", short, long


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", metavar="SUBSTRING")
    options.add_argument("--every", type=int, default=60, help="take every so many-th template")
    chosen = options.parse_args()
    sources = load_corpus(chosen.only)
    worst, bad, count = 0.0, 0, 0
    for source in sources if chosen.only else sources[:: chosen.every]:
        try:
            form = ca.analyze(source.text, bos_token=BOS, eos_token=EOS)
        except ca.AutoparserError:
            continue
        for flood, where, short, long in list_floods(form):
            count += 1
            if long < LEAST:
                continue
            growth = long / short * SHORT / LONG
            worst = max(worst, growth)
            if growth > GROWTH:
                bad += 1
                times = f"{short * 1e3:.0f} ms, {long * 1e3:.0f} ms at {LONG // SHORT} times the length"
                print(f"{source.name}: {flood!r} {where} takes {times}")
    print(f"{count} floods: {bad} grow faster than their length, the worst {worst:.2f} times")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
