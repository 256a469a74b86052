"""From a template, or from examples, to a proven format: ask, derive, prove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import starmap
from random import Random
from typing import Any

from .ask.budget import Budget
from .ask.oracle import Oracle
from .ask.renderer import Renderer, load_renderer
from .ask.source import NO_TEMPLATE
from .derive.driver import derive
from .derive.record import make_format
from .errors import MissingTemplateError
from .format import ChatFormat
from .message import fold_deltas
from .prove.proof import Read, prove
from .prove.search import search
from .teach.learn import learn
from .teach.lesson import load_lessons

SHORT = 80  # characters that a text may have to be read one by one


def analyze(template: Any = None, *, examples: Any = None, **special_tokens: str) -> ChatFormat:
    """Derive how a model writes from its chat template, and prove it.

    ``template`` is Jinja source (a str), a template file or model folder (a :class:`~pathlib.Path`), a tokenizer with
    ``apply_chat_template``, or a callable ``render(messages, tools, add_generation_prompt, **kwargs)``.
    ``special_tokens`` (``bos_token="<s>"``, …) are what the template finds under these names; of a bare template, notes of the
    verdict name those that it reads and that were not given. ``examples`` are raw outputs
    with the messages that they mean (what :func:`load_lessons` takes): they teach what the template does not
    print, and all of the format where there is no template. Raises :class:`TemplateError` for a template that cannot be
    loaded or that refuses every conversation, :class:`LessonError` for examples that do not show what they mean,
    :class:`BudgetError` for a template that exceeds the bounds of time and size, and TypeError for what is no special token.
    Costs some hundred renders.

    The bounds are those of :class:`Budget`, for other ones pass ``load_renderer(template).within(Budget(seconds=60))``.
    """
    _check_tokens(template, special_tokens)
    lessons = load_lessons(examples) if examples else ()
    try:
        if template is None:
            raise MissingTemplateError(f"Analysing a chat template: there is none. {NO_TEMPLATE}")
        renderer = load_renderer(template, **special_tokens)
    except MissingTemplateError:
        if not lessons:
            raise
        return learn(lessons, derive_format)
    known = derive_format(renderer)
    return learn(lessons, derive_format, renderer, known) if lessons else known


def _check_tokens(template: Any, tokens: Mapping[str, Any]) -> None:
    """Raise TypeError for what would be left out without a word."""
    for name, value in tokens.items():
        if not name.endswith("_token"):
            alike = get_close_matches(name, ("examples", "bos_token", "eos_token", "pad_token", "unk_token"), 1)
            meant = f" Did you mean {alike[0]}?" if alike else ""
            raise TypeError(f"analyze() takes examples and special tokens, whose names end in _token, and no {name!r}.{meant}")
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a str, or left out where there is none, not {type(value).__name__}")
        if isinstance(template, Renderer):
            raise TypeError(f"a Renderer renders with its own special tokens: give {name} to load_renderer")


def derive_format(renderer: Renderer, stops: tuple[str, ...] | None = None) -> ChatFormat:
    """Derive the format of what a renderer writes, and prove it; see :func:`analyze`. ``stops`` are what ends a turn, where
    that is known."""
    oracle = Oracle(renderer if renderer.is_accounted else renderer.within(Budget()))
    derivation = derive(oracle)
    format = make_format(oracle, derivation)
    if stops is not None:
        format = replace(format, graph=replace(format.graph, stops=stops))
    verdict = prove(replace(derivation, graph=format.graph), oracle, make_reads(format))
    told = tuple(starmap(_say_unknown, renderer.unknown_tokens.items()))
    return replace(format, verdict=replace(verdict, notes=(*verdict.notes, *told)))


def _say_unknown(name: str, text: str) -> str:
    """Say what stands for a special token that nobody gave, and how it is given."""
    option = f"--{name.replace('_', '-')}" if name in ("bos_token", "eos_token") else f"--set {name}=…"
    return f"{name} is not known and {f'stands as {text}' if text else 'prints nothing'}: give it with {option}, or {name}=…"


def search_further(format: ChatFormat, renderer: Renderer, seconds: float) -> ChatFormat:
    """Look for a turn that a format misreads, for some seconds; returns the format with what that says in its verdict."""
    oracle = Oracle(renderer.within(Budget(seconds=2 * seconds + 30, renders=10**9)))
    derivation = replace(derive(oracle), graph=format.graph)
    tried, counterexample = search(oracle.renderer, derivation, make_reads(format), seconds)
    verdict = format.verdict
    if counterexample is None:
        return replace(format, verdict=replace(verdict, notes=(*verdict.notes, f"{tried} more turns were read back")))
    part = counterexample.aspect.partition(",")[0]
    parts = tuple((name, "partly proven" if name == part and status == "proven" else status) for name, status in verdict.parts)
    return replace(format, verdict=replace(verdict, parts=parts, counterexample=counterexample))


def _cut_pieces(text: str) -> list[str]:
    """Cut a text in random pieces, as servers hand it on, a short one by character; the same text is always cut alike."""
    source, pieces, start = Random(text), [], 0
    while start < len(text):
        size = source.randint(1, 1 if len(text) < SHORT else 9)
        pieces.append(text[start : start + size])
        start += size
    return pieces


def make_reads(format: ChatFormat) -> dict[str, Read]:
    """Return the ways in which a proof reads a text: whole, and in pieces."""

    def read(cut: Callable[[str], list[str]], text: str, tools: Any, prompt: str) -> Mapping[str, Any]:
        parser = format.parser(tools, prompt)
        deltas = [delta for piece in cut(text) for delta in parser.feed(piece)]
        message = fold_deltas([*deltas, *parser.finish()])
        return {**message, "recoveries": [name for name, _ in parser.recoveries]} if parser.recoveries else message

    return {"whole": partial(read, lambda text: [text]), "in pieces": partial(read, _cut_pieces)}
