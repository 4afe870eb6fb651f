"""Sparse Contrastive Coding: a layer that masks words explains the model, and improves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.core.component import Positive, Weight, option
from veridical.explainers.mask_layers import MaskLayer, SCCLayer
from veridical.masking import Case
from veridical.models import Ability, Output
from veridical.objectives.contrast import Reduction
from veridical.objectives.mask_layers import (
    DrawnMask,
    MaskTraining,
    mean_of_words,
    negative_entropy,
)


@dataclass(frozen=True)
class SCC(DrawnMask):
    """Sparse Contrastive Coding: learns from texts of which a layer has masked words, and from what was masked.

    The layer reads all hidden states of the whole text. The loss is the plain one of the foreground, the words that a
    drawn mask keeps; a sparse loss, which wants few words and clear decisions about them; and a contrastive loss, which
    brings texts and foregrounds of one class together and pushes what was masked away. Three passes of the model in
    each step. It leaves the explainer `scc`. With several labels, texts belong together as far as their labels are the
    same.
    """

    sparse: Weight = option(1.0, "The weight of the sparse loss; 0 is the published ablation without it.")
    contrast: Weight = option(0.1, "The weight of the contrastive loss; 0 is the published ablation without it.")
    background: bool = option(True, "Contrast with what was masked; without is the published ablation.")
    reduction: Reduction = option(
        "mean",
        "The sparse loss of a text: the mean over its words, or their sum as the paper writes, which swamps all else.",
    )
    contrast_temperature: Positive = option(1.0, "What similarities are divided by in the contrastive loss.")
    contrast_reduction: Reduction = option(
        "mean", "The contrastive loss of a batch: the mean over its vectors, or their sum as the paper writes."
    )
    normalise: bool = option(True, "Contrast vectors of length 1; the paper shows raw products.")
    detach: bool = option(False, "Let the layer learn from hidden states without changing them.")
    separate: bool = option(False, "Give each hidden state maps of its own; by default all share one pair of maps.")
    name: ClassVar[str] = "scc"
    weights: ClassVar[tuple[str, ...]] = ()

    @property
    def needs(self) -> frozenset[Ability]:
        return super().needs | ({Ability.POOLED} if self.contrast else set())

    def layer(self, size: int, states: int) -> MaskLayer:
        return SCCLayer(size, states, self.width, seed=self.seed, separate=self.separate)

    def with_layer(self, layer: MaskLayer) -> SCCTraining:
        return SCCTraining(self, layer)


@dataclass(frozen=True)
class SCCTraining(MaskTraining):
    """The objective with the sparse coding layer that is trained."""

    settings: SCC

    def __call__(self, case: Case) -> dict[str, Tensor]:
        rows, asked = case.batch.rows, self.settings
        assert case.output.hidden is not None
        hidden = [state.detach() if asked.detach else state for state in case.output.hidden]
        logits = self.layer.logits(hidden)  # [R, T]
        words = self.words(rows, logits.shape[1])
        mask = asked.draw(logits)
        front = self._pass(case, mask, words)
        terms = {**self.whole(case), "masked": self.loss(case, front)}
        if asked.sparse:
            terms["sparse"] = asked.sparse * self._sparse(case, logits, words)
        if asked.contrast:
            back = self._pass(case, 1 - mask, words) if asked.background else None
            outputs = [case.output, front, *([back] if back else [])]
            found = self.contrasted(
                case, outputs, asked.contrast_temperature, asked.normalise, asked.contrast_reduction
            )
            terms["contrast"] = asked.contrast * found
        return terms

    def _pass(self, case: Case, mask: Tensor, words: Tensor) -> Output:
        """What the model says of texts of which a mask keeps some words."""
        pooled = bool(self.settings.contrast)
        return case.run(case.batch.rows, enter=self.masked(mask, words), pooled=pooled)

    def _sparse(self, case: Case, logits: Tensor, words: Tensor) -> Tensor:
        each = logits.sigmoid() + self.clock.weight(self.settings.anneal) * negative_entropy(logits)  # [R, T]
        if self.settings.reduction == "sum":
            return (each * words.to(each)).sum() / len(case)
        return mean_of_words(case, each, words)
