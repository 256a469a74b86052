"""What response templates can say, over all templates: what `ResponseTemplate.of` writes, and what is read with it.

    python scripts/responses.py                # the tables, in Markdown, and what is lost, by reason
    python scripts/responses.py --only NAME    # the same for the templates whose name contains this, with each fault

A response template is the declarative output format of transformers (5.13 and newer). For each chat template, one is written
from the derived format, and transformers' own parser reads the turns of `turns.py` with it: renders of known fields, which
must come back. White space around reasoning and content does not count: a response template says nothing of it. Beside it
stands what our own parser reads of the same turns, by the same measure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from conversations import JsonObject
from corpus import Source, load_corpus
from judge import find_fault
from rendering import BOS, EOS
from transformers.utils.chat_parsing import parse_response
from turns import Turn, build_turns

import chat_autoparser as ca

KINDS = ("content", "reasoning", "calls", "reasoning and calls")
LEAST = 90.0
"""Per cent of the turns that must be read in fields that are expressed."""


@dataclass
class Report:
    """What came of one chat template: which fields its format has and which of them could be written, and its turns."""

    name: str
    fields: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    turns: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def measure(source: Source, quick: bool) -> Report | None:
    """The report of one template; None where no format could be derived or no turn is rendered."""
    try:
        format = ca.analyze(source.text, bos_token=BOS, eos_token=EOS)
        turns = [turn for turn in build_turns(source.name, source.text, quick=quick) if not turn.unreadable]
    except ca.AutoparserError:
        return None
    if not turns:
        return None
    known = {"thinking": format.reasoning, "content": format.content, "tool_calls": format.tools}
    export = ca.ResponseTemplate.of(format)
    fields = export.template["fields"] if export.template else {}
    report = Report(source.name, tuple(name for name, part in known.items() if part), tuple(fields), export.lost)
    if export.template:
        report.disagreements = ca.compare_response_template(format, export.template)
    for turn in turns:
        count_turn(report, format, export.template, turn)
    return report


def count_turn(report: Report, format: ca.ChatFormat, template: JsonObject | None, turn: Turn) -> None:
    """Read a turn with both parsers; one whose fields are not all in the template's counts as not expressed."""
    kind = find_kind(turn)
    report.turns[kind, "turns"] += 1
    read = format.parse(turn.text, tools=turn.tools, prompt=turn.prompt)
    report.turns[kind, "ours"] += find_fault(turn.expected, read, ids=False) is None
    if not template or not list_wanted(turn) <= set(template["fields"]):
        report.turns[kind, "not expressed"] += 1
        return
    fault = read_fault(turn, template)
    report.turns[kind, "theirs"] += not fault
    if fault:
        report.faults.append(f"{turn.name} {turn.switches or ''}: {fault}: {turn.text[:200]!r}")
        report.kinds[f"{fault.partition(' in ')[0].partition(':')[0]}: {turn.name.removesuffix(', ended')}"] += 1


def find_kind(turn: Turn) -> str:
    thinks, calls = bool(turn.expected["reasoning_content"]), bool(turn.expected["tool_calls"])
    return KINDS[thinks + 2 * calls]


def list_wanted(turn: Turn) -> set[str]:
    names = {"reasoning_content": "thinking", "content": "content", "tool_calls": "tool_calls"}
    return {theirs for ours, theirs in names.items() if turn.expected[ours]}


def read_fault(turn: Turn, template: JsonObject) -> str:
    """What is wrong with the message that transformers reads, or nothing."""
    try:
        message = parse_response(turn.text, template, prefix=turn.prompt, tools=turn.tools)
    except Exception as error:  # of a parser that is measured: a failure is a turn that is not read
        return f"{type(error).__name__}: {error}"[:120]
    calls = [take_openai(call["function"]) for call in message.get("tool_calls") or []]
    renamed = {**message, "reasoning_content": message.get("thinking"), "tool_calls": calls}
    fault = find_fault(turn.expected, renamed, ids=False)
    return f"{fault} in {message}"[:400] if fault else ""


def take_openai(function: JsonObject) -> JsonObject:
    """A call of transformers' as one of the OpenAI API."""
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=repr)
    return {"id": None, "function": {"name": function.get("name"), "arguments": text}}


def list_rows(reports: list[Report]) -> Iterator[tuple[str, ...]]:
    """The rows of the table of turns."""
    total: Counter[tuple[str, str]] = Counter()
    for report in reports:
        total.update(report.turns)
    for kind in (*KINDS, "all"):
        kinds = KINDS if kind == "all" else (kind,)
        turns, out, theirs, ours = (sum(total[k, column] for k in kinds) for column in ("turns", "not expressed", "theirs", "ours"))
        yield kind, f"{turns:,}", f"{out:,}", f"{theirs:,} of {turns - out:,} ({share(theirs, turns - out)})", f"{ours:,}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def print_fields(reports: list[Report]) -> None:
    print("| field | formats that have it | written |\n|---|---|---|")
    for name in ("content", "thinking", "tool_calls"):
        have = [report for report in reports if name in report.fields]
        print(f"| `{name}` | {len(have)} | {sum(name in report.written for report in have)} |")


def print_losses(reports: list[Report]) -> None:
    losses = Counter(loss for report in reports for loss in dict.fromkeys(map(generalise, report.lost)))
    for loss, number in losses.most_common():
        print(f"* {number} templates: {loss}")


def print_faults(reports: list[Report]) -> None:
    kinds = sum((report.kinds for report in reports), Counter[str]())
    for kind, number in kinds.most_common(20):
        print(f"* {number} turns of {sum(kind in report.kinds for report in reports)} templates are misread: {kind}")


def generalise(loss: str) -> str:
    """A loss without the marker it names."""
    head, quote, rest = loss.partition("'")
    return f"{head}a marker{rest.rpartition(quote)[2]}" if quote and head.endswith(": ") else loss


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the response templates that are written.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth template")
    parser.add_argument("--quick", action="store_true", help="fewer turns of each")
    options = parser.parse_args()
    found = [measure(source, options.quick) for source in load_corpus(options.only)[:: options.every]]
    reports = [report for report in found if report]
    for report in reports:
        for fault in (*report.disagreements, *report.faults[: None if options.only else 1]):
            print(f"{report.name} ({len(report.faults)} faults): {fault}")
    complete = [report for report in reports if set(report.fields) <= set(report.written)]
    sound = [report for report in complete if not report.faults]
    print(f"\n{len(complete)} of {len(reports)} formats are written with all their fields, {len(sound)} read without a fault\n")
    print_fields(reports)
    print("\n| turns with | turns | field not written | read by transformers | read by ours |\n|---|---|---|---|---|")
    rows = list(list_rows(reports))
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()
    print_losses(reports)
    print_faults(reports)
    total = sum((report.turns for report in reports), Counter[tuple[str, str]]())
    asked = sum(total[kind, "turns"] - total[kind, "not expressed"] for kind in KINDS)
    return int(100 * sum(total[kind, "theirs"] for kind in KINDS) < LEAST * asked)


if __name__ == "__main__":
    sys.exit(main())
