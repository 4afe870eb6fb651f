"""Where the results of explaining go: a file that is resumed, and an account of what was done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from veridical.core.example import Example
from veridical.core.explanation import Explanation
from veridical.core.files.rows import Key
from veridical.masking.engine import Cost
from veridical.run.failures import FailureFile
from veridical.run.job import Failure, Result, charge


@dataclass(frozen=True)
class Explained:
    """What an explaining job did, what went wrong, and the cost.

    `written` counts explanations, of which an example may have several; `resumed` counts the examples of which all
    explanations were there before.
    """

    written: int
    resumed: int
    failures: tuple[Failure, ...]
    truncated: tuple[str, ...]
    cost: Cost = field(default_factory=Cost)


class ExplanationSink(Protocol):
    """Takes explanations to a file at `path`.

    `seen` has the id and the spec key of each example that it holds with all targets, and `begun` the targets that it
    holds of others.
    """

    @property
    def path(self) -> Path: ...

    @property
    def seen(self) -> set[Key]: ...

    @property
    def begun(self) -> dict[Key, set[str]]: ...

    def write(self, explanations: Iterable[Explanation]) -> None:
        """Keep some more."""
        ...


class ResultSink:
    """Takes results of one spec into a file: writes what was missing there, and remembers what failed."""

    def __init__(self, writer: ExplanationSink, spec: str) -> None:
        self.done = {example for example, key in writer.seen if key == spec}
        self._begun = {example: set(targets) for (example, key), targets in writer.begun.items() if key == spec}
        self._writer = writer
        self._failures = FailureFile(writer.path, spec)
        self._failed: dict[str, Failure] = {}
        self._truncated: list[str] = []
        self._written = 0
        self._cost = Cost()

    def is_done(self, portion: list[Example]) -> bool:
        """Whether each example is in the file, or known to fail."""
        known = {example.id: self._failures.known(example) for example in portion if example.id not in self.done}
        self._failed |= {example: failure for example, failure in known.items() if failure is not None}
        return None not in known.values()

    def take(self, portion: list[Example], result: Result[Explanation]) -> None:
        """Keep what came of a portion."""
        made = [each for each in result.made if not self._has(each)]
        self._writer.write(made)
        self._failures.remember(portion, result.failures)
        self._failed |= {failure.example_id: failure for failure in result.failures}
        cut = [each.example_id for each in made if each.measures["truncated_units"]]
        self._truncated += dict.fromkeys(cut)  # once, however many targets an example has
        self._written += len(made)
        charge(self._cost, result.cost)

    def _has(self, made: Explanation) -> bool:
        """Whether the file held an explanation when the job began."""
        return made.example_id in self.done or made.target in self._begun.get(made.example_id, ())

    def account(self, wanted: Sequence[Example]) -> Explained:
        """What was done for some examples in all."""
        resumed = sum(example.id in self.done for example in wanted)
        failures = tuple(self._failed[example.id] for example in wanted if example.id in self._failed)
        return Explained(self._written, resumed, failures, tuple(self._truncated), self._cost)
