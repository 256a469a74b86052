"""SGLang's parsers side by side, over the same outputs: ours, those its own `auto` picks, and the best it has.

    PYTHONPATH=scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1 build/sglang/bin/python scripts/compare_sglang.py [SHAPE ...]

For each shape of template (tests/engines/cases.py) the outputs that it renders are read through SGLang's own two stages, and
the table tells for how many the message is right: read at once, and streamed in pieces of one character, of seven, and as
a whole; and how many say the same in all of these ways. The best named parsers are found by trying all, and left out where
they are no better than what `auto` picks. Then the processor time per token of four characters, for an answer and for a
call with one long argument, of 2,000 and 8,000 tokens. Last come the sums, with the most that ours cost and the
least that the named ones do.

A shape takes about half a minute, all of them about ten minutes on a quiet machine. Times are only worth comparing there.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cases import TEMPLATES, Case, Subject, load_subject
from judge import find_fault, take_meaning
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser import template_detection
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins import load_plugins
from tiny_model import make_model
from transformers import AutoTokenizer

from chat_autoparser.sglang_plugin import NAME
from chat_autoparser.sglang_plugin.builtin import Stages, detect_thinking, make_tools

SIZES = (2000, 8000)
_OURS = {NAME, "auto"}
_TRIED = 6  # outputs of a kind that are enough to find the best by
_SECONDS = 0.5  # how long a measurement is repeated; the best one counts

Names = tuple[str | None, str | None]
"""A parser of calls and one of reasoning, as SGLang names them."""


@dataclass(frozen=True)
class Score:
    """How many of the outputs came out right, and how many alike in every way of feeding."""

    total: int
    right: int
    right_in_pieces: int
    alike: int


@dataclass(frozen=True)
class Bench:
    """A template with its cases, and a tokenizer that renders it."""

    subject: Subject
    tokenizer: Any

    def make_stages(self, names: Names, case: Case) -> Stages:
        prompt = self.tokenizer.apply_chat_template(
            case.messages, tools=case.tools, add_generation_prompt=True, tokenize=False, **case.kwargs
        )
        thinks = detect_thinking(self.tokenizer, names[1], case.kwargs)
        return Stages(*names, self.tokenizer, prompt, make_tools(case.tools), thinks)

    def score(self, names: Names, cases: Iterable[Case], whole_only: bool = False) -> Score:
        total = right = right_in_pieces = alike = 0
        for case in cases:
            stages = self.make_stages(names, case)
            messages = [_try(stages.read_whole, case.text)]
            if not whole_only:
                for size in (1, 7, len(case.text)):
                    pieces = [case.text[start : start + size] for start in range(0, len(case.text), size)]
                    messages.append(_try(stages.read_pieces, [*pieces, ""]))
            faults = [message is None or find_fault(case.expected, message) is not None for message in messages]
            total += 1
            right += not faults[0]
            right_in_pieces += not any(faults[1:])
            alike += len({repr(message and take_meaning(message)) for message in messages}) == 1
        return Score(total, right, right_in_pieces, alike)


def _try(function: Any, given: Any) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = function(given)
    except Exception:  # of a parser that is compared: a failure is a message that is not right
        return None
    return found


def find_own(bench: Bench) -> Names:
    """What SGLang's own `auto` picks for a template (`resolve_auto_parsers`)."""
    source = bench.subject.source
    forced, toggle = template_detection.detect_reasoning_pattern(source)
    context = template_detection.build_detection_context(source, bench.tokenizer, toggle, forced)
    calls = template_detection.match_rules(context, template_detection.TOOL_CALL_PARSER_RULES, "tools")
    return calls, template_detection.match_rules(context, template_detection.REASONING_PARSER_RULES, "reasoning")


def find_best(bench: Bench) -> Names:
    """The two of SGLang's parsers that read most, in the kindest way of feeding."""
    cases = sorted(bench.subject.cases.values(), key=lambda case: -len(case.expected["tool_calls"]))
    plain = [case for case in cases if case.expected["reasoning_content"] is None][:_TRIED]
    thinking = [case for case in cases if case.expected["reasoning_content"] is not None][:_TRIED]

    def count(*names: str | None) -> int:
        return bench.score((names[0], names[1]), [*plain, *thinking], True).right

    calls = [name for name in FunctionCallParser.ToolCallParserEnum if name not in _OURS]
    kinds = [None, *(name for name in ReasoningParser.DetectorMap if name not in _OURS)]
    best = max(calls, key=lambda name: bench.score((name, None), plain, True).right)
    return best, max(kinds, key=lambda name: count(best, name)) if thinking else None


def measure(bench: Bench, names: Names, tokens: int, in_call: bool) -> float | None:
    """Processor time in microseconds a token of a stream: of an answer, or of one long argument of a call."""
    case = bench.subject.find("content, call" if in_call else "content", "call" if in_call else "content")
    if case is None:
        return None
    filling = "zebra okapi lion " * (tokens * 4 // 17)
    text = case.text.replace("pen twelve", filling) if in_call else case.text + filling
    if len(text) < tokens * 3:
        return None
    stages = bench.make_stages(names, case)
    pieces = [text[start : start + 4] for start in range(0, len(text), 4)]
    best, started = float("inf"), time.process_time()
    while time.process_time() < started + _SECONDS:  # at least once: some take time that grows with the square of the length
        first, second = stages.make_first(), stages.make_second()
        start = time.process_time()
        try:
            for piece in pieces:
                rest = first.parse_stream_chunk(piece)[1] if first else piece
                if second and rest:
                    second.parse_stream_chunk(rest)
        except Exception:  # of a parser that is compared
            return None
        best = min(best, time.process_time() - start)
    return best / len(pieces) * 1e6


def load_bench(shape: str) -> Bench:
    subject = load_subject(TEMPLATES[shape])
    folder = Path(tempfile.mkdtemp(prefix="tiny-"))
    return Bench(subject, AutoTokenizer.from_pretrained(make_model(subject.source, folder, eos=subject.eos)))


@dataclass(frozen=True)
class Row:
    """What a table's row says. ``costs`` are those of an answer, then of an argument, each at all of the sizes."""

    label: str
    score: Score
    costs: tuple[float | None, ...]


def make_row(label: str, names: Names, bench: Bench) -> Row:
    score = bench.score(names, bench.subject.cases.values())
    if names == (None, None):
        return Row(f"{label}: none", score, (None,) * 4)
    label = label if names == (NAME, NAME) else f"{label}: {names[0] or 'none'}, {names[1] or 'none'}"
    return Row(label, score, tuple(measure(bench, names, tokens, in_call) for in_call in (False, True) for tokens in SIZES))


def print_row(shape: str, row: Row) -> None:
    shown = ["–" if cost is None else f"{cost:.1f}" for cost in row.costs]
    score = row.score
    share = [f"{part} of {score.total}" for part in (score.right, score.right_in_pieces, score.alike)]
    print(f"| {shape} | {row.label} | {' | '.join(share)} | {' → '.join(shown[:2])} | {' → '.join(shown[2:])} |", flush=True)


def list_rows(bench: Bench) -> list[Row]:
    """Ours, what SGLang's own `auto` picks, and the best named ones: what it picks, where others read no more."""
    own, best = find_own(bench), find_best(bench)
    picked = make_row("SGLang's auto", own, bench)
    named = make_row("best named", best, bench) if best != own else picked
    if (named.score.right, named.score.right_in_pieces) <= (picked.score.right, picked.score.right_in_pieces):
        named = picked
    return [make_row("ours", (NAME, NAME), bench), picked, named]


def print_sums(shapes: list[list[Row]]) -> None:
    """Print the sums, and what ours cost at most, and the named ones at least."""
    for label, kind, pick in (("ours, at most", 0, max), ("SGLang's auto", 1, None), ("best named, at least", 2, min)):
        rows = [shape[kind] for shape in shapes]
        score = Score(*(sum(getattr(row.score, field.name) for row in rows) for field in fields(Score)))
        costs: list[float | None] = [None] * 4
        for place in range(4 if pick else 0):
            known = [cost for row in rows if (cost := row.costs[place]) is not None]
            costs[place] = pick(known) if pick and known else None
        print_row("all", Row(label, score, tuple(costs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(TEMPLATES))
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    load_plugins()
    print("| shape | parsers | right at once | right in any pieces | alike | answer, µs 2k → 8k | argument, µs 2k → 8k |")
    print("|---|---|---|---|---|---|---|")
    shapes = []
    for shape in options.shapes or TEMPLATES:
        rows = list_rows(load_bench(shape))
        for row in dict.fromkeys(rows):
            print_row(shape, row)
        shapes.append(rows)
    print_sums(shapes)


if __name__ == "__main__":
    main()
