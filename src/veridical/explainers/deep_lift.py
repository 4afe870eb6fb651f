"""DeepLift: the difference to a reference, divided among words by a backward pass with rules of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import option
from veridical.explainers.backward_rules import rescaling
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores, adding_up
from veridical.explainers.gradients import (
    AGGREGATE,
    BASELINE,
    Aggregate,
    Baseline,
    aggregate,
    check_windows,
    start_of,
)
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows

NO_RULE = "A layer of this model has no rule; use integrated-gradients."


@dataclass(frozen=True)
class DeepLift(Explainer):
    """Each word's share of the difference to zero embeddings, by one backward pass; by default it does not add up.

    The Rescale rule takes the slope between input and reference where the gradient would take the slope at the input,
    so it sees through saturation. As in Captum, the default does so for tanh, ReLU and the like only; GELU, products,
    softmax and LayerNorm keep their gradient, and on a transformer the residual is large. Shrikumar et al. 2017.
    """

    complete: bool = option(
        False,
        "Use rules for products, softmax and LayerNorm, too: shares add up, but are split by a convention.",
    )
    baseline: Baseline = option("all", BASELINE)
    aggregate: Aggregate = option("sum", AGGREGATE)
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
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

    @property
    def remedy(self) -> str:
        return NO_RULE if self.complete else "Use deep-lift(complete=true)."

    def variants(self) -> tuple[DeepLift, ...]:
        return () if self.complete else (replace(self, complete=True),)

    def passes(self, units: int) -> int:
        return 2

    def scores(self, case: Case) -> Scores:
        check_windows(case, self.output, "deep-lift")
        total, difference = torch.zeros(2, len(case), dtype=torch.float64)  # added up over the windows of a text

        def shared_out(rows: Rows, _: Tensor) -> Tensor:
            embeds = case.classifier.embed(rows).detach()
            start = start_of(rows, embeds, self.baseline)
            shares, apart = contributions(case, rows, embeds, start, self.output, self.complete)
            # Before aggregating, and with special tokens: this is what adds up.
            total.index_add_(0, rows.owner, shares.sum((1, 2)).double().cpu())
            difference.index_add_(0, rows.owner, apart.double().cpu())
            return aggregate(shares, self.aggregate)

        tokens = case.rowwise(shared_out, copies=2)  # each row runs twice, as an input and as its reference
        return Scores(case.to_units(tokens, self.pieces), measures=adding_up(total, difference))


def contributions(
    case: Case, rows: Rows, embeds: Tensor, start: Tensor, scale: Scale, complete: bool
) -> tuple[Tensor, Tensor]:
    """The share [r, l, d] that each number of the embeddings has in a row's difference, and the differences [r].

    The difference is that between the values of the embeddings and of those at the `start`, [r, l, d] both.
    """
    # Inputs stand above their references, [2r, l, d], so that every rule sees both values of what it has a rule for.
    both = rows.select(torch.arange(len(rows)).repeat(2))
    stack = torch.cat([embeds, start]).requires_grad_()
    with rescaling(complete):
        logits = case.classifier.run(both, embeds=stack).logits
    with rescaling(complete=True):  # the last softmax has its rule in any case
        values = case.scaled(logits, case.targets[both.owner].to(logits.device), scale)
    values = values * case.shares(both).to(values)
    here, there = values.chunk(2)
    # Of the inputs' half only: rules look at the references through constants, so no gradient reaches that half.
    (multipliers,) = torch.autograd.grad(here.sum(), stack)
    return multipliers[: len(rows)] * (embeds - start), (here - there).detach()
