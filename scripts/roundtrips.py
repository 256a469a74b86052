"""Whether what a model writes comes back unchanged with the next turn, over all templates.

For each template, each shape of turn is written as the template prints it, parsed, put back into the conversation and
rendered with the next turn (`converse/roundtrip.py`). The table counts turns that come back, those that the template
breaks whatever a parser does, with the share that one of its switches repairs, those that would need white space alone to
be reasoning or content (which no parser here takes it for), and those that the parse breaks although another reading of the
text would have come back: that must be none.

`--parser MODULE:FUNCTION` measures another parser, made for a template by `FUNCTION(name, source)`: a function
`parse(text, tools, prompt)` that returns an OpenAI message, or None where there is none for this template.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from conversations import JsonObject
from corpus import Source, load_corpus, run_all
from rendering import BOS, EOS

from chat_autoparser import load_renderer
from chat_autoparser.analysis import analyze
from chat_autoparser.converse.roundtrip import check_roundtrips
from chat_autoparser.errors import AutoparserError

KINDS = ("content", "truncated", "reasoning, content", "call", "reasoning, call", "line break", "other spaces")


def find_kind(turn: str) -> str:
    """The row of the table that a turn is counted in."""
    for kind, sign in (("line break", "line break"), ("other spaces", "other spaces"), ("truncated", "truncated")):
        if sign in turn:
            return kind
    if "call" in turn:
        return "reasoning, call" if "reasoning" in turn else "call"
    return "reasoning, content" if "reasoning" in turn else "content"


def measure(source: Source, maker: str) -> JsonObject:
    started = time.perf_counter()
    try:
        parse = make_parse(maker, source)
        if maker and parse is None:
            return {"template": source.name, "error": "no such parser", "trips": []}
        renderer = load_renderer(source.text, bos_token=BOS, eos_token=EOS)
        format = analyze(renderer)
        # Whether another's parser expects reasoning depends on switches that it is not told here: none is set for it.
        trips = [trip.to_dict() for trip in check_roundtrips(renderer, format, parse=parse, switches=[()] if maker else None)]
    except AutoparserError as error:
        return {"template": source.name, "error": str(error), "trips": []}
    return {"template": source.name, "error": None, "trips": trips, "seconds": time.perf_counter() - started}


def make_parse(maker: str, source: Source) -> Callable[..., Any] | None:
    if not maker:
        return None
    module, _, function = maker.partition(":")
    parse: Callable[..., Any] | None = getattr(importlib.import_module(module), function)(source.name, source.text)
    return parse


def join_forms(trips: Iterable[JsonObject]) -> list[JsonObject]:
    """One result for each turn: that of the form of arguments in which it comes back, if there is one."""
    joined: dict[str, JsonObject] = {}
    for trip in trips:
        key = json.dumps([trip["turn"], trip["after"], trip["switches"]])
        known = joined.get(key)
        if known is None or (trip["kept"], bool(trip["repair"])) > (known["kept"], bool(known["repair"])):
            joined[key] = trip
    return list(joined.values())


def count(reports: list[JsonObject], per_form: bool) -> dict[tuple[str, str], Counter[str]]:
    rows: dict[tuple[str, str], Counter[str]] = {}
    for report in reports:
        for trip in report["trips"] if per_form else join_forms(report["trips"]):
            state = "kept" if trip["kept"] else "repaired" if trip["repair"] else trip["fault"]
            rows.setdefault((find_kind(trip["turn"]), trip["after"]), Counter())[state] += 1
    return dict(sorted(rows.items(), key=lambda item: (KINDS.index(item[0][0]), item[0][1])))


STATES = {
    "kept": "kept",
    "repaired": "switch repairs",
    "template": "template",
    "white space": "white space",
    "parse": "parse",
}


def print_table(rows: dict[tuple[str, str], Counter[str]]) -> None:
    print(f"{'turn':<22}{'then':<8}{'turns':>7}" + "".join(f"{title:>{len(title) + 3}}" for title in STATES.values()))
    for (kind, after), states in [*rows.items(), (("all", ""), sum(rows.values(), Counter()))]:
        numbers = "".join(f"{states[state]:>{len(title) + 3}}" for state, title in STATES.items())
        print(f"{kind:<22}{after:<8}{sum(states.values()):>7}{numbers}")


def print_faults(report: JsonObject) -> None:
    for trip in list_faults(report):
        print(f"  parse at fault: {report['template']} | {trip['turn']} | {trip['after']} | {trip['arguments']}")
        print(f"    switches {trip['switches']} text {trip['text'][:300]!r}")
        print(f"    earlier {trip['earlier']!r}\n    later   {trip['later']!r}", flush=True)


def list_faults(report: JsonObject) -> list[JsonObject]:
    return [trip for trip in report["trips"] if trip["fault"] == "parse"]


def show(report: JsonObject) -> None:
    print(f"\n## {report['template']} {report['error'] or ''}")
    for trip in report["trips"]:
        state = (
            "kept" if trip["kept"] else f"{trip['fault']} {trip['earlier'][:40]!r} != {trip['later'][:40]!r} {trip['repair'] or ''}"
        )
        print(f"{trip['turn']:<34}{trip['after']:<6}{trip['arguments']:<7}{trip['switches'] or ''} {state}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the round trips of chat templates.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--show", metavar="SUBSTRING", help="print each turn of the templates whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth template")
    parser.add_argument("--parser", default="", metavar="MODULE:FUNCTION", help="measure another parser")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every result there")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    sources = load_corpus(options.show or options.only)[:: options.every]
    reports: list[JsonObject] = run_all(partial(measure, maker=options.parser), sources, options.jobs)
    for report in reports:
        print_faults(report)
    if options.json:
        options.json.write_text(json.dumps(reports, ensure_ascii=False, indent=1), "utf-8")
    if options.show:
        for report in reports:
            show(report)
        return 0
    measured = [report for report in reports if report["trips"]]
    seconds = sorted(report["seconds"] for report in measured)
    print(f"{len(measured)} of {len(reports)} templates print a turn; {seconds[len(seconds) // 2]:.2f} s each in the median\n")
    print("in the form of arguments that serves best:")
    print_table(count(reports, per_form=False))
    for form in ("object", "string"):
        only = [{**report, "trips": [t for t in report["trips"] if t["arguments"] == form]} for report in reports]
        total = sum(count(only, per_form=True).values(), Counter())
        print(f"calls with arguments as {form}: {total['kept']} of {sum(total.values())} kept")
    return int(any(map(list_faults, reports)))


if __name__ == "__main__":
    sys.exit(main())
