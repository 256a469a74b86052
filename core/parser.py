"""The streaming parser: a machine that reads a model's output and tells reasoning, content and tool calls apart.

**Where the states live.** The machine is one generator, :meth:`StreamParser._read_turn`; its state is where in that
straight-line code it is suspended. It is built in layers, each using only those below it: the *tape* (text in, deltas
out, and the short cut for tokens that change nothing), *text* (what is emitted of reasoning and content), *arguments*
(values between brackets), *tagged* (values in tags), *calls* (from an opener to the end of its call), and here the turn.

**A turn** is text with structure in it. At the top level the machine searches for the next place where structure may
begin. What stands before it is text of the current block, reasoning or content, and is emitted. At the place the
structures that may begin there are tried, longest first:

* the end of reasoning, and every *pending closer*: the end marker of something that was opened and whose end did not come
  in place. It is swallowed once; a second one, or one of something that was never opened, is text;
* the start of reasoning or of wrapped content, at the beginning of a block only (a message, or what follows another
  block): prose that mentions a marker is prose;
* the opener of a call, which is one when it is followed by what the format says a call is: a name, and arguments that begin
  as they should. Where the format has no opener, or inside reasoning, the name must be one of the request's tools. A call
  in unclosed reasoning ends it;
* the end of the turn, at the end of the output or where another message of the turn follows; elsewhere it is text;
* the header of a message, where messages carry headers of free fields.

If all of them decline, the character is text, and the search goes on at the next one.

**What is held back**, and why that is right: text is only ever held while a decision about it is open, and each such
decision is bounded: a marker by its length, layout by the layouts the format knows, a call's head by ``calls.HOLD``.
All decisions depend on the text alone, never on where a chunk ends: where the text at hand does not suffice, the generator
suspends itself in the middle of the decision and takes it up with more text. So the split into chunks cannot matter, and
nothing is read twice but what a declined decision has looked at.

**The beginning.** What the prompt has written after the header of the assistant's turn is read by the same machine before
the output, muted: the state at its end is where the model begins, and a marker that the prompt has begun and the model
completes is a marker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .arguments import CUT, NO
from .calls import HOLD, PLAUSIBLE, CallReader
from .program import CONTENT, CONTINUATION, END, HEADER, OPENER, REASONING, Structure, get_program
from .scanner import Literal, make_literal
from .schema import ToolSet
from .tape import COPY, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from .format import ChatFormat
    from .program import Program
    from .tape import Wait

HEADER_LIMIT = 256

_NO_OPENER = Structure(OPENER, Literal(""), bare=True)
_RECIPIENT = Structure(OPENER, Literal(""))


class StreamParser(CallReader):
    """Reads one generation of a format; see the module's text and :meth:`ChatFormat.parser`."""

    __slots__ = (
        "__weakref__",
        "_calling",
        "_known_only",
        "_search",
    )

    def __init__(
        self,
        format: ChatFormat,
        tools: Iterable[dict[str, Any]] | None = None,
        prompt: str | None = None,
        after_reasoning: bool = False,
        known_only: bool = False,
    ) -> None:
        super().__init__()
        self._known_only = known_only
        self._program = program = get_program(format)
        self._tools = None if tools is None else ToolSet(tools)
        self._calling = program.call is not None and (self._tools is None or bool(self._tools))
        if program.call is not None:
            self._call = program.call
        self._search = program.search if self._calling else program.search_plain
        prefix = find_prefix(program, prompt)
        self._begin(after_reasoning, prefix)
        if after_reasoning and self._thinking:
            super().__init__()
            self._begin(after_reasoning, "")

    def _admit(self, name: str) -> bool:
        """Whether a call to this name is one here; with ``known_only`` it must be one of the request's tools."""
        return super()._admit(name) and (not self._known_only or (self._tools is not None and name in self._tools))

    @property
    def in_reasoning(self) -> bool:
        """Whether the next character is read as reasoning."""
        return self._thinking

    @property
    def reasoning_ended(self) -> bool:
        """Whether reasoning is over: it was closed, or something else has come."""
        return not self._thinking and (self._thought or self._written)

    @property
    def holds_back(self) -> bool:
        """Whether what was fed last may yet turn out to be structure, or stands inside a call."""
        return bool(self._text) or self._in_call

    @property
    def in_call(self) -> bool:
        """Whether the next character stands inside a call, from behind its name on."""
        return self._in_call

    @property
    def incomplete_calls(self) -> frozenset[int]:
        """The indices of the calls that the end of the output cut off, or that went wrong."""
        return frozenset(self._incomplete)

    @property
    def incomplete(self) -> bool:
        """Whether there are such calls."""
        return bool(self._incomplete)

    @property
    def calls_seen(self) -> int:
        """How many calls have begun."""
        return self._calls

    def _begin(self, after_reasoning: bool, prefix: str) -> None:
        """Start the machine, and let it read what the prompt has written of the turn."""
        self._thought = after_reasoning
        self._next = self._read_turn().__next__
        self._need = self._next()
        if prefix:
            self._read_prefix(prefix)

    def _read_prefix(self, prefix: str) -> None:
        """Read what the prompt has written of the turn; only a call that it left open is emitted, with the output."""
        self._mute = len(prefix)
        deltas = self._resume(prefix)
        if not self._calls:
            return
        if self._in_call:
            number = self._calls - 1
            self._backlog = [delta._replace(index=0) for delta in deltas if delta.index == number]
            self._mode, self._need = 0, 0
            self._calls, self._index = 1, 0
        else:
            self._calls = 0

    def _read_turn(self) -> Generator[int, None, None]:
        """Read the whole output."""
        reasoning = self._program.reasoning
        if reasoning is not None and not reasoning.start.text.strip() and not self._thought:
            self._think(True)
            self._after = reasoning.start.written
        elif not self._program.content.start and not self._thought:
            # What the template prints before content, and its generation prompt does not.
            self._after = self._program.content.start.after
        scan = 0
        while True:
            if self._lead and self._calling and not self._call.openers and not self._tried and not self._thinking:
                scan = yield from self._try_without_opener()
            found = self._search(self._text, scan)
            stop = found.start() if found else len(self._text)
            stop -= self._flush(stop)
            if found is None:
                if self._closed:
                    break
                scan = stop
                if not self._text and not self._lead:
                    self._mode, self._guard, self._copy_index = COPY, self._search, None
                yield 0
                continue
            end = yield from self._try_structures(stop)
            scan = end if end >= 0 else stop + 1
        if not self._lead or not self._written:
            self._emit_text(self._at, len(self._text))
        self._text = ""

    def _try_without_opener(self) -> Wait:
        """Try to read a call where a block begins, in a format whose calls have no opener at all."""
        place = yield from self._skip(self._at)
        if place < 0:
            return len(self._text)
        self._tried = True
        end = yield from self._read_calls(_NO_OPENER, place, place)
        return end if end >= 0 else place

    def _try_structures(self, at: int) -> Wait:
        """Try what may begin at a place; returns the end of the structure found there, or -1."""
        program, char = self._program, self._text[at]
        if self._thinking:
            end = yield from self._try_reasoning_end(at)
            if end >= 0:
                return end
        for closer in self._pending:
            if closer[0] == char:
                end = yield from self._try_closer(make_literal(closer), at)
                if end >= 0:
                    self._pending.remove(closer)
                    return end
        for structure in program.by_head.get(char, ()):
            if self._applies(structure):
                end = yield from self._match(structure.literal, at)
                if end >= 0:
                    end = yield from self._read_structure(structure, at, end)
                    if end >= 0:
                        return end
        if not self._thinking and (at < self._mute or (self._lead and not self._thought and not self._written)):
            # A prompt, or a model that does not want to reason, may close reasoning that was never opened.
            return (yield from self._try_reasoning_end(at))
        return -1

    def _try_reasoning_end(self, at: int) -> Wait:
        end = yield from self._try_closer(self._program.reasoning_end, at, self._program.blank)
        if end >= 0:
            self._think(False)
        return end

    def _try_closer(self, closer: Literal, at: int, blank: bool = False) -> Wait:
        """Swallow an end marker if it stands at a place; ``blank`` tells whether white space alone is reasoning there."""
        end = (yield from self._match(closer, at)) if closer else -1
        if end >= 0:
            if blank and self._thinking and self._lead:
                self._emit_text(self._at, at)
            before, after = self._program.get_layout(closer.text)
            end -= self._end_text(at, before)
            self._start_text(end, after)
        return end

    def _applies(self, structure: Structure) -> bool:
        """Whether a structure may begin here."""
        kind = structure.kind
        if kind == OPENER:
            return self._calling
        if kind == END:
            return True
        if kind == CONTINUATION and self._program.headed:
            return True
        return self._lead and not self._thinking

    def _read_structure(self, structure: Structure, at: int, end: int) -> Wait:
        """Read the structure whose first text stands at a place; returns its end, or -1 if it is none."""
        kind = structure.kind
        if kind == OPENER:
            return (yield from self._read_calls(structure, at, at if structure.inside else end))
        if kind == END:
            return (yield from self._read_end(structure, at, end))
        if kind == HEADER:
            return (yield from self._read_header(at))
        if kind == CONTINUATION and self._program.headed and not (yield from self._is_header(end)):
            return -1
        end -= self._end_text(at, structure.before)
        self._start_text(end, structure.after)
        if kind == REASONING:
            self._think(True)
        elif kind == CONTENT:
            self._expect(self._program.content.end.text)
        else:
            self._think(False)
        return end

    def _read_end(self, structure: Structure, at: int, end: int) -> Wait:
        """Read the end of a message: structure only at the end of the output, or before another message."""
        program = self._program
        while True:
            place = yield from self._skip(end)
            if place < 0:
                if not self._closed:
                    return -1
                self._end_text(at, structure.before)
                self._start_text(len(self._text), "")
                return len(self._text)
            for other in program.ends:
                end = yield from self._match(other.literal, place)
                if end >= 0:
                    break
            else:
                end = (yield from self._match(program.continuation_literal, place)) if program.continuation else -1
                if end >= 0:
                    end -= self._end_text(at, structure.before)
                    self._start_text(end, program.continuation.after)
                    self._think(False)
                elif (yield from self._is_opened(place)):
                    end = place - self._end_text(at, structure.before or self._call.tools.section_start.before)
                    self._start_text(end, "")
                return end

    def _is_opened(self, at: int) -> Generator[int, None, bool]:
        """Whether at a place, behind the end of a message, stands what opens a call."""
        if self._calling:
            for opener in self._call.openers:
                if not opener.bare and (yield from self._match(opener.literal, at)) >= 0:
                    return True
        return False

    def _is_header(self, at: int) -> Generator[int, None, bool]:
        """Whether the header of a message begins at a place, after layout."""
        for structure in self._program.structures:
            if structure.kind == HEADER and (yield from self._match_after_space(structure.literal, at)) >= 0:
                return True
        return False

    def _read_header(self, at: int) -> Wait:
        """Read a message's header: that of a call, of reasoning, or of anything else, which is content."""
        program = self._program
        stop, end = yield from self._find_header_end(at)
        if end < 0:
            return -1
        recipient = program.call.call_literal.text if program.call else ""
        place = self._text.find(recipient, at, stop) if recipient else -1
        if place >= 0:
            name = PLAUSIBLE.match(self._text, place + len(recipient), stop)
            if not name or not self._calling:
                return -1
            return (yield from self._read_message_call(name[0], at, end))
        thinks = self._opens_reasoning(at, end)
        end -= self._end_text(at, "")
        if thinks and program.reasoning is not None:
            self._start_text(end, program.reasoning.start.after)
            self._think(True)
        else:
            self._start_text(end, program.content.start.after)
            self._expect(program.content.end.text)
        return end

    def _opens_reasoning(self, at: int, end: int) -> bool:
        """Whether a header is that of a message of reasoning."""
        reasoning = self._program.reasoning
        return reasoning is not None and self._text[at:end].rstrip().endswith(reasoning.start.text)

    def _find_header_end(self, at: int) -> Generator[int, None, tuple[int, int]]:
        """Find the marker that ends a header: where it begins and ends, or -1."""
        literal, place = self._program.header_end, at
        while True:
            place = self._text.find(literal.first[:1], place)
            if (place if place >= 0 else len(self._text)) - at > HEADER_LIMIT:
                return -1, -1
            if place >= 0:
                end = yield from self._match(literal, place)
                if end >= 0:
                    return place, end
                place += 1
            else:
                if self._closed:
                    return -1, -1
                place = len(self._text)
                yield place + 1

    def _read_message_call(self, name: str, at: int, start: int) -> Wait:
        """Read a call whose name stands in the header of its message."""
        self._opener, self._opening, self._limit = _RECIPIENT, at, at + HOLD
        kind = yield from self._probe_arguments(start, name)
        committed = kind != NO and self._commit(name, None, len(self._text) if kind == CUT else start)
        self._limit = UNLIMITED
        if not committed:
            return -1
        end = -1 if kind == CUT else (yield from self._stream_arguments(0, kind))
        if end < 0:
            return self._break_off()
        return (yield from self._close_call(end))


def find_prefix(program: Program, prompt: str | None) -> str:
    """Return what a prompt has written of the assistant's turn.

    That is what follows the last header in it. A prompt may be cut to its tail, so it may hold no whole header: then the
    known continuations of headers are tried.
    """
    turn = program.turn
    if prompt is None:
        return turn.prefix
    end = -1
    for header in turn.headers:
        place = prompt.rfind(header) if header else -1
        if place >= 0:
            end = max(end, place + len(header))
    if end >= 0:
        return prompt[end:]
    known = (*program.prefixes, turn.prefix)
    longest = max((prefix for prefix in known if prefix and prompt.endswith(prefix)), key=len, default="")
    if longest or not prompt:
        return longest
    for header in turn.headers:
        for prefix in known:
            if (header + prefix).endswith(prompt):
                return prefix
    return ""
