"""From scores to places and levels: which words come first, and which speak strongly, weakly or not at all."""

from __future__ import annotations

import torch
from torch import Tensor

from veridical.core import rationale


def places(scores: Tensor, live: Tensor) -> Tensor:
    """The place of each unit when the highest score comes first: [B, U] and [B, U] give [B, U], 0 is first.

    Equal scores keep their order in the text. Slots without a unit come after all others.
    """
    order = scores.masked_fill(~live, -torch.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1)


def share(ratio: float, units: Tensor) -> Tensor:
    """How many units [B] a share of texts with so many `units` [B] is: rounded up, and at least 1."""
    # Number by number, so that there is one rule: a rationale must have as many words as a metric takes away.
    counts = [rationale.share(ratio, number) for number in units.tolist()]
    return torch.tensor(counts, dtype=torch.long, device=units.device)


def share_rounded_down(ratio: float, units: Tensor) -> Tensor:
    """How many units [B] a share of texts with so many `units` [B] is: rounded down, so it may be none."""
    return (ratio * units.double() + rationale.TOLERANCE).floor().long()


def top(place: Tensor, counts: Tensor) -> Tensor:
    """Which units are among the first: places [B, U] and counts [B, K] give booleans [B, K, U]."""
    return place[:, None, :] < counts[:, :, None]


HIGH_NEGATIVE, LOW_NEGATIVE, NEUTRAL, LOW_POSITIVE, HIGH_POSITIVE = range(5)


def levels(scores: Tensor, live: Tensor) -> Tensor:
    """The level of each unit, [B, U] and [B, U] give [B, U]: from 0, highly negative, over 2, neutral, to 4.

    High is what lies beyond the mean of the document's own scores of that sign, so scaling changes nothing, and a
    word that is the only one of its sign is low. Slots without a unit are neutral.
    """
    positive, negative = live & (scores > 0), live & (scores < 0)
    above = positive & (scores > _mean(scores, positive))
    below = negative & (scores < _mean(scores, negative))
    found = torch.full(scores.shape, NEUTRAL)
    for where, level in ((positive, LOW_POSITIVE), (negative, LOW_NEGATIVE)):
        found[where] = level
    found[above], found[below] = HIGH_POSITIVE, HIGH_NEGATIVE
    return found


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean of some of the values of each document, [B, 1]."""
    # In double precision: a word that is alone with its sign must equal its own mean, and so must words that are alike.
    total = values.double().masked_fill(~where, 0).sum(1, keepdim=True)
    return total / where.sum(1, keepdim=True).clamp(min=1)
