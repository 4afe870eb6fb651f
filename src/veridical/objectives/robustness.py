"""Robustness terms: a loss that changes little when the embeddings do, and the same answer in the worst direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Number, Positive, Weight, option
from veridical.explainers.gradients import Where
from veridical.masking import Case
from veridical.models import Ability, Classifier, Rows
from veridical.models.transformer import Transformer
from veridical.objectives.base import plain_loss
from veridical.objectives.portion import PortionTerms, embeddings_of, gap

_INSIDE_ROOT = 1e-12


@dataclass(frozen=True)
class InputGradient(PortionTerms):
    """Keeps the gradient of each example's own loss by its embeddings short (REGEX's L_gr).

    The length is over all tokens and dimensions. With `parameters` the length of all weights together is logged apart;
    weight decay already does much the same.
    """

    weight: Weight = option(0.01, "The weight of the gradient's length, and of that of all weights.")
    parameters: bool = option(True, "Also keep the length of all weights together short, as REGEX writes it.")
    squared: bool = option(False, "Take the square of the gradient's length, as it was first proposed.")
    every: Count = option(1, "Compute the gradient for one in so many examples of each batch.")

    @property
    def abilities(self) -> frozenset[Ability]:
        return frozenset({Ability.EMBEDDINGS, Ability.GRADIENTS})

    def unweighted(self, case: Case) -> dict[str, Tensor]:
        length = {"input_gradient": self.lengths(case).mean()}
        return {**length, "weight_norm": weight_norm(case.classifier)} if self.parameters else length

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


Projection = Literal["unit", "ball"]
"""What a shift is brought to: a largest number of 1 at each token, or of at most `eps`."""


@dataclass(frozen=True)
class VirtualAdversarial(PortionTerms):
    """Asks for the same output when the embeddings are shifted to where it changes most (SMART; REGEX's L_at).

    The shift starts as noise and is moved some steps along the gradient of the divergence. Labels are not needed: the
    clean output is the one of the training step itself. The passes have their own dropout, as in SMART, so the term
    also asks for agreement under dropout; without it and without a shift it is 0.

    The numbers of an embedding output are about 1 in size, those of word vectors are not: where a shift is added to
    words, all its sizes are multiples of the root mean square of the word's own numbers.
    """

    weight: Weight = option(0.5, "The weight of the divergence.")
    sigma: Weight = option(1e-5, "The size of the noise that a shift starts as.")
    steps: Number = option(2, "How often a shift is moved along the gradient and projected.")
    eta: Weight = option(1e-3, "How far each step goes, as a multiple of the gradient.")
    projection: Projection = option(
        "unit",
        "The size of a shift: `unit` scales each token's largest number to 1, as SMART's code does; `ball` keeps it "
        "within eps, as the papers say, where it does next to nothing.",
    )
    eps: Positive = option(1e-5, "The largest number of a shift in the ball.")
    where: Where = option(
        "output",
        "What is shifted: `output`, which enters the first layer, after positions and normalisation, as in SMART's "
        "code; or `word`, the words' vectors before that, in proportion to their size.",
    )
    stop_gradient: bool = option(False, "Let no gradient into the clean output.")
    every: Count = option(1, "Compute the term for one in so many examples of each batch.")

    @property
    def abilities(self) -> frozenset[Ability]:
        place = {Ability.EMBEDDING_OUTPUT} if self.where == "output" else set()
        return frozenset({Ability.EMBEDDINGS, Ability.GRADIENTS, *place})

    def unweighted(self, case: Case) -> dict[str, Tensor]:
        return {"virtual_adversarial": self.divergence(case)}

    def divergence(self, case: Case) -> Tensor:
        """The mean divergence of the outputs for clean and for shifted embeddings."""
        return self.apart(case, self._shifted(case, embeddings_of(case), self.shift(case)))

    def placed(self, embeds: Tensor, shift: Tensor) -> tuple[Tensor, Tensor | None]:
        """What a model is run with to be shifted in the right place: its embeddings [R, L, e] and a shift [R, L, d]."""
        return (embeds, shift) if self.where == "output" else (embeds + shift, None)

    def apart(self, case: Case, shifted: Tensor) -> Tensor:
        """The mean divergence, given the logits [B, C] for shifted embeddings."""
        clean = case.output.logits
        return gap(case, shifted, clean.detach() if self.stop_gradient else clean).mean()

    def shift(self, case: Case) -> Tensor:
        """The perturbation [R, L, d] that changes the output most, as far as a few steps find it; 0 at padding."""
        embeds, clean = embeddings_of(case).detach(), case.output.logits.detach()
        scale = _present(case.batch.rows).to(embeds) * self._size(embeds)  # [R, L, 1]
        delta = self.sigma * torch.randn_like(self._start(case, embeds)) * (scale > 0)
        for _ in range(self.steps):
            delta.requires_grad_()
            # Summed, not averaged: an example's shift must not depend on how many stand beside it.
            distance = gap(case, self._shifted(case, embeds, scale * delta), clean).sum()
            (gradient,) = torch.autograd.grad(distance, delta)
            delta = self.project((delta + self.eta * gradient).detach())
        return scale * delta

    def project(self, delta: Tensor) -> Tensor:
        """The perturbation [..., d] brought to its size, token by token."""
        largest = delta.abs().amax(-1, keepdim=True)  # [..., 1]
        if self.projection == "unit":
            return delta / (largest + self.eps)
        return delta * (self.eps / largest.clamp(min=self.eps))

    def _shifted(self, case: Case, embeds: Tensor, shift: Tensor) -> Tensor:
        """The logits [B, C] for shifted embeddings."""
        embeds, rest = self.placed(embeds, shift)
        return case.ask_with_gradients(embeds=embeds, shift=rest).logits

    def _start(self, case: Case, embeds: Tensor) -> Tensor:
        """Something of the shape of a shift."""
        return case.classifier.no_shift(case.batch.rows) if self.where == "output" else embeds

    def _size(self, embeds: Tensor) -> Tensor:
        """What 1 means at each token [R, L, 1]: 1, or the root mean square of a word's numbers."""
        if self.where == "output":
            return torch.ones_like(embeds[..., :1])
        return embeds.square().mean(-1, keepdim=True).sqrt()


def _present(rows: Rows) -> Tensor:
    """1 at tokens, 0 at padding: [R, L, 1]."""
    return torch.arange(rows.unit_of.shape[1])[None, :, None] < rows.lengths[:, None, None]
