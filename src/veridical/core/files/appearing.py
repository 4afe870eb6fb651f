"""Text files that appear only when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from veridical.core.errors import StorageError


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
