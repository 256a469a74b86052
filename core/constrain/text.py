"""Grammars for llama.cpp and others that read GBNF: the same tree as a structural tag's, printed as text.

GBNF knows neither JSON Schema nor text with triggers in it. Schemas are written out; of them are enforced types,
alternatives, ``enum`` and ``const``, properties, which of them are required, and items. Where text may come before a
call, the grammar is *lazy*: it is that of a call, and is to be enforced from where one of the triggers was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..format import ChatFormat
from .calls import Chosen, Reasoned, build_grammar, list_stops
from .tree import Chars, Choice, Free, Grammar, Reference, Repeat, Sequence, Text, Tree, Until, choose, join
from .values import expand_grammar

_LONG = 60  # from so many characters on, what stands in brackets becomes a rule of its own
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
    choice: Chosen = "required",
    *,
    parallel: bool = True,
    strict: bool | None = None,
    reasoning: Reasoned = "ended",
) -> TextGrammar:
    """Return the grammar that holds a model to calls in its own format, as GBNF text.

    Takes what :func:`build_structural_tag` takes, and raises what it raises. In a lazy grammar ``reasoning`` has no effect.
    """
    grammar = build_grammar(format, tools, choice, parallel=parallel, strict=strict, reasoning=reasoning)
    parts = grammar.root.parts if isinstance(grammar.root, Sequence) else (grammar.root,)
    begun = [rule for part in parts if isinstance(part, Free) for rule in part.rules]
    root = choose(*(join(Text(trigger), inner) for trigger, inner in begun)) if begun else grammar.root
    triggers = tuple(trigger for trigger, _ in begun)
    text = print_rules(Grammar(root, grammar.rules))
    return TextGrammar(text, bool(begun), triggers, list_tokens(format), tuple(list_stops(format.graph)))


def list_tokens(format: ChatFormat) -> tuple[str, ...]:
    """Return what of the texts between fields has the look of a special token: words in brackets."""
    edges = [*format.graph.begun, *format.graph.turn.edges]
    marks = [format.reasoning.start.text, format.reasoning.end.text] if format.reasoning else []
    texts = [*(edge.text for edge in edges), *marks]
    return tuple(dict.fromkeys(found for text in texts for found in _BRACKETED.findall(text)))


# Rules as text


def print_rules(grammar: Grammar) -> str:
    """Return a grammar as EBNF whose first rule is ``root``, with JSON Schemas written out; it must have no triggers in it."""
    grammar = expand_grammar(grammar)
    printer = _Printer(grammar.rules)
    printer.add("root", grammar.root)
    return "\n".join(f"{name} ::= {text}" for name, text in printer.rules.items()) + "\n"


class _Printer:
    """Collects rules while nodes are printed."""

    def __init__(self, trees: Mapping[str, Tree]) -> None:
        self.rules: dict[str, str] = {}
        self._trees = trees
        self._groups: dict[str, str] = {}
        self._untils: dict[tuple[str, ...], str] = {}

    def add(self, name: str, tree: Tree) -> None:
        self.rules[name] = ""  # its place is before the rules that it needs
        self.rules[name] = self._print(tree)

    def _print(self, tree: Tree) -> str:
        if isinstance(tree, Text):
            return _quote(tree.text)
        if isinstance(tree, Chars):
            return _print_chars(tree) + _print_count(tree.least, tree.most)
        if isinstance(tree, Sequence):
            return " ".join(self._group(part) if isinstance(part, Choice) else self._print(part) for part in tree.parts)
        if isinstance(tree, Choice):
            return " | ".join(map(self._print, tree.parts))
        if isinstance(tree, Repeat):
            return self._group(tree.part) + _print_count(tree.least, tree.most)
        if isinstance(tree, Reference):
            if tree.name not in self.rules:
                self.add(tree.name, self._trees[tree.name])
            return tree.name
        assert isinstance(tree, Until), f"printing a grammar: {type(tree).__name__} has no text here"
        if tree.ends not in self._untils:
            name = self._untils[tree.ends] = _name("until", len(self._untils))
            self.rules.update(_list_until_rules(name, tree.ends))
        return self._untils[tree.ends]

    def _group(self, tree: Tree) -> str:
        """Print a tree as one item; a long one becomes a rule, which stands for it wherever it occurs."""
        text = self._print(tree)
        if len(text) < _LONG:
            return f"({text})" if isinstance(tree, Choice | Sequence) or " " in text else text
        if text not in self._groups:
            self._groups[text] = _name("part", len(self._groups))
            self.rules[self._groups[text]] = text
        return self._groups[text]


def _list_until_rules(name: str, ends: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """List the rules of texts that hold none of some ends, as an automaton: its states are the beginnings of the ends."""
    states = sorted({end[:length] for end in ends for length in range(len(end))}, key=lambda state: (len(state), state))
    names = {state: name if not state else _name(name, number) for number, state in enumerate(states)}
    signs = sorted({sign for end in ends for sign in end})
    for state in states:
        moves: dict[str, list[str]] = {}
        for sign in signs:
            text = state + sign
            if not any(text.endswith(end) for end in ends):
                longest = next(text[start:] for start in range(len(text) + 1) if text[start:] in names)
                moves.setdefault(longest, []).append(sign)
        others = _print_chars(Chars(tuple((sign, sign) for sign in signs), negated=True))
        options = [f"{others} {names['']}"]
        for target, taken in moves.items():
            options.append(f"{_print_chars(Chars(tuple((sign, sign) for sign in taken)))} {names[target]}")
        yield names[state], f"({' | '.join(options)})?"


def _name(kind: str, number: int) -> str:
    """Return the name of a rule by its number, without digits: not all readers of such grammars take them."""
    letters = ""
    while number >= 0:
        number, letter = divmod(number, 26)
        letters, number = chr(97 + letter) + letters, number - 1
    return f"{kind}-{letters}"


def _print_count(least: int, most: int | None) -> str:
    if (least, most) in _COUNTS:
        return _COUNTS[least, most]
    return f"{{{least},{'' if most is None else most}}}" if least != most else f"{{{least}}}"


_COUNTS: dict[tuple[int, int | None], str] = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}


def _print_chars(tree: Chars) -> str:
    """Print a set of characters; those written by their number come last but for a hyphen, so that none of what follows
    could be taken for another digit."""
    if tree.negated and not tree.ranges:
        return r"[^\x00]"
    printed = [_escape(first) if first == last else f"{_escape(first)}-{_escape(last)}" for first, last in tree.ranges]
    printed.sort(key=lambda text: (text == "-", text.startswith("\\x")))
    return f"[{'^' if tree.negated else ''}{''.join(printed)}]"


def _quote(text: str) -> str:
    return '"' + "".join('\\"' if char == '"' else char if char in "[]^" else _escape(char) for char in text) + '"'


def _escape(char: str) -> str:
    """Return a character as it stands in brackets."""
    return _ESCAPES.get(char) or (f"\\x{ord(char):02X}" if char == "^" or ord(char) < 32 or ord(char) == 127 else char)


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "[": "\\[", "]": "\\]"}
