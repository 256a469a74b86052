"""How well the layout of conversations and the rules for them are derived, over every template.

    python scripts/layouts.py               # totals, and every template with a miss
    python scripts/layouts.py --only NAME   # the same for the templates whose name contains this

*Layout*: whether conversations of up to six messages, glued together from the texts that were derived for each role, are
what the template renders. *Rules*: each sequence of up to four messages of the roles system, user and assistant (120 for
each template) is rendered with a generation prompt, and is refused, printed without one of the messages, or fine;
`ChatFormat.validate`, which sees the roles only and no template, must say the same. Exit status 1 if fewer templates or
sequences are right than `LEAST` says.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import product
from typing import Any

from corpus import Source, load_corpus
from rendering import BOS, EOS

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.format import ChatFormat

ROLES = ("system", "user", "assistant")
WORDS = ("zorvim", "quelta", "brasno", "himduk", "wexolf", "jupati")
LEAST = {"layout": 95.0, "rules": 99.0}

Messages = list[dict[str, Any]]


def write_messages(roles: tuple[str, ...], parts: bool) -> Messages:
    """Messages of these roles, each with a word of its own."""
    contents: list[Any] = [[{"type": "text", "text": word}] if parts else word for word in WORDS]
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


def judge(render: ca.Renderer, messages: Messages, prompt: bool = True) -> tuple[str, str]:
    """What becomes of a conversation, and its text."""
    try:
        text = render(messages, None, prompt)
    except ca.AutoparserError:
        return "refused", ""
    return "fine" if all(word in text for word in WORDS[: len(messages)]) else "dropped", text


def takes_parts(render: ca.Renderer) -> bool | None:
    """Whether a template prints typed content only; None where it prints no plain conversation."""
    for parts in (False, True):
        if judge(render, write_messages(("user", "assistant"), parts), prompt=False)[0] == "fine":
            return parts
    return None


def measure(source: Source) -> dict[str, Any] | None:
    """The counts for one template, or None where it renders no plain conversation."""
    render = ca.load_renderer(source.text, bos_token=BOS, eos_token=EOS)
    parts = takes_parts(render)
    if parts is None:
        return None
    format = analyze(render)
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], tuple[str, ...]] = {}
    for count in range(1, 5):
        for roles in product(ROLES, repeat=count):
            messages = write_messages(roles, parts)
            problems = format.validate(messages)
            said = "fine" if not problems else "dropped" if all(problem.dropped for problem in problems) else "refused"
            key = judge(render, messages)[0], said
            counts[key] += 1
            examples.setdefault(key, roles)
    layout = all(compare_layout(format, render, roles, parts) for roles in list_layouts(format))
    return {"name": source.name, "counts": counts, "examples": examples, "layout": layout}


def list_layouts(format: ChatFormat) -> list[tuple[str, ...]]:
    turns = ("user", "assistant", "user", "assistant", "user")
    known = [role.name for role in format.conversation.roles]
    return [turns[:1], turns[:3], turns, *([("system", *turns)] if "system" in known else [])]


def compare_layout(format: ChatFormat, render: ca.Renderer, roles: tuple[str, ...], parts: bool) -> bool:
    """Whether the glued text is what the template renders; what follows it depends on the prompt, and is not looked at."""
    if not format.conversation.roles:
        return False
    written = format.conversation.compose(zip(roles, WORDS, strict=False))
    return judge(render, write_messages(roles, parts), prompt=False)[1].startswith(written)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the layouts and rules that are derived.")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only templates whose name contains this")
    options = parser.parse_args()
    reports, counts, silent = [], Counter[tuple[str, str]](), 0
    for source in load_corpus(options.only):
        try:
            report = measure(source)
        except ca.AutoparserError:
            report = None
        if report is None:
            silent += 1
            continue
        reports.append(report)
        counts.update(report["counts"])
        wrong = {key: n for key, n in report["counts"].items() if key[0] != key[1]}
        for (truth, said), n in wrong.items():
            print(f"{report['name'][:60]:<60} {n:>3} {truth}, said {said}: {report['examples'][truth, said]}")
        if not report["layout"]:
            print(f"{report['name'][:60]:<60}     layout not as rendered")
    right = sum(n for (truth, said), n in counts.items() if truth == said)
    layouts = sum(report["layout"] for report in reports)
    print(f"\n{len(reports)} templates; {silent} more render no plain conversation")
    shares = {"layout": 100 * layouts / max(1, len(reports)), "rules": 100 * right / max(1, counts.total())}
    print(f"layout as rendered: {layouts} of {len(reports)} ({shares['layout']:.1f} %)")
    print(f"rules as the template's: {right} of {counts.total()} conversations ({shares['rules']:.1f} %)")
    for truth in ("fine", "refused", "dropped"):
        print(f"  {truth:<8}", {said: counts[truth, said] for said in ("fine", "refused", "dropped")})
    return int(any(shares[name] < least for name, least in LEAST.items()))


if __name__ == "__main__":
    sys.exit(main())
