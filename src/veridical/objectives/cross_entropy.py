"""Plain training: cross-entropy on the gold label, squared error for regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from veridical.core.component import Probability, check
from veridical.masking import Case
from veridical.models import Ability


@dataclass(frozen=True)
class CrossEntropy:
    """The baseline that every explanation-aware objective adds to. `smoothing` spreads some of the target mass."""

    smoothing: Probability = 0.0
    needs: ClassVar[frozenset[Ability]] = frozenset()

    def __post_init__(self) -> None:
        check(self)

    def __call__(self, case: Case) -> dict[str, Tensor]:
        logits, gold = case.output.logits, case.gold.to(case.output.logits.device)
        if case.classifier.is_regression:
            return {"squared_error": functional.mse_loss(logits[:, 0], gold)}
        return {"cross_entropy": functional.cross_entropy(logits, gold, label_smoothing=self.smoothing)}
