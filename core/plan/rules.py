"""What may end a field: one text, and where it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, TypeVar

from ..format import Choice, Insides, Json, Kind, Node
from ..format.units import NO, get_units
from .constants import Constant, begins_apart, get_constant, is_firm, is_marked
from .echoes import fill_echoes
from .guards import SHAPES, Guard
from .landmarks import GAP, UNSHOWN, read_parts
from .mistyped import find_mark, rewrite_marks
from .scalars import BEGINNINGS, fits

_WINDOWS: Final = 512  # so many beginnings are remembered in a spot
_LONG: Final = 8  # so long is a line that is known though it is mistyped
_LETTERS: Final = 4  # so many has a mark at the end of an answer
MISTYPED: Final = "mark mistyped"
UNTYPED: Final = "type missing"

_KINDS: Final[tuple[Kind, ...]] = ("id", "name", "key", "end", "arguments", "value", "reasoning", "content", "start")

_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")


def remember(known: dict[_Asked, _Found], asked: _Asked, found: _Found) -> _Found:
    """Keep what was found among what is known, which never becomes much, and return it."""
    if len(known) >= _WINDOWS:
        known.clear()
    known[asked] = found
    return found


@dataclass(frozen=True)
class Rule:
    """One text that may end a field, and the fields that may begin behind it, all of one kind.

    ``closes`` is set where it ends the call; ``recovery`` names what was relaxed where no render shows the text; ``marked``
    tells that whatever it opens is a call, also of a tool that the request does not have, ``cut`` that the output may end
    anywhere in the text. A ``loose`` one is matched by its marks whatever layout it has, though they are those of data, one that is
    ``laid`` with its layout to the letter, because that is what tells it from another. ``spelling`` is that of its marks, by its
    number: 0 for that of the template.
    """

    parts: tuple[str, ...]
    targets: tuple[Node, ...]
    opens: bool = False
    closes: bool = False
    recovery: str = ""
    guard: Guard = ""
    marked: bool = False
    cut: bool = False
    loose: bool = False
    laid: bool = False
    spelling: int = 0
    is_shown: bool = field(default=False, compare=False)
    """Of a recovery: whether its own text is one that a render shows, and what is relaxed stands behind it."""
    kind: Kind = field(init=False, compare=False, repr=False)  # that of the fields behind it
    constant: Constant = field(init=False, compare=False, repr=False)
    initials: frozenset[str] = field(init=False, compare=False, repr=False)
    """The signs of which one stands where it matches, behind white space; none where that may be anything."""
    mark: str = field(init=False, compare=False, repr=False)
    """The mark at its beginning that may be mistyped: of what ends a field, or begins or ends a call, and is no guess itself."""
    spots: dict[tuple[str, bool], Any] = field(init=False, compare=False, repr=False, default_factory=dict)
    """The spots behind it, by their graph and whether calls may begin there, as they are asked for."""
    _made: dict[tuple[str, ...], Rule] = field(init=False, compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        constant = get_constant(self.parts, self.laid)
        object.__setattr__(self, "kind", self.targets[0].kind)
        object.__setattr__(self, "constant", constant)
        object.__setattr__(self, "marked", self.marked or constant.marked)
        object.__setattr__(self, "initials", frozenset(constant.core[:1]) or self._list_initials())
        told = not self.recovery or self.guard == "owed"
        object.__setattr__(self, "mark", find_mark(self.parts[0].lstrip()) if told else "")

    def _list_initials(self) -> frozenset[str]:
        """Return what may stand behind a rule without a text: an object, where arguments are told by nothing else."""
        if self.kind != "arguments" or not self.recovery:
            return frozenset()
        codecs = [node.codec.within for node in self.targets if isinstance(node.codec, Json) and node.codec.within]
        return frozenset("{").union(*(get_units(codec).first for codec in codecs))

    def name_recovery(self, recovery: str) -> Rule:
        """Return the same rule where it is a recovery of that name, if it is none yet and there is a name."""
        return self if self.recovery or not recovery else self._make("named", recovery, recovery=recovery, is_shown=True)

    def _make(self, *key: str, **changes: Any) -> Rule:
        """Return the same rule with something else in it; made once for a key, as a place may ask often."""
        return self._made.get(key) or remember(self._made, key, replace(self, **changes))

    def fill(self, find: Callable[[str], str | None]) -> Rule | None:
        """Return the same rule with the words that it repeats, found by the kind of their field; None where one is not known."""
        if not self.constant.echoes:
            return self
        words = [find(kind) or "" for kind in self.constant.echoes]
        made = self._made.get(("filled", *words))
        if made is not None or not all(words):
            return made
        parts = tuple(part for each in self.parts if (part := fill_echoes(each, find)) is not None)
        return self._make("filled", *words, parts=parts) if len(parts) == len(self.parts) else None

    def mistype(self) -> Rule:
        """Return the same rule for what is like its text, which is long enough to tell what it is, also amid a line."""
        return self._make("mistyped", recovery=MISTYPED, guard=self._guard_mistyped("turn"))

    def rewrite(self, written: str, own: frozenset[str]) -> Rule | None:
        """Return the same rule with other marks at its beginning, if what follows tells that they are meant.

        None where none is another one mistyped, as they are alike or stand in a text of the format's ``own``.
        """
        first, odd = rewrite_marks(self.parts[0].lstrip(), written)
        whole = [mark for mark in odd if not mark[-1].isalnum()]  # else its last bracket is missing
        if not odd or any(mark in text and mark + mark[-1] not in text for mark in whole for text in own):
            return None
        parts = (self.constant.lead + first, *self.parts[1:])
        return self._make("rewritten", written, parts=parts, recovery=MISTYPED, guard=self._guard_mistyped("line"))

    def _guard_mistyped(self, text: Guard) -> Guard:
        """Return what must hold for the rule where it is mistyped; ``text`` is that where it leads to a text."""
        if self.kind == "key":
            return "entry"
        if self.closes:
            return "ending"
        if self.opens:
            return "known"
        return text if self.kind == "content" and self.targets[0] not in UNSHOWN else ""

    def goes_on(self, rules: Iterable[Rule], types: tuple[str, ...]) -> bool:
        """Whether it begins as one of some rules does that leads to a text, or to a list or an object that may be of some types,
        which may begin with the rest."""
        leading = (rule for rule in rules if rule.kind == "value" and rule.constant.text != self.constant.text)
        longer = (rule.targets[0] for rule in leading if self.constant.text.startswith(rule.constant.text))
        return any(node.type == "string" or (isinstance(node.codec, Insides) and fits(node.type, types)) for node in longer)

    @property
    def is_told(self) -> bool:
        """Whether what it leads to is one of a few words."""
        return all(isinstance(node.codec, Choice) and all(word for word, _ in node.codec.words) for node in self.targets)

    @property
    def is_likely(self) -> bool:
        """Whether a render shows its text, which is long enough to be known if mistyped: where a line begins, or by its signs."""
        constant = self.constant
        told = not (self.recovery or self.guard or constant.echoes or constant.line)
        return told and len(constant.core) >= _LONG and ("\n" in constant.lead or begins_apart(constant.core))

    @property
    def ends_answers(self) -> bool:
        """Whether its mark ends turns, and has so many letters that nothing like it ends an answer by chance."""
        return self.kind == "end" and sum(map(str.isalnum, self.mark)) >= _LETTERS

    def may_match(self, window: str) -> bool:
        """Whether it may match where some characters stand, whatever follows them."""
        bare = window.lstrip()
        if not bare or self.constant.echoes or self.guard in ("whole", "like", "fence", "unfenced"):
            return True  # it is told when it is looked for
        return self.constant.match_core(bare, 0, False) != NO or self.constant.match_exactly(window, 0, False) != NO

    @property
    def is_exact(self) -> bool:
        """Whether its layout is matched to the letter: it tells it from another, or quotes lead to a key, as they may to others."""
        return self.laid or (self.kind == "key" and self.targets[0].signs != "")

    @property
    def head(self) -> str:
        """The first characters of what is looked for."""
        return self.constant.core[:1] if self.loose else self.constant.head


@lru_cache(maxsize=1024)
def list_repeats(constant: Constant, kind: Kind, types: tuple[str, ...]) -> tuple[str, ...]:
    """Return what of a text, doubled, is no part of a field behind it, given the types that its schema allows, if they are known:
    no field begins so but a text, which does not with several marks."""
    core, last = constant.core, constant.last or constant.atoms[-1].text
    if kind != "value":
        return tuple(text for text in (core, last if kind == "arguments" else "") if is_firm(text))
    if types and "string" not in types:
        begun = set().union(*(BEGINNINGS[each] for each in types))
        return tuple(text for text in (core, last) if is_firm(text) or text[0] not in begun)
    return (core,) if is_marked(last) and core != last and is_firm(core.removesuffix(last)) else ()


def make_rules(
    texts: Iterable[str], to: Node | tuple[Node, ...], recovery: str = "", guard: Guard = "", **flags: bool
) -> list[Rule]:
    """Return rules by which texts, with a counter for each :data:`COUNTER`, lead to a field, or to one of some."""
    nodes = (to,) if isinstance(to, Node) else to
    return [Rule(read_parts(text), nodes, recovery=recovery, guard=guard, **flags) for text in texts]


def make_openings(
    pairs: Iterable[tuple[str, Node | tuple[Node, ...]]], recovery: str, guard: Guard = "", loose: bool = False
) -> list[Rule]:
    """Return rules by which texts begin a call, each given with the fields behind it."""
    return [rule for text, to in pairs for rule in make_rules([text], to, recovery, guard, opens=True, loose=loose)]


def make_closes(texts: Iterable[str], recovery: str, guard: Guard = "", loose: bool = False) -> list[Rule]:
    """Return rules by which texts end a call."""
    return make_rules(texts, GAP, recovery, guard, closes=True, loose=loose)


def sort_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Merge rules that say the same, and put what render shows before recoveries, longer texts before shorter ones."""
    merged: dict[tuple[object, ...], Rule] = {}
    for rule in rules:
        key = rule.parts, rule.kind, rule.opens, rule.closes, rule.guard, bool(rule.recovery), rule.spelling
        known = merged.get(key)
        if known is None:
            merged[key] = rule
        else:
            targets = known.targets + tuple(node for node in rule.targets if node not in known.targets)
            merged[key] = replace(known, targets=targets, cut=known.cut or rule.cut)
    shown = {(rule.parts, rule.kind, rule.opens, rule.loose) for rule in merged.values() if not (rule.recovery or rule.guard)}
    kept = [rule for rule in merged.values() if not rule.recovery or (rule.parts, rule.kind, rule.opens, rule.loose) not in shown]

    def rank(rule: Rule) -> tuple[object, ...]:
        plain = not rule.constant.core and rule.kind in ("content", "reasoning")  # text begins where nothing else does
        guessed = rule.guard in SHAPES or rule.guard == "like"
        empty = rule.kind == "end" and not rule.constant.text  # what ends the list or object around it tells more than a key
        relaxed = bool(rule.recovery) and not (rule.loose and rule.guard == "entry")  # a key that may come tells more than an end
        return plain, relaxed, guessed, not rule.spelling, -rule.constant.size, not empty, _KINDS.index(rule.kind)

    return tuple(sorted(kept, key=rank))
