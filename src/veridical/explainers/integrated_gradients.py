"""Integrated gradients: the gradient averaged on the way from nothing to the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from veridical.core.component import Count, Presets, Weight, Within, option
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

QuadratureRule = Literal["gauss-legendre", "midpoint", "trapezoid", "left", "right"]

FEWEST_STEPS = 16
"""The first level of the rule that can be refined."""


def quadrature(rule: QuadratureRule, steps: int) -> tuple[Tensor, Tensor]:
    """Points in [0, 1] and weights that sum to 1; the trapezoid rule has one point more than steps."""
    if rule == "gauss-legendre":
        points, weights = np.polynomial.legendre.leggauss(steps)
        # numpy's rule is for [-1, 1], which is twice as long.
        return torch.tensor((points + 1) / 2), torch.tensor(weights / 2)
    if rule == "trapezoid":
        weights = np.full(steps + 1, 1 / steps)
        weights[[0, -1]] /= 2  # the ends belong to one step each, all other points to two
        return torch.tensor(np.linspace(0, 1, steps + 1)), torch.tensor(weights)
    shift = {"left": 0.0, "midpoint": 0.5, "right": 1.0}[rule]
    return (torch.arange(steps, dtype=torch.float64) + shift) / steps, torch.full((steps,), 1 / steps).double()


def finer(steps: int) -> tuple[int, Tensor, Tensor]:
    """The next level of a rule that can be refined: its number of steps, its new points and their weights.

    The weighted sum over the points of all levels so far, divided by the number of steps, is the integral. This is the
    trapezoid rule in t, where the points of the path are t^2: from zero embeddings to a text, networks change fastest
    near zero, and there it has more points. Doubling keeps all old points.
    """
    # With x = t^2, dx = 2 t dt: each point has the weight 2 t.
    if not steps:
        t = torch.arange(1, FEWEST_STEPS + 1, dtype=torch.float64) / FEWEST_STEPS
        return FEWEST_STEPS, t**2, torch.where(t == 1, 1.0, 2 * t)  # t = 1 counts half; t = 0 has no weight at all
    t = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps  # half way between the old points
    return 2 * steps, t**2, 2 * t


@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """Each word's share of the difference between the output for the input and for zero embeddings.

    The shares of all positions add up to that difference as far as the integral is right, so the `residual` tells its
    error. With `aggregate=l2` scores no longer add up, but the residual is still that of the shares.
    Sundararajan et al. 2017.
    """

    steps: Count | Literal["auto"] = option(
        "auto", "How many points of the path are computed; auto doubles them for each text until its residual is small."
    )
    tolerance: Weight = option(
        0.01, "With auto steps, a residual is small if it is at most this part of the sum of the absolute shares."
    )
    most: Annotated[int, Within(FEWEST_STEPS)] = option(
        128, f"With auto steps, how many there may be; they begin with {FEWEST_STEPS}."
    )
    rule: QuadratureRule = option(
        "gauss-legendre",
        "Where the points of a fixed number of steps are; the default needs the fewest of them.",
    )
    baseline: Baseline = option("all", BASELINE)
    aggregate: Aggregate = option("sum", AGGREGATE)
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS})
    cost: ClassVar[str] = "steps x (1 forward, 1 backward) + 1 forward"
    meaning: ClassVar[str] = (
        "The word's share of the difference between the output for the text and for zero embeddings. Signed."
    )
    total: ClassVar[str] = "the output minus that for zero embeddings; special tokens have shares, too"
    weakness: ClassVar[str] = (
        "Zero embeddings are a choice, and other baselines give other scores. On the way from there the model sees "
        "inputs that are no texts, and that it was not trained on."
    )
    presets: ClassVar[Presets] = {
        "regex": {"steps": 50, "aggregate": "l2"},
        "smat": {"steps": 10},
        "smat-plausibility": {"steps": 50},
    }

    @property
    def remedy(self) -> str:
        return "Use integrated-gradients(baseline=content), or more steps: most=1024."

    def passes(self, units: int) -> int:
        # The trapezoid rule has a point more than steps; one more input is the start of the path.
        return (self.most if self.steps == "auto" else self.steps + 1) + 1

    def scores(self, case: Case) -> Scores:
        check_windows(case, self.output, "integrated gradients")
        difference = self._difference(case)
        shares = self._refined(case, difference) if self.steps == "auto" else self._fixed(case, self.steps)
        tokens = aggregate(shares, self.aggregate)
        return Scores(case.to_units(tokens, self.pieces), measures=adding_up(_total(case, shares), difference))

    def _fixed(self, case: Case, steps: int) -> Tensor:
        points, weights = quadrature(self.rule, steps)
        row = torch.arange(len(case.batch.rows)).repeat_interleave(len(points))
        return self._gradients(case, row, points.repeat(len(case.batch.rows)), weights.repeat(len(case.batch.rows)))

    def _refined(self, case: Case, difference: Tensor) -> Tensor:
        """The integral with as many steps as each example needs; finer levels use the points of coarser ones."""
        owner = case.batch.rows.owner
        total = shares = torch.zeros(1, 1, 1)  # grows to [R, L, d] with the first level
        unsure = torch.ones(len(case), dtype=torch.bool)
        steps = 0
        while unsure.any() and (level := finer(steps))[0] <= self.most:
            steps, points, weights = level
            rows = torch.nonzero(unsure[owner])[:, 0]
            row = rows.repeat_interleave(len(points))
            # Rows of examples that are done add 0 to their total, and keep the shares of the level they ended with.
            total = total + self._gradients(case, row, points.repeat(len(rows)), weights.repeat(len(rows)))
            shares = torch.where(unsure[owner][:, None, None], total / steps, shares)
            # Relative to the absolute shares: where words cancel out, the difference may be as small as the error.
            allowed = self.tolerance * _total(case, shares, absolute=True)
            unsure &= (_total(case, shares) - difference).abs() > allowed
        return shares

    def _gradients(self, case: Case, row: Tensor, points: Tensor, weights: Tensor) -> Tensor:
        """Weighted gradients at points of the path, times the step from its start to its end, summed: [R, L, d].

        `row` [V], `points` [V] and `weights` [V] say which row, which point of its path and with which weight.
        """

        def contribution(rows: Rows, visit: Tensor) -> Tensor:
            embeds = case.classifier.embed(rows).detach()
            start = start_of(rows, embeds, self.baseline)
            path = torch.lerp(start, embeds, points[visit].to(embeds)[:, None, None]).requires_grad_()
            logits = case.classifier.run(rows, embeds=path).logits
            # A text of several windows has the mean of their logits: each window has its share of the value.
            share = case.shares(rows).to(logits.device)
            value = case.scaled(logits, case.targets[rows.owner].to(logits.device), self.output) * share
            (gradient,) = torch.autograd.grad(value.sum(), path)
            return gradient * (embeds - start) * weights[visit].to(embeds)[:, None, None]

        return case.rowsum(contribution, row)

    def _difference(self, case: Case) -> Tensor:
        nothing = case.outputs(lambda rows: start_of(rows, case.classifier.embed(rows), self.baseline))
        whole, start = (case.scaled(each, case.targets, self.output) for each in (case.output.logits, nothing))
        return whole - start


def _total(case: Case, shares: Tensor, absolute: bool = False) -> Tensor:
    """The sum [B] over all positions of each example's shares [R, L, d], special tokens included."""
    tokens = shares.sum(2)
    rows = (tokens.abs() if absolute else tokens).sum(1)
    return torch.zeros(len(case)).index_add(0, case.batch.rows.owner, rows)
