"""Occlusion: take one word away and see what changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.masking import Case
from veridical.masking.case import Scale


@dataclass(frozen=True)
class Occlusion:
    """How much the target's log-probability drops without the word. Works with any model; blind to words that stand in
    for each other. With a `logit` output and a linear model it is exact.
    """

    output: Scale = "logprob"
    eraser: str = "mask"
    needs: ClassVar[frozenset[str]] = frozenset()
    cost: ClassVar[str] = "n + 1 forwards"

    def scores(self, case: Case) -> Tensor:
        live = case.live
        example, unit = torch.nonzero(live, as_tuple=True)  # one question per unit
        keep = live[example]
        keep[torch.arange(len(unit)), unit] = False
        without = case.with_eraser(self.eraser).ask(example, keep, self.output)
        whole = case.scaled(case.output.logits, case.targets, self.output)
        scores = torch.zeros(live.shape)
        scores[example, unit] = whole[example] - without
        return scores
