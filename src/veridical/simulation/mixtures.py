"""Mixtures: the logits of attention heads, or other sources of scores, weighed and made into shares of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from veridical.models import Rows
from veridical.simulation.plans import Weighing

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


def head_logits(layers: Sequence[Tensor], rows: Rows) -> Tensor:
    """What the words of each row look at, head by head: attention weights [R, H, T, T] of layers give [R, H', T].

    They are the logits of the keys, averaged over the queries. The logarithm of a weight is its logit up to a constant
    for each query, so what is made of them by `shares` is the same, whatever the heads are weighed by.
    """
    weights = torch.cat(tuple(layers), dim=1).float()  # half precision has no number as small as the one below
    logs = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
    queries = attended(rows, weights.device)[:, None, :, None]
    return (logs * queries).sum(2) / queries.sum(2)


def attended(rows: Rows, device: torch.device) -> Tensor:
    """Which positions of rows may be looked at, [R, T] of 0 and 1: all but padding."""
    return (rows.inputs["attention_mask"].to(device) > 0).float()


def shares(scores: Tensor, rows: Rows, how: Normaliser = "softmax") -> Tensor:
    """Shares of the positions of each row, [R, T], from scores [R, T]; padding has none."""
    return normalise(scores.masked_fill(attended(rows, scores.device) == 0, -1e10), how)


class Mixture(nn.Module):
    """How much each of some sources counts: parameters `phi` [J], which begin with as much for each."""

    def __init__(self, sources: int, weighing: Weighing) -> None:
        super().__init__()
        assert weighing in get_args(Weighing)
        self.phi = nn.Parameter(torch.full((sources,), 1.0 / sources))
        self.weighing: Weighing = weighing

    def weights(self, phi: Tensor | None = None) -> Tensor:
        """The weights of the sources, [J], by these parameters or its own."""
        phi = self.phi if phi is None else phi
        return phi if self.weighing == "none" else normalise(phi, self.weighing)

    def forward(self, sources: Tensor, phi: Tensor | None = None) -> Tensor:
        """The scores [R, T] that sources [R, J, T] give together."""
        return torch.einsum("rjt,j->rt", sources, self.weights(phi))
