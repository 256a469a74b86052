"""Grammars for llama.cpp and others that read GBNF: the same tree as a structural tag's, printed as text.

GBNF knows neither JSON Schema nor text with triggers in it. Schemas are written out; of them are enforced types,
alternatives, ``enum`` and ``const``, properties, which of them are required, and items. Where text may come before a
call, the grammar is *lazy*: it is that of a call, and is to be enforced from where one of the triggers was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..format import ChatFormat
from .calls import Reasoned, ToolChoice, build_grammar, list_stops
from .rules import print_rules
from .tree import Free, Grammar, Sequence, Text, Tree, choose, join
from .values import expand_grammar

_BRACKETED = re.compile(r"<[^<>\n]*\w[^<>\n]*>|\[/?\w+\]")


@dataclass(frozen=True)
class TextGrammar:
    """A grammar as GBNF text, and what goes with it.

    ``lazy`` says that it is to be enforced only from one of the ``triggers`` on, which it begins with. ``preserved`` are
    the markers that a tokenizer may hold as single tokens and that must come as text. ``stops`` end a generation.
    """

    grammar: str
    lazy: bool
    triggers: tuple[str, ...]
    preserved: tuple[str, ...]
    stops: tuple[str, ...]


def build_text_grammar(
    format: ChatFormat,
    tools: Iterable[dict[str, Any]],
    choice: ToolChoice = "required",
    *,
    parallel: bool = True,
    strict: bool | None = None,
    reasoning: Reasoned = "ended",
) -> TextGrammar:
    """Return the grammar that holds a model to calls in its own format, as GBNF text.

    Takes what :func:`build_structural_tag` takes, and raises what it raises. In a lazy grammar ``reasoning`` has no effect.
    """
    grammar = build_grammar(format, tools, choice, parallel=parallel, strict=strict, reasoning=reasoning)
    free = _find_free(grammar.root)
    root = grammar.root if free is None else choose(*(join(Text(trigger), inner) for trigger, inner in free.rules))
    triggers = tuple(trigger for trigger, _ in free.rules) if free is not None else ()
    text = print_rules(expand_grammar(Grammar(root, grammar.rules)))
    return TextGrammar(text, free is not None, triggers, list_tokens(format), tuple(list_stops(format.graph)))


def _find_free(tree: Tree) -> Free | None:
    if isinstance(tree, Sequence):
        return next((found for part in tree.parts if (found := _find_free(part))), None)
    return tree if isinstance(tree, Free) else None


def list_tokens(format: ChatFormat) -> tuple[str, ...]:
    """Return what of the texts between fields has the look of a special token: words in brackets."""
    edges = [*(edge for start in format.graph.starts for edge in start.edges), *format.graph.turn.edges]
    marks = [format.reasoning.start.text, format.reasoning.end.text] if format.reasoning else []
    texts = [*(edge.text for edge in edges), *marks]
    return tuple(dict.fromkeys(found for text in texts for found in _BRACKETED.findall(text)))
