"""Which words come first: places by score, and how many words a share of a text is."""

from __future__ import annotations

import torch
from torch import Tensor

_DUST = 1e-9


def places(scores: Tensor, live: Tensor) -> Tensor:
    """The place of each unit when the highest score comes first: [B, U] and [B, U] give [B, U], 0 is first.

    Equal scores keep their order in the text. Slots without a unit come after all others.
    """
    order = scores.masked_fill(~live, -torch.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1)


def share(ratio: float, units: Tensor) -> Tensor:
    """How many units [B] a share of texts with so many `units` [B] is: rounded up, and at least 1."""
    # In double precision and with a hair's breadth off, or 0.1 of 30 words would be 4.
    return (ratio * units.double() - _DUST).ceil().clamp(min=1).long()


def share_rounded_down(ratio: float, units: Tensor) -> Tensor:
    """How many units [B] a share of texts with so many `units` [B] is: rounded down, so it may be none."""
    return (ratio * units.double() + _DUST).floor().long()


def top(place: Tensor, counts: Tensor) -> Tensor:
    """Which units are among the first: places [B, U] and counts [B, K] give booleans [B, K, U]."""
    return place[:, None, :] < counts[:, :, None]
