"""Grammars as text: the EBNF that xgrammar and llama.cpp (there called GBNF) both read."""

from __future__ import annotations

from collections.abc import Iterator

from .grammar import Chars, Choice, Grammar, Node, Reference, Repeat, Sequence, Text, Until


def print_rules(grammar: Grammar) -> str:
    """Return a grammar as EBNF text whose first rule is ``root``.

    Raises :class:`ConstraintError` for what has no meaning there: text in which triggers are looked for.
    """
    printer = _Printer(grammar)
    return printer.print()


class _Printer:
    """Collects rules while nodes are printed."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._rules: dict[str, str] = {}
        self._untils: dict[tuple[str, ...], str] = {}

    def print(self) -> str:
        self._add("root", self._grammar.root)
        return "\n".join(f"{name} ::= {text}" for name, text in self._rules.items()) + "\n"

    def _add(self, name: str, node: Node) -> None:
        self._rules[name] = ""  # its place is before the rules that it needs
        self._rules[name] = self._print(node)

    def _print(self, node: Node) -> str:
        if isinstance(node, Text):
            return _quote(node.text)
        if isinstance(node, Chars):
            return _print_chars(node) + _print_count(node.least, node.most)
        if isinstance(node, Sequence):
            printed = ((part, self._print(part)) for part in node.parts)
            return " ".join(f"({text})" if isinstance(part, Choice) else text for part, text in printed)
        if isinstance(node, Choice):
            return " | ".join(map(self._print, node.parts))
        if isinstance(node, Repeat):
            return f"({self._print(node.part)}){_print_count(node.least, node.most)}"
        if isinstance(node, Reference):
            if node.name not in self._rules:
                self._add(node.name, self._grammar.rules[node.name])
            return node.name
        if isinstance(node, Until):
            return self._refer_until(node.ends)
        raise TypeError(f"printing a grammar: {type(node).__name__} has no text here")

    def _refer_until(self, ends: tuple[str, ...]) -> str:
        """Return the name of the rule of texts that hold none of some ends; made of one rule for each beginning of one."""
        if ends not in self._untils:
            name = self._untils[ends] = f"until{len(self._untils) or ''}"
            self._rules.update(_list_until_rules(name, ends))
        return self._untils[ends]


def _list_until_rules(name: str, ends: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """List the rules of an automaton: its states are the beginnings of the ends, as far as they have come."""
    states = sorted({end[:length] for end in ends for length in range(len(end))}, key=lambda state: (len(state), state))
    names = {state: name if not state else f"{name}-{number}" for number, state in enumerate(states)}
    signs = sorted({sign for end in ends for sign in end})
    for state in states:
        moves: dict[str, list[str]] = {}
        for sign in signs:
            text = state + sign
            if not any(text.endswith(end) for end in ends):
                longest = next(text[start:] for start in range(len(text) + 1) if text[start:] in names)
                moves.setdefault(longest, []).append(sign)
        others = _print_chars(Chars(tuple((sign, sign) for sign in signs), negated=True))
        options = ['""', f"{others} {name}"]
        for target, taken in moves.items():
            options.append(f"{_print_chars(Chars(tuple((sign, sign) for sign in taken)))} {names[target]}")
        yield names[state], " | ".join(options)


def _print_count(least: int, most: int | None) -> str:
    if (least, most) in _COUNTS:
        return _COUNTS[least, most]
    return f"{{{least},{'' if most is None else most}}}" if least != most else f"{{{least}}}"


_COUNTS: dict[tuple[int, int | None], str] = {(1, 1): "", (0, 1): "?", (0, None): "*", (1, None): "+"}


def _quote(text: str) -> str:
    return f'"{"".join(_escape(char, chr(34)) for char in text)}"'


def _print_chars(node: Chars) -> str:
    if node.negated and not node.ranges:
        return r"[\x00-\U0010FFFF]"
    inside = "".join(
        _escape(first, "]^-[") if first == last else f"{_escape(first, ']^-[')}-{_escape(last, ']^-[')}"
        for first, last in node.ranges
    )
    return f"[{'^' if node.negated else ''}{inside}]"


def _escape(char: str, special: str) -> str:
    """Return a character as it stands in a literal or in brackets, by its number where its sign would mean something."""
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    if char == "\\":
        return "\\\\"
    if char == '"' and '"' in special:
        return '\\"'
    if char in special or ord(char) < 32 or ord(char) == 127:
        return f"\\x{ord(char):02X}"
    return char
