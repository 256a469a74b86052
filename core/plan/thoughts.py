"""Rules for reasoning that a model begins, ends or leaves otherwise than the template: see :mod:`.relaxed`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ..ask.question import REASONING_FIELDS
from ..ask.switches import GENERAL_SWITCHES
from ..format import Node, Text
from ..format.cut import cut_common_start, find_boundaries
from ..format.units import get_units
from ..format.view import find_header
from .constants import begins_no_text, get_constant, is_firm, is_marked, is_word_in_signs
from .landmarks import AFTER, FIELDS, GAP, THOUGHT, TURN, Landmarks, list_doubled, list_tails, read_parts, write_parts
from .rules import Guard, Rule

OPENED_AGAIN = "reasoning opened again"
OTHER_MARKS = "reasoning in other marks"
HEADED = "header doubled"
HALVED = "half of the beginning of reasoning"
_NAMES = [name for name in REASONING_FIELDS if name in GENERAL_SWITCHES]
"""What both messages and switches call reasoning. Clients ask for tags of other names in the answer itself."""
_WORDS = [word for name in _NAMES for word in (name, name.removesuffix("ing"))]
_OTHER_STARTS = (*(f"<{word}>" for word in _WORDS), *(f"[{word.upper()}]" for word in _WORDS))
_WORD, _LAST_WORD = re.compile(r"\w"), re.compile(r"\w+\Z")
OTHER_ENDS = tuple(f"{start[0]}/{start[1:]}" for start in _OTHER_STARTS)


def list_images(marks: Iterable[str]) -> list[str]:
    """Return the marks that close what single marks open, as people write such pairs."""
    single = (mark for mark in marks if is_word_in_signs(mark) and len(find_boundaries(mark)) < 3)
    return [_WORD.sub(r"/\g<0>", mark, count=1) for mark in single]


def _cut_close(text: str) -> str:
    """Return what is left of a text behind the first mark in it, which ends reasoning."""
    firm = (place for place in sorted(find_boundaries(text)) if is_firm(text[:place]))
    return text[next((place for place in firm if not _amid(text, place)), len(text)) :]


def _amid(text: str, place: int) -> bool:
    """Whether a place is one between a word and a sign behind it."""
    return text[place - 1].isalnum() and not text[place : place + 1].isspace()


class Thoughts(Landmarks):
    """Makes such rules from the landmarks of a format."""

    def _list_opened_reasoning(self, opened: bool) -> list[Rule]:
        """Return what opens reasoning, for models that open it though a prompt has opened or closed it.

        Where it is open, a part of that is enough.
        """
        nodes = self.list_nodes("reasoning")
        start = self.reasoning_start
        marks = (start[:place] for place in find_boundaries(start))
        halves = [mark for mark in marks if is_marked(mark) and any(map(str.isalnum, mark))]
        texts = [half + start + "\n" for half in ("", *sorted(halves))] if begins_no_text(start) and nodes else []
        texts += [half for half in sorted(halves) if half.strip() != start.strip()] if opened and texts else []
        loose = not is_firm(start)
        return [Rule(read_parts(text), nodes, recovery=OPENED_AGAIN, guard="fresh", loose=loose) for text in texts]

    @staticmethod
    def _list_halved_starts(rules: Iterable[Rule]) -> list[Rule]:
        """Return the last word of what opens reasoning, if that is a line, for models that write no more of it, or all but that."""
        rules = [rule for rule in rules if not rule.recovery]
        texts = [(rule.constant.text, rule.targets) for rule in rules if rule.kind == "reasoning"]
        cuts = [(text[:place], text[place:], nodes) for text, nodes in texts for place in find_boundaries(text)]
        kept = [cut for cut in cuts if is_marked(cut[0]) and cut[1].endswith("\n") and cut[1].strip().isalpha()]
        halves = [(half, nodes) for first, last, nodes in kept for half in (last, f"{first}\n")]
        halved = [Rule((half,), nodes, recovery=HALVED, guard="fresh", laid=True) for half, nodes in halves]
        others = [rule.constant.text for rule in rules if rule.kind != "reasoning"]
        alone = [(first, nodes) for first, _, nodes in kept if not any(text.startswith(first) for text in others)]
        return halved + [Rule(read_parts(first), nodes, recovery=HALVED, guard="fresh") for first, nodes in alone]

    def _list_other_starts(self) -> list[Rule]:
        """Return marks that open reasoning and are none of the format's, for models that have learnt another one."""
        nodes = self.list_nodes("reasoning") or (THOUGHT,)
        known = not self.graph.silent and self.graph.starts
        starts = [mark for mark in _OTHER_STARTS if known and not any(mark in text for text in self.texts)]
        return [Rule((f"{mark}\n",), nodes, recovery=OTHER_MARKS, guard="fresh") for mark in starts]

    def _list_other_ends(self, node: Node) -> list[Rule]:
        """Return marks that end reasoning and are none of the format's, with the image of the one that opens it: behind a sentence
        or a line, where it has its own."""
        nodes = self.list_nodes("content") or (AFTER,)
        start = self.reasoning_start.strip()
        ends = [mark for mark in (*OTHER_ENDS, *list_images([start])) if not any(mark in text for text in self.texts)]
        guard: Guard = "" if node is THOUGHT else "told"
        return [Rule((f"\n{mark}\n\n",), nodes, recovery=OTHER_MARKS, guard=guard) for mark in ends]

    def _list_repeated_headers(self, prompt: str, rules: Iterable[Rule]) -> list[Rule]:
        """Return what a turn begins with behind what the prompt has written already, for models that write it again."""
        ends = {text for place in find_boundaries(prompt) if is_marked(text := prompt[place:].lstrip()) and text[0] in "<[{"}
        ends |= {line for line in prompt.splitlines(keepends=True)[-1:] if is_marked(line)}
        shown = [rule for rule in rules if rule.targets and not rule.recovery]
        pairs = [(end, rule) for end in sorted(ends) for rule in shown]
        pairs += [(word, rule) for word in _LAST_WORD.findall(prompt) for rule in shown if is_marked(rule.parts[0])]
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
        behind = (edge for edge in self.list_edges("reasoning") if self.to(edge).kind == "content")
        whole = sorted(text for edge in behind if (text := write_parts(edge).lstrip()).startswith(ends))  # with what follows it
        return [Rule(read_parts(text), nodes, recovery="end of reasoning doubled", guard="fresh") for text in (*ends, *whole)]

    def _list_reasoning_ends(self) -> list[Rule]:
        """Return what ends reasoning, alone and with what begins a turn without any."""
        content = self.list_nodes("content") or (AFTER,)
        closes = [close if any(map(str.isalnum, close)) else f"\n{close}\n" for close in self.reasoning_ends]  # signs have a line
        rules = [Rule(read_parts(close), content, recovery="layout behind reasoning") for close in closes]
        shown = {"reasoning", *(self.to(edge).kind for edge in self.list_edges("reasoning"))}
        for edge in dict.fromkeys(edge for start in self.graph.starts for edge in start.edges):
            target = self.to(edge)
            if target.kind not in shown and is_marked(edge.text):
                texts = [close + write_parts(edge) for close in self.reasoning_ends]
                rules += [Rule(read_parts(t), (target,), edge.opens_call, recovery="layout behind reasoning") for t in texts]
        return rules + self._list_halved_content(content) + self._list_content_starts()

    def _list_halved_content(self, content: tuple[Node, ...]) -> list[Rule]:
        """Return the mark that ends reasoning as a message, with or without the last marks of the header that would follow."""
        texts: set[str] = set()
        for edge in self.list_edges("reasoning"):
            written = write_parts(edge)
            text = written.strip()
            rest = _cut_close(text)
            first = text.removesuffix(rest).strip()
            layout = rest[: len(rest) - len(rest.lstrip())]
            if self.to(edge).kind != "content" or not rest:
                continue
            if is_word_in_signs(first):
                texts |= {first + layout, *(f"{first}\n{tail}" for tail in list_tails(rest))}
            elif written.startswith(f"\n{first}\n"):
                texts.add(f"\n{first}\n")  # signs have a line
        ends = sorted({*map(self._find_barred_end, self.list_nodes("reasoning"))} - texts - {""})
        missing = "beginning of content missing"
        rules = [Rule(read_parts(text), content, recovery=missing) for text in sorted(texts)]
        return rules + [Rule(read_parts(text), (GAP,), recovery=missing, guard="followed") for text in ends]

    def _find_barred_end(self, node: Node) -> str:
        """Return what stands behind a text whatever follows, up to the end of the line, if it cannot hold that; else nothing."""
        behind = [write_parts(edge) for edge in self.leave(node.name)]
        if not (behind and isinstance(node.codec, Text)):
            return ""
        close, units = cut_common_start(behind), get_units(node.codec)
        return next((text for text in (close[: close.rfind("\n") + 1], close) if text and units.bars_start(text)), "")

    def _find_own_tail(self, text: str) -> str:
        """Return the least that a text ends with and neither calls nor what opens reasoning have; empty where there is none."""
        inner = [edge.text for edge in self.list_edges(*FIELDS)]
        opened = (start for start in self.graph.starts if any(self.nodes[TURN, e.target].kind == "reasoning" for e in start.edges))
        others = [*inner, self.reasoning_start, *(start.prompt for start in opened)]
        places = (place for place in sorted(find_boundaries(text), reverse=True) if not _amid(text, place))
        tails = (text[place:] for place in places if is_firm(text[:place]))
        told = (tail for tail in tails if is_word_in_signs(tail.strip()) and not any(tail.strip() in other for other in others))
        return next(told, "")

    def _list_content_starts(self) -> list[Rule]:
        """Return the marks that begin content, for models that do not end their reasoning before it."""
        found: dict[str, list[Node]] = {}
        edges = self.list_edges("reasoning")
        labels = {write_parts(edge) for edge in edges if get_constant(edge.parts).label}
        tails = [(_cut_close(write_parts(edge).lstrip()), edge) for edge in edges]
        amid = [(self._find_own_tail(write_parts(edge)), edge.target) for tail, edge in tails if tail[:1].isalnum()]
        marks = [(tail, edge.target) for tail, edge in tails] + amid  # where the first mark ends amid what ends reasoning
        marks += [(text, edge.target) for edge in edges if (text := write_parts(edge)) in labels]
        marks += [(write_parts(edge).lstrip(), edge.target) for start in self.graph.starts for edge in start.edges]
        for mark, name in marks:
            target, text = self.nodes[TURN, name], mark.strip()
            told = is_firm(mark) and (is_word_in_signs(text) or mark == f"\n{text}\n" or mark in labels)
            if target.kind == "content" and told and target not in found.setdefault(text, []):
                found[text].append(target)
        missing = "end of reasoning missing"
        return [Rule(read_parts("\n" + text), tuple(nodes), recovery=missing, guard="told") for text, nodes in found.items()]
