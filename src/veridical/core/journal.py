"""Files that grow line by line: what was appended survives a crash, and half a line never stays.

A line is finished once its newline is there. What follows the last newline was torn by a crash, unless it is a whole
JSON object: some editors leave the last line without a newline.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

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
    except ValueError:
        return False
