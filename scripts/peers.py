"""What the tests of llama.cpp and ik_llama.cpp expect, put to the parser: how much of it we read the same way.

    python scripts/peers.py              # a table by template, what is left out and why, and every miss
    python scripts/peers.py --only NAME  # only templates whose name contains this

The data lies beside the repository (see `corpus`). Compared as its README says: content and reasoning after `strip()`,
arguments as typed JSON, names exactly, and ids where the model wrote them. Every case is read whole and by character.

* A prefilled answer (`continue_final_message`) is part of the expected message: it is put before what we read.
* `reasoning_format: none` keeps reasoning, tags and all, in the content: what we split is joined, and between the pieces
  nothing but markers may be missing.
* An unfinished case (`is_partial`) is fed and not finished. Of two streams of arguments one may be ahead of the other.

Expectations that rest on a convention of one program alone are left out, by properties of the case and not by what we make
of it; they are named and counted. Exit status 1 if another one is missed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

from conversations import JsonObject, pick_needles
from corpus import find_peers, load_peer_template
from judge import Format, fold, is_same
from rendering import BOS, EOS
from splitting import Setting
from study import study_template

import chat_autoparser as ca

_TOKEN = re.compile(r"<[^<>\s]{1,60}>|\[[A-Z_/ ]{2,30}\]")
_BARE_CALL = re.compile(r"functions(\.|\Z)")
_UNCLOSED = {"malformed_token_response", "qwen3_incomplete_closing_tag"}


def _prompt_tag_in_content(case: JsonObject) -> bool:
    content, opened = case["expect"]["content"] or "", case["generation_prompt"]
    tag = next((opened[i:] for i in range(len(opened)) if opened[i:].strip() and content.startswith(opened[i:])), "")
    fresh = case["continue_final_message"] == "none"
    return case["reasoning_format"] == "none" and fresh and bool(tag) and tag.strip() not in case["input"]


def _prompt_words_in_reasoning(case: JsonObject) -> bool:
    first = (case["expect"]["reasoning_content"] or "").partition("\n")[0]
    fresh = case["continue_final_message"] == "none"
    return fresh and bool(first) and first not in case["input"] and first in case["generation_prompt"].splitlines()


def _fence_dropped(case: JsonObject) -> bool:
    return bool(case["json_schema"]) and "```" in case["input"] and "```" not in (case["expect"]["content"] or "")


def _text_lost(case: JsonObject) -> bool:
    last, expect = _TOKEN.split(case["input"])[-1].strip(), case["expect"]
    kept = [expect["content"] or "", expect["reasoning_content"] or ""]
    elsewhere = all(not part.strip() or part.strip() not in last for part in kept)
    return expect["tool_calls"] == [] and not case["tools"] and elsewhere and bool(last) and last not in " ".join(kept)


def _bare_call(case: JsonObject) -> bool:
    bare = re.sub(r"<\|tool_call_begin\|>\s*functions", "", case["input"])
    expect = case["expect"]
    changed = expect["content"] is not None and expect["content"].strip() != case["input"].strip()
    return case["family"] == "kimi_k2" and bool(_BARE_CALL.search(bare)) and (bool(expect["tool_calls"]) or changed)


def _foreign_markup(case: JsonObject) -> bool:
    """Whether calls or reasoning are expected, but none of the markup is written or rendered by the template."""
    known = _read_template(case["template"])
    tokens = re.findall(r"<[^<>\s]{1,40}", case["input"])
    marked = case["expect"]["tool_calls"] or case["expect"]["reasoning_content"]
    return bool(marked) and bool(tokens) and not any(token in known for token in tokens)


@cache
def _read_template(name: str) -> str:
    """All that a template says: its source, and what it renders for a request with tools and for a call."""
    source = load_peer_template(name) or ""
    study = study_template(name, source)
    if study is None:
        return source
    asked = study.oracle.render_prompt(Setting(study.base)) or ""
    answered = study.oracle.render_full(Setting(study.calls or study.base), pick_needles((True, True, 1))) or ""
    return f"{source}\n{asked}\n{answered}"


def _call_in_reasoning(case: JsonObject) -> bool:
    """Whether what introduces the expected call also stands, as text, in the expected reasoning."""
    reasoning, calls = case["expect"]["reasoning_content"] or "", case["expect"]["tool_calls"] or []
    template = _read_template(case["template"])
    marked = any(token.strip("<>[]") in template for token in _TOKEN.findall(reasoning))
    return marked and any(call["name"] in reasoning for call in calls)


def _hidden_reasoning(case: JsonObject) -> bool:
    """Whether the prefilled reasoning lacks the words that a fresh prompt opens it with."""
    fresh = (other for other in load_cases(case["peer"]) if other["template"] == case["template"])
    opened = {other["generation_prompt"].rstrip() for other in fresh if other["continue_final_message"] == "none"}
    begun = case["continue_final_message"] == "reasoning"
    return bool(begun and opened) and not any(case["generation_prompt"].startswith(words) for words in opened)


def _unrenderable(case: JsonObject) -> bool:
    """Whether the template refuses even a plain question."""
    source = load_peer_template(case["template"])
    return source is not None and study_template(case["template"], source) is None


def _mutating(case: JsonObject) -> bool:
    """Whether a call or reasoning is expected of a template that changes a list to print one: transformers refuses that."""
    expect = case["expect"]
    return bool(expect["tool_calls"] or expect.get("reasoning_content")) and _changes_a_list(case["template"])


@cache
def _changes_a_list(name: str) -> bool:
    call = {"id": "a", "type": "function", "function": {"name": "find", "arguments": {}}}
    messages: list[JsonObject] = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    try:
        ca.load_renderer(load_peer_template(name) or "", bos_token=BOS, eos_token=EOS)(messages)
    except ca.TemplateError as error:
        return "SecurityError" in str(error)
    return False


def _other_notation(case: JsonObject) -> bool:
    return str(case["format_note"]).startswith(("format 2", "format 3", "format 4"))


def _emptied(case: JsonObject) -> bool:
    before = _TOKEN.split(case["input"])[0].strip()
    return case["is_partial"] and case["expect"]["content"] == "" and bool(before)


STRAYING = ("a call without any marker, which the template never writes", "a call in a notation that the template never writes")
"""What ik_llama.cpp reads though no template writes it: finished outputs of these kinds must be read so, or returned whole."""


def is_whole(case: JsonObject, message: JsonObject) -> bool:
    """Whether every word that was written is in the message, in its order where there is no call."""
    calls = [call["function"] for call in message.get("tool_calls") or []]
    texts = [message.get("reasoning_content") or "", message.get("content") or ""]
    if not calls:
        written, got = (re.sub(r"</?think>", " ", text).split() for text in (case["input"], " ".join(texts)))
        return written == got
    words = Counter(re.findall(r"\w{3,}", " ".join(texts + [f"{call['name']} {call['arguments']}" for call in calls])))
    wanted = case["expect"]["tool_calls"] or []
    return all(words[word] for call in wanted for word in re.findall(r"\w{3,}", call["name"] + call["arguments"]))


Rule = tuple[str, Callable[[JsonObject], bool]]

LEFT_OUT: dict[str, list[Rule]] = {
    "llamacpp": [
        ("the content starts with the tag that the prompt opened (reasoning_format none)", _prompt_tag_in_content),
        ("the reasoning starts with words that stand in the prompt", _prompt_words_in_reasoning),
        ("the fence around an answer to a JSON schema is dropped", _fence_dropped),
        ("a message to a tool that the request has not is dropped", _text_lost),
        ("markup that the template does not hold at all", _foreign_markup),
        ("a call within reasoning is text if the reasoning is closed later on", _call_in_reasoning),
        ("the prefilled reasoning lacks the words that open it", _hidden_reasoning),
        ("the template needs variables that only this program sets", _unrenderable),
        ("the template changes a list, which transformers and the engines refuse", _mutating),
    ],
    "ik_llamacpp": [
        ("a call without any marker, which the template never writes", _bare_call),
        ("the template changes a list, which transformers and the engines refuse", _mutating),
        ("a call in the markup of other models, which the template never writes", _foreign_markup),
        ("a call in a notation that the template never writes", _other_notation),
        ("the text of an unfinished message is emptied", _emptied),
        ("a call whose closing marker is missing is taken back", lambda case: case["note"] in _UNCLOSED),
        ("reasoning stays in the content, by a setting", lambda case: "content=true" in case["expect_basis"]),
    ],
}


@cache
def load_cases(peer: str) -> list[JsonObject]:
    """All cases of a peer, empty where its data is not there."""
    folder = find_peers()
    if not folder:
        return []
    lines = (folder / peer / "cases.jsonl").read_text("utf-8").splitlines()
    return [{"peer": peer, "handler": "", "continue_final_message": "none", **json.loads(line)} for line in lines]


def find_convention(case: JsonObject) -> str | None:
    """The convention that a case rests on, if it is one of the peer's alone."""
    return next((name for name, rule in LEFT_OUT[case["peer"]] if rule(case)), None)


def read_case(fmt: Format, case: JsonObject) -> list[JsonObject]:
    """The message as read whole and by character; an unfinished case is not finished."""
    text, prompt = case["input"], case.get("prompt_tail", case["generation_prompt"])
    tools = case["tools"] or (None if case.get("tools_inferred") else [])
    parser = fmt.parser(tools=tools, prompt=prompt)
    deltas = [delta.to_openai() for character in text for delta in parser.feed(character)]
    if case["is_partial"]:
        return [fold(deltas)]
    streamed = fold([*deltas, *(delta.to_openai() for delta in parser.finish())])
    return [fmt.parse(text, tools=tools, prompt=prompt), streamed]


def find_fault(case: JsonObject, message: JsonObject) -> str | None:
    """What differs from what the peer expects, or None. What it leaves open is not looked at."""
    expect, begun = case["expect"], _read_prefill(case)
    reasoning = begun["reasoning_content"] + (message.get("reasoning_content") or "")
    content = begun["content"] + (message.get("content") or "")
    if case["reasoning_format"] == "none" and reasoning.strip() and not expect["reasoning_content"]:
        if not _is_joined(expect["content"] or "", reasoning.strip(), content.strip()):
            return "content with reasoning in it"
    else:
        if expect["reasoning_content"] is not None and expect["reasoning_content"].strip() != reasoning.strip():
            return "reasoning_content"
        if expect["content"] is not None and not _is_same_content(case, expect["content"].strip(), content.strip()):
            return "content"
    if any(words not in content for words in case.get("content_contains") or []):
        return "content lacks words"
    if any(words in content for words in case.get("content_not_contains") or []):
        return "content has words"
    return None if expect["tool_calls"] is None else _compare_calls(case, message.get("tool_calls") or [])


def _is_same_content(case: JsonObject, expected: str, content: str) -> bool:
    """ik_llama.cpp keeps the line breaks on both sides of a call it takes out; layout around a call is the call's."""
    if case["peer"] == "ik_llamacpp" and case["expect"]["tool_calls"] != []:
        expected, content = " ".join(expected.split()), " ".join(content.split())
    return expected == content


def _read_prefill(case: JsonObject) -> JsonObject:
    """What the prompt already holds of the answer."""
    begun = case["messages"][-1] if case["continue_final_message"] != "none" else {}
    # Reasoning that the template does not print is no part of what was begun.
    reasoning = begun.get("reasoning_content") if case["expect"]["reasoning_content"] else None
    return {"reasoning_content": reasoning or "", "content": begun.get("content") or ""}


def _is_joined(expected: str, reasoning: str, content: str) -> bool:
    """Whether reasoning and content stand in this order in a text that has nothing else but markers."""
    before, _, rest = expected.partition(reasoning)
    between = rest.removesuffix(content) if content and rest.endswith(content) else rest
    return reasoning in expected and all(re.fullmatch(r"(\W\S*)?", part.strip()) for part in (before, between))


def _compare_calls(case: JsonObject, calls: list[JsonObject]) -> str | None:
    wanted = case["expect"]["tool_calls"]
    if len(calls) != len(wanted):
        return "number of calls"
    for call, want in zip(calls, wanted, strict=True):
        written, expected = call["function"]["arguments"], want["arguments"]
        if call["function"]["name"] != want["name"]:
            return "name"
        if want["id"] and want["id"] in case["input"] and call["id"] != want["id"]:
            return "id"
        if case["is_partial"]:
            ours, theirs = "".join(written.split()), "".join(expected.split())
            if not (ours.startswith(theirs) or theirs.startswith(ours)):
                return "arguments"
            continue
        try:
            if not is_same(json.loads(written), json.loads(expected)):
                return "arguments"
        except ValueError:
            return "arguments are no JSON"
    return None


def measure(cases: list[JsonObject]) -> list[JsonObject]:
    """For each case a row: what it is left out for, or what is wrong."""
    formats: dict[str, Format | str] = {}
    rows = []
    for number, case in enumerate(cases, 1):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{number}/{len(cases)} {case['template'][:60]:<60}")
        name = case["template"]
        if name not in formats:
            try:
                formats[name] = cast(Format, ca.analyze(load_peer_template(name) or "", bos_token=BOS, eos_token=EOS))
            except Exception as error:
                formats[name] = f"{type(error).__name__}: {error}"
        rows.append(_measure_case(formats[name], case))
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 80 + "\r")
    return rows


def _measure_case(fmt: Format | str, case: JsonObject) -> JsonObject:
    row: JsonObject = {key: case[key] for key in ("peer", "id", "template", "handler", "input", "expect")}
    row |= {"left_out": find_convention(case), "fault": None, "got": None, "whole": None, "partial": case["is_partial"]}
    try:
        if isinstance(fmt, str):
            raise ValueError(fmt)
        for message in read_case(fmt, case):
            row["fault"], row["got"] = find_fault(case, message), message
            row["whole"] = row["whole"] is not False and (not row["fault"] or is_whole(case, message))
            if row["fault"]:
                break
    except Exception as error:
        row["fault"] = f"{type(error).__name__}: {error}"
    return row


def print_report(rows: list[JsonObject]) -> None:
    print(f"{'template':<52} {'handler':<18} {'cases':>5} {'left out':>8} {'right':>5} {'wrong':>5}")
    for peer in LEFT_OUT:
        for template, handler in dict.fromkeys((r["template"], r["handler"]) for r in rows if r["peer"] == peer):
            some = [row for row in rows if row["peer"] == peer and row["template"] == template]
            print(_count(f"{template[:52]:<52} {handler:<18}", some))
    print()
    for peer in LEFT_OUT:
        mine = [row for row in rows if row["peer"] == peer]
        print(_count(f"{peer:<71}", mine))
        for handled, label in ((True, "llama.cpp's generic path"), (False, "llama.cpp's hand-written handlers")):
            if peer == "llamacpp":
                some = [row for row in mine if (row["handler"] == "autoparser") == handled]
                print(_count(f"  {label:<69}", some))
        for name, count in Counter(row["left_out"] for row in mine if row["left_out"]).items():
            read = sum(row["left_out"] == name and not row["fault"] for row in mine)
            print(f"  left out: {count} ({read} of them read the same way): {name}")
    probes = [row for row in rows if row["left_out"] in STRAYING and not row["partial"]]
    read, whole = (sum(bool(test(row)) for row in probes) for test in (lambda row: not row["fault"], lambda row: row["whole"]))
    print(f"outputs that no template writes: {len(probes)}, read as ik_llama.cpp does {read}, read so or returned whole {whole}")
    print("\nmisses:")
    for row in rows:
        if row["fault"] and not row["left_out"]:
            expect = {key: value for key, value in row["expect"].items() if value}
            got = {key: value for key, value in (row["got"] or {}).items() if value and key != "role"}
            print(f"\n{row['peer']} {row['id']}: {row['fault']}\n  input    {row['input'][:500]!r}")
            print(f"  expected {str(expect)[:500]}\n  got      {str(got)[:500]}")


def _count(label: str, rows: list[JsonObject]) -> str:
    out = sum(bool(row["left_out"]) for row in rows)
    wrong = sum(bool(row["fault"]) and not row["left_out"] for row in rows)
    return f"{label} {len(rows):>5} {out:>8} {len(rows) - out - wrong:>5} {wrong:>5}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Read what other programs' tests expect.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every case there")
    options = parser.parse_args()
    cases: list[Any] = [case for peer in LEFT_OUT for case in load_cases(peer)]
    cases = [case for case in cases if options.only.lower() in case["template"].lower()]
    if not cases:
        parser.error("no cases: the peers' data is not there, or no template has such a name")
    rows = measure(cases)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8")
    print_report(rows)
    return int(any(row["fault"] and not row["left_out"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
