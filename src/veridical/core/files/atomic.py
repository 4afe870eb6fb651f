"""Files that are whole or not there at all, and a lock so that one process writes at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from filelock import FileLock, Timeout

from veridical.core.errors import StorageError
from veridical.core.files import problems


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text file to write that appears at `path` when the block ends well, and leaves no trace when it does not."""
    goal = Path(path)
    unfinished = goal.with_name(goal.name + ".tmp")
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        os.replace(unfinished, goal)
    except OSError as error:
        remedy = "Free some space or choose another place, and run the same command again."
        raise StorageError(f"cannot write {goal}: {error.strerror or error}", remedy=remedy) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


class OutputLock:
    """Holds `NAME.lock` from construction to `release`; a second holder gets a `StorageError` at once."""

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(path.name + ".lock")
        self._lock = FileLock(self._file, thread_local=False)  # a writer may be closed by another thread
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise problems.in_use(path) from None
        except OSError as error:
            raise problems.cannot_write(path, error, 0, str(path.parent)) from error

    def release(self) -> None:
        """Let others write. Releasing twice is harmless."""
        if self._lock.is_locked:
            # Removed while still held: whoever opened it meanwhile sees a file without a name and tries again.
            self._file.unlink(missing_ok=True)
            self._lock.release()
