"""What a model writes twice before a field: the mark there, a name or a key with the mark before it, or half of one."""

from __future__ import annotations

import re

from ..format import Insides
from ..format.units import MORE
from ..plan.constants import is_firm, is_marked, match_texts, skip_blank
from ..plan.rules import WAIT, Rule, Wait
from ..plan.scalars import BEGINNINGS
from .around import Surroundings
from .landing import Landing

_HALF_WORD = re.compile(r"\w[\w.-]{0,63}")


class Doubled(Surroundings):
    """Passes over what stands there once too often."""

    def _skip_doubled(self, rule: Rule, here: Landing, final: bool) -> Landing | Wait:
        """Return a landing before a field of a call behind what stands before it, or the mark right before it, if that stands
        there twice; or that more is needed to tell."""
        at = skip_blank(self.buffer, here.end)
        for text in self._list_doubled(rule, here):
            if self.buffer.startswith(text, at):
                return here.replace(end=at + len(text), rule=here.rule.name_recovery("mark doubled"))
            if not final and text.startswith(self.buffer[at:]):
                return Wait(text[len(self.buffer) - at :])
        return here

    def _list_doubled(self, rule: Rule, here: Landing) -> list[str]:
        """Return what, doubled, is none of the field behind it: no JSON, name or value of another type begins so, and no text with
        several marks."""
        core = rule.constant.core
        own = any(isinstance(node.codec, Insides) for node in here.spot.nodes)  # lists may begin as any mark does
        if not (core and self.policy.recover) or self.frames or own:
            return []
        last = rule.constant.last or rule.constant.atoms[-1].text
        if rule.kind == "value":
            types = self._find_wanted(here)
            if types and "string" not in types:
                begun = set().union(*(BEGINNINGS[kind] for kind in types))
                return [text for text in (core, last) if is_firm(text) or text[0] not in begun]
            return [core] if is_marked(last) and core != last and is_firm(core.removesuffix(last)) else []
        behind = [whole for rest, whole in self.plan.whole_openings if rest == core] if rule.opens else []
        return [text for text in (core, last if rule.kind == "arguments" else "") if is_firm(text)] + behind

    def _skip_repeated(self, mark: str, here: Landing, final: bool) -> Landing | Wait:
        """Return a landing behind a word, or half of one, where the mark before it comes again and then the whole word.

        Behind a whole one may stand what stands there whatever follows, or a beginning of that.
        """
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
