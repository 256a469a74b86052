"""A format is plain data: it is written and read back, pickled, compared, and refuses what it does not know."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from conftest import ROOT
from templates import SAMPLES, get_format

import chat_autoparser as ca

OUTPUT = "Let me see.(:decided:)\n\n(:ask f:)\n(:with a:)1(:.:)\n(:asked:)"


@pytest.fixture(scope="module")
def demo() -> ca.ChatFormat:
    return ca.analyze(ROOT / "scripts" / "demo.jinja")


@pytest.mark.parametrize("shape", sorted(SAMPLES))
def test_what_is_written_is_read_back(shape: str) -> None:
    derived = get_format(shape)
    data = json.loads(json.dumps(derived.to_dict()))
    loaded = ca.ChatFormat.from_dict(data)
    assert loaded == derived
    assert loaded.to_dict() == derived.to_dict()


def test_a_stored_format_parses_alike(demo: ca.ChatFormat) -> None:
    demo.parse(OUTPUT)  # what a parser makes of a format must not stand in the way of storing it
    for loaded in (pickle.loads(pickle.dumps(demo)), ca.ChatFormat.from_dict(demo.to_dict())):
        assert loaded == demo
        assert hash(loaded) == hash(demo)
        message = loaded.parse(OUTPUT)
        assert message["reasoning_content"] == "Let me see."
        assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_a_format_cannot_be_changed(demo: ca.ChatFormat) -> None:
    with pytest.raises(FrozenInstanceError):
        demo.graph = ca.TurnGraph()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 99}, "version 99"),
        ({"version": None}, "version None"),
        ({"surprise": 1}, "unknown key 'surprise'"),
        ({"graph": {"stops": [], "colour": "red"}}, "unknown key 'colour'"),
        ({"graph": []}, "expected an object"),
        ({"graph": {"starts": "x"}}, "expected a list"),
        ({"asking": {"absent": "now and then"}}, "'now and then'"),
        ({"graph": {"blank": 5}}, "found 5, expected str"),
        ({"graph": {"turn": {"nodes": [{"name": "n", "kind": "name", "codec": {"is": "Morse"}}]}}}, "expected one of Text"),
        ({"graph": {"turn": {"edges": [{"source": "a"}]}}}, "missing"),
    ],
)
def test_other_data_is_refused_with_a_reason(demo: ca.ChatFormat, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ca.FormatError, match=said.replace("'", ".")):
        ca.ChatFormat.from_dict({**demo.to_dict(), **change})


def test_no_dict_is_refused_with_a_reason() -> None:
    with pytest.raises(ca.FormatError, match="pass the dict"):
        ca.ChatFormat.from_dict("{}")  # type: ignore[arg-type]


def test_a_format_nothing_was_derived_of_is_not_proven() -> None:
    assert not ca.Verdict().proven
    assert not ca.ChatFormat().verdict.proven


def test_a_format_nothing_was_derived_of_says_that_all_is_content() -> None:
    message = ca.ChatFormat().parse("<think>Hi</think>", None, "")
    assert (message["content"], message["reasoning_content"]) == ("<think>Hi</think>", None)
