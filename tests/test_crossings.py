"""What parts two values of a call is told in one look where it is written as templates write it: that changes nothing but its cost."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import cut_pieces
from rendering import BOS, EOS
from streams import analyze, get_calls, make_call, make_tool, read
from templates import count_work, get_format, write_prompt

from chat_autoparser.constrain import write_turn
from chat_autoparser.plan.plan import Plan

if TYPE_CHECKING:
    from chat_autoparser import ChatFormat

KINDS = {"city": "string", "note": "string", "days": "integer", "price": "number", "by_train": "boolean", "stops": "array", "legs": "array"}
TOOL = make_tool("plan_trip", **KINDS, extras="object")
WORDS = ("Oslo", "by the sea", "5", "null", "it's", 'say "hi"', "two\nlines", "[1]", "a=b, c: d", "<b>", "</b>", "days", "")
VALUES = {
    "city": st.sampled_from(WORDS),
    "note": st.sampled_from(WORDS),
    "days": st.integers(-9, 999),
    "price": st.sampled_from((1.5, -0.25, 12)),
    "by_train": st.booleans(),
    "stops": st.lists(st.sampled_from(WORDS), max_size=3),
}
INSIDES = st.recursive(
    st.one_of(*VALUES.values()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("city", "to", "x-1", "a b")), inner, max_size=3),
    max_leaves=8,
)
VALUES |= {"legs": st.lists(INSIDES, max_size=3), "extras": st.dictionaries(st.sampled_from(("a", "days", "it's")), INSIDES, max_size=3)}
FOLDER = Path(__file__).parent / "unseen"
NAMES = ("lapis", "abacus", "adze", "allspice", "amazon", "basalt", "clove", "damask", "ducat", "elder", "halyard", "kelso")
"""With notations of their own for arguments; the strings of the first one have two ways to begin, one as the other does."""
NESTED = ("auger", "cladonia", "gecko", "hellbox", "jarosite", "kernite")
"""With notations of their own for lists and objects."""


@st.composite
def draw_output(draw: st.DrawFn, form: ChatFormat) -> tuple[list[str], str]:
    """Draw a call as the template writes it, with a slip or two at any place, in pieces; and how it is read."""
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=6, unique=True))
    text = write_turn(form.graph, {"tool_calls": [make_call("plan_trip", {key: draw(VALUES[key]) for key in keys})]})
    marks = sorted({edge.text for edge in form.graph.turn.edges if edge.text.strip()})
    for _ in range(draw(st.integers(0, 2))):
        at, size = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        slips = ("", *marks, " ", "\n", '"', ",", text[at : at + 2 * size])
        text = text[:at] + draw(st.sampled_from(slips)) + text[at + draw(st.sampled_from((0, size))) :]
    pieces = draw(st.sampled_from(([text], list(text), list(cut_pieces(text, len(keys))))))
    return pieces, draw(st.sampled_from(("strict", "lenient", "repair")))


@pytest.mark.parametrize("name", [*NAMES, *NESTED])
def test_nothing_is_read_otherwise(name: str) -> None:
    form = analyze((FOLDER / f"{name}.jinja").read_text("utf-8"), bos_token=BOS, eos_token=EOS)

    @given(draw_output(form))
    @settings(max_examples=60, deadline=None)
    def check(output: tuple[list[str], Any]) -> None:
        pieces, policy = output
        found = read(form, pieces, [TOOL], None, policy)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Plan, "list_crossings", lambda plan, spot: ())
            patch.setattr(Plan, "list_inner_crossings", lambda plan, spot: ())
            assert read(form, pieces, [TOOL], None, policy)[:5] == found[:5], "".join(pieces)

    check()


def test_what_stands_there_to_the_letter_comes_before_other_layout() -> None:
    form = analyze((FOLDER / "incipit.jinja").read_text("utf-8"), bos_token=BOS, eos_token=EOS)
    stops = ["Oslo", "\n</b>\nBergen"]
    text = write_turn(form.graph, {"tool_calls": [make_call("plan_trip", {"stops": stops})]})
    assert "</li><li>\n</b>" in text
    for pieces in ([text], list(text)):
        assert get_calls(read(form, pieces, [TOOL])) == [("plan_trip", {"stops": stops})]


@pytest.mark.parametrize("name", NAMES)
def test_any_split_of_what_parts_values(name: str) -> None:
    form = analyze((FOLDER / f"{name}.jinja").read_text("utf-8"), bos_token=BOS, eos_token=EOS)
    arguments = {"days": 3, "city": "Oslo", "price": 1.5, "note": "by the sea", "by_train": True}
    text = write_turn(form.graph, {"tool_calls": [make_call("plan_trip", arguments)]})
    for size in range(1, 16):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert get_calls(read(form, pieces, [TOOL])) == [("plan_trip", arguments)]


@pytest.mark.parametrize("shape", ["tagged arguments", "typed tags", "tagged names and values"])
def test_many_short_arguments_cost_half(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, arguments = get_format(shape), {f"{key}_{number}": number for number in range(50) for key in ("size", "age")}
    tool = make_tool("find_okapi", **dict.fromkeys(arguments, "integer"))
    text = write_turn(form.graph, {"tool_calls": [make_call("find_okapi", arguments)]})
    count = partial(count_work, form, write_prompt(shape), text, 4, [tool])
    count()  # so that what is made once does not count
    quick = count()[-1]
    monkeypatch.setattr(Plan, "list_crossings", lambda plan, spot: ())
    assert quick < 0.6 * count()[-1]


@pytest.mark.parametrize("shape", ["odd quotes", "nested markup"])
def test_lists_and_objects_cost_half(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, items = get_format(shape), [{"size": number, "place": {"row": number, "seats": [1, 2]}} for number in range(30)]
    tool = make_tool("find_okapi", pens="array")
    text = write_turn(form.graph, {"tool_calls": [make_call("find_okapi", {"pens": items})]})
    count = partial(count_work, form, write_prompt(shape), text, 4, [tool])
    count()  # so that what is made once does not count
    quick = count()[-1]
    monkeypatch.setattr(Plan, "list_inner_crossings", lambda plan, spot: ())
    assert quick < 0.6 * count()[-1]
