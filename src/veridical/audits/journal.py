"""What an audit has measured so far, in a file that grows: nothing finished is lost, and nothing is measured twice."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from veridical.audits.record import Measurement
from veridical.core.errors import StorageError
from veridical.core.storage import LineFile, OutputLock, is_whole

_NAME = "measured.jsonl"

Steps = Mapping[str, tuple[float, ...]]
"""What the points of a metric's curve stand for, by the name of the metric."""


class Journal:
    """Rows by keys. A key is a hash of everything that the row was made of. What `write` has written survives a crash.

    The file stays in the audit's folder, so that an audit with one more method measures that method only. `failures`
    says by key why something cannot be measured. `times` has by key what a method costs. `work` is what all audits in
    the folder asked of models.
    """

    def __init__(self, folder: Path) -> None:
        self.rows: dict[str, Measurement] = {}
        self.failures: dict[str, str] = {}
        self.steps: dict[str, tuple[float, ...]] = {}
        self.times: dict[str, dict[str, float]] = {}
        self.work: Counter[str] = Counter()
        self._path = folder / _NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        self._lock = OutputLock(self._path)
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def has(self, keys: Iterable[str]) -> bool:
        """Whether each key has a row, or is known to have none."""
        return all(key in self.rows or key in self.failures for key in keys)

    def write(self, rows: Mapping[str, Measurement], steps: Steps, failures: Mapping[str, str] | None = None) -> None:
        """Keep some rows, the steps of their metrics, and why other rows cannot be."""
        new = {name: each for name, each in steps.items() if self.steps.get(name) != each}
        lines = [{"metric": name, "steps": each} for name, each in new.items()]
        lines += [{"key": key, **_data(row)} for key, row in rows.items()]
        lines += [{"failed": key, "reason": why} for key, why in (failures or {}).items()]
        self._append(lines)
        self.rows.update(rows)
        self.steps.update(new)
        self.failures.update(failures or {})

    def time(self, key: str, costs: Mapping[str, float]) -> None:
        """Keep what a method costs."""
        self._append([{"timed": key, "costs": costs}])
        self.times[key] = dict(costs)

    def spend(self, **work: int) -> None:
        """Keep count of work that was done."""
        if any(work.values()):
            self._append([{"work": work}])
            self.work.update(work)

    def _open(self) -> None:
        try:
            self._read()
            self._file = LineFile(self._path)
            self._file.mend()
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def _append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        try:
            self._file.append("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode())
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if is_whole(line):  # only the last line may be torn
                    self._take(number, line)

    def _take(self, number: int, line: bytes) -> None:
        try:
            self._remember(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            problem = f"line {number} of {self._path} was not written by an audit"
            raise StorageError(problem, remedy="Remove the line: what it said is measured again.") from error

    def _remember(self, told: dict[str, Any]) -> None:
        if "key" in told:
            key = told.pop("key")
            self.rows[key] = _row(told)
        elif "failed" in told:
            self.failures[told["failed"]] = str(told["reason"])
        elif "timed" in told:
            self.times[told["timed"]] = dict(told["costs"])
        elif "work" in told:
            self.work.update(told["work"])
        else:
            self.steps[told["metric"]] = tuple(told["steps"])

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        self._lock.release()


def _data(row: Measurement) -> dict[str, Any]:
    return {
        "document": row.document,
        "method": row.method,
        "metric": row.metric,
        "order": row.order,
        "value": _json(row.value),
        "curve": [_json(value) for value in row.curve],
        "details": {name: _json(value) for name, value in row.details.items()},
    }


def _row(told: dict[str, Any]) -> Measurement:
    value = _number(told.pop("value"))
    curve = tuple(_number(each) for each in told.pop("curve"))
    details = {name: _number(each) for name, each in told.pop("details").items()}
    return Measurement(**told, value=value, curve=curve, details=details)


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _cannot_write(path: Path, error: OSError) -> StorageError:
    remedy = "Choose another folder, or free some space and run the same command again: it goes on from there."
    return StorageError(f"cannot write {path}: {error.strerror or error}", remedy=remedy)
