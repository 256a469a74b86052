"""A format in words: what was derived, where each marker was seen, and what the proof says.

:func:`lay_out` makes lines of pieces, each with its kind, which a terminal can colour; :func:`describe` is their text.
White space at the edge of a marker is shown by signs (``⏎`` a line break, ``·`` a space, ``⇥`` a tab), and a character
that would act on a terminal by its escape.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from .example import Example, write_arguments
from .format import (
    ID,
    KEY,
    NAME,
    TAUGHT,
    Arguments,
    ChatFormat,
    Conversation,
    Counterexample,
    Marker,
    ObjectBody,
    Reasoning,
    Start,
    StringNotation,
    Tools,
    ValueNotation,
    Verdict,
)

_WIDEST_LABEL = 26
_WIDEST_VALUE = 56
_SIGNS = {"\n": "⏎", " ": "·", "\t": "⇥"}


class Span(NamedTuple):
    """A part of a line and its kind: that of an example's piece, or what it is in the description.

    The latter are ``title``, ``label``, ``text`` and ``note`` (a remark), and the results ``good``, ``fair``, ``bad``.
    """

    kind: str
    text: str


_WORDS = {NAME: Span("name", "NAME"), KEY: Span("key", "KEY"), ID: Span("id", "ID")}


@dataclass(frozen=True)
class Line:
    """One line of a description."""

    spans: tuple[Span, ...] = ()

    def __str__(self) -> str:
        return "".join(span.text for span in self.spans).rstrip()


class Row(NamedTuple):
    """What a line of a table says: a label, what it labels, and a remark."""

    label: str
    value: tuple[Span, ...]
    note: str = ""


def describe(format: ChatFormat) -> str:
    """Return a format as text that a person can read, without a line break at its end."""
    return "\n".join(map(str, lay_out(format)))


def lay_out(format: ChatFormat) -> Iterator[Line]:
    """Return the lines of a description: turn, reasoning, content, tool calls, capabilities and verdict."""
    verdict = format.verdict
    yield Line((Span("title", "Chat format: "), Span(rate(verdict), summarise(verdict))))
    sections = {
        "Turn": list(_list_turn(format)),
        "Reasoning": list(_list_reasoning(format)),
        "Content": list(_list_content(format)),
        "Tool calls": list(_list_tools(format)),
        "Conversation": list(_list_conversation(format)),
        "Template": list(_list_capabilities(format)),
        "Proof": list(_list_verdict(verdict)),
    }
    widest = max(len(row.label) for rows in sections.values() for row in rows)
    for title, rows in sections.items():
        if not rows:
            continue
        yield Line()
        yield Line((Span("title", title),))
        yield from _align(rows, min(widest, _WIDEST_LABEL))
    if verdict.counterexample is not None:
        yield from _lay_out_counterexample(verdict.counterexample)


def _align(rows: list[Row], label_width: int) -> Iterator[Line]:
    widths = [measure(row.value) for row in rows if row.note]
    value_width = max((width for width in widths if width <= _WIDEST_VALUE), default=0)
    for label, value, note in rows:
        spans = [Span("text", "  "), Span("label", f"{label:<{label_width}}"), Span("text", "  "), *value]
        if note:
            spans += [Span("text", " " * (max(0, value_width - measure(value)) + 2)), Span("note", note)]
        yield Line(tuple(spans))


def measure(spans: Iterable[Span]) -> int:
    """Return how many columns spans take on a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for span in spans for char in span.text)


def lay_out_example(example: Example) -> Iterator[Line]:
    """Return the lines of a worked example, the prompt before it included."""
    spans = [Span("note", example.prompt), *(Span(piece.kind, piece.text) for piece in example.pieces)]
    yield from _split_lines(spans, "    ")


def make_visible(text: str, layout: bool = False) -> str:
    """Return a text whose control characters are shown as escapes; with ``layout`` its white space as signs too."""
    if layout:
        return "".join(_SIGNS.get(char) or _escape(char) for char in text)
    return "".join(char if char == "\n" else _escape(char) for char in text)


def _escape(char: str) -> str:
    """Return a character as it is, or its escape where a terminal would act on it or not show it."""
    if char not in _WORDS and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char.encode("unicode_escape", "surrogatepass").decode()
    return char


def show_marker(marker: Marker) -> list[Span]:
    """Return a marker with its layout."""
    return [
        Span("note", make_visible(marker.before, layout=True)),
        *show_structure(marker.text),
        Span("note", make_visible(marker.after, layout=True)),
    ]


def show_structure(text: str) -> list[Span]:
    """Return structure text on one line; where it repeats the name or the key, that stands as a word in capitals."""
    inner = text.strip()
    start = text.index(inner) if inner else len(text)
    spans = [Span("note", make_visible(text[:start], layout=True))]
    part = ""
    for char in inner:
        if char in _WORDS:
            spans += [Span("structure", part), _WORDS[char]]
            part = ""
        else:
            part += "⏎" if char == "\n" else _escape(char)
    spans += [Span("structure", part), Span("note", make_visible(text[start + len(inner) :], layout=True))]
    return [span for span in spans if span.text]


def _row(label: str, value: Iterable[Span] | str, note: str = "") -> Row:
    return Row(label, (Span("text", value),) if isinstance(value, str) else tuple(value), note)


def rate(verdict: Verdict) -> str:
    """Return ``good`` where all is proven, ``fair`` where something is, else ``bad``."""
    if verdict.checked and verdict.proven:
        return "good"
    return "fair" if verdict.passed else "bad"


def summarise(verdict: Verdict) -> str:
    """Return a verdict in one line."""
    if not verdict.checked:
        return "not proven, no turn was read back"
    word = {"good": "proven", "fair": "partly proven", "bad": "not established"}[rate(verdict)]
    open_parts = ", ".join(f"{part} {status}" for part, status in verdict.parts if status not in ("proven", "absent"))
    word += f" ({open_parts})" if open_parts else ""
    return f"{word}; {verdict.passed} of {verdict.checked} rendered turns were read back exactly"


def _list_turn(format: ChatFormat) -> Iterator[Row]:
    turn = format.turn
    for number, header in enumerate(turn.headers):
        yield _row("header" if not number else "or", show_structure(header), "right before what the model writes")
    if not turn.headers:
        yield _row("header", "none: the prompt ends with the user's text")
    if turn.continuation:
        use = "opens a further message of the same turn" if turn.header_end else "the role, if the model repeats it"
        yield _row("next message", show_marker(turn.continuation), use)
    if turn.header_end:
        yield _row("header ends with", show_structure(turn.header_end), "ends the header of each message")
    for marker in turn.end:
        yield _row("end of turn", show_marker(marker), "behind the last field of a rendered turn")
    if not turn.end:
        yield _row("end of turn", "not marked")
    stops = ", ".join(make_visible(stop, layout=True) for stop in turn.stops)
    yield _row("stop strings", [Span("structure", stops)] if stops else "none known: the engine's own end of text")
    for start in format.starts or (Start((), turn.prefix, "open"),):
        yield _start_row(start, format.reasoning)


def _start_row(start: Start, reasoning: Reasoning | None) -> Row:
    label = f"with {_name_switches(start)}" if start.switches else "prompt adds"
    added = [Span("structure", make_visible(start.prefix, layout=True))] if start.prefix else "nothing"
    return _row(label, added, "generation starts " + _say_start(start, reasoning))


def _name_switches(start: Start) -> str:
    return ", ".join(f"{name}={value}" for name, value in start.switches)


def _say_start(start: Start, reasoning: Reasoning | None) -> str:
    if start.state == "reasoning":
        return "inside reasoning"
    if start.state == "content":
        return "behind reasoning"
    return "with reasoning, content or calls" if reasoning else "with content or calls"


def _list_reasoning(format: ChatFormat) -> Iterator[Row]:
    reasoning = format.reasoning
    if reasoning is None:
        yield _row("none", "", "")
        return
    if reasoning.start:
        yield _row("opened by", show_marker(reasoning.start), _find_opened(format, reasoning))
    else:
        yield _row("opened by", "nothing: it begins where the turn begins")
    dropped = reasoning.scope == "never printed"
    place = "what the template cuts earlier turns at" if dropped else "behind the reasoning of a rendered turn"
    yield _row("closed by", show_marker(reasoning.end), place)
    field = {"parts": "a part of typed content", "content": "the content, from which the template cuts it out"}
    yield _row("read from", field.get(reasoning.field, f"the message field {reasoning.field!r}"))
    yield _row(
        "shown in prompts",
        {
            "always": "in turns with and without calls",
            "with calls": "only in turns with tool calls",
            "never printed": "never: the template drops it",
        }[reasoning.scope],
    )


def _find_opened(format: ChatFormat, reasoning: Reasoning) -> str:
    """Return where the marker that opens reasoning was seen."""
    places = [] if reasoning.scope == "never printed" else ["before the reasoning of a rendered turn"]
    prompts = [start for start in format.starts if reasoning.start.text in start.prefix]
    if any(not start.switches for start in prompts):
        places.append("in the generation prompt")
    elif prompts:
        places.append("in the generation prompt with " + " or ".join(map(_name_switches, prompts)))
    return ", ".join(places) or "in the template's own constants"


def _list_content(format: ChatFormat) -> Iterator[Row]:
    content = format.content
    if not content.start and not content.end:
        yield _row("written", "plainly: it is what is left of the turn")
        return
    when = {"after reasoning": "only behind reasoning", "with calls": "only beside calls"}
    yield _row("wrapped", when.get(content.wrapped, content.wrapped))
    if content.start:
        note = "before the content of a rendered turn"
        yield _row("opened by", show_marker(content.start), note)
    if content.end:
        note = "behind the content of a rendered turn"
        yield _row("closed by", show_marker(content.end), note)


def _list_tools(format: ChatFormat) -> Iterator[Row]:
    tools = format.tools
    if tools is None:
        known = "takes tools, but how a call is written is not known" if format.capabilities.tools else "none"
        yield _row(known, "")
        return
    read = tools.provenance == "instructions"
    if tools.provenance == "examples":
        yield _row("source", "taught by the examples that were given; the template renders no call")
    if read:
        yield _row("source", "read from the instructions the template itself prints; it renders no call")
    behind = {"instructions": "in the example of the instructions", "examples": "in the examples"}.get(tools.provenance, "")
    for label, marker, place in (
        ("section opened by", tools.section_start, "before the first call of a turn"),
        ("section closed by", tools.section_end, "behind the last call of a turn"),
        ("call opened by", tools.call_start, "before each call"),
        ("call closed by", tools.call_end, "behind each call"),
    ):
        if marker:
            yield _row(label, show_marker(marker), behind or place)
    if tools.separator:
        yield _row("between two calls", show_structure(tools.separator))
    yield from _list_body(tools)
    silent = "no example has two" if tools.provenance == "examples" else "the template prints one call a turn"
    yield _row("several calls", "yes" if tools.parallel else f"not seen: {silent}")
    yield from _list_arguments(tools.arguments)


def _list_body(tools: Tools) -> Iterator[Row]:
    body = tools.body
    if isinstance(body, ObjectBody):
        yield _row("call", "a JSON object" + (" in a JSON array" if body.array else ""))
        if body.name_is_key:
            yield _row("name", [Span("text", "the only key of "), *_show_path(body.name)])
            yield _row("arguments", "the value of that key")
        else:
            yield _row("name", _show_path(body.name))
            yield _row("arguments", _show_path(body.arguments))
        yield _row("id", _show_path(body.id) if body.id else "none is written")
        return
    words = {"name": "NAME", "id": "ID", "arguments": "ARGUMENTS", "id with name": "ID with the NAME in it"}
    kinds = {"arguments": "value", "id": "id"}
    spans = []
    for field, behind in body.fields:
        spans += [Span(kinds.get(field, "name"), words[field]), *show_structure(behind)]
    yield _row("call", spans)
    if all(field not in ("id", "id with name") for field, _ in body.fields):
        yield _row("id", "none is written")


def _show_path(path: tuple[str, ...]) -> list[Span]:
    if not path:
        return [Span("text", "the object")]
    return [Span("structure", ".".join(json.dumps(key, ensure_ascii=False) for key in path))]


def _list_arguments(arguments: Arguments) -> Iterator[Row]:
    if arguments.json:
        form = "a JSON object inside a JSON string" if arguments.encoded else "a JSON object"
        yield _row("arguments", f"{form}, passed on as the model writes it")
        return
    pieces = write_arguments(arguments, {"city": "Oslo", "days": 3})
    yield _row("arguments like", [Span(kind, make_visible(text).replace("\n", "⏎")) for kind, text in pieces])
    for slot in arguments.object.slots:
        if slot.holds != "any":
            kept = "strings" if slot.holds == "string" else "other values"
            yield _row(f"{kept} between", [*show_marker(slot.start), Span("text", " … "), *show_marker(slot.end)])
    yield _row("strings", [span for string in arguments.strings for span in _show_string(string)])
    yield _row("other values", _say_values(arguments.value))


def _show_string(string: StringNotation) -> list[Span]:
    if not string.start and not string.end:
        return [Span("text", "raw text ")]
    escapes = f", {len(string.escapes)} characters escaped " if string.escapes else " "
    return [*show_structure(string.start), Span("value", "…"), *show_structure(string.end), Span("text", escapes)]


def _say_values(value: ValueNotation) -> str:
    if value.json:
        return "JSON"
    return f"{value.true}, {value.false}, {value.null}; lists and objects in a notation of their own"


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
    yield _row("takes", ", ".join(name for name, taken in shown.items() if taken) or "user and assistant messages only")
    missing = ", ".join(name for name, taken in shown.items() if not taken)
    if missing:
        yield _row("does not take", missing)
    if able.arguments != "none":
        yield _row("arguments wanted", f"as {'an object' if able.arguments == 'object' else 'a JSON string'}")
    yield _row("reads the switches", ", ".join(able.switches) or "none")


def _list_conversation(format: ChatFormat) -> Iterator[Row]:
    talk = format.conversation
    if not talk.steps:
        return  # it was not asked for
    if talk.opening:
        yield _row("begins with", show_structure(talk.opening))
    for role in talk.roles:
        value = [*show_structure(role.start), Span("content", "…"), *show_structure(role.end)]
        yield _row(role.name, value, f"inside the next message of the {role.within}'s" if role.within else "")
    if not talk.roles:
        yield _row("messages", "not known: no conversation of two turns is rendered with all messages in it")
    elif not talk.proven:
        yield _row("", "", "not proven: renders are not these texts one after the other")
    if talk.preset:
        yield _row("without a system message", [*show_structure(_cut_middle(talk.preset))])
    for rule in list_rules(talk):
        yield _row("rule", rule)


def _cut_middle(text: str, length: int = 60) -> str:
    return text if len(text) <= length else f"{text[: length // 2]} … {text[-length // 2 :]}"


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


def _list_verdict(verdict: Verdict) -> Iterator[Row]:
    kinds = {"proven": "good", TAUGHT: "good", "partly proven": "fair", "absent": "note"}
    for part, status in verdict.parts:
        yield _row(part, [Span(kinds.get(status, "bad"), status)])
    yield _row("turns read back", f"{verdict.passed} of {verdict.checked}")
    for note in verdict.notes:
        yield _row("note", make_visible(note))


def _lay_out_counterexample(example: Counterexample) -> Iterator[Line]:
    yield Line()
    yield Line((Span("title", "Smallest counterexample"), Span("text", f" ({example.aspect})")))
    yield Line((Span("text", "  "), Span("label", "the template writes, behind the prompt:")))
    yield from _split_lines([Span("note", _cut_tail(example.prompt)), Span("text", example.text)], "    ")
    for part, expected, got in compare_fields(example.expected, example.got):
        yield Line((Span("text", "  "), Span("label", part)))
        yield Line((Span("text", "    expected  "), Span("good", make_visible(expected))))
        yield Line((Span("text", "    got       "), Span("bad", make_visible(got))))


def _cut_tail(prompt: str, length: int = 80) -> str:
    return prompt if len(prompt) <= length else "…" + prompt[-length:]


def compare_fields(expected: str, got: str) -> Iterator[tuple[str, str, str]]:
    """Return the fields in which two messages, given as JSON, differ: name, and what stands in each, as JSON."""
    try:
        one, other = json.loads(expected), json.loads(got)
    except ValueError:
        one, other = expected, got
    one, other = _read_arguments(one), _read_arguments(other)
    if not isinstance(one, dict) or not isinstance(other, dict):
        yield "message", _dump(one), _dump(other)
        return
    for name in dict.fromkeys([*one, *other]):
        if (one.get(name) or None) != (other.get(name) or None):
            yield name, _dump(one.get(name)), _dump(other.get(name))


def _read_arguments(value: Any, key: str = "") -> Any:
    """Return a message whose arguments are read, where they are JSON as text."""
    if isinstance(value, dict):
        return {name: _read_arguments(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_read_arguments(inner) for inner in value]
    if key == "arguments" and isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _dump(value: Any) -> str:
    if value is None or value == []:
        return "nothing"
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)


def _split_lines(spans: Iterable[Span], indent: str) -> Iterator[Line]:
    """Lay spans that hold line breaks out as lines."""
    line = [Span("text", indent)]
    for span in spans:
        first, *others = make_visible(span.text).split("\n")
        line.append(Span(span.kind, first))
        for part in others:
            yield Line(tuple(line))
            line = [Span("text", indent), Span(span.kind, part)]
    if any(span.text for span in line[1:]):
        yield Line(tuple(line))
