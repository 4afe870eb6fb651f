"""An audit on disk: `audit.json` says what was done and how, `rows.parquet` has every number of every document."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.audits.record import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.statistics.findings import Agreement, plain
from veridical.core.errors import InputError, StorageError
from veridical.core.storage import escape, read_json, replacing, unescape, write_json

AUDIT_FILE, ROWS, EXPLANATIONS = "audit.json", "rows.parquet", "explanations.parquet"
"""What was done and how, every number, and the explanations that were judged."""

_AGAIN = "Run the audit again: what it measured is kept, and the file is made anew."

_AT_ONCE = 20_000
"""Rows in memory as data: as many as a file may have would need more than the audit itself."""

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
    path = Path(folder)
    told, rows = _record(path), _load_rows(path / ROWS)
    try:
        return _audit(told, rows)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StorageError(f"{path / AUDIT_FILE} is damaged: {error}", remedy=_AGAIN) from error


def _audit(told: dict[str, Any], rows: tuple[Measurement, ...]) -> Audit:
    return Audit(
        model=told["model"],
        data=told["data"],
        documents=tuple(_document(each) for each in told["documents"]),
        methods=tuple(_method(each) for each in told["methods"]),
        metrics=tuple(AuditedMetric(**{**each, "steps": tuple(each["steps"])}) for each in told["metrics"]),
        rows=rows,
        failures={document: dict(reasons) for document, reasons in told["failures"].items()},
        warnings=tuple(told["warnings"]),
        likeness=_likeness(told["likeness"]),
        **{name: told[name] for name in ("skipped", "work", "versions", "settings")},
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
    return Document(**{**told, "label": label, "probability": _number(told["probability"])})


def _method(told: dict[str, Any]) -> AuditedMethod:
    return AuditedMethod(**{**told, "costs": {name: _number(value) for name, value in told["costs"].items()}})


def _likeness(told: dict[str, Any] | None) -> Agreement | None:
    if told is None:
        return None
    values = tuple(tuple(_number(each) for each in row) for row in told["values"])
    return Agreement(**{**told, "methods": tuple(told["methods"]), "values": values})


def _number(value: float | None) -> float:
    return math.nan if value is None else value
