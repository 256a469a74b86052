"""What was derived about the way a model writes, as plain frozen data.

A :class:`ChatFormat` is the whole interface between the analysis, which makes it by questioning a template, and the
parser, which only ever sees this. It holds text and numbers and nothing else: it can be compared, pickled, printed,
written as JSON and read back.

**Markers.** A :class:`Marker` is text that is structure. The layout white space the template prints around it is kept
apart, in ``before`` and ``after``: a model that leaves a line break out, or adds one, has still written the marker, and
only the white space that the template itself adds is taken off the text beside it.

**The shape of an assistant's turn.** After the header of the turn come blocks, in any order the model likes: reasoning,
content, calls. Each has markers around it, or none: content usually has none, and is what is left. The calls of a turn
may stand in a *section*; inside it each call may have a wrapper of its own, and between two calls there may be a
separator. A call is written in one of two ways: as a JSON object (:class:`ObjectBody`), or as a sequence of fields with
fixed text between them (:class:`SequenceBody`).

**Notation.** An :class:`ObjectNotation` says how an object is written, whatever the language: what opens it, what stands
before a key, between key and value, after a value, between two entries, and what closes it. JSON, keyword arguments of a
call, tags with a name and nested markup differ only in these texts.

``NAME`` and ``KEY`` stand inside a text for the name of the call and the key of the entry, where the template repeats
them (``</NAME>``). In a :class:`Layout`, ``ID``, ``ARGUMENTS`` and ``COUNTER`` stand for the other fields of a call.

**Layout.** A reader is generous with white space, so the markers keep only what it needs. Who writes calls, or holds a
model to writing them, needs each character: :class:`Layout` is the text of a turn with calls as the template prints it.
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .parser import StreamParser
    from .response import ResponseTemplate
    from .splitter import ReasoningSplitter
    from .validation import Problem

VERSION = 1

TAUGHT = "taught by example"

NAME = "\ue000"
KEY = "\ue001"
ID = "\ue002"
ARGUMENTS = "\ue003"
COUNTER = "\ue004"


@dataclass(frozen=True)
class Marker:
    """Structure text, and the layout white space that the template prints around it."""

    text: str = ""
    before: str = ""
    after: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def written(self) -> str:
        """The marker as the template prints it, layout included."""
        return self.before + self.text + self.after


@dataclass(frozen=True)
class Turn:
    """Where an assistant's turn begins and ends.

    ``headers`` are the texts that may stand right before what the model generates: the end of the last message (or as
    much of it as is fixed) and the header of the assistant's. ``continuation`` opens a further message of the same turn
    (empty where a turn is one message). ``header_end`` is set where each message carries a header of free fields that
    ends with this marker. ``prefix`` is what the generation prompt puts after the header when no switch is set.
    ``end`` are the atoms that close a turn, in the order in which they are written; ``stops`` the strings on which
    generation should stop.
    """

    headers: tuple[str, ...] = ()
    continuation: Marker = Marker()
    header_end: str = ""
    prefix: str = ""
    end: tuple[Marker, ...] = ()
    stops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """What the generation prompt puts after the header when the given switches are set.

    ``state`` is what the model continues: ``"open"`` (nothing begun), ``"reasoning"`` (inside it) or ``"content"``
    (reasoning is over, or was closed by the prompt).
    """

    switches: tuple[tuple[str, str], ...]
    prefix: str
    state: Literal["open", "reasoning", "content"]


@dataclass(frozen=True)
class Reasoning:
    """How reasoning is written.

    With an empty ``start`` reasoning begins where the turn begins. ``scope`` says in which turns the template prints it.
    ``field`` names the message field the template reads it from (``"parts"``: a part of typed content; ``"content"``: it
    stands inside the content and the template cuts it out). With ``blank``, an empty block comes back with the next turn
    only if its white space is reasoning: the template prints the block for that, and none without reasoning.
    """

    start: Marker
    end: Marker
    field: str
    scope: Literal["always", "with calls", "never printed"] = "always"
    blank: bool = False


@dataclass(frozen=True)
class Content:
    """How content is written: plain (both markers empty), or between markers."""

    start: Marker = Marker()
    end: Marker = Marker()
    wrapped: Literal["never", "always", "after reasoning", "with calls"] = "never"


@dataclass(frozen=True)
class StringNotation:
    """How a string is written: what opens it, what closes it, and how single characters are escaped inside.

    Raw text (until whatever follows) has an empty ``start`` and ``end``. ``escapes`` holds (character, written) pairs for
    the characters that are not written as themselves.
    """

    start: str = ""
    end: str = ""
    escapes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Slot:
    """The place of a value: the text between its key and it, and the text after it.

    ``holds`` says which values stand in such a slot: ``"any"``, only ``"string"``, or only ``"other"`` values; a
    template that marks types writes a different ``start`` for each.
    """

    start: Marker
    end: Marker
    holds: Literal["any", "string", "other"] = "any"


@dataclass(frozen=True)
class ObjectNotation:
    """How an object is written. ``slots`` has one entry, or one for each kind of value that is told apart."""

    start: str
    key_start: str
    slots: tuple[Slot, ...]
    separator: str
    end: str


@dataclass(frozen=True)
class ListNotation:
    """How a list is written."""

    start: str
    item_start: str
    item_end: str
    separator: str
    end: str


@dataclass(frozen=True)
class ValueNotation:
    """How values inside values are written: strings, the three words, lists and objects."""

    strings: tuple[StringNotation, ...]
    true: str
    false: str
    null: str
    list: ListNotation | None
    object: ObjectNotation | None
    json: bool


@dataclass(frozen=True)
class Arguments:
    """How the arguments of a call are written.

    ``json`` is set where all of it is JSON, which is then passed on as the model wrote it. Otherwise ``object`` is the
    outermost object, ``strings`` are the ways a string stands in its slots (raw text, or quoted), and ``value`` the
    notation of everything that is not a string.
    ``encoded`` is set where the JSON object stands inside a JSON string.
    """

    json: bool
    object: ObjectNotation
    strings: tuple[StringNotation, ...]
    value: ValueNotation
    encoded: bool = False


@dataclass(frozen=True)
class ObjectBody:
    """A call written as a JSON object.

    The paths are the keys that lead to the name, the arguments and the id; with ``name_is_key`` the only key of the
    object is the name and its value are the arguments. ``keys`` are all keys the template writes at each level of the
    call object, in the order in which it writes them.
    """

    name: tuple[str, ...]
    arguments: tuple[str, ...]
    id: tuple[str, ...] = ()
    name_is_key: bool = False
    array: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class SequenceBody:
    """A call written as fields with fixed text between them.

    ``fields`` are (field, text after it) in the order of writing; the text before the first field belongs to the start
    of the call and the text after the last to its end. A field is ``"name"``, ``"id"``, ``"arguments"``, or ``"id with
    name"``: an id that carries the name.
    """

    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class EntryLayout:
    """The text around one entry of arguments, for values of one kind: between key and value, and what closes the value."""

    between: str
    close: str


@dataclass(frozen=True)
class EntriesLayout:
    """The text of arguments that are not one JSON object: before each key, between entries, around strings and others."""

    key_start: str
    separator: str
    string: EntryLayout
    other: EntryLayout


@dataclass(frozen=True)
class Layout:
    """The exact text of a turn with calls, white space included, with placeholders for the fields.

    ``leads`` are the texts seen between the beginning of a turn, or the end of reasoning, and the calls; ``opener`` is what
    stands from there to the first field of the first call, ``call`` a call from its first field to its last one, ``empty``
    the same without arguments where it is no JSON, ``joint`` what stands between two calls (None where the template refuses
    two) and ``tails`` what stands behind the last one. ``id`` is the shape of an id: ``"any"``, or ``"nine"`` letters and
    digits where the template refuses others. ``indent`` is by how much JSON is indented (0: it stands in one line), and
    ``sorted`` is set where the template puts keys in the order of the alphabet.
    """

    leads: tuple[str, ...]
    opener: str
    call: str
    empty: str | None
    joint: str | None
    tails: tuple[str, ...]
    entries: EntriesLayout | None = None
    id: Literal["any", "nine"] = "any"
    indent: int = 0
    sorted: bool = False


@dataclass(frozen=True)
class Tools:
    """How tool calls are written: a section around them all, a wrapper around each, what separates two, and the body.

    Where only white space tells the first call from the others, ``section_start`` has that layout and no text.
    """

    section_start: Marker
    section_end: Marker
    call_start: Marker
    call_end: Marker
    separator: str
    body: ObjectBody | SequenceBody
    arguments: Arguments
    parallel: bool = True
    provenance: Literal["rendered", "instructions", "examples"] = "rendered"
    layout: Layout | None = None


@dataclass(frozen=True)
class Capabilities:
    """What the template accepts and what it shows.

    ``arguments`` is the form in which it wants the arguments of a call (``"object"`` or ``"string"``).
    """

    tools: bool = False
    tool_calls: bool = False
    parallel_calls: bool = False
    arguments: Literal["object", "string", "none"] = "none"
    null_content: bool = False
    system_role: bool = False
    tool_role: bool = False
    switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Role:
    """What a template prints around the messages of one role, layout included.

    ``within`` names the role in whose next message this one stands, as a system prompt does in some templates. ``NAME``
    and ``ID`` stand for the call that a tool's message answers.
    """

    name: str
    start: str = ""
    end: str = ""
    within: str = ""


@dataclass(frozen=True)
class Step:
    """What becomes of a message (``kind``) behind another (``before``).

    A kind is a role, ``"assistant with calls"`` or ``"any other role"``. An empty ``before`` is the beginning of the
    conversation and ``"*"`` any place, an empty ``kind`` the generation prompt at its end. A message that is
    ``"dropped"`` is left out without a word; one that ``"replaces"`` the message before it makes the template drop that
    one. ``reason`` is what the template says where it refuses.
    """

    before: str
    kind: str
    outcome: Literal["printed", "replaces", "dropped", "refused"]
    reason: str = ""


@dataclass(frozen=True)
class Conversation:
    """How messages are laid out, and which conversations the template takes.

    ``opening`` stands before the first message, ``preset`` in place of a system message where none is given. ``steps``
    tell for each pair of messages whether the second may follow the first, ``needed`` the roles that each conversation
    must have, ``single`` those of which only the last message is printed. ``proven`` is set where renders are exactly
    what the layout says.
    """

    opening: str = ""
    preset: str = ""
    roles: tuple[Role, ...] = ()
    steps: tuple[Step, ...] = ()
    needed: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    proven: bool = False

    def compose(self, messages: Iterable[tuple[str, str]]) -> str:
        """Write messages, given as role and content, as the layout says; raises KeyError for a role without layout."""
        roles = {role.name: role for role in self.roles}
        parts, held = [self.opening], ""
        for number, (name, content) in enumerate(messages):
            role = roles[name]
            written = role.start + held + content + role.end
            held = role.start + content + role.end if role.within else ""
            if not number and name != "system":
                parts.append(self.preset)
            parts.append("" if role.within else written)
        return "".join(parts)


@dataclass(frozen=True)
class Counterexample:
    """A rendered turn that was not read back: what stood in it, what should have come out, and what did."""

    aspect: str
    prompt: str
    text: str
    expected: str
    got: str


@dataclass(frozen=True)
class Verdict:
    """The result of the proof.

    ``parts`` tells for ``"reasoning"``, ``"content"`` and ``"tools"`` one of ``"proven"``, ``"partly proven"``,
    ``"not established"``, ``"absent"``, ``"read from the instructions, not proven"`` or ``"taught by example"`` (turns
    written as the examples show them were read back, and so were the examples). ``checked`` counts the turns that were
    read back, ``passed`` those that came back exactly. ``notes`` say in words what could not be established.
    """

    parts: tuple[tuple[str, str], ...] = ()
    checked: int = 0
    passed: int = 0
    counterexample: Counterexample | None = None
    notes: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether everything that the template writes, or that examples show, was read back."""
        return bool(self.parts) and all(status in ("proven", "absent", TAUGHT) for _, status in self.parts)

    @property
    def score(self) -> float:
        """The share of the turns that were read back."""
        return self.passed / self.checked if self.checked else 0.0

    def of(self, part: str) -> str:
        """Return the status of one part."""
        return dict(self.parts).get(part, "not established")


@dataclass(frozen=True)
class ChatFormat:
    """How a model writes a turn, derived from its chat template. See the module's text."""

    turn: Turn = Turn()
    starts: tuple[Start, ...] = ()
    reasoning: Reasoning | None = None
    content: Content = Content()
    tools: Tools | None = None
    capabilities: Capabilities = Capabilities()
    conversation: Conversation = Conversation()
    verdict: Verdict = Verdict()

    def parser(
        self,
        tools: Iterable[dict[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        after_reasoning: bool = False,
        known_only: bool = False,
    ) -> StreamParser:
        """Make a parser for one generation.

        ``tools`` are the request's OpenAI-style tool dicts; ``None`` means unknown (a call is recognised by its markup
        alone), an empty list means that nothing is a call. ``prompt`` is the rendered prompt or its tail, from which the
        parser learns what is open where generation starts; ``None`` means what the template appends when no switch is
        set. With ``after_reasoning`` the parser reads what a :meth:`reasoning_splitter` hands on. With ``known_only`` a call
        of a function that is none of the tools stays text. Costs microseconds; raises nothing.
        """
        from .parser import StreamParser

        return StreamParser(self, tools, prompt, after_reasoning, known_only)

    def reasoning_splitter(
        self, tools: Iterable[dict[str, Any]] | None = None, prompt: str | None = None
    ) -> ReasoningSplitter:
        """Make what splits one generation into reasoning and the text of the rest, for servers that read in two stages.

        The arguments are those of :meth:`parser`; with the tools it knows a call in reasoning that was not closed.
        """
        from .splitter import ReasoningSplitter

        return ReasoningSplitter(self, tools, prompt)

    def parse(self, text: str, tools: Iterable[dict[str, Any]] | None = None, prompt: str | None = None) -> dict[str, Any]:
        """Read a whole output into an OpenAI message dict; one feed and one finish. See :meth:`parser`."""
        from .message import fold_deltas

        parser = self.parser(tools, prompt)
        return fold_deltas([*parser.feed(text), *parser.finish()])

    def validate(self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> list[Problem]:
        """Return the rules of the template's that a conversation breaks; see :func:`.validation.validate`."""
        from .validation import validate

        return validate(self, messages, add_generation_prompt)

    def to_response_template(self) -> ResponseTemplate:
        """Return the format as a response template of transformers. See :func:`write_response_template`."""
        from .response import write_response_template

        return write_response_template(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the format as JSON-serialisable data, with the version of the layout."""
        return {"version": VERSION, **_dump(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ChatFormat:
        """Read what :meth:`to_dict` wrote. Raises :class:`FormatError` for another version or an unknown key."""
        if not isinstance(data, dict):
            raise FormatError(f"reading a format: found {type(data).__name__}, pass the dict that to_dict() returned")
        found = data.get("version")
        if found != VERSION:
            raise FormatError(f"reading a format: found version {found!r}, this release reads {VERSION}; analyse again")
        loaded: ChatFormat = _load(cls, {k: v for k, v in data.items() if k != "version"}, "format")
        return loaded

    def __str__(self) -> str:
        from .description import describe

        return describe(self)


def _dump(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name: _dump(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_dump(item) for item in value]
    return value


def _load(kind: Any, data: Any, where: str) -> Any:
    """Build a value of the annotated type from JSON data; the annotations are the schema."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if not isinstance(data, (list, tuple)):
            raise FormatError(f"reading {where}: found {type(data).__name__}, expected a list")
        kinds = [args[0]] * len(data) if args[-1] is Ellipsis else args
        if len(kinds) != len(data):
            raise FormatError(f"reading {where}: found {len(data)} entries, expected {len(kinds)}")
        return tuple(_load(k, item, f"{where}[{i}]") for i, (k, item) in enumerate(zip(kinds, data, strict=True)))
    if origin is Literal:
        if data not in args:
            raise FormatError(f"reading {where}: found {data!r}, expected one of {', '.join(map(repr, args))}")
        return data
    if args:  # a union: of dataclasses, or of one with None
        return _load_union(args, data, where)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _load_dataclass(kind, data, where)
    if not isinstance(data, kind):
        raise FormatError(f"reading {where}: found {data!r}, expected {kind.__name__}")
    return data


def _load_union(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    known = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    for kind in known:
        if isinstance(data, dict) and set(data) <= {f.name for f in dataclasses.fields(kind)}:
            return _load(kind, data, where)
    return _load((known or [kind for kind in kinds if kind is not type(None)])[0], data, where)


def _load_dataclass(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise FormatError(f"reading {where}: found {type(data).__name__}, expected an object")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise FormatError(f"reading {where}: unknown key {unknown[0]!r}; was it written by another release?")
    try:
        return kind(**{key: _load(hints[key], value, f"{where}.{key}") for key, value in data.items()})
    except TypeError as error:
        raise FormatError(f"reading {where}: {error}") from None
