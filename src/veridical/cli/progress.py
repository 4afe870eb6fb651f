"""How a long job is seen while it runs: a bar on a terminal, and a plain line now and then everywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from veridical.cli.startup import collect_as_usual
from veridical.core.progress import Progress as Told
from veridical.core.progress import Watch

_EVERY = 10.0
"""Seconds from one plain line to the next."""

_SHORT = 2.0
"""Seconds of a job that needs no line at all."""


@contextmanager
def shown(*, is_printing: bool = False) -> Iterator[Watch]:
    """A watch for a job: what it tells is shown, and results that a person may want to keep are lines of their own.

    On a terminal there is a bar, which vanishes when the job ends, well or not. In a pipe or a file there are lines
    without any control characters. With `is_printing`, answers are printed while the job runs: on a terminal they show
    how far it is, and would tear a bar apart.
    """
    collect_as_usual()
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if is_printing and sys.stdout.isatty():
        yield Watch()
        return
    is_seen_live = console.file.isatty() and not console.is_dumb_terminal
    with _bar(console) if is_seen_live else _lines(console) as listen:

        def sort(told: Told) -> None:
            if told.is_result:
                console.print(f"{_count(told)}  {told.note}")
            else:
                listen(told)

        yield Watch(sort)


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[Told], None]]:
    with _columns(console) as bar:
        task, doing = bar.add_task("", total=None, note=""), ""

        def listen(told: Told) -> None:
            nonlocal task, doing
            if told.what != doing:  # a new bar for another thing: its times begin anew
                bar.remove_task(task)
                task, doing = bar.add_task(told.what, total=told.total, note=""), told.what
            bar.update(task, completed=told.done, note=told.note)

        yield listen


def _columns(console: Console) -> Progress:
    """A bar with counts and times."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
        redirect_stdout=False,  # or answers that go to a file would land on the terminal
    )


@contextmanager
def _lines(console: Console) -> Iterator[Callable[[Told], None]]:
    lines = Lines(console.print)
    try:
        yield lines.listen
    finally:
        lines.end()


class Lines:
    """Writes a line of what a job tells, but not more often than every 10 seconds, and one when the job has ended."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._started = self._written = self._began = clock()
        self._first = self._last = Told("")

    def listen(self, told: Told) -> None:
        """Take what the job tells, and write it if it is time."""
        if told.what != self._last.what:
            self._began, self._first = self._clock(), told
        self._last = told
        if self._clock() - self._written >= _EVERY:
            self._written = self._clock()
            self._write(", ".join([_count(told), *self._left()]) + _after(told.note))

    def end(self) -> None:
        """Write how far the job has come, unless it was short."""
        if self._last.what and self._clock() - self._started >= _SHORT:
            self._write(
                f"{_count(self._last)}, after {_minutes(self._clock() - self._started)}{_after(self._last.note)}"
            )

    def _left(self) -> Iterator[str]:
        """The time that is left, if so far something was done of a number that is known."""
        done = self._last.done - self._first.done  # a job that goes on has not done the first ones now
        if self._last.total is not None and done > 0:
            each = (self._clock() - self._began) / done
            yield f"about {_minutes(each * (self._last.total - self._last.done))} left"


def _count(told: Told) -> str:
    if told.total is not None:
        return f"{told.what}, {told.done}/{told.total}"
    return f"{told.what}, {told.done}" if told.done else told.what


def _after(note: str) -> str:
    return f"  {note}" if note else ""


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
