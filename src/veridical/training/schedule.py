"""How long and how fast to train."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from veridical.core.component import Component, Count, Positive, Seed, Weight, option
from veridical.core.errors import UsageError

_PACKAGES = {"tensorboard": ("tensorboard", "tensorboardX"), "mlflow": ("mlflow",), "wandb": ("wandb",)}


@dataclass(frozen=True)
class Schedule(Component):
    """Settings of the fit loop; the defaults suit the embedded model on some thousand short texts."""

    epochs: Positive = option(3.0, "Passes over the data.")
    batch_size: Count = option(32, "Examples per step.")
    rate: Positive | None = option(
        None, "Learning rate of the encoder; by default 5e-5, or 1e-3 for a model of less than a million weights."
    )
    head_rate: Positive | None = option(
        None,
        "Learning rate of the head, which starts at random, and of a pooler that was never trained; by default 5e-4, "
        "or 1e-3 for such a small model.",
    )
    warmup: Weight = option(0.1, "Steps in which the rates rise from 0; less than 1 is a share of all steps.")
    weight_decay: Weight = option(0.01, "How fast weights shrink to 0; biases and norms do not.")
    clip: Weight = option(1.0, "The largest length of a gradient; longer ones are cut to it, and 0 cuts none.")
    checks: Count = option(2, "Looks at the dev split per epoch; each leaves a checkpoint.")
    metric: str | None = option(
        None,
        "The dev figure that the best checkpoint is kept by, and of equal ones the lowest loss: accuracy, macro_f1, "
        "micro_f1, pearson, loss, or one of the objective's own; by default accuracy, micro_f1 for several labels, or "
        "pearson for regression.",
    )
    patience: Count | None = option(None, "Stop after so many looks at the dev split without improvement.")
    accumulate: Count = option(1, "Batches whose gradients are added up before a step: larger steps, no more memory.")
    bf16: bool = option(False, "Train in bfloat16.")
    report_to: Literal["none", "tensorboard", "mlflow", "wandb"] = option(
        "none",
        "Where losses and figures are logged while training; its package must be installed. A run stays the same run.",
    )
    seed: Seed = option(0, "Seed of the head, the order of examples and dropout.")

    def require_logger(self) -> None:
        """Refuse a schedule that reports to a package which is not installed."""
        packages = _PACKAGES.get(self.report_to, ())
        if packages and not any(find_spec(package) for package in packages):
            raise UsageError(
                f"training cannot report to {self.report_to}: the package is not installed",
                remedy=f"Run: pip install {packages[0]}.",
            )
