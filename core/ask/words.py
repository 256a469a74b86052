"""Words for the fields of a question, so unlikely that wherever one is printed it is the field.

Those of one kind ascend with their number, so that a template that sorts changes nothing.
"""

from __future__ import annotations

import re

_LETTERS = "abcdefghijklmnoprstuvwy"
_MIDDLE, _END = "zq", "x"
_SHAPE = re.compile(rf"{_MIDDLE}[{_LETTERS}]{{3,4}}{_END}")

USER = "uzqwhatx"
"""What the user says before the turn."""
LATER = "uzqthenx"
"""What the user says behind the turn."""
RESULT = "tzqdonex"
"""What a tool answers."""
SYSTEM = "szqrulex"
"""What the system's message says."""
UNREAD = "szqlostx"
"""Stands in a field that no template reads: where it is printed, a whole object was dumped."""


def make_word(kind: str, number: int = 0) -> str:
    """Return the word of a kind (a few letters) and a number."""
    letters = [_LETTERS[number // 23**place % 23] for place in (2, 1, 0)]
    return kind + _MIDDLE + "".join(letters) + _END


def make_id(number: int) -> str:
    """Return an id: nine letters and digits, the shape that the most templates take."""
    return f"i{make_word('', number)}00"


def holds_word(text: str) -> bool:
    """Whether a word that was made for a question stands in a text."""
    return _SHAPE.search(text) is not None


def make_named_id(name: str, number: int) -> str:
    """Return an id in which the name of a tool stands between other things."""
    return f"tools.{name}:{number}"


def drop_words(text: str) -> str:
    """Return what stands behind the last word that was made for a question."""
    return re.split(rf"\w*{_SHAPE.pattern}\d*", text)[-1]


def find_make(word: str) -> str:
    """Return a pattern for all words of the same kind as a word or id; few patterns serve all questions."""
    return _SHAPE.pattern.join(re.sub(r"\d+", lambda _: r"\d+", re.escape(part)) for part in _SHAPE.split(word))
