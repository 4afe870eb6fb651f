"""Intervals of means: what other documents of the same kind would probably have given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from veridical.report.audit.findings import ALPHA, Estimate, IntervalKind

Numbers = NDArray[np.float64]

_RESAMPLES, _SEED = 2000, 0
_PORTION = 500_000
"""Weights made at once: 4 MB, however many documents there are."""


def estimate(sample: Numbers, kind: IntervalKind = "bootstrap") -> Estimate:
    """The mean of the numbers [N] that are not NaN, with its interval."""
    return estimates([sample], kind)[0]


def estimates(samples: Sequence[Numbers], kind: IntervalKind = "bootstrap") -> list[Estimate]:
    """The same of several samples; those of one size share the work."""
    # Sorted, so that the order of documents changes nothing, not even the last digit.
    known = [np.sort(sample[~np.isnan(sample)]) for sample in samples]
    found: dict[int, Estimate] = {}
    for size in {len(sample) for sample in known}:
        where = [index for index, sample in enumerate(known) if len(sample) == size]
        found.update(zip(where, _alike(np.stack([known[index] for index in where], 1), kind), strict=True))
    return [found[index] for index in range(len(known))]


def t_interval(samples: Numbers) -> tuple[Numbers, Numbers]:
    """Student's interval of each column [N, C], for means of about normal numbers."""
    size, mean = len(samples), samples.mean(0)
    half = stats.t.ppf(1 - ALPHA / 2, size - 1) * samples.std(0, ddof=1) / np.sqrt(size)  # [C]
    return mean - half, mean + half


def bootstrap(samples: Numbers) -> tuple[Numbers, Numbers]:
    """The percentile interval of each column [N, C]: where the means of resampled documents fall.

    It assumes no shape, but is a little too narrow for few and very uneven numbers: 92% for 60 exponential ones.
    """
    means = np.concatenate([weights @ samples for weights in _resamples(len(samples))])  # [resamples, C]
    low, high = np.percentile(means, [100 * ALPHA / 2, 100 * (1 - ALPHA / 2)], axis=0)
    return low, high


def _alike(samples: Numbers, kind: IntervalKind) -> list[Estimate]:
    size, columns = samples.shape
    if size < 2:
        means = samples.sum(0) if size else np.full(columns, np.nan)
        return [Estimate(float(mean), np.nan, np.nan, size) for mean in means]
    low, high = bootstrap(samples) if kind == "bootstrap" else t_interval(samples)
    return [Estimate(float(m), float(a), float(b), size) for m, a, b in zip(samples.mean(0), low, high, strict=True)]


def _resamples(size: int) -> Iterator[Numbers]:
    """Weights of documents [portion, size], in portions; how often a document was drawn, over how many were."""
    rows = max(1, _PORTION // size)
    for start in range(0, _RESAMPLES, rows):
        yield _weights(size, start, min(rows, _RESAMPLES - start))


@lru_cache(maxsize=24)
def _weights(size: int, start: int, rows: int) -> Numbers:
    drawn = np.random.default_rng([_SEED, size, start]).integers(size, size=(rows, size))
    drawn += size * np.arange(rows)[:, None]  # in place, and each row counts apart
    return np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size) / size
