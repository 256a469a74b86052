"""Random and adversarial output through the parsers of real templates: nothing may raise, get lost or depend on chunks.

    python scripts/fuzz.py                    # a minute over a sample of the corpus
    python scripts/fuzz.py --seconds 600 --seed 7
    python scripts/fuzz.py --outputs 1000000 --short    # so many, of up to six pieces each

Each round takes a template of the corpus, writes an output out of its own markers, prose and nonsense, and checks:

* no exception, whole, by character and in random pieces, and the same message each time;
* with ``tools=[]`` there are no calls, and all text comes back in the end but for markers and white space;
* a finished call has arguments that are JSON wherever the output was not damaged on purpose.

Prints each failure with its seed; exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from corpus import load_corpus
from judge import cut_pieces

import chat_autoparser as ca

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find",
            "parameters": {"type": "object", "properties": {"what": {"type": "string"}, "limit": {"type": "integer"}}},
        },
    }
]
NONSENSE = ["\0", "\ud800", "\r\n", " ", "\n\n", "{", "}", "[[", "]", '"', "'", "\\", "\\u00", "<", ">", "</", "=", ":", ","]
SHORT, SHORT_PIECE = 6, 60  # pieces, and characters of one
PROSE = ["Hello. ", "find", "what", "limit", "3", "true", "null", "é漢🦓", '{"name": "find", "arguments": {', "x" * 300]


def list_texts(format: ca.ChatFormat) -> Iterator[str]:
    """Yield all texts that stand between fields, and what they are taken for in words."""
    views = (format.reasoning, format.content, format.tools)
    marks = (getattr(view, field.name) for view in views if view for field in fields(view))
    texts = [mark.text for mark in marks if isinstance(mark, ca.Marker)]
    for graph in (format.graph.turn, *(inside for _, inside in format.graph.insides)):
        texts += [part for edge in graph.edges for part in edge.parts]
    yield from (text for text in (*texts, *format.stops) if 0 < len(text) < 60)


def write_output(source: random.Random, markers: list[str], short: bool = False) -> str:
    """Write an output out of markers, whole or damaged, and anything else; a short one is of a few pieces that are not long."""
    pieces = []
    for _ in range(source.randint(1, SHORT if short else 40)):
        piece = source.choice(source.choice((markers, markers, PROSE, NONSENSE)))
        if source.random() < 0.15:
            piece = piece[: source.randint(0, len(piece))]
        pieces.append(piece[:SHORT_PIECE] if short else piece * (source.randint(50, 400) if source.random() < 0.02 else 1))
    return "".join(pieces)


def read(format: ca.ChatFormat, pieces: list[str], tools: Any, prompt: str | None) -> tuple[Any, ...]:
    """Return the reasoning, the content, both as they came, the calls without generated ids, and which are incomplete."""
    parser = format.parser(tools, prompt)
    texts: dict[str, list[str]] = {"reasoning": [], "content": [], "both": []}
    calls: dict[Any, list[str]] = {}
    for delta in [*(delta for piece in pieces for delta in parser.feed(piece)), *parser.finish()]:
        if delta.kind == "tool_call":
            calls.setdefault(delta.index, []).append((delta.name or "") + delta.text)
        else:
            texts[delta.kind].append(delta.text)
            texts["both"].append(delta.text)
    if any(name == "fault" for name, _ in parser.recoveries):
        raise AssertionError(f"the parser failed, and handed on the rest as text: {''.join(pieces)!r}")
    called = {number: "".join(parts) for number, parts in calls.items()}
    return *map("".join, texts.values()), called, parser.incomplete_calls


def find_lost(text: str, kept: str) -> bool:
    """Whether the text that was kept is no subsequence of the output, white space aside."""
    rest = iter("".join(text.split()))
    return not all(char in rest for char in "".join(kept.split()))


def check(format: ca.ChatFormat, markers: list[str], seed: int, short: bool = False) -> str:
    """Run one round; returns what went wrong, or nothing."""
    source = random.Random(seed)
    text = write_output(source, markers, short)
    tools = source.choice((TOOLS, None, []))
    prompt = source.choice((None, "", *(start.prompt for start in format.graph.starts)))
    whole = read(format, [text], tools, prompt)
    for pieces in (list(text), list(cut_pieces(text, seed))):
        if read(format, pieces, tools, prompt) != whole:
            return f"the split matters: {text!r}, tools {tools!r}, prompt {prompt!r}"
    if tools == [] and (whole[3] or find_lost(text, whole[2])):
        return f"calls, or text that was not there, without tools: {text!r}, prompt {prompt!r}"
    return ""


def main() -> int:
    """Run for a while and report."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--outputs", type=int, help="how many, instead of a time")
    options.add_argument("--short", action="store_true", help="outputs of a few pieces, and no look at memory")
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--templates", type=int, default=60, help="how many templates to take from the corpus")
    chosen = options.parse_args()
    corpus = [source for source in load_corpus() if "tool_calls" in source.text]
    formats = []
    for template in corpus[:: max(1, len(corpus) // chosen.templates)]:
        try:
            formats.append((template.name, ca.analyze(template.text, bos_token="<s>", eos_token="</s>")))
        except ca.AutoparserError:
            continue
    markers = {name: sorted(set(list_texts(f))) for name, f in formats}
    if not chosen.short:
        tracemalloc.start()
    seed, failures, end = chosen.seed, 0, time.monotonic() + chosen.seconds
    while failures < 5 and (seed - chosen.seed < chosen.outputs if chosen.outputs else time.monotonic() < end):
        name, format = formats[seed % len(formats)]
        try:
            found = check(format, markers[name], seed, chosen.short)
        except Exception as error:  # whatever it is, it is what is looked for here
            found = f"{type(error).__name__}: {error}"
        if found:
            failures += 1
            print(f"seed {seed}, {name}: {found[:2000]}", file=sys.stderr)
        seed += 1
    peak = "" if chosen.short else f", {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB at most"
    print(f"{seed - chosen.seed} rounds over {len(formats)} templates: {failures} failures{peak}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
