"""An audit on disk: `audit.json` says what was done and how, `rows.parquet` has every number of every document."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.core.errors import InputError, StorageError
from veridical.report.audit.findings import plain
from veridical.report.audit.record import Audit, Document, Judge, Row, Suspect

RECORD, ROWS, EXPLANATIONS = "audit.json", "rows.parquet", "explanations.parquet"
"""What was done and how, every number, and the explanations that were judged."""

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
    write_whole(folder / RECORD, json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False))


def load_audit(folder: str | os.PathLike[str]) -> Audit:
    """Read an audit's folder."""
    path = Path(folder)
    told = _record(path)
    return Audit(
        model=told["model"],
        data=told["data"],
        documents=tuple(_document(each) for each in told["documents"]),
        methods=tuple(Suspect(**each) for each in told["methods"]),
        metrics=tuple(Judge(**{**each, "steps": tuple(each["steps"])}) for each in told["metrics"]),
        rows=_load_rows(path / ROWS),
        warnings=tuple(told["warnings"]),
        **{name: told[name] for name in ("skipped", "failures", "work", "versions", "settings")},
    )


def _save_rows(rows: Iterable[Row], path: Path) -> None:
    lines = [
        {**dataclasses.asdict(row), "curve": list(row.curve), "details": list(row.details.items())} for row in rows
    ]
    unfinished = path.with_name(path.name + ".tmp")
    try:
        pq.write_table(pa.Table.from_pylist(lines, schema=_SCHEMA), unfinished, compression="zstd")
        os.replace(unfinished, path)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _load_rows(path: Path) -> tuple[Row, ...]:
    try:
        lines = pq.read_table(path).to_pylist(maps_as_pydicts="strict")
    except (OSError, pa.ArrowInvalid) as error:
        remedy = "Run the audit again: what it measured is kept, and the file is made anew."
        raise StorageError(f"cannot read {path}: {error}", remedy=remedy) from error
    return tuple(Row(**{**line, "curve": tuple(line["curve"])}) for line in lines)


def write_whole(path: Path, text: str) -> None:
    """Write a text file that appears only when it is complete."""
    unfinished = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        os.replace(unfinished, path)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _record(path: Path) -> dict[str, Any]:
    try:
        told = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        remedy = "Give the folder that `veridical audit ... --out FOLDER` has finished writing."
        raise InputError(f"{path} is not an audit", remedy=remedy) from None
    if not isinstance(told, dict) or told.get("format") != _FORMAT:
        raise InputError(f"{path / RECORD} is not an audit")
    if told["version"] > _VERSION:
        raise StorageError(f"{path} was written by a newer Veridical", remedy="Upgrade to read it.")
    return told


def _document(told: dict[str, Any]) -> Document:
    return Document(**{**told, "probability": math.nan if told["probability"] is None else told["probability"]})


def _cannot_write(path: Path, error: OSError) -> StorageError:
    remedy = "Free some space or choose another place, and run the same command again."
    return StorageError(f"cannot write {path}: {error.strerror or error}", remedy=remedy)
