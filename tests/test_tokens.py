"""Tokens that are no part of a format are taken out of the text; text that only looks like them stays."""

from __future__ import annotations

import pytest
from conftest import ROOT

from chat_autoparser import ChatFormat, analyze
from chat_autoparser.serve import OutputReader
from chat_autoparser.serve.special import is_structure

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
