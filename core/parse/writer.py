"""What a parser emits: pieces of text, and of calls whose arguments are written as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from json.encoder import encode_basestring
from typing import Final, Literal

from ..delta import Delta
from ..message import make_call_id

HOLD: Final = 256  # so many characters of arguments are waited for an id that stands behind them, or four times that with layout


class Call:
    """A call that is being read. ``pending`` are pieces of arguments that wait for the name or the id."""

    def __init__(self, index: int, waits: bool, count: str = "", place: int = 0) -> None:
        self.index = index
        self.place = place  # that in the output at which it began
        self.count = count  # the number that stood where it began
        self.name: str | None = None
        self.id: str | None = None
        self.waits = waits  # whether an id may stand behind the arguments
        self.pending: list[str] = []
        self.sent = False
        self.complete = False
        self.levels: list[list[str]] = []  # of the containers that are open: [closing bracket, separator before the next item]
        self.keys: list[str] = []  # those whose values have not come
        self.given: set[str | int] = set()  # all that came, of the outermost object
        self.key = ""  # that of the value that came last
        self.path: list[tuple[str | int, set[str | int]]] = []  # what is open of a path: keys and places, and what came in each


class Writer:
    """Collects deltas; neighbouring pieces of one kind become one."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self._pieces: list[str] = []
        self._kind: Literal["reasoning", "content", "tool_call"] = "content"
        self.call: Call | None = None
        self.last: Call | None = None  # the one that was closed last
        self.calls = 0
        self.incomplete: set[int] = set()
        self.wrote = False
        self.trace: list[str] | None = None  # what is written of a list or an object
        self.quote = ""  # the last one of the arguments, as long as it may stand within its string

    def take(self) -> list[Delta]:
        """Return what was emitted since the last time."""
        if self._pieces:
            self._flush()
        deltas, self.deltas = self.deltas, []
        return deltas

    def restart(self, deltas: list[Delta]) -> list[Delta]:
        """Forget the deltas that were emitted and the calls that have ended: a prompt has written them, and its client knows them.

        A call that is open is the first one now. Returns what was emitted of it: its client has but a text that is cut.
        """
        deltas, call = [*deltas, *self.take()], self.call
        self.wrote, self.calls = False, int(call is not None and call.sent)
        self.incomplete.clear()
        if call is None:
            return []
        begun = [delta for delta in deltas if delta.kind == "tool_call" and delta.index == call.index]
        call.index = 0
        return [Delta(delta.kind, delta.text, 0, delta.id, delta.name) for delta in begun]

    def _flush(self) -> None:
        text = "".join(self._pieces)
        self._pieces = []
        if text:
            index = self.call.index if self._kind == "tool_call" and self.call else None
            self.deltas.append(Delta(self._kind, text, index))

    def text(self, kind: Literal["reasoning", "content"], text: str) -> None:
        """Emit a piece of reasoning or content."""
        if text:
            if self._kind != kind:
                self._flush()
                self._kind = kind
            self._pieces.append(text)
            self.wrote = True

    # Calls ---------------------------------------------------------------------------------------------------------------

    def open_call(self, waits: bool, count: str = "", place: int = 0) -> None:
        """Begin a call; nothing of it is emitted before its name is known."""
        self.call = Call(self.calls, waits, count, place)

    def _send_head(self, call: Call) -> None:
        self._flush()
        self._kind = "tool_call"
        call.sent = True
        self.calls += 1
        call.id = call.id or make_call_id()
        self.deltas.append(Delta("tool_call", "", call.index, call.id, call.name))
        self._pieces, call.pending = call.pending, []
        self.wrote = True

    def settle(self, patience: bool = True) -> None:
        """Emit the head of the call if nothing of it is waited for any more."""
        call = self.call
        if call and not call.sent and call.name is not None:
            written = "".join(call.pending) if call.waits and call.id is None and patience else None
            if written is None or len(written) > 4 * HOLD or len("".join(written.split())) > HOLD:
                self._send_head(call)

    def arguments(self, text: str) -> None:
        """Emit a piece of the JSON of a call's arguments."""
        call = self.call
        assert call
        text, self.quote = self.quote + text, ""
        if self.trace is not None:
            self.trace.append(text)
        if call.sent:
            self._pieces.append(text)
        else:
            call.pending.append(text)
            self.settle()

    def hold_quote(self) -> None:
        """Hold the quote back with which the arguments end so far: what comes next tells whether it ends a string."""
        pieces = self._pieces if self.call and self.call.sent else self.call.pending if self.call else []
        if pieces and pieces[-1].endswith('"'):
            pieces[-1], self.quote = pieces[-1][:-1], '"'

    def open_container(self, brackets: str) -> None:
        """Begin an object or a list."""
        assert self.call
        self.call.levels.append([brackets[1], ""])
        self.arguments(brackets[0])

    def close_container(self) -> None:
        """End the innermost object or list."""
        assert self.call
        self.arguments(self.call.levels.pop()[0])

    def enter(self, keys: Sequence[str | int]) -> bool:
        """Open the objects and lists in which a member stands, given the keys and places that lead to it, and close the others.

        Returns whether it can stand there: not where one of these was closed already or is none, or where an item does not follow
        the last one.
        """
        call, shared = self.call, 0
        assert call
        while shared < min(len(keys) - 1, len(call.path)) and call.path[shared][0] == keys[shared]:
            shared += 1
        given, step = call.path[shared - 1][1] if shared else call.given, keys[shared]
        listed = call.levels[shared][0] == "]"
        if isinstance(step, int) != listed or (listed and step != len(given)) or (len(keys) > 1 and step in given):
            return False
        if len(keys) > 1 and any(isinstance(key, int) and key for key in keys[shared + 1 :]):
            return False
        while len(call.path) > shared:
            self.close_container()
            call.path.pop()
        for key, below in pairwise(keys[shared:]):
            self.key(key)
            self.open_container("[]" if isinstance(below, int) else "{}")
            given.add(key)
            given = set()
            call.path.append((key, given))
        given.add(keys[-1])
        return True

    def key(self, key: str | int) -> None:
        """Begin an entry of the innermost object; with its place, an item of the innermost list."""
        self.item()
        if isinstance(key, str):
            self.arguments(encode_basestring(key) + ": ")

    def item(self) -> None:
        """Begin an item of the innermost list or object."""
        assert self.call
        level = self.call.levels[-1]
        if level[1]:
            self.arguments(level[1])
        level[1] = ", "

    def members(self, text: str) -> None:
        """End what is open within the arguments, and go on with the members of another object, given its JSON."""
        assert self.call
        while len(self.call.levels) > 1:
            self.close_container()
        if text != "{}":
            self.item()
            self.arguments(text[1:-1])

    def close_call(self, complete: bool = True) -> bool:
        """End the call; returns whether it was one, which takes a name."""
        call = self.last = self.call
        assert call
        if call.name is not None:
            self.arguments("")
            self.settle(patience=False)
            self._flush()
            if not complete:
                self.incomplete.add(call.index)
        self.call = None
        return call.name is not None
