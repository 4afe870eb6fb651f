"""A `Finding`: what was measured, the limit it was judged by, what that means and what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from veridical.core.errors import CancelledError, ModelError, VeridicalError

T = TypeVar("T")

Verdict = Literal["ok", "warning", "problem", "not possible"]
Bound = Literal["at most", "at least"]


@dataclass(frozen=True)
class Finding:
    """The verdict on one question about a model, or on one method, with the number and the limit behind it.

    A `warning` is something to know before trusting scores, a `problem` makes them worthless. A value that `is_share`
    is a part of a whole, shown in percent. `details` holds further numbers, for programs.
    """

    name: str
    verdict: Verdict
    meaning: str
    remedy: str = ""
    value: float | None = None
    limit: float | None = None
    bound: Bound = "at most"
    is_share: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> str:
        """The number in words, empty where nothing was measured."""
        return "" if self.value is None else self._figure(self.value)

    @property
    def allowed(self) -> str:
        """The limit in words, empty where there is none."""
        return "" if self.limit is None else f"{self.bound} {self._figure(self.limit)}"

    @property
    def words(self) -> str:
        """What it means and what to do."""
        return f"{self.meaning} {self.remedy}".rstrip()

    def _figure(self, value: float) -> str:
        return percent(value) if self.is_share else f"{value:.2g}"


def attempt(name: str, work: Callable[[], T]) -> T | Finding:
    """The result of some work; whatever keeps it from being done becomes a finding, and the rest can go on."""
    try:
        return work()
    except CancelledError:
        raise
    except VeridicalError as error:
        verdict: Verdict = "problem" if isinstance(error, ModelError) else "not possible"
        return Finding(name, verdict, f"{error.problem.removeprefix(f'{name} ')}.", error.remedy or "")
    except Exception as error:  # whatever a plug-in, a function, or a model that nobody has tried yet may raise
        reason = str(error).strip().partition("\n")[0]
        return Finding(name, "problem", f"it fails with {type(error).__name__}: {reason}.")


def percent(share: float) -> str:
    """A share in percent, in as many digits as matter: 110%, 0.41%."""
    if share >= 0.1:
        return f"{share:.0%}"
    return f"{100 * share:.2g}%" if share >= 1e-4 else "<0.01%"
