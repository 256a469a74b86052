"""Round trips: does what a model wrote come back unchanged when its parsed message is rendered with the next turn?

Agents send the whole conversation again for every turn, and engines keep the work of an earlier one only as far as its
text comes back. For each shape of a turn, the text that a model writes is parsed, the message is put back into the
conversation, and the next turn is rendered: then prompt and text should be how it begins.

Where they are not, the fault is the parse's if some reading of the text (the known fields, with or without the white
space around them) would have come back, and else the template's. White space alone is no field to any reader here; where a
turn would come back if it were one, that is said. Then each switch that the template reads is tried: one with which the
turn comes back repairs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any, Literal

from ..ask.question import Question, Switches, build_history, build_result, wrap_text
from ..ask.renderer import Renderer
from ..ask.words import LATER, RESULT
from ..errors import TemplateError
from ..format import ChatFormat
from ..format.cut import cut_common_start, find_common_start
from ..message import read_arguments
from .author import (
    CONTENT,
    REASONING,
    Author,
    Form,
    Generation,
    find_written_json,
    make_calls,
    read_message,
    read_switches,
)

Parse = Callable[[str, "list[dict[str, Any]] | None", str], Mapping[str, Any]]
"""Reads a text with the request's tools and the prompt: ``parse(text, tools, prompt)`` returns an OpenAI message."""

Encode = Callable[[str], Sequence[int]]
After = Literal["user", "tool", "later"]
Fault = Literal["", "template", "parse", "white space"]

ANSWER = "So it is done."
_SHOWN = 60
_VALUES: tuple[Any, ...] = (True, False, "none", "low", "high")


@dataclass(frozen=True)
class RoundTrip:
    """What became of one turn.

    ``turn`` says in words what it holds and ``after`` what follows it: a question of the user's, the results of its calls,
    or those with an answer and a further question. ``arguments`` is the form in which they were handed back. ``kept`` tells
    whether prompt and text are how the next prompt begins, ``read`` whether the fields are the known ones, white space apart
    (what was not taken apart at all may come back, too), and ``tokens`` tells of tokens what ``kept`` does of text (None
    without a tokenizer). Otherwise ``earlier`` and ``later`` are what the two have from the first difference on, ``fault``
    says whose it is, and ``repair`` are the switches with which the turn is kept.
    """

    turn: str
    after: After
    switches: Switches
    arguments: Form
    text: str
    kept: bool
    read: bool = True
    tokens: bool | None = None
    fault: Fault = ""
    earlier: str = ""
    later: str = ""
    repair: Switches = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-serialisable data."""
        return {**asdict(self), "switches": dict(self.switches), "repair": dict(self.repair)}


@dataclass(frozen=True)
class _Case:
    """A turn to be tried: its name, its fields, and how the text departs from what the template prints."""

    turn: str
    question: Question
    vary: Callable[[Generation], str | None] | None = None


def check_roundtrips(
    renderer: Renderer,
    format: ChatFormat,
    *,
    parse: Parse | None = None,
    encode: Encode | None = None,
    switches: Sequence[Switches] | None = None,
) -> tuple[RoundTrip, ...]:
    """Try each shape of turn that the template prints, under each switch that changes its generation prompt.

    ``switches`` are other settings to try instead. ``parse`` reads the texts (that of the format by default), and ``encode``
    turns text into tokens. Raises :class:`TemplateError` where the template renders no plain conversation and
    :class:`BudgetError` where it takes too long. Costs some hundred renders.
    """
    checker = _Checker(Author(renderer, format), parse or format.parse, encode)
    shown = dict.fromkeys([(), *(read_switches(start.switches) for start in format.graph.starts)])
    settings, cases = shown if switches is None else switches, _list_cases(checker.author)
    return tuple(result for setting in settings for case in cases for result in checker.check_case(case, setting))


def check_output(
    renderer: Renderer, format: ChatFormat, text: str, *, parse: Parse | None = None, encode: Encode | None = None
) -> tuple[RoundTrip, ...]:
    """Try a text that a model wrote behind the generation prompt; see :func:`check_roundtrips`."""
    checker = _Checker(Author(renderer, format), parse or format.parse, encode)
    for stop in format.stops:
        text = text.rstrip("\n").removesuffix(stop)
    read = read_message(checker.parse(text, None, checker.author.write_prompt(Question(tools=False)) or ""))
    prompt = checker.author.write_prompt(read)
    if prompt is None:
        raise TemplateError("checking a round trip: the template refuses a prompt; is it a chat template?")

    def write(switches: Switches) -> Generation | None:
        question = replace(read, switches=switches)
        return Generation(question, prompt, text) if checker.author.write_prompt(question) == prompt else None

    results = checker.check_generation("the given output", Generation(read, prompt, text))
    return tuple(checker.repair(result, write) for result in results)


def _list_cases(author: Author) -> list[_Case]:
    """List the shapes of a turn."""
    able, reasoning = author.format.capabilities, author.format.reasoning
    thinks, break_line = reasoning is not None, partial(_break_line, reasoning.end.text if reasoning else "")
    one, two = (make_calls(count, author.format.asking.named_ids) for count in (1, 2))
    plain, called = Question(content=CONTENT, tools=False), Question(content=None, calls=one)
    thought, decided = replace(plain, reasoning=REASONING), replace(called, reasoning=REASONING)
    calls, decides = able.tool_calls, able.tool_calls and thinks
    cases = (
        (True, _Case("content", plain)),
        (True, _Case("content, line break behind", plain, _end_line)),
        (able.tools, _Case("content; tools given", replace(plain, tools=True))),
        (thinks, _Case("reasoning, content", thought)),
        (thinks and able.tools, _Case("reasoning, content; tools given", replace(thought, tools=True))),
        (thinks, _Case("reasoning, line break, content", thought, break_line)),
        (thinks, _Case("truncated reasoning", thought, _cut_reasoning)),
        (calls, _Case("call", called)),
        (calls, _Case("call, other spaces in JSON", called, _change_spaces)),
        (calls, _Case("content, call", replace(called, content=CONTENT))),
        (calls and able.parallel_calls, _Case("two calls", replace(called, calls=two))),
        (decides, _Case("reasoning, call", decided)),
        (decides, _Case("reasoning, line break, call", decided, break_line)),
        (decides, _Case("reasoning, content, call", replace(decided, content=CONTENT))),
    )
    return [case for possible, case in cases if possible]


def _end_line(generation: Generation) -> str | None:
    """Write a line break at the end of content, where the template prints none."""
    return generation.text + "\n" if generation.text.endswith(CONTENT) else None


def _break_line(end: str, generation: Generation) -> str | None:
    """Write one more line break behind the end of reasoning: what models do, and templates seldom print."""
    head, mark, tail = generation.text.partition(end) if end else ("", "", "")
    return f"{head}{mark}\n{tail}" if mark and REASONING in head else None


def _cut_reasoning(generation: Generation) -> str | None:
    """End the output in the middle of the reasoning."""
    return generation.text[: generation.text.index(REASONING)] + REASONING[: len(REASONING) // 2].rstrip()


def _change_spaces(generation: Generation) -> str | None:
    """Write JSON arguments with spaces where the template has none, and the other way round."""
    for call in generation.question.calls:
        spaced = json.dumps(json.loads(call.arguments))
        dense = json.dumps(json.loads(call.arguments), separators=(",", ":"))
        for printed, other in ((spaced, dense), (dense, spaced)):
            if printed in generation.text:
                return generation.text.replace(printed, other)
    return None


@dataclass
class _Checker:
    """Checks turns of one template."""

    author: Author
    parse: Parse
    encode: Encode | None

    def check_case(self, case: _Case, switches: Switches) -> Iterator[RoundTrip]:
        """Check a shape of turn with all that may follow it, the arguments in both forms."""
        write = cache(partial(self._write, case))
        generation = self._write(case, switches)
        for result in self.check_generation(case.turn, generation) if generation else ():
            yield self.repair(result, write)

    def _write(self, case: _Case, switches: Switches) -> Generation | None:
        generation = self.author.write(replace(case.question, switches=switches))
        if generation is None or case.vary is None:
            return generation
        text = case.vary(generation)
        return None if text is None else replace(generation, text=text)

    def check_generation(self, turn: str, generation: Generation) -> Iterator[RoundTrip]:
        """Check a text behind its prompt."""
        question, read = generation.question, self._read(generation)
        forms: tuple[Form, ...] = ("object", "string") if question.calls else ("",)
        afters: tuple[After, ...] = ("tool", "later") if question.calls else ("user",)
        for after, form in product(afters, forms):
            following = self._render_next(generation, read, after, form)
            earlier = generation.prompt + generation.text
            result = RoundTrip(turn, after, question.switches, form, generation.text, False, _is_read(question, read))
            if following is not None and following.startswith(earlier):
                yield replace(result, kept=True, tokens=self._keeps_tokens(generation, following))
                continue
            shown = _show_difference(earlier, following)
            yield replace(result, fault=self._find_fault(generation, after, form), earlier=shown[0], later=shown[1])

    def _read(self, generation: Generation) -> Question:
        """Return the fields that are read in a text behind its prompt."""
        return read_message(self.parse(generation.text, self.author.choose_tools(generation.question), generation.prompt))

    def _render_next(self, generation: Generation, read: Question, after: After, form: Form) -> str | None:
        """Render the next prompt with a reading of the turn in the conversation."""
        answer = self.author.answer(read, form)
        if answer is None:
            return None
        question = generation.question
        messages = [*build_history(question, self.author.shape), answer, *self._list_following(read, after)]
        return self.author.render(messages, self.author.choose_tools(question), True, question.switches)

    def _list_following(self, read: Question, after: After) -> Iterator[dict[str, Any]]:
        if after != "user":
            yield from (build_result(call, f"{RESULT}{number}") for number, call in enumerate(read.calls))
        if after == "later":
            yield self.author.answer(Question(content=ANSWER)) or {}
        if after != "tool":
            yield {"role": "user", "content": wrap_text(LATER, self.author.shape)}

    def _find_fault(self, generation: Generation, after: After, form: Form) -> Fault:
        """Say why a turn does not come back, by trying readings of its text."""
        for blank in (False, True):
            readings = _list_readings(generation, self.author.format, blank)
            if any(self._is_kept(generation, reading, after, form) for reading in readings):
                return "white space" if blank else "parse"
        return "template"

    def _is_kept(self, generation: Generation, read: Question, after: After, form: Form) -> bool:
        following = self._render_next(generation, read, after, form)
        return following is not None and following.startswith(generation.prompt + generation.text)

    def _keeps_tokens(self, generation: Generation, following: str) -> bool | None:
        """Whether the tokens of prompt and text, each on its own, are how those of the next prompt begin."""
        if self.encode is None:
            return None
        behind = following[len(generation.prompt) + len(generation.text) :]
        stop = generation.stop if behind.startswith(generation.stop) else ""
        tokens = [*self.encode(generation.prompt), *self.encode(generation.text + stop)]
        return list(self.encode(following)[: len(tokens)]) == tokens

    def repair(self, result: RoundTrip, write: Callable[[Switches], Generation | None]) -> RoundTrip:
        """Add the first switch, in the order of names, with which the same text is written and kept."""
        if result.fault in ("", "parse"):
            return result
        for name, value in product(sorted(self.author.renderer.switches - set(dict(result.switches))), _VALUES):
            generation = write((*result.switches, (name, value)))
            if generation is None or generation.text != result.text:
                continue
            if self._is_kept(generation, self._read(generation), result.after, result.arguments):
                return replace(result, repair=((name, value),))
        return result


def _is_read(known: Question, read: Question) -> bool:
    """Whether fields are the known ones, white space and ids apart; reasoning may be cut off."""
    texts = [(fields.content or "").strip() for fields in (known, read)]
    thoughts = [(fields.reasoning or "").strip() for fields in (known, read)]
    cut = thoughts[0].startswith(thoughts[1]) and bool(thoughts[1]) and not texts[1]
    calls = [[(call.name, read_arguments(call.arguments)) for call in fields.calls] for fields in (known, read)]
    return (cut or (texts[0] == texts[1] and thoughts[0] == thoughts[1])) and calls[0] == calls[1]


def _list_readings(generation: Generation, format: ChatFormat, blank: bool) -> Iterator[Question]:
    """List readings of a text: its fields as they are known, with and without the white space that stands around them.

    Arguments are read as they are known and as they are written, and an empty block of reasoning as the white space in it.
    With ``blank`` white space alone may be content, too.
    """
    question, text = generation.question, generation.text
    thoughts = _list_spaced(question.reasoning, text) or [None, *_list_empty(text, format)]
    contents = _list_spaced(question.content, text) or [question.content, *(re.findall(r"\s+", text) if blank else ())]
    written = tuple(replace(call, arguments=find_written_json(call, text)) for call in question.calls)
    for calls in dict.fromkeys((question.calls, written)):
        for reasoning, content in product(dict.fromkeys(thoughts), dict.fromkeys(contents)):
            yield replace(question, reasoning=reasoning, content=content, calls=calls)


def _list_empty(text: str, format: ChatFormat) -> list[str]:
    """Return the white space of an empty block of reasoning that a text begins with."""
    if format.reasoning is None or format.reasoning.end.text not in text:
        return []
    inside = text[: text.index(format.reasoning.end.text)].lstrip().removeprefix(format.reasoning.start.text)
    return [inside] if inside.isspace() else []


def _list_spaced(field: str | None, text: str) -> list[str | None]:
    """Return a field with as much of the white space around it as there may be; nothing for a field that is empty."""
    core = (field or "").strip()
    if not core:
        return []
    if core not in text:  # it was cut off
        core = core[: find_common_start(core, text[text.find(core[:1]) :])]
        return [core, None]
    head, _, tail = text.partition(core)
    before, behind = head[len(head.rstrip()) :], tail[: len(tail) - len(tail.lstrip())]
    befores, behinds = range(len(before), -1, -1), range(len(behind) + 1)
    return [field, *(before[first:] + core + behind[:last] for first, last in product(befores, behinds))]


def _show_difference(earlier: str, later: str | None) -> tuple[str, str]:
    if later is None:
        return earlier[-_SHOWN:], "(the template refuses the conversation)"
    place = len(cut_common_start([earlier, later]))
    return earlier[place : place + _SHOWN], later[place : place + _SHOWN]
