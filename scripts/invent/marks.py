"""Markers of invented formats: a shape from a table, a word for each part of a turn."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

# What stands before and after the word of an opening mark, and of a closing one. Attributes go between word and end.
SHAPES: dict[str, tuple[str, str, str, str]] = {
    "angle": ("<", ">", "</", ">"),
    "angle, vendor": ("<fx:", ">", "</fx:", ">"),
    "angle, spaced": ("< ", " >", "</ ", " >"),
    "double angle": ("<<", ">>", "<</", ">>"),
    "pipe": ("<|", "|>", "<|/", "|>"),
    "pipe, suffix": ("<|", "_begin|>", "<|", "_end|>"),
    "pipe, prefix": ("<|start_", "|>", "<|end_", "|>"),
    "pipe, upper": ("<|", "|>", "<|END_", "|>"),
    "pipe, vendor": ("<|fx:", ":fx|>", "<|fx:end_", ":fx|>"),
    "square pipe": ("[|", "|]", "[|/", "|]"),
    "triangles": ("◁", "▷", "◁/", "▷"),
    "wide pipe": ("<｜", "▁begin｜>", "<｜", "▁end｜>"),
    "square": ("[", "]", "[/", "]"),
    "square, upper": ("[", "]", "[/", "]"),
    "square, end": ("[", "]", "[END_", "]"),
    "double square": ("[[", "]]", "[[/", "]]"),
    "lenticular": ("【", "】", "【/", "】"),
    "guillemets": ("«", "»", "«/", "»"),
    "white square": ("⟦", "⟧", "⟦/", "⟧"),
    "corner": ("「", "」", "「/", "」"),
    "colons": ("(:", ":)", "(:/", ":)"),
    "double colons": ("::", "::", "::/", "::"),
    "colon words": (":", ":", ":end_", ":"),
    "comment": ("<!-- ", " -->", "<!-- /", " -->"),
    "comment, end": ("<!--", "-->", "<!--end ", "-->"),
    "block comment": ("/* ", " */", "/* end ", " */"),
    "dollar brace": ("${", "}", "${/", "}"),
    "percent": ("{%", "%}", "{%end", "%}"),
    "hashes": ("#", "#", "#/", "#"),
    "banner": ("=== ", " ===\n", "=== end ", " ===\n"),
    "dashes": ("---", "---", "---/", "---"),
    "arrows": (">>> ", "\n", "<<< ", "\n"),
    "at": ("@", "{", "}@", ""),
    "backslash": ("\\begin{", "}", "\\end{", "}"),
    "bare upper": ("BEGIN_", "\n", "END_", "\n"),
    "bare words": ("begin ", ": ", " end ", "; "),
    "signs": ("", "", "", ""),
}  # fmt: skip

UPPER = frozenset({"square, upper", "square, end", "pipe, upper", "bare upper"})

# What a part may be called.
POOLS: dict[str, tuple[str, ...]] = {
    "turn": ("turn", "start", "msg", "speaker", "im", "header", "role", "party"),
    "message": ("body", "says", "text", "message", "then", "payload_of"),
    "end": ("eot", "over", "done", "stop", "fin", "end_of_turn", "close"),
    "call end": ("eom", "await", "handoff", "pause", "to_tools", "call_over"),
    "middle": ("next", "more", "end_part", "and", "continue"),
    "reasoning": ("think", "thought", "plan", "scratchpad", "muse", "inner", "ponder", "analysis", "deliberation"),
    "content": ("answer", "say", "reply", "response", "final", "output", "speech"),
    "channel": ("channel", "kind", "mode", "lane", "to_whom"),
    "section": ("tool_calls", "functions", "actions", "invocations", "calls", "ops", "requests", "tool_block"),
    "call": ("call", "invoke", "action", "do", "fn_call", "run", "use", "step", "tool"),
    "name": ("name", "tool_name", "fn", "function", "api", "which"),
    "id": ("id", "ref", "call_id", "handle", "nr"),
    "arguments": ("args", "params", "input", "with", "parameters", "payload"),
    "key": ("key", "arg", "param", "k", "field", "slot", "arg_key"),
    "value": ("value", "val", "v", "is", "arg_value"),
    "separator": ("sep", "bar", "tab", "x", "brk"),
    "result": ("result", "observation", "tool_response", "returned"),
    "list": ("list", "items", "array", "seq"),
    "item": ("item", "el", "li", "entry_of"),
    "object": ("object", "map", "record", "struct"),
    "entry": ("entry", "pair", "member", "prop"),
}
PARTS = tuple(POOLS)
# What stands inside of values.
INNER = frozenset({"list", "item", "object", "entry"})
# What belongs to turns and messages, and not to what is said in them.
OUTER = frozenset({"turn", "message", "end", "call end", "middle", "channel", "result"})
# Twice as many as there are parts.
_SIGNS = "§¶†‡※◊○●△▲▽▼□■◇◆☆★♠♣♥♦⊢⊣⊤⊥⋄∎⌘⌂⏎⎔⟐⟡❖❥✦✧✪✱✲✳✴✵✶✷"
_SYLLABLES = ("ba", "ko", "mi", "ru", "ze", "ta", "lo", "fi", "ne", "su", "qua", "dri", "vol", "ast", "pel")


@dataclass(frozen=True)
class Marks:
    """How every part is marked: `words` in the order of `PARTS`; `closing` is "own" (the same word), "common" (one word for
    all) or "unlike" (other words, `ends`), `behind` stands after every mark. What makes turns and messages has the shape
    `outer`, which may be another one: special tokens around a turn, plain tags inside."""

    shape: str
    outer: str
    words: tuple[str, ...]
    closing: str
    ends: tuple[str, ...]
    behind: str

    def word(self, part: str) -> str:
        return self.words[PARTS.index(part)]

    def open(self, part: str, more: str = "") -> str:
        """The opening mark of a part, with more inside."""
        return "".join(self.cut_open(part)) if not more else more.join(self.cut_open(part))

    def find_shape(self, part: str) -> tuple[str, str, str, str]:
        return SHAPES[self.outer if part in OUTER else self.shape]

    def cut_open(self, part: str) -> tuple[str, str]:
        """The opening mark, cut where an attribute goes."""
        left, right, _, _ = self.find_shape(part)
        return left + self.word(part), right + self.behind

    def close(self, part: str) -> str:
        return "".join(self.cut_close(part))

    def cut_close(self, part: str) -> tuple[str, str]:
        _, _, left, right = self.find_shape(part)
        number = 0 if self.closing == "common" else PARTS.index(part)
        return left + (self.word(part) if self.closing == "own" else self.ends[number]), right + self.behind

    def around(self, part: str) -> tuple[str, str, str, str]:
        """The shape around a word that is a field: before and after it in an opening mark, and in a closing one."""
        left, right, close_left, close_right = self.find_shape(part)
        return left, right + self.behind, close_left, close_right + self.behind


def draw_marks(choose: random.Random, manner: str) -> Marks:
    """Marks of any shape, with words drawn in this manner."""
    shape = choose.choice(list(SHAPES))
    outer = shape if choose.random() < 0.5 else choose.choice([other for other in SHAPES if other != "signs"])
    closing = choose.choice(("own",) * 7 + ("common", "unlike"))
    behind = choose.choice(("",) * 12 + ("<|sep|>", "|", "\t"))
    words = draw_words(choose, shape, outer, manner)
    # What stands inside of values is drawn for itself, so that a seed means the formats that it meant before.
    later = random.Random(" ".join(words))
    sources = (later if part in INNER else choose for part in PARTS)
    befores = [source.choice(("end", "so", "over", "after")) for source in sources]
    ends = [before + word[::-1].replace("_", "") for before, word in zip(befores, words, strict=True)]
    if shape == "signs":
        # A sign says nothing about what it closes.
        ends = [_SIGNS[len(PARTS) + number] for number in range(len(PARTS))]
        closing = "unlike"
    return Marks(shape, outer, words, closing, tuple(ends), behind)


def number_words(marks: Marks, digits: str) -> Marks:
    """Marks with a number in each word; `digits` is how, with {} for the word ("-": none). Signs stay as they are."""
    if digits == "-":
        return marks
    words = (word if word in _SIGNS else digits.format(word) for word in marks.words)
    ends = (word if word in _SIGNS else digits.format(word) for word in marks.ends)
    return replace(marks, words=tuple(words), ends=tuple(ends))


def draw_words(choose: random.Random, shape: str, outer: str, manner: str) -> tuple[str, ...]:
    """A word for each part, all different: `manner` is plain, made up, alike at the start or alike at the end."""
    words: list[str] = []
    stem = choose.choice(("tool", "fx", "agent", "m", "ctl"))
    later = random.Random(f"{shape} {stem}")  # for what stands inside of values, as in `draw_marks`
    for number, part in enumerate(PARTS):
        own = outer if part in OUTER else shape
        word = _SIGNS[number] if own == "signs" else ""
        while not word or word in words:
            word = _draw_word(later if part in INNER else choose, part, manner, stem)
            word = word.upper() if own in UPPER else word
        words.append(word)
    return tuple(words)


def _draw_word(choose: random.Random, part: str, manner: str, stem: str) -> str:
    if manner == "made up":
        return "".join(choose.choice(_SYLLABLES) for _ in range(choose.randint(2, 3)))
    word = choose.choice(POOLS[part])
    return {"alike at the start": f"{stem}_{word}", "alike at the end": f"{word}_{stem}"}.get(manner, word)
