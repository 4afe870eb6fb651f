"""Errors and warnings a person can act on: each names what is wrong, where, and what to do about it."""

from __future__ import annotations


class VeridicalError(Exception):
    """Base of every error Veridical raises on purpose.

    `exit_code` is what the command line ends with, so that scripts can tell the kinds apart.
    """

    exit_code = 1

    def __init__(
        self, problem: str, *, example: str | None = None, field: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.example = example
        self.field = field
        self.remedy = remedy

    @property
    def reason(self) -> str:
        """What is wrong and what to do about it, for lists where the place is said already."""
        return f"{self.problem}. {self.remedy}" if self.remedy else self.problem

    @property
    def told(self) -> dict[str, str | None]:
        """All that the error says, by name."""
        return {"problem": self.problem, "example": self.example, "field": self.field, "remedy": self.remedy}

    def __str__(self) -> str:
        where = [f"example {self.example}"] if self.example is not None else []
        where += [f"field {self.field!r}"] if self.field is not None else []
        return ": ".join([*([", ".join(where)] if where else []), self.reason])


class VeridicalWarning(UserWarning):
    """What a person should know of something that goes on nevertheless; the command line prints it as a note."""


class UsageError(VeridicalError):
    """The request itself is wrong: an unknown name, option or value."""

    exit_code = 2


class InputError(VeridicalError):
    """The data is wrong: a file, a row, a text, a label."""

    exit_code = 3


class UnsupportedError(VeridicalError):
    """The model cannot do what the method needs."""

    exit_code = 4


class StorageError(VeridicalError):
    """A file cannot be read or written: truncated, in use, no space."""

    exit_code = 5


class CancelledError(VeridicalError):
    """Whoever started a job has stopped it."""

    exit_code = 130


class ModelError(VeridicalError):
    """The model misbehaved: it gave NaN, the wrong number of outputs or no answer, or cannot be loaded."""

    exit_code = 6
