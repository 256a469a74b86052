"""Formats that nobody has seen: what of their turns is read, and whether the generator and the judge can be trusted.

`scripts/generality.py` draws a thousand formats anew on each run; here a fixed seed draws a few.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from conversations import Call, Fields, JsonObject
from generality import Report, is_false, judge, measure, measure_drawn, rank_axes, summarise
from hypothesis import given, settings
from hypothesis import strategies as st
from invent import AXES, Design, draw, draw_any, find_flaws, normalise, write_template
from invent.marks import SHAPES
from invent.parts import find_end
from invent.turns import Speaker, can_say, make_ids, make_turns
from judge import list_readable
from rendering import compile_template
from turns import Turn

FORMATS = 40
SEED = "first"
# What is read of the turns of these formats, in percent, and how many of the formats are called proven and are not. The
# one may only rise, the other only fall.
BAR = 99.5
FALSE_PROOFS = 0

seeds = st.integers(0, 10**9)


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return [measure_drawn(number, SEED) for number in range(FORMATS)]


def test_turns_of_unseen_formats_are_read(reports: list[Report]) -> None:
    totals = summarise(reports)
    assert totals["turns"] > 30 * FORMATS
    assert 100 * totals["right in all ways"] / totals["turns"] >= BAR, totals


def test_proofs_hold(reports: list[Report]) -> None:
    false = [report["name"] for report in reports if is_false(report)]
    assert len(false) <= FALSE_PROOFS, f"python scripts/generality.py --only {false[0]}"


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(376, id="brackets of the template's own before empty arguments"),
        pytest.param(244, id="a number is the last of a turn whose end is cut off"),
        pytest.param(253, id="white space is the last of a turn whose end is cut off, or stands before the next argument"),
        pytest.param(669, id="what ends a call could be a key"),
        pytest.param(761, id="a mark behind what ends all calls"),
        pytest.param(573, id="all texts of the assistant have an end of their own before that of the turn"),
    ],
)
def test_formats_that_were_misread_once(number: int) -> None:
    report = measure_drawn(number, "november22")
    assert report["proven"]
    assert [turn for turn in list_readable(report) if turn["faults"]] == []


@pytest.mark.parametrize("inside", ["marks", "indented"])
def test_lists_and_objects_are_read_as_deep_as_they_are_written(inside: str) -> None:
    """These are few among drawn formats; here are some of each kind."""
    designs = filter(lambda design: design.inside == inside, map(draw, map(random.Random, range(600))))
    for number, design in enumerate(islice(designs, 4)):
        speaker = Speaker(design)
        report = measure(f"{inside} {number}", speaker.source, make_turns(speaker, number), number)
        assert report["proven"], speaker.source
        assert [turn for turn in list_readable(report) if turn["faults"]] == []


@pytest.mark.parametrize(
    ("seed", "number"),
    [
        pytest.param("heath", 36, id="layout alone stands between calls"),
        pytest.param("fen", 110, id="nothing ends a call, and a list is empty"),
        pytest.param("fen", 40, id="a list begins as the path of a member goes on"),
    ],
)
def test_layout_belongs_to_what_follows(seed: str, number: int) -> None:
    report = measure_drawn(number, seed)
    assert [turn for turn in list_readable(report) if turn["faults"]] == []


def test_misses_are_ranked_by_axis(reports: list[Report]) -> None:
    """Over all values of an axis, formats and turns add up to the whole."""
    rows = [row for row in rank_axes(reports, least=1) if row[1].startswith("frame = ")]
    assert sum(row[2] for row in rows) == FORMATS
    assert sum(row[3] for row in rows) == sum(len(list_readable(report)) for report in reports)


# The generator


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_a_drawn_design_is_refused_or_can_be_read(seed: int) -> None:
    design = normalise(draw_any(random.Random(seed)))
    assert normalise(design) == design
    if any(find_flaws(design)):
        return
    turns = make_turns(Speaker(design), seed)
    assert len(turns) >= 8
    for turn in turns:
        assert turn.unreadable is None, (turn.name, turn.unreadable)
        _check_text(design, turn)
    texts = [(turn.prompt, turn.text) for turn in turns]
    assert len(set(texts)) == len(texts)


def _check_text(design: Design, turn: Turn) -> None:
    """Everything that is said stands in the text, in some spelling: what is raw as it is, the rest by its name."""
    for text in (turn.expected["reasoning_content"], turn.expected["content"]):
        assert text is None or text.strip() in turn.prompt + turn.text
    for call in turn.expected["tool_calls"]:
        assert call["name"] in turn.text
        assert design.id in ("none", "-") or call["id"] in turn.text
        assert all(json.dumps(key)[1:-1] in turn.text or key in turn.text for key in call["arguments"])


FIRST = Call("plot_route", {"harbour": "AXNEEDLE", "via": "BXNEEDLE"})
SECOND = Call("post_note", {"note": "CXNEEDLE", "headline": "DXNEEDLE"})


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_a_field_cannot_say_what_the_next_ones_say(seed: int) -> None:
    """A text that spells out all the structure up to a later field is either not said, or rendered in another way."""
    design = draw(random.Random(seed))
    speaker = Speaker(design)
    for whole, swallowed in list_swallowed(speaker):
        if can_say(speaker, swallowed):
            assert render(speaker, swallowed) != render(speaker, whole), swallowed


def render(speaker: Speaker, fields: Fields) -> str:
    return speaker.render(fields, make_ids(speaker.design, fields.calls, "needles"), "user", {})


def list_swallowed(speaker: Speaker) -> Iterator[tuple[Fields, Fields]]:
    """Messages, and such as have one field that holds all the text from there to the end of a later field."""
    full = Fields("RXNEEDLE", "SXNEEDLE", (FIRST, SECOND))

    def between(one: str, two: str) -> str:
        start, _, end = render(speaker, full).partition(one)[2].partition(two)
        return f"{one}{start}{two}" if end else one

    value = between("AXNEEDLE", "BXNEEDLE")
    yield full, replace(full, calls=(Call("plot_route", {"harbour": value}), SECOND))
    value = between("BXNEEDLE", "DXNEEDLE")
    yield full, replace(full, calls=(Call("plot_route", {"harbour": "AXNEEDLE", "via": value}),))
    yield full, replace(full, reasoning=between("RXNEEDLE", "SXNEEDLE"), content=None)
    yield full, replace(full, reasoning=None, content=between("RXNEEDLE", "SXNEEDLE"))
    said = render(speaker, full).partition("SXNEEDLE")[2]
    end = find_end(speaker.design, True)
    yield full, replace(full, content="SXNEEDLE" + said.removesuffix(end), calls=())
    if speaker.design.order == "calls, content":
        value = between("DXNEEDLE", "SXNEEDLE")
        yield full, replace(full, content=None, calls=(FIRST, Call("post_note", {"note": "CXNEEDLE", "headline": value})))


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_drawing_is_repeatable(seed: int) -> None:
    one, two = draw(random.Random(seed)), draw(random.Random(seed))
    assert one == two
    assert write_template(one) == write_template(two)


def test_every_value_of_every_axis_is_drawn() -> None:
    """No value is refused always: what nobody can draw measures nothing."""
    seen: dict[str, set[str]] = {axis: set() for axis in [*AXES, "shape", "closing"]}
    choose = random.Random(5)
    for _ in range(1500):
        drawn = draw(choose).axes
        for axis, values in seen.items():
            values.add(drawn[axis])
    assert {axis: set(values) - seen[axis] for axis, values in AXES.items() if set(values) - seen[axis]} == {}
    assert set(SHAPES) <= seen["shape"]
    assert {"own", "common", "unlike"} <= seen["closing"]


PLAIN = Speaker(draw(random.Random("plain"))).design
SPELLED = replace(
    PLAIN,
    marks=replace(PLAIN.marks, shape="angle", outer="angle", words=tuple(f"w{n}" for n in range(len(PLAIN.marks.words))), closing="own", behind=""),
    header="role after mark", header_space="\n", assistant="assistant", end="mark, line break", call_end="same", messages="one",
    bos="no", system="as given", demands="nothing", told="not", trim="no", suffix="", name_quote="", lead="", around="nothing",
    empty="printed", result="plain", reasoning="tags", reasoning_when="always", reasoning_opened="model", content="plain",
    reasoning_field="reasoning_content", reasoning_space="\n", switch="-", order="content, calls", between="\n",
    section="none", wrap="mark", space="\n", separator="\n", frame="name, arguments", joint="\n", id="none", prefix="",
    arguments="lines", assign=": ", key_quote="", quote="none", quoted="strings", escape="none", words="python", nested="json",
    type="none", takes="dict",
)  # fmt: skip


def test_a_template_renders_what_its_design_says() -> None:
    design = normalise(SPELLED)
    assert list(find_flaws(design)) == []
    arguments = {"city": "Rome", "days": 3, "late": None}
    call = {"id": "x1", "type": "function", "function": {"name": "go", "arguments": arguments}}
    answer = {"role": "assistant", "content": "Hi", "reasoning_content": "Hm", "tool_calls": [call]}
    template = compile_template(write_template(design))
    start, end, thought, call_mark = (design.marks.word(part) for part in ("turn", "end", "reasoning", "call"))
    asked = f"<{start}>user\nQ?<{end}>\n<{start}>assistant\n"
    assert template.render([{"role": "user", "content": "Q?"}], None, True, {}) == asked
    assert template.render([{"role": "user", "content": "Q?"}, answer], None, False, {}) == (
        f"{asked}<{thought}>\nHm\n</{thought}>\nHi\n<{call_mark}>\ngo\ncity: Rome\ndays: 3\nlate: None\n</{call_mark}><{end}>\n"
    )


def test_what_two_messages_share_is_counted_apart() -> None:
    """Where reasoning and content have the same marks, nobody can tell, and no reader is blamed."""
    design = normalise(SPELLED)
    source = write_template(design)
    word, content = design.marks.word("reasoning"), "{{ m.content }}{%- endif -%}"
    assert source.count(content) == 1
    alike = source.replace(content, f'{{{{ "<{word}>\\n" ~ m.content ~ "\\n</{word}>" }}}}{{%- endif -%}}')
    turns = {turn.name: turn for turn in make_turns(Speaker(design, alike), 0)}
    assert turns["reasoning"].unreadable


# The judge


class Reader:
    """A format that reads every text as one message, and streams it in two deltas."""

    def __init__(self, message: JsonObject) -> None:
        self.message = message

    def parse(self, text: str, *, tools: Any, prompt: str | None) -> JsonObject:
        return self.message

    def parser(self, *, tools: Any, prompt: str | None) -> Reader:
        return self

    def feed(self, text: str, /) -> Iterable[Any]:
        return []

    def finish(self) -> Iterable[Any]:
        class Delta:
            def to_openai(inner) -> JsonObject:  # noqa: N805 - the outer self is wanted
                calls = [{**call, "index": index} for index, call in enumerate(self.message["tool_calls"])]
                return {**self.message, "tool_calls": calls}

        return [Delta()]


TURN = Turn(
    "", "turn", {}, "prompt", "text", [], {
        "reasoning_content": None, "content": "Hi", "tool_calls": [{"id": "k1", "name": "f", "arguments": {"a": 5, "b": "5"}}],
    }, True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [('{"a": 5, "b": "5"}', None), ('{"b": "5", "a": 5}', "order of arguments"), ('{"a": "5", "b": "5"}', "arguments")],
)
def test_a_judge_sees_a_fault_in_every_way_of_reading(arguments: str, fault: str | None) -> None:
    """Which faults there are is tested with `judge.find_fault`."""
    call = {"id": "k1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    row = judge(Reader({"reasoning_content": None, "content": " Hi\n", "tool_calls": [call]}), TURN, 0)
    assert row["faults"] == ({} if fault is None else dict.fromkeys(("whole", "by character", "in pieces"), fault))
