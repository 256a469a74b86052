"""Structural tags: the language in which xgrammar is told what a model may write, as vLLM and SGLang hand it on.

What stands here of that language was read in xgrammar 0.2.8 (``xgrammar/structural_tag.py``) and tried with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..format import ChatFormat
from .calls import Chosen, Reasoned, build_grammar, write_reasoning
from .text import print_rules
from .tree import NOTHING, Choice, Free, Grammar, Json, Repeat, Sequence, Text, Tree, Until


def build_structural_tag(
    format: ChatFormat,
    tools: Iterable[dict[str, Any]],
    choice: Chosen = "required",
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
    where the format or a schema cannot be expressed, and ValueError for another ``choice`` or ``reasoning``. Whether an engine's
    xgrammar knows every part of it, and every keyword of the schemas, only that can tell: compile it before it is handed on. Costs
    some ten microseconds a parameter.
    """
    grammar = build_grammar(format, tools, choice, parallel=parallel, strict=strict, reasoning=reasoning)
    return {"type": "structural_tag", "format": _print(grammar.root, grammar.rules)}


def prepend_reasoning(format: ChatFormat, tag: dict[str, Any], reasoning: Reasoned) -> dict[str, Any]:
    """Return a structural tag with what another one describes, and before that the reasoning of a format, as for
    :func:`build_structural_tag`; where reasoning has ended, or the format has none, that other one.
    """
    tree = write_reasoning(format, reasoning)
    if tree == NOTHING:
        return tag
    return {**tag, "format": {"type": "sequence", "elements": [_print(tree, {}), tag["format"]]}}


def _print(tree: Tree, rules: Mapping[str, Tree]) -> dict[str, Any]:
    if isinstance(tree, Text):
        return {"type": "const_string", "value": tree.text}
    if isinstance(tree, Until):
        return {"type": "any_text", "excludes": list(tree.ends)}
    if isinstance(tree, Json):
        printed = {"type": "json_schema", "json_schema": dict(tree.schema), "max_whitespace_cnt": tree.spaces}
        return {**printed, "excludes": list(tree.excludes)} if tree.excludes else printed
    if not _is_tagged(tree):
        # What has no tag of its own, and what refers to itself, is written as a grammar.
        return {"type": "grammar", "grammar": print_rules(Grammar(tree, rules))}
    if isinstance(tree, Sequence | Choice):
        kind = "sequence" if isinstance(tree, Sequence) else "or"
        return {"type": kind, "elements": [_print(part, rules) for part in tree.parts]}
    if isinstance(tree, Repeat):
        assert tree.least == 0, "what must be there, and more than once, is written as a grammar"
        return {"type": "star" if tree.most is None else "optional", "content": _print(tree.part, rules)}
    assert isinstance(tree, Free), f"a tree of an unknown kind: {tree!r}"
    triggers = [[trigger, _print(inner, rules)] for trigger, inner in tree.rules]
    return {"type": "dispatch", "rules": triggers, "loop": tree.loop}


def _is_tagged(tree: Tree) -> bool:
    """Whether a part of a tree has a tag of its own."""
    if isinstance(tree, Sequence | Choice):
        return any(map(_is_tagged, tree.parts))
    return isinstance(tree, Until | Json | Free) or (isinstance(tree, Repeat) and _is_tagged(tree.part))
