"""Integrated gradients: the gradient averaged on the way from nothing to the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError
from veridical.explainers.gradients import Aggregate, aggregate
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Rows

Rule = Literal["gauss-legendre", "midpoint", "trapezoid", "left", "right"]


@dataclass(frozen=True)
class IntegratedGradients:
    """Each word's share of the difference between the output for the input and for zero embeddings.

    With `aggregate=sum` the shares of all positions add up to that difference (completeness); `l2` gives that up.
    `baseline=content` leaves special tokens in place, `all` starts from zero everywhere, as the papers do.
    """

    steps: int = 50
    rule: Rule = "gauss-legendre"
    baseline: Literal["all", "content"] = "all"
    aggregate: Aggregate = "sum"
    output: Scale = "logit"
    pieces: Pieces = "sum"
    needs: ClassVar[frozenset[str]] = frozenset({"gradients"})
    cost: ClassVar[str] = "steps x (1 forward, 1 backward)"
    presets: ClassVar[dict[str, dict[str, object]]] = {
        "regex": {"steps": 50, "aggregate": "l2"},
        "smat": {"steps": 10},
        "smat-plausibility": {"steps": 50},
    }

    def scores(self, case: Case) -> Tensor:
        return case.to_units(self.token_scores(case), self.pieces)

    def token_scores(self, case: Case) -> Tensor:
        """Scores of all positions, special tokens too: [R, L]. With `sum` each example's add up to the difference."""
        self._check_windows(case)
        points, weights = quadrature(self.rule, self.steps)

        def contribution(rows: Rows, step: Tensor) -> Tensor:
            embeds = case.classifier.embed(rows).detach()
            start = self._start(rows, embeds)
            path = torch.lerp(start, embeds, points[step].to(embeds)[:, None, None]).requires_grad_()
            logits = case.classifier.run(rows, embeds=path).logits
            share = case.shares(rows).to(logits.device)
            value = case.scaled(logits, case.targets[rows.owner].to(logits.device), self.output) * share
            (gradient,) = torch.autograd.grad(value.sum(), path)
            return gradient * (embeds - start) * weights[step].to(embeds)[:, None, None]

        return aggregate(case.rowsum(contribution, self.steps_run), self.aggregate)

    @property
    def steps_run(self) -> int:
        """The number of points where a gradient is taken; the trapezoid rule has one more than steps."""
        return self.steps + (self.rule == "trapezoid")

    def _start(self, rows: Rows, embeds: Tensor) -> Tensor:
        if self.baseline == "all":
            return torch.zeros_like(embeds)
        return embeds * (rows.unit_of < 0)[..., None].to(embeds)

    def _check_windows(self, case: Case) -> None:
        if self.output != "logit" and len(case.batch.rows) > len(case):
            raise UnsupportedError(
                f"integrated gradients of a {self.output} are not defined window by window",
                remedy="Use output=logit, or long=truncate.",
            )


def quadrature(rule: Rule, steps: int) -> tuple[Tensor, Tensor]:
    """Points in [0, 1] and weights that sum to 1."""
    if rule == "gauss-legendre":
        points, weights = np.polynomial.legendre.leggauss(steps)
        return torch.tensor((points + 1) / 2), torch.tensor(weights / 2)
    if rule == "trapezoid":
        weights = np.full(steps + 1, 1 / steps)
        weights[[0, -1]] /= 2
        return torch.tensor(np.linspace(0, 1, steps + 1)), torch.tensor(weights)
    shift = {"left": 0.0, "midpoint": 0.5, "right": 1.0}[rule]
    return (torch.arange(steps, dtype=torch.float64) + shift) / steps, torch.full((steps,), 1 / steps).double()
