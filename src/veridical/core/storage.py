"""Files that are whole or not there at all, one writer at a time, a memory for failures, and any text as valid Unicode.

A Python `str` may hold lone surrogates (a tweet cut in the middle of an emoji), which neither UTF-8 nor Arrow can.
JSON's own escapes do not help: they would join two neighbouring surrogates into one character. So a surrogate is
written as a mark that no real text contains and its code; every other text stays exactly as it is.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from filelock import FileLock, Timeout

from veridical.core.errors import InputError, StorageError, UsageError, VeridicalError
from veridical.core.values import short

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_HARDLY_ANY = 1 << 20
_DISK_IS_FULL = "the disk is full"


def path_of(given: Any, what: str, remedy: str) -> Path:
    """The path of something that a caller named; anything but a path is refused."""
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"{short(given)} is no path of {what}", remedy=remedy)
    return Path(given)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A place to write a file. It appears at `path` when the block ends well, and leaves no trace when it does not."""
    goal = Path(path)
    unfinished = goal.with_name(goal.name + ".tmp")
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        os.replace(unfinished, goal)
    except OSError as error:
        raise cannot_write(goal, error) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def text_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text file to write piece by piece, which appears only when it is complete."""
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file that appears only when it is complete."""
    with text_file(path) as file:
        file.write(escape(text))


def write_json(path: str | os.PathLike[str], value: Any, indent: int = 1, allow_nan: bool = False) -> None:
    """Write a value as JSON; the file appears only when it is complete."""
    write_text(path, json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=allow_nan) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read what `write_json` wrote; an OSError or a ValueError says that it cannot be read."""
    try:
        return json.loads(unescape(Path(path).read_text(encoding="utf-8")))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def cannot_write(path: Path, error: Exception, safe: str = "") -> StorageError:
    """The error for a file that cannot be written, as the system or a library says; `safe` was written before."""
    reason = reason_of(path, error)
    if not safe:
        remedy = "Free some space or choose another place, and run the same command again."
        return StorageError(f"cannot write {path}: {reason}", remedy=remedy)
    first = "Free some space" if reason == _DISK_IS_FULL else "Repair that"
    remedy = f"{first} and run the same command again: it goes on from there."
    return StorageError(f"cannot write {path}: {reason}; {safe}", remedy=remedy)


def reason_of(path: Path, error: Exception) -> str:
    """Why a file cannot be written. Not every library passes on what the system said, so the disk is asked too."""
    if isinstance(error, OSError):
        return _DISK_IS_FULL if error.errno in _FULL else (error.strerror or str(error))
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    is_full = shutil.disk_usage(there).free < _HARDLY_ANY
    return _DISK_IS_FULL if is_full else (str(error) or type(error).__name__)


class OutputLock:
    """Holds `NAME.lock` from construction to `release`; a second holder gets a `StorageError` at once."""

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(path.name + ".lock")
        self._lock = FileLock(self._file, thread_local=False)  # a writer may be closed by another thread
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise StorageError(
                f"{path} is being written by another process",
                remedy="Wait until it has finished, stop it, or choose another output.",
            ) from None
        except OSError as error:
            raise cannot_write(path, error) from error

    def release(self) -> None:
        """Let others write. Releasing twice is harmless."""
        if self._lock.is_locked:
            # Removed while still held: whoever opened it meanwhile sees a file without a name and tries again.
            self._file.unlink(missing_ok=True)
            self._lock.release()


MARK = "\U0010ffff"
"""A noncharacter: valid in UTF-8, and set aside by Unicode for a program's own use."""

_SPECIAL = re.compile(f"[\ud800-\udfff{MARK}]")
_ESCAPED = re.compile(f"{MARK}([0-9a-f]{{6}})")


def escape(text: str) -> str:
    """The text without surrogates; `unescape` brings them back."""
    return text if text.isascii() else _SPECIAL.sub(lambda found: f"{MARK}{ord(found.group()):06x}", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text) if MARK in text else text


_CHUNK = 1 << 16


class LineFile:
    """A file of JSON lines to append to. It raises the `OSError`s of the system: its owner knows what to say of them.

    Opening changes nothing that is in the file, so that its owner can look first whether the file is its own. Then
    `mend` repairs the end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.end = os.fstat(self._handle).st_size

    def mend(self) -> None:
        """Cut off a torn last line; one that only lacks its newline gets it."""
        last = self._after_last_newline()
        if last and is_whole(last):
            self.append(b"\n")
        elif last:
            self.cut(self.end - len(last))

    def append(self, lines: bytes) -> None:
        """Write finished lines at the end. When that fails, nothing of them stays."""
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except BaseException:
            with suppress(OSError):  # half a line must not stay: the next one would be glued to it
                os.ftruncate(self._handle, self.end)
            raise
        self.end += len(lines)

    def cut(self, end: int) -> None:
        """Drop everything after the first `end` bytes."""
        os.ftruncate(self._handle, end)
        self.end = end

    def sync(self) -> None:
        """Let the system write the file to the disk itself."""
        with suppress(OSError):  # a pipe or a device cannot be synced
            os.fsync(self._handle)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _after_last_newline(self) -> bytes:
        found, start, size = b"", self.end, _CHUNK
        with self.path.open("rb") as file:
            while start and b"\n" not in found:
                start = max(0, self.end - size)
                file.seek(start)
                found = file.read(self.end - start)
                size *= 2
        return found[found.rfind(b"\n") + 1 :]


def is_whole(line: bytes) -> bool:
    """Whether a line is finished: it has its newline, or is a whole JSON object without one. A torn object never is."""
    if line.endswith(b"\n"):
        return True
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


_FAILURES_FORMAT, _FAILURES_VERSION = "veridical-failures", 1


class FailureFile:
    """What failed by one spec, in `NAME.failures.json`; only whoever holds the lock of NAME may change it.

    A failure is known again while the `content` of what failed is the same. Once that has changed, it is tried again.
    """

    def __init__(self, beside: Path, spec: str) -> None:
        self._path = beside.with_name(beside.name + ".failures.json")
        self._spec = spec
        self._rows = _failures_in(self._path)

    def known(self, id: str, content: str) -> InputError | None:
        """Why this cannot be done, if that is known."""
        row = self._rows.get((self._spec, id))
        if row is None or row["content"] != content:
            return None
        return InputError(row["problem"], example=row["example"], field=row["field"], remedy=row["remedy"])

    def remember(self, contents: Mapping[str, str], errors: Mapping[str, VeridicalError]) -> None:
        """Replace what is known of some things, whose contents are given by id, by what came of them now."""
        before = dict(self._rows)
        for id, content in contents.items():
            self._rows.pop((self._spec, id), None)
            error = errors.get(id)
            if isinstance(error, InputError):  # an error of the model may pass
                self._rows[self._spec, id] = {"content": content, **error.told}
        if self._rows != before:
            self._write()

    def _write(self) -> None:
        if not self._rows:
            self._path.unlink(missing_ok=True)
            return
        rows = [{"spec": spec, "id": id, **row} for (spec, id), row in self._rows.items()]
        write_json(self._path, {"format": _FAILURES_FORMAT, "version": _FAILURES_VERSION, "failures": rows})


def _failures_in(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """A row for each spec and id; none if the file is not there or cannot be read, for then all is tried again."""
    try:
        told = read_json(path)
        if (told["format"], told["version"]) != (_FAILURES_FORMAT, _FAILURES_VERSION):
            return {}
        names = ("content", "problem", "example", "field", "remedy")
        return {(row["spec"], row["id"]): {name: row[name] for name in names} for row in told["failures"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
