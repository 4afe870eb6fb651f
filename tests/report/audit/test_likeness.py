"""Explanations compared with each other."""

import math

import numpy as np
import pytest
from scipy.stats import rankdata

from veridical.core.errors import InputError
from veridical.report.audit.likeness import agreement, jaccard, rank_correlation

ONE, OTHER = (4.0, 3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0), (4.0, 0.0, 3.0, 1.0, 0.0, -1.0, -2.0, -3.0)


def test_the_first_quarter():
    assert jaccard(ONE, OTHER) == pytest.approx(1 / 3)  # 2 of 8 words; they share the first
    assert jaccard(ONE, OTHER, ratio=1.0) == 1


def test_the_same_is_1_and_the_measure_is_symmetric():
    assert jaccard(ONE, ONE) == 1
    assert jaccard(ONE, OTHER) == jaccard(OTHER, ONE)


def test_counts_are_rounded_up_and_at_least_1():
    assert jaccard((2.0, 1.0, 0.0), (2.0, 0.0, 1.0)) == 1  # one word of 3
    assert jaccard((5.0, 4.0, 0.0, 0.0, 0.0), (5.0, 0.0, 4.0, 0.0, 0.0)) == pytest.approx(1 / 3)  # two of 5


def test_what_chance_reaches():
    chance = np.random.RandomState(0)
    found = [jaccard(*chance.rand(2, 20)) for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.15, abs=0.01)


def test_rank_correlations():
    assert rank_correlation((1.0, 2.0, 3.0), (1.0, 20.0, 300.0)) == pytest.approx(1)
    assert rank_correlation((1.0, 2.0, 3.0), (3.0, 2.0, 1.0), "kendall") == pytest.approx(-1)
    expected = np.corrcoef(rankdata(ONE), rankdata(OTHER))[0, 1]
    assert rank_correlation(ONE, OTHER) == pytest.approx(expected)


def test_what_ranks_nothing_has_no_correlation():
    assert math.isnan(rank_correlation((0.0, 0.0), (1.0, 2.0)))
    assert math.isnan(rank_correlation((1.0,), (2.0,), "kendall"))
    assert math.isnan(rank_correlation((), ()))
    assert math.isnan(jaccard((), ()))


def test_agreement_is_the_mean_of_all_pairs():
    chance = np.random.RandomState(0)
    sizes = chance.randint(1, 40, 50)
    methods = {name: [tuple(chance.randint(-3, 4, size) / 2) for size in sizes] for name in "abc"}
    found = agreement(methods, 0.25)
    for row, one in enumerate(methods.values()):
        for column, other in enumerate(methods.values()):
            expected = np.mean([jaccard(x, y) for x, y in zip(one, other, strict=True)])
            assert found[row, column] == pytest.approx(expected)


def test_documents_without_words_do_not_count():
    assert agreement({"a": [(), (1.0, 0.0)], "b": [(), (1.0, 0.0)]}).tolist() == [[1, 1], [1, 1]]
    assert np.isnan(agreement({"a": [()], "b": [()]})).all()


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="different numbers of scores: 2, 1"):
        jaccard((1.0, 2.0), (1.0,))
    with pytest.raises(InputError, match="a has 1, b has 2"):
        agreement({"a": [(1.0,)], "b": [(1.0,), (2.0,)]})
