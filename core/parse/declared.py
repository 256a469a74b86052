"""What the tools of the request say of the call that is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..plan.crossings import WORD
from ..plan.spots import WAIT, Wait
from ..recover.notation import Begun
from ..schema import UNKNOWN, Schema
from .landing import Landing
from .standing import Standing

_LONGEST_PLACE: Final = 6  # digits


class Declared(Standing):
    """Tells what a tool declares, and what of that has come."""

    def _is_new(self, key: str) -> bool:
        """Whether a key is declared for the call that is open, and was not given yet, or one leads into what is declared."""
        call = self.writer.call
        if call is None or self.frames:
            return False
        first, *within = self._split_path(key, call.name)
        return first in self._list_declared(call.name) and (bool(within) or first not in call.given)

    def _may_name(self, at: int, final: bool) -> bool | Wait:
        """Whether an argument that was not given yet may be named at a place, told by its first word alone, as texts have many; or
        more is needed to tell."""
        call, found = self.writer.call, WORD.match(self.buffer, at)
        if call is None or self.frames:
            return False
        word = found[0] if found else ""
        told = at + len(word) < len(self.buffer)
        if told and not (word and self._list_odd(call.name)):
            return self._is_new(word)
        begun = any(key.startswith(word) for key in self._list_declared(call.name))
        return (told or final or WAIT) if begun else False

    def _find_begun(self) -> Begun | None:
        """Return what is known of the call that is open, if its arguments are being read, one by one."""
        call = self.writer.call
        if call is None or call.name is None or not call.levels:
            return None
        return Begun(call.name, frozenset(map(str, call.given)))

    def _has_all(self) -> bool:
        """Whether the call that is open has a value for all that its tool takes, as far as that is known."""
        call = self.writer.call
        if call is None or call.name is None or self.tools is None or self.frames or not self.policy.recover:
            return False
        return self.tools.get_parameters(call.name).names_properties() and call.given.issuperset(self._list_declared(call.name))

    def _list_declared(self, name: str | None) -> frozenset[str]:
        """Return the parameters that a tool of the request declares, or all of them do as long as no name has come, if known."""
        if self.tools is None or (name is not None and name not in self.tools):
            return frozenset()
        declared = self._properties.get(name)
        if declared is None:
            names = self.tools.tools if name is None else (name,)
            declared = frozenset().union(*(self.tools.get_parameters(each).list_properties() for each in names))
            self._properties[name] = declared
        return declared

    def _list_odd(self, name: str | None) -> tuple[str, ...]:
        """Return those of the parameters that a tool declares that are more than one word, as programs write it."""
        odd, declared = self._odd_keys.get(name), self._list_declared(name)
        if odd is None:
            odd = tuple(key for key in declared if not key.isidentifier())
            if declared:
                self._odd_keys[name] = odd
        return odd

    def _find_property(self, name: str | None, keys: Sequence[str | int]) -> Schema:
        """Return the schema of what stands under some keys and places, each in the one before; the first is a parameter."""
        if self.tools is None:
            return UNKNOWN
        first, *rest = keys
        schema = self._find_parameter(name, f"{first}")
        for key in rest:
            schema = schema.get_items() if isinstance(key, int) else schema.get_property(key)
        return schema

    def _find_parameter(self, name: str | None, key: str) -> Schema:
        assert self.tools is not None
        found = self._schemas.get((name, key))
        if found is None:
            found = self.tools.find_property(key) if name is None else self.tools.get_parameters(name).get_property(key)
            if key in self._list_declared(name):  # of what is none of these there is no end
                self._schemas[name, key] = found
        return found

    def _find_wanted(self, here: Landing) -> tuple[str, ...]:
        """Return the types that the schema allows for the key that was read last; none where it is no parameter of the call."""
        name, key = self._find_name(here), here.steps[-1].text
        if self.frames:
            return ()
        return self._find_property(name, self._split_path(key, name)).get_types()

    def _split_path(self, key: str, name: str | None) -> list[str | int]:
        """Return the keys and places that lead to an argument, where the format writes members and items under their paths."""
        path = self.plan.graph.path
        if path is None or key in self._list_declared(name):
            return [key]
        keys = path.split(key)
        if not self.policy.recover:
            return keys
        for place, step in enumerate(keys[1:], 1):
            if isinstance(step, str) and step.isdecimal() and len(step) <= _LONGEST_PLACE:
                number, schema = int(step) - max(path.base, 0), self._find_property(name, keys[:place])
                keys[place] = number if number >= 0 and schema.get_types() == ("array",) else step
        return keys
