"""The exceptions of this package; every message says what was being done, what was found and what to do about it.

Nothing here is ever raised because of what a model wrote: only templates, bounds and serialised formats can be wrong.
"""

from __future__ import annotations


class AutoparserError(Exception):
    """Base of everything that this package raises on purpose."""


class TemplateError(AutoparserError):
    """A chat template cannot be found, read, compiled or rendered.

    ``line`` is the line of the template's source where that is known, else None.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message, line)
        self.line = line

    def __str__(self) -> str:
        return f"{self.args[0]} (line {self.line} of the template)" if self.line else str(self.args[0])


class TemplateRefusal(TemplateError):
    """The template itself refused the conversation; ``reason`` is what it said."""

    def __init__(self, message: str, line: int | None = None, reason: str = "") -> None:
        super().__init__(message, line)
        self.args = (message, line, reason)
        self.reason = reason


class MissingTemplateError(TemplateError):
    """There is no chat template where one was looked for."""


class BudgetError(AutoparserError):
    """A render or an analysis exceeded its bounds in time, size or number."""


class FormatError(AutoparserError):
    """A serialised format is not one that this version can read."""


class ConstraintError(AutoparserError):
    """A grammar cannot say what was asked for; the message says which part of the format or of a schema is the reason."""


class LessonError(AutoparserError):
    """Examples by which a format is to be taught cannot be read, or do not show what they are said to mean."""
