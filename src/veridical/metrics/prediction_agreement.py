"""Prediction agreement: does the model say the same when it sees only the words of the explanation?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, Share, option
from veridical.masking import Case, EraserName
from veridical.masking.ranking import HIGH_POSITIVE, LOW_POSITIVE, levels, places, share, top
from veridical.metrics.base import Measured, Metric, Need


@dataclass(frozen=True)
class PredictionAgreement(Metric):
    """1 where the words of the explanation, all others masked, get the class of the whole text, else 0 (L2E).

    The detail `class` is the class that the model predicts for these words, so that two methods can be compared with
    each other. Where a text may have several labels, it is 1 if the one that is explained is predicted. With
    `words=high-positive` the value is undefined where no word is kept, or every word.
    """

    words: Literal["top", "high-positive"] = option(
        "top",
        "Which words are kept: the first ones, or those that score above the mean of the positive scores (all positive "
        "ones if none does).",
    )
    ratio: Share = option(0.3, "The share of the text's words that `words=top` keeps.")
    eraser: EraserName = option("mask", "How the other words are erased.")
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
        keep = self._words(scores, case.live)  # [B, U]
        each = torch.arange(len(case))
        found = case.decisions(case.with_eraser(self.eraser).logits(each, keep), each)
        agrees = (found == case.decisions(case.output.logits, each)).float()
        undecided = self._undefined(keep, case.live)
        return Measured(
            agrees.masked_fill(undecided, torch.nan), details={"class": found.float().masked_fill(undecided, torch.nan)}
        )

    def _words(self, scores: Tensor, live: Tensor) -> Tensor:
        """Which units are kept, [B, U]."""
        if self.words == "top":
            return live & top(places(scores, live), share(self.ratio, live.sum(1))[:, None])[:, 0]
        level = levels(scores, live)
        # Nothing lies above the mean when all positive scores are equal; then all of them are kept.
        high = level == HIGH_POSITIVE
        return torch.where(high.any(1, keepdim=True), high, level == LOW_POSITIVE)

    def _undefined(self, keep: Tensor, live: Tensor) -> Tensor:
        # `top` always keeps the share that was asked for. Levels may keep nothing, or the whole text, by accident.
        count = keep.sum(1)
        return (self.words == "high-positive") & ((count == 0) | (count == live.sum(1)))
