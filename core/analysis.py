"""From a template to a proven format: the steps in their order."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import Any

from .content import find_content
from .errors import TemplateError
from .format import Capabilities, ChatFormat, Content, Marker, Reasoning, SequenceBody, Tools, Turn
from .instructions import read_instructions
from .marker import cut_common_suffix, is_closing, is_opening, is_punctuation, make_marker, split_atoms
from .probes import SYSTEM, Call, Oracle, Question
from .reasoning import find_reasoning, find_reasoning_shape, list_starts
from .renderer import load_renderer
from .tools import Surroundings, find_call_shape, find_tools
from .turn import (
    Header,
    Prompts,
    ask_prompts,
    ask_result_prompt,
    find_anchors,
    find_following,
    find_header,
    find_shape,
)
from .verification import Proof, prove


def analyze(template: Any, **special_tokens: str) -> ChatFormat:
    """Derive how a model writes from its chat template, and prove it.

    ``template`` is Jinja source (a str), a template file or model folder (a :class:`~pathlib.Path`), a tokenizer with
    ``apply_chat_template``, or a callable ``render(messages, tools, add_generation_prompt, **kwargs)``.
    ``special_tokens`` (``bos_token="<s>"``, …) are what the template finds under these names. Raises
    :class:`TemplateError` for a template that cannot be loaded or that refuses every conversation, and
    :class:`BudgetError` for one that exceeds the bounds of time and size. Costs some dozens of renders.
    """
    oracle = Oracle(load_renderer(template, **special_tokens))
    if not find_shape(oracle):
        reason = oracle.errors[0] if oracle.errors else "the message of the user or of the assistant is not printed"
        raise TemplateError(f"analysing a chat template: it renders no plain conversation ({reason}); is it a chat template?")
    calls = find_call_shape(oracle)
    prompts = ask_prompts(oracle)
    scope = find_reasoning_shape(oracle, calls)
    found = find_reasoning(oracle, find_header(oracle, prompts), prompts, scope, calls)
    content = find_content(oracle, found.header, found, calls)
    ending = content.ending if content.ending.strip() else "".join(_list_stops(find_following(oracle, (), "")))
    around = Surroundings(found.header, found.reasoning, found.continuation, content.content, ending)
    tools = find_tools(oracle, around, calls) if calls else None
    shown = tools.tools if tools else None if calls else read_instructions(oracle)
    header = tools.header if tools else found.header
    if header != found.header:
        content = find_content(oracle, header, found, calls)
    prompts.after_result = ask_result_prompt(oracle, calls) if calls else ""
    endings = tuple(dict.fromkeys(text for text in (content.ending, tools.ending if tools else "") if text))
    turn = _make_turn(header, prompts, endings, found.continuation)
    if tools:
        turn = replace(turn, header_end=_find_header_end(turn, found.reasoning, content.content, tools.tools))
    if not content.ending.strip():
        closing = (tools.tools.section_end or tools.tools.call_end).text if tools else ""
        following = find_following(oracle, calls, closing)
        turn = replace(turn, stops=_list_stops((*endings, *following)))
    derived = ChatFormat(
        turn=turn,
        starts=list_starts(header, prompts, found.reasoning),
        reasoning=found.reasoning,
        content=content.content,
        tools=shown,
        capabilities=_find_capabilities(oracle, calls, shown),
    )
    return replace(derived, verdict=prove(Proof(derived, oracle, header, prompts, endings)))


def _make_turn(header: Header, prompts: Prompts, endings: tuple[str, ...], continuation: Marker) -> Turn:
    end: list[Marker] = []
    for ending in endings:
        end += [marker for marker in _split_end(ending, header) if marker.text not in [known.text for known in end]]
    return Turn(
        headers=find_anchors(header, prompts),
        continuation=continuation,
        prefix=prompts.default[len(header.plain) :],
        end=tuple(end),
        stops=_list_stops(endings),
    )


def _split_end(ending: str, header: Header) -> list[Marker]:
    """Return the markers that end a turn: the first, and those behind it that are bracketed and begin no other message."""
    atoms = split_atoms(ending)
    foreign = set(split_atoms(header.plain)[1:])
    kept = takewhile(lambda atom: atom not in foreign and is_opening(atom[0]) and is_closing(atom[-1]), atoms[1:])
    return [replace(make_marker(atom), before=_space_before(ending, atom)) for atom in (*atoms[:1], *kept)]


def _list_stops(endings: tuple[str, ...]) -> tuple[str, ...]:
    firsts = [split_atoms(ending)[0] for ending in endings if ending.strip()]
    return tuple(dict.fromkeys(stop for stop in firsts if any(map(str.isalnum, stop))))


def _space_before(text: str, atom: str) -> str:
    before = text.partition(atom)[0] if atom in text else ""
    return before[len(before.rstrip()) :]


def _find_header_end(turn: Turn, reasoning: Reasoning | None, content: Content, tools: Tools) -> str:
    """Return the marker with which the header of every message ends, where messages have headers with free fields."""
    if not turn.continuation or not isinstance(tools.body, SequenceBody) or reasoning is None:
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
