"""Paired tests give the published numbers, and say the sensible thing where there is nothing to test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from veridical.report.audit.paired import paired_t, signed_rank

ONE = np.array([0.62, 0.55, 0.70, 0.41, 0.58, 0.66, 0.49, 0.73])
OTHER = np.array([0.51, 0.50, 0.69, 0.45, 0.40, 0.52, 0.47, 0.60])


def test_signed_rank_is_exact_for_few_documents() -> None:
    found = signed_rank(ONE - OTHER)
    assert (found.statistic, found.n) == (3, 8)
    assert found.p == pytest.approx(0.0390625)


def test_paired_t() -> None:
    assert paired_t(ONE - OTHER).p == pytest.approx(0.027086, abs=1e-6)


def test_fifty_differences_are_exact_and_fifty_one_are_not() -> None:
    differences = np.random.default_rng(0).normal(0.2, size=51)
    exact = stats.wilcoxon(differences[:50], method="exact").pvalue
    assert signed_rank(differences[:50]).p == pytest.approx(exact)
    assert signed_rank(differences).p == pytest.approx(stats.wilcoxon(differences, method="asymptotic").pvalue)
    assert signed_rank(differences).p != pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-6)


def test_ties_call_for_the_approximation() -> None:
    differences = np.array([1.0, 1, 2, 2, -1, 3, 4, -2, 5, 6])
    assert signed_rank(differences).p == pytest.approx(stats.wilcoxon(differences, method="asymptotic").pvalue)


def test_differences_that_only_rounding_tells_apart_are_ties() -> None:
    differences = np.array([0.3 - 0.2, 0.2 - 0.1, 0.4, -0.5, 0.6, 0.7])
    assert differences[0] != differences[1]
    assert signed_rank(differences) == signed_rank(np.array([0.1, 0.1, 0.4, -0.5, 0.6, 0.7]))


def test_zeros_and_the_undefined_are_dropped() -> None:
    found = signed_rank(np.concatenate([ONE - OTHER, [0, 0, np.nan]]))
    assert found == signed_rank(ONE - OTHER)


@pytest.mark.parametrize("differences", [np.zeros(5), np.array([]), np.full(3, np.nan)])
def test_without_differences_p_is_one(differences: np.ndarray) -> None:
    assert (signed_rank(differences).p, signed_rank(differences).n) == (1, 0)
    assert paired_t(differences).p == 1


def test_a_constant_difference_leaves_a_t_test_no_doubt() -> None:
    assert paired_t(np.full(4, 0.5)).p == 0
    assert paired_t(np.array([0.5])).p == 1
