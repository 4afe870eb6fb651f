"""Recall at k against human rationales: how many of the marked words are among the first k?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.masking import Case
from veridical.masking.ranking import places
from veridical.metrics.base import Measured, Need
from veridical.metrics.evidence import Field, gold, judged


@dataclass(frozen=True)
class RationaleRecallAtK:
    """The share of the words people marked that are among the first `k`.

    `field` judges one text of a pair only. Documents without a marked word are undefined.
    """

    k: int = 5
    field: Field = "all"
    needs: ClassVar[frozenset[Need]] = frozenset({"evidence"})
    meaning: ClassVar[str] = "The share of the words people marked that are among the first k of the explanation."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Cannot reach 1 where more than k "
        "words are marked."
    )
    fewest: ClassVar[int] = 2
    percent: ClassVar[bool] = False
    ranks: ClassVar[bool] = True
    comparable: ClassVar[bool] = True
    greater_is_better: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        here = judged(case, self.field)
        reasons = gold(case) & here
        marked = reasons.sum(1)
        found = (reasons & (places(scores, here) < self.k)).sum(1)
        return Measured((found / marked).masked_fill(marked == 0, torch.nan))
