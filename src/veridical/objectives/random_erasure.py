"""Training on texts with words missing, so that what erasure metrics ask about is nothing new to the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.component import Probability, Weight, option
from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.masking import ERASERS, Case, EraserName
from veridical.models import Ability, Classifier
from veridical.objectives.base import CrossEntropy, Objective, plain_loss


@dataclass(frozen=True)
class RandomErasure(Objective):
    """Plain training, and the same on texts that have lost a random share of their words.

    A model that has never seen a text with holes answers such a text by chance, and a metric that asks about it
    measures that chance. Of the texts that are taken, all numbers of lost words are equally likely, and the loss is
    their mean. Costs a forward and a backward pass of the taken examples, and with `empty` another.
    """

    weight: Weight = option(1.0, "The weight of the loss on what is left of texts.")
    chance: Probability = option(0.5, "How likely each example is to lose words.")
    eraser: EraserName = option("mask", "How words are taken away.")
    towards: Literal["gold", "own"] = option(
        "gold",
        "What the rest should still give: the gold label, or what the model says of the whole text, which asks it to "
        "be steady rather than right.",
    )
    empty: Weight = option(0.0, "The weight of a term that asks for equal probabilities when no word is left.")
    weights: ClassVar[tuple[str, ...]] = ("weight", "empty")

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset({ERASERS.create(self.eraser).needs}) if self.weight or self.empty else frozenset()

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> RandomErasure:
        if self.empty and classifier.is_regression:
            raise UnsupportedError("a regression model has no equal probabilities to give", remedy="Use empty=0.")
        return self

    def __call__(self, case: Case) -> dict[str, Tensor]:
        terms = CrossEntropy()(case)
        if not self.needs:
            return terms
        chosen = torch.nonzero(torch.rand(len(case)) < self.chance)[:, 0]  # [N]
        if self.weight:
            terms["erased"] = self.weight * self._erased(case, chosen)
        if self.empty:
            terms["empty"] = self.empty * self._empty(case, chosen)
        return terms

    def _erased(self, case: Case, chosen: Tensor) -> Tensor:
        """The mean loss of the chosen examples after each has lost a share of its words."""
        keep = torch.rand(case.live.shape) >= torch.rand(len(case), 1)  # any number of words, equally likely
        if not len(chosen):
            return case.output.logits.new_zeros(())
        logits = self._left(case, keep, chosen)
        return plain_loss(case.classifier, logits, self._wanted(case)[chosen.to(logits.device)])

    def _left(self, case: Case, keep: Tensor, chosen: Tensor) -> Tensor:
        """All outputs [N, C] for what is kept [B, U] of some chosen examples [N]."""
        return case.with_eraser(self.eraser).ask_with_gradients(chosen, keep[chosen]).logits

    def _wanted(self, case: Case) -> Tensor:
        """What each text should still give after it has lost words: a class, probabilities or a number."""
        logits = case.output.logits
        if self.towards == "gold":
            return case.gold.to(logits.device)
        return (
            logits.detach()[:, 0] if case.classifier.is_regression else case.classifier.probabilities(logits.detach())
        )

    def _empty(self, case: Case, chosen: Tensor) -> Tensor:
        """How far the chosen examples are from equal probabilities when all their words are gone."""
        if not len(chosen):
            return case.output.logits.new_zeros(())
        logits = self._left(case, torch.zeros_like(case.live), chosen)
        if case.classifier.is_multi_label:
            return plain_loss(case.classifier, logits, torch.full_like(logits, 0.5)) - math.log(2)  # 0 at its best
        equal = torch.full_like(logits, 1 / logits.shape[1])
        return functional.kl_div(logits.log_softmax(-1), equal, reduction="batchmean")
