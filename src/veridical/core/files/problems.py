"""What can be wrong with an explanation file, each with what to do about it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from veridical.core.errors import InputError, StorageError, UsageError
from veridical.core.files.rows import VERSION

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_AGAIN = "It can be made again with the command that wrote it."


def missing(path: Path) -> InputError:
    """There is no such file."""
    return InputError(f"there is no file {path}", remedy="Check the path, or run `veridical explain` to make it.")


def not_ours(path: Path) -> InputError:
    """Some other file: a table, a text, a folder."""
    return InputError(
        f"{path} is not an explanation file", remedy="Give a file that `veridical explain` or ExplanationWriter wrote."
    )


def bad_suffix(path: Path) -> UsageError:
    """An ending that names no format."""
    return UsageError(f"{path} does not say its format", remedy="Explanation files end in .parquet or .jsonl.")


def bad_line(path: Path, number: int, reason: str) -> StorageError:
    """A line that was changed or damaged after it was written."""
    return StorageError(f"line {number} of {path} is not an explanation: {reason}", remedy=f"Remove the line. {_AGAIN}")


def damaged(path: Path, reason: str) -> StorageError:
    """A Parquet file that lost its end, for example in a copy."""
    return StorageError(
        f"{path} is truncated or damaged ({reason})", remedy=f"Copy it again, or delete it: {_AGAIN.lower()}"
    )


def unreadable(path: Path, error: OSError) -> StorageError:
    """The system refuses: a folder, missing rights, a broken disk."""
    return StorageError(f"cannot read {path}: {error.strerror or error}", remedy="Check the path and its permissions.")


def cannot_write(path: Path, error: OSError, safe: int, where: str) -> StorageError:
    """The disk is full or refuses; says what is safe."""
    full = error.errno in _FULL
    reason = "the disk is full" if full else (error.strerror or str(error))
    first = "Free some space" if full else "Repair that"
    return StorageError(
        f"cannot write {path}: {reason}; {safe} explanations are safe in {where}",
        remedy=f"{first} and run the same command again: it goes on from there.",
    )


def check_version(path: Path, version: Any) -> None:
    """Refuse a file whose rows this version might misread."""
    if not isinstance(version, int):
        raise not_ours(path)
    if version > VERSION:
        problem = f"{path} was written by a newer Veridical (file version {version}, this one reads up to {VERSION})"
        raise StorageError(problem, remedy="Upgrade with `pip install --upgrade veridical`.")
