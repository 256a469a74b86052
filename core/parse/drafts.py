"""Calls that are shown in code, or thought of: what stands behind them tells whether they are made."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from ..format.units import MORE, NO
from ..plan.constants import find_closed, skip_blank, skip_spaces
from ..plan.landmarks import GAP, TURN
from ..plan.plan import OPEN_REASONING
from ..plan.spots import WAIT, Wait
from .fence import find_closing, find_span_end
from .landing import HELD_CALL, Landing
from .short import ShortFields

_FENCES: Final = 4  # so many fences with calls are looked at together


class Drafts(ShortFields):
    """Looks behind a call in a text whether it is one."""

    def _read_apart(self, text: str) -> str | None:
        """Return the content of a text as if it stood alone; None where no calls stand in it."""
        raise NotImplementedError

    def _find_named_end(self, mark: str, at: int, final: bool) -> int:
        """Return the place behind a mark that is all that stands between two backquotes; else the place of the mark."""
        fence = self.fence.read(self.buffer[self.at : at])
        if fence.opened or fence.run != "`" or not self.buffer.startswith(mark, at):
            return at
        end = at + len(mark)
        if end == len(self.buffer):
            return at if final else MORE
        return end if self.buffer[end] == "`" else at

    def _find_quote_end(self, landing: Landing, at: int, final: bool) -> int:
        """Return up to where all is text because a call is shown in code, or thought of, or a thought names a mark that would end
        it; the place itself where none is."""
        thought = landing.rule.recovery == OPEN_REASONING
        if not thought and self.spot.kind == "reasoning" and self.policy.recover:
            return self._find_named_end(landing.rule.constant.core, at, final)
        if not (thought or (landing.calls and self.spot.kind == "content" and self.policy.recover)):
            return at
        fence = self.fence.read(self.buffer[self.at : at])
        named = landing.find("name")
        unknown = bool(self.names and named) and named not in self.names
        if 0 < len(fence.code) < 3 and fence.code == fence.run:
            if unknown:
                return at + 1
            end = find_span_end(self.buffer, at, final, fence.code)
            shown = end >= 0 and (self._read_apart(self.buffer[at:end]) or "").endswith(fence.code)
            return end if shown or end == MORE else at
        if not landing.fence and self._is_indented(landing, at):
            return at + 1 if unknown or landing.rule.recovery else self._find_sample_end(landing, at, final)
        if (landing.fence or fence.fenced) and not fence.dressed:
            if unknown or (landing.rule.recovery and not (landing.fence or self._begins_line(at))):
                return at + 1  # amid a line of code nothing is called that no render shows so, and no tool that is not there
            return self._find_fence_end(landing, at, final, landing.fence or fence.code)
        return self._find_thought_end(landing, at, final) if thought else at

    def _is_indented(self, landing: Landing, at: int) -> bool:
        """Whether the line at a place is code as Markdown has it: indented, and so are those before it up to an empty one, and that
        is no layout of the format's own."""
        if self._is_fresh(at) or landing.rule.constant.lead.endswith("    "):
            return False
        *lines, last = self._join_before(self.buffer[self.at : at]).split("\n")
        within = takewhile(str.strip, reversed(lines))
        return _is_code(last) and any(not line.strip() for line in lines[1:]) and all(map(_is_code, within))

    def _find_sample_end(self, landing: Landing, at: int, final: bool) -> int:
        """Return where a call ends that stands in such code and behind which prose goes on; else the place itself, or MORE."""
        called = self._find_call_end(landing, landing.end, at + HELD_CALL)
        end = called.end() if called else NO if self.plan.call_ends else find_closed(self.buffer, at, at + HELD_CALL)
        end = landing.end if landing.steps and landing.steps[-1].kind == "close" else end  # it has no arguments
        if end == NO:
            return at if final or len(self.buffer) - at >= HELD_CALL else MORE
        follows = self._structure_follows(end, final, True)
        return MORE if isinstance(follows, Wait) else at if follows else end

    def _find_fence_end(self, landing: Landing, at: int, final: bool, run: str) -> int:
        """Return where a fence ends behind which prose goes on, or a place in its first line if not only calls stand in it."""
        marks, size = self.plan.call_ends, len(self.buffer)
        called = None if landing.fence else self._find_call_end(landing, landing.end, at + HELD_CALL)
        # Fences in the call itself end none that stands around it.
        end = find_closing(self.buffer, called.start() if called else at + len(landing.fence), final, run)
        if end == MORE or (marks and not (called or landing.fence or final) and size - at < HELD_CALL):
            return MORE
        follows = end == NO or self._call_follows(end, at + HELD_CALL, final)
        if follows is not True:
            return MORE if isinstance(follows, Wait) else end
        if not landing.fence or (end == NO and size - at >= HELD_CALL):
            return at
        content = self._read_apart(self.buffer[self.buffer.index("\n", at) : end if end >= 0 else size])
        closed = end == NO or run in (content or "") or self.plan.closes_fence(run)
        alone = content is not None and content.strip().strip(run[0]) == "" and closed
        return at if alone else at + len(run)

    def _find_call_end(self, landing: Landing, at: int, limit: int) -> re.Match[str] | None:
        """Return the first mark from a place on that ends calls, behind what ends its last value where a mark does."""
        marks, ends = self.plan.call_ends, self.plan.value_ends if landing.find("key") is not None else ()
        for found in marks.pattern.finditer(self.buffer, at, limit) if marks else ():
            if not ends or found[0].startswith(ends) or self.buffer.endswith(ends, at, self._find_blank(found.start())):
                return found
        return None

    def _call_follows(self, at: int, limit: int, final: bool) -> bool | Wait:
        """Whether a call or an end follows a fence, and no prose; what follows another fence with a call tells that of both."""
        spot = self.plan.spot(TURN, (GAP,), self.may_call)
        for _ in range(_FENCES):
            start = skip_blank(self.buffer, at)
            landing = self._find_landing(spot, start, final) if start < len(self.buffer) else None
            run = landing.fence if isinstance(landing, Landing) else ""
            if not run:
                return self._structure_follows(at, final, True)
            at = find_closing(self.buffer, start + len(run), final, run)
            if at < 0 or at > limit:
                return WAIT if at == MORE else True
        return True

    def _find_thought_end(self, landing: Landing, at: int, final: bool) -> int:
        """Return where a call ends behind which the sentence goes on, or more than the thought does: it is thought of, not made."""
        marks, size = self.plan.call_ends, len(self.buffer)
        whole = bool(landing.steps) and landing.steps[-1].kind == "close"  # then what ends the call has been read
        found = self._find_call_end(landing, at if whole else landing.end, size)
        start = landing.end if marks is None and landing.spot.kind == "arguments" else at
        closed = find_closed(self.buffer, start, at + HELD_CALL) if found is None and self.buffer[start : start + 1] in "([{" else 0
        bare = closed == NO or closed > landing.end  # then its own brackets tell its end
        end = found.end() if found else closed if closed > landing.end else size
        rest = self.buffer[skip_blank(self.buffer, end) :]
        open_ended = (bare and not rest) or (marks is not None and marks.may_begin(rest))
        if open_ended and not final and size - at < HELD_CALL:
            return MORE
        end = skip_spaces(self.buffer, end)
        goes_on = end < size and (self.buffer[end].isalnum() or self.buffer[end] in ".,;:!?…—–)")
        if (found or bare) and (goes_on or rest[:1].islower()):
            return end
        return self._find_closed_thought(at, end, final)

    def _find_closed_thought(self, at: int, end: int, final: bool) -> int:
        """Return where a call ends if the thought that it stands in ends behind it, and something follows; else where it begins."""
        marks, behind, size = self.plan.thought_ends, -1, len(self.buffer)
        found = marks.pattern.search(self.buffer, end, at + HELD_CALL) if marks else None
        while marks and found and found[1]:  # what ends thoughts may be doubled
            behind = skip_blank(self.buffer, found.end())
            found = marks.pattern.match(self.buffer, behind)
        if marks is None or found:
            return at
        if behind < 0:
            return at if final or size - at >= HELD_CALL else MORE
        rest = self.buffer[behind:]
        if rest and (final or not marks.may_begin(rest)):
            return end
        return at if final else MORE


def _is_code(line: str) -> bool:
    return line.startswith(("    ", "\t"))
