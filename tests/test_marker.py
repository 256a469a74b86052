"""Where one marker ends and the next begins."""

from __future__ import annotations

import pytest

from chat_autoparser.marker import cut_common_prefix, cut_common_suffix, find_signs, is_boundary, is_marked, split_atoms
from chat_autoparser.scanner import split_atoms as split_literal


@pytest.mark.parametrize(
    ("text", "atoms"),
    [
        ("<a><b c>\nd(", ["<a>", "<b", "c", ">", "d", "("]),
        ("<|a|><|b|>word<c>", ["<|a|>", "<|b|>", "word", "<c>"]),
        ("§a§", ["§a§"]),
        ("§a§§b§\n§c§word\n", ["§a§", "§b§", "§c§", "word"]),
        ("§/a§§/b§", ["§/a§", "§/b§"]),
        ("**a****b**", ["**a**", "**b**"]),
        ("word§a§\n", ["word", "§a§"]),
        ("§\n§a=", ["§", "§a="]),  # what stands between two fields of `§a=b§`
        ("#a##b#§c§", ["#a#", "#b#", "§c§"]),
        ("a|b|c", ["a", "|b", "|c"]),  # nothing tells which one opens
        ("a * b", ["a", "*", "b"]),
    ],
)
def test_atoms(text: str, atoms: list[str]) -> None:
    assert split_atoms(text) == atoms
    assert "".join(split_literal(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a, b: c; d. e=f -g/h", ""),
        ("<|a|> <~b~>", ""),
        ("§a§§b§", "(a)(b)"),
        ('§a b="c"§d§/a§\n', '(a b="c")d(/a)'),
        ("d§/a§\n", "d(/a)"),
        (")d§/a§".replace(")", "§") + "\n", ")d(/a)"),
        ("§a§b§c§\n§d", "(a)b(c)(d"),
        ("a§ b§ c", ""),  # both close
        ("§§§a§", ""),
    ],
)
def test_signs_open_and_close_in_turns(text: str, expected: str) -> None:
    signs = find_signs(text)
    if not expected:
        assert signs == ()
        return
    written = list(text)
    for sign in signs:
        written[sign.start : sign.end] = ["(" if sign.opening else ")"]
    assert "".join(written).replace("\n", "") == expected


def test_no_boundary_inside_a_marker() -> None:
    for text in ("<abc>", "§abc§", "**abc**"):
        assert not any(is_boundary(text, place) for place in range(1, len(text)))
    assert cut_common_prefix("§a_begin§x", "§a_end§x") == ""
    assert cut_common_prefix("§a§§b§x", "§a§§c§x") == "§a§"
    assert cut_common_prefix("<a><|b| one>\n</a>", "<a><|b| one></a>") == "<a><|b| one>"
    assert cut_common_prefix("<a><|b| one>x", "<a><|b| one>y") == "<a><|b| one>"
    assert cut_common_suffix("</|b| one>\n</a>", "</|b| two>\n</a>") == "\n</a>"  # no tag loses its end


def test_what_stands_between_marks_is_marked() -> None:
    assert all(map(is_marked, ("<a>", "§a§", "[a]", "**a**")))
    assert not any(map(is_marked, ("a", "§a", "a§", "<a", "§")))
