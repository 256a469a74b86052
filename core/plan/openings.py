"""Rules for what begins calls where no render shows it: marks left out, doubled, in other quotes, or behind another call.

As in :mod:`.relaxed`, each names what it relaxes and what must hold for it.
"""

from __future__ import annotations

import re

from ..format import Edge, Node, TurnGraph
from ..format.cut import COUNTER, find_boundaries
from .constants import cut_first, get_constant, is_firm, is_marked, is_word_in_signs
from .echoes import ECHOES, cut_echo
from .ends import MISSING, SHORT_END, Ends, leave_out
from .landmarks import FIELDS, SHAPE, UNSHOWN, is_quoted, list_doubled, list_tails, read_parts, write_parts
from .rules import MISTYPED, Guard, Rule

FENCED_CALL = "fence around a call"
RUNS = ("```", "~~~")
"""The signs of fences, of which a line has three or more."""
BEGINNING = "beginning of a call missing"
_LEADING = re.compile(r"[^\w\s]{1,4}")
_LEADING_ON = frozenset("\"'=:,([{")  # what a mark ends with in which the name stands
_PREFIX = re.compile(r"\w+[.:/]\Z")


def _leave_out_lines(text: str) -> list[str]:
    """Return a text without one of the lines that stand between its first words and its last line, for each of those."""
    lines = text.split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    return ["\n".join(lines[:place] + lines[place + 1 :]) for place in range(first + 1, len(lines) - 1)]


def _begins_with_mark(text: str) -> bool:
    """Whether a text begins with a mark that stands in no sentence, or as JSON or a tag does."""
    return text.lstrip()[:1] in tuple("{[<") or is_word_in_signs(cut_first(text))


class Openings(Ends):
    """Makes rules for what begins calls."""

    def __init__(self, graph: TurnGraph) -> None:
        super().__init__(graph)
        self.opening_marks = self._list_opening_marks()
        inner = sorted({tail for text, _ in self.openers for tail in list_tails(text) if is_word_in_signs(cut_first(tail))})
        self.beginnings = (*self.opening_marks, *(text.lstrip() for text, _ in self.openers), *inner)
        self.strays = self._find_strays()
        behind = self._list_next_openings()
        texts = {*(text for _, text in behind), *(text for text, _ in self.openers)}
        closed = [(edge, rest.strip()) for edge, rest in behind if self.closes.get(edge.source)]
        self.whole_openings = sorted({(rest, write_parts(edge).strip()) for edge, rest in closed if rest and len(edge.parts) == 1})
        """What begins a call behind another one, each without and with what ends that before it."""
        self.opening_lines = {line for text in texts if "\n" in text and len(line := text[text.rindex("\n") :]) > 1}
        """The last lines of what begins calls, with the line breaks before them."""

    def _list_loose_openers(self, recovery: str) -> list[Rule]:
        """Return what may begin a call in any text: each opener, and its inner part where the outer one was left out."""
        rules: list[Rule] = []
        bare = [(text[: found.start()], nodes) for text, nodes in self.openers if (found := _PREFIX.search(text))]
        if recovery:
            rules += self._list_openers_in_thoughts(recovery)
        shown = len(self.openers)
        for number, (text, nodes) in enumerate([*self.openers, *(pair for pair in bare if is_marked(pair[0]))]):
            missing, marked, whole = recovery or BEGINNING, is_marked(text), number < shown
            first = cut_first(text)
            twice = list_doubled(text)
            for edge in self.leave(nodes[0].name) if whole and nodes[0].kind == "id" else ():
                named = (self.to(edge),)
                texts = [text, *leave_out(text, write_parts(edge))] if named[0].kind == "name" else []
                texts = [each for each in texts if each.lstrip()[:1] == text.lstrip()[:1]]
                rules += [Rule(read_parts(each), named, True, recovery=recovery or MISSING, guard="known") for each in texts]
            if whole and is_word_in_signs(first):
                signs = _LEADING.match(text.lstrip())
                halves = [text.lstrip()[size:] for size in range(1, signs.end() + 1)] if signs else []
                stands: Guard = "known" if is_marked(text.lstrip()[len(first) :]) else "headless"  # one mark alone may be a text's
                rules += [Rule(read_parts(half), nodes, True, recovery=recovery or MISTYPED, guard=stands) for half in halves]
            twice += [text.replace("{", "{{", 1)] if "{" in text[len(first) :] else []  # as a format string has it
            for other in twice if whole else ():
                rules.append(Rule(read_parts(other), nodes, True, recovery=recovery or "mark doubled", guard="tool"))
            for short in _leave_out_lines(text) if marked and whole else ():
                rules.append(Rule(read_parts(short), nodes, True, recovery=missing, guard="known"))
            if is_firm(text):  # data alone amid prose has to be looked at to its end
                told = (marked and _begins_with_mark(text)) or self._follows_text(text)
                doubted: Guard = "apart" if marked else "fresh"  # words stand in any sentence
                label = text.strip()[:1].isalnum() and not told
                guard: Guard = "tool" if (recovery and not label) or not whole else "" if told else doubted
                rules.append(Rule(read_parts(text), nodes, True, recovery=recovery if whole else missing, guard=guard))
            for place in sorted(find_boundaries(text)):
                inner = text[place:]
                if any(text.count(quote, 0, place) % 2 for quote in "\"'"):
                    continue  # amid a text in quotes
                bounded: Guard = "tool" if _begins_with_mark(inner) else "first"
                guard = "known" if recovery else bounded if marked else "fresh"  # known: two recoveries at once
                if place > 0 and inner.strip() != text.strip() and is_firm(inner) and not inner[:1].isspace():
                    worded = guard == "known" or any(map(str.isalnum, inner))  # signs alone stand in tables and rules
                    rules.append(Rule(read_parts(inner), nodes, True, recovery=missing, guard=guard if worded else "fresh"))
                elif place > 0 and inner in ("(", "[", "{") and not recovery:
                    rules.append(Rule((inner,), nodes, True, recovery=missing, guard="apart"))
                behind = next((end for end in sorted(find_boundaries(text)) if end > place), 0)
                if is_marked(text[:place]) and not inner[:1].isspace() and text[behind:].strip():
                    rules.append(Rule(read_parts(text[:place] + text[behind:]), nodes, True, recovery=missing, guard=guard))
        return rules

    def _list_openers_in_thoughts(self, recovery: str) -> list[Rule]:
        """Return what is left of what begins calls behind reasoning where its first marks were left out."""
        pairs = [(tail, nodes) for text, nodes in self._list_openers_behind_reasoning() for tail in list_tails(text)]
        told = [(text, nodes) for text, nodes in pairs if _begins_with_mark(text)]
        return [Rule(read_parts(text), nodes, True, recovery=recovery, guard="known") for text, nodes in told]

    def _list_openers_behind_reasoning(self) -> list[tuple[str, tuple[Node, ...]]]:
        """Return what ends reasoning and begins a call, each with where it leads."""
        edges = [edge for edge in self.list_edges("reasoning") if edge.opens_call]
        return [(write_parts(edge), (self.to(edge),)) for edge in edges]

    def _list_calls_behind_content(self) -> list[Rule]:
        """Return what begins calls behind the end of content, in formats whose content stands behind its calls or alone."""
        ends = (self.content_end.removesuffix(stop.strip()).strip() for stop in (*self.stops, self.turn_end, ""))
        close = min(filter(is_marked, ends), key=len, default="")
        if not close or any(edge.opens_call for edge in self.list_edges("content")):
            return []
        texts = [(f"{close}\n{text}", nodes) for text, nodes in self.openers if is_marked(text)]
        thoughts = self._list_openers_behind_reasoning()
        texts += [(text, nodes) for text, nodes in thoughts if text.startswith(close)]  # as behind a message of reasoning
        return [Rule(read_parts(text), nodes, True, recovery="content before calls", guard="tool") for text, nodes in texts]

    def _list_line_openers(self, node: Node) -> list[Rule]:
        """Return what begins a call in a line of its own, which a text that ends with its line cannot hold."""
        own = self.ends[node.name]
        if node.kind != "value" or not is_quoted(node) or own.strip() or "\n" not in own:
            return []
        lines = [(text, nodes) for text, nodes in self.openers if text.startswith(own) and is_marked(text)]
        return [Rule(read_parts(text), nodes, True, recovery=SHORT_END, guard="known", loose=True) for text, nodes in lines]

    def _follows_text(self, opener: str) -> bool:
        """Whether the template writes an opener behind content."""
        return any(edge.opens_call and write_parts(edge) == opener for edge in self.list_edges("content"))

    def _list_opening_marks(self) -> list[str]:
        """Return the marks that begin calls, and nothing else."""
        thoughts = tuple(filter(None, (self.reasoning_start.strip(), *self.reasoning_ends)))
        others = [*self.closes.values(), self.section_close, *thoughts]
        inner = self.list_edges(*FIELDS)
        others += [edge.text for edge in inner if not edge.opens_call]
        found = {text.strip() for text in self._list_openings() if is_marked(text) and not text.strip().startswith(thoughts)}
        marks = sorted(mark for mark in found if not any(mark in (text or "") for text in others))
        return [mark for mark in marks if not any(other != mark and mark.startswith(other) for other in marks)]

    def _find_strays(self) -> list[str]:
        """Return signs that models put behind a call without need: what separates, and a bracket that closes it once more."""
        ends = {close.strip().lstrip("\"'")[:1] for close in self.closes.values() if close}
        return [",", ";", *sorted(ends & {")", "]", "}"})]

    def _list_separated(self) -> list[Rule]:
        """Return what begins a call behind another one, with a sign between them that is not needed, or in the place of layout."""
        pairs = [(f"{sign}\n{text.strip()}", nodes) for text, nodes in self.openers for sign in self.strays]
        # Those that are firm may begin a call anywhere: see _list_loose_openers.
        pairs += [(text.strip(), nodes) for text, nodes in self.openers if text.strip() and not is_firm(text)]
        parted = [(edge, rest) for edge, rest in self._list_next_openings() if self.closes.get(edge.source) is not None]
        firm = [(edge, rest.strip()) for edge, rest in parted if is_firm(rest)]
        pairs += [(f"{sign}\n{rest}", (self.to(edge),)) for edge, rest in firm for sign in self.strays]
        parted = [(edge, rest) for edge, rest in parted if rest.strip() in ("", ",", ";")]
        signs = [(edge, sign) for edge, own in parted for sign in ",;" if own and sign != own]
        pairs += [(sign + " ", (self.to(edge),)) for edge, sign in signs]
        name = "layout between calls"
        lines = [edge for edge, own in parted if own.strip() or not own]
        rules = [Rule(("\n",), (self.to(edge),), True, recovery=name, guard="fresh") for edge in lines]
        named = (self.to(edge) for edge, rest in firm if is_word_in_signs(rest) and rest[-1] not in _LEADING_ON)
        names = dict.fromkeys(node for node in named if node.kind == "name")
        texts = ("", "\n", ", ", "; ")
        rules += [Rule((text,), (node,), True, recovery=BEGINNING, guard="first") for node in names for text in texts]
        return rules + [Rule(read_parts(text), nodes, True, recovery=name, guard="fresh", loose=True) for text, nodes in pairs]

    def _list_next_openings(self) -> list[tuple[Edge, str]]:
        """Return what begins calls, without what ends another one before."""
        opening = (edge for edge in self.graph.turn.edges if edge.opens_call)
        return [(edge, write_parts(edge).removeprefix(self.closes.get(edge.source) or "")) for edge in opening]

    def _list_shape_rules(self, behind: bool = False) -> list[Rule]:
        """Return the marks that begin calls, also ``behind`` others, for calls that are told by their shape behind them."""
        rules = self._list_shape_marks("call by its shape")
        texts = {*(text for text, _ in self.openers), *(text for _, text in self._list_next_openings() if behind)}
        bare = [text for text in sorted(texts) if is_firm(text) and not is_marked(text) and text.lstrip(" \n,;")[:1] in ("[", "{")]
        rules += [Rule(read_parts(text.strip()), (SHAPE,), recovery="call by its shape", guard="shape") for text in bare]
        rules += self._list_named_rules("call by its parameters")
        rules += [Rule((sign,), (SHAPE,), recovery="call by its shape", guard="whole") for sign in "<[{`~"]
        keys = (edge for edge in self.list_edges("name") if self.to(edge).kind == "key")
        tags = {get_constant(edge.parts).last[:1] for edge in keys} & {"<", "["}  # a tag of another kind may name the tool
        return rules + [Rule((sign,), (SHAPE,), recovery="call by its parameters", guard="named") for sign in sorted(tags)]

    def _list_shape_marks(self, recovery: str) -> list[Rule]:
        """Return the marks that begin calls, for JSON with the shape of calls behind them."""
        firm = (text for text in sorted(self._list_openings()) if is_marked(text) and text[-1] not in "[{\"'")
        return [Rule(read_parts(text), (SHAPE,), recovery=recovery, guard="shape") for text in firm]

    @staticmethod
    def _list_fences(node: Node) -> list[Rule]:
        """Return what opens a fence of code around calls, and what ends it behind them."""
        rules = [Rule((run,), (node,), True, recovery=FENCED_CALL, guard="fence") for run in RUNS]
        ends = RUNS if node in UNSHOWN else ()
        return rules + [Rule((run,), (node,), recovery=FENCED_CALL, guard="unfenced") for run in ends]

    def _list_named_rules(self, recovery: str) -> list[Rule]:
        """Return the marks that begin calls, for calls that are told by their parameters behind them; also what is no mark, if a
        name stands right behind it."""
        names = (text.strip() for text, nodes in self.openers if nodes[0].kind == "name" and not is_marked(text))
        signs = {text for text in names if text and text[0] not in "{[" and COUNTER not in text}
        rules = [Rule((text,), (SHAPE,), recovery=recovery, guard="named") for text in self._list_named_marks()]
        return rules + [Rule((text,), (SHAPE,), recovery=recovery, guard="called") for text in sorted(signs)]

    def _list_named_marks(self) -> list[str]:
        """Return the marks with which a call begins, or a line or a word within what opens one, for each of several calls."""
        fields = [edge for edge in self.list_edges(*FIELDS) if not edge.opens_call]
        others = [*map(write_parts, fields), *self.reasoning_ends]
        named = (edge for edge in self.list_edges("name") if not self.is_leaving(edge))
        # Where a header names the tool before the call does, the call itself begins with what stands before the second name.
        again = tuple({cut_echo(text) for text in map(write_parts, named) if ECHOES["name"] in text})
        others = [text for text in others if not again or not text.startswith(again)]
        found: set[str] = set()
        for text in (*(text for text, _ in self.openers), *again):
            starts = (place for place in find_boundaries(text) if 0 < place < len(text))
            places = {0, *(place for place in starts if text[place - 1].isspace() or text[place - 1 : place + 1] in ("><", "]["))}
            for rest in (text[place:].strip() for place in places):
                ends = [match.start() for match in re.finditer(r"\s|(?<=[>\])])(?=.)|\Z", rest)]
                marks = (mark for end in ends if is_marked(mark := rest[:end].rstrip("[{(\"'")))
                found.update(next(([mark] for mark in marks if not any(mark in other for other in others)), []))
        first = tuple(text.strip() for text, _ in self.openers)
        shown = {mark for mark in found if mark[0] == "`" and not any(text.startswith(mark) for text in first)}
        return sorted(mark for mark in found - shown if COUNTER not in mark)  # code within other marks is no call without these
