"""Decision flip: how much of a text has to go before the model changes its mind."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.masking import Case
from veridical.masking.ranking import places
from veridical.metrics.base import Measured, Metric, Need


@dataclass(frozen=True)
class DecisionFlip(Metric):
    """The share of words, erased from the most important on, at which the predicted class changes; 1 if it never does.

    Words go in steps of `step` of the text's own length, at least one. `grid=reference` starts with one word, as the
    published code does: 1, 1 + step, 1 + 2 steps. Undecided texts alone are asked about again.
    """

    step: float = 0.05
    grid: Literal["even", "reference"] = "even"
    eraser: str = "pad"
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
        units, before = live.sum(1), case.output.logits.argmax(1)
        stride = (self.step * units.double()).round().clamp(min=1).long()
        share, flipped = torch.ones(len(case)), torch.zeros(len(case), dtype=torch.bool)
        gone = stride if self.grid == "even" else torch.ones_like(stride)
        undecided = torch.nonzero(units > 0)[:, 0]
        while len(undecided):
            count = torch.minimum(gone, units)[undecided]  # the last step takes what is left
            keep = live[undecided] & (place[undecided] >= count[:, None])
            flips = erased.logits(undecided, keep).argmax(1) != before[undecided]
            share[undecided[flips]] = (count / units[undecided])[flips]
            flipped[undecided[flips]] = True
            undecided = undecided[~flips & (count < units[undecided])]
            gone = gone + stride
        return Measured(share, details={"flipped": flipped.float()})
