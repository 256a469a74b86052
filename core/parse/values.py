"""Values: which of its readings a value gets, and the reading of those that tell by themselves where they end."""

from __future__ import annotations

import re
from io import StringIO
from json.encoder import encode_basestring
from typing import Final

from ..format import Choice, Insides, Json, Node, Text
from ..format.cut import STOPS, cut_common_start
from ..format.units import MORE, NO, get_units
from ..plan.constants import SIGNS, skip_blank
from ..plan.ends import SHORT_END
from ..plan.rules import Rule
from ..plan.scalars import escape_json, match_scalar, read_bare, read_empty
from ..plan.spots import WAIT, Spot, Wait
from ..recover.repair import LITERALS, QUOTES, read_literal, unquote
from .landing import HELD, Frame, Landing
from .lexer import JsonLexer
from .names import SHORT
from .passing import JsonReader

_CLOSING_QUOTES: Final = (*QUOTES, "`", "»", "”")
_OPENINGS: Final = (*QUOTES, "(", "[", "{")
_JSON_BEGUN: Final = re.compile(r"[\[{\"].*|-|-?\d[\d.eE+-]*", re.DOTALL)
"""What may be the beginning of a value in JSON that is no word."""
_CONSTRUCTED: Final = re.compile(r"[^\W\d]\w{0,31}")


class ValueReader(JsonReader):
    """Writes the arguments of the call that is open as JSON."""

    # Choosing ------------------------------------------------------------------------------------------------------------

    def _begin_value(self) -> None:
        """Write what stands before a value, and choose how to read it."""
        writer, call = self.writer, self.writer.call
        assert call
        writer.trace = writer.trace if self.frames else None
        self.nested = False
        if not self.frames and not call.levels:
            writer.open_container("{}")
        if call.keys:
            call.key = key = call.keys.pop(0)
            keys: list[str | int] = [key] if self.frames else self._split_path(key, call.name)
            if not self.frames and not writer.enter(keys):
                keys = [key]  # what seemed to be a path is none
                writer.enter(keys)
            writer.key(keys[-1])
            schema = self.schema.get_property(key) if self.frames else self._find_property(call.name, keys)
        else:
            writer.item()
            schema = self.schema.get_items()
        if self.spot.repeats_key and call.key:
            self.spot = self.spot.fill(call.key)
        nodes = self.spot.nodes
        self.wanted, self.begins, self.starts = schema, self.policy.recover and not self.frames, self.spot.codec.starts != ()
        inner = self._list_insides(nodes) if self.spot.nests else []
        wanted = [node for node in inner if node.type in schema.get_types()]  # what its schema, or that nothing else may be, tells
        self.insides = wanted or (inner if len(inner) == len(nodes) else [])
        if len(self.insides) == 1:
            self._enter(self.insides[0])
        elif not self.insides:
            self._choose_reading()

    def _list_insides(self, nodes: tuple[Node, ...]) -> list[Node]:
        """Return the lists and objects that a value may be."""
        return [node for node in nodes if isinstance(node.codec, Insides) and node.codec.graph in self.plan.inner_starts]

    def _find_inside(self, insides: list[Node], final: bool) -> Node | Wait | None:
        """Return the object if the text begins as it does, with a key; the list if it begins as that: what its items begin with is
        no key."""
        for node in sorted(insides, key=lambda node: node.type, reverse=True):
            self.frames.append(self._make_frame(node))
            inside = self._get_inside(node)
            landing = self._find_crossing(self.at, final, inside) or self._find_best(self.at, final, inside)
            self.frames.pop()
            if isinstance(landing, Wait):
                return landing
            if landing and not (self._begins_item(node, insides, landing) or SIGNS.search(landing.find("key") or "")):
                return node
        return None

    def _begins_item(self, node: Node, insides: list[Node], landing: Landing) -> bool:
        """Whether what items of another list begin with stands here, and is more than what leads to where one has landed."""
        lists = [self._get_inside(other) for other in insides if other is not node and other.type == "array"]
        size = len(landing.rule.constant.core)
        starts = [rule.constant for inside in lists for rule in inside.rules if len(rule.constant.core) > size]
        return any(start.match_exactly(self.buffer, self.at, True) >= 0 for start in starts)

    def _make_frame(self, node: Node) -> Frame:
        key = self.writer.call.key if self.writer.call else ""
        return Frame(self.plan.spot(self.spot.graph, (node,), self.may_call), self.schema, key)

    def _get_inside(self, node: Node) -> Spot:
        assert isinstance(node.codec, Insides)
        return self.plan.inside(node.codec.graph)

    def _enter(self, node: Node) -> None:
        if not self.frames:
            self.began, self.writer.trace = self.at, []
        self.frames.append(self._make_frame(node))
        self.schema = self.wanted
        self.writer.open_container("[]" if node.type == "array" else "{}")
        self.spot, self.insides = self._get_inside(node), []
        self.behind = True

    def _choose_reading(self) -> None:
        strings = self.spot.strings
        alone = len(strings) == len(self.spot.nodes) or self.wanted.get_types() == ("string",)
        self.streaming = bool(strings) and alone and not (self._may_be_json() or self._is_untyped(strings[0]))
        self.holding = self._may_quote() if self.streaming else bool(strings)
        if self.streaming and not self.holding:
            self.writer.arguments('"')

    def _is_untyped(self, node: Node) -> bool:
        """Whether what stands as a text does, between no quotes, is none by the schema: then its end tells what it is."""
        types, end = self.wanted.get_types(), self.plan.get_end(node)
        quoted = end.startswith(_CLOSING_QUOTES) or (self.plan.quote != "" and end.startswith(self.plan.quote))
        return self.policy.recover and bool(types) and "string" not in types and not quoted

    # Numbers and words ---------------------------------------------------------------------------------------------------

    def _step_value(self, final: bool) -> bool:
        if self.starts and not self._take_start(final):
            return False
        self.starts = False
        if self.begins:
            taken = self._take_block(final)
            self.begins = taken is False
            if taken is not None:
                return taken
        if self.insides:
            node = self._find_inside(self.insides, final)
            if not isinstance(node, Wait):
                self._enter(node or min(self.insides, key=lambda node: node.type))  # what is no object is the list
            return not isinstance(node, Wait)
        if self.holding or self.spot.strings:
            return self._step_text(final)
        return self._step_scalar(final)

    def _take_block(self, final: bool) -> bool | None:
        """Take a text between three quotes, as programs have it, where no text of the template's begins so; returns None where none
        stands here, False where more may tell."""
        strings, units = self.spot.texts, self.spot.units
        quote = self.plan.get_end(strings[0]) if strings else ""
        own = quote in ("'", '"') and units.bars(quote) and quote not in units.first  # then one at each end is the template's
        if strings and not own:
            return None
        at = self.at if own else skip_blank(self.buffer, self.at)
        sign = quote or self.buffer[at : at + 1]
        opening = sign * (2 if own else 3)
        if sign not in ("'", '"') or not self.buffer.startswith(opening, at):
            waits = not final and opening.startswith(self.buffer[at:])
            return False if waits or (own and self._skip_quote(sign, final)) else None
        begin = at + len(opening)
        end = self.buffer.find(3 * sign, begin)
        if end < 0:
            return False if not final and len(self.buffer) - at < HELD else None
        self._note("text in three quotes", self.at)
        written = encode_basestring(unquote(self.buffer[begin:end]))
        self.writer.arguments(written[1:] if self.streaming and not self.holding else written)
        self.at = self.scan = end + len(opening)
        self.holding, self.behind = False, True
        return True

    def _skip_quote(self, quote: str, final: bool) -> bool:
        """Pass the quote by with which a text begins whose quotes stand twice, unless it ends the text; whether more may tell."""
        if not (self.buffer.startswith(quote, self.at) and self.spot.units.bars_doubled(quote)):
            return False
        shown = self._fill(rule for rule in self.spot.rules if not rule.recovery)
        ends = [end for rule in shown if (end := rule.constant.match_exactly(self.buffer, self.at, final)) != NO]
        if not ends:
            self._note("mark doubled", self.at)
            self.at = self.scan = self.at + 1
        return MORE in ends

    def _step_scalar(self, final: bool) -> bool:
        """Read a value that tells where it ends."""
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer) and not final:
            return False
        inside = self._find_inside(self._list_insides(self.spot.nodes), final)
        if isinstance(inside, Wait):
            return False
        if inside:
            self._enter(inside)
            return True
        end, literal = match_scalar(self.spot.nodes, self.buffer, at, final)
        begins = self._begins_json(at, final) if end == NO else False  # a word of the format may be an empty object: it comes first
        if begins is not False:
            return begins is True and self._start_json(final)
        if end < 0 and end != MORE and (literal := read_empty(self.spot.nodes)):
            return self._write_scalar(self.at, literal)
        looks = end > at  # like a word or a number of the format, which may turn out to be the beginning of a text
        if looks and self.policy.recover:
            end, literal = self._check_scalar(at, end, literal, final)
        if end == NO and self.policy.recover and not looks:
            begin = self._find_foreign(at, final)
            if begin == MORE:
                return False
            if begin >= at:
                self._note("value in other notation", at)
                self.at = begin
                return self._start_json(final, foreign=self.buffer[begin] != '"')
            end, literal = read_bare(self.spot.nodes, self.buffer, at, final)
            if end > at:
                self._note("value in other notation", at)
        if end == MORE:
            return False
        if end > at:
            untyped = self.policy.untyped == "text" and not self.wanted.get_types()
            return self._write_scalar(end, encode_basestring(self.buffer[at:end]) if untyped else literal)
        if final and match_scalar(self.spot.nodes, self.buffer, at, False)[0] == MORE:
            return False  # half a word
        self._note("value in other notation", at)
        self.writer.arguments('"')
        self.spot = self._as_string()
        return True

    def _write_scalar(self, end: int, literal: str) -> bool:
        """Take the JSON of a value that ends at a place; it is written when something follows."""
        self.scalar = (self.buffer[self.at : end], literal)
        self.at = self.scan = end
        self.behind = True
        return True

    def _go_on_as_text(self) -> bool:
        """Take a number or a word behind which nothing follows that the format knows for the beginning of a text."""
        assert self.scalar
        self._note("value in other notation", self.at)
        self.writer.arguments('"' + escape_json(self.scalar[0].lstrip()))
        self.scalar, self.behind, self.spot = None, False, self._as_string()
        return True

    def _begins_json(self, at: int, final: bool) -> bool | Wait:
        """Whether a list, an object or a string in JSON begins at a place, if the value may be JSON; or more is needed to tell."""
        for codec in {node.codec for node in self.spot.nodes if isinstance(node.codec, Json)}:
            units = get_units(codec.within or Text())
            begun, char = units.read(self.buffer, at, final) if self.buffer[at : at + 1] in units.first else (at, "")
            if begun == MORE:
                return WAIT
            if (char or self.buffer[at : at + 1]) in ("[", "{", '"'):
                return True
        return False

    def _find_foreign(self, at: int, final: bool) -> int:
        """Return where a string, a list or an object begins in whatever notation: at a place, or of the latter, if nothing else is
        wanted, behind a word that says so; NO where none does, or that more is needed to tell."""
        if self.buffer.startswith(_OPENINGS, at):
            return at
        types = self.wanted.get_types()
        found = _CONSTRUCTED.match(self.buffer, at) if types and {"array", "object"}.issuperset(types) else None
        if found and found.end() == len(self.buffer) and not final:
            return MORE
        return found.end() if found and self.buffer.startswith(("[", "{"), found.end()) else NO

    def _check_scalar(self, at: int, end: int, literal: str, final: bool) -> tuple[int, str]:
        """Return where a number or a word really ends and its JSON: it may be the beginning of a text (NO), or a number may go on
        as no render shows it; or that more is needed to tell (MORE)."""
        types = self.wanted.get_types()
        if "string" in types and not {"integer", "number", "boolean"} & {*types}:
            follows: Landing | Wait | bool | None = self._find_best(end, final)
            bare = isinstance(follows, Landing) and not (follows.rule.constant.core or follows.find("key"))
            if bare:  # nothing ends it, so what follows its call has to
                follows = self._structure_follows(end, final, True)
            if isinstance(follows, Wait):
                return MORE, ""
            rest = self.buffer[end:].strip() if final else None
            if not follows and (rest is None or not any(text.startswith(rest) for text in ("", *self.plan.last_ends))):
                return NO, ""
        whole = read_literal(self.buffer, at) if self.buffer[end : end + 1].isdigit() or self._goes_on(end, final) else None
        if whole:
            self._note("value in other notation", at)
            end, read = whole
            literal = literal if final and end == len(self.buffer) else read  # of what is cut off nothing is made up
            if types and not {"integer", "number"} & {*types}:
                literal = encode_basestring(self.buffer[at:end])  # as a number it would lose its zeros
        return end, literal

    def _goes_on(self, end: int, final: bool) -> bool:
        """Whether a number goes on with the dot that stands behind it, as no render shows it."""
        found = self._find_landing(self.spot, end, final) if self.buffer.startswith(".", end) else WAIT
        bare = isinstance(found, Landing) and not found.rule.constant.core  # nothing ends it, so what follows its call has to
        return found is None or (bare and not self._fits_behind(end, final))

    def _as_string(self) -> Spot:
        """Return the spot of a value of which nothing is known any more but that it is text; what ends strings may end it."""
        node = Node("text", "value", Text(), "string")
        rules = self.spot.rules
        if self.policy.recover:
            graph = self.plan.graphs[self.spot.graph]
            strings = tuple(n for n in graph.nodes if n.kind == "value" and n.type == "string" and n not in self.spot.nodes)
            quoted = self.plan.spot(self.spot.graph, strings).rules if strings else ()
            rules += tuple(rule.name_recovery("quotes on one side") for rule in quoted if rule not in rules)
        return Spot(self.spot.graph, (node, *self.spot.nodes), rules)

    def _read_again(self) -> bool:
        """Read a list or an object as JSON whose inside is not as the format writes it; what was written of it is its beginning."""
        call = self.writer.call
        if not (self.policy.recover and self.frames and self.began >= 0 and call):
            return False
        base, sent = self.frames[0], "".join(self.writer.trace or ())
        brackets = "[]" if base.spot.nodes[0].type == "array" else "{}"
        self.began = skip_blank(self.buffer, self.began)
        within = self.buffer.startswith(brackets[0], self.began)
        if not within and self.buffer[: self.began].rstrip()[-1:] != brackets[0]:
            return False
        begun = "" if within else brackets[0]
        if not (begun + self.buffer[self.began : max(self.at, self.began + within)]).startswith(sent):
            return False  # what was written of it cannot be taken back
        self._note("value in other notation", self.began)
        self.sent = sent
        self.closer, self.mending, self.passed = "" if within else brackets[1], True, StringIO()
        self.passed.write(begun)
        self.spot, self.schema, self.behind, self.scalar = base.spot, base.schema, False, None
        del self.frames[:], call.levels[1 + len(call.path) :]
        self.lexer = JsonLexer(mends=True)
        self.lexer.scan(begun, 0)
        self.at = self.scan = self.began
        return True

    # The end of the output -----------------------------------------------------------------------------------------------

    def _cut_value(self) -> tuple[bool, bool]:
        """End a value in which the output stops: what may be the beginning of structure is no part of it. Returns whether the call
        ends there, too, as nothing but the end of the turn stands behind the text; and whether the value has ended."""
        end, whole = self._find_half_end()
        if not any(node.type == "string" for node in self.spot.nodes):
            return False, False
        bare = [text for node in self.spot.nodes for text in self.plan.list_bare_ends(node)] if not self.frames else []
        over = self._ends_call(end) if whole else not all(text.strip() for text in bare)
        if whole and over:
            self._note(SHORT_END, end)
        if over and (self.buffer[end:].isspace() or self.buffer[end:] in STOPS):
            end = len(self.buffer)  # layout that nothing follows is the value's, and so is what ends its sentence
        text = self.spot.units.decode(self.buffer[self.at : end])
        if self.holding:
            if whole or over:
                self.writer.arguments(self._convert(end))
            elif self._is_text(self.buffer[self.at : end]):
                self.writer.arguments(encode_basestring(text)[:-1])
            return over, whole
        self._emit(text)
        if whole or over:
            self.writer.arguments('"')
        return over, whole

    def _ends_call(self, end: int) -> bool:
        """Whether the output stops behind what ends all values, within what a template writes only where the call ends, too."""
        rest = "".join(self.buffer[end:].split())
        shown = (rule for rule in self._fill(self.spot.rules) if not rule.recovery)
        begun = [rule for rule in shown if "".join(rule.constant.text.split()).startswith(rest)]
        return begun != [] and all(rule.closes or rule.opens or rule.kind == "end" for rule in begun)

    def _is_text(self, begun: str) -> bool:
        """Whether a value begins as none but a text does."""
        types, bare = self.wanted.get_types(), begun.strip()
        words = {word for node in self.spot.nodes if isinstance(node.codec, Choice) for word, _ in node.codec.words}
        literal = any(word.startswith(bare) for word in words.union(LITERALS))
        told = bare[:1] != "" and not _JSON_BEGUN.fullmatch(bare) and not literal
        return told and (not types or "string" in types)

    def _find_half_end(self) -> tuple[int, bool]:
        """Return where the value ends before a beginning of structure, and whether what ends all values is there; an escape that is
        whole belongs to the value."""
        size = len(self.buffer)
        if any(self.buffer.endswith(written) for written in self.spot.units.written if len(written) <= size - self.at):
            return size, False
        filled = [rule for rule in self._fill(self.spot.rules) if rule.constant.text]
        texts = [rule.constant.text for rule in filled if not rule.recovery]
        rules = [rule for rule in filled if rule.opens or not rule.recovery]
        shared = cut_common_start(texts or [""])
        own, lead = shared.strip(), shared[: len(shared) - len(shared.lstrip())]
        for at in range(max(self.at, size - SHORT), size):
            for rule in rules:
                if self._may_begin(rule, at):
                    end = rule.constant.take_lead(self.buffer, self.at, at)
                    return end, bool(own) and self.buffer.startswith(own, skip_blank(self.buffer, at))
        half = next((count for count in range(len(lead), 0, -1) if self.buffer.endswith(lead[:count], self.at)), 0)
        return size - half, False

    def _may_begin(self, rule: Rule, at: int) -> bool:
        """Whether the output ends in the beginning of a rule; where layout alone tells of a key, in that of one that may come."""
        if self._try_rule(rule, at, False, self.spot) is None:
            return False
        if rule.kind != "key" or rule.constant.firm or self.frames:
            return True
        call, rest = self.writer.call, self.buffer[at:]
        begun = "" if rule.constant.text.startswith(rest) else rest.removeprefix(rule.constant.text)
        declared = self._list_declared(call.name).difference(call.given) if call else ()
        return any(key.startswith(begun) or begun.startswith(key) for key in declared)
