"""Prediction agreement: does the model say the same when it sees only the words of the explanation?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.masking import Case
from veridical.masking.ranking import HIGH_POSITIVE, LOW_POSITIVE, levels, places, share, top
from veridical.metrics.base import Measured, Metric, Need


@dataclass(frozen=True)
class PredictionAgreement(Metric):
    """1 where the words of the explanation, all others masked, get the class of the whole text, else 0.

    These are the first `ratio` of the words, or with `words=high-positive` those with more than the mean of the
    positive scores, and where there are none those with positive scores. Undefined where these are no words, or all.
    The detail `class` is what the model made of the words, so that two methods can be compared with one another.
    """

    words: Literal["top", "high-positive"] = "top"
    ratio: float = 0.3
    eraser: str = "mask"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How often the words of the explanation alone get the same class as the whole text."
    weakness: ClassVar[str] = (
        "Easy for a class that the model falls back to: a fully masked text may agree. Says nothing of the order "
        "among the words that are kept."
    )
    percent: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"l2e": {}, "l2e-labels": {"words": "high-positive"}}

    def questions(self, units: int) -> int:
        return 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        keep = self._words(scores, case.live)
        found = case.with_eraser(self.eraser).logits(torch.arange(len(case)), keep).argmax(1)
        agrees = (found == case.output.logits.argmax(1)).float()
        undecided = self._undefined(keep, case.live)
        return Measured(
            agrees.masked_fill(undecided, torch.nan), details={"class": found.float().masked_fill(undecided, torch.nan)}
        )

    def _words(self, scores: Tensor, live: Tensor) -> Tensor:
        if self.words == "top":
            return live & top(places(scores, live), share(self.ratio, live.sum(1))[:, None])[:, 0]
        level = levels(scores, live)
        high = level == HIGH_POSITIVE
        return torch.where(high.any(1, keepdim=True), high, level == LOW_POSITIVE)

    def _undefined(self, keep: Tensor, live: Tensor) -> Tensor:
        count = keep.sum(1)
        return (self.words == "high-positive") & ((count == 0) | (count == live.sum(1)))
