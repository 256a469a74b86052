"""The proof of a graph: turns with fresh fields are rendered, and what is read of them must be those fields.

A field that the template does not print is not expected back, and white space around a text may differ. A turn that is
misread counts as *alike* if the message that was read renders to the same text: then nobody can tell the two apart. All
else is a counterexample.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ask.oracle import Oracle, Prompt, Turn
from ..ask.pieces import list_tokens
from ..ask.question import PARTS, Call, Question, Switches, build_tools
from ..derive.driver import Derivation
from ..derive.strings import list_sequences, list_signs
from ..errors import BudgetError
from ..format import Counterexample, Kind, Start, TurnGraph, Verdict
from ..format.chat_format import FROM_INSTRUCTIONS
from ..format.cut import CLOSE
from ..message import read_arguments
from ..schema import find_type
from .cases import Case, draw_cases
from .message import Message, compare, find_expected, list_cuts, make_counterexample, squash

Tools = Sequence[Mapping[str, Any]]
Read = Callable[[str, "Tools | None", str], Mapping[str, Any]]
"""Reads a text with the request's tools behind a prompt, and returns an OpenAI message."""

_PATIENCE = 3  # counterexamples that end a proof
_OFTEN = 4  # turns that end alike, of which all that a server may leave is read
_END = 3  # signs before what ends a turn
_SHORT = 4  # characters of a template's texts that it may exchange
_SIGNS = 24
_ASKED = 24
_READ = 4


@dataclass
class Examination:
    """Cases that are read back with a graph, and what came of them."""

    oracle: Oracle
    graph: TurnGraph
    reads: Mapping[str, Read]
    results: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    failures: list[Counterexample] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)
    inferred: dict[Start, bool] = field(default_factory=dict)
    """Whether it is known what follows prompts that no turn shows."""
    notes: list[str] = field(default_factory=list)
    exhausted: str = ""
    ends: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How often turns have ended so: what stands before what ends them, and that."""

    @property
    def smallest(self) -> Counterexample | None:
        """The shortest turn that was misread."""
        return min(self.failures, key=lambda failure: len(failure.text), default=None)

    def examine(self, case: Case) -> None:
        """Render a case, read it back in each way, and as it may end otherwise in the last one, in pieces; note what came of it."""
        for number, (turn, prompt) in enumerate(self._render(case)):
            self._check(case, turn, prompt, again=number > 0)
        if case.question.reasoning and case.question.content:
            self._check_inferred(case)

    def _render(self, case: Case) -> Iterator[tuple[Turn, str]]:
        """Render a case; return the turn, cut wherever a server may end it, with each prompt behind which a model may write it."""
        turn = self.oracle.ask_turn(case.question, case.shape)
        if turn is None:
            return
        hidden = _list_hidden(turn.prompt, self.graph)
        if hidden == {"reasoning"} and find_expected(case.question, turn.text)["reasoning_content"] is None:
            return  # an answer behind what opens reasoning is the beginning of a turn, given for the model to go on with
        texts = list_cuts(turn.text, self.graph, case.question)
        key = case.aspect, "" if texts[0][-1:].isalnum() else texts[0][-_END:], turn.text[len(texts[0]) :]
        self.ends[key] += 1
        if self.ends[key] > _OFTEN:
            texts = texts[:1]
        asked = self.oracle.ask_prompt(case.question, case.shape)
        before = asked.whole.removesuffix(asked.added) if asked else ""
        for text in texts:
            yield turn._replace(text=text), before + turn.prompt
        follow = _list_hidden(asked.added, self.graph) if asked else set()
        bare = not turn.exact and case.question.reasoning is None
        if asked and bare and follow and "reasoning" not in follow:
            yield turn._replace(text=texts[0]), asked.whole

    def _find_behind(self, case: Case, asked: Prompt, switches: Switches) -> tuple[Turn, bool] | None:
        """Return what a model may write behind a prompt that no turn shows, and whether that has closed reasoning; None where it is
        not known from the turn under some switches: those of the prompt may leave reasoning out.

        Where the prompt ends as a turn does before reasoning, a model goes on with reasoning; where it ends as a turn with
        reasoning does before what follows, with that.
        """
        turn = self.oracle.ask_turn(replace(case.question, switches=switches), case.shape)
        if turn is None:
            return None
        given = case.question.reasoning or "", case.question.content or ""
        escaped = [[value, *(json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (False, True))] for value in given]
        reasoning, content = (next((way for way in ways if way in turn.text), ways[0]) for ways in escaped)
        if not 0 <= turn.text.find(reasoning) < turn.text.rfind(content):
            return None
        text = list_cuts(turn.text, self.graph, case.question)[0]
        before, behind = text[: text.find(reasoning)], text.find(reasoning) + len(reasoning)
        whole = squash(asked.whole)
        for place in range(text.rfind(content), behind, -1):
            closed = squash(before + text[behind:place])
            if text[behind:place].strip() and whole.endswith((squash(turn.prompt) + closed) if not before.strip() else closed):
                return turn._replace(text=text[place:]), True
        if before.strip() and whole.endswith(squash(before)):
            return turn._replace(text=text[len(before) :]), False
        return None

    def _check(self, case: Case, turn: Turn, prompt: str, again: bool = False) -> None:
        expected = find_expected(case.question, turn.text, case.named)
        if not any(expected.values()):
            return
        self.shown |= {part for part, shown in zip(PARTS, expected.values(), strict=True) if shown}
        calls = case.question.calls
        tools = build_tools(calls, replace(case.shape, bare_tools=False), case.question.told) if calls and case.known else None
        for way, read in list(self.reads.items())[-1 if again else 0 :]:
            message = read(turn.text, tools, prompt)
            good = compare(expected, message)
            if not good and _holds_mark(case.question, self.graph, turn.text):
                self.notes.append("a text that holds what ends it cannot be told from its end")
                return
            if not good and _is_excusable(expected, message) and _is_alike(case, turn, message, self.oracle):
                good = True
                self.notes.append("some messages are rendered alike; of those, one that renders to the same text is read")
            if not good:
                aspect = case.aspect if way == "whole" else f"{case.aspect}, read {way}"
                self.failures.append(make_counterexample(aspect, prompt[-200:], turn.text, expected, message))
            self.results[case.aspect].append(good)
            if not good:
                return

    def _check_inferred(self, case: Case) -> None:
        """Check what may follow a prompt that no turn shows."""
        asked = self.oracle.ask_prompt(case.question, case.shape)
        start = asked and _find_start(asked.added, self.graph)
        if asked is None or start is None or start.shown:
            return
        tried = (self._find_behind(case, asked, switches) for switches in (case.question.switches, ()))
        found = next(filter(None, tried), None)
        if found is not None:
            self.inferred[start] = True
            turn, closed = found
            self._check(replace(case, question=replace(case.question, reasoning=None)) if closed else case, turn, asked.whole)
        elif "reasoning" in self.shown:
            self.inferred.setdefault(start, False)


def prove(derivation: Derivation, oracle: Oracle, reads: Mapping[str, Read]) -> Verdict:
    """Prove a derived graph with parsers given by the caller: one for each way of feeding a text, the whole text first.

    Costs some fifty renders and readings of each; it ends early at a few counterexamples, and where the bounds of the
    analysis are reached: what was not read back by then is not proven.
    """
    examination = Examination(oracle, derivation.graph, reads)
    hints = oracle.renderer.hints
    asked, read = sorted(hints.asked)[:_ASKED], sorted(hints.read)[:_READ]
    settings, signs = derivation.settings or ((),), _list_signs(oracle)
    cases = draw_cases("proof", derivation.shape, derivation.calling, settings, signs, asked, read)
    try:
        for case in cases:
            examination.examine(case)
            if len(examination.failures) >= _PATIENCE:
                break
    except BudgetError as error:
        examination.exhausted = str(error)
    parts = tuple((part, _judge(part, derivation, examination)) for part in PARTS)
    results = [result for each in examination.results.values() for result in each]
    return Verdict(
        parts=parts,
        checked=len(results),
        passed=sum(results),
        counterexample=examination.smallest,
        notes=_list_notes(derivation, examination),
    )


def _list_signs(oracle: Oracle) -> list[str]:
    """Return what a template may exchange: the signs in its short texts that ASCII does not have, and sequences."""
    hints = oracle.renderer.hints
    signs = [sign for sign in list_signs(hints, _SHORT) if not sign.isascii()]
    signs.sort(key=lambda sign: sign not in CLOSE)  # what opens and then closes something would be structure
    return signs[:_SIGNS] + list_sequences(hints)[:_SIGNS]


def _find_start(prompt: str, graph: TurnGraph) -> Start | None:
    return next((start for start in graph.starts if start.prompt == prompt), None)


def _list_hidden(prompt: str, graph: TurnGraph) -> set[Kind]:
    """Return what may follow a prompt that no turn shows."""
    start = _find_start(prompt, graph)
    return {graph.turn.node(edge.target).kind for edge in start.edges} if start and not start.shown else set()


def _holds_mark(question: Question, graph: TurnGraph, turn: str) -> bool:
    """Whether a text holds what ends it and is printed as it stands, which nobody can tell from its end."""
    given = ((question.reasoning or "", "reasoning"), (question.content or "", "content"))
    texts = [(text, kind) for text, kind in given if text in turn]
    leaving = [(edge, graph.turn.node(edge.source).kind) for edge in graph.turn.edges]
    firsts = [(token, kind) for edge, kind in leaving for token in list_tokens(edge.text.strip())[:1]]
    marks = [(mark, kind) for mark, kind in firsts if len(mark) > 2 and not mark.isalnum()]
    return any(mark in text for text, kind in texts for mark, of in marks if of == kind)


def _is_excusable(expected: Message, message: Mapping[str, Any]) -> bool:
    """Whether no structure was taken for text: a whole turn that is read as content always renders as it stood."""
    if message.get("recoveries"):
        return False
    calls = message.get("tool_calls") or []
    names = {call["function"]["name"] for call in calls} == {call["name"] for call in expected["tool_calls"]}
    return names and _measure_texts(message) <= _measure_texts(expected)


def _measure_texts(message: Mapping[str, Any]) -> int:
    return sum(len(message.get(key) or "") for key in ("reasoning_content", "content"))


def _is_alike(case: Case, turn: Turn, message: Mapping[str, Any], oracle: Oracle) -> bool:
    """Whether the message that was read renders to the same text."""
    calls = []
    for call, given in zip(message.get("tool_calls") or [], case.question.calls, strict=False):
        arguments = read_arguments(call["function"]["arguments"])
        if arguments is None or not _is_typed(arguments, given.object):
            return False
        ident = (call.get("id") if given.id and given.id in turn.text else None) or given.id
        calls.append(Call.of(call["function"]["name"], ident, arguments))
    question = replace(
        case.question,
        reasoning=message.get("reasoning_content") or None,
        content=message.get("content") or None,
        calls=tuple(calls),
    )
    again, shown = oracle.ask_turn(question, case.shape), oracle.ask_turn(case.question, case.shape)
    return again is not None and shown is not None and again.text == shown.text


def _is_typed(arguments: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """Whether arguments have the types of the tool's schema, which tell what a text alone may not; null is of any."""
    pairs = [(value, declared[key]) for key, value in arguments.items() if declared.get(key) is not None]
    return all(find_type(value) == find_type(wanted) for value, wanted in pairs)


def _judge(part: str, derivation: Derivation, examination: Examination) -> str:
    """Return the status of a part."""
    failed = any(failure.aspect.startswith(part) for failure in examination.failures)
    partly = "partly proven" if any(examination.results[part]) else "not established"
    if part == "tools" and derivation.from_instructions:
        return FROM_INSTRUCTIONS
    if part == "reasoning" and derivation.hidden:
        return "not established"
    unknown = part == "reasoning" and not all(examination.inferred.values()) and not failed
    if examination.exhausted or part in derivation.varies or unknown:
        return partly
    if part not in examination.shown:
        stopped = len(examination.failures) >= _PATIENCE
        return "not established" if stopped or (part == "tools" and derivation.offers_tools) else "absent"
    return partly if failed else "proven"


def _list_notes(derivation: Derivation, examination: Examination) -> tuple[str, ...]:
    """Say what could not be established, and what to do."""
    notes = [*derivation.graph.notes, *examination.notes]
    if examination.exhausted:
        notes.append(f"the proof was not finished: {examination.exhausted}")
    for start in derivation.graph.starts:
        if not start.shown and start.switches:
            setting = ", ".join(f"{name}={value}" for name, value in start.switches)
            notes.append(f"no turn is printed behind the prompt under {setting}; what follows it was inferred")
    return tuple(dict.fromkeys(notes))
