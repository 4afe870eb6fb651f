"""Tests of two things measured on the same documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from veridical.report.audit.intervals import Numbers

_EXACT = 50
_DIGITS = 9


@dataclass(frozen=True)
class Tested:
    """The `statistic` of a test, its two-sided `p`, and how many numbers `n` it rests on."""

    statistic: float
    p: float
    n: int


def differing(differences: Numbers) -> Numbers:
    """The differences that are there and not zero, without the dust of rounding: equal ones become equal."""
    rounded = np.round(differences[~np.isnan(differences)], _DIGITS)
    return np.sort(rounded[rounded != 0])


def signed_ranks(differences: Numbers) -> Numbers:
    """The rank of each difference's size, with the difference's sign; ties share their mean rank."""
    left = differing(differences)
    return np.asarray(stats.rankdata(np.abs(left)) * np.sign(left), dtype=float)


def signed_rank(differences: Numbers) -> Tested:
    """Wilcoxon's signed-rank test: are positive and negative differences alike? Zeros say nothing and are dropped.

    Exact for up to 50 differences without ties, else by the normal approximation. `statistic` is the smaller rank sum.
    """
    ranks = signed_ranks(differences)
    if not len(ranks):
        return Tested(0.0, 1.0, 0)
    statistic = float(min(ranks[ranks > 0].sum(), -ranks[ranks < 0].sum()))
    tied = len(np.unique(np.abs(ranks))) < len(ranks)
    if len(ranks) <= _EXACT and not tied:
        return Tested(statistic, float(stats.wilcoxon(ranks, method="exact").pvalue), len(ranks))
    z = ranks.sum() / np.sqrt((ranks**2).sum())  # the variance with ties and all
    return Tested(statistic, float(2 * stats.norm.sf(abs(z))), len(ranks))


def paired_t(differences: Numbers) -> Tested:
    """Student's test that the mean of about normal differences is zero."""
    left = np.sort(differences[~np.isnan(differences)])
    if len(left) < 2 or np.ptp(left) == 0:
        constant = len(left) > 1 and left[0] != 0
        return Tested(np.inf if constant else 0.0, 0.0 if constant else 1.0, len(left))
    result = stats.ttest_1samp(left, 0)
    return Tested(float(result.statistic), float(result.pvalue), len(left))
