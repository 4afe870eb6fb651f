"""DeepLift: the difference to a baseline, divided among words by a backward pass with rules of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.explainers.backward_rules import COMPLETE, BackwardRules, rescaling
from veridical.explainers.base import Scores, adding_up
from veridical.explainers.baselines import Comparing, check_windows
from veridical.explainers.gradients import aggregate
from veridical.masking import Case
from veridical.masking.case import Scale
from veridical.models import Rows

RULES = (
    "Use rules for all functions, such as GELU, products, softmax and LayerNorm, so that shares add up; without them, "
    "only where Captum does."
)
NO_RULE = "A layer of this model has no rule; use integrated-gradients."


@dataclass(frozen=True)
class DeepLift(Comparing):
    """Each word's share of the difference to zero embeddings, by one backward pass whose rules make the shares add up.

    The Rescale rule takes the slope between input and reference where the gradient would take the slope at the input,
    so it sees through saturation. Products, softmax and LayerNorm have rules of the same kind. The preset `captum`
    rescales the modules that Captum does (tanh, sigmoid, ReLU, ELU and softplus) and takes the gradient of all other
    functions: on BERT the scores are then nearly those of input x gradient, and do not add up. It differs from Captum
    for a model with modules of softmax or max pooling, and with `output=prob`. Shrikumar et al. 2017.
    """

    complete: bool = option(True, RULES)
    cost: ClassVar[str] = "2 forwards, 1 backward"
    meaning: ClassVar[str] = (
        "The word's share of the difference to zero embeddings, by rules for each kind of layer. Signed."
    )
    total: ClassVar[str] = (
        "the output minus that for zero embeddings, unless `complete=false`; special tokens have shares, too"
    )
    weakness: ClassVar[str] = (
        "How its rules split products is a convention; others add up, too, and give other shares. Zero embeddings are "
        "a choice. With Captum's rules it is input x gradient by another name on most transformers."
    )
    presets: ClassVar[Presets] = {"captum": {"complete": False, "baseline": "all"}}

    @property
    def remedy(self) -> str:
        return NO_RULE if self.complete else "Use deep-lift(complete=true)."

    def passes(self, units: int) -> int:
        return 2

    def scores(self, case: Case) -> Scores:
        check_windows(case, self.output, "deep-lift")
        total, difference = torch.zeros(2, len(case), dtype=torch.float64)  # added up over the windows of a text

        def shared_out(rows: Rows, _: Tensor) -> Tensor:
            start = case.classifier.embed(self.start(case.classifier, rows)).detach()
            shares, apart = contributions(case, rows, start, self.output, self.complete)
            # Before aggregating, and with special tokens: this is what adds up.
            total.index_add_(0, rows.owner, shares.sum((1, 2)).double().cpu())
            difference.index_add_(0, rows.owner, apart.double().cpu())
            return aggregate(shares, self.aggregate)

        tokens = case.rowwise(shared_out, copies=2)  # each row runs twice, as an input and as its reference
        return Scores(case.to_units(tokens, self.pieces), measures=adding_up(total, difference))


def contributions(case: Case, rows: Rows, start: Tensor, scale: Scale, complete: bool) -> tuple[Tensor, Tensor]:
    """The share [r, l, d] that each number of the embeddings has in a row's difference, and the differences [r].

    The difference is that between the values of the rows' embeddings and of those at the `start`, [r, l, d].
    """
    embeds = case.classifier.embed(rows).detach()
    # Inputs stand above their references, [2r, l, d], so that every rule sees both values of what it has a rule for.
    both = rows.select(torch.arange(len(rows)).repeat(2))
    stack = torch.cat([embeds, start]).requires_grad_()
    with rescaling(case.classifier, complete):
        logits = case.classifier.run(both, embeds=stack).logits  # [2r, C]
    with BackwardRules(COMPLETE):  # the last softmax has its rule in any case
        values = case.scaled(logits, case.targets[both.owner].to(logits.device), scale)
    values = values * case.shares(both).to(values)
    here, there = values.chunk(2)
    # Of the inputs' half only: rules look at the references through constants, so no gradient reaches that half.
    (multipliers,) = torch.autograd.grad(here.sum(), stack)
    return multipliers[: len(rows)] * (embeds - start), (here - there).detach()
