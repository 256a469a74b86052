"""What leads from one argument to the next where a model leaves out, or writes twice, what stands between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from unicodedata import mirrored

from ..format import Node, Text
from ..format.cut import cut_common_end
from ..format.units import get_units
from .constants import DATA, cut_first, find_cuts, has_rare_sign, is_firm, is_marked
from .echoes import cut_to_echo, name_closing
from .guards import Guard
from .landmarks import SHORT_FIELDS, is_delimited, is_quoted
from .rules import Rule, make_closes, make_rules
from .thoughts import Thoughts

UNENDED: Final = "end of a value missing"
DOUBLED: Final = "end of a value doubled"
RELAID_ARGUMENT: Final = "layout between arguments"
OTHER_SEPARATOR: Final = "other sign between arguments"
_COMMAS: Final = (",", ";", "&")
_SEPARATORS: Final = (*_COMMAS, "|", "")


def ends_text(codec: Text, end: str) -> bool:
    """Whether no text goes on behind what ends it: that is a mark, or would be written otherwise in a text."""
    return is_firm(end) or get_units(codec).bars(end)


def ends_in_quote(codec: Text, end: str) -> bool:
    """Whether a text ends with a single sign that no text has, as quotes are that are escaped otherwise than by doubling."""
    sign = end.strip()
    return len(sign) == 1 and not mirrored(sign) and get_units(codec).bars_doubled(sign)


def open_mark(end: str) -> str:
    """Return the mark that begins what another one ends; empty where none is told by a slash."""
    return end.strip().replace("/", "", 1) if "/" in end else ""


class Entries(Thoughts):
    """Makes the rules for what stands between two arguments of a call."""

    def _list_entry_ends(self, node: Node, lead: str, twice: str) -> Iterator[Rule]:
        """Return the same where another field of the call follows a text; ``twice`` is what ends the text, doubled, if any."""
        own = self.ends[node.name]
        halves = [own[place:].lstrip() for place in find_cuts(own) if place > 0]
        halves += [cut_to_echo(own), open_mark(own)]
        for link in self.list_inner(node):
            text, to = link.text[len(own) :].lstrip(), link.to
            if is_quoted(node) and own.strip():  # other layout behind what ends the text
                yield from make_rules([link.text], to, RELAID_ARGUMENT, "entry", loose=True)
            if to.kind == "key":
                texts = (half + text for half in halves if half)
                yield from make_rules((lead + each for each in texts if is_marked(each)), to, UNENDED, "entry")
            # A key is no chance behind a sign that is none of data, if that is a mark with what is behind the key.
            around = (f"{text}key{behind.text}" for behind in self.leave(to)) if to.kind == "key" else ("",)
            if is_firm(text) or (not DATA.issuperset(text) and all(map(is_firm, around))):
                layout = link.text[len(own) : len(link.text) - len(text)]  # before the entry is none of the text
                yield from make_rules(sorted({lead + text, layout + text}), to, UNENDED, "entry", laid=own[:1].isspace())
                yield from make_rules([twice + text] if twice else [], to, DOUBLED)
            elif isinstance(node.codec, Text) and ends_in_quote(node.codec, own):
                yield from make_rules([f"{2 * own.strip()}\n{text}"], to, DOUBLED, "entry", loose=True)

    def _list_unquoted(self, node: Node) -> Iterator[Rule]:
        """Return what stands before another argument where the quote of the text before it is missing."""
        quote = self.get_quote(node)
        for link in self.list_inner(node) if quote else ():
            before = link.text.lstrip().removeprefix(quote)
            if link.to.kind == "key" and before:
                yield from make_rules([before], link.to, UNENDED, "unquoted")

    def _list_other_layouts(self, node: Node) -> list[Rule]:
        """Return what leads to an argument where nothing but layout stands before it, and what ends the call behind a text that its
        quote has ended, with other layout."""
        told = is_delimited(node) or node.kind in SHORT_FIELDS
        keys = [link.to for link in self.leave(node) if told and link.text.isspace() and link.to.kind == "key"]
        rules = [rule for key in keys for rule in make_rules(["\n"], key, RELAID_ARGUMENT, "entry")]
        close = self.closes[node.name] or ""
        relaid = (is_quoted(node) and len(close.split()) > 1) or (told and has_rare_sign(close))
        return rules + make_closes([close] if relaid else [], "layout behind arguments", "ending", loose=True)

    def _bars_end(self, node: Node) -> bool:
        """Whether a field is a value that cannot hold what ends it: no text, or one in which that would be written otherwise."""
        return node.kind == "value" and (not isinstance(node.codec, Text) or ends_text(node.codec, self.ends[node.name].rstrip()))

    def _list_other_separators(self, nodes: tuple[Node, ...]) -> Iterator[Rule]:
        """Return what leads from one of some values to another argument with other signs between them than the template writes,
        none, the same twice, or what stands before the first one; where texts may hold that, only if one had no other end."""
        guard: Guard = "entry" if all(map(self._bars_end, nodes)) else "unquoted"
        quoted = guard == "entry" or all(map(self.get_quote, nodes))
        for link in (link for node in nodes for link in self.leave(node) if quoted and link.to.kind == "key"):
            own = self.ends[link.source.name].rstrip()
            firsts = [first.text for first in self.list_links("name") if first.to == link.to]
            behind = link.text[len(own) :]
            opening = cut_common_end([behind, *firsts]).lstrip() if firsts else ""
            shown = behind.removesuffix(opening).strip()
            twice = [f"{shown}\n{shown}"] if shown in _COMMAS else []  # other signs may part rows, too
            others = (sign for sign in (*_SEPARATORS, *twice) if sign != shown)
            texts = {*filter(None, ("\n".join(filter(None, (own, sign, opening))) for sign in others))}
            texts |= {f"{own}\n{first.strip()}" for first in firsts if first.strip() not in ("", behind.strip())}
            yield from make_rules(sorted(texts), link.to, OTHER_SEPARATOR, guard, loose=True)

    def _name_closings(self, node: Node) -> dict[str, set[str]]:
        """Return the marks that close values, each with those that name the argument instead; none where what begins values has
        no word that is closed."""
        own = self.ends[node.name]
        begins = {link.text for link in self.list_links("key") if link.to == node}
        leading = (link for link in self.list_links("name", "value") if link.to.kind == "key")
        begins |= {link.text.removeprefix(self.ends[link.source.name]) for link in leading}
        named = {mark: name_closing(mark, begins) for mark in (cut_first(own), own.strip())}
        return {mark: others for mark, others in named.items() if others}
