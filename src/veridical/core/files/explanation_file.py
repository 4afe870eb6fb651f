"""An explanation file: read while it is still being written, grows line by line, survives a crash, has one writer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa

from veridical.core.errors import UsageError
from veridical.core.files import jsonl, parquet
from veridical.core.files.rows import (
    FileRow,
    Key,
    RowKey,
    Seen,
    bad_suffix,
    key_of,
    missing,
    not_ours,
    spec_key,
    to_row,
    unreadable,
)
from veridical.core.storage import LineFile, OutputLock, cannot_write, path_of
from veridical.core.values import Explanation

AnyPath = str | os.PathLike[str]


def read(path: AnyPath) -> Iterator[Explanation]:
    """Yield the explanations of a file in the order they were written, holding only a few in memory.

    Files that are being written, or whose writer crashed, can be read too: everything finished is there. A missing or
    foreign file is reported here and not at the first explanation.
    """
    where = path_of(path, "a file of explanations", "`veridical explain` and explain_to_file write one.")
    _check(where)
    return _from_parquet(where) if is_parquet(where) else jsonl.explanations(where)


def read_all(path: AnyPath) -> list[Explanation]:
    """All explanations of a file at once; `veridical.core.files.read` gives one at a time."""
    return list(read(path))


def is_parquet(path: Path) -> bool:
    """Which of the two formats the name asks for."""
    if path.suffix not in (".parquet", ".jsonl"):
        raise bad_suffix(path)
    return path.suffix == ".parquet"


def journal_of(path: Path) -> Path:
    """Where the rows of an unfinished Parquet file are."""
    return path.with_name(path.name + ".part")


def keys_of(path: Path) -> Iterator[RowKey]:
    """The key of every row."""
    if not is_parquet(path):
        yield from jsonl.keys(path)
        return
    merged_rows, done = pending(path)
    if merged_rows:
        with parquet.opened(path) as file:
            yield from parquet.keys(file, path)
    if journal_of(path).exists() and not done:
        yield from jsonl.keys(journal_of(path))


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
            yield from parquet.explanations(file, path)
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
            raise not_ours(path)
        with lines.open("rb") as file:
            jsonl.check_header(file, lines)
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise unreadable(path, error) from error


class ExplanationWriter:
    """Appends explanations to a `.parquet` or `.jsonl` file; what `write` returned from is on disk.

    A Parquet file cannot grow, so its new rows go to a journal (`NAME.parquet.part`, the line format) that `read`
    knows about and a clean `close` merges in. After an exception or a crash the journal stays, and the next writer
    goes on from it.

        with ExplanationWriter("why.parquet") as writer:
            todo = [example for example in examples if (example.id, spec_key(spec)) not in writer.seen]
            for batch in batches(todo):
                writer.write(explain(batch))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lines = journal_of(self.path) if is_parquet(self.path) else self.path
        self._file: LineFile | None = None
        self._seen: Seen | None = None
        self._make_folder()
        self._lock = OutputLock(self.path)
        try:
            self._open()
        except BaseException:
            self._release()
            raise

    @property
    def count(self) -> int:
        """How many explanations the file holds, those of earlier runs included."""
        return self._merged + self._contents.rows

    @property
    def seen(self) -> set[Key]:
        """The `(example id, spec key)` of every example in the file, to skip in a resumed job.

        An example with several targets is among them once all of them are there; `begun` has the others.
        """
        return self._surveyed.whole

    @property
    def begun(self) -> dict[Key, set[str]]:
        """The targets that are there of examples that are not in the file with all of them."""
        return self._surveyed.begun

    def write(self, explanations: Explanation | Iterable[Explanation]) -> None:
        """Append one explanation or several; each is safe from a crash of this process once this returns."""
        if self._file is None:
            raise ValueError(f"the writer of {self.path} is closed")
        for explanation in [explanations] if isinstance(explanations, Explanation) else explanations:
            key = spec_key(explanation.spec)
            if key not in self._contents.specs:
                self._append(jsonl.spec_line(key, explanation.spec))
                self._contents.specs.add(key)
            row = to_row(explanation, key)
            self._append(jsonl.row_line(row))
            self._contents.rows += 1
            if self._seen is not None:
                self._seen.add(key_of(row))

    def close(self) -> None:
        """Finish the file: sync it, and for Parquet merge the journal into it."""
        if self._file is None:
            return
        try:
            self._file.sync()
            if is_parquet(self.path):
                self._merge()
        finally:
            self._release()

    def __enter__(self) -> ExplanationWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # After an error leave at once and keep the journal: merging may take long, or fail for the same reason.
        if error is None:
            self.close()
        else:
            self._release()

    @property
    def _surveyed(self) -> Seen:
        if self._seen is None:
            found = Seen()
            for row in keys_of(self.path):
                found.add(row)
            self._seen = found
        return self._seen

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def _open(self) -> None:
        self._merged, journal_done = pending(self.path) if is_parquet(self.path) else (0, False)
        self._contents = jsonl.Contents()
        try:
            self._file = LineFile(self._lines)
            if journal_done:  # a crash came between merging the journal and removing it
                self._file.cut(0)
            if self._file.end:
                self._contents = jsonl.survey(self._lines)
                self._file.mend()
            if not self._file.end:
                self._file.append(jsonl.header_line())
        except OSError as error:
            self._fail(error)

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        try:
            self._file.append(line)
        except OSError as error:
            self._fail(error)

    def _merge(self) -> None:
        specs: dict[str, Any] = {}
        with self._lines.open("rb") as file:
            journal = jsonl.check_header(file, self._lines).get("id", "")
        target = Path(os.path.realpath(self.path))  # replace what a link points to, not the link
        try:
            if self._contents.rows or not target.exists():
                parquet.write(target, self._batches(target, specs), specs, journal)
            self._lines.unlink()
        except OSError as error:
            self._fail(error)

    def _batches(self, target: Path, specs: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        if target.exists():
            with parquet.opened(target) as old:
                specs.update(parquet.specs(old, target))
                yield from parquet.copied(old)
        yield from parquet.batches(self._journal_rows(specs))

    def _journal_rows(self, specs: dict[str, Any]) -> Iterator[FileRow]:
        for explanation in jsonl.explanations(self._lines):
            key = spec_key(explanation.spec)
            specs.setdefault(key, explanation.spec)
            yield to_row(explanation, key)

    def _fail(self, error: OSError) -> NoReturn:
        places = [str(self.path)] if self._merged or self._lines == self.path else []
        places += [str(self._lines)] if self._lines != self.path and self._contents.rows else []
        where = " and ".join(places or [str(self.path)])
        raise cannot_write(self.path, error, f"{self.count} explanations are safe in {where}") from error

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.release()


def convert(source: AnyPath, target: AnyPath) -> int:
    """Copy an explanation file into the format that the target's name asks for, and return how many it has.

    Nothing is lost either way. The target appears only when it is complete.
    """
    goal = Path(target)
    rows = read(source)
    is_parquet(goal)
    if goal.exists():
        raise UsageError(f"{goal} exists already", remedy="Delete it or choose another name.")
    unfinished = goal.with_name(f"{goal.stem}.converting{goal.suffix}")
    unfinished.unlink(missing_ok=True)
    try:
        with ExplanationWriter(unfinished) as writer:
            writer.write(rows)
        os.replace(unfinished, goal)
    finally:
        unfinished.unlink(missing_ok=True)
        journal_of(unfinished).unlink(missing_ok=True)
    return writer.count
