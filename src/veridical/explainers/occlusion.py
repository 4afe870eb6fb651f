"""Occlusion: take one word away and see what changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from veridical.core.component import option
from veridical.explainers.base import ERASER, OUTPUT, Explainer, Scores
from veridical.masking import Case, EraserName
from veridical.masking.case import Scale


@dataclass(frozen=True)
class Occlusion(Explainer):
    """How much the target's log-probability falls without the word. Works with any model; blind to redundant words.

    With `output=logit` and a linear model it is exact. The scores add up to the output minus that of the empty text
    only if no words act together; the measure `interaction` tells how far they do.
    """

    output: Scale = option("logprob", OUTPUT)
    eraser: EraserName = option("mask", ERASER)
    cost: ClassVar[str] = "n + 1 forwards"
    meaning: ClassVar[str] = "How much the log-probability falls when the word alone is taken away. Signed."
    weakness: ClassVar[str] = (
        "Blind to redundancy: where either of two words would do, both score 0. The eraser matters, and a text with a "
        "hole may be unlike any the model was trained on."
    )

    def passes(self, units: int) -> int:
        return units + 1

    def scores(self, case: Case) -> Scores:
        live = case.live
        example, unit = torch.nonzero(live, as_tuple=True)  # one question per unit
        keep = live[example]
        keep[torch.arange(len(unit)), unit] = False
        erased = case.with_eraser(self.eraser)
        without = erased.ask(example, keep, self.output)  # [N], one for each unit of all examples
        nothing = erased.value(torch.zeros_like(live)[:, None], self.output)[:, 0]
        whole = case.scaled(case.output.logits, case.targets, self.output)
        scores = torch.zeros(live.shape)
        scores[example, unit] = whole[example] - without
        difference = whole - nothing
        return Scores(scores, measures={"difference": difference, "interaction": scores.sum(1) - difference})
