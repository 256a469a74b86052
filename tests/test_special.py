"""Tokens that are no part of a format are taken out of the text; text that only looks like them stays."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT
from streams import analyze
from test_serve import CALL, CHATML, TOOLS, Piece, read

from chat_autoparser import ChatFormat
from chat_autoparser.serve import OutputReader, Served, list_special_tokens
from chat_autoparser.serve.special import cut_at_special, is_structure


def make_tokenizer() -> Any:
    tokens = {1: "<s>", 2: "<|im_end|>", 3: "<tool_call>"}
    entries = {token: _Entry(text) for token, text in tokens.items()}
    return SimpleNamespace(added_tokens_decoder=entries, all_special_tokens=["</s>"], all_special_ids=[4])


class _Entry(str):
    special = True


def test_special_tokens_that_have_no_part_in_a_format() -> None:
    tokens = list_special_tokens(make_tokenizer())
    assert tokens == {1: "<s>", 2: "<|im_end|>", 3: "<tool_call>", 4: "</s>"}
    seen = Served(analyze(CHATML), make_tokenizer())
    assert seen.special == {1: "<s>", 4: "</s>"}
    assert seen.needs_special
    assert not Served(ChatFormat(), make_tokenizer()).needs_special
    assert list_special_tokens(object()) == {}


@pytest.mark.parametrize("together", [False, True], ids=["token by token", "in one step"])
def test_a_special_token_is_dropped_by_its_id_and_never_inside_a_call(together: bool) -> None:
    head, tail = CALL.split("TEXT")
    pieces: list[Piece] = [
        ("A spelled <s> stays, ", [10]),
        ("<s>", [1]),
        ("a generated one goes.", [11]),
        (f"{head}an ", [12]),
        ("<s>", [1]),
        (f" and a <s> stay{tail}", [13]),
    ]
    if together:
        # All that is known is which tokens were generated: the first of equal texts is taken for the token's.
        pieces = [("A generated ", [10]), ("<s>goes." + head + "<s> stays" + tail, [1, 11, 12, 1, 13])]
    message = read(OutputReader(analyze(CHATML), TOOLS, special={1: "<s>"}), pieces)
    text = json.loads(message["tool_calls"][0]["function"]["arguments"])["text"]
    if together:
        assert (message["content"], text) == ("A generated goes.", "<s> stays")
    else:
        assert (message["content"], text) == ("A spelled <s> stays, a generated one goes.", "an <s> and a <s> stay")


@pytest.mark.parametrize(
    ("text", "ids", "pieces"),
    [
        ("One <s>two<s>.", [2, 1, 3], [("One <s>two", [2]), ("<s>", [1]), (".", [3])]),
        ("One <s>two<s>.", [2, 1, 3, 9], [("One <s>two", [2]), ("<s>", [1]), (".", [3, 9])]),  # the last one has stopped it
        ("One <s>two<s>", [2, 1, 9], [("One <s>two", [2]), ("<s>", [1]), ("", [9])]),
        ("One <s>two", [2, 1, 3], [("One <s>two", [2]), ("", [1]), ("", [3])]),  # its text comes later
        ("One <s>", [3, 1], [("One <s>", [3, 1])]),  # not the text of these tokens
        ("One <s>two<s>.!", [2, 1, 3], [("One <s>two<s>.!", [2, 1, 3])]),
    ],
)
def test_special_tokens_are_told_from_texts_that_are_spelled_alike(text: str, ids: list[int], pieces: list[object]) -> None:
    words = {1: "<s>", 2: "One <s>two", 3: ".", 9: "</s>"}
    assert cut_at_special(text, ids, {1: "<s>"}, lambda tokens: "".join(words[token] for token in tokens)) == pieces


def test_the_text_of_a_special_token_is_not_waited_for_for_ever() -> None:
    reader = OutputReader(analyze(CHATML), TOOLS, special={1: "<s>"})
    assert read(reader, [("Hello. ", [1]), ("And so on. ", [5]), ("<s>", [6])])["content"] == "Hello. And so on. "
    for pieces in ([("And so on. ", [5])] * 30, [("And so on. " * 30, [5])]):
        reader = OutputReader(analyze(CHATML), TOOLS, special={1: "<s>"})
        message = read(reader, [("Hello. ", [1]), *pieces, ("Write <s>", [6]), (" and <s>.", [7]), ("<s>", [1]), (" So.", [8])])
        assert message["content"] == "Hello. " + 30 * "And so on. " + "Write <s> and <s>. So."


TEXTS = {7: "<pad>", 8: "<|end|>"}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([("a<pad>b", [1, 7, 2])], "ab"),
        ([("a<pad>b", [1, 2, 3])], "a<pad>b"),
        ([("<pad><pad>", [7, 1, 2])], "<pad>"),
        ([("a", [1, 7]), ("<p", []), ("ad>b", [2])], "ab"),
        ([("a", [1, 7]), ("<p", []), ("x", [2])], "a<px"),
        ([("<|end|><pad>", [8, 7]), ("c", [1])], "c"),
        ([("a", [1, 8]), ("b<pad>c", [7, 2])], "abc"),
        ([("a<", [1, 8])], "a<"),
    ],
)
def test_the_text_of_tokens_is_taken_out(pieces: list[tuple[str, list[int]]], expected: str) -> None:
    reader = OutputReader(ChatFormat(), special=TEXTS)
    deltas = [delta for text, ids in pieces for delta in reader.feed(text, ids)] + reader.finish()
    assert "".join(delta.text for delta in deltas) == expected


def test_what_belongs_to_a_format_is_known() -> None:
    format = analyze(ROOT / "scripts" / "demo.jinja")
    for token in ("(:ponder:)", "(:ask", "(:asked:)", "[over]"):
        assert is_structure(format, token), token
    for token in ("<pad>", "[user]", "</s>"):
        assert not is_structure(format, token), token
