"""From a template to a proven format: the steps in their order.

The oracle is asked in the shape it takes; then come the header of a turn, reasoning, content, calls with the notation of
their arguments, and the end of the turn. Each step sees what the ones before it found, for what a render shows of one
part stands between others. Last, the format is proven; where the template can be read in several ways, the proof decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .budget import Budget
from .content import find_content
from .conversation import find_conversation
from .errors import MissingTemplateError, TemplateError
from .format import Capabilities, ChatFormat, Content, Reasoning, SequenceBody, Tools, Turn
from .instructions import read_instructions
from .layout import find_layout
from .lesson import load_lessons
from .marker import cut_common_suffix, is_punctuation, make_marker
from .probes import SYSTEM, Call, Oracle, Question
from .reasoning import find_reasoning, find_reasoning_shape, list_starts
from .renderer import Renderer, load_renderer
from .source import NO_TEMPLATE
from .tools import Surroundings, find_tools, list_call_shapes
from .turn import (
    ask_prompts,
    ask_result_prompt,
    extend_headers,
    find_following,
    find_header,
    find_shape,
    list_following_stops,
    list_stops,
    make_turn,
)
from .verification import Proof, prove


def analyze(template: Any = None, *, examples: Any = None, **special_tokens: str) -> ChatFormat:
    """Derive how a model writes from its chat template, and prove it.

    ``template`` is Jinja source (a str), a template file or model folder (a :class:`~pathlib.Path`), a tokenizer with
    ``apply_chat_template``, or a callable ``render(messages, tools, add_generation_prompt, **kwargs)``.
    ``special_tokens`` (``bos_token="<s>"``, …) are what the template finds under these names. ``examples`` are raw outputs
    with the messages that they mean (what :func:`.lesson.load_lessons` takes): they teach what the template does not
    print, and all of the format where there is no template. Raises :class:`TemplateError` for a template that cannot be
    loaded or that refuses every conversation, :class:`LessonError` for examples that do not show what they mean, and
    :class:`BudgetError` for a template that exceeds the bounds of time and size. Costs some dozens of renders.

    The bounds are those of :class:`~chat_autoparser.budget.Budget`, for other ones pass
    ``load_renderer(template).within(Budget(seconds=60))``. Jinja is stopped where it exceeds them. A callable, or a
    tokenizer with an ``apply_chat_template`` of its own, is checked between renders: it costs one render more than the time
    allowed, and is waited for if it never returns.
    """
    if examples:
        from .teaching import learn  # which analyses what it is taught

        try:
            base = None if template is None else load_renderer(template, **special_tokens)
        except MissingTemplateError:
            base = None
        return learn(load_lessons(examples), base)
    if template is None:
        raise MissingTemplateError(f"Analysing a chat template: there is none. {NO_TEMPLATE}")
    return derive_format(load_renderer(template, **special_tokens))


def derive_format(renderer: Renderer) -> ChatFormat:
    """Derive the format of what a renderer writes, and prove it; see :func:`analyze`."""
    oracle = Oracle(renderer if renderer.is_accounted else renderer.within(Budget()))
    if not find_shape(oracle):
        reason = oracle.errors[0] if oracle.errors else "the message of the user or of the assistant is not printed"
        raise TemplateError(
            f"analysing a chat template: it renders no plain conversation ({reason}); is it a chat template?"
        )
    best: ChatFormat | None = None
    for reading in _list_readings(oracle):
        if best is None or reading.verdict.score > best.verdict.score:
            best = reading
        if best.verdict.proven:
            break
    assert best is not None, "there is always a reading"
    return best


def _list_readings(oracle: Oracle) -> Iterator[ChatFormat]:
    """Derive and prove a format for each form of calls in which the template prints them differently.

    A template that prints arguments as they come shows other text for an object than for its JSON; which of the two a
    model writes, the proof decides.
    """
    plain = oracle.shape
    several = False
    for shape, calls in list_call_shapes(oracle):
        oracle.shape, several = shape, True
        yield _derive(oracle, calls)
        oracle.shape = plain
    if not several:
        yield _derive(oracle, ())


def _derive(oracle: Oracle, calls: tuple[Call, ...]) -> ChatFormat:
    """Derive a format in the steps that the module's text lists, and prove it."""
    prompts = ask_prompts(oracle)
    found = find_reasoning(oracle, find_header(oracle, prompts), prompts, find_reasoning_shape(oracle, calls), calls)
    content = find_content(oracle, found.header, found, calls)
    ending = content.ending if content.ending.strip() else "".join(list_stops(find_following(oracle, (), "")))
    around = Surroundings(found.header, found.reasoning, found.continuation, content.content, ending)
    called = find_tools(oracle, around, calls) if calls else None
    tools = called.tools if called else None if calls else read_instructions(oracle)
    header = called.header if called else found.header
    if tools and called:
        tools = replace(tools, layout=find_layout(oracle, replace(around, header=header), tools))
    if header != found.header:
        content = find_content(oracle, header, found, calls)
    prompts.after_result = ask_result_prompt(oracle, calls) if calls else ""
    endings = tuple(dict.fromkeys(text for text in (content.ending, called.ending if called else "") if text))
    turn = make_turn(header, prompts, endings, found.continuation)
    if called and called.continues:
        turn = replace(turn, stops=tuple(stop for stop in turn.stops if stop not in content.ending))
    derived = ChatFormat(
        turn=turn,
        starts=list_starts(header, prompts, found.reasoning),
        reasoning=found.reasoning,
        content=content.content,
        tools=tools,
        capabilities=_find_capabilities(oracle, calls, tools),
        conversation=find_conversation(oracle, calls),
    )
    derived = replace(derived, turn=_complete_turn(oracle, derived, calls, endings))
    return replace(derived, verdict=prove(Proof(derived, oracle, header, prompts, endings)))


def _complete_turn(oracle: Oracle, derived: ChatFormat, calls: tuple[Call, ...], endings: tuple[str, ...]) -> Turn:
    """Add to a turn what can only be told when reasoning, content and calls are known."""
    turn, tools = derived.turn, derived.tools
    if tools and derived.reasoning:
        turn = replace(turn, header_end=_find_header_end(turn, derived.reasoning, derived.content, tools))
    reasoning = derived.reasoning
    structure = [derived.content.start, *((reasoning.start, reasoning.end) if reasoning else ())]
    structure += [tools.section_start or tools.call_start] if tools else []
    turn = extend_headers(turn, [marker.text for marker in structure if marker])
    if not endings or not endings[0].strip() or not derived.turn.stops:
        closing = (tools.section_end or tools.call_end).text if tools else ""
        following = list_following_stops(find_following(oracle, calls, closing))
        turn = replace(turn, stops=tuple(dict.fromkeys((*list_stops(endings), *following))))
        turn = replace(turn, end=turn.end or tuple(map(make_marker, turn.stops)))
    return turn


def _find_header_end(turn: Turn, reasoning: Reasoning, content: Content, tools: Tools) -> str:
    """Return the marker with which the header of every message ends, where messages have headers with free fields."""
    if not turn.continuation or not isinstance(tools.body, SequenceBody):
        return ""
    behind_name = dict(tools.body.fields).get("name", "").strip()
    end = cut_common_suffix(reasoning.start.text, content.start.text, behind_name)
    return "" if is_punctuation(end) else end


def _find_capabilities(oracle: Oracle, calls: tuple[Call, ...], tools: Tools | None) -> Capabilities:
    shape = oracle.shape
    plain, shown = oracle.render(Question(prompt=True)), oracle.render(Question(prompt=True, tools=True))
    null = oracle.ask(Question(content=None, calls=calls), replace(shape, absent_content="null")) if calls else None
    with_system = oracle.render(Question(), replace(shape, system=True))
    return Capabilities(
        tools=shown is not None and shown != plain,
        tool_calls=bool(calls),
        parallel_calls=bool(tools and tools.parallel),
        arguments=shape.arguments if calls else "none",
        null_content=null is not None,
        system_role=with_system is not None and SYSTEM in with_system,
        tool_role=bool(calls) and oracle.render(Question(calls=calls, content=None, after="tool")) is not None,
        switches=oracle.switches,
    )
