"""How far the analysis carries: formats that nobody has seen, drawn anew on each run, and what is read of their turns.

    python scripts/generality.py                        # 1,000 formats; the seed is printed
    python scripts/generality.py --seed 7 --count 300   # the same formats again
    python scripts/generality.py --only 7:41            # one of them: its template, turns, expected and got
    python scripts/generality.py --corpus               # real templates, with the same messages

What a format is, and what its turns mean, is in `invent`; it knows nothing of the analysis. Every turn is parsed whole,
one character at a time and in random pieces. A *false proof* is a format that is called proven and misreads a turn: exit
status 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, cast

from conversations import NEEDLES, TOOLS, Conversation, JsonObject
from corpus import Source, load_corpus, run_all
from invent import draw, says
from invent.turns import Speaker, make_turns
from judge import Format, count_misses, judge_turn, list_readable, make_row
from rendering import BOS, EOS
from turns import Turn, build_turns

import chat_autoparser as ca

Report = dict[str, Any]
WAYS = ("whole", "by character", "in pieces")


def measure_drawn(number: int, seed: str) -> Report:
    """The report on one drawn format."""
    design = draw(random.Random(f"{seed}:{number}"))
    speaker = Speaker(design)
    return {"axes": design.axes, **measure(f"{seed}:{number}", speaker.source, make_turns(speaker, number), number)}


def measure_briefly(number: int, seed: str) -> Report:
    """The same, with no more about turns that are read than how many there are."""
    report = measure_drawn(number, seed)
    kept = ("turn", "ended", "unreadable", "faults")
    report["turns"] = [row if row["faults"] else {key: row[key] for key in kept} for row in report["turns"]]
    return report


def measure_source(source: Source) -> Report:
    """The report on one real template, with messages that no other script has measured it with."""
    TOOLS["ferries"] = [*says.TOOLS, *TOOLS["plain"]]
    turns = build_turns(source.name, source.text, conversations=list_conversations())
    return {"axes": {}, **measure(source.name, source.text, turns, 0, ordered=False)}


def list_conversations() -> tuple[Conversation, ...]:
    """What is said to invented formats, for real ones; with no more calls than `turns` finds again in a render."""
    mixes = {label: fields for label, fields in says.list_mixes().items() if len(fields.calls) <= len(NEEDLES.calls)}
    said = {**says.list_texts(), **mixes, **says.list_values()}
    asked = [Conversation(label, fields, tools="ferries") for label, fields in said.items()]
    return (*asked, *(Conversation(f"{label}, after tool", fields, "tool", "ferries") for label, fields in mixes.items()))


def measure(name: str, source: str, turns: list[Turn], seed: int, *, ordered: bool = True) -> Report:
    """What becomes of a template's turns; not `ordered` where a template may sort arguments."""
    start = time.perf_counter()
    report: Report = {"name": name, "source": source, "error": None, "proven": False, "verdict": "", "seconds": 0.0}
    try:
        format = ca.analyze(source, bos_token=BOS, eos_token=EOS)
        report |= {"proven": bool(format.verdict.proven), "verdict": str(format.verdict)}
    except Exception as error:
        format, report["error"] = None, f"{type(error).__name__}: {error}"
    report["seconds"] = time.perf_counter() - start
    report["turns"] = [judge(cast("Format | None", format), turn, seed, ordered=ordered) for turn in turns]
    return report


def judge(format: Format | None, turn: Turn, seed: int, *, ordered: bool = True) -> Report:
    """What is wrong with what is read of one turn, by the way it is given in."""
    if format is None:
        return {**make_row(turn), "faults": dict.fromkeys(WAYS, "no format")}
    return judge_turn(format, turn, seed, find_disorder if ordered else lambda *_: None)


def find_disorder(turn: Turn, message: JsonObject, whole: JsonObject | None) -> str | None:
    """Whether arguments that are the same stand in another order."""
    for wanted, call in zip(turn.expected["tool_calls"], message.get("tool_calls") or [], strict=True):
        if not _is_ordered(wanted["arguments"], json.loads(call["function"]["arguments"])):
            return "order of arguments"
    return None


def _is_ordered(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return list(one) == list(two) and all(_is_ordered(value, two[key]) for key, value in one.items())
    return not isinstance(one, list) or all(_is_ordered(a, b) for a, b in zip(one, two, strict=True))


# Totals


def is_false(report: Report) -> bool:
    """Whether a proof says what is not so."""
    return bool(report["proven"] and count_misses(report))


def summarise(reports: list[Report]) -> Report:
    """The totals."""
    measured = [report for report in reports if list_readable(report)]
    rows = [row for report in measured for row in list_readable(report)]
    clean = [report for report in measured if not count_misses(report)]
    seconds = sorted(report["seconds"] for report in measured) or [0.0]
    return {
        "formats": len(reports),
        "turns": len(rows),
        "right": {way: sum(way not in row["faults"] for row in rows) for way in WAYS},
        "right in all ways": sum(not row["faults"] for row in rows),
        "right, end of turn left on": _share([row for row in rows if row["ended"]]),
        "right, end of turn cut off": _share([row for row in rows if not row["ended"]]),
        "told apart by nobody": sum(len(report["turns"]) for report in reports) - len(rows),
        "formats without a miss": len(clean),
        "refused by the analysis": sum(report["error"] is not None for report in measured),
        "proven": sum(report["proven"] for report in measured),
        "false proofs": sum(map(is_false, measured)),
        "right but not proven": sum(not report["proven"] for report in clean),
        "seconds of analysis, median": round(seconds[len(seconds) // 2], 3),
        "seconds of analysis, worst": round(seconds[-1], 3),
    }


def _share(rows: list[Report]) -> str:
    right = sum(not row["faults"] for row in rows)
    return f"{right} of {len(rows)} ({100 * right / max(1, len(rows)):.2f} %)"


def rank_axes(reports: list[Report], least: int = 5) -> list[tuple[float, str, int, int, int]]:
    """For each value of an axis how much more is missed with it than on the whole (lift), the value, how many formats have
    it, and how many of their turns there are and are missed; the worst ones first."""
    turns: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    formats: Counter[str] = Counter()
    for report in reports:
        for axis, value in report["axes"].items():
            label = f"{axis} = {value!r}"
            formats[label] += 1
            turns[label] += len(list_readable(report))
            missed[label] += count_misses(report)
    total = sum(count_misses(report) for report in reports) / max(1, sum(len(list_readable(report)) for report in reports))
    ranked = [
        (missed[label] / turns[label] / total, label, formats[label], turns[label], missed[label])
        for label in formats
        if formats[label] >= least and turns[label] and total
    ]
    return sorted(ranked, reverse=True)


def print_totals(totals: Report) -> None:
    turns = max(1, totals["turns"])
    for key, value in totals.items():
        if isinstance(value, dict):
            value = ", ".join(f"{way} {right} ({100 * right / turns:.2f} %)" for way, right in value.items())
        elif key == "right in all ways":
            value = f"{value} ({100 * value / turns:.2f} %)"
        print(f"{key}: {value}")


def print_axes(reports: list[Report], only: str, count: int) -> None:
    print(f"\n{'lift':>5} {'formats':>7} {'turns':>6} {'missed':>6} {'right':>7}  value of an axis")
    ranked = [row for row in rank_axes(reports) if only in row[1]]
    for lift, label, formats, turns, missed in ranked[:count] if not only else ranked:
        print(f"{lift:>5.2f} {formats:>7} {turns:>6} {missed:>6} {100 - 100 * missed / turns:>6.1f}%  {label}")


def print_misses(reports: list[Report], count: int) -> None:
    worst = sorted((report for report in reports if count_misses(report)), key=count_misses, reverse=True)
    for report in worst[:count]:
        missed = [row for row in list_readable(report) if row["faults"]]
        marks = "FALSE PROOF" if is_false(report) else ""
        print(f"\n{report['name']}: {len(missed)} of {len(list_readable(report))} missed {report['error'] or ''} {marks}")
        print("  " + ", ".join(f"{axis}={value!r}" for axis, value in report["axes"].items() if value not in ("-", "none")))
        row = missed[0]
        print(f"  {row['turn']}: {row['faults']}\n    text {row['text']!r}")
        print(f"    got  {json.dumps(row['got'], ensure_ascii=False)}")


def print_report(report: Report) -> None:
    """Everything about one format."""
    print(report["source"])
    print(f"\n{report['axes']}\n\n{report['verdict'] or report['error']}\nproven: {report['proven']}")
    for row in report["turns"]:
        state = f"not told apart: {row['unreadable']}" if row["unreadable"] else row["faults"] or "right"
        print(f"\n== {row['turn']}: {state}\n   prompt   …{row['prompt'][-80:]!r} {row['switches'] or ''}")
        print(f"   text     {row['text']!r}")
        print(f"   expected {json.dumps(row['expected'], ensure_ascii=False)}")
        if row["faults"]:
            print(f"   got      {json.dumps(row['got'], ensure_ascii=False)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw formats that nobody has seen, and read their turns.")
    parser.add_argument("--count", type=int, help="how many formats (default 1000), or how many of the real templates (all)")
    parser.add_argument("--seed", help="any word; drawn anew by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the N formats with most misses")
    parser.add_argument("--axis", default="", metavar="AXIS", help="of the table of axes only the rows of this one")
    parser.add_argument("--only", metavar="SEED:NUMBER", help="print everything about one format")
    parser.add_argument("--corpus", action="store_true", help="real templates instead of drawn ones")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write totals, formats and what was missed there")
    options = parser.parse_args()
    if options.only:
        seed, _, number = options.only.rpartition(":")
        print_report(measure_drawn(int(number), seed))
        return 0
    seed = options.seed or str(random.SystemRandom().randrange(10**6))
    print(f"seed {seed}", flush=True)
    if options.corpus:
        sources = load_corpus()
        sources = random.Random(seed).sample(sources, min(options.count or len(sources), len(sources)))
        reports = run_all(measure_source, sources, options.jobs)
    else:
        reports = run_all(partial(measure_briefly, seed=seed), range(options.count or 1000), options.jobs)
    totals = summarise(reports)
    if options.json:
        options.json.write_text(json.dumps({"totals": totals, "formats": reports}, ensure_ascii=False, indent=1), "utf-8")
    print_totals(totals)
    false = [report["name"] for report in reports if is_false(report)]
    if false:
        print("false proofs: " + ", ".join(false))
    if not options.corpus:
        print_axes(reports, options.axis, 40)
    print_misses(reports, options.show)
    return int(bool(false))


if __name__ == "__main__":
    sys.exit(main())
