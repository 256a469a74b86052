"""How much of what templates render can be attributed to the fields it came from, over all templates.

Each template renders a conversation with several turns in the form it takes (found by `study`, which knows nothing of the
package that is measured). Every field holds words of its own that occur nowhere else, so where it stands is known from
the plain render alone. A field is right if exactly these places are attributed to it, wrong if others are, and otherwise
uncertain; plain fields and fields with white space, quotes and markup around the words are told apart.

With transformers at hand, what the assistant wrote is compared with `return_assistant_tokens_mask` of the templates that
have a `generation` block.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from conversations import JsonObject, make_tool
from corpus import Source, load_corpus
from rendering import BOS, EOS, Shape
from study import Study, study_template

from chat_autoparser import load_renderer
from chat_autoparser.converse.attribution import Attribution, attribute, find_written
from chat_autoparser.errors import AutoparserError

PLAIN, HARD = "{}", '\n  "{} & <b>" \\n\n\n'


def make_conversation(study: Study, frame: str) -> Iterator[tuple[list[JsonObject], list[JsonObject] | None]]:
    """Conversations in the form that a template takes, the fullest first."""
    shape = study.calls or study.base
    for calls, reasoning, tail in ((2, True, True), (1, True, True), (1, True, False), (0, True, False), (0, False, False)):
        if calls and not study.calls:
            continue
        keys = study.reasoning if reasoning and study.reasoning else [""]
        for key in keys:
            yield build(replace(shape, reasoning=key), calls, tail, frame)


def build(shape: Shape, calls: int, tail: bool, frame: str) -> tuple[list[JsonObject], list[JsonObject] | None]:
    number = 0

    def word(kind: str, plain: bool = False) -> str:
        nonlocal number
        number += 1
        text = f"{kind}{number:03}BEGIN then {kind}{number:03}END"
        return text if plain else frame.format(text)

    def text(kind: str) -> Any:
        return [{"type": "text", "text": word(kind)}] if shape.parts else word(kind)

    def answer(kind: str) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": text(kind)}
        if shape.reasoning and shape.reasoning != "parts":
            message[shape.reasoning] = word("thought")
        return message

    messages: list[JsonObject] = [{"role": "system", "content": text("system")}] if shape.system else []
    messages += [{"role": "user", "content": text("asked")}, answer("said"), {"role": "user", "content": text("later")}]
    if calls:
        made = []
        for index in range(calls):
            arguments: Any = {f"key{index}x": word("value"), f"key{index}y": 4711 + index, f"key{index}z": True}
            if shape.text_arguments:
                arguments = json.dumps(arguments, ensure_ascii=False)
            function = {"name": f"tool{index}name", "arguments": arguments}
            given = f"functions.tool{index}name:{index}" if shape.ids.startswith("functions") else f"okapi000{index}"
            call: JsonObject = {"id": given, "type": "function", "function": function}
            made.append({**call, **function} if shape.flat else call)
        messages.append({**answer("calling"), "tool_calls": made})
        for call in made:
            name = call["function"]["name"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": text("result")})
        if tail:
            messages.append(answer("final"))
    else:
        messages.append(answer("final"))
    if not calls or shape.tools == "kept back":
        return messages, None
    tools = []
    for index in range(calls):
        kinds = {"x": "string", "y": "integer", "z": "boolean"}
        of = {f"key{index}{end}": {"type": kind, "description": "It."} for end, kind in kinds.items()}
        tools.append(make_tool(f"tool{index}name", word("about", plain=True), of, [f"key{index}x"]))
    return messages, tools


def list_fields(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The fields that hold words of their own."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from list_fields(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from list_fields(inner, (*path, number))
    elif isinstance(value, str) and "BEGIN then" in value:
        yield path, value


def judge(attribution: Attribution, conversation: JsonObject) -> Counter[str]:
    counts: Counter[str] = Counter()
    fields = [found for root, value in conversation.items() for found in list_fields(value, (root,))]
    for field in dict.fromkeys(value for _, value in fields):
        counts[judge_field(attribution, [path for path, value in fields if value == field], field)] += 1
    return counts


def judge_field(attribution: Attribution, paths: list[tuple[str | int, ...]], field: str) -> str:
    """Judge one field; flat calls hold each of theirs in two places."""
    text, places = attribution.text, {(path, False) for path in paths}
    spans = [(span.start, span.end) for span in attribution.spans if span.field in places]
    words = [word for word in re.findall(r"\w+", field) if word.endswith(("BEGIN", "END"))]
    shown = [word for word in words if word in text]
    if places & set(attribution.uncertain):
        return "uncertain" if shown else "uncertain, not printed"
    if not shown:
        return "absent" if places <= set(attribution.absent) else "wrong"
    inside = sum(text[start:end].count(word) for start, end in spans for word in set(words))
    if inside != sum(text.count(word) for word in set(words)):
        return "wrong"
    # What stands around the words is the field's, or what it becomes when it is escaped. How much of the outer white space
    # a template prints cannot be seen in the plain render: handmade templates in the tests settle that.
    for start, end in spans:
        got = text[start:end]
        if got not in field and got not in json.dumps(field, ensure_ascii=False) and got not in json.dumps(field):
            return "rewritten"
    if text.count(field.strip()) != sum(text[start:end].strip() == field.strip() for start, end in spans) and field.strip() in text:
        return "wrong"
    return "right"


def measure(source: Source, frame: str) -> JsonObject:
    try:
        study = study_template(source.name, source.text)
    except Exception as error:
        return {"template": source.name, "silent": str(error)}
    if study is None:
        return {"template": source.name, "silent": study and study.oracle.template.error}
    renderer = load_renderer(source.text, bos_token=BOS, eos_token=EOS)
    reason = ""
    for messages, tools in make_conversation(study, frame):
        try:
            started = time.perf_counter()
            attribution = attribute(renderer, messages, tools)
        except AutoparserError as error:
            reason = str(error)
            continue
        seconds = time.perf_counter() - started
        counts = judge(attribution, {"messages": messages, "tools": tools or []})
        uncertain = ["/".join(map(str, path)) + " (name)" * key for path, key in attribution.uncertain]
        return {"template": source.name, "counts": dict(counts), "seconds": seconds, "uncertain": uncertain}
    return {"template": source.name, "silent": reason}


def compare_masks(source: Source) -> JsonObject | None:
    """What the assistant wrote, against what the template's own generation blocks say; None where it has none."""
    from transformers.utils.chat_template_utils import render_jinja_template

    if not re.search(r"\{%-?\s*generation\b", source.text):
        return None
    study = study_template(source.name, source.text)
    if study is None:
        return None
    renderer = load_renderer(source.text, bos_token=BOS, eos_token=EOS)
    for messages, tools in make_conversation(study, PLAIN):
        try:
            attribution = attribute(renderer, messages, tools)
        except AutoparserError:
            continue
        (rendered,), (marked,) = render_jinja_template(
            [messages], tools, chat_template=source.text, return_assistant_tokens_mask=True, bos_token=BOS, eos_token=EOS
        )
        if rendered != attribution.text:
            return {"template": source.name, "differs": "transformers renders another text"}
        written = [(w.start, w.end) for w in find_written(renderer, attribution, messages, tools)]
        return {"template": source.name, "text": rendered, "theirs": list(map(tuple, marked)), "ours": written}
    return None


def print_masks(reports: list[JsonObject]) -> None:
    kinds: Counter[str] = Counter()
    for report in reports:
        text, kind = report.get("text", ""), report.get("differs", "")
        pairs = list(zip(report.get("theirs", ()), report.get("ours", ()), strict=False))
        if not kind and len(report["theirs"]) != len(report["ours"]):
            kind = "another number of turns"
        elif not kind:
            starts = {("same" if a[0] == b[0] else "theirs earlier" if a[0] < b[0] else "theirs later") for a, b in pairs}
            behind = {text[min(a[1], b[1]) : max(a[1], b[1])] if a[1] != b[1] else "" for a, b in pairs}
            longer = {a[1] > b[1] for a, b in pairs if a[1] != b[1]}
            kind = f"start {'/'.join(sorted(starts))}; end " + (
                "same" if behind == {""} else f"theirs {'longer' if longer == {True} else 'shorter'} by {sorted(behind)}"
            )
        kinds[kind] += 1
        if not kind.startswith("start same; end same"):
            print(f"  {report['template']}: {kind}")
            for a, b in pairs[:1] if "start same" not in kind else []:
                print(f"    theirs {text[a[0] : a[1]]!r}\n    ours   {text[b[0] : b[1]]!r}")
    print(f"against generation blocks: {dict(kinds)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Attribute what chat templates render.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth template")
    parser.add_argument("--masks", action="store_true", help="only compare with the templates' generation blocks")
    options = parser.parse_args()
    sources = load_corpus(options.only)[:: options.every]
    print_masks([report for report in map(compare_masks, sources) if report])
    if options.masks:
        return 0
    for label, frame in (("plain fields", PLAIN), ("white space, quotes, markup", HARD)):
        reports = [measure(source, frame) for source in sources]
        counts: Counter[str] = Counter()
        for report in reports:
            counts.update(report.get("counts", {}))
        rendered = [report for report in reports if "counts" in report]
        clean = [report for report in rendered if set(report["counts"]) <= {"right", "absent"}]
        seconds = sorted(report["seconds"] for report in rendered)
        print(f"{label}: {len(rendered)} of {len(reports)} templates render it; all fields exact in {len(clean)}")
        print(f"  fields: {dict(counts)}; seconds: median {seconds[len(seconds) // 2]:.3f}, most {seconds[-1]:.2f}")
        for report in rendered:
            if report not in clean:
                print(f"  {report['template']}: {report['counts']} uncertain: {' '.join(report['uncertain'])[:200]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
