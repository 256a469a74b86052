"""Holding a model to calls in its own format: a grammar of the turn, made from the format and the tools of a request.

The text of the layout is taken as the template prints it, each character, so that what a model is held to is what it was
trained to write and what the next prompt will show it again. Names, ids and arguments stand where the layout has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .calls import PLAUSIBLE
from .errors import ConstraintError
from .format import ARGUMENTS, COUNTER, ID, KEY, NAME, ChatFormat, EntriesLayout
from .grammar import (
    NOTHING,
    Chars,
    Free,
    Grammar,
    Json,
    Node,
    Repeat,
    Text,
    Until,
    choose,
    join,
    maybe,
)
from .marker import is_punctuation
from .schema import ToolSet
from .writing import Writer, arrange, check_key, list_alternatives, list_required, make_object_schema

ToolChoice = str | Mapping[str, Any]
Reasoned = Literal["ended", "open", "possible"]

INDENTED_LEVELS = 8
_ID = (("A", "Z"), ("a", "z"), ("0", "9"), ("_", "_"), ("-", "-"))
_NINE = (("A", "Z"), ("a", "z"), ("0", "9"))
_DIGIT = (("0", "9"),)


def build_grammar(
    format: ChatFormat,
    tools: Iterable[dict[str, Any]],
    choice: ToolChoice = "required",
    *,
    parallel: bool = True,
    strict: bool | None = None,
    reasoning: Reasoned = "ended",
) -> Grammar:
    """Make the grammar of the turns in which a model may call the given tools. See :func:`build_structural_tag`."""
    called, free = select_tools(tools, choice)
    builder = _Builder(format, called, parallel, strict, free)
    root = builder.build_free() if free else builder.build_calls()
    return Grammar(join(write_reasoning(format, reasoning), root), builder.rules)


def select_tools(tools: Iterable[dict[str, Any]], choice: ToolChoice) -> tuple[dict[str, Any], bool]:
    """Return the functions that a tool choice of the OpenAI API leaves, by name, and whether text may come instead.

    ``choice`` is ``"auto"``, ``"required"``, or an object that names a function (of chat completions or of responses) or
    allowed tools. Raises :class:`ConstraintError` for ``"none"``, for a name that is no tool's, and where no tool is left.
    """
    known: dict[str, Any] = ToolSet(tools).tools
    if isinstance(choice, str):
        if choice not in ("auto", "required"):
            raise ConstraintError(f"constraining calls: the tool choice is {choice!r}; there is nothing to constrain")
        selected = known
    else:
        inner = choice.get("allowed_tools", choice)
        listed = inner.get("tools")
        names = [_get_name(tool) for tool in listed] if isinstance(listed, list) else [_get_name(inner)]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ConstraintError(f"constraining calls: the tool choice names {unknown[0]!r}, which is none of the tools")
        selected = {name: known[name] for name in names}
        choice = str(inner.get("mode", "auto")) if isinstance(listed, list) else "required"
    if not selected:
        raise ConstraintError("constraining calls: the request has no tools")
    for name in selected:
        if not PLAUSIBLE.fullmatch(name):
            raise ConstraintError(f"constraining calls: no model can be held to the name {name!r}")
    return selected, choice == "auto"


def _get_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function", tool)
    return str(function.get("name")) if isinstance(function, Mapping) else str(function)


def write_reasoning(format: ChatFormat, state: Reasoned) -> Node:
    """Return the node of reasoning that stands before all else: none, the rest of it, or optional reasoning."""
    reasoning = format.reasoning
    if state == "ended" or reasoning is None or not reasoning.end.text:
        return NOTHING
    thought = join(Until((reasoning.end.text,)), Text(reasoning.end.text))
    return thought if state == "open" else maybe(join(Text(reasoning.start.text), thought))


class _Builder:
    """Makes the nodes of one grammar; see the module's text."""

    def __init__(self, format: ChatFormat, called: dict[str, Any], parallel: bool, strict: bool | None, free: bool) -> None:
        if format.tools is None:
            raise ConstraintError("constraining calls: how this model writes calls is not known")
        if format.tools.layout is None:
            raise ConstraintError("constraining calls: the template does not print calls, or not all alike")
        self.format, self.tools, self.layout = format, format.tools, format.tools.layout
        self.called, self.strict, self.free = called, strict, free
        self.joint = self.layout.joint if parallel else None
        self.rules: dict[str, Node] = {}

    def build_calls(self) -> Node:
        """Return the node of a turn that consists of calls."""
        return join(choose(*map(self._write, self._list_openings())), self._write_call_list())

    def _list_openings(self) -> list[str]:
        """List what may stand between where the model begins and the first field of the first call.

        The white space is any that the template prints in such a place. Where the generation prompt ends with the beginning
        of what opens a call, the rest of it will do.
        """
        turn, tools, opener = self.format.turn, self.tools, self.layout.opener
        leads = {*self.layout.leads, tools.section_start.before, tools.call_start.before}
        leads |= set() if tools.section_start else {tools.section_start.before + tools.call_start.before}
        leads |= {self.format.reasoning.start.before} if self.format.reasoning else set()
        leads |= {header[len(header.rstrip()) :] for header in turn.headers}
        openings = [lead + opener for lead in sorted(leads, key=lambda lead: (len(lead), lead))]
        for prefix in {turn.prefix, *turn.headers, *(start.prefix for start in self.format.starts)}:
            begun = [length for length in range(2, len(opener) + 1) if prefix.endswith(opener[:length])]
            openings += [opener[length:] for length in begun[-1:]]
        return openings

    def build_free(self) -> Node:
        """Return the node of text in which whatever opens a call must go on as one."""
        layout, marker = self.layout, (self.tools.section_start or self.tools.call_start).text
        if _is_telling(marker) and layout.opener.startswith(marker):
            rest = join(self._write(layout.opener[len(marker) :]), self._write_call_list())
            return Free(((marker, rest),), self.joint is not None)
        rules: list[tuple[str, Node]] = []
        for name in self.called:
            head, rest_of_call = self._split_head(name)
            rules.append((head, join(rest_of_call, self._write_more())))
        return Free(tuple(rules), self.joint is not None)

    def _split_head(self, name: str) -> tuple[str, Node]:
        """Return what tells, where no marker does, that a call to a tool begins, and the rest of that call."""
        call, layout = self.layout.call, self.layout
        place = call.find(NAME)
        if place < 0 or ID in call[:place] or ARGUMENTS in call[:place] or COUNTER in layout.opener:
            raise ConstraintError("constraining calls: text may come first, and what opens a call cannot be told from text")
        behind = re.split(f"[{NAME}{ID}{ARGUMENTS}]", call[place + 1 :])[0]
        head = layout.opener + call[:place] + name + behind
        if head == name:
            raise ConstraintError("constraining calls: text may come first, and nothing but a name opens a call")
        node = self._write_call(name, call[place + 1 + len(behind) :])
        if layout.empty is not None and layout.entries is not None:
            shown = layout.call[: place + 1 + len(behind)]
            if layout.empty.startswith(shown):
                node = self._write_call(name, call[len(shown) :], layout.empty[len(shown) :])
        return head, node

    def _write_call_list(self) -> Node:
        return join(self._choose_call(), self._write_more())

    def _write_more(self) -> Node:
        """Return the node of what follows a call: more calls, and the end."""
        more: Node = NOTHING
        if self.joint is not None:
            more = Repeat(join(self._write(self.joint), self._choose_call()))
        return join(more, self._write_tails())

    def _choose_call(self) -> Node:
        return choose(*(self._write_call(name, self.layout.call, self.layout.empty) for name in self.called))

    def _write_tails(self) -> Node:
        """Return the node of what stands behind the last call, with or without the marker that ends the turn.

        An engine may take that marker for the end of the output before a grammar sees it.
        """
        turn = self.format.turn
        ends = [marker.before + marker.text for marker in turn.end] + list(turn.stops)
        ends += [self.tools.call_end.text] if turn.header_end else []
        ends = [end for end in dict.fromkeys(ends) if any(map(str.isalnum, end))]
        bare = []
        for tail in self.layout.tails:
            closed = next((end for end in sorted(ends, key=len, reverse=True) if tail.rstrip().endswith(end.strip())), "")
            tail = tail[: tail.rindex(closed.strip())] if closed else tail
            bare += [tail, tail.rstrip()]
        layout = {marker.before for marker in turn.end} - {""}
        closing = Repeat(choose(*map(Text, [*ends, *sorted(layout)])), 0, 2) if ends else NOTHING
        return join(choose(*map(self._write, bare)), closing)

    def _write(self, text: str, name: str = "", arguments: Node = NOTHING) -> Node:
        """Return the node of layout text with its fields."""
        nodes = [self._write_field(part, name, arguments) for part in re.split(f"([{NAME}{ID}{ARGUMENTS}{COUNTER}])", text)]
        return join(*nodes)

    def _write_field(self, part: str, name: str, arguments: Node) -> Node:
        if part == NAME:
            return Text(name)
        if part == COUNTER:
            return Chars(_DIGIT, least=1, most=4)
        if part == ARGUMENTS:
            return arguments
        if part != ID:
            return Text(part)
        if NAME not in self.layout.call:
            return self._write_named_id(name)
        if self.layout.id == "nine":
            return Chars(_NINE, least=9, most=9)
        return Chars(_ID, least=1, most=64)

    def _write_named_id(self, name: str) -> Node:
        """Return the node of an id that carries the name: the template only passes it on, so its shape is any."""
        others = [other for other in self.called if other != name and (name in other)]
        prefix = maybe(join(Chars(_ID[:2], least=1, most=32), Text("."))) if not others else NOTHING
        return join(prefix, Text(name), maybe(join(Text(":"), Chars(_DIGIT, least=1, most=4))))

    def _write_call(self, name: str, call: str, empty: str | None = None) -> Node:
        """Return the node of a call to a tool, or of the part of one that the texts are."""
        function = self.called[name]
        schema = make_object_schema(self._get_schema(function), self.layout.sorted)
        if self.tools.arguments.json:
            return self._write(call, name, self._write_json(schema))
        entries = self._write_entries(schema)
        if entries is None:
            return self._write(empty if empty is not None else call, name)
        needed = empty is not None and not list_required(list_alternatives(schema, schema)[0])
        filled = self._write(call, name, entries)
        return choose(filled, self._write(empty, name)) if needed and empty is not None else filled

    def _get_schema(self, function: Mapping[str, Any]) -> Any:
        """Return the schema that a call to a tool must obey; where it need not, that of any object."""
        schema = function.get("parameters") or function.get("input_schema") or {}
        strict = self.strict if self.strict is not None else not self.free or bool(function.get("strict"))
        if strict:
            return schema
        if self.tools.arguments.json:
            return {"type": "object"}
        if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
            return {"type": "object", "properties": {key: {} for key in schema["properties"]}}
        return {"type": "object"}

    def _write_json(self, schema: dict[str, Any]) -> Node:
        if self.tools.arguments.encoded:
            raise ConstraintError("constraining calls: this model writes arguments as JSON inside a JSON string")
        spaces = 1 + INDENTED_LEVELS * self.layout.indent if self.layout.indent else 1
        return Json(schema, spaces)

    def _write_entries(self, schema: dict[str, Any]) -> Node | None:
        """Return the node of all entries of arguments that are not JSON; None where there are none."""
        layout, arguments = self.layout.entries, self.tools.arguments
        assert layout is not None, "arguments that are not JSON have entries"
        alternatives = [found for found in list_alternatives(schema, schema) if found["type"] == "object"]
        if len(alternatives) != 1:
            raise ConstraintError("constraining calls: a tool's arguments are not described as one object")
        properties = alternatives[0].get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return self._write_unknown_entries(layout, schema) if "properties" not in alternatives[0] else None
        required = list_required(alternatives[0])
        writer = Writer(arguments.value, self.rules, schema)
        entries = [
            (self._write_entry(layout, writer, Text(check_key(key)), key, inner, schema), key in required)
            for key, inner in properties.items()
        ]
        return arrange(entries, Text(layout.separator), least=1 if self.layout.empty is not None else 0)

    def _write_unknown_entries(self, layout: EntriesLayout, schema: dict[str, Any]) -> Node:
        """Return the node of entries with any keys and texts as values."""
        if KEY in layout.string.close + layout.other.close:
            raise ConstraintError("constraining calls: the format repeats names of parameters, and a tool declares none")
        writer = Writer(self.tools.arguments.value, self.rules, schema)
        entry = self._write_entry(layout, writer, Chars(_ID, least=1, most=64), "", {}, schema)
        return join(entry, Repeat(join(Text(layout.separator), entry)))

    def _write_entry(self, layout: EntriesLayout, writer: Writer, key: Node, name: str, schema: Any, root: Any) -> Node:
        """Return the node of one entry: its key, and a value of one of the kinds that its schema allows."""
        alternatives = list_alternatives(schema, root)
        strings = [found for found in alternatives if found["type"] == "string"]
        others = [found for found in alternatives if found["type"] != "string"]
        nodes: list[Node] = []
        if strings:
            between, close, notations = self._unquote(layout)
            value = writer.write_strings(strings, notations, self._list_ends(layout, close, name))
            nodes.append(join(Text(between), value, Text(close.replace(KEY, name))))
        if others:
            close = layout.other.close
            value = writer.write_others(others, self._list_ends(layout, close, name))
            nodes.append(join(Text(layout.other.between), value, Text(close.replace(KEY, name))))
        if not nodes:
            raise ConstraintError(f"constraining calls: the parameter {name!r} allows no value at all")
        return join(Text(layout.key_start), key, choose(*nodes))

    def _unquote(self, layout: EntriesLayout) -> tuple[str, str, tuple[Any, ...]]:
        """Return what stands around a string, its quotes left out, and the notations that it may have."""
        notations, string = self.tools.arguments.strings, layout.string
        first = notations[0] if notations else None
        if first is None or not (string.between.endswith(first.start) and string.close.startswith(first.end)):
            return string.between, string.close, ()
        between = string.between.removesuffix(first.start) if first.start else string.between
        return between, string.close.removeprefix(first.end), notations

    def _list_ends(self, layout: EntriesLayout, close: str, key: str) -> tuple[str, ...]:
        """Return what must not stand in a raw value: what closes it, else whatever may follow it."""
        if any(string.start for string in self.tools.arguments.strings[:1]):
            return ()  # quotes tell where a value ends
        ends = [slot.end.text.replace(KEY, key) for slot in self.tools.arguments.object.slots]
        known = [end.strip() for end in ends if end.strip()]
        if known:
            return tuple(dict.fromkeys(known))
        behind = self.layout.call.partition(ARGUMENTS)[2]
        following = [behind] if behind else [*self.layout.tails, *([self.layout.joint] if self.layout.joint else [])]
        texts = [close] if close.strip() else [layout.separator + layout.key_start, *following]
        return tuple(dict.fromkeys(text.strip() or text for text in texts if text))


def _is_telling(marker: str) -> bool:
    """Whether a marker would not stand in a text by chance."""
    return len(marker) > 2 and not is_punctuation(marker)
