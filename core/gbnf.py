"""Grammars for llama.cpp and others that read GBNF: the same tree as a structural tag's, printed as text.

GBNF knows neither JSON Schema nor text with triggers in it. Schemas are written out; of them are enforced types,
alternatives, ``enum`` and ``const``, properties, which of them are required, and items. Where text may come before a
call, the grammar is *lazy*: it is that of a call, and is to be enforced from where one of the triggers was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .constraint import Reasoned, ToolChoice, build_grammar
from .ebnf import print_rules
from .format import ChatFormat
from .grammar import Choice, Free, Grammar, Json, Node, Repeat, Sequence, Text, choose, join
from .marker import is_closing, is_opening, split_atoms
from .notation import JSON_VALUES
from .writing import Writer, list_alternatives


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
    if free is not None:
        grammar = Grammar(choose(*(join(Text(trigger), inner) for trigger, inner in free.rules)), grammar.rules)
    triggers = tuple(trigger for trigger, _ in free.rules) if free is not None else ()
    return TextGrammar(print_rules(expand_json(grammar)), free is not None, triggers, list_tokens(format), format.turn.stops)


def expand_json(grammar: Grammar) -> Grammar:
    """Return a grammar in which JSON Schemas are written out."""
    rules = dict(grammar.rules)
    return Grammar(_expand(grammar.root, rules), rules)


def _find_free(node: Node) -> Free | None:
    if isinstance(node, Sequence):
        return next((found for part in node.parts if (found := _find_free(part))), None)
    return node if isinstance(node, Free) else None


def _expand(node: Node, rules: dict[str, Node]) -> Node:
    """Return a tree in which JSON is written out."""
    if isinstance(node, Json):
        return _write_json(node, rules)
    if isinstance(node, Sequence):
        return join(*(_expand(part, rules) for part in node.parts))
    if isinstance(node, Choice):
        return choose(*(_expand(part, rules) for part in node.parts))
    if isinstance(node, Free):
        return Free(tuple((trigger, _expand(inner, rules)) for trigger, inner in node.rules), node.loop)
    return Repeat(_expand(node.part, rules), node.least, node.most) if isinstance(node, Repeat) else node


def _write_json(node: Json, rules: dict[str, Node]) -> Node:
    writer = Writer(JSON_VALUES, rules, node.schema, node.spaces)
    return writer.write_others(list_alternatives(node.schema, node.schema), node.excludes)


def list_tokens(format: ChatFormat) -> tuple[str, ...]:
    """Return the markers of a format that have the look of a special token: words in brackets."""
    tools, reasoning = format.tools, format.reasoning
    markers = [format.content.start, format.content.end, format.turn.continuation, *format.turn.end]
    markers += [reasoning.start, reasoning.end] if reasoning else []
    texts = [marker.text for marker in markers]
    if tools is not None:
        call = [tools.section_start, tools.call_start, tools.call_end, tools.section_end]
        texts += [marker.text for marker in call]
        texts += [tools.layout.opener, tools.layout.call, *tools.layout.tails] if tools.layout else []
    atoms = [atom for text in texts for atom in split_atoms(text)]
    bracketed = [atom for atom in atoms if is_opening(atom[0]) and is_closing(atom[-1]) and any(map(str.isalnum, atom))]
    return tuple(dict.fromkeys(bracketed))
