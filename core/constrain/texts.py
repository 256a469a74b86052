"""Texts and numbers as a format writes them."""

from __future__ import annotations

import re
from dataclasses import replace

from ..errors import ConstraintError
from ..format import Node, Numeral
from ..format import Text as Codec
from ..format.cut import COUNTER, cut_common_start
from .tree import Chars, Repeat, Text, Tree, Until, choose, join, maybe
from .walk import Walk

_DIGIT = (("0", "9"),)
_HEX = (("0", "9"), ("A", "F"), ("a", "f"))
_CONTROL = ("\0", "\x1f")
_KEY = re.compile(r"[^\s<>\"'=/(){}\[\],:|\\][^\s<>\"'=(){}\[\],:|\\]{0,127}")
_ODD_KEY = re.compile(r"[\w.:/@$ -]+")  # in quotes


def find_ends(walk: Walk, node: Node) -> tuple[str, ...]:
    """Return what must not stand in a raw value: what all texts behind it have in common, else each of them.

    Layout at their beginning counts only where it cannot stand in the value itself.
    """
    if walk.quoted and not isinstance(node.codec, Codec):
        return ()
    texts = [text.partition(COUNTER)[0] for found in walk.list_exits(node.name).values() for text in found]
    texts = [walk.cut_stop(text)[0] or text for text in texts]
    common = cut_common_start(texts) if texts else ""
    escaped = tuple(node.codec.images) if isinstance(node.codec, Codec) else ()
    shown = filter(None, [common] if common.strip() else texts)
    cut = (text if text.startswith(escaped) else text.strip().partition("\n")[0].rstrip() or text for text in shown)
    ends = sorted(dict.fromkeys(cut), key=len)
    return tuple(end for number, end in enumerate(ends) if not end.startswith(tuple(ends[:number])))


def write_text(codec: Codec, ends: tuple[str, ...]) -> Tree:
    """Return the tree of any text in a notation that holds none of the ends."""
    ends, table = _list_open(ends, codec), codec.images
    if codec.starts:
        return join(maybe(choose(*(Text(written) for written, _ in codec.starts))), write_text(replace(codec, starts=()), ends))
    if not table:
        return Until(ends) if ends else Chars((), negated=True, least=0, most=None)
    escapes = [*(Text(written) for written, char in codec.escapes if written != char), *map(_write_numeral, codec.numerals)]
    if ends or max(map(len, table)) > 1:
        plain = Until((*ends, *sorted(table)))
        return join(plain, Repeat(join(choose(*escapes), plain)))
    raw = [(char, char) for char in sorted(table)] + ([_CONTROL] if codec.numerals else [])
    return Repeat(choose(Chars(tuple(raw), negated=True), *escapes))


def _list_open(ends: tuple[str, ...], codec: Codec) -> tuple[str, ...]:
    """Return those ends that no escape keeps out of a text."""
    escaped = tuple(codec.images)
    return tuple(end for end in ends if not end.startswith(escaped))


def _write_numeral(numeral: Numeral) -> Tree:
    """Return the tree of a character by its number: of one unit of it, where it has several."""
    size = numeral.digits
    digits = _DIGIT if numeral.kind == "decimal" else _HEX
    return join(Text(numeral.before), Chars(digits, least=size or 1, most=size or 6), Text(numeral.after))


def encode_text(text: str, codec: Codec) -> str:
    """Return a text as a template writes it in a notation."""
    for written, char in codec.starts:
        if text.startswith(char):
            return written + encode_text(text[len(char) :], replace(codec, starts=()))
    table, numerals = codec.images, codec.numerals
    if not (table or numerals):
        return text
    units = "|".join(map(re.escape, sorted(table, key=len, reverse=True))) or "(?!)"
    return re.sub(f"{units}|.", lambda unit: table.get(unit[0]) or _encode_number(unit[0], numerals), text, flags=re.DOTALL)


def _encode_number(char: str, numerals: tuple[Numeral, ...]) -> str:
    if char.isprintable():
        return char
    fitting = [numeral for numeral in numerals if ord(char) < 256 or numeral.kind != "byte"]
    return fitting[-1 if ord(char) > 0xFFFF else 0].write(char) if fitting else char


def spell_text(word: str, codec: Codec, ends: tuple[str, ...]) -> str | None:
    """Return a text as a notation writes it, or None where it holds what would end it."""
    written = encode_text(word, codec)
    return None if any(end in written for end in _list_open(ends, codec)) else written


def spell_key(name: str, node: Node) -> str:
    """Return a key as a node writes it. Raises :class:`ConstraintError` for one that could be taken for other signs."""
    codec = node.codec if isinstance(node.codec, Codec) else Codec()
    plain = _ODD_KEY if node.signs else _KEY
    if not codec.escapes and not plain.fullmatch(name):
        raise ConstraintError(
            f"constraining calls: the parameter {name!r} has signs in its name that this model's format may need itself"
        )
    return encode_text(name, codec)


def write_within(leaf: Tree, codec: Codec) -> Tree:
    """Return a leaf of a tree as it is written inside a text of a notation."""
    if isinstance(leaf, Text):
        return Text(encode_text(leaf.text, codec))
    if isinstance(leaf, Chars) and leaf.negated:
        refused = {first for first, last in leaf.ranges if first == last}
        table = {char: written for char, written in codec.images.items() if len(char) == 1 and char not in refused}
        plain = Chars((*leaf.ranges, *((char, char) for char in sorted(table))), negated=True)
        return Repeat(choose(plain, *map(Text, table.values())), leaf.least, leaf.most) if table else leaf
    return leaf


def write_number(whole: bool) -> Tree:
    """Return the tree of numbers, as JSON writes them."""
    more = Chars(_DIGIT, least=0, most=30)
    integer = join(maybe(Text("-")), choose(Text("0"), join(Chars((("1", "9"),)), more)))
    if whole:
        return integer
    digits, sign = Chars(_DIGIT, least=1, most=30), maybe(choose(Text("+"), Text("-")))
    exponent = join(choose(Text("e"), Text("E")), sign, Chars(_DIGIT, least=1, most=3))
    return join(integer, maybe(join(Text("."), digits)), maybe(exponent))
