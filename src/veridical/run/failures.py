"""Examples that cannot be done, remembered beside the file of those that can, so that nobody tries them again.

Only what is wrong with an example itself is remembered, as that its text is blank. An error of the model may pass: a
service that did not answer today answers tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from veridical.core.errors import InputError
from veridical.core.example import Example, content_hash
from veridical.core.storage import read_json, write_json
from veridical.run.job import Failure

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
