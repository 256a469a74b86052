"""What a model leaves out, or writes twice, of the ends of values, calls and turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..format import Insides, Json, Node, Text, TurnGraph
from ..format.cut import cut_common_start
from ..format.units import get_units
from .constants import (
    DATA,
    cut_first,
    cut_heads,
    cut_last,
    cut_tails,
    find_cuts,
    has_rare_sign,
    is_firm,
    is_marked,
    is_plain,
    is_word_in_signs,
    leave_out,
    sort_longest,
)
from .echoes import ECHOES, begins, cut_to_echo, find_any, find_size, skip_echoes
from .entries import DOUBLED, OTHER_SEPARATOR, UNENDED, Entries, ends_in_quote, ends_text, open_mark
from .guards import Guard
from .landmarks import END, FENCED, FIELDS, GAP, SHORT_FIELDS, is_delimited, is_quoted, list_tails, tells_end
from .rules import Rule, make_closes, make_openings, make_rules

MISSING: Final = "field of a call missing"
_OPENING: Final = tuple("<[{")
SHORT_END: Final = "end of a call missing"
SHORT_SECTION: Final = "end of all calls missing"
TRAILING: Final = "separator at the end"
CUT_MARK: Final = "half of a mark"
TWICE: Final = "end of the turn doubled"
OTHER_END: Final = "value ended as another"
CLOSED_TAG: Final = "tag closed otherwise"
_NAMED_TAG: Final = re.compile(r"<([\w:.-]*)\Z")
_SLASH: Final = re.compile(r"(\s*)/>")
_OPEN_TAG: Final = re.compile(r"<(\w[\w:.-]*)(?=[\s\"'=][^<>]*\Z)")
_ENDS: Final = 4  # marks that end a turn, of which any two may stand behind each other
_BOTH: tuple[Guard, Guard] = ("typed", "late")


class Marks:
    """Texts, and what finds them."""

    def __init__(self, texts: tuple[str, ...], pattern: re.Pattern[str]) -> None:
        self.texts = texts
        self.pattern = pattern
        self.longest = max(map(find_size, texts))  # so many characters may one have
        self.last = re.compile(f"[{re.escape(''.join({text[-1] for text in texts}))}]")  # what one ends with

    @classmethod
    def find(cls, ends: Iterable[str], turns: Iterable[str]) -> Marks | None:
        """Return the marks that end something, or (group 1) turns; None where there are none."""
        one, other = find_any(ends), find_any(turns)
        pattern = "|".join(filter(None, (one, other and f"({other})")))
        return cls((*ends, *turns), re.compile(pattern)) if pattern else None

    def may_begin(self, rest: str) -> bool:
        """Whether one may begin with what is left of an output."""
        return any(begins(text, rest) for text in self.texts)


def list_nesting(node: Node, end: str) -> list[Rule]:
    """Return what tells that a text holds what its end closes: then that may be the text's own."""
    opening = open_mark(end).rstrip(">]|")
    return make_rules([opening], node, DOUBLED, "sample") if is_firm(opening) else []


def _opens_more(text: str) -> bool:
    """Whether a text ends within a string, or before something that it has begun."""
    return text.count('"') % 2 != 0 or text.rstrip().endswith((":", "=", "(", "[", "{", ","))


def _ends_turn(text: str) -> bool:
    """Whether a turn has ended where an output ends so."""
    line = text[:1] == "\n" == text[-1:] and not DATA.issuperset(text)
    return line or is_firm(text) or has_rare_sign(text) or ("\n" in text.rstrip() and len(text.strip()) > 1)


def _is_cut_at(text: str, place: int) -> bool:
    """Whether what stands at a place may be what a server stops at and cuts off: a line, or a mark, of words only behind another
    mark."""
    before = text[:place].rstrip()
    told = not text[place:].lstrip()[:1].isalnum() or (not before[-1:].isalnum() and any(map(str.isalnum, before)))
    return text[place - 1 : place] == "\n" or (told and before[-1:] not in tuple("<[({"))  # within a mark none is cut off


def _close_otherwise(text: str, ways: Iterable[str]) -> list[str]:
    """Return a text with something else where its first tag closes itself."""
    return list(dict.fromkeys(other for way in ways if (other := _SLASH.sub(way, text, count=1)) != text))


class Ends(Entries):
    """Makes the rules for them."""

    def __init__(self, graph: TurnGraph) -> None:
        super().__init__(graph)
        closes = (close for name, close in self.closes.items() if name != FENCED.name)
        self._closings = {tail for close in (*closes, self.section_close) if close for tail in cut_tails(close)}
        """The ends of what ends calls, one or all."""
        self.call_ends = self._find_call_ends()
        self.turn_ends = self._find_turn_ends()
        self.field_ends = self._find_field_ends()
        ends = {self.ends[node.name].strip() for node in self.list_nodes("value")}
        self.value_ends = tuple(sorted(ends)) if all(map(is_firm, ends)) else ()
        """The marks that end values, where each has one."""
        self.last_ends = tuple(text for end in self.list_end_texts() if (text := end.strip()))
        """What may end an output behind a call."""

    def _list_bare_rules(self, node: Node) -> list[Rule]:
        """Return rules for what :meth:`list_bare_ends` lists, behind a field that tells where it ends."""
        return make_rules(self.list_bare_ends(node) if tells_end(node) else (), END)

    def list_bare_ends(self, node: Node) -> list[str]:
        """Return what is behind a field at the end of a turn that a server has cut off."""
        texts = [link.text for link in self.leave(node) if link.to.kind == "end"]
        done = node.kind in SHORT_FIELDS and not self.list_inner(node)  # the call is whole
        layout = {text[: len(text) - len(text.lstrip())] for text in texts if done and text[:1].isspace()}
        return sorted(layout.union(*map(self._list_cuts, texts)))

    def _list_cuts(self, text: str) -> set[str]:
        """Return what a server leaves of a text at the end of a turn."""
        begin = skip_echoes(text)  # a word that comes again belongs to the call
        stops = [stop for stop in self.stops if stop in text[begin:]]
        cuts = {text[:place] for stop in stops for place in (text.index(stop, begin), text.rindex(stop))}
        ends = (self.turn_end, self.turn_end.lstrip()) if self.turn_end.strip() else ()
        return cuts.union(map(text.removesuffix, ends))

    def _list_end_rules(self) -> list[Rule]:
        """Return what ends a turn, wherever text may stand."""
        marks, ends = self.turn_ends.texts if self.turn_ends else (), self.list_end_texts()
        first = dict.fromkeys([*marks, *(text.rstrip() for text in ends if marks and text.rstrip().endswith(marks))])
        twice = make_rules((f"{one}\n{two}" for one in first for two in marks), END, TWICE)
        return [rule for text in ends for rule in self._list_cut_ends(text)] + twice

    def _find_turn_ends(self) -> Marks | None:
        """Return the marks of which several may end a turn behind each other, as models write that go on behind the first."""
        found = {tail for text in self.list_end_texts() for tail in (text.strip(), *cut_tails(text))}
        texts = sort_longest(text for text in found if is_word_in_signs(cut_first(text)))[:_ENDS]
        one = find_any(texts)
        return Marks(tuple(texts), re.compile(rf"\s*(?:{one})(?:\s*(?:{one}))*\s*")) if texts else None

    def _list_cut_ends(self, text: str, anywhere: bool = False) -> list[Rule]:
        """Return a text that ends a turn, and each beginning of it that a server may leave of it when it cuts the end off.

        A beginning is a mark, a line of its own, or has a line and several signs; with ``anywhere`` it need not: behind a call
        nothing else is expected.
        """
        places = [place for place in find_cuts(text) if place < len(text) and _is_cut_at(text, place)]
        cut = [text[:place].rstrip() for place in places if anywhere or _ends_turn(text[:place])]
        cut += [text.rstrip() for text in self._list_cuts(text)]
        last = text.rstrip()
        mark = cut_last(last)
        half = [last[:-1]] if is_marked(mark) and not (mark[0].isalnum() or mark[-1].isalnum()) else []
        return make_rules((each for each in (text, *cut) if each.strip()), END) + make_rules(half, END, CUT_MARK)

    def _list_answer_tails(self, text: str) -> list[Rule]:
        """Return the last marks of what ends a turn behind text, and more than its end alone, where what is before was left out."""
        tails = (tail for tail in cut_tails(text)[1:] if tail[:1] in _OPENING and is_marked(tail))
        return make_rules((tail for tail in tails if self.strip_stop(tail).strip()), END, "end of an answer missing")

    def _list_whole_ends(self, node: Node, text: str) -> list[Rule]:
        """Return what ends a turn behind a field of a call that no mark ends, and if the field tells where it ends, the last marks
        of that, where what is before them was left out."""
        tails = filter(is_marked, cut_tails(text)[1:] if tells_end(node) else ())
        blank = [] if text.strip() else [text]  # an empty line, which amid text is one of many
        return self._list_cut_ends(text, True) + make_rules(blank, END) + make_rules(tails, END, SHORT_END)

    def _list_late_ends(self) -> list[Rule]:
        """Return the last marks of what ends a turn behind a call, where what is before them was left out."""
        pairs = [(link.text, self.closes.get(link.source.name)) for link in self.links if link.to.kind == "end"]
        texts = [text.removeprefix(close) for text, close in pairs if close]
        told = (tail for text in texts for tail in cut_tails(text) if is_marked(tail) or has_rare_sign(tail))
        return make_rules(sorted(told), END, SHORT_END, cut=True)

    def _list_close_ends(self, guard: Guard) -> list[Rule]:
        """Return the ends of what closes a call, for calls that have closed their brackets themselves, or closed them twice."""
        name = "end of a call doubled" if guard == "fresh" else SHORT_END
        firm = list(filter(is_firm, self._list_closings()))
        if guard == "owed":  # amid text only what the template itself writes
            firm = [text for text in firm if any(text in own for own in self.texts)]
            firm += [f"{sign}\n{text}" for text in firm for sign in ("}", "]") if text.startswith(sign)]  # one too many
        return make_rules(firm, GAP, name, guard)

    def _list_skipping_closes(self, node: Node) -> list[Rule]:
        """Return the ends of what ends the call behind a field that follows this one, for models that leave that field out."""
        closes = [self.closes.get(link.to.name) or "" for link in self.list_inner(node)]
        quote = self.ends[node.name][:1] if isinstance(node.codec, Json) and node.codec.within else ""
        texts = sorted(quote + tail for close in closes for tail in cut_tails(close)[1:] if tail)
        guards: list[Guard] = ["structure" if text.strip("]})\"'") else "" for text in texts]
        return [rule for text, guard in zip(texts, guards, strict=True) for rule in make_closes([text], MISSING, guard)]

    def _list_closes_without_id(self, node: Node) -> Iterator[Rule]:
        """Return what ends a call behind a field that is followed by an id, for models that leave that out."""
        own, shown = self.ends[node.name].rstrip(), self.closes.get(node.name)
        for link in (link for link in self.leave(node) if link.to.kind == "id"):
            close = self.closes.get(link.to.name)
            leaving = (end for end in self.leave(link.to) if end.leaves)  # where no mark ends the id, the whole end tells
            ends = [(close, GAP, False)] if close else [(end.text, end.to, end.opens) for end in leaving]
            for behind, to, opens in ends:
                cuts = self._list_cuts(behind) if to.kind == "end" else ()
                bare = {text for each in (behind, *cuts) for text in (*leave_out(link.text, each), own + each)}
                told = tells_end(node)  # white space alone leads to a further call, if it does to any
                bare = {text for text in bare if shown is None or not text.startswith(shown)}  # that a template writes itself
                for text in (text for text in sorted(bare) if is_firm(text) or (told and (text.strip() or (opens and text)))):
                    firm = is_firm(text) and not link.text.startswith(text)  # else the id may follow
                    guard: Guard = "known" if opens else "" if firm else "ending"
                    yield from make_rules([text], to, MISSING, guard, opens=opens, closes=True)

    def _list_without_end(self, node: Node) -> list[Rule]:
        """Return what leads from a key or JSON arguments to a further field of the call, for models that leave their end out."""
        links = self.list_inner(node) if node.kind in ("arguments", "key") else []
        tails = [(tail, link.to) for link in links for tail in list_tails(link.text)]
        told = ((tail, to) for tail, to in tails if node.kind != "key" or not tail[0].isalnum())  # a key may end in such letters
        return [rule for tail, to in told for rule in make_rules([tail], to, UNENDED)]

    def _list_short_closes(self, node: Node, close: str) -> list[Rule]:
        """Return pieces of what ends a call, for models that leave the rest of it out.

        A field that tells where it ends may be followed by any of them; text only by a beginning, and only where structure follows.
        Behind what ends a value that tells it, and a mark of the call's end, nothing more needs to follow.
        """
        begin = 0 if is_delimited(node) else len(self.ends[node.name])
        places = [place for place in find_cuts(close) if 0 < place < len(close)]
        places = [place for place in places if not _opens_more(close[begin:place])]  # what opens something ends no call
        texts = [close[:place].rstrip() for place in places]
        certain = node.kind == "arguments"
        if certain:
            ends = (close, self.section_close)
            texts += [end[place:].strip() for end in ends for place in find_cuts(end) if end[place:] != close]
        free = tells_end(node)
        own = self.shared.get(node.name, self.ends[node.name]).rstrip()
        guards: tuple[Guard, Guard] = ("", "") if certain else ("ending", "structure")
        begun = [opener.lstrip() for opener, _ in self.openers]  # all marks may begin alike
        told = (text for text in texts if not any(opener.startswith(text.lstrip()) for opener in begun))
        pieces = [text for text in told if text.strip() and text != close.rstrip() and (free or is_firm(text))]
        told = (text for text in pieces if free and node.kind == "value" and text.startswith(own))
        whole = [text for text in told if is_firm(text[len(own) :])]
        rules = [
            rule
            for text in pieces
            for rule in make_closes([text], SHORT_END, "" if text in whole else guards[len(text) <= len(own)])
        ]
        lead = close[: len(close) - len(close.lstrip())]
        tails = [lead + close[place:].strip() for place in places] if node.kind == "value" and is_delimited(node) else []
        told = (tail for tail in tails if is_firm(tail) and not own.lstrip().startswith(tail.strip()))
        rules += make_closes(told, SHORT_END, "typed")
        inner = [own + close[place:] for place in places if own.strip() and free and close.startswith(own) and place > len(own)]
        rules += make_closes((text for text in inner if is_firm(text[len(own) :]) and text not in texts), SHORT_END)
        bare = (is_delimited(node) or node.kind in SHORT_FIELDS) and not own and close.strip()
        return rules + (make_closes([""], SHORT_END, "structure") if bare else [])

    @staticmethod
    def _list_trailing(inner: Iterable[str], ends: Iterable[str]) -> list[str]:
        """Return the ends of what stands behind a field with the sign before them that separates it from the next one."""
        texts, ends = list(inner), list(ends)
        own = len(cut_common_start([*texts, *ends])) if texts and ends else 0
        signs = {text[own:].lstrip()[:1] for text in texts} & {",", ";"}
        return [end[:own] + sign + end[own:] for sign in sorted(signs) for end in ends if not end[own:].lstrip().startswith(sign)]

    def _list_value_ends(self, node: Node) -> list[Rule]:
        """Return what follows a text where the model has left out, or doubled, what ends the text itself."""
        if node.kind == "value" and isinstance(node.codec, Insides):
            return self._list_ends_of_insides(node)
        if node.kind != "value" or not isinstance(node.codec, Text):
            return []
        own, rest = self.ends[node.name], self._find_rest(node)
        lead = own[: len(own) - len(own.lstrip())] or "\n"  # without an end of its own a text ends with its line
        stops = {head.lstrip() for text in (self.turn_end, *self.stops) for head in cut_heads(text)}
        units, shown = get_units(node.codec), [link.text.lstrip() for link in self.leave(node)]
        barred = {text for text in stops if units.bars(text) and not any(other.startswith(text) for other in shown)}
        told = (text for text in sorted(stops) if is_firm(text) or text in barred)
        rules = make_rules((lead + text for text in told), END, SHORT_END, "last")
        rules += make_openings((pair for pair in self.openers if is_firm(pair[0])), UNENDED, "typed")
        bare = own.rstrip()
        rules += make_rules([bare] if ends_text(node.codec, bare) else [], node, OTHER_SEPARATOR, "rest")
        rules += self._list_unquoted(node)
        if rest is None:
            return rules
        tails = cut_tails(rest) + cut_tails(rest + self.section_close)
        common = len(self.shared[node.name]) - len(own)  # as much of the rest stands before further arguments, too
        starts = [rest[:place].rstrip() for place in find_cuts(rest) if not 0 < place <= common]
        firm = [text for text in dict.fromkeys((*starts, *tails)) if is_firm(text)]
        ends = [text for text in firm if text not in own]
        quote = self.get_quote(node)
        unquoted = own.lstrip().removeprefix(quote) if quote else ""
        short = [lead + half + text for half in ("", *self._list_halves(own)) for text in ends]
        short += [lead + unquoted + text for text in firm if is_firm(unquoted)]
        rules += [rule for text in short for guard in _BOTH for rule in make_closes([text], UNENDED, guard)]
        before = [own + text for text in starts if not is_firm(text)]
        behind = [text for text in ends if text in tails and text != rest]
        rules += make_closes((f"{one}\n{two}" for one in before for two in behind), SHORT_END)
        rules += make_closes((own + text for text in ends), SHORT_END, "last")
        if named := cut_to_echo(own):
            told = (text for text in ends if not self.section_close.endswith(text))  # what ends the call is not left out, too
            rules += make_closes((f"{lead}{named}\n{text}" for text in told), UNENDED, "ending")
        twice = f"{own}\n{own.lstrip()}\n" if ends_text(node.codec, own) else ""  # else the first of two is the text's
        if twice:
            rules += make_closes((twice + text for text in ends), DOUBLED, "ending")
        if ends_in_quote(node.codec, own):
            texts = (f"{2 * own.strip()}\n{text}" for text in starts if text not in ends)
            rules += make_closes(texts, DOUBLED, "ending", loose=True)
        rules += list_nesting(node, own) if twice else []
        return [*rules, *self._list_entry_ends(node, lead, twice)]

    def _list_misnamed_ends(self, node: Node) -> Iterator[Rule]:
        """Return what follows a value that ends with the name of its argument in its mark, or with what ends keys."""
        own, rest, shown = self.ends[node.name], self._find_rest(node) or "", self._name_closings(node)
        others = {mark for marks in shown.values() for mark in marks}
        others |= {cut_first(self.ends[key.name]) for key in self.list_nodes("key")} if others else set()
        others = {mark for mark in others - {*shown} if is_firm(mark)}
        ends = [own[: len(own) - len(own.lstrip())] + mark for mark in sorted(others)]
        behind = [text for text in dict.fromkeys((rest, *cut_tails(rest))) if is_firm(text)]
        yield from make_closes((f"{end}\n{text}" for end in ends for text in behind), OTHER_END, "ending")
        for link in self.list_inner(node):
            yield from make_rules((f"{end}\n{link.text[len(own) :].lstrip()}" for end in ends), link.to, OTHER_END, "entry")

    def _list_ends_of_names(self, node: Node) -> list[Rule]:
        """Return the marks that end values, and what ends a call behind them, for models that write them behind a name alone."""
        marks = sorted({mark for value in self.list_nodes("value") for mark in self._name_closings(value)})
        close = (self.closes[node.name] or "").lstrip()
        texts = [text for mark in marks if is_firm(mark) and not close.startswith(mark) for text in (f"{mark}\n{close}", mark)]
        return make_closes(texts, OTHER_END, "ending")

    def _list_ends_of_insides(self, node: Node) -> list[Rule]:
        """Return what follows a list or an object behind its own bracket, where the mark that ends values is left out."""
        own, rest = self.ends[node.name], self._find_rest(node)
        bracket = own[: len(own) - len(own.lstrip("]})"))]
        if bracket in ("", own):
            return []
        entries = ((link.text[len(own) :].lstrip(), link.to) for link in self.list_inner(node))
        rules = [rule for text, to in entries if is_firm(text) for rule in make_rules([bracket + text], to, UNENDED, "entry")]
        ends = [rest[:place].strip() for place in find_cuts(rest)] if rest else []
        return rules + make_closes((bracket + text for text in ends if is_firm(text) and text not in own), UNENDED)

    def _list_halves(self, text: str) -> Iterator[str]:
        """Return the last marks of a text, where those before them are not what each mark of the format begins with, and what opens
        what it ends, which models write that forget the slash."""
        yield from filter(None, (open_mark(text),))
        for half in cut_tails(text)[1:]:
            before = text.removesuffix(half).strip()
            if half[:1] in _OPENING and not any(before in opener for opener, _ in self.openers):
                yield half

    def _list_closed_tags(self, node: Node, close: str) -> Iterator[Rule]:
        """Return what follows a field in a tag that closes itself, for models that write a blank before its slash, close it by
        another tag, or not at all."""
        keys = (link.text for link in self.list_links("name", "value") if link.to.kind == "key")
        leading = (*(text for text, _ in self.openers), *keys)
        found = {tag[1] for text in leading for tag in _OPEN_TAG.finditer(text)}
        tags = sorted(found.union(self._list_named_tags())) if "/>" in close else []
        if not tags:
            return
        ways = [" />", "/>", *(f"></{tag}>" for tag in tags)]
        yield from make_closes(_close_otherwise(close, ways), CLOSED_TAG)
        yield from make_closes(_close_otherwise(close, [">", r"\1>"]), CLOSED_TAG, "ending")
        for link in self.leave(node):
            if "/>" in link.text and (link.opens or not link.leaves):
                guard: Guard = "known" if link.opens else "entry" if link.to.kind == "key" else ""
                yield from make_rules(_close_otherwise(link.text, ways), link.to, CLOSED_TAG, guard, opens=link.opens)

    def _list_named_tags(self) -> set[str]:
        """Return the tags that hold the name of the tool, with a letter for that."""
        tags = (_NAMED_TAG.search(text) for text, to in self.openers if to[0].kind == "name")
        return {tag[1] + ECHOES["name"] for tag in tags if tag}

    def _find_rest(self, node: Node) -> str | None:
        """Return what ends the call behind what ends a text; None where no mark ends the text."""
        own, close = self.ends[node.name], self.closes[node.name]
        return close[len(own) :].lstrip() if close is not None and (is_firm(own) or is_quoted(node)) else None

    def _list_closings(self, others: Iterable[str] = ()) -> list[str]:
        """Return the ends of what ends calls, and other texts, that stand in nothing that begins calls."""
        return sorted(text for text in self._closings.union(others) if not any(text in opener for opener, _ in self.openers))

    def _list_openings(self) -> set[str]:
        """Return the beginnings of what begins calls."""
        return {head for text, _ in self.openers for head in cut_heads(text)}

    def _find_call_ends(self) -> Marks | None:
        """Return the marks that end a call, and what finds several; None where nothing does that nobody writes by chance."""
        links = self.list_links(*FIELDS)
        inner = [link.text for link in links if not link.leaves]
        cuts = {cut for link in links if link.to.kind == "end" for cut in self._list_cuts(link.text)}
        closings = self._closings or {tail for cut in cuts for tail in cut_tails(cut)}  # those that end with their turn alone
        signs = (text for text in closings if is_firm(text) or (len(text) > 1 and not any(map(is_plain, text))))
        told = (text for text in signs if not any(text in other for other in inner))
        texts = sort_longest(told)
        one = find_any(texts)
        return Marks(tuple(texts), re.compile(rf"(?:{one})(?:\s*(?:{one}))*")) if texts else None

    def _find_field_ends(self) -> Marks | None:
        """Return the marks behind which the last value of a call has ended: of calls, or (group 1) of turns."""
        links = self.list_links(*FIELDS)
        inner = [link.text for link in links if link.to.kind != "end"]
        ends = [link.text for link in links if link.to.kind == "end"]
        found = {tail for text in ends for tail in cut_tails(text)}.union(self.stops)
        others = [*inner, *(text for text, _ in self.openers), *(self.call_ends.texts if self.call_ends else ())]
        firm = {text for text in found if is_firm(text) and not any(text in other for other in others)}
        turns = sorted(text for text in firm if not any(other != text and other in text for other in firm))
        calls = self.call_ends.texts[::-1] if self.call_ends else ()
        return Marks.find(calls, turns)
