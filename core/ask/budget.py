"""What a template may cost: bounds for one render and for all renders of an analysis.

A chat template comes with a model from anywhere, so it is untrusted code. Time is checked wherever a template can
repeat itself; size is charged wherever it makes a value, before that value exists if it could be large.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, thread_time
from typing import Any

from ..errors import BudgetError
from .growth import size_of


@dataclass(frozen=True)
class Budget:
    """Bounds in time and size; the defaults leave an ordinary template a hundredfold room.

    ``seconds`` and ``renders`` bound all renders of one :class:`Account` together, and ``seconds`` a render on its own.
    ``render_seconds`` bounds the work of each render (its thread's time on the processor: a busy machine refuses no
    template), and ``characters`` what it writes, intermediate values included. Jinja is stopped where it exceeds them. A function,
    or a tokenizer with an ``apply_chat_template`` of its own, cannot be: what it returns is checked, against ``seconds`` and
    ``characters`` only, and it is waited for if it never returns. ``turn_characters`` bounds what is written for one short answer:
    what is derived from it and its proof cost time in proportion. Raises TypeError for what is no number, and ValueError for one
    below 0.
    """

    seconds: float = 30.0
    renders: int = 2_000
    render_seconds: float = 1.0
    characters: int = 8_000_000
    turn_characters: int = 16_384

    def __post_init__(self) -> None:
        """Refuse what would bound nothing, or fail in the midst of an analysis."""
        for name, value in vars(self).items():
            if not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number, not {type(value).__name__}")
            if not value >= 0:
                raise ValueError(f"{name} must be 0 or more, not {value}")


def exceed(what: str, bound: str) -> BudgetError:
    """Return the error for what went beyond a bound, which is a field of :class:`Budget`."""
    return BudgetError(f"{what} and was stopped. Raise {bound} if the template is to be trusted.")


class Account:
    """Draws the renders of one analysis on one budget; its time runs from the moment it is made."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.renders = 0
        self._deadline = monotonic() + budget.seconds

    def open_meter(self) -> Meter:
        """Return the meter for the next render; raises :class:`BudgetError` where nothing is left."""
        self.renders += 1
        if self.renders > self.budget.renders:
            raise exceed(f"Analysing the chat template took more than {self.budget.renders} renders", "Budget.renders")
        if monotonic() > self._deadline:
            took = f"{self.budget.seconds:g} s ({self.renders - 1} renders)"
            raise exceed(f"Analysing the chat template took more than {took}", "Budget.seconds")
        return Meter(self.budget, self._deadline)


class Meter:
    """Measures one render against its bounds."""

    __slots__ = ("_deadline", "_last", "_limit", "_room", "_start", "_work", "_worked")

    def __init__(self, budget: Budget, last: float) -> None:
        self._limit = self._room = budget.characters
        self._start = monotonic()
        self._worked = thread_time()
        self._work = budget.render_seconds
        self._deadline = min(self._start + budget.render_seconds, last)
        self._last = last

    def tick(self) -> None:
        """Raise :class:`BudgetError` when the time is over."""
        if monotonic() > self._deadline:
            self._check_work()

    def _check_work(self) -> None:
        """Give a render that had to wait for the processor the time that it lost."""
        now, left = monotonic(), self._work - (thread_time() - self._worked)
        if left <= 0 or now > self._last:
            what = f"Rendering the chat template still ran after {now - self._start:.2g} s"
            raise exceed(what, "Budget.render_seconds and Budget.seconds")
        self._deadline = min(now + left, self._last)

    def check_return(self, name: str) -> None:
        """Raise :class:`BudgetError` when a render that nothing could stop has come back too late.

        That is when the time of all renders is over: one of them, such as the first, may take its time.
        """
        now = monotonic()
        if now > self._last:
            raise BudgetError(
                f"Rendering took too long in {name}, which came back after {now - self._start:.2g} s. "
                "Make it faster, or raise Budget.seconds."
            )

    def charge(self, size: int) -> None:
        """Take a value of that many characters off the room; raises :class:`BudgetError` when there is none left."""
        self._room -= size
        if self._room < 0:
            raise exceed(f"Rendering the chat template made more than {self._limit} characters", "Budget.characters")

    def weigh(self, value: Any) -> None:
        """Charge a value as it would be written out in full."""
        self.charge(size_of(value, self._room))
