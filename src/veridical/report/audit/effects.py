"""Effect sizes: a p says whether there is a difference, these say how large it is."""

from __future__ import annotations

import math

import numpy as np

from veridical.report.audit.intervals import Numbers
from veridical.report.audit.paired import signed_ranks

_DUST = 1e-9


def rank_biserial(differences: Numbers) -> float:
    """Matched pairs: the rank sum of positive differences less that of negative ones, over both; 0 without any."""
    ranks = signed_ranks(differences)
    return float(ranks.sum() / np.abs(ranks).sum()) if len(ranks) else 0.0


def cohen(differences: Numbers) -> float:
    """Cohen's d_z: the mean difference in standard deviations of the differences, NaN of fewer than two.

    Differences that are all the same have an infinite effect, or none.
    """
    left = np.sort(differences[~np.isnan(differences)])
    if len(left) < 2:
        return math.nan
    mean, spread = float(left.mean()), float(left.std(ddof=1))
    # A mean or spread that is nothing but rounding would make an effect of nothing, or any effect look enormous.
    if abs(mean) < _DUST:
        return 0.0
    return mean / spread if spread > _DUST * abs(mean) else math.copysign(math.inf, mean)
