"""Plain training: cross-entropy on the gold label, squared error for regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn import functional

from veridical.core.component import Probability, option
from veridical.masking import Case
from veridical.models import Classifier
from veridical.objectives.base import Objective


def plain_loss(
    classifier: Classifier,
    logits: Tensor,
    gold: Tensor,
    smoothing: float = 0.0,
    reduction: Literal["mean", "sum"] = "mean",
) -> Tensor:
    """The loss of plain training for logits [N, C]; `gold` [N] are classes or numbers, or [N, C] probabilities."""
    gold = gold.to(logits.device)
    if classifier.is_regression:
        return functional.mse_loss(logits[:, 0], gold, reduction=reduction)
    return functional.cross_entropy(logits, gold, label_smoothing=smoothing, reduction=reduction)


@dataclass(frozen=True)
class CrossEntropy(Objective):
    """The baseline that every explanation-aware objective adds to: cross-entropy, or squared error for regression."""

    smoothing: Probability = option(0.0, "The share of the target's mass that is spread over all classes.")

    def __call__(self, case: Case) -> dict[str, Tensor]:
        name = "squared_error" if case.classifier.is_regression else "cross_entropy"
        return {name: plain_loss(case.classifier, case.output.logits, case.gold, self.smoothing)}
