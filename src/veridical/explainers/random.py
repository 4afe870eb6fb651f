"""Random scores: the floor that every other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from veridical.core.component import Seed, option
from veridical.explainers.base import SEED, Explainer, Scores
from veridical.masking import Case


@dataclass(frozen=True)
class Random(Explainer):
    """Independent draws, normal or uniform. Not an explanation: the baseline to compare explanations with."""

    seed: Seed = option(0, SEED)
    draw: Literal["normal", "uniform"] = option("normal", "Draw from a normal distribution, or evenly from 0 to 1.")
    cost: ClassVar[str] = "none"
    meaning: ClassVar[str] = "Nothing: it is chance."
    weakness: ClassVar[str] = (
        "It knows nothing of the model. A method that does not clearly beat it is of no use on your data."
    )

    def passes(self, units: int) -> int:
        return 0

    def scores(self, case: Case) -> Scores:
        scores = torch.zeros(case.live.shape)
        for index, units in enumerate(case.batch.units):
            function = torch.randn if self.draw == "normal" else torch.rand
            # Drawn from the example's own generator: its neighbours in a batch must not change its scores.
            scores[index, : len(units)] = function(len(units), generator=case.generator(index, self.seed))
        return Scores(scores)
