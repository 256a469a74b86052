"""How reasoning is written: what opens it, what closes it, and where the template takes it from.

Most templates print a field of the message, so a needle in that field shows the markers. Some never print reasoning: they
open it in the generation prompt, or cut it out of the content of earlier turns. There the text constants of the template
are tried: one that makes the text before it disappear from the content is what ends reasoning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .format import Marker, Reasoning, Start
from .marker import (
    cut_common_prefix,
    cut_common_suffix,
    find_common_prefix,
    find_common_suffix,
    is_blank,
    make_marker,
    split_atoms,
)
from .probes import CONTENT, REASONING, REASONING_FIELDS, UNREAD, Call, Oracle, Question, Shape
from .turn import Header, Prompts, split_at

_NOTHING = Marker()

Scope = Literal["always", "with calls"]


@dataclass(frozen=True)
class ReasoningFinding:
    """What was found: the format, the header without the marker that it swallowed, and what opens a further message."""

    reasoning: Reasoning | None
    header: Header
    continuation: Marker = _NOTHING


def find_reasoning_shape(oracle: Oracle, calls: tuple[Call, ...]) -> Scope | None:
    """Find the field (and the switches) with which the template prints reasoning; None where it never does.

    What was found is remembered in the oracle's shape.
    """
    questions: list[tuple[Scope, Question]] = [("always", Question(reasoning=REASONING))]
    if calls:
        questions.append(("with calls", Question(reasoning=REASONING, calls=calls, content=None)))
        questions.append(("with calls", Question(reasoning=REASONING, calls=calls)))
    for fields in (REASONING_FIELDS, ("parts",)):
        shape = replace(oracle.shape, reasoning=fields)
        for scope, question in questions:
            if _prints_reasoning(oracle.ask(question, shape)):
                oracle.shape = _choose_field(oracle, replace(shape), question)
                return scope
    return _find_switched_shape(oracle, questions)


def _prints_reasoning(text: str | None) -> bool:
    return text is not None and REASONING in text and UNREAD not in text


def _choose_field(oracle: Oracle, shape: Shape, question: Question) -> Shape:
    """Keep one field: the first that alone has the effect of all."""
    for name in shape.reasoning:
        single = replace(shape, reasoning=(name,))
        if _prints_reasoning(oracle.ask(question, single)):
            return single
    return shape


def _find_switched_shape(oracle: Oracle, questions: list[tuple[Scope, Question]]) -> Scope | None:
    """Try each switch: a template may print reasoning only when told to."""
    for name in oracle.switches:
        for value in (True, False):
            shape = replace(oracle.shape, switches=((name, value),))
            for scope, question in questions:
                if _prints_reasoning(oracle.ask(question, shape)):
                    oracle.shape = _choose_field(oracle, shape, question)
                    return scope
    return None


def find_reasoning(
    oracle: Oracle, header: Header, prompts: Prompts, scope: Scope | None, calls: tuple[Call, ...]
) -> ReasoningFinding:
    """Derive the markers of reasoning from renders in which it is followed by content, by calls, and by nothing."""
    if scope is None:
        return _find_hidden_reasoning(oracle, header, prompts)
    behind_call = calls if scope == "with calls" else ()
    question = Question(reasoning=REASONING, calls=behind_call)
    content = _split_before_content(header.read_body(oracle, question), behind_call)
    called = _split_before_call(oracle, header, calls)
    pieces = content or called or split_at(header.read_body(oracle, replace(question, content=None)), REASONING)
    if pieces is None:
        return ReasoningFinding(None, header)
    plain = split_at(header.read_body(oracle, Question()), CONTENT)
    found = [piece[1] for piece in (content, called) if piece] or [pieces[1]]
    closing = _find_closing(found, plain[0] if plain else "", bool(content))
    closing, continuation = _split_continuation(closing, header)
    end = make_marker(closing)
    if not end:
        return ReasoningFinding(None, header)
    if content and not continuation:
        end = replace(end, after=_leading_space(content[1][len(end.before) + len(end.text) :]))
    start, header = _find_opening(pieces[0], plain[0] if plain else "", end, header, prompts)
    reasoning = Reasoning(start, end, oracle.shape.reasoning[0], scope, _keeps_blank(oracle, start, end, calls))
    return ReasoningFinding(reasoning, header, continuation)


def _keeps_blank(oracle: Oracle, start: Marker, end: Marker, calls: tuple[Call, ...]) -> bool:
    """Whether the template prints an empty block again for reasoning of white space, and none without reasoning."""
    inside = start.after + end.before
    block = start.text + inside + end.text
    turns = [Question(calls=calls, after="tool")] if calls else []
    for question in (*turns, Question(after="user")) if inside else ():
        bare, blank = oracle.ask(question), oracle.ask(replace(question, reasoning=inside))
        if bare is not None and blank is not None and blank.count(block) > bare.count(block):
            return True
    return False


def _split_before_content(body: str | None, calls: tuple[Call, ...]) -> list[str] | None:
    """Return the text before reasoning and between it and content, unless a call stands in between."""
    pieces = split_at(body, REASONING, CONTENT)
    if pieces is None or any(call.name in pieces[1] or call.id in pieces[1] for call in calls):
        return None
    return pieces[:2]


def _split_before_call(oracle: Oracle, header: Header, calls: tuple[Call, ...]) -> list[str] | None:
    """Return the text before reasoning, and behind it as far as a call without reasoning does not have it."""
    question = Question(content=None, calls=calls)
    pieces = split_at(header.read_body(oracle, replace(question, reasoning=REASONING)), REASONING) if calls else None
    bare = header.read_body(oracle, question)
    if pieces is None or not bare:
        return pieces
    closing = pieces[1][: len(pieces[1]) - len(cut_common_suffix(pieces[1], bare))]
    if is_blank(closing) and not is_blank(pieces[1]):
        # A call without reasoning has an empty block, which looks alike from here on.
        first = split_atoms(pieces[1])[0]
        closing = pieces[1][: pieces[1].index(first) + len(first)]
    return [pieces[0], closing]


def _find_closing(behind: list[str], opening: str, before_content: bool) -> str:
    """Return what stands behind reasoning whatever follows it.

    ``behind`` are the texts behind reasoning in several turns, the first of them up to the content. ``opening`` is what
    stands before content in a turn without reasoning: where it also ends the text between reasoning and content, it
    opens the content and does not close the reasoning.
    """
    closing, opening = behind[0], opening.strip()
    if before_content and opening and closing.rstrip().endswith(opening) and closing.strip() != opening:
        closing = closing[: closing.rindex(opening)]
    return cut_common_prefix(closing, *behind[1:]) if len(behind) > 1 else closing


def _split_continuation(closing: str, header: Header) -> tuple[str, Marker]:
    """Split off the header of a further message: a turn may consist of several, each with the header of the role."""
    atoms = split_atoms(closing)
    for number in range(1, len(atoms)):
        position = closing.index(atoms[number], len(atoms[0]) if number else 0)
        tail = closing[position:]
        if header.plain.rstrip().endswith(tail.rstrip()):
            return closing[:position].rstrip(), make_marker(closing[len(closing[:position].rstrip()) :])
    return closing, Marker()


def _leading_space(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _find_opening(before: str, before_content: str, end: Marker, header: Header, prompts: Prompts) -> tuple[Marker, Header]:
    """Return the marker before reasoning, and the header without it.

    Where every render has it (the prompt opens reasoning always, and a turn without reasoning has an empty block), it
    has become the end of the header; its last atom is the marker then.
    """
    if not is_blank(before):
        shared = cut_common_prefix(before, before_content)
        if end.text in before_content or not set(split_atoms(shared)) & set(split_atoms(prompts.default)):
            shared = ""  # only what the prompt has too is the header of the message, printed in another form
        return make_marker(before[len(shared) :]), header
    prefix = prompts.default[len(header.plain) :]
    if not is_blank(prefix) and end.text not in prefix:
        return make_marker(prefix), header
    opened = before_content.lstrip().startswith(end.text) or prompts.default == header.plain
    atoms = split_atoms(header.plain)
    if not opened or len(atoms) < 2:
        return make_marker(before), header
    length = len(header.plain) - header.plain.rindex(atoms[-1])
    return make_marker(header.plain[-length:] + before), header.shortened(length)


def _find_hidden_reasoning(oracle: Oracle, header: Header, prompts: Prompts) -> ReasoningFinding:
    """Derive the markers of reasoning that the template never prints.

    A generation prompt that forbids reasoning opens and closes it at once; else what ends it is what the template cuts
    out of content, and what opens it what the prompt adds, or the constant of the template that is most like the end.
    """
    found = _find_empty_block(header, prompts)
    if found is None:
        end = _find_cut(oracle)
        start = _find_hidden_opening(oracle, header, prompts, end) if end else Marker()
        found = (start, end) if start else None
    if found is None:
        return ReasoningFinding(None, header)
    start, end = found
    if header.plain.rstrip().endswith(start.text):
        header = header.shortened(len(header.plain) - header.plain.rindex(start.text))
    return ReasoningFinding(Reasoning(start, end, "content", "never printed"), header)


def _find_empty_block(header: Header, prompts: Prompts) -> tuple[Marker, Marker] | None:
    """Return the two markers that a generation prompt puts behind the header, if that is all it puts there."""
    for prefix in prompts.list_prefixes(header.plain):
        atoms = split_atoms(prefix)
        if len(atoms) == 2 and _strip_punctuation(atoms[0]) == _strip_punctuation(atoms[1]):
            start, _, behind = prefix.partition(atoms[1])
            return make_marker(start), Marker(atoms[1], "", behind)
    return None


def _find_cut(oracle: Oracle) -> Marker:
    """Return the shortest constant of the template that makes it drop the content before it from an earlier turn."""
    for constant in sorted(oracle.renderer.constants, key=len):
        body = oracle.ask(Question(content=f"{REASONING}{constant}{CONTENT}", after="user"))
        if body is not None and REASONING not in body and CONTENT in body:
            return make_marker(constant)
    return Marker()


def _find_hidden_opening(oracle: Oracle, header: Header, prompts: Prompts, end: Marker) -> Marker:
    prefixes = prompts.list_prefixes(header.plain)
    opened = next((found for prefix in prefixes if not is_blank(found := prefix.partition(end.text)[0])), "")
    if opened:
        return make_marker(opened)
    wanted = _strip_punctuation(end.text)
    alike = [text for text in sorted(oracle.renderer.constants) if _strip_punctuation(text) == wanted]
    alike = [text for text in alike if text.strip() != end.text]
    if alike:
        return make_marker(max(alike, key=lambda text: _count_shared(text.strip(), end.text)))
    return _find_opening("", prefixes[0], end, header, prompts)[0] if prefixes[0].startswith(end.text) else Marker()


def _count_shared(first: str, second: str) -> int:
    return len(find_common_prefix(first, second)) + len(find_common_suffix(first, second))


def _strip_punctuation(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def list_starts(header: Header, prompts: Prompts, reasoning: Reasoning | None) -> tuple[Start, ...]:
    """Return what the generation prompt puts behind the header for each switch, and the state it leaves."""
    switches = [(), *prompts.switched]
    return tuple(
        Start(tuple((name, repr(value)) for name, value in switch), prefix, _find_state(prefix, reasoning))
        for switch, prefix in zip(switches, prompts.list_prefixes(header.plain), strict=True)
    )


def _find_state(prefix: str, reasoning: Reasoning | None) -> Literal["open", "reasoning", "content"]:
    if reasoning is None:
        return "open"
    closed = prefix.rfind(reasoning.end.text)
    opened = prefix.rfind(reasoning.start.text) if reasoning.start else -1
    if closed > opened:
        return "content"
    return "reasoning" if opened >= 0 or not reasoning.start else "open"
