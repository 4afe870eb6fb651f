"""L2X: a selector draws some words, and the model learns to decide by them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Count, Positive, option
from veridical.core.values import Example
from veridical.explainers.mask_layers import L2XLayer, MaskLayer
from veridical.masking import Case
from veridical.models import Classifier, Rows
from veridical.objectives.mask_layers import MaskObjective, MaskTraining, gumbel, some_of


@dataclass(frozen=True)
class L2X(MaskObjective):
    """Learns from some words of each text that a selector draws (Chen et al. 2018), together with the selector.

    One pass of the model in each step. It leaves the explainer `l2x`. Texts with no more words than are drawn are read
    as they are when the model is tested.
    """

    count: Count = option(4, "How many words are drawn.")
    temperature: Positive = option(0.5, "How far the drawn mask is from 0 and 1: small numbers make it hard.")
    name: ClassVar[str] = "l2x"

    @property
    def reads_output(self) -> bool:
        return bool(self.ce_full)

    def layer(self, size: int, states: int) -> MaskLayer:
        return L2XLayer(size, states, self.width, seed=self.seed)

    def of(self, layer: MaskLayer, classifier: Classifier, examples: Sequence[Example]) -> L2XTraining:
        return L2XTraining(self, layer)


@dataclass(frozen=True)
class L2XTraining(MaskTraining):
    """The objective with the selector that is trained."""

    settings: L2X

    def __call__(self, case: Case) -> dict[str, Tensor]:
        asked, rows = self.settings, case.batch.rows

        def enter(states: Tensor) -> Tensor:
            logits, words = self._selected(rows, [states] * self.layer.states)
            noise = gumbel(asked.count, *logits.shape).to(logits)
            return self.masked(some_of(logits, noise, asked.temperature).nan_to_num(), words)(states)

        front = case.run(rows, enter=enter)
        return {**self.whole(case), "masked": self.loss(case, front)}

    def tested(self, rows: Rows, hidden: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        """Exactly the first words stay, or all where there are no more."""
        logits, words = self._selected(rows, hidden)
        order = logits.argsort(dim=1, descending=True, stable=True)
        first = torch.zeros_like(logits).scatter(1, order[:, : self.settings.count], 1.0)
        return self.masked(first, words)

    def _selected(self, rows: Rows, hidden: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The logits of drawing each token [R, T], -inf for what is no word, and which are words."""
        logits = self.layer.logits(hidden)
        words = self.words(rows, logits.shape[1])
        return logits.masked_fill(~words.to(logits.device), -torch.inf), words
