"""Calls that are cut off: the output of every template ends at every place of a turn with calls, and nothing may be invented.

    python scripts/cuts.py             # one turn with all types of values of every third template
    python scripts/cuts.py --every 1   # of every template

What is streamed of a call must be a beginning of what stands there when the turn is whole: no bracket, no value and no
half of a name that the model did not write. As long as there is no call, no word may be lost. Exit status 1 where that is broken.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from typing import Any

from corpus import load_corpus
from rendering import BOS, EOS
from study import study_template
from turns import Turn, list_turns

import chat_autoparser as ca

_CHOSEN = ("call all types", "reasoning, call", "two calls", "call")


def find_faults(fmt: ca.ChatFormat, turn: Turn) -> list[tuple[str, int, Any]]:
    """What is wrong where the output of a turn is cut: the kind of fault, the place, and what was read."""
    whole = _read(fmt, turn, len(turn.text))[0]
    found: list[tuple[str, int, Any]] = []
    for end in range(1, len(turn.text)):
        calls, texts, incomplete = _read(fmt, turn, end)
        for number, (name, arguments) in enumerate(calls):
            if number >= len(whole) or name != whole[number][0]:
                found.append(("name", end, calls))
            elif not whole[number][1].startswith(arguments):
                found.append(("value", end, arguments))
            elif arguments != whole[number][1] and number not in incomplete:
                found.append(("not said to be cut", end, arguments))
        if not calls:
            lost = [word for word in re.findall(r"\w{6,}", turn.text[:end]) if word not in texts]
            edges = [*fmt.graph.turn.edges, *(edge for start in fmt.graph.starts for edge in start.edges)]
            marks = {word for edge in edges for word in re.findall(r"\w{6,}", edge.text)}
            if [word for word in lost if not any(mark.startswith(word) or word in mark for mark in marks)]:
                found.append(("text lost", end, lost))
    return found


def _read(fmt: ca.ChatFormat, turn: Turn, end: int) -> tuple[list[tuple[str, str]], str, frozenset[int]]:
    parser = fmt.parser(turn.tools, turn.prompt)
    message = ca.message.fold_deltas([*parser.feed(turn.text[:end]), *parser.finish()])
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
    return calls, f"{message['reasoning_content']} {message['content']}", parser.incomplete_calls


def main() -> int:
    parser = argparse.ArgumentParser(description="Cut calls at every place.")
    parser.add_argument("--every", type=int, default=3, help="take every so many-th template")
    parser.add_argument("--only", default="", metavar="SUBSTRING")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    places, cut, kinds, bad = 0, 0, Counter[str](), 0
    for source in load_corpus(options.only)[:: options.every]:
        study = study_template(source.name, source.text)
        turns = {turn.name: turn for turn in list_turns(study)} if study else {}
        turn = next((turns[name] for name in _CHOSEN if name in turns and not turns[name].unreadable), None)
        if turn is None:
            continue
        try:
            fmt = ca.analyze(source.text, bos_token=BOS, eos_token=EOS)
        except ca.AutoparserError:
            continue
        if not _read(fmt, turn, len(turn.text))[0]:
            continue
        found = find_faults(fmt, turn)
        cut, places, bad = cut + 1, places + len(turn.text), bad + len({end for _, end, _ in found})
        kinds.update(kind for kind, _, _ in found)
        for kind, end, got in found[:3] if options.show else []:
            print(f"{source.name}: {kind} at {end}\n  {turn.text[max(0, end - 160) : end]!r}\n  {got!r}")
    print(f"{cut} templates, {places} places: {bad} with a fault", dict(kinds))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
