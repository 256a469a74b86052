"""Where JSON ends that is not as the schema, or JSON itself, has it: at what ends its call, before a bracket, or behind one that is
one too many."""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import islice
from typing import Any, Final

from ..plan.constants import find_end
from ..plan.ends import TRAILING
from ..plan.landmarks import GAP, TURN
from ..plan.spots import Wait
from ..recover.nearest import Nearest, is_wanted, list_nearest
from ..recover.repair import repair
from ..schema import UNKNOWN, Schema, find_type
from .guide import GOING
from .landing import Landing
from .lexer import Beside, JsonLexer
from .texts import TextReader

_FURTHER: Final = re.compile(r'\s*(?:([\]}])|,\s*\\*(?:([{\[])|"([^"\\\n]{0,64})\\*(?:"\s*(:)?)?)?)?')
"""What parts arguments, and the next key, as far as it is there; (group 4) all of it, or (groups 1 and 2) another item. In a string
of JSON its quotes are escaped."""
LOOKS: Final = 8  # so many marks in JSON that lacks a sign may be its end, and behind so many brackets it may go on


class JsonEnds(TextReader):
    """Finds the end of JSON that is passed through."""

    def _end_json(self) -> None:
        raise NotImplementedError

    def _may_resume(self, lexer: JsonLexer) -> bool:
        """Whether arguments may follow the last bracket, as one was too many; so long it is held back."""
        own = self._list_wanted() if self.policy.repair and self.within is None else frozenset()
        return not own.issubset(lexer.given)

    def _resumes(self, lexer: JsonLexer, end: int, final: bool) -> bool | None:
        """Whether JSON goes on behind the last bracket, which ended it: where a further argument of the tool stands there and
        nothing else is expected, or where brackets were odd before; None where what comes tells. JSON that the schema doubts may
        also have ended before that bracket."""
        odd = self.mending and (lexer.broken or lexer.doubted)
        if not (odd or self._may_resume(lexer)):
            return False
        own = self._list_wanted().difference(lexer.given)
        further = self._find_further(end, final, None if odd else own)
        if further is None or not (further or odd):
            return further
        follows = self._find_best(end, final)
        if isinstance(follows, Wait):
            return None
        found = _FURTHER.match(self.buffer, end)
        least = found.end() - 1 if found and found[4] else len(self.buffer)  # of what is recovered
        told = follows is not None and follows.end > (least if follows.rule.recovery else end)
        if not (lexer.broken or told) and self._end_sooner(lexer, end, final) is None:
            return None
        if not further or told or not self.resumed or (found and found[1] == "}" and self._is_whole(end)):
            return False
        self.resumed -= 1
        return True

    def _is_whole(self, end: int) -> bool:
        """Whether JSON up to a place is all that the schema wants, if it is mended."""
        passed = self.passed.getvalue()
        mended = None if self.within else repair(passed + self.buffer[self.at : end], len(passed), self._wants, self._list_wanted())
        return mended is None or is_wanted(mended, self._wants)

    def _find_further(self, at: int, final: bool, keys: Set[str] | None = None) -> bool | None:
        """Whether more of a list or an object stands at a place, if keys are given, one of these; None where what comes tells."""
        found = _FURTHER.match(self.buffer, at)
        assert found
        whole = any(found.group(1, 2, 4))
        if found.end() == len(self.buffer) and not (whole or final):
            return None if keys is None or any(key.startswith(found[3] or "") for key in keys) else False
        return whole and (keys is None or (found[4] is not None and found[3] in keys))

    def _end_sooner(self, lexer: JsonLexer, until: int, final: bool) -> bool | None:
        """Let JSON whose brackets are odd end before a place at which they end it, or where the schema doubts it before its last
        bracket, if it is the nearest that is wanted and what follows a call stands behind it; whether it does, None where more may
        tell."""
        if self.within or not (self.mending and self.policy.repair and (lexer.broken or lexer.doubted)):
            return False
        for end, near in self._list_near(until):
            follows = self._find_best(end, final) if lexer.broken or (near.fits and end < until) else None
            if isinstance(follows, Wait):
                return None
            told = follows is not None and follows.end > end and (lexer.broken or not follows.rule.recovery)
            if told or (lexer.broken and final and not self.buffer[end:].strip()):
                if not lexer.broken:
                    self._note("arguments that are no JSON", end)
                self.scan, self.nearest = end, near.written
                return True
        return False

    def _list_near(self, until: int) -> list[tuple[int, Nearest]]:
        """Return the nearest values before a place, with the places behind them; they are sought once, however long one waits."""
        if self.near_at != self.gone + until:
            passed = self.passed.getvalue()
            text, begin = passed + self.buffer[self.at : until], len(passed)
            near = [*list_nearest(text, begin, self._wants, True), *(n for n in list_nearest(text, begin, self._wants) if n.fits)]
            self.near, self.near_at = [(self.gone + self.at + each.end - begin, each) for each in near], self.gone + until
        return [(end - self.gone, each) for end, each in self.near]

    def _end_nearest(self, lexer: JsonLexer, final: bool, sure: bool, until: int = -1) -> bool | None:
        """End JSON that lacks a sign, or has one too many, before a mark that ends calls, or where the output ends; whether it has
        ended there, before a place if one is given, and what is meant is told. JSON that may yet be valid ends before a mark only
        where nothing else follows."""
        if self.within or not (self.mending and self.policy.repair and (lexer.broken or final)):
            return False
        marks, size = self.plan.call_marks, len(self.buffer)
        begin, limit = max(self.at, self.searched - self.gone), size if until < 0 else until
        found = islice(marks.pattern.finditer(self.buffer, begin, limit), self.looks) if marks else ()
        ends = [mark.start() for mark in found if lexer.broken or self._ends_call_at(mark.start(), final)]
        ends += [size] if final and lexer.broken and until < 0 else []
        self.searched = max(self.searched, self.gone + max(limit - (marks.longest if marks else 0), self.at))
        passed = self.passed.getvalue() if ends else ""
        for stop in ends:
            for near in list_nearest(passed + self.buffer[self.at : stop], len(passed), self._wants, sure):
                end = self.at + near.end - len(passed)
                follows = self._find_best(end, final)
                if isinstance(follows, Wait):
                    self.searched = self.gone + stop
                    return None
                if follows or (final and not self.buffer[end:].strip()):
                    if not lexer.broken:
                        self._note("arguments that are no JSON", end)
                    self.scan, self.nearest = end, near.written
                    self._end_json()
                    return True
            self.looks = max(self.looks - 1, 0)
        return False

    def _ends_call_at(self, at: int, final: bool) -> bool:
        """Whether all that follows a mark is structure, as it begins or ends a call."""
        ends = self.plan.call_ends
        return self._structure_follows(find_end(ends.pattern, self.buffer, at) if ends else at, final, True) is True

    def _wants(self, value: Any) -> bool | None:
        """Whether the tool takes all of a value, arguments that it declares, or what its schema says of the one that is being read;
        None where it does not take it."""
        if self.spot.kind != "arguments":
            types = self.wanted.get_types()
            taken = not types or find_type(value) in types
        else:
            declared = self._list_wanted()
            taken = isinstance(value, dict) and (not declared or declared.issuperset(value))
        return self._find_schema().fits(value) if taken else None

    def _find_schema(self) -> Schema:
        """Return what the tool says of the value that is being read, or of all its arguments."""
        if self.spot.kind != "arguments":
            return self.wanted
        call = self.writer.call
        return self.tools.get_parameters(call.name) if call and call.name and self.tools else UNKNOWN

    def _list_wanted(self) -> frozenset[str]:
        """Return the keys of the arguments that are read as a whole, as far as the tool declares them."""
        call = self.writer.call if self.spot.kind == "arguments" else None
        return self._list_declared(call.name) if call else frozenset()

    def _choose_reading_of_quotes(self, beside: Beside, found: Landing | int, final: bool) -> Landing | Wait | int:
        """Choose between the readings of a quote within a string: right is the first behind whose end the call ends."""
        end = beside.look(self.buffer, self.at, final)
        if isinstance(found, int) and found >= 0:
            beside.other = found - self.at
        ways: list[tuple[int, Landing | int]] = [(self.scan if isinstance(found, Landing) else found, found)]
        if end >= 0:
            ways.append((self.at + end, self.at + end))
        for place, way in sorted(ways, key=lambda way: way[0]):
            landing = way if isinstance(way, Landing) else self._find_end_of_call(place, final) if place >= 0 else None
            if isinstance(landing, Wait):
                return landing
            if landing or (final and place >= 0 and not self.buffer[place:].strip()):
                self.scan = place
                return way
        return found if end >= 0 or final or beside.other < 0 else GOING

    def _find_end_of_call(self, place: int, final: bool) -> Landing | Wait | None:
        """Return the structure that stands where JSON cannot go on: what ends the call, or a mark of what may stand behind it."""
        found = self._find_best(place, final)
        if isinstance(found, Landing):
            ends = found.rule.closes or found.steps or found.spot.kind == "end"
            found = found if ends and found.end > place and found.rule.recovery != TRAILING else None
        if found is None:
            found = self._find_best(place, final, self.plan.spot(TURN, (GAP,), self.may_call))
            if isinstance(found, Landing) and not found.rule.constant.marked:
                return None
        return found
