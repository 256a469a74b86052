"""Many templates at once: each is analysed, and told in one line of a table or as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ask.question import PARTS
from ..describe.spans import Line, Span, make_visible
from ..describe.verdict import WORDS, rate, rate_status
from ..describe.words import name_start
from ..format import ChatFormat

_COLUMN = 20
_NARROWEST = 24
_SIGNS = {"good": "✓", "note": "–", "fair": "~", "bad": "✗"}


@dataclass(frozen=True)
class Result:
    """What came out for one template: its format, or the error that prevented it.

    ``unreadable`` is set where the template could not even be loaded.
    """

    path: Path
    seconds: float
    format: ChatFormat | None = None
    error: str = ""
    unreadable: bool = False

    @property
    def proven(self) -> bool:
        """Whether turns were read back and all of the format was proven."""
        return self.format is not None and rate(self.format.verdict) == "good"


def name_parts(format: ChatFormat) -> dict[str, str]:
    """Say in two or three words how reasoning, content and calls are written."""
    reasoning, tools = format.reasoning, format.tools
    kinds = {node.kind for node in format.graph.turn.nodes}
    calls = "name, JSON" if "arguments" in kinds else "own notation"
    between = name_start(format).replace(" the", "") or ("between markers" if reasoning and reasoning.start else "up to a marker")
    return {
        "reasoning": between if reasoning else "none",
        "content": {"never": "plain", "always": "wrapped"}.get(format.content.wrapped, "wrapped at times"),
        "tools": calls if tools else "unknown" if format.capabilities.tools else "none",
    }


def choose_width(paths: Iterable[Path], columns: int | None) -> int:
    """Return the width of the column of paths, on a terminal with so many columns if it is one."""
    widest = max(map(len, map(str, paths)), default=0)
    left = columns - len(str(make_heading(0))) if columns else widest
    return max(_NARROWEST, min(widest, left))


def make_heading(width: int) -> Line:
    """Return the heading of the table; ``width`` is that of the column of paths."""
    columns = "".join(f"{part:<{_COLUMN}}" for part in PARTS)
    return Line.of(("title", f"{'template':<{width}}  {columns}{'checks':>7}{'time':>9}"))


def lay_out_result(result: Result, width: int) -> Line:
    """Return the table's line for a result."""
    name = make_visible(str(result.path))
    name = name if len(name) <= width else "…" + name[len(name) - width + 1 :]
    spans = [Span("text", f"{name:<{width}}  ")]
    if result.format is None:
        return Line((*spans, Span("bad", f"✗ {make_visible(result.error).replace(chr(10), ' ')}")))
    verdict = result.format.verdict
    for part, form in name_parts(result.format).items():
        kind = rate_status(verdict.of(part))
        spans += [Span(kind, _SIGNS[kind]), Span("note" if kind == "note" else "text", f" {form:<{_COLUMN - 2}}")]
    spans.append(Span(rate(verdict), f"{f'{verdict.passed}/{verdict.checked}':>7}"))
    spans.append(Span("note", f"{result.seconds * 1000:>6.0f} ms"))
    return Line(tuple(spans))


def lay_out_summary(results: list[Result]) -> Line:
    """Return the line below the table."""
    spans = [Span("title", f"{len(results)} template{'s' if len(results) != 1 else ''}: ")]
    summary = summarise_results(results)
    kinds = {**{word: kind for kind, word in WORDS.items()}, "failed": "bad"}
    counted = [Span(kinds[word], f"{summary[word]} {word}") for word in kinds if summary[word]]
    spans += [part for span in counted for part in (Span("text", ", "), span)][1:]
    spans.append(Span("note", f"; {sum(result.seconds for result in results):.1f} s"))
    if any(result.format and not result.proven for result in results):
        spans.append(Span("note", "; inspect says of each why, and what to do"))
    return Line(tuple(spans))


def summarise_results(results: list[Result]) -> dict[str, int]:
    """Count the results by what became of them."""
    counts = dict.fromkeys([*WORDS.values(), "failed"], 0)
    for result in results:
        counts[WORDS[rate(result.format.verdict)] if result.format else "failed"] += 1
    return counts


def make_report(results: list[Result]) -> dict[str, Any]:
    """Return results as JSON-serialisable data."""
    return {"templates": [_report(result) for result in results], "summary": summarise_results(results)}


def _report(result: Result) -> dict[str, Any]:
    report: dict[str, Any] = {"path": str(result.path), "seconds": round(result.seconds, 4), "proven": result.proven}
    if result.format is None:
        return {**report, "error": result.error, "unreadable": result.unreadable}
    verdict = {**result.format.to_dict()["verdict"], "parts": dict(result.format.verdict.parts)}
    return {**report, "derived": name_parts(result.format), "verdict": verdict}
