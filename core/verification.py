"""The proof: what the template renders, the parser must read back.

Hard conversations are rendered and read with the format just derived. The text a model would have written is what stands
between the generation prompt and the end of the turn; the fields that were put in are what must come out. A field the
template does not print at all is not expected back, and one it trims is compared without outer white space.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .format import ChatFormat, Counterexample, SequenceBody, Verdict
from .marker import is_blank
from .probes import NAMES, Call, Oracle, Question, build_tools, read_arguments, with_switches
from .turn import Header, Prompts

HARD_CONTENT = 'A first line: {"key": [1, "two"]}, <b>not</b> a call.\n\nAnd "quotes", \'more\', a \\ and ünïcödé ✓.'
HARD_REASONING = 'Let me see... 1 < 2 && "so on"\n- {"name": "nobody"}\n\n* then [1, 2] and done?'

SIMPLE_ARGUMENTS: Mapping[str, Any] = {"kqaa": "plain text", "kqab": 3}
STRING_ARGUMENTS: Mapping[str, Any] = {
    "kqaa": "He said \"hi\" and 'bye'.",
    "kqab": "C:\\temp\\new\n\tline two\n\nline four",
    "kqac": "<b>bold</b> & </i> [x] {y}",
    "kqad": '{"inner": [1, 2, {"deep": "yes"}]}',
    "kqae": "ünïcödé ✓ 漢字",
    "kqaf": "12345",
    "kqag": "true",
    "kqah": "",
}
TYPED_ARGUMENTS: Mapping[str, Any] = {
    "kqaa": -17,
    "kqab": 2.5,
    "kqac": True,
    "kqad": False,
    "kqae": ["x", 1, True],
    "kqaf": {"inner": {"list": [{"a": 1}, {"b": "two"}]}, "text": "a, b: c"},
    "kqag": [],
    "kqah": {},
}
NULL_ARGUMENTS: Mapping[str, Any] = {"kqaa": None, "kqab": "x"}


@dataclass(frozen=True)
class Case:
    """A question whose answer must be read back, and the part of the format that it tests."""

    aspect: str
    question: Question


@dataclass(frozen=True)
class RenderedTurn:
    """A turn as the model would write it: the prompt's end before it, the text, and the message it stands for."""

    case: Case
    prompt: str
    text: str
    expected: dict[str, Any]


def list_cases(format: ChatFormat) -> Iterator[Case]:
    """List the conversations of the proof, simple ones first."""
    reasoning = format.reasoning
    yield Case("content", Question(content="Hello there."))
    yield Case("content", Question(content=HARD_CONTENT))
    if reasoning and reasoning.scope != "with calls":
        yield Case("reasoning", Question(content="Hello there.", reasoning="I think so."))
        yield Case("reasoning", Question(content=HARD_CONTENT, reasoning=HARD_REASONING))
    if not format.capabilities.tool_calls:
        return
    simple = (Call.of(0, SIMPLE_ARGUMENTS),)
    yield Case("tools", Question(content=None, calls=simple))
    yield Case("tools", Question(content="Let me look.", calls=simple))
    if reasoning:
        yield Case("reasoning", Question(content=None, reasoning="I need a tool.", calls=simple))
    for arguments in (STRING_ARGUMENTS, TYPED_ARGUMENTS, NULL_ARGUMENTS, {}):
        yield Case("tools", Question(content=None, calls=(Call.of(0, arguments),)))
    if format.capabilities.parallel_calls:
        pair = (Call.of(0, SIMPLE_ARGUMENTS), Call.of(1, STRING_ARGUMENTS))
        yield Case("tools", Question(content="Two things.", calls=pair))
        yield Case("tools", Question(content=None, calls=(Call.of(0, {}), Call.of(1, {}, NAMES[0]))))


@dataclass(frozen=True)
class Proof:
    """What the proof works with: the format to be proven, the oracle, and what is known of prompts and endings."""

    format: ChatFormat
    oracle: Oracle
    header: Header
    prompts: Prompts
    endings: tuple[str, ...]

    def render_turn(self, case: Case) -> RenderedTurn | None:
        """Render a case and cut out what the model would have written; None where nothing of it is printed."""
        question = self._adapt(case.question)
        rendered = self.oracle.ask(question)
        if rendered is None:
            return None
        prompt, text = self._split_prompt(question, rendered)
        if prompt is None:
            return None
        text = self._strip_ending(text)
        expected = find_expected(case.question, text)
        if case.question.calls and not any(expected.values()):
            return None
        return RenderedTurn(case, prompt, text, expected)

    def _adapt(self, question: Question) -> Question:
        """Put the question in the form that lets the format show: an id that carries the name, reasoning in the content.

        A template that prints only the id of a call relies on ids that name the tool; one that takes reasoning out of
        the content of earlier turns expects it there in the last.
        """
        tools, reasoning = self.format.tools, self.format.reasoning
        if tools and isinstance(tools.body, SequenceBody) and ("id with name" in dict(tools.body.fields)):
            calls = tuple(replace(call, id=f"{call.name}:{number}") for number, call in enumerate(question.calls))
            question = replace(question, calls=calls)
        if reasoning and reasoning.scope == "never printed" and question.reasoning is not None:
            asked = {name: repr(value) for name, value in question.switches}
            states = {tuple(start.switches): start.state for start in self.format.starts}
            opening = "" if states.get(tuple(asked.items())) == "reasoning" else reasoning.start.written
            content = f"{opening}{question.reasoning}{reasoning.end.written}{question.content or ''}"
            question = replace(question, content=content, reasoning=None)
        return question

    def _split_prompt(self, question: Question, rendered: str) -> tuple[str | None, str]:
        """Split a render into a generation prompt of the template and what is written behind it.

        Where the history is printed under none of its prompts, the header stands for the prompt; a prompt that only adds
        the opening of reasoning belongs to a turn with reasoning whose opening the history leaves out.
        """
        own = replace(question, calls=(), content=None, reasoning=None, prompt=True, tools=bool(question.calls))
        asked = self.oracle.ask(own) or ""
        for prompt in sorted({asked, self.prompts.default, *self.prompts.switched.values()}, key=len, reverse=True):
            if prompt and rendered.startswith(prompt):
                return prompt, rendered[len(prompt) :]
        header = self.header.of(question)
        if not rendered.startswith(header):
            return None, ""
        text = rendered[len(header) :]
        reasoning = self.format.reasoning
        if reasoning and asked == header + reasoning.start.written and reasoning.end.text in text:
            before = text.partition(reasoning.end.text)[0]
            if reasoning.start.text not in before and not is_blank(before):
                return asked, text
        return header, text

    def _strip_ending(self, text: str) -> str:
        """Cut a text where generation stops: at the end of the turn, or at the stop string before what follows it."""
        ending = max((ending for ending in self.endings if text.endswith(ending)), key=len, default="")
        text = text[: len(text) - len(ending)]
        continuation = self.format.turn.continuation.text
        if continuation and continuation in text:
            return text
        return min((text.partition(stop)[0] for stop in self.format.turn.stops), key=len, default=text)


def find_expected(question: Question, text: str) -> dict[str, Any]:
    """Return the fields of a turn that its text shows."""
    printed = [call for call in question.calls if call.name in text]
    shown = _squash(text)
    expected: dict[str, Any] = {}
    for name, value in (("reasoning_content", question.reasoning), ("content", question.content)):
        expected[name] = value if value is not None and _squash(value) in shown else None
    expected["tool_calls"] = [{"name": call.name, "arguments": _find_printed_arguments(call, text)} for call in printed]
    return expected


def _find_printed_arguments(call: Call, text: str) -> dict[str, Any]:
    """Return the arguments of a call that its text shows: some templates leave out those that are null."""
    arguments: dict[str, Any] = json.loads(call.arguments)
    return {key: value for key, value in arguments.items() if value is not None or key in text}


def _squash(text: str | None) -> str:
    """Return a text without white space: templates trim and fold it."""
    return "".join((text or "").split())


def compare(expected: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether a parsed message is the expected one: text up to outer white space, arguments as typed JSON."""
    for name in ("reasoning_content", "content"):
        if _squash(expected[name]) != _squash(message.get(name)):
            return False
    calls = message.get("tool_calls") or []
    if len(calls) != len(expected["tool_calls"]):
        return False
    for call, wanted in zip(calls, expected["tool_calls"], strict=True):
        if call["function"]["name"] != wanted["name"]:
            return False
        arguments = read_arguments(call["function"]["arguments"])
        if arguments is None or _mark_types(arguments) != _mark_types(wanted["arguments"]):
            return False
    return True


def _mark_types(value: Any) -> Any:
    """Return a value that equals another only if the types are alike too (True is not 1; 5 and 5.0 are the same number)."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, dict):
        return {key: _mark_types(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mark_types(inner) for inner in value]
    return value


def prove(proof: Proof) -> Verdict:
    """Read back the hard conversations and report what holds."""
    passed: dict[str, list[bool]] = {}
    failures: list[Counterexample] = []
    for case in _list_all_cases(proof):
        turn = proof.render_turn(case)
        if turn is None:
            continue
        tools = build_tools(case.question.calls, proof.oracle.shape) if case.question.calls else None
        message = proof.format.parse(turn.text, tools=tools, prompt=turn.prompt)
        good = compare(turn.expected, message) or _is_ambiguous(proof, turn, message)
        passed.setdefault(case.aspect, []).append(good)
        if not good:
            failures.append(_make_counterexample(turn, message))
    parts = ("reasoning", "content", "tools")
    return Verdict(
        parts=tuple((part, _judge(part, proof.format, passed.get(part, []))) for part in parts),
        checked=sum(map(len, passed.values())),
        passed=sum(map(sum, passed.values())),
        counterexample=min(failures, key=lambda failure: len(failure.text), default=None),
    )


def _list_all_cases(proof: Proof) -> Iterator[Case]:
    yield from list_cases(proof.format)
    reasoning = proof.format.reasoning
    for switches in proof.prompts.switched:
        yield Case("content", with_switches(Question(content="Hello there."), **dict(switches)))
        if reasoning and reasoning.scope != "with calls":
            question = Question(content="Hello there.", reasoning="I think so.")
            yield Case("reasoning", with_switches(question, **dict(switches)))


def _is_ambiguous(proof: Proof, turn: RenderedTurn, message: Mapping[str, Any]) -> bool:
    """Whether the message that was read is printed as the same text: then no reader could tell the two apart.

    Some templates print content that stands beside calls as reasoning.
    """
    question = turn.case.question
    if question.reasoning is not None or question.content is None or message.get("content") is not None:
        return False
    if (message.get("reasoning_content") or "").strip() != question.content.strip():
        return False
    twin = replace(question, content=None, reasoning=question.content)
    if proof.format.reasoning and proof.format.reasoning.scope == "never printed":
        return True
    return proof.oracle.ask(twin) == proof.oracle.ask(question)


def _judge(part: str, format: ChatFormat, results: list[bool]) -> str:
    if part == "tools" and format.tools and format.tools.provenance == "instructions":
        return "read from the instructions, not proven"
    if (part == "reasoning" and format.reasoning is None) or (part == "tools" and format.tools is None):
        return "not established" if part == "tools" and format.capabilities.tools else "absent"
    if not results:
        return "not established"
    return "proven" if all(results) else "partly proven" if any(results) else "not established"


def _make_counterexample(turn: RenderedTurn, message: Mapping[str, Any]) -> Counterexample:
    got = {
        "reasoning_content": message.get("reasoning_content"),
        "content": message.get("content"),
        "tool_calls": [
            {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
            for call in message.get("tool_calls") or []
        ],
    }
    return Counterexample(
        turn.case.aspect,
        turn.prompt,
        turn.text,
        json.dumps(turn.expected, ensure_ascii=False),
        json.dumps(got, ensure_ascii=False),
    )
