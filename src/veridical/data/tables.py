"""Tables: rows of CSV, TSV, JSONL and Parquet files with their line numbers, and which column holds what."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any, Literal, cast

from veridical.core.component import Component, Seed, option
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


def read_table(path: Path, quotes: bool = True) -> Table:
    """Read a whole file; one without rows is an error."""
    rows = list(read_rows(path, quotes))
    if not rows:
        raise InputError(f"{path} is empty", remedy="It needs at least one row of data.")
    return Table(str(path), rows, tuple(dict.fromkeys(key for row in rows for key in row.values)))


def read_rows(path: Path, quotes: bool = True) -> Iterator[TableRow]:
    """Read a file row by row. With `quotes=False` the quotes of a CSV or TSV file are plain characters."""
    kind = format_of(path)
    if kind is None:
        known = ", ".join(f".{suffix}" for suffix in _READERS)
        raise UsageError(
            f"{path} is of no known format", remedy=f"Data files end in {known} (or .gz of the first three)."
        )
    if not path.exists():
        raise InputError(f"there is no file {path}")
    return _READERS[kind](path, quotes)


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


def _read_jsonl(path: Path, quotes: bool) -> Iterator[TableRow]:
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


def _read_csv(path: Path, quotes: bool) -> Iterator[TableRow]:
    return _delimited(path, ",", quotes)


def _read_tsv(path: Path, quotes: bool) -> Iterator[TableRow]:
    return _delimited(path, "\t", quotes)


def _delimited(path: Path, delimiter: str, quotes: bool) -> Iterator[TableRow]:
    # The default limit of 128 KiB per cell is less than a long document.
    csv.field_size_limit(max(csv.field_size_limit(), 2**30))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    reader = csv.reader(read_lines(path), delimiter=delimiter, quoting=quoting, strict=True)
    records = _records(path, reader)
    _, header = next(records, (0, []))
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"{path}, line 1: the column {twice[0]!r} appears twice", remedy="Rename one of them.")
    for line, record in records:
        if len(record) != len(header):
            raise _ragged(f"{path}, line {line}", len(record), header)
        yield TableRow(line, dict(zip(header, record, strict=True)))


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


def _read_parquet(path: Path, quotes: bool) -> Iterator[TableRow]:
    from pyarrow import ArrowException, parquet

    try:
        values = parquet.read_table(path).to_pylist()
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}") from error
    return (TableRow(number, row) for number, row in enumerate(values, 1))


_READERS: dict[str, Callable[[Path, bool], Iterator[TableRow]]] = {
    "csv": _read_csv,
    "tsv": _read_tsv,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
}


ROLES = ("text", "text_pair", "label", "id", "split", "rationales")


@dataclass(frozen=True)
class Columns(Component):
    """The columns of a table by role, and how to read them.

    Where a column is not named, the column with the name of the role is taken if there is one; only a text must exist.
    The split is the exception: a column for it has to be named.
    """

    text: str | None = option(None, "The column with the texts.")
    text_pair: str | None = option(None, "The column with the second text of each pair.")
    label: str | None = option(None, "The column with the labels.")
    label_separator: str | None = option(
        None, "What stands between the labels of a cell, such as `;`, where an example can have several labels."
    )
    id: str | None = option(None, "The column with a different id in each row; without one, rows are numbered from 1.")
    split: str | None = option(None, "The column that tells the split; without one, splits of a file are drawn.")
    rationales: str | None = option(
        None, "The column with what people marked: `[start, end]` pairs of characters, as a list or as JSON."
    )
    task: Literal["auto", "classification", "regression"] = option(
        "auto", "Whether labels are classes or numbers; `auto` takes numbers with fractions for regression."
    )
    seed: Seed = option(0, "The seed that splits are drawn with: 80% train, 10% dev, 10% test.")
    quotes: bool = option(True, "Whether quotes in CSV and TSV files enclose cells; false takes them as they are.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_separator == "":
            remedy = "It is at least one character, as in label_separator=;"
            raise UsageError("the label_separator is empty", remedy=remedy)

    def within(self, table: Table) -> Columns:
        """The same with the defaults filled in from the columns of a table; a column that was named must exist."""
        for role in ROLES:
            named = getattr(self, role)
            if named is not None and named not in table.columns:
                raise _missing(table, named, f"{role}={named}")
        defaults = {role: role for role in ROLES if role != "split" and role in table.columns}
        given = {role: getattr(self, role) for role in ROLES if getattr(self, role) is not None}
        if "text" not in {**defaults, **given}:
            raise _missing(table, "text", "text=...")
        if self.label_separator is not None and "label" not in {**defaults, **given}:
            raise _missing(table, "label", "label=...")
        return replace(self, **{**defaults, **given})

    def used(self) -> set[str]:
        """The names of the columns that have a role."""
        return {getattr(self, role) for role in ROLES} - {None}

    def refuse(self, source: str) -> None:
        """Say that a source of fixed layout takes no options, if there are any."""
        for each in fields(self):
            if getattr(self, each.name) != each.default:
                raise UsageError(f"{source} has a fixed layout: it takes no option {each.name!r}")


def _missing(table: Table, column: str, option: str) -> UsageError:
    there = ", ".join(table.columns)
    remedy = f"There are: {there}. Name the right one, as in ({option.partition('=')[0]}={table.columns[0]})."
    return UsageError(f"{table.place} has no column {column!r}", remedy=remedy)
