"""The edges of a turn, from renders of turns that have other fields: reasoning or none, content or none, other calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, product

from ..ask.oracle import Oracle
from ..ask.pieces import Field, Needle, Span, cut_row
from ..ask.question import LESS_TOLD, Call, Question, Shape, Switches, Told
from ..ask.shapes import make_calls, make_test_call
from ..ask.words import make_word
from ..format import Text
from .draft import TURN, Draft
from .encoded import Written, find_json_arguments, find_spans
from .strings import Specimen, make_text, read_start
from .values import learn_insides, learn_object, make_inner_build

REASONING, CONTENT = make_word("r"), make_word("c")
_REASONING, _CONTENT = Field("reasoning"), Field("content")

_COUNTS = ((2,), (1,), (0,), (3,), (1, 1), (2, 2, 2), (0, 0, 0), (0, 1), (1, 0, 1), (1, 1, 1, 1))
"""Numbers of arguments of the calls of a turn."""
_FEW_COUNTS = ((2,), (0,), (1, 1))
"""Those that are asked under a switch."""
_SIGNS = "-.:/"
"""What names of tools may have in them beside letters, digits and underscores (OpenAI's API takes the first, MCP the others)."""
_BESIDE = ((None, None), (REASONING, None), (None, CONTENT))
"""Reasoning and content beside calls, where not all turns are asked."""
_ODD = ((0, 1), (0,), (1,))
"""Which of each two calls are to tools whose names have such signs."""


class Caller:
    """Asks for turns in one shape, and learns from them; ``family`` tells the fields of calls from others'."""

    def __init__(self, draft: Draft, oracle: Oracle, shape: Shape, family: str = "") -> None:
        self.draft, self.oracle, self.shape, self.family = draft, oracle, shape, family
        self._arguments = Field("arguments", "", 0, family)
        self._one = make_test_call(shape)
        self.written: Written | None = None
        self._signs = ""  # those that make the name of a tool to be written in another way, in quotes or between bars

    def learn_plain(self, switches: Switches) -> None:
        """Learn turns without calls, with tools offered and without."""
        for reasoning, content, tools in product((None, REASONING), (None, CONTENT), (True, False)):
            if reasoning or content:
                self._learn_turn(Question(reasoning, content, switches=switches, tools=tools))

    def learn_longer(self) -> None:
        """Learn turns without calls behind other answers, if a thought is printed only there."""
        usual, longer = (Question(REASONING, CONTENT, earlier=earlier) for earlier in (0, 2))
        turns = [self.oracle.ask_turn(question, self.shape) for question in (usual, longer)]
        if all(turns) and [REASONING in turn.text for turn in turns if turn] == [False, True]:
            self._learn_turn(longer)

    def learn_resumed(self, switches: Switches) -> None:
        """Learn turns without calls that answer the result of a tool: they may begin elsewhere."""
        for reasoning in (None, REASONING):
            self._learn_turn(Question(reasoning, CONTENT, switches=switches, resumed=True))

    def learn_prose(self, calls: tuple[Call, ...] = ()) -> None:
        """Learn what special characters become in reasoning and in content, and what signs become at the beginning of these."""
        special, word = self.draft.special, make_word("pa")
        for field in (_REASONING, _CONTENT):
            specimen = Specimen("pa", special.anywhere)
            images = specimen.read(self._ask_prose(field, specimen.text, calls))
            # A template that folds or trims white space does not write it in another way.
            kept = {char: image for char, image in images.items() if not (char.isspace() and image.isspace() and len(image) < 2)}
            texts = [self._ask_prose(field, sign + word, calls) for sign in ("", *special.start) if special.start]
            before, *begun = [text.partition(word)[0] if word in text else "" for text in texts] or [""]
            starts = (read_start(text, before, sign, images) for sign, text in zip(special.start, begun, strict=True))
            codec = make_text(kept) if kept else Text()
            self.draft.codecs[TURN, field._replace(beside_calls=bool(calls))] = replace(codec, starts=tuple(chain(*starts)))

    def _ask_prose(self, field: Field, text: str, calls: tuple[Call, ...]) -> str:
        """Render a turn with a text as its reasoning, or as its content without any."""
        thought, said = (text, make_word("pb")) if field == _REASONING else (None, text)
        turn = self.oracle.ask_turn(Question(thought, said, calls), self.shape)
        return turn.text if turn else ""

    def learn(self, settings: Sequence[Switches]) -> bool:
        """Learn turns with calls, and how values are written; False where no call is printed whole."""
        self.written = find_json_arguments(self.oracle, self.shape, self.draft.special)
        seen = self._learn_turns(settings)
        if self.written is not None and not seen:
            self.written = None  # not in all turns
            seen = self._learn_turns(settings)
        if not seen:
            return False
        if self._changes_name(_SIGNS):
            self._signs = "".join(filter(self._changes_name, _SIGNS))
        for odd in _ODD if self._signs else ():
            self._learn_turns(settings, odd)
        if self.written is None:
            self._learn_values()
        else:
            self.draft.codecs[TURN, self._arguments] = self.written.json
        self._learn_order()
        return True

    def _learn_order(self) -> None:
        """Learn whether keys are sorted: the template is given them in another order."""
        last, first = make_word("k", 1), make_word("k", 0)
        text = self._build_one({last: make_word("v", 1), first: make_word("v", 0)})
        if text is not None and -1 < text.find(first) < text.find(last):
            self.draft.sorted_keys = True

    def _learn_turns(self, settings: Sequence[Switches], odd: Sequence[int] = ()) -> bool:
        """Learn turns with calls, and if any is printed whole, those that answer the result of a tool."""
        seen = False
        for switches in settings:
            counts = _FEW_COUNTS if switches else _COUNTS
            for reasoning, content, count in product((None, REASONING), (None, CONTENT), counts):
                seen |= self._learn_turn(Question(reasoning, content, self._make_calls(count, odd), switches))
        for switches, (reasoning, content) in product(settings, _BESIDE) if seen else ():
            self._learn_turn(Question(reasoning, content, self._make_calls((2,), odd), switches, resumed=True))
        return seen

    def _make_calls(self, counts: Sequence[int], odd: Sequence[int]) -> tuple[Call, ...]:
        """Return calls with so many arguments; of each two, the ``odd`` ones to tools whose names are no words."""
        calls = enumerate(make_calls(self.shape, counts))
        return tuple(_add_sign(call, self._signs[0]) if number % 2 in odd else call for number, call in calls)

    def _changes_name(self, signs: str) -> bool:
        """Whether what stands around the name of a tool is another with some signs in it."""
        plain = make_calls(self.shape, [1] * len(signs))
        odd = tuple(map(_add_sign, plain, signs))
        one, other = (self.oracle.render(Question(calls=calls), self.shape) for calls in (plain, odd))
        if one is None or other is None:
            return False
        for call, renamed in zip(plain, odd, strict=True):
            other = other.replace(renamed.name, call.name)
        return one != other

    def _learn_turn(self, question: Question) -> bool:
        """Add the edges of a turn, if all of its calls are printed whole, and as was thought; names that are written in another way
        are fields of their own."""
        turn = self.oracle.ask_turn(question, self.shape)
        if turn is None:
            return False
        spans = find_spans(turn.text, question.calls, self.written, self._arguments) if self.written else []
        if spans is None or not all(call.name in turn.text for call in question.calls):
            return False
        for number, call in enumerate(question.calls):
            if not set(self._signs).isdisjoint(call.name):
                needle = Needle(Field("name", signs=self._signs), number)
                spans += [Span(*found.span(), needle) for found in re.finditer(re.escape(call.name), turn.text)]
        self.draft.add_turn(turn, cut_row(turn.text, _make_needles(question, self.family), spans), question.switches)
        return True

    def _build_one(self, arguments: Mapping[str, object], told: Told = "type") -> str | None:
        """Render one call with some arguments, of whose types the tools tell so much."""
        call = Call.of(self._one.name, self._one.id, arguments)
        for reasoning, content in _BESIDE:
            turn = self.oracle.ask_turn(Question(reasoning, content, (call,), told=told), self.shape)
            if turn is not None:
                return turn.text
        return None

    def _learn_values(self) -> None:
        build, outer = self._build_one, tuple(filter(None, (self._one.name, self._one.id)))
        types = learn_object(self.draft, TURN, self.family, build, outer)
        learn_insides(self.draft, self.family, make_inner_build(build, types, outer), types)
        # Strings may be written as JSON where the tools do not say that they are strings.
        key, word = make_word("k"), make_word("v")
        usual = build({key: word})
        if usual is not None and usual.replace(word, f'"{word}"') in (build({key: word}, told) for told in LESS_TOLD):
            self.draft.tell_strings(self.family)


def _make_needles(question: Question, family: str) -> dict[str, Needle]:
    texts = ((question.reasoning, _REASONING), (question.content, _CONTENT))
    needles = {text: Needle(field._replace(beside_calls=bool(question.calls))) for text, field in texts if text}
    for number, call in enumerate(question.calls):
        needles[call.name] = Needle(Field("name"), number)
        needles |= {call.id: Needle(Field("id"), number)} if call.id else {}
        for key, value in call.object.items():
            needles[key] = Needle(Field("key", "string", 0, family), number)
            needles[value] = Needle(Field("value", "string", 0, family), number)
    return needles


def _add_sign(call: Call, sign: str) -> Call:
    """Return a call with a sign in the name of its tool."""
    return call.rename(f"{call.name}{sign}{make_word('on')}")
