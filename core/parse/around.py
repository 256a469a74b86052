"""What stands around calls and their fields, or in their place: fences of code, marks of other formats, headers, JSON, the names of
tools, and what a model writes twice: a mark, a name or a key with the mark before it, or half of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..format.cut import STOPS
from ..format.units import MORE
from ..plan.constants import match_texts, skip_blank
from ..plan.guards import OF_FIELDS
from ..plan.headers import LONGEST
from ..plan.landmarks import TURN
from ..plan.plan import OPEN_REASONING
from ..plan.relaxed import WRAPPED
from ..plan.rules import Rule, list_repeats
from ..plan.spots import WAIT, Spot, Wait
from ..recover.fields import find_name
from .declared import Declared
from .fence import read_run, skip_fence, skip_fence_end
from .landing import HELD, Landing, Step, list_id
from .shape import find_last_token, find_start, find_wrapper, find_wrapper_end

GUARDS: Final = 2  # recoveries that lean on each other
_QUOTING: Final = frozenset("'\"`)]},;\\")  # what stands behind a mark that is shown in code
_HALF_WORD: Final = re.compile(r"\w[\w.-]{0,63}")
_HALF_HEADER: Final = re.compile(r"\S+(?: +\S*[=<>|]\S*)*")
"""A word, and what has signs of marks in it, but no sentence."""


class Surroundings(Declared):
    """Looks at what is no field of the format, and at what follows it."""

    def _find_landing(self, spot: Spot, at: int, final: bool) -> Landing | Wait | None:
        """Return where the best rule of a spot leads."""
        raise NotImplementedError

    def _find_best(self, at: int, final: bool, spot: Spot | None = None) -> Landing | Wait | None:
        """Return where the best rule leads from a place, or from behind the white space there."""
        raise NotImplementedError

    def _try_like(self, rule: Rule, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        """Return where a line leads that is like what ends a field."""
        raise NotImplementedError

    def _try_whole(self, rule: Rule, at: int, final: bool) -> Landing | Wait | None:
        """Whether JSON begins at a place: the first of a text, or behind a mark of whatever dialect."""
        if not self.names or not self.tries:
            return None
        end = find_start(self.buffer, at, self._is_fresh(at), final)
        if end < 0 or end == self.formless:
            return WAIT if end == MORE else self._try_wrapped(rule, at, final)
        return Landing(end, self.plan.spot(TURN, rule.targets), rule)

    def _try_fence(self, at: int, final: bool, spot: Spot) -> Landing | Wait | None:
        """Whether a fence of code opens at a place, and a call begins right behind its first line."""
        end = skip_fence(self.buffer, at, final)
        if end == MORE:
            return WAIT
        if end == at or self._guards >= GUARDS:
            return None
        self._guards += 1
        before, self.unwraps = self.unwraps, self._is_fresh(at)  # what the whole answer is in is no example
        landing = self._find_best(self.buffer.index("\n", at), final, spot)
        self.unwraps = before
        self._guards -= 1
        if not isinstance(landing, Landing):
            return landing
        ended = self.plan.content_end and landing.rule.constant.core.startswith(self.plan.content_end)
        within = not ended if spot.kind == "content" else landing.rule.recovery == OPEN_REASONING
        steps = Step("fence", read_run(self.buffer, at)), *landing.steps
        return landing.replace(steps=steps) if within and landing.calls and not landing.fence else None

    def _try_fence_end(self, rule: Rule, at: int, final: bool) -> Landing | Wait | None:
        """Whether the fence ends at a place whose first line was dropped."""
        end = skip_fence_end(self.buffer, at, final, self.fence.opened)
        if end <= at:
            return WAIT if end == MORE else None
        return Landing(end, self.plan.spot(TURN, rule.targets, self.may_call), rule)

    def _try_wrapped(self, rule: Rule, at: int, final: bool) -> Landing | Wait | None:
        """Whether a call of this format begins behind a mark of another one, or a tool of the request is named there."""
        end, closing = find_wrapper(self.buffer, at)
        own = end > at and self._is_own(at, end)
        if end == MORE and not final:
            return WAIT
        ended = self._begins_line(at) or self._find_last(at) in STOPS  # a mark that names the tool itself stands in no sentence
        led = ended if end == at else closing != ""
        if end < 0 or own or not (led or self._is_fresh(at)):
            return None
        if self._guards >= GUARDS or self.spot.nodes[0].kind != "content" or self._find_last(at) in ("}", ">", "]", ")"):
            return None
        self._guards += 1
        landing = self._find_landing(self.spot, end, final) if end > at else None
        self._guards -= 1
        if landing is None or (isinstance(landing, Landing) and landing.rule.guard in OF_FIELDS):
            named = replace(rule, recovery="call by its parameters", guard="named")
            begins = self.buffer[end : end + 1].isalpha() or self.buffer.startswith(("[", "<"), end)
            found = self._look_for_name(named, end, final) if begins else None
            return found.replace(steps=(Step("wrap", closing),)) if closing and isinstance(found, Landing) else found
        if isinstance(landing, Wait):
            return landing
        if not any(step.kind == "open" for step in landing.steps) or landing.find("name") not in self.names:
            return None
        return landing.replace(rule=landing.rule.name_recovery(WRAPPED))

    def _is_own(self, at: int, end: int) -> bool:
        """Whether what stands between two places is a part of what the template itself writes."""
        return any(self.buffer[at:end].strip() in text for text in self.plan.texts)

    def _leave_wrapper(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Match the mark of another format that closes calls or ends a turn, of which the beginning stands before a place."""
        at = end - len(rule.constant.text)
        if final and rule.guard == "token" and self._is_own(at, len(self.buffer)):
            return None  # one of the format, behind which the output was cut
        end = (find_last_token if rule.guard == "token" else find_wrapper_end)(self.buffer, at, final)
        if end == MORE and not final:
            return WAIT
        return Landing(end, self.plan.spot(TURN, rule.targets), rule) if end >= 0 else None

    def _read_header(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Read the rest of a header in whatever order it is, and what follows it."""
        headers = self.plan.headers
        assert headers
        whole = headers.end.search(rule.constant.text) is not None  # nothing of it stands before its end
        found = None if whole else headers.end.search(self.buffer, end, end + LONGEST)
        if not (found or whole):
            return None if final or len(self.buffer) - end >= LONGEST else WAIT
        place, at = found.span() if found else (end, end)
        before = self.buffer[end:place]
        starts = [(before.find(lead), -len(lead)) for lead in headers.leads if lead in before]
        if starts:  # another message begins before that, and this one has but half a header
            half, size = min(starts)
            return self._read_header(rule, end + half - size, final) if _HALF_HEADER.fullmatch(before, 0, half) else None
        header = rule.constant.text + self.buffer[end:place]
        named = headers.name.search(header)
        name = self._name_in(header, named)
        told = [headers.words[word] for word in re.findall(r"\w+", header) if word in headers.words]
        if rule.recovery == OPEN_REASONING and name not in self.names and "content" not in told:
            return None  # nothing but the tool or the kind of the message tells that the thought has ended
        if found and at == place and name not in self.names:
            return None  # nothing but the tool tells that the header has
        numbered = headers.id.search(header) if headers.id else None
        steps: tuple[Step, ...] = (Step("close"), Step("open"), Step("name", name), *list_id(numbered[1] if numbered else None))
        landing: Landing | Wait | None = None
        may_call = self.may_call and (self.tools is None or not self.known_only or name in self.tools)
        if named and may_call:
            landing = self._find_landing(headers.spots["name"], at, final)
        elif named:  # a call that is none is text with its name
            start = skip_blank(self.buffer, at)
            if start >= len(self.buffer) or self.buffer[start] == "{":
                return WAIT if start >= len(self.buffer) and not final else None
        if landing is None and final and name in self.names:
            cut = self._find_best(at, False, headers.spots["name"])
            if isinstance(cut, Wait):
                return None  # what is cut off behind the name of a tool is no answer
        if landing is None:
            landing, steps = self._find_landing(headers.spots[told[-1] if told else "content"], at, final), steps[:1]
        return landing.replace(rule=rule, steps=(*steps, *landing.steps)) if isinstance(landing, Landing) else landing

    def _name_in(self, header: str, named: re.Match[str] | None) -> str:
        """Return the tool that a header names where it does in the format, and if that is none of the request, one that is."""
        if named is None:
            return ""
        known = self._match_tool(header, named.start(1))
        name = max(known[0] if known else "", named[1], key=len)  # a tool may be called what is no word
        beside = (*range(named.start(1)), *range(named.end(1), len(header))) if name not in self.names else ()
        places = (at for at in beside if not header[at - 1 : at].isalnum())
        others = {found[0] for at in places if (found := self._match_tool(header, at))}
        return others.pop() if len(others) == 1 else name

    def _look_for_json(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Whether an object or a list follows, which is then read as a whole."""
        constant = rule.constant  # a mark, or JSON itself as far as calls begin alike
        begun = next((sign for sign in constant.core if sign in "{["), "")
        at = skip_blank(self.buffer, end) if constant.marked else self.buffer.rindex(begun, 0, end)
        at = skip_fence(self.buffer, at, final)
        if at == MORE or at >= len(self.buffer) or not self.tries:
            return None if final or not self.tries else WAIT
        begins = self.buffer[at] in "{[" and at != self.formless
        return Landing(at, self.plan.spot(TURN, rule.targets), rule) if begins else None

    def _names_rest(self, at: int, final: bool) -> bool | None:
        """Whether another argument of the call that is open is named at a place, or another tool; None where more may tell."""
        begun = self._find_begun()
        if not self.tools or begun is None:
            return False
        return find_name(self.buffer, at, self.tools, self.plan.notation, final, begun)

    def _look_for_rest_behind(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Return the end of a text behind which the call goes on, however that is written."""
        doubled = self.buffer.startswith(rule.constant.core, end)  # then the last one ends the text
        named = False if self.behind or self.frames or doubled else self._names_rest(end, final)
        return WAIT if named is None else Landing(end, self.spot, rule, behind=True) if named else None

    def _look_for_name(self, rule: Rule, end: int, final: bool) -> Landing | Wait | None:
        """Whether a tool of the request is named behind a mark, and nothing before it but signs and words of the format."""
        if not self.tools or not self.tries or end == self.refused or self.buffer.startswith("/", end):
            return None
        begun = skip_blank(self.buffer, end)
        if begun == self.formless and not self.buffer[begun + 1 : begun + 2].isalpha():
            return None  # JSON that is no call
        named = find_name(self.buffer, end, self.tools, self.plan.notation, final, bare=rule.guard == "bare")
        if named and rule.guard == "called" and not self._match_tool(self.buffer, begun):
            return None
        if named is None:
            return WAIT
        return Landing(end, self.plan.spot(TURN, rule.targets), rule) if named else None

    def _is_ended_thought(self, at: int, final: bool) -> bool | Wait:
        """Whether the first mark behind a place that ends a thought, a turn or a message is one that ends thoughts."""
        marks, begin = self.plan.thought_ends, self.gone + at
        if marks is None:
            return False
        seen = self.sought[1] - self.gone if self.sought[0] == begin else at
        found = marks.pattern.search(self.buffer, seen, at + HELD)
        if found:
            ends = found[1] is not None or found[0] == self.plan.reasoning_end
            ends = ends and skip_blank(self.buffer, at) < found.start()  # a pair without a text between is shown
            if ends and found.end() == len(self.buffer):
                return final or WAIT
            return ends and self.buffer[found.end()] not in _QUOTING
        self.sought = begin, self.gone + max(len(self.buffer) - marks.longest, at)
        return not final and len(self.buffer) - at < HELD and Wait(until=marks.last, held=HELD)

    def _skip_doubled(self, rule: Rule, here: Landing, final: bool) -> Landing | Wait:
        """Return a landing before a field of a call, behind what leads to it or the last mark of that, if it stands there twice."""
        at = skip_blank(self.buffer, here.end)
        for text in self._list_doubled(rule, here):
            if self.buffer.startswith(text, at):
                return here.replace(end=at + len(text), rule=here.rule.name_recovery("mark doubled"))
            if not final and text.startswith(self.buffer[at:]):
                return Wait(text[len(self.buffer) - at :])
        return here

    def _list_doubled(self, rule: Rule, here: Landing) -> Sequence[str]:
        """Return what of the text of a rule, doubled, is no part of the field behind it; lists may begin as any mark does."""
        core = rule.constant.core
        if not (core and self.policy.recover) or self.frames or here.spot.nests:
            return ()
        types = self._find_wanted(here) if rule.kind == "value" else ()
        behind = [whole for rest, whole in self.plan.whole_openings if rest == core] if rule.opens else ()
        return (*list_repeats(rule.constant, rule.kind, types), *behind)

    def _skip_repeated(self, mark: str, here: Landing, final: bool) -> Landing | Wait:
        """Return a landing behind a word, or half of one, where the mark before it comes again and then the whole word; behind a
        whole one what stands there whatever follows, or a beginning of that."""
        half = _HALF_WORD.match(self.buffer, here.end) if mark and self.policy.recover and not self.frames else None
        if half is None:
            return here
        word, wait = half[0], False
        for between in here.spot.starts_behind:
            end = match_texts((between, mark), self.buffer, half.end())
            whole = self.buffer[end : end + len(word) + 1] if end >= 0 else ""
            if end == MORE or (end >= 0 and len(whole) <= len(word) and word.startswith(whole)):
                wait = not final
            elif end >= 0 and whole.startswith(word) and (between != "") != (whole[-1].isalnum() or whole[-1] == "_"):
                return here.replace(end=end, rule=here.rule.name_recovery("mark doubled"))
        return WAIT if wait else here
