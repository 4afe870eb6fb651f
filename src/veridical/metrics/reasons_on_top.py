"""Reasons on top: where the true reasons are known, does the explanation put them first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.masking import Case
from veridical.masking.ranking import places
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.evidence import gold


@dataclass(frozen=True)
class ReasonsOnTop(Metric):
    """1 when every true reason scores above every other word, else 0: the mean says how often they are on top.

    Choose it for data whose evidence is the reason and not an opinion, such as planted data. A reason that has the same
    score as another word is not above it. The detail `share` is the share of reasons found among as many first places.
    Documents where all words are reasons, or none, are undefined.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "How often every true reason scores above every other word."
    weakness: ClassVar[str] = (
        "Right only where the evidence really is the reason: planted data, and a model that has learned it. One "
        "reason out of place counts as much as all of them; the share tells the two apart."
    )
    percent: ClassVar[bool] = True
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        reasons, live = gold(case), case.live
        # Reasons go last in the order that decides between equal scores, so that a tie is never won.
        order = reasons.long().argsort(dim=1, stable=True)
        place = places(scores.gather(1, order), live.gather(1, order))
        count = reasons.sum(1)
        found = (reasons.gather(1, order) & (place < count[:, None])).sum(1)
        trivial = (count == 0) | (count == live.sum(1))
        share = (found / count).masked_fill(trivial, torch.nan)
        return Measured((found == count).float().masked_fill(trivial, torch.nan), details={"share": share})
