"""Integrated gradients: the gradient averaged on the way from nothing to the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from veridical.core.component import Count, Presets, Weight, Within, option
from veridical.explainers.base import Scores, adding_up
from veridical.explainers.baselines import Comparing, check_windows
from veridical.explainers.gradients import aggregate
from veridical.masking import Case
from veridical.models import Rows

QuadratureRule = Literal["gauss-legendre", "midpoint", "trapezoid", "left", "right", "smat-code"]

FEWEST_STEPS = 16
"""The first level of the rule that can be refined at which it may stop; it begins with half of that to compare with."""

_MOVED = 5
"""How many times the tolerance a share may move when steps are doubled. Doubling divides the error by four or more, so
what is left of it is at most a third of the move."""


def quadrature(rule: QuadratureRule, steps: int) -> tuple[Tensor, Tensor]:
    """Points in [0, 1] and weights that sum to 1; the trapezoid rule has one point more than steps.

    The rule of SMaT's public code is none: it scales the points of the path by their weights, too, so that it goes no
    further than their sizes, and its weights do not sum to 1. It is there for its published rows only.
    """
    if rule == "smat-code":
        weights = np.full(steps, 1 / steps)
        weights[[0, -1]] /= 2
        return torch.tensor(np.linspace(0, 1, steps) * weights), torch.tensor(weights)
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
        first = FEWEST_STEPS // 2
        t = torch.arange(1, first + 1, dtype=torch.float64) / first
        return first, t**2, torch.where(t == 1, 1.0, 2 * t)  # t = 1 counts half; t = 0 has no weight at all
    t = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps  # half way between the old points
    return 2 * steps, t**2, 2 * t


@dataclass(frozen=True)
class IntegratedGradients(Comparing):
    """Each word's share of the difference between the output for the input and for zero embeddings.

    The shares of all positions add up to that difference as far as the integral is right, so the `residual` tells its
    error. With `aggregate=l2` scores no longer add up, but the residual is still that of the shares. For a model
    without biases, such as ModernBERT, the way from zero embeddings has a jump, and mask vectors take their place.
    Sundararajan et al. 2017.
    """

    steps: Count | Literal["auto"] = option(
        "auto", "How many points of the path are computed; auto doubles them for each text until its shares are exact."
    )
    tolerance: Weight = option(
        0.01,
        "With auto steps, shares are exact if the residual is at most this part of the sum of their sizes, and if none "
        f"moved by more than {_MOVED} times this part of the largest when the steps were doubled.",
    )
    most: Annotated[int, Within(FEWEST_STEPS)] = option(
        128, f"With auto steps, how many there may be; there are at least {FEWEST_STEPS}."
    )
    rule: QuadratureRule = option(
        "gauss-legendre",
        "Where the points of a fixed number of steps are; the default needs the fewest of them. smat-code is no rule: "
        "it sees the first tenth of the path, as the published rows of SMaT do.",
    )
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
        "regex": {"steps": 50, "aggregate": "l2", "baseline": "all"},
        "smat": {"steps": 10, "baseline": "all"},
        "smat-plausibility": {"steps": 50, "baseline": "all"},
        "smat-code": {"steps": 10, "rule": "smat-code", "baseline": "all"},
    }

    @property
    def remedy(self) -> str:
        return (
            "Use more steps, integrated-gradients(most=1024), or begin with a text, if the model has a mask token: "
            "baseline=mask."
        )

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
            before, shares = shares, torch.where(unsure[owner][:, None, None], total / steps, shares)
            if steps >= FEWEST_STEPS:
                unsure &= ~self._exact(case, shares, before, difference)
        return shares

    def _exact(self, case: Case, shares: Tensor, before: Tensor, difference: Tensor) -> Tensor:
        """Whether the shares [R, L, d] of each example are exact enough, [B], given those of half as many steps.

        The residual alone would not tell: errors of single words can cancel out in it.
        """
        owner, now = case.batch.rows.owner, shares.sum(2)  # [R, L]
        moved, largest = (_largest(each, owner, len(case)) for each in (now - before.sum(2), now))
        # Relative to the sizes of the shares: where words cancel out, the difference may be as small as the error.
        sizes = torch.zeros(len(case)).index_add(0, owner, now.abs().sum(1))
        residual = _total(case, shares) - difference
        return (residual.abs() <= self.tolerance * sizes) & (moved <= _MOVED * self.tolerance * largest)

    def _gradients(self, case: Case, row: Tensor, points: Tensor, weights: Tensor) -> Tensor:
        """Weighted gradients at points of the path, times the step from its start to its end, summed: [R, L, d].

        `row` [V], `points` [V] and `weights` [V] say which row, which point of its path and with which weight.
        """

        def contribution(rows: Rows, visit: Tensor) -> Tensor:
            embeds = case.classifier.embed(rows).detach()
            start = case.classifier.embed(self.start(case.classifier, rows)).detach()
            path = torch.lerp(start, embeds, points[visit].to(embeds)[:, None, None]).requires_grad_()
            logits = case.classifier.run(rows, embeds=path).logits
            # A text of several windows has the mean of their logits: each window has its share of the value.
            share = case.shares(rows).to(logits.device)
            value = case.scaled(logits, case.targets[rows.owner].to(logits.device), self.output) * share
            (gradient,) = torch.autograd.grad(value.sum(), path)
            return gradient * (embeds - start) * weights[visit].to(embeds)[:, None, None]

        return case.rowsum(contribution, row)

    def _difference(self, case: Case) -> Tensor:
        whole = case.scaled(case.output.logits, case.targets, self.output)
        return whole - case.value_of(self.start(case.classifier, case.batch.rows), self.output)


def _total(case: Case, shares: Tensor) -> Tensor:
    """The sum [B] over all positions of each example's shares [R, L, d], special tokens included."""
    return torch.zeros(len(case)).index_add(0, case.batch.rows.owner, shares.sum((1, 2)))


def _largest(tokens: Tensor, owner: Tensor, count: int) -> Tensor:
    """The largest size among an example's tokens [R, L], over all its windows: [B]."""
    return torch.zeros(count).scatter_reduce(0, owner, tokens.abs().amax(1), "amax")
