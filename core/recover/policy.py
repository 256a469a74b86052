"""What a parser does where a model leaves the script, and where engines have different habits: policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PolicyName = Literal["strict", "lenient", "repair"]


@dataclass(frozen=True)
class Policy:
    """How to read what no template renders.

    ``recover`` tells whether recoveries apply; without them all that a template does not show is text. ``repair`` makes arguments
    valid JSON that are almost JSON; without it they are handed on as they are written.

    The others are habits on which engines differ, each with the value that loses nothing as its default:

    * ``cut`` – a call that the output's end or another call cuts off: ``"keep"`` what was streamed and say that it is
      incomplete, ``"complete"`` its JSON (its arguments then come at once, at its end), or ``"drop"`` it.
    * ``unknown`` – a call of a tool that the request does not have: a ``"call"``, its ``"text"``, or ``"drop"`` it.
    * ``beside`` – text behind the first call: ``"keep"`` or ``"drop"``.
    * ``unasked`` – calls where the request wants none: their ``"text"``, or ``"drop"`` them.
    """

    recover: bool = True
    repair: bool = False
    cut: Literal["keep", "complete", "drop"] = "keep"
    unknown: Literal["call", "text", "drop"] = "call"
    beside: Literal["keep", "drop"] = "keep"
    unasked: Literal["text", "drop"] = "text"

    @property
    def filters(self) -> bool:
        """Whether anything is done to what a parser emits."""
        return (self.cut, self.beside) != ("keep", "keep") or "drop" in (self.unknown, self.unasked)


STRICT = Policy(recover=False)
LENIENT = Policy()
REPAIR = Policy(repair=True)
_NAMED = {"strict": STRICT, "lenient": LENIENT, "repair": REPAIR}


def get_policy(policy: Policy | PolicyName) -> Policy:
    """Return a policy, by its name too. Raises ValueError for a name that none has."""
    if isinstance(policy, Policy):
        return policy
    if policy not in _NAMED:
        raise ValueError(f"no policy is called {policy!r}: strict, lenient or repair")
    return _NAMED[policy]


__all__ = ["LENIENT", "REPAIR", "STRICT", "Policy", "PolicyName", "get_policy"]
