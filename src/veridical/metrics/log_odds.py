"""Log-odds: how far do the odds of a class fall without the words of the explanation?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.masking import Case
from veridical.masking.ranking import places, share, top
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.erasure import whole


@dataclass(frozen=True)
class LogOdds(Metric):
    """The log-odds of the target minus those with the words of the explanation masked.

    These are the first `ratio` of the words, or all words with positive or with negative scores. Without negative words
    the odds should rise, so there lower is better. Undefined where there are no such words. Probabilities are
    kept `clamp` away from 0 and 1.
    """

    words: Literal["top", "positive", "negative"] = "top"
    ratio: float = 0.3
    eraser: str = "mask"
    clamp: float = 1e-6
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How far the log-odds of the class fall when the words of the explanation are masked."
    weakness: ClassVar[str] = (
        "Without bounds: a few texts of which the model is very sure can decide the mean. All positive words of a "
        "method that calls every word positive are the whole text."
    )
    presets: ClassVar[Presets] = {
        "l2e": {},
        "l2e-positive": {"words": "positive"},
        "l2e-negative": {"words": "negative"},
    }

    @property
    def greater_is_better(self) -> bool:
        return self.words != "negative"

    def questions(self, units: int) -> int:
        return 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        gone = case.live & self._words(scores, case.live)
        left = case.with_eraser(self.eraser).ask(torch.arange(len(case)), case.live & ~gone)
        fall = self._odds(whole(case)) - self._odds(left)
        return Measured(fall.masked_fill(~gone.any(1), torch.nan))

    def _words(self, scores: Tensor, live: Tensor) -> Tensor:
        if self.words == "top":
            return top(places(scores, live), share(self.ratio, live.sum(1))[:, None])[:, 0]
        return scores > 0 if self.words == "positive" else scores < 0

    def _odds(self, probability: Tensor) -> Tensor:
        return probability.double().clamp(self.clamp, 1 - self.clamp).logit()
