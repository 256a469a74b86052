"""Tool calls: reading what stands after an opener until it is certain that it is a call, and then the call.

Until then nothing is emitted and nothing forgotten: if it is none, the text is read again from the opener's second
character on, as text. How far that may go is bounded, and so is the work, for what is skipped on the way to a name is
bounded more tightly: a flood of openers inside each other makes each character be looked at some dozen times.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .arguments import CUT, ENCODED, NO, NULL, OBJECT
from .format import NAME, ObjectBody
from .scanner import is_weak, make_literal, split_atoms
from .tagged import TaggedReader
from .tape import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Generator

    from .program import Structure
    from .scanner import Literal
    from .tape import Wait

HOLD = 4096  # how many characters after an opener may be looked at before it is certain that it is a call
ELEMENT = 1024  # how long an element of an array may be that is no call
SKIP = 256  # how long the value of an unknown key may be
NAME_LIMIT = 256
TAIL = 1024  # how many characters after its arguments the rest of a call's envelope may have
PENDING_LIMIT = 64

# Names and ids are words with the signs that join them: no brackets, of whatever kind, no quotes and no white space.
PLAUSIBLE = re.compile(rf"[\w.\-:/@$+~#]{{1,{NAME_LIMIT}}}")
_COUNTER = re.compile(r":\d+$")


class CallReader(TaggedReader):
    """Reads tool calls; see the module's text."""

    __slots__ = (
        "_opener",
        "_opening",
        "_pending",
    )

    def __init__(self) -> None:
        super().__init__()
        self._pending: list[str] = []  # closers of what was opened, until they come
        self._opening = 0  # where the call that is being tried begins, with its markup
        self._opener: Structure | None = None

    def _read_calls(self, opener: Structure, at: int, start: int) -> Wait:
        """Read the calls of which the first one's markup begins at ``at`` and its body at ``start``.

        Returns the end of the last one, or -1 if there is none.
        """
        self._opener = opener
        last, sectioned = -1, False
        while True:
            end = yield from self._try_call(at if last < 0 else last, start)
            if end < 0:
                break
            last = yield from self._close_call(end)
            sectioned = sectioned or (self._opener is not None and self._opener.section)
            self._opener = None
            start = yield from self._find_next(last)
            if start < 0:
                break
        if last >= 0 and sectioned:
            last = yield from self._swallow(self._call.section_end, last, self._call.tools.section_end.after)
        return last

    def _try_call(self, at: int, start: int) -> Wait:
        """Read one call, with bounded looking ahead; returns its end or -1."""
        self._opening = at
        begun = self._calls
        self._limit = at + HOLD
        end = yield from self._read_body(start)
        self._limit = UNLIMITED
        return end if self._calls > begun else -1

    def _read_body(self, at: int) -> Wait:
        if not isinstance(self._call.body, ObjectBody):
            return (yield from self._read_sequence(at))
        at = yield from self._skip(at)
        if at < 0:
            return -1
        if self._text[at] == "{":
            return (yield from self._read_object(at))
        if self._text[at] != "[":
            return -1
        return (yield from self._read_array(at + 1))

    def _read_array(self, at: int) -> Wait:
        """Read the calls of a JSON array; an element that is none is text."""
        last, lost = -1, False
        while True:
            at = yield from self._skip(at)
            if at < 0 or self._text[at] != "{":
                return last
            if lost:
                self._opening, self._opener = at, None  # what stands before is text
            calls = self._calls
            end = yield from self._read_object(at)
            lost = self._calls == calls
            if lost:
                end = yield from self._skip_value(at, ELEMENT)
            else:
                last = self._opening = end
                self._opener = None
                self._start_text(end, "")
                self._limit = end + HOLD
            at = yield from self._skip(end) if end >= 0 else _nowhere()
            if at < 0:
                return last
            at += 1
            if self._text[at - 1] == "]" and not lost:
                return at
            if self._text[at - 1] != ",":
                return last

    def _close_call(self, at: int) -> Wait:
        """Swallow the end markers of a call that follow it; the others stay pending."""
        self._in_call = False
        self._start_text(at, "")
        closer = self._call.call_end.replace(NAME, self._name)
        return (yield from self._swallow(closer, at, self._call.tools.call_end.after))

    def _swallow(self, closer: str, at: int, after: str) -> Wait:
        """Swallow those of some end markers that stand at a place; the block of text begins after them."""
        for atom in self._call.list_closers(closer):
            end = yield from self._match_after_space(make_literal(atom), at)
            if end >= 0:
                at = end
                if atom in self._pending:
                    self._pending.remove(atom)
                self._start_text(at, after)
        return at

    def _find_next(self, at: int) -> Wait:
        """Find the body of another call where only a separator announces it; -1 if there is none."""
        call = self._call
        if not call.separator and (call.call_literal or call.bare):
            return -1
        at = yield from (self._match_after_space(call.separator, at) if call.separator else self._skip(at))
        if at >= 0 and call.call_literal:
            at = yield from self._match_after_space(call.call_literal, at)
        return at

    def _admit(self, name: str) -> bool:
        """Whether a call to this name is one here; see the rules for openers and for reasoning in the parser's text."""
        if not name or len(name) > NAME_LIMIT:
            return False
        known = self._tools is not None and name in self._tools
        if not known and not PLAUSIBLE.fullmatch(name):
            return False
        if self._call.bare or (self._opener is not None and self._opener.bare):
            return known or (self._tools is None and not self._thinking)
        return known or self._tools is None or not self._thinking

    def _commit(self, name: str, call_id: str | None, at: int) -> bool:
        """Take what was read for a call whose arguments begin at a place; the text is cut off before it."""
        if at > self._limit or not self._admit(name):
            return False
        self._limit = UNLIMITED
        opener, call = self._opener, self._call
        before = opener.before if opener is not None else call.tools.call_start.before
        gone = self._end_text(self._opening, before)
        self._cut(at - gone)
        if self._thinking:
            self._think(False)
        if self._direct:
            self._direct = False
            self._expect(self._program.reasoning_end.text)
        if opener is not None and opener.section:
            self._expect(call.section_end)
        self._expect(call.call_end.replace(NAME, name))
        self._begin_call(name, call_id, call.id_follows)
        self._start_text(0, "")
        return True

    def _expect(self, text: str) -> None:
        """Remember the closers of what was opened."""
        call = self._program.call
        for atom in call.list_closers(text) if call else split_atoms(text):
            if not is_weak(atom) and len(self._pending) < PENDING_LIMIT:
                self._pending.append(atom)

    def _break_off(self) -> int:
        """Leave a call as the end of the output has cut it off, or as it went wrong."""
        self._announce(None)
        self._incomplete.add(self._calls - 1)
        return 0

    # A call that is a JSON object.

    def _read_object(self, at: int) -> Wait:
        """Read a call written as a JSON object that opens at a place; returns its end or -1."""
        body = self._call.body
        assert isinstance(body, ObjectBody)
        path: tuple[str, ...] = ()
        name, call_id, held, done = "", None, None, -1
        at += 1
        while True:
            at = yield from self._skip(at)
            if at < 0:
                break
            char = self._text[at]
            if char in "},":
                at += 1
                if char == "}":
                    done = at if done >= 0 else done
                    if not path:
                        break
                    path = path[:-1]
                continue
            key, at = yield from self._read_string(at)
            if at == -2:
                return self._leave_object(done, call_id)
            if at >= 0:
                at = yield from self._skip(at)
            if at >= 0 and self._text[at] == ":":
                at = yield from self._skip(at + 1)
            elif at >= 0:
                return self._leave_object(done, call_id)
            if at < 0:
                break
            here, char = (*path, key), self._text[at]
            is_arguments = here == body.arguments
            if body.name_is_key and not path and done < 0:
                name, is_arguments = key, True
            if is_arguments and done < 0 and held is None:
                kind = yield from self._probe_value(at)
                if kind == NO and char == "}":
                    continue  # no arguments, printed as nothing
                if kind == NO:
                    return -1
                if name or kind == CUT:
                    if kind == CUT or not self._commit(name, call_id, at):
                        at = -1
                        break
                    at = yield from self._stream_value(0, kind)
                    if at < 0:
                        return self._break_off()
                    done, self._limit = at, at + TAIL
                else:
                    end = yield from self._skip_value(at, HOLD // 2)
                    held, at = self._text[at:end] if end >= 0 else None, end
            elif here in (body.name, body.id) and char in "\"'":
                value, at = yield from self._read_string(at)
                if here == body.name:
                    name = name or value
                else:
                    call_id = call_id or value
            elif char == "{" and any(whole[: len(here)] == here for whole in (body.name, body.arguments, body.id)):
                path, at = here, at + 1
            elif here == body.name:
                return self._leave_object(done, call_id)
            else:
                end = yield from self._skip_value(at, SKIP)
                if here == body.id and char not in "n{[" and end >= 0:
                    call_id = call_id or self._text[at:end]
                at = end
            if at == -2:
                return self._leave_object(done, call_id)
            if at < 0:
                break
            done = at if done >= 0 else done
            if held is not None and name and done < 0:
                if not self._commit(name, call_id, at):
                    return -1
                self._emit_arguments(self._convert_held(held))
                at = done = 0
                self._limit = TAIL
        if done >= 0:
            return self._leave_object(done, call_id)
        if at < 0 and not (self._closed and len(self._text) < self._limit):
            return -1
        return self._commit_bare_head(name, call_id, at)

    def _leave_object(self, end: int, call_id: str | None) -> int:
        """Leave a call's object where nothing more of it follows; the end is -1 if its arguments have not come."""
        if end >= 0:
            self._announce(call_id)
        return end

    def _commit_bare_head(self, name: str, call_id: str | None, at: int) -> int:
        """Take a call that has a name and no arguments: complete if its object has ended, else cut off."""
        weak = self._call.bare
        if (weak and (at >= 0 or self._tools is None)) or not self._commit(name, call_id, len(self._text) if at < 0 else at):
            return -1
        if at < 0:
            return self._break_off()
        self._emit_arguments("{}")
        self._announce(call_id)
        return 0

    # A call that is a sequence of fields.

    def _read_sequence(self, at: int) -> Wait:
        """Read a call written as fields with text between them; returns its end or -1."""
        name, call_id, begun = "", None, False
        for field, literal in self._call.fields:
            if field == "arguments":
                kind = yield from self._probe_arguments(at, name)
                if kind == NO or not self._commit(name, call_id, len(self._text) if kind == CUT else at):
                    return -1
                begun = True
                if kind == CUT:
                    return self._break_off()
                at = yield from self._stream_arguments(0, kind)
                if at < 0:
                    return self._break_off() if self._closed else self._stop_short()
                if literal:
                    end = yield from self._match_after_space(literal, at)
                    at = end if end >= 0 else at
                continue
            value, end = yield from self._read_field(at, literal)
            if end < 0:
                if begun:
                    break
                return -1
            at = end
            if field == "name":
                name = value
            elif field == "id":
                call_id = value
                if begun:
                    self._announce(call_id)
            else:
                call_id, name = value, self._find_name(value)
        if not begun:
            return -1
        self._announce(call_id)
        return at

    def _probe_arguments(self, at: int, name: str) -> Wait:
        """Tell what stands where the arguments of a sequence are expected."""
        self._name = name
        if not self._admit(name):
            return NO
        if not self._call.arguments.json and not self._call.lexed:
            return (yield from self._probe_entries(at))
        kind = yield from self._probe_value(at)
        if kind == NO and (yield from self._is_closed(at)):
            return NULL if not self._call.bare else NO
        return kind

    def _stream_arguments(self, at: int, kind: int) -> Wait:
        if not self._call.arguments.json and not self._call.lexed:
            return (yield from self._detach(self._stream_entries(at)))
        if kind in (OBJECT, ENCODED):
            return (yield from self._stream_value(at, kind))
        place = yield from self._skip(at)
        end = yield from self._match(make_literal("null"), place)
        self._emit_arguments("{}")
        return end if end >= 0 else at

    def _stop_short(self) -> int:
        """Leave a call whose arguments stopped being what the format says; what follows is text."""
        self._break_off()
        return 0

    def _read_field(self, at: int, literal: Literal) -> Generator[int, None, tuple[str, int]]:
        """Read a name or an id up to the text that follows it; returns it and the end of that text, or -1."""
        at = yield from self._skip(at)
        if at < 0:
            return "", -1
        while True:
            text = self._text
            found = PLAUSIBLE.match(text, at)
            if found is None:
                return "", -1
            end = found.end()
            stop = text.find(literal.first, at + 1, end + len(literal.first)) if literal else end
            if stop > 0 and (literal or end < len(text)):
                break
            if end < len(text):
                stop = end
                break
            if not self._can_wait():
                return "", -1
            yield end + 1
        value = text[at:stop]
        end = (yield from self._match_after_space(literal, stop)) if literal else stop
        return value, end

    def _find_name(self, call_id: str) -> str:
        """Find the name in an id that carries it: a tool's name, else what follows the last dot, without a counter."""
        if self._tools is not None:
            known = [name for name in self._tools.tools if _holds_token(call_id, name)]
            if known:
                return max(known, key=len)
        return _COUNTER.sub("", call_id).rpartition(".")[2]


def _nowhere() -> Wait:
    """Wait for nothing and find nothing."""
    return -1
    yield


def _holds_token(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
