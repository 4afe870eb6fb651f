"""Tables: rows of CSV, TSV, JSONL and Parquet files with their line numbers."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from veridical.core.errors import InputError, StorageError, UsageError


@dataclass(frozen=True)
class TableRow:
    """The values of a row by column; `line` is where it starts in the file, for Parquet its number from 1."""

    line: int
    values: dict[str, Any]


@dataclass(frozen=True)
class Table:
    """All rows of a source, with the columns that any of them has; `place` says where in errors."""

    place: str
    rows: list[TableRow]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Cells:
    """How the cells of a CSV or TSV file are told apart: what stands between them, and whether quotes enclose them.

    Without a separator it is a comma in CSV files and a tab in TSV files.
    """

    separator: str | None = None
    quotes: bool = True


AS_USUAL = Cells()
"""Quotes enclose cells, and the format says what stands between them."""


def format_of(path: Path) -> str | None:
    """`csv`, `tsv`, `jsonl` or `parquet`, with or without `.gz`; None for other files."""
    name = path.name.lower()
    bare = name.removesuffix(".gz")
    suffix = bare.rpartition(".")[2]
    suffix = {"ndjson": "jsonl"}.get(suffix, suffix)
    return suffix if suffix in _READERS and not (suffix == "parquet" and bare != name) else None


def stem_of(path: Path) -> str:
    """The file name without its format: `train` of `train.jsonl.gz`."""
    return path.name.removesuffix(".gz").rpartition(".")[0]


def read_table(path: Path, cells: Cells = AS_USUAL) -> Table:
    """Read a whole file; one without rows is an error."""
    rows = list(read_rows(path, cells))
    if not rows:
        raise InputError(f"{path} is empty", remedy="It needs at least one row of data.")
    return Table(str(path), rows, tuple(dict.fromkeys(key for row in rows for key in row.values)))


def read_rows(path: Path, cells: Cells = AS_USUAL) -> Iterator[TableRow]:
    """Read a file row by row."""
    kind = format_of(path)
    if kind is None:
        known = ", ".join(f".{suffix}" for suffix in _READERS)
        raise UsageError(
            f"{path} is of no known format", remedy=f"Data files end in {known} (or .gz of the first three)."
        )
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if cells.separator is not None and kind not in _SEPARATORS:
        raise UsageError(f"{path} has no cells that a separator could stand between", remedy="Leave the option out.")
    return _READERS[kind](path, cells)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, with their ends; a byte order mark is dropped."""
    for number, line in enumerate(_bytes(path), 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"{path}, line {number}: byte {error.start + 1} ({line[error.start]:#04x}) is not UTF-8"
            raise InputError(problem, remedy="Save the file as UTF-8.") from None


def _bytes(path: Path) -> Iterator[bytes]:
    try:
        with _open(path) as file:
            yield from file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StorageError(f"{path} is damaged: {error}", remedy="Fetch or compress it again.") from error
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _read_jsonl(path: Path, cells: Cells) -> Iterator[TableRow]:
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield TableRow(number, _json_object(line, f"{path}, line {number}"))


def _json_object(line: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}, column {error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not readable as JSON: {error}") from None
    if not isinstance(value, dict):
        remedy = 'Each line is an object such as {"text": "...", "label": "..."}.'
        raise InputError(f"{place}: expected a JSON object, not {type(value).__name__}", remedy=remedy)
    return value


_SEPARATORS = {"csv": ",", "tsv": "\t"}
_OTHERS = (";", "\t", "|", ",")
"""What else stands between cells of files that are called CSV or TSV."""


def _read_cells(path: Path, cells: Cells) -> Iterator[TableRow]:
    # The default limit of 128 KiB per cell is less than a long document.
    csv.field_size_limit(max(csv.field_size_limit(), 2**30))
    separator = cells.separator or _SEPARATORS[str(format_of(path))]
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if cells.quotes else csv.QUOTE_NONE
    reader = csv.reader(read_lines(path), delimiter=separator, quoting=quoting, strict=True)
    records = _records(path, reader)
    _, header = next(records, (0, []))
    _check_header(path, header, is_sure=cells.separator is not None)
    for line, record in records:
        if len(record) != len(header):
            raise _ragged(f"{path}, line {line}", len(record), header)
        yield TableRow(line, dict(zip(header, record, strict=True)))


def _check_header(path: Path, header: list[str], is_sure: bool) -> None:
    """Refuse columns of the same name, and a single one that looks like several; who named a separator is sure."""
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{path}, line 1: the column {twice[0]!r} appears twice", remedy="Rename one of them.")
    found = [mark for mark in _OTHERS if len(header) == 1 and mark in header[0]]
    if found and not is_sure:
        mark = repr(found[0])
        problem = f"{path}, line 1: {header[0]!r} is a single column, but {mark} seems to stand between several"
        raise UsageError(problem, remedy=f"Say so by the option separator, as in {path.name}(separator={mark}).")


def _records(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The records that are not blank, with the line each starts at (a quoted text may span several)."""
    start = 1
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        remedy = "Double the quotes inside a quoted text, or add the option quotes=false if they are plain characters."
        raise InputError(f"{path}, line {start}: {error}", remedy=remedy) from None


def _ragged(place: str, count: int, header: list[str]) -> InputError:
    problem = f"{place}: {count} cells, but the header has {len(header)} ({', '.join(header)})"
    return InputError(problem, remedy="Quote texts that contain the separator.")


def _read_parquet(path: Path, cells: Cells) -> Iterator[TableRow]:
    from pyarrow import ArrowException, parquet

    try:
        values = parquet.read_table(path).to_pylist()
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}") from error
    return (TableRow(number, row) for number, row in enumerate(values, 1))


_READERS: dict[str, Callable[[Path, Cells], Iterator[TableRow]]] = {
    "csv": _read_cells,
    "tsv": _read_cells,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
}
