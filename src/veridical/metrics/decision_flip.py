"""Decision flip: the share of a text that has to be erased until the model decides otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, Share, option
from veridical.masking import Case, EraserName
from veridical.masking.ranking import places
from veridical.metrics.base import Measured, Metric, Need


@dataclass(frozen=True)
class DecisionFlip(Metric):
    """The share of words, erased from the most important on, at which the predicted class changes; 1 if it never does.

    Choose it to see decisions and not probabilities (Serrano and Smith 2019; SaLoss). After each step, only the texts
    that have not flipped yet are asked about again. Where a text may have several labels, the decision is whether the
    label that is explained is among them.
    """

    step: Share = option(0.05, "The share of a text's words that is erased in each step, at least one word.")
    grid: Literal["even", "reference"] = option(
        "even", "How steps begin: `even` with a whole step, `reference` with one word, as in SaLoss's published code."
    )
    eraser: EraserName = option("pad", "How words are erased; values by different erasers cannot be compared.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = (
        "The share of words that must be erased, in the order of their scores, until the decision flips."
    )
    weakness: ClassVar[str] = (
        "Depends on what the model says of an empty text: a class that it falls back to never flips. Erased texts are "
        "unlike those the model was trained on."
    )
    greater_is_better = False
    presets: ClassVar[Presets] = {
        "saloss": {},
        "saloss-text": {"eraser": "delete"},
        "saloss-code": {"grid": "reference"},
    }

    def questions(self, units: int) -> int:
        return ceil(units / max(1, round(self.step * units))) + 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        erased = case.with_eraser(self.eraser)
        place, live = places(scores, case.live), case.live
        units, before = live.sum(1), case.decisions(case.output.logits, torch.arange(len(case)))
        stride = (self.step * units.double()).round().clamp(min=1).long()  # [B]: words per step
        share, flipped = torch.ones(len(case)), torch.zeros(len(case), dtype=torch.bool)
        gone = stride if self.grid == "even" else torch.ones_like(stride)
        undecided = torch.nonzero(units > 0)[:, 0]  # an empty text has nothing to erase and keeps the share 1
        while len(undecided):
            count = torch.minimum(gone, units)[undecided]  # the last step takes what is left
            keep = live[undecided] & (place[undecided] >= count[:, None])
            flips = case.decisions(erased.logits(undecided, keep), undecided) != before[undecided]
            share[undecided[flips]] = (count / units[undecided])[flips]
            flipped[undecided[flips]] = True
            undecided = undecided[~flips & (count < units[undecided])]
            gone = gone + stride
        return Measured(share, details={"flipped": flipped.float()})
