"""Names of calls that stand otherwise than the template writes them: amid other text, behind a word, before other marks."""

from __future__ import annotations

import re
from typing import Final

from ..plan.constants import find_end, skip_blank
from ..plan.rules import MISTYPED
from ..plan.scalars import find_within
from ..plan.spots import WAIT, Wait
from .landing import Landing, Step, list_id
from .likely import Likely
from .names import FOREIGN, ID, LEAD, NUMBER, PREFIX, SHORT, WITH_PREFIX, find_id

GLUED: Final = "beginning of an argument missing"
_BETWEEN: Final = re.compile(r"[^\w{}()\[\]\"']{1,12}")
"""Signs between a name that is no key and an object."""


class OddNames(Likely):
    """Reads such names, and what is behind them."""

    def _leave_short(self, here: Landing, kind: str, text: str, at: int, final: bool) -> Landing | Wait | None:
        """Leave a short field with what ends it."""
        raise NotImplementedError

    def _land_amid(self, here: Landing, kind: str, final: bool) -> Landing | Wait | None:
        """Read a name, or an id that carries one, from what stands between two marks: a tool of the request and little else."""
        marks = here.spot.mark_behind
        if marks is None or not here.rule.marked or not (kind == "name" or here.spot.nodes[0].carries_name):
            return None
        found = marks.search(self.buffer, here.end, here.end + SHORT)
        if found is None:
            words = len(self.buffer[here.end : here.end + SHORT].split())
            prose = words > 2 + max(len(name.split()) for name in self.names)  # a word in front of the name, and a number behind it
            return None if final or prose or here.end + SHORT <= len(self.buffer) else WAIT
        text = self.buffer[here.end : found.start()].strip("\"'` \n")
        lead = LEAD.match(text)
        name = self._match_tool(text, lead.end() if lead else 0) or self._match_tool(text, 0)
        if name is None or not NUMBER.fullmatch(text, name.end()):
            return None
        whole = text if kind == "id" and ID.fullmatch(text) else None
        steps = (*here.steps, *list_id(whole), Step("name", name[0]))
        return self._leave_short(here.replace(steps=steps), "", "", found.start(), final)

    def _land_prefixed(self, here: Landing, final: bool) -> Landing | Wait | None:
        """Read the name of a tool with a word in front of it."""
        found = PREFIX.match(self.buffer, here.end) if self.policy.recover and here.rule.constant.text else None
        ends = self.buffer[here.end - 1 : here.end + 1] in ("</", "[/")  # a mark that ends something has the name in it
        if found is None or ends or (found.end() == len(self.buffer) and final):
            return None
        known = self._match_tool(self.buffer, found.end())
        if known is None:
            rest = self.buffer[found.end() :]
            return WAIT if not final and any(name.startswith(rest) for name in self.names) else None
        prefixed = here.replace(rule=here.rule.name_recovery(WITH_PREFIX))
        return self._leave_short(prefixed, "name", known[0], known.end(), final)

    def _pass_foreign(self, here: Landing, name: str, at: int, final: bool) -> Landing | Wait | None:
        """Leave the name of a tool behind a field that is none of this format's: a mark, and a word."""
        found = FOREIGN.match(self.buffer, at) if self.policy.recover else None
        if found is None or (found.end() == len(self.buffer) and final):
            return None
        if found.end() == len(self.buffer):
            return WAIT
        told = here.replace(rule=here.rule.name_recovery("field that is not known"), steps=(*here.steps, *list_id(find_id(found))))
        return self._leave_short(told, "name", name, found.end(), final)

    def _pass_signs(self, here: Landing, name: str, at: int, final: bool) -> Landing | Wait | None:
        """Leave the name of a tool behind other signs than those that a template writes between a name and an object."""
        plain = (rule for rule in here.spot.rules if rule.kind == "arguments" and not find_within(rule.targets))
        shown = (rule for rule in plain if not (rule.recovery or rule.guard))
        rule = next((rule for rule in shown if rule.constant.core and not any(map(str.isalnum, rule.constant.core))), None)
        end = find_end(_BETWEEN, self.buffer, at)
        if rule is None or not self.policy.recover or end == at:
            return None
        if end == len(self.buffer):
            return None if final else WAIT
        told = here.replace(rule=here.rule.name_recovery(MISTYPED), steps=(*here.steps, Step("name", name)))
        return self._land(rule, end, "", final, here.spot.graph, told) if self.buffer[end] == "{" else None

    def _read_glued_key(self, here: Landing, name: str, at: int, final: bool) -> Landing | Wait | None:
        """Read a parameter of the tool right behind its name, where the mark before it is missing, by what ends it."""
        shown = (rule for rule in here.spot.rules if rule.kind == "key" and not (rule.recovery or rule.constant.echoes))
        rule, start = next(shown, None), skip_blank(self.buffer, at)
        if rule is None or not (self.policy.recover and rule.constant.firm):
            return None
        spot = self.plan.behind(rule, here.spot.graph, self.may_call)
        told = Landing(start, spot, here.rule.name_recovery(GLUED), steps=(*here.steps, Step("name", name)))
        for key in self._list_declared(name):
            if self.buffer.startswith(key, start):
                landing = self._leave_short(told, "key", key, start + len(key), final)
                if landing is not None and (isinstance(landing, Wait) or landing.rule.recovery == GLUED):
                    return landing
            elif not final and key.startswith(self.buffer[start:]):
                return WAIT
        return None
