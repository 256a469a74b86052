"""What was found out about a template beside its graph, so that nobody has to find it out again."""

from __future__ import annotations

from dataclasses import replace

from ..ask.oracle import Oracle
from ..ask.question import Question, Shape
from ..ask.shapes import make_test_call
from ..ask.words import SYSTEM
from ..graph.chat_format import Asking, Capabilities, ChatFormat
from ..graph.conversation import ASSISTANT, NAME, TOOL, USER, Conversation
from ..graph.view import find_tools
from .driver import Derivation
from .roles import find_conversation


def make_format(oracle: Oracle, derivation: Derivation) -> ChatFormat:
    """Return the format of what an oracle's renderer writes; its verdict is left to the proof.

    Costs some hundred renders of short conversations. Raises :class:`BudgetError` where they take too long.
    """
    asking, calling = make_asking(derivation), bool(derivation.calling)
    conversation = find_conversation(oracle, make_shape(asking), calling)
    graph = derivation.graph if derivation.graph.stops else replace(derivation.graph, stops=_find_following_stops(conversation))
    return ChatFormat(graph, asking, find_capabilities(oracle, derivation), conversation)


def _find_following_stops(conversation: Conversation) -> tuple[str, ...]:
    """Return what begins the next message, where a turn has no end of its own: models write that, and servers stop on it."""
    end = next((role.end for role in conversation.roles if role.name == ASSISTANT), "x")
    if end.strip():
        return ()
    starts = [role.start.strip() for role in conversation.roles if role.name in (USER, TOOL) and not role.within]
    # A word at the beginning of a line is told from the same word in an answer.
    return tuple(dict.fromkeys("\n" * end.endswith("\n") + start for start in starts if start and NAME not in start))


def make_asking(derivation: Derivation) -> Asking:
    """Return the shape in which a template takes its input: that for calls where it prints calls, else that for plain turns."""
    shape = derivation.calling[0] if derivation.calling else derivation.shape
    return Asking(
        parts=shape.parts,
        system=shape.system,
        arguments=tuple(dict.fromkeys(each.arguments for each in derivation.calling)),
        absent=shape.absent,
        reasoning=derivation.shape.reasoning,
        results=shape.result,
        bare_tools=shape.bare_tools,
        flat_calls=shape.flat_calls,
        named_ids=shape.named_ids,
        tools=shape.tools,
    )


def make_shape(asking: Asking) -> Shape:
    """Return the shape of a question from what a format says of it."""
    return Shape(
        parts=asking.parts,
        system=asking.system,
        arguments=asking.arguments[0] if asking.arguments else "object",
        absent=asking.absent,
        reasoning=asking.reasoning,
        result=asking.results,
        bare_tools=asking.bare_tools,
        flat_calls=asking.flat_calls,
        named_ids=asking.named_ids,
        tools=asking.tools,
    )


def find_capabilities(oracle: Oracle, derivation: Derivation) -> Capabilities:
    """Return what the template accepts and what it shows; costs some five renders."""
    shape = make_shape(make_asking(derivation))
    calls = (make_test_call(shape),) if derivation.calling else ()
    plain, shown = (oracle.ask_prompt(Question(tools=offered)) for offered in (False, True))
    null = oracle.render(Question(calls=calls), replace(shape, absent="null")) if calls else None
    system = oracle.render(Question(content="."), replace(oracle.shape, system=True))
    tools = find_tools(derivation.graph)
    return Capabilities(
        tools=shown is not None and plain is not None and shown.whole != plain.whole,
        tool_calls=bool(calls),
        parallel_calls=bool(tools and tools.parallel),
        arguments="none" if not calls else "string" if shape.arguments == "text" else "object",
        null_content=null is not None,
        system_role=system is not None and SYSTEM in system,
        tool_role=bool(calls) and oracle.render(Question(calls=calls, follow="results"), shape) is not None,
        switches=tuple(sorted(oracle.renderer.switches)),
    )
