"""How a training tells its progress, and learns that it should stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback

from veridical.core.progress import Watch


class WatchCallback(TrainerCallback):
    """Tells a watch of each step with its loss, and of the figures of each look at the dev split.

    A watch that was cancelled raises here, between two steps: the checkpoints stay, and the same call goes on from the
    last one.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.note = ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._tell(state)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.watch.check()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._tell(state)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, float] | None = None, **_: Any) -> None:
        if logs and "loss" in logs:
            self.note = f"loss {logs['loss']:.3f}"

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Mapping[str, float], **_: Any) -> None:
        figures = "  ".join(f"{name.removeprefix('eval_')} {value:.4f}" for name, value in metrics.items())
        self.watch.note(f"dev: {figures}", is_result=True)

    def _tell(self, state: Any) -> None:
        self.watch.tell("training", state.global_step, state.max_steps, self.note)
