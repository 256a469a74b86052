"""Conversations for the proof, drawn afresh: no word, length or shape of them was used when the format was derived."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

from ..ask.question import LESS_TOLD, Call, Question, Shape, Switches, Told

_WORDS = (
    "amber", "bridge", "canal", "dune", "ember", "fjord", "grove", "hollow", "island", "jetty", "kiln", "lantern", "meadow",
    "nettle", "orchard", "pebble", "quarry", "river", "summit", "thicket", "upland", "valley", "willow"
)  # fmt: skip
_NAMES = ("find_{}", "{}", "get-{}", "{}_now", "lookup{}", "a_{}_of_the_day")
_KEYS = ("{}", "max_{}", "{}Code", "is_{}", "{}2", "the_{}_name")
_ODD_KEYS = ("{} {}", "{}-{}", "the.{}", "{}: {}")
_RETURNS = "Nothing, or what was found"
"""What tools return: prompts in which their declarations stand last end with other words than when the format was derived."""
_NAMED = re.compile(r"[\w.-]{0,20}\w[\w.-]{0,20}")
"""What may be called so in a request."""
_PLAIN = re.compile(r"[\w.:/-]{1,40}")
_SINGLE = 8
_FEW = 5  # calls of a turn, and arguments of a call
_Value = TypeVar("_Value")
_ID_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"

STRINGS: tuple[tuple[str, ...], ...] = (
    ("plain", "two words", "A longer sentence, with a comma; and more."),
    ('He said "no".', "it's", "both \" and '", '"'),
    ("C:\\new\\table", "\\", "ends with \\"),
    ("first\nsecond", "a\n\n  b\tc", "line\r\nline"),
    ("code:\n```sh\nx\n```\nso", "# a\n> b\n- c: d\n| e |", "[f]\n<g>\n{h}\n(i)"),
    ("<b>bold</b> & <i/>", "&amp; [x] {y}", "100% #1 @home $5 `code` ~ ^ |"),
    ("007", "true", "null", "-3.5", "[1, 2]", '{"a": 1}'),
    ("naïve", "日本語", "🦓 ok", "Ω≈ç", "joined\u200dand\xa0apart"),
)
"""Strings by class; those of one class stand in one call."""
ODD_STRINGS = (("",), ("  indented", "trailing ", "\n", "a line\n"))
"""Strings that some templates trim or leave out."""
TYPED: tuple[tuple[Any, ...], ...] = (
    (-17, 2.25, True),
    (False, ["x", "<y> & z"], {"deep": "#1 [x] {y} 5% | ~"}),
    ([], {}, 0),
    ([1, [2.5e-07, "q"], {"z": [True, False]}], {"m": {"n": 'it\'s "so"'}, "o": 3}),
    (12345678, 1e-05, "last"),
    ({"k1": "v 1", "k2": ["w", 7], "k3": False}, ["only"]),
    (True, False, False, 5),
)
"""Arguments of other types."""
LONG: tuple[Any, ...] = (
    "\n".join(f"Line {number} of many." for number in range(12)),
    [[], {"e": {}, "f": []}, *range(9)],
    2**31 + 5,
    "one line, " * 21 + "and its end",
    2.0,
    10**16,
    {**{f"k{number}": "" for number in range(8)}, "of": {"none": []}},
)
"""Values that are longer or larger than where a template may write others; an id is waited for behind each of them."""
NULLS: tuple[tuple[Any, ...], ...] = ((None, "x"), ([None, "x"], {"n": None}), (True, None, None))

PLAIN_TEXTS = ("{}.", "The {} is open until noon.", "One {}\nand another {}.")
HARD_TEXTS = (
    'First: {{"stripes": [4, "two"]}}, <i>not</i> a call.\n\n- a \'quoted\' {}\n- C:\\dir & 3 < 4\n\nDone – ünï ✓?',
    'Let me see … "{}" isn\'t [1, 2]; `f(x=1)`\n\n```\ncode\n```\n* or else {{}}',
)
LONG_TEXT = "The {} is long. " + "It goes on for as many words as a thought may have. " * 8 + "\n\nIt ends here.\n- a\n- {}"
LINED_TEXTS = ('[4, "{}"] {{}}\n> so\n# {}\n| a | b |\n- c: d\n; e\n<i>\n. f = g', "@{} (x)\n/ y\n* {}!")
"""Lines that begin with signs, as those of a notation may."""


@dataclass(frozen=True)
class Case:
    """A turn to be read back, in a shape, and the part of the format that it tests; ``known`` is whether what reads it is given the
    tools, ``named`` whether its calls have to be printed by their names, if any are."""

    aspect: str
    question: Question
    shape: Shape
    known: bool = True
    named: bool = False

    @classmethod
    def of(cls, question: Question, shape: Shape, known: bool = True) -> Case:
        """Return the case of a question: it tests reasoning if it has any, else calls, else content."""
        question = replace(question, returns=_RETURNS)
        return cls("reasoning" if question.reasoning else "tools" if question.calls else "content", question, shape, known)


class Drawer:
    """Draws fresh fields. No word comes twice, so that where a word stands its field does."""

    def __init__(self, seed: str) -> None:
        self.choose = Random(seed)
        self._drawn: set[str] = set()

    def word(self) -> str:
        """Return a new word."""
        word = self.choose.choice(_WORDS) + self.choose.choice("aeiou") + self.choose.choice("bcdfgklmnprstvwxz")
        if word in self._drawn:
            return self.word()
        self._drawn.add(word)
        return word

    def text(self, patterns: Sequence[str] = PLAIN_TEXTS) -> str:
        """Return prose of one of the given patterns."""
        pattern = self.choose.choice(patterns)
        return pattern.format(*(self.word() for _ in range(pattern.count("{}"))))

    def names(self, patterns: Sequence[str], count: int) -> list[str]:
        """Return different names, none of which begins another."""
        found: list[str] = []
        while len(found) < count:
            name = self.choose.choice(patterns).format(self.word())
            if not any(name.startswith(other) or other.startswith(name) for other in found):
                found.append(name)
        return found

    def id(self) -> str:
        """Return an id of nine letters and digits."""
        return "".join(self.choose.choice(_ID_LETTERS) for _ in range(9))

    def strings(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return arguments with the given values and drawn keys."""
        return dict(zip(self.names(_KEYS, len(values)), values, strict=True))

    def odd_keys(self) -> dict[str, Any]:
        """Return arguments, and members of one, whose keys are no words."""
        one, two, three, four = (pattern.format(self.word(), self.word()) for pattern in _ODD_KEYS)
        inner = {self.text(_ODD_KEYS[1:2]): 7, self.word(): True}
        return {one: f"{self.word()}\n{self.word()}", two: inner, three: 3, self.word(): self.word(), four: [self.word()]}

    def simple(self) -> dict[str, Any]:
        """Return a few plain arguments."""
        values = [self.word(), self.choose.randrange(2, 900), self.text(), self.choose.random() < 0.5]
        return self.strings(values[: self.choose.randrange(1, 4)])

    def calls(self, shape: Shape, arguments: Sequence[dict[str, Any]], alike: bool = False) -> tuple[Call, ...]:
        """Return a call for each object of arguments, all ``alike`` in the tool that they call; none are without ids, which may
        be all that tells such calls from each other."""
        names = self.names(_NAMES, len(arguments))
        if alike and shape.ids:
            names = names[:1] * len(names)
        elif len(names) > 2 and shape.ids and self.choose.random() < 0.5:
            names[1] = names[0]
            arguments = [*arguments[:1], {**arguments[0]}, *arguments[2:]]
        ids = [f"functions.{name}:{n}" if shape.named_ids else self.id() if shape.ids else "" for n, name in enumerate(names)]
        return tuple(Call.of(name, ident, one) for name, ident, one in zip(names, ids, arguments, strict=True))


def draw_cases(
    seed: str,
    shape: Shape,
    calling: Sequence[Shape],
    settings: Sequence[Switches],
    signs: Sequence[str] = (),
    asked: Sequence[str] = (),
    read: Sequence[str] = (),
) -> Iterator[Case]:
    """Draw the cases of a proof, those first that fail the soonest; ``signs`` are rare ones that the template has, ``asked`` the
    texts that it asks for, ``read`` what it reads by name."""
    drawer = Drawer(seed)
    if signs:
        yield from _draw_signs(drawer, shape, calling, signs)
    for switches in settings:
        yield from _draw_plain(drawer, shape, switches)
        for number, each in enumerate(calling):
            if not switches:
                yield from _draw_calls(drawer, each, thorough=not number)
                yield from _draw_resumed(drawer, each)
            yield from _draw_mixed(drawer, each, switches)
    yield from _draw_around(drawer, shape, calling)
    yield from _draw_long(drawer, shape, calling)
    for each in calling[:1]:
        yield from _draw_asked(drawer, each, asked, read)


def _draw_around(drawer: Drawer, shape: Shape, calling: Sequence[Shape]) -> Iterator[Case]:
    """Draw turns in conversations with a message of the system, or without one, and in longer ones."""
    for turned, earlier in ((True, 0), (False, 2)):
        around, *others = (replace(each, system=each.system != turned) for each in (shape, *calling[:1]))
        for thought in (None, drawer.text()):
            yield Case.of(Question(thought, drawer.text(), earlier=earlier), around)
        for each in others:
            calls = drawer.calls(each, [drawer.simple(), drawer.simple()])
            yield Case.of(Question(None, drawer.text(), calls, earlier=earlier), each)


def _draw_long(drawer: Drawer, shape: Shape, calling: Sequence[Shape]) -> Iterator[Case]:
    """Draw what is longer, larger and more than elsewhere."""
    yield Case.of(Question(drawer.text([LONG_TEXT]), drawer.text([LONG_TEXT])), shape)
    for each in calling:
        yield Case.of(Question(calls=drawer.calls(each, [drawer.strings([value]) for value in LONG])), each)
        yield Case.of(Question(calls=drawer.calls(each, [drawer.strings([*range(7), drawer.word(), False])])), each)


def _draw_asked(drawer: Drawer, shape: Shape, asked: Sequence[str], read: Sequence[str]) -> Iterator[Case]:
    """Draw calls with what a template asks for as names, keys and strings, alone and with more behind or before it; what it may
    ``read`` of arguments by name is given, too."""
    named = [text for text in asked if _NAMED.fullmatch(text)]
    amid = [f"{drawer.word()}{text}{drawer.word()}" for text in named]
    for name in (*named[:_SINGLE], *amid[:_SINGLE]):
        (call,) = drawer.calls(shape, [{**drawer.simple(), **dict.fromkeys(read, drawer.word())}])
        yield replace(Case.of(Question(calls=(call.rename(name),)), shape), named=True)
    for names in _part([f"{text}{drawer.word()}" for text in named]):
        calls = drawer.calls(shape, [drawer.simple() for _ in names])
        yield Case.of(Question(calls=tuple(call.rename(name) for call, name in zip(calls, names, strict=True))), shape)
    first = [{**dict.fromkeys(keys, 5), drawer.word(): drawer.word()} for keys in _part(named)]
    last = [{drawer.word(): True, **{key: drawer.word() for key in keys}} for keys in _part(named)]
    plain = [text for text in asked if _PLAIN.fullmatch(text)]  # a sign of the format's own may end a text
    texts = [*plain, *(f"{text}{drawer.word()}" for text in plain), *(f"{drawer.word()}{text}" for text in plain)]
    values = [drawer.strings(values) for values in _part(texts)]
    for arguments in _part([*first, *last, *values]):
        yield Case.of(Question(calls=drawer.calls(shape, arguments)), shape)


def _part(values: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    """Part values among calls, or calls among turns."""
    return (values[place : place + _FEW] for place in range(0, len(values), _FEW))


def _draw_signs(drawer: Drawer, shape: Shape, calling: Sequence[Shape], signs: Sequence[str]) -> Iterator[Case]:
    """Draw texts with signs of the template's in them."""
    text = "".join(f"{drawer.word()}{sign}" for sign in signs) + drawer.word()
    yield Case.of(Question(content=text), shape)
    yield Case.of(Question(text, drawer.word()), shape)
    for each in calling:
        yield Case.of(Question(calls=drawer.calls(each, [drawer.strings([text, drawer.word()])])), each)


def _draw_plain(drawer: Drawer, shape: Shape, switches: Switches) -> Iterator[Case]:
    for tools in (True, False) if not switches else (True,):
        yield Case.of(Question(None, drawer.text(), switches=switches, tools=tools), shape)
        yield Case.of(Question(drawer.text(), drawer.text(), switches=switches, tools=tools), shape)
    yield Case.of(Question(None, drawer.text(HARD_TEXTS), switches=switches), shape)
    yield Case.of(Question(drawer.text(HARD_TEXTS), drawer.text(HARD_TEXTS), switches=switches), shape)
    if not switches:
        yield from (Case.of(Question(None, drawer.text([lines])), shape) for lines in LINED_TEXTS)
    yield Case.of(Question(drawer.text(), None, switches=switches), shape)


def _draw_calls(drawer: Drawer, shape: Shape, thorough: bool) -> Iterator[Case]:
    groups: list[list[dict[str, Any]]] = [[drawer.simple()], [{}], [drawer.simple(), drawer.simple()]]
    groups += [[drawer.strings(values)] for values in (*STRINGS, *TYPED)]
    if thorough:
        groups += [[drawer.strings(values)] for values in (*ODD_STRINGS, *NULLS)]
        groups += [[drawer.simple(), {}, drawer.strings(TYPED[3])], [{}, {}], [{}, drawer.simple(), drawer.simple(), {}]]
        groups += [[drawer.strings([{"x": "y"}, drawer.word(), False]), drawer.strings([{"x": "y"}])]]

    def call(arguments: list[dict[str, Any]], told: Told = "type", known: bool = True, alike: bool = False) -> Case:
        return Case.of(Question(calls=drawer.calls(shape, arguments, alike), told=told), shape, known)

    yield from map(call, groups)
    if thorough:
        for told in LESS_TOLD:
            yield call([drawer.strings([drawer.word(), drawer.choose.randrange(2, 900), drawer.text()])], told=told)
        yield call([drawer.strings([drawer.word(), None])], told="types")
        yield call([drawer.odd_keys()])
        yield call([drawer.strings([drawer.text(), drawer.word()])], known=False)
        yield call([drawer.strings([drawer.choose.randrange(2, 900), drawer.text(), drawer.word()])], told="most")
    yield call([drawer.simple(), drawer.simple(), {}], alike=True)


def _draw_mixed(drawer: Drawer, shape: Shape, switches: Switches) -> Iterator[Case]:
    """Draw calls beside reasoning and content."""
    mixes = ((0, 1, 1), (1, 0, 1), (1, 1, 2), (1, 0, 3), (0, 1, 2), (0, 0, 1))
    for reasoning, content, count in mixes[: 3 if switches else 6]:
        thought = drawer.text() if reasoning else None
        said = drawer.text(HARD_TEXTS if count == 2 else PLAIN_TEXTS) if content else None
        yield Case.of(Question(thought, said, drawer.calls(shape, [drawer.simple() for _ in range(count)]), switches), shape)


def _draw_resumed(drawer: Drawer, shape: Shape) -> Iterator[Case]:
    """Draw answers to the result of a tool."""
    yield Case.of(Question(None, drawer.text(), resumed=True), shape)
    for count in (1, 2):
        yield Case.of(Question(calls=drawer.calls(shape, [drawer.simple() for _ in range(count)]), resumed=True), shape)
    yield Case.of(Question(drawer.text(), drawer.text(), resumed=True), shape)
