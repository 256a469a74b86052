"""A format is plain data: it is written and read back, pickled, compared, and refuses what it does not know."""

from __future__ import annotations

import json
import pickle
import threading
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from invented import write_template
from test_analysis import CALLS, make_design

import chat_autoparser as ca

OUTPUT = '<mull>\nLet me see.\n</mull>\n<drun>\n{"name": "f", "arguments": {"a": 1}}\n</drun>'


@pytest.fixture(scope="module")
def format() -> ca.ChatFormat:
    return ca.analyze(write_template(make_design()))


@pytest.mark.parametrize("calls", CALLS)
def test_what_is_written_is_read_back(calls: str) -> None:
    derived = ca.analyze(write_template(make_design(calls=calls)))
    data = json.loads(json.dumps(derived.to_dict()))
    loaded = ca.ChatFormat.from_dict(data)
    assert loaded == derived
    assert loaded.to_dict() == derived.to_dict()


def test_a_pickled_format_parses_alike(format: ca.ChatFormat) -> None:
    format.parse(OUTPUT)  # what a parser makes of a format must not stand in the way of pickling it
    loaded: ca.ChatFormat = pickle.loads(pickle.dumps(format))
    assert loaded == format
    message = loaded.parse(OUTPUT)
    assert message["reasoning_content"] == "Let me see."
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


def test_a_format_cannot_be_changed(format: ca.ChatFormat) -> None:
    with pytest.raises(FrozenInstanceError):
        format.tools = None  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 99}, "version 99"),
        ({"version": None}, "version None"),
        ({"surprise": 1}, "unknown key 'surprise'"),
        ({"turn": {"headers": [], "colour": "red"}}, "unknown key 'colour'"),
        ({"turn": []}, "expected an object"),
        ({"starts": "x"}, "expected a list"),
        ({"reasoning": {"start": {}, "end": {}, "field": "x", "scope": "now and then"}}, "'now and then'"),
        ({"content": {"start": {"text": 5}}}, "found 5, expected str"),
    ],
)
def test_other_data_is_refused_with_a_reason(format: ca.ChatFormat, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ca.FormatError, match=said.replace("'", ".")):
        ca.ChatFormat.from_dict({**format.to_dict(), **change})


def test_no_dict_is_refused_with_a_reason() -> None:
    with pytest.raises(ca.FormatError, match="pass the dict"):
        ca.ChatFormat.from_dict("{}")  # type: ignore[arg-type]


def test_parsers_of_one_format_work_in_several_threads(format: ca.ChatFormat) -> None:
    messages: list[dict[str, Any]] = []

    def read() -> None:
        for _ in range(20):
            parser = format.parser()
            deltas = [delta for char in OUTPUT for delta in parser.feed(char)]
            texts = [delta.text for delta in [*deltas, *parser.finish()] if delta.kind == "reasoning"]
            messages.append({"reasoning": "".join(texts)})

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert messages == [{"reasoning": "Let me see."}] * 80


def test_a_format_nothing_was_derived_of_is_not_proven() -> None:
    assert not ca.Verdict().proven
