"""How a long job tells what it is doing, and how it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from veridical.core.errors import CancelledError


@dataclass(frozen=True)
class Progress:
    """What a job is doing: `done` of `total` steps of `what`. Without a total nobody knows how many there are.

    `note` says more of it, as a loss or a number of model inputs. `is_result` marks a note that a person may want to
    keep, as the figures of a checkpoint; other notes are replaced by the next one.
    """

    what: str
    done: int = 0
    total: int | None = None
    note: str = ""
    is_result: bool = False


class Watch:
    """What connects a job with whoever started it: the job tells its progress, and learns that it should stop.

    >>> watch = Watch(lambda progress: print(progress.what, progress.done, progress.total))
    >>> audit(classifier, texts, watch=watch)        # another thread may call watch.cancel()

    The listener is called in the thread of the job, after each batch of the model at most.
    """

    def __init__(self, listener: Callable[[Progress], None] = lambda _progress: None) -> None:
        self._listener = listener
        self._stop = threading.Event()
        self._last = Progress("")

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has asked the job to stop."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Ask the job to stop; it does so after the batch it is at, and what is finished is kept."""
        self._stop.set()

    def check(self) -> None:
        """Stop here if somebody asked for it."""
        if self.is_cancelled:
            raise CancelledError("cancelled", remedy="What was finished is kept: the same call goes on from there.")

    def tell(self, what: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Pass on what is being done, unless the job should stop."""
        self._pass_on(Progress(what, done, total, note))

    def note(self, note: str, *, is_result: bool = False) -> None:
        """Say more of what is being done."""
        self._pass_on(replace(self._last, note=note, is_result=is_result))

    def counter(self, what: str, total: int) -> Callable[[int], None]:
        """A function that is told how many more are done, and passes on how many are done in all."""
        done = 0
        self.tell(what, 0, total)

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.tell(what, done, total, self._last.note)

        return count

    def within(self, part: str) -> Watch:
        """The watch of a part of the job: what it tells is told with the part's name, and it stops with the job."""
        inner = Watch(lambda told: self._pass_on(replace(told, what=f"{part}: {told.what}")))
        inner._stop = self._stop
        return inner

    def _pass_on(self, progress: Progress) -> None:
        self.check()
        self._last = replace(progress, is_result=False)
        self._listener(progress)
