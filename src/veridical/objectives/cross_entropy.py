"""Plain training: cross-entropy on the gold label, on each label where there may be several, or squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn import functional

from veridical.core.component import Probability, option
from veridical.masking import Case
from veridical.models import Classifier, Task
from veridical.objectives.base import Objective


def plain_loss(
    classifier: Classifier,
    logits: Tensor,
    gold: Tensor,
    smoothing: float = 0.0,
    reduction: Literal["mean", "sum"] = "mean",
) -> Tensor:
    """The loss of plain training for logits [N, C]; `gold` [N] are classes or numbers, or [N, C] probabilities.

    A multi-label model has a binary cross-entropy for each label, and an example the mean of them.
    """
    gold = gold.to(logits.device)
    if classifier.is_multi_label:
        spread = gold * (1 - smoothing) + smoothing / 2
        each = functional.binary_cross_entropy_with_logits(logits, spread.to(logits), reduction="none").mean(1)  # [N]
        return each.mean() if reduction == "mean" else each.sum()
    if classifier.is_regression:
        return functional.mse_loss(logits[:, 0], gold, reduction=reduction)
    return functional.cross_entropy(logits, gold, label_smoothing=smoothing, reduction=reduction)


_NAMES = {Task.NUMBER: "squared_error", Task.CLASSES: "cross_entropy", Task.LABELS: "binary_cross_entropy"}


@dataclass(frozen=True)
class CrossEntropy(Objective):
    """The baseline that every explanation-aware objective adds to: cross-entropy, or squared error for regression."""

    smoothing: Probability = option(0.0, "The share of the target's mass that is spread over all classes.")

    def __call__(self, case: Case) -> dict[str, Tensor]:
        return {
            _NAMES[case.classifier.task]: plain_loss(case.classifier, case.output.logits, case.gold, self.smoothing)
        }
