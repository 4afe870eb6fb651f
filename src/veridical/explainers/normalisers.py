"""From any scores to shares that add up to 1, with or without exact zeros."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Normaliser = Literal["softmax", "sparsemax", "entmax15"]
"""Every share above 0; only the highest, as the nearest point of the simplex; or something in between."""


def normalise(scores: Tensor, how: Normaliser) -> Tensor:
    """Shares along the last dimension, differentiable; Martins and Astudillo 2016, Peters et al. 2019."""
    if how == "softmax":
        return scores.softmax(-1)
    return _sparsemax(scores) if how == "sparsemax" else _entmax15(scores)


def _sparsemax(scores: Tensor) -> Tensor:
    ordered, rank = _ordered(scores)
    # If the first k scores are the ones with a share, what they have in common is taken off so that 1 is left.
    threshold = (ordered.cumsum(-1) - 1) / rank
    return (scores - _last_below(threshold, ordered)).clamp(min=0)


def _entmax15(scores: Tensor) -> Tensor:
    ordered, rank = _ordered(scores / 2)
    # The same for shares (z / 2 - threshold)^2: a quadratic equation in the threshold for each k.
    mean = ordered.cumsum(-1) / rank
    scatter = rank * (ordered.square().cumsum(-1) / rank - mean.square())
    # Below 0 there is no threshold; a root of 0 would have no derivative.
    threshold = mean - ((1 - scatter) / rank).clamp(min=1e-12).sqrt()
    return (scores / 2 - _last_below(threshold, ordered)).clamp(min=0).square()


def _ordered(scores: Tensor) -> tuple[Tensor, Tensor]:
    """The scores from the highest down, and their ranks."""
    ordered = scores.sort(dim=-1, descending=True).values
    return ordered, torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype, device=scores.device)


def _last_below(threshold: Tensor, ordered: Tensor) -> Tensor:
    """The threshold of the smallest score that is still above its own."""
    support = (threshold < ordered).sum(-1, keepdim=True).clamp(min=1)
    return threshold.gather(-1, support - 1)
