"""AOPC: how far does the probability fall without the first words?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.masking import Case
from veridical.masking.ranking import places, top
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.erasure import whole


@dataclass(frozen=True)
class AOPC(Metric):
    """The target's probability minus that without the `words` that matter most; shorter texts are emptied.

    `cumulative` is the mean over 0, 1, 2, ... words erased, which the name (area over the perturbation curve) stands
    for.
    """

    words: int = 10
    eraser: str = "delete"
    cumulative: bool = False
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How far the probability falls when the first words are erased."
    weakness: ClassVar[str] = (
        "Models that are sure of everything fall further, whatever the explanation: compare methods by it, not models. "
        "A fixed number of words is all of a short text and little of a long one."
    )
    percent: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"scc": {}, "scc-5": {"words": 5}}

    def questions(self, units: int) -> int:
        return self.words if self.cumulative else 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        steps = range(1, self.words + 1) if self.cumulative else [self.words]
        counts = torch.tensor(steps).expand(len(case), -1)  # [B, K]
        kept = case.live[:, None] & ~top(places(scores, case.live), counts)
        fall = whole(case)[:, None] - case.with_eraser(self.eraser).value(kept)
        if not self.cumulative:
            return Measured(fall[:, 0])
        # Nothing erased is the first point of the curve: it counts, and nothing has fallen there.
        return Measured(fall.sum(1) / (self.words + 1), fall, tuple(float(step) for step in steps))
