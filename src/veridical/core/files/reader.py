"""Reading explanation files, finished or still being written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from veridical.core.files import jsonl, parquet, problems
from veridical.core.files.rows import RowKey, key_of
from veridical.core.values import Explanation

AnyPath = str | os.PathLike[str]


def read(path: AnyPath) -> Iterator[Explanation]:
    """Yield the explanations of a file in the order they were written, holding only a few in memory.

    Files that are being written, or whose writer crashed, can be read too: everything finished is there. A missing or
    foreign file is reported here and not at the first explanation.
    """
    where = Path(path)
    _check(where)
    return _from_parquet(where) if is_parquet(where) else jsonl.explanations(where)


def read_all(path: AnyPath) -> list[Explanation]:
    """All explanations of a file at once; `veridical.core.files.read` gives one at a time."""
    return list(read(path))


def is_parquet(path: Path) -> bool:
    """Which of the two formats the name asks for."""
    if path.suffix not in (".parquet", ".jsonl"):
        raise problems.bad_suffix(path)
    return path.suffix == ".parquet"


def journal_of(path: Path) -> Path:
    """Where the rows of an unfinished Parquet file are."""
    return path.with_name(path.name + ".part")


def keys_of(path: Path) -> Iterator[RowKey]:
    """The key of every row."""
    if not is_parquet(path):
        yield from _keys_of_lines(path)
        return
    merged_rows, done = pending(path)
    if merged_rows:
        with parquet.opened(path) as file:
            yield from parquet.keys(file)
    if journal_of(path).exists() and not done:
        yield from _keys_of_lines(journal_of(path))


def _keys_of_lines(path: Path) -> Iterator[RowKey]:
    for number, row in jsonl.rows(path, {}):
        try:
            key = key_of(row)
        except KeyError as error:
            raise problems.bad_line(path, number, f"it has no {error}") from error
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise problems.bad_line(path, number, str(error)) from error
        yield key


def pending(path: Path) -> tuple[int, bool]:
    """How many rows the Parquet file itself has, and whether it already contains those of the journal beside it."""
    if not path.exists():
        return 0, False
    with parquet.opened(path) as file:
        journal = journal_of(path)
        if not journal.exists():
            return file.metadata.num_rows, False
        with journal.open("rb") as lines:
            return file.metadata.num_rows, _is_merged(jsonl.check_header(lines, journal), parquet.journal_id(file))


def _from_parquet(path: Path) -> Iterator[Explanation]:
    with ExitStack() as stack:
        # The journal is opened first: if its writer merges and removes it now, we still hold one consistent pair.
        journal = _open_journal(path, stack)
        done = ""
        if path.exists():
            file = stack.enter_context(parquet.opened(path))
            done = parquet.journal_id(file)
            yield from parquet.explanations(file)
        if journal and not _is_merged(jsonl.check_header(journal, path), done):
            journal.seek(0)
            yield from jsonl.explanations(journal_of(path), journal)


def _open_journal(path: Path, stack: ExitStack) -> BinaryIO | None:
    try:
        return stack.enter_context(journal_of(path).open("rb"))
    except FileNotFoundError:
        return None


def _is_merged(header: dict[str, str], merged: str) -> bool:
    return bool(merged) and header.get("id") == merged


def _check(path: Path) -> None:
    """Fail now for what the first look can tell."""
    try:
        if is_parquet(path) and path.is_file():
            with parquet.opened(path):
                return
        lines = journal_of(path) if is_parquet(path) and journal_of(path).exists() else path
        if path.is_dir():
            raise problems.not_ours(path)
        with lines.open("rb") as file:
            jsonl.check_header(file, lines)
    except FileNotFoundError:
        raise problems.missing(path) from None
    except OSError as error:
        raise problems.unreadable(path, error) from error
