"""What every page shares: a head that forbids scripts and outside requests, and files that appear when complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from veridical.core.drawing import escaped
from veridical.core.errors import StorageError

# Should a text ever slip through the escaping, the browser itself refuses scripts and anything from outside.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def head(title: str, styles: str) -> str:
    """The beginning of a page, up to its body."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{styles}</style></head>\n<body>\n"
    )


FOOT = "</body></html>\n"
"""The end of a page."""


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
