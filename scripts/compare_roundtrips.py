"""Whether turns come back unchanged with our parser and with another one, on the templates that both can read.

    .venv/bin/python scripts/roundtrips.py --json ours.json
    build/vllm/bin/python scripts/roundtrips.py --parser vllm_parse:make_parse --jobs 1 --json vllm.json
    .venv/bin/python scripts/compare_roundtrips.py ours.json vllm.json

What a perfect parse keeps is what either of the two keeps, and what one of them loses though another reading of the text
(with the fields that are known) would have come back. A turn counts as kept if it was also read right, white space apart: a
parser that takes nothing for reasoning or a call hands all back as content. No switch is set, as a parser of an engine's is
not told any. Exit status 1 if the other parser keeps a turn that ours loses.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from conversations import JsonObject
from roundtrips import KINDS, find_kind, join_forms

Key = tuple[str, str, str, str]
"""Template, turn, what follows it, and the text."""


def read_report(path: Path) -> dict[Key, JsonObject]:
    """The turns of a report with no switch set, each in the form of arguments that serves best."""
    found = {}
    for report in json.loads(path.read_text("utf-8")):
        for trip in join_forms(report["trips"]):
            if not trip["switches"]:
                found[report["template"], trip["turn"], trip["after"], trip["text"]] = trip
    return found


def is_kept(trip: JsonObject) -> bool:
    return bool(trip["kept"] and trip["read"])


def count(ours: dict[Key, JsonObject], theirs: dict[Key, JsonObject]) -> dict[str, Counter[str]]:
    rows: dict[str, Counter[str]] = {}
    for key in ours.keys() & theirs.keys():
        mine, other = ours[key], theirs[key]
        perfect = any(is_kept(trip) or trip["fault"] == "parse" for trip in (mine, other))
        row = {"turns": 1, "perfect": perfect, "ours": is_kept(mine), "theirs": is_kept(other)}
        rows.setdefault(find_kind(key[1]), Counter()).update({name: int(number) for name, number in row.items()})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=Path)
    parser.add_argument("theirs", type=Path)
    options = parser.parse_args()
    ours, theirs = read_report(options.ours), read_report(options.theirs)
    rows = count(ours, theirs)
    shared = ours.keys() & theirs.keys()
    print(f"{len({key[0] for key in shared})} templates\n")
    print("| turns | | perfect parse | ours | theirs |\n|---|---|---|---|---|")
    rows["all"] = sum(rows.values(), Counter())
    for kind in (*KINDS, "all"):
        if kind in rows:
            print(f"| {kind} | {' | '.join(str(rows[kind][name]) for name in ('turns', 'perfect', 'ours', 'theirs'))} |")
    lost = sorted(key for key in shared if is_kept(theirs[key]) and not is_kept(ours[key]))
    for template, turn, after, text in lost:
        print(f"* theirs alone keeps {template}, {turn}, then {after}: {text[:100]!r}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
