"""Leave-one-out tau: do the scores rank words like the falls of probability without each word alone?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.stats import kendalltau
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.masking import Case, EraserName
from veridical.metrics.base import Measured, Metric
from veridical.metrics.erasure import whole

_DIGITS = 6  # smaller differences are rounding of the model, and would rank words that do not differ


@dataclass(frozen=True)
class LeaveOneOutTau(Metric):
    """Kendall's rank correlation (tau-b) of the scores and the fall of the target's probability without each word.

    Choose it to compare with ferret (Attanasio et al. 2023). Undefined where all scores, or all falls, are the same.
    """

    eraser: EraserName = option("delete", "How each word is erased.")
    meaning: ClassVar[str] = "The rank correlation of the scores with what the model loses by each word alone."
    weakness: ClassVar[str] = (
        "It takes leaving out for the truth: occlusion wins by construction, and words that can replace each other "
        "seem not to matter. Every word weighs the same, even those that hardly matter."
    )
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"ferret": {}}

    def questions(self, units: int) -> int:
        return units

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        falls = self._falls(case)
        found = [_tau(falls[at, :count], scores[at, :count]) for at, count in enumerate(case.live.sum(1).tolist())]
        return Measured(torch.tensor(found))

    def _falls(self, case: Case) -> Tensor:
        """How far the target's value falls without each unit, [B, U]."""
        example, unit = torch.nonzero(case.live, as_tuple=True)  # one question per unit
        keep = case.live[example]
        keep[torch.arange(len(unit)), unit] = False
        falls = torch.zeros(case.live.shape, dtype=torch.double)
        falls[example, unit] = (whole(case)[example] - case.with_eraser(self.eraser).ask(example, keep)).double()
        return falls


def _tau(falls: Tensor, scores: Tensor) -> float:
    if len(falls) < 2:
        return float("nan")  # two words are the fewest that have an order
    return float(kendalltau(falls.round(decimals=_DIGITS).numpy(), scores.numpy()).statistic)
