"""In which shape a template takes its input: found by trying, and remembered in the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import get_args

from .oracle import Oracle
from .question import REASONING_FIELDS, Absent, Call, Form, Question, Shape, Switches
from .words import UNREAD, USER, make_id, make_named_id, make_word

_CONTENT, _REASONING, _NAME, _VALUE = (make_word(kind) for kind in ("c", "r", "fn", "v"))
_MEANT_OTHERWISE = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", *REASONING_FIELDS})
_FIELDS = 16  # so many fields of messages are asked of a template that prints reasoning from none that is known


def find_shape(oracle: Oracle) -> bool:
    """Find a shape in which the template prints a plain conversation, and set it; False where there is none."""
    for tools, parts, system in product((True, False), (False, True), (False, True)):
        shape = Shape(parts=parts, system=system, tools=tools)
        question = Question(content=_CONTENT)
        text, prompt = oracle.render(question, shape), oracle.ask_prompt(question, shape)
        if text is not None and _CONTENT in text and prompt is not None and USER in prompt.whole:
            oracle.shape = shape
            return True
    return False


def list_call_shapes(oracle: Oracle) -> list[Shape]:
    """Return a shape for each form of arguments (an object, a text) in which the template prints a call."""
    for arguments in get_args(Form):
        shape = next((s for s in _list_candidates(oracle, arguments) if _prints_call(oracle, s)), None)
        if shape is not None:
            # Where an object is taken, a text is taken in the same shape or in none.
            other = replace(shape, arguments="text")
            return [shape, other] if other != shape and _prints_call(oracle, other) else [shape]
    return []


def _list_candidates(oracle: Oracle, arguments: Form) -> Iterator[Shape]:
    """List shapes for calls, the usual ones first; what only helps against a refusal is tried only after one."""
    for result, named_ids, absent in product((False, True), (False, True), get_args(Absent)):
        likely = replace(oracle.shape, arguments=arguments, result=result, absent=absent, named_ids=named_ids)
        yield likely
        if None in render_call(oracle, likely, make_test_call(likely)):
            for parts, flat, bare in list(product((False, True), repeat=3))[1:]:
                yield replace(likely, parts=parts or likely.parts, flat_calls=flat, bare_tools=bare)
            yield replace(likely, tools=False)


def make_calls(shape: Shape, counts: Sequence[int]) -> tuple[Call, ...]:
    """Return calls of words in the given shape, with the given numbers of arguments."""
    calls = []
    for call, count in enumerate(counts):
        name = make_word("fn", call)
        ident = make_named_id(name, call) if shape.named_ids else make_id(call) if shape.ids else ""
        numbers = range(10 * call, 10 * call + count)
        calls.append(Call.of(name, ident, {make_word("k", number): make_word("v", number) for number in numbers}))
    return tuple(calls)


def make_test_call(shape: Shape) -> Call:
    """Return a call with one argument."""
    return make_calls(shape, (1,))[0]


def render_call(oracle: Oracle, shape: Shape, call: Call) -> Iterator[str | None]:
    """Render a call, then one beside content; some templates want that."""
    return (oracle.render(Question(content=content, calls=(call,)), shape) for content in (None, _CONTENT))


def _prints_call(oracle: Oracle, shape: Shape) -> bool:
    # The tools before the user's words hold name and key, too.
    texts = render_call(oracle, shape, make_test_call(shape))
    return any(text and _VALUE in text and _NAME in text[text.rfind(USER) :] for text in texts)


def find_reasoning_shape(oracle: Oracle, calling: Shape | None, switches: Sequence[Switches]) -> None:
    """Find the field that reasoning is printed from, and set it in the oracle's shape; unchanged where it never is.

    It is one of those that the engines know, or else another one that the template reads of messages.
    """
    for fields, switch in product((REASONING_FIELDS, ("parts",), ("blocks",)), switches):
        shapes = [replace(oracle.shape, reasoning=fields)]
        if _count_reasoning(oracle, shapes[0], calling, switch) > 1:  # from several fields, or with all else of the message
            shapes = [replace(oracle.shape, reasoning=(name,)) for name in fields]
        for shape in shapes:
            if _count_reasoning(oracle, shape, calling, switch) == 1:
                oracle.shape = shape
                return
    for name in sorted(oracle.renderer.hints.fields - _MEANT_OTHERWISE)[:_FIELDS]:
        shape = replace(oracle.shape, reasoning=(name,))
        if any(_is_thought(oracle, shape, calling, switch) for switch in switches):
            oracle.shape = shape
            return


def _list_thoughts(shape: Shape, calling: Shape | None, switches: Switches) -> Iterator[tuple[Question, Shape]]:
    """List turns with reasoning: with content, then with a call, and with both."""
    yield Question(_REASONING, _CONTENT, switches=switches), shape
    if calling is not None:
        shape = replace(calling, reasoning=shape.reasoning)
        for content in (None, _CONTENT):
            yield Question(_REASONING, content, (make_test_call(shape),), switches), shape


def _count_reasoning(oracle: Oracle, shape: Shape, calling: Shape | None, switches: Switches) -> int:
    """Return how often reasoning is printed in the first turn that prints it."""
    texts = (oracle.render(*thought) or "" for thought in _list_thoughts(shape, calling, switches))
    text = next((text for text in texts if _REASONING in text), "")
    # A whole part that is dumped is no way of printing reasoning.
    return 0 if UNREAD in text else text.count(_REASONING)


def _is_thought(oracle: Oracle, shape: Shape, calling: Shape | None, switches: Switches) -> bool:
    """Whether a field is printed once, before all else that a model writes and apart from it: where the prompt ends, or behind a
    mark and before something, which both are there always or with it alone.

    No name, recipient or other part of a header is: what ends that is always there, and what leads to it is not.
    """
    for question, each in _list_thoughts(shape, calling, switches):
        text, bare = (oracle.render(turn, each) or "" for turn in (question, replace(question, reasoning=None)))
        before, _, behind = text.partition(_REASONING)
        prompt = oracle.ask_prompt(question, each)
        rest, follows, _ = behind.partition(_CONTENT if question.content else _NAME)
        if not (bare and follows and rest.strip()) or _REASONING in behind or prompt is None or not before.startswith(prompt.whole):
            continue
        opening, without = before[len(prompt.whole) :], bare.removeprefix(prompt.whole)
        marked = any(not (sign.isalnum() or sign.isspace()) for sign in opening)
        if not opening or (marked and without.startswith(opening) == without.endswith(behind)):
            return True
    return False
