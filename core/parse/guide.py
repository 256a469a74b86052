"""What a schema expects of the JSON that is being read, sign by sign: where the two part, a bracket may be missing, or be one too
many, before anything is wrong with the JSON itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..schema import Schema

GOING: Final = -1
ODD: Final = -2
HOLD: Final = -3
DOUBT: Final = -4
"""What is answered where a value has not ended, where a sign stands that JSON does not have there, where what comes next decides
whether it does, and where JSON has it there, but the schema does not."""

_MEMBER: Final = re.compile(r'\s*(?:"([^"\\\n]{0,64})(?:(")\s*(:)?)?)?')
"""What begins a member of an object (group 3), or a short string in a list (group 2), as far as it is there."""
_CONTAINERS: Final = {"[": "array", "{": "object"}


class Guide:
    """Follows the lists and objects of a value in its schema."""

    def __init__(self, schema: Schema) -> None:
        self._next = schema  # of the value that comes
        self._within: list[tuple[Schema, frozenset[str], frozenset[str]]] = []
        """The schemas of what is open, the properties of each, and those of what is around it."""
        self.given: set[str] = set()
        """The keys of the outermost object."""

    def step(self, sign: str, brackets: Sequence[str], text: str, at: int, final: bool) -> int:
        """Follow a bracket, a comma or what begins another value, and look at what stands behind it, from a place on; ``brackets``
        are open before it. Returns 0 where the value is as the schema has it, and follows a sign only then; else ODD, HOLD, DOUBT.
        """
        if sign in "}]":
            self._within.pop()
            self._next = self._within[-1][0].get_items() if self._within else self._next  # if that is a list, it may go on
            return 0
        if sign == ",":
            return self._look(text, at, brackets[-1] == "{", final)
        if not self._takes(sign):
            return DOUBT
        if sign not in _CONTAINERS:
            return 0
        schema = self._next
        around = self._within[-1][1] | self._within[-1][2] if self._within else frozenset()
        self._within.append((schema, schema.list_properties() if sign == "{" else frozenset(), around))
        self._next = schema.get_items()
        answer = self._look(text, at, sign == "{", final)
        if answer:
            self._within.pop()
            self._next = schema
        return answer

    def _takes(self, sign: str) -> bool:
        """Whether a value may begin with a sign: a list or an object where the schema wants these, any other where it wants one."""
        types, kind = self._next.get_types(), _CONTAINERS.get(sign)
        if kind:
            return not types or kind in types
        return not types or sign == "null" or not {"array", "object"}.issuperset(types)

    def _look(self, text: str, at: int, keyed: bool, final: bool) -> int:
        """Look at what stands behind a bracket or a comma: an object needs a key there, and a list none."""
        found = _MEMBER.match(text, at)
        assert found
        if found.end() == len(text) and not found[3]:
            return 0 if final else HOLD
        if found[1] is None:
            return ODD if keyed and text[at - 1] == "," else 0
        if found[2] is None:
            return 0
        if (found[3] is not None) != keyed:
            return ODD
        return 0 if not keyed or self._takes_key(found[1]) else DOUBT

    def _takes_key(self, key: str) -> bool:
        """Whether a key is one of the innermost object, and not rather of one around it."""
        schema, declared, around = self._within[-1]
        self._next = schema.get_property(key)
        if len(self._within) == 1:
            self.given.add(key)
        return key in declared or key not in around
