"""What a sample of numbers says: intervals, paired tests, effect sizes, correction for many tests, power."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from veridical.audits.statistics.findings import ALPHA, Estimate

Numbers = NDArray[np.float64]

# With 2,000 resamples the ends of an interval are off by about 2% of its width. The seed is fixed, so that the same
# audit gives the same card to the last digit.
_RESAMPLES, _SEED = 2000, 0
_PORTION = 500_000
"""Weights made at once: 4 MB, however many documents there are."""


def estimate(sample: Numbers) -> Estimate:
    """The mean of the numbers [N] that are not NaN, with its interval."""
    return estimates([sample])[0]


def estimates(samples: Sequence[Numbers]) -> list[Estimate]:
    """The same of several samples; those of one size share the work."""
    # Sorted, so that the order of documents changes nothing, not even the last digit.
    known = [np.sort(sample[~np.isnan(sample)]) for sample in samples]
    found: dict[int, Estimate] = {}
    for size in {len(sample) for sample in known}:
        where = [index for index, sample in enumerate(known) if len(sample) == size]
        found.update(zip(where, _estimates_of_one_size(np.stack([known[index] for index in where], 1)), strict=True))
    return [found[index] for index in range(len(known))]


def bootstrap(samples: Numbers) -> tuple[Numbers, Numbers]:
    """The percentile interval of each column [N, C]: where the means of resampled documents fall.

    It assumes no shape, but is a little too narrow for few and very uneven numbers: 92% for 60 exponential ones.
    """
    # The mean of a resample is a weighted mean of the documents, so one product gives it for all columns at once.
    means = np.concatenate([weights @ samples for weights in _resamples(len(samples))])  # [resamples, C]
    low, high = np.percentile(means, [100 * ALPHA / 2, 100 * (1 - ALPHA / 2)], axis=0)
    return low, high


def _estimates_of_one_size(samples: Numbers) -> list[Estimate]:
    size, columns = samples.shape  # [N, C]
    if size < 2:
        means = samples.sum(0) if size else np.full(columns, np.nan)
        return [Estimate(float(mean), np.nan, np.nan, size) for mean in means]
    low, high = bootstrap(samples)
    return [Estimate(float(m), float(a), float(b), size) for m, a, b in zip(samples.mean(0), low, high, strict=True)]


def _resamples(size: int) -> Iterator[Numbers]:
    """Weights of documents [portion, size], in portions; how often a document was drawn, over how many were."""
    rows = max(1, _PORTION // size)
    for start in range(0, _RESAMPLES, rows):
        yield _weights(size, start, min(rows, _RESAMPLES - start))


# Kept, because all tables of an audit have samples of the same few sizes.
@lru_cache(maxsize=24)
def _weights(size: int, start: int, rows: int) -> Numbers:
    drawn = np.random.default_rng([_SEED, size, start]).integers(size, size=(rows, size))
    drawn += size * np.arange(rows)[:, None]  # in place, and each row counts apart
    return np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size) / size


_EXACT = 50
"""Up to so many differences the exact distribution is used."""

_DIGITS = 9
"""Differences that agree to so many digits are ties: the rest is rounding."""


@dataclass(frozen=True)
class Tested:
    """The `statistic` of a test, its two-sided `p`, and how many numbers `n` it rests on."""

    statistic: float
    p: float
    n: int


def differing(differences: Numbers) -> Numbers:
    """The differences that are neither NaN nor zero, rounded: those that differ by rounding alone become equal."""
    rounded = np.round(differences[~np.isnan(differences)], _DIGITS)
    return np.sort(rounded[rounded != 0])


def signed_ranks(differences: Numbers) -> Numbers:
    """The rank of each difference's size, with the difference's sign; ties share their mean rank."""
    left = differing(differences)
    return np.asarray(stats.rankdata(np.abs(left)) * np.sign(left), dtype=float)


def signed_rank(differences: Numbers) -> Tested:
    """Wilcoxon's signed-rank test: are positive and negative differences alike? Zeros say nothing and are dropped.

    Exact for up to 50 differences, also with ties, else by the normal approximation. `statistic` is the smaller rank
    sum.
    """
    ranks = signed_ranks(differences)
    if not len(ranks):
        return Tested(0.0, 1.0, 0)
    statistic = float(min(ranks[ranks > 0].sum(), -ranks[ranks < 0].sum()))
    # The mean ranks of ties are whole or half numbers, so twice a rank is whole.
    twice = np.rint(2 * np.abs(ranks)).astype(int)
    tail = _exact_tail(twice, round(2 * statistic)) if len(ranks) <= _EXACT else _normal_tail(twice, 2 * statistic)
    return Tested(statistic, min(1.0, 2 * tail), len(ranks))


def _exact_tail(sizes: NDArray[np.int_], at_most: int) -> float:
    """The probability that the sizes with a plus sum to no more than a number, if each sign is a coin's.

    The distribution of the sum is built up one rank after another: with probability 1/2 a rank adds nothing, else its
    size. That holds for any ranks, tied or not.
    """
    chance = np.zeros(sizes.sum() + 1)
    chance[0] = 1.0
    for size in sizes:
        chance[size:] = (chance[size:] + chance[:-size]) / 2  # the right side is computed before anything is stored
        chance[:size] /= 2
    return float(chance[: at_most + 1].sum())


def _normal_tail(sizes: NDArray[np.int_], at_most: float) -> float:
    """The same by the normal distribution, which such a sum comes close to.

    Its mean is half the sum of the sizes and its variance a quarter of the sum of their squares. It moves in steps of
    the largest number that divides all sizes. Half a step is the correction for continuity; where all differences are
    tied a step is a whole rank, and without the correction p would be far too small.
    """
    step = int(np.gcd.reduce(sizes))
    deviation = math.sqrt(float((sizes.astype(float) ** 2).sum())) / 2
    return float(stats.norm.cdf((at_most + step / 2 - sizes.sum() / 2) / deviation))


_TOLERANCE = 1e-9


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
    if abs(mean) < _TOLERANCE:
        return 0.0
    return mean / spread if spread > _TOLERANCE * abs(mean) else math.copysign(math.inf, mean)


def holm(ps: Sequence[float]) -> list[float]:
    """The adjusted p of each test: the i-th smallest of m times m - i + 1, never falling, at most 1."""
    order = np.argsort(ps, kind="stable")
    steps = np.asarray(ps, dtype=float)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    # Never falling: Holm stops at the first test that fails, so no later one may look clearer than it.
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(p) for p in adjusted]


def levels(ps: Sequence[float]) -> list[float]:
    """The level that the procedure holds each test to: ALPHA over the number of tests that are no clearer."""
    order = np.argsort(ps, kind="stable")
    level = np.empty(len(ps))
    level[order] = ALPHA / np.arange(len(ps), 0, -1)
    return [float(each) for each in level]


MOST = 100_000
"""More documents than this are as good as never."""

_POWER = 0.8
_EFFICIENCY = 3 / math.pi
"""Of the signed-rank test, next to the t test on normal differences."""


def documents_needed(effect: float, level: float = ALPHA) -> int | None:
    """Documents for 80% power of a signed-rank test at an effect (Cohen's d_z); None if that is more than `MOST`."""
    if math.isnan(effect) or effect == 0:
        return None
    # With n documents the mean lies d_z * sqrt(n) standard errors from 0. That must be the quantile of the level plus
    # the quantile of the power; the rank test needs more by its efficiency.
    quantiles = stats.norm.ppf(1 - level / 2) + stats.norm.ppf(_POWER)
    needed = (quantiles / effect) ** 2 / _EFFICIENCY
    return max(math.ceil(needed), fewest(level)) if needed <= MOST else None


def smallest_effect(documents: int, level: float = ALPHA) -> float:
    """The effect (Cohen's d_z) that so many documents would show with 80% power; infinite where nothing could be."""
    if documents < fewest(level):
        return math.inf
    # The same equation as of `documents_needed`, solved for the effect.
    quantiles = stats.norm.ppf(1 - level / 2) + stats.norm.ppf(_POWER)
    return float(quantiles / math.sqrt(documents * _EFFICIENCY))


def fewest(level: float = ALPHA) -> int:
    """With fewer documents not even differences that all point one way would be significant."""
    # All n signs agree with probability 2 * 0.5^n if nothing differs: that is the smallest p of the exact test.
    return math.ceil(1 - math.log2(level))
