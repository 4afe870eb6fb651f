"""Where results go: to a file or a list, with the failures of a job remembered beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from veridical.core.errors import InputError
from veridical.core.files.rows import Key
from veridical.core.storage import read_json, write_json
from veridical.core.values import Example, Explanation, content_hash
from veridical.masking.engine import Cost
from veridical.run.job import Failure, Result, charge

_FORMAT, _VERSION = "veridical-failures", 1

_Rows = dict[tuple[str, str], dict[str, Any]]
"""A row for each spec and example id."""


class FailureFile:
    """The failures of one spec in `NAME.failures.json`; only whoever holds the lock of NAME may change it.

    A failure is known again while the example says the same. Once its text or label has changed, it is tried again.
    """

    def __init__(self, beside: Path, spec: str) -> None:
        self._path = beside.with_name(beside.name + ".failures.json")
        self._spec = spec
        self._rows = _read(self._path)

    def known(self, example: Example) -> Failure | None:
        """Why this example cannot be done, if that is known."""
        row = self._rows.get((self._spec, example.id))
        if row is None or row["content"] != _content(example):
            return None
        error = InputError(row["problem"], example=row["example"], field=row["field"], remedy=row["remedy"])
        return Failure(example.id, error)

    def remember(self, portion: Iterable[Example], failures: Iterable[Failure]) -> None:
        """Replace what is known of the examples of a portion by what came of it."""
        errors = {each.example_id: each.error for each in failures}
        before = dict(self._rows)
        for example in portion:
            self._rows.pop((self._spec, example.id), None)
            error = errors.get(example.id)
            if isinstance(error, InputError):
                self._rows[self._spec, example.id] = _row(example, error)
        if self._rows != before:
            self._write()

    def _write(self) -> None:
        if not self._rows:
            self._path.unlink(missing_ok=True)
            return
        rows = [{"spec": spec, "id": example, **row} for (spec, example), row in self._rows.items()]
        write_json(self._path, {"format": _FORMAT, "version": _VERSION, "failures": rows})


def _row(example: Example, error: InputError) -> dict[str, Any]:
    told = {"problem": error.problem, "example": error.example, "field": error.field, "remedy": error.remedy}
    return {"content": _content(example), **told}


def _content(example: Example) -> str:
    return f"{content_hash(example.inputs)} {example.label!r}"


def _read(path: Path) -> _Rows:
    """The rows of the file; none if it is not there or cannot be read, for then its examples are tried again."""
    try:
        told = read_json(path)
        if (told["format"], told["version"]) != (_FORMAT, _VERSION):
            return {}
        names = ("content", "problem", "example", "field", "remedy")
        return {(row["spec"], row["id"]): {name: row[name] for name in names} for row in told["failures"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


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
