"""Behind a field of a call: what follows it, and what becomes of the call where nothing does that the format knows."""

from __future__ import annotations

import re
from json.encoder import encode_basestring

from ..format.units import MORE, NO
from ..plan.constants import skip_blank
from ..plan.ends import SHORT_END
from ..plan.landmarks import GAP, SHAPE, TURN, UNSHOWN
from ..plan.plan import STRAY
from ..plan.rules import MISTYPED, WAIT, Wait
from ..recover import unquote
from .landing import HELD, Landing
from .names import SHORT
from .shape import find_wrapper_end
from .shaped import ShapedReader

_STRAY = re.compile(r"[,;{}\[\]()\"'\s]{1,64}")
_MEMBER = re.compile(r"\s*,\s*\"(\w{1,32})\"\s*:\s*(?:\"[^\"\\\n]{0,64}\"|[\w.-]{1,32})(?=\W)")
_HALF_MEMBER = re.compile(r"\s*,\s*(?:\"\w{0,32}(?:\"\s*(?::\s*(?:\"[^\"\\\n]{0,64}\"?|[\w.-]{0,32}))?)?)?")
_OF_STRING = re.compile(r"[^\"\\]+|\\.|\"", re.DOTALL)
_TAGS = r"[\"'>]{0,4}(?:</[^\s<>]{1,40}>\s{0,8}){%d,3}"
_CLOSING, _HALF_CLOSING = re.compile(_TAGS % 1), re.compile(_TAGS % 0 + r"(?:<(?:/[^\s<>]{0,40})?)?")


def _match_closing(buffer: str, at: int, final: bool) -> int:
    """Return the place behind the tags that close at a place, behind what may end another tag; NO, or MORE."""
    if not final and _HALF_CLOSING.fullmatch(buffer, at):
        return MORE
    found = _CLOSING.match(buffer, at)
    return found.end() if found else NO


class BehindFields(ShapedReader):
    """Goes on behind fields that have ended."""

    def _step_behind(self, final: bool) -> bool:
        """Find what follows a field that has ended."""
        best = self._find_best((self.at, skip_blank(self.buffer, self.at)), final)
        if best is None or (isinstance(best, Landing) and best.rule.recovery):
            ends = [end for node in self.spot.nodes if (end := self.plan.get_end(node)) and self.buffer.endswith(end, 0, self.at)]
            like = self._find_like(self.spot.rules, self.at, final, ends=ends)
            if isinstance(like, Wait) or best is None or (like and like.end > best.end):
                best = like
        if best:
            return self._go(best)
        if self.at >= len(self.buffer) and not final:
            return False
        return self._deviate(final) and self.at < len(self.buffer)

    def _step_text(self, final: bool) -> bool:
        """Read a text; right behind calls what is like structure comes before that."""
        if self.fresh and self.spot.nodes[0] in UNSHOWN:
            best = self._find_best((self.at, skip_blank(self.buffer, self.at)), final)
            best = best or self._find_like(self.spot.rules, self.at, final)
            if isinstance(best, Wait) or (best and best.rule.recovery == MISTYPED):
                return self._go(best)
            if best and best.calls and not best.rule.constant.core:  # what has no text of its own is found nowhere else
                return self._go(best)
        return super()._step_text(final)

    def _deviate(self, final: bool) -> bool:
        """Nothing that the format knows follows a field of a call: the call ends here, and what follows is text.

        Signs of data alone before what ends calls belong to neither. Returns whether that could be told.
        """
        call = self.writer.call
        if final and self.at >= len(self.buffer):
            self.behind = False
            return True
        if final and isinstance(self._find_best((self.at, skip_blank(self.buffer, self.at)), False), Wait):
            self.at = self.scan = len(self.buffer)  # half of the structure that would have followed
            return True
        if self._read_again():
            return True
        members = self._skip_members() if self.policy.recover else self.at
        follows = self._find_next_behind_strays(members, final) if self.policy.recover else None
        if follows:
            if isinstance(follows, Landing):
                self._note(STRAY, self.at)
            return self._go(follows)
        end = self._find_end_behind_signs(members, final) if self.policy.recover else NO
        if end == MORE:
            return False
        over = self._find_over(final) if end == NO and self.policy.recover and not self.frames else NO
        if over == MORE:
            return False
        rest = self._begin_rest(final) if end == NO and over == NO and self.policy.recover else False
        if rest is not False:
            return rest is True
        quoted = self._read_quote_within(final) if self.writer.quote and end == NO and over == NO else None
        if quoted is not None:
            return quoted
        self._note(SHORT_END if over >= 0 else "call ended early" if end == NO else STRAY, self.at)
        self._close_call(complete=bool(call and call.complete) or end != NO or over >= 0)
        self.spot = self.plan.spot(TURN, (GAP if end == NO else SHAPE,), self.may_call)
        self.behind, self.fresh = False, True
        self.at = self.scan = max(end, over, self.at)
        return True

    def _read_quote_within(self, final: bool) -> bool | None:
        """Read on behind a quote that seemed to end a string, up to the first one behind which something follows that the format
        knows; whether one is there, None where there is none and no more may come."""
        begin = self.at + (0 if final else self.looked)
        for found in _OF_STRING.finditer(self.buffer, begin, self.at + HELD):
            end = found.end()
            follows = self._find_best((end, skip_blank(self.buffer, end)), final) if found[0] == '"' else None
            if isinstance(follows, Wait):
                return False
            self.looked = end - self.at
            if follows and (final or not follows.rule.recovery):
                self._note("arguments that are no JSON", self.at)
                self.writer.quote = "\\" + encode_basestring(unquote(self.buffer[self.at : end - 1]))
                self.at, self.scan, self.looked = end, end, 0
                return True
        return None if final or len(self.buffer) - self.at >= HELD else False

    def _find_over(self, final: bool) -> int:
        """Return where the call is over behind a field of it, as a call or the end of the turn follows: at once, behind a mark of
        another format that ends calls, or any tag that closes; NO, or MORE."""
        over = self._structure_follows(self.at, final, False)
        if over is not False:
            return self.at if over is True else MORE
        at = skip_blank(self.buffer, self.at)
        end = find_wrapper_end(self.buffer, at, final)
        behind = self.at  # what is such a mark is passed by a rule of its own
        if end == NO:
            end = behind = _match_closing(self.buffer, at, final)
        if end < 0:
            return end
        over = self._structure_follows(end, final, True)
        return MORE if isinstance(over, Wait) else behind if over else NO

    def _find_next_behind_strays(self, at: int, final: bool) -> Landing | Wait | None:
        """Return where what the template writes behind a field leads, the end of a call or the next one, behind the members of the
        object around the call that end at a place, or without any behind a sign too many."""
        if at > self.at and not final and _HALF_MEMBER.fullmatch(self.buffer, at):
            return WAIT
        if at == self.at:
            at = skip_blank(self.buffer, self.at)
            if self.buffer[at : at + 1] not in self.plan.strays:
                return None
            at += 1
        landing = self._find_best((at, skip_blank(self.buffer, at)), final)
        if isinstance(landing, Landing):
            ends = landing.rule.closes and not landing.rule.recovery
            return landing if ends or (landing.calls and landing.find("name") in self.names) else None
        return landing

    def _skip_members(self) -> int:
        """Return the place behind members of the object around a call that are no parameters of its tool."""
        at, declared = self.at, self._list_declared(self.writer.call.name if self.writer.call else None)
        while (member := _MEMBER.match(self.buffer, at)) and member[1] not in declared:
            at = member.end()
        return at

    def _find_end_behind_signs(self, at: int, final: bool) -> int:
        """Return where a mark stands that ends calls or the turn, or the output ends, behind a few signs of data at a place; NO
        where none does, or that more is needed to tell."""
        if not final and _HALF_MEMBER.fullmatch(self.buffer, at):
            return MORE
        found, marks = _STRAY.match(self.buffer, at), self.plan.field_ends
        if found is None or marks is None:
            return NO
        end, size = found.end(), len(self.buffer)
        if marks.pattern.match(self.buffer, end) or (final and end == size):
            return end
        rest = self.buffer[end : end + SHORT]
        return MORE if not final and marks.may_begin(rest) else NO
