"""AOPC: how far does the probability fall without the first words?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets, Within, option
from veridical.masking import Case, EraserName
from veridical.masking.ranking import places, top
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.erasure import whole


@dataclass(frozen=True)
class AOPC(Metric):
    """The target's probability for the whole text minus that without the first words (Samek et al. 2017).

    Choose it to reproduce works that erase a fixed number of words. `comprehensiveness` erases shares of a text, and
    `normalised-aopc` can be compared between models.
    """

    words: Annotated[int, Within(1, 1000)] = option(
        10, "How many of the first words are erased; a text with no more words than these is emptied."
    )
    eraser: EraserName = option("delete", "How words are erased; values by different erasers cannot be compared.")
    cumulative: bool = option(
        False, "Take the mean over 0, 1, 2, ... erased words, which is the area over the perturbation curve."
    )
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
        kept = case.live[:, None] & ~top(places(scores, case.live), counts)  # [B, K, U]
        fall = whole(case)[:, None] - case.with_eraser(self.eraser).value(kept)
        if not self.cumulative:
            return Measured(fall[:, 0])
        # The curve begins with nothing erased. That point has a fall of 0, so it adds only to the divisor.
        return Measured(fall.sum(1) / (self.words + 1), fall, tuple(float(step) for step in steps))
