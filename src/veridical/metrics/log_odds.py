"""Log-odds: how far do the odds of a class fall without the words of the explanation?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, Share, Within, option
from veridical.masking import Case, EraserName
from veridical.masking.ranking import places, share, top
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.erasure import whole


@dataclass(frozen=True)
class LogOdds(Metric):
    """The log-odds of the target minus those with the words of the explanation masked (L2E).

    Choose it where the model is sure of everything: probabilities near 1 hardly move, log-odds do. Undefined where the
    explanation has no such words.
    """

    words: Literal["top", "positive", "negative"] = option(
        "top",
        "Which words are masked: the first ones, or all with positive or all with negative scores; without negative "
        "words the odds should rise, so there lower is better.",
    )
    ratio: Share = option(0.3, "The share of the text's words that `words=top` masks.")
    eraser: EraserName = option("mask", "How words are erased; values by different erasers cannot be compared.")
    clamp: Annotated[float, Within(0, 0.5, open=True)] = option(
        1e-6, "How far probabilities are kept from 0 and 1, where log-odds are infinite."
    )
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
        gone = case.live & self._words(scores, case.live)  # [B, U]
        left = case.with_eraser(self.eraser).ask(torch.arange(len(case)), case.live & ~gone)
        fall = self._odds(whole(case)) - self._odds(left)
        # Where nothing is masked the odds stay, which would look like an explanation without effect.
        return Measured(fall.masked_fill(~gone.any(1), torch.nan))

    def _words(self, scores: Tensor, live: Tensor) -> Tensor:
        """Which units are words of the explanation, [B, U]."""
        if self.words == "top":
            return top(places(scores, live), share(self.ratio, live.sum(1))[:, None])[:, 0]
        return scores > 0 if self.words == "positive" else scores < 0

    def _odds(self, probability: Tensor) -> Tensor:
        # In double precision: float32 would round 1 - clamp, so that both ends were not equally far away.
        return probability.double().clamp(self.clamp, 1 - self.clamp).logit()
