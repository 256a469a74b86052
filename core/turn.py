"""Where an assistant's turn begins and how it ends.

What stands between the user's text and the assistant's is the *header*: the end of the user's message and the beginning
of the assistant's. The generation prompt prints it too, and may put more behind it (an opened reasoning block, an opened
and closed one, the first half of a marker): the *prefix*. The header is what all renders have in common, whatever the
turn holds and whatever the switches say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product, takewhile
from typing import Any

from .format import Marker, Turn
from .marker import (
    cut_common_prefix,
    cut_common_suffix,
    find_common_suffix,
    is_blank,
    is_boundary,
    is_marked,
    make_marker,
    split_atoms,
)
from .probes import CONTENT, LATER, REASONING, RESULT, Call, Oracle, Question, Shape, with_switches

_SWITCH_VALUES: tuple[Any, ...] = (True, False, "none", "low", "high")


@dataclass
class Prompts:
    """The texts behind the user's message that the generation prompt ends with, by switch; ``default`` has none set."""

    default: str
    with_tools: str
    after_result: str = ""
    switched: dict[tuple[tuple[str, Any], ...], str] = field(default_factory=dict)

    def list_prefixes(self, header: str) -> list[str]:
        """Return what each generation prompt puts behind the header, the default's first."""
        last_line = find_last_line(header)
        prefixes = []
        for text in (self.default, *self.switched.values()):
            position = len(header) if text.startswith(header) else text.rfind(last_line) + len(last_line)
            prefixes.append(text[position:] if text.startswith(header) or last_line in text else "")
        return prefixes


def find_shape(oracle: Oracle) -> bool:
    """Find a shape in which the template renders a plain conversation; False where there is none."""
    for parts, system, always in product((False, True), repeat=3):
        shape = Shape(parts=parts, system=system, tools="always" if always else "as asked")
        if oracle.try_shapes(Question(), [shape], [CONTENT]) and oracle.ask(Question(prompt=True), shape) is not None:
            oracle.shape = shape
            return True
    return False


def ask_prompts(oracle: Oracle) -> Prompts:
    """Render the generation prompt plainly, with tools, after a tool result, and with each switch set."""
    default = oracle.ask(Question(prompt=True)) or ""
    if not is_blank(default) and (oracle.ask(Question()) or "").endswith(default):
        oracle.trailing = default
    prompts = Prompts(default, oracle.ask(Question(prompt=True, tools=True)) or default)
    for name in oracle.switches:
        for value in _SWITCH_VALUES:
            if isinstance(value, str) and _is_two_way(name, prompts):
                break
            text = oracle.ask(with_switches(Question(prompt=True), **{name: value}))
            if text is None or text.count(str(value)) > default.count(str(value)):
                continue  # what is printed as it is, is text and no switch
            if text != default and not is_blank(cut_common_prefix(text, default)):
                prompts.switched[((name, value),)] = text
    return prompts


def _is_two_way(name: str, prompts: Prompts) -> bool:
    """Whether a switch already showed an effect as a truth value, so that words need not be tried."""
    return any(name == set_name for switches in prompts.switched for set_name, _ in switches)


@dataclass(frozen=True)
class Header:
    """What stands between the user's text and the assistant's, without tools and with them."""

    plain: str
    with_tools: str

    def of(self, question: Question) -> str:
        """Return the header of the render of a question."""
        return self.with_tools if question.tools or question.calls else self.plain

    def shortened(self, length: int) -> Header:
        """Return the header without its last characters."""
        if length == 0:
            return self
        return Header(self.plain[:-length], self.with_tools[:-length])

    def read_body(self, oracle: Oracle, question: Question) -> str | None:
        """Return what a render has behind the header, or None where it is refused or has another header."""
        text = oracle.ask(question)
        header = self.of(question)
        if text is None or not text.startswith(header):
            return None
        return text[len(header) :]


def find_header(oracle: Oracle, prompts: Prompts) -> Header:
    """Return what all renders of an assistant's turn begin with."""
    plain = _find_common_header(prompts.default, list(_render_turns(oracle, False)))
    for switched in prompts.switched.values():
        plain = _shorten_header(plain, switched)
    prefix = prompts.default[len(plain) :]
    shared = find_common_suffix(prompts.default, prompts.with_tools)
    if len(shared) > len(prefix):
        return Header(plain, prompts.with_tools[: len(prompts.with_tools) - len(prefix)])
    return Header(plain, _find_common_header(prompts.with_tools, list(_render_turns(oracle, True))))


def _find_common_header(prompt: str, turns: list[str]) -> str:
    """Return the common beginning of a generation prompt and turns.

    A turn that shares nothing visible with the generation prompt was rendered under another header (a model cannot write
    that turn after this prompt) and is left out.
    """
    related = [turn for turn in turns if not is_blank(cut_common_prefix(prompt, turn))]
    return cut_common_prefix(prompt, *related) if related else ""


def _shorten_header(header: str, switched: str) -> str:
    """Shorten a header to what it shares with a prompt under a switch, unless the rest of it only comes later there."""
    shared = cut_common_prefix(header, switched)
    rest = header[len(shared) :].strip()
    return header if is_blank(shared) or (rest and rest in switched[len(shared) :]) else shared


def _render_turns(oracle: Oracle, tools: bool) -> Iterator[str]:
    for question in (
        Question(tools=tools),
        Question(tools=tools, after="user"),
        Question(tools=tools, reasoning=REASONING),
        Question(tools=tools, reasoning=REASONING, after="user"),
    ):
        text = oracle.ask(question)
        if text is not None and CONTENT in text:
            yield text.partition(CONTENT)[0].partition(REASONING)[0]


def split_at(text: str | None, *needles: str) -> list[str] | None:
    """Return the pieces of a text before, between and behind needles that stand in it in this order, else None."""
    if text is None:
        return None
    pieces, position = [], 0
    for needle in needles:
        found = text.find(needle, position)
        if found < 0:
            return None
        pieces.append(text[position:found])
        position = found + len(needle)
    return [*pieces, text[position:]]


def find_anchors(header: Header, prompts: Prompts) -> tuple[str, ...]:
    """Return the texts that stand right before what is generated, whatever the messages before were.

    Behind a user's message and behind a tool's result the header is the same but for its beginning, which closes the
    message before; where even that is not so (a template may print nothing behind a result), both are returned.
    """
    plain = cut_common_suffix(header.plain, header.with_tools) or header.plain
    behind_result = prompts.after_result
    last_line = find_last_line(plain)
    for start in range(len(plain) - len(last_line) + 1):
        if is_boundary(plain, start) and not is_blank(plain[start:]) and plain[start:] in behind_result:
            return (plain[start:],)
    for prefix in sorted(prompts.list_prefixes(header.plain), key=len, reverse=True):
        if prefix and behind_result.endswith(prefix):
            behind_result = behind_result.removesuffix(prefix)
            break
    last = behind_result[behind_result.rindex(split_atoms(behind_result)[-1]) :] if not is_blank(behind_result) else ""
    return tuple(dict.fromkeys(text for text in (plain, last) if not is_blank(text)))


def find_last_line(text: str) -> str:
    """Return the last line of a text that is not blank, with the white space behind it."""
    return text[len(text.rstrip().rpartition("\n")[0]) :].lstrip()


def ask_result_prompt(oracle: Oracle, calls: tuple[Call, ...]) -> str:
    """Return what the generation prompt puts behind the last tool result, or nothing where there is no such role."""
    text = oracle.render(Question(calls=calls, content=None, after="tool", prompt=True))
    if text is None or RESULT not in text:
        return ""
    return text[text.rindex(RESULT) + len(RESULT) + 1 :]


def find_following(oracle: Oracle, calls: tuple[Call, ...], closing: str) -> tuple[str, ...]:
    """Return what begins the message behind a turn: where a template prints no end of turn, generation stops there.

    ``closing`` is the last text of a turn that ends with a call.
    """
    found = split_at(oracle.ask(Question(after="user")), CONTENT, LATER)
    following = [found[1]] if found else []
    if calls and closing:
        found = split_at(oracle.ask(Question(content=None, calls=calls, after="tool")), closing, RESULT)
        following += [found[1]] if found else []
    return tuple(following)


def make_turn(header: Header, prompts: Prompts, endings: tuple[str, ...], continuation: Marker) -> Turn:
    """Describe a turn from its header, its endings (behind content, behind calls) and what opens a further message."""
    end: list[Marker] = []
    for ending in endings:
        end += [marker for marker in _split_end(ending, header) if marker.text not in [known.text for known in end]]
    return Turn(
        headers=find_anchors(header, prompts),
        continuation=continuation or _find_role_header(header, end),
        prefix=prompts.default[len(header.plain) :],
        end=tuple(end),
        stops=list_stops(endings),
    )


def _find_role_header(header: Header, end: list[Marker]) -> Marker:
    """Return the header of the assistant's role without what closes the message before it.

    A model may write it again, and some templates print it behind every turn. Only a header with a marker in it counts.
    """
    line = find_last_line(header.plain)
    for marker in end:
        line = line.removeprefix(marker.text)
    bracketed = any(is_marked(atom) for atom in split_atoms(line))
    return make_marker(line) if bracketed else Marker()


def extend_headers(turn: Turn, structure: list[str]) -> Turn:
    """Count what the generation prompt puts behind the header, before any structure, as header too.

    Some templates print the header of the role in one form in the history and in another in the generation prompt.
    """
    prefix = turn.prefix.strip()
    places = [prefix.index(text) for text in structure if text in prefix]
    lead = prefix[: min(places, default=len(prefix))].rstrip()
    if not lead or not turn.headers or any(text.startswith(lead) for text in structure):
        return turn
    return replace(turn, headers=(*turn.headers, turn.headers[0] + turn.prefix[: turn.prefix.index(lead) + len(lead)]))


def _split_end(ending: str, header: Header) -> list[Marker]:
    """Return the markers that end a turn: the first, and those behind it that are bracketed and begin no other message."""
    atoms = split_atoms(ending)
    foreign = set(split_atoms(header.plain)[1:])
    kept = takewhile(lambda atom: atom not in foreign and is_marked(atom), atoms[1:])
    return [replace(make_marker(atom), before=_space_before(ending, atom)) for atom in (*atoms[:1], *kept)]


def list_stops(endings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the strings on which generation should stop: the first marker of each ending."""
    firsts = [split_atoms(ending)[0] for ending in endings if ending.strip()]
    return tuple(dict.fromkeys(stop for stop in firsts if any(map(str.isalnum, stop))))


def list_following_stops(following: tuple[str, ...]) -> tuple[str, ...]:
    """Return the strings on which generation should stop where no end of turn is printed: what begins the next message.

    Its first marker is enough if that is bracketed. A header in plain words is taken up to the end of its line, and with
    the line break before it: a single word of it would stop any answer that has the word.
    """
    stops = []
    for text in following:
        line = text.strip().partition("\n")[0].rstrip()
        first = split_atoms(line)[0] if line else ""
        if not (first and is_marked(first)):
            first = ("\n" if "\n" in _space_before(text, first) else "") + line if first else ""
        stops.append(first)
    return tuple(dict.fromkeys(stop for stop in stops if any(map(str.isalnum, stop))))


def _space_before(text: str, atom: str) -> str:
    before = text.partition(atom)[0] if atom in text else ""
    return before[len(before.rstrip()) :]
