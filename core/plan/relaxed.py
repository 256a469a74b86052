"""Rules for what no render shows: marks that a model leaves out, writes twice, or writes with other layout.

Each names what it relaxes (``Rule.recovery``) and what must hold for it (``Rule.guard``). Rules that a render shows come first
in every spot; see :mod:`.plan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from string import ascii_letters
from typing import Final

from ..format import Choice, Node, Text, TurnGraph
from ..format.cut import cut_common_start, find_closer, find_common_end, find_common_start
from ..format.units import get_units
from ..format.view import find_header
from ..recover.notation import SIGNS, Notation
from ..schema import TYPES
from .constants import BRACKETS, DATA, begins_apart, cut_first, find_cuts, is_marked, is_plain, is_word_in_signs, leave_out
from .echoes import ECHOES, has_echo
from .ends import MISSING
from .entries import OTHER_SEPARATOR
from .guards import Guard
from .landmarks import (
    AFTER,
    BODY,
    ENCODED,
    END,
    FENCED,
    FIELDS,
    MUTE,
    NAMED_FIELDS,
    OVER,
    QUOTES,
    SHORT_FIELDS,
    TURN,
    UNQUOTED,
    UNSHOWN,
    Link,
    tells_end,
)
from .mistyped import BEGUN, LETTERS, LIKE, strip_accent
from .openings import Openings
from .rules import MISTYPED, UNTYPED, Rule, make_closes, make_openings, make_rules

CLOSED_FIELD: Final = "value closed by its key"
WRAPPED: Final = "mark of another format"
OVERRUN: Final = "message of another role"
OWN_TURN: Final = "another turn of the model"
STRAY_END: Final = "stray end of a call"
_NAMED: Final = (str, int, float, bool, list, tuple, dict)
_TYPES: Final = (*(kind.__name__ for kind in _NAMED), *TYPES, "none", "true", "false", "yes", "no")
"""The words for types that Python and JSON Schema have, and those that say whether something is of one."""


_ASSIGNING: Final = ("=", ":", ":=", "=>")
"""What people put between a key and its value."""
_ASSIGNS: Final = re.compile(r":=?|=>?")
_BEGINNING: Final = "\"'`([{"  # of values
_SPAN: Final = 64  # characters at most of what ends a turn, that its words are those of calls
_WORD: Final = re.compile(r"\w+")


def _is_even(text: str) -> bool:
    """Whether no bracket of data and no quote is open in a text, nor closed that was opened before it."""
    return all(text.count(opens) == text.count(closes) for opens, closes in ("[]", "{}", "()")) and text.count('"') % 2 == 0


def _begins_in_signs(text: str) -> bool:
    """Whether a text begins with a word between signs, as no line of prose or heading does."""
    return any(is_word_in_signs(text[:place].rstrip()) for place in find_cuts(text) if place)


def _stands_alone(text: str) -> bool:
    """Whether a text is a mark with a word in it that is part of no sentence and begins as no data ends."""
    odd = not (DATA.issuperset(text[:2]) or any(map(str.isalnum, text[:2])) or text[:1] in ".,;:!?>")
    return is_marked(text) and (is_word_in_signs(text) or (odd and is_marked(text.split()[0]) and any(map(str.isalnum, text))))


def _split_type(texts: set[str]) -> tuple[str, set[str], str]:
    """Return what texts that tell types begin with, the words in them, and what they end with."""
    if len(texts) < 2:
        return "", texts, ""
    one = next(iter(texts))
    start = len(one[: find_common_start(*texts)].rstrip(ascii_letters))  # within a mark, too, but never within a word
    behind = one[len(one) - find_common_end(*texts) :].lstrip(ascii_letters)
    return one[:start], {text[start : len(text) - len(behind)] for text in texts}, behind


def list_near_answers(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Return rules that lead to an answer without the first sign of the mark before it, or in other letters, where that is a word
    in its own line."""
    for rule in rules:
        lead, core = rule.constant.lead, rule.parts[0].lstrip()
        if rule.kind != "content" or rule.laid or rule.recovery or len(rule.parts) > 1 or not core.strip():
            continue
        if rule.constant.label:
            others = (text for text in (core.upper(), core.lower()) if text != core)
            yield from (replace(rule, parts=(lead + text,), recovery=MISTYPED) for text in others)
        elif not core[0].isalnum() and any(map(str.isalnum, cut_first(core))):
            yield replace(rule, parts=(lead + core[1:],), recovery=MISTYPED, guard="" if lead else "told")


class Relaxations(Openings):
    """Makes such rules for calls, and for what stands behind them."""

    def __init__(self, graph: TurnGraph) -> None:
        super().__init__(graph)
        self.notation = self._find_notation()
        self.bare_calls = bool(self.openers) and all(text.strip()[:1] in ("{", "[") for text, _ in self.openers)
        """Whether nothing but data begins calls."""

    def _list_overruns(self, node: Node) -> list[Rule]:
        """Return what begins the message of another role behind the end of the turn, or alone where a turn may have none."""
        ends = {text.rstrip() for text in self.list_end_texts()}
        endless = node.kind == "content" and not {end.strip() for end in ends}.isdisjoint(("", *self.others))
        first = [other for other in self.others if not any(text.endswith(other) for text in self.others if text != other)]
        texts = [f"{end}\n{other}" for end in sorted(ends.union(self.heads) - {""}) for other in self.others]
        texts += [f"{end}\n{line}" for end in sorted(ends) for line in self._list_other_lines() if end.strip()]
        alone = [other for other in first if endless and _begins_in_signs(other)]
        rules = make_rules(texts, OVER, OVERRUN, "turn") + make_rules(alone, OVER, OVERRUN, "alone")
        return rules + make_rules(self.others, OVER, OVERRUN, "sample")

    def _list_overruns_behind(self) -> list[Rule]:
        """Return the same right behind a call, where no end of the turn need stand; a word and a colon may begin a text there."""
        marks = [other for other in self.others if is_marked(other.strip(":"))]
        words = [other for other in self.others if other not in marks]
        words += self._list_other_lines()
        return make_rules(marks, OVER, OVERRUN, "fresh") + make_rules(words, OVER, OVERRUN, "over")

    def _list_other_lines(self) -> list[str]:
        """Return the lines of several words with which messages of other roles begin that have no mark, none of the own ones."""
        own = find_header(self.graph).strip()
        return [line for line in self.other_lines if len(line.split()) > 1 and not own.startswith(line)]

    def _list_own_turns(self, node: Node, drops: bool) -> list[Rule]:
        """Return what ends a turn and begins another one of the model's, in formats in which a turn has one beginning: a call in it
        is one, and so is an answer, or a thought, if none has come. All else goes with it if it ``drops`` what a server would not
        have seen."""
        header = find_header(self.graph).strip()
        if not is_marked(header) or any(header in link.text for link in (*self.links, *chain(*self.firsts))):
            return []
        begun = [f"{end}\n{header}" for end in sorted({text.strip() for text in self.list_end_texts()}) if is_marked(end)]
        begun += [header] if node in UNSHOWN else []  # what ends the turn is read there
        pairs = ((f"{text}\n{opener.strip()}", to) for text in begun for opener, to in self.openers)
        rules = make_openings(pairs, OWN_TURN, "known")
        dropped = begun if drops else ()
        if node in UNSHOWN:
            return rules + make_rules(dropped, OVER, OVERRUN, "fresh")
        guard: Guard = "fresh" if node.kind == "content" else ""
        thoughts = (f"{text}\n{self.reasoning_start}" for text in begun if self.reasoning_start.strip())
        rules += make_rules(thoughts, self.list_nodes("reasoning"), OWN_TURN, guard)
        rules += make_rules(begun, self.list_nodes("content") or (AFTER,), OWN_TURN, guard)
        return rules + (make_rules(dropped, OVER, OVERRUN, "alone") if guard else [])

    def _list_begun_thoughts(self, guard: Guard) -> list[Rule]:
        """Return what begins reasoning, or the first mark of that, at the end of an output."""
        first = cut_first(self.reasoning_start)
        told = is_word_in_signs(first) and not any(first in opener for opener, _ in self.openers)
        begun = [f"{text}\n{end}" for text in {first, self.reasoning_start} for end in ("", *self.stops)] if told else []
        return make_rules(sorted(begun), END, "thought begun at the end", guard)

    def _list_stray_ends(self) -> list[Rule]:
        """Return marks of reasoning and of calls without any, which models leave behind an answer."""
        ends = [text for text in self.reasoning_ends if is_marked(text)]
        empty = [f"{self.reasoning_start}\n{text}" for text in ends if self.reasoning_start]
        texts = [*ends, *empty, *(f"{one}\n{two}" for one in empty for two in ends)]
        texts = [f"{text}\n{end}" for text in texts for end in ("", *self.stops)]
        rules = make_rules(texts, END, "stray end of reasoning", "thought")
        rules += self._list_begun_thoughts("alone")
        calls = [text for text in self._list_closings() if _stands_alone(text)]
        whole = [(self.closes[node.name] or "") + self.section_close for node in self.list_nodes("value")]
        places = [(text, find_cuts(text)) for text in dict.fromkeys(whole)]
        inner = {text[start:end].strip() for text, cuts in places for start, end in combinations(cuts, 2)}
        inner = {text for text in inner if not (has_echo(text) or any(text in opener for opener, _ in self.openers))}
        calls += sorted(text for text in inner if _stands_alone(text.split("\n")[0]))
        texts = [f"{text}\n{end}" for text in calls for end in ("", *self.stops)]
        rules += make_rules((f"{text}\n" for text in calls), self.list_nodes("content") or (AFTER,), STRAY_END, "fresh", laid=True)
        return rules + make_rules(texts, END, STRAY_END, "orphan")

    @staticmethod
    def _list_like(rules: Iterable[Rule], node: Node) -> list[Rule]:
        """Return what marks begin with that are like those of some rules, for models that mistype them, and in reasoning and
        content what other texts and lines do; a value may hold what is like these."""
        marks = [rule.mark for rule in rules if rule.mark]
        likely = [rule.constant for rule in rules if rule.is_likely and node.kind not in FIELDS]
        starts = {mark[:LIKE] for mark in marks}
        starts |= {f"{sign}/" for sign in "<[" for mark in marks if "/" in mark[: LIKE + 1]}  # with fewer signs, or other ones
        cores = [constant.core for constant in likely if begins_apart(constant.core)]
        signs = [text[:BEGUN] for core in cores for text in (core, "".join(core.split()))]
        signs += ["".join(map(strip_accent, text)) for text in signs]
        starts |= {*signs, *map(str.lower, signs), *map(str.upper, signs)}
        lines = [constant.core for constant in likely if "\n" in constant.lead]
        firsts = {core[1] for core in lines}.union(core[0] for core in lines if is_plain(core[0])) - {" ", "\n"}
        starts |= {f"\n{case}" for sign in firsts for case in (sign.lower(), sign.upper())}
        return make_rules(sorted(starts), node, MISTYPED, "like")

    def _list_signs(self, node: Node) -> Iterator[Rule]:
        """Return the other sign that people put between a key and its value, where one of both is all that stands there, its last
        sign, or none where a quote follows."""
        if node.kind != "key":
            return
        written = {link.text.strip() for link in self.list_links("key")}
        signs = {own[0] for own in map(_ASSIGNS.match, written) if own}
        if len(signs) > 1:  # which of them it is says of what type the value is
            return
        needed = "" in written  # a key may be one without a value
        for link in self.leave(node):
            if own := _ASSIGNS.match(text := link.text.lstrip()):
                rest = text[own.end() :]
                others = [sign for sign in (*_ASSIGNING, own[0][1:]) if sign and sign != own[0]]
                texts = [f" {sign}{rest}" for sign in dict.fromkeys(others)]
                texts += [f" {rest.lstrip()}"] if rest.strip() and not needed else []
                yield from make_rules(texts, link.to, "value in other notation")

    def _list_other_marks(self, node: Node) -> Iterator[Rule]:
        """Return what stands behind a short field without its first sign, and before an id without its last, where it has no word
        by which it were told if it is mistyped, but several signs; before arguments behind a name also signs that stand twice.
        Behind a name or a key it may begin with what ends another field."""
        marks = sorted(filter(is_marked, {cut_first(link.text) for link in self.list_links(*FIELDS)}))
        for link in self.list_inner(node) if node.kind in NAMED_FIELDS or node.kind == "arguments" else ():
            bare, first = link.text.strip(), cut_first(link.text)
            rest = link.text.lstrip().removeprefix(first)
            if node.kind != "arguments" and is_marked(first) and is_marked(rest):
                yield from make_rules((mark + rest for mark in marks if mark != first), link.to, MISTYPED)
            if not bare or sum(map(str.isalnum, bare)) >= LETTERS:
                continue
            headless, endless = bare[1:].lstrip(), bare[:-1].rstrip()
            told = node.kind != "arguments" and not headless[:1].isalnum()  # else it may be the end of what stands before it
            halves = ([headless] if told else []) + ([endless] if link.to.kind == "id" else [])
            texts = [link.text.replace(bare, half) for half in halves if len(half) > 1]
            if node.kind == "name" and link.to.kind == "arguments":  # a tool with an object behind it tells
                texts += filter(None, (headless, endless, f"{bare}\n{bare}"))
            yield from make_rules(texts, link.to, MISTYPED, "known" if node.kind == "name" else "")

    @staticmethod
    def _list_commas(node: Node, links: Sequence[Link]) -> list[Rule]:
        """Return what leads to a further item of a list or an object with a comma where white space alone parts them."""
        if not tells_end(node):
            return []
        own = len(cut_common_start([link.text for link in links]).rstrip())
        further = [link for link in links if link.to.kind != "end" and link.text[own : own + 1].isspace()]
        texts = [(f"{link.text[:own]},{link.text[own:]}", link.to) for link in further]
        return [rule for text, to in texts for rule in make_rules([text], to, OTHER_SEPARATOR)]

    def _list_closed_fields(self, node: Node) -> Iterator[Rule]:
        """Return what leads on behind a value that the model has closed by the image of the mark with its key, where the template
        leaves it open."""
        own = self.ends[node.name].rstrip()
        if node.kind != "value" or "/" in own or not tells_end(node):
            return
        entries = [link for link in self.list_links(*FIELDS) if link.to.kind == "key"]
        around = {link.text[-1:] + behind.text[:1] for link in entries for behind in self.leave(link.to)}
        closed = {pair for pair in around if len(pair) == 2 and (pair in BRACKETS or find_closer(pair[0]) == pair[1])}
        for pair in sorted(closed):
            mark, close = f"{own}\n{pair[0]}/{ECHOES['key']}{pair[1]}\n", self.closes[node.name]
            for link in self.list_inner(node):
                yield from make_rules([mark + link.text[len(own) :].lstrip()], link.to, CLOSED_FIELD)
            yield from make_closes([mark + close[len(own) :].lstrip()] if close else [], CLOSED_FIELD)

    def _list_other_types(self, node: Node) -> list[Rule]:
        """Return what stands between a key and its value without the word there that tells its type, or with another word for it,
        or as before a text, but for the quote; the schema may tell it."""
        if node.kind != "key":
            return []
        keys = self.list_links("key")
        texts = {link.text for link in keys if link.to.type in ("string", "integer")}
        begins, words, ends = _split_type(texts)
        targets = [link.to for link in self.leave(node)]
        ended = [link.to for link in self.leave(node) if ends.strip() and link.text.endswith(ends)]
        rules = [rule for to in ended for rule in make_rules([ends], to, UNTYPED)]
        if not (begins.strip() and all(map(str.isalpha, words))):  # texts may have no word where others have one
            other = {link.text for link in keys if link.to.type in ("integer", "boolean")}
            begins, words, ends = _split_type(other)
        if begins.strip() and all(map(str.isalpha, words)):
            shown = {link.text for link in keys}
            inner = {text.removeprefix(begins).partition(ends)[0] for text in shown if ends and text.startswith(begins)}
            told = (word for word in sorted(inner) if word.isalpha())  # a list or an object, whose inside is JSON
            others = [text for word in (*_TYPES, *told) if (text := f"{begins}{word}{ends}") not in shown]
            values = [node for node in self.list_nodes("value") if node.type in ("string", "integer")]
            alike = len({self.ends[node.name] for node in values}) < 2  # else what ends a value tells its type, too
            bare = {begins + ends, *(leave_out(begins, ends) if alike else ())}
            for to in targets:
                rules += make_rules(others, to, "type in another word") + make_rules(sorted(bare), to, UNTYPED)
        bare = {text[:-1] for text in texts if text.endswith(QUOTES)} - texts - {""}
        plain = [to for to in targets if to.type in ("integer", "number", "boolean")]
        return rules + [rule for to in plain for rule in make_rules(sorted(bare), to, UNTYPED)]

    def _list_skips(self, node: Node) -> Iterator[Rule]:
        """Return what leads on where a field was left out, or the mark before JSON: an id behind the name, or one before it."""
        # What stands where the id does is the name, unless a render shows the name there, too.
        named = {link.text for link in self.links if link.to.kind == "name"}
        either = any(link.to == node and link.text in named for link in self.links)
        for link in self.leave(node) if node.kind == "id" and not either else ():
            for behind in self.list_inner(link.to) if link.to.kind == "name" and is_marked(link.text) else ():
                yield from make_rules([behind.text] if is_marked(behind.text) else [], behind.to, MISSING, "tool")
        for link in self.leave(node) if node.kind == "name" or node.carries_name else ():
            to, text, parts = link.to, link.text, link.parts
            if len(parts) > 1 and is_marked(parts[-1]) and not (is_marked(parts[0]) or link.leaves):
                yield from make_rules(parts[-1:], to, MISSING, "tool")  # what counts the call
            if to.kind == "arguments" and text.strip() and not link.leaves:
                told = is_marked(text) and not self.envelope.arguments  # else a tool with an object behind it tells
                yield from make_rules([""], to, MISSING, "" if told else "known")
            close = self.closes.get(to.name) or ""
            if to.kind == "arguments" and close.strip():
                if not text.strip():
                    yield from make_closes([close], "no arguments", "structure")
                elif is_marked(text) and is_marked(close):
                    yield from make_closes([close], "no arguments", "ending")
            elif to.kind == "arguments" and not text.strip():
                yield from make_closes([""], "no arguments", "structure")
            for behind in self.list_inner(to) if to.kind == "id" else ():
                for bare in leave_out(text, behind.text):
                    told = is_marked(text) and is_marked(bare)
                    if bare.strip() or (bare and behind.to.kind == "arguments"):
                        yield from make_rules([bare], behind.to, MISSING, "" if told else "tool")
                marked = any(map(is_marked, leave_out(text, behind.text)))
                if marked and behind.to.kind == "arguments" and not self.envelope.arguments:
                    yield from make_rules([""], behind.to, MISSING, "tool")

    def _list_bodies(self, node: Node) -> list[Rule]:
        """Return what follows a name where arguments written as fields stand as one JSON object, or a tag closes itself."""
        if node.name not in self.bodies or self.list_nodes("arguments"):
            return []
        own = self.bodies[node.name]
        closed = [own[:-1] + "/>"] if own.endswith(">") else []
        return make_rules([own], BODY, "arguments as JSON") + make_closes(closed, "no arguments")

    def _list_empty_sections(self, target: Node) -> list[Rule]:
        """Return what opens calls with what closes them behind it, and nothing between."""
        closing = {text for text in self._closings if _is_even(text)}
        begun = (text.strip().rstrip(" [{(") for text in self._list_openings())
        opening = {start for start in begun if _is_even(start) and start.startswith(tuple(self.opening_marks))}
        pairs = [(start, end) for start in sorted(opening) for end in sorted(closing) if is_marked(start) and is_marked(end)]
        texts = {f"{start}{inner}{end}" for start, end in pairs for inner in ("", "[]") if end[0] not in "]})"}
        last = {f"{mark}\n{stop}" for mark in self.opening_marks for stop in ("", *self.stops)} if target is AFTER else ()
        guards: tuple[Guard, ...] = ("fresh", "ending", "line")
        two = (text for text in texts if not any(text in opener for opener, _ in self.openers))  # and no mark that was cut in two
        firm, name = sorted(two)[:64], "no call between marks"
        ends = make_rules(sorted(last), END, name, "fresh")
        marked = AFTER if self.wraps_content else target  # an answer that has not begun has its own mark yet to come
        rules = (make_rules([text], marked if guard == "fresh" else target, name, guard) for text in firm for guard in guards)
        return [*ends, *chain.from_iterable(rules)]

    def _list_dropped(self, node: Node) -> list[Rule]:
        """Return the marks of calls that begin or end none, for those who want them dropped."""
        name = "mark without a call"
        kinds = {*SHORT_FIELDS, "arguments"}
        inner = {link.shown.strip() for link in self.links if {link.source.kind, link.to.kind} <= kinds}
        ends = filter(is_marked, self._list_closings(inner))
        return make_rules(self.opening_marks, MUTE, name) + make_rules(ends, node, name)

    def _find_notation(self) -> Notation:
        """Return what the format has around the values of calls."""
        fields = [link for link in self.links if link.source.kind in FIELDS or link.opens]
        inner = [link for (name, _), links in self._links.items() for link in links if name != TURN]
        # A turn may end with instructions.
        inside = (part for link in (*fields, *inner) for part in link.parts if link.to.kind != "end" or len(part) <= _SPAN)
        ends = (self.section_close, *filter(None, self.closes.values()))
        around = [*inside, *ends, *(text for text, _ in self.openers)]
        own = frozenset(_WORD.findall("\n".join(around)))
        words = own.union(TYPES, ("function",))  # which models put beside values and names
        counting = (part for link in fields for part in link.parts[: None if link.to.kind == "id" else -1])
        counted = frozenset(found[-1] for part in counting if (found := _WORD.findall(part)))
        codecs = {node.codec for node in self.list_nodes("value") if node.type == "string" and isinstance(node.codec, Text)}
        decode = get_units(codecs.pop()).decode if len(codecs) == 1 else str
        choices = (node.codec for node in self.list_nodes("value") if isinstance(node.codec, Choice))
        literals = {written: json for codec in choices for written, json in codec.words}
        behind = (link.text.split() for link in self.list_links("key") if link.to.kind == "value")
        assigns = {sign for texts in behind if texts and (sign := texts[0].rstrip(_BEGINNING)) and sign[0] not in ".;!?"}
        found = SIGNS.findall("\n".join(around))
        rare = (sign for sign in found if not sign.isascii() or sum(each not in DATA for each in sign) > 1)
        ids = bool(self.list_nodes("id")) or any(len(link.parts) > 1 for link in fields)
        return Notation(words, counted, self._find_quotes(), decode, literals, tuple(sorted(assigns)), own, frozenset(rare), ids)

    def _list_dressings(self, node: Node) -> Iterator[Rule]:
        """Return what leads to JSON that stands in a fence of code, or without the quotes that the template puts around it."""
        texts = {link.text for link in self.leave(node) if link.to.kind == "arguments"}
        for text in sorted(texts):
            if text.endswith(QUOTES) and UNQUOTED.name in self.closes and text[:-1] not in texts:
                yield from make_rules([text[:-1]], UNQUOTED, UNQUOTED.name)
            if ENCODED.name in self.closes and not text.rstrip().endswith(QUOTES) and f'{text}"' not in texts:
                yield from make_rules([f'{text}"'], ENCODED, ENCODED.name)
            if FENCED.name in self.closes and not text.endswith(QUOTES):
                opened = (f"{text.rstrip()}\n```{word}\n" for word in ("json", ""))
                yield from make_rules(opened, FENCED, FENCED.name, "" if text.strip() else "known")
