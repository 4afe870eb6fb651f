"""Rationales: from scores to the words that are kept, the best ones or the best run of words, and to their text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from veridical.core.extraction import Shape, WordOrder
from veridical.core.values import TOLERANCE, Unit, share


def chosen(scores: Sequence[float], ratio: float, shape: Shape = "top-k", order: WordOrder = "text") -> list[int]:
    """The places of the kept words. Of equal scores, and of equal runs, the first is taken."""
    count = min(share(ratio, len(scores)), len(scores))
    places = _highest(scores, count) if shape == "top-k" else _best_run(scores, count)
    return sorted(places) if order == "text" else sorted(places, key=lambda place: (-scores[place], place))


def joined(units: Sequence[Unit]) -> str:
    """The text of some units in the order given; those that touch in the text still do."""
    parts = [unit.text for unit in units[:1]]
    for before, unit in pairwise(units):
        touching = before.field == unit.field and before.span[1] == unit.span[0]
        parts += ["" if touching else " ", unit.text]
    return "".join(parts)


def _highest(scores: Sequence[float], count: int) -> list[int]:
    order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
    return [int(place) for place in order[:count]]


def _best_run(scores: Sequence[float], count: int) -> list[int]:
    sums = np.convolve(np.asarray(scores, dtype=float), np.ones(count), mode="valid") if len(scores) else np.zeros(1)
    # Sums of the same numbers may differ in their last digits: the first of the equal ones is meant.
    start = int(np.flatnonzero(sums >= sums.max() - TOLERANCE * max(1.0, float(np.abs(sums).max())))[0])
    return list(range(start, start + count))
