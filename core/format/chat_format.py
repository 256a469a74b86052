"""The whole interface between the analysis, which makes it by questioning a template, and everything else.

A :class:`ChatFormat` is plain frozen data: it can be compared, pickled, printed, written as JSON and read back. How a turn
is written is a graph; what people call its markers are views of that graph (see :mod:`.view`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ..message import fold_deltas
from . import view
from .codec import dump, load
from .conversation import Conversation, Problem
from .model import TurnGraph
from .view import Content, Reasoning, State, Tools

if TYPE_CHECKING:
    from ..parse import ReasoningSplitter, StreamParser
    from ..recover import Policy, PolicyName

VERSION = 2

TAUGHT = "taught by example"
FROM_INSTRUCTIONS = "read from the instructions, not proven"
SHOWN = TAUGHT_BY, CONFIRMED_BY = "taught by", "confirmed by"
"""What notes on parts begin with that examples show."""
MISREAD = "of the examples are not read back as they say"
UNPRINTED = "the template never prints reasoning"
"""Words of other notes, by which these are known."""


@dataclass(frozen=True)
class Asking:
    """The shape in which a template takes its input, so that nobody has to find it out again.

    ``arguments`` are the forms in which arguments of calls are printed as the graph has them, the best first
    (``"object"`` or ``"text"``). ``absent`` is what content is where there is none. ``reasoning`` names the fields that
    hold reasoning, ``named_ids`` tells that an id must carry the name of its tool, ``results`` that calls are printed
    only where their results follow.
    ``switches`` are the template arguments (as Python writes them) without which no reasoning is printed. The other
    fields are those of :class:`~chat_autoparser.ask.question.Shape`.
    """

    parts: bool = False
    system: bool = False
    arguments: tuple[Literal["object", "text"], ...] = ()
    absent: Literal["empty", "null", "missing"] = "empty"
    reasoning: tuple[str, ...] = ()
    results: bool = False
    bare_tools: bool = False
    flat_calls: bool = False
    named_ids: bool = False
    tools: bool = True
    switches: tuple[tuple[str, str], ...] = ()


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
    written as the examples show them were read back, and so were the examples; or examples agree with what was inferred).
    ``checked`` counts the turns that were read back, ``passed`` those that came back exactly. ``notes`` say in words what could
    not be established, and what to do.
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

    def of(self, part: str) -> str:
        """Return the status of one part."""
        return dict(self.parts).get(part, "not established")


@dataclass(frozen=True)
class ChatFormat:
    """How a model writes a turn, derived from its chat template. See the module's text."""

    graph: TurnGraph = field(default_factory=TurnGraph)
    asking: Asking = Asking()
    capabilities: Capabilities = Capabilities()
    conversation: Conversation = field(default_factory=Conversation)
    verdict: Verdict = Verdict()

    def __hash__(self) -> int:
        """Look at little: servers look a format up in tables for each request."""
        return hash(self.graph)

    # Views -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def header(self) -> str:
        """What every generation prompt begins with: the header of the assistant's turn."""
        return view.find_header(self.graph)

    @cached_property
    def stops(self) -> tuple[str, ...]:
        """The strings on which generation should stop."""
        return view.find_ends(self.graph)

    @cached_property
    def reasoning(self) -> Reasoning | None:
        """The marks around reasoning; None where there is none."""
        return view.find_reasoning(self.graph)

    @cached_property
    def content(self) -> Content:
        """The marks around content."""
        return view.find_content(self.graph)

    @cached_property
    def tools(self) -> Tools | None:
        """The marks around calls; None where there are none."""
        return view.find_tools(self.graph)

    @cached_property
    def states(self) -> tuple[tuple[tuple[tuple[str, str], ...], str, State], ...]:
        """For each setting of switches: what the generation prompt adds behind the header, and what the model continues."""
        header = self.header
        return tuple(
            (start.switches, start.prompt.removeprefix(header), view.find_state(start, self.graph)) for start in self.graph.starts
        )

    def __str__(self) -> str:
        """The format in words."""
        from ..describe.words import describe

        return describe(self)

    # Reading ---------------------------------------------------------------------------------------------------------------

    def parser(
        self,
        tools: Iterable[Mapping[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        after_reasoning: bool = False,
        known_only: bool = False,
        policy: Policy | PolicyName = "lenient",
    ) -> StreamParser:
        """Make a parser for one generation.

        ``tools`` are the request's OpenAI-style tool dicts; ``None`` means unknown (a call is recognised by its markup
        alone), an empty list means that nothing is a call. ``prompt`` is the rendered prompt or its tail, from which the
        parser learns what is open where generation starts; ``None`` means what the template appends when no switch is
        set. With ``after_reasoning`` the parser reads what a :meth:`reasoning_splitter` hands on, with ``known_only`` a call
        of a tool that the request does not have stays text. ``policy`` says what to do where the model leaves its script:
        ``"strict"``, ``"lenient"``, ``"repair"`` or a :class:`~chat_autoparser.recover.Policy`. Costs microseconds. Raises
        TypeError where ``tools`` is no list of dicts, ``prompt`` no text or ``policy`` neither, ValueError for a name that no
        policy has.
        """
        from ..parse import StreamParser

        _check_request(tools, prompt)
        return StreamParser(self.graph, tools, prompt, after_reasoning=after_reasoning, known_only=known_only, policy=policy)

    def reasoning_splitter(
        self,
        tools: Iterable[Mapping[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        policy: Policy | PolicyName = "lenient",
    ) -> ReasoningSplitter:
        """Make what splits one generation into reasoning and the text of the rest, for servers that read in two stages.

        The arguments are those of :meth:`parser`; with the tools it knows a call in reasoning that was not closed.
        """
        from ..parse import ReasoningSplitter

        _check_request(tools, prompt)
        return ReasoningSplitter(self.graph, tools, prompt, policy)

    def without_reasoning(self) -> ChatFormat:
        """Return the format as if it had no reasoning: then its markers, and what they enclose, are content."""
        return replace(self, graph=view.drop_reasoning(self.graph))

    def parse(
        self,
        text: str,
        tools: Iterable[Mapping[str, Any]] | None = None,
        prompt: str | None = None,
        *,
        policy: Policy | PolicyName = "lenient",
    ) -> dict[str, Any]:
        """Read a whole output into an OpenAI message dict; one feed and one finish. See :meth:`parser`."""
        if not isinstance(text, str):
            raise TypeError(f"text must be what the model wrote, as str, not {type(text).__name__}")
        parser = self.parser(tools, prompt, policy=policy)
        return fold_deltas([*parser.feed(text), *parser.finish()])

    def validate(self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> list[Problem]:
        """Return the rules of the template that a conversation breaks; see :meth:`Conversation.validate`. Raises TypeError for
        messages that are no list of dicts."""
        check_dicts("messages must be a list of message dicts", messages, each=True)
        return self.conversation.validate(messages, add_generation_prompt)

    # Storing ---------------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the format as JSON-serialisable data, with the version of the layout."""
        return {"version": VERSION, **dump(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ChatFormat:
        """Read what :meth:`to_dict` wrote. Raises :class:`FormatError` for another version or an unknown key."""
        loaded: ChatFormat = load(cls, data, VERSION)
        return loaded


def check_dicts(wanted: str, given: Any, *, each: bool) -> None:
    """Raise TypeError for what is no list of dicts. Where not ``each`` item must be one, an odd one beside dicts does no harm."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"{wanted}, not {type(given).__name__}")
    items: Sequence[Any] = given if isinstance(given, (list, tuple)) else ()
    odd = [item for item in items if not isinstance(item, Mapping)]
    if odd and (each or len(odd) == len(items) or any(isinstance(item, str) for item in odd)):
        raise TypeError(f"{wanted}, not a list with {type(odd[0]).__name__} in it")


def _check_request(tools: Any, prompt: Any) -> None:
    """Raise TypeError for what would be misread without a word."""
    if tools is not None:
        check_dicts("tools must be a list of tool dicts, or None where they are not known", tools, each=False)
    if prompt is not None and not isinstance(prompt, str):
        raise TypeError(f"prompt must be the rendered prompt as text, or None, not {type(prompt).__name__}")
