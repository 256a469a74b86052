"""Values: which of its readings a value gets, and the reading of those that tell by themselves where they end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..format import Insides, Json, Node, Text
from ..format.cut import cut_common_start
from ..schema import UNKNOWN, Schema
from .constants import MORE, NO, skip_blank
from .lexer import JsonLexer
from .look import SHORT, Frame
from .plan import Plan, is_quoted
from .rules import Spot
from .texts import TextReader
from .units import Units, convert, get_units, match_scalar


class ValueReader(TextReader):
    """Writes the arguments of the call that is open as JSON."""

    def __init__(self, plan: Plan, tools: Iterable[Mapping[str, Any]] | None, start: Spot, known_only: bool) -> None:
        super().__init__(plan, tools, start, known_only)
        self.lexer: JsonLexer | None = None
        self.within: Text | None = None  # the notation in which JSON is written as a text
        self.streaming = False  # whether a value is emitted as a string as it comes
        self.schema = UNKNOWN  # that of the innermost list or object

    # Choosing ------------------------------------------------------------------------------------------------------------

    def _begin_value(self) -> None:
        """Write what stands before a value, and choose how to read it."""
        writer, call = self.writer, self.writer.call
        assert call
        if not self.frames and not call.levels:
            writer.open_container("{}")
        if call.keys:
            call.key = key = call.keys.pop(0)
            parent = self.schema if self.frames else self._get_parameters()
            writer.key(key)
            schema = parent.get_property(key)
        else:
            writer.item()
            schema = self.schema.get_items()
        nodes, types = self.spot.nodes, schema.get_types()
        inside = self._choose_inside(nodes, types)
        if inside is None:
            self._choose_reading(nodes, types)
        else:
            self._enter(inside, schema)

    def _choose_inside(self, nodes: tuple[Node, ...], types: tuple[str, ...]) -> Node | None:
        """Return the list or object that a value must be, by its schema or because nothing else stands here."""
        inner = [node for node in nodes if isinstance(node.codec, Insides) and self.plan.has_inside(node.codec.graph)]
        wanted = [node for node in inner if node.type in types]
        if wanted or len(inner) == len(nodes):
            return (wanted or inner)[0]
        return None

    def _get_parameters(self) -> Schema:
        call = self.writer.call
        return self.tools.get_parameters(call.name) if self.tools and call and call.name else UNKNOWN

    def _enter(self, node: Node, schema: Schema) -> None:
        assert isinstance(node.codec, Insides)
        self.frames.append(Frame(self.plan.spot(self.spot.graph, (node,), self.may_call), self.schema))
        self.schema = schema
        self.writer.open_container("[]" if node.type == "array" else "{}")
        self.spot = self.plan.inside(node.codec.graph)
        self.behind = True

    def _choose_reading(self, nodes: tuple[Node, ...], types: tuple[str, ...]) -> None:
        strings = [node for node in nodes if node.type == "string"]
        self.types = types
        if strings and (len(strings) == len(nodes) or types[:1] == ("string",) or is_quoted(strings[0])):
            self.holding, self.streaming = False, True
            self.writer.arguments('"')
        else:
            self.holding = bool(strings)

    # Numbers and words ---------------------------------------------------------------------------------------------------

    def _step_value(self, final: bool) -> bool:
        if self.holding or any(node.type == "string" for node in self.spot.nodes):
            return self._step_text(final)
        return self._step_scalar(final)

    def _step_scalar(self, final: bool) -> bool:
        """Read a value that tells where it ends."""
        nodes = self.spot.nodes
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer) and not final:
            return False
        if self.buffer[at : at + 1] in ("[", "{", '"') and any(isinstance(node.codec, Json) for node in nodes):
            return self._start_json()
        end, literal = match_scalar(nodes, self.buffer, at, final)
        if end == MORE:
            return False
        if end > at:
            self.writer.arguments(literal)
            self.at = self.scan = end
            self.behind = True
            return True
        self.writer.arguments('"')
        self.spot = self._as_string()
        return True

    def _as_string(self) -> Spot:
        """Return the spot of a value of which nothing is known any more but that it is text."""
        node = Node("text", "value", Text(), "string")
        return Spot(self.spot.graph, (node, *self.spot.nodes), self.spot.rules)

    # JSON ----------------------------------------------------------------------------------------------------------------

    def _start_json(self) -> bool:
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer):
            return False
        self.at = at
        self.lexer = JsonLexer()
        codecs = [node.codec for node in self.spot.nodes if isinstance(node.codec, Json)]
        self.within = next((codec.within for codec in codecs if codec.within), None)
        return True

    def _step_json(self, final: bool) -> bool:
        """Pass JSON through up to its end."""
        assert self.lexer
        if self.within:
            ended = self._pass_decoded(get_units(self.within), final)
        else:
            end = self.lexer.scan(self.buffer, self.at)
            stop = len(self.buffer) if end < 0 else end
            self.writer.arguments(self.buffer[self.at : stop])
            self.at = self.scan = stop
            ended = end >= 0
        if ended:
            self._end_json()
        return ended

    def _end_json(self) -> None:
        self.lexer = None
        self.behind = True
        if self.spot.kind == "arguments" and self.writer.call:
            self.writer.call.complete = True

    def _pass_decoded(self, units: Units, final: bool) -> bool:
        """Pass JSON through that is written as a text with escapes; returns whether it has ended."""
        assert self.lexer
        buffer, size = self.buffer, len(self.buffer)
        while self.at < size:
            end, text = self.at + 1, buffer[self.at]
            if text in units.first:
                read, char = units.read(buffer, self.at, final)
                if read == MORE:
                    return False
                end, text = (read, char) if read > self.at else (end, text)
            else:
                while end < size and buffer[end] not in units.first:
                    end += 1
                text = buffer[self.at : end]
            stop = self.lexer.scan(text, 0)
            self.writer.arguments(text if stop < 0 else text[:stop])
            self.at = self.scan = end if stop < 0 else end - len(text) + stop
            if stop >= 0:
                return True
        return False

    # The end of the output -----------------------------------------------------------------------------------------------

    def _cut_value(self) -> None:
        """End a value in which the output stops: what may be the beginning of structure is no part of it."""
        end, whole = self._find_half_end()
        if not any(node.type == "string" for node in self.spot.nodes):
            return
        if self.holding:
            if whole:
                self.writer.arguments(convert(self.buffer[self.at : end], self.spot.nodes, self.types))
            return
        self._emit(get_units(self.spot.codec).decode(self.buffer[self.at : end]))
        if whole:
            self.writer.arguments('"')

    def _find_half_end(self) -> tuple[int, bool]:
        """Return where the value ends before a beginning of structure, and whether what ends all values is there."""
        size = len(self.buffer)
        rules = [rule.constant for rule in self.spot.rules if not rule.recovery]
        own = cut_common_start([constant.text for constant in rules] or [""]).strip()
        for at in range(max(self.at, size - SHORT), size):
            for constant in rules:
                if constant.match_core(self.buffer, at, False) != NO:
                    end = constant.take_lead(self.buffer, self.at, at)
                    return end, bool(own) and self.buffer.startswith(own, at)
        return size, False
