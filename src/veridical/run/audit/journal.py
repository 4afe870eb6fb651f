"""What was measured so far, by content: nothing finished is lost, and nothing is measured twice."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from veridical.core.errors import StorageError
from veridical.core.files.locking import OutputLock
from veridical.report.audit.record import Row

_NAME = "measured.jsonl"


class Journal:
    """Rows by the key of what they were made of. What `write` returned from survives a crash of the process.

    It stays in the audit's folder as a cache: an audit with one more method measures that method only. `steps` are what
    the points of a metric's curve stand for, by the name of the metric; `work` is what all audits in the folder asked
    of models.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = OutputLock(self._path)
            self.rows: dict[str, Row] = {}
            self.steps: dict[str, tuple[float, ...]] = {}
            self.work: Counter[str] = Counter()
            self._read()
            self._file = self._path.open("ab")
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def has(self, keys: Iterable[str]) -> bool:
        """Whether there is a row of each key. Asked often, so it must not go through all rows."""
        return all(key in self.rows for key in keys)

    def write(self, rows: Mapping[str, Row], steps: Mapping[str, tuple[float, ...]]) -> None:
        """Keep some rows, and the steps of their metrics."""
        new = {name: each for name, each in steps.items() if self.steps.get(name) != each}
        lines = [_line({"metric": name, "steps": each}) for name, each in new.items()]
        lines += [_line({"key": key, **_data(row)}) for key, row in rows.items()]
        self._append(lines)
        self.rows.update(rows)
        self.steps.update(new)

    def spend(self, **work: int) -> None:
        """Keep count of work that was done."""
        self._append([_line({"work": work})])
        self.work.update(work)

    def _append(self, lines: Iterable[bytes]) -> None:
        try:
            self._file.write(b"".join(lines))
            self._file.flush()
        except OSError as error:
            raise _cannot_write(self._path, error) from error

    def _read(self) -> None:
        for number, line in enumerate(_lines(self._path), start=1):
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                remedy = "Remove the line: what it said is measured again."
                raise StorageError(
                    f"line {number} of {self._path} was not written by an audit", remedy=remedy
                ) from error

    def _take(self, told: dict[str, Any]) -> None:
        if "key" in told:
            key = told.pop("key")
            self.rows[key] = _row(told)
        elif "work" in told:
            self.work.update(told["work"])
        else:
            self.steps[told["metric"]] = tuple(told["steps"])

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            self._file.close()
        self._lock.release()


def _lines(path: Path) -> list[bytes]:
    if not path.exists():
        return []
    text = path.read_bytes()
    end = text.rfind(b"\n") + 1
    if end < len(text):  # a crash tore the last line: what follows must not be glued to it
        os.truncate(path, end)
    return text[:end].splitlines()


def _line(told: Mapping[str, Any]) -> bytes:
    return (json.dumps(told, allow_nan=False) + "\n").encode()


def _data(row: Row) -> dict[str, Any]:
    return {
        "document": row.document,
        "method": row.method,
        "metric": row.metric,
        "order": row.order,
        "value": _json(row.value),
        "curve": [_json(value) for value in row.curve],
        "details": {name: _json(value) for name, value in row.details.items()},
    }


def _row(told: dict[str, Any]) -> Row:
    value = _number(told.pop("value"))
    curve = tuple(_number(each) for each in told.pop("curve"))
    details = {name: _number(each) for name, each in told.pop("details").items()}
    return Row(**told, value=value, curve=curve, details=details)


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _cannot_write(path: Path, error: OSError) -> StorageError:
    remedy = "Choose another folder, or free some space and run the same command again: it goes on from there."
    return StorageError(f"cannot write {path}: {error.strerror or error}", remedy=remedy)
