"""What real models wrote off the script, and what the engines' own tests expect: how much of it we read as was wanted.

    python scripts/offscript.py realworld           # outputs that made real servers fail
    python scripts/offscript.py unseen              # outputs that were made up by people who did not know the code
    python scripts/offscript.py engines             # what the parser tests of vLLM and SGLang feed and expect
    python scripts/offscript.py engines --conventions    # with the switches set as each engine has it
    python scripts/offscript.py realworld --show    # every miss, with what was wanted and what came

The data of the others lies beside the repository: the folder that holds what `corpus.find_peers` names, or `--shared`. Every
case is read whole and by character; both must agree. Compared are content and reasoning after `strip()`, names exactly, arguments
as typed JSON with the order of keys. *Text lost* counts cases in which a word that was wanted is nowhere in the message.

A case of the engines' says only whether reasoning is open; the prompt is one of the template's that leaves it so. Where a
test's parser reads tools alone, ours starts where a stage for reasoning has handed on; where it reads reasoning alone, the rest
is compared as text. One that reads all and hands on reasoning alone has dropped the calls: then what is not in those is compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from conversations import JsonObject
from corpus import find_peers, load_corpus, load_peer_template
from judge import is_same, stream
from rendering import BOS, EOS
from stray import find_reason, list_options

import chat_autoparser as ca
from chat_autoparser.format.view import find_state

UNSEEN = Path(__file__).parent.parent / "tests" / "unseen"

TOKENS = ("<bos>", "<eos>")
"""Special tokens that the engines' tests write into texts: servers drop them by their ids before a parser sees the text."""


def find_cases(kind: str, shared: Path | None) -> list[JsonObject]:
    """The cases of a kind, empty where the data is not there."""
    peers = find_peers()
    folder = shared or (peers.parent if peers else None)
    path = folder / ("realworld" if kind == "realworld" else "peers/engines") / "cases.jsonl" if folder else None
    path = UNSEEN / "outputs.jsonl" if kind == "unseen" else path
    if path is None or not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@cache
def _read_templates() -> dict[str, str]:
    return {name: source.text for folder in (None, UNSEEN) for source in load_corpus(folder=folder) for name in source.names}


def is_at_hand(case: JsonObject) -> bool:
    """Whether the template of a case is here: some are in no package, but in the folder of the peers."""
    kind, _, bare = str(case["template"]).removesuffix(".jinja").rpartition(":")
    return kind == "llama.cpp" or bare in _read_templates()


@cache
def load_format(name: str) -> ca.ChatFormat:
    """The format of a template, by a name as the cases have it."""
    kind, _, bare = name.removesuffix(".jinja").rpartition(":")
    text = load_peer_template(f"{bare}.jinja") if kind == "llama.cpp" else None
    return ca.analyze(text or _read_templates()[bare], bos_token=BOS, eos_token=EOS)


@cache
def _load_renderer(name: str) -> Any:
    return ca.load_renderer(_read_templates()[name.removesuffix(".jinja")], bos_token=BOS, eos_token=EOS)


def find_prompt(case: JsonObject) -> str | None:
    """The prompt behind which a text stands."""
    if case["kind"] != "engines":
        messages = case.get("messages") or [{"role": "user", "content": "Hi"}]
        prompt: str = _load_renderer(case["template"])(messages, tools=case["tools"] or None, **case["prompt_kwargs"])
        return prompt + (case.get("prompt_suffix") or "")
    fmt = load_format(case["template"])
    states = {find_state(start, fmt.graph): start.prompt for start in reversed(fmt.graph.starts)}
    wanted = {"open": ("reasoning",), "closed": ("content", "open"), "bare": ("open", "reasoning", "content")}[case["prompt"]]
    found = next((states[state] for state in wanted if state in states), None)
    if found is None and fmt.reasoning and "open" in states:  # the template has no such prompt: one that has begun the answer
        found = states["open"] + fmt.reasoning.start.written
    return found


def read_case(case: JsonObject, options: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Read a case whole and by character: the name of the way, and the message."""
    fmt, prompt, text = load_format(case["template"]), find_prompt(case), case["text"]
    scope = case.get("scope", "both")
    tools = case["tools"] if case["kind"] != "engines" else case["tools"] or None  # the engines' tests often leave them out
    if case.get("tool_choice") == "none" and "policy" in options:
        tools = []  # the switch says what becomes of calls that are not asked for
    after = scope == "tools" and fmt.reasoning is not None
    for way, pieces in (("whole", [text]), ("by character", list(text))):
        if scope == "reasoning":
            splitter = fmt.reasoning_splitter(tools, prompt, **options)
            parts = [*(splitter.feed(piece) for piece in pieces), splitter.finish()]
            thought, rest = ("".join(part[place] for part in parts) for place in (0, 1))
            if case["parser"].startswith("vllm.parser.") and "adapters" not in case["parser"] and case["modes"] == ["stream"]:
                behind = fmt.parser(tools, prompt, after_reasoning=True, **options)
                rest = stream(behind, [rest])["content"] or ""
            yield way, {"reasoning_content": thought, "content": rest, "tool_calls": [], "recoveries": []}
            continue
        parser = fmt.parser(tools, prompt, after_reasoning=after, **options)
        message = stream(parser, pieces)
        message["recoveries"] = sorted({name for name, _ in parser.recoveries})
        yield way, message


# Comparing -------------------------------------------------------------------------------------------------------------------


def find_fault(case: JsonObject, message: JsonObject) -> str | None:
    """What is wrong with a message, or None; the best of what the case accepts."""
    wanted = [case["expected"], *(case.get("accept") or [])]
    faults = [_compare(case, one, message) for one in wanted]
    return None if None in faults else faults[0]


def _compare(case: JsonObject, wanted: JsonObject, message: JsonObject) -> str | None:
    for key, other in (("reasoning_content", "reasoning"), ("content", "content")):
        expected = wanted.get(key, wanted.get(other))
        if not wanted.get(f"{key}_any") and (message.get(key) or "").strip() != (expected or "").strip():
            return key
    calls, expected_calls = message.get("tool_calls") or [], wanted.get("tool_calls") or []
    if len(calls) != len(expected_calls):
        return "number of calls"
    faults = [_compare_call(case, call, one) for call, one in zip(calls, expected_calls, strict=True)]
    return next(filter(None, faults), None)


def _compare_call(case: JsonObject, call: JsonObject, wanted: JsonObject) -> str | None:
    written = call["function"]["arguments"]
    if call["function"]["name"] != wanted["name"]:
        return "name"
    if wanted.get("id") and wanted["id"] in case["text"] and call.get("id") != wanted["id"]:
        return "id"
    if "arguments_raw" in wanted:
        return None if written == wanted["arguments_raw"] else "arguments"
    if "arguments_prefix" in wanted:
        return None if "".join(written.split()).startswith("".join(wanted["arguments_prefix"].split())) else "arguments"
    expected = wanted.get("arguments")
    if isinstance(expected, str):
        if written.strip() == expected.strip() or (not expected.strip() and written == "{}"):
            return None
        expected = _load(expected)
    got = _load(written)
    if got is _BROKEN or expected is _BROKEN:
        return "arguments are no JSON"
    return None if is_same(got, expected) and _has_order(got, expected) else "arguments"


def _has_order(got: Any, expected: Any) -> bool:
    return not (isinstance(got, dict) and isinstance(expected, dict)) or list(got) == list(expected)


_BROKEN = object()


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _BROKEN


def list_lost(case: JsonObject, message: JsonObject) -> list[str]:
    """The words that were wanted and were written, and are nowhere in the message."""
    wanted, got = _count_words(case["expected"]), _count_words(message)
    written = Counter(_list_words(case["text"]))
    return [word for word, count in wanted.items() if word in written and got[word] < count]


def _count_words(message: JsonObject) -> Counter[str]:
    texts = [message.get(key) or "" for key in ("reasoning_content", "reasoning", "content")]
    for call in message.get("tool_calls") or []:
        function = call.get("function", call)
        arguments = function.get("arguments", function.get("arguments_raw", function.get("arguments_prefix", "")))
        loaded = _load(arguments) if isinstance(arguments, str) else arguments
        texts += [function["name"] or "", arguments if loaded is _BROKEN else json.dumps(loaded, ensure_ascii=False)]
    return Counter(_list_words(" ".join(texts)))


def _list_words(text: str) -> list[str]:
    return re.findall(r"\w{3,}", text)


# Reporting -------------------------------------------------------------------------------------------------------------------


def measure(cases: Iterable[JsonObject], options: JsonObject, conventions: bool = False) -> list[JsonObject]:
    """For each case a row: what is wrong in which way, what was lost, and which recoveries were at work."""
    rows = []
    for case in cases:
        chosen = {**options, **(list_options(case) if conventions else {})}
        if conventions:
            case = {**case, "text": re.sub("|".join(map(re.escape, TOKENS)), "", case["text"])}
        row: JsonObject = {"case": case, "group": _find_group(case), "fault": None, "got": None, "lost": [], "way": ""}
        row["conventions"] = conventions
        whole = None
        try:
            for way, message in read_case(case, chosen):
                shown = {key: value for key, value in message.items() if key != "recoveries"}
                same = whole is None or _drop_ids(shown) == _drop_ids(whole)
                fault = find_fault(case, message) if same else "not the same as whole"
                whole = shown if whole is None else whole
                if fault and not row["fault"]:
                    row |= {"fault": fault, "way": way, "got": message, "lost": list_lost(case, message)}
                row["recoveries"] = message["recoveries"]
        except Exception as error:
            row |= {"fault": f"{type(error).__name__}: {error}", "way": "whole"}
        rows.append(row)
    return rows


def is_decided(case: JsonObject) -> bool:
    """Whether a case is read as it wants with the switches set as its engine has it."""
    return not measure([case], {}, conventions=True)[0]["fault"]


def _drop_ids(message: JsonObject) -> JsonObject:
    return {**message, "tool_calls": [call["function"] for call in message["tool_calls"]]}


def _find_group(case: JsonObject) -> str:
    if case["kind"] != "engines":
        return str(case["judgement"])
    result = case["result"]
    kind = result["class"] or "as the format says"
    return f"{kind}: {result['label']}" if result["label"] and kind == "convention" else str(kind)


def print_report(rows: list[JsonObject], show: bool) -> None:
    """A line for each class, the faults by kind, and the misses."""
    groups = Counter(row["group"] for row in rows)
    print(f"{'class':<90} {'cases':>5} {'right':>5} {'lost':>5}")
    for group in sorted(groups, key=lambda name: (name.partition(":")[0], -groups[name])):
        print(_count(group, [row for row in rows if row["group"] == group]))
    print(_count("all", rows))
    based = [row for row in rows if row["group"] in ("as the format says", "recovery")]
    if based:
        print(_count("of those, on the format or a recovery", based))
        decided = [row for row in based if row["fault"] and not row["conventions"] and is_decided(row["case"])]
        print(_count("of those, without what a switch of the policy decides", [row for row in based if row not in decided]))
    faults = Counter(row["fault"] for row in rows if row["fault"])
    print("\n" + ", ".join(f"{name}: {count}" for name, count in faults.most_common()))
    used = Counter(name for row in rows for name in row.get("recoveries") or [])
    for reason, cases in sorted(_group_reasons(rows).items()):
        print(f"not read as wanted, {reason or 'without a reason that is known'} ({len(cases)}): {' '.join(cases)}")
    print("recoveries: " + (", ".join(f"{name} {count}" for name, count in used.most_common()) or "none"))
    for row in rows if show else []:
        if row["fault"]:
            case, got = row["case"], row["got"] or {}
            print(f"\n{case['id']} [{row['group']}] {case['template']}: {row['fault']} ({row['way']})")
            print(f"  wrote    {case['text'][:1200]!r}")
            print(f"  wanted   {json.dumps(case['expected'], ensure_ascii=False)[:1000]}")
            print(f"  came     {json.dumps(got, ensure_ascii=False)[:1000]}")
            print(f"  lost     {row['lost']}" if row["lost"] else "", case.get("note") or "")


def _group_reasons(rows: list[JsonObject]) -> dict[str, list[str]]:
    """The cases that are not read as they want, by what is known against it."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["fault"]:
            found.setdefault(find_reason(row["case"], row["conventions"]), []).append(row["case"]["id"])
    return found


def _count(label: str, rows: list[JsonObject]) -> str:
    right, lost = sum(not row["fault"] for row in rows), sum(bool(row["lost"]) for row in rows)
    return f"{label[:90]:<90} {len(rows):>5} {right:>5} {lost:>5}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Read what was written off the script.")
    parser.add_argument("kind", choices=("realworld", "engines", "unseen"))
    parser.add_argument("--shared", type=Path, metavar="FOLDER", help="where the data lies")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only cases whose id, template or class contains this")
    parser.add_argument("--policy", default="", help="read with this policy")
    parser.add_argument("--conventions", action="store_true", help="set the switches as the engine of each case has it")
    parser.add_argument("--show", action="store_true", help="print every miss")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every row there")
    options = parser.parse_args()
    cases = [{"kind": options.kind, **case} for case in find_cases(options.kind, options.shared)]
    if not cases:
        print("the data is not there: see --shared", file=sys.stderr)
        return 2
    wanted = options.only.lower()
    cases = [c for c in cases if wanted in f"{c['id']} {c['template']} {_find_group(c)}".lower()]
    away = [case["id"] for case in cases if not is_at_hand(case)]
    if away:
        print(f"left out, as their templates are not here: {', '.join(away)}", file=sys.stderr)
    cases = [case for case in cases if is_at_hand(case)]
    rows = measure(cases, {"policy": options.policy} if options.policy else {}, options.conventions)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8")
    print_report(rows, options.show)
    return int(any(row["fault"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
