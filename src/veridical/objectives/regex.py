"""REGEX: robust to small changes, and attention guided by attributions, at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Number, Positive, Share, Weight, check
from veridical.masking import Case
from veridical.models import Ability
from veridical.objectives.cross_entropy import CrossEntropy
from veridical.objectives.explanation_guided import Attribution, Direction, ExplanationGuided, Replacement, Sharing
from veridical.objectives.input_gradient import InputGradient
from veridical.objectives.portion import averaged, portion
from veridical.objectives.virtual_adversarial import Projection, VirtualAdversarial


@dataclass(frozen=True)
class Regex:
    """Plain loss, input-gradient, virtual-adversarial and explanation-guided terms, weighted by `l1` to `l4`.

    Its options are those of the three objectives; `adversarial_steps` are the steps of `virtual-adversarial`, `steps`
    those of integrated gradients. A term of weight 0 costs nothing. In full the terms cost several times as much as
    plain training. They are computed for one in `every` examples of a batch, the same ones for each term, which brings
    training with the defaults to about twice the time of plain training; `every=1` computes them for all. The clean
    output of the adversarial term and the attention to the whole text come from the training step's own pass, and
    shifted and masked texts share one.
    """

    l1: Weight = 1.0
    l2: Weight = 0.01
    l3: Weight = 0.5
    l4: Weight = 0.01
    parameters: bool = True
    squared: bool = False
    sigma: Weight = 1e-5
    adversarial_steps: Number = 2
    eta: Weight = 1e-3
    projection: Projection = "unit"
    eps: Positive = 1e-5
    stop_gradient: bool = False
    attribution: Attribution = "integrated-gradients"
    aggregation: Literal["l2", "mean"] = "l2"
    steps: Count = 4
    ratio: Share = 0.15
    replace: Replacement = "mask"
    direction: Direction = "att,q"
    normaliser: Sharing = "sum"
    every: Count = 8

    def __post_init__(self) -> None:
        check(self)

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
                self.l3, self.sigma, self.adversarial_steps, self.eta, self.projection, self.eps, self.stop_gradient
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
    gone, shift = guided.least(case, shares), adversarial.shift(case)
    twice = rows.select(torch.arange(count).repeat(2))
    gone_of_both = torch.cat([torch.zeros_like(gone), gone])
    both = guided.run_without(case.classifier, twice, gone_of_both, torch.cat([shift, torch.zeros_like(shift)]))
    shifted, without = both.part(slice(count)), both.part(slice(count, None))
    return {
        "virtual_adversarial": adversarial.weight * adversarial.apart(case, averaged(case, shifted.logits)),
        "explanation_guided": guided.weight * guided.apart(case, shares, without),
    }
