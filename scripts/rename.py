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
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import jinja2
from conversations import QUESTION, RESULT, Fields, list_words, pick_needles
from rendering import BOS, EOS, compile_template, make_environment
from splitting import Oracle, Setting, count_common
from study import Study, list_layouts
from turns import Turn, build_turns

MODES = ("words", "brackets", "bare")

# What JSON and Python write for values; the words of the variables that a call hands out are never a marker either.
_VALUES = {"true", "false", "null", "none", "True", "False", "None"}
_WORD = re.compile(r"\w+")
_RENDERED = re.compile(r"\w+|[^\w]+")
_WRITTEN = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|\w+|[^\w\\]+", re.DOTALL)
_SIGN = re.compile("[<>|｜]")
_GIVEN = re.compile(f"({re.escape(BOS)}|{re.escape(EOS)})")
_SIGNS: dict[str, dict[str, str]] = {
    "words": {},
    "brackets": {"<": "⟦", ">": "⟧", "[": "«", "]": "»"},
    "bare": {"<": "§", ">": "§", "[": "§", "]": "§", "|": "", "｜": ""},
}
_COMPARES = {"==", "!=", "in", "not"}
_ROUNDS = 30
_ENVIRONMENT = make_environment()

Probe = tuple[Setting, Fields | None, bool]


@dataclass
class Renamed:
    """The new template and its turns, the words that were replaced and those kept, or why it could not be done."""

    source: str = ""
    turns: list[Turn] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    failure: str | None = None


class Renaming:
    """What replaces what. The words in `opened` are also replaced where they are compared."""

    def __init__(self, seed: str, words: set[str], mode: str, opened: AbstractSet[str] = frozenset()) -> None:
        choose = random.Random(seed)
        self.signs = _SIGNS[mode]
        self.opened = opened & words
        self.words = {word: _make_word(choose) for word in sorted(words)}
        self.origins = {made: word for word, made in self.words.items()}
        self.square = re.compile(rf"\[(/?(?:{'|'.join(self.origins)})\b[^\[\]\n]*)\]") if words and self.signs else None

    def rewrite_source(self, source: str) -> str:
        """The template with its literals rewritten."""
        tokens = list(_split_tokens(source))
        solid = ["", *(value for kind, value in tokens if kind != "whitespace"), ""]
        written, index = [], 0
        for kind, value in tokens:
            index += kind != "whitespace"
            if kind == "data":
                value = self.rewrite(value, _RENDERED)
            elif kind == "string" and (value[1:-1] in self.opened or not _is_key(value, *solid[index - 1 : index + 2 : 2])):
                value = value[0] + self.rewrite(value[1:-1], _WRITTEN) + value[-1]
            written.append(value)
        return "".join(written)

    def rewrite(self, text: str, pieces: re.Pattern[str] = _RENDERED) -> str:
        """A text with words and brackets replaced; the tokens that are handed to the template stay."""
        parts = _GIVEN.split(text)
        return "".join(part if n % 2 else self._rewrite_part(part, pieces) for n, part in enumerate(parts))

    def _rewrite_part(self, text: str, pieces: re.Pattern[str]) -> str:
        text = "".join(self.words.get(piece, piece) for piece in pieces.findall(text))
        if self.square:
            # Other square brackets may be lists.
            text = self.square.sub(lambda match: f"{self.signs['[']}{match[1]}{self.signs[']']}", text)
        return _SIGN.sub(lambda match: self.signs.get(match[0], match[0]), text)


def _split_tokens(source: str) -> Iterator[tuple[str, str]]:
    """The tokens of a template with the white space that Jinja's lexer drops between them."""
    source = "\n".join(re.split(r"\r\n|\r|\n", source))
    cursor = 0
    for _, kind, value in _ENVIRONMENT.lex(source):
        start = source.index(value, cursor)
        if start > cursor:
            yield "whitespace", source[cursor:start]
        yield kind, value
        cursor = start + len(value)
    yield "whitespace", source[cursor:]


def _make_word(choose: random.Random) -> str:
    syllables = "".join(choose.choice("bdfgklmnprtvz") + choose.choice("aeiou") for _ in range(choose.randint(3, 4)))
    return syllables + choose.choice("xqj")


def _is_key(string: str, before: str, after: str) -> bool:
    """Whether a constant is looked up or compared rather than written: it is one word, or it is none at all."""
    inner = string[1:-1]
    plain = re.fullmatch(r"\w+|[^\w]*", inner) is not None or "%" in inner
    return plain and (before in _COMPARES | {"[", "(", ","} or after in _COMPARES)


def rename(study: Study, source: str, turns: list[Turn], mode: str, *, quick: bool = False) -> Renamed:
    """Rename the markers of a template whose turns are known."""
    if not turns:
        return Renamed()
    probes = list(_list_probes(study, quick))
    renders = [_read(study.oracle, probe) for probe in probes]
    candidates = _list_candidates(source, [text for text in renders if text])
    words, opened = study.markers or (candidates, set())
    renaming, renamed = _search(study.name, source, mode, words, opened, probes, renders)
    if renaming is None:
        return Renamed(failure="its renders differ by more than the renaming")
    study.markers = set(renaming.words), set(renaming.opened)
    if not (renaming.words or renaming.signs):
        return Renamed(failure="it has no marker of its own that could be renamed")
    made = build_turns(study.name, renamed, quick=quick)
    if [_outline(turn) for turn in made] != [_outline(turn) for turn in turns]:
        return Renamed(failure="its turns are not the same ones after renaming")
    return Renamed(renamed, made, renaming.words, candidates - set(renaming.words))


def _search(
    name: str,
    source: str,
    mode: str,
    words: set[str],
    opened: set[str],
    probes: list[Probe],
    renders: list[str | None],
) -> tuple[Renaming | None, str]:
    """The renaming of as many of the words as renders allow, and the renamed source."""
    words = set(words)

    def attempt(words: set[str], opened: set[str]) -> tuple[Renaming, str, set[str], int]:
        renaming = Renaming(name, words, mode, opened)
        renamed = renaming.rewrite_source(source)
        return renaming, renamed, *_find_wrong(renamed, probes, renders, renaming)

    for _ in range(_ROUNDS):
        renaming, renamed, wrong, failures = attempt(words, opened)
        if not failures:
            return renaming, renamed
        if not wrong:
            # A constant that the template looks up, too: perhaps it wrote it there itself, perhaps it came from outside.
            constants = {value[1:-1] for _, kind, value in _ENVIRONMENT.lex(source) if kind == "string"}
            keys = sorted(constants & words)
            tries = [(words, opened | {key}) for key in keys if key not in opened] + [(words - {key}, opened) for key in keys]
            counts = [attempt(*choice)[3] for choice in tries]
            if not counts or (min(counts) >= failures and len(keys) == 0):
                return None, ""
            words, opened = tries[counts.index(min(counts))] if min(counts) < failures else (words - set(keys), opened)
        words -= wrong
    return None, ""


def _outline(turn: Turn) -> str:
    return repr((turn.name, turn.switches, turn.expected, turn.unreadable))


def _list_probes(study: Study, quick: bool) -> Iterator[Probe]:
    """The renders that have to agree: of each layout the prompt and, with needles for fields, the answer."""
    seen = set()
    for conversation, layout, _ in list_layouts(study, quick=quick):
        signature = conversation.fields.signature
        if (layout.setting, signature) not in seen:
            seen.add((layout.setting, signature))
            yield layout.setting, None, True
            yield layout.setting, pick_needles(signature), False


def _read(oracle: Oracle, probe: Probe) -> str | None:
    """What follows the last question or result in a render."""
    setting, fields, asks = probe
    text = oracle.render_prompt(setting) if asks else oracle.render_full(setting, fields)
    return None if text is None else text[max(text.rfind(words) + len(words) for words in (QUESTION, RESULT)) :]


def _list_candidates(source: str, renders: Iterable[str]) -> set[str]:
    """The words around fields that the template writes itself."""
    literals = (value for _, kind, value in _ENVIRONMENT.lex(source) if kind in ("data", "string"))
    written = {piece for literal in literals for piece in _WRITTEN.findall(literal)}
    shown = {word for text in renders for word in _WORD.findall(_GIVEN.sub(" ", text))}
    return {word for word in shown & written if not word.isdigit()} - _VALUES - list_words()


def _find_wrong(source: str, probes: list[Probe], renders: list[str | None], renaming: Renaming) -> tuple[set[str], int]:
    """The words whose renaming a render contradicts, and how many renders are not as they should be."""
    try:
        oracle = Oracle(compile_template(source))
    except jinja2.TemplateError:
        return set(), len(probes) + 1
    wrong: set[str] = set()
    failures = 0
    for probe, render in zip(probes, renders, strict=True):
        got, wanted = _read(oracle, probe), None if render is None else renaming.rewrite(render)
        if got != wanted:
            failures += 1
            if got is not None and wanted is not None:
                wrong |= _find_difference(wanted, got, renaming)
    return wrong, failures


def _find_difference(wanted: str, got: str, renaming: Renaming) -> set[str]:
    """The words that make the first difference between two renders, if words do."""
    start = count_common(wanted, got)
    around = [next((m[0] for m in _WORD.finditer(text) if m.start() <= start <= m.end()), "") for text in (wanted, got)]
    found = {origin for new, origin in renaming.origins.items() if any(new in word for word in around)}
    restored = [_restore(word, renaming) for word in around]
    return found if restored[0] == restored[1] else set()


def _restore(word: str, renaming: Renaming) -> str:
    for new, origin in renaming.origins.items():
        word = word.replace(new, origin)
    return word
