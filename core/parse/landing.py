"""What looking ahead finds: where a rule leads, and what is read on the way there."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ..plan.guards import SHAPES
from ..plan.rules import Rule
from ..plan.spots import Spot
from ..schema import Schema

StepKind = Literal["open", "close", "name", "id", "key", "wrap", "fence"]


class Step(NamedTuple):
    """Something that is read on the way to a field that is streamed."""

    kind: StepKind
    text: str = ""


def list_id(text: str | None) -> tuple[Step, ...]:
    """Return the step that reads an id; none where there is none."""
    return () if text is None else (Step("id", text),)


class Landing:
    """Where a rule leads: the place behind it, and what was read on the way: calls that end and begin, names, ids and keys.

    It leads to a field, or ``behind`` one that has ended. Where lists and objects are left, ``rule`` is what follows them, and
    ``closer`` what ends the innermost one. Nothing is changed in it once it is made; a plain class is made fastest, for every place
    that is looked at.
    """

    __slots__ = ("behind", "closer", "end", "pops", "rule", "spot", "steps", "trail")

    def __init__(
        self,
        end: int,
        spot: Spot,
        rule: Rule,
        trail: str = "",
        steps: tuple[Step, ...] = (),
        pops: int = 0,
        behind: bool = False,
        closer: Rule | None = None,
    ) -> None:
        self.end = end
        self.spot = spot
        self.rule = rule
        self.trail = trail
        self.steps = steps
        self.pops = pops
        self.behind = behind
        self.closer = closer

    def replace(
        self,
        *,
        end: int | None = None,
        rule: Rule | None = None,
        trail: str | None = None,
        steps: tuple[Step, ...] | None = None,
    ) -> Landing:
        """Return the same with something else in it."""
        end, trail = self.end if end is None else end, self.trail if trail is None else trail
        steps = self.steps if steps is None else steps
        return Landing(end, self.spot, rule or self.rule, trail, steps, self.pops, self.behind, self.closer)

    def leave(self, closer: Rule) -> Landing:
        """Return the same behind one list or object more, which a rule ends."""
        return Landing(self.end, self.spot, self.rule, self.trail, self.steps, self.pops + 1, self.behind, closer)

    @property
    def calls(self) -> bool:
        """Whether it begins a call."""
        return self.rule.opens or self.rule.guard in SHAPES

    @property
    def fence(self) -> str:
        """The signs of the fence behind whose first line it begins a call; empty where none is there."""
        return next((step.text for step in self.steps if step.kind == "fence"), "")

    def find(self, kind: str) -> str | None:
        """Return the last field of a kind that was read on the way in the call that is open at its end."""
        for step in reversed(self.steps):
            if step.kind == kind:
                return step.text
            if step.kind == "open":
                return None
        return None


class Frame(NamedTuple):
    """A list or an object that is being read, and the spot that is left when it ends."""

    spot: Spot
    schema: Schema
    key: str = ""  # whose value it is


HELD: Final = 1 << 14  # so much of an output may wait for what tells the type of a value
HELD_CALL: Final = 4096
"""So many characters, from where a call may begin, wait for what tells whether it is one."""
