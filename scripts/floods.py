"""Outputs that repeat one sign without end: what they cost must grow with their length, and no faster.

    python scripts/floods.py                  # every sixtieth real template
    python scripts/floods.py --only Qwen3     # those whose names contain this

Each flood is read whole, as a server reads what it does not stream, at two lengths; the ratio of the times is divided by
that of the lengths. One that takes no time worth mentioning is not counted. Exit status 1 where the cost grows faster.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from corpus import load_corpus
from rendering import BOS, EOS

import chat_autoparser as ca

SHORT, LONG = 10_000, 40_000
GROWTH = 1.8  # of linear growth: what a machine that is busy may add
LEAST = 0.02  # seconds
FLOODS = (
    *"<>[](){}`'\"\\=:|#\n",
    *("  ", "</", "[/", "<|", "|>", "<a", "</pa", "</x y", "```", "\n\n", "<x=y", '{"a":', "a=1,", "[[", "{{", "]]>"),
    *("run", "run(", "run(y=", "functions.", "<think>", "</think>", "<tool", "<|tool", "<![CDATA["),
)
TOOL = {
    "type": "function",
    "function": {"name": "run", "parameters": {"type": "object", "properties": {"x": {"type": "array"}, "y": {"type": "string"}}}},
}


def measure(form: ca.ChatFormat, text: str) -> float:
    """The least seconds of three readings."""
    times: list[float] = []
    for _ in range(3):
        parser: Any = form.parser([TOOL])
        start = time.thread_time()
        parser.feed(text)
        parser.finish()
        times.append(time.thread_time() - start)
    return min(times)


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
        for flood in FLOODS:
            short, long = (measure(form, flood * (length // len(flood))) for length in (SHORT, LONG))
            count += 1
            if long < LEAST:
                continue
            growth = long / short * SHORT / LONG
            worst = max(worst, growth)
            if growth > GROWTH:
                bad += 1
                times = f"{short * 1e3:.0f} ms, {long * 1e3:.0f} ms at {LONG // SHORT} times the length"
                print(f"{source.name}: {flood!r} takes {times}")
    print(f"{count} floods: {bad} grow faster than their length, the worst {worst:.2f} times")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
