"""Rules for what no render shows: marks that a model leaves out, writes twice, or writes with other layout.

Each names what it relaxes (``Rule.recovery``) and what must hold for it (``Rule.guard``). Rules that a render shows come first
in every spot; see :mod:`.plan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from string import ascii_letters

from ..format import Choice, Edge, Node, Text, TurnGraph
from ..format.cut import find_boundaries, find_common_end, find_common_start
from ..format.units import get_units
from ..recover import Notation, list_counted, list_words
from ..schema import TYPES
from .constants import DATA, begins_in_sign, cut_first, is_marked, is_plain, is_word_in_signs
from .echoes import has_echo
from .ends import MISSING, leave_out
from .landmarks import (
    AFTER,
    BODY,
    ENCODED,
    END,
    FENCED,
    FIELDS,
    GAP,
    MUTE,
    NAMED_FIELDS,
    OVER,
    QUOTES,
    SHORT_FIELDS,
    TURN,
    UNQUOTED,
    read_parts,
    write_parts,
)
from .mistyped import BEGUN, LETTERS, LIKE
from .openings import Openings
from .rules import MISTYPED, UNTYPED, Guard, Rule

WRAPPED = "mark of another format"
_TYPES = (*(kind.__name__ for kind in (str, int, float, bool, list, tuple, dict)), *TYPES, "none", "true", "false", "yes", "no")
"""The words for types that Python and JSON Schema have, and those that say whether something is of one."""


_ASSIGNING = ("=", ":", ":=", "=>")
"""What people put between a key and its value."""
_ASSIGNS = re.compile(r":=?|=>?")
_BEGINNING = "\"'`([{"  # of values


def _is_even(text: str) -> bool:
    """Whether no bracket of data and no quote is open in a text, nor closed that was opened before it."""
    return all(text.count(opens) == text.count(closes) for opens, closes in ("[]", "{}", "()")) and text.count('"') % 2 == 0


def _drop_bracket(before: str, behind: str) -> str:
    """Return what stands behind a field without the bracket that ends the field, if that opens before it."""
    pair = before.rstrip()[-1:] + behind.lstrip()[:1]
    return behind.lstrip()[1:] if pair in ("()", "[]", "<>", "{}") else behind


def _drop_pair(before: str, behind: str) -> str:
    """Return what stands around a word without the brackets right around it, and the blank before them."""
    rest = _drop_bracket(before, behind)
    return before.rstrip()[:-1].rstrip(" ") + rest if rest != behind else before + behind


def _begins_in_signs(text: str) -> bool:
    """Whether a text begins with a word between signs, as no line of prose or heading does."""
    return any(is_word_in_signs(text[:place].rstrip()) for place in find_boundaries(text) if place)


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


def list_near_answers(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules that lead to an answer without the first sign of the mark before it, or in other letters, where that is a word
    in its own line."""
    found: list[Rule] = []
    for rule in rules:
        lead, core = rule.constant.lead, rule.parts[0].lstrip()
        if rule.kind != "content" or rule.laid or rule.recovery or len(rule.parts) > 1 or not core.strip():
            continue
        if rule.constant.label:
            others = {core.upper(), core.lower()} - {core}
            found += [replace(rule, parts=(lead + text,), recovery=MISTYPED) for text in sorted(others)]
        elif not core[0].isalnum() and any(map(str.isalnum, cut_first(core))):
            found.append(replace(rule, parts=(lead + core[1:],), recovery=MISTYPED, guard="" if lead else "told"))
    return found


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
        alone = [other for other in first if endless and _begins_in_signs(other)]
        rules = [self._make_overrun(text, "turn") for text in texts] + [self._make_overrun(text, "alone") for text in alone]
        return rules + [self._make_overrun(other, "sample") for other in self.others]

    def _list_overruns_behind(self) -> list[Rule]:
        """Return the same right behind a call, where no end of the turn need stand; a word and a colon may begin a text there."""
        return [self._make_overrun(other, "fresh" if is_marked(other.strip(":")) else "over") for other in self.others]

    @staticmethod
    def _make_overrun(text: str, guard: Guard) -> Rule:
        return Rule(read_parts(text), (OVER,), recovery="message of another role", guard=guard)

    def _list_stray_ends(self) -> list[Rule]:
        """Return marks of reasoning and of calls without any, which models leave behind an answer."""
        ends = [text for text in self.reasoning_ends if is_marked(text)]
        empty = [f"{self.reasoning_start}\n{text}" for text in ends if self.reasoning_start]
        texts = [*ends, *empty, *(f"{one}\n{two}" for one in empty for two in ends)]
        texts = [f"{text}\n{end}" for text in texts for end in ("", *self.stops)]
        rules = [Rule(read_parts(text), (END,), recovery="stray end of reasoning", guard="thought") for text in texts]
        first = cut_first(self.reasoning_start)
        told = is_word_in_signs(first) and not any(first in opener for opener, _ in self.openers)
        begun = [f"{text}\n{end}" for text in {first, self.reasoning_start} for end in ("", *self.stops)] if told else []
        rules += [Rule(read_parts(text), (END,), recovery="thought begun at the end", guard="alone") for text in sorted(begun)]
        calls = [text for text in self._list_closings() if _stands_alone(text)]
        whole = [(self.closes[node.name] or "") + self.section_close for node in self.list_nodes("value")]
        places = [(text, sorted(find_boundaries(text))) for text in dict.fromkeys(whole)]
        inner = {text[start:end].strip() for text, cuts in places for start, end in combinations(cuts, 2)}
        inner = {text for text in inner if not (has_echo(text) or any(text in opener for opener, _ in self.openers))}
        calls += sorted(text for text in inner if _stands_alone(text.split("\n")[0]))
        texts = [f"{text}\n{end}" for text in calls for end in ("", *self.stops)]
        return rules + [Rule(read_parts(text), (END,), recovery="stray end of a call", guard="orphan") for text in texts]

    @staticmethod
    def _list_like(rules: Iterable[Rule], node: Node) -> list[Rule]:
        """Return what marks begin with that are like those of some rules, for models that mistype them, and in reasoning and
        content what other texts and lines do; a value may hold what is like these."""
        marks = [rule.mark for rule in rules if rule.mark]
        likely = [rule.constant for rule in rules if rule.is_likely and node.kind not in FIELDS]
        starts = {mark[:LIKE] for mark in marks}
        starts |= {f"{sign}/" for sign in "<[" for mark in marks if "/" in mark[: LIKE + 1]}  # with fewer signs, or other ones
        cores = [constant.core for constant in likely if begins_in_sign(constant.core)]
        signs = [text[:BEGUN] for core in cores for text in (core, "".join(core.split()))]
        starts |= {*signs, *map(str.lower, signs), *map(str.upper, signs)}
        lines = [constant.core for constant in likely if "\n" in constant.lead]
        firsts = {core[1] for core in lines}.union(core[0] for core in lines if is_plain(core[0])) - {" ", "\n"}
        starts |= {f"\n{case}" for sign in firsts for case in (sign.lower(), sign.upper())}
        return [Rule((start,), (node,), recovery=MISTYPED, guard="like") for start in sorted(starts)]

    def _list_signs(self, node: Node) -> list[Rule]:
        """Return the other sign that people put between a key and its value, where one of both is all that stands there."""
        if node.kind != "key":
            return []
        written = {edge.text.strip() for edge in self.list_edges("key")}
        signs = {own[0] for own in map(_ASSIGNS.match, written) if own}
        if len(signs) > 1:  # which of them it is says of what type the value is
            return []
        found = [(edge.text.lstrip(), self.to(edge)) for edge in self.leave(node.name)]
        pairs = [(text, target, begun[0]) for text, target in found if (begun := _ASSIGNS.match(text))]
        texts = [(f" {other}{text[len(own) :]}", target) for text, target, own in pairs for other in _ASSIGNING if other != own]
        return [Rule((text,), (target,), recovery="value in other notation") for text, target in texts]

    def _list_half_signs(self, node: Node) -> list[Rule]:
        """Return what stands behind a short field without its first sign, and before an id without its last, where it has no word
        by which it were told if it is mistyped, but several signs; before arguments behind a name also signs that stand twice."""
        edges = self.leave(node.name) if node.kind in NAMED_FIELDS or node.kind == "arguments" else ()
        pairs = [(write_parts(edge), self.to(edge)) for edge in edges if not self.is_leaving(edge)]
        guard: Guard = "known" if node.kind == "name" else ""
        rules: list[Rule] = []
        for text, target in pairs:
            bare = text.strip()
            if not bare or sum(map(str.isalnum, bare)) >= LETTERS:
                continue
            headless, endless = bare[1:].lstrip(), bare[:-1].rstrip()
            halves = ([headless] if node.kind != "arguments" else []) + ([endless] if target.kind == "id" else [])
            texts = [text.replace(bare, half) for half in halves if len(half) > 1]
            if node.kind == "name" and target.kind == "arguments":  # a tool with an object behind it tells
                texts += filter(None, (headless, endless, f"{bare}\n{bare}"))
            rules += [Rule(read_parts(each), (target,), recovery=MISTYPED, guard=guard) for each in texts]
        return rules

    def _list_other_types(self, node: Node) -> list[Rule]:
        """Return what stands between a key and its value without the word there that tells its type, or with another word for it,
        or as before a text, but for the quote; the schema may tell it."""
        if node.kind != "key":
            return []
        keys = self.list_edges("key")
        texts = {write_parts(edge) for edge in keys if self.to(edge).type in ("string", "integer")}
        begins, words, ends = _split_type(texts)
        own = [(edge.text, self.to(edge)) for edge in self.leave(node.name)]
        ended = [target for text, target in own if ends.strip() and text.endswith(ends)]
        rules = [Rule(read_parts(ends), (target,), recovery=UNTYPED) for target in ended]
        if not (begins.strip() and all(map(str.isalpha, words))):  # texts may have no word where others have one
            other = {write_parts(edge) for edge in keys if self.to(edge).type in ("integer", "boolean")}
            begins, words, ends = _split_type(other)
        if begins.strip() and all(map(str.isalpha, words)):
            others = [f"{begins}{word}{ends}" for word in _TYPES if word not in words]
            rules += [Rule((text,), (target,), recovery="type in another word") for text in others for _, target in own]
            values = [node for node in self.list_nodes("value") if node.type in ("string", "integer")]
            alike = len({self.ends[node.name] for node in values}) < 2  # else what ends a value tells its type, too
            bare = {begins + ends, *([_drop_pair(begins, ends)] if alike else [])}
            rules += [Rule(read_parts(text), (target,), recovery=UNTYPED) for text in sorted(bare) for _, target in own]
        bare = {text[:-1] for text in texts if text.endswith(QUOTES)} - texts - {""}
        plain = [target for _, target in own if target.type in ("integer", "number", "boolean")]
        return rules + [Rule(read_parts(text), (target,), recovery=UNTYPED) for text in sorted(bare) for target in plain]

    def _list_skips(self, node: Node) -> list[Rule]:
        """Return what leads on where a field was left out, or the mark before JSON: an id behind the name, or one before it."""
        rules: list[Rule] = []
        for edge in self.leave(node.name) if node.kind == "id" else ():
            for behind in self.leave(edge.target) if self.to(edge).kind == "name" else ():
                if is_marked(write_parts(edge)) and is_marked(write_parts(behind)) and not self.is_leaving(behind):
                    rules.append(Rule(behind.parts, (self.nodes[TURN, behind.target],), recovery=MISSING, guard="tool"))
        for edge in self.leave(node.name) if node.kind == "name" or node.carries_name else ():
            target, text = self.to(edge), write_parts(edge)
            if len(edge.parts) > 1 and is_marked(edge.parts[-1]) and not (is_marked(edge.parts[0]) or self.is_leaving(edge)):
                rules.append(Rule(edge.parts[-1:], (target,), recovery=MISSING, guard="tool"))  # what counts the call
            if target.kind == "arguments" and text.strip() and not self.is_leaving(edge):
                told = is_marked(text) and not self.envelope.arguments  # else a tool with an object behind it tells
                rules.append(Rule(("",), (target,), recovery=MISSING, guard="" if told else "known"))
            if target.kind == "arguments" and (close := self.closes[target.name] or "").strip():
                guard: Guard = "" if text.strip() else "structure"
                if not guard and is_marked(text) and is_marked(close):
                    guard = "ending"
                if guard:
                    rules.append(Rule(read_parts(close), (GAP,), closes=True, recovery="no arguments", guard=guard))
            for behind in self.leave(target.name) if target.kind == "id" else ():
                field = self.nodes[TURN, behind.target]
                if self.is_leaving(behind):
                    continue
                for bare in leave_out(text, write_parts(behind)):
                    told = is_marked(text) and is_marked(bare)
                    if bare.strip() or (bare and field.kind == "arguments"):
                        rules.append(Rule(read_parts(bare), (field,), recovery=MISSING, guard="" if told else "tool"))
                bare = _drop_bracket(text, write_parts(behind))
                if is_marked(bare) and field.kind == "arguments" and not self.envelope.arguments:
                    rules.append(Rule(("",), (field,), recovery=MISSING, guard="tool"))
        return rules

    def _list_bodies(self, node: Node, close: str) -> list[Rule]:
        """Return what follows a name where arguments written as fields stand as one JSON object, or a tag closes itself."""
        own = self.ends[node.name].rstrip()
        if node.kind != "name" or self.list_nodes("arguments") or not close.startswith(own):
            return []
        rules = [Rule(read_parts(own), (BODY,), recovery="arguments as JSON")]
        if own.endswith(">"):
            rules.append(Rule(read_parts(own[:-1] + "/>"), (GAP,), closes=True, recovery="no arguments"))
        return rules

    def _list_empty_sections(self, target: Node) -> list[Rule]:
        """Return what opens calls with what closes them behind it, and nothing between."""
        closing = {text for text in self._closings if _is_even(text)}
        opening = {start for text in self._list_openings() if _is_even(start := text.strip().rstrip(" [{("))}
        pairs = [(start, end) for start in sorted(opening) for end in sorted(closing) if is_marked(start) and is_marked(end)]
        texts = {f"{start}{inner}{end}" for start, end in pairs for inner in ("", "[]") if end[0] not in "]})"}
        guards: tuple[Guard, ...] = ("fresh", "ending", "line")
        last = {f"{mark}\n{stop}" for mark in self.opening_marks for stop in ("", *self.stops)} if target is AFTER else ()
        ends = [Rule(read_parts(text), (END,), recovery="no call between marks", guard="fresh") for text in sorted(last)]
        firm = [read_parts(text) for text in sorted(texts)[:64]]
        return ends + [Rule(parts, (target,), recovery="no call between marks", guard=guard) for parts in firm for guard in guards]

    def _list_dropped(self, node: Node) -> list[Rule]:
        """Return the marks of calls that begin or end none, for those who want them dropped."""
        name = "mark without a call"
        begins = [Rule(read_parts(text), (MUTE,), recovery=name) for text in self.opening_marks]
        kinds = [(self.nodes[TURN, edge.source].kind, self.to(edge).kind, edge) for edge in self.graph.turn.edges]
        inner = {edge.text.strip() for source, target, edge in kinds if {source, target} <= {*SHORT_FIELDS, "arguments"}}
        ends = filter(is_marked, self._list_closings(inner))
        return begins + [Rule(read_parts(text), (node,), recovery=name) for text in ends]

    def _find_notation(self) -> Notation:
        """Return what the format has around the values of calls."""
        fields = [edge for edge in self.graph.turn.edges if self.nodes[TURN, edge.source].kind in FIELDS or edge.opens_call]
        inner = [edge for graph in self.graphs.values() if graph is not self.graph.turn for edge in graph.edges]
        words = list_words([*(part for edge in (*fields, *inner) for part in edge.parts), *(text for text, _ in self.openers)])
        counted = [part for edge in fields for part in edge.parts[: None if self.to(edge).kind == "id" else -1]]
        codecs = {node.codec for node in self.list_nodes("value") if node.type == "string" and isinstance(node.codec, Text)}
        decode = get_units(codecs.pop()).decode if len(codecs) == 1 else str
        choices = (node.codec for node in self.list_nodes("value") if isinstance(node.codec, Choice))
        literals = {written: json for codec in choices for written, json in codec.words}
        behind = (edge.text.split() for edge in self.list_edges("key") if self.to(edge).kind == "value")
        assigns = {sign for texts in behind if texts and (sign := texts[0].rstrip(_BEGINNING)) and sign[0] not in ".;!?"}
        return Notation(words, list_counted(counted), self._find_quotes(), decode, literals, tuple(sorted(assigns)))

    def _list_dressings(self, edges: Iterable[Edge]) -> list[Rule]:
        """Return what leads to JSON that stands in a fence of code, or without the quotes that the template puts around it."""
        found = [(write_parts(edge), edge) for edge in edges if self.to(edge).kind == "arguments"]
        texts, rules = {text for text, _ in found}, []
        for text in sorted(texts):
            if text.endswith(QUOTES) and UNQUOTED.name in self.closes and text[:-1] not in texts:
                rules.append(Rule(read_parts(text[:-1]), (UNQUOTED,), recovery="arguments without quotes"))
            if ENCODED.name in self.closes and not text.rstrip().endswith(QUOTES) and f'{text}"' not in texts:
                rules.append(Rule(read_parts(f'{text}"'), (ENCODED,), recovery=ENCODED.name))
            if FENCED.name in self.closes and text.strip() and not text.endswith(QUOTES):
                opened = (f"{text.rstrip()}\n```{word}\n" for word in ("json", ""))
                rules += [Rule(read_parts(each), (FENCED,), recovery="arguments in a fence") for each in opened]
        return rules

    def _list_rewritten(self, source: Node, edges: Iterable[Edge]) -> list[Rule]:
        """Return what leads on within a call where another field's end was written behind a name or a key."""
        if source.kind not in NAMED_FIELDS:
            return []
        rules: list[Rule] = []
        marks = {cut_first(write_parts(edge)) for edge in self.list_edges(*FIELDS)}
        for edge in edges:
            text = write_parts(edge)
            first = cut_first(text)
            rest = text.lstrip().removeprefix(first)
            if is_marked(first) and is_marked(rest):
                others = (mark for mark in sorted(marks - {first}) if is_marked(mark))
                rules += [Rule(read_parts(other + rest), (self.to(edge),), recovery=MISTYPED) for other in others]
        return rules
