"""The Parquet format: typed columns, specs in the file's metadata, read and written one row group at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.core.errors import InputError, VeridicalError
from veridical.core.files.checked_rows import checked_spec, from_row, key_of_row, spec_of
from veridical.core.files.rows import (
    FORMAT,
    VERSION,
    FileRow,
    RowKey,
    bad_row,
    check_version,
    damaged,
    missing,
    not_ours,
    unreadable,
)
from veridical.core.storage import escape, unescape
from veridical.core.values import Explanation

T = TypeVar("T")

_FORMAT, _VERSION = b"veridical.format", b"veridical.version"
_SPECS, _JOURNAL = b"veridical.specs", b"veridical.journal"

READ_ROWS = 32  # rows turned into Python objects at a time
GROUP_ROWS, GROUP_BYTES = 2048, 16 << 20  # a row group is closed at whichever comes first

_NUMBERS = pa.map_(pa.string(), pa.float64())
_INPUT = pa.struct(
    {"name": pa.string(), "text": pa.string(), "shape": pa.list_(pa.int32()), "pixels": pa.large_binary()}
)
_UNIT = pa.struct(
    {
        "field": pa.string(),
        "span": pa.list_(pa.int64()),
        "text": pa.string(),
        "score": pa.float64(),
        "margin": pa.float64(),
    }
)

SCHEMA = pa.schema(
    {
        "example_id": pa.string(),
        "spec": pa.string(),
        "source": pa.string(),
        "target": pa.string(),
        "label_text": pa.string(),
        "label_number": pa.float64(),
        "label_list": pa.list_(pa.string()),
        "probabilities": _NUMBERS,
        "inputs": pa.list_(_INPUT),
        "units": pa.list_(_UNIT),
        "measures": _NUMBERS,
    },
    metadata={_FORMAT: FORMAT.encode(), _VERSION: str(VERSION).encode()},
)


_FROM_ARROW = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises of a damaged file: also names of columns that are not UTF-8."""


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """The file, checked to be an explanation file that this version can read."""
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise missing(path) from None
    except _FROM_ARROW as error:
        raise _problem(path, error) from None
    with file:
        _check(file, path)
        try:
            yield file
        except _FROM_ARROW as error:
            raise _problem(path, error) from None


def _problem(path: Path, error: Exception) -> VeridicalError:
    """What an error of Arrow means: it gives the system's errors and its own by the same class."""
    if isinstance(error, OSError) and error.errno:
        return unreadable(path, error)
    with path.open("rb") as raw:  # a cut-off Parquet file still has its first four bytes
        ours = raw.read(4) == b"PAR1"
    return damaged(path, _first_line(error)) if ours else not_ours(path)


def specs(file: pq.ParquetFile, path: Path) -> dict[str, Any]:
    """The specs by their keys."""
    try:
        found = json.loads(unescape(_metadata(file).get(_SPECS, b"").decode()))
        if not isinstance(found, dict):
            raise InputError("they are no object")
        return {key: checked_spec(spec) for key, spec in found.items()}
    except (ValueError, RecursionError, InputError) as error:
        raise damaged(path, f"its specs cannot be read: {_first_line(error)}") from None


def journal_id(file: pq.ParquetFile) -> str:
    """The id of the journal that went into this file last."""
    return _metadata(file).get(_JOURNAL, b"").decode(errors="replace")


def explanations(file: pq.ParquetFile, path: Path) -> Iterator[Explanation]:
    """The explanations of an opened file, a few at a time."""
    known = specs(file, path)
    for number, row in _rows(file, path, READ_ROWS):
        try:
            explanation = from_row(row, spec_of(row, known))
        except InputError as error:
            raise bad_row(path, number, str(error)) from error
        yield explanation


def keys(file: pq.ParquetFile, path: Path) -> Iterator[RowKey]:
    """The keys of the rows; only a few columns are read."""
    for number, row in _rows(file, path, GROUP_ROWS, ["example_id", "spec", "target", "measures"]):
        try:
            key = key_of_row(row)
        except InputError as error:
            raise bad_row(path, number, str(error)) from error
        yield key


def _rows(
    file: pq.ParquetFile, path: Path, at_once: int, columns: list[str] | None = None
) -> Iterator[tuple[int, FileRow]]:
    """The rows as plain data with their numbers, of some columns or all; what they hold is not checked."""
    number = 0
    try:
        for batch in file.iter_batches(at_once, columns=columns):
            for cells in batch.to_pylist():
                number += 1
                yield number, _row_of(cells)
    except (ValueError, RecursionError) as error:  # texts that are not UTF-8, types within types
        raise damaged(path, _first_line(error)) from None


def copied(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """The batches of an opened file in today's columns: an older one has no margins, or no lists of labels."""
    same = file.schema_arrow.equals(SCHEMA)
    for batch in file.iter_batches(READ_ROWS):
        yield batch if same else pa.RecordBatch.from_pylist(batch.to_pylist(), schema=SCHEMA)


def batches(rows: Iterable[FileRow]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches of a bounded number of rows."""
    source = iter(rows)
    while part := list(islice(source, READ_ROWS)):
        yield pa.RecordBatch.from_pylist([_cells_of(row) for row in part], schema=SCHEMA)


def write(path: Path, parts: Iterable[pa.RecordBatch], known: dict[str, Any], journal: str) -> None:
    """Write a whole file beside `path`, then put it in its place: a reader sees the old file or the new one.

    `known` may still grow while `parts` are drawn; it is written last, as Parquet keeps metadata at the end.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as writer:
            for table in _groups(parts):
                writer.write_table(table, row_group_size=table.num_rows)
            writer.add_key_value_metadata({_SPECS: escape(json.dumps(known, ensure_ascii=False)), _JOURNAL: journal})
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _groups(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered to row groups, so that many small appends do not leave many small groups."""
    held: list[pa.RecordBatch] = []
    for part in parts:
        held.append(part)
        if sum(p.num_rows for p in held) >= GROUP_ROWS or sum(p.nbytes for p in held) >= GROUP_BYTES:
            yield pa.Table.from_batches(held, SCHEMA)
            held = []
    if held:
        yield pa.Table.from_batches(held, SCHEMA)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _metadata(file: pq.ParquetFile) -> dict[bytes, bytes]:
    return file.metadata.metadata or {}


def _check(file: pq.ParquetFile, path: Path) -> None:
    found = _metadata(file)
    version = found.get(_VERSION, b"")
    if found.get(_FORMAT) != FORMAT.encode() or not version.isdigit() or len(version) > 9:
        raise not_ours(path)
    check_version(path, int(version))


def _cells_of(row: FileRow) -> FileRow:
    """A row as Arrow wants it: maps as pairs, a label in the column of its type, an input as text or pixels."""
    label = row["label"]
    cells = {key: row[key] for key in ("example_id", "spec", "source", "target", "units")}
    cells |= {key: list(row[key].items()) for key in ("probabilities", "measures")}
    cells["label_text"] = label if isinstance(label, str) else None
    cells["label_number"] = float(label) if isinstance(label, int | float) else None
    cells["label_list"] = label if isinstance(label, list) else None
    cells["inputs"] = [
        {"name": name, **({"text": value} if isinstance(value, str) else value)}
        for name, value in row["inputs"].items()
    ]
    escaped: FileRow = _each_text(cells, escape)
    return escaped


def _row_of(cells: FileRow) -> FileRow:
    row: FileRow = _each_text(cells, unescape)
    row |= {key: _by_name(row[key]) for key in ("probabilities", "measures") if key in row}
    # Files from before there were several labels have no list.
    labels = (row.get(f"label_{kind}") for kind in ("text", "number", "list"))
    row["label"] = next((label for label in labels if label is not None), None)
    inputs: Any = row.get("inputs")
    if _are(dict, inputs) and all(isinstance(value.get("name"), str) for value in inputs):
        row["inputs"] = {value["name"]: _text_or_image(value) for value in inputs}
    return row


def _by_name(pairs: Any) -> Any:
    """The pairs of a map; what is no map stays as it is, to be refused by its name."""
    return dict(pairs) if _are(tuple, pairs) and all(len(pair) == 2 for pair in pairs) else pairs


def _text_or_image(value: FileRow) -> Any:
    return value if value.get("text") is None else value["text"]


def _are(kind: type[T], values: Any) -> TypeGuard[list[T]]:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _each_text(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_text(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_each_text(part, change) for part in value)  # Arrow wants the pairs of a map as tuples
    return value
