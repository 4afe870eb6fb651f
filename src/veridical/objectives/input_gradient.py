"""Input-gradient regularisation: a loss that changes little when the embeddings do."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from veridical.core.component import Count, Weight, option
from veridical.masking import Case
from veridical.models import Ability, Classifier
from veridical.models.transformer import Transformer
from veridical.objectives.base import Objective
from veridical.objectives.cross_entropy import CrossEntropy, plain_loss
from veridical.objectives.portion import embeddings_of, portion

_INSIDE_ROOT = 1e-12


@dataclass(frozen=True)
class InputGradient(Objective):
    """Keeps the gradient of each example's own loss by its embeddings short (REGEX's L_gr).

    The length is over all tokens and dimensions. With `parameters` the length of all weights together is logged apart;
    weight decay already does much the same.
    """

    weight: Weight = option(0.01, "The weight of the gradient's length, and of that of all weights.")
    parameters: bool = option(True, "Also keep the length of all weights together short, as REGEX writes it.")
    squared: bool = option(False, "Take the square of the gradient's length, as it was first proposed.")
    every: Count = option(1, "Compute the gradient for one in so many examples of each batch.")

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset({Ability.EMBEDDINGS, Ability.GRADIENTS}) if self.weight else frozenset()

    def __call__(self, case: Case) -> dict[str, Tensor]:
        return {**CrossEntropy()(case), **self.terms(case)}

    def terms(self, case: Case) -> dict[str, Tensor]:
        """The terms without the plain loss; none for weight 0."""
        if not self.weight:
            return {}
        terms = {"input_gradient": self.weight * self.lengths(portion(case, self.every)).mean()}
        if self.parameters:
            terms["weight_norm"] = self.weight * weight_norm(case.classifier)
        return terms

    def lengths(self, case: Case) -> Tensor:
        """The length of the loss's gradient for each example, [B], differentiable."""
        rows = case.batch.rows
        embeds = embeddings_of(case)
        embeds = embeds if embeds.requires_grad else embeds.requires_grad_()  # a frozen table gives constants
        logits = case.ask_with_gradients(embeds=embeds).logits
        # Summed over examples: averaged, an example's gradient would shrink with the batch.
        loss = plain_loss(case.classifier, logits, case.gold, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, embeds, create_graph=True)
        squares = gradient.square().sum((1, 2))  # [R]
        owned = squares.new_zeros(len(case)).index_add(0, rows.owner.to(squares.device), squares)  # [B]
        return owned if self.squared else (owned + _INSIDE_ROOT).sqrt()


def weight_norm(classifier: Classifier) -> Tensor:
    """The length of all weights of a model taken as one vector; 0 for a model without."""
    weights = list(classifier.model.parameters()) if isinstance(classifier, Transformer) else []
    if not weights:
        return torch.zeros(())
    lengths: Tensor = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(each) for each in weights]))
    return lengths
