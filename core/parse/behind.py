"""Behind a field of a call: what follows it, and what becomes of the call where nothing does that the format knows; and calls
that are told by their shape, or by the tools and parameters that they name, which are taken whole, or are text."""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import Final

from ..format.units import MORE, NO
from ..plan.constants import skip_blank
from ..plan.debris import LONGEST, Rest
from ..plan.ends import SHORT_END
from ..plan.entries import RELAID_ARGUMENT
from ..plan.guards import OF_FIELDS
from ..plan.landmarks import GAP, SHAPE, TURN, UNSHOWN
from ..plan.openings import FENCED_CALL
from ..plan.plan import STRAY
from ..plan.relaxed import STRAY_END
from ..plan.rules import MISTYPED
from ..plan.spots import Wait
from ..recover.repair import QUOTES, repair, unquote
from ..recover.shape import find_tool_in
from ..schema import spell
from .fence import Fence
from .landing import HELD, Landing, Step, list_id
from .names import OTHER_LETTERS, SHORT, WITH_PREFIX
from .shape import Fields, Shape, find_wrapper_end
from .values import ValueReader

_CLOSERS: Final = re.compile(r"[)\]}\s]{1,16}")
_STRAY: Final = re.compile(r"[,;{}\[\]()\"'\s]{1,64}")
_MEMBER: Final = re.compile(r"\s*,\s*\"(\w{1,32})\"\s*:\s*(?:\"[^\"\\\n]{0,64}\"|[\w.-]{1,32})(?=\W)")
_HALF_MEMBER: Final = re.compile(r"\s*,\s*(?:\"\w{0,32}(?:\"\s*(?::\s*(?:\"[^\"\\\n]{0,64}\"?|[\w.-]{0,32}))?)?)?")
_OF_STRING: Final = re.compile(rf"[^{''.join(QUOTES.values())}\\]+|\\.|.", re.DOTALL)
_MORE, _HALF_MORE = re.compile(r"[ \t]*(?:[%!*+~(\w]|[./-][ \t]?\w|/\*|,\d)"), re.compile(r"[ \t]*(?:[./-][ \t]?|,)?")
_COMMENT: Final = re.compile(r"[ \t]*(?:#|//)")
_TAGS: Final = r"[\"'>]{0,4}(?:</[^\s<>]{1,40}>\s{0,8}){%d,3}"
_CLOSING, _HALF_CLOSING = re.compile(_TAGS % 1), re.compile(_TAGS % 0 + r"(?:<(?:/[^\s<>]{0,40})?)?")


class BehindFields(ValueReader):
    """Goes on behind fields that have ended, and looks at what may be a call of another notation until that is told."""

    def _step_behind(self, final: bool) -> bool:
        """Find what follows a field that has ended."""
        best = self._find_crossing(self.at, final) or self._find_best(self.at, final)
        if isinstance(best, Landing) and not best.rule.constant.text and self.policy.recover:
            best = self._find_relaid(final) or best  # no mark tells that nothing more follows in the call
        if best is None or (isinstance(best, Landing) and best.rule.recovery):
            ends = [end for node in self.spot.nodes if (end := self.plan.get_end(node)) and self.buffer.endswith(end, 0, self.at)]
            like = self._find_like(self.spot.rules, self.at, final, ends=ends)
            if isinstance(like, Wait) or best is None or (like and like.end > best.end):
                best = like
        bare = isinstance(best, Landing) and best.rule.closes and not (best.rule.constant.text or best.rule.recovery)
        if self.scalar and bare:
            ended = self._ends_line(final)  # no mark ends it, so what stands behind it has to
            if ended is None:
                return False
            best = best if ended else None
        if best:
            return self._go(best)
        if self.at >= len(self.buffer) and not final:
            return False
        return self._deviate(final) and self.at < len(self.buffer)

    def _ends_line(self, final: bool) -> bool | None:
        """Whether nothing but structure stands on the same line behind a field; None where more may tell."""
        at = skip_blank(self.buffer, self.at)
        if "\n" in self.buffer[self.at : at]:
            return True
        if at == len(self.buffer):
            return final or None
        follows = self._structure_follows(self.at, final, True)
        return None if isinstance(follows, Wait) else follows

    def _find_relaid(self, final: bool) -> Landing | Wait | None:
        """Return where another argument begins behind other layout than the template writes."""
        relaid = (rule for rule in self.spot.rules if rule.recovery == RELAID_ARGUMENT)
        line = self.buffer.find("\n", self.at, skip_blank(self.buffer, self.at))
        found = (self._try_rule(rule, max(line, self.at), final, self.spot) for rule in relaid)
        return next((each for each in found if each is not None), None)

    def _step_text(self, final: bool) -> bool:
        """Read a text; right behind calls what is like structure comes before that."""
        if self.late is not None:
            ended = self._end_late(final)
            if ended or self.late is not None:  # else the text goes on
                return ended
        if self.fresh and self.spot.nodes[0] in UNSHOWN:
            best = self._find_best(self.at, final)
            best = best or self._find_like(self.spot.rules, self.at, final)
            if isinstance(best, Wait) or (best and best.rule.recovery == MISTYPED):
                return self._go(best)
            if best and best.calls and not best.rule.constant.core:  # what has no text of its own is found nowhere else
                return self._go(best)
            rest = NO if best else self._find_rest_of_end(final)
            if rest == MORE:
                return False
            if rest > self.at:
                self._note(STRAY_END, self.at)
                self.at = self.scan = rest
                return True
        return super()._step_text(final)

    def _find_rest_of_end(self, final: bool) -> int:
        """Return the place behind what is left of the end of the last call where a text would begin, up to structure or the end of
        the output; NO where it is none, MORE where more may tell."""
        begin, debris = skip_blank(self.buffer, self.at), self.plan.debris
        if debris is None or self.writer.last is None or self.spot.silent or begin == len(self.buffer):
            return NO
        rest = self.rest = self.rest if self.rest.begin == begin + self.gone else Rest(begin + self.gone)
        while (at := skip_blank(self.buffer, rest.seen - self.gone)) < len(self.buffer):
            found = self._find_landing(self.spot, at, final) if rest.marked and self.spot.pattern.match(self.buffer, at) else None
            if found is not None:
                return MORE if isinstance(found, Wait) else at if found.rule.constant.core else NO
            end, kind = debris.read(self.buffer, at)
            if end == len(self.buffer) and not final and (kind or self.buffer[at].isalnum()) and end - begin <= LONGEST:
                return MORE
            if not kind or (kind == "id" and rest.named) or end - begin > LONGEST:
                return NO
            rest.seen, rest.marked, rest.named = end + self.gone, rest.marked or kind == "mark", rest.named or kind == "id"
        return (at if rest.marked else NO) if final else MORE

    def _deviate(self, final: bool) -> bool:
        """Nothing that the format knows follows a field of a call: the call ends here, and what follows is text. Signs of data
        alone before what ends calls belong to neither. Returns whether that could be told."""
        if final and self.at >= len(self.buffer):
            self.behind = False
            return True
        if final and isinstance(self._find_best(self.at, False), Wait):
            self.at = self.scan = len(self.buffer)  # half of the structure that would have followed
            return True
        if self._read_again():
            return True
        end = over = NO
        if self.policy.recover:
            members = self._skip_members()
            if not final and _HALF_MEMBER.fullmatch(self.buffer, members):
                return False
            follows = self._find_next_behind_strays(members, final)
            if isinstance(follows, Landing):
                self._note(STRAY, self.at)
            if follows:
                return self._go(follows)
            end = self._find_end_behind_signs(members, final)
            over = self._find_over(final) if end == NO and not self.frames else NO
            if end == MORE or over == MORE:
                return False
        if self.policy.recover and end == over == NO:
            more = self._has_more(final) if self.scalar else False
            if more is not False:
                return more is True and self._go_on_as_text()
            rest = self._begin_rest(final)
            if rest is not False:
                return rest is True
            if self.scalar and _COMMENT.match(self.buffer, self.at):
                return self._go_on_as_text()
            quoted = self._read_quote_within(final) if self.writer.quote else None
            if quoted is not None:
                return quoted
        self._note(SHORT_END if over >= 0 else "call ended early" if end == NO else STRAY, self.at)
        self._close_call(complete=end != NO or over >= 0)
        self.spot = self.plan.spot(TURN, (GAP if end == NO else SHAPE,), self.may_call)
        self.behind, self.fresh = False, True
        self.at = self.scan = max(end, over, self.at)
        return True

    def _has_more(self, final: bool) -> bool | None:
        """Whether more of the same text stands behind a number or a word: its unit, a sign of arithmetic, or what is in brackets,
        and no parameter of the tool; None where more may tell."""
        if not final and _HALF_MORE.fullmatch(self.buffer, self.at):
            return None
        if not _MORE.match(self.buffer, self.at):
            return False
        named = self._may_name(skip_blank(self.buffer, self.at), final)
        return None if isinstance(named, Wait) else not named

    def _read_quote_within(self, final: bool) -> bool | None:
        """Read on behind a quote that seemed to end a string, up to the first one behind which something follows that the format
        knows; whether one is there, None where there is none and no more may come."""
        begin, quote = self.at + (0 if final else self.looked), self.buffer[self.at - 1]
        for found in _OF_STRING.finditer(self.buffer, begin, self.at + HELD):
            end = found.end()
            follows = self._find_best(end, final) if found[0] == quote else None
            if isinstance(follows, Wait):
                return False
            self.looked = end - self.at
            if follows and (final or not follows.rule.recovery):
                self._note("arguments that are no JSON", self.at)
                inner = self.buffer[self.at : end - 1]
                empty = self.gone + self.at - self.opened == 2
                doubled = quote not in inner and (inner == "" or empty)
                begun = "" if doubled else encode_basestring(quote)[1:-1]
                self.writer.quote = begun + encode_basestring(unquote(inner))[1:]
                self.at, self.scan, self.looked = end, end, 0
                return True
        return None if final or len(self.buffer) - self.at >= HELD else False

    def _find_over(self, final: bool) -> int:
        """Return where the call is over as another one or the end of the turn follows, at once or behind a mark that closes."""
        over = self._structure_follows(self.at, final, False)
        if over is not False:
            return self.at if over is True else MORE
        at = skip_blank(self.buffer, self.at)
        end = find_wrapper_end(self.buffer, at, final)
        behind = self.at  # what is such a mark is passed by a rule of its own
        if end == NO:
            found, half = _CLOSING.match(self.buffer, at), _HALF_CLOSING.fullmatch(self.buffer, at)
            end = behind = MORE if half and not final else found.end() if found else NO
        if end < 0:
            return end
        over = self._structure_follows(end, final, True)
        return MORE if isinstance(over, Wait) else behind if over else NO

    def _find_next_behind_strays(self, at: int, final: bool) -> Landing | Wait | None:
        """Return where the end of a call leads, or the next one, or a further argument, behind the members of the object around the
        call that end at a place, or without any behind a sign too many."""
        if at == self.at:
            at = skip_blank(self.buffer, self.at)
            if self.buffer[at : at + 1] not in self.plan.strays or self.buffer[at + 1 : at + 2].isdigit():
                return None
            at += 1
        landing = self._find_best(at, final)
        if isinstance(landing, Landing):
            goes_on = landing.rule.closes or (landing.rule.kind == "key" and landing.rule.constant.firm)
            goes_on = goes_on and not landing.rule.recovery
            return landing if goes_on or (landing.calls and landing.find("name") in self.names) else None
        return landing

    def _skip_members(self) -> int:
        """Return the place behind members of the object around a call that are no parameters of its tool."""
        at, declared = self.at, self._list_declared(self.writer.call.name if self.writer.call else None)
        while (member := _MEMBER.match(self.buffer, at)) and member[1] not in declared:
            at = member.end()
        return at

    def _find_end_behind_signs(self, at: int, final: bool) -> int:
        """Return where a mark that ends calls or the turn, or the output, stands behind a few signs of data at a place."""
        found, marks = _STRAY.match(self.buffer, at), self.plan.field_ends
        if found is None or marks is None:
            return NO
        places = range(at + 1, found.end() + 1)  # the mark may begin with such a sign itself
        for place in places:
            if marks.pattern.match(self.buffer, place):
                return place
        if final:
            return found.end() if found.end() == len(self.buffer) else NO
        return MORE if any(marks.may_begin(self.buffer[place : place + SHORT]) for place in places) else NO

    # Calls told by their shape -------------------------------------------------------------------------------------------

    def _take_step(self, step: Step, start: int) -> None:
        """Do one step of what a rule leads to; ``start`` is where that begins."""
        writer = self.writer
        if step.kind == "close":
            self._close_call()
        elif step.kind == "open":
            writer.open_call(self.plan.id_behind, step.text, self.gone + start)
        elif step.kind == "fence":
            self._note(FENCED_CALL, start)
            self.fence = self.fence if self.plan.closes_fence(step.text) else Fence(step.text, dressed=True)
        elif writer.call is None:
            return
        elif step.kind == "key":
            writer.call.keys.append(step.text)
        elif step.kind == "id" and writer.call.id is None:
            writer.call.id = step.text
        elif step.kind == "name" and writer.call.name is None:
            writer.call.name = find_tool_in(step.text, self.tools) if self.policy.recover else step.text
            if writer.call.name != step.text:
                self._note(OTHER_LETTERS if spell(step.text) == spell(writer.call.name) else WITH_PREFIX, start)

    def _begin_shape(self, landing: Landing, start: int) -> None:
        """Look at what may be calls, from where the text before it ended; white space that waits for a text goes on waiting."""
        start = self.at if self.fresh and self.buffer[self.at : start].isspace() else start
        if landing.rule.guard not in OF_FIELDS:
            self.shape = Shape(self.plan, landing, start, self.spot, self._join_before(self.buffer[self.at : start]))
        else:
            self.shape = Fields(self.plan, landing.end - start, self.spot, landing, alone=self.fresh and self.spot.shown)
        self.at, self.scan, self.spot = start, landing.end, landing.spot

    def _begin_rest(self, final: bool) -> bool | None:
        """Look at what stands behind a field of a call for further arguments; whether there are any, None where more may tell."""
        begun = self._find_begun()
        if begun is None or self.at == self.refused or not (self.tries and self._closes_frames(final)):
            return False
        named = self._names_rest(self.at, final)
        if named:
            self._flush_scalar()
            self.shape = Fields(self.plan, 0, self.spot, begun=begun)
        return named

    def _closes_frames(self, final: bool) -> bool:
        """Whether brackets stand at the place that may end all lists and objects that are open, or may still come."""
        found = _CLOSERS.match(self.buffer, self.at)
        closed = sum(map(found[0].count, ")]}")) if found else 0
        end = found.end() if found else self.at
        return closed >= len(self.frames) or (not final and end == len(self.buffer))

    def _end_late(self, final: bool) -> bool:
        """End a value as all texts end, or where nothing but further arguments of the call follows the first place for that."""
        own, at = self.plan.get_end(self.spot.nodes[0]), self.doubt
        begun, end = self._find_begun(), at + len(own)
        if begun is None or self.frames or not (own and self.buffer.startswith(own, at)):
            return super()._end_late(final)
        rest = self.late = self.late or Fields(self.plan, 0, self.spot, begun=begun)
        over = rest.read(self.buffer, end, final, self.tools)
        if over == MORE:
            return False
        self.late = None
        if over < 0:
            return super()._end_late(final)
        self._end_text(at)
        self.at, self.doubt = end, -1
        self._take_calls(rest, over)
        return True

    def _step_shape(self, final: bool) -> bool:
        """Take the calls that are found; without any the text is read as if it had never been looked at."""
        shape, place = self.shape, self.at
        assert shape
        end = shape.read(self.buffer, place, final, self.tools)
        if end == MORE:
            return False
        self.shape, self.spot = None, shape.left
        unknown = self.known_only and self.tools is not None and any(call.name not in self.tools for call in shape.calls)
        if end == NO or unknown:
            self.tries -= 1
            self.mentioned = self.mentioned or not shape.whole
            if isinstance(shape, Fields):
                self.refused, self.scan = place + shape.ahead, place
            else:
                self.formless, self.scan = place + shape.ahead, place
            return True
        self._take_calls(shape, end)
        return True

    def _take_calls(self, shape: Shape | Fields, end: int) -> None:
        """Emit what was found up to a place: the rest of the call that is open, if that is looked for, and calls."""
        place = self.at
        if isinstance(shape, Fields) and shape.begun:
            self.writer.members(shape.calls.pop(0).arguments)
        self._close_call()
        if shape.fence:
            self._take_step(Step("fence", shape.fence), place)
        for call in shape.calls:
            if call.said:
                self.writer.text("content", call.said)
            self.writer.open_call(False)
            for step in (*list_id(call.id), Step("name", call.name)):
                self._take_step(step, place)
            mended = repair(call.arguments) if self.policy.repair else None
            self.writer.arguments(mended or call.arguments)
            self.writer.close_call()
        self.fresh, self.behind = True, False
        self._note(shape.recovery, place)
        self.at = self.scan = end
        self.spot = self.plan.spot(TURN, (SHAPE,), self.may_call)
