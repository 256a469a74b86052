"""JSON that is passed through: every byte as the model writes it, up to its end, or to where it is none."""

from __future__ import annotations

import re
from contextlib import suppress
from io import StringIO
from json.encoder import encode_basestring

from ..format.units import MORE, Units, get_units
from ..plan.constants import skip_blank
from ..plan.landmarks import ENCODED, GAP, JSON_TEXT, TURN
from ..plan.scalars import find_within, may_be_read, read_json
from ..plan.spots import WAIT, Wait
from ..recover.repair import CLOSERS, complete, repair
from ..recover.shape import list_members
from .guide import DOUBT, GOING, HOLD, ODD, Guide
from .json_ends import LOOKS, JsonEnds
from .landing import HELD, Landing
from .lexer import JsonLexer

_ESCAPED, _HALF_ESCAPED = re.compile(r"\{\s{0,64}\\\""), re.compile(r"\{\s{0,64}\\?")
"""An object whose first key stands between quotes that are escaped, though no string is around it; and half of what may be one."""
_WRAPPED = re.compile(r"\{\s{0,16}\"([^\"\\]{1,64})\"\s?:\s?\{\s{0,16}\"([^\"\\]{1,64})\"\s?:")
_HALF_WRAPPED = re.compile(r"\{\s{0,16}(?:\"(?:[^\"\\]{0,64}(?:(\")\s?(?::\s?(?:\{\s{0,16}(?:\"[^\"\\]{0,64}(?:\"\s?)?)?)?)?)?)?)?")
"""An object whose first member is an object that is not empty, and half of what may be one; (group 1) behind its first key."""


class JsonReader(JsonEnds):
    """Hands on arguments that are JSON, and holds back only what is to be made valid."""

    def _flush_scalar(self) -> None:
        """Write a number or a word behind which something follows."""
        if self.scalar is not None:
            self.writer.arguments(self.scalar[1])
            self.scalar = None

    def _close_call(self, complete: bool = True) -> None:
        """End the call that is open."""
        self._flush_scalar()
        call = self.writer.call
        if call is None:
            return
        self.frames.clear()
        if complete and not (call.levels or call.complete):
            self.writer.arguments("{}")
        while complete and call.levels:
            self.writer.close_container()
        if not self.writer.close_call(complete or call.complete):  # without a name it is text
            self.writer.text("content", self.buffer[call.place - self.gone : self.at])

    def _pass_piece(self, lexer: JsonLexer, text: str) -> bool:
        """Read a piece behind JSON that was handed on; returns whether it is nothing but more of that, for the caller to hand on:
        else what is left of it is the buffer."""
        found = lexer.scan(text, 0)
        if found == GOING:
            self.gone += len(text)
            if lexer.mends:
                self.passed.write(text)
            return True
        self.gone += len(self.buffer)
        end = found if found >= 0 else lexer.place
        stop = end - (found >= 0 and self._may_resume(lexer))
        self.writer.arguments(text[:stop])
        self.buffer, self.at, self.scan = text, stop, end
        if found < 0 or stop < end:
            self.passed.write(text[:stop])
            self.mending = self.mending or found == DOUBT
        else:
            self._end_json()
        return False

    def _start_json(self, final: bool, foreign: bool = False) -> bool:
        """Begin a value that is passed through; one in ``foreign`` notation is held until its end, and written as JSON."""
        at = skip_blank(self.buffer, self.at)
        if at >= len(self.buffer):
            return False
        self.within = find_within(self.spot.nodes)
        if self.policy.recover and not (self.within or foreign):
            if not final and _HALF_ESCAPED.fullmatch(self.buffer, at):
                return False
            if _ESCAPED.match(self.buffer, at):
                self._note(ENCODED.name, at)
                self.within = JSON_TEXT
        wrapped = self._is_wrapped(at, final)
        if wrapped is None:
            return False
        self.at = self.scan = at
        # What a template writes as a value of its own is mended here, whatever it is; arguments that are JSON are the client's.
        mends = self.policy.repair or foreign or wrapped or (self.policy.recover and self.spot.kind == "value")
        mends = mends and (self.within is None or self.policy.repair)
        self.searched, self.looks, self.resumed, self.near_at = self.gone + at, LOOKS, LOOKS, -1
        self.opened = self.searched
        guide = Guide(self._find_schema()) if mends and self.policy.repair else None
        self.lexer = JsonLexer(mends, mends, self.plan.call_marks if self.policy.repair else None, guide)
        self.foreign = foreign and self.within is None
        self.wrapped, self.mending = wrapped, self.foreign or wrapped
        self.passed, self.unsent, self.unseen = StringIO(), StringIO(), ""
        return True

    def _is_wrapped(self, at: int, final: bool) -> bool | None:
        """Whether the first member of the arguments at a place is an object with a parameter of the tool in it, and is none itself,
        so that it may be the arguments; None where what comes tells."""
        own = self._list_wanted() if self.policy.recover and self.within is None else None
        if not own:
            return False
        found = _WRAPPED.match(self.buffer, at)
        if found:
            return found[1] not in own and found[2] in own
        half = None if final else _HALF_WRAPPED.fullmatch(self.buffer, at)
        told = half and half[1] and self.buffer[at:].split('"')[1] in own
        return None if half and not told else False

    def _unwrap(self, text: str) -> str:
        """Return the arguments that are all that an object holds, if they are that, and what is no such object as it is."""
        read = read_json(text)
        with suppress(ValueError):  # a key that comes twice
            members = [*list_members(read[0]).values()] if read and _WRAPPED.match(read[0]) else []
            if len(members) == 1 and isinstance(members[0].value, dict) and self._list_wanted().issuperset(members[0].value):
                self._note("arguments within an object", self.at)
                return members[0].text
        return text

    def _step_json(self, final: bool) -> bool:
        """Pass JSON through up to its end, or to where it is none: to the end of the call, or on as it is."""
        lexer = self.lexer
        assert lexer
        found = self._pass_decoded(get_units(self.within), final) if self.within else self._scan_json(lexer, final)
        if not isinstance(found, Wait):
            decided = isinstance(found, Landing) or found >= 0
            over = self._end_nearest(lexer, final, True, self.scan if decided else -1)
            if over or (over is None and decided):
                return over is True
            if decided and lexer.broken and (over := self._end_sooner(lexer, self.scan, final)) is not False:
                if over:
                    self._end_json()
                return over is True
            found = self._choose_reading_of_quotes(lexer.beside, found, final) if lexer.beside else found
        if isinstance(found, Landing):
            self._leave_json(found)
        elif isinstance(found, Wait) or found < 0:
            return final and self._end_nearest(lexer, final, False) is True
        elif (more := self._resumes(lexer, found, final)) is None:
            return False
        elif more:
            self.mending = True
            lexer.resume()
            self._note("arguments that are no JSON", found)
        else:
            self._pass_json(self.scan)
            self._end_json()
        return True

    def _scan_json(self, lexer: JsonLexer, final: bool) -> Landing | Wait | int:
        """Read JSON on; returns the place behind it, the structure that stands where it cannot go on, or what waits for more."""
        while lexer.beside is None or lexer.beside.other < 0:
            end = lexer.scan(self.buffer, max(self.at, self.scan), final)
            odd = end == ODD or (end == HOLD and final)
            held = end >= 0 and self._may_resume(lexer)
            self._pass_json(end - held if end >= 0 else len(self.buffer) if end == GOING else lexer.place)
            self.scan = max(self.scan, end)
            if end == DOUBT:
                self.mending = True
                continue
            if not odd:
                return end
            quoted = lexer.plain and self.buffer[lexer.place] == '"'
            if self.policy.recover and (quoted or not (lexer.plain or lexer.may_close(self.buffer[lexer.place]))):
                landing = self._find_end_of_call(lexer.place + quoted, final)
                if isinstance(landing, Landing) and landing.rule.recovery and self.policy.repair:
                    further = self._find_further(landing.end, final)
                    landing = WAIT if further is None else None if further else landing
                if isinstance(landing, Landing):
                    self._pass_json(lexer.place + quoted)
                if landing:
                    return landing
            self._pass_odd(lexer, quoted)
            if lexer.ended:
                return self.scan
        return self.at + lexer.beside.other

    def _leave_json(self, landing: Landing) -> None:
        """End JSON that has not ended, and the call unless another of its arguments follows: nothing is added to it but brackets,
        where the client gets valid JSON."""
        if self.within and not self.mending:
            self._flush_json()  # what waited for its end
        first = not self.sent
        valid = (self._flush_json() or (first and self._add_brackets())) and self.spot.kind == "value"
        self.lexer = None
        self._note("brackets missing", self.at)
        if landing.spot.kind != "value" or self._get_call(landing) is None:
            self._close_call(complete=valid)
            self.spot, self.fresh = self.plan.spot(TURN, (GAP,), self.may_call), True  # if what comes is no call, text goes on
        if not (landing.pops and self.writer.call is None):  # nothing is left of what that would end
            self._apply(landing, self.at)

    def _add_brackets(self) -> bool:
        """Close what is open in JSON that was handed on, if that makes it valid and that is wanted; whether it was."""
        written = self.passed.getvalue().rstrip() if self.policy.repair else ""
        whole = complete(written)
        if not (self.writer.call and len(whole) > len(written) and read_json(whole)):
            return False
        self.writer.arguments(whole[len(written) :])
        self.writer.call.complete = self.spot.kind == "arguments"  # of a value, others may follow
        return True

    def _pass_json(self, end: int) -> None:
        """Hand on JSON up to a place; while it is mended it waits."""
        self.scan = max(end, self.scan)
        text = self.buffer[self.at : end]
        if self.lexer and self.lexer.mends and not self.passed.tell() and text.strip() == "{":
            return  # what comes next tells whether it begins a set
        if not self.mending and text:
            self.writer.arguments(text)
            if self.lexer and self.lexer.mends:
                self.passed.write(text)
            self.at = end

    def _pass_odd(self, lexer: JsonLexer, quoted: bool) -> None:
        """Go on behind what JSON does not have; ``quoted`` is a quote that seems to stand within a string."""
        place, broken = lexer.place, self.foreign or (lexer.broken and lexer.mends)
        if not self.mending:
            self.mending = lexer.mends
        self.scan = lexer.fork(self.buffer, self.at) if quoted else lexer.skip(self.buffer)
        if lexer.broken and not broken:
            self._note("arguments that are no JSON", place)
        self._pass_json(self.scan)

    def _flush_json(self, cut: bool = False) -> bool:
        """Hand on what waited to be mended, valid if it can be; returns whether it is. Nothing is put to what is ``cut`` off."""
        valid = False
        if self.within:
            return self._flush_decoded(cut)
        if self.mending:
            self.mending = False
            passed, held = self.passed.getvalue(), self.buffer[self.at : self.scan]
            begin = len(passed + held if self.sent or cut else passed)
            mended = self.nearest or repair(passed + held, begin, self._wants, self._list_wanted())
            if mended is None and (requoted := self._requote(held)):
                mended = repair(passed + requoted)
            sent, self.nearest = self.sent or passed, ""
            text = next((whole[len(sent) :] for whole in (mended, passed + held) if whole and whole.startswith(sent)), held)
            valid = bool(mended and mended.startswith(sent))
            if mended is None and not sent and self.spot.kind == "value":
                text, valid = encode_basestring(held), True
            self.writer.arguments(self._unwrap(text) if self.wrapped and not sent else text)
            self.passed.write(text)
            self.at = self.scan = self.scan - len(self.closer)
            self.sent = self.closer = ""
        return valid

    def _requote(self, text: str) -> str:
        """Return a text with those strings in JSON that stand in the format's own quotes; empty where none does."""
        pieces = text.split(self.plan.quote) if self.plan.quote else []
        strings = (encode_basestring(piece) if place % 2 else piece for place, piece in enumerate(pieces))
        return "".join(strings) if len(pieces) > 1 and len(pieces) % 2 else ""

    def _end_json(self) -> None:
        looked = self.mending
        self._flush_json()
        written = self.passed.getvalue() if self.within and self.policy.recover and not looked else ""
        if written and len(written) <= HELD and may_be_read(written) and not read_json(written):
            self._note("arguments that are no JSON", self.at)
        self.lexer = None
        self.behind = True
        if self.spot.kind == "value" and self.policy.recover and not self.frames:
            self.writer.hold_quote()
            self.looked = 0
        if self.spot.kind == "arguments" and self.writer.call:
            self.writer.call.complete = True

    def _pass_decoded(self, units: Units, final: bool) -> Landing | Wait | int:
        """Pass JSON through that is written as a text with escapes; returns the place behind it, or GOING."""
        assert self.lexer
        buffer, size = self.buffer, len(self.buffer)
        if self.lexer.ended:
            return self.at
        own = self.plan.get_end(self.spot.nodes[0]) if self.policy.recover else ""
        own = "" if own[:1] in CLOSERS.values() else own  # such a bracket may be the value's
        while self.at < size:
            end, text = self.at + 1, buffer[self.at]
            read, char = units.read(buffer, self.at, final) if text in units.first else (self.at, text)
            if read == MORE:
                return GOING
            if read > self.at:
                end, text = read, char
            elif own and text == own[0] and not self.lexer.plain:
                over = self._find_end_of_call(self.at, final)
                if isinstance(over, Wait) or (over and not over.rule.recovery):
                    return over  # the text ends before what is written in it
            if read <= self.at and text not in units.first:
                found = units.signs.search(buffer, end)
                end = found.start() if found else size
                raw = buffer.find(own[0], self.at + 1, end) if own else -1
                end = raw if raw >= 0 else end
                text = buffer[self.at : end]
            more = self._scan_decoded(self.lexer, text)
            self.at = self.scan = end - max(more, 0)
            if more >= 0:
                return self.at
        return GOING

    def _scan_decoded(self, lexer: JsonLexer, text: str) -> int:
        """Hand on a piece of such JSON; returns how much of it is none of the value, or GOING."""
        whole = self.unseen + text
        stop = lexer.scan(whole, 0)
        while stop in (ODD, DOUBT) or (stop == HOLD and not lexer.mends):
            if lexer.mends and not self.mending:
                self._pass_decoded_text(whole[: lexer.place])
                lexer.leave(whole, lexer.place)
                whole, lexer.place, self.mending = whole[lexer.place :], 0, True
            place = lexer.place if stop == DOUBT else lexer.skip(whole)
            stop = place if lexer.ended else lexer.scan(whole, place)
        end = stop if stop >= 0 else lexer.place if stop == HOLD else len(whole)
        self._pass_decoded_text(whole[:end])
        if stop == HOLD:
            lexer.leave(whole, end)
        self.unseen = whole[end:] if stop == HOLD else ""
        return len(whole) - end if stop >= 0 else GOING

    def _pass_decoded_text(self, text: str) -> None:
        if self.mending:
            self.unsent.write(text)
            return
        self.writer.arguments(text)
        if self.policy.repair or self.passed.tell() <= HELD:  # else what is longer is not looked at once more
            self.passed.write(text)

    def _flush_decoded(self, cut: bool) -> bool:
        """Hand on what waited of such JSON, as :meth:`_flush_json` does."""
        passed, held = self.passed.getvalue(), self.unsent.getvalue() + self.unseen
        begin = len(passed + held if cut else passed)
        mended = repair(passed + held, begin, self._wants, self._list_wanted()) if self.mending else None
        valid = mended is not None and mended.startswith(passed)
        self.writer.arguments(mended[len(passed) :] if mended and valid else held)
        if self.mending and self.lexer and self.lexer.broken:
            self._note("arguments that are no JSON", self.at)
        elif not self.mending:
            self.passed.write(held)
        self.mending, self.unsent, self.unseen = False, StringIO(), ""
        return valid
