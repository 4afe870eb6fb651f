"""DeepLift: the difference to a reference, shared out on the way back through the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.explainers.base import Explainer, Scores, adding_up
from veridical.explainers.embedding_gradients import Aggregate, Baseline, aggregate, check_windows, start_of
from veridical.explainers.rescale_rules import rescaling
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows


@dataclass(frozen=True)
class DeepLift(Explainer):
    """Each word's share of the difference to zero embeddings, found in one pass back; by default it does not add up.

    The Rescale rule takes the slope between input and reference where the gradient would take the slope at the input,
    so it sees through saturation. As in Captum, the default does so for tanh, ReLU and the like only; GELU, products,
    softmax and LayerNorm keep their gradient, and on a transformer the residual is large. With `complete` they have
    rules too and the shares of all positions add up to the difference. How those rules split products is a convention.
    """

    complete: bool = False
    baseline: Baseline = "all"
    aggregate: Aggregate = "sum"
    output: Scale = "logit"
    pieces: Pieces = "sum"
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS})
    cost: ClassVar[str] = "2 forwards, 1 backward"
    meaning: ClassVar[str] = (
        "The word's share of the difference to zero embeddings, by rules for each kind of layer. Signed."
    )
    total: ClassVar[str] = (
        "the output minus that for zero embeddings, with `complete=true` only; special tokens have shares, too"
    )
    weakness: ClassVar[str] = (
        "On transformers the default does not add up, and the residual is large. `complete=true` does, but how its "
        "rules split products is a convention. Zero embeddings are a choice."
    )

    def passes(self, units: int) -> int:
        return 2

    def scores(self, case: Case) -> Scores:
        check_windows(case, self.output, "deep-lift")
        total, difference = torch.zeros(2, len(case), dtype=torch.float64)

        def shared_out(rows: Rows, _: Tensor) -> Tensor:
            embeds = case.classifier.embed(rows).detach()
            start = start_of(rows, embeds, self.baseline)
            shares, apart = contributions(case, rows, embeds, start, self.output, self.complete)
            total.index_add_(0, rows.owner, shares.sum((1, 2)).double().cpu())
            difference.index_add_(0, rows.owner, apart.double().cpu())
            return aggregate(shares, self.aggregate)

        tokens = case.rowwise(shared_out, copies=2)
        return Scores(case.to_units(tokens, self.pieces), measures=adding_up(total, difference))


def contributions(
    case: Case, rows: Rows, embeds: Tensor, start: Tensor, scale: Scale, complete: bool
) -> tuple[Tensor, Tensor]:
    """What each number of the embeddings contributes [r, l, d] to the difference of each row's value [r], and that."""
    both = rows.select(torch.arange(len(rows)).repeat(2))
    stack = torch.cat([embeds, start]).requires_grad_()
    with rescaling(complete):
        logits = case.classifier.run(both, embeds=stack).logits
    with rescaling(complete=True):  # the last softmax has its rule in any case
        values = case.scaled(logits, case.targets[both.owner].to(logits.device), scale)
    values = values * case.shares(both).to(values)
    here, there = values.chunk(2)
    (multipliers,) = torch.autograd.grad(here.sum(), stack)
    return multipliers[: len(rows)] * (embeds - start), (here - there).detach()
