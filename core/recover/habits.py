"""The habits of a policy, applied to what a parser emits."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable

from partial_json_parser.core.complete import fix

from ..delta import Delta
from .policy import Policy


class Habits:
    """Drops, holds and completes deltas as a policy says; nothing is added but the end of JSON that was cut off.

    ``names`` are the request's tools; None where they are not known. If calls are ``unasked`` for, none is handed on.
    """

    def __init__(self, policy: Policy, names: Container[str] | None, unasked: bool = False) -> None:
        self._policy = policy
        self._names = names
        self._unasked = unasked
        self._incomplete: Collection[int] = ()
        self._numbers: dict[int, int | None] = {}  # the numbers under which calls are handed on, None for those that are not
        self._held: list[Delta] = []  # a call whose end is waited for
        self._called = False

    def feed(self, deltas: Iterable[Delta], incomplete: Collection[int], final: bool = False) -> list[Delta]:
        """Return what of some deltas is handed on.

        ``incomplete`` are the numbers of the calls that have no end, as far as is known; ``final`` tells that no more will come.
        """
        self._incomplete = incomplete
        out: list[Delta] = []
        for delta in deltas:
            if delta.index is None:
                if not (self._called and self._policy.beside == "drop" and delta.kind == "content"):
                    out += self._settle() if delta.text.strip() else []
                    out.append(delta)
                continue
            if self._held and self._held[0].index != delta.index:
                out += self._settle()
            self._called = True
            if self._policy.cut == "keep":
                out += self._hand_on([delta])
            else:
                self._held.append(delta)
        return out + (self._settle() if final else [])

    def _settle(self) -> list[Delta]:
        """Hand on the call that was held."""
        held, self._held = self._held, []
        if not held or held[0].index not in self._incomplete:
            return self._hand_on(held)
        if self._policy.cut == "drop":
            return []
        written = "".join(delta.text for delta in held)
        try:
            head, tail = fix(written) if written.strip() else ("", "{}")
        except (ValueError, RecursionError):
            return self._hand_on(held)  # nothing completes what is no beginning of JSON
        return self._hand_on([held[0]._replace(text=head + tail)])

    def _hand_on(self, deltas: list[Delta]) -> list[Delta]:
        out = []
        for delta in deltas:
            assert delta.index is not None
            if delta.index not in self._numbers:
                known = self._names is None or delta.name in self._names or self._policy.unknown != "drop"
                before = sum(number is not None for number in self._numbers.values())
                self._numbers[delta.index] = before if known and not self._unasked else None
            number = self._numbers[delta.index]
            if number is not None:
                out.append(delta._replace(index=number))
        return out
