"""How a long job tells what it is doing, and how it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from veridical.core.errors import CancelledError


@dataclass(frozen=True)
class Progress:
    """What a job is doing: `done` of `total` steps of `what`. Without a total nobody knows how many there are."""

    what: str
    done: int = 0
    total: int | None = None
    note: str = ""


class Watch:
    """The line between a job and whoever started it: the job tells its progress, and learns that it should stop.

    >>> watch = Watch(lambda progress: print(progress.what, progress.done, progress.total))
    >>> audit(classifier, texts, watch=watch)        # another thread may call watch.cancel()
    """

    def __init__(self, listener: Callable[[Progress], None] = lambda _progress: None) -> None:
        self._listener = listener
        self._stop = threading.Event()

    def cancel(self) -> None:
        """Ask the job to stop; it does so after the batch it is at, and what is finished is kept."""
        self._stop.set()

    def check(self) -> None:
        """Stop here if somebody asked for it."""
        if self._stop.is_set():
            raise CancelledError("cancelled", remedy="What was finished is kept: the same call goes on from there.")

    def tell(self, what: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Pass on what is being done."""
        self.check()
        self._listener(Progress(what, done, total, note))

    def counter(self, what: str, total: int) -> Callable[[int], None]:
        """A function that is told how many more are done, and passes on how many are done in all."""
        done = 0
        self.tell(what, 0, total)

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.tell(what, done, total)

        return count

    def within(self, part: str) -> Watch:
        """The watch of a part of the job: what it tells is told with the part's name, and it stops with the job."""
        inner = Watch(lambda told: self._listener(Progress(f"{part}: {told.what}", told.done, told.total, told.note)))
        inner._stop = self._stop
        return inner
