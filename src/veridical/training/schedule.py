"""How long and how fast to train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from veridical.core.component import Count, Positive, Weight, Within, check

DevFigure = Literal["accuracy", "macro_f1", "pearson", "loss"]


@dataclass(frozen=True)
class Schedule:
    """Settings of the fit loop; the defaults suit the embedded model on some thousand short texts.

    `rate` is the encoder's learning rate (None: 5e-5, or 1e-3 for a model of less than a million weights, which has
    nothing to forget); the head, which starts at random, learns at `head_rate` (None: 5e-4, or 1e-3). The dev split is
    looked at `checks` times an epoch; the best checkpoint by `metric` is kept (None: accuracy, or Pearson correlation
    for regression), and training stops after `patience` checks without improvement. `report_to` names a Hugging Face
    logger: tensorboard, mlflow, wandb.
    """

    epochs: Positive = 3.0
    batch_size: Count = 32
    rate: Positive | None = None
    head_rate: Positive | None = None
    warmup: Weight = 0.1
    weight_decay: Weight = 0.01
    clip: Weight = 1.0
    checks: Count = 2
    metric: DevFigure | None = None
    patience: Count | None = None
    accumulate: Count = 1
    bf16: bool = False
    report_to: str = "none"
    seed: Annotated[int, Within(0, 2**32 - 1)] = 0

    def __post_init__(self) -> None:
        check(self)
