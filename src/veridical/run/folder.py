"""A run folder: written by one process at a time, says what it holds, and takes up the same run where it stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError

from veridical.core.errors import InputError, StorageError, UnsupportedError, UsageError
from veridical.core.folders import RUN_FILE, RunRecord, job_of, read_record, write_record
from veridical.core.storage import OutputLock

R = TypeVar("R", bound=RunRecord)


class RunFolder:
    """The folder of one run.

    run = RunFolder("runs/mine")
    if (before := run.previous(record)) and before.done: ...      # nothing is left to do
    with run.held(record):                                        # nobody else writes here meanwhile
        ...
        run.write(replace(record, test=figures, done=True))
    """

    def __init__(self, path: str | os.PathLike[str], beside: tuple[str, ...] = ()) -> None:
        """`beside` names what may lie in the folder and is not of this run alone."""
        self.path = Path(path)
        self._beside = beside

    def previous(self, record: R) -> R | None:
        """What the folder says of this very run; None if it is new. A folder that holds another run is refused."""
        job = job_of(self.path)
        if job is None:
            return None
        before = read_record(self.path, type(record))
        asked, was = record.asked(), before.asked() if before else {"job": job}
        differing = [name for name in was if was[name] != asked[name]]
        if differing and before and not before.done and self._is_bare:
            return None  # killed before it made anything: there is nothing to keep
        if differing:
            raise UsageError(
                f"{self.path} holds another run, which differs in: {', '.join(differing)}",
                remedy="Choose another --out.",
            )
        return before

    @contextmanager
    def held(self, record: RunRecord) -> Iterator[None]:
        """Nobody else writes to the folder meanwhile, and a disk that is full is said to be full."""
        lock, is_new = None, False
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = OutputLock(self.path) if is_main() else None
            is_new = self.previous(record) is None  # looked at again: somebody else may have come first
            if is_new:
                self.write(record)
            yield
        except (UsageError, InputError, UnsupportedError):
            if is_new:
                self._leave_no_trace()
            raise
        except (OSError, SafetensorError) as error:
            remedy = "Free some space or choose another --out; the same command goes on from where it stopped."
            raise StorageError(f"cannot write to {self.path}: {error}", remedy=remedy) from error
        finally:
            if lock is not None:
                lock.release()

    def write(self, record: RunRecord) -> None:
        """Say what the folder holds."""
        if is_main():
            write_record(self.path, record)

    def _leave_no_trace(self) -> None:
        """Remove the folder of a run that was refused before it did anything: the corrected request is another run."""
        if is_main() and self._is_bare:
            (self.path / RUN_FILE).unlink()
            if not any(self.path.iterdir()):
                self.path.rmdir()

    @property
    def _is_bare(self) -> bool:
        """Whether the folder says which run it is for, and has nothing that this run has made."""
        return {each.name for each in self.path.iterdir()} - set(self._beside) == {RUN_FILE}


def is_main() -> bool:
    """Whether this process writes; of several that train together, only the first does."""
    return os.environ.get("RANK", "0") == "0"
