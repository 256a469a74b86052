"""Rules for reasoning that a model begins, ends or leaves otherwise than the template: see :mod:`.relaxed`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from ..ask.question import REASONING_FIELDS
from ..ask.switches import GENERAL_SWITCHES
from ..format import Node, Text
from ..format.cut import cut_common_start
from ..format.units import get_units
from ..format.view import find_header
from .constants import begins_no_text, cut_last, find_cuts, get_constant, is_firm, is_marked, is_word_in_signs
from .guards import Guard
from .landmarks import AFTER, FIELDS, GAP, THOUGHT, Landmarks, list_doubled, list_tails
from .rules import Rule, make_rules

OPENED_AGAIN: Final = "reasoning opened again"
OTHER_MARKS: Final = "reasoning in other marks"
HEADED: Final = "header doubled"
CONTENT_CUT: Final = "beginning of content missing"
HALVED: Final = "half of the beginning of reasoning"
RELAID: Final = "other layout"
_NAMES: Final = [name for name in REASONING_FIELDS if name in GENERAL_SWITCHES]
"""What both messages and switches call reasoning. Clients ask for tags of other names in the answer itself."""
_WORDS: Final = [word for name in _NAMES for word in (name, name.removesuffix("ing"))]
OTHER_STARTS: Final = (*(f"<{word}>" for word in _WORDS), *(f"[{word.upper()}]" for word in _WORDS))
_IN_LINE: Final = re.compile(r"\n(.{3,})\n")
"""What stands in a line of its own, and is no sign or two."""
_DRAWING: Final = frozenset("-=*_#~`. ")
_LETTERS: Final = 4
_WORD = re.compile(r"\w")
_LAST_WORD, _LAST_BRACKET = re.compile(r"\w+[^\w\s]?\Z"), re.compile(r"[{\[(]\Z")
_SIGNED: Final = re.compile(r"[^\w\s]{2}")
"""What begins a line that a text seldom begins with."""
_HEADER: Final = 160  # characters of a prompt of which a model may write the last ones again
OTHER_ENDS: Final = tuple(f"{start[0]}/{start[1:]}" for start in OTHER_STARTS)


def list_images(marks: Iterable[str]) -> list[str]:
    """Return the marks that close what single marks open, as people write such pairs."""
    single = (mark for mark in marks if is_word_in_signs(mark) and len(find_cuts(mark)) < 3)
    return [_WORD.sub(r"/\g<0>", mark, count=1) for mark in single]


def _cut_close(text: str) -> str:
    """Return what is left of a text behind the first mark in it, which ends reasoning."""
    firm = (place for place in find_cuts(text) if is_firm(text[:place]))
    return text[next((place for place in firm if not _amid(text, place)), len(text)) :]


def _amid(text: str, place: int) -> bool:
    """Whether a place is one between a word and a sign behind it."""
    return text[place - 1].isalnum() and not text[place : place + 1].isspace()


class Thoughts(Landmarks):
    """Makes such rules from the landmarks of a format."""

    def _list_opened_reasoning(self, opened: bool) -> list[Rule]:
        """Return what opens reasoning, for models that open it once more; where it is ``opened``, a part of that is enough."""
        nodes = self.list_nodes("reasoning")
        start = self.reasoning_start
        marks = (start[:place] for place in find_cuts(start))
        halves = [mark for mark in marks if is_marked(mark) and any(map(str.isalnum, mark))]
        texts = [half + start + "\n" for half in ("", *sorted(halves))] if begins_no_text(start) and nodes else []
        texts += [half for half in sorted(halves) if half.strip() != start.strip()] if opened and texts else []
        rules = make_rules(texts, nodes, OPENED_AGAIN, "fresh", loose=not is_firm(start))
        worded = is_marked(start) and sum(map(str.isalnum, start)) >= _LETTERS  # what is shorter may be markup
        amid = [f"{start.strip()}\n"] if texts and not opened and worded else []
        return rules + make_rules(amid, nodes, OPENED_AGAIN, "line")

    def _list_thoughts_between(self) -> list[Rule]:
        """Return what opens reasoning amid an answer, if its end follows: its own mark, behind the header of the turn or
        of a message, too, or one of another format."""
        nodes, header = self.list_nodes("reasoning"), find_header(self.graph).strip()
        mark = self.reasoning_start.strip().removeprefix(header).lstrip()
        leads = ["", *((header, f"{self.content_end}{header}") if is_marked(header) else ())]
        own = [f"{lead}{mark}" for lead in leads] if nodes and begins_no_text(mark) and is_marked(mark) else []
        others = self._list_foreign_starts()
        return make_rules(own, nodes, OPENED_AGAIN, "closed") + make_rules(others, nodes or THOUGHT, OTHER_MARKS, "closed")

    def _list_foreign_starts(self) -> list[str]:
        """Return the marks that open reasoning in other formats, but not in this one."""
        return [mark for mark in OTHER_STARTS if not (self.graph.silent or any(mark in text for text in self.texts))]

    @staticmethod
    def _list_halved_starts(rules: Iterable[Rule]) -> list[Rule]:
        """Return the last word of what opens reasoning, if that is a line, for models that write no more of it, or all but that."""
        rules = [rule for rule in rules if not rule.recovery]
        texts = [(rule.constant.text, rule.targets) for rule in rules if rule.kind == "reasoning"]
        cuts = [(text[:place], text[place:], nodes) for text, nodes in texts for place in find_cuts(text)]
        kept = [cut for cut in cuts if is_marked(cut[0]) and cut[1].endswith("\n") and cut[1].strip().isalpha()]
        halves = [((last, f"{first}\n"), nodes) for first, last, nodes in kept]
        halved = [rule for texts, nodes in halves for rule in make_rules(texts, nodes, HALVED, "fresh", laid=True)]
        others = [rule.constant.text for rule in rules if rule.kind != "reasoning"]
        alone = [(first, nodes) for first, _, nodes in kept if not any(text.startswith(first) for text in others)]
        return halved + [rule for first, nodes in alone for rule in make_rules([first], nodes, HALVED, "fresh")]

    @staticmethod
    def _list_last_marks(rules: Iterable[Rule]) -> list[Rule]:
        """Return the last mark of what opens content, for models that write no more of a header, and the last word of a header with
        the mark behind it, which also tells that reasoning begins."""
        shown = [rule for rule in rules if not rule.recovery]
        content = [(list_tails(rule.constant.text), rule) for rule in shown if rule.kind == "content"]
        lasts = {min(tails, key=len): rule for tails, rule in content if tails}
        alone = [(last, rule) for last, rule in lasts.items() if not any(each.constant.text.startswith(last) for each in shown)]
        found = [(last, rule, CONTENT_CUT) for last, rule in alone if is_marked(last)]
        texts = ((rule, tail) for rule in shown if rule.kind in ("content", "reasoning") for tail in list_tails(rule.constant.text))
        worded = ((rule, tail) for rule, tail in texts if tail[0].isalpha() and is_word_in_signs(cut_last(tail)))
        found += [(tail, rule, CONTENT_CUT if rule.kind == "content" else HALVED) for rule, tail in worded]
        return [made for text, rule, name in found for made in make_rules([text], rule.targets, name, "fresh")]

    def _list_other_starts(self) -> list[Rule]:
        """Return marks that open reasoning and are none of the format's, for models that have learnt another one."""
        nodes = self.list_nodes("reasoning") or (THOUGHT,)
        starts = [f"{mark}\n" for mark in self._list_foreign_starts() if self.graph.starts]
        return make_rules(starts, nodes, OTHER_MARKS, "fresh")

    def _list_other_ends(self, node: Node) -> list[Rule]:
        """Return marks that end reasoning and are none of the format's, with the image of its own one that opens it."""
        nodes = self.list_nodes("content") or (AFTER,)
        marks = (*OTHER_ENDS, *list_images([self.reasoning_start.strip()]))
        ends = [f"\n{mark}\n\n" for mark in marks if not any(mark in text for text in self.texts)]
        links = self.list_links("reasoning") if self.reasoning_end else []
        behind = [(link.text.partition(self.reasoning_end)[2].strip(), link.to) for link in links]
        pairs = [(end + text, to) for text, to in behind if to.kind == "content" and is_marked(text) for end in ends]
        guard: Guard = "" if node is THOUGHT else "told"
        rules = [rule for text, to in pairs for rule in make_rules([f"{text}\n"], to, OTHER_MARKS, guard)]
        return rules + make_rules(ends, nodes, OTHER_MARKS, guard)

    def _list_repeated_headers(self, prompt: str, rules: Iterable[Rule]) -> list[Rule]:
        """Return what a turn begins with behind what the prompt has written already, for models that write it again."""
        prompt = prompt[-_HEADER:]
        ends = {text for place in find_cuts(prompt) if is_marked(text := prompt[place:].lstrip()) and text[0] in "<[{"}
        ends |= {line for line in prompt.splitlines(keepends=True)[-1:] if is_marked(line) or _SIGNED.match(line)}
        shown = [rule for rule in rules if rule.targets and not rule.recovery]
        pairs = [(end, rule) for end in sorted(ends) for rule in shown]
        pairs += [(word, rule) for word in _LAST_WORD.findall(prompt) for rule in shown if is_marked(rule.parts[0])]
        pairs += [(sign, rule) for sign in _LAST_BRACKET.findall(prompt) for rule in shown if rule.constant.core]
        return [replace(rule, parts=(end + rule.parts[0], *rule.parts[1:]), recovery=HEADED) for end, rule in pairs]

    def _list_headers_between(self, rules: Iterable[Rule]) -> list[Rule]:
        """Return what ends reasoning with a mark in it twice, and with the header of the turn once more before what follows it."""
        end, header = self.reasoning_end, find_header(self.graph).strip()
        shown = [rule for rule in rules if not rule.recovery and rule.parts[0].startswith(end)]
        texts = [(text, rule) for rule in shown for text in list_doubled(rule.parts[0])]
        if is_marked(end) and is_marked(header):
            bare = (rule for rule in shown if header not in rule.parts[0])
            texts += [(f"{end}\n{header}\n{rule.parts[0].removeprefix(end)}", rule) for rule in bare]
        return [replace(rule, parts=(text, *rule.parts[1:]), recovery=HEADED) for text, rule in texts]

    def _list_orphan_ends(self) -> list[Rule]:
        """Return what ends reasoning, where there was none; most signs without a word stand in any text."""
        nodes = self.list_nodes("content") or (GAP,)
        ends = tuple(filter(begins_no_text, self.reasoning_ends))
        behind = (link.text.lstrip() for link in self.list_links("reasoning") if link.to.kind == "content")
        whole = sorted(text for text in behind if text.startswith(ends))  # with what follows it
        return make_rules((*ends, *whole), nodes, "end of reasoning doubled", "fresh")

    def _list_reasoning_ends(self) -> list[Rule]:
        """Return what ends reasoning, alone and with what begins a turn without any."""
        content = self.list_nodes("content") or (AFTER,)
        closes = [close if any(map(str.isalnum, close)) else f"\n{close}\n" for close in self.reasoning_ends]  # signs have a line
        rules = make_rules(closes, content, "layout behind reasoning")
        signs = self.reasoning_end
        if not (signs in self.reasoning_ends or any(map(str.isalnum, signs))) and len(set(signs)) > 1:  # no line of prose is that
            rules += make_rules([f"\n{signs}\n"], content, "layout behind reasoning", "turn")
        rules += make_rules(self._list_end_lines(), content, "layout behind reasoning", "turn")
        shown = {"reasoning", *(link.to.kind for link in self.list_links("reasoning"))}
        for link in chain(*self.firsts):
            if link.to.kind not in shown and is_marked(link.shown):
                texts = [close + link.text for close in self.reasoning_ends]
                rules += make_rules(texts, link.to, "layout behind reasoning", opens=link.opens)
        return rules + self._list_halved_content(content) + self._list_content_starts()

    def _list_end_lines(self) -> list[str]:
        """Return the line with which reasoning ends, whatever follows, if no line of a text is that: a word in capitals, or signs
        that stand in what opens it, too, and that no text draws lines or blocks with."""
        ends = {self._find_common(node) for node in self.list_nodes("reasoning")}
        found = {line[0]: line[1] for end in sorted(ends) if (line := _IN_LINE.match(end))}
        opened = {line for line in found.values() if line in self.reasoning_start and not _DRAWING.issuperset(line)}
        return [text for text, line in found.items() if (line.isupper() if line.isalpha() else line in opened)]

    def _find_common(self, node: Node) -> str:
        """Return what stands behind a text, whatever follows."""
        return cut_common_start([link.text for link in self.leave(node)] or [""])

    def _list_halved_content(self, content: tuple[Node, ...]) -> list[Rule]:
        """Return the mark that ends reasoning as a message, with or without the last marks of the header that would follow."""
        texts: set[str] = set()
        for link in self.list_links("reasoning"):
            written = link.text
            text = written.strip()
            rest = _cut_close(text)
            first = text.removesuffix(rest).strip()
            layout = rest[: len(rest) - len(rest.lstrip())]
            if link.to.kind != "content" or not rest:
                continue
            if is_word_in_signs(first):
                texts |= {first + layout, *(f"{first}\n{tail}" for tail in list_tails(rest))}
            elif written.startswith(f"\n{first}\n"):
                texts.add(f"\n{first}\n")  # signs have a line
        nodes = [node for node in self.list_nodes("reasoning") if self._find_barred_end(node)]
        ends = sorted({*map(self._find_barred_end, nodes)} - texts)
        rules = make_rules(sorted(texts), content, CONTENT_CUT) + make_rules(ends, GAP, CONTENT_CUT, "followed")
        # The mark of an answer behind a text that cannot hold it may lack its last blank.
        marks = [link for node in nodes for link in self.leave(node) if link.to.kind == "content" and link.text.strip()]
        lacking = ((link.text.rstrip(), link.to) for link in marks if link.text[-1] == " ")
        return rules + [rule for text, to in lacking for rule in make_rules([text], to, RELAID)]

    def _find_barred_end(self, node: Node) -> str:
        """Return what stands behind a text whatever follows, up to the end of the line, if it cannot hold that; else nothing."""
        close = self._find_common(node)
        units = get_units(node.codec if isinstance(node.codec, Text) else Text())
        return next((text for text in (close[: close.rfind("\n") + 1], close) if text and units.bars_start(text)), "")

    def _find_own_tail(self, text: str) -> str:
        """Return the least that a text ends with and neither calls nor what opens reasoning have; empty where there is none."""
        pairs = zip(self.graph.starts, self.firsts, strict=True)
        opened = (start.prompt for start, links in pairs if any(link.to.kind == "reasoning" for link in links))
        others = [*(link.shown for link in self.list_links(*FIELDS)), self.reasoning_start, *opened]
        places = (place for place in reversed(find_cuts(text)) if not _amid(text, place))
        tails = (text[place:] for place in places if is_firm(text[:place]))
        told = (tail for tail in tails if is_word_in_signs(tail.strip()) and not any(tail.strip() in other for other in others))
        return next(told, "")

    def _list_content_starts(self) -> list[Rule]:
        """Return the marks that begin content, for models that do not end their reasoning before it."""
        links = self.list_links("reasoning")
        labels = {link.text for link in links if get_constant(link.parts).label}
        marks = [(_cut_close(link.text.lstrip()), link.to) for link in links]
        amid = [link for link, (tail, _) in zip(links, marks, strict=True) if tail[:1].isalnum()]
        marks += [(self._find_own_tail(link.text), link.to) for link in amid]  # the first mark ends amid what ends reasoning
        marks += [(link.text, link.to) for link in links if link.text in labels]
        marks += [(link.text.lstrip(), link.to) for link in chain(*self.firsts)]
        for start, links in zip(self.graph.starts, self.firsts, strict=True):
            begun = start.prompt.rpartition("\n")[2].lstrip()  # the prompt has written the beginning of the first
            marks += [(begun + link.text, link.to) for link in links if begun and link.text]
        lines = [(f"\n{mark.strip()}", mark, to) for mark, to in marks if to.kind == "content" and is_firm(mark)]
        alone = labels | {mark for line, mark, _ in lines if mark.lstrip() == f"{line[1:]}\n"}  # with a line of their own
        told = [(line, to) for line, mark, to in lines if is_word_in_signs(line[1:]) or mark in alone]
        return [rule for line, to in told for rule in make_rules([line], to, "end of reasoning missing", "told")]
