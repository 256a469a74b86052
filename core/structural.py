"""Structural tags: the language in which xgrammar is told what a model may write, as vLLM and SGLang hand it on.

What stands here of that language was read in xgrammar 0.2.8 (``xgrammar/structural_tag.py``) and tried with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .constraint import Reasoned, ToolChoice, build_grammar, write_reasoning
from .ebnf import print_rules
from .format import ChatFormat
from .grammar import NOTHING, Chars, Choice, Free, Grammar, Json, Node, Reference, Repeat, Sequence, Text, Until


def build_structural_tag(
    format: ChatFormat,
    tools: Iterable[dict[str, Any]],
    choice: ToolChoice = "required",
    *,
    parallel: bool = True,
    strict: bool | None = None,
    reasoning: Reasoned = "ended",
) -> dict[str, Any]:
    """Return the structural tag that holds a model to calls in its own format.

    ``tools`` are the request's OpenAI-style tool dicts and ``choice`` its tool choice: ``"required"``, an object that names
    a function or allowed tools, or ``"auto"``, where text may come and only what opens a call must go on as one. Without
    ``parallel`` there is one call at most. A call obeys its tool's schema; with ``choice="auto"`` it does if the tool says
    ``strict``, which ``strict`` overrides for all tools, for all choices.

    The tag describes what follows the end of reasoning, for that is where both engines begin to enforce it;
    ``reasoning="open"`` lets it begin inside of reasoning and ``"possible"`` before it.

    Returns ``{"type": "structural_tag", "format": ...}``, plain JSON data. Raises :class:`ConstraintError` with the reason
    where the format or a schema cannot be expressed. Whether an engine's xgrammar knows every part of it, and every keyword
    of the schemas, only that can tell: compile it before it is handed on. Costs some ten microseconds a parameter.
    """
    grammar = build_grammar(format, tools, choice, parallel=parallel, strict=strict, reasoning=reasoning)
    return {"type": "structural_tag", "format": print_tag(grammar)}


def prepend_reasoning(format: ChatFormat, tag: dict[str, Any], reasoning: Reasoned) -> dict[str, Any]:
    """Return a structural tag with what another one describes, and before that the reasoning of a format, as for
    :func:`build_structural_tag`; where reasoning has ended, or the format has none, that other one.
    """
    node = write_reasoning(format, reasoning)
    if node == NOTHING:
        return tag
    before = _print(node, Grammar(node, {}))
    return {**tag, "format": {"type": "sequence", "elements": [before, tag["format"]]}}


def print_tag(grammar: Grammar) -> dict[str, Any]:
    """Return a grammar as the format of a structural tag."""
    return _print(grammar.root, grammar)


def _print(node: Node, grammar: Grammar) -> dict[str, Any]:
    if _is_regular(node) or _refers(node):
        # What has no tag of its own, and what refers to itself, is written as a grammar.
        return _print_text(node) if isinstance(node, Text) else _print_grammar(node, grammar)
    if isinstance(node, Until):
        return {"type": "any_text", "excludes": list(node.ends)}
    if isinstance(node, Json):
        return _print_json(node)
    if isinstance(node, Sequence):
        return {"type": "sequence", "elements": [_print(part, grammar) for part in node.parts]}
    if isinstance(node, Choice):
        return {"type": "or", "elements": [_print(part, grammar) for part in node.parts]}
    if isinstance(node, Repeat):
        return _print_repeat(node, grammar)
    assert isinstance(node, Free), f"a node of an unknown kind: {node!r}"
    rules = [[trigger, _print(inner, grammar)] for trigger, inner in node.rules]
    return {"type": "dispatch", "rules": rules, "loop": node.loop}


def _print_text(node: Text) -> dict[str, Any]:
    return {"type": "const_string", "value": node.text}


def _print_grammar(node: Node, grammar: Grammar) -> dict[str, Any]:
    return {"type": "grammar", "grammar": print_rules(Grammar(node, grammar.rules))}


def _print_json(node: Json) -> dict[str, Any]:
    printed = {"type": "json_schema", "json_schema": dict(node.schema), "max_whitespace_cnt": node.spaces}
    return {**printed, "excludes": list(node.excludes)} if node.excludes else printed


def _print_repeat(node: Repeat, grammar: Grammar) -> dict[str, Any]:
    inner = _print(node.part, grammar)
    if (node.least, node.most) == (0, 1):
        return {"type": "optional", "content": inner}
    if node.most is None and node.least < 2:
        return {"type": "plus" if node.least else "star", "content": inner}
    return {"type": "repeat", "min": node.least, "max": -1 if node.most is None else node.most, "content": inner}


def _is_regular(node: Node) -> bool:
    """Whether a node is made of texts and characters only."""
    if isinstance(node, Sequence | Choice):
        return all(map(_is_regular, node.parts))
    if isinstance(node, Repeat):
        return _is_regular(node.part)
    return isinstance(node, Text | Chars)


def _refers(node: Node) -> bool:
    """Whether a node refers to a rule, and holds nothing that only a tag can say."""
    return _holds(node, Reference) and not _holds(node, Json) and not _holds(node, Free)


def _holds(node: Node, kind: type) -> bool:
    if isinstance(node, Sequence | Choice):
        return any(_holds(part, kind) for part in node.parts)
    if isinstance(node, Repeat):
        return _holds(node.part, kind)
    if isinstance(node, Free):
        return kind is Free or any(_holds(inner, kind) for _, inner in node.rules)
    return isinstance(node, kind)
