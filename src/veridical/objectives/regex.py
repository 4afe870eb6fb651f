"""REGEX: robust to small changes, and attention guided by attributions, at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Number, Positive, Presets, Share, Weight, option
from veridical.explainers.gradients import Where
from veridical.masking import Case
from veridical.models import Ability
from veridical.objectives.base import CrossEntropy, Objective
from veridical.objectives.explanation_guided import Attribution, Direction, ExplanationGuided, Replacement, Sharing
from veridical.objectives.portion import averaged, portion
from veridical.objectives.robustness import InputGradient, Projection, VirtualAdversarial


@dataclass(frozen=True)
class Regex(Objective):
    """Plain loss, input-gradient, virtual-adversarial and explanation-guided terms, weighted by `l1` to `l4`.

    A term of weight 0 costs nothing. In full the terms cost several times as much as plain training. They are computed
    for one in `every` examples of a batch, the same ones for each term, which brings training with the defaults to
    about twice the time of plain training; `preset=paper` computes them for all examples, and integrated gradients in
    50 steps. The clean output of the adversarial term and the attention to the whole text come from the training step's
    own pass, and shifted and masked texts share one.
    """

    l1: Weight = option(1.0, "The weight of the plain loss.")
    l2: Weight = option(0.01, "The weight of input-gradient.")
    l3: Weight = option(0.5, "The weight of virtual-adversarial.")
    l4: Weight = option(0.01, "The weight of explanation-guided.")
    parameters: bool = option(True, "As in input-gradient: also keep the length of all weights short.")
    squared: bool = option(False, "As in input-gradient: take the square of the gradient's length.")
    sigma: Weight = option(1e-5, "As in virtual-adversarial: the size of the noise that a shift starts as.")
    adversarial_steps: Number = option(2, "The steps of virtual-adversarial: how often a shift is moved.")
    eta: Weight = option(1e-3, "As in virtual-adversarial: how far each step goes.")
    projection: Projection = option("unit", "As in virtual-adversarial: the size of a shift.")
    eps: Positive = option(1e-5, "As in virtual-adversarial: the largest number of a shift in the ball.")
    where: Where = option("output", "As in virtual-adversarial: what a shift is added to.")
    stop_gradient: bool = option(False, "As in virtual-adversarial: let no gradient into the clean output.")
    attribution: Attribution = option("integrated-gradients", "As in explanation-guided: what finds important tokens.")
    aggregation: Literal["l2", "mean"] = option("l2", "As in explanation-guided: how a vector becomes a number.")
    steps: Count = option(4, "The steps of integrated gradients, as in explanation-guided.")
    ratio: Share = option(0.15, "As in explanation-guided: the share of the tokens that is taken away.")
    replace: Replacement = option("mask", "As in explanation-guided: what takes their place.")
    direction: Direction = option("att,q", "As in explanation-guided: the divergence's first argument.")
    normaliser: Sharing = option("sum", "As in explanation-guided: how attributions become shares.")
    every: Count = option(8, "Compute the three terms for one in so many examples of each batch; 1: for all.")
    presets: ClassVar[Presets] = {"paper": {"steps": 50, "every": 1}}

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset().union(*(part.needs for part in self.parts))

    @property
    def base(self) -> float:
        """The weight of the plain loss."""
        return self.l1

    def __call__(self, case: Case) -> dict[str, Tensor]:
        terms = {name: self.l1 * value for name, value in CrossEntropy()(case).items() if self.l1}
        gradient, adversarial, guided = self.parts
        some = portion(case, self.every) if gradient.weight or adversarial.weight or guided.weight else case
        terms |= gradient.terms(some)
        if adversarial.weight and guided.weight:
            return terms | _in_one_pass(some, adversarial, guided)
        return terms | adversarial.terms(some) | guided.terms(some)

    @property
    def parts(self) -> tuple[InputGradient, VirtualAdversarial, ExplanationGuided]:
        """The three objectives that this one adds to the plain loss."""
        return (
            InputGradient(self.l2, self.parameters, self.squared),
            VirtualAdversarial(
                self.l3,
                self.sigma,
                self.adversarial_steps,
                self.eta,
                self.projection,
                self.eps,
                self.where,
                self.stop_gradient,
            ),
            ExplanationGuided(
                self.l4,
                self.attribution,
                self.aggregation,
                self.steps,
                self.ratio,
                self.replace,
                self.direction,
                self.normaliser,
            ),
        )


def _in_one_pass(case: Case, adversarial: VirtualAdversarial, guided: ExplanationGuided) -> dict[str, Tensor]:
    """The terms of two objectives, from one pass over the shifted texts and those without some tokens."""
    rows = case.batch.rows
    count = len(rows)
    shares = guided.shares(case)
    gone, shift = guided.least(case, shares), adversarial.shift(case)  # [R, L] and [R, L, d]
    # Each row stands there twice: first shifted and whole, then not shifted and without some tokens.
    twice = rows.select(torch.arange(count).repeat(2))
    gone_of_both = torch.cat([torch.zeros_like(gone), gone])  # [2R, L]
    twice, embeds = guided.replaced(case, twice, gone_of_both)
    embeds, rest = adversarial.placed(embeds, torch.cat([shift, torch.zeros_like(shift)]))
    both = case.run(twice, embeds=embeds, shift=rest, attentions=True)
    shifted, without = both.part(slice(count)), both.part(slice(count, None))
    return {
        "virtual_adversarial": adversarial.weight * adversarial.apart(case, averaged(case, shifted.logits)),
        "explanation_guided": guided.weight * guided.apart(case, shares, without),
    }
