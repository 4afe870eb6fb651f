"""ROC-AUC against human rationales: does a marked word score higher than an unmarked one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.masking import Case
from veridical.metrics.base import Measured, Need
from veridical.metrics.evidence import Field, per_document


@dataclass(frozen=True)
class RationaleAUC:
    """The area under the ROC curve of each document: how often a marked word scores above an unmarked one.

    Equal scores count half. `field` judges one text of a pair only, as the source or the target of a translation.
    Documents where all words are marked, or none, are undefined.
    """

    field: Field = "all"
    needs: ClassVar[frozenset[Need]] = frozenset({"evidence"})
    meaning: ClassVar[str] = "How often a word that people marked scores above one that they did not; 0.5 is chance."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Words that nobody would look at "
        "count as much as the first ones."
    )
    fewest: ClassVar[int] = 2
    percent: ClassVar[bool] = False
    ranks: ClassVar[bool] = True
    comparable: ClassVar[bool] = True
    greater_is_better: ClassVar[bool] = True
    presets: ClassVar[dict[str, dict[str, object]]] = {
        "smat": {},
        "smat-source": {"field": "text"},
        "smat-target": {"field": "text_pair"},
    }

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        return Measured(per_document(case, scores, self.field, auc))


def auc(scores: Tensor, gold: Tensor) -> float:
    """The chance that a unit of `gold` [u] scores above another one, ties counting half."""
    marked, others = scores[gold], scores[~gold].sort().values
    below = torch.searchsorted(others, marked, right=False) + torch.searchsorted(others, marked, right=True)
    return float(below.double().mean() / (2 * len(others)))
