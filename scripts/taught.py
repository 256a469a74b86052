"""How many formats are learnt from one or two raw outputs, over every template that prints calls.

    python scripts/taught.py                # totals, and every template that is not learnt
    python scripts/taught.py --only NAME    # the same for the templates whose name contains this

Calls are hidden from the analysis: a template is rendered without them, as one that never prints any. Then it is taught by
turns that the real template renders: *one* (an answer with a call), or *two* (another one with two calls). What was learnt
reads all other turns of the real template, whole; beside it stands what the format derived from the real template reads.
After one example, turns with several calls are left out: nothing has shown them. Exit status 1 if a smaller share of
the turns is read than `LEAST` says.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from conversations import PLAIN_TEXT, Call, Conversation, Fields, JsonObject
from corpus import Source, load_corpus
from judge import find_fault
from rendering import BOS, EOS
from study import Study, find_layout, study_template
from turns import Turn, list_turns, make_turns

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.format import ChatFormat

LEAST = {"one": 95.0, "two": 95.0}
_FIRST = Call("find_okapi", {"habitat": "pen twelve", "limit": 3})
_SECOND = Call("send_postcard", {"recipient": "the keeper", "greeting": "good day"})
LESSONS = (
    Conversation("taught: content, call", Fields(content=PLAIN_TEXT, calls=(_FIRST,))),
    Conversation("taught: two calls", Fields(calls=(_FIRST, _SECOND))),
)


def hide_calls(text: str) -> Any:
    """A template that never prints a call."""
    renderer = ca.load_renderer(text, bos_token=BOS, eos_token=EOS)

    def render(messages: Sequence[Mapping[str, Any]], tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
        kept = [{key: value for key, value in message.items() if key != "tool_calls"} for message in messages]
        return renderer(kept, tools, add_generation_prompt, **kwargs)

    return render


def make_lesson(study: Study, conversation: Conversation) -> JsonObject | None:
    """The turn that the real template renders for a conversation, as an example; None where it prints no call."""
    layout = find_layout(study, conversation.fields.signature, conversation.history, ())
    turn = next(iter(make_turns(study, layout, conversation, False)), None) if layout else None
    if turn is None or len(turn.expected["tool_calls"]) != len(conversation.fields.calls) or turn.unreadable:
        return None
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in turn.expected["tool_calls"]
    ]
    message = {key: turn.expected[key] for key in ("content", "reasoning_content") if turn.expected[key]}
    return {"text": turn.text, "prompt": turn.prompt, "message": {**message, "tool_calls": calls}}


def measure(source: Source) -> dict[str, Any] | None:
    """The counts for one template; None where it renders no turn with a call that could be read."""
    study = study_template(source.name, source.text)
    turns = [turn for turn in list_turns(study) if not turn.unreadable] if study else []
    if study is None or not any(turn.expected["tool_calls"] for turn in turns):
        return None
    lessons = [make_lesson(study, conversation) for conversation in LESSONS]
    real = analyze(source.text, bos_token=BOS, eos_token=EOS)
    report: dict[str, Any] = {"name": source.name, "errors": {}, "counts": {}, "misses": {}}
    for name, examples in (("one", lessons[:1]), ("two", lessons)):
        given = [example for example in examples if example]
        asked = [turn for turn in turns if len(turn.expected["tool_calls"]) <= (1 if name == "one" else 9)]
        asked = [turn for turn in asked if turn.text not in [example["text"] for example in given]]
        report["counts"][name] = {"turns": len(asked), "real": count_right(real, asked), "taught": 0}
        if len(given) < len(examples):
            report["errors"][name] = "the template renders no such turn"
            continue
        try:
            taught = analyze(hide_calls(source.text), examples=given)
        except ca.AutoparserError as error:
            report["errors"][name] = str(error)
            continue
        report["counts"][name]["taught"] = count_right(taught, asked)
        report["misses"][name] = [t for t in asked if not is_right(taught, t) and is_right(real, t)]
    return report


def is_right(format: ChatFormat, turn: Turn) -> bool:
    return find_fault(turn.expected, format.parse(turn.text, tools=turn.tools, prompt=turn.prompt), ids=False) is None


def count_right(format: ChatFormat, turns: list[Turn]) -> int:
    return sum(is_right(format, turn) for turn in turns)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what is learnt from examples.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth template")
    options = parser.parse_args()
    totals: dict[str, Counter[str]] = {"one": Counter(), "two": Counter()}
    for source in load_corpus(options.only)[:: options.every]:
        report = measure(source)
        if report is None:
            continue
        for name, total in totals.items():
            counts, error = report["counts"][name], report["errors"].get(name)
            total["templates"] += 1
            if error == "the template renders no such turn":
                total["not rendered"] += 1
                continue
            total.update(counts)
            total["learnt"] += not error and counts["taught"] >= counts["real"]
            if error or counts["taught"] < counts["real"]:
                names = [turn.name for turn in report["misses"].get(name, [])]
                print(f"{report['name'][:50]:<50} {name} {counts['taught']:>3}/{counts['real']} {error or names}"[:250])
    for name, total in totals.items():
        asked = total["templates"] - total["not rendered"]
        print(f"\n{name}: {total['learnt']} of {asked} formats learnt; {total['not rendered']} templates render no such turn")
        print(f"  turns read: {total['taught']} of {total['turns']}; with the template: {total['real']}")
    shares = {name: 100 * total["taught"] / max(1, total["real"]) for name, total in totals.items()}
    return int(any(shares[name] < least for name, least in LEAST.items()))


if __name__ == "__main__":
    sys.exit(main())
