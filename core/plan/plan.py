"""From a graph to what the parser walks: for each field the texts that may end it, and what stands where off the script.

A graph says what follows what in a turn that the template renders. Some places in it have no field, and are made here,
because that is where models write what no template shows: behind a call, behind all calls, and the beginning of the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Final

from ..format import Node, Text, TurnGraph
from ..format.cut import COUNTER
from ..format.units import get_units
from .constants import cut_heads, has_rare_sign, is_firm, is_marked, sort_longest
from .crossings import Crossing, InnerCrossings, make_crossings, make_inner_crossings
from .debris import find_debris
from .echoes import drop_words, find_any
from .ends import SHORT_END, SHORT_SECTION, TRAILING, Marks, list_nesting
from .guards import Guard
from .headers import find_headers
from .landmarks import AFTER, END, FIELDS, GAP, OF_TURN, OVER, SHAPE, SHORT_FIELDS, START, TURN, UNSHOWN, Link, read_parts
from .mistyped import find_mark
from .openings import BEGINNING
from .relaxed import STRAY_END, WRAPPED, Relaxations, list_near_answers
from .rules import MISTYPED, Rule, make_closes, make_rules, sort_rules
from .spellings import list_bare_ends, list_spellings
from .spots import Spot
from .thoughts import OTHER_ENDS, OTHER_STARTS, RELAID, list_images

BEHIND: Final = -2
"""The number of the start behind reasoning that a server has read by itself."""

OPEN_REASONING: Final = "call in open reasoning"
LATE_END: Final = "late end of reasoning"
OTHER_PROMPT: Final = "content as behind another prompt"
TOKEN_STARTS: Final = ("<|", "<｜")
"""What special tokens begin with."""
RESPELLED: Final = "marks in another spelling"
STRAY: Final = "signs before the end of a call"

HEADER: Final = Node("header", "content")
_WORD: Final = re.compile(r"[^\W\d_]{4}.*[^\w\s]|[^\w\s].*[^\W\d_]{4}", re.DOTALL)
"""A word with a sign before it or behind it."""


class Plan(Relaxations):
    """What all parsers of one format share. Costs milliseconds to make; spots are made when they are needed first."""

    def __init__(self, graph: TurnGraph, recover: bool = True, drops: bool = False, overruns: bool = False) -> None:
        super().__init__(graph)
        self.echoes |= recover and self._list_named_tags() != set()
        self._recover = recover
        self._drops = drops  # whether marks of calls that are none are dropped
        self._overruns = overruns  # whether messages of other roles behind the turn are
        self.headers = find_headers(self) if recover and self.calls else None
        self._spellings = [Plan(other, False) for other in list_spellings(graph)] if recover and self.calls else []
        self._bare_ends = [Plan(other, False) for other in list_bare_ends(graph)] if recover and self.calls else []
        self._spots: dict[tuple[str, tuple[Node, ...], bool, bool], Spot] = {}
        self._starts: dict[tuple[int, bool], Spot] = {}
        self.thought_ends = self._find_thought_ends() if recover else None
        self.call_marks = self._find_call_marks() if recover else None
        """The marks before which a call may have ended: those that end calls or the turn, or begin the next one."""
        self.debris = find_debris(self) if recover else None

    def spot(self, graph: str, nodes: tuple[Node, ...], calls: bool = True, unclosed: bool = False) -> Spot:
        """Return the field that is one of some nodes of a graph.

        Without ``calls`` nothing begins a call; where reasoning is ``unclosed``, its end may still come in content.
        """
        key = graph, nodes, calls, unclosed
        found = self._spots.get(key)
        if found is None:
            rules = [rule for node in nodes for rule in self._list_rules(graph, node)]
            rules += self._list_other_separators(nodes) if graph == TURN else ()
            if unclosed and nodes[0].kind == "content":
                rules += make_rules(self._list_thought_ends(), nodes, LATE_END)
            rules += self._list_respelled(graph, nodes, rules)
            rules += self._list_bare_ends(graph, nodes, rules)
            found = self._spots[key] = Spot(graph, nodes, self._sort(rules, calls))
        return found

    def _list_thought_ends(self) -> tuple[str, ...]:
        """Return what may end reasoning in which a call has come."""
        return tuple(self.reasoning_ends) if self.list_nodes("reasoning") else OTHER_ENDS

    def _find_thought_ends(self) -> Marks | None:
        """Return the marks that end reasoning (group 1), and those of which one before them tells that they end another one."""
        ends = tuple(filter(is_marked, dict.fromkeys((*self._list_thought_ends(), *OTHER_ENDS))))
        others = sort_longest({*self.stops, self.reasoning_start.strip(), *self.others, *OTHER_STARTS} - {""})
        one, other = find_any(ends), find_any(others)
        return Marks((*ends, *others), re.compile("|".join(filter(None, (f"({one})", other))))) if ends else None

    def _find_call_marks(self) -> Marks | None:
        known = self.field_ends.texts if self.field_ends else ()
        return Marks.find(sort_longest({*known, *self.opening_marks}), ())

    def _list_respelled(self, graph: str, nodes: tuple[Node, ...], known: list[Rule]) -> list[Rule]:
        """Return the rules of a field in other spellings; a call begins so only where a tool of the request is named.

        A call may also end so that did not begin so, where what ends its last field is as the template has it.
        """
        known_texts, found = {rule.parts for rule in known if not rule.recovery}, []
        known_parts = {rule.parts for rule in known}
        for number, other in enumerate(self._spellings, 1):
            # Of fields that no template has, it may be unknown what ends them.
            known_ends = graph != TURN or all(node.kind not in FIELDS or node.name in other.closes for node in nodes)
            for node in nodes if known_ends else ():
                rules = other._list_rules(graph, node)
                shown = (rule for rule in rules if not (rule.recovery or rule.guard))
                new = [rule for rule in shown if rule.parts not in known_texts]
                found += [replace(rule, recovery=RESPELLED, guard="known" if rule.opens else "", spelling=number) for rule in new]
                marked = [rule for rule in rules if rule.opens and rule.constant.marked and rule.parts not in known_parts]
                thought = (rule for rule in marked if rule.recovery == OPEN_REASONING and rule.guard in ("", "tool"))
                found += [replace(rule, guard="known", spelling=number) for rule in thought]
                inner = (rule for rule in marked if rule.recovery == BEGINNING)
                found += [replace(rule, recovery=RESPELLED, guard="apart", spelling=number) for rule in inner]
                own, theirs = (plan.ends.get(node.name, "").rstrip() for plan in (self, other))
                found += list_nesting(node, theirs) if node.kind == "value" else []
                closes = [rule.constant.text for rule in new if graph == TURN and rule.closes and not rule.opens and is_firm(own)]
                rests = [text.removeprefix(theirs) for text in closes if text.startswith(theirs)]
                found += make_closes((own + rest for rest in rests if rest.strip()), RESPELLED)
        return found

    def _list_bare_ends(self, graph: str, nodes: tuple[Node, ...], known: list[Rule]) -> list[Rule]:
        """Return the rules that end a field of a call, or calls, where what closes alone is in another spelling."""
        parts = {rule.parts for rule in known if not rule.spelling}
        fields = [node for node in nodes if node.kind in ("value", "arguments") or node in UNSHOWN]
        rules = (rule for other in self._bare_ends for node in fields for rule in other._list_rules(graph, node))
        new = [rule for rule in rules if not (rule.recovery or rule.guard) and rule.parts not in parts and rule.constant.marked]
        return [replace(rule, recovery=RESPELLED, guard="entry" if rule.kind == "key" else "") for rule in new]

    def _list_respelled_starts(self, number: int) -> list[Rule]:
        """Return what opens reasoning or content behind a start, by its number, in other spellings."""
        if number < 0:
            return []
        own, found = self.firsts[number], list[Rule]()
        for spelling, other in enumerate(self._spellings, 1):
            pairs = zip(own, other.firsts[number], strict=True)
            changed = (link for known, link in pairs if known.text != link.text and is_marked(known.shown))
            rules = (other._make_rule(TURN, link) for link in changed)
            texts = (rule for rule in rules if rule.kind in ("reasoning", "content"))
            found += [replace(rule, recovery=RESPELLED, spelling=spelling) for rule in texts]
        return found

    def start(self, number: int, calls: bool = True) -> Spot:
        """Return the beginning of a turn behind the prompt of a start, by its number (-1: of none)."""
        found = self._starts.get((number, calls))
        if found is None:
            found = self._starts[number, calls] = self._make_start(number, calls)
        return found

    def _make_start(self, number: int, calls: bool) -> Spot:
        """Make the beginning of a turn; what opens a call may be written by the prompt."""
        if number == BEHIND:
            return Spot(TURN, (START,), self._list_rules_after_reasoning(calls))
        prompt, links = (self.graph.starts[number].prompt, self.firsts[number]) if number >= 0 else ("", [])
        opened = any(is_marked(text) and prompt.endswith(text) for text, _ in self.openers)
        rules = [replace(self._make_rule(TURN, link), marked=opened and not link.text) for link in links]
        opened = any(rule.kind == "reasoning" and not rule.constant.core for rule in rules)
        marked = all(rule.constant.core or rule.kind == "end" for rule in rules)
        rules += self._list_respelled_starts(number) + _list_relaid(rules, marked)
        rules += self._list_halved_starts(rules) + self._list_last_marks(rules)
        rules += self._list_end_rules() + self._list_opened_reasoning(opened) + self._list_other_starts()
        rules += self._list_loose_headers(first=True) + self._list_repeated_headers(prompt, rules)
        if not opened and all(rule.kind != "content" or rule.recovery for rule in rules):
            rules += [replace(rule, guard="fresh", recovery=OTHER_PROMPT) for rule in self._list_content_starts()]
        if all(rule.kind != "reasoning" or rule.constant.core for rule in rules):
            rules += self._list_orphan_ends()
        return Spot(TURN, (START,), self._sort(rules, calls))

    def _list_rules_after_reasoning(self, calls: bool) -> tuple[Rule, ...]:
        """Return what may follow the end of reasoning, and what a turn without reasoning may begin with."""
        rules = self._list_end_rules()
        firsts = list(chain(*self.firsts))
        for link in (*self.links, *firsts):
            behind = [link.text.partition(close)[2] for close in self.reasoning_ends if close in link.text]
            if behind and link.to.kind not in ("reasoning", "end"):
                rules += make_rules(behind[:1], link.to, opens=link.opens)
        rules += [self._make_rule(TURN, link) for link in firsts if link.to.kind != "reasoning"]
        return self._sort(rules, calls)

    def behind(self, rule: Rule, graph: str, calls: bool) -> Spot:
        """Return the field behind a rule of a spot in a graph; the rule keeps it, for to find it by its nodes takes too long."""
        found = rule.spots.get((graph, calls))
        if found is None:
            inner = TURN if rule.targets[0] in OF_TURN else graph
            found = rule.spots[graph, calls] = self.spot(inner, rule.targets, calls)
        return found

    def list_crossings(self, spot: Spot) -> tuple[Crossing, ...]:
        """Return what may part the value in a spot from the next one of its call; the spot keeps it, as some live no longer than
        their value."""
        if spot.crossings is None:
            rules = (rule for rule in spot.rules if rule.kind == "key" and not self.graph.path)
            spot.crossings = make_crossings(spot, ((rule, self.behind(rule, spot.graph, True)) for rule in rules))
        return spot.crossings

    def list_inner_crossings(self, spot: Spot) -> InnerCrossings:
        """Return what a template writes behind a value of a list or an object, or at their beginning; the spot keeps it."""
        if spot.inner_crossings is None:
            spot.inner_crossings = make_inner_crossings(spot, lambda rule: self.behind(rule, spot.graph, True))
        return spot.inner_crossings

    def inside(self, name: str) -> Spot:
        """Return the beginning of the inside of a list or an object."""
        return self.spot(name, (self.inner_starts[name],))

    def _sort(self, rules: Iterable[Rule], calls: bool) -> tuple[Rule, ...]:
        """Return the rules that hold here: none that begins calls where nothing is one, no recoveries where none is wanted."""
        return sort_rules(rule for rule in rules if (calls or not rule.opens) and (self._recover or not rule.recovery))

    def _make_rule(self, graph: str, link: Link) -> Rule:
        return Rule(link.parts, (link.to,), link.opens, laid=graph in self.laid or link.text in self.laid_texts)

    def _list_rules(self, graph: str, node: Node) -> list[Rule]:
        if node is OVER:
            return []
        if node in UNSHOWN:
            rules = self._list_rules_behind(node)
            rules += self._list_fences(node) + (self._list_dropped(node) if self._drops else [])
            return rules + self._list_like(rules, node)
        links = self.leave(node, graph)
        if graph != TURN:
            ends = [link for link in links if link.to.kind == "end"]
            trailing = self._list_trailing([link.shown for link in links if link not in ends], [link.shown for link in ends])
            rules = [self._make_rule(graph, link) for link in links] + self._list_commas(node, links)
            return rules + make_rules(trailing, tuple(link.to for link in ends[:1]), TRAILING)
        if node.kind in FIELDS:
            rules = self._close_call(node)
            rules += self._list_unnamed(rules)
            return rules + self._list_like(rules, node)
        ends = [link for link in links if link.to.kind == "end"]
        units = get_units(node.codec if isinstance(node.codec, Text) else Text())
        rules = [rule for link in ends for rule in self._list_cut_ends(link.text, units.bars_start(link.shown))]
        inner = [self._make_rule(graph, link) for link in links if link not in ends]
        rules += inner
        if node.kind in ("content", "reasoning"):
            rules += _list_relaid(inner)
            rules += self._list_end_rules() + self._list_message_ends()
            rules += chain(*(self._list_answer_tails(link.text) for link in ends))
            rules += (self._list_overruns(node) if self._overruns else []) + self._list_own_turns(node, self._overruns)
            rules += self._list_loose_openers("" if node.kind == "content" else OPEN_REASONING) + self._list_fences(node)
            rules += self._list_loose_headers() + make_rules(TOKEN_STARTS, AFTER, WRAPPED, "token")
        if node.kind == "reasoning":
            rules += (*self._list_headers_between(rules), *list_near_answers(inner))
            rules += self._list_reasoning_ends() + self._list_opened_reasoning(True)
            rules += self._list_named_rules(OPEN_REASONING) + self._list_shape_marks(OPEN_REASONING)
            rules += self._list_other_ends(node) + self._list_other_starts() + self._list_loose_headers(bare=True)
            rules += self._list_like([rule for rule in rules if rule.kind == "content" or rule.opens], node)
        if node.kind == "content":
            rules += self._list_shape_rules() + self._list_orphan_ends() + self._list_empty_sections(node) + self._list_stray_ends()
            rules += self._list_opened_reasoning(False) + self._list_other_starts() + self._list_calls_behind_content()
            rules += self._list_thoughts_between() + self._list_begun_again(node)
            rules += self._list_dropped(node) if self._drops else []
            rules += self._list_like([rule for rule in rules if rule.opens or rule.ends_answers], node)
        return rules

    def _close_call(self, node: Node) -> list[Rule]:
        """Return the rules behind a field of a call: what leads on within it, and what ends it."""
        close, inner = self.closes[node.name], self.list_inner(node)
        leaving = [link for link in self.leave(node) if link.leaves]
        rules = [self._make_rule(TURN, link) for link in inner] + self._list_bare_rules(node)
        shared = close is not None and any(link.text.startswith(close) for link in inner)
        if not close or shared:
            # Where what goes on in the call begins as its end does, or no mark is common to all ends, the whole end tells.
            for link in leaving:
                if link.to.kind == "end":
                    rules += self._list_whole_ends(node, link.text)
                elif close != "" or not link.opens:  # behind an end without a text, the next call is looked for anyway
                    rules.append(replace(self._make_rule(TURN, link), closes=True))
        rules += chain(self._list_skips(node), self._list_closes_without_id(node), self._list_dressings(node))
        rules += chain(self._list_signs(node), self._list_other_marks(node), self._list_other_types(node))
        rules += self._list_bodies(node) + self._list_line_openers(node) + self._list_glued_openers(node)
        rules += self._list_without_end(node) + self._list_next_keys(node) + self._list_other_layouts(node)
        rules += chain(self._list_without_separator(node), self._list_closed_fields(node))
        rules += self._list_closed_tags(node, close or "")
        if node.kind == "name":
            rules += self._list_ends_of_names(node)
        if node.kind == "value":
            rules += chain(self._list_trailing_inside(inner), self._list_misnamed_ends(node))
        if close is None:
            return rules + (self._list_skipping_closes(node) if node.kind == "arguments" else self._list_value_ends(node))
        guard: Guard = "ending" if shared and node.kind in SHORT_FIELDS else ""  # arguments may follow that are written otherwise
        if self._may_hold(node, close):
            guard = "fitting"
            rules += make_closes([close], SHORT_END, "last")
        rules += make_closes([close], "", guard)
        named = [link for link in leaving if link.opens and link.text == close]  # a name tells that one begins
        rules += [replace(self._make_rule(TURN, link), closes=True) for link in named]
        trailing = self._list_trailing([link.text for link in inner], [close]) if node.kind == "value" else []
        return rules + make_closes(trailing, TRAILING) + self._list_short_closes(node, close) + self._list_value_ends(node)

    @staticmethod
    def _list_unnamed(rules: list[Rule]) -> list[Rule]:
        """Return rules that end a field without the word that comes again in its mark."""
        shown = [rule for rule in rules if rule.constant.echoes and not rule.recovery]
        bare = ((rule, text) for rule in shown for text in sorted(drop_words(COUNTER.join(rule.parts))) if is_firm(text))
        return [replace(rule, parts=read_parts(text), recovery=MISTYPED) for rule, text in bare]

    def _list_trailing_inside(self, links: list[Link]) -> Iterator[Rule]:
        """Return what leads from the last argument to a field behind all arguments, behind a separator."""
        keys = [link.text for link in links if link.to.kind == "key"]
        for link in (link for link in links if link.to.kind in SHORT_FIELDS):
            yield from make_rules(self._list_trailing(keys, [link.text]), link.to, TRAILING)

    def _may_hold(self, node: Node, close: str) -> bool:
        """Whether what ends a value and its call, which is no mark, may stand in a text: then what follows it has to tell."""
        leaving = [link.text for link in self.leave(node) if link.leaves]
        behind = all(text[len(close) :].strip() for text in leaving)
        return self._recover and node.kind == "value" and bool(close.strip()) and behind and not is_firm(close)

    def _list_rules_behind(self, node: Node) -> list[Rule]:
        rules = self._list_close_ends("" if node is SHAPE else "fresh") + self._list_close_ends("owed")
        rules += make_rules(("</", "[/", "<|"), AFTER, WRAPPED, "wrapped")
        opening = [mark for plan in (self, *self._spellings) for mark in plan.opening_marks]
        whole = (text for text in list_images(opening) if find_mark(text) == text)  # no beginning of one
        images = (text for text in whole if not any(text in own for own in self.texts))
        rules += make_rules(images, GAP, STRAY_END, "fresh")
        rules += self._list_begun_thoughts("fresh")
        if node is not AFTER:
            for link in (link for link in self.links if link.leaves):
                close = self.closes.get(link.source.name)
                if close is None:
                    continue
                rest = link.text[len(close) :]
                if link.to.kind == "end":
                    rules += make_rules([rest], END, cut=True) + make_rules([rest], AFTER)
                    strays = ["}", "]", *self.strays] if is_firm(rest) else []
                    rules += make_rules((f"{sign}\n{rest.lstrip()}" for sign in strays), END, STRAY, "fresh", loose=True)
                else:
                    rules += make_rules([rest], link.to, opens=link.opens)
            if self.section_close.strip():
                rules += make_rules([self.section_close], AFTER)
                ends = sorted({self.section_close, *filter(is_firm, self._closings)})
                trailing = (f"{sign}\n{text.lstrip()}" for sign in self.strays for text in ends)
                rules += make_rules(trailing, AFTER, TRAILING, "fresh", loose=True)
                heads = list(filter(None, cut_heads(self.section_close)[:-1]))
                rules += make_rules(heads, AFTER, SHORT_SECTION, "structure")
                trailing = (f"{sign}\n{head.lstrip()}" for sign in self.strays for head in heads)
                rules += make_rules(trailing, AFTER, TRAILING, "ending")
        rules += _list_relaid(rule for rule in rules if rule.opens or rule.kind == "end")
        rules += [replace(rule, recovery=SHORT_SECTION, guard="fresh") for rule in self._list_content_starts()]
        rules += self._list_loose_openers("") + self._list_separated() + self._list_late_ends() + self._list_opened_reasoning(False)
        rules += self._list_shape_rules(behind=node is GAP) + self._list_empty_sections(AFTER)
        ends, closes = self.list_end_texts(), sorted({close for close in self.closes.values() if close})
        ends += [text.removeprefix(close) for text in ends for close in closes if text.startswith(close)]  # as turns end
        rules += [replace(rule, guard="fresh") for text in ends for rule in self._list_cut_ends(text, True)]
        rules += self._list_end_rules() + self._list_message_ends() + self._list_loose_headers()
        signs = "}]" if self.list_nodes("arguments") else ""
        rules += make_rules(signs, END, STRAY, "fresh")  # alone, at the end of the output
        rules += self._list_own_turns(node, self._overruns)
        return rules + (self._list_overruns(node) + self._list_overruns_behind() if self._overruns else [])

    def _list_loose_headers(self, first: bool = False, bare: bool = False) -> list[Rule]:
        """Return what begins a header whose parts may stand in any order, the first of a turn or another one; a ``bare`` one has
        nothing before it that begins a message."""
        if self.headers is None:
            return []
        leads = [""] if first or bare else self.headers.leads
        firsts = [part for part in self.headers.firsts if not (bare and part.strip()[0].isalnum())]
        firsts += [] if bare else [self.headers.mark]  # nothing of it stands before its end
        name = OPEN_REASONING if bare else "header in another order"
        return make_rules((lead + part for lead in leads for part in firsts), HEADER, name, "header")

    def _list_message_ends(self) -> list[Rule]:
        """Return what ends a message and begins the next one, and what that begins with, for outputs that end there."""
        leads = self.headers.leads if self.headers else ()
        return [rule.name_recovery("next message missing") for lead in leads for rule in self._list_cut_ends(lead)]


def _list_relaid(rules: Iterable[Rule], marked: bool = False) -> list[Rule]:
    """Return rules that have a word in them, but no mark, whatever layout they have, and those that have a rare sign, if they lead
    to no answer; all, if each is ``marked`` by one. Before a call a tool has to be named."""
    shown = (rule for rule in rules if not (rule.recovery or rule.laid or rule.constant.firm))
    plain = [(rule, rule.constant.core) for rule in shown if rule.constant.core]
    told = [rule for rule, core in plain if marked or _WORD.search(core) or (rule.kind != "content" and has_rare_sign(core))]
    return [replace(rule, recovery=RELAID, guard="known" if rule.opens else "", loose=True) for rule in told]


@lru_cache(maxsize=64)
def get_plan(graph: TurnGraph, recover: bool = True, drops: bool = False, overruns: bool = False) -> Plan:
    """Return the plan of a graph, with or without recoveries and what is dropped; formats that are equal share one."""
    return Plan(graph, recover, drops, overruns)
