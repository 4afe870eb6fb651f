"""Rationale ranking: how high scores rank the words that people marked, by two areas under curves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.masking import Case
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.evidence import Field, per_document


@dataclass(frozen=True)
class RationaleAUC(Metric):
    """The area under the ROC curve of each document: how often a marked word scores above an unmarked one.

    Equal scores count half. Needs no choice of how many words an explanation picks (SMaT). Documents where all words
    are marked, or none, are undefined.
    """

    field: Field = option(
        "all", "Judge the words of one text of a pair only, such as the source or the target of a translation."
    )
    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "How often a word that people marked scores above one that they did not; 0.5 is chance."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Words that nobody would look at "
        "count as much as the first ones."
    )
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "smat": {},
        "smat-source": {"field": "text"},
        "smat-target": {"field": "text_pair"},
    }

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        return Measured(per_document(case, scores, self.field, auc))


def auc(scores: Tensor, gold: Tensor) -> float:
    """The chance that a unit of `gold` [u] scores above another one, ties counting half."""
    marked, others = scores[gold], scores[~gold].sort().values
    # Left and right places in the sorted others count those below, and those below or equal: their mean halves ties.
    below = torch.searchsorted(others, marked, right=False) + torch.searchsorted(others, marked, right=True)
    return float(below.double().mean() / (2 * len(others)))


Area = Literal["steps", "trapezoid"]


@dataclass(frozen=True)
class RationaleAveragePrecision(Metric):
    """The area under the curve of precision over recall, as more and more of the ranking is taken.

    Words of equal score are taken together. Looks at the top of the ranking more than `rationale-auc` does (ERASER;
    SMaT). Documents where all words are marked, or none, are undefined.
    """

    area: Area = option(
        "steps", "How the area is summed: by steps, as average precision is defined, or by trapezoids, as ERASER does."
    )
    positive: bool = option(False, "Take negative scores for 0, so that all of them are equal.")
    field: Field = option("all", "Judge the words of one text of a pair only.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "How early in the ranking the words come that people marked: 1 when they are the first."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. What chance reaches is the share of "
        "marked words, which differs between documents."
    )
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "smat": {},
        "eraser": {"area": "trapezoid"},
        "ferret": {"area": "trapezoid", "positive": True},
    }

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        scores = scores.clamp(min=0) if self.positive else scores
        measure = partial(average_precision, area=self.area)
        return Measured(per_document(case, scores, self.field, measure))


def average_precision(scores: Tensor, gold: Tensor, area: Area = "steps") -> float:
    """The area under precision over recall of units [u], some of which are in `gold` [u]."""
    group = torch.unique(-scores, return_inverse=True)[1]  # 0 for the highest score, equal scores together
    found = torch.bincount(group, weights=gold.double()).cumsum(0)  # [g]: marked units down to each group
    precision, recall = found / torch.bincount(group).cumsum(0), found / found[-1]
    gained = recall.diff(prepend=recall.new_zeros(1))  # the width of each piece of the area
    if area == "trapezoid":
        # The curve starts at precision 1, where nothing is taken yet.
        precision = (precision + torch.cat([precision.new_ones(1), precision[:-1]])) / 2
    return float((gained * precision).sum())
