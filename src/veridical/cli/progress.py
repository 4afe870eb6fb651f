"""Progress on standard error, so that standard output stays clean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from veridical.core.progress import Progress as Told
from veridical.core.progress import Watch


@contextmanager
def shown() -> Iterator[Watch]:
    """A watch for a job: what it tells is a bar, and results that a person may want to keep are lines.

    The bar vanishes when the job ends, well or not.
    """
    with _bar() as bar:
        task, doing = bar.add_task("", total=None, note=""), ""

        def listen(told: Told) -> None:
            nonlocal task, doing
            if told.what != doing:  # a new bar for another thing: its times begin anew
                bar.remove_task(task)
                task, doing = bar.add_task(told.what, total=told.total, note=""), told.what
            if told.is_result:
                line = f"{told.what}, {told.done}/{told.total}  {told.note}"
                bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
            else:
                bar.update(task, completed=told.done, note=told.note)

        yield Watch(listen)


def _bar() -> Progress:
    """A bar with counts and times."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
