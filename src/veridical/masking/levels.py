"""From scores to labels: which words speak strongly, weakly or not at all for or against a class."""

from __future__ import annotations

import torch
from torch import Tensor

HIGH_NEGATIVE, LOW_NEGATIVE, NEUTRAL, LOW_POSITIVE, HIGH_POSITIVE = range(5)

HIGH, MEDIUM, LOW = range(3)


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


def levels_without_sign(scores: Tensor, live: Tensor) -> Tensor:
    """The level of each unit where no score is negative, [B, U]: 0 is high, 1 medium, 2 low.

    Medium is what lies within a standard deviation of the document's mean. Slots without a unit are low.
    """
    mean = _mean(scores, live)
    spread = _mean((scores - mean).square(), live).sqrt()
    found = torch.full(scores.shape, LOW)
    found[live & (scores >= mean - spread)] = MEDIUM
    found[live & (scores >= mean + spread)] = HIGH
    return found


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean of some of the values of each document, [B, 1]."""
    # In double precision: a word that is alone with its sign must equal its own mean, and so must words that are alike.
    total = values.double().masked_fill(~where, 0).sum(1, keepdim=True)
    return total / where.sum(1, keepdim=True).clamp(min=1)
