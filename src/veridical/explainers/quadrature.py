"""Points and weights to integrate from 0 to 1."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

Rule = Literal["gauss-legendre", "midpoint", "trapezoid", "left", "right"]

FEWEST_STEPS = 16
"""The first level of the rule that can be refined."""


def quadrature(rule: Rule, steps: int) -> tuple[Tensor, Tensor]:
    """Points in [0, 1] and weights that sum to 1; the trapezoid rule has one point more than steps."""
    if rule == "gauss-legendre":
        points, weights = np.polynomial.legendre.leggauss(steps)
        return torch.tensor((points + 1) / 2), torch.tensor(weights / 2)
    if rule == "trapezoid":
        weights = np.full(steps + 1, 1 / steps)
        weights[[0, -1]] /= 2
        return torch.tensor(np.linspace(0, 1, steps + 1)), torch.tensor(weights)
    shift = {"left": 0.0, "midpoint": 0.5, "right": 1.0}[rule]
    return (torch.arange(steps, dtype=torch.float64) + shift) / steps, torch.full((steps,), 1 / steps).double()


def finer(steps: int) -> tuple[int, Tensor, Tensor]:
    """The next level of a rule that can be refined: its number of steps, its new points and their weights.

    The weighted sum over the points of all levels so far, divided by the number of steps, is the integral. This is the
    trapezoid rule in t for the integral over t^2: on the way from nothing to a text, networks change fastest near
    nothing, and there it has more points. Doubling keeps all old points.
    """
    if not steps:
        t = torch.arange(1, FEWEST_STEPS + 1, dtype=torch.float64) / FEWEST_STEPS
        return FEWEST_STEPS, t**2, torch.where(t == 1, 1.0, 2 * t)  # t = 1 counts half; t = 0 has no weight at all
    t = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps
    return 2 * steps, t**2, 2 * t
