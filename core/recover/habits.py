"""The habits of a policy, applied to what a parser emits."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from partial_json_parser.core.complete import fix

from ..delta import Delta
from ..schema import Schema, ToolSet
from .policy import Policy
from .repair import repair
from .shape import list_members


class Habits:
    """Drops, holds and completes deltas as a policy says; nothing is added but the end of JSON that was cut off.

    ``tools`` are the request's; None where they are not known. If calls are ``unasked`` for, none is handed on. ``incomplete`` has
    the numbers of the calls that have no end, as far as is known, and ``sources`` what was written of them.
    """

    def __init__(
        self, policy: Policy, tools: ToolSet | None, unasked: bool, incomplete: Collection[int], sources: Mapping[int, str]
    ) -> None:
        self._policy = policy
        self._tools = tools
        self._unasked = unasked
        self._incomplete = incomplete
        self._sources = sources
        self._numbers: dict[int, int | None] = {}  # the numbers under which calls are handed on, None for those that are not
        self._held: list[Delta] = []  # a call whose end is waited for
        self._texts: list[Delta] = []  # text of which the end of the output decides
        self._called = False

    def feed(self, deltas: Iterable[Delta], final: bool = False) -> list[Delta]:
        """Return what of some deltas is handed on; ``final`` tells that no more will come."""
        out: list[Delta] = []
        for delta in deltas:
            if delta.index is None:
                out += self._settle() if delta.text.strip() else []
                out += self._hold_text(delta)
                continue
            if self._held and self._held[0].index != delta.index:
                out += self._settle()
            if self._policy.holds_calls:
                self._held.append(delta)
            else:
                out += self._hand_on([delta])
        return out + (self._end() if final else [])

    def _end(self) -> list[Delta]:
        out = self._settle()
        thoughts = [delta._replace(kind="content") for delta in self._release()]
        return (thoughts or ([] if self._called else self._texts)) + out

    def _hold_text(self, delta: Delta) -> list[Delta]:
        """Return a piece of text, and what it decides of the pieces before; nothing where it is dropped or held."""
        if delta.kind == "reasoning":
            if self._policy.unanswered == "reasoning":
                return [delta]
            self._texts.append(delta)
            return []
        out = self._release()
        if self._policy.beside == "none":
            self._texts += [] if self._called else [delta]
            return out
        return out + ([] if self._called and self._policy.beside == "drop" else [delta])

    def _release(self) -> list[Delta]:
        """Return reasoning that was held until something else came."""
        if not self._texts or self._texts[0].kind != "reasoning":
            return []
        texts, self._texts = self._texts, []
        return texts

    def _settle(self) -> list[Delta]:
        """Hand on the call that was held."""
        held, self._held = self._held, []
        if not held:
            return []
        assert held[0].index is not None
        written = "".join(delta.text for delta in held)
        cut = self._policy.cut if held[0].index in {*self._incomplete, *self._sources} else "keep"
        if cut == "drop":
            return []
        if cut == "text":
            return self._hold_text(Delta("content", self._sources.get(held[0].index, written)))
        if cut == "complete":
            with suppress(ValueError, RecursionError):  # nothing completes what is no beginning of JSON
                written = "".join(fix(written)) if written.strip() else "{}"
        if self._policy.wrapped == "open" and self._tools is not None and held[0].name in self._tools:
            written = _open_wrapped(written, self._tools.get_parameters(held[0].name or ""))
        return self._hand_on([held[0]._replace(text=""), Delta("tool_call", written, held[0].index)])

    def _hand_on(self, deltas: list[Delta]) -> list[Delta]:
        out = []
        for delta in deltas:
            assert delta.index is not None
            if delta.index not in self._numbers:
                known = self._tools is None or delta.name in self._tools or self._policy.unknown != "drop"
                before = sum(number is not None for number in self._numbers.values())
                self._numbers[delta.index] = before if known and not self._unasked else None
            number = self._numbers[delta.index]
            if number is not None:
                out += self._release()
                self._called = True
                out.append(delta._replace(index=number))
        return out


def _open_wrapped(written: str, parameters: Schema) -> str:
    """Return the object under the only key of arguments if that key is no parameter, and all of the object's are; what is no such
    object stays as it is."""
    try:
        members = list_members(written.strip()) if written.lstrip().startswith("{") else {}
        if len(members) != 1:
            return written
        ((key, member),) = members.items()
        properties = parameters.list_properties()
        text = repair(member.value.strip()) if isinstance(member.value, str) else member.text
        if key in properties or text is None or not text.startswith("{"):
            return written
        inner = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return written
    return text if inner and properties.issuperset(inner) else written
