"""Rules for what begins calls where no render shows it: marks left out, doubled, in other quotes, or behind another call.

As in :mod:`.relaxed`, each names what it relaxes and what must hold for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from ..format import Node, Text, TurnGraph
from ..format.cut import COUNTER
from ..format.view import find_header
from .constants import cut_first, cut_tails, find_cuts, get_constant, is_firm, is_marked, is_word_in_signs, leave_out, sort_longest
from .echoes import ECHOES, cut_echo
from .ends import MISSING, SHORT_END, Ends
from .guards import Guard
from .landmarks import FIELDS, GAP, SHAPE, SHORT_FIELDS, UNSHOWN, Link, is_quoted, list_doubled, list_tails
from .rules import MISTYPED, Rule, make_openings, make_rules

FENCED_CALL: Final = "fence around a call"
RUNS: Final = ("```", "~~~")
"""The signs of fences, of which a line has three or more."""
BEGINNING: Final = "beginning of a call missing"
_LEADING: Final = re.compile(r"[^\w\s]{1,4}")
_LEADING_ON: Final = frozenset("\"'=:,([{")  # what a mark ends with in which the name stands
_SEPARATORS: Final = ("", ",", ";")
_BEHIND_KEY: Final = re.compile(r"[\"']\s*:\s*")
_MARK: Final = 256  # characters of a mark that names what follows
_BEGINNINGS: Final = 4  # of an answer, that may stand twice
_LINES: Final = 16  # lines of which one may be left out
_PREFIX: Final = re.compile(r"\w+[.:/]\Z")
_OPENS: Final = re.compile(r"\s*[\])}>]?[{\[<]")
"""A bracket that opens, behind one that closes something else if need be."""


def _leave_out_lines(text: str) -> list[str]:
    """Return a text without one of the lines that stand between its first words and its last line, for each of those."""
    lines = text.split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    return ["\n".join(lines[:place] + lines[place + 1 :]) for place in range(first + 1, min(len(lines) - 1, first + 1 + _LINES))]


def _begins_with_mark(text: str) -> bool:
    """Whether a text begins with a mark that stands in no sentence, or as JSON or a tag does."""
    return _OPENS.match(text) is not None or is_word_in_signs(cut_first(text))


class Openings(Ends):
    """Makes rules for what begins calls."""

    def __init__(self, graph: TurnGraph) -> None:
        super().__init__(graph)
        self.opening_marks = self._list_opening_marks()
        inner = sorted({tail for text, _ in self.openers for tail in list_tails(text) if is_word_in_signs(cut_first(tail))})
        self.beginnings = (*self.opening_marks, *(text.lstrip() for text, _ in self.openers), *inner)
        ends = {close.strip().lstrip("\"'")[:1] for close in self.closes.values() if close}
        self.strays = [",", ";", *sorted(ends & {")", "]", "}"})]
        """Signs that models put behind a call without need: what separates, and a bracket that closes it once more."""
        behind = self._list_next_openings()
        texts = {*(text for _, text in behind), *(text for text, _ in self.openers)}
        closed = [(link, rest.strip()) for link, rest in behind if self.closes.get(link.source.name)]
        self.whole_openings = sorted({(rest, link.text.strip()) for link, rest in closed if rest and len(link.parts) == 1})
        """What begins a call behind another one, each without and with what ends that before it."""
        self.opening_lines = {line for text in texts if "\n" in text and len(line := text[text.rindex("\n") :]) > 1}
        """The last lines of what begins calls, with the line breaks before them."""

    def _list_loose_openers(self, recovery: str) -> list[Rule]:
        """Return what may begin a call in any text: each opener, and its inner part where the outer one was left out."""
        thoughts = self.list_links("reasoning") if recovery else []  # of what leads from them the first marks may be left out
        tails = ((tail, link.to) for link in thoughts if link.opens for tail in list_tails(link.text))
        rules = make_openings((pair for pair in tails if _begins_with_mark(pair[0])), recovery, "known")
        for text, nodes in self.openers:
            rules += (*self._list_changed_openers(text, nodes, recovery), *self._list_cut_openers(text, nodes, recovery))
        bare = [(text[: found.start()], nodes) for text, nodes in self.openers if (found := _PREFIX.search(text))]
        for text, nodes in (pair for pair in bare if is_marked(pair[0])):
            rules += make_openings([(text, nodes)], recovery or BEGINNING, "tool")
            rules += self._list_cut_openers(text, nodes, recovery)
        return rules

    def _list_begun_again(self, node: Node) -> list[Rule]:
        """Return what begins an answer, for models that write it twice."""
        begins = {link.text.strip() for link in (*self.links, *chain(*self.firsts)) if link.to == node}
        texts = {tail for text in begins for tail in (text, *cut_tails(text)) if is_word_in_signs(cut_first(tail))}
        texts = {text for text in texts if not any(close.strip() in text for close in self.reasoning_ends)}
        return make_rules(sort_longest(texts)[:_BEGINNINGS], node, "mark doubled", "fresh")

    def _list_changed_openers(self, text: str, nodes: tuple[Node, ...], recovery: str) -> Iterator[Rule]:
        """Return an opener as it is, and without an id or a line in it, without its first signs, or with a mark in it twice."""
        first, bare = cut_first(text), text.lstrip()
        for link in self.leave(nodes[0]) if nodes[0].kind == "id" else ():
            texts = [text, *leave_out(text, link.text)] if link.to.kind == "name" else []
            texts = [each for each in texts if each.lstrip()[:1] == bare[:1]]
            yield from make_rules(texts, link.to, recovery or MISSING, "known", opens=True)
        if is_word_in_signs(first):
            signs = _LEADING.match(bare)
            halves = [bare[size:] for size in range(1, signs.end() + 1)] if signs else []
            stands: Guard = "known" if is_marked(bare[len(first) :]) else "headless"  # one mark alone may be a text's
            yield from make_rules(halves, nodes, recovery or MISTYPED, stands, opens=True)
        twice = list_doubled(text)
        twice += [text.replace("{", "{{", 1)] if "{" in text[len(first) :] else []  # as a format string has it
        yield from make_rules(twice, nodes, recovery or "mark doubled", "tool", opens=True)
        marked = is_marked(text)
        yield from make_rules(_leave_out_lines(text) if marked else (), nodes, recovery or BEGINNING, "known", opens=True)
        if not is_firm(text):
            return  # data alone amid prose has to be looked at to its end
        behind_text = any(link.opens and link.text == text for link in self.list_links("content"))
        told = behind_text or (marked and _begins_with_mark(text))
        doubted: Guard = "apart" if marked else "fresh"  # words stand in any sentence
        label = bare[:1].isalnum() and not told
        guard: Guard = "tool" if recovery and not label else "" if told else doubted
        yield from make_rules([text], nodes, recovery, guard, opens=True)

    def _list_cut_openers(self, text: str, nodes: tuple[Node, ...], recovery: str) -> Iterator[Rule]:
        """Return an opener without its first marks, and without one amid it."""
        missing, places = recovery or BEGINNING, find_cuts(text)
        for place, behind in zip(places, [*places[1:], 0], strict=True):
            inner = text[place:]
            if any(text.count(quote, 0, place) % 2 for quote in "\"'"):
                continue  # amid a text in quotes
            bounded: Guard = "tool" if _begins_with_mark(inner) else "first"
            guard: Guard = "known" if recovery else bounded if is_marked(text) else "fresh"  # known: two recoveries at once
            if place > 0 and inner.strip() != text.strip() and is_firm(inner) and not inner[:1].isspace():
                worded = guard == "known" or any(map(str.isalnum, inner))  # signs alone stand in tables and rules
                yield from make_rules([inner], nodes, missing, guard if worded else "fresh", opens=True)
            elif place > 0 and inner in ("(", "[", "{") and not recovery:
                yield from make_rules([inner], nodes, missing, "apart", opens=True)
            if is_marked(text[:place]) and not inner[:1].isspace() and text[behind:].strip():
                yield from make_rules([text[:place] + text[behind:]], nodes, missing, guard, opens=True)

    def _list_calls_behind_content(self) -> list[Rule]:
        """Return what ends content, for calls behind it, in formats whose content stands behind its calls or alone."""
        ends = (self.content_end.removesuffix(stop.strip()).strip() for stop in (*self.stops, self.turn_end, ""))
        close = min(filter(is_marked, ends), key=len, default="")
        if not close or any(link.opens for link in self.list_links("content")):
            return []
        name, header = "content before calls", find_header(self.graph).strip()
        closes = [close, f"{close}\n{header}"] if is_marked(header) else [close]  # each may be a message of its own
        return make_rules(closes, GAP, name, "structure") + self._list_shape_marks(name, f"{close}\n")

    def _list_line_openers(self, node: Node) -> list[Rule]:
        """Return what begins a call in a line of its own, which a text that ends with its line cannot hold."""
        own = self.ends[node.name]
        if node.kind != "value" or not is_quoted(node) or own.strip() or "\n" not in own:
            return []
        lines = [(own + text.removeprefix(own), nodes) for text, nodes in self.openers if any(map(str.isalnum, text))]
        loose = [(text, nodes) for text, nodes in lines if is_marked(text)]
        return make_openings(loose, SHORT_END, "known", loose=True) + make_openings(lines, SHORT_END, "known")

    def _list_glued_openers(self, node: Node) -> list[Rule]:
        """Return what begins a call within a text whose end is missing, if the argument comes again that comes first in it: no call
        has one twice."""
        if node.kind != "value" or is_quoted(node) or not isinstance(node.codec, Text):
            return []
        return make_openings(((text.strip(), to) for text, to in self.openers if is_marked(text)), SHORT_END, "again", loose=True)

    def _list_opening_marks(self) -> list[str]:
        """Return the marks that begin calls, and nothing else."""
        thoughts = tuple(filter(None, (self.reasoning_start.strip(), *self.reasoning_ends)))
        others = [*self.closes.values(), self.section_close, *thoughts]
        others += [link.shown for link in self.list_links(*FIELDS) if not link.opens]
        found = {text.strip() for text in self._list_openings() if is_marked(text) and not text.strip().startswith(thoughts)}
        marks = sorted(mark for mark in found if not any(mark in (text or "") for text in others))
        return [mark for mark in marks if not any(other != mark and mark.startswith(other) for other in marks)]

    def _list_separated(self) -> list[Rule]:
        """Return what begins a call behind another one, with a sign between them that is not needed, or in the place of layout."""
        pairs: list[tuple[str, Node | tuple[Node, ...]]] = []
        pairs += [(f"{sign}\n{text.strip()}", nodes) for text, nodes in self.openers for sign in self.strays]
        parted = [(link, rest) for link, rest in self._list_next_openings() if self.closes.get(link.source.name) is not None]
        # Those that are firm may begin a call anywhere: see _list_loose_openers.
        pairs += [(text.strip(), nodes) for text, nodes in self.openers if text.strip() and not is_firm(text)]
        pairs += [(rest.strip(), link.to) for link, rest in parted if not (is_firm(rest) or rest.strip() in _SEPARATORS)]
        firm = [(link.to, rest.strip()) for link, rest in parted if is_firm(rest)]
        pairs += [(f"{sign}\n{rest}", to) for to, rest in firm for sign in self.strays]
        loose = [(link.to, rest) for link, rest in parted if rest.strip() in _SEPARATORS]
        pairs += [(sign + " ", to) for to, own in loose for sign in ",;" if own and sign != own]
        name = "layout between calls"
        rules = make_openings((("\n", to) for to, own in loose if own.strip() or not own), name, "fresh")
        named = [to for to, rest in firm if is_word_in_signs(rest) and rest[-1] not in _LEADING_ON and to.kind == "name"]
        rules += make_openings(((text, to) for to in named for text in ("", "\n", ", ", "; ")), BEGINNING, "first")
        return rules + make_openings(pairs, name, "fresh", loose=True)

    def _list_next_keys(self, node: Node) -> list[Rule]:
        """Return what begins a further call in the object of one before it, where the names of tools are keys of objects."""
        close = self.closes.get(node.name) or ""
        keyed = [link for link in self.list_links("name") if link.to == node and _BEHIND_KEY.fullmatch(link.text)]
        names = tuple(link.source for link in keyed if close.lstrip().startswith("}"))
        texts = [f", {keyed[0].text[0]}"] if names else []
        return make_rules(texts, names, "layout between calls", "known", opens=True, loose=True)

    def _list_without_separator(self, node: Node) -> Iterator[Rule]:
        """Return what begins a further call behind a field that tells where it ends, without the mark between the calls."""
        links = [link for link in self.leave(node) if link.opens] if node.kind in SHORT_FIELDS or node.kind == "arguments" else []
        for link in links:
            texts = {text for text, _ in self.openers if is_marked(text) and link.text.endswith(text) and link.text != text}
            guard: Guard = "" if link.to.kind == "arguments" else "known"
            yield from make_rules(sorted(texts), link.to, SHORT_END, guard, opens=True, closes=True)

    def _list_next_openings(self) -> list[tuple[Link, str]]:
        """Return what begins calls, without what ends another one before."""
        opening = (link for link in self.links if link.opens)
        return [(link, link.text.removeprefix(self.closes.get(link.source.name) or "")) for link in opening]

    def _list_shape_rules(self, behind: bool = False) -> list[Rule]:
        """Return the marks that begin calls, also ``behind`` others, for calls that are told by their shape behind them."""
        rules = self._list_shape_marks("call by its shape")
        texts = {*(text for text, _ in self.openers), *(text for _, text in self._list_next_openings() if behind)}
        bare = (text for text in sorted(texts) if is_firm(text) and not is_marked(text))
        data = [text.strip() for text in bare if text.lstrip(" \n,;")[:1] in ("[", "{")]
        separated = {text[: text.find("{") + 1] for text in data if text[0] in ",;"}
        data += sorted(separated - {"", *data})
        rules += make_rules(data, SHAPE, "call by its shape", "shape") + self._list_named_rules("call by its parameters")
        rules += make_rules("<[{`~", SHAPE, "call by its shape", "whole")
        keys = (link for link in self.list_links("name") if link.to.kind == "key")
        tags = {get_constant(link.parts).last[:1] for link in keys} & {"<", "["}  # a tag of another kind may name the tool
        return rules + make_rules(sorted(tags), SHAPE, "call by its parameters", "named")

    def _list_shape_marks(self, recovery: str, before: str = "") -> list[Rule]:
        """Return the marks that begin calls, with what stands before them, for JSON with the shape of calls behind them."""
        firm = (text for text in sorted(self._list_openings()) if is_marked(text) and text[-1] not in "[{\"'")
        return make_rules((before + text for text in firm), SHAPE, recovery, "shape")

    @staticmethod
    def _list_fences(node: Node) -> list[Rule]:
        """Return what opens a fence of code around calls, and what ends it behind them."""
        rules = make_rules(RUNS, node, FENCED_CALL, "fence", opens=True)
        return rules + make_rules(RUNS if node in UNSHOWN else (), node, FENCED_CALL, "unfenced")

    def _list_named_rules(self, recovery: str) -> list[Rule]:
        """Return the marks that begin calls, for calls that are told by their parameters behind them; also what is no mark, if a
        name stands right behind it."""
        names = (text.strip() for text, nodes in self.openers if nodes[0].kind == "name" and not is_marked(text))
        lines = {text.rpartition("\n")[2].strip() for text, nodes in self.openers if nodes[0].kind == "name" and "\n" in text}
        lines = {line for line in lines if _LEADING_ON.isdisjoint(line) and "<" not in line}
        signs = {text for text in (*names, *lines) if text and text[0] != "{" and COUNTER not in text}
        rules = make_rules(self._list_named_marks(), SHAPE, recovery, "named")
        return rules + make_rules(sorted(signs), SHAPE, recovery, "called")

    def _list_named_marks(self) -> list[str]:
        """Return the marks with which a call begins, or a line or a word within what opens one, for each of several calls."""
        others = [*(link.text for link in self.list_links(*FIELDS) if not link.opens), *self.reasoning_ends]
        named = (link.text for link in self.list_links("name") if not link.leaves)
        # Where a header names the tool before the call does, the call itself begins with what stands before the second name.
        again = tuple({cut_echo(text) for text in named if ECHOES["name"] in text})
        others = [text for text in others if not again or not text.startswith(again)]
        found: set[str] = set()
        for text in (*(text for text, _ in self.openers), *again):
            starts = (place for place in find_cuts(text) if 0 < place < len(text))
            places = {0, *(place for place in starts if text[place - 1].isspace() or text[place - 1 : place + 1] in ("><", "]["))}
            for rest in (text[place : place + _MARK].strip() for place in places):
                ends = [match.start() for match in re.finditer(r"\s|(?<=[>\])])(?=.)|\Z", rest)]
                marks = (mark for end in ends if is_marked(mark := rest[:end].rstrip("[{(\"'")))
                found.update(next(([mark] for mark in marks if not any(mark in other for other in others)), []))
        first = tuple(text.strip() for text, _ in self.openers)
        shown = {mark for mark in found if mark[0] == "`" and not any(text.startswith(mark) for text in first)}
        return sorted(mark for mark in found - shown if COUNTER not in mark)  # code within other marks is no call without these
