"""Progress bars on standard error, so that standard output stays clean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import TrainerCallback

from veridical.core.progress import Progress as Telling


def bar() -> Progress:
    """A bar with counts and times; it vanishes when done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def telling() -> Iterator[Telling]:
    """A bar for a job of several parts: called with what is being done, how much of it is, and how much there is."""
    with bar() as progress:
        task = progress.add_task("", total=None, note="")

        def tell(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total, visible=done < total)

        yield tell


class TrainingBar(TrainerCallback):
    """Shows steps and losses while the trainer works, and a line for each look at the dev split.

    Used by `with`, so that a training that ends early leaves the terminal as it was.
    """

    def __init__(self) -> None:
        self.progress = bar()
        self.task: Any = None

    def __enter__(self) -> TrainingBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.progress.start()
        self.task = self.progress.add_task("training", total=state.max_steps, completed=state.global_step, note="")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.progress.update(self.task, completed=state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if logs and "loss" in logs:
            self.progress.update(self.task, note=f"loss {logs['loss']:.3f}")

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
        figures = "  ".join(f"{name.removeprefix('eval_')} {value:.4f}" for name, value in metrics.items())
        self.progress.console.print(f"step {state.global_step}/{state.max_steps}  dev: {figures}", highlight=False)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.progress.stop()
        self.progress.remove_task(self.task)  # the next training has a bar of its own
