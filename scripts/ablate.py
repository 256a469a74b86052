"""What of the code earns its place: one rule is taken out at a time, and a fixed sample tells whether anything is read worse.

    python scripts/ablate.py core/derive core/parse/look.py             # prints what could be deleted
    python scripts/ablate.py core --unused --tests tests/test_*.py      # lines that neither templates nor tests run

A rule is a branch that is taken or left, an operand of `and` or `or`, a condition of a comprehension, a call for its effect, or an
entry of a table. It is tried on items of the sample (real templates, drawn formats, tests) that run its line, the quick ones first,
until one is worse: a turn, a test or a proof less. Rules that are not missed are printed, with `=` where no format changes without
them, else `~`: places to look at, and no verdict, for a rule may serve what the sample does not hold, or speed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest
from corpus import REPOSITORY, Source, load_corpus
from invent import draw
from invent.turns import Speaker, make_turns
from judge import find_fault
from rendering import BOS, EOS
from turns import Turn, build_turns

Rule = tuple[str, Any, Any, Callable[..., Any], Any]  # words, what is taken out, what runs if it matters, and how it is done


class Item(NamedTuple):
    name: str
    source: str = ""  # of a template; a test, or a file of tests, has none
    turns: tuple[Turn, ...] = ()


class Result(NamedTuple):
    item: Item
    right: set[Any]
    seconds: float
    format: str = ""
    ran: frozenset[tuple[str, int]] = frozenset()


def list_rules(tree: ast.AST) -> Iterator[Rule]:
    """List what can be taken out of a module, always in the same order."""
    types = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns", "slice")]
    skipped = {inner for node in types if isinstance(node, ast.AST) for inner in ast.walk(node)}
    for node in (node for node in ast.walk(tree) if node not in skipped):
        for block in (found for name in ("body", "orelse") if isinstance(found := getattr(node, name, None), list)):
            for number, inner in enumerate(block):
                if isinstance(inner, ast.AugAssign) or (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call)):
                    yield "drop", inner, inner, block.__setitem__, (number, ast.copy_location(ast.Pass(), inner))
        if isinstance(node, (ast.If, ast.IfExp)):
            body = node.body[0] if isinstance(node, ast.If) else node.body
            for words, place in (("never", body), ("always", node)):
                test = ast.copy_location(ast.Constant(words == "always"), node.test)
                yield words, node.test, place, partial(setattr, node), ("test", test)
        elif isinstance(node, ast.BoolOp):
            for number, inner in enumerate(node.values):
                yield "without", inner, inner, node.values.__setitem__, (number, node.values[number - 1 if number else 1])
        elif isinstance(node, ast.comprehension):
            yield from (("without", inner, inner, node.ifs.remove, (inner,)) for inner in node.ifs)
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)) and not isinstance(getattr(node, "ctx", None), ast.Store):
            parts: list[list[Any]] = [node.keys, node.values] if isinstance(node, ast.Dict) else [node.elts]
            for number, inner in enumerate(parts[-1] if len(parts[-1]) > 1 else ()):
                yield "entry", inner, inner, lambda number, parts: [part.pop(number) for part in parts], (number, parts)


def run(items: list[Item], begin: Callable[[str], Any] = len) -> list[Result]:
    """Run a template, or tests, in this process; ``begin`` is told of each."""
    if not items[0].source:
        found: dict[str, Result] = {}

        class Plugin:
            pytest_runtest_logstart = staticmethod(lambda nodeid: begin(nodeid))

            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                if report.when == "call" and report.passed:
                    found[report.nodeid] = Result(Item(report.nodeid), {"passed"}, report.duration)

        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
            pytest.main([*(item.name for item in items), "-q", "-p", "no:cacheprovider"], plugins=[Plugin()])
        return list(found.values())
    import chat_autoparser as ca  # here, for it may lack something

    (item,), start = items, time.perf_counter()
    begin(item.name)
    format = ca.analyze(item.source, bos_token=BOS, eos_token=EOS)
    turns = [turn for turn in item.turns[:: 1 + len(item.turns) // 30] if not turn.unreadable]
    read = [format.parse(turn.text, tools=turn.tools, prompt=turn.prompt) for turn in turns]
    right: set[Any] = {n for n, turn in enumerate(turns) if not find_fault(turn.expected, read[n])}
    right |= {"proven"} if format.verdict.proven else set()
    return [Result(item, right, time.perf_counter() - start, repr({**format.to_dict(), "verdict": ""}))]


def trace(item: Item, files: frozenset[str]) -> list[Result]:
    """Run an item with everything in place, and note which lines of some files it, or each of its tests, ran."""
    ran: dict[str, set[tuple[str, int]]] = {"": set()}
    left: dict[CodeType, set[tuple[str, int]]] = {}  # what has not been run of a function: where nothing is, it need not be traced
    real = lru_cache(maxsize=None)(os.path.realpath)

    def note(frame: FrameType, event: str, _: Any) -> Any:
        code, path = frame.f_code, real(frame.f_code.co_filename)
        if code not in left:
            left[code] = {(path, line) for *_, line in code.co_lines() if line} if path in files else set()
        if (path, frame.f_lineno) in left[code]:
            left[code].remove((path, frame.f_lineno))
            ran[next(reversed(ran))].add((path, frame.f_lineno))
        return note if left[code] else None

    sys.settrace(note)
    results: list[Result] = []
    with contextlib.suppress(Exception):  # a template that is refused
        results = run([item], lambda name: left.clear() or ran.update({name: set()}))  # type: ignore[func-returns-value]
    sys.settrace(None)
    return [result._replace(ran=frozenset(ran[""] | ran[result.item.name])) for result in results if result.right]


def try_without(task: tuple[str, int, list[Result]]) -> str:
    """Take the rule of a number out of a module, and return the first item that is worse for it, or a sign."""
    path, number, known = task
    tree = ast.parse(Path(path).read_text("utf-8"))
    *_, remove, arguments = list(list_rules(tree))[number]
    remove(*arguments)
    code, plain = compile(tree, path, "exec"), SourceFileLoader.get_code
    loader: Any = SourceFileLoader
    loader.get_code = lambda self, name: code if os.path.realpath(self.path) == path else plain(self, name)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    sign, tests = "=", [result for result in known if not result.item.source]
    for group in filter(None, [*([result] for result in known if result.item.source), tests]):
        found = {}
        with contextlib.suppress(Exception, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 10 + 5 * sum(result.seconds for result in group), 1)
            found = {result.item.name: result for result in run([result.item for result in group])}
        signal.setitimer(signal.ITIMER_REAL, 0)
        for (name, *_), right, _, format, _ in group:
            if name not in found or right - found[name].right:
                return name
            sign = sign if found[name].format == format else "~"
    return sign


def make_item(given: Source | str) -> Item:
    """A template with its turns: a real one, or the one that is drawn for a seed."""
    if isinstance(given, Source):
        return Item(given.name, given.text, tuple(build_turns(given.name, given.text, quick=True)))
    speaker = Speaker(draw(random.Random(given)))
    return Item(given, speaker.source, tuple(make_turns(speaker, 0)))


def find_unused(path: str, ran: set[tuple[str, int]]) -> list[int]:
    """List the lines with code inside functions that nothing ran."""
    codes = [compile(Path(path).read_text("utf-8"), path, "exec")]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    lines = {line for code in codes[1:] for *_, line in code.co_lines() if line and line > code.co_firstlineno}
    return sorted(line for line in lines if (path, line) not in ran)


def main() -> None:
    parser = argparse.ArgumentParser(description="Take one rule out at a time, and see whether anything is read worse.")
    parser.add_argument("paths", nargs="+", type=Path, help="modules or folders of the core or of a plugin")
    parser.add_argument("--unused", action="store_true", help="only list the lines that nothing runs")
    parser.add_argument("--tests", nargs="*", default=[], metavar="FILE", help="files of tests")
    parser.add_argument("--templates", type=int, default=60, metavar="N", help="how many real templates (default 60)")
    parser.add_argument("--formats", type=int, default=60, metavar="N", help="how many drawn formats (default 60)")
    parser.add_argument("--most", type=int, default=40, metavar="N", help="on how many items a rule is tried (default 40)")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    paths = [os.path.realpath(path) for given in options.paths for path in (sorted(given.rglob("*.py")) or [given])]
    os.chdir(REPOSITORY)
    os.environ["CI"] = "true"  # tests draw the same examples each time
    given: list[Source | str] = [f"ablate:{number}" for number in range(options.formats)]
    given += random.Random(0).sample(load_corpus(), options.templates)
    with multiprocessing.Pool(options.jobs, maxtasksperchild=1) as pool:
        items = pool.map(make_item, given, 1) + [Item(name) for name in options.tests]
        known = [result for found in pool.imap_unordered(partial(trace, files=frozenset(paths)), items) for result in found]
        known.sort(key=lambda result: result.seconds)
        ran = {place for result in known for place in result.ran}
        for path in paths:
            print(f"{os.path.relpath(path)}: never run: {find_unused(path, ran)}", flush=True)
            tasks, rules = [], list(list_rules(ast.parse("" if options.unused else Path(path).read_text("utf-8"))))
            for number, (_, _, place, *_) in enumerate(rules):
                users = [result._replace(ran=frozenset()) for result in known if (path, place.lineno) in result.ran]
                tasks += [(path, number, users[:: 1 + len(users) // options.most])] if users else []
            for (_, number, _), worse in zip(tasks, pool.imap(try_without, tasks), strict=True):
                words, node, *_ = rules[number]
                if worse in ("=", "~"):
                    print(f"{worse} {os.path.relpath(path)}:{node.lineno}: {words}: {ast.unparse(node)[:100]}", flush=True)


if __name__ == "__main__":
    main()
