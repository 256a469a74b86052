"""The judge itself: how messages are compared, what is counted, and what the peers' tests expect."""

from __future__ import annotations

from typing import Any

import coverage
import peers
import pytest
from judge import find_fault, fold, is_same


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (5, 5.0, True),
        (5, "5", False),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        (None, "null", False),
        ("", None, False),
        ([1, {"a": [True]}], [1.0, {"a": [True]}], True),
        ([1, {"a": [True]}], [1, {"a": [1]}], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_values_are_compared_with_their_types(one: Any, two: Any, same: bool) -> None:
    assert is_same(one, two) is is_same(two, one) is same


def make_call(name: str, arguments: str, given: str = "call_1") -> dict[str, Any]:
    return {"id": given, "type": "function", "function": {"name": name, "arguments": arguments}}


EXPECTED = {"reasoning_content": "R", "content": None, "tool_calls": [{"id": "i1", "name": "f", "arguments": {"a": 1}}]}


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"reasoning_content": " R\n", "content": "\n", "tool_calls": [make_call("f", '{"a":1}', "i1")]}, None),
        ({"reasoning_content": "r", "content": None, "tool_calls": [make_call("f", '{"a":1}', "i1")]}, "reasoning_content"),
        ({"reasoning_content": "R", "content": "x", "tool_calls": [make_call("f", '{"a":1}', "i1")]}, "content"),
        ({"reasoning_content": "R", "content": None, "tool_calls": []}, "number of calls"),
        ({"reasoning_content": "R", "content": None}, "number of calls"),
        ({"reasoning_content": "R", "tool_calls": [make_call("g", '{"a":1}', "i1")]}, "name"),
        ({"reasoning_content": "R", "tool_calls": [make_call("f", '{"a":1', "i1")]}, "arguments are no JSON"),
        ({"reasoning_content": "R", "tool_calls": [make_call("f", '{"a":"1"}', "i1")]}, "arguments"),
        ({"reasoning_content": "R", "tool_calls": [make_call("f", '{"a":1}', "i2")]}, "id"),
    ],
)
def test_each_fault_is_named(message: dict[str, Any], fault: str | None) -> None:
    assert find_fault(EXPECTED, message) == fault


def piece(index: int, **function: str) -> dict[str, Any]:
    start = {"id": f"c{index}", "type": "function"} if "name" in function else {}
    return {"tool_calls": [{"index": index, **start, "function": function}]}


def test_streamed_deltas_are_put_together() -> None:
    deltas = [
        {"reasoning_content": "a"},
        {"reasoning_content": "b"},
        {"content": "c"},
        piece(0, name="f", arguments=""),
        piece(0, arguments='{"a"'),
        piece(0, arguments=": 1}"),
        piece(1, name="g", arguments="{}"),
    ]
    assert fold(deltas) == {
        "reasoning_content": "ab",
        "content": "c",
        "tool_calls": [make_call("f", '{"a": 1}', "c0"), make_call("g", "{}", "c1")],
    }


@pytest.mark.parametrize(
    "deltas",
    [
        [piece(0, arguments="{}")],
        [piece(1, name="f")],
        [piece(0, name="f"), piece(0, name="f")],
        [piece(0, name="f"), piece(2, arguments="{}")],
        [{"text": "x"}],
    ],
)
def test_deltas_that_no_client_could_take_are_refused(deltas: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"call|delta"):
        fold(deltas)


# Counting


def make_row(fault: str | None = None, **changes: Any) -> dict[str, Any]:
    row = {"turn": "call", "calls": 1, "ended": False, "unreadable": None, "faults": {"whole": fault} if fault else {}}
    return {**row, **changes}


def make_report(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    report: dict[str, Any] = {
        "template": "t",
        "turns": list(rows),
        "left_out": None,
        "silent": None,
        "seconds": 0.1,
        "proven": True,
    }
    return {**report, "words": {}, "kept": [], **changes}


def test_the_totals_count_readable_turns_and_templates_without_a_miss() -> None:
    totals = coverage.summarise(
        [
            make_report(make_row(), make_row(unreadable="why", fault="content")),
            make_report(make_row("arguments"), make_row(), make_row(calls=0), make_row(ended=True)),
            make_report(make_row(calls=0)),
            make_report(silent="a guard"),
            make_report(left_out="no word"),
        ]
    )
    assert (totals["templates"], totals["without turns"], totals["not renamed"]) == (5, {"a guard": 1}, 1)
    assert totals["measured"] == {"count": 3, "right": 2, "percent": 66.67}
    assert totals["with calls"] == {"count": 2, "right": 1, "percent": 50.0}
    assert totals["turns"] == {"count": 6, "right": 5, "percent": 83.33}
    assert totals["turns with calls"] == {"count": 4, "right": 3, "percent": 75.0}
    assert totals["turns with the end left on"] == {"count": 1, "right": 1, "percent": 100.0}
    assert totals["unreadable"] == {"why": 1}
    assert (totals["proven"], totals["false proofs"]) == (3, ["t"])


def test_the_totals_tell_what_nothing_could_prove_from_what_the_proof_doubts() -> None:
    rows = [{"proven": False, "doubted": False}, {"proven": False, "doubted": True}, {"proven": True, "doubted": False}]
    totals = coverage.summarise([make_report(make_row()) | row for row in rows])
    assert totals["right, not proven as no render shows a part"] == 1
    assert totals["right, but the proof found a counterexample"] == ["t"]


# The peers' expectations


def make_case(**changes: Any) -> dict[str, Any]:
    expect = {"content": "", "reasoning_content": "", "tool_calls": []}
    case: dict[str, Any] = {"peer": "llamacpp", "template": "", "input": "", "tools": [], "generation_prompt": ""}
    case |= {"reasoning_format": "auto", "continue_final_message": "none", "is_partial": False, "json_schema": None}
    case |= {
        "messages": [{"role": "user", "content": "Hey"}],
        "format_note": "",
        "note": "",
        "family": "",
        "expect_basis": "",
    }
    return {**case, **changes, "expect": {**expect, **changes.get("expect", {})}}


def test_a_prefill_is_put_before_what_was_read() -> None:
    case = make_case(
        continue_final_message="content",
        messages=[{"role": "assistant", "content": "Hello, ", "reasoning_content": "I'm thinking"}],
        expect={"content": "Hello, world!", "reasoning_content": "I'm thinking"},
    )
    assert peers.find_fault(case, {"content": "world!"}) is None
    assert peers.find_fault(case, {"content": "Hello, world!"}) == "content"
    assert peers.find_fault(case, {"reasoning_content": "world!"}) == "reasoning_content"


def test_reasoning_kept_in_the_content_is_compared_joined() -> None:
    case = make_case(reasoning_format="none", expect={"content": "[T]I'm\nthinking[/T]Hello"})
    assert peers.find_fault(case, {"content": "[T]I'm\nthinking[/T]Hello"}) is None
    assert peers.find_fault(case, {"reasoning_content": "I'm\nthinking", "content": "Hello"}) is None
    assert peers.find_fault(case, {"reasoning_content": "I'm", "content": "Hello"}) is not None
    assert peers.find_fault(case, {"reasoning_content": "other", "content": "Hello"}) is not None


def test_of_an_unfinished_call_the_beginnings_are_compared() -> None:
    case = make_case(is_partial=True, expect={"tool_calls": [{"name": "f", "arguments": '{"a": ', "id": ""}]})
    assert peers.find_fault(case, {"tool_calls": [make_call("f", "{")]}) is None
    assert peers.find_fault(case, {"tool_calls": [make_call("f", '{"b')]}) == "arguments"
    assert peers.find_fault(case, {}) == "number of calls"


def test_what_a_peer_leaves_open_is_not_looked_at() -> None:
    case = make_case(expect={"content": None, "reasoning_content": None, "tool_calls": None})
    assert peers.find_fault(case, {"content": "x", "reasoning_content": "y", "tool_calls": [make_call("f", "")]}) is None


@pytest.mark.parametrize(
    ("case", "convention"),
    [
        (
            make_case(reasoning_format="none", generation_prompt="<a>\n<t>\n", input="x</t>y", expect={"content": "<t>\nx</t>y"}),
            "tag",
        ),
        (make_case(reasoning_format="none", generation_prompt="<a>\n<t>\n", input="y", expect={"content": "y"}), None),
        (
            make_case(generation_prompt="<a>\nSteps:\n", input="x", expect={"reasoning_content": "Steps:\nx"}),
            "words that stand",
        ),
        (make_case(json_schema={}, input="```json\n1\n```", expect={"content": "1"}), None),
        (make_case(json_schema={"const": 1}, input="```json\n1\n```", expect={"content": "1"}), "fence"),
        (make_case(input="<m>hi<to=x>print(1)", expect={"content": "hi"}), "dropped"),
        (make_case(input="<m>hi<m>print(1)", expect={"content": "hiprint(1)"}), None),
    ],
)
def test_conventions_are_told_by_the_case(case: dict[str, Any], convention: str | None) -> None:
    found = next((name for name, rule in peers.LEFT_OUT["llamacpp"][:4] if rule(case)), None)
    assert (found is None) if convention is None else (found is not None and convention in found)
