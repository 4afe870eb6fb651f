"""One writer per explanation file: a lock beside it that the system drops when its process dies."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from veridical.core.files import problems


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
