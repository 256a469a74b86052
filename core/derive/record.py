"""What was found out about a template beside its graph, so that nobody has to find it out again."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

from ..ask.oracle import Oracle
from ..ask.question import Question, Shape
from ..ask.shapes import make_test_call
from ..ask.words import SYSTEM, make_word
from ..format import Asking, Capabilities, ChatFormat, TurnGraph
from ..format.conversation import ASSISTANT, ID, NAME, TOOL, USER, Conversation
from ..format.cut import find_boundaries
from ..format.view import find_reasoning, find_tools, list_inner_texts
from .driver import Derivation
from .roles import find_conversation
from .stops import is_marker

_SHARED = ("parts", "system", "absent", "bare_tools", "flat_calls", "named_ids", "tools")
"""What a format says of the shape of a question in the same words."""


def make_format(oracle: Oracle, derivation: Derivation) -> ChatFormat:
    """Return the format of what an oracle's renderer writes; its verdict is left to the proof.

    Costs some hundred renders of short conversations. Raises :class:`BudgetError` where they take too long.
    """
    conversation = find_conversation(oracle, derivation.usual, bool(derivation.calling))
    stops = tuple(dict.fromkeys(_settle_stops(derivation.graph, conversation)))
    graph = replace(derivation.graph, blank=_find_blank(oracle, derivation), stops=stops, others=_find_others(conversation))
    return ChatFormat(graph, _make_asking(oracle, derivation), _find_capabilities(oracle, derivation), conversation)


def _find_blank(oracle: Oracle, derivation: Derivation) -> str:
    """Return the white space in an empty block of reasoning, if the block comes back for reasoning of white space alone."""
    found = find_reasoning(derivation.graph)
    inside = found.start.after + found.end.before if found else ""
    if found is None or not inside or not found.end.text:
        return ""
    shape = derivation.usual
    questions = [Question(content=".", follow="user")]
    if derivation.calling:
        questions.insert(0, Question(calls=(make_test_call(shape),), follow="results"))
    for question in questions:
        bare, blank = (oracle.render(replace(question, reasoning=text), shape) for text in (None, inside))
        block = inside + found.end.text
        if bare is not None and blank is not None and blank.count(block) > bare.count(block):
            return inside
    return ""


def _settle_stops(graph: TurnGraph, conversation: Conversation) -> list[str]:
    """Return what ends turns, now that it is known how all messages end.

    What a template prints only behind the last message is none of it, nor what stands before the end of the messages of other
    roles, too: that ends a field. What ends a turn that is not the last one may stand at the beginning of what follows, as it
    ends that, too. Where a turn has no end of its own, models write what begins the next message, and servers stop on it.
    """
    roles = [role for role in conversation.roles if not role.within]
    end = next((role.end for role in roles if role.name == ASSISTANT), "")
    if not graph.stops:
        starts = [role.start for role in roles if role.name in (USER, TOOL)] if not end.strip() else []
        # A word at the beginning of a line is told from the same word in an answer.
        lines = ["\n" * ("\n" in end + start[: len(start) - len(start.lstrip())]) + start.strip() for start in starts]
        return [line for line in lines if line.strip() and NAME not in line]
    inner, last = list_inner_texts(graph), end.strip()
    others = [role.end.strip() for role in roles if role.name != ASSISTANT]
    shared = [text for text in others if text and not any(text in each for each in inner)]
    stops = [last if is_marker(last) and stop.startswith(last) else stop for stop in graph.stops]
    stops = [max((text for text in shared if stop.endswith(text)), key=len, default=stop) for stop in stops]
    earlier = [last, *(role.end.strip() for role in roles if role.end.strip() and role.start.startswith(role.end))]
    new = [text for text in earlier if is_marker(text) and not any(stop in text for stop in stops)]
    return stops + [text for text in new if not any(text in other for other in (*stops, *inner))]


def _find_others(conversation: Conversation) -> tuple[str, ...]:
    """Return what begins the messages of users and tools, and the last mark before the result of a tool alone."""
    heads = {role.name: re.split(f"[{NAME}{ID}]", role.start)[0] for role in conversation.roles if not role.within}
    starts = {name: head.strip().removesuffix('"').strip() for name, head in heads.items()}  # a message may be a string of JSON
    user, tool = (starts.get(name, "") for name in (USER, TOOL))
    own = starts.get(ASSISTANT, "")
    last = tool[max(find_boundaries(tool) - {len(tool)}, default=0) :].strip()
    texts = dict.fromkeys((user, tool, last if last not in own + user else tool))
    return tuple(text for text in texts if text and not own.startswith(text))


def _make_asking(oracle: Oracle, derivation: Derivation) -> Asking:
    """Return the shape in which a template takes its input: that for calls if it prints any, else that for plain turns."""
    shape = derivation.usual
    return Asking(
        **{name: getattr(shape, name) for name in _SHARED},
        arguments=tuple(dict.fromkeys(each.arguments for each in derivation.calling)),
        reasoning=shape.reasoning,
        results=shape.result,
        switches=_find_switches(oracle, derivation),
    )


def _find_switches(oracle: Oracle, derivation: Derivation) -> tuple[tuple[str, str], ...]:
    """Return the first setting with which reasoning is printed; none where it always is, or never."""
    thought = make_word("r")
    turns = [(derivation.shape, ()), *((shape, (make_test_call(shape),)) for shape in derivation.calling[:1])]
    for switches, (shape, calls) in product(derivation.settings, turns):
        if thought in (oracle.render(Question(thought, make_word("c"), calls, switches), shape) or ""):
            return tuple((name, repr(value)) for name, value in switches)
    return ()


def make_shape(asking: Asking) -> Shape:
    """Return the shape of a question from what a format says of it."""
    shared = {name: getattr(asking, name) for name in _SHARED}
    arguments = asking.arguments[0] if asking.arguments else "object"
    return Shape(**shared, arguments=arguments, reasoning=asking.reasoning, result=asking.results)


def _find_capabilities(oracle: Oracle, derivation: Derivation) -> Capabilities:
    """Return what the template accepts and what it shows; costs some five renders."""
    shape = derivation.usual
    calls = (make_test_call(shape),) if derivation.calling else ()
    null = oracle.render(Question(calls=calls), replace(shape, absent="null")) if calls else None
    system = oracle.render(Question(content="."), replace(oracle.shape, system=True))
    tools = find_tools(derivation.graph)
    return Capabilities(
        tools=derivation.offers_tools,
        tool_calls=bool(calls),
        parallel_calls=bool(tools and tools.parallel),
        arguments="none" if not calls else "string" if shape.arguments == "text" else "object",
        null_content=null is not None,
        system_role=system is not None and SYSTEM in system,
        tool_role=bool(calls) and oracle.render(Question(calls=calls, follow="results"), shape) is not None,
        switches=tuple(sorted(oracle.renderer.switches)),
    )
