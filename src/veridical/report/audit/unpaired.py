"""Tests of two things measured on different documents. On the same ones the paired tests see more."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from veridical.report.audit.intervals import Numbers
from veridical.report.audit.paired import Tested


def rank_sum(first: Numbers, second: Numbers) -> Tested:
    """Wilcoxon's rank-sum test by the normal approximation: are the numbers of one side higher?"""
    first, second = _known(first), _known(second)
    if not len(first) or not len(second):
        return Tested(0.0, 1.0, len(first) + len(second))
    result = stats.ranksums(first, second)
    return Tested(float(result.statistic), float(result.pvalue), len(first) + len(second))


def unpaired_t(first: Numbers, second: Numbers) -> Tested:
    """Student's test that two about normal samples of equal spread have the same mean."""
    first, second = _known(first), _known(second)
    if min(len(first), len(second)) < 2 or np.ptp(first) == np.ptp(second) == 0:
        return Tested(0.0, 1.0, len(first) + len(second))  # without any spread there is nothing to judge by
    result = stats.ttest_ind(first, second)
    return Tested(float(result.statistic), float(result.pvalue), len(first) + len(second))


def two_proportions(first: int, of_first: int, second: int, of_second: int) -> Tested:
    """The z test that two shares, such as 89 of 100 and 60 of 100, are the same."""
    pooled = (first + second) / (of_first + of_second)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / of_first + 1 / of_second))
    z = (first / of_first - second / of_second) / spread if spread else 0.0
    return Tested(z, float(2 * stats.norm.sf(abs(z))), of_first + of_second)


def _known(sample: Numbers) -> Numbers:
    return np.sort(sample[~np.isnan(sample)])
