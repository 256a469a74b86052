"""A format in words: the verdict first, then how a turn begins and ends, and how reasoning, content and calls are written.

:func:`lay_out` makes lines of pieces, each with its kind; :func:`describe` is their text, and :func:`report_format` one line.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..ask.question import REASONING_FIELDS
from ..format import ChatFormat, Choice, Conversation, Insides, Json, Node, Text, TurnGraph
from ..format.chat_format import UNPRINTED
from ..format.conversation import ID, NAME
from ..format.cut import find_common_end, find_common_start, find_first
from ..format.view import Marker, State, Tools, kind_of, walk_call
from .spans import Line, Span, make_visible, measure, show_text
from .verdict import lay_out_counterexample, lay_out_doubts, list_doubts, list_notes, rate, rate_status, summarise

_WIDEST_LABEL = 32
_WIDEST_VALUE = 56

_ADVICE = (
    "Show examples of what the model writes in a file that CHAT_AUTOPARSER_EXAMPLES names, or choose one of the engine's "
    "own parsers"
)

_STATES = {"reasoning": "inside reasoning", "content": "behind reasoning", "open": "with reasoning, content or calls"}


class Row(NamedTuple):
    """A row of a description: a label, what it labels, and a remark."""

    label: str
    value: tuple[Span, ...]
    note: str = ""


def describe(format: ChatFormat) -> str:
    """Return a format as text that a person can read, without a line break at its end."""
    return "\n".join(map(str, lay_out(format)))


def lay_out(format: ChatFormat) -> Iterator[Line]:
    """Return the lines of a description."""
    verdict = format.verdict
    yield Line.of(("title", "Chat format: "), (rate(verdict), summarise(verdict)))
    yield from lay_out_doubts(format)
    for note in list_notes(format):
        yield Line.of(("text", "  "), ("note", "note: " + make_visible(note)))
    sections = list_sections(format)
    widest = max(len(row.label) for rows in sections.values() for row in rows)
    for title, rows in sections.items():
        yield Line()
        yield Line.of(("title", title))
        yield from _align(rows, min(widest, _WIDEST_LABEL))
    if verdict.counterexample is not None:
        yield from lay_out_counterexample(verdict.counterexample)


def list_sections(format: ChatFormat) -> dict[str, list[Row]]:
    """Return the rows of a description by section; those that say nothing are left out."""
    sections = {
        "Turn": _list_turn(format),
        "Reasoning": _list_reasoning(format),
        "Content": _list_content(format),
        "Tool calls": _list_tools(format),
        "Conversation": _list_conversation(format.conversation),
        "Template": _list_capabilities(format),
        "Proof": (_row(part, [Span(rate_status(status), status)]) for part, status in format.verdict.parts),
    }
    found = {title: [row for row in rows if row.value] for title, rows in sections.items()}
    return {title: rows for title, rows in found.items() if rows}


def _align(rows: list[Row], label_width: int) -> Iterator[Line]:
    widths = [measure(row.value) for row in rows if row.note]
    value_width = max((width for width in widths if width <= _WIDEST_VALUE), default=0)
    for label, value, note in rows:
        spans = [Span("text", "  "), Span("label", f"{label:<{label_width}}"), Span("text", "  "), *value]
        if note:
            spans += [Span("text", " " * (max(0, value_width - measure(value)) + 2)), Span("note", note)]
        yield Line(tuple(spans))


def _row(label: str, value: Iterable[Span] | str, note: str = "") -> Row:
    spans = [Span("text", value)] if isinstance(value, str) else value
    return Row(label, tuple(span for span in spans if span.text), note)


def _show_marker(marker: Marker) -> list[Span]:
    return show_text(marker.written) if marker else []


def _list_turn(format: ChatFormat) -> Iterator[Row]:
    if format.header:
        yield _row("header", show_text(format.header), "right before what the model writes")
    else:
        yield _row("header", "none: the prompt ends with the user's text")
    stops = [span for stop in format.stops for span in (Span("text", " or "), *show_text(stop))][1:]
    yield _row("end of turn", stops or "not marked: the engine's own end of text")
    told: set[tuple[object, ...]] = set()
    for switches, added, state in format.states or (((), "", "open"),):
        label = name_switches(switches) if switches else "prompt adds" if not told else "or, after other messages"
        label = f"with {label}" if switches else label
        says = _STATES[state] if format.reasoning else "with content or calls"
        if (label, added) not in told:
            yield _row(label, show_text(added) or "nothing", f"generation starts {says}")
        told.add((label, added))


def name_switches(switches: Iterable[tuple[str, str]]) -> str:
    """Return the settings of switches in one line."""
    return ", ".join(f"{make_visible(name)}={make_visible(value)}" for name, value in switches)


def _list_reasoning(format: ChatFormat) -> Iterator[Row]:
    reasoning = format.reasoning
    if reasoning is None:
        yield _row("none", "the template prints none")
        return
    prompted = _find_state(format) == "reasoning"
    if reasoning.start:
        yield _row("opened by", show_text(reasoning.start.written), "by the prompt" if prompted else _find_opener(format))
    else:
        yield _row("opened by", "the end of the prompt" if prompted else "nothing: it begins where the turn begins")
    behind = any(kind_of(format.graph, edge.source) == "reasoning" for edge in format.graph.turn.edges)
    no_end = "nothing of its own: what begins content or a call ends it" if behind else "nothing that is known"
    yield _row("closed by", _show_marker(reasoning.end) or no_end)
    shown = "only in turns with tool calls" if reasoning.beside_calls_only else "as the messages have it"
    yield _row("shown in prompts", "never" if any(UNPRINTED in note for note in format.verdict.notes) else shown)
    for name in format.asking.reasoning:
        if name not in (*REASONING_FIELDS, "parts", "blocks"):
            yield _row("read from", name, "a field of messages that the engines do not know")


def _find_opener(format: ChatFormat) -> str:
    """Say who writes what opens reasoning, where the prompt without switches does not."""
    switched = next((switches for switches, _, state in format.states if state == "reasoning" and switches), ())
    return f"by the prompt with {name_switches(switched)}, else by the model" if switched else "by the model"


def _list_content(format: ChatFormat) -> Iterator[Row]:
    content = format.content
    if content.wrapped == "never":
        yield _row("written", "plainly: it is what is left of the turn")
        return
    yield _row("wrapped", {"with calls": "only beside calls"}.get(content.wrapped, content.wrapped))
    yield _row("opened by", _show_marker(content.start))
    yield _row("closed by", _show_marker(content.end))


def _list_tools(format: ChatFormat) -> Iterator[Row]:
    tools, graph = format.tools, format.graph
    if tools is None:
        yield _row("none", "how a call is written is not known" if format.capabilities.tools else "the template prints none")
        return
    yield _row("section opened by", _show_marker(tools.section_start), "before the first call of a turn")
    yield _row("section closed by", _show_marker(tools.section_end), "behind the last call of a turn")
    yield _row("a call", _show_call(format, tools))
    yield _row("between two calls", show_text(tools.separator))
    yield _row("several calls", "yes" if tools.parallel else "not seen: the template prints one call a turn")
    if all(kind_of(graph, edge.source) != "id" for edge in walk_call(graph)):
        yield _row("id", "none is written")
    yield from _list_values(format)


def _show_call(format: ChatFormat, tools: Tools) -> list[Span]:
    """Return one call as it is written, with words in capitals in the place of its fields."""
    path = walk_call(format.graph)
    spans = show_text(tools.call_start.written)
    for edge in path:
        kind = kind_of(format.graph, edge.source)
        text = edge.text if edge is not path[-1] else _cut_call(edge.text, tools.call_end, format.stops)
        spans += [Span("value" if kind == "arguments" else kind, kind.upper()), *show_text(text)]
    return spans


def _cut_call(text: str, end: Marker, stops: tuple[str, ...]) -> str:
    """Return what closes a call, of the text behind its last field."""
    closed = text.find(end.written) if end else -1
    return text[: closed + len(end.written)] if closed >= 0 else text[: find_first(text, stops)]


def _list_values(format: ChatFormat) -> Iterator[Row]:
    graph, nodes = format.graph, format.graph.turn.nodes
    path = [edge.source for edge in walk_call(graph)]
    whole = [node.codec for node in nodes if node.name in path and node.kind == "arguments" and isinstance(node.codec, Json)]
    if whole:
        form = "a JSON object inside a JSON string" if whole[0].within else "a JSON object"
        yield _row("arguments", f"{form}, passed on as the model writes it")
        return
    keys, values = ([name for name in path if kind_of(graph, name) == kind] for kind in ("key", "value"))
    own = _find_own(graph)
    usual = next((own.get(name, ()) for name in values), ())
    told: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for node in nodes:
        if node.kind == "value":
            told.setdefault((_say_codec(node), own.get(node.name, ())), []).append(node.type)
    for (form, around), types in told.items():
        kinds = ", ".join(dict.fromkeys(kind or "value" for kind in types))
        spans = [*show_text(around[0]), Span("value", "VALUE"), *show_text(around[1])] if around and around != usual else []
        note = f"written {_join(spans)}" if spans else ""
        yield _row(kinds if len(kinds) <= _WIDEST_LABEL else "values of other types", form, note)
    for edge in graph.turn.edges:
        if [edge.source] == values and [edge.target] == keys and not edge.opens_call:
            yield _row("between two arguments", show_text(edge.text))
    if nested := graph.path:
        yield _row("object", f"as its members, under {make_visible(nested.join(('KEY', 'MEMBER')))}")


def _find_own(graph: TurnGraph) -> dict[str, tuple[str, str]]:
    """Return what stands right before and behind values and not around those of every type, by node, where that is known."""
    edges = graph.turn.edges
    leads = {edge.target: edge.text for edge in reversed(edges) if kind_of(graph, edge.target) == "value"}
    tails = {edge.source: edge.text for kind in ("name", "end") for edge in edges if kind_of(graph, edge.target) == kind}
    known = [name for name in leads if name in tails]
    if not known:
        return {}
    begun, ended = find_common_start(*leads.values()), find_common_end(*(tails[name] for name in known))
    return {name: (leads[name][begun:], tails[name][: len(tails[name]) - ended]) for name in known}


def _say_codec(node: Node) -> str:
    codec = node.codec
    if isinstance(codec, Text):
        escaped = f"{len(codec.escapes)} characters escaped" if codec.escapes or codec.numerals else ""
        begun = f"{len(codec.starts)} only at its beginning" if codec.starts else ""
        return ", ".join(("text", *filter(None, (escaped, begun)))) if escaped or begun else "text as it stands"
    if isinstance(codec, Insides):
        return "in a notation of its own"
    others = [pair for pair in codec.words if pair[0] != pair[1]] if isinstance(codec, Choice) else []
    return ", ".join(f"{make_visible(written)} for {value}" for written, value in others) or "as in JSON"


def _list_capabilities(format: ChatFormat) -> Iterator[Row]:
    able = format.capabilities
    shown = {
        "tools": able.tools,
        "tool calls": able.tool_calls,
        "parallel calls": able.parallel_calls,
        "tool results": able.tool_role,
        "system messages": able.system_role,
        "content null": able.null_content,
    }
    if not any(shown.values()):
        return
    yield _row("takes", ", ".join(name for name, taken in shown.items() if taken))
    yield _row("does not take", ", ".join(name for name, taken in shown.items() if not taken))
    if able.arguments != "none":
        yield _row("arguments wanted", f"as {'an object' if able.arguments == 'object' else 'a JSON string'}")
    yield _row("reads the switches", ", ".join(able.switches) or "none")


def _list_conversation(talk: Conversation) -> Iterator[Row]:
    if not talk.steps:
        return  # it was not asked for
    yield _row("begins with", show_text(talk.opening))
    for role in talk.roles:
        start, end = (text.replace(NAME, "NAME").replace(ID, "ID") for text in (role.start, role.end))
        value = [*show_text(start), Span("content", "…"), *show_text(end)]
        yield _row(role.name, value, f"inside the next message of the {role.within}'s" if role.within else "")
    if not talk.roles:
        yield _row("messages", "not known: no conversation of two turns is rendered with all messages in it")
    elif not talk.proven:
        yield _row("", "not proven: renders are not these texts one after the other")
    yield _row("without a system message", show_text(_cut_middle(talk.preset)))
    for rule in list_rules(talk):
        yield _row("rule", rule)


def _cut_middle(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:30]} … {text[-30:]}"


def list_rules(talk: Conversation) -> Iterator[str]:
    """Say in words which conversations a template does not take, as far as pairs of messages tell."""
    for step in talk.steps:
        if step.before == "*" and step.kind != "any other role":
            does = "drops it without a word" if step.outcome == "dropped" else "refuses it"
            yield f"takes no message of the kind {step.kind!r}: {does}"
    pairs = {(step.before, step.kind): step.outcome for step in talk.steps if step.before != "*"}
    plain = ("user", "assistant")
    if all(pairs.get((role, role)) == "refused" for role in plain):
        yield "roles must alternate: user, assistant, user, …"
    else:
        for role in plain:
            if pairs.get((role, role)) in ("refused", "dropped", "replaces"):
                yield f"takes no two messages of the role {role!r} in a row"
    if pairs.get(("", "assistant")) == "refused":
        yield "the first message must not be the assistant's"
    later = {pairs.get((role, "system")) for role in plain} - {None}
    if later and "printed" not in later:
        yield f"a system message stands at the beginning only: {'refused' if 'refused' in later else 'dropped'} elsewhere"
    if pairs.get(("assistant", "")) == "refused":
        yield "the last message must not be the assistant's"
    for role in talk.needed:
        yield f"wants at least one message of the role {role!r}"
    for role in talk.single:
        yield f"prints only the last of several messages of the role {role!r}"


# For the log of a server


def report_format(format: ChatFormat, name: str, seconds: float) -> str:
    """Return one line with what was derived from a template, called ``name``, and how far it is proven."""
    text = "; ".join(summarise_format(format)).replace("\n", "\\n")
    return f"chat-autoparser: from {name} in {seconds * 1000:.0f} ms: {text}"


def warn_of_doubts(format: ChatFormat, name: str, log: logging.Logger) -> None:
    """Warn, in one line, where something could not be established; says what it means and what to do."""
    doubts = "; ".join(map(str, list_doubts(format))).replace("\n", "\\n")
    if doubts:
        log.warning("chat-autoparser: %s is not understood in full: %s. %s", name, doubts, _ADVICE)


def summarise_format(format: ChatFormat) -> list[str]:
    """Return a format in four lines: the verdict, reasoning, content and tool calls, each as the model writes it."""
    content = format.content
    return [
        summarise(format.verdict),
        "reasoning: " + _say_reasoning(format),
        "content: " + ("plain" if content.wrapped == "never" else _say_between(content.start, "…", content.end)),
        "tool calls: " + _say_calls(format),
    ]


def _find_state(format: ChatFormat) -> State:
    """Tell what a model continues behind the prompt without switches."""
    return format.states[0][2] if format.states else "open"


def name_start(format: ChatFormat) -> str:
    """Say how the prompt without switches leaves reasoning; nothing where it leaves that to the model."""
    return {"reasoning": "opened by the prompt", "content": "closed by the prompt"}.get(_find_state(format), "")


def _say_reasoning(format: ChatFormat) -> str:
    reasoning, how = format.reasoning, name_start(format)
    if reasoning is None:
        return "none"
    return _say_between(reasoning.start, "…", reasoning.end) + (f" ({how})" if how else "")


def _say_calls(format: ChatFormat) -> str:
    tools = format.tools
    if tools is None:
        return "not known, though the template takes tools" if format.capabilities.tools else "none"
    return _say_between(tools.section_start, _join(_show_call(format, tools)), tools.section_end)


def _say_between(start: Marker, inner: str, end: Marker) -> str:
    return inner.join(_join(show_text(marker.written)) for marker in (start, end))


def _join(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)
