"""Whether annotators agree: Kendall's W and Krippendorff's alpha, with intervals over examples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy import stats

from veridical.people.ranking import Ranking, in_order, items_of
from veridical.people.resamples import Numbers, drawn_counts

_TAILS = 2.5, 97.5


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of agreement with its 95% interval and the number of examples that it rests on.

    All numbers are NaN where the coefficient is undefined, and the interval also where there is only one example.
    """

    value: float
    low: float
    high: float
    examples: int


_UNDEFINED = Coefficient(math.nan, math.nan, math.nan, 0)


@dataclass(frozen=True)
class AnnotatorAgreement:
    """How much annotators agree on the same examples. Both coefficients are 1 where they agree fully.

    `kendall` is the mean over examples of Kendall's W. It needs a complete design, where every annotator ranks the same
    items of every example, and is undefined without one. Without any agreement it is not 0 but about `chance`, which is
    1 over the number of annotators.

    `alpha` is Krippendorff's, for ordinal data: 0 where annotators agree as often as any two ranks of the study do, and
    below 0 where they agree less. Rankings may be missing.
    """

    kendall: Coefficient
    alpha: Coefficient
    annotators: int
    chance: float


def agreement(rankings: Iterable[Ranking], *, draws: int = 1000, seed: int = 0) -> AnnotatorAgreement:
    """How much annotators agree, with intervals from a bootstrap over examples.

    The intervals are about other examples and these annotators: a few annotators do not say how much others would
    agree.
    """
    ordered = in_order(rankings)
    annotators = len({ranking.annotator for ranking in ordered})
    examples = [tuple(group) for _, group in groupby(ordered, key=lambda ranking: ranking.example)]
    counts = drawn_counts(len(examples), draws, np.random.default_rng(seed))
    kendall = _kendall(examples, counts) if annotators > 1 and _is_complete(examples) else _UNDEFINED
    return AnnotatorAgreement(kendall, _alpha(examples, counts), annotators, 1 / annotators)


def kendall_w(ranks: Numbers) -> float:
    """Kendall's W of one example, [annotators, items]: 1 if all rank alike. Corrected for ties; NaN if all is tied.

    It is how much the sums of ranks differ between items, over how much they would differ if all annotators agreed.
    """
    middle = stats.rankdata(ranks, axis=1)  # those that are tied have their mean rank
    annotators, items = middle.shape
    differ = ((middle.sum(axis=0) - annotators * (items + 1) / 2) ** 2).sum()
    tied = sum((size**3 - size).sum() for row in ranks for size in [np.unique(row, return_counts=True)[1]])
    most = (annotators**2 * (items**3 - items) - annotators * tied) / 12
    return float(differ / most) if most else math.nan


def coincidences(counts: Numbers) -> Numbers:
    """How often two annotators gave a unit which two values, [values, values], from the counts [units, values].

    Each value counts once in all its pairs together, so a unit that more annotators have judged counts for more. A
    value that is alone in its unit has no pairs.
    """
    judged = counts.sum(axis=1)
    counts, judged = counts[judged > 1], judged[judged > 1]
    shared = counts / (judged - 1)[:, None]
    found: Numbers = shared.T @ counts - np.diag(shared.sum(axis=0))
    return found


def ordinal_alpha(coincidence: Numbers) -> Numbers:
    """Krippendorff's alpha for ordinal values, [...], from coincidences [..., values, values] in the values' order.

    Two values differ by the number of judgements from the one to the other, each end by half. Alpha is 1 less the
    squared difference within units, over that between any two judgements. NaN where all judgements are the same.
    """
    counts = coincidence.sum(axis=-1)  # [..., values]
    middle = counts.cumsum(axis=-1) - counts / 2
    apart = (middle[..., :, None] - middle[..., None, :]) ** 2
    observed = (coincidence * apart).sum(axis=(-2, -1)) * (counts.sum(axis=-1) - 1)
    expected = (counts[..., :, None] * counts[..., None, :] * apart).sum(axis=(-2, -1))
    ratio: Numbers = np.divide(observed, expected, out=np.full(observed.shape, np.nan), where=expected > 0)
    return 1 - ratio


def _is_complete(examples: Sequence[Sequence[Ranking]]) -> bool:
    designs = {tuple((ranking.annotator, tuple(sorted(ranking.ranks))) for ranking in each) for each in examples}
    return len(designs) == 1 and len({items for _, items in next(iter(designs))}) == 1


def _kendall(examples: Sequence[Sequence[Ranking]], counts: Numbers) -> Coefficient:
    ws = np.array([kendall_w(_table(each)) for each in examples])
    known = ~np.isnan(ws)
    if not known.any():
        return _UNDEFINED
    sums, numbers = counts[:, known] @ ws[known], counts[:, known].sum(axis=1)
    return _coefficient(float(ws[known].mean()), sums[numbers > 0] / numbers[numbers > 0], int(known.sum()))


def _table(example: Sequence[Ranking]) -> Numbers:
    """The ranks [annotators, items] of a complete example."""
    items = sorted(example[0].ranks)
    return np.array([[ranking.ranks[item] for item in items] for ranking in example], dtype=float)


def _alpha(examples: Sequence[Sequence[Ranking]], counts: Numbers) -> Coefficient:
    values = sorted({rank for each in examples for ranking in each for rank in ranking.ranks.values()})
    found = np.stack([coincidences(_judgements(each, values)) for each in examples])  # [examples, values, values]
    drawn = ordinal_alpha(np.tensordot(counts, found, axes=1))
    compared = int(found.any(axis=(1, 2)).sum())
    return _coefficient(float(ordinal_alpha(found.sum(axis=0))), drawn, compared)


def _judgements(example: Sequence[Ranking], values: Sequence[int]) -> Numbers:
    """How many annotators gave each item which rank, [items, values]."""
    items = items_of(example)
    counts = np.zeros((len(items), len(values)))
    for ranking in example:
        for item, rank in ranking.ranks.items():
            counts[items.index(item), values.index(rank)] += 1
    return counts


def _coefficient(value: float, drawn: Numbers, examples: int) -> Coefficient:
    if math.isnan(value):
        return _UNDEFINED
    known = drawn[~np.isnan(drawn)]
    if examples < 2 or not known.size:
        return Coefficient(value, math.nan, math.nan, examples)
    low, high = np.percentile(known, _TAILS)
    return Coefficient(value, float(low), float(high), examples)
