"""The fields in which a parser stands, each with all rules that may end it at hand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from ..format import Insides, Kind, Node, Text
from ..format.cut import cut_common_start, find_common_start
from ..format.units import get_units
from .constants import DATA, SIGNS, find_cuts, is_marked, sort_longest
from .echoes import cut_echo
from .landmarks import NAMED_FIELDS, SILENT, UNSHOWN
from .rules import Rule, remember
from .scalars import BEGINNINGS, fits

_WIDTH: Final = 16  # characters by which rules are told apart before they are tried
_SPAN: Final = 64  # characters of a mark by which others are told from it
_END: Final = r"\Z"
_BLANKS: Final = 256  # so much white space may be layout before what follows
_WORD: Final = 6  # so many letters tell that a text may begin which begins with letters


class Wait:
    """What looking ahead answers where more of the output is needed: nothing is decided as long as what comes is ``text``, nor
    behind that before something is there ``until`` which it waits, or so much is ``held``, if that is said, else as much as a name
    may have."""

    def __init__(self, text: str = "", until: re.Pattern[str] | None = None, held: int = 0) -> None:
        self.text = text
        self.until = until
        self.held = held


WAIT: Final = Wait()
"""The same where anything may decide."""


class Spot:
    """A field that is being read: the nodes that it may be, and the rules that may end it, the one to try first before others."""

    def __init__(self, graph: str, nodes: tuple[Node, ...], rules: tuple[Rule, ...]) -> None:
        self.graph = graph
        self.nodes = nodes
        self.kind = nodes[0].kind
        self.shown = nodes[0] not in UNSHOWN  # a field of the format, and no place behind calls
        self.silent = nodes[0] in SILENT
        self.nests = any(isinstance(node.codec, Insides) for node in nodes)
        texts = [(node, node.codec) for node in nodes if isinstance(node.codec, Text)]
        self.strings = [node for node in nodes if node.type == "string"]
        bare = self.kind == "value" and not (texts or self.nests)
        self.tells_value = bare and all(node.type in BEGINNINGS for node in nodes)
        """Whether the first sign of a value tells that it is none of these."""
        self.texts, codecs = [node for node, _ in texts], [codec for _, codec in texts]
        self.raw = any(not codec.quoted for codec in codecs)  # whether nothing but what follows a text ends it
        self.told = any(codec.told for codec in codecs)  # whether only the schema tells a text from JSON
        self.codec = codecs[0] if codecs else Text()
        self.units = get_units(self.codec)
        self.repeats_key = self.codec.repeats_key
        self.holds_signs = bool(self.codec.escapes) or self.codec.quoted  # else those of data are none of a key
        self.parts_lines = any(char == "\n" for _, char in self.codec.escapes)
        """Whether no line ends within a text as it does elsewhere."""
        shown = [rule.constant for rule in rules if rule.constant.core and not (rule.recovery or rule.guard)]
        amid = {each.core for each in shown} - {each.core for each in shown if each.text[0] == "\n"}  # what ends no line
        marked = any(char == "\n" == written[0] != written for written, char in self.codec.escapes)
        self.lined = marked or (self.parts_lines and bool(shown) and not amid)
        """Whether a line ends where a text does, and nowhere in it, but for those that have a mark before them."""
        self.holds = self.lined or any(map(self.units.bars_start, (each.core for each in shown)))
        """Whether the notation of a text tells what is within it, whatever that looks like."""
        self.rules = rules
        self.mistypable = [rule for rule in rules if rule.mark]
        self.likely = [rule for rule in rules if rule.is_likely]
        self.openings = tuple(rule.constant.core for rule in rules if rule.guard == "sample")
        marks = sorted({rule.parts[-1].strip() for rule in rules if is_marked(rule.parts[-1]) and not rule.recovery})
        self.mark_behind = re.compile("|".join(map(re.escape, reversed(marks)))) if marks else None
        """What finds the marks behind a field."""
        self.pattern, self.quick = _compile_search(self.kind, rules, self.codec)
        self._firsts = [(rule, rule.head if rule.loose else rule.constant.first[:_WIDTH]) for rule in rules]
        self.width = max((len(text) for _, text in self._firsts), default=0)
        known = [each.core[:_SPAN] for each in shown if not (each.echoes or each.counts)]
        self._marks = tuple(mark for mark in known if len(mark) > self.width)
        self._narrowed: dict[str, tuple[tuple[Rule, ...], Wait | None]] = {}
        self.crossings: tuple[Any, ...] | None = None  # what may part a value here from the next one, once that was asked
        self.inner_crossings: tuple[Any, ...] | None = None  # the same within a list or an object
        self.short_end = self._compile_short_end()
        self._starts: tuple[str, ...] = ()
        self._sorted: dict[tuple[str, tuple[str, ...]], tuple[Rule, ...]] = {}

    def fill(self, key: str) -> Spot:
        """Return the field as the value of a key, which stands in what a line break is written as."""
        nodes = (replace(node, codec=node.codec.fill(key)) if isinstance(node.codec, Text) else node for node in self.nodes)
        return Spot(self.graph, tuple(nodes), self.rules)

    @property
    def fallback(self) -> Rule | None:
        """What a turn begins with where none of the rules of its beginning matches; None where that is content of its own.

        It is text without a mark, reasoning before content, or reasoning wherever nothing else may begin.
        """
        shown = [rule for rule in self.rules if not rule.recovery and rule.kind != "end"]
        plain = sorted((rule for rule in shown if not rule.constant.core), key=lambda rule: rule.kind != "reasoning")
        if not plain and all(rule.kind == "reasoning" for rule in shown):
            return next(iter(shown), None)
        return next((rule for rule in plain if rule.kind in ("reasoning", "content")), None)

    def list_behind(self, sign: str, types: tuple[str, ...] = ()) -> tuple[Rule, ...]:
        """Return the rules that a character may begin behind any white space, all for white space or nothing; behind the others
        what leads to values that are of none of some types, if these are known. Where no text is wanted, which may begin with
        anything, what goes on behind what leads to the others, with more than a quote, comes before that all the same."""
        found = self._sorted.get((sign, types))
        if found is None:
            blank = not sign or sign.isspace()
            rules = [rule for rule in self.rules if blank or not rule.initials or sign in rule.initials or rule.constant.counts]
            values = [rule for rule in rules if rule.kind == "value"]
            fitting = [rule.constant for rule in values if any(fits(node.type, types) for node in rule.targets)]
            odd = (rule for rule in values if rule.constant not in fitting)
            others = [rule for rule in odd if "string" in types or not any(rule.constant.extends(one) for one in fitting)]
            found = remember(self._sorted, (sign, types), (*(rule for rule in rules if rule not in others), *others))
        return found

    def _compile_short_end(self) -> re.Pattern[str] | None:
        """Return what a text must hold for a short field to end in it; None where that may be anything."""
        if self.kind not in NAMED_FIELDS or not all(rule.initials for rule in self.rules):
            return None
        signs = self.units.first.union(*(rule.initials for rule in self.rules))
        counter = r"\d" if any(rule.constant.counts for rule in self.rules) else ""
        return re.compile(rf"[\s{counter}{''.join(sorted(map(re.escape, signs)))}]|{SIGNS.pattern}")

    def find_shared(self) -> str:
        """Return what stands behind the field, whatever follows."""
        return cut_common_start([rule.constant.text for rule in self.rules if not rule.recovery and rule.constant.text] or [""])

    @property
    def starts_behind(self) -> tuple[str, ...]:
        """The beginnings of what stands behind the field, whatever follows, the whole of it last."""
        if not self._starts:
            shared = self.find_shared()
            self._starts = ("", *dict.fromkeys(shared[:place].strip() for place in find_cuts(shared)))
        return self._starts

    def goes_beyond(self, escape: str) -> bool:
        """Whether a text that a template writes here begins with an escape and goes on."""
        texts = (cut_echo(rule.constant.text) for rule in self.rules if not rule.recovery)
        return any(text.startswith(escape) and text != escape for text in texts)

    def find_short_end(self, buffer: str, at: int, limit: int) -> int:
        """Return the first place from one on at which a short field may end, the limit where there is none before that."""
        if self.short_end is None:
            return at
        found = self.short_end.search(buffer, at, limit)
        return found.start() if found else max(at, limit)

    def cut_window(self, buffer: str, at: int) -> str:
        """Return the characters at a place by which :meth:`narrow` tells rules apart, of which there are few: as many as rules are
        known by, or a mark that renders show here as far as it stands there."""
        window = buffer[at : at + self.width]
        for mark in self._marks:
            if mark.startswith(window):
                whole = buffer[at : at + len(mark)]
                if mark.startswith(whole):
                    return whole
        return window

    def narrow(self, window: str) -> tuple[tuple[Rule, ...], Wait | None]:
        """Return the rules that may match at a place, in their order, and what they wait for if all need more than there is."""
        found = self._narrowed.get(window)
        if found is None:
            bare = window.lstrip()[:1]
            data = bare in DATA  # may have other layout, and so may what ends a turn behind a call
            kept: list[tuple[Rule, str, bool]] = []
            for rule, text in self._firsts:
                begins = window.startswith(text) or text.startswith(window)
                laid = bare != "" and (data or (rule.kind == "end" and not self.shown)) and rule.constant.core.startswith(bare)
                if (begins or laid) and rule.may_match(window):
                    kept.append((rule, text, begins))
            told = [each for each in kept if each[0].guard != "like"]  # whatever is like them, they come first
            short = bool(told) and all(begins and len(text) > len(window) for _, text, begins in told)
            rests = [rule.constant.first[len(window) :] if rule.constant.firm else "" for rule, _, _ in told]
            wait = Wait(rests[0][: find_common_start(*rests)]) if short else None
            found = remember(self._narrowed, window, (tuple(rule for rule, _, _ in kept), wait))
        return found


def _list_choices(heads: Iterable[str], words: Iterable[str]) -> list[str]:
    """Return patterns that find texts, and their beginnings where a text ends; words only where one begins.

    That no letter stands before a word is asked behind it: a pattern whose choices all begin with a letter of their own is
    searched for twice as fast.
    """
    begun = [rf"{word}(?<!\w{word.removesuffix(_END)})" for word in _list_begun(words)]
    return _list_begun(heads) + begun


def _list_begun(heads: Iterable[str]) -> list[str]:
    begun = {head[:size] for head in heads for size in range(1, len(head))}
    return list(map(re.escape, sort_longest(heads))) + [re.escape(half) + _END for half in sort_longest(begun)]


def _compile_search(kind: Kind, rules: tuple[Rule, ...], codec: Text) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds the places at which a rule or an escape may begin, and what tells that a text has no such place.

    White space at the end waits only where it may be layout of a rule, and for recoveries only line breaks do, and words that
    begin as words, as those do that have layout before them; the second one also finds what JSON escapes in a value.
    """
    worded = [rule for rule in rules if rule.head[:1].isalnum() and (rule.recovery or rule.constant.lead)]
    shown = {rule.head for rule in rules if rule.head and rule not in worded}
    words = {rule.head for rule in rules if rule.head} - shown
    escapes = {*get_units(codec).written, *get_units(codec).trimmed}
    escapes |= {numeral.before for numeral in codec.numerals}
    if any(rule.kind == "end" and not rule.constant.text for rule in rules):
        escapes |= set(codec.images)  # what cannot stand in the text belongs to what follows it
    heads = shown | escapes
    leads = {(sign, bool(rule.recovery)) for rule in rules if rule.constant.firm for sign in rule.constant.lead}
    blank = sorted({sign for sign, guessed in leads if not (guessed and sign == " ")})
    counters = [r"\d"] if any(not rule.parts[0] and len(rule.parts) > 1 for rule in rules) else []
    indented = [f"\\\n[ \t]{{1,{_BLANKS}}}\\Z"] * any(rule.recovery and rule.constant.lead[:2] == "\n " for rule in rules)
    laid = "".join(map(re.escape, blank))
    waits = [rf"{re.escape(sign)}[{laid}]{{0,{_BLANKS - 1}}}\Z" for sign in blank] + indented + counters
    choices = _list_choices(heads, words) + waits
    # A sign alone is rare in a text, a letter is not. What begins with letters only is found quickest.
    starts, begun = ({head[: _WORD if head[0].isalnum() else 1] for head in each} for each in (heads, words))
    quick = _list_choices(starts, begun) + [rf"{re.escape(sign)}\Z" for sign in blank] + indented + counters
    # A line may begin a call, and code in reasoning may speak of marks.
    more = '"\\' + "".join(map(chr, range(0x20))) if kind == "value" else "\n`" if kind == "reasoning" else "\n"
    return _compile_choices(choices), _compile_choices(quick + list(map(re.escape, more)))


def _compile_choices(choices: Iterable[str]) -> re.Pattern[str]:
    """Return what finds the first of some patterns that begin with a sign each: such as begin alike stand together, so that
    whatever else is there is passed by at once."""
    begun: dict[str, list[str]] = {}
    for choice in choices:
        sign = choice[: 1 + (choice[0] == "\\")]
        begun.setdefault(sign, []).append(choice[len(sign) :])
    return re.compile("|".join(f"{sign}(?:{'|'.join(rests)})" for sign, rests in begun.items()) or r"(?!)")
