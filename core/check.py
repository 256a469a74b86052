"""Many templates at once: finding them, analysing each, and what to say of it in one line or as data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .analysis import analyze
from .description import Line, Span, make_visible, rate
from .errors import AutoparserError, TemplateError
from .format import TAUGHT, ChatFormat, ObjectBody
from .lesson import Lesson
from .renderer import load_renderer

PARTS = ("reasoning", "content", "tools")

PLACEHOLDERS = {"bos_token": "<bos_token>", "eos_token": "<eos_token>"}
"""What stands for the special tokens of a template that comes without a model's folder, where nobody gave them."""

_COLUMN = 20
_NARROWEST = 24
_CONFIGURATIONS = ("tokenizer_config.json", "chat_template.json")
_SIGNS = {"proven": ("good", "✓"), TAUGHT: ("good", "✓"), "absent": ("note", "–"), "partly proven": ("fair", "~")}


def choose_tokens(path: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the special tokens to render a template with, beside those that it brings itself."""
    bare = path.suffix != ".json" and not path.is_dir()
    return {**(PLACEHOLDERS if bare else {}), **given}


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


def find_templates(paths: Iterable[Path]) -> list[Path]:
    """Return the templates that are meant by paths: files as they are, and what folders hold, in the order of names.

    Raises :class:`TemplateError` for a path that does not exist and for a folder without templates.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = list(_walk(path))
            if not inside:
                raise TemplateError(f"{path} holds neither *.jinja files nor a model folder with a chat template")
            found.update(dict.fromkeys(inside))
        elif path.exists():
            found[path] = None
        else:
            raise TemplateError(f"{path} does not exist")
    return list(found)


def _walk(folder: Path) -> Iterator[Path]:
    """Find model folders and template files; those that belong to a model folder are not counted once more."""
    model = _is_model_folder(folder)
    if model:
        yield folder
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if not (model and path.name == "additional_chat_templates"):
                yield from _walk(path)
        elif path.suffix == ".jinja" and not model:
            yield path


def _is_model_folder(folder: Path) -> bool:
    if (folder / "chat_template.jinja").is_file() or any((folder / "additional_chat_templates").glob("*.jinja")):
        return True
    configurations = [folder / name for name in _CONFIGURATIONS]
    return any(path.is_file() and b'"chat_template"' in path.read_bytes() for path in configurations)


def check_template(path: Path, special_tokens: Mapping[str, str], lessons: tuple[Lesson, ...] = ()) -> Result:
    """Analyse one template, taught by lessons if there are any; whatever is wrong with it is in the result."""
    start = time.perf_counter()
    loaded = False
    try:
        renderer = load_renderer(path, **choose_tokens(path, special_tokens))
        loaded = True
        format = analyze(renderer, examples=lessons)
    except AutoparserError as error:
        return Result(path, time.perf_counter() - start, error=str(error), unreadable=not loaded)
    return Result(path, time.perf_counter() - start, format)


def name_reasoning(format: ChatFormat) -> str:
    """Say in two or three words how reasoning is written."""
    reasoning = format.reasoning
    if reasoning is None:
        return "none"
    default = next((start for start in format.starts if not start.switches), None)
    if default is not None and default.state == "reasoning":
        return "opened by prompt"
    if default is not None and default.state == "content":
        return "closed by prompt"
    return "between markers" if reasoning.start else "up to a marker"


def name_content(format: ChatFormat) -> str:
    """Say in one or two words how content is written."""
    return {"never": "plain", "always": "wrapped"}.get(format.content.wrapped, "wrapped at times")


def name_tools(format: ChatFormat) -> str:
    """Say in two or three words how tool calls are written."""
    tools = format.tools
    if tools is None:
        return "unknown" if format.capabilities.tools else "none"
    if isinstance(tools.body, ObjectBody):
        return "JSON array" if tools.body.array else "JSON object"
    return "name, JSON" if tools.arguments.json else "own notation"


def choose_width(paths: Iterable[Path], columns: int | None) -> int:
    """Return the width of the column of paths, on a terminal with so many columns if it is one."""
    widest = max(map(len, map(str, paths)), default=0)
    left = columns - len(str(make_heading(0))) if columns else widest
    return max(_NARROWEST, min(widest, left))


def make_heading(width: int) -> Line:
    """Return the heading of the table; ``width`` is that of the column of paths."""
    columns = "".join(f"{part:<{_COLUMN}}" for part in PARTS)
    return Line((Span("title", f"{'template':<{width}}  {columns}{'checks':>7}{'time':>9}"),))


def lay_out_result(result: Result, width: int) -> Line:
    """Return the table's line for a result."""
    name = make_visible(str(result.path), layout=False)
    name = name if len(name) <= width else "…" + name[len(name) - width + 1 :]
    spans = [Span("text", f"{name:<{width}}  ")]
    if result.format is None:
        return Line((*spans, Span("bad", f"✗ {make_visible(result.error).replace(chr(10), ' ')}")))
    format, verdict = result.format, result.format.verdict
    for part, form in zip(PARTS, (name_reasoning(format), name_content(format), name_tools(format)), strict=True):
        kind, sign = _SIGNS.get(verdict.of(part), ("bad", "✗"))
        spans += [Span(kind, sign), Span("note" if sign == "–" else "text", f" {form:<{_COLUMN - 2}}")]
    spans.append(Span(rate(verdict), f"{f'{verdict.passed}/{verdict.checked}':>7}"))
    spans.append(Span("note", f"{result.seconds * 1000:>6.0f} ms"))
    return Line(tuple(spans))


def lay_out_summary(results: list[Result]) -> Line:
    """Return the line below the table."""
    spans = [Span("title", f"{len(results)} template{'s' if len(results) != 1 else ''}: ")]
    summary = summarise_results(results)
    kinds = {"proven": "good", "partly proven": "fair", "not established": "bad", "failed": "bad"}
    counted = [Span(kinds[word], f"{summary[word]} {word}") for word in kinds if summary[word]]
    for number, span in enumerate(counted):
        spans += [Span("text", ", ")] if number else []
        spans.append(span)
    spans.append(Span("note", f"; {sum(result.seconds for result in results):.1f} s"))
    return Line(tuple(spans))


def summarise_results(results: list[Result]) -> dict[str, int]:
    """Count the results by what became of them."""
    words = {"good": "proven", "fair": "partly proven", "bad": "not established"}
    counts = dict.fromkeys([*words.values(), "failed"], 0)
    for result in results:
        counts[words[rate(result.format.verdict)] if result.format else "failed"] += 1
    return counts


def make_report(results: list[Result]) -> dict[str, Any]:
    """Return results as JSON-serialisable data."""
    return {"templates": [_report(result) for result in results], "summary": summarise_results(results)}


def _report(result: Result) -> dict[str, Any]:
    report: dict[str, Any] = {"path": str(result.path), "seconds": round(result.seconds, 4), "proven": result.proven}
    if result.format is None:
        return {**report, "error": result.error, "unreadable": result.unreadable}
    format = result.format
    derived = {"reasoning": name_reasoning(format), "content": name_content(format), "tools": name_tools(format)}
    verdict = {**format.to_dict()["verdict"], "parts": dict(format.verdict.parts)}
    return {**report, "derived": derived, "verdict": verdict}
