"""The text that is still needed, and what feeds it: the lowest layer of the parser.

The parser is one long-running generator, straight-line code that reads text and suspends itself where it needs more. A
tape holds the text it has not done with, resumes it when more has come, and collects the deltas it emits. What the
generator yields is the length the tape's text must have before it is worth resuming.

Most tokens change nothing: they are plain text, or the inside of a value. Before suspending itself in such a place, with
nothing held back, the generator says so by a *mode*, and :meth:`Tape.feed` deals with the next chunks alone:

* ``COPY``: a chunk in which a search finds nothing is emitted as it is; where it ends inside the end marker of what is
  copied (a ``closer``, with the layout before it), that is kept (``ENDING``);
* ``ENDING``: a chunk is kept while what is kept is the beginning of the closer; behind the closer, what has to follow (the
  rest of a ``jump``) is waited for;
* ``LEX``: a chunk is given to a lexer's remembered step, unless it may close the outermost bracket;
* ``KEEP``: a chunk in which a search finds nothing is only kept, up to the length that is waited for;
* ``GUARDED``: ``COPY`` and ``LEX``: the step only sees a chunk in which the search finds nothing.
* ``WAIT``: a chunk is kept up to the length that is waited for, and from there on while a search finds nothing. ``KEEP``
  goes over to it where what its search finds is of no interest before so much text has followed it (a ``jump``).

Each other chunk goes to the generator. A mode only ever does what the generator would have done with that chunk, so how
the text is split cannot matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .delta import Delta
from .errors import AutoparserError
from .lexer import STEP_LIMIT
from .message import make_call_id
from .scanner import BEGUN, SPACE_LIMIT, skip_space

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from . import scanner
    from .lexer import Step

    Wait = Generator[int, None, int]  # yields the length to wait for; returns a place in the text, or -1

SLOW, WAIT, COPY, KEEP, LEX, GUARDED, ENDING = range(7)
UNLIMITED = 1 << 60
CHUNK = 2048  # longer pieces are read in several
TAIL_LIMIT = 64  # how much is kept beyond the length that is waited for
ID_LIMIT = 256  # how many characters of arguments wait for an id that is written after them

_make = tuple.__new__


class ClosedParserError(AutoparserError):
    """Text was fed to a parser after :meth:`finish`."""


class Tape:
    """Text in, deltas out; see the module's text."""

    __slots__ = (
        "_back",
        "_backlog",
        "_calls",
        "_closed",
        "_closer",
        "_copy_index",
        "_deferred",
        "_deferred_size",
        "_depth",
        "_guard",
        "_in_call",
        "_incomplete",
        "_index",
        "_jump",
        "_kind",
        "_layout",
        "_limit",
        "_mode",
        "_mute",
        "_name",
        "_need",
        "_next",
        "_out",
        "_outer",
        "_state",
        "_step",
        "_tail",
        "_text",
        "_value",
    )

    def __init__(self) -> None:
        self._text = ""
        self._need = 0
        self._limit = UNLIMITED  # no place beyond this is waited for
        self._closed = False
        self._mute = 0  # how many characters at the beginning of the text are the prompt's, never to be emitted
        self._out: list[Delta] = []
        self._backlog: list[Delta] = []  # what reading the prompt left to be emitted with the output
        self._next: Callable[[], int] = lambda: 0
        self._outer: Callable[[], int] = self._next
        self._value = 0

        self._mode = SLOW
        self._kind: Literal["reasoning", "content", "tool_call"] = "content"
        self._index: int | None = None
        self._copy_index: int | None = None
        self._guard: scanner.Search | None = None
        self._jump = 0
        self._layout = 0  # how much of the closer is the layout before the marker
        self._closer = ""
        self._tail: scanner.Search | None = None
        self._back = 0  # how far behind a chunk its search begins
        self._step: Callable[[Any, str], Step] | None = None
        self._state: Any = None
        self._depth = 0

        self._calls = 0
        self._in_call = False
        self._name = ""
        self._deferred: list[str] | None = None  # arguments waiting for the id of their call
        self._deferred_size = 0
        self._incomplete: set[int] = set()

    def feed(self, text: str) -> list[Delta]:
        """Read a piece of the output and return what it makes certain.

        Never raises because of what the text is; raises :class:`ClosedParserError` after :meth:`finish`. The cost is a
        small multiple of the piece's length, wherever in the output it stands.
        """
        mode = self._mode
        if mode <= WAIT:
            known, need = self._text + text, self._need
            size = len(known)
            if size < need or (mode == WAIT and size <= need + TAIL_LIMIT and not self._tail(known, need - self._back)):  # type: ignore[misc]
                self._text = known
                return []
        elif mode == COPY:
            found = self._guard(text)  # type: ignore[misc]
            if found is None:
                if text:
                    return [_make(Delta, (self._kind, text, self._copy_index, None, None))]
            elif self._closer:
                start = found.start()
                if len(text) - start > self._layout and self._closer.startswith(text[start:]):
                    self._text, self._mode = text[start:], ENDING
                    return [_make(Delta, (self._kind, text[:start], self._copy_index, None, None))] if start else []
        elif mode == KEEP:
            size = len(self._text)
            found = self._guard(text)  # type: ignore[misc]
            if found is None:
                if size + len(text) < self._need:
                    self._text += text
                    return []
            elif self._jump:
                need = size + found.start() + self._jump
                if size + len(text) < need:
                    self._text += text
                    self._need = need
                    self._mode = WAIT if self._tail is not None else SLOW
                    return []
            self._need = 0
        elif mode == ENDING:
            known = self._text + text
            if self._closer.startswith(known):
                self._text = known
                return []
            if len(known) < self._jump and known.startswith(self._closer):
                self._text, self._need = known, self._jump
                self._mode = WAIT if self._tail is not None else SLOW
                return []
            self._need = 0
        elif len(text) <= STEP_LIMIT:
            guard = self._guard
            if mode == LEX:
                if guard is not None and text and guard(text) is None:
                    return [_make(Delta, ("tool_call", text, self._index, None, None))]
                state, out, change, low, plain = self._step(self._state, text)  # type: ignore[misc]
                if self._depth + low > 0:
                    self._state, self._guard = state, plain
                    self._depth += change
                    return [_make(Delta, ("tool_call", out, self._index, None, None))] if out else []
            elif guard(text) is None:  # type: ignore[misc]
                self._state, out, change, _, _ = self._step(self._state, text)  # type: ignore[misc]
                self._depth += change
                return [_make(Delta, ("tool_call", out, self._index, None, None))] if out else []
        return self._resume(text)

    def finish(self) -> list[Delta]:
        """Say that the output has ended; return what was held back. The parser is then closed."""
        if self._closed:
            return []
        self._closed = True
        self._need = 0
        self._out = out = self._backlog
        self._mode = SLOW
        for _ in range(2):
            try:
                self._next()
            except StopIteration as stop:
                self._value, self._next = stop.value, self._outer
        return out

    def _resume(self, text: str) -> list[Delta]:
        """Give text to the generator, if it is enough for it to go on."""
        if self._closed:
            raise ClosedParserError("feeding a parser: it was finished already; make a new one for each generation")
        if len(text) > CHUNK:
            # What is done with is cut off again and again, and what that costs must not depend on the size of a piece.
            pieces = (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
            return [delta for piece in pieces for delta in self.feed(piece)]
        self._text = text = self._text + text if self._text else text
        if len(text) < self._need:
            return []
        self._out = out = self._backlog
        self._backlog = []
        self._mode = SLOW
        try:
            self._need = self._next()
        except StopIteration as stop:  # only what was detached ends before the output
            self._value, self._next = stop.value, self._outer
            self._need = self._next()
        return out

    # What the layers above are written with.

    def _detach(self, inner: Wait) -> Wait:
        """Run a generator to its end, resumed directly and not through the chain of those that wait for it."""
        try:
            need = next(inner)
        except StopIteration as stop:
            return int(stop.value)
        self._outer, self._next = self._next, inner.__next__
        yield need
        return self._value

    def _cut(self, count: int) -> None:
        """Forget the beginning of the text."""
        if count:
            self._text = self._text[count:]
            if self._mute:
                self._mute = max(0, self._mute - count)

    def _can_wait(self) -> bool:
        return not self._closed and len(self._text) < self._limit

    def _skip(self, at: int) -> Wait:
        """Return the next visible character's place; -1 if there is none, or only after more than layout."""
        while True:
            end = skip_space(self._text, at)
            if end - at > SPACE_LIMIT:
                return -1
            if end < len(self._text):
                return end
            if not self._can_wait():
                return -1
            yield end + 1

    def _match(self, literal: scanner.Literal, at: int) -> Wait:
        """Match structure text at a place; returns its end or -1.

        Asks again with each piece: a client must not wait for the length of a marker where one character of it came.
        """
        while True:
            end = literal.match(self._text, at)
            if end != BEGUN:
                return end
            if not self._can_wait():
                return -1
            yield len(self._text) + 1

    def _match_after_space(self, literal: scanner.Literal, at: int) -> Wait:
        """Match structure text after layout."""
        at = yield from self._skip(at)
        if at < 0:
            return -1
        return (yield from self._match(literal, at))

    def _emit_text(self, start: int, end: int) -> None:
        """Emit a stretch of the text as reasoning or content, but for what the prompt wrote of it."""
        start = max(start, self._mute)
        if end > start:
            self._out.append(Delta(self._kind, self._text[start:end]))

    def _begin_call(self, name: str, call_id: str | None, wait: bool) -> None:
        """Announce a call, or, to wait for an id that comes after the arguments, get ready to."""
        self._index = self._calls
        self._calls += 1
        self._in_call = True
        self._name = name
        self._deferred = [] if wait and not call_id else None
        self._deferred_size = 0
        if self._deferred is None:
            self._out.append(Delta("tool_call", "", self._index, call_id or make_call_id(), name))

    def _emit_arguments(self, text: str) -> None:
        """Emit JSON text of the arguments, as soon as the call is announced.

        That must not depend on how the text is split, and a client must not wait for the end of a long argument. So the
        id is waited for while the arguments are short, counted in characters of arguments and nothing else.
        """
        if not text:
            return
        if self._deferred is None:
            self._out.append(_make(Delta, ("tool_call", text, self._index, None, None)))
            return
        self._deferred.append(text)
        self._deferred_size += len(text)
        if self._deferred_size > ID_LIMIT:
            self._announce(None)

    def _announce(self, call_id: str | None) -> None:
        """Announce a call whose id was waited for; does nothing if that is done."""
        if self._deferred is None:
            return
        self._out.append(Delta("tool_call", "", self._index, call_id or make_call_id(), self._name))
        waiting = "".join(self._deferred)
        self._deferred = None
        self._emit_arguments(waiting)
