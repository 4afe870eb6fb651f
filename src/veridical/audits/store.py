"""An audit on disk: its files, and the journal of what was measured so far."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.audits.record import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.statistics.findings import Agreement, plain
from veridical.core.errors import InputError, StorageError
from veridical.core.folders import mistyped
from veridical.core.storage import (
    LineFile,
    OutputLock,
    cannot_write,
    escape,
    is_whole,
    path_of,
    read_json,
    replacing,
    unescape,
    write_json,
)
from veridical.core.values import short

_NAME = "measured.jsonl"

Steps = Mapping[str, tuple[float, ...]]
"""What the points of a metric's curve stand for, by the name of the metric."""


class Journal:
    """Rows by keys. A key is a hash of everything that the row was made of. What `write` has written survives a crash.

    The file stays in the audit's folder, so that an audit with one more method measures that method only. `failures`
    says by key why something cannot be measured. `times` has by key what a method costs. `work` is what it took to make
    all that is in the folder: a portion counts once, even if it was killed and done again.
    """

    def __init__(self, folder: Path) -> None:
        self.rows: dict[str, Measurement] = {}
        self.failures: dict[str, str] = {}
        self.steps: dict[str, tuple[float, ...]] = {}
        self.times: dict[str, dict[str, float]] = {}
        self._spent: dict[str, Mapping[str, int]] = {}
        self.folder = folder
        self._path = folder / _NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self._path, error) from error
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

    @property
    def work(self) -> Counter[str]:
        """How much work was done, by kind."""
        found: Counter[str] = Counter()
        for each in self._spent.values():
            found.update(each)
        return found

    def spend(self, key: str, **work: int) -> None:
        """Keep count of the work on a portion, which has this key, in the place of what was known of it."""
        if any(work.values()):
            self._append([{"spent": key, "work": work}])
            self._spent[key] = work

    def _open(self) -> None:
        try:
            self._read()
            self._file = LineFile(self._path)
            self._file.mend()
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def _append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        try:
            self._file.append("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode())
        except OSError as error:
            raise cannot_write(self._path, error, "what was measured before is safe") from error

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
            self.rows[key] = _measurement_of(told)
        elif "failed" in told:
            self.failures[told["failed"]] = str(told["reason"])
        elif "timed" in told:
            self.times[told["timed"]] = dict(told["costs"])
        elif "spent" in told:
            self._spent[told["spent"]] = dict(told["work"])
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


def _measurement_of(told: dict[str, Any]) -> Measurement:
    value = _number_or_nan(told.pop("value"))
    curve = tuple(_number_or_nan(each) for each in told.pop("curve"))
    details = {name: _number_or_nan(each) for name, each in told.pop("details").items()}
    return Measurement(**told, value=value, curve=curve, details=details)


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number_or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


AUDIT_FILE, ROWS, EXPLANATIONS = "audit.json", "rows.parquet", "explanations.parquet"
"""What was done and how, every number, and the explanations that were judged."""

_AGAIN = "Run the audit again: what it measured is kept, and the file is made anew."

_AT_ONCE = 20_000
"""Rows in memory as data: as many as a file may have would need more than the audit itself."""

_AT_MOST = 2**40
"""No document has as many units."""

_FORMAT, _VERSION = "veridical-audit", 1

_SCHEMA = pa.schema(
    [
        ("document", pa.string()),
        ("method", pa.string()),
        ("metric", pa.string()),
        ("order", pa.string()),
        ("value", pa.float64()),
        ("curve", pa.list_(pa.float64())),
        ("details", pa.map_(pa.string(), pa.float64())),
    ]
)


def save_audit(audit: Audit, folder: Path) -> None:
    """Write both files; each appears only when it is complete."""
    told = {
        "format": _FORMAT,
        "version": _VERSION,
        **{part.name: plain(getattr(audit, part.name)) for part in dataclasses.fields(audit) if part.name != "rows"},
    }
    _save_rows(audit.rows, folder / ROWS)
    write_json(folder / AUDIT_FILE, told)


def load_audit(folder: str | os.PathLike[str]) -> Audit:
    """Read an audit's folder."""
    path = path_of(folder, "an audit's folder", "audit(..., out=FOLDER) writes one.")
    told, rows = _record(path), _load_rows(path / ROWS)
    try:
        return _audit(told, rows)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise StorageError(f"{path / AUDIT_FILE} is damaged: {error}", remedy=_AGAIN) from error


_BY_NAME = ("skipped", "work", "versions", "settings")


def _audit(told: dict[str, Any], rows: tuple[Measurement, ...]) -> Audit:
    for name in ("model", *_BY_NAME):
        if not isinstance(told[name], dict):
            raise ValueError(f"{name!r} is no object")
    metrics = tuple(_metric(each) for each in told["metrics"])
    steps = {metric.name: len(metric.steps) for metric in metrics}
    if any(row.curve and len(row.curve) != steps.get(row.metric) for row in rows):
        raise ValueError(f"its metrics have other steps than the curves in {ROWS}")
    return Audit(
        model=told["model"],
        data=str(told["data"]),
        documents=tuple(_document(each) for each in told["documents"]),
        methods=tuple(_method(each) for each in told["methods"]),
        metrics=metrics,
        rows=rows,
        failures={document: dict(reasons) for document, reasons in told["failures"].items()},
        warnings=tuple(told["warnings"]),
        likeness=_likeness(told["likeness"]),
        **{name: told[name] for name in _BY_NAME},
    )


def _save_rows(rows: Sequence[Measurement], path: Path) -> None:
    with replacing(path) as unfinished:
        with pq.ParquetWriter(unfinished, _SCHEMA, compression="zstd") as writer:
            for start in range(0, len(rows), _AT_ONCE):
                lines = [_line(row) for row in rows[start : start + _AT_ONCE]]
                writer.write_batch(pa.RecordBatch.from_pylist(lines, schema=_SCHEMA))
        # Killed between the two files, a folder must not pair new rows with an old record.
        path.with_name(AUDIT_FILE).unlink(missing_ok=True)


def _line(row: Measurement) -> dict[str, Any]:
    names = {name: escape(getattr(row, name)) for name in ("document", "method", "metric")}
    numbers = {"value": row.value, "curve": list(row.curve), "details": list(row.details.items())}
    return {**names, "order": row.order, **numbers}


def _load_rows(path: Path) -> tuple[Measurement, ...]:
    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(_AT_ONCE)
            return tuple(_row(line) for batch in batches for line in batch.to_pylist(maps_as_pydicts="strict"))
    except FileNotFoundError as error:
        raise StorageError(f"there is no file {path}", remedy=_AGAIN) from error
    except (OSError, pa.ArrowException, KeyError, TypeError) as error:
        raise StorageError(f"{path} is truncated or damaged ({type(error).__name__})", remedy=_AGAIN) from error


def _row(line: dict[str, Any]) -> Measurement:
    names = {name: unescape(line[name]) for name in ("document", "method", "metric")}
    return Measurement(**{**line, **names, "curve": tuple(line["curve"])})


def _record(path: Path) -> dict[str, Any]:
    try:
        told = read_json(path / AUDIT_FILE)
    except (OSError, ValueError):
        remedy = "Give the folder that `veridical audit ... --out FOLDER` has finished writing."
        raise InputError(f"{path} is not an audit", remedy=remedy) from None
    if not isinstance(told, dict) or told.get("format") != _FORMAT:
        raise InputError(f"{path / AUDIT_FILE} is not an audit")
    version = told.get("version")
    if not isinstance(version, int):
        raise StorageError(f"{path / AUDIT_FILE} is damaged: it does not say its version", remedy=_AGAIN)
    if version > _VERSION:
        problem = f"{path} was written by a newer Veridical (audit version {version}, this one reads up to {_VERSION})"
        raise StorageError(problem, remedy="Upgrade with `pip install --upgrade veridical`.")
    return told


def _document(told: dict[str, Any]) -> Document:
    label = tuple(told["label"]) if isinstance(told["label"], list) else told["label"]
    document = _made(Document, {**told, "label": label, "probability": _number(told["probability"])})
    if not 0 <= document.units < _AT_MOST:
        raise ValueError(f"a document cannot have {short(document.units)} units")
    return document


def _method(told: dict[str, Any]) -> AuditedMethod:
    costs = {name: _number(value) for name, value in told["costs"].items()}
    return _made(AuditedMethod, {**told, "costs": costs})


def _metric(told: dict[str, Any]) -> AuditedMetric:
    metric = _made(AuditedMetric, {**told, "steps": tuple(float(each) for each in told["steps"])})
    if not isinstance(metric.spec["name"], str) or not isinstance(metric.eraser, str | None):
        raise ValueError(f"the spec of the metric {metric.name!r} names no metric or no eraser")
    return metric


_Part = TypeVar("_Part", Document, AuditedMethod, AuditedMetric)


def _made(kind: type[_Part], told: dict[str, Any]) -> _Part:
    """A part of an audit as the file tells it; somebody may have changed the file."""
    if wrong := mistyped(kind, told, told):
        raise ValueError(f"{wrong!r} of a {kind.__name__} is of a wrong type")
    return kind(**told)


def _likeness(told: dict[str, Any] | None) -> Agreement | None:
    if told is None:
        return None
    values = tuple(tuple(_number(each) for each in row) for row in told["values"])
    return Agreement(**{**told, "methods": tuple(told["methods"]), "values": values})


def _number(value: float | None) -> float:
    return math.nan if value is None else value
