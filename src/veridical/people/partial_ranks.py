"""Ranks of items whose values are known up to an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping


def partial_ranks(intervals: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """The rank of each item by its interval (low, high), best first; items that share ranks all have them: `3-4`.

    Items are sorted by the upper ends of their intervals. A new rank begins where an upper end lies below all lower
    ends so far. So items share ranks when a chain of intervals that overlap joins them, even if their own two do not
    overlap. An item without an interval (NaN) may have any rank.

    >>> partial_ranks({"a": (2.9, 5.7), "b": (-3.4, -0.8), "c": (-0.6, 2.0), "d": (-4.0, -1.4)})
    {'a': '1', 'c': '2', 'b': '3-4', 'd': '3-4'}
    """
    known = {item: _known(*interval) for item, interval in intervals.items()}
    groups: list[list[str]] = []
    lowest = math.inf
    for item in sorted(known, key=lambda item: (-known[item][1], item)):
        low, high = known[item]
        if not groups or high < lowest:
            groups.append([])
        groups[-1].append(item)
        lowest = min(lowest, low)
    return {item: text for group, text in zip(groups, _texts(groups), strict=True) for item in group}


def _known(low: float, high: float) -> tuple[float, float]:
    """What is not known is without bounds."""
    return (-math.inf, math.inf) if math.isnan(low) or math.isnan(high) else (low, high)


def _texts(groups: list[list[str]]) -> list[str]:
    texts, first = [], 1
    for group in groups:
        last = first + len(group) - 1
        texts.append(f"{first}" if first == last else f"{first}-{last}")
        first = last + 1
    return texts
