"""Post-hoc accuracy: do the first words alone lead the model to the same decision?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Count, Presets, option
from veridical.masking import Case, EraserName
from veridical.masking.ranking import places, top
from veridical.metrics.base import Measured, Metric, Need


@dataclass(frozen=True)
class PostHocAccuracy(Metric):
    """1 where the first words alone, in the order of the text, get the class of the whole text, else 0.

    The model's own decision counts, not the gold label (Chen et al. 2018; SCC). `prediction-agreement` keeps a share of
    a text instead of a number of words. Where a text may have several labels, the decision is whether the one that is
    explained is among them.
    """

    words: Count = option(4, "How many of the first words are kept.")
    eraser: EraserName = option("delete", "How the other words are erased; mask layers are trained with `zero`.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How often the first words alone get the same class as the whole text."
    weakness: ClassVar[str] = (
        "Always 1 for texts with no more words than are kept, and often for a class that the model falls back to. A "
        "fixed number of words is all of a short text and little of a long one."
    )
    percent: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"scc": {}, "scc-trained": {"eraser": "zero"}}

    def questions(self, units: int) -> int:
        return 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        counts = torch.full((len(case), 1), self.words)
        keep = case.live & top(places(scores, case.live), counts)[:, 0]  # [B, U]
        each = torch.arange(len(case))
        found = case.decisions(case.with_eraser(self.eraser).logits(each, keep), each)
        agrees = found == case.decisions(case.output.logits, each)
        return Measured(agrees.float(), details={"class": found.float()})
