"""A template with every marker renamed, consistently, and without knowing which words are markers.

A word is renamed where the template itself writes it: in its text and in its string constants, not in names of variables
and attributes, and not in words that it looks up or compares with what it is given. Candidates are the words that stand
around the fields in rendered turns; whether the renaming is consistent is decided by rendering: what the renamed template
renders has to be what the original renders, with the words replaced. A word for which that fails, because it also comes
from the conversation (a role, a key of a dumped object), is kept.

Modes: "words" renames the words, "brackets" also changes the kind of brackets around them, "bare" leaves no brackets.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from conversations import CONVERSATIONS, QUESTION, RESULT, Fields, list_words, pick_needles
from rendering import BOS, EOS, Template, make_environment
from splitting import Oracle, Setting
from turns import Layout, Study, Turn, build_turns, list_layouts, study_template

MODES = ("words", "brackets", "bare")

# Literals that JSON and Python share with prose are values, not markers.
_VALUES = {"true", "false", "null", "none"}
_PIECES = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|\w+|[^\w\\]+", re.DOTALL)
_WORD = re.compile(r"\w+")
_SQUARE = re.compile(r"\[(?=/?[A-Za-z])|(?<=[A-Za-z0-9_])\]")
_SIGNS: dict[str, dict[str, str]] = {
    "words": {},
    "brackets": {"<": "⟦", ">": "⟧", "[": "«", "]": "»"},
    "bare": {"<": "§", ">": "§", "[": "§", "]": "§", "|": "", "｜": ""},
}
_ENVIRONMENT = make_environment()
_ROUNDS = 30


@dataclass
class Renamed:
    """The new template and its turns, the words that were replaced, or why it could not be done."""

    source: str = ""
    turns: list[Turn] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    failure: str | None = None


def rename(name: str, source: str, turns: list[Turn], mode: str) -> Renamed:
    """Rename the markers of a template whose turns are known."""
    study = study_template(name, source)
    if study is None or not turns:
        return Renamed(failure="it has no turns")
    probes = list(_list_probes(study))
    words = _list_candidates(source, [_cut(text) for text in _render(study.oracle, probes) if text])
    for _ in range(_ROUNDS):
        renaming = _Renaming(name, words, mode)
        renamed = renaming.rewrite_source(source)
        wrong = _find_wrong(study.oracle, renamed, probes, renaming)
        if wrong is None:
            return Renamed(failure="the renamed template does not render")
        if not wrong:
            return _finish(name, renamed, turns, renaming)
        if not wrong & words:
            return Renamed(failure="its renders differ by more than the renaming")
        words -= wrong
    return Renamed(failure="no consistent renaming was found")


def _finish(name: str, source: str, turns: list[Turn], renaming: _Renaming) -> Renamed:
    made = build_turns(name, source, quick=len(turns) < 10)
    wanted = [(turn.name, str(turn.switches), turn.expected, turn.exact) for turn in turns]
    if [(turn.name, str(turn.switches), turn.expected, turn.exact) for turn in made] != wanted:
        return Renamed(failure="its turns are not the same ones after renaming")
    if not renaming.words and renaming.mode == "words":
        return Renamed(failure="it has no word that can be renamed")
    return Renamed(source, made, renaming.words)


class _Renaming:
    """What replaces what."""

    def __init__(self, name: str, words: set[str], mode: str) -> None:
        choose = random.Random(name)
        self.mode = mode
        self.signs = _SIGNS[mode]
        self.words = {word: _make_word(choose) for word in sorted(words)}
        self.made = {made: word for word, made in self.words.items()}

    def rewrite_source(self, source: str) -> str:
        """The template with its literals rewritten."""
        tokens = [(kind, value) for _, kind, value in _ENVIRONMENT.lex(source)]
        solid = [i for i, (kind, _) in enumerate(tokens) if kind != "whitespace"]
        around = {i: (tokens[solid[n - 1]][1] if n else "", tokens[solid[n + 1]][1] if n + 1 < len(solid) else "") for n, i in enumerate(solid)}
        return "".join(self._rewrite_token(kind, value, around.get(i, ("", ""))) for i, (kind, value) in enumerate(tokens))

    def _rewrite_token(self, kind: str, value: str, around: tuple[str, str]) -> str:
        if kind == "data":
            return self.rewrite_text(value)
        if kind != "string":
            return value
        inner = value[1:-1]
        compared = around[0] in ("==", "!=", "in", "[", "(", ",", "not in") or around[1] in ("==", "!=", "in", "not")
        if compared and (re.fullmatch(r"\w*|[^\w]*", inner) or "%" in inner):
            return value
        return value[0] + self.rewrite_text(inner) + value[-1]

    def rewrite_text(self, text: str) -> str:
        """A text with words and brackets replaced; escapes, and the tokens that are given as variables, stay."""
        parts = re.split(f"({re.escape(BOS)}|{re.escape(EOS)})", text)
        return "".join(part if n % 2 else self._rewrite_part(part) for n, part in enumerate(parts))

    def _rewrite_part(self, text: str) -> str:
        if self.signs:
            text = _SQUARE.sub(lambda match: self.signs[match[0]], text)
            text = re.sub("[<>|｜]", lambda match: self.signs.get(match[0], match[0]), text)
        return "".join(self.words.get(piece, piece) for piece in _PIECES.findall(text))


def _make_word(choose: random.Random) -> str:
    vowels, others = "aeiou", "bdfgklmnprtvz"
    return "".join(choose.choice(others) + choose.choice(vowels) for _ in range(choose.randint(3, 4))) + choose.choice("xqj")


Probe = tuple[Setting, Fields | None]


def _list_probes(study: Study) -> Iterator[Probe]:
    """The renders that have to be the same: each layout with needles, and the prompts."""
    layouts: list[Layout] = list_layouts(study)
    for layout, signature in layouts_with_signatures(study):
        yield layout.setting, pick_needles(signature)
        yield layout.setting, None
    if not layouts:
        yield Setting(study.base), None
