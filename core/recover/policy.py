"""What a parser does where a model leaves the script, and where engines have different habits: policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

PolicyName = Literal["strict", "lenient", "repair"]

_POSSIBLE: dict[str, tuple[object, ...]] = {
    "recover": (True, False),
    "repair": (True, False),
    "cut": ("keep", "complete", "drop", "text"),
    "unknown": ("call", "text", "drop"),
    "beside": ("keep", "drop", "none"),
    "unasked": ("text", "drop"),
    "markup": ("text", "drop"),
    "untyped": ("json", "text"),
    "typed": ("written", "scalars", "schema"),
    "wrapped": ("keep", "open"),
    "interrupts": ("call", "mark"),
    "overrun": ("drop", "text"),
    "unanswered": ("reasoning", "content"),
}
"""The values that the fields of a policy can have, which their annotations say, too: compiled code keeps none of these."""


@dataclass(frozen=True)
class Policy:
    """How to read what no template renders.

    ``recover`` tells whether recoveries apply; without them all that a template does not show is text. ``repair`` makes arguments
    valid JSON that are almost JSON; without it they are handed on as they are written.

    The others are habits on which engines differ, with the value that loses nothing as the default of each but ``overrun``:

    * ``cut`` – a call that the output's end or another call cuts off: ``"keep"`` what was streamed and say that it is
      incomplete, ``"complete"`` its JSON (its arguments then come at once, at its end), ``"drop"`` it, or hand on its ``"text"``.
    * ``unknown`` – a call of a tool that the request does not have: a ``"call"``, its ``"text"``, or ``"drop"`` it.
    * ``beside`` – text in an answer with calls: ``"keep"`` it, ``"drop"`` what stands behind the first call, or keep ``"none"``.
    * ``unasked`` – calls where the request wants none: their ``"text"``, or ``"drop"`` them.
    * ``markup`` – what begins or ends calls where there is none: ``"text"``, or ``"drop"`` it, and from a beginning on all up
      to the next call.
    * ``untyped`` – a value without quotes of which the schema says nothing: what it is as ``"json"``, or ``"text"``.
    * ``typed`` – a value that the schema refuses: ``"written"``, as the model wrote it, or as the ``"schema"`` accepts it; of
      ``"scalars"``, which the policy ``"repair"`` has, lists, objects and null stay as they are written.
    * ``wrapped`` – arguments within an argument that the tool does not have: ``"keep"`` it, or ``"open"`` it.
    * ``interrupts`` – what ends reasoning that nothing else ends: a ``"call"``, or already the ``"mark"`` that begins one.
    * ``overrun`` – the message of a user or a tool with which a model goes on behind the end of its turn: ``"drop"`` it and all
      behind it, as a server that knows the end of the turn would have stopped there, or hand it on as ``"text"``.
    * ``unanswered`` – reasoning behind which nothing came: ``"reasoning"``, or handed on as ``"content"``, at its end.

    Raises ValueError for a value that a field cannot have.
    """

    recover: bool = True
    repair: bool = False
    cut: Literal["keep", "complete", "drop", "text"] = "keep"
    unknown: Literal["call", "text", "drop"] = "call"
    beside: Literal["keep", "drop", "none"] = "keep"
    unasked: Literal["text", "drop"] = "text"
    markup: Literal["text", "drop"] = "text"
    untyped: Literal["json", "text"] = "json"
    typed: Literal["written", "scalars", "schema"] = "written"
    wrapped: Literal["keep", "open"] = "keep"
    interrupts: Literal["call", "mark"] = "call"
    overrun: Literal["drop", "text"] = "drop"
    unanswered: Literal["reasoning", "content"] = "reasoning"

    def __post_init__(self) -> None:
        """Refuse what would be taken for another value without a word."""
        for name, possible in _POSSIBLE.items():
            given = getattr(self, name)
            if given not in possible:
                raise ValueError(f"{name}: {given!r} is none of {', '.join(map(str, possible))}")

    @property
    def filters(self) -> bool:
        """Whether anything is done to what a parser emits."""
        return self.holds_calls or self.beside != "keep" or self.unanswered != "reasoning" or "drop" in (self.unknown, self.unasked)

    @property
    def holds_calls(self) -> bool:
        """Whether a call is handed on at once, when it has ended."""
        return self.cut != "keep" or self.wrapped != "keep"


REPAIR = Policy(repair=True, typed="scalars")
_NAMED = {"strict": Policy(recover=False), "lenient": Policy(), "repair": REPAIR}


def get_policy(policy: Policy | PolicyName) -> Policy:
    """Return a policy, also by its name, behind which fields may stand that have another value: ``repair, typed=written``.

    Raises ValueError for a name, a field or a value that none has, TypeError for what is neither a policy nor a name.
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise TypeError(f"policy must be a Policy or one of strict, lenient and repair, not {type(policy).__name__}")
    name, *fields = (part.strip() for part in policy.split(","))
    if name not in _NAMED:
        raise ValueError(f"no policy is called {name!r}: strict, lenient or repair")
    changes = {key.strip(): value.strip() for key, _, value in (field.partition("=") for field in fields)}
    odd = [key for key in changes if isinstance(_POSSIBLE.get(key, (True,))[0], bool)]
    if odd:
        raise ValueError(f"a policy has no field {odd[0]!r} that takes a word")
    return replace(_NAMED[name], **changes)  # type: ignore[arg-type]  # values are checked where the policy is made
